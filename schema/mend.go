package schema

import (
	"cmp"
	"math/bits"
	"slices"
	"strings"
)

// maxMended is how many readings of a misspelt term are tried.
const maxMended = 4

// mended gives what t may have been meant to be: the same words with those that no name holds replaced by the nearest
// that one does.
func (x *index) mended(t term) []term {
	if !t.latin {
		return nil
	}
	var out []term
	segs := make([]segment, len(t.segments))
	for i, s := range t.segments {
		segs[i] = s.segment
	}
	unknown := slices.ContainsFunc(segs, func(s segment) bool { return !x.writes(s.text) })
	// A name typed as one word, or several words run together.
	if unknown && !x.writes(t.whole) {
		for _, w := range x.vocab.near(t.whole, 2) {
			out = append(out, x.newTerm(w.word, segments(w.word), mendFactor(w.cost)))
		}
	}
	if len(segs) > 1 {
		worst := 0
		for i, s := range segs {
			if s.cjk || x.writes(s.text) {
				continue
			}
			if near := x.vocab.near(s.text, 1); len(near) > 0 {
				segs[i].text = near[0].word
				worst = max(worst, near[0].cost)
			}
		}
		if worst > 0 {
			out = append(out, x.newTerm(strings.ReplaceAll(joined(segs), " ", ""), segs, mendFactor(worst)))
		}
	}
	return out[:min(len(out), maxMended)]
}

func mendFactor(cost int) float64 {
	if cost == 1 {
		return 0.85
	}
	return 0.7
}

// writes says whether w stands in any name, so that it is no slip.
func (x *index) writes(w string) bool {
	return strings.Contains(x.main.whole.text, w) || strings.Contains(x.fields.whole.text, w) ||
		strings.Contains(x.main.words.text, " "+w+" ") || strings.Contains(x.fields.words.text, " "+w+" ")
}

// A slip is a word with how far it is from what was typed.
type slip struct {
	word string
	cost int
}

// allowed says how many slips a word of n letters may hold.
func allowed(n int) int {
	switch {
	case n < 4:
		return 0
	case n < 6:
		return 1
	}
	return 2
}

// near gives up to n words within the allowed distance, nearest first. Of words that are farther than the nearest
// one none is given.
func (v vocabulary) near(typed string, n int) []slip {
	limit := allowed(len(typed))
	if limit == 0 || len(typed) > 40 {
		return nil
	}
	mine, letters := bag(typed), []byte(typed)
	var out []slip
	for length := max(0, len(typed)-limit); length <= len(typed)+limit && length < len(v); length++ {
		for _, k := range v[length] {
			// Each slip changes at most two letters of the bag.
			if bits.OnesCount32(mine^k.bag) > 2*limit {
				continue
			}
			if c := distance(letters, []byte(k.word), limit); c > 0 && c <= limit {
				if c < limit {
					limit, out = c, out[:0]
				}
				out = append(out, slip{k.word, c})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b slip) int {
		// People seldom mistake the first letter.
		return cmp.Or(cmp.Compare(a.cost, b.cost), cmp.Compare(firstLetter(a.word, typed), firstLetter(b.word, typed)), strings.Compare(a.word, b.word))
	})
	return out[:min(len(out), n)]
}

func firstLetter(a, b string) int {
	if a[0] == b[0] {
		return 0
	}
	return 1
}

// distance counts the slips between a and b: a letter too many, too few or wrong, or two exchanged. Above limit it
// gives limit+1 without counting on.
func distance[E comparable](a, b []E, limit int) int {
	if len(a)-len(b) > limit || len(b)-len(a) > limit {
		return limit + 1
	}
	var rows [3][65]int
	if len(b) > 64 || len(a) > 64 {
		return limit + 1
	}
	before, last, cur := &rows[0], &rows[1], &rows[2]
	for j := range len(b) + 1 {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur[0] = i
		low := i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(last[j]+1, cur[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], before[j-2]+1)
			}
			low = min(low, cur[j])
		}
		if low > limit {
			return limit + 1
		}
		before, last, cur = last, cur, before
	}
	return last[len(b)]
}

// Nearest gives the codes of up to n visible resources that keywords, which found nothing, come nearest to. It may
// give none.
func (c *Catalog) Nearest(keywords string, visible func(*Resource) bool, n int) []string {
	if c.index == nil || n <= 0 {
		return nil
	}
	type near struct {
		code string
		far  float64
	}
	var out []near
	m := measure{seen: map[string]float64{}}
	for _, t := range c.index.terms(keywords) {
		m.terms = append(m.terms, []rune(t.whole))
	}
	for i, r := range c.index.resources {
		far := 1.0
		for e := attributes * i; e < attributes*(i+1); e++ {
			whole := c.index.main.whole.entry(e)
			far = min(far, m.apart(whole))
			for w := range strings.FieldsSeq(c.index.main.words.entry(e)) {
				far = min(far, m.apart(w))
			}
		}
		if far <= maxApart && (visible == nil || visible(r)) {
			out = append(out, near{r.Code, far})
		}
	}
	slices.SortFunc(out, func(a, b near) int { return cmp.Or(cmp.Compare(a.far, b.far), strings.Compare(a.code, b.code)) })
	codes := make([]string, min(n, len(out)))
	for i := range codes {
		codes[i] = out[i].code
	}
	return codes
}

// maxApart is how much of a word may differ for it to be worth naming.
const maxApart = 0.5

// A measure tells how far words are from the nearest of the terms, each word once.
type measure struct {
	terms [][]rune
	seen  map[string]float64
}

// apart is the distance as a share of the longer word: 0 is equal, 1 has nothing in common.
func (m *measure) apart(word string) float64 {
	if word == "" {
		return 1
	}
	if far, ok := m.seen[word]; ok {
		return far
	}
	far, w := 1.0, []rune(word)
	for _, t := range m.terms {
		n := max(len(t), len(w))
		limit := int(maxApart * float64(n))
		if d := distance(t, w, limit); d <= limit {
			far = min(far, float64(d)/float64(n))
		}
	}
	m.seen[word] = far
	return far
}
