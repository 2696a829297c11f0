package plan

import (
	"slices"
	"strings"

	"resq/schema"
	"resq/schema/problem"
)

// A scope is what names may mean inside one query.
type scope struct {
	parent  *scope // of a correlated query; nil for one that stands alone
	query   *Query
	place   place
	sources []namedSource
	withs   []*CTE
	having  []placed // the comparisons of having
	windows []tied
}

// A placed is a part of a condition and where it stands in the request.
type placed struct {
	expr Expr
	at   string
}

type namedSource struct {
	code string
	src  *Source
}

func (sc *scope) local(code string) (*Source, bool) {
	for _, s := range sc.sources {
		if s.code == code {
			return s.src, true
		}
	}
	return nil, false
}

// find looks in this query and in those around it.
func (sc *scope) find(code string) (*Source, bool) {
	for s := sc; s != nil; s = s.parent {
		if x, ok := s.local(code); ok {
			return x, true
		}
	}
	return nil, false
}

func (sc *scope) codes() []string {
	var out []string
	for s := sc; s != nil; s = s.parent {
		for _, x := range s.sources {
			out = append(out, x.code)
		}
	}
	return out
}

// allWiths are the named queries that may be used here.
func (sc *scope) allWiths() []*CTE {
	if sc == nil {
		return nil
	}
	if sc.parent == nil {
		return sc.withs
	}
	return append(slices.Clone(sc.parent.allWiths()), sc.withs...)
}

func (sc *scope) withCodes() []string {
	var out []string
	for _, w := range sc.allWiths() {
		out = append(out, w.Code)
	}
	return out
}

// fieldNames are the names a source answers to, for hints.
func (b *binder) fieldNames(s *Source) []string {
	if s.CTE != nil {
		out := make([]string, 0, len(s.CTE.Query.Out))
		for _, o := range s.CTE.Query.shown() {
			out = append(out, o.Name)
		}
		return out
	}
	var out []string
	for _, f := range b.view.Fields(s.Resource) {
		out = append(out, f.Code)
	}
	return out
}

func (q *Query) shown() []*Output { return q.Out[:len(q.Out)-q.Hidden] }

// lookup finds a field of a source without complaint.
func (b *binder) lookup(s *Source, name string) (*Column, bool) {
	if s.Walk != nil && name != "" {
		if s.Walk.Level && name == s.Walk.levelName {
			return &Column{Source: s, Pseudo: "level", T: schema.Type{Kind: schema.Integer}}, true
		}
		if s.Walk.Path && name == s.Walk.pathName {
			return &Column{Source: s, Pseudo: "path", T: schema.Type{Kind: schema.JSON}}, true
		}
	}
	if s.CTE != nil {
		for i, o := range s.CTE.Query.shown() {
			if o.Name == name {
				return &Column{Source: s, Out: i, T: outType(o)}, true
			}
		}
		return nil, false
	}
	f, ok := b.view.Field(s.Resource, name)
	if !ok && b.trusted {
		f, ok = s.Resource.Field(name)
	}
	if !ok {
		return nil, false
	}
	return &Column{Source: s, Field: f, T: fieldType(f)}, true
}

// name is what a request calls the column.
func (c *Column) name() string {
	switch {
	case c.Field != nil:
		return c.Field.Code
	case c.Pseudo == "level":
		return c.Source.Walk.levelName
	case c.Pseudo == "path":
		return c.Source.Walk.pathName
	}
	return c.Source.CTE.Query.Out[c.Out].Name
}

// Origin is the column that a named query's output hands on, or the column itself.
func (c *Column) Origin() *Column {
	for c.Field == nil && c.Pseudo == "" {
		in := c.Source.CTE.Query
		next, ok := in.Out[c.Out].Expr.(*Column)
		if !ok || len(in.Sets) > 0 {
			break
		}
		c = next
	}
	return c
}

// outType is the type of a named query's output: what has a type of its own in a database comes out as text.
func outType(o *Output) schema.Type {
	t := o.Type()
	if t.Kind == schema.Enum {
		return textType
	}
	return t
}

// fieldType is the type under which a field takes part in expressions.
func fieldType(f *schema.Field) schema.Type {
	switch {
	case f.Array:
		return schema.Type{Kind: schema.JSON}
	case f.Native != "" && f.Type.Kind != schema.JSON:
		return schema.Type{Kind: schema.Text}
	}
	return f.Type
}

// use records that the request touches a column, so that the source carries it.
func (b *binder) use(c *Column) *Column {
	if c.Field != nil && !slices.Contains(c.Source.used, c.Field) {
		c.Source.used = append(c.Source.used, c.Field)
	}
	if d := c.Field; d != nil && b.conditions > 0 && c.Source.Resource.SoftDelete != nil && c.Source.Resource.SoftDelete.Field == d {
		c.Source.deleted = true
	}
	return c
}

// field finds a field for any use but as a plain output: masked fields are refused (security.md 4.3).
func (b *binder) field(s *Source, name, at string, stage problem.Stage) Expr {
	c, ok := b.lookup(s, name)
	if !ok {
		b.noField(s, name, at, stage)
		return nil
	}
	if c.Field != nil && c.Field.Mask != "" && !b.trusted {
		b.masked(at, name)
		return nil
	}
	return b.use(c)
}

// noField says that a field is not there and, where the name looks like one of the usual slips, what to send.
func (b *binder) noField(s *Source, name, at string, stage problem.Stage) {
	if strings.ContainsAny(name, "(*+") {
		b.add(problem.UnknownField, stage, at, "there is no field "+problem.Quote(name)+" on "+problem.Quote(s.Code), "an expression needs isExpr: true")
		return
	}
	if s.Resource != nil {
		for _, f := range b.view.Fields(s.Resource) {
			if f.Name == name && name != "" {
				b.add(problem.UnknownField, stage, at, "there is no field "+problem.Quote(name)+" on "+problem.Quote(s.Code), "its code is "+f.Code)
				return
			}
		}
	}
	b.unknownField(at, name, s.Code, b.fieldNames(s), stage)
}

func (b *binder) masked(at, name string) {
	b.add(problem.MaskedField, problem.Masks, at, "the field "+problem.Quote(name)+" is masked", "it may only be selected, as a plain entry of fields")
}

// split reads `{Resource}.{field}` by matching codes that are known here, the longest first: names may hold
// points themselves (design.md, section 5).
func (b *binder) split(sc *scope, text, at string) (*Source, string, bool) {
	var best *Source
	var field string
	for s := sc; s != nil && best == nil; s = s.parent {
		for _, x := range s.sources {
			if rest, ok := strings.CutPrefix(text, x.code+"."); ok && (best == nil || len(x.code) > len(best.Code)) {
				best, field = x.src, rest
			}
		}
	}
	if best != nil {
		if _, ok := b.lookup(best, field); !ok && !identifier(field) {
			b.add(problem.InvalidArgument, problem.Shape, at, problem.Quote(text)+" is not {Resource}.{field}", "one field, without direction or expression; for an expression use {\"type\":\"sql\",\"expr\":…}")
			return nil, "", false
		}
		return best, field, true
	}
	head, tail, dotted := strings.Cut(text, ".")
	if dotted && identifier(head) && identifier(tail) {
		b.unknownResource(at, head, sc.codes(), problem.Resources)
		return nil, "", false
	}
	b.add(problem.InvalidArgument, problem.Shape, at, problem.Quote(text)+" is not {Resource}.{field}", "such as "+b.example(sc, text))
	return nil, "", false
}

// example is a `{Resource}.{field}` that the text may have meant, or any.
func (b *binder) example(sc *scope, text string) string {
	for _, s := range sc.sources {
		if c, ok := b.lookup(s.src, text); ok && (c.Field == nil || c.Field.Mask == "") {
			return s.code + "." + text
		}
	}
	return sc.sources[0].code + "." + first(b.fieldNames(sc.sources[0].src))
}

func first(s []string) string {
	if len(s) == 0 {
		return "field"
	}
	return s[0]
}

func identifier(s string) bool {
	for i, r := range s {
		if r != '_' && !isWord(r, i) {
			return false
		}
	}
	return s != ""
}

// path binds `{Resource}.{field}` for any use but as a plain output.
func (b *binder) path(sc *scope, text, at string) Expr {
	s, name, ok := b.split(sc, text, at)
	if !ok {
		return nil
	}
	return b.field(s, name, at, problem.Fields)
}

// outputNamed finds an output by its name. Plain outputs of masked fields are not found: ordering by one
// would tell its values.
func (sc *scope) outputNamed(name string) (*Output, int, bool) {
	for i, o := range sc.query.Out {
		if o.Name == name && o.Mask == "" && o.Expr != nil {
			return o, i, true
		}
	}
	return nil, 0, false
}

// clause says what may stand where an expression is bound.
type clause struct {
	name       string // the key of the request, for messages
	aggregates bool
	outputs    bool // bare names may be outputs
	windows    bool
}
