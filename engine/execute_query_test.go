package engine_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"resq/engine"
	"resq/engine/policy"
	"resq/schema/problem"
	"resq/testdb"
)

// queryConnection is a connection q whose clients may send SQL.
func queryConnection(on testdb.Engine, dsn, keys string) *fstest.MapFile {
	if !strings.HasPrefix(keys, "tools: ") {
		keys = "tools: [query]" + keys
	}
	return &fstest.MapFile{Data: fmt.Appendf(nil, "version: 1\nconnections: {q: {driver: %s, dsn: %q, %s}}\n", on.Name, dsn, keys)}
}

const queryTables = `CREATE TABLE task (id INT PRIMARY KEY, title VARCHAR(50), team INT, phone VARCHAR(20), cost INT);
INSERT INTO task VALUES (1, 'paint', 1, '13800001111', 7), (2, 'clean', 1, NULL, 8), (3, 'secret', 2, '13800002222', 9);
CREATE TABLE person (id INT PRIMARY KEY, name VARCHAR(50), code VARCHAR(20), big BIGINT);
INSERT INTO person VALUES (1, 'Ann', 'abc', 9007199254740993), (2, 'Bo', NULL, 2);
CREATE TABLE board (id INT PRIMARY KEY, salary INT);
INSERT INTO board VALUES (1, 100);
CREATE TABLE resq_own (id INT PRIMARY KEY);
CREATE TABLE agent_api_key (id INT PRIMARY KEY);
`

// queryBench has tables of every kind: with rules and masks, with masks alone, for some roles alone, and with nothing said
// of them.
func queryBench(t testing.TB, on testdb.Engine, keys string, change ...func(o *engine.Options)) *bench {
	return queryBenchOn(t, on, testdb.Create(t, on, queryTables), keys, change...)
}

// queryBenchOn is queryBench with a database that has more.
func queryBenchOn(t testing.TB, on testdb.Engine, dsn, keys string, change ...func(o *engine.Options)) *bench {
	return newBench(t, on, fstest.MapFS{"q.yaml": queryConnection(on, dsn, keys), "c.yaml": {Data: []byte(`version: 1
resources:
  - code: Task
    table: task
    connection: q
    key: id
    rows: {type: and, exprs: [{field: team, operator: "=", tokenType: principal, token: team}]}
    fields: {id: integer, title: {type: string, maxLength: 50}, team: integer, phone: {type: string, maxLength: 20, mask: last4}, cost: {type: integer, roles: [boss]}}
  - {code: Board, table: board, connection: q, key: id, roles: [boss], fields: {id: integer, salary: integer}}
masking: {person: {code: redact}}
`)}}, map[string]string{"main": dsn}, append(change, func(o *engine.Options) {
		if o.Control != "" {
			o.Control = dsn
		}
	})...)
}

// Clients' SQL is run under the row rules and masks of who sent it, with its values bound; what it may not do is told with
// the check and the place (D-060 to D-064, D-068, D-072).
func TestExecuteQuery(t *testing.T) {
	head := &policy.Principal{Name: "head", Key: "h", Roles: []string{"boss"}, Attributes: map[string]policy.Value{"team": policy.One("2")}}
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		b := queryBench(t, on, "")
		for _, c := range []struct {
			who        *policy.Principal
			args, want string
			untouched  bool // the database is asked nothing
		}{
			{member, `{"sql":"SELECT id, title, phone FROM task ORDER BY id"}`, `{"success":true,"data":[{"id":1,"title":"paint","phone":"*******1111"},{"id":2,"title":"clean","phone":null}],"rowCount":2,"limitApplied":1000,"truncated":false}`, false},
			{member, `{"sql":"SELECT * FROM task ORDER BY id","limit":1}`, `{"success":true,"data":[{"id":1,"title":"paint","team":1,"phone":"*******1111"}],"rowCount":1,"limitApplied":1,"truncated":true,"warnings":["there are more than 1 rows; narrow the arguments"]}`, false},
			{head, `{"sql":"SELECT id, cost FROM task"}`, `{"success":true,"data":[{"id":3,"cost":9}],"rowCount":1,"limitApplied":1000,"truncated":false}`, false},
			{member, `{"sql":"SELECT id FROM task WHERE id = ? AND title = ?","params":[2,"clean"]}`, `{"success":true,"data":[{"id":2}],"rowCount":1,"limitApplied":1000,"truncated":false}`, false},
			{member, `{"sql":"SELECT id FROM task WHERE id = ? OR title = ?","params":[null,"paint' OR 'a' = 'a"]}`, `{"success":true,"data":[],"rowCount":0,"limitApplied":1000,"truncated":false}`, false},
			{member, `{"sql":"SELECT big, '?' AS mark FROM person WHERE big = ?","params":[9007199254740993]}`, `{"success":true,"data":[{"big":"9007199254740993","mark":"?"}],"rowCount":1,"limitApplied":1000,"truncated":false}`, false},
			{member, `{"sql":"SELECT name, code FROM person ORDER BY id"}`, `{"success":true,"data":[{"name":"Ann","code":"****"},{"name":"Bo","code":null}],"rowCount":2,"limitApplied":1000,"truncated":false}`, false},
			{head, `{"sql":"SELECT salary FROM board"}`, `{"success":true,"data":[{"salary":100}],"rowCount":1,"limitApplied":1000,"truncated":false}`, false},
			{member, `{"sql":"WITH board AS (SELECT 5 AS n) SELECT n FROM board"}`, `{"success":true,"data":[{"n":5}],"rowCount":1,"limitApplied":1000,"truncated":false}`, false},

			{member, `{"sql":"DELETE FROM task"}`, `SQL_NOT_READ_ONLY /sql:1:1`, true},
			{member, `{"sql":"SELECT 1; SELECT 2"}`, `SQL_SYNTAX /sql:1:9`, true},
			{member, `{"sql":"SELECT id\nFROM task\nWHERE pg_sleep(1) > 0"}`, `SQL_FUNCTION_NOT_ALLOWED /sql:3:7`, true},
			{member, `{"sql":"SELECT id FROM task WHERE id = :id"}`, `SQL_PARAM /sql:1:32`, true},
			{member, `{"sql":"SELECT id FROM resq_own"}`, `SQL_TABLE_NOT_ALLOWED /sql:1:16`, true},
			{member, `{"sql":"SELECT table_name FROM information_schema.tables"}`, `SQL_TABLE_NOT_ALLOWED /sql:1:24`, false},
			{member, `{"sql":"SELECT id FROM person WHERE code = 'abc'"}`, `SQL_MASKED_COLUMN /sql:1:29`, true},
			{member, `{"sql":"SELECT phone AS p FROM task"}`, `SQL_MASKED_COLUMN /sql:1:8`, true},
			{member, `{"sql":"SELECT id FROM task WHERE id = ?"}`, `SQL_PARAM /params`, true},
			{member, `{"sql":"SELECT id FROM task","params":[1]}`, `SQL_PARAM /params`, true},
			{member, `{"sql":"SELECT id FROM task LIMIT ?","params":[1]}`, `SQL_PARAM /sql:1:27`, true},
			{member, `{"sql":"SELECT 1","params":[[1]]}`, `INVALID_ARGUMENT /params/0`, true},
			{member, `{"sql":"SELECT 1","limit":0}`, `INVALID_ARGUMENT /limit`, true},
			{member, `{"sql":"SELECT 1","system":"q"}`, `INVALID_ARGUMENT /system`, true},
			{member, `{}`, `INVALID_ARGUMENT /sql`, true},
			{member, `{"sql":"SELECT 1 ` + strings.Repeat(" ", 10_000) + `"}`, `LIMIT_EXCEEDED /sql:1:1`, true},
			{member, `{"sql":"SELECT cost FROM task"}`, `UNKNOWN_FIELD /sql:1:8: there is no column "cost" in FROM here · one of: id, title, team, phone`, true},
			{member, `{"sql":"SELECT id FROM person WHERE name = ? AND nothing(1) = 2","params":["a"]}`, `SQL_FUNCTION_NOT_ALLOWED /sql:1:42`, true},
			{member, `{"sql":"SELECT upper(id, id, id) AS u FROM person"}`, `SQL_SYNTAX /sql: the database does not take the statement`, false},
		} {
			b.recorder.Reset()
			got := askTool(t, b, c.who, "execute_query", c.args)
			if !strings.HasPrefix(got, c.want) {
				t.Errorf("%s as %s\n got %s\nwant %s", c.args, c.who.Name, got, c.want)
			}
			if ran := b.recorder.Statements(); c.untouched && len(ran) > 0 {
				t.Errorf("%s was refused, and the database was asked %v", c.args, ran)
			}
		}
	})
}

// What the caller may not see looks as what is not there: tables of resources for others, their columns, and fields for
// others, for each of the tools (D-068, security.md 1.4).
func TestHiddenTablesAreAbsent(t *testing.T) {
	for _, keys := range []string{"", ", tables: [task, board, person]"} {
		hiddenAreAbsent(t, keys)
	}
}

func hiddenAreAbsent(t *testing.T, keys string) {
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		b := queryBench(t, on, keys, func(o *engine.Options) { o.Control = "sqlite:elsewhere" })
		for _, tool := range []string{"execute_query", "validate_query"} {
			for _, text := range []string{"SELECT id FROM board", "SELECT salary, nothing FROM board", "SELECT x.id FROM task t JOIN board x ON x.id = t.id", "SELECT id FROM task WHERE id IN (SELECT id FROM board)",
				"SELECT id, phone AS p FROM task, board", "WITH board AS (SELECT 1 AS id) SELECT id FROM board", "WITH x AS (SELECT id FROM board) SELECT id FROM x", "SELECT id FROM agent_api_key"} {
				want := askTool(t, b, member, tool, `{"sql":"`+strings.NewReplacer("board", "bored", "agent_api_key", "agent_api_kez").Replace(text)+`"}`)
				got := strings.NewReplacer("board", "bored", "agent_api_key", "agent_api_kez").Replace(askTool(t, b, member, tool, `{"sql":"`+text+`"}`))
				if got != want {
					t.Errorf("%s %s\n got %s\nwant %s", tool, text, got, want)
				}
				if strings.Contains(strings.ReplaceAll(got, "bored", ""), "Board") {
					t.Errorf("%s %s tells of the resource: %s", tool, text, got)
				}
			}
			a := askTool(t, b, member, tool, `{"sql":"SELECT cost FROM task"}`)
			if c := askTool(t, b, member, tool, `{"sql":"SELECT cast_ FROM task"}`); strings.ReplaceAll(a, "cost", "cast_") != c {
				t.Errorf("%s: %s\n%s", tool, a, c)
			}
		}
	})
}

// validate_query says what is missing and which check a statement does not pass, and runs nothing (D.7).
func TestValidateQuery(t *testing.T) {
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		b := queryBench(t, on, "")
		for _, c := range []struct{ text, want string }{
			{"SELECT id FROM task WHERE id = ?", `{"success":true,"valid":true,"statementType":"SELECT","missingTables":[],"missingColumns":[],"missingRoutines":[],"violations":[]}`},
			{"SELECT id FROM nowhere, board", `{"success":true,"valid":false,"statementType":"SELECT","missingTables":["nowhere","board"],"missingColumns":[],"missingRoutines":[],"violations":[{"check":"names","code":"SQL_TABLE_NOT_ALLOWED","at":"/sql:1:16","message":"there is no table \"nowhere\" here"`},
			{"SELECT t.id, t.nothing FROM task t", `{"success":true,"valid":false,"statementType":"SELECT","missingTables":[],"missingColumns":["nothing"],"missingRoutines":[],"violations":[{"check":"names","code":"UNKNOWN_FIELD","at":"/sql:1:16"`},
			{"SELECT evil(1) FROM task", `{"success":true,"valid":false,"missingTables":[],"missingColumns":[],"missingRoutines":["evil"],"violations":[{"check":"read-only","code":"SQL_FUNCTION_NOT_ALLOWED","at":"/sql:1:8"`},
			{"UPDATE task SET id = 1", `{"success":true,"valid":false,"missingTables":[],"missingColumns":[],"missingRoutines":[],"violations":[{"check":"read-only","code":"SQL_NOT_READ_ONLY","at":"/sql:1:1"`},
			{"SELECT id FROM person WHERE code IS NULL", `{"success":true,"valid":false,"statementType":"SELECT","missingTables":[],"missingColumns":[],"missingRoutines":[],"violations":[{"check":"masks","code":"SQL_MASKED_COLUMN","at":"/sql:1:29"`},
			{"SELECT upper(id, id, id) AS u FROM person", `{"success":true,"valid":false,"statementType":"SELECT","missingTables":[],"missingColumns":[],"missingRoutines":[],"violations":[{"check":"sqlstate-42","code":"SQL_SYNTAX","at":"/sql"`},
		} {
			if got := askTool(t, b, member, "validate_query", `{"sql":"`+c.text+`"}`); !strings.HasPrefix(got, c.want) {
				t.Errorf("%s\n got %s\nwant %s", c.text, got, c.want)
			}
		}
	})
}

// The tools are there where a connection names their group, and nowhere else (D-068).
func TestQueryToolsAreOffByDefault(t *testing.T) {
	on := testdb.Engines(t)[0]
	b := newBench(t, on, fstest.MapFS{}, map[string]string{"main": testdb.Create(t, on)})
	for _, tool := range []string{"execute_query", "validate_query"} {
		if got := askTool(t, b, member, tool, `{"sql":"SELECT 1"}`); !strings.HasPrefix(got, "UNKNOWN_TOOL") {
			t.Errorf("%s: %s", tool, got)
		}
	}
}

// With several connections of the group the call may choose one, and no other one (D-030, D-068); a statement that the
// database cannot run tells of the kind of fault alone (D-072).
func TestExecuteQuerySystem(t *testing.T) {
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		one := testdb.Create(t, on, "CREATE TABLE place (n VARCHAR(9));\nINSERT INTO place VALUES ('one');\n")
		two := testdb.Create(t, on, "CREATE TABLE place (n VARCHAR(9));\nINSERT INTO place VALUES ('two');\n")
		b := newBench(t, on, fstest.MapFS{"q.yaml": queryConnection(on, one, ""), "r.yaml": {Data: fmt.Appendf(nil, "version: 1\nconnections: {r: {driver: %s, dsn: %q, tools: [query]}}\n", on.Name, two)}},
			map[string]string{"main": one})
		for _, c := range []struct{ args, want string }{
			{`{"sql":"SELECT n FROM place"}`, `{"success":true,"data":[{"n":"one"}]`},
			{`{"sql":"SELECT n FROM place","system":"r"}`, `{"success":true,"data":[{"n":"two"}]`},
			{`{"sql":"SELECT n FROM place","system":"main"}`, `INVALID_ARGUMENT /system: there is no such database here · one of: q, r`},
		} {
			if got := askTool(t, b, member, "execute_query", c.args); !strings.HasPrefix(got, c.want) {
				t.Errorf("%s\n got %s\nwant %s", c.args, got, c.want)
			}
		}
		if on.Name != testdb.Postgres {
			return // the others make something of the value
		}
		_, err := b.engine.CallTool(t.Context(), member, engine.Call{Tool: "execute_query", Args: []byte(`{"sql":"SELECT CAST(n AS INTEGER) AS i FROM place"}`)})
		if p := problem.From(err)[0]; p.Code != problem.DataError || p.Reason != "sqlstate-22" || strings.Contains(p.Message, "one") {
			t.Errorf("%v %s", err, p.Reason)
		}
	})
}
