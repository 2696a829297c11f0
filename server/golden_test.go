package server

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"resq/engine"
	"resq/engine/policy"
	"resq/schema/problem"
)

var update = flag.Bool("update", false, "rewrite the golden files from what the server answers")

// forms are requests for every form that an answer has: rows, text, two blocks, a preview, a result, and each kind of error.
var forms = []struct{ about, key, tool, args string }{
	{"rows", "alice-key", "res-query", `{"resource":"Category","fields":[{"code":"id"},{"code":"name"}],"limit":2}`},
	{"objects", "alice-key", "res-query", `{"resource":"Category","fields":[{"code":"id"}],"limit":2,"format":"objects"}`},
	{"CSV", "alice-key", "res-query", `{"resource":"Category","fields":[{"code":"id"},{"code":"name"}],"limit":2,"format":"csv"}`},
	{"Markdown", "alice-key", "res-query", `{"resource":"Category","fields":[{"code":"id"}],"limit":2,"format":"markdown"}`},
	{"no rows", "alice-key", "res-query", `{"resource":"Category","fields":[{"code":"id"}],"conditions":{"type":"and","exprs":[{"field":"id","operator":"=","token":"0"}]}}`},
	{"a description", "alice-key", "res-schema", `{"keywords":"Category","detail":"names"}`},
	{"a preview", "alice-key", "res-update", `{"resource":"Order","ids":[1],"data":{}}`},
	{"a result", "alice-key", "res-create", `{"resource":"Order","data":{}}`},
	{"an unknown resource", "alice-key", "res-query", `{"resource":"Nothing","fields":[]}`},
	{"several problems", "alice-key", "res-query", `{"resource":"Category","fields":[{"code":"nme"},{"code":"idd"}],"limit":"x"}`},
	{"no object", "alice-key", "res-query", `[]`},
	{"no scope", "writer-key", "res-query", `{"resource":"Category","fields":[]}`},
	{"a fault of a driver", "alice-key", "res-query", `{"resource":"driver"}`},
	{"a panic", "alice-key", "res-query", `{"resource":"panic"}`},
	{"a tool that does not exist", "alice-key", "res-quary", `{}`},
	{"no key", "", "res-query", `{}`},
}

var random = regexp.MustCompile(`(\\?"(?:request_id|cursor)\\?":\\?")[^"\\]*`)

// B-009 … B-013: the whole of every form of answer, and the list of tools, in each version, as it goes over the wire. A change of these
// files is a change of what clients were promised.
func TestVersions(t *testing.T) {
	f := newFake()
	f.can = engine.Creates | engine.Updates | engine.Deletes
	real := shop(t).backend.Load().Backend
	s := newServer(t, shopOrFake{fake: f, shop: real}, withKeys(Options{}))
	url := serveHTTP(t, s)
	for name, header := range map[string]string{"default": "", "1": "1", "2": "2", "unsupported": "3"} {
		var out bytes.Buffer
		write := func(about string, a answer) {
			fmt.Fprintf(&out, "# %s: %d\n%s\n\n", about, a.status, strings.TrimSpace(random.ReplaceAllString(a.body, "${1}…")))
			if !json.Valid([]byte(a.body)) {
				t.Errorf("%s: %s", about, a.body)
			}
			if a.status >= 400 || strings.Contains(a.body, `"isError":true`) || strings.Contains(a.body, `"error":{`) {
				if !strings.Contains(a.body, "request_id") {
					t.Errorf("%s: no request id: %s", about, a.body)
				}
			}
			for _, secret := range []string{"secret", "postgres://", "unexpected EOF", "goroutine"} {
				if strings.Contains(a.body, secret) {
					t.Errorf("%s: %s", about, a.body)
				}
			}
		}
		ask := func(e exchange, key string) answer {
			if key != "" {
				e = e.with("Authorization", "Bearer "+key)
			}
			if header != "" {
				e = e.with("X-Mcp-Schema-Version", header)
			}
			return e.do(t, url)
		}
		for _, c := range forms {
			write(c.about, ask(exchange{body: call(c.tool, c.args)}, c.key))
			if c.about == "rows" || c.about == "no scope" || c.about == "a tool that does not exist" {
				write(c.about+", since 2026-07-28", ask(modern("tools/call", c.tool, c.args), c.key))
			}
		}
		// Of the list, what the version decides; the descriptions are no part of it.
		list := ask(exchange{body: `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`}, "alice-key")
		var tools struct {
			Result struct {
				Tools []struct {
					Name         string
					OutputSchema json.RawMessage
				}
			}
		}
		if err := json.Unmarshal([]byte(list.body), &tools); err != nil || len(tools.Result.Tools) < 4 {
			t.Fatalf("%v in %s", err, list.body)
		}
		fmt.Fprintln(&out, "# the list")
		for _, d := range tools.Result.Tools {
			fmt.Fprintf(&out, "%s %s\n", d.Name, d.OutputSchema)
			if (d.OutputSchema != nil) != (name == "2") {
				t.Errorf("version %s: %s has the output schema %s", name, d.Name, d.OutputSchema)
			}
		}
		golden(t, filepath.Join("testdata", "versions", name+".txt"), out.Bytes())
	}
	one, err := os.ReadFile(filepath.Join("testdata", "versions", "1.txt"))
	if err != nil {
		t.Fatal(err)
	}
	if other, err := os.ReadFile(filepath.Join("testdata", "versions", "default.txt")); err != nil || !bytes.Equal(one, other) {
		t.Errorf("version 1 is not what is answered without one (%v)", err)
	}
}

// Version 3 runs nothing, whatever the tool; a list is that of version 1 (B-009, B-010).
func TestVersionUnsupportedRunsNothing(t *testing.T) {
	f := newFake()
	f.can = engine.Creates | engine.Updates | engine.Deletes
	s := newServer(t, f, withKeys(Options{}))
	url := serveHTTP(t, s)
	for _, tool := range []string{"res-query", "res-schema", "res-create", "res-update", "res-operation"} {
		for _, version := range []string{"3", "0", "1.0", "1, 2", " "} {
			e := exchange{body: call(tool, `{"resource":"Order","op_id":"x"}`)}.with("Authorization", "Bearer alice-key", "X-Mcp-Schema-Version", version)
			if version == " " { // white space is no value
				continue
			}
			if p := failure(t, e.do(t, url).body); p.Code != problem.VersionUnsupported {
				t.Errorf("%s, version %q: %+v", tool, version, p)
			}
		}
	}
	if who, raw := f.last(); who != nil {
		t.Errorf("it ran: %s", raw)
	}
}

// shopOrFake reads the shop, and leaves writes and faults to the fake.
type shopOrFake struct {
	*fake
	shop Backend
}

func (b shopOrFake) Query(ctx context.Context, who *policy.Principal, raw []byte) (*engine.Answer, error) {
	if bytes.Contains(raw, []byte(`"driver"`)) || bytes.Contains(raw, []byte(`"panic"`)) {
		return b.fake.Query(ctx, who, raw)
	}
	return b.shop.Query(ctx, who, raw)
}

func (b shopOrFake) Describe(ctx context.Context, who *policy.Principal, raw []byte) (*engine.Answer, error) {
	return b.shop.Describe(ctx, who, raw)
}

func golden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		a, b := strings.Split(string(got), "\n"), strings.Split(string(want), "\n")
		for i := range min(len(a), len(b)) {
			if a[i] != b[i] {
				t.Errorf("%s:%d: got\n%s\nwant\n%s", path, i+1, a[i], b[i])
				return
			}
		}
		t.Errorf("%s: %d lines, want %d", path, len(a), len(b))
	}
}

// What the MCP library refuses has its request id in a header and in the log.
func TestLibraryRefusals(t *testing.T) {
	log, lines := quietLog()
	url := serveHTTP(t, newServer(t, newFake(), Options{Log: log}))
	for _, e := range []exchange{
		modern("tools/call", "res-query", `{}`).with("Mcp-Name", "res-schema"),
		modern("tools/list", "", "").with("Mcp-Method", "tools/call"),
	} {
		a := e.do(t, url)
		id := a.header.Get("X-Request-Id")
		if a.status < 400 || len(id) != 36 || !strings.Contains(lines.String(), "request_id="+id) {
			t.Errorf("%d %q %s\n%s", a.status, id, a.body, lines)
		}
	}
	if a := (exchange{body: call("res-query", `{}`)}).do(t, url); a.header.Get("X-Request-Id") != "" {
		t.Errorf("an answer has its id in itself: %v", a.header)
	}
}
