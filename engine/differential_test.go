package engine_test

import (
	"strings"
	"testing"

	"resq/testdb"
)

// modest takes the extremes out of the rows: their products leave the fifteen digits that SQLite calculates
// with exactly.
var modest = strings.NewReplacer("9999999999.99", "7777.77", "99999999.99", "999.99", "2147483647", "4711")

// TestSameEverywhere sends random requests to the same rows on every database system: the same request gives
// the same rows everywhere (design, section 5), and a refusal is the same refusal.
func TestSameEverywhere(t *testing.T) {
	n := requests(t)
	r := randomness(t)
	var trios []*trio
	for _, on := range testdb.Engines(t) {
		trios = append(trios, newTrio(t, on))
	}
	g := newGen(r)
	g.tame = true
	var tally tally
	for i := range n {
		if i%perWorld == 0 {
			script := modest.Replace(visibleRows(r).script(r, purgedWorld))
			for _, tr := range trios {
				tr.load(script)
			}
		}
		raw, ordered := g.request()
		first := trios[0].answer(purgedWorld, unrestricted, raw)
		tally.count(first)
		for _, tr := range trios[1:] {
			other := tr.answer(purgedWorld, unrestricted, raw)
			if why := interference(first, other, first, ordered); why != "" {
				t.Errorf("request %d: %s and %s differ:\n%s\nagainst\n%s\nrequest: %s", i, trios[0].on.Name, tr.on.Name, first.text, other.text, raw)
				tally.found++
			}
		}
		if tally.found >= enough {
			return
		}
	}
	tally.report(t)
}
