package introspect_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"resq/schema/introspect"
)

// parts are what awkward names are made of.
var parts = []string{
	"a", "A", "b", "id", "ID", "_", "__", " ", ".", "..", "/", "\\", "-", "#", ":", ": ", ",", ";", "%", "*", "?", "!", "@", "&", "$", "${X}", "=", "<<", "~", "|", ">",
	"'", `"`, "`", "(", ")", "[", "]", "{", "}", "1", "0x1", "null", "true", "yes", "no", "order", "select", "con", "nul", "客户", "é", "e\u0301", "ß", "İ", "😀", "👩\u200d💻", "\u0623", "x\u00a0y",
	"decimal(1,2)", "long_name_that_goes_on_and_on_", "HTTPServer", "camelCase",
}

func oddName(r *rand.Rand) string {
	var b strings.Builder
	for range 1 + r.IntN(4) {
		b.WriteString(parts[r.IntN(len(parts))])
	}
	return b.String()
}

// Whatever tables and columns are called, the catalog loads under every naming and finds each of them.
func TestOddNames(t *testing.T) {
	quote := func(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 7))
		var script strings.Builder
		seen := map[string]bool{}
		lower := func(s string) string { // SQLite folds ASCII alone
			return strings.Map(func(c rune) rune {
				if c >= 'A' && c <= 'Z' {
					return c + 'a' - 'A'
				}
				return c
			}, s)
		}
		for len(seen) < 12 {
			name := oddName(r)
			if k := lower(name); seen[k] || strings.HasPrefix(k, "sqlite_") {
				continue
			} else {
				seen[k] = true
			}
			columns := map[string]bool{}
			var defs []string
			for len(defs) < 5 {
				if c := oddName(r); !columns[lower(c)] {
					columns[lower(c)] = true
					defs = append(defs, quote(c)+" INT")
				}
			}
			key := defs[0][:len(defs[0])-len(" INT")]
			fmt.Fprintf(&script, "CREATE TABLE %s (%s, PRIMARY KEY (%s), FOREIGN KEY (%s) REFERENCES %s);\n", quote(name), strings.Join(defs, ", "), key, defs[1][:len(defs[1])-4], quote(name))
		}
		db, dsn := newSQLite(t, script.String())
		s, _, c := roundTrip(t, db, "sqlite", dsn, introspect.Options{})
		if blank := len(seen) - len(s.Tables); len(c.Resources) != len(s.Tables) || blank > 1 || blank > 0 && len(s.Notes) == 0 {
			t.Errorf("seed %d: %d resources for %d tables of %d, notes %v", seed, len(c.Resources), len(s.Tables), len(seen), s.Notes)
		}
		if t.Failed() {
			t.Fatalf("seed %d:\n%s", seed, script.String())
		}
	}
}
