package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"resq/schema/sqltext"

	"modernc.org/sqlite"
)

// What SQLite itself says of a statement that schema/sqltext let through: it reads no table that was not found, calls
// no function that is not on the list, and does nothing else (D-062). Its own parser is the judge.
func TestForeignStatements(t *testing.T) {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for _, table := range []string{"t", "users", "orders", "u", "customer", "dept", "a", "b", "c", "roles", "z"} {
		if _, err := conn.ExecContext(t.Context(), "CREATE TABLE "+table+" (id, a, b, c, d, e, x, y, name, phone, parent, amount, customer, extra, created)"); err != nil {
			t.Fatal(err)
		}
	}
	read, called, other := map[string]bool{}, map[string]bool{}, []string{}
	err = conn.Raw(func(d any) error {
		return d.(sqlite.AuthorizerRegisterer).RegisterAuthorizer(func(a sqlite.AuthorizerActionCode, one, two, base, _ string) sqlite.AuthorizerReturnCode {
			switch a {
			case sqlite.AuthRead:
				if base != "" {
					read[strings.ToLower(one)] = true
				}
			case sqlite.AuthFunction:
				called[strings.ToLower(two)] = true
			case sqlite.AuthSelect, sqlite.AuthRecursive:
			default:
				other = append(other, one+" "+two)
			}
			return sqlite.AuthorizerOK
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	known := sqltext.Functions(sqltext.SQLite)
	r := rand.New(rand.NewSource(9))
	accepted, prepared := 0, 0
	rounds := 60_000
	if testing.Short() {
		rounds = 5_000
	}
	for range rounds {
		text := foreign(r)
		s, err := sqltext.Read(sqltext.SQLite, text, sqltext.Options{})
		if err != nil {
			continue
		}
		accepted++
		p := &printed{}
		s.Print(p)
		clear(read)
		clear(called)
		other = other[:0]
		if !prepare(t, conn, p.String()) {
			continue
		}
		prepared++
		var tables []string
		for _, x := range s.Tables {
			tables = append(tables, strings.ToLower(x.Name))
		}
		for name := range read {
			if !slices.Contains(tables, name) && name != "json_each" {
				t.Errorf("reads %s, and [%s] were found: %s", name, strings.Join(tables, " "), text)
			}
		}
		for name := range called {
			if !slices.Contains(known, name) && name != "regexp" && !strings.HasPrefix(name, "->") {
				t.Errorf("calls %s: %s", name, text)
			}
		}
		if len(other) > 0 {
			t.Errorf("does %s: %s", strings.Join(other, ", "), text)
		}
		if t.Failed() {
			return
		}
	}
	if accepted < rounds/50 || prepared < rounds/200 {
		t.Errorf("%d statements, of which %d were read and %d prepared: too few to judge by", rounds, accepted, prepared)
	}
	t.Logf("%d statements, %d read, %d prepared", rounds, accepted, prepared)
}

func prepare(t *testing.T, conn *sql.Conn, text string) (ok bool) {
	t.Helper()
	err := conn.Raw(func(d any) error {
		st, err := d.(driver.ConnPrepareContext).PrepareContext(context.Background(), text)
		if err == nil {
			ok = true
			err = st.Close()
		}
		_ = err // the database refuses what makes no sense, which is no fault here
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return ok
}

type printed struct{ strings.Builder }

func (p *printed) Text(s string)               { p.WriteString(s) }
func (p *printed) Param(*sqltext.Param)        { p.WriteString("?") }
func (p *printed) Shadows(*sqltext.Table) bool { return false }
func (p *printed) Shadow(*sqltext.Table)       {}

var fragments = []string{"select", "select 1", "from", "users", "orders o", "u", "join", "left join", "on", "a.id = b.id", "where", "id in (", "(", ")", "(select id from users)",
	"with x as (select * from t)", "union all", "order by id", "limit 3", ",", "'a'", "/* c */", "-- x\n", "count(*)", "max(a)", "lower(x)", "main.users", "as", "x", "is distinct from",
	"exists (select 1 from roles)", "group by a", "having count(*) > 1", "for update", "into z", "delete from t", "values (1, 2)", "case when a then b end", "*", "t.*", "using (id)",
	"natural join", "cross join", "window w as (order by a)", "over (partition by a order by b)", "not", "and", "=", "\"q\"", "`a`", "[b]", "right(a, 2)", "cast(a as char(3))", "recursive",
	"json_each(x)", "sqlite_master", "pragma_table_info('t')", "load_extension('x')", "glob 'x'", "match 'x'", "is not null", "notnull", "collate nocase", "indexed by i", "not indexed",
	"filter (where a)", "intersect", "except", "distinct", "all", "x'1f'", "0x1f", "1e5", ".5", "a.b", "randomblob(9)", "->> '$.a'", "materialized", "rowid", "raise(ignore)", "in users", "offset 1"}

var wholes = []string{
	"select id, name from customer where id = 7 and name like '%a%'",
	"with recursive tree (id, parent, depth) as (select id, parent, 0 from dept where id = 1 union all select d.id, d.parent, tree.depth + 1 from dept d join tree on d.parent = tree.id) select * from tree",
	"with a1 as (select * from orders), b1 as (select a1.id, sum(a1.amount) over (partition by a1.customer order by a1.id) s from a1) select b1.*, c.phone from b1 left join customer c on c.id = b1.id where exists (select 1 from roles r where r.id = c.id) order by s desc limit 10 offset 5",
	"select c.id, (select max(o.amount) from orders o where o.customer = c.id) m from customer c group by c.id having count(*) > 1",
	"select json_extract(extra, '$.a'), extra ->> '$.b', strftime('%Y-%m', created) from customer where created >= date('now')",
	"select distinct a.x, case when b.y is null then 'n' else b.y end from a natural join b union all select 1, 2 from c",
	"select group_concat(distinct name), count(*) filter (where x > 1) from customer",
	"select t.a, row_number() over w from t window w as (order by id)",
	"select * from (select 1 as a union select 2) x, json_each(users.a) j, users where a = b",
}

// foreign makes a statement out of one that is whole, or out of parts.
func foreign(r *rand.Rand) string {
	w := []string{"select"}
	n := 2 + r.Intn(12)
	if r.Intn(3) > 0 {
		w, n = strings.Fields(wholes[r.Intn(len(wholes))]), 1+r.Intn(3)
	}
	for range n {
		at, f := 1+r.Intn(len(w)), fragments[r.Intn(len(fragments))]
		switch {
		case r.Intn(3) == 0 && at < len(w):
			w[at] = f
		case r.Intn(4) == 0 && at < len(w):
			w = slices.Delete(w, at, at+1)
		default:
			w = slices.Insert(w, at, f)
		}
	}
	return strings.Join(w, " ")
}
