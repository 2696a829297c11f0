package engine_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"resq/engine"
	"resq/engine/policy"
	"resq/testdb"
)

// person is a user of the principal app.
func person(user, team string, scopes ...string) *policy.Principal {
	return &policy.Principal{Name: "app", User: user, Scopes: append([]string{"read", "write", "delete"}, scopes...),
		Attributes: map[string]policy.Value{"team": policy.One(team), "scribe": policy.One("true")}}
}

// asked sends a call and gives what was told, an error too.
func asked(b *bench, who *policy.Principal, tool, args string) string {
	a, err := b.engine.Write(context.Background(), who, engine.Call{Tool: tool, Args: []byte(args)})
	if err != nil {
		return tell(err)
	}
	return string(a.Text)
}

// security.md C4, C7, 5.7: an idempotency key is its caller's, principal and user, and names what was made with all that the
// row rule set.
func TestKeyOfUser(t *testing.T) {
	const make = `{"resource":"Person","data":{"name":"Quinn"},"idempotency_key":"order-1"}`
	const made = `SELECT team_id FROM person WHERE name = 'Quinn' ORDER BY team_id, id`
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		b := newOffice(t, on)
		first := asked(b, person("42", "1"), "res-create", make)
		for _, who := range []*policy.Principal{person("43", "2"), person("", "1"), person("44", "1")} {
			if said := asked(b, who, "res-create", make); !strings.Contains(said, `"created":1`) || strings.Contains(said, "replayed") {
				t.Errorf("user %q is told of the row of 42: %s", who.User, said)
			}
		}
		again := asked(b, person("42", "1"), "res-create", make)
		if !strings.Contains(again, `"replayed":true`) || strings.Replace(again, `,"replayed":true`, "", 1) != first {
			t.Errorf("the same call is told\n%s\nafter\n%s", again, first)
		}
		rotated := person("42", "1")
		rotated.Key = "another"
		if said := asked(b, rotated, "res-create", make); !strings.Contains(said, `"replayed":true`) {
			t.Errorf("with another key of its user: %s", said)
		}
		if said := asked(b, person("42", "2"), "res-create", make); !strings.Contains(said, "this key was used for other data") {
			t.Errorf("the same key for a row of another team: %s", said)
		}
		if got := rowsOf(t, b, made); strings.Count(got, "1") != 3 || strings.Count(got, "2") != 1 {
			t.Errorf("there are %s", got)
		}
	})
}

// security.md C4, C8: an operation is its caller's: nobody else confirms it, asks after it, or takes it back.
func TestOperationOfUser(t *testing.T) {
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		b := newOffice(t, on)
		const change = `{"resource":"Person","ids":[1],"data":{"name":"Rory"}`
		var p struct{ Confirm struct{ Token, Op_id string } }
		if err := json.Unmarshal([]byte(asked(b, person("42", "1"), "res-update", change+`}`)), &p); err != nil || p.Confirm.Token == "" {
			t.Fatalf("no preview: %v", err)
		}
		confirmed, op := change+`,"__confirm__":true,"__confirm_token__":"`+p.Confirm.Token+`"}`, `{"op_id":"`+p.Confirm.Op_id+`"}`
		others := []*policy.Principal{person("43", "1"), person("", "1")}
		foreign := func() {
			t.Helper()
			for _, who := range others {
				if said := asked(b, who, "res-update", confirmed); !strings.Contains(said, "CONFIRM_INVALID") {
					t.Errorf("user %q confirms: %s", who.User, said)
				}
				if said := asked(b, who, "res-update", change+`,"__confirm__":true}`); strings.Contains(said, `"updated"`) || strings.Contains(said, "replayed") {
					t.Errorf("user %q confirms without a token: %s", who.User, said)
				}
				if said := asked(b, who, "res-operation", op); !strings.Contains(said, `"state":"unknown"`) {
					t.Errorf("user %q is told: %s", who.User, said)
				}
				if said := asked(b, who, "res-undo", op); !strings.Contains(said, "NOT_FOUND") {
					t.Errorf("user %q takes it back: %s", who.User, said)
				}
			}
		}
		foreign()
		if said := asked(b, person("42", "1"), "res-update", confirmed); !strings.Contains(said, `"updated":1`) {
			t.Fatalf("the owner: %s", said)
		}
		foreign()
		if said := asked(b, person("42", "1"), "res-operation", op); !strings.Contains(said, `"Rory"`) {
			t.Errorf("the owner asks: %s", said)
		}
		// What the rule hides by now is no part of the result, in whichever way it is told again.
		hidden := person("42", "2")
		said := asked(b, hidden, "res-operation", op)
		if strings.Contains(said, "Rory") || !strings.Contains(said, `"updated":1`) || !strings.Contains(said, `"records":[]`) {
			t.Errorf("a row of a team that it left: %s", said)
		}
		if said := asked(b, hidden, "res-update", confirmed); strings.Contains(said, "Rory") || !strings.Contains(said, `"replayed":true`) {
			t.Errorf("the call again, from another team: %s", said)
		}
		if said := asked(b, person("42", "1"), "res-undo", op); !strings.Contains(said, "CONFIRM_REQUIRED") {
			t.Errorf("the owner takes it back: %s", said)
		}
		list, err := b.engine.Operations(context.Background(), "applied", 10)
		if err != nil || len(list) != 1 || list[0].Principal != "app" || list[0].User != "42" {
			t.Errorf("an admin sees %+v, %v", list, err)
		}
	})
}

// An idempotency key told again hides a row that the caller may not see by now, of a single creation and of a list.
func TestKeyTellsSeen(t *testing.T) {
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		b := newOffice(t, on)
		who := person("42", "1")
		one := `{"resource":"Note","data":{"title":"Uma"},"idempotency_key":"one"}`
		two := `{"resource":"Note","data":[{"title":"Vera"},{"title":"Wim"}],"idempotency_key":"two"}`
		for _, args := range []string{one, two} {
			if said := asked(b, who, "res-create", args); !strings.Contains(said, `"created"`) {
				t.Fatal(said)
			}
		}
		testdb.Exec(t, on, b.dsn["main"], "UPDATE note SET team_id = 2 WHERE title IN ('Uma', 'Vera')")
		if said := asked(b, who, "res-create", one); strings.Contains(said, "Uma") || !strings.Contains(said, `"created":1`) || !strings.Contains(said, `"replayed":true`) {
			t.Errorf("one: %s", said)
		}
		if said := asked(b, who, "res-create", two); strings.Contains(said, "Vera") || !strings.Contains(said, "Wim") || !strings.Contains(said, `"created":2`) {
			t.Errorf("two: %s", said)
		}
	})
}

// What an earlier release kept under the bare name of the principal is told to the user whose it was, and refused to all others.
func TestOperationBefore(t *testing.T) {
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		b := newOffice(t, on)
		const change = `{"resource":"Person","ids":[1],"data":{"name":"Rory"}`
		var p struct{ Confirm struct{ Token, Op_id string } }
		if err := json.Unmarshal([]byte(asked(b, person("42", "1"), "res-update", change+`}`)), &p); err != nil {
			t.Fatal(err)
		}
		confirmed, op := change+`,"__confirm__":true,"__confirm_token__":"`+p.Confirm.Token+`"}`, `{"op_id":"`+p.Confirm.Op_id+`"}`
		if said := asked(b, person("42", "1"), "res-update", confirmed); !strings.Contains(said, `"updated":1`) {
			t.Fatal(said)
		}
		const make = `{"resource":"Person","data":{"name":"Quinn"},"idempotency_key":"order-1"}`
		if said := asked(b, person("42", "1"), "res-create", make); !strings.Contains(said, `"created":1`) {
			t.Fatal(said)
		}
		id, binding, err := b.engine.KeptBefore(context.Background(), person("42", "1"), make)
		if err != nil {
			t.Fatal(err)
		}
		testdb.Exec(t, on, b.dsn["main"], "UPDATE resq_operation SET principal = 'app'",
			"UPDATE resq_operation SET op_id = '"+id+"', binding_hash = '"+binding+"' WHERE tool = 'res-create'")
		if said := asked(b, person("42", "1"), "res-operation", op); !strings.Contains(said, `"Rory"`) {
			t.Errorf("its user asks: %s", said)
		}
		if said := asked(b, person("42", "1"), "res-create", make); !strings.Contains(said, `"replayed":true`) {
			t.Errorf("its user creates again: %s", said)
		}
		for _, who := range []*policy.Principal{person("43", "1"), person("", "1")} {
			if said := asked(b, who, "res-operation", op); !strings.Contains(said, `"state":"unknown"`) {
				t.Errorf("user %q asks: %s", who.User, said)
			}
			if said := asked(b, who, "res-undo", op); !strings.Contains(said, "NOT_FOUND") {
				t.Errorf("user %q takes it back: %s", who.User, said)
			}
			if said := asked(b, who, "res-create", make); !strings.Contains(said, "this key was used for other data") {
				t.Errorf("user %q creates again: %s", who.User, said)
			}
		}
	})
}
