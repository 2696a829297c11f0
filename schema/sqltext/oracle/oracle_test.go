// Package oracle compares what schema/sqltext reads with what two real parsers do. It is a module of its own, because
// those parsers have no place in the program: one needs cgo, both are large, and each drops something that its database
// executes.
package oracle

import (
	"fmt"
	"math/rand"
	"os"
	"slices"
	"strings"
	"testing"

	pgquery "github.com/pganalyze/pg_query_go/v6"
	"github.com/pingcap/tidb/pkg/parser"
	"github.com/pingcap/tidb/pkg/parser/ast"
	_ "github.com/pingcap/tidb/pkg/parser/test_driver"
	"google.golang.org/protobuf/reflect/protoreflect"

	"resq/schema/sqltext"
)

// A reading is what a parser found in a statement.
type reading struct {
	tables, ctes, calls map[string]bool
	bad                 string // why it is not one statement that only reads
}

func newReading() *reading {
	return &reading{tables: map[string]bool{}, ctes: map[string]bool{}, calls: map[string]bool{}}
}

// Enter is part of ast.Visitor.
func (r *reading) Enter(n ast.Node) (ast.Node, bool) {
	switch t := n.(type) {
	case *ast.TableName:
		r.tables[strings.TrimPrefix(t.Schema.L+"."+t.Name.L, ".")] = true
	case *ast.CommonTableExpression:
		r.ctes[t.Name.L] = true
	case *ast.SelectStmt:
		if t.LockInfo != nil && t.LockInfo.LockType != ast.SelectLockNone {
			r.bad = "lock"
		}
		if t.SelectIntoOpt != nil {
			r.bad = "into"
		}
	case *ast.FuncCallExpr:
		r.calls[t.FnName.L] = true
	case *ast.VariableExpr:
		r.bad = "variable"
	}
	return n, false
}

// Leave is part of ast.Visitor.
func (r *reading) Leave(n ast.Node) (ast.Node, bool) { return n, true }

func readMySQL(p *parser.Parser, sql string) (*reading, error) {
	nodes, _, err := p.ParseSQL(sql)
	if err != nil {
		return nil, err
	}
	r := newReading()
	if len(nodes) != 1 {
		r.bad = "several statements"
		return r, nil
	}
	switch nodes[0].(type) {
	case *ast.SelectStmt, *ast.SetOprStmt:
	default:
		r.bad = fmt.Sprintf("%T", nodes[0])
	}
	nodes[0].Accept(r)
	return r, nil
}

func walk(m protoreflect.Message, f func(protoreflect.Message)) {
	f(m)
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case fd.Kind() != protoreflect.MessageKind:
		case fd.IsList():
			for i := 0; i < v.List().Len(); i++ {
				walk(v.List().Get(i).Message(), f)
			}
		default:
			walk(v.Message(), f)
		}
		return true
	})
}

func readPostgres(sql string) (*reading, error) {
	tree, err := pgquery.Parse(sql)
	if err != nil {
		return nil, err
	}
	r := newReading()
	if len(tree.Stmts) != 1 {
		r.bad = "several statements"
		return r, nil
	}
	if tree.Stmts[0].Stmt.GetSelectStmt() == nil {
		r.bad = "no SELECT"
	}
	walk(tree.ProtoReflect(), func(m protoreflect.Message) {
		switch t := m.Interface().(type) {
		case *pgquery.RangeVar:
			r.tables[strings.TrimPrefix(strings.ToLower(t.Catalogname+"."+t.Schemaname+"."+t.Relname), "..")] = true
			if t.Catalogname == "" && t.Schemaname != "" {
				delete(r.tables, strings.ToLower("."+t.Schemaname+"."+t.Relname))
				r.tables[strings.ToLower(t.Schemaname+"."+t.Relname)] = true
			}
		case *pgquery.CommonTableExpr:
			r.ctes[strings.ToLower(t.Ctename)] = true
		case *pgquery.LockingClause:
			r.bad = "lock"
		case *pgquery.IntoClause:
			r.bad = "into"
		case *pgquery.InsertStmt, *pgquery.DeleteStmt, *pgquery.UpdateStmt, *pgquery.MergeStmt:
			r.bad = "write"
		case *pgquery.FuncCall:
			r.calls[strings.ToLower(t.Funcname[len(t.Funcname)-1].GetString_().GetSval())] = true
		case *pgquery.SQLValueFunction:
			if n := t.Op.String(); strings.Contains(n, "USER") || strings.Contains(n, "ROLE") || strings.Contains(n, "CATALOG") || strings.Contains(n, "SCHEMA") {
				r.bad = "session"
			}
		}
	})
	return r, nil
}

// without gives the names that are no query of WITH, in order.
func without(names, ctes map[string]bool) string {
	var list []string
	for n := range names {
		if !ctes[n] && n != "dual" {
			list = append(list, n)
		}
	}
	slices.Sort(list)
	return strings.Join(list, ",")
}

func set(s string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(s) {
		m[w] = true
	}
	return m
}

// What the parsers call by an inner name, or count as a call although it is written as an operator or a word.
var (
	innerPostgres = set("pg_catalog extract overlay position substring btrim ltrim rtrim timezone date_part similar_to_escape like_escape overlaps")
	innerMySQL    = set("current_date current_timestamp current_time localtime localtimestamp convert cast binary date_add date_sub adddate subdate json_extract json_unquote " +
		"interval trim get_format weight_string values date time timestamp char char_func insert_func")
)

// compare fails when something gets through that the other parser takes for more than reading, or for the reading of
// other tables or the calling of other functions.
func compare(t testing.TB, d sqltext.Dialect, sql string, r *reading, other error, inner map[string]bool, count map[string]int) {
	s, err := sqltext.Read(d, sql, sqltext.Options{})
	switch {
	case err != nil && other != nil:
		count["refused by both"]++
		return
	case err != nil:
		if r.bad != "" {
			count["refused for its kind by both"]++
		} else {
			count["stricter"]++
			if os.Getenv("SHOW") != "" && count["stricter"] <= 40 {
				t.Logf("stricter: %v: %s", err, sql)
			}
		}
		return
	case other != nil: // the database will refuse it, too
		count["looser"]++
		return
	}
	count["read by both"]++
	tables, ctes, calls := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, x := range s.Tables {
		tables[strings.ToLower(strings.TrimPrefix(x.Schema+"."+x.Name, "."))] = true
	}
	for _, x := range s.CTEs {
		ctes[strings.ToLower(x.Name)] = true
	}
	for _, x := range s.Calls {
		calls[strings.ToLower(x.Name)] = true
	}
	if r.bad != "" {
		t.Errorf("got through, %s: %s", r.bad, sql)
	}
	if a, b := without(tables, ctes), without(r.tables, r.ctes); a != b {
		t.Errorf("tables [%s], really [%s]: %s", a, b, sql)
	}
	for f := range r.calls {
		if !calls[f] && !inner[f] && !strings.Contains(f, "literal") {
			t.Errorf("a call of %s was missed: %s", f, sql)
		}
	}
	// What is printed reads as what was written.
	var p printed
	s.Print(&p)
	again, err := sqltext.Read(d, strings.ReplaceAll(p.String(), "\x00", ":p"), sqltext.Options{})
	if err != nil {
		t.Errorf("printed as %s, which is refused: %v: %s", p.String(), err, sql)
		return
	}
	if len(again.Tables) != len(s.Tables) || len(again.Calls) != len(s.Calls) {
		t.Errorf("printed as %s, which reads otherwise: %s", p.String(), sql)
	}
}

type printed struct{ strings.Builder }

func (p *printed) Text(s string)               { p.WriteString(s) }
func (p *printed) Param(*sqltext.Param)        { p.WriteString("\x00") }
func (p *printed) Shadows(*sqltext.Table) bool { return false }
func (p *printed) Shadow(*sqltext.Table)       {}

var fragments = []string{"select", "select 1", "from", "users", "orders o", "u", "join", "left join", "on", "a.id = b.id", "where", "id in (", "(", ")", "(select id from users)",
	"with x as (select * from t)", "union all", "order by id", "limit 3", ",", "'a'", "'it''s'", "/* c */", "-- x\n", "count(*)", "max(a)", "lower(x)", "app.users", "as", "x", "is distinct from",
	"extract(year from d)", "substring(a from 2 for 3)", "exists (select 1 from roles)", "lateral", "group by a", "having count(*) > 1", "for update", "into z", ";", "delete from t",
	"values (1, 2)", "case when a then b end", "interval '1' day", "*", "t.*", "using (id)", "natural join", "cross join", "window w as (order by a)", "over (partition by a order by b)",
	"not", "and", "=", "\"q\"", "`q`", "::int", "e'\\n'", "$$a$$", "--x", "#c\n", "/*!50000 1*/", "trim(both 'x' from y)", "offset 1", "select a into b from c", "table t", "only t",
	"right(a, 2)", "left(a, 2)", "insert(a, 1, 2, 'x')", "date '2020-01-01'", "cast(a as char(3))", "any (select 1)", "row(1, 2)", "recursive", "q.w.e", "json_each(x)",
	"generate_series(1, 3) g(n)", "lock in share mode", "procedure analyse()", "fetch first 2 rows only", "tablesample system(1)", "for share", "nulls last", "collate x", "at time zone 'utc'",
	"current_user", "user", "[1]", "array[1]", "(t).a", "t a(b, c)", "rows from (lower('a'))", "with ordinality", "filter (where a)", "within group (order by a)", "straight_join",
	"intersect", "except", "minus", "distinct", "distinct on (a)", "all", "b'1'", "x'1f'", "n'x'", "0x1f", "1e5", ".5", "a.b", "sleep(1)", "pg_sleep(1)", "@v", "@@version", "partition (p0)",
	"use index (i)", "force", "as of", "for system_time all", "next value for s", "operator(pg_catalog.+)", "xmlelement(name a)", "grouping sets ((a), ())", "rollup(a)", "escape '!'", "::regclass"}

// mutate makes a statement out of a seed, or out of nothing.
func mutate(r *rand.Rand, seeds []string) string {
	var w []string
	n := 2 + r.Intn(14)
	if r.Intn(3) > 0 {
		w, n = strings.Fields(seeds[r.Intn(len(seeds))]), 1+r.Intn(4)
	} else {
		w = []string{"select"}
		for range n {
			w = append(w, fragments[r.Intn(len(fragments))])
		}
		return strings.Join(w, " ")
	}
	for range n {
		p := r.Intn(len(w) + 1)
		f := fragments[r.Intn(len(fragments))]
		switch {
		case r.Intn(4) == 0 && p < len(w):
			w = slices.Delete(w, p, p+1)
		case r.Intn(3) == 0 && p < len(w):
			w[p] = f
		default:
			w = slices.Insert(w, p, f)
		}
	}
	return strings.Join(w, " ")
}

func seeds(t *testing.T, file string) []string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(b)), "\n")
}

func rounds(n int) int {
	if testing.Short() {
		return n / 20
	}
	return n
}

func TestMySQL(t *testing.T) {
	p := parser.New()
	known, count := seeds(t, "testdata/mysql.sql"), map[string]int{}
	r := rand.New(rand.NewSource(7))
	for i := range len(known) + rounds(300_000) {
		sql := ""
		if i < len(known) {
			sql = known[i]
		} else {
			sql = mutate(r, known)
		}
		got, err := readMySQL(p, sql)
		compare(t, sqltext.MySQL, sql, got, err, innerMySQL, count)
		if t.Failed() && i > len(known) {
			break
		}
	}
	t.Log(count)
}

func TestPostgres(t *testing.T) {
	known, count := seeds(t, "testdata/postgres.sql"), map[string]int{}
	r := rand.New(rand.NewSource(8))
	for i := range len(known) + rounds(200_000) {
		sql := ""
		if i < len(known) {
			sql = known[i]
		} else {
			sql = mutate(r, known)
		}
		got, err := readPostgres(sql)
		compare(t, sqltext.Postgres, sql, got, err, innerPostgres, count)
		if t.Failed() && i > len(known) {
			break
		}
	}
	t.Log(count)
}
