package engine_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"resq/engine"
	"resq/engine/policy"
	"resq/testdb"
)

// B-031, security.md 5.6: roles that the principal's query gives open what asks for them, on every path and from the next
// call on: resources, fields, cases of rules and tools. Those of the configuration stay, and nobody gets the role of tools.
func TestRolesOfUser(t *testing.T) {
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		b := newAgentsOn(t, on, on, "  lists: [UserRolesUuid]\n", "  lists: [UserRolesUuid]\n  roles: UserRolesUuid\n",
			"fields: {id: integer, user_id: integer, body: string}}", "fields: {id: integer, user_id: integer, body: {type: string, roles: [reader]}}}",
			"- {code: Delegation, connection: m0,", "- {code: Delegation, roles: [chief], connection: m0,",
			"- {code: PropertyAuth, connection: m0,", "- {code: PropertyAuth, roles: [tool], connection: m0,",
			"principal:\n", `tools:
  - {name: notes, description: Notes., shape: list, source: Note, columns: [id], order: [id asc], paging: {default: 20, max: 100}, roles: [reader]}
  - {name: notes_sql, title: Notes, description: Notes by SQL., system: m1, sql: SELECT body FROM note}
principal:
`)
		m1 := testdb.Open(t, on, b.dsn["m1"])
		has := func(roles ...string) {
			t.Helper()
			if _, err := m1.Exec("DELETE FROM login_role WHERE user_id = 2"); err != nil {
				t.Fatal(err)
			}
			for _, r := range roles {
				if _, err := m1.Exec("INSERT INTO login_role (user_id, role_uuid) VALUES (2, '" + r + "')"); err != nil {
					t.Fatal(err)
				}
			}
		}
		sees := func(who *policy.Principal) string {
			var out []string
			for name, request := range map[string]string{"body": `{"resource":"Note","fields":[{"code":"body"}]}`, "chief": `{"resource":"Delegation","fields":[{"code":"agent_id"}]}`, "tool": `{"resource":"PropertyAuth","fields":[{"code":"agent_id"}]}`} {
				if _, err := b.engine.Query(context.Background(), who, []byte(request)); err == nil {
					out = append(out, name)
				}
			}
			for _, tool := range []string{"notes", "notes_sql"} {
				_, err := b.engine.CallTool(context.Background(), who, engine.Call{Tool: tool, Args: []byte("{}")})
				if err == nil {
					out = append(out, tool)
				} else if !strings.Contains(tell(err), "UNKNOWN_TOOL") {
					out = append(out, tool+": "+tell(err))
				}
			}
			a, err := b.engine.Describe(context.Background(), who, []byte(`{"keywords":"Delegation"}`))
			if err == nil && strings.Contains(string(a.Text), "agent_id") {
				out = append(out, "described")
			}
			slices.Sort(out)
			return strings.Join(out, " ")
		}
		offered := func(who *policy.Principal, want bool) {
			t.Helper()
			for end := time.Now().Add(10 * time.Second); b.engine.Offers(who, "notes") != want || b.engine.Offers(who, "notes_sql") != want; time.Sleep(50 * time.Millisecond) {
				if time.Now().After(end) {
					t.Fatalf("offered: %v, want %v", !want, want)
				}
			}
		}
		has()
		if got := sees(userOf(2)); got != "" {
			t.Errorf("without a role: %s", got)
		}
		offered(userOf(2), false)
		has("reader")
		offered(userOf(2), true)
		if got := sees(userOf(2)); got != "body notes notes_sql" {
			t.Errorf("a reader: %s", got)
		}
		has("chief", "tool")
		if got := sees(userOf(2)); got != "chief described" { // notes are gone at once for calls, whatever a list showed a moment ago
			t.Errorf("a chief: %s", got)
		}
		offered(userOf(2), false)
		who := userOf(2) // with a role of the configuration beside
		who.Roles = []string{"reader"}
		if got := sees(who); got != "body chief described notes notes_sql" {
			t.Errorf("a chief who is a reader by the configuration: %s", got)
		}
		if len(who.Roles) != 1 {
			t.Errorf("the principal itself was given roles: %v", who.Roles)
		}
		for _, nobody := range []*policy.Principal{userOf(99), userOf(5), {Name: "none"}} {
			if got := sees(nobody); got != "" && !strings.Contains(got, "UNAUTHENTICATED") {
				t.Errorf("%s: %s", nobody.Name, got)
			}
		}
		// Roles that cannot be read are none.
		if _, err := testdb.Open(t, on, b.dsn["m0"]).Exec("DROP TABLE login"); err != nil {
			t.Fatal(err)
		}
		if got := sees(userOf(2)); got != "" {
			t.Errorf("roles that cannot be read: %s", got)
		}
		offered(userOf(2), false)
	})
}
