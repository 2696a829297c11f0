package engine_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"resq/engine"
	"resq/engine/policy"
	"resq/testdb"
)

// A takeback is a database of a test's own, with one who writes to it.
type takeback struct {
	*bench
	t   *testing.T
	who *policy.Principal
}

func newTakeback(t *testing.T, on testdb.Engine, script, resources string, change ...func(o *engine.Options)) *takeback {
	t.Helper()
	b := newBench(t, on, takebackFiles(resources), map[string]string{"main": testdb.Create(t, on, script)}, change...)
	if err := b.engine.Migrate(context.Background()); err != nil {
		t.Fatal(err)
	}
	return &takeback{b, t, &policy.Principal{Name: "ann", Key: "k", Scopes: []string{"read", "write", "delete"}}}
}

func takebackFiles(resources string) fstest.MapFS {
	return fstest.MapFS{"c.yaml": {Data: []byte("version: 1\nresources:\n" + resources)}}
}

// under is the same database under another catalog.
func (u *takeback) under(resources string) *takeback {
	u.t.Helper()
	return &takeback{newBench(u.t, u.on, takebackFiles(resources), u.dsn), u.t, u.who}
}

// call gives the answer of a call, or its error.
func (u *takeback) call(tool string, args object) (object, string) {
	u.t.Helper()
	a, err := u.engine.Write(context.Background(), u.who, engine.Call{Tool: tool, Args: []byte(encode(args))})
	if err != nil {
		return nil, tell(err)
	}
	var out object
	unmarshal(u.t, a.Text, &out)
	return out, string(a.Text)
}

// do previews and confirms. It gives the operation's id, empty where the call was refused, and what was said last.
func (u *takeback) do(tool string, args object) (op, said string) {
	u.t.Helper()
	p, said := u.call(tool, args)
	if p == nil {
		return "", said
	}
	args["__confirm__"], args["__confirm_token__"] = true, p["confirm"].(map[string]any)["token"]
	a, said := u.call(tool, args)
	if a == nil {
		return "", said
	}
	op, _ = a["op_id"].(string)
	return op, said
}

// must is do of a call that is taken.
func (u *takeback) must(tool string, args object) string {
	u.t.Helper()
	op, said := u.do(tool, args)
	if op == "" {
		u.t.Fatalf("%s: %s", tool, said)
	}
	return op
}

func (u *takeback) refused(why, tool string, args object) {
	u.t.Helper()
	if op, said := u.do(tool, args); op != "" || !strings.Contains(said, why) {
		u.t.Errorf("%s: not refused with %q: %s", tool, why, said)
	}
}

// A deletion is taken back under the old keys, even where the database counts them itself and lets nobody else.
func TestUndoKeepsKeys(t *testing.T) {
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		key := map[string]string{testdb.MySQL: "INT PRIMARY KEY AUTO_INCREMENT", testdb.Postgres: "INT GENERATED ALWAYS AS IDENTITY PRIMARY KEY", testdb.SQLite: "INTEGER PRIMARY KEY AUTOINCREMENT"}[on.Name]
		for _, field := range []string{"integer", "{type: integer, generated: true}"} {
			u := newTakeback(t, on, "CREATE TABLE i (id "+key+", a VARCHAR(9), twice VARCHAR(20) GENERATED ALWAYS AS (UPPER(a)) STORED, hidden VARCHAR(20) GENERATED ALWAYS AS (LOWER(a)) STORED);\nINSERT INTO i (a) VALUES ('x'), ('y');",
				"  - {code: I, table: i, key: id, writes: [delete], fields: {id: "+field+", a: string, twice: {type: string, generated: true}}}\n")
			before := rowsOf(t, u.bench, "SELECT * FROM i ORDER BY id")
			op := u.must("res-delete", object{"resource": "I", "ids": []any{1}})
			if _, said := u.do("res-undo", object{"op_id": op}); !strings.Contains(said, `"id":1`) {
				t.Fatalf("%s: %s", field, said)
			}
			u.refused("CONFLICT", "res-undo", object{"op_id": op})
			if after := rowsOf(t, u.bench, "SELECT * FROM i ORDER BY id"); after != before {
				t.Errorf("%s: before %s, after %s", field, before, after)
			}
		}
	})
}

// What a reader has no form for is put back as it was, by the undo of a deletion and of an update.
func TestUndoExact(t *testing.T) {
	for name, c := range map[string]struct{ script, fields, look string }{
		testdb.SQLite: {
			"CREATE TABLE e (id INTEGER PRIMARY KEY, d DECIMAL(30,10), t TEXT, b BLOB, day DATE, hid, hb BLOB, ht TEXT);\n" +
				"INSERT INTO e VALUES (1, 'notnum', x'410042', 'A', 20000, x'00', x'00', x'410042'), (2, 1, CAST(x'ff41' AS TEXT), x'00ff41', 'never', x'00ff41', '', x''), (3, 2.5, '', x'', '2024-01-01', 1.5, 7, CAST(x'4100ff' AS TEXT)), (4, 9e999, NULL, 'x', NULL, 'x', NULL, 'y');",
			`d: "decimal(30,10)", t: text, b: binary, day: date`,
			"SELECT id, typeof(d), quote(d), typeof(t), hex(t), typeof(b), hex(b), typeof(day), quote(day), typeof(hid), hex(hid), typeof(hb), hex(hb), typeof(ht), hex(ht) FROM e ORDER BY id",
		},
		testdb.Postgres: {
			"CREATE TYPE comp AS (a int, b text);\n" +
				"CREATE TABLE e (id int PRIMARY KEY, dt date, ts timestamptz, co comp, ia int[], f float8, g float4, n numeric, js json, iv interval, ba bytea, c char(6), hd date, hco comp[], hf float8, hb bytea, hj jsonb, ht time);\n" +
				"INSERT INTO e VALUES (1, '0044-03-15 BC', '0044-03-15 12:00:00 BC', '(1,x)', '[2:3]={7,8}', 0.1::float8 + 0.2, 0.1, 1.100, '{\"a\": 1,\"a\":2}', '1 year -3 days', '\\x00ff5c', 'ab', '12024-01-01', ARRAY['(1,\"x,y\")'::comp], 1.0000000000000002, '\\x00ff', '{\"a\": 1.10}', '24:00:00');\n" +
				"INSERT INTO e VALUES (2, '12024-01-01', 'infinity', '(,)', '{}', 'NaN', '-Infinity', 'NaN', NULL, NULL, '', NULL, '-infinity', NULL, 1e-300, NULL, NULL, NULL);",
			"dt: date, ts: {type: datetime, zone: true}, co: {type: json, native: comp}, ia: {type: integer, array: true}, f: number, g: number, n: \"decimal(9,3)\", js: json, iv: {type: string, native: interval}, ba: binary, c: string",
			"SELECT CAST(e AS text) FROM e ORDER BY id",
		},
		testdb.MySQL: {
			"CREATE TABLE e (id INT PRIMARY KEY, f FLOAT, d DOUBLE, t TIME(3), b VARBINARY(9), y DATETIME(6), hb BLOB, hbit BIT(9), hf FLOAT, hl VARCHAR(9) CHARACTER SET latin1, hg POINT, hj JSON, ht TIME(2), h5 BINARY(5), hd DECIMAL(30,10));\n" +
				"INSERT INTO e VALUES (1, 16777215, 0.1, '-100:00:00.5', x'00ff41', '2024-01-01 00:00:00.123456', x'00ff41', b'101010101', 1234567.5, 'é', POINT(1, 2), '{\"a\":1}', '838:59:59', x'ff00', '12345678901234567890.0123456789');\n" +
				"INSERT INTO e VALUES (2, 0.1, 1e-300, NULL, x'410042', NULL, '', NULL, 0.3, '', NULL, NULL, NULL, NULL, -1);",
			"f: number, d: number, t: time, b: binary, y: datetime",
			"SELECT id, f + 0e0, d, t, HEX(b), y, HEX(hb), hbit + 0, hf + 0e0, HEX(hl), HEX(hg), HEX(hj), ht, HEX(h5), hd FROM e ORDER BY id",
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, on := range testdb.Engines(t) {
				if on.Name != name {
					continue
				}
				u := newTakeback(t, on, c.script, "  - {code: E, table: e, key: id, writes: [update, delete], fields: {id: integer, "+c.fields+"}}\n")
				before := rowsOf(t, u.bench, c.look)
				all := []any{1, 2}
				if name == testdb.SQLite {
					all = append(all, 3, 4)
				}
				nothing := object{}
				for _, f := range u.catalog.Resources[0].Fields[1:] {
					nothing[f.Code] = nil
				}
				for _, op := range []string{u.must("res-update", object{"resource": "E", "ids": all, "data": nothing}), "", ""} {
					if op == "" {
						op = u.must("res-delete", object{"resource": "E", "ids": all})
					}
					if _, said := u.do("res-undo", object{"op_id": op}); strings.Contains(said, "code") {
						t.Fatal(said)
					}
					if after := rowsOf(t, u.bench, c.look); after != before {
						t.Errorf("before %s\nafter  %s", before, after)
					}
				}
			}
		})
	}
}

const rowScript = "CREATE TABLE n (id INTEGER PRIMARY KEY, a VARCHAR(9), b INTEGER);\nINSERT INTO n VALUES (1, 'x', 1), (2, 'y', 2);"

func noteCatalog(writes, a string) string {
	return "  - {code: N, table: n, key: id, writes: [" + writes + "], fields: {id: integer, a: {type: string" + a + "}, b: integer}}\n"
}

// What an undo of a deletion made anew an undo of it deletes again, while it is as it was made, and so on.
func TestUndoInTurn(t *testing.T) {
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		inTurn(newTakeback(t, on, rowScript, noteCatalog("update, delete", "")))
		inTurn(newTakeback(t, on, rowScript, noteCatalog("update, delete", ""), func(o *engine.Options) { o.Control = "sqlite:" + filepath.Join(t.TempDir(), "control.sqlite") }))
	})
}

func inTurn(u *takeback) {
	u.t.Helper()
	const look = "SELECT * FROM n ORDER BY id"
	before := rowsOf(u.t, u.bench, look)
	op := u.must("res-delete", object{"resource": "N", "ids": []any{1, 2}})
	for i := range 5 {
		op = u.must("res-undo", object{"op_id": op})
		want := before
		if i%2 == 1 {
			want = ""
		}
		if have := rowsOf(u.t, u.bench, look); have != want {
			u.t.Fatalf("undo %d: %s", i, have)
		}
	}
	u.must("res-update", object{"resource": "N", "ids": []any{2}, "data": object{"b": 7}})
	u.refused("changed since", "res-undo", object{"op_id": op})
	u.who = &policy.Principal{Name: "ann", Key: "k", Scopes: []string{"write"}}
	u.refused("PERMISSION_DENIED", "res-undo", object{"op_id": op})
}

// An undo is refused where the resource takes no more what it takes back.
func TestUndoNarrowed(t *testing.T) {
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		u := newTakeback(t, on, rowScript, noteCatalog("update, delete", ""))
		changed := u.must("res-update", object{"resource": "N", "ids": []any{1}, "data": object{"a": "z"}})
		deleted := u.must("res-delete", object{"resource": "N", "ids": []any{2}})
		for _, c := range []struct {
			writes, op string
			taken      bool
		}{
			{"", changed, false}, {"create, delete", changed, false}, {"create, update", deleted, false}, {"", deleted, false},
			{"update", changed, true}, {"delete", deleted, true},
		} {
			n := u.under(noteCatalog(c.writes, ""))
			if !c.taken {
				n.refused("PERMISSION_DENIED", "res-undo", object{"op_id": c.op})
				continue
			}
			again := n.must("res-undo", object{"op_id": c.op})
			u.under(noteCatalog("create", "")).refused("PERMISSION_DENIED", "res-undo", object{"op_id": again})
		}
	})
}

// Where a field of a change is hidden from its principal by now, the undo says so, and what others have is no reason.
func TestUndoHidden(t *testing.T) {
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		u := newTakeback(t, on, rowScript, noteCatalog("update, delete", ""))
		hidden := u.under(noteCatalog("update, delete", ", roles: [boss]"))
		a := u.must("res-update", object{"resource": "N", "ids": []any{1}, "data": object{"a": "secret"}})
		hidden.refused("may no longer see", "res-undo", object{"op_id": a})
		for name, x := range map[string]*takeback{`"a":"secret"`: u, `"records":[{"id":1}]`: hidden} {
			if _, said := x.call("res-operation", object{"op_id": a}); !strings.Contains(said, name) || x == hidden && strings.Contains(said, "secret") {
				t.Error(said)
			}
		}
		b := u.must("res-update", object{"resource": "N", "ids": []any{1}, "data": object{"b": 5}})
		hidden.must("res-undo", object{"op_id": b})
		hidden.refused("may no longer see", "res-undo", object{"op_id": u.must("res-delete", object{"resource": "N", "ids": []any{2}})})
		c := hidden.must("res-delete", object{"resource": "N", "ids": []any{1}})
		hidden.must("res-undo", object{"op_id": c})
		if have := rowsOf(t, u.bench, "SELECT a FROM n"); !strings.Contains(have, "secret") {
			t.Error(have)
		}
	})
}

// Columns that MySQL changes with every update are put back with it, and the preview tells of them.
func TestUndoMoved(t *testing.T) {
	for _, on := range testdb.Engines(t) {
		if on.Name != testdb.MySQL {
			continue
		}
		u := newTakeback(t, on, "CREATE TABLE m (id INT PRIMARY KEY, a VARCHAR(9), at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP, "+
			"hid DATETIME(6) NULL ON UPDATE CURRENT_TIMESTAMP(6), stamp DATETIME NULL ON UPDATE CURRENT_TIMESTAMP);\n"+
			"INSERT INTO m VALUES (1, 'x', '2020-01-01', '2021-01-01 00:00:00.123456', '2022-01-01'), (2, 'x', '2020-01-02', NULL, NULL);",
			"  - {code: M, table: m, key: id, writes: [update], fields: {id: integer, a: string, at: datetime, stamp: {type: datetime, system: updated_at}}}\n")
		const look = "SELECT id, a, at, hid FROM m ORDER BY id"
		before := rowsOf(t, u.bench, look)
		change := object{"resource": "M", "ids": []any{1, 2}, "data": object{"a": "y"}}
		if _, said := u.call("res-update", change); !strings.Contains(said, `"the database itself changes with every update: at, 1 column not shown; an undo puts that back"`) {
			t.Error(said)
		}
		op := u.must("res-update", change)
		if rowsOf(t, u.bench, look) == before {
			t.Fatal("nothing was changed")
		}
		op = u.must("res-undo", object{"op_id": op})
		if after := rowsOf(t, u.bench, look); after != before {
			t.Errorf("before %s, after %s", before, after)
		}
		changed := u.must("res-undo", object{"op_id": op})
		u.must("res-undo", object{"op_id": changed})
		if after := rowsOf(t, u.bench, look); after != before {
			t.Errorf("in turn: before %s, after %s", before, after)
		}
	}
}
