package tools_test

import (
	"testing"

	"resq/engine"
	"resq/engine/policy"
	"resq/schema/problem"
	"resq/testdb"
)

// a key whose user is not there, is deleted or is disabled gets no answer from any business tool, and never one about
// itself.
func TestNoUser(t *testing.T) {
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		p := open(t, on)
		table := map[string]string{"mysql": "`user`"}[on.Name]
		if table == "" {
			table = `"user"`
		}
		refused := func(user string, want bool) {
			t.Helper()
			for tool, args := range map[string]string{"integration.context.get": `{}`, "agent.count": `{}`, "sys.ping": `{}`, "agent.list.query": `{}`, "district.detail.get": `{"id":501}`} {
				_, err := p.engine.CallTool(t.Context(), &policy.Principal{Name: "app", Key: "app", User: user}, engine.Call{Tool: tool, Args: []byte(args)})
				if is := err != nil && problem.From(err)[0].Code == problem.Unauthenticated; is != want {
					t.Errorf("user %s, %s: %v", user, tool, err)
				}
			}
		}
		refused("2", false)
		refused("99", true)
		refused("6", true) // deleted softly
		testdb.Exec(t, on, p.dsn["m0"], "UPDATE "+table+" SET status = 0 WHERE id = 2")
		refused("2", true)
	})
}
