package introspect_test

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"resq/schema"
	"resq/schema/introspect"
)

// compare loads a catalog that a person wrote and compares it with the database.
func compare(t *testing.T, text string, s *introspect.Snapshot) []introspect.Drift {
	t.Helper()
	c, err := schema.LoadFS(fstest.MapFS{"c.yaml": {Data: []byte(text)}}, schema.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return introspect.Compare(c, c.Connections[0], s)
}

func match(t *testing.T, drift []introspect.Drift, want []string) {
	t.Helper()
	var got []string
	for _, d := range drift {
		kind := "error "
		if d.Warning {
			kind = "warning "
		}
		got = append(got, kind+d.String())
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// What a catalog says and its database does not is told with the place of the entry (B-041).
func TestCompare(t *testing.T) {
	db, _ := newSQLite(t, `
CREATE TABLE orders (id INTEGER PRIMARY KEY, no VARCHAR(10) NOT NULL, note TEXT, amount DECIMAL(10,2), made DATETIME DEFAULT CURRENT_TIMESTAMP, g INT AS (amount * 2), raw BLOB);
CREATE TABLE pair (a INT, b INT, UNIQUE (a, b));
CREATE VIEW seen AS SELECT * FROM orders;
CREATE TABLE skipped (id INT)`)
	s := read(t, db, "sqlite", introspect.Options{Exclude: []string{"skipped"}})
	match(t, compare(t, `version: 1
connections:
  default: {dsn: "sqlite:x", mode: write}
  other: {dsn: "sqlite:y"}
resources:
  - code: Order
    table: ORDERS
    key: id
    writes: [create]
    fields:
      id: integer
      no: {type: string, maxLength: 12}
      note: {type: text, nullable: false}
      amount: {type: decimal(12,2)}
      made: {type: datetime}
      g: integer
      raw: {type: date}
      mising: text
      NOTE: {type: json, column: NoTe}
  - {code: Pair, table: pair, key: a, fields: {a: integer, b: integer}}
  - {code: Whole, table: pair, key: [b, a], fields: {a: integer, b: integer}}
  - {code: View, table: seen, key: id, view: true, fields: {id: {type: integer, nullable: false}}}
  - {code: Gone, table: order, fields: {id: integer}}
  - {code: Skipped, table: skipped, fields: {x: integer}}
  - {code: Elsewhere, connection: other, table: nowhere, fields: {x: integer}}
`, s), []string{
		`warning c.yaml:12: field Order.no is declared to hold 12 characters, but the column holds 10`,
		`warning c.yaml:12: field Order.no is not required, but the database refuses a new row without it`,
		`warning c.yaml:13: field Order.note is declared as never NULL, but the column may be NULL`,
		`warning c.yaml:14: field Order.amount is declared as decimal(12,2), but the column is decimal(10,2)`,
		`warning c.yaml:16: field Order.g is computed by the database, but not declared as generated`,
		`error c.yaml:17: field Order.raw is declared as date, but the column is binary (BLOB); the two are not compared or written alike`,
		`error c.yaml:18: field Order.mising: the table orders has no column "mising"`,
		`warning c.yaml:20: resource Pair: its key "a" is no key of the table pair; nothing keeps it unique`,
		`error c.yaml:23: resource Gone: the database has no table "order"; nearest: orders`,
	})
}

// A field may say more than the column where the database lets it, and no more.
func TestCompareTypes(t *testing.T) {
	my, _ := mysqlServer.create(t, "types")
	mysqlServer.exec(t, my, `CREATE TABLE t (id INT PRIMARY KEY, flag TINYINT(1), doc LONGTEXT, k BINARY(16), e ENUM('a', 'b'), f DOUBLE, d DECIMAL(10, 0), dd DECIMAL(5,2), day DATE, tags SET('x'), v VARCHAR(20), u UUID)`)
	match(t, compare(t, `version: 1
connections: {default: {dsn: "mysql://x/y"}}
resources:
  - code: t
    fields:
      id: decimal
      flag: bool
      doc: json
      k: uuid
      e: {type: enum, values: [a, c]}
      f: integer
      d: integer
      dd: number
      day: datetime
      tags: string
      v: date
      u: text
`, read(t, my, "mysql", introspect.Options{})), []string{
		`warning c.yaml:10: field t.e declares values that the database does not take: "c"`,
		`warning c.yaml:10: field t.e lacks values that the database has: "b"`,
		`error c.yaml:11: field t.f is declared as integer, but the column is number (double); it may hold fractions`,
		`error c.yaml:14: field t.day is declared as datetime, but the column is date; the two are not compared or written alike`,
		`error c.yaml:15: field t.tags is declared as string, but the column is a list of string (set('x')); a list and a zone must be declared as they are`,
		`error c.yaml:16: field t.v is declared as date, but the column is string (varchar(20)); the two are not compared or written alike`,
	})

	// What has no transactions takes no writes.
	lasting, _ := mysqlServer.create(t, "lasting")
	mysqlServer.exec(t, lasting, `CREATE TABLE t (id INT PRIMARY KEY) ENGINE=MyISAM; CREATE TABLE u (id INT PRIMARY KEY) ENGINE=InnoDB`)
	match(t, compare(t, `version: 1
connections: {default: {dsn: "mysql://x/y", mode: write}}
resources:
  - {code: t, key: id, writes: [delete], fields: {id: integer}}
  - {code: r, table: t, key: id, fields: {id: integer}}
  - {code: u, key: id, writes: [delete], fields: {id: integer}}
`, read(t, lasting, "mysql", introspect.Options{})), []string{
		`error c.yaml:4: resource t: the table t is kept by MyISAM, which has no transactions, so writes are refused: make it an InnoDB table`,
	})

	// An instant without zone is local time only where that is UTC.
	zoned, _ := mysqlServer.create(t, "zoned")
	mysqlServer.exec(t, zoned, `CREATE TABLE t (id INT PRIMARY KEY, ts TIMESTAMP NULL)`)
	for zone, want := range map[string][]string{"UTC": nil, "Asia/Tokyo": {
		`error c.yaml:6: field t.ts is declared as datetime, but the column is datetime with zone (timestamp); it is read in UTC, and would be taken for local time of the connection's zone: declare it with zone: true`,
	}} {
		match(t, compare(t, `version: 1
connections: {default: {dsn: "mysql://x/y", zone: `+zone+`}}
resources:
  - code: t
    key: id
    fields: {id: integer, ts: datetime}
`, read(t, zoned, "mysql", introspect.Options{})), want)
	}

	pg, _ := postgresServer.create(t, "types")
	postgresServer.exec(t, pg, `CREATE TYPE mood AS ENUM ('a'); CREATE TYPE pair AS (a int, b int); CREATE TABLE t (id int PRIMARY KEY, p pair, q pair, r int4range, s int4range, w pair, flag int, doc text, u uuid, v text, m mood, n numeric, tz timestamptz, ts timestamp, ip inet, ia int[], b boolean, "Odd" text, odd int, ch char(3), cn char(3))`)
	match(t, compare(t, `version: 1
connections: {default: {dsn: "postgres://x/y"}}
resources:
  - code: t
    fields:
      id: integer
      flag: bool
      doc: json
      u: text
      v: uuid
      m: text
      n: integer
      tz: datetime
      ts: {type: datetime, zone: true}
      ip: string
      ia: integer
      b: bool
      Odd: text
      ODD: text
      p: json
      q: {type: string, native: pair}
      r: {type: json, native: int4range}
      s: {type: integer, native: int4range}
      w: {type: json, native: pair}
      ch: string
      cn: {type: string, native: character(3)}
`, read(t, pg, "postgres", introspect.Options{})), []string{
		`error c.yaml:7: field t.flag is declared as bool, but the column is integer; the two are not compared or written alike`,
		`error c.yaml:8: field t.doc is declared as json, but the column is text; the two are not compared or written alike`,
		`error c.yaml:9: field t.u is declared as text, but the column is uuid; the two are not compared or written alike`,
		`error c.yaml:10: field t.v is declared as uuid, but the column is text; the two are not compared or written alike`,
		`error c.yaml:12: field t.n is declared as integer, but the column is decimal (numeric); it may hold fractions`,
		`error c.yaml:13: field t.tz is declared as datetime, but the column is datetime with zone (timestamp with time zone); a list and a zone must be declared as they are`,
		`error c.yaml:14: field t.ts is declared as datetime with zone, but the column is datetime (timestamp without time zone); a list and a zone must be declared as they are`,
		`error c.yaml:15: field t.ip is declared as string, but the column is string (inet); a type that the catalog has no name for is declared as native`,
		`error c.yaml:16: field t.ia is declared as integer, but the column is a list of integer (integer[]); a list and a zone must be declared as they are`,
		`error c.yaml:19: field t.ODD: the table t has no column "ODD"; nearest: Odd, odd, id`,
		`error c.yaml:20: field t.p is declared as json, but the column is json (pair); a type that the catalog has no name for is declared as native`,
		`error c.yaml:23: field t.s is declared as integer, but the column is string (int4range); the two are not compared or written alike`,
		`error c.yaml:25: field t.ch is declared as string, but the column is string (character(3)); its values are filled up with blanks, which only a field with native: character(3) is without`,
	})
}

// The same table name in two schemas is two tables; a table of a schema that was not read is not missing.
func TestCompareSchemas(t *testing.T) {
	db, _ := postgresServer.create(t, "compare")
	postgresServer.exec(t, db, `CREATE SCHEMA a; CREATE TABLE a.t (x int); CREATE TABLE t (y int)`)
	text := `version: 1
connections: {default: {dsn: "postgres://x/y"}}
resources:
  - {code: t, fields: {y: integer}}
  - {code: at, table: t, schema: a, fields: {x: integer, y: integer}}
  - {code: bt, table: t, schema: b, fields: {x: integer}}
`
	match(t, compare(t, text, read(t, db, "postgres", introspect.Options{})), []string{
		`error c.yaml:5: field at.y: the table a.t has no column "y"`,
		`error c.yaml:6: resource bt: the database has no table "b.t"; nearest: a.t, t`,
	})
	match(t, compare(t, text, read(t, db, "postgres", introspect.Options{Schemas: []string{"public"}})), nil)
}
