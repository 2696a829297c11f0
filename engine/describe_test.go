package engine_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/fstest"

	"resq/engine"
	"resq/engine/dialect/sqlite"
	"resq/engine/policy"
	"resq/schema"
	"resq/testdb"
)

// A relation that has the code of its own resource is told under a code that a request can use, and the example request
// compiles: the field that refers, or the resource's code with a number where that is another relation's.
func TestDescribeSelfReference(t *testing.T) {
	for name, c := range map[string]struct{ fields, relations, want string }{
		"snake": {"boss_id: {type: integer, references: Employee.id}", "", "→ boss (Employee): boss.id = Employee.boss_id"},
		"camel": {"bossId: {type: integer, references: Employee.id}", "", "→ boss (Employee): boss.id = Employee.bossId"},
		"plain": {"boss: {type: integer, references: Employee.id}", "", "→ boss (Employee): boss.id = Employee.boss"},
		"taken": {"boss_id: {type: integer, references: Employee.id}", "relations: [{code: Boss, to: Site, on: [id]}]", "→ Employee_2 (Employee): Employee_2.id = Employee.boss_id"},
		"odd":   {"'the boss_id': {type: integer, references: Employee.id}", "", "→ Employee_2 (Employee): Employee_2.id = Employee.the boss_id"},
		"own":   {"employee_id: {type: integer, references: Employee.id}", "", "→ Employee_2 (Employee): Employee_2.id = Employee.employee_id"},
		"down":  {"boss_id: integer", "relations: [{to: Employee, many: true, on: {id: boss_id}}]", "→ Employee_2 (Employee) many: Employee_2.boss_id = Employee.id"},
	} {
		t.Run(name, func(t *testing.T) {
			text := "version: 1\nconnections: {default: {dsn: 'sqlite:unused'}}\nresources:\n  - code: Employee\n    fields: {id: integer, " + c.fields + "}\n    " + c.relations +
				"\n  - {code: Site, fields: {id: integer}}\n"
			cat, err := schema.LoadFS(fstest.MapFS{"c.yaml": {Data: []byte(text)}}, schema.LoadOptions{})
			if err != nil {
				t.Fatal(err)
			}
			e, err := engine.New(cat, engine.Options{Drivers: []engine.Driver{sqlite.New()}})
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close()
			who := &policy.Principal{Name: "local"}
			a, err := e.Describe(context.Background(), who, []byte(`{"keywords":"Employee","detail":"full"}`))
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(a.Text), c.want+"\n") {
				t.Errorf("lacks %q:\n%s", c.want, a.Text)
			}
			_, example, _ := strings.Cut(string(a.Text), "example: ")
			example, _, _ = strings.Cut(example, "\n")
			if !json.Valid([]byte(example)) || !strings.Contains(example, `"relations"`) {
				t.Fatalf("the example is %q", example)
			}
			if _, err := e.Explain(context.Background(), who, []byte(example)); err != nil {
				t.Errorf("%v\n%s", err, example)
			}
		})
	}
}

// The JSON form says what the text says, to the same principal: the same resources, fields and ways, and nothing
// that is hidden.
func TestDescribeJSON(t *testing.T) {
	shop := newShop(t, testdb.Engine{Name: testdb.SQLite})
	type described struct {
		Resources []struct {
			Code, Name, Connection, Table, Description string
			Fields                                     []struct {
				Code, Type, References, Description string
				Key, Masked                         bool
				Texts                               []struct{ Code, Label string }
			}
			Relations []struct {
				Code, Resource string
				On             []struct{ Field, Of string }
			}
			Example json.RawMessage
		}
		Nearest, Notice []string
	}
	resources := 0
	for name, who := range principals(t) {
		for _, args := range []string{`{}`, `{"detail":"fields"}`, `{"detail":"full"}`, `{"keywords":"order|user","detail":"full"}`, `{"keywords":"order|user","detail":"names"}`, `{"keywords":"nosuchthing"}`} {
			a, err := shop.engine.Describe(context.Background(), who, []byte(args))
			if err != nil {
				t.Fatal(err)
			}
			raw := a.Data()
			var d described
			if err := json.Unmarshal(raw, &d); err != nil || strings.ContainsRune(string(raw), '\n') {
				t.Fatalf("%v: %s", err, raw)
			}
			text := string(a.Text)
			if len(d.Resources) != a.Rows {
				t.Errorf("%s %s: %d resources, and %d in the text", name, args, len(d.Resources), a.Rows)
			}
			fields, ways := 0, 0
			says := func(what string) {
				if !strings.Contains(text, what) {
					t.Errorf("%s %s: the text does not say %q", name, args, what)
				}
			}
			for _, r := range d.Resources {
				resources++
				says(r.Code)
				says(r.Connection)
				says(r.Description)
				for _, f := range r.Fields {
					fields++
					says("- " + f.Code + " " + f.Type)
					says(f.References)
					says(f.Description)
					for _, l := range f.Texts {
						says(l.Code + "=" + l.Label)
					}
				}
				for _, w := range r.Relations {
					ways++
					for _, p := range w.On {
						says(w.Code + "." + p.Field + " = " + r.Code + "." + p.Of)
					}
				}
				if len(r.Example) > 0 {
					says("example: " + string(r.Example))
				}
			}
			if n := strings.Count("\n"+text, "\n- "); n != fields {
				t.Errorf("%s %s: %d fields, and %d in the text", name, args, fields, n)
			}
			if n := strings.Count("\n"+text, "\n→ "); n != ways {
				t.Errorf("%s %s: %d ways, and %d in the text", name, args, ways, n)
			}
			if n := strings.Count("\n"+text, "\nexample: "); n != strings.Count(string(raw), `"example":`) {
				t.Errorf("%s %s: %d examples in the text: %s", name, args, n, raw)
			}
			for _, n := range d.Notice {
				says(n)
			}
			if strings.Contains(text, "Nearest: ") != (d.Nearest != nil) || strings.Contains(text, "notice:") && d.Notice == nil {
				t.Errorf("%s %s: %s\n%s", name, args, text, raw)
			}
		}
	}
	if resources < 20 {
		t.Errorf("only %d resources were compared", resources)
	}
}
