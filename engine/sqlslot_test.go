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

// C-041, C-042: a SQL tool whose connection depends on who asks runs on the one that its caller has; who has none, or one
// that there is not, may not ask, and the call cannot choose.
func TestSlotByContext(t *testing.T) {
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		rows := func(name string) string {
			return "CREATE TABLE place (name VARCHAR(20)); INSERT INTO place VALUES ('" + name + "');"
		}
		b := newBench(t, on, fstest.MapFS{"tools.yaml": {Data: []byte(`version: 1
tools:
  - name: where_am_i
    title: Where
    description: The place of the caller.
    system: {context: site}
    sql: SELECT name FROM place
`)}}, map[string]string{"north": testdb.Create(t, on, rows("n")), "south": testdb.Create(t, on, rows("s"))})
		ask := func(site policy.Value, args string) string {
			who := &policy.Principal{Name: "w", Attributes: map[string]policy.Value{"site": site}}
			a, err := b.engine.CallTool(t.Context(), who, engine.Call{Tool: "where_am_i", Args: []byte(args)})
			if err != nil {
				return string(problem.From(err)[0].Code)
			}
			return string(a.Text)
		}
		for site, want := range map[string]string{"north": `"name":"n"`, "south": `"name":"s"`, "west": "PERMISSION_DENIED", "": "PERMISSION_DENIED"} {
			if got := ask(policy.One(site), `{}`); !strings.Contains(got, want) {
				t.Errorf("%s: %s", site, got)
			}
		}
		if got := ask(policy.Value{Texts: []string{"north"}, List: true}, `{}`); got != "PERMISSION_DENIED" {
			t.Errorf("a list: %s", got)
		}
		if got := ask(policy.One("north"), `{"system":"south"}`); got != "INVALID_ARGUMENT" {
			t.Errorf("the call chooses: %s", got)
		}
		if got := ask(policy.Value{}, `{}`); got != "PERMISSION_DENIED" {
			t.Errorf("nothing: %s", got)
		}
	})
}
