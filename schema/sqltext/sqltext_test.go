package sqltext_test

import (
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"

	"resq/schema/problem"
	"resq/schema/sqltext"
)

var dialects = map[string]sqltext.Dialect{"mysql": sqltext.MySQL, "postgres": sqltext.Postgres, "sqlite": sqltext.SQLite}

// plain prints a statement with ? for every parameter and no table shadowed.
type plain struct{ strings.Builder }

func (p *plain) Text(s string)               { p.WriteString(s) }
func (p *plain) Param(*sqltext.Param)        { p.WriteString("?") }
func (p *plain) Shadows(*sqltext.Table) bool { return false }
func (p *plain) Shadow(*sqltext.Table)       {}

func code(err error) string {
	var l problem.List
	if !errors.As(err, &l) {
		return ""
	}
	return string(l[0].Code)
}

// named is the name that an output gets where the database would call it what it was sent.
var named = regexp.MustCompile(" AS `(?:[^`]|``)*`")

func TestNames(t *testing.T) {
	s, err := sqltext.Read(sqltext.MySQL, "SELECT a, count( * ), max(b) /* x */ + 1, c d FROM (SELECT :p FROM t) u", sqltext.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var p plain
	s.Print(&p)
	if want := "SELECT a , count( * ) AS `count( * )` , max( b ) + 1 AS `max(b) + 1` , c d FROM ( SELECT ? AS `:p` FROM t ) u"; p.String() != want {
		t.Errorf("printed as\n%s\nwant\n%s", p.String(), want)
	}
}

// Tokens mean in each dialect what its database takes them for (D-015, D-016). "" is accepted; what is printed stands
// behind =>.
func TestTokens(t *testing.T) {
	for _, c := range []struct{ on, sql, want string }{
		{"*", "SELECT ':a -- /* ?' FROM t", "=> SELECT ':a -- /* ?' FROM t"},
		{"*", "SELECT 1 -- :a\n FROM t", "=> SELECT 1 FROM t"},
		{"*", "SELECT 1 /* :a ; */ FROM t;", "=> SELECT 1 FROM t"},
		{"*", "SELECT 1; SELECT 2", "SQL_SYNTAX"},
		{"*", "SELECT 1--1", "SQL_SYNTAX"},
		{"*", "SELECT 5 - -1", "=> SELECT 5 - - 1"},
		{"*", "SELECT /*! 1 */ 2", "SQL_NOT_READ_ONLY"},
		{"*", "SELECT /*M! 1 */ 2", "SQL_NOT_READ_ONLY"},
		{"*", "SELECT /*M!100000 1 */ 2", "SQL_NOT_READ_ONLY"},
		{"*", "SELECT /*+ NO */ 2", "SQL_NOT_READ_ONLY"},
		{"*", `SELECT 'a\' OR 1=1 -- '`, "SQL_SYNTAX"},
		{"*", "SELECT ?", "SQL_PARAM"},
		{"*", "SELECT $1", "SQL_PARAM"},
		{"*", "SELECT id FROM t WHERE a = :p AND b = :p", "=> SELECT id FROM t WHERE a = ? AND b = ?"},
		{"*", "SELECT 'it''s' AS x", "=> SELECT 'it''s' AS x"},
		{"*", "SELECT 'open", "SQL_SYNTAX"},
		{"*", "SELECT 1 /* open", "SQL_SYNTAX"},
		{"*", "SELECT a FROM t -- x\r DROP TABLE t", "SQL_SYNTAX"},
		{"*", "SELECT 'a' 'b'", "SQL_SYNTAX"},
		{"*", "SELECT a\u00a0FROM t", "SQL_SYNTAX"},
		{"*", "SELECT :a:b", "SQL_SYNTAX"},
		{"*", "SELECT @@version", "!"},
		{"*", "SELECT 1 := 2", "SQL_SYNTAX"},
		{"mysql", "SELECT `sel``ect` FROM `t`", "=> SELECT `sel``ect` FROM `t`"},
		{"mysql", `SELECT "a:b"`, "=> SELECT 'a:b'"},
		{"mysql", `SELECT "it's"`, "=> SELECT 'it''s'"},
		{"mysql", `SELECT 'a\\b\n'`, "=> SELECT 'a\\b\n'"},
		{"mysql", `SELECT 'a\%'`, `=> SELECT 'a\%'`},
		{"mysql", "SELECT 1 # :a\n FROM t", "=> SELECT 1 FROM t"},
		{"mysql", "SELECT @a", "SQL_NOT_READ_ONLY"},
		{"mysql", "SELECT a::int", "SQL_SYNTAX"},
		{"mysql", "SELECT /* /* */ 1", "SQL_SYNTAX"},
		{"mysql", "SELECT _utf8mb4'x'", "SQL_SYNTAX"},
		{"mysql", "SELECT count (*) FROM t", "=> SELECT count( * ) FROM t"},
		{"mysql", "SELECT CAST(a AS VARCHAR(10)) FROM t", "=> SELECT CAST( a AS CHAR ( 10 ) ) FROM t"},
		{"postgres", "SELECT a::int FROM t", "=> SELECT a :: int FROM t"},
		{"postgres", "SELECT $$it's :a$$", "=> SELECT 'it''s :a'"},
		{"postgres", "SELECT $x$ $$ $x$", "=> SELECT ' $$ '"},
		{"postgres", "SELECT $x$ open", "SQL_SYNTAX"},
		{"postgres", `SELECT E'a\nb'`, "=> SELECT 'a\nb'"},
		{"postgres", `SELECT E'a\x41'`, "SQL_SYNTAX"},
		{"postgres", "SELECT 1 /* a /* b */ c */ + 1", "=> SELECT 1 + 1"},
		{"postgres", `SELECT "a""b" FROM t`, `=> SELECT "a""b" FROM t`},
		{"postgres", `SELECT U&"em\0061il" FROM t`, "SQL_SYNTAX"},
		{"postgres", "SELECT `a`", "SQL_SYNTAX"},
		{"postgres", "SELECT a[1:2] FROM t", "=> SELECT a [ 1 : 2 ] FROM t"},
		{"postgres", "SELECT 1 #- 2", "SQL_SYNTAX"},
		{"postgres", "SELECT 2*-1", "=> SELECT 2 * - 1"},
		{"postgres", "SELECT 1 OPERATOR(pg_catalog.+) 2", "!"},
		{"sqlite", "SELECT [a b] FROM [t]", "=> SELECT `a b` FROM `t`"},
		{"sqlite", `SELECT "a" FROM t`, "=> SELECT `a` FROM t"},
		{"sqlite", "SELECT CAST(a AS DATE) FROM t", "=> SELECT CAST( a AS TEXT ) FROM t"},
		{"sqlite", "SELECT a FROM 't'", "SQL_SYNTAX"},
	} {
		for on, d := range dialects {
			if c.on != "*" && c.on != on {
				continue
			}
			s, err := sqltext.Read(d, c.sql, sqltext.Options{})
			got := code(err)
			if err == nil {
				var p plain
				s.Print(&p)
				got = "=> " + named.ReplaceAllString(p.String(), "")
			}
			if c.want == "!" && err != nil {
				continue
			}
			if got != c.want {
				t.Errorf("%s: %s\n got %s\nwant %s (%v)", on, c.sql, got, c.want, err)
			}
		}
	}
}

// What only reads is read on the dialects it is SQL of.
func TestAccepted(t *testing.T) {
	for _, c := range []struct{ on, sql, tables, calls string }{
		{"*", "SELECT a.x AS y, b.* FROM s.a JOIN b ON a.id = b.id LEFT JOIN c USING (id) WHERE a.x IN (1, 2) ORDER BY y DESC", "s.a b c", ""},
		{"*", "WITH x AS (SELECT * FROM t), y AS (SELECT * FROM x) SELECT * FROM y JOIN z ON y.a = z.a", "t z", ""},
		{"*", "WITH RECURSIVE w (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM w WHERE n < 9) SELECT n FROM w", "", ""},
		{"*", "SELECT CASE WHEN a IS NOT NULL THEN 'x' ELSE b END, count(*), count(DISTINCT c) FROM t GROUP BY 1 HAVING count(*) > 1", "t", "count count count"},
		{"*", "SELECT (SELECT max(b) FROM u WHERE u.a = t.a) FROM t WHERE EXISTS (SELECT 1 FROM v WHERE v.a = t.a) AND a NOT BETWEEN 1 AND 2", "u t v", "max"},
		{"*", "SELECT row_number() OVER (PARTITION BY a ORDER BY b ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW), sum(c) OVER w FROM t WINDOW w AS (PARTITION BY a)", "t", "row_number sum"},
		{"*", "SELECT a FROM t UNION ALL SELECT b FROM u EXCEPT SELECT c FROM v LIMIT 3 OFFSET 1", "t u v", ""},
		{"*", "SELECT REPLACE(a, '-', '') FROM t", "t", "replace"},
		{"*", "SELECT x.a FROM (SELECT a FROM t) x, (u CROSS JOIN v) WHERE NOT (x.a = 1 OR x.a LIKE '%a' ESCAPE '!')", "t u v", ""},
		{"*", "SELECT CAST(:p AS VARCHAR(10)) FROM t WHERE CAST(a AS DECIMAL(10, 2)) > 1.5e3", "t", ""},
		{"*", "SELECT start, stop, status, name, date, key_, type, value, position FROM t", "t", ""},
		{"*", "SELECT date '2020-01-01', CURRENT_DATE, CURRENT_TIMESTAMP FROM t", "t", ""},
		{"*", "SELECT t.* FROM ((a JOIN b ON a.i = b.i) JOIN t ON t.i = a.i)", "a b t", ""},
		{"*", "SELECT * FROM ((SELECT 1 AS a) UNION (SELECT 2)) x", "", ""},
		{"*", "SELECT lpad(a, 8, '0') FROM t", "t", "lpad"},
		{"mysql", "SELECT DATE_ADD(a, INTERVAL 1 DAY), a <=> b, a DIV 2, GROUP_CONCAT(DISTINCT a ORDER BY b SEPARATOR ',') FROM t WHERE MATCH (a) AGAINST ('x' IN BOOLEAN MODE) GROUP BY a WITH ROLLUP", "t", "date_add group_concat"},
		{"mysql", "SELECT TIMESTAMPDIFF(DAY, a, b), CONVERT(a USING utf8mb4), a->>'$.x' FROM d.t LIMIT 5, 10", "d.t", "timestampdiff"},
		{"postgres", "SELECT DISTINCT ON (a) a::date, extract(year FROM b), a AT TIME ZONE 'UTC', array_agg(x ORDER BY y) FILTER (WHERE z), percentile_cont(0.5) WITHIN GROUP (ORDER BY y) FROM t GROUP BY GROUPING SETS ((a), ()) ORDER BY a NULLS LAST FETCH FIRST 3 ROWS ONLY", "t", "extract array_agg percentile_cont"},
		{"postgres", "SELECT a FROM t, LATERAL (SELECT b FROM u WHERE u.x = t.x) l WHERE a = ANY (ARRAY[1, 2]) AND b ILIKE 'x' AND c IS DISTINCT FROM d AND e SIMILAR TO 'x' AND f @> '{}'::jsonb", "t u", ""},
		{"postgres", "SELECT * FROM generate_series(1, 3) AS g (n) JOIN unnest(ARRAY[1]) WITH ORDINALITY AS u (a, b) ON true", "", "generate_series unnest"},
		{"sqlite", "SELECT json_extract(a, '$.x'), b GLOB 'x*', printf('%08d', c) FROM t, json_each(t.a) WHERE c IS NOT d AND e NOT NULL", "t", "json_extract printf json_each"},
	} {
		for on, d := range dialects {
			if c.on != "*" && c.on != on || on == "sqlite" && strings.Contains(c.sql, "lpad") {
				continue
			}
			s, err := sqltext.Read(d, c.sql, sqltext.Options{})
			if err != nil {
				t.Errorf("%s: %s\n%v", on, c.sql, err)
				continue
			}
			var tables, calls []string
			for _, x := range s.Tables {
				tables = append(tables, strings.TrimPrefix(x.Schema+"."+x.Name, "."))
			}
			for _, x := range s.Calls {
				calls = append(calls, x.Name)
			}
			if got := strings.Join(tables, " "); got != c.tables {
				t.Errorf("%s: %s\ntables %s, want %s", on, c.sql, got, c.tables)
			}
			if got := strings.Join(calls, " "); got != c.calls {
				t.Errorf("%s: %s\ncalls %s, want %s", on, c.sql, got, c.calls)
			}
		}
	}
}

// What is not one statement that only reads is refused, and by the right name (D-060 to D-062).
func TestRefused(t *testing.T) {
	for _, c := range []struct{ on, sql, want string }{
		{"*", "", "SQL_SYNTAX"},
		{"*", "INSERT INTO t VALUES (1)", "SQL_NOT_READ_ONLY"},
		{"*", "(SELECT 1)", "SQL_SYNTAX"},
		{"*", "VALUES (1)", "SQL_NOT_READ_ONLY"},
		{"*", "WITH x AS (SELECT 1) DELETE FROM t", "SQL_NOT_READ_ONLY"},
		{"*", "WITH x AS (DELETE FROM t RETURNING id) SELECT id FROM x", "SQL_NOT_READ_ONLY"},
		{"*", "SELECT a INTO b FROM t", "SQL_NOT_READ_ONLY"},
		{"*", "SELECT a FROM t INTO OUTFILE 'x'", "SQL_NOT_READ_ONLY"},
		{"*", "SELECT a FROM t FOR UPDATE", "SQL_NOT_READ_ONLY"},
		{"*", "SELECT a FROM t LOCK IN SHARE MODE", "SQL_NOT_READ_ONLY"},
		{"*", "SELECT a FROM t PROCEDURE ANALYSE()", "SQL_NOT_READ_ONLY"},
		{"*", "SELECT sleep(1)", "SQL_FUNCTION_NOT_ALLOWED"},
		{"*", "SELECT sleep /**/ (1)", "SQL_FUNCTION_NOT_ALLOWED"},
		{"*", "SELECT pg_catalog.pg_sleep(1)", "SQL_FUNCTION_NOT_ALLOWED"},
		{"*", "SELECT pg_catalog.lower('a')", "SQL_FUNCTION_NOT_ALLOWED"},
		{"*", "SELECT * FROM dblink('x', 'y') z", "SQL_FUNCTION_NOT_ALLOWED"},
		{"*", "SELECT a FROM :t", "SQL_SYNTAX"},
		{"*", "SELECT a FROM t LIMIT :n", "SQL_PARAM"},
		{"*", "SELECT a FROM t LIMIT 1 OFFSET :n", "SQL_PARAM"},
		{"*", "SELECT (t).a FROM t", "SQL_SYNTAX"},
		{"*", "SELECT a FROM x.y.z", "SQL_TABLE_NOT_ALLOWED"},
		{"*", "SELECT a FROM t TABLESAMPLE SYSTEM (1)", "SQL_SYNTAX"},
		{"*", "SELECT a FROM ONLY t", "SQL_SYNTAX"},
		{"*", "SELECT CAST('pg_authid' AS regclass)", "SQL_SYNTAX"},
		{"*", strings.Repeat("SELECT (", 60) + "1", "LIMIT_EXCEEDED"},
		{"*", "SELECT " + strings.Repeat("(", 60) + "1", "LIMIT_EXCEEDED"},
		{"*", "SELECT '" + strings.Repeat("x", 10_000) + "'", "LIMIT_EXCEEDED"},
		{"mysql", "SELECT `sleep`(1)", "SQL_FUNCTION_NOT_ALLOWED"},
		{"mysql", "SELECT `lower`('A')", "SQL_FUNCTION_NOT_ALLOWED"},
		{"mysql", "SELECT next value for s", "SQL_NOT_READ_ONLY"},
		{"mysql", "SELECT a FROM t PARTITION (p0)", "SQL_SYNTAX"},
		{"mysql", "SELECT a FROM t USE INDEX (i)", "SQL_NOT_READ_ONLY"},
		{"mysql", "SELECT a FROM t FOR SYSTEM_TIME ALL", "SQL_NOT_READ_ONLY"},
		{"mysql", "SELECT lpad(a, :n, '0') FROM t", "SQL_FUNCTION_NOT_ALLOWED"},
		{"mysql", "SELECT repeat('a', 1000000000)", "SQL_FUNCTION_NOT_ALLOWED"},
		{"postgres", "SELECT current_user", "SQL_FUNCTION_NOT_ALLOWED"},
		{"postgres", `SELECT "LOWER"('a')`, "SQL_FUNCTION_NOT_ALLOWED"},
		{"postgres", "SELECT a FROM t *", "SQL_SYNTAX"},
		{"postgres", "SELECT f FROM json_to_record('{}') AS x (a int)", "SQL_FUNCTION_NOT_ALLOWED"},
		{"sqlite", "SELECT load_extension('x')", "SQL_FUNCTION_NOT_ALLOWED"},
		{"sqlite", "SELECT printf('%1000000000d', 1)", "SQL_FUNCTION_NOT_ALLOWED"},
		{"sqlite", "SELECT printf('%*d', 1000000000, 1)", "SQL_FUNCTION_NOT_ALLOWED"},
		{"sqlite", "SELECT * FROM pragma_table_info('t')", "SQL_FUNCTION_NOT_ALLOWED"},
		// A database may tell these two apart, and then the second is a table.
		{"*", "WITH `X` AS (SELECT 1) SELECT * FROM x", "SQL_SYNTAX"},
		{"postgres", `WITH "X" AS (SELECT 1) SELECT * FROM x`, "SQL_SYNTAX"},
		// The Kelvin sign folds to k in Unicode, but not in a database: it is another name.
		{"*", "SELECT weeK\u212a(1)", "SQL_FUNCTION_NOT_ALLOWED"},
	} {
		for on, d := range dialects {
			if c.on != "*" && c.on != on {
				continue
			}
			if _, err := sqltext.Read(d, c.sql, sqltext.Options{}); code(err) != c.want {
				t.Errorf("%s: %.80s\n got %q, want %s (%v)", on, c.sql, code(err), c.want, err)
			}
		}
	}
}

// A refusal says where.
func TestPlace(t *testing.T) {
	_, err := sqltext.Read(sqltext.MySQL, "SELECT id,\n  中文, sleep(5)\nFROM t", sqltext.Options{})
	var l problem.List
	if !errors.As(err, &l) || l[0].At != "2:7" {
		t.Errorf("at %v, want 2:7", err)
	}
}

// An operator may let further functions be called.
func TestFunctions(t *testing.T) {
	o := sqltext.Options{Functions: []string{"net_price", "app.tax"}}
	for sql, want := range map[string]string{
		"SELECT NET_PRICE(a), App.Tax(b) FROM t": "",
		"SELECT app.net_price(a) FROM t":         "SQL_FUNCTION_NOT_ALLOWED",
		"SELECT tax(a) FROM t":                   "SQL_FUNCTION_NOT_ALLOWED",
	} {
		if _, err := sqltext.Read(sqltext.MySQL, sql, o); code(err) != want {
			t.Errorf("%s: %v, want %q", sql, err, want)
		}
	}
}

func facts(t *sqltext.Table) (*sqltext.Facts, *problem.Problem) {
	switch strings.ToLower(t.Name) {
	case "t_user":
		return &sqltext.Facts{Masked: []string{"email", "phone"}, Columns: []string{"id", "name", "email", "phone", "status"}}, nil
	case "customers":
		return &sqltext.Facts{Masked: []string{"EMAIL"}}, nil
	case "t_dept":
		return &sqltext.Facts{Columns: []string{"id", "name"}}, nil
	case "secret":
		return nil, &problem.Problem{Code: problem.SQLTableNotAllowed, Message: "no table"}
	}
	return nil, nil
}

// A masked column stands as an output of the outermost SELECT and nowhere else (D-051 to D-053, D-056).
func TestMasks(t *testing.T) {
	for _, c := range []struct{ on, sql, want string }{
		{"*", "SELECT email FROM t_user", ""},
		{"*", "SELECT DISTINCT u.email, t_dept.name FROM t_user u JOIN t_dept ON t_dept.id = u.status", ""},
		{"*", "SELECT app.customers.email FROM app.customers", ""},
		{"*", "SELECT * FROM t_user", ""},
		{"*", "SELECT u.*, d.name FROM t_user u, t_dept d", ""},
		{"*", "SELECT d.id FROM t_dept d WHERE EXISTS (SELECT * FROM t_user u WHERE u.id = d.id)", ""},
		{"*", "SELECT count(*) FROM t_user", ""},
		{"*", "SELECT id, email FROM t_user ORDER BY 1", ""},
		{"*", "SELECT email, 'email' AS x /* email */ FROM t_user WHERE name = 'email'", ""},
		{"*", "SELECT d.id FROM t_dept d WHERE d.id IN (SELECT id FROM t_user)", ""},
		{"*", "SELECT email AS e FROM t_user", "SQL_MASKED_COLUMN"},
		{"*", "SELECT eMaIl x FROM t_user", "SQL_MASKED_COLUMN"},
		{"*", "SELECT upper(email) FROM t_user", "SQL_MASKED_COLUMN"},
		{"*", "SELECT (email) FROM t_user", "SQL_MASKED_COLUMN"},
		{"*", "SELECT id FROM t_user WHERE email LIKE 'a%'", "SQL_MASKED_COLUMN"},
		{"*", "SELECT id FROM t_user u JOIN t_dept d ON d.name = u.email", "SQL_MASKED_COLUMN"},
		{"*", "SELECT id FROM t_user GROUP BY email", "SQL_MASKED_COLUMN"},
		{"*", "SELECT id FROM t_user HAVING max(email) > 'm'", "SQL_MASKED_COLUMN"},
		{"*", "SELECT id FROM t_user ORDER BY email", "SQL_MASKED_COLUMN"},
		{"*", "SELECT id, email FROM t_user ORDER BY 2", "SQL_MASKED_COLUMN"},
		{"*", "SELECT id, email FROM t_user ORDER BY (2)", "SQL_MASKED_COLUMN"},
		{"*", "SELECT * FROM t_user ORDER BY 2", "SQL_MASKED_COLUMN"},
		{"*", "SELECT email FROM t_user GROUP BY 1", "SQL_MASKED_COLUMN"},
		{"*", "SELECT email FROM t_user UNION SELECT name FROM t_dept", "SQL_MASKED_COLUMN"},
		{"*", "SELECT name FROM t_dept UNION SELECT email FROM t_user", "SQL_MASKED_COLUMN"},
		{"*", "SELECT name FROM t_dept UNION (SELECT email FROM t_user)", "SQL_MASKED_COLUMN"},
		{"*", "SELECT x.email FROM (SELECT email FROM t_user) x", "SQL_MASKED_COLUMN"},
		{"*", "SELECT b FROM (SELECT * FROM t_user) x", "SQL_MASKED_COLUMN"},
		{"*", "SELECT b FROM (SELECT u.* FROM t_user u) x", "SQL_MASKED_COLUMN"},
		{"*", "WITH x (a, b) AS (SELECT * FROM t_user) SELECT b FROM x", "SQL_MASKED_COLUMN"},
		{"*", "SELECT b FROM t_user AS z (a, b)", "SQL_MASKED_COLUMN"},
		{"*", "SELECT u FROM t_user u", "SQL_MASKED_COLUMN"},
		{"*", "SELECT coalesce(u, u) FROM t_user u", "SQL_MASKED_COLUMN"},
		{"*", "SELECT t_user FROM t_user", "SQL_MASKED_COLUMN"},
		{"*", "SELECT a.id FROM t_user a JOIN t_user b USING (email)", "SQL_MASKED_COLUMN"},
		{"*", "SELECT a.id FROM t_user a NATURAL JOIN t_dept b", "SQL_MASKED_COLUMN"},
		{"*", "SELECT row_number() OVER (ORDER BY email) FROM t_user", "SQL_MASKED_COLUMN"},
		{"*", "SELECT (SELECT email FROM t_user)", "SQL_MASKED_COLUMN"},
		{"*", "SELECT d.id FROM t_dept d WHERE EXISTS (SELECT 1 FROM t_user u WHERE u.email = d.name)", "SQL_MASKED_COLUMN"},
		{"*", "SELECT (SELECT max(d.id) FROM t_dept d WHERE d.name = u.phone) FROM t_user u", "SQL_MASKED_COLUMN"},
		// Another table's column of that name counts as the masked one where it is not qualified.
		{"*", "SELECT s.id FROM supplier s, t_user u WHERE email = 'x'", "SQL_MASKED_COLUMN"},
		{"*", "SELECT s.id FROM supplier s, t_user u WHERE s.email = 'x'", ""},
		{"postgres", "SELECT u::text FROM t_user u", "SQL_MASKED_COLUMN"},
		{"postgres", "SELECT to_jsonb(u) FROM t_user u", "SQL_MASKED_COLUMN"},
		{"postgres", "SELECT DISTINCT ON (email) id FROM t_user", "SQL_MASKED_COLUMN"},
		{"*", "SELECT emial FROM t_user", "UNKNOWN_FIELD"},
		{"*", "SELECT u.emial FROM t_user u", "UNKNOWN_FIELD"},
		{"*", "SELECT x.id FROM t_user u", "SQL_SYNTAX"},
		{"*", "SELECT (SELECT max(id) FROM secret) FROM t_user", "SQL_TABLE_NOT_ALLOWED"},
	} {
		for on, d := range dialects {
			if c.on != "*" && c.on != on {
				continue
			}
			s, err := sqltext.Read(d, c.sql, sqltext.Options{})
			if err != nil {
				t.Errorf("%s: %s: %v", on, c.sql, err)
				continue
			}
			if err := s.Check(facts); code(err) != c.want {
				t.Errorf("%s: %s\n got %q, want %q (%v)", on, c.sql, code(err), c.want, err)
			}
		}
	}
}

// The page for authors lists the functions that there are.
func TestFunctionDocs(t *testing.T) {
	page, err := os.ReadFile("../../docs/sql-tools.md")
	if err != nil {
		t.Fatal(err)
	}
	for name, d := range map[string]sqltext.Dialect{"MySQL and MariaDB": sqltext.MySQL, "PostgreSQL": sqltext.Postgres, "SQLite": sqltext.SQLite} {
		want := name + ": " + strings.Join(sqltext.Functions(d), ", ") + "."
		if got := strings.Join(strings.Fields(string(page)), " "); !strings.Contains(got, want) {
			t.Errorf("docs/sql-tools.md does not say\n%s", want)
		}
	}
}
