package attack_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"

	"resq/testdb"
)

// seed starts the random passes, from the same place in every run; RESQ_ATTACK_SEED=clock looks elsewhere each
// time, as make fuzz does, and a number repeats such a run.
func seed(t *testing.T) *rand.Rand {
	n := uint64(1)
	switch s := os.Getenv("RESQ_ATTACK_SEED"); s {
	case "":
	case "clock":
		n = uint64(time.Now().UnixNano())
	default:
		var err error
		if n, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatalf("RESQ_ATTACK_SEED: %v", err)
		}
	}
	t.Logf("RESQ_ATTACK_SEED=%d repeats this run", n)
	return rand.New(rand.NewPCG(n, 0))
}

// A mark is a text that occurs nowhere else. The second form stands where only a number is taken.
func mark(r *rand.Rand, like string) string {
	if _, err := strconv.ParseInt(like, 10, 64); err == nil {
		return fmt.Sprintf("73%07d91", r.IntN(10_000_000))
	}
	return fmt.Sprintf("zq%08xkx", r.Uint32())
}

// TestCorpusTaint replaces the caller's strings of every line that is answered by marks: one at a time, so that the
// rest of the request stays valid and the mark gets as far as it can, then all of them. The request may fail;
// no mark may ever stand in the text of a statement (promise C1). So that the test cannot pass by everything
// failing, it demands that marks do arrive among the arguments.
func TestCorpusTaint(t *testing.T) {
	lines := reads(t)
	r := seed(t)
	tables := fixtureTables(t, needCorpus(t, "fixture.yaml"))
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		g := newTarget(t, on, tables)
		before := g.hash(t)
		ran, arrived := 0, 0
		try := func(l *line, v *value, marks ...string) {
			ans, statements, err := g.call(l.Tool, people[l.As], v.bytes())
			noLeak(t, l, v, spoken(ans, err))
			for _, s := range statements {
				ran++
				for _, m := range marks {
					if strings.Contains(strings.ToLower(s.SQL), m) {
						t.Errorf("%s: the mark %q stands in the text of a statement:\n%s\nsent:\n%.600s", l.ID, m, s.SQL, v.bytes())
					}
					if strings.Contains(strings.ToLower(argsText(s.Args)), m) {
						arrived++
					}
				}
			}
		}
		for _, l := range lines {
			if l.Expect != "bound" || l.Fixture != "" || !l.on(on.Name) {
				continue
			}
			original := l.arguments(t)
			n := 0
			original.walk(nil, func([]string, *value) { n++ })
			for at := range n {
				v, i := original.clone(), 0
				var m string
				v.walk(nil, func(_ []string, s *value) {
					if i == at {
						m = mark(r, s.text())
						s.scalar = m
					}
					i++
				})
				try(&l, v, m)
			}
			v := original.clone()
			var all []string
			v.walk(nil, func(_ []string, s *value) {
				m := mark(r, s.text())
				s.scalar = m
				all = append(all, m)
			})
			try(&l, v, all...)
			for _, m := range literalsIn(original) { // strings inside expressions
				v, marked := original.clone(), mark(r, "x")
				v.walk(nil, func(_ []string, s *value) { s.scalar = strings.ReplaceAll(s.text(), m, "'"+marked+"'") })
				try(&l, v, marked)
			}
		}
		if g.hash(t) != before {
			t.Error("the tables have changed")
		}
		t.Logf("%s: %d statements ran, %d marks arrived among their arguments", on.Name, ran, arrived)
		if arrived < 40 {
			t.Errorf("only %d marks reached the database: the pass does not test what it should", arrived)
		}
	})
}

// argsText writes the arguments of a statement as one text to search in.
func argsText(args []any) string {
	var b strings.Builder
	for _, a := range args {
		if x, ok := a.([]byte); ok {
			a = string(x)
		}
		fmt.Fprintln(&b, a)
	}
	return b.String()
}

var stringLiteral = regexp.MustCompile(`'(?:[^']|'')*'`)

// literalsIn gives the string literals inside the texts of v.
func literalsIn(v *value) []string {
	var list []string
	v.walk(nil, func(_ []string, s *value) { list = append(list, stringLiteral.FindAllString(s.text(), -1)...) })
	slices.Sort(list)
	return slices.Compact(list)
}

// mutations change a text so that a careless comparison would still take it for the old one.
var mutations = []func(r *rand.Rand, s string) string{
	func(r *rand.Rand, s string) string { // case
		return strings.Map(func(c rune) rune {
			if r.IntN(2) == 0 {
				return unicode.ToUpper(c)
			}
			return unicode.ToLower(c)
		}, s)
	},
	func(r *rand.Rand, s string) string { // padding
		pads := []string{" ", "\t", "\n", "\u00a0", "\u200b", "\ufeff", "\u2028", "\x00", "/**/", "--"}
		p := pads[r.IntN(len(pads))]
		if r.IntN(2) == 0 {
			return p + s
		}
		return s + p
	},
	func(r *rand.Rand, s string) string { // letters that look alike
		alike := map[rune]rune{'a': 'а', 'e': 'е', 'o': 'о', 'p': 'р', 'c': 'с', 'i': 'і', 's': 'ѕ', 'S': 'ſ', 'k': '\u212a', '\'': '\u02bc', ';': '\u037e'}
		return strings.Map(func(c rune) rune {
			if x, ok := alike[c]; ok && r.IntN(2) == 0 {
				return x
			}
			return c
		}, s)
	},
	func(_ *rand.Rand, s string) string { // full-width forms
		return strings.Map(func(c rune) rune {
			if c > 0x20 && c < 0x7f {
				return c + 0xfee0
			}
			return c
		}, s)
	},
	func(r *rand.Rand, s string) string { // a blank doubled or turned into another one
		return strings.ReplaceAll(s, " ", []string{"  ", "\t", "\u00a0", "/**/", "+"}[r.IntN(5)])
	},
}

// TestCorpusMutations sends every line that is refused again with its strings changed in case, padding and look. A
// mutant that is refused must be refused before the database and without a word too many. A few mutants turn
// a bad request into a good one (an operator may be written in any case); of those is asked what holds for
// every request: nothing of it stands in a statement's text, nothing hidden is shown, nothing changes.
func TestCorpusMutations(t *testing.T) {
	lines := reads(t)
	r := seed(t)
	tables := fixtureTables(t, needCorpus(t, "fixture.yaml"))
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		g := newTarget(t, on, tables)
		before := g.hash(t)
		refused, answered := 0, map[string]int{}
		for _, l := range lines {
			if l.Expect != "reject" || !l.on(on.Name) {
				continue
			}
			original := l.arguments(t)
			if len(original.bytes()) > 20_000 { // refused by size, whatever is in it
				continue
			}
			n := 0
			original.walk(nil, func([]string, *value) { n++ })
			for _, mutate := range mutations {
				for _, at := range []int{-1, r.IntN(max(n, 1))} { // all strings, then one
					v, i := original.clone(), 0
					v.walk(nil, func(_ []string, s *value) {
						if at == -1 || i == at {
							s.scalar = mutate(r, s.text())
						}
						i++
					})
					raw := v.bytes()
					ans, ran, err := g.call(l.Tool, people[l.As], raw)
					noLeak(t, &l, v, spoken(ans, err))
					textsAreOurs(t, v, ran)
					if err == nil {
						answered[l.ID]++
						continue
					}
					refused++
					if c := code(err); len(ran) > 0 && c != "DATA_ERROR" && c != "TIMEOUT" {
						t.Errorf("%s: refused with %s, but %d statements ran\nsent: %.400s", l.ID, c, len(ran), raw)
					}
				}
			}
		}
		if g.hash(t) != before {
			t.Error("the tables have changed")
		}
		t.Logf("%s: %d mutants refused, %d became good requests: %v", on.Name, refused, len(answered), answered)
		if refused < 2000 {
			t.Errorf("only %d mutants were refused: too many became good requests", refused)
		}
	})
}

// pieces are what texts that break out of quotes, patterns and statements are made of.
var pieces = []string{
	"'", "''", `"`, "`", `\`, `\'`, ";", "--", "-- ", "#", "/*", "*/", "%", "_", "!", "!%", "$1", "?", ":name", "@x", "(", ")", "[", "]", "{", "}",
	" OR 1=1", " UNION SELECT ", "SELECT", "DROP TABLE t_user", "\x00", "\n", "\r", "\t", "\x1a", "\u00bf'", "\u200b", "\u202e", "😀", "中", "$$", "$tag$",
	"||", "&&", "0x27", "CHAR(39)", "NULL", "true", "1", "-1", "1e9", "x", "O'Brien", "^", "$", ".*", "|", "+",
}

// TestCorpusStrings sends random texts made of meta-characters as the value of a comparison. Each must travel as an
// argument and compare as data: the answer is the same as a search through the fixture in Go.
func TestCorpusStrings(t *testing.T) {
	needCorpus(t, "fixture.yaml")
	r := seed(t)
	tables := fixtureTables(t, needCorpus(t, "fixture.yaml"))
	var names []string
	for _, tb := range tables {
		if tb.name == "t_user" {
			for _, row := range tb.rows {
				names = append(names, *row[1])
			}
		}
	}
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		g := newTarget(t, on, tables)
		for range 200 {
			var s string
			for range 1 + r.IntN(5) {
				s += pieces[r.IntN(len(pieces))]
			}
			if r.IntN(4) == 0 { // part of a name, so that something is found
				n := []rune(names[r.IntN(len(names))])
				from := r.IntN(len(n))
				s = string(n[from : from+1+r.IntN(min(6, len(n)-from))])
			}
			for _, op := range []string{"=", "!=", "LIKE", "NOT LIKE", "IN"} {
				raw := fmt.Appendf(nil, `{"resource":"User","fields":[{"code":"name"}],"limit":100,"conditions":{"type":"and","exprs":[{"field":"name","operator":%s,"tokens":[%s]}]}}`, quote(op), quote(s))
				if op != "IN" {
					raw = fmt.Appendf(nil, `{"resource":"User","fields":[{"code":"name"}],"limit":100,"conditions":{"type":"and","exprs":[{"field":"name","operator":%s,"token":%s}]}}`, quote(op), quote(s))
				}
				ans, ran, err := g.call("res-query", people["root"], raw)
				for _, st := range ran {
					if len(s) > 2 && !ordinary(s) && strings.Contains(st.SQL, s) {
						t.Errorf("%q stands in the text of a statement:\n%s", s, st.SQL)
					}
				}
				if err != nil {
					if c := code(err); c != "INVALID_ARGUMENT" && c != "LIMIT_EXCEEDED" || len(ran) > 0 {
						t.Errorf("%s %q: %s", op, s, spoken(ans, err))
					}
					continue
				}
				if on.Name == testdb.MySQL && strings.ContainsFunc(s, func(c rune) bool { return c < 0x20 || c > 0x7e }) {
					continue // its collations take some of these for nothing, or for one another
				}
				want := 0
				for _, n := range names {
					if matches(op, n, s) {
						want++
					}
				}
				if ans.Rows != want {
					t.Errorf("%s %q finds %d names, want %d:\n%s", op, s, ans.Rows, want, ans.Text)
				}
			}
		}
	})
}

// matches is the meaning of the operators in Go: a LIKE token that starts or ends with % is a pattern, any
// other is text to be contained. Case does not count:
// whether = minds it is the column's own collation, so the random texts differ in more than case or not at
// all.
func matches(op, name, token string) bool {
	switch op {
	case "=", "IN":
		return strings.EqualFold(name, token)
	case "!=":
		return !strings.EqualFold(name, token)
	}
	var hit bool
	low, pattern := strings.ToLower(name), strings.ToLower(token)
	if strings.HasPrefix(pattern, "%") || strings.HasSuffix(pattern, "%") {
		hit = like([]rune(low), []rune(pattern))
	} else {
		hit = strings.Contains(low, pattern)
	}
	return hit == (op == "LIKE")
}

// like matches s to a pattern in which % is any text and _ any character.
func like(s, pattern []rune) bool {
	if len(pattern) == 0 {
		return len(s) == 0
	}
	if pattern[0] == '%' {
		return like(s, pattern[1:]) || len(s) > 0 && like(s[1:], pattern)
	}
	return len(s) > 0 && (pattern[0] == '_' || pattern[0] == s[0]) && like(s[1:], pattern[1:])
}
