package schema

import (
	"math"
	"strings"
	"unicode/utf8"
)

// A term is one alternative of the keywords.
type term struct {
	whole    string // letters and digits only
	words    string // " word word ", by stems
	segments []weighted
	latin    bool    // no segment is of a script without blanks
	factor   float64 // below 1 for what was not typed but may have been meant
}

// A weighted is a segment with how much it says: rare words say more.
type weighted struct {
	segment
	weight float64
}

// terms cuts keywords into terms.
func (x *index) terms(keywords string) []term {
	if utf8.RuneCountInString(keywords) > maxKeywords {
		keywords = string([]rune(keywords)[:maxKeywords])
	}
	var out []term
	for _, part := range strings.FieldsFunc(keywords, func(r rune) bool { return narrow(r) == '|' }) {
		segs := segments(part)
		if len(segs) == 0 {
			continue
		}
		out = append(out, x.newTerm(compact(part), segs, 1))
		if len(out) == maxTerms {
			break
		}
	}
	return out
}

func (x *index) newTerm(whole string, segs []segment, factor float64) term {
	t := term{whole: whole, words: joined(segs), factor: factor, latin: true}
	seen := map[string]bool{}
	for _, s := range segs {
		parts := []segment{s}
		if s.cjk {
			t.latin = false
			parts = x.dict.split(s.text)
		}
		for _, p := range parts {
			if !seen[p.text] && len(t.segments) < maxSegments {
				seen[p.text] = true
				t.segments = append(t.segments, weighted{p, x.weight(p)})
			}
		}
	}
	return t
}

// weight says how telling a segment is: the fewer resources are called so, the more.
func (x *index) weight(s segment) float64 {
	n := 0
	x.main.each(s, func(int, float64) { n++ })
	w := math.Log(1 + float64(len(x.resources))/float64(1+n/2))
	if faint[s.text] {
		w *= 0.1
	}
	return max(w, 0.05)
}

// each calls f for the entries that hold s, with how well: 1 for a whole word.
func (w *wording) each(s segment, f func(entry int, quality float64)) {
	if s.cjk {
		w.whole.each(s.text, func(e, _ int) {
			// The more of a name a word is, the more the name is meant.
			f(e, 0.7+0.3*float64(len(s.text))/float64(len(w.whole.entry(e))))
		})
		return
	}
	begun, full := " "+s.text, " "+s.text+" "
	if len(s.text) < 3 {
		w.words.each(full, func(e, _ int) { f(e, 1) })
		return
	}
	w.words.each(begun, func(e, _ int) {
		if strings.Contains(w.words.entry(e), full) {
			f(e, 1)
		} else {
			f(e, 0.75)
		}
	})
	if len(s.text) >= 4 {
		w.whole.each(s.text, func(e, _ int) {
			if !strings.Contains(w.words.entry(e), begun) {
				f(e, 0.35)
			}
		})
	}
}
