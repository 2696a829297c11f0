package engine_test

import (
	"context"
	"testing"

	"resq/testdb"
)

// TestOwnMeanings holds what the databases do not share and resq leaves to them, so that docs/semantics.md can
// say it and a change of it is seen. The values are those of the table's first row unless said otherwise.
func TestOwnMeanings(t *testing.T) {
	var benches []*bench
	for _, on := range testdb.Engines(t) {
		benches = append(benches, newParity(t, on))
	}
	every := func(s string) map[string]string {
		return map[string]string{testdb.SQLite: s, testdb.MySQL: s, testdb.Postgres: s}
	}
	but := func(all, on, own string) map[string]string {
		m := every(all)
		m[on] = own
		return m
	}
	first := func(fields ...any) object {
		return object{"resource": "T", "fields": fields, "conditions": group(object{"field": "id", "operator": "=", "token": "1"}, false)}
	}
	for _, c := range []struct {
		why     string
		request object
		want    map[string]string // the rows, or the code of the refusal
	}{
		{"a column's collation decides whether texts are equal", first(field("ci = 'abc'")), but("[[false]]", testdb.MySQL, "[[true]]")},
		{"and what is a group", object{"resource": "T", "fields": []any{field("COUNT(DISTINCT ci)")}}, but("[[8]]", testdb.MySQL, "[[7]]")},
		{"an enum is sorted by its declaration where it has one", object{"resource": "T", "distinct": true, "fields": []any{object{"code": "kind"}}, "orderBy": []any{"T.kind"},
			"conditions": group(object{"field": "kind", "operator": "IS NOT NULL"}, false)},
			but(`[["new"],["paid"],["shipped"],["12"]]`, testdb.SQLite, `[["12"],["new"],["paid"],["shipped"]]`)},
		{"a document's part that is no scalar is written the database's way", first(field("JSON_VALUE(doc, '$.c')")), but(`[["[1, 2, 3]"]]`, testdb.SQLite, `[["[1,2,3]"]]`)},
		{"JSON in a text column must be JSON on PostgreSQL", object{"resource": "T", "fields": []any{field("COUNT(JSON_VALUE(raw, '$.a'))")}}, but("[[13]]", testdb.Postgres, "DATA_ERROR")},
		{"MySQL finds an element inside an array of the array too", object{"resource": "T", "fields": []any{field("COUNT(*)")},
			"conditions": group(object{"field": "doc", "fieldSqlFunc": "json_contains", "operator": "=", "token": "1"}, false)}, but("[[5]]", testdb.MySQL, "[[9]]")},
		{"SQLite keeps decimals as doubles: 15 digits", first(field("CAST('12345678901234567.89' AS DECIMAL(20,2))")), but(`[["12345678901234567.89"]]`, testdb.SQLite, `[["12345678901234568.00"]]`)},
		{"a plain datetime is shown as the server prints it", first(object{"code": "at"}), but(`[["2024-02-29 12:34:56"]]`, testdb.MySQL, `[["2024-02-29 12:34:56.000000"]]`)},
		{"a calculated one alike everywhere", first(field("COALESCE(at, day)")), every(`[["2024-02-29 12:34:56"]]`)},
	} {
		t.Run(c.why, func(t *testing.T) {
			for _, b := range benches {
				got := ""
				if ans, err := b.engine.Query(context.Background(), anyone, []byte(encode(c.request))); err != nil {
					got = string(problemOf(t, err).Code)
				} else {
					var a struct{ Rows [][]any }
					unmarshal(t, ans.Text, &a)
					got = encode(a.Rows)
				}
				if got != c.want[b.on.Name] {
					t.Errorf("%s: %s, want %s", b.on.Name, got, c.want[b.on.Name])
				}
			}
		})
	}
}
