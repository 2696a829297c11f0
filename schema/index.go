package schema

import (
	"slices"
	"sort"
	"strings"
	"unicode/utf8"
)

// A corpus is many short strings in one, each ended by a NUL that no query can hold.
type corpus struct {
	text  string
	start []int32 // of each entry; one more at the end
}

func newCorpus(entries []string) corpus {
	var b strings.Builder
	c := corpus{start: make([]int32, 0, len(entries)+1)}
	for _, e := range entries {
		c.start = append(c.start, int32(b.Len()))
		b.WriteString(e)
		b.WriteByte(0)
	}
	c.start = append(c.start, int32(b.Len()))
	c.text = b.String()
	return c
}

func (c *corpus) entry(i int) string { return c.text[c.start[i] : c.start[i+1]-1] }

// each calls f for every entry that holds pattern, with where in the entry it first does.
func (c *corpus) each(pattern string, f func(entry, at int)) {
	if pattern == "" {
		return
	}
	for pos, e := 0, 0; ; {
		i := strings.Index(c.text[pos:], pattern)
		if i < 0 {
			return
		}
		pos += i
		e += sort.Search(len(c.start)-1-e, func(k int) bool { return int(c.start[e+k+1]) > pos })
		f(e, pos-int(c.start[e]))
		pos = int(c.start[e+1])
		e++
	}
}

// A wording is a corpus in the two forms in which a term is compared: as one word, and word by word.
type wording struct{ whole, words corpus }

func newWording(entries []string) wording {
	whole, words := make([]string, len(entries)), make([]string, len(entries))
	for i, e := range entries {
		whole[i], words[i] = compact(e), joined(segments(e))
	}
	return wording{newCorpus(whole), newCorpus(words)}
}

// The attributes of a resource, in the order of their weight.
const (
	byCode = iota
	byName
	byTable
	attributes
)

// A use is a field under one of its texts.
type use struct {
	doc   int32
	field *Field
}

// An index answers searches over the resources of one catalog.
type index struct {
	resources []*Resource // by code
	main      wording     // attributes entries for each resource
	desc      wording     // one for each resource
	fields    wording     // the different codes and names of fields
	fieldUses [][]use
	notes     wording // the different descriptions of fields
	noteUses  [][]use
	heard     []heard // the entries of main that hold Chinese
	fieldEar  []heard // those of fields
	dict      dictionary
	vocab     vocabulary
}

// A vocabulary is the words by length, for typing mistakes.
type vocabulary [][]known

// A known is a word with the letters it holds, by which most other words are told apart at once.
type known struct {
	word string
	bag  uint32
}

func newIndex(resources []*Resource) *index {
	resources = slices.Clone(resources)
	slices.SortFunc(resources, func(a, b *Resource) int { return strings.Compare(a.Code, b.Code) })
	x := &index{resources: resources}
	main := make([]string, 0, attributes*len(resources))
	desc := make([]string, 0, len(resources))
	var fields, notes []string
	fieldID, noteID := map[string]int{}, map[string]int{}
	add := func(list *[]string, ids map[string]int, uses *[][]use, text string, u use) {
		if text == "" {
			return
		}
		id, ok := ids[text]
		if !ok {
			id = len(*list)
			ids[text] = id
			*list = append(*list, text)
			*uses = append(*uses, nil)
		}
		if last := (*uses)[id]; len(last) == 0 || last[len(last)-1] != u {
			(*uses)[id] = append(last, u)
		}
	}
	for i, r := range resources {
		table := r.Table
		if table == r.Code {
			table = "" // it would only count the code twice
		}
		main = append(main, r.Code, r.Name, table)
		desc = append(desc, r.Description)
		for _, f := range r.Fields {
			u := use{int32(i), f}
			add(&fields, fieldID, &x.fieldUses, f.Code, u)
			add(&fields, fieldID, &x.fieldUses, f.Name, u)
			add(&notes, noteID, &x.noteUses, f.Description, u)
		}
	}
	x.main, x.desc, x.fields, x.notes = newWording(main), newWording(desc), newWording(fields), newWording(notes)
	x.heard, x.fieldEar = spellAll(&x.main.whole), spellAll(&x.fields.whole)
	x.learn(main, fields)
	return x
}

// A heard is an entry as it sounds.
type heard struct {
	entry    int
	spelling spelling
	letters  uint32
}

func spellAll(c *corpus) []heard {
	var out []heard
	for i := range len(c.start) - 1 {
		if s, chinese := spell(c.entry(i)); chinese {
			out = append(out, heard{i, s, s.letters()})
		}
	}
	return out
}

// learn collects the words of all names, for cutting queries into words and for mending typing mistakes.
func (x *index) learn(lists ...[]string) {
	runs, words := map[string]bool{}, map[string]bool{}
	for i, list := range lists {
		for _, e := range list {
			for _, s := range segments(e) {
				if s.cjk {
					runs[s.text] = true
				} else {
					words[s.text] = true
				}
			}
			if i == 0 {
				words[compact(e)] = true // a name written as one word may be misspelt as one word
			}
		}
	}
	for _, h := range x.heard {
		var b strings.Builder
		for _, c := range h.spelling {
			b.WriteString(c.readings[0])
		}
		words[b.String()] = true
	}
	x.dict = newDictionary(runs)
	for w := range words {
		if n := len(w); n >= 3 && n <= 40 && !strings.ContainsFunc(w, cjk) && utf8.RuneCountInString(w) == n {
			for len(x.vocab) <= n {
				x.vocab = append(x.vocab, nil)
			}
			x.vocab[n] = append(x.vocab[n], known{w, bag(w)})
		}
	}
	for _, list := range x.vocab {
		slices.SortFunc(list, func(a, b known) int { return strings.Compare(a.word, b.word) })
	}
}

// bag notes which letters and digits a word holds.
func bag(w string) uint32 {
	var b uint32
	for i := range len(w) {
		switch c := w[i]; {
		case c >= 'a' && c <= 'z':
			b |= 1 << (c - 'a')
		case c >= '0' && c <= '9':
			b |= 1 << (26 + c%6)
		}
	}
	return b
}
