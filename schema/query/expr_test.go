package query

import (
	"strings"
	"testing"

	"resq/schema/problem"
)

// What the grammar takes (security.md 4.2, widened by design.md section 5).
func TestExprAccepts(t *testing.T) {
	lim := Defaults()
	for _, s := range []string{
		"1", "-1", "1.5", ".5", "'a''b'", "TRUE", "NULL", "a", "A.b", "`客户 信息`.`姓 名`", "`a``b`", "order.rank", "t.end",
		"COUNT(*)", "COUNT(DISTINCT a)", "SUM(a * 2) / NULLIF(COUNT(*), 0)", "a || 'x' || b",
		"CASE WHEN a = 1 THEN 'x' ELSE 'y' END", "CASE a WHEN 1 THEN 2 END", "NOT (a > 1 AND b < 2 OR c <> 3)",
		"a IS NULL", "a IS NOT NULL", "a IN (1, 2)", "a NOT IN ('x')", "a BETWEEN 1 AND 2", "a NOT BETWEEN 1 AND 2 AND b = 1",
		"a LIKE 'x%'", "a NOT LIKE LOWER('x')", "CAST(a AS DECIMAL(12,2))", "CAST(a AS DOUBLE PRECISION)", "DATE '2024-01-31'",
		"EXTRACT(YEAR FROM a)", "DATE_ADD(a, INTERVAL 30 DAY)", "a - INTERVAL '30 days'", "a + INTERVAL 1 MONTH", "CURRENT_DATE", "CURRENT_TIMESTAMP()",
		"RANK() OVER (PARTITION BY a ORDER BY b DESC NULLS LAST)", "SUM(a) OVER (ORDER BY b ROWS BETWEEN 2 PRECEDING AND CURRENT ROW)",
		"GROUP_CONCAT(DISTINCT a ORDER BY a DESC SEPARATOR '; ')", "STRING_AGG(a, ',' ORDER BY b)", "TIMESTAMPDIFF(DAY, a, b)",
		"SUBSTRING(a FROM 2 FOR 3)", "POSITION('x' IN a)", "+a", "- - 1", "1 - -1",
	} {
		if _, p := ParseExpr(s, "/x", &lim); p != nil {
			t.Errorf("%s: %v", s, p)
		}
	}
}

// What it refuses, and with which code: nothing outside the grammar is guessed at.
func TestExprRefuses(t *testing.T) {
	lim := Defaults()
	for s, want := range map[string]problem.Code{
		"":                        problem.ExprSyntax,
		"1--1":                    problem.ExprSyntax,
		"a /* x */":               problem.ExprSyntax,
		"a # x":                   problem.ExprSyntax,
		"a; b":                    problem.ExprSyntax,
		"@@version":               problem.ExprSyntax,
		"a = ?":                   problem.ExprSyntax,
		"$1":                      problem.ExprSyntax,
		`"a"`:                     problem.ExprSyntax,
		"[a]":                     problem.ExprSyntax,
		"0x1f":                    problem.ExprSyntax,
		"1e5":                     problem.ExprSyntax,
		"1.":                      problem.ExprSyntax,
		"b'1'":                    problem.ExprSyntax,
		"E'\\x41'":                problem.ExprSyntax,
		"'open":                   problem.ExprSyntax,
		"'a' 'b' c":               problem.ExprSyntax,
		"a::text":                 problem.ExprSyntax,
		"a.b(1)":                  problem.ExprSyntax,
		"a.*":                     problem.ExprSyntax,
		"ＳＬＥＥＰ(1)":                problem.ExprSyntax,
		"INTERVAL 1 DAY":          problem.ExprSyntax,
		"a DESC":                  problem.ExprSyntax,
		"a UNION b":               problem.ExprSyntax,
		"CASE END":                problem.ExprSyntax,
		"(SELECT 1)":              problem.ExprNotAllowed,
		"a IN (SELECT 1)":         problem.ExprNotAllowed,
		"COALESCE((SELECT 1), 2)": problem.ExprNotAllowed,
		"EXISTS (SELECT 1)":       problem.ExprNotAllowed,
		strings.Repeat("a", 2001): problem.LimitExceeded,
		strings.Repeat("(", 33) + "1" + strings.Repeat(")", 33): problem.LimitExceeded,
		strings.Repeat("1+", 250) + "1":                         problem.LimitExceeded,
		strings.Repeat("NOT ", 40) + "a":                        problem.LimitExceeded,
		strings.Repeat("- ", 40) + "a":                          problem.LimitExceeded,
	} {
		_, p := ParseExpr(s, "/x", &lim)
		if p == nil || p.Code != want {
			t.Errorf("%.40s: %v, want %s", s, p, want)
		}
	}
}

// Operators bind as in SQL.
func TestExprPrecedence(t *testing.T) {
	lim := Defaults()
	for s, want := range map[string]string{
		"1 + 2 * 3":              "(1 + (2 * 3))",
		"(1 + 2) * 3":            "((1 + 2) * 3)",
		"a OR b AND NOT c = 1":   "(a OR (b AND (NOT (c = 1))))",
		"1 - 2 - 3":              "((1 - 2) - 3)",
		"a || b = c":             "((a || b) = c)",
		"NOT a = 1 AND b = 2":    "((NOT (a = 1)) AND (b = 2))",
		"-a * b":                 "((- a) * b)",
		"a BETWEEN 1 AND 2 OR b": "((a BETWEEN 1 AND 2) OR b)",
	} {
		e, p := ParseExpr(s, "/x", &lim)
		if p != nil {
			t.Errorf("%s: %v", s, p)
			continue
		}
		if got := show(e); got != want {
			t.Errorf("%s is read as %s, want %s", s, got, want)
		}
	}
}

func show(e Expr) string {
	switch x := e.(type) {
	case *Name:
		return strings.Join(x.Parts, ".")
	case *Literal:
		return x.Text
	case *Unary:
		return "(" + x.Op + " " + show(x.X) + ")"
	case *Binary:
		return "(" + show(x.L) + " " + x.Op + " " + show(x.R) + ")"
	case *Range:
		return "(" + show(x.X) + " BETWEEN " + show(x.Low) + " AND " + show(x.High) + ")"
	}
	return "?"
}

// The parser gives a tree or a problem for any text, within its bounds, and every offset lies in the text.
func FuzzExpr(f *testing.F) {
	for _, s := range []string{"COUNT(*)", "CASE WHEN a = 'x' THEN 1 END", "`a`.`b` || 'c'", "a IN (1,2) AND NOT b", "RANK() OVER (ORDER BY a)", "DATE_ADD(a, INTERVAL 1 DAY)", "'", "((((", "1..2", "\x00"} {
		f.Add(s)
	}
	lim := Defaults()
	f.Fuzz(func(t *testing.T, s string) {
		e, p := ParseExpr(s, "/x", &lim)
		if (e == nil) == (p == nil) {
			t.Fatalf("%q: tree %v and problem %v", s, e, p)
		}
		n := 0
		Walk(e, func(x Expr) {
			n++
			if x.Pos() < 0 || x.Pos() > len(s) {
				t.Fatalf("%q: a node at %d", s, x.Pos())
			}
		})
		if n > 4*lim.ExprNodes {
			t.Fatalf("%q: %d nodes", s, n)
		}
	})
}
