package schema

import (
	"strings"
	"unicode/utf8"
)

// The classes of A-139. Each is further from the next than the weights of the attributes can move it.
const (
	scoreEqual     = 100
	scorePrefix    = 70
	scoreSubstring = 45
	scoreSegments  = 30
	scoreShare     = 28
	ratioWeight    = 10 // for how much of the text the term is
)

// weightOf the attributes, in their order.
var weightOf = [attributes]float64{1, 0.97, 0.94}

const (
	fieldWeight = 0.28
	descWeight  = 0.18
	noteWeight  = 0.1
)

// compare calls f for the entries that t is equal to, begins, or is within, and those that hold all its segments.
func (q *search) compare(t *term, w *wording, f func(entry int, score float64)) {
	ratio := func(e int) float64 {
		return float64(len(t.whole)) / float64(max(len(w.whole.entry(e)), len(t.whole)))
	}
	if len(t.whole) > 1 {
		begun := t.words[:len(t.words)-1]
		w.whole.each(t.whole, func(e, at int) {
			inWords := strings.Contains(w.words.entry(e), begun)
			switch text := w.whole.entry(e); {
			case text == t.whole:
				f(e, scoreEqual)
			case at == 0:
				f(e, scorePrefix+ratioWeight*ratio(e))
			case t.latin && len(t.whole) <= 2 && !inWords:
				f(e, 10) // letters within a word
			case inWords:
				f(e, scoreSubstring+3+ratioWeight*ratio(e))
			default:
				f(e, scoreSubstring+ratioWeight*ratio(e))
			}
		})
	}
	if t.latin {
		w.words.each(t.words, func(e, at int) {
			switch text := w.words.entry(e); {
			case text == t.words:
				f(e, scoreEqual-2)
			case at == 0:
				f(e, scorePrefix-1+ratioWeight*ratio(e))
			default:
				f(e, scoreSubstring+2+ratioWeight*ratio(e))
			}
		})
	}
	q.allSegments(t, w, func(e int, quality float64) { f(e, scoreSegments+8*quality*ratio(e)) })
}

// allSegments calls f for the entries that hold every telling segment of t, when there are several.
func (q *search) allSegments(t *term, w *wording, f func(entry int, quality float64)) {
	need := 0
	for _, s := range t.segments {
		if !faint[s.text] {
			need++
		}
	}
	if need < 2 {
		return
	}
	q.count, q.quality = cleared(q.count, len(w.whole.start)), cleared(q.quality, len(w.whole.start))
	n := 0
	var last []int
	for _, s := range t.segments {
		if faint[s.text] {
			continue
		}
		last = last[:0]
		w.each(s.segment, func(e int, quality float64) {
			if q.count[e] == n { // an entry that lacks one of the earlier is out
				q.count[e]++
				q.quality[e] += quality
				last = append(last, e)
			}
		})
		if n++; len(last) == 0 {
			return
		}
	}
	for _, e := range last {
		f(e, q.quality[e]/float64(need))
	}
}

func cleared[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	s = s[:n]
	clear(s)
	return s
}

func (q *search) found(entry int, score float64) {
	q.entry[entry] = max(q.entry[entry], score*weightOf[entry%attributes])
}

// names looks at code, name and table, as written and as they sound.
func (q *search) names(t term) {
	written := false
	q.compare(&t, &q.x.main, func(e int, s float64) {
		written = written || s >= scoreSubstring
		q.found(e, s)
	})
	q.sounds(t, q.x.heard, written, q.found)
}

// sounds looks for pinyin typed in letters and, when nothing is written so, for Chinese that sounds the same.
func (q *search) sounds(t term, list []heard, written bool, f func(entry int, score float64)) {
	if word, ok := typed(t.whole); ok {
		mine := bag(word)
		for _, h := range list {
			if mine&^h.letters == 0 {
				// What was not typed but may have been meant must at least be meant in full.
				if hit, ok := h.spelling.sound(word); ok && (t.factor == 1 || hit.n > 1 && hit.full == hit.n) {
					f(h.entry, soundScore(hit, len(h.spelling), len(word)))
				}
			}
		}
		return
	}
	if written || t.latin || utf8.RuneCountInString(t.whole) < 2 {
		return
	}
	meant, _ := spell(t.whole)
	for _, h := range list {
		if start, ok := h.spelling.alike(meant); ok {
			ratio := float64(len(meant)) / float64(len(h.spelling))
			switch {
			case ratio == 1:
				f(h.entry, 60)
			case start == 0:
				f(h.entry, 42+8*ratio)
			default:
				f(h.entry, 30+8*ratio)
			}
		}
	}
}

// soundScore ranks pinyin below the same class of writing, and initials below syllables.
func soundScore(h sounding, length, typed int) float64 {
	full := float64(h.full) / float64(h.n)
	ratio := float64(h.n) / float64(length)
	switch {
	case h.n == length && h.n > 1:
		return 72 + 13*full
	case h.n == 1 && (h.full == 0 || typed < 3):
		return 0 // one syllable or letter says nothing
	case h.n == 1:
		return 20 + 20*ratio
	case h.start == 0:
		return 38 + 22*full + 8*ratio
	case h.full == 0 && typed < 3:
		return 10
	}
	return 24 + 14*full + 8*ratio
}

// shares adds up the segments that are found anywhere in a resource.
func (q *search) shares(t term) {
	total := 0.0
	for _, s := range t.segments {
		total += s.weight
	}
	part := q.part
	var touched []int
	note := func(doc int, quality float64) {
		if part[doc] == 0 {
			touched = append(touched, doc)
		}
		part[doc] = max(part[doc], quality)
	}
	for _, s := range t.segments {
		touched = touched[:0]
		q.x.main.each(s.segment, func(e int, quality float64) { note(e/attributes, quality*weightOf[e%attributes]) })
		q.x.desc.each(s.segment, func(doc int, quality float64) { note(doc, 0.35*quality) })
		q.x.fields.each(s.segment, func(e int, quality float64) {
			q.users(q.x.fieldUses[e], func(doc int, _ *Field) { note(doc, 0.45*quality) })
		})
		q.x.notes.each(s.segment, func(e int, quality float64) {
			q.users(q.x.noteUses[e], func(doc int, _ *Field) { note(doc, 0.2*quality) })
		})
		for _, doc := range touched {
			q.share[doc] += scoreShare * s.weight * part[doc] / total
			part[doc] = 0
		}
	}
}

// weaker looks at descriptions and fields.
func (q *search) weaker(t term) {
	q.compare(&t, &q.x.desc, func(doc int, s float64) { q.rest[doc] = max(q.rest[doc], s*descWeight) })
	field := func(uses []use, s float64) {
		q.users(uses, func(doc int, f *Field) {
			q.rest[doc] = max(q.rest[doc], s)
			q.fields = append(q.fields, fieldHit{int32(doc), f, s * t.factor})
		})
	}
	written := false
	q.compare(&t, &q.x.fields, func(e int, s float64) {
		written = true
		field(q.x.fieldUses[e], s*fieldWeight)
	})
	q.sounds(t, q.x.fieldEar, written, func(e int, s float64) {
		if s > 0 {
			field(q.x.fieldUses[e], s*fieldWeight)
		}
	})
	q.compare(&t, &q.x.notes, func(e int, s float64) { field(q.x.noteUses[e], s*noteWeight) })
}
