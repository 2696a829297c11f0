package engine_test

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"resq/engine"
	"resq/engine/policy"
	"resq/testdb"
)

const agentsTools = `tools:
  - name: property.list
    description: Properties.
    shape: list
    source: Property
    columns: [id]
    order: [id asc]
    paging: {default: 20, max: 100}
  - name: site.list
    description: Sites.
    shape: list
    source: Site
    columns: [id]
    order: [id asc]
    paging: {default: 20, max: 100}
  - name: properties
    title: Properties
    description: Properties by SQL.
    system: m0
    sql: SELECT id FROM property ORDER BY id
  - name: sites
    title: Sites
    description: Sites by SQL.
    system: m1
    sql: SELECT id FROM site ORDER BY id
principal:
`

var idMember = regexp.MustCompile(`"id":(\d+)`)

// Business tools and SQL tools stand under the same principal, rules and sets as res-query, also while many calls of one
// key run at once: reading a set takes no turn that a call holds.
func TestRulesOfTools(t *testing.T) {
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		b := newAgents(t, on, "principal:\n", agentsTools)
		call := func(who *policy.Principal, tool string) string {
			a, err := b.engine.CallTool(context.Background(), who, engine.Call{Tool: tool, Args: []byte("{}")})
			if err != nil {
				return tell(err)
			}
			var ids []string
			for _, m := range idMember.FindAllStringSubmatch(string(a.Text), -1) {
				ids = append(ids, m[1])
			}
			return strings.Join(ids, " ")
		}
		for _, c := range []struct {
			user            int
			property, sites string
		}{
			{1, "501 502 503 504 505 506", "1 2 3 4 5 6 7 8"}, {2, "501 502 503 504", "1 2 3 4 8"}, {3, "502 504", "2 4 8"}, {4, "", ""}, {8, "501 502 504 505", "1 2 4 8"},
		} {
			for tool, want := range map[string]string{"property.list": c.property, "properties": c.property, "site.list": c.sites, "sites": c.sites} {
				if got := call(userOf(c.user), tool); got != want {
					t.Errorf("user %d sees by %s: %s, want %s", c.user, tool, got, want)
				}
			}
		}
		for _, user := range []int{5, 99} { // one that is no user any more, and one that never was
			for _, tool := range []string{"property.list", "properties", "site.list", "sites"} {
				if got := call(userOf(user), tool); !strings.Contains(got, "UNAUTHENTICATED") {
					t.Errorf("user %d is answered by %s: %s", user, tool, got)
				}
			}
		}
		answers := make(chan string)
		const calls = 24
		for i := range calls {
			who := userOf(2)
			who.Budget.Statements = 1
			go func() { answers <- call(who, []string{"properties", "property.list"}[i%2]) }()
		}
		for range calls {
			if got := <-answers; got != "501 502 503 504" {
				t.Errorf("one of many calls: %s", got)
			}
		}
		if _, err := testdb.Open(t, on, b.dsn["m0"]).Exec("DROP TABLE login"); err != nil {
			t.Fatal(err)
		}
		for _, tool := range []string{"property.list", "properties"} {
			if got := call(userOf(2), tool); !strings.Contains(got, "UPSTREAM_UNAVAILABLE") {
				t.Errorf("%s without the users: %s", tool, fmt.Sprint(got))
			}
		}
	})
}
