package problem

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
)

func visible(r rune) bool { return unicode.IsPrint(r) }

func hex(r rune) string { return strconv.FormatInt(int64(r), 16) }

// Nearest gives up to n of names that a misspelt word may have meant, best first. Only names the caller may
// see may be passed: a hint must not reveal one.
func Nearest(word string, names []string, n int) []string {
	type scored struct {
		name string
		cost int
	}
	w := []rune(strings.ToLower(word))
	if len(w) > 64 {
		return nil
	}
	var s []scored
	for _, name := range names {
		x := []rune(strings.ToLower(name))
		c := distance(w, x)
		if len(w) >= 3 && (strings.Contains(string(x), string(w)) || strings.Contains(string(w), string(x)) && len(x) >= 3) {
			c = min(c, 2)
		}
		if c <= max(2, len(x)/3) && c < max(len(x), len(w)) {
			s = append(s, scored{name, c})
		}
	}
	slices.SortStableFunc(s, func(a, b scored) int { return a.cost - b.cost })
	if len(s) > n {
		s = s[:n]
	}
	out := make([]string, len(s))
	for i := range s {
		out[i] = s[i].name
	}
	return out
}

// distance is the Damerau–Levenshtein distance with adjacent swaps: one slip of a finger costs one.
func distance(a, b []rune) int {
	if len(b) > 64 {
		b = b[:64]
	}
	prev2 := make([]int, len(b)+1)
	prev := make([]int, len(b)+1)
	cur := make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], prev2[j-2]+1)
			}
		}
		prev2, prev, cur = prev, cur, prev2
	}
	return prev[len(b)]
}

// OneOf words a hint that lists what would have been right: the nearest names if there are any, else all of
// a short list, else nothing.
func OneOf(word string, names []string) string {
	if near := Nearest(word, names, 3); len(near) > 0 {
		return "nearest: " + strings.Join(near, ", ")
	}
	if len(names) > 0 && len(names) <= 40 {
		return "one of: " + strings.Join(names, ", ")
	}
	return ""
}
