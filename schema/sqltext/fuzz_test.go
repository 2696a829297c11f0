package sqltext_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"resq/schema/sqltext"
)

// corpus gives the statements of the shared attack corpus; none where it is not there, so that the seeds here remain. Where RESQ_CI is 1
// nothing may be left out.
func corpus(f *testing.F) []string {
	b, err := os.ReadFile("../../../shared/corpus/attack.jsonl")
	if err != nil {
		if os.Getenv("RESQ_CI") == "1" {
			f.Fatal("nothing may be left out: the attack corpus is not there: " + err.Error())
		}
		f.Log("SKIPPED LOUDLY: the attack corpus is not there; its statements are no seeds: " + err.Error())
		return nil
	}
	var list []string
	lines := bufio.NewScanner(bytes.NewReader(b))
	lines.Buffer(nil, 1<<22)
	for lines.Scan() {
		var l struct {
			Tool      string
			Arguments json.RawMessage
		}
		var a struct{ SQL string }
		if json.Unmarshal(lines.Bytes(), &l) == nil && l.Tool == "sqltool-load" && json.Unmarshal(l.Arguments, &a) == nil {
			list = append(list, a.SQL)
		}
	}
	if len(list) < 50 {
		f.Fatalf("%d statements in the corpus", len(list))
	}
	return list
}

var seeds = []string{
	"SELECT a FROM t WHERE b = :c AND d IN (SELECT e FROM f)",
	"WITH RECURSIVE w (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM w) SELECT count(*) OVER (ORDER BY n) FROM w LIMIT 3",
	`SELECT "a", 'b', E'c\n', $$d$$, [e], :f::int FROM t -- g` + "\n",
	"SELECT CASE WHEN a THEN b END, CAST(c AS DECIMAL(1, 2)), x.* FROM (VALUES (1)) x (a) NATURAL JOIN y USING (z)",
	"SELECT email, u.phone FROM t_user u, t_dept ORDER BY 1",
	"(SELECT a FROM t WHERE b = ?) UNION ALL (SELECT '?' FROM u WHERE c IN (?, ?)) LIMIT 3",
	"SELECT sum(a) OVER (ORDER BY b ROWS BETWEEN 1 PRECEDING AND CURRENT ROW EXCLUDE TIES) FROM t",
}

// FuzzSQLText reads anything without a panic. What it reads it prints in a form that reads as the same.
func FuzzSQLText(f *testing.F) {
	for _, s := range append(seeds, corpus(f)...) {
		for d := range 3 {
			f.Add(uint8(d), s)
		}
	}
	f.Fuzz(func(t *testing.T, d uint8, text string) {
		s, err := sqltext.Read(sqltext.Dialect(d%3), text, sqltext.Options{})
		if err != nil {
			if code(err) == "" {
				t.Fatalf("no code: %v", err)
			}
			return
		}
		again(t, s)
	})
}

// again reads what a statement prints.
func again(t *testing.T, s *sqltext.Statement) *sqltext.Statement {
	t.Helper()
	p := &marked{}
	s.Print(p)
	if strings.Contains(p.String(), "--") || strings.Contains(p.String(), "/*") {
		inside := false
		for _, tok := range s.Tokens {
			inside = inside || tok.Kind == sqltext.Text || tok.Kind == sqltext.Name
		}
		if !inside {
			t.Fatalf("printed with a comment: %s", p.String())
		}
	}
	o, err := sqltext.Read(s.Dialect, p.String(), sqltext.Options{})
	if err != nil {
		if code(err) == "LIMIT_EXCEEDED" || strings.Contains(p.String(), `\'`) {
			return nil // printed it is longer, or a backslash meets the quote that ends the text
		}
		t.Fatalf("printed as %s, which is refused: %v", p.String(), err)
	}
	if len(o.Tables) != len(s.Tables) || len(o.Params) != len(s.Params) || len(o.Calls) != len(s.Calls) || len(o.Columns) != len(s.Columns) {
		t.Fatalf("printed as %s, which reads otherwise", p.String())
	}
	return o
}

type marked struct{ strings.Builder }

func (p *marked) Text(s string)               { p.WriteString(s) }
func (p *marked) Param(x *sqltext.Param)      { p.WriteString(":" + x.Name) }
func (p *marked) Shadows(*sqltext.Table) bool { return false }
func (p *marked) Shadow(*sqltext.Table)       {}

// FuzzMask follows masked columns through anything without a panic, and to the same verdict when the statement is read
// again from what it prints.
func FuzzMask(f *testing.F) {
	for _, s := range append(seeds, corpus(f)...) {
		for d := range 3 {
			f.Add(uint8(d), s)
		}
	}
	f.Fuzz(func(t *testing.T, d uint8, text string) {
		s, err := sqltext.Read(sqltext.Dialect(d%3), text, sqltext.Options{})
		if err != nil {
			return
		}
		first := code(s.Check(facts))
		if o := again(t, s); o != nil {
			if second := code(o.Check(facts)); first != second {
				t.Fatalf("%q, and %q when printed", first, second)
			}
		}
	})
}
