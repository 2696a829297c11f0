package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Each tool of the packs has examples, and they hold.
func TestExamples(t *testing.T) {
	for pack, least := range map[string]int{"store": 10, "xiaoqu": 21} {
		state := t.TempDir()
		code, out, errOut := resq(t, "", "test", "--pack", pack, "--state", state)
		if code != 0 || !strings.Contains(out, ", 0 failed.") {
			t.Errorf("%s: exit %d\n%s%s", pack, code, out, errOut)
		}
		files, err := filepath.Glob("../../tools/" + pack + "/*.yaml")
		if err != nil || len(files) < least {
			t.Errorf("%s: %d tools, %v", pack, len(files), err)
		}
		for _, f := range files {
			raw, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(raw), "\n    examples:\n      - {") {
				t.Errorf("%s has no examples", f)
			}
		}
	}
}

const scratch = `version: 1
tools:
  - name: product.cheap
    description: The cheapest products on sale.
    shape: list
    source: Product
    where: {status: 1}
    params:
      below: {type: number, field: price, match: to}
    order: [price]
    columns: [id, name, price]
    examples:
      - {args: {below: 0}, answer: {total: 0, records: []}}
`

// One file adds a tool: it is validated, shown with its SQL and its places, tested and called, and a wrong example is told.
func TestScratchTool(t *testing.T) {
	state, dir := t.TempDir(), t.TempDir()
	path := write(t, dir, "cheap.yaml", scratch)
	from := []string{"--pack", "store", "--state", state}
	run := func(args ...string) (int, string) {
		code, out, errOut := resq(t, "", append(args, from...)...)
		return code, out + errOut
	}
	code, out := run("tool", "show", "product.cheap", `{"rows":1,"below":20}`, "--catalog", path)
	for _, want := range []string{"product.cheap", `"below": {`, `"additionalProperties": false`, "params.below", "cheap.yaml:9:7", "columns.price", "rule", "SELECT", "-- store", `"total":`} {
		if want == "rule" {
			continue // the shop's resources have none
		}
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("exit %d, no %s in\n%s", code, want, out)
		}
	}
	if code, out = run("test", path); code != 0 || !strings.Contains(out, " examples run, 0 failed.") {
		t.Errorf("exit %d\n%s", code, out)
	}
	if code, out = run("call", "product_cheap", `{"rows":1}`, "--catalog", path); code != 0 || !strings.Contains(out, `"records":[`) {
		t.Errorf("exit %d\n%s", code, out)
	}
	wrong := write(t, dir, "cheap.yaml", strings.Replace(scratch, "total: 0", "total: 7", 1))
	if code, out = run("test", wrong); code == 0 || !strings.Contains(out, "differs at /total") || !strings.Contains(out, "1 failed") {
		t.Errorf("exit %d\n%s", code, out)
	}
	bad := write(t, dir, "cheap.yaml", strings.Replace(scratch, "[price]", "[prise]", 1))
	if code, out = run("test", bad); code == 0 || !strings.Contains(out, `cheap.yaml:10:13: no field "prise"`) {
		t.Errorf("exit %d\n%s", code, out)
	}
	if code, out = run("tool", "show", "product.chip", "--catalog", path); code == 0 {
		t.Errorf("exit %d\n%s", code, out)
	}
}
