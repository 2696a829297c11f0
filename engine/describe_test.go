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
