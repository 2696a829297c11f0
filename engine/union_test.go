package engine_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"resq/testdb"
)

// unionCatalog is a list from three resources; a, b and c are their connections.
const unionCatalog = `version: 1
resources:
  - {code: Letter, table: letter, connection: $a, key: id, rows: {type: and, exprs: [{field: team_id, operator: "=", tokenType: principal, token: team}]}, fields: &f {id: integer, doc_id: integer, team_id: integer, made_at: datetime, price: "decimal(10,2)", due_on: date}}
  - {code: Call, table: talk, connection: $b, key: id, rows: {type: and, exprs: [{field: team_id, operator: "=", tokenType: principal, token: team}]}, fields: *f}
  - {code: Visit, table: visit, connection: $c, key: id, rows: {type: and, exprs: [{field: team_id, operator: "=", tokenType: principal, token: team}]}, fields: *f}
tools:
  - name: inbox.list
    description: What waits.
    shape: list
    params:
      kind: {type: enum, values: [all, letter, call, visit, written], default: all}
      least: {type: number, field: price, match: from}
    order: [$order]
    paging: {default: 4, max: 1000}
    union:
      letter: {source: Letter, when: {param: kind, is: [all, letter, written]}, key: doc_id, prefer: [price desc], columns: [{kind: {value: letter}}, id, price]}
      call: {source: Call, when: {param: kind, is: [all, call]}, columns: [{kind: {value: call}}, id, price]}
      visit: {source: Visit, when: {param: kind, is: [all, visit, written]}, columns: [{kind: {value: visit}}, id, price]}
`

const unionTable = `CREATE TABLE $t (id INT PRIMARY KEY, doc_id INT, team_id INT, made_at DATETIMETYPE, price DECIMAL(10,2), due_on DATE);
`

var unionRows = map[string]string{
	"letter": `INSERT INTO letter VALUES (1, 1, 1, '2024-01-01 08:00:00', 9.50, '2024-01-01'), (2, 1, 1, '2024-01-05 08:00:00', 100, NULL),
 (3, 2, 1, NULL, -3, '2024-02-01'), (4, 3, 2, '2024-01-09 08:00:00', 1, '2024-01-01'), (5, 5, 1, '2024-01-03 08:00:00', 20, '2023-12-31');`,
	"talk": `INSERT INTO talk VALUES (1, 1, 1, '2024-01-03 08:00:00', 20, '2024-01-02'), (2, 2, 1, '2024-01-02 08:00:00', NULL, NULL),
 (3, 3, 1, '2024-01-03 08:00:00', -20.5, '2024-02-02'), (7, 3, 2, '2024-01-10 08:00:00', 7, '2024-01-01');`,
	"visit": `INSERT INTO visit VALUES (1, 1, 1, '2024-01-05 08:00:00', 3, '2024-01-01'), (9, 2, 1, NULL, 0.05, '2024-01-01');`,
}

// A union across connections gives the same pages as one of a single connection: the order, the page, the total and
// the row rules of each branch, with ties, missing values and one row of each document (V-35).
func TestUnionAcross(t *testing.T) {
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		moment := map[string]string{"sqlite": "DATETIME", "mysql": "DATETIME", "postgres": "TIMESTAMP"}[on.Name]
		sql := func(tables ...string) (out []string) {
			for _, x := range tables {
				out = append(out, strings.NewReplacer("$t", x, "DATETIMETYPE", moment).Replace(unionTable+unionRows[x]))
			}
			return out
		}
		all := testdb.Create(t, on, sql("letter", "talk", "visit")...)
		apart := map[string]string{"a": testdb.Create(t, on, sql("letter", "visit")...), "b": testdb.Create(t, on, sql("talk")...)}
		for _, order := range []string{"made_at desc", "made_at", "price", "due_on desc, price desc", "doc_id = 2, price"} {
			file := func(a, b, c string) fstest.MapFS {
				return fstest.MapFS{"c.yaml": {Data: []byte(strings.NewReplacer("$a", a, "$b", b, "$c", c, "$order", order).Replace(unionCatalog))}}
			}
			one := newBench(t, on, file("a", "a", "a"), map[string]string{"a": all})
			many := newBench(t, on, file("a", "b", "a"), apart)
			rows := 0
			for _, args := range []string{`{}`, `{"page":2}`, `{"page":3}`, `{"page":4}`, `{"rows":1}`, `{"rows":1,"page":5}`, `{"rows":3,"page":2}`, `{"rows":9}`, `{"kind":"call"}`, `{"kind":"visit"}`,
				`{"kind":"written","rows":2}`, `{"least":3}`, `{"least":20,"rows":2,"page":2}`, `{"least":1000}`} {
				want, got := askTool(t, one, member, "inbox.list", args), askTool(t, many, member, "inbox.list", args)
				if got != want {
					t.Errorf("%s %s\n got %s\nwant %s", order, args, got, want)
				}
				rows += strings.Count(got, `"kind":`)
			}
			if rows < 25 {
				t.Errorf("%s: only %d rows were compared", order, rows)
			}
			if order == "doc_id = 2, price" { // those that have the value come first
				const want = `{"total":8,"page":1,"rows":4,"records":[{"kind":"call","id":2,"price":null},{"kind":"letter","id":3,"price":-3.00},{"kind":"visit","id":9,"price":0.05},{"kind":"call","id":3,"price":-20.50}]}`
				if got := askTool(t, one, member, "inbox.list", `{}`); got != want {
					t.Errorf("got %s\nwant %s", got, want)
				}
			}
			if order != "made_at desc" {
				continue
			}
			const want = `{"total":8,"page":1,"rows":4,"records":[{"kind":"letter","id":2,"price":100.00},{"kind":"visit","id":1,"price":3.00},{"kind":"letter","id":5,"price":20.00},{"kind":"call","id":3,"price":-20.50}]}`
			if got := askTool(t, many, member, "inbox.list", `{}`); got != want {
				t.Errorf("got %s\nwant %s", got, want)
			}
			if got := askTool(t, many, member, "inbox.list", `{"rows":1000,"page":2}`); got != `{"total":8,"page":2,"rows":1000,"records":[]}` {
				t.Errorf("the last page that may be asked for: %s", got)
			}
			for _, page := range []string{"3", "9223372036854775807"} {
				args := fmt.Sprintf(`{"rows":1000,"page":%s}`, page)
				if got := askTool(t, many, member, "inbox.list", args); !strings.HasPrefix(got, "LIMIT_EXCEEDED /page: the list comes from several connections, and the page ends behind its row 2000") {
					t.Errorf("%s: %s", args, got)
				}
			}
			for args, want := range map[string]int{`{}`: 2 + 1 + 1 + 2, `{"rows":20}`: 2 + 3, `{"kind":"call"}`: 2} {
				many.recorder.Reset()
				askTool(t, many, member, "inbox.list", args)
				if got := many.recorder.Texts(); len(got) != want {
					t.Errorf("%s: %d statements, want %d: %v", args, len(got), want, got)
				}
			}
		}
	})
}
