package plan

import (
	"strings"
	"unicode"

	"resq/schema"
	"resq/schema/problem"
	"resq/schema/query"
)

func isWord(r rune, i int) bool {
	return unicode.IsLetter(r) || i > 0 && (unicode.IsDigit(r) || unicode.Is(unicode.Mn, r))
}

// outputs binds fields. None stands for all fields of the main resource.
func (b *binder) outputs(sc *scope, r *query.Request) {
	if r.Recursive != nil {
		b.walk(sc, r)
	}
	if len(r.Fields) == 0 {
		b.allFields(sc, r)
	}
	for i := range r.Fields {
		b.output(sc, &r.Fields[i])
	}
	if w := sc.walked(); w != nil && !sc.query.grouped && len(r.GroupBy) == 0 {
		if w.Walk.Level {
			sc.walkOutput(w.Walk.levelName, &Column{Source: w, Pseudo: "level", T: schema.Type{Kind: schema.Integer}})
		}
		if w.Walk.Path {
			sc.walkOutput(w.Walk.pathName, &Column{Source: w, Pseudo: "path", T: schema.Type{Kind: schema.JSON}})
		}
	}
	b.names(sc, r)
}

// walkOutput adds the level or path of a walk as an output, unless fields has it already.
func (sc *scope) walkOutput(name string, c *Column) {
	for _, o := range sc.query.Out {
		if o.Name == name && same(o.Expr, c) {
			return
		}
	}
	sc.query.Out = append(sc.query.Out, &Output{Name: name, Expr: c})
}

func (sc *scope) walked() *Source {
	for _, s := range sc.sources {
		if s.src.Walk != nil {
			return s.src
		}
	}
	return nil
}

func (b *binder) allFields(sc *scope, r *query.Request) {
	main := sc.sources[0].src
	if main.CTE != nil {
		for i, o := range main.CTE.Query.shown() {
			sc.query.Out = append(sc.query.Out, &Output{Name: o.Name, Expr: &Column{Source: main, Out: i, T: outType(o)}, growth: o.growth})
		}
		return
	}
	for _, f := range b.view.Fields(main.Resource) {
		b.plain(sc, &Column{Source: main, Field: f, T: fieldType(f)}, f.Code, "", r.At+"/fields")
	}
}

func (b *binder) output(sc *scope, f *query.Field) {
	if f.Expr != nil {
		e := b.expr(sc, f.Expr, f.At+"/code", clause{name: "fields", aggregates: true, windows: true})
		if e == nil {
			e = &Arg{} // a problem was added; what refers to the output finds something
		}
		sc.query.Out = append(sc.query.Out, &Output{Name: f.Alias, Expr: e, DataType: f.DataType, growth: growth(e)})
		return
	}
	s := sc.sources[0].src
	if f.Resource != "" {
		var ok bool
		if s, ok = sc.local(f.Resource); !ok {
			b.unknownResource(f.At+"/codeResource", f.Resource, sc.codes(), problem.Resources)
			return
		}
	}
	c, ok := b.lookup(s, f.Code)
	if !ok {
		b.noPlainField(sc, s, f)
		return
	}
	b.plain(sc, c, f.Name(), f.DataType, f.At)
}

// noPlainField says what is wrong with a code and, where it looks like one of the usual slips, how to write
// it instead.
func (b *binder) noPlainField(sc *scope, s *Source, f *query.Field) {
	if head, tail, ok := strings.Cut(f.Code, "."); ok {
		if x, found := sc.local(head); found {
			if _, found := b.lookup(x, tail); found {
				b.add(problem.UnknownField, problem.Fields, f.At+"/code", "there is no field "+problem.Quote(f.Code)+" on "+problem.Quote(s.Code),
					"a plain code has no resource in front: {\"code\":\""+tail+"\",\"codeResource\":\""+head+"\"}")
				return
			}
		}
	}
	if strings.ContainsAny(f.Code, "(*+") {
		b.add(problem.UnknownField, problem.Fields, f.At+"/code", "there is no field "+problem.Quote(f.Code)+" on "+problem.Quote(s.Code),
			"an expression needs isExpr: true and an alias")
		return
	}
	b.noField(s, f.Code, f.At+"/code", problem.Fields)
}

func (b *binder) plain(sc *scope, c *Column, name, dataType, at string) {
	o := &Output{Name: name, Expr: b.use(c), DataType: dataType, Field: c.Field, growth: growth(c)}
	if c.Field != nil && c.Field.Mask != "" && !b.trusted {
		o.Mask = c.Field.Mask
		if sc.place != top {
			b.masked(at, name)
		}
	}
	sc.query.Out = append(sc.query.Out, o)
}

// names refuses two outputs of one name. An alias also clashes with what differs from it in case
// only, since some databases fold it.
func (b *binder) names(sc *scope, r *query.Request) {
	type named struct {
		at    string
		alias bool
	}
	seen := make(map[string]named, len(sc.query.Out))
	for i, o := range sc.query.Out {
		at, alias := fieldAt(r, sc.query, i), i < len(r.Fields) && r.Fields[i].Alias != ""
		key := strings.ToLower(o.Name)
		old, dup := seen[key]
		if dup && (alias || old.alias || sameName(sc.query.Out[:i], o.Name)) {
			b.add(problem.InvalidArgument, problem.Semantics, at, "two outputs are called "+problem.Quote(o.Name), "give one of them an alias")
			return
		}
		seen[key] = named{at, alias}
	}
}

func sameName(outs []*Output, name string) bool {
	for _, o := range outs {
		if o.Name == name {
			return true
		}
	}
	return false
}
