package schema

import (
	"cmp"
	"slices"
)

// Bounds of one search. They are far above what a person or a model asks for.
const (
	maxKeywords = 1000 // characters
	maxTerms    = 16
	maxSegments = 24
	maxFields   = 8 // that a hit names
)

// A Hit is a resource that a search found.
type Hit struct {
	Resource *Resource
	Score    float64
	Fields   []*Field // those that matched, best first; at most eight
}

// Search finds the resources that keywords mean, best first, equals by code. Terms are separated by | or ｜
// and any of them may match; a term matches code, name, table, description or the fields, by words, by parts, in
// pinyin, or with a slip of the typing. Only visible resources are found. Fields that are bound to roles are not
// searched, since a hit would tell that they are there; SearchView searches those a caller may read. Without
// keywords there is no hit.
func (c *Catalog) Search(keywords string, visible func(*Resource) bool) []Hit {
	return c.SearchView(keywords, visible, func(f *Field) bool { return len(f.Roles) == 0 })
}

// SearchView is Search over the fields that readable lets through.
func (c *Catalog) SearchView(keywords string, visible func(*Resource) bool, readable func(*Field) bool) []Hit {
	if c.index == nil {
		return nil
	}
	q := newSearch(c.index, readable)
	for _, t := range c.index.terms(keywords) {
		q.term(t)
	}
	return q.hits(visible)
}

// A search adds up what the terms find.
type search struct {
	x        *index
	readable func(*Field) bool
	best     []float64 // of the terms, by resource
	further  []float64 // the sum of the others
	fields   []fieldHit

	// of the term at hand
	entry []float64 // best class of each attribute
	share []float64 // of the segments, weighted
	rest  []float64 // best of description and fields

	count   []int // scratch
	quality []float64
	part    []float64
}

// A fieldHit is a field that matched.
type fieldHit struct {
	doc   int32
	field *Field
	score float64
}

func newSearch(x *index, readable func(*Field) bool) *search {
	n := len(x.resources)
	return &search{x: x, readable: readable, best: make([]float64, n), further: make([]float64, n),
		part: make([]float64, n), entry: make([]float64, n*attributes), share: make([]float64, n), rest: make([]float64, n)}
}

// term scores every resource for t and for what t may have been meant to be.
func (q *search) term(t term) {
	n := len(q.x.resources)
	score := make([]float64, n)
	for _, t := range append([]term{t}, q.x.mended(t)...) {
		clear(q.entry)
		clear(q.share)
		clear(q.rest)
		q.names(t)
		q.shares(t)
		q.weaker(t)
		for i := range n {
			score[i] = max(score[i], t.factor*q.sum(i))
		}
	}
	for i, s := range score {
		q.further[i] += min(s, q.best[i])
		q.best[i] = max(s, q.best[i])
	}
}

// sum puts together what was found of one resource: its best, and a little for everything else, which decides only
// among equals.
func (q *search) sum(i int) float64 {
	best, all := max(q.share[i], q.rest[i]), 0.0
	for _, s := range q.entry[attributes*i : attributes*(i+1)] {
		best = max(best, s)
		all += s
	}
	if best == 0 {
		return 0
	}
	return best + 0.03*all + 0.02*(q.share[i]+q.rest[i])
}

func (q *search) users(uses []use, f func(doc int, field *Field)) {
	for _, u := range uses {
		if q.readable == nil || q.readable(u.field) {
			f(int(u.doc), u.field)
		}
	}
}

// hits gives the visible resources with a score.
func (q *search) hits(visible func(*Resource) bool) []Hit {
	type scored struct {
		doc   int
		score float64
	}
	var list []scored
	for i, r := range q.x.resources {
		if q.best[i] > 0 && (visible == nil || visible(r)) {
			list = append(list, scored{i, q.best[i] + 0.1*q.further[i]})
		}
	}
	if list == nil {
		return nil
	}
	// Resources are in the order of their codes.
	slices.SortFunc(list, func(a, b scored) int { return cmp.Or(cmp.Compare(b.score, a.score), a.doc-b.doc) })
	first, byDoc := q.fieldsByDoc()
	pool := make([]*Field, 0, len(byDoc))
	out := make([]Hit, len(list))
	for i, s := range list {
		r := q.x.resources[s.doc]
		from := len(pool)
		pool = appendFields(pool, r, byDoc[first[s.doc]:first[s.doc+1]])
		out[i] = Hit{Resource: r, Score: s.score, Fields: pool[from:len(pool):len(pool)]}
	}
	return out
}

// fieldsByDoc gives the field hits grouped by resource, and where the group of each begins.
func (q *search) fieldsByDoc() (first []int, grouped []fieldHit) {
	first = make([]int, len(q.x.resources)+1)
	for _, h := range q.fields {
		first[h.doc+1]++
	}
	for i := 1; i < len(first); i++ {
		first[i] += first[i-1]
	}
	next := slices.Clone(first)
	grouped = make([]fieldHit, len(q.fields))
	for _, h := range q.fields {
		grouped[next[h.doc]] = h
		next[h.doc]++
	}
	return first, grouped
}

// appendFields adds the fields of hits to list: best first, equals in the order of the resource, each once.
func appendFields(list []*Field, r *Resource, hits []fieldHit) []*Field {
	if len(hits) > 1 {
		place := func(h fieldHit) int { return slices.Index(r.Fields, h.field) }
		slices.SortFunc(hits, func(a, b fieldHit) int { return cmp.Or(cmp.Compare(b.score, a.score), place(a)-place(b)) })
	}
	from := len(list)
	for _, h := range hits {
		if len(list)-from < maxFields && !slices.Contains(list[from:], h.field) {
			list = append(list, h.field)
		}
	}
	return list
}
