package engine_test

import (
	"context"
	"strings"
	"testing"
	"testing/fstest"

	"resq/testdb"
)

// nastyTypes and nastyRows are values that do not come back from a database as it compares them, or not as texts.
var nastyTypes = map[string]string{
	testdb.SQLite: "id INTEGER PRIMARY KEY, r REAL, f DOUBLE, c CHAR(6), n DECIMAL(30,10), v VARCHAR(400), t DATETIME, tm TIME, b BOOLEAN, u CHAR(36), big BIGINT, own TEXT, e TEXT",
	testdb.MySQL: "id INTEGER PRIMARY KEY, r FLOAT, f DOUBLE, c CHAR(6), n DECIMAL(30,10), v VARCHAR(400), t DATETIME(6), tm TIME, b BOOLEAN, u CHAR(36), big BIGINT, own POINT, " +
		"e ENUM('zzz', 'mmm', 'aaa')",
	testdb.Postgres: "id INTEGER PRIMARY KEY, r REAL, f DOUBLE PRECISION, c CHAR(6), n DECIMAL(30,10), v VARCHAR(400), t TIMESTAMP, tm TIME, b BOOLEAN, u UUID, big BIGINT, own int4range, e ranks",
}

var nastyRows = []string{
	"0.1, 0.1, 'ab', 12345678901234567890.1234567890, 'a', '2024-01-01 10:00:00.1', '10:00:00', TRUE, 'AAAAAAAA-4455-6677-8899-AABBCCDDEEFF', 9223372036854775807, OWN(10), 'zzz'",
	"0.2, 0.30000000000000004, 'ab ', 12345678901234567890.1234567891, 'A', '2024-01-01 10:00:00.123456', '23:59:59', FALSE, 'bbbbbbbb-4455-6677-8899-aabbccddeeff', -9223372036854775808, OWN(9), 'aaa'",
	"0.1, 0.3, 'AB', 0.0000000001, 'LONG', '2024-01-01 10:00:00', NULL, NULL, NULL, 9007199254740993, OWN(2), 'mmm'",
	"NULL, NULL, NULL, NULL, NULL, NULL, '00:00:00', TRUE, 'CCCCCCCC-4455-6677-8899-AABBCCDDEEFF', NULL, NULL, NULL",
	"16777216, 1e300, '', -0.0000000001, 'LONGx', '0001-01-01 00:00:00', '10:00:00', FALSE, 'cccccccc-4455-6677-8899-aabbccddeef0', 9007199254740992, OWN(10), 'zzz'",
	"3.3333333, -1e-300, 'b', 1, 'it''s \\ \"q\"', '9999-12-31 23:59:59', '10:00:00', TRUE, NULL, 0, OWN(100), 'aaa'",
	"0.3, INFINITY, 'ab', 2.5, '中文', '2024-01-01 10:00:00.1', '01:02:03', TRUE, 'AAAAAAAA-4455-6677-8899-AABBCCDDEEFF', -3, OWN(9), 'mmm'",
	"-0.1, NAN, 'b', 2.5, '', '2024-01-01 10:00:00.123456', NULL, NULL, NULL, 3, OWN(1), NULL",
}

func nastyBench(t *testing.T, on testdb.Engine) *bench {
	t.Helper()
	own, inf, nan := `'`+`$1`+`'`, "1.5e308", "-1.5e308"
	pre := ""
	switch on.Name {
	case testdb.MySQL:
		own, pre = "ST_GeomFromText('POINT($1 0)')", "SET sql_mode = 'STRICT_ALL_TABLES,NO_BACKSLASH_ESCAPES';\n"
	case testdb.Postgres:
		own, inf, nan, pre = "'[$1,200)'", "'Infinity'", "'NaN'", "CREATE TYPE ranks AS ENUM ('zzz', 'mmm', 'aaa');\n"
	case testdb.SQLite:
		inf = "9e999"
	}
	script := pre + "CREATE TABLE n (" + nastyTypes[on.Name] + ");\n"
	long := strings.Repeat("y", 300)
	for i, r := range nastyRows {
		r = strings.NewReplacer("LONG", long, "INFINITY", inf, "NAN", nan).Replace(r)
		for at := strings.Index(r, "OWN("); at >= 0; at = strings.Index(r, "OWN(") {
			end := at + strings.IndexByte(r[at:], ')')
			r = r[:at] + strings.ReplaceAll(own, "$1", r[at+4:end]) + r[end+1:]
		}
		script += "INSERT INTO n VALUES (" + encode(i+1) + ", " + r + ");\n"
	}
	if on.Name == testdb.SQLite { // which keeps anything under any type
		script += "INSERT INTO n VALUES (9, 'text', 'text', 7, 'text', 7.5, 'no date', 12, 'yes', 5, 'text', 'x', 'y');\nINSERT INTO n VALUES (10, 1, 1, x'00ff', 1, x'ff', 1, 1, 1, x'ff', 1.5, x'01', 'z');\n"
	}
	if on.Name == testdb.Postgres { // whose numbers and times have ends, and years before the first
		script += "INSERT INTO n (id, r, f, n, t) VALUES (9, 'NaN', '-Infinity', 'NaN', 'infinity'), (10, '-Infinity', 'NaN', 1, '0044-03-15 00:00:00 BC'), (11, 'Infinity', 'NaN', 'NaN', '-infinity'), (12, 1e-30, 0, 0, '12000-01-01');\n"
	}
	catalog := `
version: 1
resources:
  - code: N
    table: n
    key: id
    fields: {id: integer, r: number, f: number, c: string, n: "decimal(30,10)", v: string, t: datetime, tm: time, b: bool, u: uuid, big: integer, own: {type: string, native: NATIVE}, e: {type: enum, values: [zzz, mmm, aaa]}}
`
	native := map[string]string{testdb.SQLite: "other", testdb.MySQL: "point", testdb.Postgres: "int4range"}[on.Name]
	catalog = strings.ReplaceAll(catalog, "NATIVE", native)
	return newBench(t, on, fstest.MapFS{"c.yaml": {Data: []byte(catalog)}}, map[string]string{"default": testdb.Create(t, on, script)})
}

// TestCursorWalk turns pages by every kind of sort key, in both directions: a cursor neither skips nor repeats a row,
// and where the key cannot be compared as it is sorted there is none but nextOffset.
func TestCursorWalk(t *testing.T) {
	always := []string{"id", "r", "f", "n", "t", "tm", "b", "big", "n * 3", "r * 3", "big - 1", "r / 3", "MONTH(t)", "LOWER(c)", "n / 7", "b IS NULL", "DATE_ADD(t, INTERVAL 1 HOUR)"}
	others := []string{"c", "v", "u", "own", "e", "n * n", "n * n * n", "big * big", "r + n", "-big", "ABS(big)", "COALESCE(r, n)", "COALESCE(r, big)", "GREATEST(r, 0.1)", "LEAST(r, big, n)", "LOWER(v)", "c || v",
		"CASE WHEN id > 3 THEN c ELSE v END", "CASE WHEN id > 3 THEN big ELSE f END", "CAST(n AS TEXT)", "CAST(r AS TEXT)", "NULLIF(b, TRUE)", "ROUND(n, 1)", "CAST(t AS DATE)",
		"CONCAT(own, 'x')", "CONCAT(e, 'x')", "ROW_NUMBER() OVER (ORDER BY id)", "COALESCE(v, c)", "CAST(c AS TEXT)", "LENGTH(v)", "n + 0.00000000000000000001"}
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		b := nastyBench(t, on)
		var notes strings.Builder
		for i, key := range append(always, others...) {
			for _, direction := range []string{"asc", "desc"} {
				order := []any{object{"type": "sql", "expr": key, "direction": direction}}
				ask := func(r object) (ids []string, cursor string, offset int) {
					r["resource"], r["fields"], r["orderBy"] = "N", []any{object{"code": "id"}}, order
					ans, err := b.engine.Query(context.Background(), anyone, []byte(encode(r)))
					if err != nil {
						t.Errorf("%s %s, %s: %s", key, direction, encode(r["cursor"]), tell(err))
						return nil, "", 0
					}
					var a struct {
						Rows       [][]any
						Cursor     string
						NextOffset int
					}
					unmarshal(t, ans.Text, &a)
					for _, row := range a.Rows {
						ids = append(ids, encode(row[0]))
					}
					return ids, a.Cursor, a.NextOffset
				}
				full, _, _ := ask(object{"limit": 100})
				for _, limit := range []int{1, 2} {
					seen, given, cursor := 0, 0, ""
					for seen < len(full) {
						r := object{"limit": limit}
						if cursor != "" {
							r["cursor"] = cursor
							given++
						} else {
							r["offset"] = seen
						}
						ids, next, offset := ask(r)
						want := full[seen:min(seen+limit, len(full))]
						if strings.Join(ids, " ") != strings.Join(want, " ") {
							t.Errorf("%s %s, %d a page: after %d rows come %v, want %v of %v", key, direction, limit, seen, ids, want, full)
							break
						}
						seen, cursor = seen+limit, next
						if cursor == "" && seen < len(full) && offset != seen {
							t.Errorf("%s %s, %d a page: after %d rows there is no cursor, and nextOffset is %d", key, direction, limit, seen, offset)
							break
						}
					}
					if limit == 1 && direction == "asc" {
						notes.WriteString(key + ": " + encode(given) + "; ")
					}
					if want := len(full) - 1; i < len(always) && limit == 1 && given < want && on.Name != testdb.SQLite {
						t.Errorf("%s %s: %d pages by cursor, want %d", key, direction, given, want)
					}
				}
			}
		}
		t.Log(notes.String())
	})
}
