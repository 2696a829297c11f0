package introspect_test

import (
	"database/sql"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"resq/schema"
	"resq/schema/introspect"
)

// newSQLite makes a database file of a script.
func newSQLite(t *testing.T, script string) (db *sql.DB, dsn string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "odd 数据.sqlite")
	db, err := sql.Open("sqlite", file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	if _, err := db.Exec(script); err != nil {
		t.Fatal(err)
	}
	return db, "sqlite:" + file
}

// page gives the text of the file that holds a resource.
func page(t *testing.T, r *introspect.Result, code string) string {
	t.Helper()
	for _, f := range r.Files {
		for line := range strings.Lines(string(f.Data)) {
			line = strings.TrimSpace(line)
			if line == "- code: "+code || line == `- code: "`+code+`"` {
				return string(f.Data)
			}
		}
	}
	t.Fatalf("no file for %q", code)
	return ""
}

// expect compares the text behind connection: with what is wanted.
func expect(t *testing.T, r *introspect.Result, code, want string) {
	t.Helper()
	_, got, _ := strings.Cut(page(t, r, code), "    connection: default\n")
	if want = strings.TrimPrefix(want, "\n"); got != want {
		t.Errorf("%s:\n%s\nwant:\n%s", code, got, want)
	}
}

const oddSQLite = `
CREATE TABLE "odd ""t"" 表" ("编号" INTEGER PRIMARY KEY, "50%" DECIMAL(5, 2) DEFAULT 1.50, "a.b" int(11) NOT NULL, 'it''s' bool DEFAULT true,
  "😀" year, "__x" nvarchar(20) NOT NULL DEFAULT 'it''s', yes double, untyped, loose "weird thing", "number" number(20), stamp TIMESTAMP DEFAULT CURRENT_TIMESTAMP,
  later date DEFAULT '2024-01-01', big UNSIGNED BIG INT, g INT AS (yes + 1), s TEXT AS (untyped) STORED, neg INTEGER DEFAULT (-5), nul TEXT DEFAULT NULL, p POINT);
INSERT INTO "odd ""t"" 表" ("编号", "a.b", untyped, loose, p) VALUES (1, 2, 3, 4.5, x'00'), (2, 2, NULL, 6, x'01');
CREATE TABLE int_key (id INT PRIMARY KEY, name TEXT NOT NULL UNIQUE, code VARCHAR(4) COLLATE NOCASE);
CREATE UNIQUE INDEX partly ON int_key (code) WHERE code > 'm';
CREATE TABLE rowless (a TEXT, b INTEGER, PRIMARY KEY (b, a)) WITHOUT ROWID;
CREATE TABLE descending (id INTEGER PRIMARY KEY DESC, v);
CREATE TABLE only_unique (a INT NOT NULL, b INT NOT NULL, c INT UNIQUE, UNIQUE (b, a));
CREATE TABLE no_key (id INT, v INT);
CREATE TABLE person (id INTEGER PRIMARY KEY, boss_id INTEGER REFERENCES Person (ID), home INT REFERENCES place, workPlaceId INT REFERENCES place (id),
  gone INT REFERENCES nowhere (id), bad INT REFERENCES place (nowhere), key_b INT, key_a TEXT, FOREIGN KEY (key_b, key_a) REFERENCES rowless);
CREATE TABLE place (id INTEGER PRIMARY KEY, owner INT UNIQUE REFERENCES person);
CREATE TABLE "" (x INT);
CREATE TABLE blank ("" INT, x INT);
CREATE TABLE resq_operation (id INTEGER PRIMARY KEY);
CREATE VIRTUAL TABLE words USING fts5(body);
CREATE VIEW sums AS SELECT b, sum(c) AS total, avg(c) AS mean, count(*) AS n, max(a) || '!' AS label, NULL AS nil FROM only_unique GROUP BY b;
CREATE VIEW blobs AS SELECT x.* FROM (SELECT CAST(a AS BLOB) AS raw, coalesce(NULL, x'01') AS made FROM only_unique) AS x;
CREATE VIEW broken AS SELECT * FROM missing;
INSERT INTO only_unique VALUES (1, 2, 3), (4, 2, 5);
`

// Every way of declaring a type, key or default in SQLite, and names of every kind, reach the catalog.
func TestSQLite(t *testing.T) {
	db, dsn := newSQLite(t, oddSQLite)
	s, r, c := roundTrip(t, db, "sqlite", dsn, introspect.Options{})
	expect(t, r, `odd \"t\" 表`, `
    key: 编号
    fields:
      编号: {type: integer, nullable: false}
      "50%": {type: "decimal(5,2)", default: 1.50}
      a.b: {type: integer, required: true, nullable: false}
      "it's": {type: bool, default: true}
      "😀": {type: integer}
      _x: {type: string, column: __x, nullable: false, maxLength: 20, default: "it's"}
      "yes": {type: number}
      untyped: {type: integer}
      loose: {type: number}
      number: {type: decimal}
      stamp: {type: datetime}
      later: {type: date, default: "2024-01-01"}
      big: {type: integer, unsigned: true}
      g: {type: integer, generated: true}
      s: {type: text, generated: true}
      neg: {type: integer, default: -5}
      nul: {type: text}
      p: {type: binary}
`)
	expect(t, r, "int_key", `
    key: id
    fields:
      id: {type: integer}
      name: {type: text, required: true, nullable: false}
      code: {type: string, maxLength: 4}
`)
	expect(t, r, "rowless", `
    key: [b, a]
    fields:
      a: {type: text, required: true, nullable: false}
      b: {type: integer, required: true, nullable: false}
    relations:
      - {code: person, to: person, many: true, on: {b: key_b, a: key_a}}
`)
	expect(t, r, "descending", `
    key: id
    fields:
      id: {type: integer}
      v: {type: text}
`)
	expect(t, r, "only_unique", `
    key: [b, a]
    fields:
      a: {type: integer, required: true, nullable: false}
      b: {type: integer, required: true, nullable: false}
      c: {type: integer}
`)
	expect(t, r, "no_key", `
    key: []
    fields:
      id: {type: integer}
      v: {type: integer}
`)
	expect(t, r, "person", `
    key: id
    fields:
      id: {type: integer, nullable: false}
      boss_id: {type: integer, references: person.id}
      home: {type: integer, references: place.id}
      workPlaceId: {type: integer, references: place.id}
      gone: {type: integer}
      bad: {type: integer}
      key_b: {type: integer}
      key_a: {type: text}
    relations:
      - {code: boss, to: person, on: {boss_id: id}}
      - {code: home, to: place, on: {home: id}}
      - {code: workPlace, to: place, on: {workPlaceId: id}}
      - {code: rowless, to: rowless, on: {key_b: b, key_a: a}}
`)
	expect(t, r, "sums", `
    view: true
    fields:
      b: {type: integer}
      total: {type: integer}
      mean: {type: number}
      "n": {type: integer}
      label: {type: text}
      nil: {type: text}
`)
	expect(t, r, "blobs", `
    view: true
    fields:
      raw: {type: binary}
      made: {type: binary}
`)
	expect(t, r, "blank", `
    fields:
      x: {type: integer}
`)
	if _, ok := c.Resource("words"); ok {
		t.Error("a virtual table is no resource: no read of it is admitted")
	}
	if r, _ := c.Resource("no_key"); len(r.Key) != 0 {
		t.Errorf("a table without a key has one: %v", r.Key[0].Code)
	}
	if _, ok := c.Resource("resq_operation"); ok {
		t.Error("the tables of the system itself must stay out")
	}
	notes := strings.Join(s.Notes, "\n")
	for _, want := range []string{"view broken was left out", "a table was left out", "words was left out", "a column of table blank was left out"} {
		if !strings.Contains(notes, want) {
			t.Errorf("no note %q in: %s", want, notes)
		}
	}
	if len(s.Notes) != 4 {
		t.Errorf("notes: %s", notes)
	}
	if _, err := db.Query(`SELECT * FROM "` + strings.ReplaceAll(c.Resources[0].Table, `"`, `""`) + `"`); err != nil {
		t.Error(err)
	}
}

// A relation reaches the loaded catalog in both directions, each under a code of its own.
func TestRelationsLoad(t *testing.T) {
	db, dsn := newSQLite(t, oddSQLite)
	_, _, c := roundTrip(t, db, "sqlite", dsn, introspect.Options{})
	person, _ := c.Resource("person")
	var got []string
	for _, r := range person.Relations {
		got = append(got, r.Code)
	}
	for _, want := range []string{"boss", "home", "workPlace", "rowless"} {
		if !slices.Contains(got, want) {
			t.Errorf("relation %s is missing in %v", want, got)
		}
	}
	boss, _ := person.Field("boss_id")
	if boss.References == nil || boss.References.Resource != person || boss.References.Field.Code != "id" {
		t.Errorf("boss_id references %+v", boss.References)
	}
}

// Include and exclude know names with and without schema, ignore case, and take names with a slash.
func TestScope(t *testing.T) {
	db, _ := newSQLite(t, `CREATE TABLE Users (id INT); CREATE TABLE user_role (id INT); CREATE TABLE "a/b" (id INT); CREATE TABLE log_1 (id INT); CREATE VIEW v_users AS SELECT * FROM Users;`)
	for _, x := range []struct {
		include, exclude []string
		want             string
	}{
		{nil, nil, "Users a/b log_1 user_role v_users"},
		{[]string{"user*"}, nil, "Users user_role"},
		{[]string{"MAIN.*s"}, nil, "Users v_users"},
		{[]string{"a*"}, nil, "a/b"},
		{nil, []string{"log_?", "v_*"}, "Users a/b user_role"},
		{[]string{"user*"}, []string{"user_[a-r]*"}, "Users"},
	} {
		s := read(t, db, "sqlite", introspect.Options{Include: x.include, Exclude: x.exclude})
		var got []string
		for _, table := range s.Tables {
			got = append(got, table.Name)
		}
		if strings.Join(got, " ") != x.want {
			t.Errorf("%v %v: %v, want %s", x.include, x.exclude, got, x.want)
		}
	}
	if _, err := introspect.Read(t.Context(), db, "sqlite", introspect.Options{Include: []string{"[a"}}); err == nil || !strings.Contains(err.Error(), "malformed") {
		t.Errorf("a malformed pattern: %v", err)
	}
	if _, err := introspect.Read(t.Context(), db, "oracle", introspect.Options{}); err == nil {
		t.Error("an unknown driver is no error")
	}
	s := read(t, db, "sqlite", introspect.Options{Include: []string{"nothing"}})
	if _, err := introspect.Write(s, introspect.WriteOptions{}); err == nil {
		t.Error("a catalog of nothing is no error")
	}
}

// What is declared decides the type, however it is spelt; only without a declaration do the values.
func TestSQLiteTypes(t *testing.T) {
	for declared, want := range map[string]string{
		"INT": "integer", "bigint(20)": "integer", "int unsigned": "integer", "TINYINT(1)": "integer", "MYINT": "integer",
		"Boolean": "bool", "NUMERIC": "decimal", "decimal(10)": "decimal", "decimal(10,2)": "decimal(10,2)", "NUMERIC( 7 , 3 )": "decimal(7,3)", "decimal(2,5)": "decimal",
		"float(10,2)": "number", "DOUBLE  PRECISION": "number", "varchar": "string", "character varying(30)": "string", "VARCHAR(10) ": "string",
		"longtext": "text", "TEXT(20)": "text", "JSONB": "json", "varbinary(8)": "binary", "uniqueidentifier": "uuid",
		"datetime2": "datetime", "timestamp with time zone": "datetime", "TIME": "time", "date": "date", "GEOMETRY": "text", "whatever": "text", "": "text",
	} {
		db, _ := newSQLite(t, "CREATE TABLE t (id INTEGER PRIMARY KEY, c "+declared+")")
		s := read(t, db, "sqlite", introspect.Options{})
		if got := s.Tables[0].Columns[1].Type.String(); got != want {
			t.Errorf("%q is %s, want %s", declared, got, want)
		}
	}
	db, _ := newSQLite(t, `CREATE TABLE t (c INTEGER); INSERT INTO t VALUES ('seven')`)
	if got := read(t, db, "sqlite", introspect.Options{}).Tables[0].Columns[0].Type.Kind; got != schema.Integer {
		t.Errorf("the declared type must win over the values, got %s", got)
	}
}
