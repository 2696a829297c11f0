package engine_test

import (
	"strings"
	"testing"
)

// clauses begin a new line in the SQL of a case file, so that a change reads as a change of one clause.
var clauses = []string{
	"FROM", "WHERE", "GROUP BY", "HAVING", "ORDER BY", "LIMIT", "OFFSET", "INNER JOIN", "LEFT JOIN", "RIGHT JOIN",
	"CROSS JOIN", "UNION ALL", "UNION", "INTERSECT", "EXCEPT", "SELECT",
}

// layout breaks SQL into lines before its clauses, outside quotes. Nothing but blanks changes.
func layout(sql string) string {
	var b strings.Builder
	var quote byte
	for i := 0; i < len(sql); i++ {
		switch c := sql[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"' || c == '`':
			quote = c
		case c == ' ' && startsClause(sql[i+1:]):
			b.WriteByte('\n')
			continue
		}
		b.WriteByte(sql[i])
	}
	return b.String()
}

func startsClause(rest string) bool {
	for _, c := range clauses {
		if after, ok := strings.CutPrefix(rest, c); ok && (after == "" || after[0] == ' ' || after[0] == '(' || after[0] == '\n') {
			return true
		}
	}
	return false
}

// layout leaves quoted text alone and breaks before clauses only.
func TestLayout(t *testing.T) {
	got := layout(`SELECT a, 'x FROM y' FROM (SELECT b FROM "c WHERE") AS s1 LEFT JOIN d ON 1 = 1 WHERE e FROMAGE LIMIT 3`)
	want := "SELECT a, 'x FROM y'\nFROM (SELECT b\nFROM \"c WHERE\") AS s1\nLEFT JOIN d ON 1 = 1\nWHERE e FROMAGE\nLIMIT 3"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if strings.ReplaceAll(got, "\n", " ") != strings.ReplaceAll(want, "\n", " ") {
		t.Error("layout changed more than blanks")
	}
}

// An archive reads back as it was written.
func TestArchive(t *testing.T) {
	text := "What must hold.\n-- request --\n{\"a\": 1}\n-- sqlite.sql --\nSELECT 1\n"
	a, err := parseArchive([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if got := string(a.format()); got != text {
		t.Errorf("got %q, want %q", got, text)
	}
	a.set("answer", "x\ny")
	if s, ok := a.section("answer"); !ok || s != "x\ny" {
		t.Errorf("section is %q, %v", s, ok)
	}
	if _, err := parseArchive([]byte("-- a --\n-- a --\n")); err == nil {
		t.Error("a section that stands twice is taken")
	}
}
