package engine_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"resq/engine"
	"resq/engine/dialect/mysql"
	"resq/engine/dialect/postgres"
	"resq/engine/dialect/sqlite"
	"resq/schema"
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
		{"the capital of ß is a letter of its own to MySQL", object{"resource": "T", "fields": []any{field("COUNT(*)")}, "conditions": group(object{"field": "s", "operator": "LIKE", "token": "straẞe"}, false)},
			but("[[1]]", testdb.MySQL, "[[0]]")},
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

// TestZone reads times in the connection's zone: what it stores is local, a moment with an offset is brought
// there, and now is the local clock. A field that keeps its zone is shown in UTC.
func TestZone(t *testing.T) {
	catalog := `
version: 1
connections:
  default: {driver: DRIVER, dsn: "DSN", zone: Asia/Shanghai}
resources:
  - {code: T, table: t, key: id, fields: {id: integer, at: datetime, zoned: {type: datetime, zone: ZONED}}}
`
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		zoned := map[string]string{testdb.SQLite: "DATETIME", testdb.MySQL: "DATETIME", testdb.Postgres: "TIMESTAMPTZ"}[on.Name]
		local := map[string]string{testdb.SQLite: "DATETIME", testdb.MySQL: "DATETIME", testdb.Postgres: "TIMESTAMP"}[on.Name]
		dsn := testdb.Create(t, on, "CREATE TABLE t (id INTEGER PRIMARY KEY, at "+local+", zoned "+zoned+");\n"+
			"INSERT INTO t VALUES (1, '2024-06-15 20:00:00', "+map[string]string{testdb.Postgres: "'2024-06-15 12:00:00+00'"}[on.Name]+
			map[string]string{testdb.SQLite: "'2024-06-15 20:00:00'", testdb.MySQL: "'2024-06-15 20:00:00'"}[on.Name]+"), (2, '2024-06-15 12:00:00', NULL);")
		text := strings.NewReplacer("DRIVER", on.Name, "DSN", dsn, "ZONED", map[bool]string{true: "true", false: "false"}[on.Name == testdb.Postgres]).Replace(catalog)
		cat, err := schema.LoadFS(fstest.MapFS{"c.yaml": {Data: []byte(text)}}, schema.LoadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		e, err := engine.New(cat, engine.Options{Drivers: []engine.Driver{sqlite.New(), mysql.New(), postgres.New()}, Now: func() time.Time { return now }})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { e.Close() })
		ask := func(request object) string {
			ans, err := e.Query(context.Background(), anyone, []byte(encode(request)))
			if err != nil {
				return tell(err)
			}
			var a struct{ Rows [][]any }
			unmarshal(t, ans.Text, &a)
			return encode(a.Rows)
		}
		for expr, want := range map[string]string{"CURRENT_TIMESTAMP": `"2024-06-15 20:00:00"`, "DATE('now', '+4 hours')": `"2024-06-16"`, "CAST('2024-06-15T12:00:00Z' AS DATETIME)": `"2024-06-15 20:00:00"`,
			"HOUR('2024-06-15T12:00:00Z')": "20", "at = '2024-06-15T12:00:00Z'": "true", "at = CURRENT_TIMESTAMP": "true", "zoned = '2024-06-15T12:00:00Z'": "true", "zoned = '2024-06-15 20:00:00'": "true",
			"HOUR(zoned)": "20", "zoned = at": "true"} {
			r := object{"resource": "T", "fields": []any{field(expr)}, "conditions": group(object{"field": "id", "operator": "=", "token": "1"}, false)}
			if got := ask(r); got != "[["+want+"]]" {
				t.Errorf("%s is %s, want %s", expr, got, want)
			}
		}
		for token, want := range map[string]string{"2024-06-15T12:00:00Z": "[[1]]", "2024-06-15T14:00:00+02:00": "[[1]]", "2024-06-15 20:00:00": "[[1]]", "2024-06-15 12:00:00": "[[2]]"} {
			if got := ask(where(object{"field": "at", "operator": "=", "token": token}, false)); got != want {
				t.Errorf("at = %s finds %s, want %s", token, got, want)
			}
		}
		if got := ask(where(object{"field": "zoned", "operator": "=", "token": "2024-06-15T12:00:00Z"}, false)); got != "[[1]]" {
			t.Errorf("zoned finds %s, want the first row", got)
		}
	})
}

// TestInstants reads moments that keep their zone on the databases that have such: shown in UTC, found by the instant,
// and local inside expressions, daylight saving included, whatever zones the server itself knows.
func TestInstants(t *testing.T) {
	catalog := `
version: 1
connections:
  default: {driver: DRIVER, dsn: "DSN", zone: Europe/Berlin}
resources:
  - {code: T, table: t, key: id, fields: {id: integer, z: {type: datetime, zone: true}, at: datetime}}
`
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		var script string
		switch on.Name {
		case testdb.SQLite:
			return // has no such type
		case testdb.MySQL:
			script = "SET time_zone = '+00:00';\nCREATE TABLE t (id INTEGER PRIMARY KEY, z TIMESTAMP(6) NULL, at DATETIME);\n"
		case testdb.Postgres:
			script = "SET TimeZone = 'UTC';\nCREATE TABLE t (id INTEGER PRIMARY KEY, z TIMESTAMPTZ, at TIMESTAMP);\n"
		}
		// Summer, winter, both hours that are called two o'clock when clocks are put back, and 1979, before there was a summer time.
		dsn := testdb.Create(t, on, script+"INSERT INTO t VALUES (1, '2024-06-15 12:00:00', '2024-06-15 14:00:00'), (2, '2024-01-15 23:30:00', NULL), "+
			"(3, '2024-10-27 00:30:00', NULL), (4, '2024-10-27 01:30:00', '2024-10-27 02:30:00'), (5, NULL, NULL), (6, '1979-07-01 22:30:00.25', NULL);")
		text := strings.NewReplacer("DRIVER", on.Name, "DSN", dsn).Replace(catalog)
		cat, err := schema.LoadFS(fstest.MapFS{"c.yaml": {Data: []byte(text)}}, schema.LoadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		e, err := engine.New(cat, engine.Options{Drivers: []engine.Driver{mysql.New(), postgres.New()}, Now: func() time.Time { return now }})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { e.Close() })
		ask := func(request object) string {
			ans, err := e.Query(context.Background(), anyone, []byte(encode(request)))
			if err != nil {
				return tell(err)
			}
			var a struct{ Rows [][]any }
			unmarshal(t, ans.Text, &a)
			return encode(a.Rows)
		}
		with := func(fields ...any) object {
			return object{"resource": "w", "fields": fields, "orderBy": []any{object{"type": "sql", "expr": "w.id", "direction": "asc"}}, "with": []any{object{"code": "w", "query": object{"resource": "T", "fields": []any{object{"code": "id"}, object{"code": "z"}}}}}}
		}
		shown := `[["2024-06-15T12:00:00.000000Z"],["2024-01-15T23:30:00.000000Z"],["2024-10-27T00:30:00.000000Z"],["2024-10-27T01:30:00.000000Z"],[null],["1979-07-01T22:30:00.250000Z"]]`
		for _, c := range []struct {
			request object
			want    string
		}{
			{object{"resource": "T", "fields": []any{object{"code": "z"}}}, shown},
			{with(object{"code": "z"}), shown},
			{object{"resource": "T", "fields": []any{field("HOUR(z)")}}, `[[14],[0],[2],[2],[null],[23]]`},
			{with(field("HOUR(w.z)")), `[[14],[0],[2],[2],[null],[23]]`},
			{object{"resource": "T", "fields": []any{field("DATE(z)")}}, `[["2024-06-15"],["2024-01-16"],["2024-10-27"],["2024-10-27"],[null],["1979-07-01"]]`},
			{object{"resource": "T", "fields": []any{field("EPOCH(z)")}}, `[[1718452800],[1705361400],[1729989000],[1729992600],[null],[299716200]]`},
			{with(field("UNIX_TIMESTAMP(w.z)")), `[[1718452800],[1705361400],[1729989000],[1729992600],[null],[299716200]]`},
			{object{"resource": "T", "fields": []any{field("DATE_FORMAT(MAX(z), '%Y-%m-%d %H:%i')")}}, `[["2024-10-27 02:30"]]`},
			{object{"resource": "T", "fields": []any{field("z + INTERVAL 1 DAY")}, "limit": 1}, `[["2024-06-16 14:00:00"]]`},
			{object{"resource": "T", "fields": []any{field("z = at")}}, `[[true],[null],[null],[true],[null],[null]]`},
			{where(object{"field": "z", "operator": "=", "token": "2024-06-15T12:00:00Z"}, false), "[[1]]"},
			{where(object{"field": "z", "operator": "=", "token": "2024-06-15 14:00:00"}, false), "[[1]]"},
			{where(object{"field": "z", "operator": "IN", "tokens": []any{"2024-06-15T14:00:00+02:00", "2024-01-16 00:30:00"}}, false), "[[1],[2]]"},
			{where(object{"field": "z", "operator": ">", "token": "2024-10-27T00:30:00Z"}, false), "[[4]]"},
			{where(object{"field": "z", "operator": "BETWEEN", "tokens": []any{"2024-01-01", "2024-06-15 14:00:00"}}, false), "[[1],[2]]"},
			{where(object{"field": "z", "operator": "=", "tokenType": "field", "token": "T.z"}, false), "[[1],[2],[3],[4],[6]]"},
			{object{"resource": "T", "fields": []any{object{"code": "id"}}, "orderBy": []any{object{"type": "field", "expr": "T.z", "direction": "desc"}}}, "[[4],[3],[1],[2],[6],[5]]"},
		} {
			if got := ask(c.request); got != c.want {
				t.Errorf("%s\n gives %s\n want %s", encode(c.request), got, c.want)
			}
		}
		// A cursor is an instant, too.
		var ids, cursor string
		for range 6 {
			r := object{"resource": "T", "fields": []any{object{"code": "id"}}, "orderBy": []any{"T.z"}, "limit": 1}
			if cursor != "" {
				r["cursor"] = cursor
			}
			ans, err := e.Query(context.Background(), anyone, []byte(encode(r)))
			if err != nil {
				t.Fatal(tell(err))
			}
			var a struct {
				Rows   [][]any
				Cursor string
			}
			unmarshal(t, ans.Text, &a)
			ids, cursor = ids+encode(a.Rows), a.Cursor
		}
		if ids != "[[5]][[6]][[2]][[1]][[3]][[4]]" {
			t.Errorf("the pages are %s", ids)
		}
	})
}

// TestSemanticsCites holds docs/semantics.md to what it names: every case, parity file and test is there.
func TestSemanticsCites(t *testing.T) {
	page := readFile(t, "../docs/semantics.md")
	var tests strings.Builder
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		tests.WriteString(readFile(t, f))
	}
	cited := regexp.MustCompile(`\b(cases/[a-z_]+/[a-z0-9_]+|parity/[a-z]+|Test[A-Z][A-Za-z]+)\b`).FindAllString(page, -1)
	for _, c := range cited {
		file := "../testdata/" + c + ".txtar"
		switch {
		case strings.HasPrefix(c, "Test"):
			if !strings.Contains(tests.String(), "func "+c+"(t *testing.T)") {
				t.Errorf("there is no test %s", c)
			}
			continue
		case strings.HasPrefix(c, "parity/"):
			file = "../testdata/" + c + ".txt"
		}
		if _, err := os.Stat(file); err != nil {
			t.Errorf("there is no %s", c)
		}
	}
	if len(cited) < 100 {
		t.Errorf("only %d citations were found", len(cited))
	}
}

// TestCaseSensitive: a resource may ask LIKE and REGEXP to respect case, whatever a column's collation does.
func TestCaseSensitive(t *testing.T) {
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		b := newParity(t, on)
		for leaf, want := range map[string]string{
			`{"field":"s","operator":"LIKE","token":"bc"}`:               "[[1],[16],[47]]",
			`{"field":"s","operator":"LIKE","token":"A%"}`:               "[[1],[17],[47]]",
			`{"field":"ci","operator":"LIKE","token":"Ab%"}`:             "[[1],[10],[19],[28],[37],[46],[55]]",
			`{"field":"s","operator":"REGEXP","token":"^A"}`:             "[[1],[17],[47]]",
			`{"field":"ci","operator":"REGEXP","token":"^a[bB]"}`:        "[[2],[9],[11],[18],[20],[27],[29],[36],[38],[45],[47],[54],[56]]",
			`{"field":"s","operator":"REGEXP","token":"^[[:upper:]]+$"}`: "[[17],[40]]",
			`{"field":"s","operator":"NOT LIKE","token":"%"}`:            "[]",
		} {
			var l any
			unmarshal(t, []byte(leaf), &l)
			r := where(l, false)
			r["resource"] = "Strict"
			r["orderBy"] = []any{"Strict.id"}
			ans, err := b.engine.Query(context.Background(), anyone, []byte(encode(r)))
			if err != nil {
				t.Errorf("%s: %s", leaf, tell(err))
				continue
			}
			var a struct{ Rows [][]any }
			unmarshal(t, ans.Text, &a)
			if got := encode(a.Rows); got != want {
				t.Errorf("%s finds %s, want %s", leaf, got, want)
			}
		}
	})
}

// TestByteBudget: an answer that is full ends early and says so, and the pages after it leave no row out.
func TestByteBudget(t *testing.T) {
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		b := newParity(t, on)
		e, err := engine.New(b.catalog, engine.Options{Drivers: []engine.Driver{sqlite.New(), mysql.New(), postgres.New()}, MaxBytes: 700})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { e.Close() })
		var ids []string
		cursor, pages := "", 0
		for more := true; more && pages < 60; pages++ {
			r := object{"resource": "T", "limit": 1000, "fields": []any{object{"code": "id"}, object{"code": "doc"}}}
			if cursor != "" {
				r["cursor"] = cursor
			}
			ans, err := e.Query(context.Background(), anyone, []byte(encode(r)))
			if err != nil {
				t.Fatal(tell(err))
			}
			var a struct {
				Rows    [][]any
				HasMore bool
				Cursor  string
				Notice  []string
			}
			unmarshal(t, ans.Text, &a)
			if a.HasMore != (len(a.Notice) == 1 && strings.HasPrefix(a.Notice[0], "BYTES_CUT")) || ans.Cut != a.HasMore {
				t.Errorf("hasMore is %v, the notice %v", a.HasMore, a.Notice)
			}
			if len(ans.Text) > 1200 {
				t.Errorf("a page of %d bytes", len(ans.Text))
			}
			for _, row := range a.Rows {
				ids = append(ids, encode(row[0]))
			}
			cursor, more = a.Cursor, a.HasMore
		}
		if len(ids) != parityRows || ids[parityRows-1] != "60" || pages < 3 {
			t.Errorf("%d pages gave the rows %v", pages, ids)
		}
	})
}
