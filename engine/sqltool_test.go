package engine_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/fstest"

	"resq/engine"
	"resq/engine/policy"
	"resq/testdb"
)

// sqlToolCatalog is that of the tasks, with tables that no resource declares beside.
const sqlToolCatalog = `version: 1
tools:
  - name: tasks
    title: Tasks
    description: Tasks of a state.
    parameters:
      state: {type: integer, default: 0}
      title: {type: string, required: false, maxLength: 20}
      least: {type: number, required: false}
      due: {type: date, required: false}
      open: {type: boolean, required: false}
    maxRows: 2
    sql: |
      SELECT t.id, t.title, t.price, t.phone
      FROM task t
      WHERE t.state = :state
        AND (:title IS NULL OR t.title = :title)
        AND (CAST(:least AS DECIMAL(10, 2)) IS NULL OR t.price >= :least)
        AND (CAST(:due AS DATE) IS NULL OR t.due_on <= :due)
        AND (:open IS NULL OR t.gone = 0)
      ORDER BY t.id
  - name: people
    title: People
    description: Those who are not tasks.
    sql: SELECT p.*, (SELECT count(*) FROM task x WHERE x.id = p.id) AS tasks FROM person p ORDER BY p.id
  - name: by_state
    title: By state
    description: A statement of many parts.
    sql: |
      WITH recent AS (SELECT state, price FROM task WHERE due_on >= '2024-02-01')
      SELECT state, count(*) AS n, max(price) AS most FROM recent GROUP BY state HAVING count(*) > 0
      UNION ALL SELECT -99, count(*), 0 FROM task
      ORDER BY 1 LIMIT 10
  - name: everything
    title: Everything
    description: All rows.
    row_policy: bypass
    bypass: {reason: the auditor counts, owner: the boss, principals: [auditor]}
    sql: SELECT id, phone FROM task ORDER BY id
  - name: for_boss
    title: For the boss
    description: Of the board.
    sql: SELECT id FROM board
  - name: by_name
    title: By name
    description: In every form of a text.
    parameters: {name: {type: string}}
    sql: SELECT id, name AS "name", ':name ?' AS text FROM person WHERE name = :name
annotations:
  person:
    filters: [{sql: "gone = 0", columns: [gone], reason: some have left}]
masking:
  person: {phone: last4, secret: redact}
`

const personRows = `CREATE TABLE person (id INT PRIMARY KEY, name VARCHAR(50), phone VARCHAR(20), secret INT, gone INT);
INSERT INTO person VALUES (1, 'Ann', '13800001111', 7, 0), (2, '中文名字五', NULL, 8, 1), (3, 'it''s', '1234', NULL, 0), (4, ':name', '一二三四五', 1, 0);
CREATE TABLE board (id INT PRIMARY KEY);
`

var auditor = &policy.Principal{Name: "auditor", Key: "a", Attributes: map[string]policy.Value{"team": policy.One("2")}}

func sqlToolBench(t testing.TB, on testdb.Engine, change ...func(o *engine.Options)) *bench {
	sql := strings.ReplaceAll(toolRows, "DATETIMETYPE", map[string]string{"sqlite": "DATETIME", "mysql": "DATETIME", "postgres": "TIMESTAMP"}[on.Name])
	tools := sqlToolCatalog
	if on.Name == testdb.MySQL {
		tools = strings.ReplaceAll(tools, `AS "name"`, "AS `name`")
	}
	base, _, _ := strings.Cut(toolCatalog, "tools:")
	base += "  - {code: Board, table: board, connection: main, key: id, roles: [boss], fields: {id: integer}}\n"
	return newBench(t, on, fstest.MapFS{"c.yaml": {Data: []byte(base)}, "t.yaml": {Data: []byte(tools)}},
		map[string]string{"main": testdb.Create(t, on, sql+personRows)}, change...)
}

// A SQL tool gives the rows that its caller may see, with masks, as the values ask (D-011 to D-019, D-050 to D-056).
func TestSQLTool(t *testing.T) {
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		b := sqlToolBench(t, on)
		for _, c := range []struct {
			who              *policy.Principal
			tool, args, want string
		}{
			{member, "tasks", `{}`, `{"success":true,"data":[{"id":1,"title":"paint the door","price":10.50,"phone":"*******1111"},{"id":3,"title":"clean 100%","price":5.00,"phone":"*******2222"}],"rowCount":2,"limitApplied":2,"truncated":true,"warnings":["there are more than 2 rows; narrow the arguments"]}`},
			{member, "tasks", `{"title":"clean 100%"}`, `{"success":true,"data":[{"id":3,"title":"clean 100%","price":5.00,"phone":"*******2222"}],"rowCount":1,"limitApplied":2,"truncated":false}`},
			{member, "tasks", `{"least":"10.5","title":null,"open":true}`, `{"success":true,"data":[{"id":1,"title":"paint the door","price":10.50,"phone":"*******1111"}],"rowCount":1,"limitApplied":2,"truncated":false}`},
			{member, "tasks", `{"due":"2024-02-01"}`, `{"success":true,"data":[{"id":1,"title":"paint the door","price":10.50,"phone":"*******1111"}],"rowCount":1,"limitApplied":2,"truncated":false}`},
			{member, "tasks", `{"state":"1"}`, `{"success":true,"data":[{"id":2,"title":"paint the wall","price":20.00,"phone":null}],"rowCount":1,"limitApplied":2,"truncated":false}`},
			{member, "tasks", `{"title":""}`, `{"success":true,"data":[],"rowCount":0,"limitApplied":2,"truncated":false}`},
			{auditor, "tasks", `{}`, `{"success":true,"data":[{"id":4,"title":"clean the hall","price":7.00,"phone":"*******3333"}],"rowCount":1,"limitApplied":2,"truncated":false}`},
			{member, "tasks", `{"state":null}`, `{"success":true,"data":[],"rowCount":0,"limitApplied":2,"truncated":false}`},
			{member, "tasks", `{"title":"` + strings.Repeat("x", 21) + `"}`, `INVALID_ARGUMENT /title: "` + strings.Repeat("x", 21) + `" has more than 20 characters · `},
			{member, "tasks", `{"limit":5}`, `INVALID_ARGUMENT /limit: unknown key "limit" · one of: state, title, least, due, open`},
			{member, "tasks", `{"system":"main"}`, `INVALID_ARGUMENT /system: unknown key "system" · one of: state, title, least, due, open`},
			{member, "people", `{}`, `{"success":true,"data":[{"id":1,"name":"Ann","phone":"*******1111","secret":"****","gone":0,"tasks":1},{"id":2,"name":"中文名字五","phone":null,"secret":"****","gone":1,"tasks":1},{"id":3,"name":"it's","phone":"****","secret":null,"gone":0,"tasks":1},{"id":4,"name":":name","phone":"*二三四五","secret":"****","gone":0,"tasks":0}],"rowCount":4,"limitApplied":1000,"truncated":false,"warnings":["the rows of person usually need the condition gone = 0: some have left"],"skippedFilters":[{"table":"person","sql":"gone = 0","reason":"some have left"}]}`},
			{member, "by_state", `{}`, `{"success":true,"data":[{"state":-99,"n":5,"most":0},{"state":-1,"n":1,"most":7},{"state":0,"n":3,"most":10.5},{"state":1,"n":1,"most":20}],"rowCount":4,"limitApplied":1000,"truncated":false}`},
			{auditor, "everything", `{}`, `{"success":true,"data":[{"id":1,"phone":"*******1111"},{"id":2,"phone":null},{"id":3,"phone":"*******2222"},{"id":4,"phone":"*******3333"},{"id":5,"phone":null},{"id":6,"phone":null}],"rowCount":6,"limitApplied":1000,"truncated":false}`},
			{member, "everything", `{}`, `UNKNOWN_TOOL : no tool "everything" · `},
			{member, "for_boss", `{}`, `UNKNOWN_TOOL : no tool "for_boss" · `},
			{boss, "for_boss", `{}`, `{"success":true,"data":[],"rowCount":0,"limitApplied":1000,"truncated":false}`},
			{member, "by_name", `{"name":":name"}`, `{"success":true,"data":[{"id":4,"name":":name","text":":name ?"}],"rowCount":1,"limitApplied":1000,"truncated":false,"warnings":["the rows of person usually need the condition gone = 0: some have left"],"skippedFilters":[{"table":"person","sql":"gone = 0","reason":"some have left"}]}`},
		} {
			// What databases calculate has as many digits as they like.
			got := strings.NewReplacer(`"most":7.00`, `"most":7`, `"most":10.50`, `"most":10.5`, `"most":20.00`, `"most":20`, `"most":0.00`, `"most":0`,
				`"price":10.5,`, `"price":10.50,`, `"price":5,`, `"price":5.00,`, `"price":20,`, `"price":20.00,`, `"price":7,`, `"price":7.00,`).Replace(askTool(t, b, c.who, c.tool, c.args))
			if got != c.want {
				t.Errorf("%s %s as %s\n got %s\nwant %s", c.tool, c.args, c.who.Name, got, c.want)
			}
		}
	})
}

// What an audit keeps of a SQL tool: the row rules that decided, or who answers for it that they were bypassed.
func TestSQLToolTrace(t *testing.T) {
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		b := sqlToolBench(t, on)
		for _, c := range []struct{ tool, rules, bypass string }{
			{"everything", "", "the boss: the auditor counts"},
			{"tasks", "team:2", ""},
			{"people", "team:2", ""},
		} {
			var tr engine.Trace
			if _, err := b.engine.CallTool(engine.WithTrace(t.Context(), &tr), auditor, engine.Call{Tool: c.tool, Args: []byte("{}")}); err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(tr.Rules(), " "); got != c.rules || tr.Bypass() != c.bypass || len(tr.Statements()) == 0 {
				t.Errorf("%s: rules %q, want %q; bypass %q, want %q; %d statements", c.tool, got, c.rules, tr.Bypass(), c.bypass, len(tr.Statements()))
			}
		}
	})
}

// A bypass of row rules is told with who answers for it.
func TestSQLToolBypassIsLogged(t *testing.T) {
	var log strings.Builder
	b := sqlToolBench(t, testdb.Engines(t)[0], func(o *engine.Options) { o.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	askTool(t, b, auditor, "everything", "{}")
	for _, want := range []string{"tool=everything", "principal=auditor", `owner="the boss"`, `reason="the auditor counts"`} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log does not say %s: %s", want, log.String())
		}
	}
}

// A mask that hides nothing stops every statement on its table: a typo leaves no column open.
func TestSQLMaskThatHidesNothing(t *testing.T) {
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		b := newBench(t, on, fstest.MapFS{"t.yaml": {Data: []byte("version: 1\ntools: [{name: people, title: t, description: d, sql: SELECT id FROM person}]\nmasking: {person: {fone: redact}}\n")}},
			map[string]string{"main": testdb.Create(t, on, personRows)})
		if got := askTool(t, b, member, "people", "{}"); !strings.HasPrefix(got, "DATA_INTEGRITY_ERROR") {
			t.Error(got)
		}
	})
}

// With several connections a call may choose one, and a pinned tool does not ask (D-030).
func TestSQLToolSystem(t *testing.T) {
	on := testdb.Engines(t)[0]
	side := strings.Replace(personRows, "'Ann'", "'Bob'", 1)
	b := newBench(t, on, fstest.MapFS{"t.yaml": {Data: []byte(`version: 1
tools:
  - {name: first, title: t, description: d, sql: SELECT name FROM person WHERE id = 1}
  - {name: pinned, title: t, description: d, system: side, sql: SELECT name FROM person WHERE id = 1}
  - {name: own, title: t, description: d, parameters: {system: {type: string}}, sql: SELECT name FROM person WHERE name = :system}
`)}}, map[string]string{"default": testdb.Create(t, on, personRows), "side": testdb.Create(t, on, side)})
	for _, c := range []struct{ tool, args, want string }{
		{"first", `{}`, `"Ann"`},
		{"first", `{"system":"side"}`, `"Bob"`},
		{"first", `{"system":"far"}`, "INVALID_ARGUMENT /system"},
		{"pinned", `{}`, `"Bob"`},
		{"pinned", `{"system":"default"}`, "INVALID_ARGUMENT /system"},
		{"own", `{"system":"Ann"}`, `"Ann"`},
	} {
		if got := askTool(t, b, member, c.tool, c.args); !strings.Contains(got, c.want) {
			t.Errorf("%s %s: %s, want %s", c.tool, c.args, got, c.want)
		}
	}
	for name, want := range map[string]bool{"first": true, "pinned": false, "own": false} {
		tool, _ := b.catalog.Tool(name)
		if got := strings.Contains(string(tool.Input("en")), `"system":{"type":"string","enum"`); got != want {
			t.Errorf("%s: the argument system is offered: %v", name, got)
		}
	}
}

// An answer ends at the budget of bytes and at QUERY_MAX_LIMIT, and says so (D-019, C9).
func TestSQLToolIsCut(t *testing.T) {
	on := testdb.Engines(t)[0]
	var rows strings.Builder
	rows.WriteString("CREATE TABLE big (id INT, x VARCHAR(100));\n")
	for i := range 900 {
		fmt.Fprintf(&rows, "INSERT INTO big VALUES (%d, '%s');\n", i, strings.Repeat("x", 90))
	}
	b := newBench(t, on, fstest.MapFS{"t.yaml": {Data: []byte("version: 1\ntools: [{name: big, title: t, description: d, sql: SELECT * FROM big ORDER BY id}, {name: few, title: t, description: d, maxRows: 500, sql: SELECT id FROM big}]\n")}},
		map[string]string{"main": testdb.Create(t, on, rows.String())}, func(o *engine.Options) { o.SQL.Max = 300 })
	if got := askTool(t, b, member, "big", "{}"); !strings.Contains(got, `"truncated":true,"warnings":["the answer was cut at 2`) || len(got) > 25<<10 {
		t.Errorf("%d bytes, %s", len(got), got[len(got)-200:])
	}
	if got := askTool(t, b, member, "few", "{}"); !strings.Contains(got, `"rowCount":300,"limitApplied":300,"truncated":true`) {
		t.Error(got[len(got)-200:])
	}
}

// A call that is over ends its statement.
func TestSQLToolEnds(t *testing.T) {
	b := sqlToolBench(t, testdb.Engines(t)[0])
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.engine.CallTool(ctx, member, engine.Call{Tool: "people", Args: []byte("{}")}); err == nil || !strings.Contains(tell(err), "CANCELLED") {
		t.Errorf("%v", err)
	}
}
