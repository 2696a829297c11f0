package engine_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/fstest"

	"resq/engine"
	"resq/engine/policy"
	"resq/testdb"
)

// acrossCatalog shows the same rows as worldCatalog, by other means: who asks is read on another connection, on another
// database system; what they may see is in sets of that connection, with unions and constants; orders and items are seen
// through guarded relations.
var acrossCatalog = strings.NewReplacer(
	"rules:\n", `principal:
  queries:
    - resource: Who
      fields: [{code: id, alias: user}, {code: all_rows}, {code: home, alias: home}]
      conditions: {type: and, exprs: [{field: id, operator: "=", tokenType: func, token: UserID}]}
    - resource: WhoDept
      fields: [{code: dept, alias: depts}]
      conditions: {type: and, exprs: [{field: who, operator: "=", tokenType: principal, token: user}]}
  lists: [depts]
sets:
  regions: {query: {resource: WhoRegion, fields: [{code: region}], conditions: {type: and, exprs: [{field: who, operator: "=", tokenType: func, token: UserID}]}}}
  home: {union: [{principal: home}, {value: 4711}]}
  departments:
    bound: 100
    union:
      - home
      - {principal: depts}
      - {query: {resource: WhoDept, fields: [{code: dept}], conditions: {type: and, exprs: [{field: who, operator: "=", tokenType: func, token: UserID}]}}}
  banned: {query: {resource: WhoBanned, fields: [{code: status}]}}
rules:
`,
	"{field: $region, operator: IN, tokenType: principal, token: regions}", "{field: $region, operator: IN, tokenType: set, token: regions}",
	"{field: $dept, operator: IN, tokenType: principal, token: depts}", "{field: $dept, operator: IN, tokenType: set, token: departments}",
	`{field: $status, operator: "!=", token: "9"}]}`, `{field: $status, operator: NOT IN, tokenType: set, token: banned}]}`,
	"{field: $user, operator: IN, tokenType: query, query: {resource: User, fields: [{code: id}]}}",
	`{operator: EXISTS, tokenType: query, query: {resource: User, fields: [{code: id}], conditions: {type: and, exprs: [{field: id, operator: "=", tokenType: field, token: $user}]}}}`,
	"resources:\n", `resources:
  - {code: Who, connection: who, table: who, roles: [nobody], fields: {id: integer, all_rows: bool, home: integer}}
  - {code: WhoDept, connection: who, table: who_dept, key: [], roles: [nobody], fields: {who: integer, dept: integer}}
  - {code: WhoRegion, connection: who, table: who_region, key: [], roles: [nobody], fields: {who: integer, region: integer}}
  - {code: WhoBanned, connection: who, table: who_banned, key: [], roles: [nobody], fields: {status: integer}}
`, "    table: PREFIX", "    connection: default\n    table: PREFIX").Replace(worldCatalog)

const acrossTables = `
CREATE TABLE who (id INTEGER PRIMARY KEY, all_rows BOOLEAN, home INTEGER);
CREATE TABLE who_dept (who INTEGER, dept INTEGER);
CREATE TABLE who_region (who INTEGER, region INTEGER);
CREATE TABLE who_banned (status INTEGER);
INSERT INTO who VALUES (1, FALSE, 10), (2, TRUE, 20);
INSERT INTO who_dept VALUES (1, 11), (1, 11), (1, NULL), (2, 20);
INSERT INTO who_region VALUES (1, 1), (2, 2), (2, 3);
INSERT INTO who_banned VALUES (9), (NULL);
`

var (
	restrictedUser   = &policy.Principal{Name: "restricted", Key: "k", User: "1", Scopes: []string{"read"}}
	unrestrictedUser = &policy.Principal{Name: "unrestricted", Key: "k", User: "2", Scopes: []string{"read"}}
)

// newAcross makes the worlds on one database system, and who asks on the next.
func newAcross(t *testing.T, on testdb.Engine, catalog string) *trio {
	t.Helper()
	all := testdb.Engines(t)
	other := all[0]
	for i, e := range all {
		if e.Name == on.Name {
			other = all[(i+1)%len(all)]
		}
	}
	who := testdb.Create(t, other, acrossTables)
	tr := newTrio(t, on)
	for _, w := range worlds {
		files := fstest.MapFS{"catalog.yaml": {Data: []byte(strings.ReplaceAll(catalog, "PREFIX", w))}}
		tr.engines[w] = newBench(t, on, files, map[string]string{"default": tr.dsn, "who": who})
	}
	return tr
}

// TestNonInterferenceAcross is TestNonInterference where the attributes and the sets of the rules are on another connection
// and another database system, and rules lead through guarded relations (security.md 5.5; B-031, V-32, V-33).
func TestNonInterferenceAcross(t *testing.T) {
	n := requests(t)
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		t.Parallel() // mostly it waits for two databases
		r := randomness(t)
		tr := newAcross(t, on, acrossCatalog)
		g := newGen(r)
		var tally tally
		for i := range n {
			if i%perWorld == 0 {
				tr.loadWorlds(r)
			}
			raw, ordered := g.request()
			first, second, purged := tr.answer(firstWorld, restrictedUser, raw), tr.answer(secondWorld, restrictedUser, raw), tr.answer(purgedWorld, unrestrictedUser, raw)
			tally.count(first)
			if i%5 == 0 {
				tally.bare++
				if loosen(tr.answer(firstWorld, unrestrictedUser, raw).text) != loosen(purged.text) {
					tally.telling++
				}
			}
			if why := interference(first, second, purged, ordered); why != "" {
				t.Errorf("request %d: %s\nrequest: %s", i, why, raw)
				if tally.found++; tally.found == enough {
					return
				}
			}
		}
		tally.report(t)
	})
}

func (tr *trio) loadWorlds(r *rand.Rand) {
	visible, one, two := visibleRows(r), invisibleRows(r), invisibleRows(r)
	tr.load(visible.with(one).script(r, firstWorld) + visible.with(two).script(r, secondWorld) + visible.script(r, purgedWorld))
}

// TestAcrossControls is the control: rules that are wrong in one place must fail the same comparison.
func TestAcrossControls(t *testing.T) {
	on := testdb.Engines(t)[0]
	for _, c := range []struct{ name, from, to string }{
		{"the union holds a value too many", "{value: 4711}", "{value: 20}"},
		{"the values of a set are not excluded", "{field: $status, operator: NOT IN, tokenType: set, token: banned}", "{field: $status, operator: IS NOT NULL}"},
		{"the set of regions is that of everybody", `conditions: {type: and, exprs: [{field: who, operator: "=", tokenType: func, token: UserID}]}}}
  home:`, "}}\n  home:"},
		{"the relation of orders is not guarded", "query: {resource: User, fields: [{code: id}], conditions: {type: and, exprs: [{field: id, operator: \"=\", tokenType: field, token: $user}]}}", "query: {resource: Tag, fields: [{code: label}]}"},
		{"the rule of users is missing", "    rows: {rule: people, args: {dept: dept_id, status: status}}\n", ""},
	} {
		t.Run(strings.ReplaceAll(c.name, " ", "_"), func(t *testing.T) {
			if !strings.Contains(acrossCatalog, c.from) {
				t.Fatalf("the catalog has no %s", c.from)
			}
			r := randomness(t)
			tr := newAcross(t, on, strings.Replace(acrossCatalog, c.from, c.to, 1))
			g := newGen(r)
			found, n, first := 0, 0, ""
			for ; found < 3 && n < 600; n++ {
				if n%perWorld == 0 {
					tr.loadWorlds(r)
				}
				raw, ordered := g.request()
				if why := interference(tr.answer(firstWorld, restrictedUser, raw), tr.answer(secondWorld, restrictedUser, raw), tr.answer(purgedWorld, unrestrictedUser, raw), ordered); why != "" {
					if found++; found == 1 {
						first = why
					}
				}
			}
			t.Logf("%d of %d requests tell of invisible rows, such as: %.300s", found, n, first)
			if found == 0 {
				t.Error("the harness does not see that this is wrong")
			}
		})
	}
}

// rolesCatalog shows payroll the addresses of all users, and leads the scores of their departments'. Whoever is both acts
// as payroll: the scores of all are granted by no rule.
var rolesCatalog = strings.NewReplacer(
	"      - rows: {type: and, exprs: [{field: $dept, operator: IN", "      - {roles: [payroll], rows: all}\n      - rows: {type: and, exprs: [{field: $dept, operator: IN",
	"      score: decimal(10,2)\n", "      score: {type: \"decimal(10,2)\", roles: [lead]}\n",
	"email: {type: string, mask: redact}", "email: {type: string, roles: [payroll]}",
	"phone: {type: string, mask: last4}", "phone: {type: string, roles: [hr]}",
).Replace(writableCatalog)

func actor(roles ...string) *policy.Principal {
	p := *restricted
	p.Name, p.Roles, p.Scopes = strings.Join(roles, "+"), roles, []string{"read", "write", "delete"}
	return &p
}

// columnsOfUser are the places of a user's values in a row of the worlds.
var columnsOfUser = map[string]int{"score": 5, "email": 8, "phone": 9}

// other gives users whose values of some columns are others, of all or of those that are not of the departments 10 and 11.
func otherCells(r *rand.Rand, rows []string, invisible bool, columns ...string) []string {
	out := make([]string, len(rows))
	for i, row := range rows {
		cells := strings.Split(row, ", ")
		seen := (cells[3] == "10" || cells[3] == "11") && cells[2] != "9" && cells[2] != "NULL"
		for _, c := range columns {
			if k := columnsOfUser[c]; !invisible || !seen {
				switch c {
				case "score":
					cells[k] = pick(r, "NULL", "-99999999.99", "0.01", "17.00", "123.45")
				default:
					cells[k] = pick(r, "NULL", "''", fmt.Sprintf("'x%d'", r.IntN(1000)))
				}
			}
		}
		out[i] = strings.Join(cells, ", ")
	}
	return out
}

// hiddenColumns are, by roles, the columns whose values must tell nothing, and whether only those of invisible rows.
var hiddenColumns = []struct {
	who       *policy.Principal
	hidden    []string
	invisible []string // of rows that the principal does not see
}{
	{actor(), []string{"score", "email", "phone"}, nil},
	{actor("payroll"), []string{"score", "phone"}, nil},
	{actor("lead"), []string{"email", "phone"}, []string{"score"}},
	{actor("payroll", "lead"), []string{"score", "phone"}, nil},
	{actor("hr", "lead"), []string{"email"}, []string{"score", "phone"}},
}

// TestRoleInterference is the law of columns by role (security.md 5.6): what a principal may not read, or may read of other
// rows only, influences no answer, whatever it asks; not even where it has several roles of which each grants a part.
func TestRoleInterference(t *testing.T) {
	n := max(requests(t)/2, 50)
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		t.Parallel()
		r := randomness(t)
		tr := newTrioOf(t, on, rolesCatalog, counted[on.Name])
		g := newGen(r)
		var tally tally
		for i := range n {
			c := hiddenColumns[i/perWorld%len(hiddenColumns)]
			if i%perWorld == 0 {
				tr.loadCells(r, c.hidden, c.invisible)
			}
			raw, ordered := roleRequest(r, g)
			first, second := tr.answer(firstWorld, c.who, raw), tr.answer(secondWorld, c.who, raw)
			tally.count(first)
			if why := interference(first, second, first, ordered); why != "" {
				t.Errorf("request %d as %q: %s\nrequest: %s", i, c.who.Name, why, raw)
				if tally.found++; tally.found == enough {
					return
				}
			}
		}
		t.Logf("%d answered, %d refused, %d with rows", tally.answered, tally.refused, tally.withRows)
		if tally.answered*100 < (tally.answered+tally.refused)*60 || tally.withRows*2 < tally.answered {
			t.Errorf("%d answered, %d of them with rows, %d refused: too few to prove anything", tally.answered, tally.withRows, tally.refused)
		}
	})
}

// roleRequest is a request that names a column of certain roles now and then, in any place that takes a field.
func roleRequest(r *rand.Rand, g *gen) (string, bool) {
	raw, ordered := g.request()
	if chance(r, 30) {
		to := pick(r, "email", "phone", "score")
		raw = strings.ReplaceAll(raw, pick(r, `"note"`, `"name"`, `"score"`), `"`+to+`"`)
		raw = strings.ReplaceAll(raw, pick(r, ".note", ".score"), "."+to)
	}
	return raw, ordered
}

func (tr *trio) loadCells(r *rand.Rand, hidden, invisible []string) {
	whole := visibleRows(r).with(invisibleRows(r))
	other := whole
	other.usr = otherCells(r, otherCells(r, whole.usr, false, hidden...), true, invisible...)
	tr.load(whole.script(r, firstWorld) + other.script(r, secondWorld))
}

// TestRoleControls is the control: what is granted tells, and so does a build in which a case's roles do not count.
func TestRoleControls(t *testing.T) {
	on := testdb.Engines(t)[0]
	for _, c := range []struct {
		name, from, to string
		who            *policy.Principal
		hidden         []string
	}{
		{"a column that the principal may read", "", "", actor("hr"), []string{"phone"}},
		{"columns have no roles", `phone: {type: string, roles: [hr]}`, `phone: string`, actor(), []string{"phone"}},
		{"the roles of a case do not count", "{roles: [payroll], rows: all}", `{when: {type: and, exprs: [{field: regions, operator: IS NOT NULL}]}, rows: all}`, actor("payroll", "lead"), []string{"score"}},
	} {
		t.Run(strings.ReplaceAll(c.name, " ", "_"), func(t *testing.T) {
			r := randomness(t)
			if !strings.Contains(rolesCatalog, c.from) {
				t.Fatalf("the catalog has no %s", c.from)
			}
			catalog := rolesCatalog
			if c.from != "" {
				catalog = strings.Replace(catalog, c.from, c.to, 1)
			}
			tr := newTrioOf(t, on, catalog, counted[on.Name])
			g := newGen(r)
			found, n := 0, 0
			for ; found < 3 && n < 1000; n++ {
				if n%perWorld == 0 {
					tr.loadCells(r, c.hidden, nil)
				}
				raw, ordered := roleRequest(r, g)
				first, second := tr.answer(firstWorld, c.who, raw), tr.answer(secondWorld, c.who, raw)
				if interference(first, second, first, ordered) != "" {
					found++
				}
			}
			t.Logf("%d of %d requests tell of the column", found, n)
			if found == 0 {
				t.Error("the harness does not see that this is wrong")
			}
		})
	}
}

// Two rules never add up to a cell that neither grants: what whoever has several roles sees, by any way, is seen with one of
// them alone (A-083, security.md 5.6).
func TestRolesDoNotAddUp(t *testing.T) {
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		r := randomness(t)
		tr := newTrioOf(t, on, rolesCatalog, counted[on.Name])
		tr.loadCells(r, nil, nil)
		b := tr.engines[firstWorld]
		if err := b.engine.Migrate(context.Background()); err != nil {
			t.Fatal(err)
		}
		cells := func(who *policy.Principal) map[string]bool {
			out := map[string]bool{}
			for _, column := range []string{"id", "score", "email", "phone"} {
				for _, id := range strings.Fields(b.ids(who, `{"resource":"User","fields":[{"code":"id"},{"code":"`+column+`"}],"limit":1000}`)) {
					if strings.Trim(id, "0123456789") == "" {
						out[id+"."+column] = true
					}
				}
			}
			return out
		}
		for _, roles := range [][]string{{"payroll", "lead"}, {"lead", "hr"}, {"payroll", "hr"}, {"payroll", "lead", "hr"}} {
			alone := map[string]bool{}
			for _, one := range roles {
				for c := range cells(actor(one)) {
					alone[c] = true
				}
			}
			all := cells(actor(roles...))
			if len(all) == 0 || len(alone) == 0 {
				t.Fatalf("%v see nothing", roles)
			}
			for c := range all {
				if !alone[c] {
					t.Errorf("%v see %s, which none of them sees alone", roles, c)
				}
			}
		}

		// The same by every other way.
		both := actor("payroll", "lead")
		for _, request := range []string{
			`{"resource":"User","fields":[{"code":"MAX(User.score)","isExpr":true,"alias":"m"}]}`,
			`{"resource":"User","fields":[{"code":"id"}],"conditions":{"type":"and","exprs":[{"field":"score","operator":">","token":"1"}]}}`,
			`{"resource":"User","fields":[{"code":"status"}],"groupBy":["User.status"],"having":{"type":"and","exprs":[{"field":"MAX(User.score)","isExpr":true,"operator":">","token":"1"}]}}`,
			`{"resource":"User","fields":[{"code":"id"}],"orderBy":["User.score"]}`,
			`{"resource":"Order","fields":[{"code":"id"},{"code":"score","codeResource":"u"}],"relations":[{"code":"u","type":"left","actuallyResource":"User","actuallyField":"id","relationResource":"Order","relationField":"user_id"}]}`,
			`{"resource":"User","fields":[{"code":"id"}],"conditions":{"type":"and","exprs":[{"field":"id","operator":"IN","tokenType":"query","query":{"resource":"User","code":"x","fields":[{"code":"id"}],"conditions":{"type":"and","exprs":[{"field":"score","operator":"IS NOT NULL"}]}}}]}}`,
			`{"resource":"User","fields":[{"code":"id"}],"setOps":[{"op":"union","query":{"resource":"User","fields":[{"code":"score"}]}}]}`,
			`{"resource":"User","with":[{"code":"w","query":{"resource":"User","fields":[{"code":"score"}]}}],"fields":[{"code":"id"}]}`,
		} {
			if got := b.ids(both, request); !strings.HasPrefix(got, "UNKNOWN_FIELD") {
				t.Errorf("%s\ngives %.200s", request, got)
			}
			if got := b.ids(actor("lead"), request); strings.HasPrefix(got, "UNKNOWN_FIELD") {
				t.Errorf("to a lead alone %s\ngives %s", request, got)
			}
		}
		for _, detail := range []string{`{"keywords":"User","detail":"full"}`, `{"keywords":"score"}`} {
			a, err := b.engine.Describe(context.Background(), both, []byte(detail))
			if err != nil || strings.Contains(string(a.Text), "score decimal") {
				t.Errorf("res-schema %s: %v\n%s", detail, err, a.Text)
			}
		}

		// Writes, their previews, results and undos: a lead sets a score; whoever is payroll as well is not shown it.
		do := func(who *policy.Principal, tool, args string) string {
			a, err := b.engine.Write(context.Background(), who, engine.Call{Tool: tool, Args: []byte(args)})
			if err != nil {
				return tell(err)
			}
			return string(a.Text)
		}
		contains(t, do(both, "res-update", `{"resource":"User","ids":[1],"data":{"score":"7.77"}}`), "UNKNOWN_FIELD")
		contains(t, do(both, "res-create", `{"resource":"User","data":[{"name":"n","status":1,"dept_id":10,"score":"7.77"}]}`), "UNKNOWN_FIELD")
		lead := actor("lead")
		set := `{"resource":"User","ids":[1],"data":{"score":"7.77"}}`
		preview := do(lead, "res-update", set)
		contains(t, preview, "7.77")
		done := do(lead, "res-update", confirmed(t, set, preview))
		contains(t, done, `"updated":1`)
		same := *both
		same.Name = lead.Name // the same principal, with another role by now
		if got := do(&same, "res-operation", `{"op_id":"`+opOf(t, done)+`"}`); strings.Contains(got, "7.77") || !strings.Contains(got, `"applied"`) {
			t.Errorf("the result of an operation shows what is hidden by now: %s", got)
		}
		if got := do(&same, "res-undo", `{"op_id":"`+opOf(t, done)+`"}`); strings.Contains(got, "7.77") {
			t.Errorf("the preview of an undo shows what is hidden by now: %s", got)
		}
		gone := do(&same, "res-delete", `{"resource":"User","ids":[1]}`)
		if strings.Contains(gone, "7.77") || strings.Contains(gone, `"score"`) || !strings.Contains(gone, "CONFIRM_REQUIRED") {
			t.Errorf("the preview of a deletion: %s", gone)
		}
	})
}
