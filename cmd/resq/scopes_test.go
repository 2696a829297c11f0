package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"resq/testdb"
)

// B-022: a scope takes the tools that some server has loaded, in either spelling, and others when it is said that they come
// later; an id of a user has one spelling.
func TestScopesOfUnknownTools(t *testing.T) {
	dir := t.TempDir()
	config := controlledConfig(t, dir, testdb.Engine{Name: testdb.SQLite}, "")
	do(t, config, nil, "scopes", "create", "early", "--tool", "res-anything") // no server has told of any yet
	s := runServer(t, "--config", config)
	s.stop()
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"scopes", "create", "typo", "--tool", "res-query", "--tool", "res-qury"}, `/tools/1: no server has loaded "res-qury"`},
		{[]string{"scopes", "create", "typo", "--tool", "res-qury"}, "nearest: res-query; --later takes tools that come later"},
		{[]string{"scopes", "add-tool", "early", "agent.list.query"}, `no server has loaded "agent.list.query"`},
		{[]string{"keys", "create", "--name", "x", "--user", "042"}, "without leading zeros, sign or fraction: 42"},
		{[]string{"keys", "create", "--name", "x", "--user", " 42"}, "an id does not begin or end with a blank"},
	} {
		code, out, errOut := resq(t, "", append(c.args, "--config", config)...)
		if code == 0 || !strings.Contains(errOut, c.want) {
			t.Errorf("%v: %d %s %s", c.args, code, out, errOut)
		}
	}
	do(t, config, nil, "scopes", "create", "right", "--tool", "res_query", "--tool", "res-schema")
	do(t, config, nil, "scopes", "add-tool", "right", "agent.list.query", "--later")
	do(t, config, nil, "scopes", "remove-tool", "right", "agent.list.query")
	do(t, config, nil, "keys", "create", "--name", "x", "--user", "00a7") // no number
}

const scopedCatalog = `version: 1
connections: {main: {driver: sqlite, dsn: "MAIN"}}
resources:
  - {code: Item, table: item, key: id, fields: {id: integer, name: string}}
tools:
  - {name: item.list, description: Items., shape: list, source: Item, columns: [id], order: [id asc], paging: {default: 20, max: 100}}
`

const scopedTool = "  - {name: item.names, description: Names., shape: list, source: Item, columns: [nam], order: [id asc], paging: {default: 20, max: 100}}\n"

// While a catalog cannot be read, scopes take the tools that are served, those of the broken file only as ones that come
// later, and keys open neither more nor less than before; once it is mended they open what was said, without a restart.
func TestScopesOfABrokenCatalog(t *testing.T) {
	dir := t.TempDir()
	whole := strings.Replace(scopedCatalog, "MAIN", testdb.Create(t, testdb.Engine{Name: testdb.SQLite}, "CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT)"), 1)
	path := write(t, dir, "items.yaml", whole)
	config := controlledConfig(t, dir, testdb.Engine{Name: testdb.SQLite}, "catalog: ["+filepath.Base(path)+"]\n")
	s := runServer(t, "--config", config, "--no-watch=false")
	do(t, config, nil, "scopes", "create", "before", "--tool", "item.list")
	var key made
	do(t, config, &key, "keys", "create", "--name", "x", "--scope", "before")
	sees := func(want ...string) {
		t.Helper()
		var got []string
		for end := time.Now().Add(15 * time.Second); ; time.Sleep(50 * time.Millisecond) {
			if got = s.tools(key.Key); slices.Equal(got, want) {
				return
			}
			if time.Now().After(end) {
				t.Fatalf("the key sees %v, want %v", got, want)
			}
		}
	}
	sees("item.list")
	replace(t, path, whole+scopedTool)
	eventually(t, "a line about the bad file", func() bool { return strings.Contains(s.log.String(), "not reloaded") })
	if _, got := s.send("GET", "/readyz", "", ""); !strings.Contains(got, "degraded") {
		t.Errorf("/readyz: %s", got)
	}
	code, out, errOut := resq(t, "", "scopes", "add-tool", "before", "item.names", "--config", config)
	if code == 0 || !strings.Contains(errOut, `no server has loaded "item.names"`) {
		t.Errorf("a tool of the broken catalog: %d %s %s", code, out, errOut)
	}
	do(t, config, nil, "scopes", "add-tool", "before", "item.names", "--later")
	do(t, config, nil, "scopes", "create", "beside", "--tool", "item_list")
	do(t, config, nil, "scopes", "create", "system", "--tool", "res-schema")
	sees("item.list")
	if got := s.call(key.Key, "item.names", `{}`); got != "UNKNOWN_TOOL" {
		t.Errorf("a tool of the broken catalog is called: %s", got)
	}
	if got := s.call(key.Key, "item.list", `{}`); got != "OK" {
		t.Errorf("a tool of the catalog that is served: %s", got)
	}
	replace(t, path, whole+strings.Replace(scopedTool, "[nam]", "[name]", 1))
	sees("item.list", "item.names")
	if got := s.call(key.Key, "item.names", `{}`); got != "OK" {
		t.Errorf("the tool of the mended catalog: %s", got)
	}
	do(t, config, nil, "scopes", "create", "after", "--tool", "item.names")
}
