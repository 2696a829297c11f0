package engine_test

import (
	"context"
	"database/sql/driver"
	"runtime"
	"strings"
	"testing"

	"resq/engine"
	"resq/testdb"
)

// A process that dies between the control store and the data leaves a claim; whoever comes next finds out from the
// rows what became of the change, and says so where it cannot (security.md 3.8).
func TestControlAfterCrash(t *testing.T) {
	people := peopleOf(t, officeDir+"/principals.yaml")
	ann := people["ann"]
	for _, c := range []struct {
		name, tool, args string
		commit           bool
		between          string // another writer, after the crash
		want, then       string
	}{
		{"update, before the commit", "res-update", `{"resource":"Person","ids":[1,2],"data":{"hours":3.5,"notes":{"a":1},"joined":null,"active":false}`, false, "", `"updated":2`, ""},
		{"update, after the commit", "res-update", `{"resource":"Person","ids":[1,2],"data":{"hours":3.5,"notes":{"a":1},"joined":null,"active":false}`, true, "", `"updated":2`, "replayed"},
		{"update, and another writer", "res-update", `{"resource":"Person","ids":[1],"data":{"hours":3.5}`, true, "UPDATE person SET hours = 9 WHERE id = 1", "OUTCOME_UNKNOWN", ""},
		{"delete, before the commit", "res-delete", `{"resource":"Task","ids":[1,2]`, false, "", `"deleted":2`, ""},
		{"delete, after the commit", "res-delete", `{"resource":"Task","ids":[1,2]`, true, "", `"deleted":2`, "replayed"},
		{"delete, and another writer", "res-delete", `{"resource":"Task","ids":[1,2]`, false, "UPDATE task SET minutes = 1 WHERE id = 2", "OUTCOME_UNKNOWN", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			testdb.Each(t, func(t *testing.T, on testdb.Engine) {
				b := newApart(t, on)
				call := func(args string) (string, error) {
					a, err := b.engine.Write(context.Background(), ann, engine.Call{Tool: c.tool, Args: []byte(args)})
					if err != nil {
						return tell(err), err
					}
					return string(a.Text), nil
				}
				preview, err := call(c.args + "}")
				if err != nil {
					t.Fatal(preview)
				}
				confirmed := c.args + `,"__confirm__":true,"__confirm_token__":"` + tokenOf(t, preview) + `"}`
				died := false
				b.recorder.Commit = func(tx driver.Tx) error {
					if c.commit {
						if err := tx.Commit(); err != nil {
							return err
						}
					} else {
						_ = tx.Rollback()
					}
					died = true
					runtime.Goexit()
					return nil
				}
				done := make(chan struct{})
				go func() {
					defer close(done)
					text, _ := call(confirmed)
					t.Errorf("the call was answered: %s", text)
				}()
				<-done
				if !died {
					t.Fatal("no commit was reached")
				}
				b.recorder.Commit = nil
				b = b.again(t)
				if c.between != "" {
					testdb.Exec(t, on, b.dsn["main"], c.between)
				}
				text, _ := call(confirmed)
				if !strings.Contains(text, c.want) || !strings.Contains(text, c.then) || c.then == "" && strings.Contains(text, "replayed") {
					t.Errorf("%s\nwant %s %s", text, c.want, c.then)
				}
				if c.want == "OUTCOME_UNKNOWN" {
					return
				}
				if again, _ := call(confirmed); !strings.Contains(again, c.want) || !strings.Contains(again, "replayed") {
					t.Errorf("once more: %s", again)
				}
			})
		})
	}
}

// What cannot be told from its repetition is not done.
func TestControlCreatesNothing(t *testing.T) {
	people := peopleOf(t, officeDir+"/principals.yaml")
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		b := newApart(t, on)
		_, err := b.engine.Write(context.Background(), people["ann"], engine.Call{Tool: "res-create", Args: []byte(`{"resource":"Person","data":{"name":"X","team_id":1}}`)})
		if err == nil || !strings.Contains(tell(err), "PERMISSION_DENIED") {
			t.Errorf("%v", err)
		}
	})
}

func tokenOf(t testing.TB, preview string) string {
	t.Helper()
	_, rest, ok := strings.Cut(preview, `"token":"`)
	token, _, _ := strings.Cut(rest, `"`)
	if !ok || token == "" {
		t.Fatalf("no token in %s", preview)
	}
	return token
}

// What is too old to be used is dropped, and nothing else.
func TestForget(t *testing.T) {
	people := peopleOf(t, officeDir+"/principals.yaml")
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		b := newOffice(t, on)
		ask := func(args string) string {
			a, err := b.engine.Write(context.Background(), people["root"], engine.Call{Tool: "res-update", Args: []byte(args)})
			if err != nil {
				t.Fatal(tell(err))
			}
			return string(a.Text)
		}
		for _, id := range []string{"1", "2"} {
			args := `{"resource":"Person","ids":[` + id + `],"data":{"hours":3}`
			token := tokenOf(t, ask(args+"}"))
			ask(args + `,"__confirm__":true,"__confirm_token__":"` + token + `"}`)
			ask(`{"resource":"Person","ids":[` + id + `],"data":{"hours":4}}`)
		}
		old := map[string]string{testdb.SQLite: "'2020-01-01 00:00:00.000'", testdb.MySQL: "'2020-01-01'", testdb.Postgres: "'2020-01-01'"}[on.Name]
		testdb.Exec(t, on, b.dsn["main"],
			"UPDATE resq_operation SET applied_at = "+old+" WHERE op_id = (SELECT x FROM (SELECT MIN(op_id) AS x FROM resq_operation WHERE state = 'applied') AS m)",
			"UPDATE resq_operation SET expires_at = "+old+" WHERE op_id = (SELECT x FROM (SELECT MIN(op_id) AS x FROM resq_operation WHERE state = 'previewed') AS m)")
		if err := b.engine.Forget(context.Background()); err != nil {
			t.Fatal(err)
		}
		got := rowsOf(t, b, "SELECT state, CASE WHEN undo_blob IS NULL THEN 'none' ELSE 'kept' END FROM resq_operation")
		if want := "applied|kept\napplied|none\npreviewed|none"; got != want {
			t.Errorf("there is\n%s\nwant\n%s", got, want)
		}
	})
}
