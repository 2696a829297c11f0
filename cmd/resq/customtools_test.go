package main

import (
	"path/filepath"
	"strings"
	"testing"

	"resq/testdb"
)

const someTools = `version: 1
tools:
  - {name: search_orders, title: t, description: d, toolset: sales, sql: SELECT id FROM orders}
  - {name: list_items, title: t, description: d, toolset: stock, sql: SELECT id FROM items}
`

// validate-tools checks every file before it says anything, and needs neither a database nor a connection (D-065).
func TestValidateTools(t *testing.T) {
	dir := t.TempDir()
	good := write(t, dir, "good.yaml", someTools+"annotations: {ERP.ORDERS: {entity: order}}\n")
	code, out, errOut := resq(t, "", "validate-tools", good)
	if want := "ok  " + good + " (2 tools, 1 annotation)\n1 file checked, all passed.\n"; code != 0 || out != want || errOut != "" {
		t.Errorf("exit %d\n%s%s\nwant\n%s", code, out, errOut, want)
	}
	bad := write(t, dir, "bad.yml", "version: 1\ntools:\n  - {name: search_orders, title: t, description: d, sql: SELECT id FROM orders}\n  - name: waits\n    title: t\n    description: d\n    sql: SELECT pg_sleep(1)\n")
	code, out, errOut = resq(t, "", "validate-tools", good, bad)
	if code != 1 || !strings.Contains(out, "ok  "+good) || !strings.Contains(errOut, "FAIL "+bad+":3:12: the tool \"search_orders\" is declared twice; the first is at "+good+":3:12") ||
		!strings.Contains(errOut, "FAIL "+bad+":7:17: the function \"pg_sleep\" is not allowed") || !strings.Contains(errOut, "2 files checked, 1 failed.") {
		t.Errorf("exit %d\n%s%s", code, out, errOut)
	}
	if code, _, _ := resq(t, "", "validate-tools"); code != exitUsage {
		t.Errorf("without a path: exit %d", code)
	}
	if code, _, _ := resq(t, "", "validate-tools", "--nothing", good); code != exitUsage {
		t.Errorf("with an unknown flag: exit %d", code)
	}
	if code, _, errOut := resq(t, "", "validate-tools", filepath.Join(dir, "none.yaml")); code != 1 || !strings.Contains(errOut, "FAIL") {
		t.Errorf("with a path that is not there: exit %d %s", code, errOut)
	}
}

// QUERY_ALLOWED_SCHEMAS holds as at a start, on connections and without any (D-063, D-065).
func TestValidateToolsSchemas(t *testing.T) {
	dir := t.TempDir()
	tools := write(t, dir, "t.yaml", "version: 1\ntools:\n  - {name: far, title: t, description: d, sql: SELECT id FROM erp.orders}\n  - {name: near, title: t, description: d, sql: SELECT id FROM sales.orders}\n")
	catalog := write(t, dir, "c.yaml", "version: 1\nconnections: {default: {driver: postgres, dsn: \"${NOWHERE}\"}}\n")
	t.Setenv("QUERY_ALLOWED_SCHEMAS", "SALES")
	for _, more := range [][]string{nil, {"--catalog", catalog}} {
		code, out, errOut := resq(t, "", append(append([]string{"validate-tools"}, more...), tools)...)
		if code != 1 || !strings.Contains(errOut, "FAIL "+tools+":3:") || strings.Count(errOut, "FAIL") != 1 || !strings.Contains(errOut, "is in a schema that the connection does not allow") {
			t.Errorf("%v: exit %d\n%s%s", more, code, out, errOut)
		}
	}
	t.Setenv("QUERY_ALLOWED_SCHEMAS", "sales,ERP")
	if code, out, errOut := resq(t, "", "validate-tools", tools); code != 0 {
		t.Errorf("exit %d\n%s%s", code, out, errOut)
	}
}

// With --connect filters and masks of columns that a table does not have are told; a table that is nowhere is none of that
// (D-065).
func TestValidateToolsNotes(t *testing.T) {
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		dsn := testdb.Create(t, on, "CREATE TABLE orders (id INT PRIMARY KEY, flag VARCHAR(1));\n")
		dir := t.TempDir()
		catalog := write(t, dir, "c.yaml", "version: 1\nconnections: {default: {dsn: \""+dsn+"\"}}\n")
		notes := write(t, dir, "n.yaml", "version: 1\nannotations:\n  orders: {filters: [{sql: \"FLAG = 'D'\", columns: [FLAG]}, {sql: \"GONE = 1\", columns: [GONE]}]}\n"+
			"  elsewhere: {filters: [{sql: x = 1, columns: [x]}]}\nmasking:\n  orders: {FLAG: redact, NUMBER: last4}\n")
		code, out, errOut := resq(t, "", "validate-tools", "--connect", "--catalog", catalog, notes)
		if code != 1 || strings.Count(errOut, "FAIL") != 2 || !strings.Contains(errOut, "FAIL "+notes+":3:88: the table \"orders\" on \"default\" has no column \"GONE\", which a filter names") ||
			!strings.Contains(errOut, "FAIL "+notes+":6:26: the table \"orders\" on \"default\" has no column \"NUMBER\", which a mask names") {
			t.Errorf("exit %d\n%s%s", code, out, errOut)
		}
		if code, out, errOut := resq(t, "", "validate-tools", "--catalog", catalog, notes); code != 0 {
			t.Errorf("without --connect: exit %d\n%s%s", code, out, errOut)
		}
	})
}

// With --connect the databases have their word, too (D-064).
func TestValidateToolsConnect(t *testing.T) {
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		dsn := testdb.Create(t, on, "CREATE TABLE orders (id INT PRIMARY KEY, no VARCHAR(10));")
		dir := t.TempDir()
		catalog := write(t, dir, "c.yaml", "version: 1\nconnections: {default: {dsn: \""+dsn+"\"}}\n")
		tools := write(t, dir, "t.yaml", "version: 1\ntools:\n  - {name: good_one, title: t, description: d, parameters: {n: {type: string, required: false}}, sql: \"SELECT id FROM orders WHERE :n IS NULL OR no = :n\"}\n"+
			"  - {name: bad_one, title: t, description: d, sql: SELECT number FROM orders}\n  - {name: no_table, title: t, description: d, sql: SELECT id FROM order_lines}\n")
		code, out, errOut := resq(t, "", "validate-tools", "--connect", "--catalog", catalog, tools)
		if code != 1 || strings.Contains(errOut, "good_one") || !strings.Contains(errOut, "FAIL "+tools+":4:12: the tool \"bad_one\" on \"default\"") || !strings.Contains(errOut, tools+":5:12") {
			t.Errorf("exit %d\n%s%s", code, out, errOut)
		}
	})
}

// The variables settle what is loaded and how much is answered (D-001, D-019, D-066).
func TestCustomTools(t *testing.T) {
	env := func(pairs ...string) func(string) (string, bool) {
		return func(name string) (string, bool) {
			for i := 0; i < len(pairs); i += 2 {
				if pairs[i] == name {
					return pairs[i+1], true
				}
			}
			return "", false
		}
	}
	for _, c := range []struct {
		pairs []string
		want  string
	}{
		{[]string{"QUERY_MAX_LIMIT", "many"}, "QUERY_MAX_LIMIT"},
		{[]string{"QUERY_DEFAULT_LIMIT", "0"}, "QUERY_DEFAULT_LIMIT"},
		{[]string{"MCP_CUSTOM_TOOLS_WATCH", "true"}, "nothing to watch"},
		{[]string{"QUERY_PARSE_CHECK", "perhaps"}, "QUERY_PARSE_CHECK"},
	} {
		if _, err := readCustom(env(c.pairs...)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v", c.pairs, err)
		}
	}
	got, err := readCustom(env("MCP_CUSTOM_TOOLS", "a.yaml, dir ,", "QUERY_ALLOWED_SCHEMAS", "ERP", "QUERY_MAX_LIMIT", "50", "MCP_CUSTOM_TOOLS_WATCH", "1"))
	if err != nil || len(got.paths) != 2 || got.schemas[0] != "ERP" || got.limits.Max != 50 || !got.watch {
		t.Errorf("%+v %v", got, err)
	}
}

// A tool of MCP_CUSTOM_TOOLS is called as any other.
func TestCustomToolIsServed(t *testing.T) {
	on := testdb.Engines(t)[0]
	dsn := testdb.Create(t, on, "CREATE TABLE orders (id INT PRIMARY KEY); INSERT INTO orders VALUES (7); CREATE TABLE items (id INT PRIMARY KEY);")
	dir := t.TempDir()
	catalog := write(t, dir, "c.yaml", "version: 1\nconnections: {default: {dsn: \""+dsn+"\"}}\n")
	t.Setenv("MCP_CUSTOM_TOOLS", write(t, dir, "t.yaml", someTools))
	if code, out, errOut := resq(t, "", "call", "--catalog", catalog, "search_orders", "{}"); code != 0 || !strings.Contains(out, `{"id":7}`) {
		t.Errorf("exit %d\n%s%s", code, out, errOut)
	}
}
