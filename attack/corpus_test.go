// Package attack_test drives the shared attack corpus through the engine, on every database, with a recorder
// between engine and driver: what must be refused must not reach the database, what must be answered must be
// answered exactly, and no byte of a caller may ever be SQL (security.md, promises C1 to C5).
package attack_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"resq/engine"
	"resq/engine/policy"
	"resq/schema/problem"
	"resq/testdb"
)

// A line of the corpus.
type line struct {
	ID, Category, Tool, Note string
	Arguments                json.RawMessage
	Expect, Code, As         string
	Fixture                  string
	Dialect                  []string
	Want                     *struct {
		Rows    []json.RawMessage
		RowsIDs []json.Number `json:"rows_ids"`
	}
}

func corpus(t testing.TB) []line {
	t.Helper()
	var lines []line
	for text := range bytes.Lines(needCorpus(t, "attack.jsonl")) {
		var l line
		d := json.NewDecoder(bytes.NewReader(text))
		d.UseNumber()
		if err := d.Decode(&l); err != nil {
			t.Fatalf("attack.jsonl: %v in %.80s", err, text)
		}
		if l.As == "" {
			l.As = "alice"
		}
		lines = append(lines, l)
	}
	return lines
}

// ours gives the lines that this package runs, and fails for every line of which nobody knows who runs it.
func ours(t testing.TB) []line {
	t.Helper()
	reasons := notRun()
	var run []line
	for _, l := range corpus(t) {
		here := l.Tool == "res-query" || l.Tool == "res-schema"
		reason, listed := reasons[l.ID]
		delete(reasons, l.ID)
		switch {
		case listed && here && !strings.HasPrefix(reason, "limits per key"):
			t.Errorf("%s is listed as run elsewhere, but is a line for this package", l.ID)
		case !listed && !here:
			t.Errorf("%s (%s) is neither run here nor listed with the reason why not", l.ID, l.Tool)
		case here && !listed:
			run = append(run, l)
		}
	}
	for id := range reasons {
		t.Errorf("%s is listed as run elsewhere, but the corpus has no such line", id)
	}
	return run
}

func (l *line) on(name string) bool { return len(l.Dialect) == 0 || slices.Contains(l.Dialect, name) }

// arguments is what is sent: the arguments with their macros written out.
func (l *line) arguments(t testing.TB) *value {
	t.Helper()
	v, err := parseValue(l.Arguments)
	if err == nil {
		v, err = expand(v)
	}
	if err != nil {
		t.Fatalf("%s: arguments: %v", l.ID, err)
	}
	return v
}

// TestCorpus runs every line of this package on every database and prints the score of each category.
func TestCorpus(t *testing.T) {
	lines := ours(t)
	tables := fixtureTables(t, needCorpus(t, "fixture.yaml"))
	score := &scores{}
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		small, big := newTarget(t, on, tables), newTarget(t, on, enlarge(tables))
		for _, l := range lines {
			if !l.on(on.Name) {
				continue
			}
			t.Run(l.ID, func(t *testing.T) {
				t.Cleanup(func() { score.add(l.Category, t.Failed()) })
				g := small
				if l.Fixture == "big" {
					g = big
				}
				before := g.hash(t)
				l.attack(t, g)
				if g.hash(t) != before {
					t.Errorf("the tables have changed")
				}
			})
		}
	})
	score.print(t)
}

// call runs the tool of the line and gives what came back with what reached the driver.
func (g *target) call(tool string, who *policy.Principal, raw []byte) (*engine.Answer, error, []testdb.Statement) {
	g.recorder.Reset()
	var ans *engine.Answer
	var err error
	if tool == "res-schema" {
		ans, err = g.engine.Describe(context.Background(), who, raw)
	} else {
		ans, err = g.engine.Query(context.Background(), who, raw)
	}
	return ans, err, g.recorder.Statements()
}

func (l *line) attack(t *testing.T, g *target) {
	args := l.arguments(t)
	raw := args.bytes()
	ans, err, ran := g.call(l.Tool, people[l.As], raw)
	said := spoken(ans, err)
	noLeak(t, l, args, said)
	textsAreOurs(t, args, ran)
	if l.Expect == "reject" {
		switch {
		case err == nil:
			t.Fatalf("answered, want %s (%s)\n%s", l.Code, l.Note, said)
		case code(err) != l.Code:
			t.Errorf("refused with %s, want %s (%s)\n%s", code(err), l.Code, l.Note, said)
		}
		if len(ran) > 0 {
			t.Errorf("refused, but %d statements ran: %v", len(ran), ran)
		}
		return
	}
	if err != nil {
		c := code(err)
		if (c == "DATA_ERROR" || c == "TIMEOUT") && strings.Contains(l.Note, c) {
			return
		}
		t.Fatalf("refused (%s):\n%s", l.Note, said)
	}
	if l.Want != nil {
		l.compare(t, ans, args)
	}
	if f := closer[l.ID]; f != nil {
		f(t, g, l, ans)
	}
}

func code(err error) string {
	var list problem.List
	if !errors.As(err, &list) || len(list) == 0 {
		return fmt.Sprintf("no problem list but %T", err)
	}
	return string(list[0].Code)
}

// spoken is everything the caller gets to see.
func spoken(ans *engine.Answer, err error) string {
	var b strings.Builder
	if ans != nil {
		b.Write(ans.Text)
		b.Write(ans.Meta)
	}
	var list problem.List
	if errors.As(err, &list) {
		for _, p := range list {
			fmt.Fprintf(&b, "%s at %q: %s · %s\n", p.Code, p.At, p.Message, p.Hint)
		}
	} else if err != nil {
		fmt.Fprintf(&b, "%T: %v", err, err)
	}
	return b.String()
}

// ownText matches what only SQL, a driver or a database says.
var ownText = regexp.MustCompile(`(?i)\bSELECT\b.*\bFROM\b|\bSQLSTATE\b|syntax error at or near|near ".*": syntax|SQL logic error|Error \d{4} \(|pq: |pgx|go-sql-driver|modernc|no such column|unknown column|t_user|t_dept|t_order|t_hidden|HiddenResource`)

// noLeak fails when what the caller sees holds SQL, a table's name, text of a database, or a value that the
// principal may not see. What the caller sent may come back to it, as it was or quoted.
func noLeak(t *testing.T, l *line, args *value, said string) {
	t.Helper()
	sent := args.bytes()
	args.walk(nil, func(_ []string, v *value) { said = strings.ReplaceAll(said, problem.Quote(v.text()), "what was sent") })
	for _, m := range ownText.FindAllString(said, -1) {
		if l.Tool == "res-schema" && strings.HasPrefix(m, "t_") && m != "t_hidden" {
			continue // it names the tables of the resources that it shows
		}
		if !bytes.Contains(bytes.ToLower(sent), bytes.ToLower([]byte(m))) {
			t.Errorf("the caller sees %q in:\n%.600s", m, said)
		}
	}
	for _, secret := range secrets[l.As] {
		if strings.Contains(said, secret) && !bytes.Contains(sent, []byte(secret)) {
			t.Errorf("the caller sees %q in:\n%.600s", secret, said)
		}
	}
}

// Values of the fixture that a principal must never see: masked ones, and those of invisible rows.
var (
	masked = []string{
		"alice@corp", "bob@corp", "carol@corp", "dave@corp", "eve@corp", "obrien@corp", "pct@corp", "ctrl@corp", "zed@corp",
		"13800005678", "13900001234", "13700009999", "13600008888", "15000000000", "16000000001", "17000000002", "18000000000",
	}
	ofDept20 = []string{"Carol Wu", "Dave Ma", "9999.99", "5000.00", "2024-03-12", "2024-03-31 23:30", "2024-02-07", "2024-02-08"}
	ofDept10 = []string{"Alice Zhang", "Bob Li", "250.50", "75.25", "2024-01-10", "2024-02-11"}
	ofNobody = []string{"Zed Hidden", "2024-05-05", "42.00", "2024-02-10"}
	secrets  = map[string][]string{
		"alice":        slices.Concat(masked, ofDept20, ofNobody),
		"readonly_key": slices.Concat(masked, ofDept20, ofNobody),
		"bob":          slices.Concat(masked, ofDept10, ofNobody),
		"root":         masked,
		"dave_no_dept": slices.Concat(masked, ofDept20, ofDept10, ofNobody),
	}
)

// textsAreOurs fails when a value that the caller sent stands in the text of a statement instead of among its
// arguments. Names of the catalog are chosen there, not copied, and may stand in a text; so may whole numbers,
// which the renderer prints itself.
func textsAreOurs(t *testing.T, args *value, ran []testdb.Statement) {
	t.Helper()
	args.walk(nil, func(path []string, v *value) {
		s := v.text()
		if len(s) < 3 || ordinary(s) {
			return
		}
		for _, st := range ran {
			if strings.Contains(st.SQL, s) {
				t.Errorf("the caller's %q (%s) stands in the text of a statement:\n%s", s, strings.Join(path, "."), st.SQL)
			}
		}
	})
}

// vocabulary holds the words of requests that are names of the catalog or words of SQL.
var vocabulary = map[string]bool{}

func init() {
	for _, w := range strings.Fields(`id name email phone status dept_id created_at parent_id user_id amount Dept User Order
		and or not asc desc inner left right cross like in is null select count sum date round upper substring regexp between
		exists string func field type`) {
		vocabulary[strings.ToUpper(w)] = true
	}
}

var word = regexp.MustCompile(`\pL[\pL\d_]*`)

// ordinary says whether s, such as IS NULL or COUNT(*), is made of such words and brackets alone. A text like
// that may be in a statement because the renderer writes the same; TestCorpusTaint looks at those too, with
// marks in their place.
func ordinary(s string) bool {
	for _, w := range word.FindAllString(s, -1) {
		if !vocabulary[strings.ToUpper(w)] {
			return false
		}
	}
	return strings.Trim(word.ReplaceAllString(s, ""), " ()*.") == ""
}

// compare holds the rows of the answer to those of the line, as a multiset unless the request has an order.
func (l *line) compare(t *testing.T, ans *engine.Answer, args *value) {
	t.Helper()
	columns, rows := decode(t, ans)
	var got, want []string
	if l.Want.RowsIDs != nil {
		at := slices.Index(columns, "id")
		if at < 0 {
			t.Fatalf("no column id in the answer:\n%s", ans.Text)
		}
		for _, r := range rows {
			got = append(got, canonical(r[at]))
		}
		for _, id := range l.Want.RowsIDs {
			want = append(want, canonical(id))
		}
	} else {
		for _, r := range rows {
			got = append(got, canonicalRow(r))
		}
		for _, raw := range l.Want.Rows {
			d := json.NewDecoder(bytes.NewReader(raw))
			d.UseNumber()
			var r []any
			if err := d.Decode(&r); err != nil {
				t.Fatal(err)
			}
			want = append(want, canonicalRow(r))
		}
	}
	if args.member("orderBy") == nil {
		slices.Sort(got)
		slices.Sort(want)
	}
	if !slices.Equal(got, want) {
		t.Errorf("rows are\n  %s\nwant\n  %s\n(%s)", strings.Join(got, "\n  "), strings.Join(want, "\n  "), l.Note)
	}
}

func decode(t testing.TB, ans *engine.Answer) (columns []string, rows [][]any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(ans.Text))
	d.UseNumber()
	var a struct {
		Columns []string
		Rows    [][]any
	}
	if err := d.Decode(&a); err != nil {
		t.Fatalf("the answer is no JSON: %v\n%s", err, ans.Text)
	}
	return a.Columns, a.Rows
}

func canonicalRow(row []any) string {
	cells := make([]string, len(row))
	for i, c := range row {
		cells[i] = canonical(c)
	}
	return strings.Join(cells, " | ")
}

var decimal = regexp.MustCompile(`^-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]{1,3})?$`)

// canonical writes equal values alike: numbers as exact decimals, whether sent as a number or as a text.
func canonical(v any) string {
	var s string
	switch v := v.(type) {
	case json.Number:
		s = v.String()
	case string:
		s = v
	default:
		return fmt.Sprintf("%T %v", v, v)
	}
	if decimal.MatchString(s) {
		if r, ok := new(big.Rat).SetString(s); ok {
			return r.RatString()
		}
	}
	return quote(s)
}

// scores counts passes and failures by category.
type scores struct {
	mu           sync.Mutex
	names        []string
	passed, lost map[string]int
}

func (s *scores) add(category string, failed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.passed == nil {
		s.passed, s.lost = map[string]int{}, map[string]int{}
	}
	if !slices.Contains(s.names, category) {
		s.names = append(s.names, category)
	}
	if failed {
		s.lost[category]++
	} else {
		s.passed[category]++
	}
}

func (s *scores) print(t *testing.T) {
	var b strings.Builder
	fmt.Fprintf(&b, "%-28s %6s %6s\n", "category", "passed", "failed")
	passed, lost := 0, 0
	for _, n := range s.names {
		fmt.Fprintf(&b, "%-28s %6d %6d\n", n, s.passed[n], s.lost[n])
		passed += s.passed[n]
		lost += s.lost[n]
	}
	fmt.Fprintf(&b, "%-28s %6d %6d", "all", passed, lost)
	t.Logf("attack corpus, all databases together:\n%s", b.String())
}
