package main

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"resq/testdb"
)

// a call that bypasses row rules is kept with who answers for it and why, in the control database and in the
// files, and a call under the rules is kept with them.
func TestBypassIsKept(t *testing.T) {
	testdb.Each(t, func(t *testing.T, e testdb.Engine) {
		dir := t.TempDir()
		control := testdb.Create(t, e)
		write(t, dir, "catalog.yaml", fmt.Sprintf(`version: 1
connections: {main: {driver: %s, dsn: %q}}
resources:
  - {code: Item, table: item, key: id, fields: {id: integer}, rows: {type: and, exprs: [{field: id, operator: "=", token: "1"}]}}
tools:
  - {name: mine, title: Mine, description: Own rows., sql: SELECT id FROM item}
  - name: everything
    title: Everything
    description: All rows.
    row_policy: bypass
    bypass: {reason: the auditor counts, owner: the boss, principals: [alice]}
    sql: SELECT id FROM item
`, e.Name, testdb.Create(t, e, "CREATE TABLE item (id INTEGER PRIMARY KEY)", "INSERT INTO item VALUES (1), (2)")))
		config := write(t, dir, "resq.yaml", "catalog: [catalog.yaml]\nstate: "+filepath.Join(dir, "state")+"\nsecret: 0123456789012345678901234567890123456789\ncontrol: \""+control+
			"\"\naudit: {calls: [control, files]}\nprincipals:\n  alice: {scopes: [read], keys: [alice-has-a-long-key-0001]}\n")
		s := runServer(t, "--config", config)
		for _, tool := range []string{"mine", "everything"} {
			if got := s.call("alice-has-a-long-key-0001", tool, "{}"); got != "OK" {
				t.Fatalf("%s: %s", tool, got)
			}
		}
		s.stop()
		kept := map[string]string{}
		for _, c := range keptCalls(t, e, control) {
			kept[c["tool_name"]] = c["rules"] + "|" + c["bypass"] + "|" + c["row_count"]
		}
		if kept["mine"] != "Item.rows:1||1" || kept["everything"] != "|the boss: the auditor counts|2" {
			t.Errorf("in the control database: %v", kept)
		}
		var lines string
		_ = filepath.WalkDir(filepath.Join(dir, "state"), func(path string, d fs.DirEntry, err error) error {
			if err == nil && strings.HasSuffix(path, ".jsonl") {
				lines += mustRead(t, path)
			}
			return nil
		})
		for line := range strings.Lines(lines) {
			if has := strings.Contains(line, `"bypass":"the boss: the auditor counts"`); has != strings.Contains(line, `"tool":"everything"`) {
				t.Errorf("in the files: %s", line)
			}
		}
		if !strings.Contains(lines, `"tool":"everything"`) {
			t.Errorf("no call in the files: %s", lines)
		}
	})
}
