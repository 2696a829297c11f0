package attack_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"resq/engine"
)

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
