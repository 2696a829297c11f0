package engine_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"resq/testdb"
)

// parityCatalog describes a table with a column of every type. doc is JSON that the database checks, raw is
// JSON kept as text, which it does not; Strict is the same table with respect to case.
const parityCatalog = `
version: 1
resources:
  - code: T
    table: t
    key: id
    fields:
      id: {type: integer, nullable: false}
      g: {type: integer}
      n: {type: integer}
      i: {type: integer}
      d2: {type: "decimal(12,2)"}
      d4: {type: "decimal(14,4)"}
      f: {type: number}
      s: {type: string, maxLength: 60}
      s2: {type: text}
      b: {type: bool}
      day: {type: date}
      at: {type: datetime}
      tm: {type: time}
      doc: {type: json}
      raw: {type: json}
      kind: {type: enum, values: [new, paid, shipped, "12"]}
      u: {type: uuid}
      ci: {type: string, maxLength: 60}
      x: {type: number}
  - {code: Strict, table: t, key: id, caseSensitive: true, fields: {id: integer, s: {type: string, maxLength: 60}, ci: {type: string, maxLength: 60}}}
`

var parityTypes = map[string]string{
	testdb.SQLite: "id INTEGER NOT NULL PRIMARY KEY, g INTEGER, n BIGINT, i INTEGER, d2 DECIMAL(12,2), d4 DECIMAL(14,4), f DOUBLE, s VARCHAR(60), s2 TEXT, b BOOLEAN, " +
		"day DATE, at DATETIME, tm TIME, doc JSON, raw TEXT, kind VARCHAR(10), u CHAR(36), ci VARCHAR(60), x DOUBLE",
	testdb.MySQL: "id INTEGER NOT NULL PRIMARY KEY, g INTEGER, n BIGINT, i INTEGER, d2 DECIMAL(12,2), d4 DECIMAL(14,4), f DOUBLE, s VARCHAR(60) COLLATE BINARY_COLLATION, s2 TEXT COLLATE BINARY_COLLATION, b BOOLEAN, " +
		"day DATE, at DATETIME(6), tm TIME, doc JSON, raw TEXT COLLATE BINARY_COLLATION, kind ENUM('new', 'paid', 'shipped', '12') COLLATE BINARY_COLLATION, u CHAR(36) COLLATE BINARY_COLLATION, ci VARCHAR(60), x DOUBLE",
	testdb.Postgres: "id INTEGER NOT NULL PRIMARY KEY, g INTEGER, n BIGINT, i INTEGER, d2 DECIMAL(12,2), d4 DECIMAL(14,4), f DOUBLE PRECISION, s VARCHAR(60), s2 TEXT, b BOOLEAN, " +
		"day DATE, at TIMESTAMP, tm TIME, doc JSONB, raw TEXT, kind kind, u UUID, ci VARCHAR(60), x DOUBLE PRECISION",
}

// parityColumns hold values that are nasty on purpose; shorter lists begin anew. No value is a tie of
// another's by chance of its place: the lists have lengths of their own.
var parityColumns = []struct {
	name   string
	values []string
}{
	{"g", []string{"0", "1", "2", "1", "NULL"}},
	{"n", []string{"1", "0", "-1", "7", "-7", "NULL", "9007199254740992", "9007199254740993", "-9007199254740993", "9223372036854775807", "-9223372036854775808",
		"-9223372036854775807", "100", "12", "2147483648", "-12", "1000000", "3"}},
	{"i", []string{"3", "0", "-3", "12", "NULL", "2", "5", "-5", "45", "2024", "1", "7", "100"}},
	{"d2", []string{"2.50", "0.00", "0.10", "0.20", "0.30", "-2.50", "NULL", "1.00", "-0.01", "99999.99", "-99999.99", "72.68", "12.00", "1.50", "0.05", "-1.50", "3.14"}},
	{"d4", []string{"1.2345", "0.0000", "0.1000", "-0.0001", "2.5000", "72.6750", "NULL", "999.9999", "-999.9999", "12.0000", "0.3000"}},
	{"f", []string{"2.5", "0", "-0.0", "0.1", "0.2", "1e15", "-1e15", "1e-7", "NULL", "1e300", "-2.5", "3", "123456.789", "0.30000000000000004", "1e21", "-3.5", "1e-12", "12", "9007199254740993"}},
	{"s", []string{"'Abc'", "''", "' '", "NULL", "'12'", "'12 kg'", "' 7'", "'7 '", "'1e3'", "'007'", "'-5'", "'+5'", "'12.50'", "'.5'", "'5.'", "'abc'", "'ABC'", "'stra\u00dfe'",
		"'\u00e9'", "'e\u0301'", "'\u4e2d\u6587'", "'\U0001F600!'", "'100%'", "'a_b'", "'a!b'", "'a\\b'", "'it''s'", "'true'", "'2024-02-29'", "'2023-02-29'", "'2024-02-29 12:34:56'",
		"'12:34:56'", "'a,b'", "'new'", "'x\ty'", "'x\ny'", "'--'", "'1,000'", "'99999999999999999999'", "'\u00c9'", "'0x1A'", "'Infinity'", "'NaN'", "'trailing '", "'kg\n'", "'中é_٣'"}},
	{"s2", []string{"'abc'", "'b'", "NULL", "''", "'12'", "'_'", "'%'", "'a'", "'\u4e2d'", "'e\u0301'", "'AB'", "'7'", "'!'", "'\\'", "'bc'", "'kg'"}},
	{"b", []string{"TRUE", "FALSE", "NULL"}},
	{"day", []string{"'2024-01-31'", "'2024-02-29'", "'2023-02-28'", "'0001-01-01'", "'9999-12-31'", "NULL", "'2000-02-29'", "'1900-03-01'", "'1970-01-01'", "'1969-12-31'", "'2024-12-30'",
		"'2021-01-03'", "'2020-12-31'", "'2024-06-15'"}},
	{"at", []string{"'2024-02-29 12:34:56'", "'2024-01-31 00:00:00'", "'2024-02-29 23:59:59.123456'", "NULL", "'0001-01-01 00:00:00'", "'9999-12-31 23:59:59'", "'1969-12-31 23:59:59.5'",
		"'1970-01-01 00:00:00'", "'2024-03-31 01:02:03'", "'2023-12-31 18:00:00'", "'2000-02-29 06:07:08.000001'", "'2024-06-15 12:00:00'", "'2021-01-01 11:59:59'"}},
	{"tm", []string{"'12:34:56'", "'00:00:00'", "'23:59:59'", "NULL", "'06:07:08'"}},
	{"doc", []string{`'{"a": 1, "b": "x", "c": [1, 2, 3], "d": {"e": null, "f": true}, "n": 1.50}'`, `'[]'`, `'[1, 2, "3", null, true, 2.5]'`, "NULL", `'null'`, `'"text"'`, `'12'`, `'true'`,
		`'{}'`, `'{"a": "1", "b": null, "c": "no list", "d": []}'`, `'["x", "y", "\u4e2d"]'`, `'{"a": false, "c": []}'`, `'[[1], {"a": 2}]'`}},
	{"raw", []string{`'{"a": 1, "c": [1, "x"]}'`, `'not json'`, `''`, "NULL", `'{"a": }'`, `'[1, 2'`, `'["x"]'`, `'{"a": "b c", "c": {}}'`, `' [1] '`}},
	{"kind", []string{"'new'", "'paid'", "NULL", "'shipped'", "'12'"}},
	{"u", []string{"'00112233-4455-6677-8899-aabbccddeeff'", "NULL", "'ffffffff-ffff-ffff-ffff-ffffffffffff'", "'00000000-0000-0000-0000-000000000000'"}},
	{"ci", []string{"'Abc'", "'aBc'", "'b'", "NULL", "''", "'\u00c9'", "'stra\u00dfe'", "'A b'", "'ab '"}},
	{"x", []string{"0.5", "1.25", "-3.5", "NULL", "72.675", "0.1", "1.005", "100", "-0.001"}},
}

const parityRows = 60

// newParity makes the table on one database system and opens an engine on it.
func newParity(t *testing.T, on testdb.Engine) *bench {
	t.Helper()
	var b strings.Builder
	if on.Name == testdb.Postgres {
		b.WriteString("CREATE TYPE kind AS ENUM ('new', 'paid', 'shipped', '12');\n")
	}
	if on.Name == testdb.MySQL {
		b.WriteString("SET sql_mode = 'STRICT_ALL_TABLES,NO_BACKSLASH_ESCAPES';\n")
	}
	fmt.Fprintf(&b, "CREATE TABLE t (%s);\n", strings.ReplaceAll(parityTypes[on.Name], "BINARY_COLLATION", "utf8mb4_nopad_bin"))
	for id := range parityRows {
		b.WriteString([]string{"INSERT INTO t VALUES (", ", ("}[min(id, 1)])
		fmt.Fprint(&b, id+1)
		for _, c := range parityColumns {
			b.WriteString(", " + c.values[id%len(c.values)])
		}
		b.WriteString(")")
	}
	dsn := map[string]string{"default": testdb.Create(t, on, b.String())}
	return newBench(t, on, fstest.MapFS{"catalog.yaml": {Data: []byte(parityCatalog)}}, dsn)
}
