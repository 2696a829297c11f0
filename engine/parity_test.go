package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"resq/engine/policy"
	"resq/testdb"
)

const parityDir = "../testdata/parity"

var anyone = &policy.Principal{Name: "anyone", Scopes: []string{"read"}}

// TestParity asks every entry of testdata/parity of every database and compares the answers byte for byte. An
// entry is a line:
//
//	UPPER(s)                           an expression: selected, made text, in conditions, grouped and sorted by
//	ROUND(2.5) => 3                    and its value, of the table's first row, or of the table for an aggregate
//	? {"field":"s","operator":"…"}     a condition, and the ids of the rows where it holds
//	! CAST(tm AS DATE) => CODE         an expression that is refused
//
// -update fills in what stands behind => from SQLite's answer; the others are held to it all the same.
func TestParity(t *testing.T) {
	var benches []*bench
	for _, on := range testdb.Engines(t) {
		benches = append(benches, newParity(t, on))
	}
	for _, file := range parityFiles(t) {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			var out strings.Builder
			for line := range strings.Lines(readFile(t, file)) {
				e := parseEntry(strings.TrimSuffix(line, "\n"))
				if e.text != "" {
					e.run(t, benches)
				}
				out.WriteString(e.line() + "\n")
			}
			if *update {
				if err := os.WriteFile(file, []byte(out.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func parityFiles(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(parityDir, "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no entries in %s: %v", parityDir, err)
	}
	return files
}

// An entry is a line of a file; kind is 0 for an expression.
type entry struct {
	kind       byte
	text       string
	want       string
	told       bool // something stands behind =>
	unreadable string
}

func parseEntry(line string) *entry {
	if line == "" || line[0] == '#' {
		return &entry{unreadable: line}
	}
	e := &entry{text: line}
	if line[0] == '?' || line[0] == '!' {
		e.kind, e.text = line[0], strings.TrimSpace(line[1:])
	}
	e.text, e.want, e.told = strings.Cut(e.text, " =>")
	e.want = strings.TrimSpace(e.want)
	return e
}

func (e *entry) line() string {
	if e.text == "" {
		return e.unreadable
	}
	s := e.text
	if e.kind != 0 {
		s = string(e.kind) + " " + s
	}
	if e.told {
		s += " => " + e.want
	}
	return s
}

var (
	aggregateCall = regexp.MustCompile(`\b(COUNT|SUM|AVG|MEAN|MIN|MAX|ANY_VALUE|VAR_POP|VAR_SAMP|STDDEV_POP|STDDEV_SAMP|GROUP_CONCAT|STRING_AGG|LISTAGG)\(`)
	noisy         = regexp.MustCompile(`^(VAR|STDDEV)_`) // the last digits of a double are not those of the data
	double        = regexp.MustCompile(`\b(EXP|POW|POWER|SQRT|LN|LOG|LOG10|LOG2|PI|REAL|JULIANDAY|f|x)\b|/|%J`)
	folded        = regexp.MustCompile(`\bci\b`)
	windowCall    = regexp.MustCompile(`\bOVER \(`)
)

func (e *entry) run(t *testing.T, benches []*bench) {
	t.Helper()
	var got string
	switch {
	case e.kind == '!':
		_, answer := e.same(t, benches, "", selected(e.text, nil))
		code, _, _ := strings.Cut(strings.TrimPrefix(answer, `{"code":"`), `"`)
		got = code
	case e.kind == '?':
		var leaf any
		unmarshal(t, []byte(e.text), &leaf)
		rows, _ := e.same(t, benches, "", where(leaf, false))
		e.same(t, benches, "negated", where(leaf, true))
		got = column(rows, 0)
	case windowCall.MatchString(e.text):
		rows, _ := e.same(t, benches, "", selected(e.text, nil))
		if !noisy.MatchString(e.text) {
			e.same(t, benches, "as text", selected("CONCAT('<', "+e.text+", '>')", nil))
		}
		got = value(rows, 1)
	case aggregateCall.MatchString(e.text):
		got = e.aggregate(t, benches)
	default:
		got = e.scalar(t, benches)
	}
	if *update && e.told {
		e.want = got
	}
	if e.told && got != e.want {
		t.Errorf("%s is %s, want %s", e.text, got, e.want)
	}
}

// scalar tries an expression of one row wherever one may stand.
func (e *entry) scalar(t *testing.T, benches []*bench) string {
	rows, _ := e.same(t, benches, "", selected(e.text, nil))
	e.same(t, benches, "as text", selected("CONCAT('<', "+e.text+", '>')", nil))
	e.same(t, benches, "nested", selected("CASE WHEN id > 5 THEN COALESCE("+e.text+", "+e.text+") END", nil))
	if folded.MatchString(e.text) {
		return value(rows, 1) // the column's collation decides what is equal
	}
	e.same(t, benches, "not NULL", where(object{"field": e.text, "isExpr": true, "operator": "IS NOT NULL"}, false))
	key := []any{object{"type": "sql", "expr": e.text}}
	e.same(t, benches, "grouped", object{"resource": "T", "limit": 1000, "groupBy": key, "orderBy": key,
		"fields": []any{field(e.text), object{"code": "COUNT(*)", "alias": "rows", "isExpr": true}}})
	down := []any{object{"type": "sql", "expr": e.text, "direction": "desc", "nulls": "last"}}
	e.same(t, benches, "sorted", object{"resource": "T", "limit": 1000, "fields": []any{object{"code": "id"}}, "orderBy": down})
	// A value that was selected finds the rows that hold it; the digits of a double are not all shown.
	for _, r := range rows {
		token, ok := r[len(r)-1].(string)
		if n, number := r[len(r)-1].(json.Number); number && !double.MatchString(e.text) {
			token, ok = n.String(), true
		}
		if !ok || token == "" {
			continue
		}
		found, _ := e.same(t, benches, "found by value", where(object{"field": e.text, "isExpr": true, "operator": "=", "token": token}, false))
		var want []string
		for _, o := range rows {
			if encode(o[len(o)-1]) == encode(r[len(r)-1]) {
				want = append(want, encode(o[0]))
			}
		}
		if got := column(found, 0); got != "["+strings.Join(want, ",")+"]" {
			t.Errorf("%s = %s finds the rows %s, want %v", e.text, token, got, want)
		}
		break
	}
	return value(rows, 1)
}

// aggregate tries an aggregate over groups, over all rows and over none, and in having.
func (e *entry) aggregate(t *testing.T, benches []*bench) string {
	grouped := func(expr string) object {
		return object{"resource": "T", "limit": 1000, "groupBy": []any{"T.g"}, "orderBy": []any{"T.g"}, "fields": []any{object{"code": "g"}, field(expr)}}
	}
	e.same(t, benches, "", grouped(e.text))
	if !noisy.MatchString(e.text) {
		e.same(t, benches, "as text", grouped("CONCAT('<', "+e.text+", '>')"))
	}
	having := grouped(e.text)
	having["having"] = group(object{"field": e.text, "isExpr": true, "operator": "IS NOT NULL"}, false)
	e.same(t, benches, "in having", having)
	sorted := grouped("COUNT(*)")
	sorted["orderBy"] = []any{object{"type": "sql", "expr": e.text, "direction": "desc"}, "T.g"}
	e.same(t, benches, "sorted", sorted)
	all := object{"resource": "T", "fields": []any{field(e.text)}}
	rows, _ := e.same(t, benches, "of all rows", all)
	all["conditions"] = group(object{"field": "id", "operator": "<", "token": "0"}, false)
	e.same(t, benches, "of no rows", all)
	return value(rows, 0)
}

type object = map[string]any

func field(expr string) object { return object{"code": expr, "alias": "v", "isExpr": true} }

func selected(expr string, conditions any) object {
	r := object{"resource": "T", "limit": 1000, "fields": []any{object{"code": "id"}, field(expr)}, "orderBy": []any{"T.id"}}
	if conditions != nil {
		r["conditions"] = conditions
	}
	return r
}

func group(leaf any, not bool) object {
	return object{"type": "and", "not": not, "exprs": []any{leaf}}
}

func where(leaf any, not bool) object {
	return object{"resource": "T", "limit": 1000, "fields": []any{object{"code": "id"}}, "orderBy": []any{"T.id"}, "conditions": group(leaf, not)}
}

// same runs a request on every database, holds the answers to each other and gives the first.
func (e *entry) same(t *testing.T, benches []*bench, place string, request object) ([][]any, string) {
	t.Helper()
	answers := make([]string, len(benches))
	var all sync.WaitGroup
	for i, b := range benches {
		all.Go(func() {
			ans, err := b.engine.Query(context.Background(), anyone, []byte(encode(request)))
			if err != nil {
				answers[i] = tell(err)
			} else {
				answers[i] = string(ans.Text)
			}
		})
	}
	all.Wait()
	first := answers[0]
	if !strings.HasPrefix(first, `{"resource"`) && e.kind != '!' && !strings.Contains(first, "a constant") && place != "nested" {
		t.Errorf("%s, %s: refused: %s", e.text, place, first)
	}
	for i, got := range answers {
		if got != first {
			t.Errorf("%s, %s: %s", e.text, place, difference(benches[0].on.Name, first, benches[i].on.Name, got))
		}
	}
	var ans struct{ Rows [][]any }
	if strings.HasPrefix(first, `{"resource"`) {
		unmarshal(t, []byte(first), &ans)
	}
	return ans.Rows, first
}

// difference gives the first lines that differ.
func difference(on, a, other, b string) string {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	var out []string
	for i := range max(len(x), len(y)) {
		var l, r string
		if i < len(x) {
			l = x[i]
		}
		if i < len(y) {
			r = y[i]
		}
		if l != r && len(out) < 4 {
			out = append(out, fmt.Sprintf("\n%9s %.300s\n%9s %.300s", on, l, other, r))
		}
	}
	return strings.Join(out, "")
}

// value is that of the first row's column.
func value(rows [][]any, i int) string {
	if len(rows) == 0 {
		return "no row"
	}
	return encode(rows[0][i])
}

func column(rows [][]any, i int) string {
	list := []any{}
	for _, r := range rows {
		list = append(list, r[i])
	}
	return encode(list)
}
