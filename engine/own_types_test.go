package engine_test

import (
	"context"
	"strings"
	"testing"
	"testing/fstest"

	"resq/engine"
	"resq/engine/dialect/mysql"
	"resq/engine/dialect/postgres"
	"resq/engine/dialect/sqlite"
	"resq/schema"
	"resq/schema/introspect"
	"resq/testdb"
)

// introspected makes a database, writes its catalog as resq introspect would, and opens an engine on it. The
// function asks one request and gives the rows, or the code of the refusal.
func introspected(t *testing.T, on testdb.Engine, script string) (e *engine.Engine, ask func(object) string) {
	t.Helper()
	dsn := testdb.Create(t, on, script)
	snapshot, err := introspect.Read(context.Background(), testdb.Open(t, on, dsn), on.Name, introspect.Options{})
	if err != nil {
		t.Fatal(err)
	}
	written, err := introspect.Write(snapshot, introspect.WriteOptions{DSN: dsn})
	if err != nil {
		t.Fatal(err)
	}
	files := fstest.MapFS{}
	for _, f := range written.Files {
		files[f.Name] = &fstest.MapFile{Data: f.Data}
	}
	cat, err := schema.LoadFS(files, schema.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if e, err = engine.New(cat, engine.Options{Drivers: []engine.Driver{sqlite.New(), mysql.New(), postgres.New()}}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e, func(r object) string {
		t.Helper()
		ans, err := e.Query(context.Background(), anyone, []byte(encode(r)))
		if err != nil {
			return string(problemOf(t, err).Code)
		}
		var a struct{ Rows [][]any }
		unmarshal(t, ans.Text, &a)
		return encode(a.Rows)
	}
}

// The blanks with which PostgreSQL fills a CHAR are no part of its value, as they are none elsewhere, though a plain
// output shows them; and an index on the column serves a comparison.
func TestPadded(t *testing.T) {
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		e, ask := introspected(t, on, "CREATE TABLE p (id INTEGER PRIMARY KEY, c CHAR(6), v VARCHAR(6));\nINSERT INTO p VALUES (1, 'ab', 'ab'), (2, 'b', 'x'), (3, NULL, NULL), (4, 'a b', 'a b');\n"+
			"CREATE TABLE q (id INTEGER PRIMARY KEY, c CHAR(9));\nINSERT INTO q VALUES (1, 'ab'), (2, 'a b');")
		leaf := func(op, token string) object {
			return object{"resource": "p", "fields": []any{object{"code": "id"}}, "conditions": group(object{"field": "c", "operator": op, "token": token}, false)}
		}
		for _, c := range []struct {
			request object
			want    string
		}{
			{object{"resource": "p", "fields": []any{object{"code": "c"}}}, map[bool]string{
				false: `[["ab"],["b"],[null],["a b"]]`, true: `[["ab    "],["b     "],[null],["a b   "]]`, // as it is stored
			}[on.Name == testdb.Postgres]},
			{object{"resource": "p", "fields": []any{field("CONCAT(c, '|')")}}, `[["ab|"],["b|"],["|"],["a b|"]]`},
			{object{"resource": "p", "fields": []any{field("c || '|'"), aliased("LENGTH(c)", "n")}}, `[["ab|",2],["b|",1],[null,null],["a b|",3]]`},
			{object{"resource": "p", "fields": []any{field("c = v")}}, `[[true],[false],[null],[true]]`},
			{leaf("LIKE", "%b"), "[[1],[2],[4]]"},
			{leaf("REGEXP", "b$"), "[[1],[2],[4]]"},
			{leaf("=", "ab"), "[[1]]"},
			{leaf("IN", "ab, b"), "[[1],[2]]"},
			{leaf("NOT IN", "ab, b"), "[[4]]"},
			{leaf("!=", "ab"), "[[2],[4]]"},
			{leaf(">", "ab"), "[[2]]"},
			{object{"resource": "p", "fields": []any{object{"code": "c"}, aliased("COUNT(*)", "n")}, "groupBy": []any{"p.c"}, "orderBy": []any{"p.c"}}, `[[null,1],["a b",1],["ab",1],["b",1]]`},
			{object{"resource": "p", "distinct": true, "fields": []any{object{"code": "c"}}, "orderBy": []any{object{"type": "field", "expr": "p.c", "direction": "desc"}}}, `[["b"],["ab"],["a b"],[null]]`},
			{object{"resource": "p", "fields": []any{object{"code": "id"}, object{"code": "id", "codeResource": "q", "alias": "other"}}, "relations": []any{
				object{"code": "q", "type": "inner", "actuallyResource": "q", "actuallyField": "c", "relationResource": "p", "relationField": "c"}}}, "[[1,1],[4,2]]"},
			{object{"resource": "p", "fields": []any{object{"code": "id"}}, "conditions": group(object{"field": "c", "operator": "IN", "tokenType": "query",
				"query": object{"resource": "q", "fields": []any{object{"code": "c"}}}}, false)}, "[[1],[4]]"},
		} {
			if got := ask(c.request); got != c.want {
				t.Errorf("%s\n gives %s\n want %s", encode(c.request), got, c.want)
			}
		}
		if on.Name == testdb.Postgres {
			x, err := e.Explain(context.Background(), anyone, []byte(encode(leaf("=", "ab"))))
			if err != nil {
				t.Fatal(tell(err))
			}
			if sql := x.Statements[0].SQL; !strings.Contains(sql, `(s0."c" = CAST($1::text AS bpchar))`) {
				t.Errorf("no index serves %s", sql)
			}
		}
	})
}

// What a database cannot order, tell apart or put into a number is refused, or made a text first: it is never said that
// the catalog does not fit.
func TestOwnTypes(t *testing.T) {
	_, ask := introspected(t, testdbEngine(t, testdb.Postgres), `CREATE TABLE o (id int PRIMARY KEY, d date, ts timestamp, tz timestamptz, j json, by bytea, x xml, p point, r int4range);
INSERT INTO o VALUES (1, 'infinity', '-infinity', 'infinity', '{"a": 1}', '\x01', '<a/>', '(1,2)', '[1,5)'), (2, '2024-02-29', '2024-02-29', '2024-02-29Z', '{"a": 1}', '\x02', '<b/>', '(0,0)', NULL);`)
	all := func(exprs ...string) object {
		var fields []any
		for i, x := range exprs {
			fields = append(fields, aliased(x, string(rune('a'+i))))
		}
		return object{"resource": "o", "fields": fields}
	}
	for _, f := range []string{"YEAR(d)", "YEAR(ts)", "EPOCH(ts)", "EPOCH(tz)", "TIMESTAMPDIFF(DAY, ts, tz)", "TIMESTAMPDIFF(MONTH, ts, '2024-01-01')", "DATEDIFF(d, '2024-01-01')", "d + INTERVAL 1 DAY", "LAST_DAY(ts)", "JULIANDAY(d)", "WEEK(ts)", "DAYNAME(ts)"} {
		if got := ask(all(f)); !strings.HasPrefix(got, "[[") {
			t.Errorf("%s of an infinite moment is %s", f, got)
		}
	}
	for _, c := range []struct {
		request object
		want    string
	}{
		{all("COUNT(DISTINCT j)"), "[[1]]"},
		{all("GROUP_CONCAT(j)"), `[["{\"a\": 1},{\"a\": 1}"]]`},
		{all("GROUP_CONCAT(DISTINCT j)"), `[["{\"a\": 1}"]]`},
		{all("GROUP_CONCAT(d ORDER BY j, id)"), `[["infinity,2024-02-29"]]`},
		{all("SUM(YEAR(d))", "COUNT(EPOCH(tz))", "COUNT(JULIANDAY(ts))", "COUNT(MONTH(ts))"), "[[2024,1,1,1]]"},
		{all("COUNT(DATEDIFF(d, ts))", "COUNT(TIMESTAMPDIFF(DAY, d, ts))", "COUNT(TIMESTAMPDIFF(MONTH, ts, d))", "SUM(TIMESTAMPDIFF(HOUR, ts, tz))"), "[[1,1,1,0]]"},
		{all("MAX(by)"), "INVALID_ARGUMENT"},
		{all("ANY_VALUE(by)"), "INVALID_ARGUMENT"},
		{all("COUNT(DISTINCT by)"), "[[2]]"},
		{all("MAX(x)", "MIN(p)", "COUNT(DISTINCT x)"), `[["<b/>","(0,0)",2]]`},
		{object{"resource": "o", "fields": []any{object{"code": "id"}}, "orderBy": []any{object{"type": "field", "expr": "o.x", "direction": "desc"}}}, "[[2],[1]]"},
		{object{"resource": "o", "fields": []any{object{"code": "id"}}, "orderBy": []any{"o.p"}}, "[[2],[1]]"},
		{object{"resource": "o", "fields": []any{object{"code": "id"}}, "orderBy": []any{"o.j", "o.id"}}, "[[1],[2]]"},
		{object{"resource": "o", "fields": []any{object{"code": "x"}, aliased("COUNT(*)", "n")}, "groupBy": []any{"o.x"}, "orderBy": []any{"o.x"}}, `[["<a/>",1],["<b/>",1]]`},
		{object{"resource": "o", "fields": []any{object{"code": "p"}, aliased("COUNT(*)", "n")}, "groupBy": []any{"o.p"}}, `[["(0,0)",1],["(1,2)",1]]`},
		{object{"resource": "o", "fields": []any{aliased("COUNT(*)", "n")}, "groupBy": []any{"o.j"}}, "[[2]]"},
		{object{"resource": "o", "distinct": true, "fields": []any{object{"code": "x"}, object{"code": "r"}}}, `[["<a/>","[1,5)"],["<b/>",null]]`},
		{object{"resource": "o", "distinct": true, "fields": []any{object{"code": "j"}}}, `[[{"a":1}]]`},
	} {
		if got := ask(c.request); got != c.want {
			t.Errorf("%s\n gives %s\n want %s", encode(c.request), got, c.want)
		}
	}
}

// Times beyond a day, which MySQL alone keeps, can be asked for; its dates without a month or day are shown, but are no dates.
func TestOddMoments(t *testing.T) {
	_, ask := introspected(t, testdbEngine(t, testdb.MySQL), `SET sql_mode = 'STRICT_ALL_TABLES';
CREATE TABLE m (id INT PRIMARY KEY, d DATE, at DATETIME, ts TIMESTAMP NULL, t TIME);
INSERT INTO m VALUES (1, '0000-00-00', '0000-00-00 00:00:00', '0000-00-00 00:00:00', '100:30:00'), (2, '2024-00-00', '2024-05-00 00:00:00', NULL, '-12:00:00'), (3, '2024-05-06', '2024-05-06 07:08:09', '2024-05-06 07:08:09', '12:00:00');`)
	for _, c := range []struct{ field, op, token, want string }{
		{"d", "=", "0000-00-00", "INVALID_ARGUMENT"}, {"at", ">", "2024-05-00", "INVALID_ARGUMENT"},
		{"t", "=", "100:30:00", "[[1]]"}, {"t", "=", "-12:00:00", "[[2]]"}, {"t", ">", "24:00:00", "[[1]]"}, {"t", "=", "900:00:00", "INVALID_ARGUMENT"},
	} {
		got := ask(object{"resource": "m", "fields": []any{object{"code": "id"}}, "conditions": group(object{"field": c.field, "operator": c.op, "token": c.token}, false)})
		if got != c.want {
			t.Errorf("%s %s %s gives %s, want %s", c.field, c.op, c.token, got, c.want)
		}
	}
	if got := ask(object{"resource": "m", "fields": []any{object{"code": "d"}, object{"code": "ts"}, object{"code": "t"}}, "limit": 1}); got != `[["0000-00-00","0000-00-00 00:00:00","100:30:00"]]` {
		t.Errorf("shown as %s", got)
	}
}

func aliased(expr, alias string) object { return object{"code": expr, "alias": alias, "isExpr": true} }

func testdbEngine(t *testing.T, name string) testdb.Engine {
	t.Helper()
	for _, on := range testdb.Engines(t) {
		if on.Name == name {
			return on
		}
	}
	testdb.Skip(t, name+" is left out")
	return testdb.Engine{}
}
