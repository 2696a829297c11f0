package engine_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"resq/engine"
	"resq/engine/policy"
	"resq/testdb"
)

// requests is how many random requests run on each database: RESQ_INTERFERENCE_N, or 5,000 where RESQ_CI is 1,
// or fewer for the impatient.
func requests(t *testing.T) int {
	if s := os.Getenv("RESQ_INTERFERENCE_N"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 {
			t.Fatalf("RESQ_INTERFERENCE_N is %q", s)
		}
		return n
	}
	switch {
	case os.Getenv("RESQ_CI") == "1":
		return 5000
	case testing.Short():
		return 200
	}
	return 1000
}

// randomness is the same in every run, so that a change is judged by what it changes;
// RESQ_INTERFERENCE_SEED=clock looks elsewhere each time, as make fuzz does, and a number repeats such a run.
func randomness(t *testing.T) *rand.Rand {
	n := uint64(1)
	switch s := os.Getenv("RESQ_INTERFERENCE_SEED"); s {
	case "":
	case "clock":
		n = uint64(time.Now().UnixNano())
	default:
		var err error
		if n, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatalf("RESQ_INTERFERENCE_SEED: %v", err)
		}
	}
	t.Logf("RESQ_INTERFERENCE_SEED=%d repeats this run", n)
	return rand.New(rand.NewPCG(n, 0))
}

// each world is asked this many requests before the rows are chosen anew.
const perWorld = 100

// TestNonInterference is the central proof of the row rules (security.md 5.1, 5.5): for random requests the
// answer to a restricted principal is the same, byte for byte, on two databases that differ in invisible
// rows only, and the same as the answer to an unrestricted one where those rows do not exist. Errors are
// answers as well. That the harness can fail is shown by TestInterferenceControls.
func TestNonInterference(t *testing.T) {
	n := requests(t)
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		r := randomness(t)
		tr := newTrio(t, on)
		g := newGen(r)
		var tally tally
		for i := range n {
			if i%perWorld == 0 {
				visible, one, two := visibleRows(r), invisibleRows(r), invisibleRows(r)
				tr.load(visible.with(one).script(r, firstWorld) + visible.with(two).script(r, secondWorld) + visible.script(r, purgedWorld))
			}
			raw, ordered := g.request()
			first := tr.answer(firstWorld, restricted, raw)
			second := tr.answer(secondWorld, restricted, raw)
			purged := tr.answer(purgedWorld, unrestricted, raw)
			tally.count(first)
			if i%5 == 0 { // what a missing rule would show
				tally.bare++
				if loosen(tr.answer(firstWorld, unrestricted, raw).text) != loosen(purged.text) {
					tally.telling++
				}
			}
			for page := 0; ; page++ {
				if why := interference(first, second, purged, ordered); why != "" {
					t.Errorf("request %d, page %d: %s\nrequest: %s", i, page, why, raw)
					tally.found++
					break
				}
				if page == 1 || first.cursor == "" || !chance(r, 30) {
					break
				}
				first = tr.answer(firstWorld, restricted, onward(raw, first.cursor))
				second = tr.answer(secondWorld, restricted, onward(raw, second.cursor))
				purged = tr.answer(purgedWorld, unrestricted, onward(raw, purged.cursor))
			}
			if tally.found == enough {
				return
			}
		}
		tally.report(t)
	})
}

// TestColumnNonInterference is the law of masks (security.md 5.6): two databases whose masked values differ,
// but have the same masked image, give the same answers.
func TestColumnNonInterference(t *testing.T) {
	n := max(requests(t)/5, 50)
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		r := randomness(t)
		tr := newTrio(t, on)
		g := newGen(r)
		g.masks = true
		var tally tally
		for i := range n {
			if i%perWorld == 0 {
				whole := visibleRows(r).with(invisibleRows(r))
				other := whole
				other.usr = nil
				for _, u := range whole.usr {
					other.usr = append(other.usr, sameImage(r, u))
				}
				tr.load(whole.script(r, firstWorld) + other.script(r, secondWorld))
			}
			raw, ordered := g.request()
			first := tr.answer(firstWorld, restricted, raw)
			second := tr.answer(secondWorld, restricted, raw)
			tally.count(first)
			if why := interference(first, second, first, ordered); why != "" {
				t.Errorf("request %d: %s\nrequest: %s", i, why, raw)
				tally.found++
			}
			if tally.found == enough {
				return
			}
		}
		tally.report(t)
	})
}

var (
	emailOf = regexp.MustCompile(`'[vh]\d+@x\.test'`)
	phoneOf = regexp.MustCompile(`'(\d+)(\d{4})'$`)
)

// sameImage gives a user's row another address and another phone of the same length and last four digits.
func sameImage(r *rand.Rand, row string) string {
	row = emailOf.ReplaceAllString(row, fmt.Sprintf("'%08x@other.test'", r.Uint32()))
	m := phoneOf.FindStringSubmatchIndex(row)
	if m == nil {
		return row
	}
	digits := []byte(row[m[2]:m[3]])
	for i := range digits {
		digits[i] = byte('0' + r.IntN(10))
	}
	return row[:m[2]] + string(digits) + row[m[3]:]
}

// A reply is an answer, or what was said instead of one.
type reply struct {
	text   string // an error's text begins with !
	cursor string
}

func (r reply) refused() bool { return strings.HasPrefix(r.text, "!") }

func (tr *trio) answer(world string, who *policy.Principal, raw string) reply {
	ans, err := tr.engines[world].engine.Query(context.Background(), who, []byte(raw))
	if err != nil {
		return reply{text: "! " + tell(err)}
	}
	var cursor string
	if m := cursorText.FindSubmatch(metaOf(ans)); m != nil {
		cursor = string(m[0][len(`"cursor":"`) : len(m[0])-1])
	}
	return reply{hideCursor(ans.Text) + "\n" + hideCursor(ans.Meta), cursor}
}

func metaOf(ans *engine.Answer) []byte {
	if ans.Meta != nil {
		return ans.Meta
	}
	return ans.Text
}

func onward(raw, cursor string) string {
	return strings.TrimSuffix(raw, "}") + `,"cursor":` + encode(cursor) + "}"
}

// interference says in what two databases that should look alike to a principal do not, and "" when they do.
// The order of rows counts where the request has one. Rows without an order that were cut by a limit may be
// any; of those only the number counts.
func interference(first, second, purged reply, ordered bool) string {
	a, b, p := first.text, second.text, purged.text
	if !ordered {
		a, b, p = loosen(a), loosen(b), loosen(p)
	}
	switch {
	case a != b:
		return fmt.Sprintf("the answer depends on invisible rows:\n%s\nagainst\n%s", a, b)
	case a != p:
		return fmt.Sprintf("the answer is not that of a database without the invisible rows:\n%s\nwant\n%s", a, p)
	}
	return ""
}

func loosen(s string) string {
	lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
	for i := range lines {
		lines[i] = strings.TrimSuffix(lines[i], ",")
	}
	if strings.Contains(s, `"hasMore":true`) {
		return fmt.Sprintf("%d lines, %s", len(lines), lines[0])
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// A tally counts the replies, so that a run in which most requests are refused does not pass for a proof.
type tally struct {
	answered, refused, found int
	withRows                 int
	bare, telling            int // asked without rules, and how often that gave another answer
	refusals                 map[string]int
}

// noRows matches an answer without rows, in any of the formats.
var noRows = regexp.MustCompile(`"rows":\[\s*\]|^[^{\n]*\n\{|^\|[^\n]*\n\|[-| :]*\n\{`)

func (y *tally) count(r reply) {
	if !r.refused() {
		y.answered++
		if !noRows.MatchString(r.text) {
			y.withRows++
		}
		return
	}
	y.refused++
	if y.refusals == nil {
		y.refusals = map[string]int{}
	}
	y.refusals[r.text]++
}

// A run ends once it has failed often enough to be understood.
const enough = 5

func (y *tally) report(t *testing.T) {
	t.Helper()
	all := y.answered + y.refused
	t.Logf("%d requests, %d answered, %d of them with rows, %d refused", all, y.answered, y.withRows, y.refused)
	if y.withRows*2 < y.answered {
		t.Errorf("only %d of %d answers have rows; an empty answer proves little", y.withRows, y.answered)
	}
	if y.bare > 0 {
		t.Logf("without rules %d of %d answers are others", y.telling, y.bare)
		if y.telling*5 < y.bare {
			t.Errorf("without rules only %d of %d answers are others: the invisible rows do too little harm", y.telling, y.bare)
		}
	}
	if y.answered*100 < all*85 {
		var list []string
		for text, n := range y.refusals {
			list = append(list, fmt.Sprintf("%5d × %s", n, text))
		}
		slices.Sort(list)
		slices.Reverse(list)
		t.Errorf("only %d of %d requests were answered; a refusal proves nothing. Most frequent:\n%s", y.answered, all, strings.Join(list[:min(len(list), 20)], "\n"))
	}
}

// The reply of one world is not taken for another's: interference sees a difference in one byte, in the
// order of an ordered answer and in the number of rows, and none where only an unstated order differs.
func TestInterferenceSees(t *testing.T) {
	base := "{\"rows\":[\n[1],\n[2]\n],\"hasMore\":false}"
	swapped := "{\"rows\":[\n[2],\n[1]\n],\"hasMore\":false}"
	fewer := "{\"rows\":[\n[1]\n],\"hasMore\":false}"
	for _, c := range []struct {
		name          string
		a, b, p       string
		ordered, seen bool
	}{
		{"equal", base, base, base, true, false},
		{"a value", base, strings.Replace(base, "2", "3", 1), base, false, true},
		{"the purged answer", base, base, fewer, false, true},
		{"an order", base, swapped, base, true, true},
		{"no order", base, swapped, base, false, false},
		{"a row", base, fewer, base, false, true},
		{"an error", base, "! DATA_ERROR", base, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			why := interference(reply{text: c.a}, reply{text: c.b}, reply{text: c.p}, c.ordered)
			if (why != "") != c.seen {
				t.Errorf("interference says %q", why)
			}
		})
	}
	if bytes.Equal([]byte(loosen(base)), []byte(loosen(fewer))) {
		t.Error("loosen hides a missing row")
	}
}
