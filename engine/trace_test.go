package engine_test

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"resq/engine"
	"resq/engine/dialect/mysql"
	"resq/engine/dialect/postgres"
	"resq/engine/dialect/sqlite"
	"resq/engine/policy"
	"resq/schema"
	"resq/testdb"
)

// what an audit keeps of a call is told alike on every database: the rules that decided, and which statements
// ran. A plan that is used again tells it again; without a trace nothing is gathered.
func TestTrace(t *testing.T) {
	testdb.Each(t, func(t *testing.T, e testdb.Engine) {
		dsn := testdb.Create(t, e, "CREATE TABLE item (id INTEGER NOT NULL PRIMARY KEY, owner INTEGER NOT NULL)", "INSERT INTO item VALUES (1, 7), (2, 8)")
		cat, err := schema.LoadFS(fstest.MapFS{"catalog.yaml": {Data: []byte(`version: 1
connections: {main: {driver: ` + e.Name + `, dsn: "` + dsn + `"}}
rules:
  own:
    args: [owner]
    cases:
      - {when: {type: and, exprs: [{field: all, operator: "=", token: "true"}]}, rows: all}
      - {rows: {type: and, exprs: [{field: $owner, operator: "=", tokenType: principal, token: uid}]}}
resources:
  - {code: Item, table: item, key: id, fields: {id: {type: integer}, owner: {type: integer}}, rows: {rule: own, args: {owner: owner}}}
  - {code: Free, table: item, key: id, fields: {id: {type: integer}}}
`)}}, schema.LoadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		x, err := engine.New(cat, engine.Options{Drivers: []engine.Driver{sqlite.New(), mysql.New(), postgres.New()}})
		if err != nil {
			t.Fatal(err)
		}
		defer x.Close()
		who := &policy.Principal{Name: "a", Attributes: map[string]policy.Value{"uid": policy.One("7")}}
		all := &policy.Principal{Name: "b", Attributes: map[string]policy.Value{"all": policy.One("true")}}
		for _, c := range []struct {
			who        *policy.Principal
			raw, rules string
			statements int
		}{
			{who, `{"resource":"Item","fields":[{"code":"id"}]}`, "own:2", 1},
			{who, `{"resource":"Item","fields":[{"code":"id"}]}`, "own:2", 1},
			{who, `{"resource":"Item","fields":[{"code":"id"}]}`, "own:2", 1},
			{who, `{"resource":"Item","fields":[{"code":"id"}],"total":true}`, "own:2", 2},
			{all, `{"resource":"Item","fields":[{"code":"id"}]}`, "own:1", 1},
			{who, `{"resource":"Free","fields":[{"code":"id"}]}`, "", 1},
			{who, `{"resource":"Nosuch","fields":[{"code":"id"}]}`, "", 0},
		} {
			var tr engine.Trace
			_, err := x.Query(engine.WithTrace(t.Context(), &tr), c.who, []byte(c.raw))
			if (err != nil) != (c.statements == 0) {
				t.Errorf("%s: %v", c.raw, err)
			}
			if got := strings.Join(tr.Rules(), " "); got != c.rules || len(tr.Statements()) != c.statements {
				t.Errorf("%s: rules %q, want %q; %d statements, want %d: %v", c.raw, got, c.rules, len(tr.Statements()), c.statements, tr.Statements())
			}
			if slices.ContainsFunc(tr.Statements(), func(s string) bool { return strings.Contains(s, "7") }) {
				t.Errorf("%s: a statement holds a value: %v", c.raw, tr.Statements())
			}
		}
	})
	if a, b := engine.Fingerprint("SELECT 1"), engine.Fingerprint("SELECT 2"); a == b || len(a) != 16 || a != engine.Fingerprint("SELECT 1") {
		t.Errorf("%q %q", a, b)
	}
}
