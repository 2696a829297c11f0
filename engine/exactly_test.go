package engine_test

import (
	"context"
	"strings"
	"testing"
	"testing/fstest"

	"resq/engine"
	"resq/testdb"
)

// rows asks for a request's rows, or how it is refused.
func (b *bench) rows(t *testing.T, request object) string {
	t.Helper()
	ans, err := b.engine.Query(context.Background(), anyone, []byte(encode(request)))
	if err != nil {
		return tell(err)
	}
	var a struct{ Rows [][]any }
	unmarshal(t, ans.Text, &a)
	return encode(a.Rows)
}

// TestPathOfTexts: the path of a walk over texts is of texts, also where they look like numbers, and stays a list
// when a named query hands it on.
func TestPathOfTexts(t *testing.T) {
	const catalog = `
version: 1
resources:
  - {code: N, table: n, key: k, fields: {k: {type: string, maxLength: 10}, up: {type: string, maxLength: 10}}}
`
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		dsn := testdb.Create(t, on, "CREATE TABLE n (k VARCHAR(10) PRIMARY KEY, up VARCHAR(10)); INSERT INTO n VALUES ('7', NULL), ('08', '7'), ('x', '08');")
		b := newBench(t, on, fstest.MapFS{"c.yaml": {Data: []byte(catalog)}}, map[string]string{"default": dsn})
		walk := object{"pField": "N.up", "cField": "N.k", "root": "", "pathAlias": "path"}
		want := `[["08",["7","08"]],["7",["7"]],["x",["7","08","x"]]]`
		if got := b.rows(t, object{"resource": "N", "fields": []any{object{"code": "k"}}, "recursive": walk}); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		named := object{"resource": "w", "fields": []any{}, "orderBy": []any{"w.k"}, "with": []any{object{"code": "w", "query": object{"resource": "N", "fields": []any{object{"code": "k"}}, "recursive": walk}}}}
		if got := b.rows(t, named); got != want {
			t.Errorf("named: %s, want %s", got, want)
		}
	})
}

// TestTextCut: a string aggregate that is longer than it may be says so: as an output by a notice, elsewhere by its last
// character. One of just that length says nothing.
func TestTextCut(t *testing.T) {
	const catalog = `
version: 1
resources:
  - {code: L, table: l, key: id, fields: {id: integer, s: text}}
`
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		script := "CREATE TABLE l (id INTEGER PRIMARY KEY, s TEXT);\n"
		for i, n := range []int{5000, 4999, 1} { // with their commas 10,002; the first two 10,000
			script += "INSERT INTO l VALUES (" + encode(i+1) + ", '" + strings.Repeat("中", n) + "');\n"
		}
		b := newBench(t, on, fstest.MapFS{"c.yaml": {Data: []byte(catalog)}}, map[string]string{"default": testdb.Create(t, on, script)}, func(o *engine.Options) { o.MaxBytes = 1 << 20 })
		for _, c := range []struct {
			expr, last string // how the text begins, and its last character
			ids, long  string
			notice     bool
		}{
			{"GROUP_CONCAT(s)", "中", "10", "10000", true},
			{"GROUP_CONCAT(DISTINCT s)", "中", "10", "10000", true},
			{"GROUP_CONCAT(s)", "中", "3", "10000", false},
			{"COALESCE(GROUP_CONCAT(s), '')", "…", "10", "10001", false},
			{"COALESCE(GROUP_CONCAT(DISTINCT s), '')", "…", "10", "10001", false},
			{"COALESCE(GROUP_CONCAT(s), '')", "中", "3", "10000", false},
		} {
			ans, err := b.engine.Query(context.Background(), anyone, []byte(encode(object{"resource": "L", "fields": []any{field(c.expr)},
				"conditions": group(object{"field": "id", "operator": "<", "token": c.ids}, false)})))
			if err != nil {
				t.Errorf("%s: %s", c.expr, tell(err))
				continue
			}
			var a struct {
				Rows   [][]string
				Notice []string
			}
			unmarshal(t, ans.Text, &a)
			text := []rune(a.Rows[0][0])
			if got := encode(len(text)); got != c.long || string(text[len(text)-1]) != c.last || (len(a.Notice) == 1 && strings.HasPrefix(a.Notice[0], "TEXT_CUT")) != c.notice {
				t.Errorf("%s of ids below %s: %s characters, the last is %c, the notices are %v", c.expr, c.ids, got, text[len(text)-1], a.Notice)
			}
		}
	})
}

// TestSinglePrecision: a column of single precision is shown by its own digits and is a double in every expression and
// comparison, alike on all databases that have such columns; SQLite has none.
func TestSinglePrecision(t *testing.T) {
	const catalog = `
version: 1
resources:
  - {code: F, table: f, key: id, fields: {id: integer, r: number}}
`
	want := map[string]string{
		"r": "[[0.1],[0.3],[16777216],[null]]", "r * 3": "[[0.3000000045],[0.9000000358],[50331648],[null]]", "r * r": "[[0.0100000003],[0.09000000715],[281474976710656],[null]]",
		"CAST(r AS TEXT)": `[["0.1000000015"],["0.3000000119"],["16777216"],[null]]`, "COALESCE(r, 0)": "[[0.1000000015],[0.3000000119],[16777216],[0]]", "r = 0.1": "[[false],[false],[false],[null]]",
		"r BETWEEN 0.0999 AND 0.1001": "[[true],[false],[false],[null]]", "ROUND(r, 5)": "[[0.1],[0.3],[16777216],[null]]", "ROUND(r, 5) = 0.1": "[[true],[false],[false],[null]]",
		"MAX(r) OVER (PARTITION BY id)": "[[0.1000000015],[0.3000000119],[16777216],[null]]", "SUM(r) OVER (ORDER BY id)": "[[0.1000000015],[0.4000000134],[16777216.4],[16777216.4]]",
		"MIN(r)": "[[0.1000000015]]", "SUM(r)": "[[16777216.4]]", "AVG(r)": "[[5592405.4667]]", "GROUP_CONCAT(r)": `[["0.1000000015,0.3000000119,16777216"]]`, "GROUP_CONCAT(DISTINCT r)": `[["0.1000000015,0.3000000119,16777216"]]`,
	}
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		if on.Name == testdb.SQLite {
			return
		}
		single := map[string]string{testdb.MySQL: "FLOAT", testdb.Postgres: "REAL"}[on.Name]
		dsn := testdb.Create(t, on, "CREATE TABLE f (id INTEGER PRIMARY KEY, r "+single+"); INSERT INTO f VALUES (1, 0.1), (2, 0.3), (3, 16777216), (4, NULL);")
		b := newBench(t, on, fstest.MapFS{"c.yaml": {Data: []byte(catalog)}}, map[string]string{"default": dsn})
		for expr, rows := range want {
			if expr == "r" {
				if got := b.rows(t, object{"resource": "F", "fields": []any{object{"code": "r"}}}); got != rows {
					t.Errorf("r is %s, want %s", got, rows)
				}
			}
			if got := b.rows(t, object{"resource": "F", "fields": []any{field(expr)}}); expr != "r" && got != rows {
				t.Errorf("%s is %s, want %s", expr, got, rows)
			}
		}
	})
}
