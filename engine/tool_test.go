package engine_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"resq/engine"
	"resq/engine/policy"
	"resq/schema/problem"
	"resq/testdb"
)

// toolCatalog is a small list with every kind of argument. Its rows are those of the caller's team.
const toolCatalog = `version: 1
texts:
  taskState: {0: open, 1: done, -1: void}
rules:
  team:
    args: [team]
    cases:
      - when: {type: and, exprs: [{field: boss, operator: "=", token: "true"}]}
        rows: all
      - rows: {type: and, exprs: [{field: $team, operator: "=", tokenType: principal, token: team}]}
resources:
  - code: Task
    table: task
    connection: main
    key: id
    softDelete: {field: gone, deleted: 1}
    rows: {rule: team, args: {team: team_id}}
    fields:
      id: integer
      title: {type: string, maxLength: 50}
      team_id: integer
      state: {type: integer, text: taskState}
      price: decimal(10,2)
      made_at: datetime
      due_on: date
      phone: {type: string, maxLength: 20, mask: last4}
      gone: integer
tools:
  - name: task.list
    title: {en: Tasks, zh: 任务}
    description: {en: Lists tasks, zh: 列出任务}
    shape: list
    source: Task
    naming: camel
    where: {state: [0, 1]}
    order: [due_on desc]
    paging: {default: 2, max: 3}
    params:
      id: {type: integer, min: 1}
      title: {type: string, match: contains, maxLength: 10}
      start: {type: string, field: title, match: prefix}
      state: {type: enum, text: taskState}
      states: {type: integer, field: state, match: in}
      least: {type: number, field: price, match: from}
      madeFrom: {type: date, field: made_at, match: from}
      madeTo: {type: date, field: made_at, match: to, wholeDay: true}
      dueTo: {type: date, field: due_on, match: to}
    columns: [id, title, state, price, made_at, due_on, phone, {team: team_id}]
  - name: boss.list
    title: Boss
    description: For the boss
    shape: list
    source: Task
    roles: [boss]
    lang: zh
    columns: [id]
`

const toolRows = `CREATE TABLE task (id INT PRIMARY KEY, title VARCHAR(50), team_id INT, state INT, price DECIMAL(10,2), made_at DATETIMETYPE, due_on DATE, phone VARCHAR(20), gone INT);
INSERT INTO task VALUES
 (1, 'paint the door', 1, 0, 10.50, '2024-01-31 23:59:59', '2024-02-01', '13800001111', 0),
 (2, 'paint the wall', 1, 1, 20, '2024-02-01 00:00:00', '2024-02-02', NULL, 0),
 (3, 'clean 100%', 1, 0, 5, '2024-01-01 08:00:00', '2024-02-02', '13800002222', 0),
 (4, 'clean the hall', 2, 0, 7, '2024-01-05 08:00:00', '2024-03-01', '13800003333', 0),
 (5, 'gone', 1, 0, 7, '2024-01-05 08:00:00', '2024-03-01', NULL, 1),
 (6, 'void', 1, -1, 7, '2024-01-05 08:00:00', '2024-03-01', NULL, 0);
`

func toolBench(t testing.TB, on testdb.Engine) *bench {
	sql := strings.ReplaceAll(toolRows, "DATETIMETYPE", map[string]string{"sqlite": "DATETIME", "mysql": "DATETIME", "postgres": "TIMESTAMP"}[on.Name])
	return newBench(t, on, fstest.MapFS{"c.yaml": {Data: []byte(toolCatalog)}}, map[string]string{"main": testdb.Create(t, on, sql)})
}

// askTool calls a tool and gives its answer on one line, or its problems.
func askTool(t testing.TB, b *bench, who *policy.Principal, tool, args string) string {
	t.Helper()
	a, err := b.engine.CallTool(t.Context(), who, engine.Call{Tool: tool, Args: []byte(args)})
	if err != nil {
		p := problem.From(err)[0]
		if p.Err != nil {
			t.Logf("%v", p.Err)
		}
		return string(p.Code) + " " + p.At + ": " + p.Message + " · " + p.Hint
	}
	return strings.ReplaceAll(string(a.Text), "\n", "")
}

var (
	member = &policy.Principal{Name: "member", Key: "m", Attributes: map[string]policy.Value{"team": policy.One("1")}}
	boss   = &policy.Principal{Name: "boss", Key: "b", Roles: []string{"boss"}, Attributes: map[string]policy.Value{"boss": policy.One("true")}}
)

// A list narrows the rows of its resource's rule by what it declares and what is asked (V-01 to V-06, V-12 to V-14,
// B-006, B-007, B-018, B-022).
func TestToolList(t *testing.T) {
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		b := toolBench(t, on)
		for _, c := range []struct {
			who        *policy.Principal
			args, want string
		}{
			{member, `{}`, `{"total":3,"page":1,"rows":2,"records":[` +
				`{"id":3,"title":"clean 100%","state":0,"price":5.00,"madeAt":"2024-01-01 08:00:00","dueOn":"2024-02-02","phone":"*******2222","team":1},` +
				`{"id":2,"title":"paint the wall","state":1,"price":20.00,"madeAt":"2024-02-01 00:00:00","dueOn":"2024-02-02","phone":null,"team":1}]}`},
			{boss, `{"rows":1}`, `{"total":4,"page":1,"rows":1,"records":[` +
				`{"id":4,"title":"clean the hall","state":0,"price":7.00,"madeAt":"2024-01-05 08:00:00","dueOn":"2024-03-01","phone":"*******3333","team":2}]}`},
			{member, `{"page":3}`, `{"total":3,"page":3,"rows":2,"records":[]}`},
			{member, `{"page":1000000000}`, `LIMIT_EXCEEDED /page: the page begins behind row 100000 · narrow the conditions`},
			{member, `{"page":0,"rows":500,"id":7}`, `{"total":0,"page":1,"rows":3,"records":[],"notice":"page is at least 1; the default of 1 was taken; rows is at most 3 and was cut to it"}`},
			{member, `{"title":"100%x"}`, `{"total":0,"page":1,"rows":2,"records":[]}`},
			{boss, `{"id":"6"}`, `{"total":0,"page":1,"rows":2,"records":[]}`},
			{member, `{"id":4}`, `{"total":0,"page":1,"rows":2,"records":[]}`},
			{member, `{"title":"wall","state":"0"}`, `{"total":0,"page":1,"rows":2,"records":[]}`},
			{member, `{"id":0}`, `INVALID_ARGUMENT /id: "0" is below 1 · 1 or more`},
			{member, `{"id":true}`, `INVALID_ARGUMENT /id: expected a whole number, not a boolean · 1 or more`},
			{member, `{"state":2}`, `INVALID_ARGUMENT /state: "2" is none of its values · one of: 0, 1, -1`},
			{member, `{"madeTo":"2024-02-30"}`, `INVALID_ARGUMENT /madeTo: "2024-02-30" is no date written as YYYY-MM-DD · such as 2026-01-31`},
			{member, `{"titel":"x"}`, `INVALID_ARGUMENT /titel: unknown key "titel" · nearest: title`},
			{member, `{"rows":"many"}`, `INVALID_ARGUMENT /rows: expected a whole number, not a string · `},
			{member, `{"title":"a very long title"}`, `INVALID_ARGUMENT /title: "a very long title" has more than 10 characters · `},
			{member, `{"states":5}`, `INVALID_ARGUMENT /states: expected a list, not a number · `},
		} {
			if got := askTool(t, b, c.who, "task.list", c.args); got != c.want {
				t.Errorf("%s %s\n got %s\nwant %s", c.who.Name, c.args, got, c.want)
			}
		}
		for args, want := range map[string]string{
			`{"madeTo":"2024-01-31"}`: "[3 1]", `{"madeFrom":"2024-01-31"}`: "[2 1]", `{"dueTo":"2024-02-01"}`: "[1]",
			`{"start":"paint"}`: "[2 1]", `{"title":"100"}`: "[3]", `{"title":"0%"}`: "[3]", `{"title":"%wall"}`: "[]", `{"start":"%"}`: "[]", `{"states":[1]}`: "[2]", `{"states":"[1]"}`: "[2]", `{"least":10.5}`: "[2 1]",
			`{"state":null,"title":""}`: "[3 2]",
		} {
			if got := ids(askTool(t, b, member, "task_list", args)); got != want {
				t.Errorf("%s: %s, want %s", args, got, want)
			}
		}
		// A tool for others is one that is not there.
		if got, none := askTool(t, b, member, "boss.list", `{}`), askTool(t, b, member, "boss.lisp", `{}`); strings.ReplaceAll(got, "boss.list", "boss.lisp") != none {
			t.Errorf("%s and %s", got, none)
		}
		if got := askTool(t, b, boss, "boss_list", `{"rows":101}`); !strings.Contains(got, `"notice":"rows 超过上限 100，已截断为 100"`) {
			t.Errorf("%s", got)
		}
	})
}

// ids are the first numbers of an answer's records.
func ids(answer string) string {
	var out []string
	for _, part := range strings.Split(answer, `{"id":`)[1:] {
		id, _, _ := strings.Cut(part, ",")
		out = append(out, strings.Trim(id, "}]"))
	}
	return "[" + strings.Join(out, " ") + "]"
}

// A page that is not full needs no count of the rows (B-019).
func TestToolListStatements(t *testing.T) {
	b := toolBench(t, testdb.Engines(t)[0])
	for args, want := range map[string]int{`{}`: 2, `{"rows":3}`: 1, `{"page":2}`: 1, `{"page":9}`: 2, `{"id":1}`: 1} {
		b.recorder.Reset()
		askTool(t, b, member, "task.list", args)
		if got := b.recorder.Texts(); len(got) != want {
			t.Errorf("%s: %d statements, want %d: %v", args, len(got), want, got)
		}
	}
}
