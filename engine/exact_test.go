package engine_test

import (
	"context"
	"strings"
	"testing"
	"testing/fstest"

	"resq/engine/policy"
	"resq/schema/problem"
	"resq/testdb"
)

const exactCatalog = `version: 1
rules:
  mine:
    args: [owner]
    cases:
      - rows: {type: and, exprs: [{field: $owner, operator: "=", tokenType: principal, token: login}]}
sets:
  live: {query: {resource: Owner, fields: [{code: login}]}}
  tight: {bound: 1, query: {resource: Owner, fields: [{code: login}]}}
resources:
  - {code: Note, table: note, connection: main, key: id, fields: {id: integer, owner: {type: string, maxLength: 20}}, rows: {rule: mine, args: {owner: owner}}}
  - code: Listed
    table: note
    connection: main
    key: id
    fields: {id: integer, owner: {type: string, maxLength: 20}}
    rows: {type: and, exprs: [{field: owner, operator: IN, tokenType: set, token: live}]}
  - code: Bounded
    table: note
    connection: main
    key: id
    fields: {id: integer, owner: {type: string, maxLength: 20}}
    rows: {type: and, exprs: [{field: owner, operator: IN, tokenType: set, token: tight}]}
  - code: Linked
    table: note
    connection: main
    key: id
    fields: {id: integer, owner: {type: string, maxLength: 20}}
    rows: {type: and, exprs: [{operator: EXISTS, tokenType: query, query: {resource: Owner, fields: [{code: login}], conditions: {type: and, exprs: [{field: login, operator: "=", tokenType: field, token: Linked.owner}]}}}]}
  - {code: Other, table: note, connection: main, key: id, fields: {id: integer, owner: {type: string, maxLength: 20}}, rows: {type: and, exprs: [{field: owner, operator: "!=", tokenType: principal, token: login}]}}
  - {code: Owner, table: owner, connection: main, key: login, softDelete: {field: gone}, fields: {login: {type: string, maxLength: 20}, gone: {type: integer}}}
`

// A row rule shows a text's own rows and nobody else's, whatever the collation makes of case, accents and
// blanks at the end (security.md 5.1); a set leaves deleted rows out and keeps to its stated bound.
func TestRulesCompareExactly(t *testing.T) {
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		text := map[string]string{"sqlite": "VARCHAR(20) COLLATE NOCASE", "mysql": "VARCHAR(20) COLLATE utf8mb4_general_ci", "postgres": "VARCHAR(20)"}[on.Name]
		sql := `CREATE TABLE note (id INT PRIMARY KEY, owner ` + text + `);
CREATE TABLE owner (login ` + text + ` PRIMARY KEY, gone INT);
INSERT INTO note VALUES (1, 'alice'), (2, 'ALICE'), (3, 'Alicé'), (4, 'alice '), (5, 'bob'), (6, NULL);
INSERT INTO owner VALUES ('alice', NULL), ('bob', 1);
`
		b := newBench(t, on, fstest.MapFS{"c.yaml": {Data: []byte(exactCatalog)}}, map[string]string{"main": testdb.Create(t, on, sql)})
		alice := &policy.Principal{Name: "alice", Attributes: map[string]policy.Value{"login": policy.One("alice")}}
		for resource, want := range map[string]string{"Note": "[1]", "Listed": "[1]", "Linked": "[1]", "Other": "[2],[3],[4],[5]"} {
			a, err := b.engine.Query(context.Background(), alice, []byte(`{"resource":"`+resource+`","fields":[{"code":"id"}]}`))
			if err != nil {
				t.Errorf("%s: %v", resource, err)
				continue
			}
			got := string(a.Text)
			got = strings.ReplaceAll(got[strings.Index(got, `"rows":[`)+8:strings.LastIndex(got, `],"hasMore"`)], "\n", "")
			if got != want {
				t.Errorf("%s: rows %s, want %s", resource, got, want)
			}
		}
		if _, err := b.engine.Query(context.Background(), alice, []byte(`{"resource":"Bounded","fields":[{"code":"id"}]}`)); err != nil {
			t.Errorf("a set of one live row within its bound of one: %v", err)
		}
		testdb.Exec(t, on, b.dsn["main"], `INSERT INTO owner VALUES ('eve', NULL);`)
		_, err := b.engine.Query(context.Background(), alice, []byte(`{"resource":"Bounded","fields":[{"code":"id"}]}`))
		if l := problem.From(err); err == nil || l[0].Code != problem.DataIntegrity {
			t.Errorf("a set beyond its bound: %v", err)
		}
	})
}

// Small requests cannot make large texts (security.md C9).
func TestTextsDoNotGrow(t *testing.T) {
	shop := newShop(t, testdb.Engines(t)[0])
	who := principals(t)["root"]
	hundred := strings.Repeat("a", 100)
	nested := "'a'"
	for range 3 {
		nested = "REPLACE(" + nested + ", 'a', '" + hundred + "')"
	}
	chain := `{"code":"w0","query":{"resource":"User","fields":[{"code":"name","alias":"x"}]}}`
	for i := 1; i < 12; i++ {
		prev, name := "w"+string(rune('0'+(i-1)%10)), "w"+string(rune('0'+i%10))
		if i >= 10 {
			name = "v" + name
		}
		if i >= 11 {
			prev = "v" + prev
		}
		chain += `,{"code":"` + name + `","query":{"resource":"` + prev + `","fields":[{"code":"x || x","alias":"x","isExpr":true}]}}`
	}
	for _, raw := range []string{
		`{"resource":"User","fields":[{"code":"` + nested + `","alias":"x","isExpr":true}]}`,
		`{"resource":"vw1","with":[` + chain + `],"fields":[{"code":"x"}]}`,
	} {
		_, err := shop.engine.Explain(context.Background(), who, []byte(raw))
		if l := problem.From(err); err == nil || l[0].Code != problem.LimitExceeded {
			t.Errorf("%.120s: %v", raw, err)
		}
	}
}
