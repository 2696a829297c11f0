package engine_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"resq/engine"
	"resq/schema"
	"resq/schema/problem"
)

const checkedHead = `version: 1
resources:
  - {code: Task, table: task, key: id, fields: {id: integer, title: string, state: integer, made_at: datetime, due_on: date, price: "decimal(10,2)", owner: {type: string, maxLength: 10}, pin: {type: string, mask: redact}, data: json, uid: uuid, kind: {type: enum, values: [a, b]}, at: time}}
  - {code: Note, table: note, key: id, fields: {id: integer, task_id: integer, text: string, hours: "decimal(6,2)"}}
`

// What a tool asks and cannot be answered is told when the catalog is loaded, at its place in the file (B-041): each case
// is the body of a tool, ⟦ stands where the problem is, and the words behind it are part of the message.
func TestToolsAreChecked(t *testing.T) {
	for about, c := range map[string]struct{ body, want string }{
		"an unknown function": {`
    shape: list
    source: Task
    columns: [id, {x: {expr: ⟦"NOPE(title)"}}]`, `NOPE`},
		"an argument too many": {`
    shape: list
    source: Task
    columns: [id, {x: {expr: ⟦"UPPER(title, 2, 3)"}}]`, `UPPER`},
		"a mask inside an expression": {`
    shape: list
    source: Task
    columns: [id, {x: {expr: ⟦"UPPER(pin)"}}]`, `pin`},
		"aggregates beside plain fields": {`
    shape: list
    source: Task
    order: [id]
    columns: [title, {x: {expr: "SUM(price)"}}]`, `title`},
		"a text compared with a number": {`
    shape: list
    source: Task
    where: {type: and, exprs: [{field: title, operator: "=", token: x}, {field: state, operator: ">=", token: ⟦many}]}
    columns: [id]`, `"many" is no value for a field of type integer`},
		"a value that is none of a date": {`
    shape: list
    source: Task
    where: {due_on: ⟦someday}
    columns: [id]`, `someday`},
		"a sub-query that is no value": {`
    shape: list
    source: Task
    where: {type: and, exprs: [{field: id, operator: IN, tokenType: query, query: {resource: Note, fields: ⟦[{code: task_id}, {code: id}]}}]}
    columns: [id]`, `a nested request of 2 fields`},
		"a text argument on a number": {`
    shape: list
    source: Task
    params:
      ⟦state: {type: string}
    columns: [id]`, `the argument "state" of type string does not fit what it is compared with`},
		"a truth on a decimal": {`
    shape: list
    source: Task
    params:
      ⟦paid: {type: boolean, field: price}
    columns: [id]`, `the argument "paid" of type boolean does not fit`},
		"an argument that cannot fit a condition": {`
    shape: list
    source: Task
    where: {due_on: ⟦{">=": {param: from}}}
    params:
      from: {type: integer}
    columns: [id]`, `the argument "from" of type integer does not fit`},
		"an order by what cannot be sorted": {`
    shape: list
    source: Task
    order: [⟦pin]
    columns: [id]`, `pin`},
		"a key that cannot be looked up": {`
    shape: list
    source: Task
    columns: [id, ⟦note: {lookup: Note, by: title, take: text}]`, `the values of "title" are none of "id" on "Note"`},
		"children of another type": {`
    shape: record
    source: Task
    params: {id: {type: integer, required: true}}
    children:
      ⟦notes: {source: Note, on: {task_id: title}, columns: [id]}
    columns: [id]
    outputs: [{notes: {children: notes}}]`, `the values of "title" are none of "task_id" on "Note"`},
		"an output of grouped children that may differ": {`
    shape: record
    source: Task
    params: {id: {type: integer, required: true}}
    children:
      notes: {source: Note, on: {task_id: id}, groupBy: [task_id], columns: [task_id, {x: {expr: ⟦"hours + SUM(hours)"}}]}
    columns: [id]
    outputs: [{notes: {children: notes}}]`, `hours`},
		"a condition of children": {`
    shape: record
    source: Task
    params: {id: {type: integer, required: true}}
    children:
      notes: {source: Note, on: {task_id: id}, where: {type: and, exprs: [{field: hours, operator: ">", token: ⟦long}]}, columns: [id]}
    columns: [id]
    outputs: [{notes: {children: notes}}]`, `"long"`},
		"a query that is grouped wrongly": {`
    shape: list
    query:
      resource: Task
      fields: [⟦{code: title}, {code: COUNT(*), isExpr: true, alias: n}]
    columns: [title, n]`, `title`},
		"a query with a function that is none": {`
    shape: list
    query:
      resource: Task
      fields:
        - {code: id}
        - {code: ⟦"NOPE(title)", isExpr: true, alias: n}
    columns: [id, n]`, `NOPE`},
		"a query that hands on a mask": {`
    shape: list
    query: {resource: Task, fields: [{code: id}, ⟦{code: pin}]}
    columns: [id]`, `pin`},
		"an argument inside a query": {`
    shape: list
    query:
      resource: Task
      fields: [{code: id}]
      conditions: {type: and, exprs: [{field: due_on, operator: ">=", tokenType: param, token: ⟦from}]}
    params:
      from: {type: integer}
    columns: [id]`, `the argument "from"`},
		"an argument on what a query reads": {`
    shape: list
    query: {resource: Task, fields: [{code: id}]}
    params:
      ⟦from: {type: integer, field: Task.due_on, match: from}
    columns: [id]`, `the argument "from"`},
	} {
		text := checkedHead + "tools:\n  - name: a.tool\n    description: A tool." + c.body + "\n"
		mark := strings.Index(text, "⟦")
		clean := strings.Replace(text, "⟦", "", 1)
		cat, err := schema.LoadFS(fstest.MapFS{"c.yaml": {Data: []byte(clean)}}, schema.LoadOptions{DSN: map[string]string{"default": "sqlite::memory:"}})
		if err == nil {
			err = engine.Check(cat)
		}
		if err == nil {
			t.Errorf("%s: nothing is told", about)
			continue
		}
		p := problem.From(err)[0]
		if !strings.Contains(p.Message, c.want) || p.Code != problem.ConfigInvalid {
			t.Errorf("%s: %v", about, p)
		}
		if mark < 0 {
			continue
		}
		line := 1 + strings.Count(text[:mark], "\n")
		column := len([]rune(text[strings.LastIndex(text[:mark], "\n")+1:mark])) + 1
		if at := (schema.Pos{File: "c.yaml", Line: line, Column: column}).String(); p.At != at {
			t.Errorf("%s: told at %s and not at %s: %s", about, p.At, at, p.Message)
		}
	}
	// What fits is told nothing of: every form of an argument, and attributes that nobody has here.
	for _, body := range []string{`
    shape: list
    source: Task
    where:
      - {state: {principal: level}}
      - {type: or, exprs: [{field: title, operator: LIKE, tokenType: param, token: title}, {field: uid, operator: "=", tokenType: param, token: uid}]}
    params:
      title: {type: string, match: none}
      uid: {type: string}
      at: {type: string}
      kind: {type: string}
      kinds: {type: enum, values: [a, b], field: kind, match: in}
      made: {type: date, field: made_at, match: to, wholeDay: true}
      price: {type: number, match: from}
      owner: {type: integer}
    columns: ["*"]`, `
    shape: list
    query:
      resource: Task
      fields: [{code: state}, {code: COUNT(*), isExpr: true, alias: n}]
      groupBy: [Task.state]
    where: {n: {">": 1}}
    params:
      from: {type: date, field: Task.made_at, match: from}
      least: {type: integer, field: n, match: from}
    order: [n desc]
    columns: ["*"]`} {
		cat, err := schema.LoadFS(fstest.MapFS{"c.yaml": {Data: []byte(checkedHead + "tools:\n  - name: a.tool\n    description: A tool." + body + "\n")}}, schema.LoadOptions{DSN: map[string]string{"default": "sqlite::memory:"}})
		if err == nil {
			err = engine.Check(cat)
		}
		if err != nil {
			t.Error(err)
		}
	}
}

// Tools are checked in the time of a load, however many there are: a thousand of them in a second or so.
func TestToolsAreCheckedSoon(t *testing.T) {
	var b strings.Builder
	b.WriteString(checkedHead)
	for i := range 1000 {
		fmt.Fprintf(&b, "  - {code: R%d, table: task, key: id, roles: [r%d], fields: {id: integer, title: {type: string, roles: [f%d]}, state: integer, due_on: date}}\n", i, i, i)
	}
	b.WriteString("tools:\n")
	for i := range 1000 {
		fmt.Fprintf(&b, "  - name: t%d.list\n    description: Lists.\n    shape: list\n    source: R%d\n    where: {state: [0, 1]}\n    params: {id: {type: integer}, title: {type: string, match: contains}, from: {type: date, field: due_on, match: from}}\n"+
			"    columns: [\"*\", {name: {lookup: R%d, by: id, take: title}}, {x: {expr: \"state + 1\"}}]\n", i, i, (i+1)%1000)
	}
	cat, err := schema.LoadFS(fstest.MapFS{"c.yaml": {Data: []byte(b.String())}}, schema.LoadOptions{DSN: map[string]string{"default": "sqlite::memory:"}})
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	if err := engine.Check(cat); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("it took %v", took)
	} else {
		t.Logf("1,000 tools in %v", took.Round(time.Millisecond))
	}
}
