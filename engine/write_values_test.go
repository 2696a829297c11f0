package engine_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"resq/engine"
	"resq/engine/policy"
	"resq/testdb"
)

// A writer calls the tools that write on a database of its own.
type writer struct {
	*bench
	t   *testing.T
	who *policy.Principal
}

// newWriter makes tables and opens an engine on them. The resources are written as in a catalog.
func newWriter(t *testing.T, on testdb.Engine, tables, resources string) *writer {
	t.Helper()
	files := fstest.MapFS{"c.yaml": &fstest.MapFile{Data: []byte("version: 1\nresources:\n" + resources)}}
	b := newBench(t, on, files, map[string]string{"default": testdb.Create(t, on, tables)})
	if err := b.engine.Migrate(context.Background()); err != nil {
		t.Fatal(err)
	}
	b.dsn["main"] = b.dsn["default"]
	return &writer{b, t, &policy.Principal{Name: "w", Scopes: []string{"read", "write", "delete"}}}
}

// call makes one call and gives its answer, or the first of its problems.
func (w *writer) call(tool, args string) string {
	w.t.Helper()
	a, err := w.engine.Write(context.Background(), w.who, engine.Call{Tool: tool, Args: []byte(args)})
	if err != nil {
		return tell(err)
	}
	return string(a.Text)
}

// create makes a row of t with one value.
func (w *writer) create(field, value string) string {
	w.t.Helper()
	return w.call("res-create", fmt.Sprintf(`{"resource":"t","data":{%q:%s}}`, field, value))
}

// change previews an update of row 1 of t and confirms it.
func (w *writer) change(field, value string) string {
	w.t.Helper()
	args := fmt.Sprintf(`{"resource":"t","ids":[1],"data":{%q:%s}`, field, value)
	if a := w.call("res-update", args+"}"); !strings.Contains(a, "CONFIRM_REQUIRED") {
		return a
	}
	return w.call("res-update", args+`,"__confirm__":true}`)
}

// has fails unless an answer holds all the texts.
func has(t *testing.T, answer string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(answer, p) {
			t.Errorf("no %s in\n%s", p, answer)
		}
	}
}

// serial is a key that counts by itself.
func serial(on testdb.Engine) string {
	return map[string]string{"sqlite": "id INTEGER PRIMARY KEY", "mysql": "id INT AUTO_INCREMENT PRIMARY KEY", "postgres": "id SERIAL PRIMARY KEY"}[on.Name]
}

// eachOf runs a test on those databases that have what it is about.
func eachOf(t *testing.T, names []string, run func(t *testing.T, on testdb.Engine)) {
	for _, name := range names {
		t.Run(name, func(t *testing.T) { run(t, testdbEngine(t, name)) })
	}
}

// A table without transactions keeps half of a write that is refused; so it is not written at all.
func TestWriteNeedsTransactions(t *testing.T) {
	eachOf(t, []string{testdb.MySQL}, func(t *testing.T, on testdb.Engine) {
		for _, kind := range []string{"MyISAM", "MEMORY"} {
			w := newWriter(t, on, "CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, a VARCHAR(9) UNIQUE) ENGINE="+kind+"; INSERT INTO t (a) VALUES ('one'), ('two')",
				"  - {code: t, key: id, writes: [create, update, delete], fields: {id: integer, a: string}}\n")
			for _, c := range [][2]string{
				{"res-create", `{"resource":"t","data":[{"a":"three"},{"a":"one"}]}`},
				{"res-update", `{"resource":"t","ids":[1,2],"data":{"a":"same"}}`},
				{"res-delete", `{"resource":"t","ids":[1,2]}`},
			} {
				has(t, w.call(c[0], c[1]), "CONFIG_INVALID", "no transactions", "InnoDB")
			}
			if got := rowsOf(t, w.bench, "SELECT * FROM t"); got != "1|one\n2|two" {
				t.Errorf("the rows are now\n%s", got)
			}
		}
	})
}

// A number beyond its column is the caller's unfit value, also where the driver says so before the database is asked.
func TestWriteBeyondColumn(t *testing.T) {
	eachOf(t, []string{testdb.MySQL, testdb.Postgres}, func(t *testing.T, on testdb.Engine) {
		w := newWriter(t, on, "CREATE TABLE t ("+serial(on)+", a INT, s SMALLINT); INSERT INTO t (a) VALUES (1)",
			"  - {code: t, key: id, writes: [create, update], fields: {id: integer, a: integer, s: integer}}\n")
		for field, value := range map[string]string{"a": "2147483648", "s": "-32769"} {
			for _, got := range []string{w.create(field, value), w.change(field, value)} {
				has(t, got, "INVALID_ARGUMENT", "does not fit its column")
			}
		}
		if got := rowsOf(t, w.bench, "SELECT * FROM t"); got != "1|1|NULL" {
			t.Errorf("the rows are now\n%s", got)
		}
	})
}

// A trigger may leave a new row out: then there is no row, and nothing to try again.
func TestCreateSkippedByTrigger(t *testing.T) {
	eachOf(t, []string{testdb.SQLite, testdb.Postgres}, func(t *testing.T, on testdb.Engine) {
		trigger := map[string]string{
			"sqlite":   "CREATE TRIGGER no BEFORE INSERT ON t WHEN NEW.a = 'x' BEGIN SELECT RAISE(IGNORE); END",
			"postgres": "CREATE FUNCTION no() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN IF NEW.a = 'x' THEN RETURN NULL; END IF; RETURN NEW; END$$; CREATE TRIGGER no BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION no()",
		}[on.Name]
		w := newWriter(t, on, "CREATE TABLE t ("+serial(on)+", a VARCHAR(9)); INSERT INTO t (a) VALUES ('one')", "  - {code: t, key: id, writes: [create], fields: {id: integer, a: string}}\n")
		testdb.Exec(t, on, w.dsn["main"], trigger)
		has(t, w.call("res-create", `{"resource":"t","data":[{"a":"two"},{"a":"x"}]}`), `"CONFLICT"`, "left the new row out")
		if got := rowsOf(t, w.bench, "SELECT a FROM t"); got != "one" {
			t.Errorf("the rows are now\n%s", got)
		}
	})
}

// What was confirmed is what is stored, or nothing is.
func TestWriteKeepsValues(t *testing.T) {
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		columns := map[string]string{
			"sqlite":   "d DECIMAL(18,2), js JSON, x TEXT",
			"mysql":    "d DECIMAL(18,2), js JSON, x DECIMAL(18,4), h TIME, m DATETIME, z TIMESTAMP NULL, f DATETIME(3)",
			"postgres": "d NUMERIC(18,2), js JSONB, x NUMERIC(18,4), h TIME(0), m TIMESTAMP(0), z TIMESTAMPTZ(0), f TIMESTAMP(3)",
		}[on.Name]
		fields, times := "d: decimal, js: json, x: decimal", ""
		if on.Name != "sqlite" {
			times = ", h: time, m: datetime, z: {type: datetime, zone: true}, f: datetime"
		}
		w := newWriter(t, on, "CREATE TABLE t ("+serial(on)+", "+columns+"); INSERT INTO t (d) VALUES (1)",
			"  - {code: t, key: id, writes: [create, update], fields: {id: integer, "+fields+times+"}}\n")
		type value struct{ field, value string }
		lost := []value{{"js", `1e400`}, {"js", `{"a":[-1e999]}`}}
		kept := []value{{"d", `"123456789012.34"`}, {"d", `0.1`}, {"d", `"12345678901234"`}, {"x", `"1.5"`}, {"x", `"1.50"`}, {"js", `1e300`}}
		if on.Name == "sqlite" {
			lost = append(lost, value{"d", `"1234567890123456.78"`}, value{"d", `"9999999999999999.99"`}, value{"x", `"1234567890123456.78"`})
		} else {
			lost = append(lost, value{"d", `"1.239"`}, value{"x", `"1.00005"`}, value{"h", `"10:00:00.7"`}, value{"h", `"23:59:59.9"`}, value{"m", `"2024-02-29 10:00:00.9"`},
				value{"z", `"2024-02-29T10:00:00.9Z"`}, value{"f", `"2024-02-29 10:00:00.1236"`})
			kept = append(kept, value{"d", `"1234567890123456.78"`}, value{"h", `"10:00:00"`}, value{"m", `"2024-02-29 23:59:59"`}, value{"m", `"2024-02-29T10:00:00+02:00"`},
				value{"z", `"2024-02-29T10:00:00+02:00"`}, value{"f", `"2024-02-29 10:00:00.120"`}, value{"h", `"CURRENT_TIMESTAMP"`})
		}
		for _, v := range lost {
			for _, got := range []string{w.create(v.field, v.value), w.change(v.field, v.value)} {
				has(t, got, "INVALID_ARGUMENT", "/data/"+v.field)
			}
		}
		if got := rowsOf(t, w.bench, "SELECT COUNT(*) FROM t"); got != "1" {
			t.Errorf("%s rows were made", got)
		}
		for _, v := range kept {
			has(t, w.create(v.field, v.value), `{"created":1`)
			has(t, w.change(v.field, v.value), `{"updated":1`)
		}
	})
}

// A trigger may change what it is given.
func TestWriteChangedByTrigger(t *testing.T) {
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		trigger := map[string]string{
			"sqlite":   "CREATE TRIGGER up AFTER INSERT ON t BEGIN UPDATE t SET d = d + 1, a = 'other' WHERE id = NEW.id; END",
			"mysql":    "CREATE TRIGGER up BEFORE INSERT ON t FOR EACH ROW SET NEW.d = NEW.d + 1, NEW.a = 'other'",
			"postgres": "CREATE FUNCTION up() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN NEW.d := NEW.d + 1; NEW.a := 'other'; RETURN NEW; END$$; CREATE TRIGGER up BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION up()",
		}[on.Name]
		w := newWriter(t, on, "CREATE TABLE t ("+serial(on)+", d DECIMAL(10,2), a CHAR(9))", "  - {code: t, key: id, writes: [create], fields: {id: integer, d: 'decimal(10,2)', a: string}}\n")
		testdb.Exec(t, on, w.dsn["main"], trigger)
		has(t, w.call("res-create", `{"resource":"t","data":{"d":"1.25","a":"x"}}`), `"d":2.25`, `"a":"other`)
	})
}

// JSON writes whole numbers and decimals with exponents, too.
func TestWriteExponents(t *testing.T) {
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		w := newWriter(t, on, "CREATE TABLE t ("+serial(on)+", n BIGINT, d DECIMAL(20,10))", "  - {code: t, key: id, writes: [create], fields: {id: integer, n: integer, d: 'decimal(20,10)'}}\n")
		for _, c := range [][3]string{
			{"n", "1e3", `"n":1000,`}, {"n", "-12.5E+1", `"n":-125,`}, {"n", "1e18", `"n":"1000000000000000000"`}, {"n", "1200e-2", `"n":12,`}, {"n", "0e400", `"n":0,`},
			{"d", "1e3", `"d":1000.0000000000`}, {"d", "1E-10", `"d":0.0000000001`}, {"d", "-1.25e2", `"d":-125.0000000000`}, {"d", "0.125e1", `"d":1.2500000000`},
			{"n", "1e19", "INVALID_ARGUMENT"}, {"n", "1e-1", "INVALID_ARGUMENT"}, {"n", "1e401", "INVALID_ARGUMENT"}, {"n", `"1e3"`, "INVALID_ARGUMENT"}, {"n", "1e99999999999999999999", "INVALID_ARGUMENT"},
			{"d", "1e-11", "INVALID_ARGUMENT"}, {"d", "1e10", "INVALID_ARGUMENT"}, {"d", "1e-999999999", "INVALID_ARGUMENT"},
		} {
			has(t, w.create(c[0], c[1]), c[2])
		}
	})
}

func TestCreateKeyTooLong(t *testing.T) {
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		w := newWriter(t, on, "CREATE TABLE t ("+serial(on)+", n INT)", "  - {code: t, key: id, writes: [create], fields: {id: integer, n: integer}}\n")
		has(t, w.call("res-create", `{"resource":"t","data":{"n":1},"idempotency_key":"`+strings.Repeat("k", 5000)+`"}`), "LIMIT_EXCEEDED", "5000 bytes", "at most 200")
		has(t, w.call("res-create", `{"resource":"t","data":{"n":1},"idempotency_key":""}`), "the key is empty")
	})
}

// Who reads a masked value and sends the row back would replace the value by its mask.
func TestWriteMaskBack(t *testing.T) {
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		w := newWriter(t, on, "CREATE TABLE t ("+serial(on)+", phone VARCHAR(20), pin VARCHAR(20)); INSERT INTO t (phone, pin) VALUES ('13812349876', '12'), ('1', NULL)",
			"  - {code: t, key: id, writes: [update], fields: {id: integer, phone: {type: string, mask: last4}, pin: {type: string, mask: redact}}}\n")
		has(t, w.change("phone", `"*******9876"`), "INVALID_ARGUMENT", "/data/phone", "mask of what is stored")
		has(t, w.change("pin", `"****"`), "INVALID_ARGUMENT", "/data/pin")
		has(t, w.call("res-update", `{"resource":"t","ids":[1,2],"data":{"phone":"****"}}`), "INVALID_ARGUMENT")
		if got := rowsOf(t, w.bench, "SELECT * FROM t"); got != "1|13812349876|12\n2|1|NULL" {
			t.Errorf("the rows are now\n%s", got)
		}
		has(t, w.change("phone", `"*****9876"`), `{"updated":1`)
		has(t, w.change("phone", `"13900001234"`), `{"updated":1`)
		has(t, w.change("pin", `null`), `{"updated":1`)
		has(t, w.change("pin", `"****"`), `{"updated":1`)
	})
}

// MySQL's largest keys are beyond 63 bits.
func TestCreateUnsignedKey(t *testing.T) {
	eachOf(t, []string{testdb.MySQL}, func(t *testing.T, on testdb.Engine) {
		w := newWriter(t, on, "CREATE TABLE t (no BIGINT UNSIGNED PRIMARY KEY AUTO_INCREMENT, a VARCHAR(9))",
			"  - {code: t, key: no, writes: [create], fields: {no: {type: integer, unsigned: true}, a: string}}\n")
		has(t, w.call("res-create", `{"resource":"t","data":{"no":"18446744073709551000","a":"x"}}`), `"no":"18446744073709551000"`)
		has(t, w.call("res-create", `{"resource":"t","data":{"a":"y"}}`), `"no":"18446744073709551001"`)
		has(t, w.call("res-create", `{"resource":"t","data":[{"no":7,"a":"p"},{"no":9223372036854775808,"a":"q"}]}`), `"records":[{"no":7,"a":"p"},{"no":"9223372036854775808","a":"q"}]`)
	})
}

// What a database keeps beyond the others, and shows, can be written back.
func TestWriteOwnValues(t *testing.T) {
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		w := newWriter(t, on, "CREATE TABLE t ("+serial(on)+", n "+map[bool]string{true: "DOUBLE PRECISION", false: "DOUBLE"}[on.Name == "postgres"]+", h TIME, d DATE, m "+map[bool]string{true: "TIMESTAMP", false: "DATETIME"}[on.Name == "postgres"]+", z "+map[bool]string{true: "TIMESTAMPTZ", false: "TIMESTAMP NULL"}[on.Name == "postgres"]+", x DECIMAL(10,2)); INSERT INTO t (n) VALUES (1)",
			"  - {code: t, key: id, writes: [create, update], fields: {id: integer, n: number, h: time, d: date, m: datetime, z: {type: datetime, zone: true}, x: decimal}}\n")
		for _, c := range [][3]string{
			{"n", "NaN", "postgres"}, {"n", "Infinity", "postgres"}, {"n", "-Infinity", "postgres"}, {"h", "24:00:00", "postgres mysql"}, {"d", "infinity", "postgres"},
			{"m", "infinity", "postgres"}, {"z", "infinity", "postgres"}, {"x", "NaN", "postgres"}, {"m", "-infinity", "postgres"}, {"h", "100:00:00", "mysql"}, {"h", "-25:30:00", "mysql"},
		} {
			value := fmt.Sprintf("%q", c[1])
			want := []string{"INVALID_ARGUMENT", "/data/" + c[0]}
			if strings.Contains(c[2], on.Name) {
				want = []string{fmt.Sprintf("%q:%s", c[0], value)}
			}
			has(t, w.create(c[0], value), want...)
			has(t, w.change(c[0], value), want...)
		}
		if on.Name == "mysql" {
			has(t, w.create("h", `"100:00:00.5"`), "INVALID_ARGUMENT", "would keep 100:00:0")
			has(t, w.create("h", `"839:00:00"`), "INVALID_ARGUMENT")
		}
	})
}
