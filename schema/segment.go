package schema

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// narrow gives the plain form of a full-width character: Ａ is A, ｜ is |, the wide blank is a blank.
func narrow(r rune) rune {
	switch {
	case r >= 0xff01 && r <= 0xff5e:
		return r - 0xfee0
	case r == 0x3000:
		return ' '
	}
	return r
}

// cjk says whether r belongs to a script that is written without blanks between words.
func cjk(r rune) bool {
	return r >= 0x2e80 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul)
}

// compact gives the letters and digits of s, narrow and small: "Sales-Order Item" is "salesorderitem".
func compact(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r = narrow(r); unicode.IsLetter(r) || unicode.IsDigit(r) {
			b.WriteRune(unicode.ToLower(r))
		}
	}
	return b.String()
}

// A segment is one word of a text: a stem, or a run of characters without blanks.
type segment struct {
	text string
	cjk  bool
}

// segments splits s at blanks and signs, at changes of script, before digits and at the humps of camelCase.
func segments(s string) []segment {
	var out []segment
	var word []rune
	flush := func() {
		if len(word) == 0 {
			return
		}
		if cjk(word[0]) {
			out = append(out, segment{string(word), true})
		} else {
			out = append(out, segment{stem(strings.ToLower(string(word))), false})
		}
		word = word[:0]
	}
	for _, r := range s {
		r = narrow(r)
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			flush()
			continue
		}
		if n := len(word); n > 0 {
			last := word[n-1]
			switch {
			case cjk(last) != cjk(r), unicode.IsDigit(last) != unicode.IsDigit(r), unicode.IsLower(last) && unicode.IsUpper(r):
				flush()
			case n > 1 && unicode.IsUpper(word[n-2]) && unicode.IsUpper(last) && unicode.IsLower(r): // HTTPServer
				word = word[:n-1]
				flush()
				word = append(word, last)
			}
		}
		word = append(word, r)
	}
	flush()
	return out
}

// joined writes segments between blanks, so that a word can be looked for as " word ".
func joined(list []segment) string {
	var b strings.Builder
	b.WriteByte(' ')
	for _, s := range list {
		b.WriteString(s.text)
		b.WriteByte(' ')
	}
	return b.String()
}

var irregular = map[string]string{
	"people": "person", "children": "child", "men": "man", "women": "woman", "indices": "index", "matrices": "matrix",
	"analyses": "analysis", "bases": "base", "feet": "foot", "teeth": "tooth", "mice": "mouse", "criteria": "criterion",
	"news": "news", "series": "series", "leaves": "leave", "lives": "life", "halves": "half", "shelves": "shelf",
	"warehouses": "warehouse", "houses": "house", "expenses": "expense", "licenses": "license", "responses": "response",
	"purchases": "purchase", "courses": "course", "databases": "database", "phases": "phase", "releases": "release",
	"causes": "cause", "clauses": "clause", "cases": "case", "leases": "lease", "uses": "use", "senses": "sense",
	"nurses": "nurse", "horses": "horse", "caches": "cache", "axes": "axis", "movies": "movie", "cookies": "cookie",
}

// stem takes the plural from an English word. Both sides of a comparison go through it, so what matters is only that
// singular and plural meet.
func stem(w string) string {
	if s, ok := irregular[w]; ok {
		return s
	}
	n := len(w)
	switch {
	case n < 4 || w[n-1] != 's':
		return w
	case strings.HasSuffix(w, "ss"), strings.HasSuffix(w, "us"), strings.HasSuffix(w, "is"):
		return w
	case strings.HasSuffix(w, "ies") && n > 4:
		return w[:n-3] + "y"
	case strings.HasSuffix(w, "sses"), strings.HasSuffix(w, "xes"), strings.HasSuffix(w, "ches"), strings.HasSuffix(w, "shes"),
		strings.HasSuffix(w, "zzes"), strings.HasSuffix(w, "uses"), strings.HasSuffix(w, "oes"):
		return w[:n-2]
	}
	return w[:n-1]
}

// faint are words that say little about what is looked for. They count only a little beside other words.
var faint = func() map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(`a an the of for to in on at and or by with from is are was all any each every show me my give get find
		list query search look what which who where when how many much about table data info information record detail
		的 了 和 与 或 在 是 有 请 请问 查 查询 查看 查找 搜索 找 看 所有 全部 哪些 哪个 什么 多少 怎么 一下 我 我们 你 要 想 信息 数据 表 列表 资料 记录`) {
		m[stem(w)] = true
	}
	return m
}()

// maxWord is the longest entry of a dictionary, in characters.
const maxWord = 12

// A dictionary knows the words that a catalog's own names are made of.
type dictionary map[string]bool

// newDictionary takes the names themselves, and what several of them begin or end with: from 销售订单, 采购订单 and
// 订单明细 it learns 订单.
func newDictionary(runs map[string]bool) dictionary {
	d := dictionary{}
	ends := map[string]int{}
	for run := range runs {
		r := []rune(run)
		if len(r) >= 2 && len(r) <= maxWord {
			d[run] = true
		}
		for n := 2; n <= 4 && n < len(r); n++ {
			ends[string(r[:n])]++
			ends[string(r[len(r)-n:])]++
		}
	}
	for w, n := range ends {
		if n >= 3 {
			d[w] = true
		}
	}
	for w := range faint {
		if first, _ := utf8.DecodeRuneInString(w); cjk(first) {
			d[w] = true
		}
	}
	return d
}

// split cuts a run of characters into words of d, longest first. What d does not know becomes overlapping pairs.
func (d dictionary) split(run string) []segment {
	r := []rune(run)
	var out []segment
	gap := 0
	pairs := func(end int) {
		for i := gap; i+1 < end; i++ {
			out = append(out, segment{string(r[i : i+2]), true})
		}
		if end-gap == 1 && (len(r) == 1 || end < len(r) && gap == 0) {
			out = append(out, segment{string(r[gap:end]), true})
		}
	}
	for i := 0; i < len(r); {
		n := min(maxWord, len(r)-i)
		for n > 0 && !d[string(r[i:i+n])] {
			n--
		}
		if n == 0 {
			i++
			continue
		}
		pairs(i)
		out = append(out, segment{string(r[i : i+n]), true})
		i += n
		gap = i
	}
	pairs(len(r))
	return out
}
