package schema

import (
	"strings"
	"sync"

	"github.com/mozillazg/go-pinyin"
)

// A syllable is one character of a name with all its readings: which one is meant (银行, 行走) is not known.
type syllable struct {
	readings []string
	first    uint32 // bit i: a reading begins with 'a'+i
}

// A spelling is a name as it sounds; characters that are not Chinese stand for themselves.
type spelling []syllable

// letters notes every letter that s may be typed with, by which most names are told apart at once.
func (s spelling) letters() uint32 {
	var all uint32
	for _, x := range s {
		for _, r := range x.readings {
			all |= bag(r)
		}
	}
	return all
}

var (
	pinyinArgs = pinyin.Args{Style: pinyin.Normal, Heteronym: true}
	readingsOf sync.Map // rune → syllable; the library takes microseconds for each character
)

func spell(compacted string) (s spelling, chinese bool) {
	for _, r := range compacted {
		if known, ok := readingsOf.Load(r); ok {
			s = append(s, known.(syllable))
			chinese = chinese || cjk(r)
			continue
		}
		x := syllable{readings: pinyin.SinglePinyin(r, pinyinArgs)}
		if len(x.readings) == 0 {
			x.readings = []string{string(r)}
		}
		for _, p := range x.readings {
			if c := p[0] - 'a'; c < 26 {
				x.first |= 1 << c
			}
		}
		readingsOf.Store(r, x)
		s = append(s, x)
		chinese = chinese || cjk(r)
	}
	return s, chinese
}

// A sounding is how typed letters fit a spelling: from the character at start over n of them, full of which were
// spelt out and not only begun.
type sounding struct{ start, n, full int }

// sound finds letters (yonghu, yh, yongh) in s, best at its beginning.
func (s spelling) sound(letters string) (best sounding, ok bool) {
	for start := range s {
		if s[start].first&(1<<(letters[0]-'a')) == 0 {
			continue
		}
		steps := 400 // names are short; this stops letters made to branch
		if full, n, fits := s[start:].eat(letters, &steps); fits {
			if !ok || full > best.full {
				best, ok = sounding{start, n, full}, true
			}
			if start == 0 {
				return best, true
			}
		}
	}
	return best, ok
}

// eat takes letters from the beginning of s and gives the reading with the most syllables spelt out.
func (s spelling) eat(letters string, steps *int) (full, n int, ok bool) {
	if letters == "" {
		return 0, 0, true
	}
	if *steps--; len(s) == 0 || *steps < 0 || letters[0] < 'a' || letters[0] > 'z' || s[0].first&(1<<(letters[0]-'a')) == 0 {
		return 0, 0, false
	}
	take := func(letter int, spelt int) {
		if f, k, fits := s[1:].eat(letters[letter:], steps); fits && (!ok || f+spelt > full || f+spelt == full && k+1 > n) {
			full, n, ok = f+spelt, k+1, true
		}
	}
	for _, r := range s[0].readings {
		switch {
		case strings.HasPrefix(letters, r):
			take(len(r), 1)
		case strings.HasPrefix(r, letters): // the last syllable is still being typed
			take(len(letters), 0)
		}
	}
	if !ok || full == 0 {
		for _, r := range s[0].readings {
			if len(r) > 1 && r[0] == letters[0] {
				take(1, 0)
				if len(letters) > 1 && r[1] == 'h' && letters[1] == 'h' {
					take(2, 0)
				}
			}
		}
	}
	return full, n, ok
}

// typed gives s with ü as v when all of it can be typed pinyin.
func typed(s string) (string, bool) {
	s = strings.ReplaceAll(s, "ü", "v")
	if len(s) < 2 || len(s) > 60 {
		return "", false
	}
	for i := range len(s) {
		if s[i] < 'a' || s[i] > 'z' {
			return "", false
		}
	}
	return s, true
}

// alike finds a run of characters in s that sound like q, however they are written: 定单 for 订单.
func (s spelling) alike(q spelling) (start int, ok bool) {
	for start = range len(s) - len(q) + 1 {
		fits := true
		for i := range q {
			if !shareReading(s[start+i], q[i]) {
				fits = false
				break
			}
		}
		if fits {
			return start, true
		}
	}
	return 0, false
}

func shareReading(a, b syllable) bool {
	if a.first&b.first == 0 {
		return false
	}
	for _, x := range a.readings {
		for _, y := range b.readings {
			if x == y {
				return true
			}
		}
	}
	return false
}
