package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"resq/engine/policy"
	"resq/schema/problem"
	"resq/testdb"
)

const agentsDir = "../testdata/db/agents"

// newAgents makes the three databases of the trading house. m0 and m2 are on the database system under test, m1 is on
// another, so that sets cross from one system to another in both directions.
func newAgents(t testing.TB, on testdb.Engine, change ...string) *bench {
	t.Helper()
	other := on
	for i, e := range testdb.Engines(t) {
		if e.Name == on.Name {
			all := testdb.Engines(t)
			other = all[(i+1)%len(all)]
		}
	}
	return newAgentsOn(t, on, other, change...)
}

func newAgentsOn(t testing.TB, on, other testdb.Engine, change ...string) *bench {
	t.Helper()
	dsn := map[string]string{
		"m0": testdb.Create(t, on, readFile(t, agentsDir+"/m0.sql")),
		"m1": testdb.Create(t, other, readFile(t, agentsDir+"/m1.sql")),
		"m2": testdb.Create(t, on, readFile(t, agentsDir+"/m2.sql")),
	}
	text := readFile(t, agentsDir+"/catalog.yaml")
	for i := 0; i < len(change); i += 2 {
		if !strings.Contains(text, change[i]) {
			t.Fatalf("the catalog has no %q", change[i])
		}
		text = strings.Replace(text, change[i], change[i+1], 1)
	}
	return newBench(t, on, fstest.MapFS{"catalog.yaml": {Data: []byte(text)}}, dsn)
}

func userOf(id int) *policy.Principal {
	return &policy.Principal{Name: fmt.Sprint("user", id), Key: "k", User: fmt.Sprint(id), Scopes: []string{"read", "write", "delete"}}
}

// ids are the ids that a principal sees of a resource, or what was said instead.
func (b *bench) ids(who *policy.Principal, request string) string {
	a, err := b.engine.Query(context.Background(), who, []byte(request))
	if err != nil {
		p := problem.From(err)[0]
		return strings.TrimSpace(string(p.Code) + " " + p.Reason + " " + p.Message)
	}
	var got struct{ Rows [][]json.RawMessage }
	if err := json.Unmarshal(a.Text, &got); err != nil {
		return string(a.Text)
	}
	var out []string
	for _, r := range got.Rows {
		out = append(out, string(r[0]))
	}
	return strings.Join(out, " ")
}

func every(resource string) string {
	return `{"resource":"` + resource + `","fields":[{"code":"id"}],"orderBy":[{"type":"field","expr":"` + resource + `.id"}],"limit":1000}`
}

// Row rules over the user's attributes, unions of sets, sets of other connections and rows of guarded relations (B-030,
// B-031, B-033, V-32, V-33): what each user sees, as worked out by hand.
func TestRulesOfAgents(t *testing.T) {
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		b := newAgents(t, on)
		const all7, all8 = "1 2 3 4 5 6 7", "1 2 3 4 5 6 7 8"
		for _, c := range []struct {
			user                                       int
			site, device, out, property, watch, agents string
		}{
			{user: 1, site: all8, device: all7, out: all7, property: "501 502 503 504 505 506"},
			{user: 2, site: "1 2 3 4 8", device: "1 3 5", out: "1 2 3 4 7", property: "501 502 503 504", watch: "1 2"},
			{user: 3, site: "2 4 8", device: all7, out: all7, property: "502 504", watch: "DATA_INTEGRITY_ERROR set_bound a set of the row rules holds more values than its bound of 5"},
			{user: 4}, // an agent without agentId (B-033)
			{user: 5}, // locked
			{user: 6}, // deleted softly
			{user: 7, site: "5 8", device: "7", out: "2 3 4", property: "504"},
			{user: 8, site: "1 2 4 8", device: "1 4 5", out: "1 2 6 7", property: "501 502 504 505"},
			{user: 99}, // not there
		} {
			who := userOf(c.user)
			for _, x := range []struct{ resource, want string }{{"Site", c.site}, {"Device", c.device}, {"Out", c.out}, {"Property", c.property}, {"Watch", c.watch}} {
				if got := b.ids(who, every(x.resource)); strings.TrimSpace(got) != x.want {
					t.Errorf("user %d sees of %s: %s, want %s", c.user, x.resource, got, x.want)
				}
			}
		}
	})
}

// The catalog's principal: attributes and func tokens of the user as it is now, on every call and once in it.
func TestPrincipalQuery(t *testing.T) {
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		b := newAgents(t, on)
		byFunc := func(field, op, token string) string {
			return `{"resource":"Note","fields":[{"code":"id"}],"conditions":{"type":"and","exprs":[{"field":"` + field + `","operator":"` + op + `","tokenType":"func","token":"` + token + `"}]},"orderBy":["Note.id"]}`
		}
		for _, c := range []struct {
			user          int
			request, want string
		}{
			{2, byFunc("user_id", "=", "UserID"), "1 2"},
			{99, byFunc("user_id", "=", "UserID"), "UNAUTHENTICATED  the caller has no UserID"},
			{5, byFunc("user_id", "=", "UserID"), "UNAUTHENTICATED  the caller has no UserID"},
			{2, byFunc("body", "=", "UserUuid"), ""},
			{8, byFunc("body", "=", "UserUuid"), "UNAUTHENTICATED  the caller has no UserUuid"},
			{2, byFunc("body", "IN", "UserRolesUuid"), ""},
			{3, byFunc("body", "IN", "UserRolesUuid"), ""},
			{2, byFunc("body", "=", "UserPlatform"), "UNAUTHENTICATED  the caller has no UserPlatform"},
		} {
			if got := b.ids(userOf(c.user), c.request); got != c.want {
				t.Errorf("user %d: %s\ngives %s\nwant  %s", c.user, c.request, got, c.want)
			}
		}

		// Once in a call, and not where nothing hangs on it.
		asked := func(request string) (n int) {
			b.recorder.Reset()
			b.ids(userOf(2), request)
			for _, s := range b.recorder.Texts() {
				if strings.Contains(s.SQL, "login") && !strings.Contains(s.SQL, "login_role") {
					n++
				}
			}
			return n
		}
		if n := asked(every("Site")); n != 1 {
			t.Errorf("the user was looked up %d times for a call", n)
		}
		if n := asked(every("Note")); n != 0 {
			t.Errorf("the user was looked up %d times for a resource without a rule", n)
		}
		if n := asked(`{"resource":"Note","fields":[{"code":"id"}],"conditions":{"type":"and","exprs":[{"operator":"EXISTS","tokenType":"query","query":{"resource":"Site","fields":[{"code":"id"}]}}]}}`); n != 1 {
			t.Errorf("the user was looked up %d times for a nested request", n)
		}
		sets := 0
		b.recorder.Reset()
		b.ids(userOf(1), every("Site"))
		for _, s := range b.recorder.Texts() {
			if strings.Contains(s.SQL, "agent") && !strings.Contains(s.SQL, "site") && !strings.Contains(s.SQL, "login") {
				sets++
			}
		}
		if sets != 0 {
			t.Errorf("%d sets were read for a case that needs none", sets)
		}

		// A change of the user counts from the next call on.
		m0 := testdb.Open(t, on, b.dsn["m0"])
		change := func(text string) {
			t.Helper()
			if _, err := m0.Exec(text); err != nil {
				t.Fatal(err)
			}
		}
		change("UPDATE login SET isagent = 0 WHERE id = 2")
		if got := b.ids(userOf(2), every("Site")); got != "1 2 3 4 5 6 7 8" {
			t.Errorf("of head office by now: %s", got)
		}
		change("UPDATE login SET enabled = FALSE WHERE id = 2")
		if got := b.ids(userOf(2), every("Site")); got != "" {
			t.Errorf("locked by now: %s", got)
		}
		change("UPDATE login SET enabled = TRUE, isagent = 1 WHERE id = 2")

		// What the configuration gives counts where the query does not speak, and not for a user that is not there.
		who := userOf(99)
		who.Attributes = map[string]policy.Value{"isagent": policy.One("0"), "saleFlag": policy.One("false")}
		if got := b.ids(who, every("Site")); got != "" {
			t.Errorf("attributes of the configuration make nobody somebody: %s", got)
		}
		who.User = ""
		if got := b.ids(who, every("Site")); got != "1 2 3 4 5 6 7 8" {
			t.Errorf("a principal without a user keeps its attributes: %s", got)
		}
		// One that nobody looked up sees nothing: policy.For is the wall behind the engine's entries.
		v := policy.For(b.catalog, &policy.Principal{User: "1", Attributes: map[string]policy.Value{"isagent": policy.One("0")}})
		site, _ := b.catalog.Resource("Site")
		if g := v.Rows(site); g.All || g.Cond != nil {
			t.Errorf("a user that was not looked up is granted %+v", g)
		}

		// The user cannot be read: the call fails, on every entry, and nothing is guessed.
		change("DROP TABLE login")
		want := "UPSTREAM_UNAVAILABLE"
		if got := b.ids(userOf(1), every("Site")); !strings.HasPrefix(got, want) || strings.Contains(got, "login") {
			t.Errorf("query: %s", got)
		}
		for tool, args := range map[string]string{
			"res-create": `{"resource":"Site","data":[{"id":50,"name":"x"}]}`, "res-update": `{"resource":"Site","ids":[1],"data":{"name":"x"}}`, "res-delete": `{"resource":"Site","ids":[1]}`,
			"res-undo": `{"op_id":"0123456789abcdef0123456789abcdef"}`, "res-operation": `{"op_id":"0123456789abcdef0123456789abcdef"}`,
		} {
			if got := b.changes(userOf(1))(tool, args); !strings.HasPrefix(got, `{"code":"`+want) {
				t.Errorf("%s: %s", tool, got)
			}
		}
		if _, err := b.engine.Explain(context.Background(), userOf(1), []byte(every("Site"))); err == nil || problem.From(err)[0].Code != problem.Unavailable {
			t.Errorf("explain: %v", err)
		}
	})
}

// Two values of what is no list: who asks is not known.
func TestPrincipalAmbiguous(t *testing.T) {
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		b := newAgents(t, on, "  lists: [UserRolesUuid]\n", "  lists: [UserRolesUuid]\n", "fields: [{code: role_uuid, alias: UserRolesUuid}]", "fields: [{code: role_uuid, alias: UserRolesUuid}, {code: role_uuid, alias: role}]")
		for user, want := range map[int]string{
			1: "1 2 3 4 5 6 7 8", 7: "5 8",
			2: "DATA_INTEGRITY_ERROR principal the user has several values of one attribute, so that who asks is not known",
		} {
			if got := b.ids(userOf(user), every("Site")); got != want {
				t.Errorf("user %d: %s", user, got)
			}
		}
	})
}

// A preview ends when its principal's user is another by now: locked, or of another agent (security.md 3.3).
func TestPreviewEndsWithUser(t *testing.T) {
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		b := newAgents(t, on)
		if err := b.engine.Migrate(context.Background()); err != nil {
			t.Fatal(err)
		}
		m0 := testdb.Open(t, on, b.dsn["m0"])
		args := `{"resource":"Site","ids":[1],"data":{"name":"new"}}`
		do := b.changes(userOf(2))
		preview := do("res-update", args)
		for _, c := range []struct{ change, back, want string }{
			{"UPDATE login SET enabled = FALSE WHERE id = 2", "UPDATE login SET enabled = TRUE WHERE id = 2", "UNAUTHENTICATED"},
			{"UPDATE login SET agent_id = 30 WHERE id = 2", "UPDATE login SET agent_id = 10 WHERE id = 2", "CONFLICT"},
			{"UPDATE login SET isagent = 0 WHERE id = 2", "UPDATE login SET isagent = 1 WHERE id = 2", "CONFLICT"},
		} {
			if _, err := m0.Exec(c.change); err != nil {
				t.Fatal(err)
			}
			contains(t, do("res-update", confirmed(t, args, preview)), c.want)
			if got := b.ids(userOf(1), `{"resource":"Site","fields":[{"code":"name"}],"conditions":{"type":"and","exprs":[{"field":"id","operator":"=","token":"1"}]}}`); got != `"s1"` {
				t.Errorf("after %s the site is %s", c.change, got)
			}
			if _, err := m0.Exec(c.back); err != nil {
				t.Fatal(err)
			}
		}
		contains(t, do("res-update", confirmed(t, args, preview)), `"updated":1`)
	})
}
