package engine_test

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"resq/engine/policy"
	"resq/testdb"
)

// A member of u sees the sites 1 to n-1 and the site 70000+u, where n is the size of its set: the sets are read on one
// connection and applied on another.
const sizesCatalog = `
version: 1
resources:
  - {code: Member, connection: who, table: member, key: [], fields: {user_id: integer, site_id: integer, code: string}}
  - code: Site
    connection: what
    table: site
    fields: {id: integer, parent_id: {type: integer, references: Site.id}, code: string, n: integer}
    rows: {type: and, exprs: [{field: id, operator: IN, tokenType: set, token: mine}]}
  - code: Visit
    connection: what
    table: visit
    writes: [create, update, delete]
    fields: {id: integer, site_id: integer, n: integer}
    rows: {type: and, exprs: [{field: site_id, operator: IN, tokenType: set, token: mine}]}
  - {code: Coded, connection: what, table: site, fields: {id: integer, code: string}, rows: {type: and, exprs: [{field: code, operator: IN, tokenType: set, token: codes}]}}
  - {code: Others, connection: what, table: site, fields: {id: integer, code: string}, rows: {type: and, exprs: [{field: id, operator: NOT IN, tokenType: set, token: mine}]}}
  - {code: Uncoded, connection: what, table: site, fields: {id: integer, code: string}, rows: {type: and, exprs: [{field: code, operator: NOT IN, tokenType: set, token: codes}]}}
  - {code: Bounded, connection: what, table: site, fields: {id: integer}, rows: {type: and, exprs: [{field: id, operator: IN, tokenType: set, token: bounded}]}}
sets:
  mine: {bound: 1000000, query: {resource: Member, fields: [{code: site_id}], conditions: {type: and, exprs: [{field: user_id, operator: "=", tokenType: principal, token: user}]}}}
  codes: {bound: 1000000, query: {resource: Member, fields: [{code: code}], conditions: {type: and, exprs: [{field: user_id, operator: "=", tokenType: principal, token: user}]}}}
  bounded: {query: {resource: Member, fields: [{code: site_id}], conditions: {type: and, exprs: [{field: user_id, operator: "=", tokenType: principal, token: user}]}}}
`

var sizes = []int{0, 1, 999, 1000, 1001, 10_001, 50_000}

// sitesOf are how many rows there are beside: the sites 1 to 50,010, each the child of its number divided by ten.
const sitesOf = 50_010

func newSizes(t testing.TB, on testdb.Engine) *bench {
	t.Helper()
	var who, what strings.Builder
	who.WriteString("CREATE TABLE member (user_id INTEGER, site_id INTEGER, code VARCHAR(40));\n")
	what.WriteString("CREATE TABLE site (id INTEGER NOT NULL PRIMARY KEY, parent_id INTEGER, code VARCHAR(40), n INTEGER);\nCREATE INDEX site_code ON site (code);\nCREATE INDEX site_parent ON site (parent_id);\n")
	insert := func(b *strings.Builder, table string, n int, row func(i int) string) {
		for from := 0; from < n; from += 5000 {
			b.WriteString("INSERT INTO " + table + " VALUES ")
			for i := from; i < min(from+5000, n); i++ {
				if i > from {
					b.WriteByte(',')
				}
				b.WriteString(row(i))
			}
			b.WriteString(";\n")
		}
	}
	for u, n := range sizes {
		insert(&who, "member", n, func(i int) string {
			id := i + 1
			if i == n-1 {
				id = 70000 + u
			}
			return fmt.Sprintf("(%d, %d, '%s')", u, id, siteCode(id))
		})
	}
	who.WriteString("INSERT INTO member VALUES (6, NULL, NULL), (6, 1, 'c1');\n") // no value, and one that comes twice
	insert(&what, "site", sitesOf, func(i int) string { return fmt.Sprintf("(%d, %d, '%s', 0)", i+1, (i+1)/10, siteCode(i+1)) })
	for u := range sizes {
		fmt.Fprintf(&what, "INSERT INTO site VALUES (%d, NULL, '%s', 0);\n", 70000+u, siteCode(70000+u))
	}
	what.WriteString(map[string]string{
		testdb.SQLite: "CREATE TABLE visit (id INTEGER PRIMARY KEY, site_id INTEGER, n INTEGER);", testdb.MySQL: "CREATE TABLE visit (id INTEGER NOT NULL AUTO_INCREMENT PRIMARY KEY, site_id INTEGER, n INTEGER);",
		testdb.Postgres: "CREATE TABLE visit (id SERIAL PRIMARY KEY, site_id INTEGER, n INTEGER);",
	}[on.Name] + "\nINSERT INTO visit (site_id, n) VALUES (60000, 0);\n")
	// Codes that another collation would take for those of the members.
	what.WriteString("INSERT INTO site VALUES (80001, NULL, 'C1', 0), (80002, NULL, 'c1 ', 0), (80003, NULL, NULL, 0);\n")
	return newBench(t, on, fstest.MapFS{"catalog.yaml": {Data: []byte(sizesCatalog)}},
		map[string]string{"who": testdb.Create(t, on, who.String()), "what": testdb.Create(t, on, what.String())})
}

// siteCode is a text that an argument has to carry as it is.
func siteCode(id int) string {
	if id%1000 == 7 {
		return fmt.Sprintf(`c"%d{},é<`, id)
	}
	return fmt.Sprint("c", id)
}

// Sets of every size are applied alike: as lists and as tables of one argument, in reads, nested requests, walks, writes
// and what takes them back, and none is cut (B-031).
func TestSetSizes(t *testing.T) {
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		b := newSizes(t, on)
		if err := b.engine.Migrate(context.Background()); err != nil {
			t.Fatal(err)
		}
		for u, n := range sizes {
			who := &policy.Principal{Name: fmt.Sprint("u", u), Key: fmt.Sprint("k", u), Scopes: []string{"read", "write", "delete"}, Attributes: map[string]policy.Value{"user": policy.One(fmt.Sprint(u))}}
			count := func(resource string) string {
				return b.ids(who, `{"resource":"`+resource+`","fields":[{"code":"COUNT(*)","isExpr":true,"alias":"n"}]}`)
			}
			const there = sitesOf + 7 + 3 // all sites
			for _, c := range []struct {
				resource string
				want     int
			}{{"Site", n}, {"Coded", n}, {"Others", there - n}, {"Uncoded", there - n - min(n, 1)}} {
				if got := count(c.resource); got != fmt.Sprint(c.want) {
					t.Errorf("a set of %d: %s of %s, want %d", n, got, c.resource, c.want)
				}
			}
			// Twice in one statement, and a count of all beside it.
			nested := `{"resource":"Site","fields":[{"code":"id"}],"conditions":{"type":"and","exprs":[{"field":"parent_id","operator":"IN","tokenType":"query","query":{"resource":"Site","code":"up","fields":[{"code":"id"}]}}]},"orderBy":["Site.id"],"limit":3,"total":true}`
			a, err := b.engine.Query(context.Background(), who, []byte(nested))
			if err != nil {
				t.Fatalf("a set of %d, nested: %v", n, tell(err))
			}
			// Of the sites 10 to n-1 the parent is seen, too.
			if want := fmt.Sprintf(`"total":%d`, max(0, n-10)); !strings.Contains(string(a.Text), want) {
				t.Errorf("a set of %d, nested: %s, want %s", n, a.Text, want)
			}
			walk := `{"resource":"Site","fields":[{"code":"COUNT(*)","isExpr":true,"alias":"n"}],"recursive":{"pField":"Site.parent_id","cField":"Site.id","root":"1"}}`
			below := 0 // 1: 10-19, 100-199, 1000-1999, 10000-19999
			for from, to := 10, 20; from < n; from, to = from*10, to*10 {
				below += min(to, n) - from
			}
			if got := b.ids(who, walk); got != fmt.Sprint(min(below, 10_000)) {
				t.Errorf("a set of %d, walked: %s, want %d", n, got, below)
			}
			writesOf(t, b, who, u, n)
			if got := count("Visit"); got != fmt.Sprint(min(n, 1)) {
				t.Errorf("a set of %d: %s after the writes", n, got)
			}
			want := fmt.Sprint(n)
			if n > 10_000 { // the bound that is the default
				want = "DATA_INTEGRITY_ERROR set_bound a set of the row rules holds more values than its bound of 10000"
			}
			if got := count("Bounded"); got != want {
				t.Errorf("a set of %d with the bound that is the default: %s", n, got)
			}
		}
	})
}

// writesOf makes, changes, deletes and restores the visit of the site that is the user's alone, and tries that of another.
func writesOf(t *testing.T, b *bench, who *policy.Principal, u, n int) {
	t.Helper()
	do := b.changes(who)
	visit := func(site int) string { return fmt.Sprintf(`{"resource":"Visit","data":[{"site_id":%d,"n":1}]}`, site) }
	contains(t, do("res-create", visit(60_000)), "POLICY_VIOLATION")
	contains(t, do("res-update", `{"resource":"Visit","ids":[1],"data":{"n":1}}`), "NOT_FOUND")
	contains(t, do("res-delete", `{"resource":"Visit","ids":[1]}`), "NOT_FOUND")
	if n == 0 {
		return
	}
	made := do("res-create", visit(70000+u))
	contains(t, made, `"created":1`)
	id := strings.Trim(regexp.MustCompile(`"ids?":\[?"?\d+`).FindString(made), `"ids:[`)
	for _, c := range []struct{ tool, args, want string }{
		{"res-update", `{"resource":"Visit","ids":[` + id + `],"data":{"n":5}}`, `"updated":1`},
		{"res-delete", `{"resource":"Visit","ids":[` + id + `]}`, `"deleted":1`},
	} {
		done := do(c.tool, confirmed(t, c.args, do(c.tool, c.args)))
		contains(t, done, c.want)
		undo := `{"op_id":"` + opOf(t, done) + `"}`
		contains(t, do("res-undo", confirmed(t, undo, do("res-undo", undo))), `"op_id"`)
	}
	// The row would leave the set.
	leaves := `{"resource":"Visit","ids":[` + id + `],"data":{"site_id":60000}}`
	contains(t, do("res-update", leaves), "POLICY_VIOLATION")
}

// On SQLite a query beside a long list is not searched for once for each value of the list, on whichever side it stands:
// a thousand values and a thousand rows were a million searches.
func TestListBesideQuery(t *testing.T) {
	on := testdb.Engine{Name: testdb.SQLite}
	b := newSizes(t, on)
	who := func(u int) *policy.Principal {
		return &policy.Principal{Name: fmt.Sprint("u", u), Key: fmt.Sprint("k", u), Scopes: []string{"read"}, Attributes: map[string]policy.Value{"user": policy.One(fmt.Sprint(u))}}
	}
	list := strings.TrimSuffix(strings.Repeat("7,", 150), ",")
	query := `{"field":"parent_id","operator":"IN","tokenType":"query","query":{"resource":"Site","code":"up","fields":[{"code":"id"}]}}`
	for _, c := range []struct {
		user       int
		conditions string
		apart      bool
	}{
		{2, query, true}, // 999 values of the rule
		{1, query, false},
		{1, query + `,{"field":"n","operator":"IN","tokens":[` + list + `]}`, true},
		{1, `{"field":"n","operator":"IN","tokens":[` + list + `]},` + query, true},
		{1, `{"field":"n","operator":"IN","tokens":[7,8]},` + query, false},
	} {
		x, err := b.engine.Explain(context.Background(), who(c.user), []byte(`{"resource":"Site","fields":[{"code":"id"}],"conditions":{"type":"and","exprs":[`+c.conditions+`]}}`))
		if err != nil {
			t.Fatal(err)
		}
		if got := regexp.MustCompile(`\(\(s\d+\."parent_id" IN \(SELECT .*\) = 1\)`).MatchString(x.Statements[0].SQL); got != c.apart {
			t.Errorf("user %d: apart is %v: %.3000s", c.user, got, x.Statements[0].SQL)
		}
	}
}
