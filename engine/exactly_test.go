package engine_test

import (
	"context"
	"testing"
	"testing/fstest"

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
