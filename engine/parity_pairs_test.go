package engine_test

import (
	"bufio"
	"regexp"
	"slices"
	"strings"
	"testing"

	"resq/engine/funcs"
	"resq/testdb"
)

// TestParityIsWhole fails for a function without an entry: a new row of the table needs one for each of its
// names, and one as fieldSqlFunc where it may be that.
func TestParityIsWhole(t *testing.T) {
	expressions, conditions := map[string]bool{}, map[string]bool{}
	word := regexp.MustCompile(`\b[A-Z_0-9]+\b`)
	for _, file := range parityFiles(t) {
		s := bufio.NewScanner(strings.NewReader(readFile(t, file)))
		for s.Scan() {
			e := parseEntry(s.Text())
			if e.kind == '?' {
				var leaf struct {
					Field, FieldSQLFunc string
					IsExpr              bool
				}
				unmarshal(t, []byte(e.text), &leaf)
				conditions[strings.ToUpper(leaf.FieldSQLFunc)] = true
			} else if e.kind == 0 {
				for _, w := range word.FindAllString(e.text, -1) {
					expressions[w] = true
				}
			}
		}
	}
	names := slices.Clone(funcs.Names())
	for _, s := range funcs.Spellings {
		names = append(names, s.Name)
		if s.Leaf && !conditions[s.Name] {
			t.Errorf("%s has no entry as fieldSqlFunc in %s", s.Name, parityDir)
		}
	}
	for _, f := range funcs.All() {
		if f.Leaf && !conditions[f.Name] {
			t.Errorf("%s has no entry as fieldSqlFunc in %s", f.Name, parityDir)
		}
	}
	for _, n := range names {
		if !expressions[n] {
			t.Errorf("%s has no entry in %s", n, parityDir)
		}
	}
}

// TestParityOfPairs compares columns of every pair of types, casts every type to every type, and calculates
// with every pair that has an operation. A pair is answered alike everywhere, or refused alike.
func TestParityOfPairs(t *testing.T) {
	var benches []*bench
	for _, on := range testdb.Engines(t) {
		benches = append(benches, newParity(t, on))
	}
	columns := []string{"i", "n", "d2", "f", "s", "b", "day", "at", "tm", "doc", "kind", "u"}
	asked, refused := 0, 0
	ask := func(e *entry, request object) {
		asked++
		if _, answer := e.same(t, benches, "", request); !strings.HasPrefix(answer, `{"resource"`) {
			refused++
		}
	}
	for _, l := range columns {
		for _, r := range columns {
			texts := l == "doc" && slices.Contains([]string{"s", "kind", "u"}, r) || r == "doc" && slices.Contains([]string{"s", "kind", "u"}, l)
			if l == r || texts {
				continue // on MySQL texts of two binary collations do not meet
			}
			for _, op := range []string{"=", "<", ">="} {
				ask(&entry{kind: '!', text: l + op + r}, where(object{"field": l, "operator": op, "tokenType": "field", "token": "T." + r}, false))
				ask(&entry{kind: '!', text: l + op + r}, selected("T."+l+" "+op+" T."+r, nil))
			}
		}
		for _, to := range []string{"TEXT", "INTEGER", "DECIMAL(10,2)", "REAL", "BOOLEAN", "DATE", "DATETIME", "TIME"} {
			if l == "doc" && to == "TEXT" || (l == "f" || l == "n" || l == "s") && to == "DECIMAL(10,2)" {
				continue // TestOwnMeanings
			}
			ask(&entry{kind: '!', text: "CAST"}, selected("CAST("+l+" AS "+to+")", nil))
		}
	}
	numbers := []string{"i", "d2", "d4", "x", "s2", "b", "kind", "doc", "1.5", "NULL"}
	for _, l := range numbers {
		for _, r := range numbers {
			for _, op := range []string{"+", "-", "*", "/", "%"} {
				ask(&entry{kind: '!', text: l + op + r}, selected(l+" "+op+" "+r, nil))
				ask(&entry{kind: '!', text: l + op + r}, where(object{"field": l + " " + op + " " + r, "isExpr": true, "operator": ">", "token": "1"}, false))
			}
		}
	}
	if refused > asked/4 {
		t.Errorf("%d of %d pairs were refused: the test has lost its subject", refused, asked)
	}
}

// TestParityOfTerms combines three columns of every two or three types, one by one and nested, and inside IN: the
// terms share a type that is found over all of them.
func TestParityOfTerms(t *testing.T) {
	var benches []*bench
	for _, on := range testdb.Engines(t) {
		benches = append(benches, newParity(t, on))
	}
	term := func(expr string) object {
		return object{"resource": "T", "fields": []any{object{"code": expr, "isExpr": true, "alias": "v"}}, "conditions": group(object{"field": "id", "operator": "<", "token": "12"}, false)}
	}
	op := func(op string, q object) object { return object{"op": op, "query": q} }
	columns := []string{"T.i", "T.d2", "T.d4", "T.x", "T.s", "T.b", "T.day", "T.at", "NULL"}
	for i, a := range columns {
		for j, b := range columns {
			c := columns[(i+2*j+1)%len(columns)]
			for _, ops := range [][2]string{{"union", "union"}, {"unionAll", "except"}, {"except", "union"}} {
				flat := term(a)
				flat["setOps"] = []any{op(ops[0], term(b)), op(ops[1], term(c))}
				flat["limit"] = 1000
				(&entry{kind: 'a', text: a + " " + ops[0] + " " + b + " " + ops[1] + " " + c}).same(t, benches, "", flat)
			}
			inner := term(b)
			inner["setOps"] = []any{op("union", term(c))}
			inner["orderBy"] = []any{object{"type": "sql", "expr": "v", "direction": "desc"}}
			inner["limit"] = 5
			nested := term(a)
			nested["setOps"] = []any{op("union", inner)}
			nested["limit"] = 1000
			(&entry{kind: 'a', text: a + " union (" + b + " union " + c + ")"}).same(t, benches, "nested", nested)
			if a == "NULL" {
				continue
			}
			in := object{"resource": "T", "limit": 1000, "fields": []any{object{"code": "id"}},
				"conditions": group(object{"field": a, "isExpr": true, "operator": "IN", "tokenType": "query", "query": inner}, false)}
			(&entry{kind: '!', text: a + " in (" + b + " union " + c + ")"}).same(t, benches, "", in)
		}
	}
}
