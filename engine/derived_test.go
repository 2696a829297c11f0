package engine_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"resq/testdb"
)

// What shows the rows of a table with rules, masks or roles is not there for SQL of clients, unless it is listed or declared
// (security.md 5: the answer depends on nothing that is not seen, by whatever name it is reached).
func TestDerivedTablesAreAbsent(t *testing.T) {
	views := `CREATE VIEW v_task AS SELECT id, title, phone FROM task;
CREATE VIEW v_far AS SELECT v.id FROM v_task v;
CREATE VIEW v_person AS SELECT id, code FROM person;
CREATE VIEW v_board AS SELECT p.id FROM person p WHERE EXISTS (SELECT 1 FROM board b WHERE b.id = p.id);
CREATE TABLE tasks (id INT PRIMARY KEY, n VARCHAR(9));
INSERT INTO tasks VALUES (1, 'x');
CREATE VIEW v_tasks AS SELECT id, n FROM tasks;
`
	more := map[string]string{
		testdb.SQLite: `CREATE VIRTUAL TABLE f_task USING fts5(title, content='task', content_rowid='id');
`,
		testdb.Postgres: `CREATE TABLE part_task (x INT) INHERITS (task);
CREATE TABLE all_board (id INT);
ALTER TABLE board INHERIT all_board;
CREATE MATERIALIZED VIEW m_task AS SELECT * FROM task;
CREATE FUNCTION reads_task() RETURNS BIGINT LANGUAGE sql AS 'SELECT count(*) FROM task';
CREATE VIEW v_called AS SELECT reads_task() AS n;
`,
		testdb.MySQL: `CREATE FUNCTION reads_task() RETURNS BIGINT READS SQL DATA RETURN (SELECT COUNT(*) FROM task);
CREATE VIEW v_called AS SELECT reads_task() AS n;
`,
	}
	absent := map[string][]string{
		testdb.SQLite:   {"f_task", "f_task_data", "f_task_docsize"},
		testdb.Postgres: {"part_task", "all_board", "m_task", "v_called"},
		testdb.MySQL:    {"v_called"},
	}
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		dsn := testdb.Create(t, on, queryTables+views+more[on.Name])
		b := queryBenchOn(t, on, dsn, "")
		for _, tool := range []string{"execute_query", "validate_query"} {
			for _, name := range append([]string{"v_task", "V_TASK", "v_far", "v_person", "v_board"}, absent[on.Name]...) {
				want := askTool(t, b, member, tool, `{"sql":"SELECT * FROM nothing_there"}`)
				got := askTool(t, b, member, tool, `{"sql":"SELECT * FROM `+name+`"}`)
				if strings.NewReplacer(name, "nothing_there", strings.ToLower(name), "nothing_there", "nearest: task", "one of: task").Replace(got) != want {
					t.Errorf("%s of %s\n got %s\nwant %s", tool, name, got, want)
				}
			}
		}
		for name, want := range map[string]string{"v_task": "SQL_TABLE_NOT_ALLOWED /table", "v_person": "SQL_TABLE_NOT_ALLOWED /table", "v_tasks": `"rows":1`} {
			if got := askTool(t, queryBenchOn(t, on, dsn, "tools: [query, metadata]"), member, "profile_table", `{"table":"`+name+`","compute":true}`); !strings.Contains(got, want) {
				t.Errorf("profile_table of %s: %s", name, got)
			}
		}
		if got := askTool(t, b, member, "execute_query", `{"sql":"SELECT id, n FROM v_tasks"}`); !strings.Contains(got, `"data":[{"id":1,"n":"x"}]`) {
			t.Errorf("a view of what has no rules: %s", got)
		}
		// Listed, it is meant; declared, it has the rules of its resource; masked, its masks.
		b = queryBenchOn(t, on, dsn, ", tables: [v_task, person]")
		if got := askTool(t, b, member, "execute_query", `{"sql":"SELECT title FROM v_task WHERE id = 3"}`); !strings.Contains(got, `"secret"`) {
			t.Errorf("listed: %s", got)
		}
		b = newBench(t, on, fstest.MapFS{"q.yaml": queryConnection(on, dsn, ""), "c.yaml": {Data: []byte(`version: 1
resources:
  - {code: Task, table: task, connection: q, key: id, fields: {id: integer}}
  - code: View
    table: v_task
    view: true
    connection: q
    key: id
    rows: {type: and, exprs: [{field: id, operator: "<", token: "3"}]}
    fields: {id: integer, phone: {type: string, mask: last4}}
masking: {person: {code: redact}, v_person: {code: last4}, v_board: {id: redact}}
`)}}, map[string]string{"main": dsn})
		for text, want := range map[string]string{
			"SELECT * FROM v_task ORDER BY id":   `"data":[{"id":1,"phone":"*******1111"},{"id":2,"phone":null}]`,
			"SELECT * FROM v_person ORDER BY id": `"data":[{"id":1,"code":"****"},{"id":2,"code":null}]`,
			"SELECT * FROM v_board":              `"data":[{"id":"****"}]`,
			"SELECT * FROM v_far":                `SQL_TABLE_NOT_ALLOWED`,
		} {
			if got := askTool(t, b, member, "execute_query", `{"sql":"`+text+`"}`); !strings.Contains(got, want) {
				t.Errorf("%s\n got %s\nwant %s", text, got, want)
			}
		}
	})
}

// A recursion ends where its statement says, and not at a number of the database's own.
func TestDeepRecursion(t *testing.T) {
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		b := queryBench(t, on, "")
		if got := askTool(t, b, member, "execute_query", `{"sql":"WITH RECURSIVE x (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM x WHERE n < 3000) SELECT COUNT(*) AS n FROM x"}`); !strings.Contains(got, `"data":[{"n":3000}]`) {
			t.Errorf("%s", got)
		}
	})
}
