package engine_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/fstest"

	"resq/engine"
	"resq/engine/policy"
	"resq/testdb"
)

// The non-interference tests read three worlds that lie side by side in one database, under three prefixes:
// two hold the same visible rows with different invisible ones, the third the visible rows alone.
const (
	firstWorld  = "d1"
	secondWorld = "d2"
	purgedWorld = "p"
)

var worlds = []string{firstWorld, secondWorld, purgedWorld}

// worldCatalog guards departments by their region, users by their department and status, orders by their
// user and their own status, items by their order. Tag is open and has no key.
const worldCatalog = `
version: 1
rules:
  region:
    args: [region]
    cases:
      - when: {type: and, exprs: [{field: all_rows, operator: "=", token: "true"}]}
        rows: all
      - rows: {type: and, exprs: [{field: $region, operator: IN, tokenType: principal, token: regions}]}
  people:
    args: [dept, status]
    cases:
      - when: {type: and, exprs: [{field: all_rows, operator: "=", token: "true"}]}
        rows: all
      - rows: {type: and, exprs: [{field: $dept, operator: IN, tokenType: principal, token: depts}, {field: $status, operator: "!=", token: "9"}]}
  orders:
    args: [user, status]
    cases:
      - when: {type: and, exprs: [{field: all_rows, operator: "=", token: "true"}]}
        rows: all
      - rows:
          type: and
          exprs:
            - {field: $status, operator: "!=", token: "9"}
            - {field: $user, operator: IN, tokenType: query, query: {resource: User, fields: [{code: id}]}}
resources:
  - code: Dept
    table: PREFIX_dept
    key: id
    fields: {id: integer, name: string, parent_id: {type: integer, references: Dept.id}, region: integer}
    rows: {rule: region, args: {region: region}}
  - code: User
    table: PREFIX_usr
    key: id
    fields:
      id: integer
      name: string
      status: integer
      dept_id: {type: integer, references: Dept.id}
      manager_id: {type: integer, references: User.id}
      score: decimal(10,2)
      note: string
      joined: date
      email: {type: string, mask: redact}
      phone: {type: string, mask: last4}
    rows: {rule: people, args: {dept: dept_id, status: status}}
  - code: Order
    table: PREFIX_ord
    key: id
    fields: {id: integer, user_id: {type: integer, references: User.id}, amount: "decimal(12,2)", status: integer, qty: integer, placed_at: datetime}
    rows: {rule: orders, args: {user: user_id, status: status}}
  - code: Item
    table: PREFIX_item
    key: [order_id, line]
    fields: {order_id: {type: integer, references: Order.id}, line: integer, qty: integer, price: "decimal(10,2)"}
    rows: {type: and, exprs: [{operator: EXISTS, tokenType: query, query: {resource: Order, fields: [{code: id}], conditions: {type: and, exprs: [{field: id, operator: "=", tokenType: field, token: Item.order_id}]}}}]}
  - code: Tag
    table: PREFIX_tag
    key: []
    fields: {label: string, weight: integer}
`

const worldTables = `
CREATE TABLE PREFIX_dept (id INTEGER NOT NULL PRIMARY KEY, name VARCHAR(20), parent_id INTEGER, region INTEGER);
CREATE TABLE PREFIX_usr (id INTEGER NOT NULL PRIMARY KEY, name VARCHAR(40), status INTEGER, dept_id INTEGER, manager_id INTEGER,
  score DECIMAL(10,2), note VARCHAR(40), joined DATE, email VARCHAR(40), phone VARCHAR(20));
CREATE TABLE PREFIX_ord (id INTEGER NOT NULL PRIMARY KEY, user_id INTEGER, amount DECIMAL(12,2), status INTEGER, qty INTEGER, placed_at DATETIME);
CREATE TABLE PREFIX_item (order_id INTEGER NOT NULL, line INTEGER NOT NULL, qty INTEGER, price DECIMAL(10,2), PRIMARY KEY (order_id, line));
CREATE TABLE PREFIX_tag (label VARCHAR(20), weight INTEGER);
`

var (
	restricted = &policy.Principal{
		Name: "restricted", Key: "k", Scopes: []string{"read"},
		Attributes: map[string]policy.Value{
			"regions": {List: true, Texts: []string{"1"}}, "depts": {List: true, Texts: []string{"10", "11"}},
		},
	}
	// unrestricted sees every row by the first case of the rules. Items have none; they follow the orders.
	unrestricted = &policy.Principal{
		Name: "unrestricted", Key: "k", Scopes: []string{"read"},
		Attributes: map[string]policy.Value{
			"all_rows": policy.One("true"),
		},
	}
)

// A trio is three engines on the three worlds of one database.
type trio struct {
	on      testdb.Engine
	dsn     string
	engines map[string]*bench // by world
	load    func(script string)
}

func newTrio(t *testing.T, on testdb.Engine) *trio {
	t.Helper()
	return newTrioOf(t, on, worldCatalog, "id INTEGER NOT NULL PRIMARY KEY")
}

// newTrioOf makes the three with a catalog and a declaration of keys of their own.
func newTrioOf(t *testing.T, on testdb.Engine, catalog, key string, change ...func(o *engine.Options)) *trio {
	t.Helper()
	var script strings.Builder
	for _, w := range worlds {
		tables := strings.ReplaceAll(strings.ReplaceAll(worldTables, "PREFIX", w), "id INTEGER NOT NULL PRIMARY KEY", key)
		if on.Name == testdb.Postgres {
			tables = strings.ReplaceAll(tables, "DATETIME", "TIMESTAMP(0)")
		}
		script.WriteString(tables)
	}
	tr := &trio{on: on, dsn: testdb.Create(t, on, script.String()), engines: map[string]*bench{}}
	for _, w := range worlds {
		files := fstest.MapFS{"catalog.yaml": {Data: []byte(strings.ReplaceAll(catalog, "PREFIX", w))}}
		tr.engines[w] = newBench(t, on, files, map[string]string{"default": tr.dsn}, change...)
	}
	db := testdb.Open(t, on, tr.dsn)
	tr.load = func(script string) {
		t.Helper()
		if _, err := db.Exec(script); err != nil {
			t.Fatalf("load a world: %v", err)
		}
	}
	return tr
}

// rows are the rows of one world's tables, each row as the SQL of its values.
type rows struct{ dept, usr, ord, item, tag []string }

func (a rows) with(b rows) rows {
	join := func(x, y []string) []string { return append(x[:len(x):len(x)], y...) }
	return rows{join(a.dept, b.dept), join(a.usr, b.usr), join(a.ord, b.ord), join(a.item, b.item), join(a.tag, b.tag)}
}

// script replaces what a world holds. The rows go in in random order, so that no answer can lean on it.
func (a rows) script(r *rand.Rand, world string) string {
	var b strings.Builder
	for _, tb := range []struct {
		name string
		rows []string
	}{{"dept", a.dept}, {"usr", a.usr}, {"ord", a.ord}, {"item", a.item}, {"tag", a.tag}} {
		fmt.Fprintf(&b, "DELETE FROM %s_%s;\n", world, tb.name)
		if len(tb.rows) == 0 {
			continue
		}
		list := append([]string(nil), tb.rows...)
		r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		fmt.Fprintf(&b, "INSERT INTO %s_%s VALUES (%s);\n", world, tb.name, strings.Join(list, "), ("))
	}
	return b.String()
}

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

func chance(r *rand.Rand, percent int) bool { return r.IntN(100) < percent }

// texts of names and notes: those that read as numbers make a cast succeed, the others make it fail.
func someText(r *rand.Rand) string {
	return pick(r, "NULL", "'ann'", "'bea'", "'cy o''dell'", "'7'", "'12'", "'-3'", "'x1'", "'50%'", "''", "'0'")
}

// visibleRows are what the restricted principal sees: departments of region 1, users of the departments 10
// and 11 that are not of status 9, their orders that are not of status 9, and the items of these.
func visibleRows(r *rand.Rand) rows {
	var v rows
	for _, d := range []string{"10, 'ten', 0, 1", "11, 'eleven', 10, 1", "12, 'twelve', 20, 1", "13, 'thirteen', 12, 1", "14, 'fourteen', 11, 1", "15, 'loop', 16, 1", "16, 'pool', 15, 1"} {
		if chance(r, 90) {
			v.dept = append(v.dept, d)
		}
	}
	users, orders := 3+r.IntN(7), 2+r.IntN(12)
	for i := 1; i <= users; i++ {
		manager := pick(r, "NULL", "NULL", fmt.Sprint(1+r.IntN(users)), "101", "102") // 101 and 102 are never visible
		v.usr = append(v.usr, fmt.Sprintf("%d, %s, %d, %d, %s, %s, %s, %s, 'v%d@x.test', '1380000%04d'", i, pick(r, "'ann'", "'bea'", "'cyd'", "'dee'", "'7'"), r.IntN(3), pick(r, 10, 11),
			manager, pick(r, "NULL", "0.00", "1.50", "99999999.99", "-12.25", "3.00"), someText(r), pick(r, "NULL", "'2024-02-29'", "'2023-12-31'", "'2024-01-01'"), i, i))
	}
	for i := 1; i <= orders; i++ {
		v.ord = append(v.ord, fmt.Sprintf("%d, %d, %s, %d, %d, %s", i, 1+r.IntN(users), pick(r, "0.00", "0.10", "0.20", "10.00", "49.99", "250.50", "9999999999.99", "-5.00"), r.IntN(3),
			pick(r, 0, 1, 2, 3, 7, 2147483647), pick(r, "'2024-02-29 23:59:59'", "'2024-03-01 00:00:00'", "'2023-06-15 12:30:00'")))
		for line := 1; line <= r.IntN(3); line++ {
			v.item = append(v.item, fmt.Sprintf("%d, %d, %d, %s", i, line, r.IntN(4), pick(r, "0.10", "1.00", "19.99", "NULL")))
		}
	}
	for range r.IntN(5) {
		v.tag = append(v.tag, pick(r, "'ann', 1", "'bea', 2", "'ten', 3", "NULL, 4", "'7', NULL"))
	}
	return v
}

// invisibleRows are chosen to do harm where a rule is misplaced: they answer to the keys that visible rows
// point at, bridge visible parts of a tree, own nothing, carry extremes, and make expressions fail.
func invisibleRows(r *rand.Rand) rows {
	var h rows
	for _, d := range []string{"20, 'bridge', 10, 2", "21, 'under', 11, 2", "22, 'root', 0, 2", "23, 'nowhere', 20, NULL", "24, 'twelve', 12, 3"} {
		if chance(r, 50) {
			h.dept = append(h.dept, d)
		}
	}
	var ids []int
	for id := 101; id <= 108; id++ {
		if !chance(r, 60) {
			continue
		}
		ids = append(ids, id)
		dept, status := pick(r, "20", "21", "NULL", "12", "30"), fmt.Sprint(r.IntN(10))
		if chance(r, 30) {
			dept, status = pick(r, "10", "11"), pick(r, "9", "9", "NULL")
		}
		h.usr = append(h.usr, fmt.Sprintf("%d, %s, %s, %s, %s, %s, %s, %s, 'h%d@x.test', '199%d'", id, pick(r, "'ann'", "'zed'", "'zoe'", "NULL", "'99999999999999999999'"), status, dept,
			pick(r, "NULL", "1", "2", "101"), pick(r, "99999999.99", "-99999999.99", "0.00", "NULL"), pick(r, "'not a number'", "'9223372036854775808'", "NULL", "'1e400'"),
			pick(r, "NULL", "'1000-01-01'", "'9999-12-31'"), r.IntN(1000), 1000000+r.IntN(9000000)))
	}
	for id := 101; id <= 112; id++ {
		if !chance(r, 60) {
			continue
		}
		user, status := "NULL", fmt.Sprint(r.IntN(4))
		switch {
		case chance(r, 60) && len(ids) > 0:
			user = fmt.Sprint(ids[r.IntN(len(ids))])
		case chance(r, 50):
			user = "999"
		case chance(r, 60):
			user, status = fmt.Sprint(1+r.IntN(3)), pick(r, "9", "NULL") // a visible user's, hidden by its own status
		}
		h.ord = append(h.ord, fmt.Sprintf("%d, %s, %s, %s, %s, %s", id, user, pick(r, "9999999999.99", "-9999999999.99", "0.00", "10.00", "NULL"), status, pick(r, "0", "-2147483648", "2147483647", "NULL", "1"),
			pick(r, "NULL", "'1000-01-01 00:00:00'", "'9999-12-31 23:59:59'", "'2024-02-29 23:59:59'")))
		for line := 1; line <= r.IntN(3); line++ {
			h.item = append(h.item, fmt.Sprintf("%d, %d, %s, %s", id, line, pick(r, "0", "-2147483648", "NULL", "3"), pick(r, "99999999.99", "0.00", "NULL")))
		}
	}
	for line := 1; line <= r.IntN(3); line++ { // items of no order at all
		h.item = append(h.item, fmt.Sprintf("998, %d, 1, 5.00", line))
	}
	return h
}
