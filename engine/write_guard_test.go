package engine_test

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"testing/fstest"

	"resq/engine"
	"resq/engine/policy"
	"resq/schema/problem"
	"resq/testdb"
)

// changedOffice is the office's catalog with parts of its text replaced, from, to, from, to.
func changedOffice(t testing.TB, pairs ...string) fstest.MapFS {
	t.Helper()
	files := catalogFiles(t, officeDir+"/catalog")
	for i := 0; i < len(pairs); i += 2 {
		f := files["office.yaml"]
		if !bytes.Contains(f.Data, []byte(pairs[i])) {
			t.Fatalf("the catalog has no %q", pairs[i])
		}
		f.Data = bytes.Replace(f.Data, []byte(pairs[i]), []byte(pairs[i+1]), 1)
	}
	return files
}

// changes gives a function that calls a tool as a principal and tells the answer or the problem.
func (b *bench) changes(who *policy.Principal) func(tool, args string) string {
	return func(tool, args string) string {
		a, err := b.engine.Write(context.Background(), who, engine.Call{Tool: tool, Args: []byte(args)})
		if err != nil {
			return tell(err) + " " + problem.From(err)[0].Reason
		}
		return string(a.Text)
	}
}

// confirmed is a call with the token of its preview.
func confirmed(t testing.TB, args, preview string) string {
	return strings.TrimSuffix(args, "}") + `,"__confirm__":true,"__confirm_token__":"` + tokenOf(t, preview) + `"}`
}

func opOf(t testing.TB, answer string) string {
	t.Helper()
	_, rest, ok := strings.Cut(answer, `"op_id":"`)
	op, _, _ := strings.Cut(rest, `"`)
	if !ok || op == "" {
		t.Fatalf("no op_id in %s", answer)
	}
	return op
}

func contains(t testing.TB, got string, want ...string) {
	t.Helper()
	for _, s := range want {
		if !strings.Contains(got, s) {
			t.Errorf("%s\nwant %s", got, s)
		}
	}
}

// Two changes can have the same time, so that a time is no version by itself: what another wrote in between is noticed,
// by a confirmation and by an undo (security.md 3.4).
func TestTimeIsNoVersion(t *testing.T) {
	ann := peopleOf(t, officeDir+"/principals.yaml")["ann"]
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		dsn := map[string]string{"main": testdb.Create(t, on, readFile(t, officeDir+"/"+on.Name+".sql"))}
		b := newBench(t, on, changedOffice(t, "    rows: {rule: own_team, args: {team: team_id}}\n    fields:\n      id: {type: integer}\n      name:",
			"    version: updated_at\n    rows: {rule: own_team, args: {team: team_id}}\n    fields:\n      id: {type: integer}\n      name:"), dsn)
		if err := b.engine.Migrate(context.Background()); err != nil {
			t.Fatal(err)
		}
		do := b.changes(ann)
		first := `{"resource":"Person","ids":[1],"data":{"hours":1}}`
		contains(t, do("res-update", confirmed(t, first, do("res-update", first))), `"updated":1`)

		mine, theirs := `{"resource":"Person","ids":[1],"data":{"hours":2}}`, `{"resource":"Person","ids":[1],"data":{"hours":3}}`
		held := do("res-update", mine)
		done := do("res-update", confirmed(t, theirs, do("res-update", theirs)))
		contains(t, done, `"updated":1`)
		contains(t, do("res-update", confirmed(t, mine, held)), "CONFLICT", "changed")

		testdb.Exec(t, on, dsn["main"], "UPDATE person SET hours = 4 WHERE id = 1;")
		contains(t, do("res-undo", `{"op_id":"`+opOf(t, done)+`"}`), "CONFLICT", "since")
	})
}

// A preview ends with whatever the catalog says of its resource (security.md 3.3).
func TestPreviewEndsWithCatalog(t *testing.T) {
	ann := peopleOf(t, officeDir+"/principals.yaml")["ann"]
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		b := newOffice(t, on)
		args := `{"resource":"Person","ids":[1],"data":{"hours":2}}`
		preview := b.changes(ann)("res-update", args)
		for _, change := range [][]string{
			{"hours: {type: number}", "hours: {type: number, nullable: false}"},
			{"hours: {type: number}", "hours: {type: number, name: Stunden}"},
			{"name: {type: string, maxLength: 50, required: true}", "name: {type: string, maxLength: 51, required: true}"},
			{"values: [junior, senior], nullable: false", "values: [junior, senior, lead], nullable: false"},
			{"  - code: Person\n", "  - code: Person\n    name: Staff\n"},
		} {
			now := newBench(t, on, changedOffice(t, change...), b.dsn)
			contains(t, now.changes(ann)("res-update", confirmed(t, args, preview)), "CONFLICT", "catalog")
		}
		contains(t, b.changes(ann)("res-update", confirmed(t, args, preview)), `"updated":1`)
	})
}

// What a key changes within an hour is bounded on resources that ask for no confirmation as well.
func TestBudgetOfDirect(t *testing.T) {
	ann := peopleOf(t, officeDir+"/principals.yaml")["ann"]
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		b := newOffice(t, on, func(o *engine.Options) { o.Writes.RowsPerHour = 2 })
		do := b.changes(ann)
		args := `{"resource":"Counter","ids":[1],"data":{"n":7}}`
		for range 2 {
			contains(t, do("res-update", args), `"updated":1`)
		}
		preview := do("res-update", args)
		contains(t, preview, `"CONFIRM_REQUIRED"`, `"mode":"human"`)
		contains(t, do("res-update", confirmed(t, args, preview)), "APPROVAL_REQUIRED")
		if err := b.engine.Settle(context.Background(), opOf(t, preview), true, "boss", ""); err != nil {
			t.Fatal(err)
		}
		contains(t, do("res-update", confirmed(t, args, preview)), `"updated":1`)
		contains(t, do("res-update", confirmed(t, args, preview)), `"replayed":true`)
	})
}

// That there is no such operation is said only where all that could have it were asked.
func TestOperationOfDeadDatabase(t *testing.T) {
	ann := peopleOf(t, officeDir+"/principals.yaml")["ann"]
	dead := map[string]string{
		testdb.SQLite: "sqlite:" + t.TempDir() + "/none/none.sqlite", testdb.MySQL: "mysql://nobody@127.0.0.1:1/none", testdb.Postgres: "postgres://nobody@127.0.0.1:1/none",
	}
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		b := newBench(t, on, catalogFiles(t, officeDir+"/catalog"), map[string]string{"main": dead[on.Name]})
		id := "0123456789abcdef0123456789abcdef"
		for _, tool := range []string{"res-operation", "res-undo"} {
			contains(t, b.changes(ann)(tool, `{"op_id":"`+id+`"}`), "UPSTREAM_UNAVAILABLE")
		}
		if _, found, err := b.engine.Recover(context.Background(), id); err == nil || found {
			t.Errorf("recovered %v, %v", found, err)
		}
	})
}

// Rows that refer to each other are deleted together, whether the database takes the one with the other or not.
func TestDeleteTogether(t *testing.T) {
	root := peopleOf(t, officeDir+"/principals.yaml")["root"]
	for _, c := range []struct{ rule, refers string }{{"CASCADE", ", references: Node.id"}, {"RESTRICT", ", references: Node.id"}, {"CASCADE", ""}} {
		testdb.Each(t, func(t *testing.T, on testdb.Engine) {
			dsn := map[string]string{"main": testdb.Create(t, on, "CREATE TABLE node (id INTEGER PRIMARY KEY, parent_id INTEGER, FOREIGN KEY (parent_id) REFERENCES node (id) ON DELETE "+c.rule+");\n"+
				"INSERT INTO node VALUES (3, NULL), (1, 3), (5, 1), (2, 5), (4, 3);")}
			b := newBench(t, on, fstest.MapFS{"node.yaml": {Data: []byte("version: 1\nresources:\n  - code: Node\n    table: node\n    connection: main\n    key: id\n    writes: [delete]\n    fields:\n      id: {type: integer}\n      parent_id: {type: integer" + c.refers + "}\n")}}, dsn)
			if err := b.engine.Migrate(context.Background()); err != nil {
				t.Fatal(err)
			}
			do := b.changes(root)
			args := `{"resource":"Node","ids":[1,2,3,4,5]}`
			done := do("res-delete", confirmed(t, args, do("res-delete", args)))
			contains(t, done, `"deleted":5`)
			if c.refers == "" {
				return // the order in which rows can come back is not known then
			}
			undo := `{"op_id":"` + opOf(t, done) + `"}`
			contains(t, do("res-undo", confirmed(t, undo, do("res-undo", undo))), `"created":5`)
		})
	}
}

// keeper is an auditor that remembers.
type keeper []engine.Record

func (k *keeper) Intent(r engine.Record) error  { *k = append(*k, r); return nil }
func (k *keeper) Outcome(r engine.Record) error { *k = append(*k, r); return nil }

// The audit has what an update sets, and nothing of masked fields or of those that not everybody may read.
func TestAuditValues(t *testing.T) {
	people := peopleOf(t, officeDir+"/principals.yaml")
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		var kept keeper
		b := newOffice(t, on, func(o *engine.Options) { o.Audit = &kept })
		do := b.changes(people["root"])
		args := `{"resource":"Person","ids":[1],"data":{"hours":2.5,"phone":"555987654321","email":"new@example.test","salary":777.25}}`
		contains(t, do("res-update", confirmed(t, args, do("res-update", args))), `"updated":1`)
		if len(kept) != 2 || kept[0].Event != "intent" || kept[1].Event != "outcome" || kept[1].Code != "OK" {
			t.Fatalf("kept %+v", kept)
		}
		if got, want := string(kept[0].Changes), `{"ids":[1],"set":{"email":"****","phone":"****","salary":"****","hours":2.5}}`; got != want {
			t.Errorf("kept %s\nwant %s", got, want)
		}
	})
}
