package introspect_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"resq/schema/introspect"
)

// keyLine gives what the file of a resource says about its key; "" when it says nothing.
func keyLine(t *testing.T, r *introspect.Result, code string) string {
	t.Helper()
	for line := range strings.Lines(page(t, r, code)) {
		if key, ok := strings.CutPrefix(line, "    key: "); ok {
			return strings.TrimSpace(key)
		}
	}
	return ""
}

// no is a name that YAML would read as false.
const no = `"no"`

const guessed = " # unique in the data when this was read; the database declares no key"

// checkKeys compares the keys that were written with those wanted, and the note with their number.
func checkKeys(t *testing.T, r *introspect.Result, want map[string]string) {
	t.Helper()
	guesses := 0
	for code, key := range want {
		if key != "" && !strings.HasPrefix(key, "=") {
			guesses++
			key += guessed
		}
		if got := keyLine(t, r, code); got != strings.TrimPrefix(key, "=") {
			t.Errorf("the key of %s is %q, want %q", code, got, key)
		}
	}
	note := fmt.Sprintf("%d tables declare no key; the keys written for them are guesses from the data", guesses)
	switch notes := strings.Join(r.Notes, "\n"); {
	case guesses > 1 && notes != note:
		t.Errorf("notes %q, want %q", notes, note)
	case guesses == 0 && notes != "":
		t.Errorf("notes %q", notes)
	}
}

// A table that declares no key gets one that the data show, for stable pages and groups.
func TestGuess(t *testing.T) {
	for name, x := range map[string]struct{ script, want string }{
		"first":           {`CREATE TABLE t (no INT, id2 TEXT); INSERT INTO t VALUES (1, 'a'), (2, 'b')`, no},
		"any first":       {`CREATE TABLE t (name TEXT, v INT); INSERT INTO t VALUES ('a', 1), ('b', 2)`, "name"},
		"name over first": {`CREATE TABLE t (abstract TEXT, cid INT, pid INT); INSERT INTO t VALUES ('a', 1, 1), ('b', 1, 2)`, "pid"},
		"id over all":     {`CREATE TABLE t (customer_id INT, uuid TEXT, ID INT); INSERT INTO t VALUES (5, 'a', 1), (6, 'b', 2)`, "ID"},
		"the table's":     {`CREATE TABLE Items (x_key INT, code TEXT, Item_Id INT); INSERT INTO Items VALUES (5, 'a', 1), (6, 'b', 2)`, "Item_Id"},
		"code over more":  {`CREATE TABLE t (day DATE, order_no TEXT, Code TEXT); INSERT INTO t VALUES ('2024-01-01', 'a', 'x'), ('2024-01-01', 'b', 'y')`, "Code"},
		"not named":       {`CREATE TABLE t (a INT, b INT); INSERT INTO t VALUES (1, 1), (1, 2)`, ""},
		"NULL":            {`CREATE TABLE t (id INT, v INT); INSERT INTO t VALUES (1, 1), (2, 1), (NULL, 1)`, "=[]"},
		"twice":           {`CREATE TABLE t (id INT, v INT); INSERT INTO t VALUES (1, 1), (2, 1), (2, 1)`, "=[]"},
		"empty":           {`CREATE TABLE t (code TEXT)`, ""},
		"one row":         {`CREATE TABLE t (code TEXT); INSERT INTO t VALUES ('a')`, ""},
		"whole decimal":   {`CREATE TABLE t (no DECIMAL(9, 0)); INSERT INTO t VALUES (1), (2)`, no},
		"any decimal":     {`CREATE TABLE t (no NUMERIC); INSERT INTO t VALUES (1), (2)`, no},
		"fraction":        {`CREATE TABLE t (no NUMERIC); INSERT INTO t VALUES (1), (2.5)`, ""},
		"with a scale":    {`CREATE TABLE t (no DECIMAL(9, 2)); INSERT INTO t VALUES (1), (2)`, ""},
		"number":          {`CREATE TABLE t (no REAL); INSERT INTO t VALUES (1), (2)`, ""},
		"date":            {`CREATE TABLE t (no DATE); INSERT INTO t VALUES ('2024-01-01'), ('2024-01-02')`, ""},
		"binary":          {`CREATE TABLE t (no BLOB); INSERT INTO t VALUES (x'01'), (x'02')`, ""},
		"uuid":            {`CREATE TABLE t (v INT, u_uuid UUID); INSERT INTO t VALUES (1, 'a1'), (1, 'b1')`, "u_uuid"},
		"dirty":           {`CREATE TABLE t (no INT); INSERT INTO t VALUES (1), ('N/A')`, ""},
		"dirty text":      {`CREATE TABLE t (no TEXT); INSERT INTO t VALUES ('a'), (x'01')`, ""},
		"untyped":         {`CREATE TABLE t (no); INSERT INTO t VALUES (1), (2)`, no},
		"long text":       {`CREATE TABLE t (no TEXT); INSERT INTO t VALUES ('a'), (printf('%0256d', 1))`, ""},
		"text at length":  {`CREATE TABLE t (no TEXT); INSERT INTO t VALUES ('a'), (printf('%0255d', 1))`, no},
		"odd name":        {`CREATE TABLE "t""x" ("od""d: no" TEXT); INSERT INTO "t""x" VALUES ('a'), ('b')`, `"od\"d: no"`},
		"nullable unique": {`CREATE TABLE t (v INT, no INT UNIQUE); INSERT INTO t VALUES (1, 1), (1, 2)`, no},
		"declared":        {`CREATE TABLE t (id INT, v INT NOT NULL UNIQUE); INSERT INTO t VALUES (1, 1), (2, 2)`, "=v"},
		"collation":       {`CREATE TABLE t (code TEXT COLLATE NOCASE); INSERT INTO t VALUES ('a'), ('A')`, ""},
		"view":            {`CREATE TABLE u (id INTEGER PRIMARY KEY); CREATE VIEW t AS SELECT id AS code FROM u; INSERT INTO u VALUES (1), (2)`, ""},
		"many columns":    {`CREATE TABLE t (` + columns(300) + `); INSERT INTO t (a0id, a7id) VALUES (1, 1), (1, 2)`, "a7id"},
		"too many":        {`CREATE TABLE t (` + columns(300) + `); INSERT INTO t (a8id) VALUES (1), (2)`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			db, dsn := newSQLite(t, x.script)
			code := map[string]string{"the table's": "Items", "odd name": `t\"x`}[name]
			if code == "" {
				code = "t"
			}
			_, r, _ := roundTrip(t, db, "sqlite", dsn, introspect.Options{})
			checkKeys(t, r, map[string]string{code: x.want})
			if _, r, _ = roundTrip(t, db, "sqlite", dsn, introspect.Options{NoKeys: true}); strings.Contains(page(t, r, code), guessed) || len(r.Notes) > 0 {
				t.Errorf("a guess was not wanted: %v\n%s", r.Notes, page(t, r, code))
			}
		})
	}
}

func columns(n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("a%did INT", i)
	}
	return strings.Join(list, ", ")
}

const guessServer = `
CREATE TABLE plain (v int, order_no varchar(20)); INSERT INTO plain VALUES (1, 'a'), (1, 'b');
CREATE TABLE folded (code varchar(20)); INSERT INTO folded VALUES ('a'), ('A');
CREATE TABLE whole (n decimal(20,0)); INSERT INTO whole VALUES (1), (2);
CREATE TABLE scaled (no decimal(20,1)); INSERT INTO scaled VALUES (1), (2);
CREATE TABLE holes (no int); INSERT INTO holes VALUES (1), (2), (NULL);
CREATE TABLE long_text (no text); INSERT INTO long_text VALUES ('a'), (repeat('x', 256));
CREATE TABLE many (no int); INSERT INTO many %s;
CREATE TABLE bounded (no int); INSERT INTO bounded SELECT no FROM many WHERE no <= 100000;
CREATE TABLE keyed (id int NOT NULL UNIQUE, v int); INSERT INTO keyed VALUES (1, 1), (2, 2);
CREATE VIEW seen AS SELECT order_no FROM plain;
`

// The servers decide what is distinct, by the collation of the column; tables of more than 100,000 rows are
// left alone.
func TestGuessServers(t *testing.T) {
	for _, x := range []struct {
		server       server
		series, more string
		want         map[string]string // of more, and where the two differ
	}{
		{mysqlServer, "SELECT seq FROM seq_1_to_100001", `
CREATE TABLE ` + "`odd ``t` (v int, `a ``key` char(36)); INSERT INTO `odd ``t`" + ` VALUES (1, 'x'), (1, 'y');
CREATE TABLE kinds (v int, a_id UUID); INSERT INTO kinds VALUES (1, uuid()), (1, uuid());
CREATE TABLE others (set_no SET('a', 'b'), ip_no INET6); INSERT INTO others VALUES ('a', '::1'), ('b', '::2')`,
			map[string]string{"odd `t": "\"a `key\"", "folded": ""}},
		{postgresServer, "SELECT generate_series(1, 100001)", `
CREATE TABLE "odd ""t" (v int, "a ""key" char(36)); INSERT INTO "odd ""t" VALUES (1, 'x'), (1, 'y');
CREATE TABLE kinds (v int, a_id uuid); INSERT INTO kinds VALUES (1, gen_random_uuid()), (1, gen_random_uuid());
CREATE TABLE others (list_no int[], ip_no inet, any_no numeric); INSERT INTO others VALUES ('{1}', '::1', 1), ('{2}', '::2', 2);
CREATE TABLE letters (code "char"); INSERT INTO letters VALUES ('a'), ('b');
CREATE TABLE parts (code text, day date) PARTITION BY RANGE (day); CREATE TABLE part PARTITION OF parts DEFAULT; INSERT INTO parts VALUES ('a', now()), ('b', now())`,
			map[string]string{`odd \"t`: `"a \"key"`, "folded": "code", "letters": "code", "parts": "code"}},
	} {
		t.Run(x.server.driver, func(t *testing.T) {
			db, dsn := x.server.create(t, "guess")
			x.server.exec(t, db, fmt.Sprintf(guessServer, x.series)+x.more)
			want := map[string]string{"plain": "order_no", "whole": `"n"`, "scaled": "", "holes": "", "long_text": "", "many": "",
				"bounded": no, "keyed": "=id", "seen": "", "kinds": "a_id", "others": ""}
			maps.Copy(want, x.want)
			_, r, _ := roundTrip(t, db, x.server.driver, dsn, introspect.Options{})
			checkKeys(t, r, want)
		})
	}
}

// A table that another session holds, or whose values take long to compute, costs a few seconds and its key,
// and no more: not the tables after it, nor the connection.
func TestGuessTime(t *testing.T) {
	const script = `CREATE TABLE a (code varchar(9)); CREATE TABLE held (code varchar(9)); CREATE TABLE z (code varchar(9));
INSERT INTO a VALUES ('a'), ('b'); INSERT INTO held VALUES ('a'), ('b'); INSERT INTO z VALUES ('a'), ('b');`
	for _, x := range []struct {
		server  server
		hold    []string
		release string
	}{
		{mysqlServer, []string{"LOCK TABLES held WRITE"}, "UNLOCK TABLES"},
		{postgresServer, []string{"BEGIN", "LOCK TABLE held"}, "ROLLBACK"},
	} {
		t.Run(x.server.driver, func(t *testing.T) {
			t.Parallel()
			db, dsn := x.server.create(t, "held")
			x.server.exec(t, db, script)
			other, err := db.Conn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer other.Close()
			for _, text := range x.hold {
				if _, err := other.ExecContext(t.Context(), text); err != nil {
					t.Fatal(err)
				}
			}
			checkTime(t, db, x.server.driver, dsn, map[string]string{"a": "code", "held": "", "z": "code"})
			if _, err := other.ExecContext(t.Context(), x.release); err != nil {
				t.Fatal(err)
			}
			if x.server.driver == "postgres" {
				var limit string
				if err := db.QueryRow("SHOW statement_timeout").Scan(&limit); err != nil || limit != "0" {
					t.Errorf("the limit %s is left behind, %v", limit, err)
				}
			}
		})
	}
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		db, dsn := newSQLite(t, script+`
CREATE TABLE slow (v INT); INSERT INTO slow WITH RECURSIVE n(v) AS (SELECT 1 UNION ALL SELECT v + 1 FROM n WHERE v < 100000) SELECT 1 FROM n;
ALTER TABLE slow ADD COLUMN code TEXT AS (length(replace(hex(zeroblob(20000 + v)), '0', '11')) || v)`)
		checkTime(t, db, "sqlite", dsn, map[string]string{"a": "code", "held": "code", "slow": "", "z": "code"})
	})
}

func checkTime(t *testing.T, db *sql.DB, driver, dsn string, want map[string]string) {
	t.Helper()
	start := time.Now()
	s := read(t, db, driver, introspect.Options{})
	if took := time.Since(start); took < time.Second || took > 15*time.Second {
		t.Errorf("it took %v", took)
	}
	r, err := introspect.Write(s, introspect.WriteOptions{DSN: dsn})
	if err != nil {
		t.Fatal(err)
	}
	checkKeys(t, r, want)
}

// A pool of one connection is enough, and who gives up gets the error.
func TestGuessContext(t *testing.T) {
	db, _ := newSQLite(t, `CREATE TABLE t (id INT); INSERT INTO t VALUES (1), (2)`)
	db.SetMaxOpenConns(1)
	if s := read(t, db, "sqlite", introspect.Options{}); len(s.Tables[0].Distinct) != 1 {
		t.Errorf("%+v", s.Tables[0])
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := introspect.Read(ctx, db, "sqlite", introspect.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled context: %v", err)
	}
}

// A key that was guessed drifts when the data no longer show it, and then only as a warning; other keys of
// the data are as good as the first (B-041).
func TestGuessDrift(t *testing.T) {
	db, _ := newSQLite(t, `CREATE TABLE t (id INT, no INT, v INT); INSERT INTO t VALUES (1, 1, 1), (2, 2, 2)`)
	text := "version: 1\nconnections: {default: {dsn: \"sqlite:x\"}}\nresources:\n"
	for i, key := range []string{"id", "NO", "[v, no]", "v"} {
		text += fmt.Sprintf("  - {code: r%d, table: t, key: %s, fields: {id: integer, NO: integer, \"no\": integer, v: integer}}\n", i, strings.Replace(key, "no", `"no"`, 1))
	}
	match(t, compare(t, text, read(t, db, "sqlite", introspect.Options{})), []string{
		`warning c.yaml:7: resource r3: its key "v" is no key of the table t; nothing keeps it unique`,
	})
	if _, err := db.Exec(`INSERT INTO t VALUES (3, 2, 3)`); err != nil {
		t.Fatal(err)
	}
	match(t, compare(t, text, read(t, db, "sqlite", introspect.Options{})), []string{
		`warning c.yaml:5: resource r1: its key "NO" is no key of the table t; nothing keeps it unique`,
		`warning c.yaml:6: resource r2: its key "v", "no" is no key of the table t; nothing keeps it unique`,
		`warning c.yaml:7: resource r3: its key "v" is no key of the table t; nothing keeps it unique`,
	})
}

// An update guesses the keys of new tables; those that stand in the catalog stay, be they none.
func TestGuessUpdate(t *testing.T) {
	db, dsn := newSQLite(t, `CREATE TABLE a (id INT, v INT); CREATE TABLE b (id INT, v INT); CREATE TABLE c (id INT, v INT); CREATE TABLE d (id INT, v INT);
INSERT INTO a VALUES (1, 1), (2, 2); INSERT INTO b SELECT * FROM a; INSERT INTO c SELECT * FROM a; INSERT INTO d SELECT * FROM a`)
	const kept = "version: 1\nconnections: {default: {dsn: \"sqlite:x\"}}\nresources:\n" +
		"  - code: a\n    key: []\n    fields:\n      id: integer\n" +
		"  - code: b\n    key: v # mine\n    fields:\n      id: integer\n      v: integer\n"
	s := read(t, db, "sqlite", introspect.Options{})
	r, err := introspect.Update(fstest.MapFS{"k.yaml": {Data: []byte(kept)}}, s, introspect.WriteOptions{DSN: dsn, AddColumns: true})
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Replace(kept, "      id: integer\n", "      id: integer\n      v: {type: integer}\n", 1)
	if len(r.Files) != 3 || string(r.Files[0].Data) != want {
		t.Errorf("%s", r.Files)
	}
	checkKeys(t, r, map[string]string{"c": "id", "d": "id"})
	if len(r.Drift) != 1 || r.Drift[0].At.Line != 9 || !r.Drift[0].Warning {
		t.Errorf("%v", r.Drift)
	}
}
