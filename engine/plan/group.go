package plan

import (
	"slices"

	"resq/engine/funcs"
	"resq/schema"
	"resq/schema/problem"
	"resq/schema/query"
)

// groupBy binds one entry of groupBy. A constant would be a position to some databases and is refused.
func (b *binder) groupBy(sc *scope, it *query.Item) {
	var e Expr
	if it.Expr == nil && it.Field != "" || it.Plain {
		e = b.path(sc, it.Field, it.At)
	} else if it.Expr != nil {
		at := it.At + "/expr"
		e = b.expr(sc, it.Expr, at, clause{name: "groupBy"})
		if e == nil && len(b.probs) > 0 {
			if o := b.groupOutput(sc, it); o != nil {
				e = o
			}
		}
		if e != nil && !refers(e) {
			b.add(problem.ExprNotAllowed, problem.Constructs, at, "a constant groups nothing", "group by a field or an expression over fields")
			return
		}
	}
	if e != nil {
		sc.query.Group = append(sc.query.Group, groupable(e))
		sc.query.grouped = true
	}
}

// groupOutput lets groupBy name an output's alias, when no field has that name.
func (b *binder) groupOutput(sc *scope, it *query.Item) Expr {
	n, ok := it.Expr.(*query.Name)
	last := b.probs[len(b.probs)-1]
	if !ok || len(n.Parts) != 1 || last.Code != problem.UnknownField {
		return nil
	}
	o, _, ok := sc.outputNamed(n.Parts[0])
	if !ok || o.Field != nil || aggregated(o.Expr) {
		return nil
	}
	b.probs = b.probs[:len(b.probs)-1]
	return o.Expr
}

func groupable(e Expr) Expr {
	if e.Type().Kind == schema.JSON {
		return asText(e)
	}
	return e
}

// refers says whether an expression depends on a row at all.
func refers(e Expr) bool {
	found := false
	Each(e, func(x Expr) {
		switch c := x.(type) {
		case *Column:
			found = true
		case *Call:
			found = found || c.Fn.Class != funcs.Scalar
		case *Scalar, *Sub, *Exists:
			found = true
		}
	})
	return found
}

func aggregated(e Expr) bool {
	found := false
	Each(e, func(x Expr) {
		if c, ok := x.(*Call); ok && c.Fn.Class == funcs.Aggregate && c.Over == nil {
			found = true
		}
	})
	return found
}

// finish checks what can only be seen with the whole query bound, and settles the order.
func (b *binder) finish(sc *scope, r *query.Request) {
	q := sc.query
	if q.grouped && q.hasMask() {
		for i, o := range q.Out {
			if o.Mask != "" {
				b.masked(fieldAt(r, q, i), o.Name)
			}
		}
		return
	}
	if q.hasMask() && (q.Distinct || len(q.Sets) > 0) {
		for i, o := range q.Out {
			if o.Mask != "" {
				b.masked(fieldAt(r, q, i), o.Name)
			}
		}
		return
	}
	if q.Distinct {
		q.comparable()
	}
	b.total(sc)
	if q.grouped {
		b.grouping(sc, r)
	} else if q.Having != nil {
		b.add(problem.InvalidArgument, problem.Semantics, r.At+"/having", "having without groupBy or an aggregate", "put the condition into conditions")
	}
	if len(b.probs) > 0 {
		return
	}
	q.single = len(q.Sets) == 0 && (q.grouped && len(q.Group) == 0 || q.Limit == 1)
	b.settle(sc, r)
	if w := sc.walked(); w != nil && sc.place == top && len(q.Sets) == 0 && len(b.probs) == 0 {
		for _, what := range []string{"cycle", "depth", "rows"} {
			q.Out = append(q.Out, &Output{Name: "#" + what, Expr: &Cut{Source: w, What: what}})
			q.Hidden++
		}
	}
}

// comparable makes documents comparable: not every database tells two of them apart. They are shown as
// documents all the same.
func (q *Query) comparable() {
	for _, o := range q.Out {
		if o.Expr.Type().Kind == schema.JSON {
			o.Expr, o.Field = asText(o.Expr), nil
			if o.DataType == "" {
				o.DataType = "json"
			}
		}
	}
}

func (q *Query) hasMask() bool {
	return slices.ContainsFunc(q.Out, func(o *Output) bool { return o.Mask != "" })
}

// fieldAt is where output i was asked for: an entry of fields, all fields together, or a name of the walk.
func fieldAt(r *query.Request, q *Query, i int) string {
	if i < len(r.Fields) {
		return r.Fields[i].At
	}
	if c, ok := q.Out[i].Expr.(*Column); ok && c.Pseudo != "" && r.Recursive != nil {
		return r.Recursive.At + "/" + c.Pseudo + "Alias"
	}
	return r.At + "/fields"
}

// grouping checks that every output, having and sort key has one value in a group: it is grouped, depends
// on a grouped key, or is inside an aggregate. What depends on a key is grouped too, so that every
// database accepts it; the groups stay the same.
func (b *binder) grouping(sc *scope, r *query.Request) {
	q := sc.query
	g := &grouper{q: q, local: map[*Source]bool{}}
	for _, s := range sc.sources {
		g.local[s.src] = true
	}
	g.dependents()
	for _, o := range q.Out {
		if t := o.Expr; t.Type().Kind == schema.JSON && g.grouped(asText(t)) {
			o.Expr, o.Field = asText(t), nil
			if o.DataType == "" {
				o.DataType = "json"
			}
		}
	}
	report := func(at string, c *Column) {
		b.add(problem.InvalidArgument, problem.Semantics, at, "the field "+problem.Quote(c.Source.Code+"."+c.name())+" is neither grouped nor inside an aggregate",
			"add it to groupBy, put it into ANY_VALUE(…) or another aggregate, or group by the key of its resource")
	}
	for i, o := range q.Out {
		if c := g.loose(o.Expr); c != nil {
			report(fieldAt(r, q, i), c)
		}
	}
	for _, h := range sc.having {
		if c := g.loose(h.expr); c != nil {
			report(h.at, c)
		}
	}
	for i, o := range q.Order {
		if o.Expr != nil {
			if c := g.loose(o.Expr); c != nil {
				report(r.OrderBy[i].At, c)
			}
		}
	}
	q.Group = append(q.Group, g.extra...)
}

type grouper struct {
	q         *Query
	local     map[*Source]bool
	dependent map[*Source]bool
	extra     []Expr
}

// dependents finds the sources whose rows a group determines: those whose key is grouped, and those joined
// by their key to what is determined.
func (g *grouper) dependents() {
	g.dependent = map[*Source]bool{}
	for {
		n := len(g.dependent)
		for s := range g.local {
			if !g.dependent[s] && g.keyed(s) {
				g.dependent[s] = true
			}
		}
		if len(g.dependent) == n {
			return
		}
	}
}

// keyed says whether every part of the key of s has one value in a group.
func (g *grouper) keyed(s *Source) bool {
	if s.CTE != nil {
		in := s.CTE.Query
		if in.grouped && len(in.Group) == 0 && len(in.Sets) == 0 {
			return true // one row
		}
		if len(in.Group) == 0 || len(in.Sets) > 0 {
			return false
		}
		for _, e := range in.Group {
			i := slices.IndexFunc(in.Out, func(o *Output) bool { return same(o.Expr, e) })
			if i < 0 || !g.fixed(&Column{Source: s, Out: i}) {
				return false
			}
		}
		return true
	}
	if len(s.Resource.Key) == 0 {
		return false
	}
	for _, f := range s.Resource.Key {
		if !g.fixed(&Column{Source: s, Field: f}) {
			return false
		}
	}
	return true
}

// fixed says whether a column has one value in a group: it is grouped, or a join equates it with one that
// has. A join that may leave the other side empty still leaves one value, or NULL for the whole row.
func (g *grouper) fixed(c *Column) bool {
	if g.grouped(c) {
		return true
	}
	for _, j := range g.q.Joins {
		for _, p := range equalities(j.On) {
			for k := range p {
				me, other := p[k], p[1-k]
				if !same(me, c) || !g.local[other.Source] || other.Source == c.Source {
					continue
				}
				mine := j.Source == c.Source
				if mine && j.Type == "right" || !mine && j.Type == "left" {
					continue
				}
				if g.grouped(other) || g.dependent[other.Source] {
					return true
				}
			}
		}
	}
	return false
}

func (g *grouper) grouped(e Expr) bool {
	return slices.ContainsFunc(g.q.Group, func(x Expr) bool { return same(x, e) }) || slices.ContainsFunc(g.extra, func(x Expr) bool { return same(x, e) })
}

// loose gives a column of e that has no one value in a group, or nil.
func (g *grouper) loose(e Expr) *Column {
	if e == nil || g.grouped(e) {
		return nil
	}
	switch x := e.(type) {
	case *Column:
		switch {
		case !g.local[x.Source]:
			return nil
		case g.dependent[x.Source]:
			g.extra = append(g.extra, x)
			return nil
		}
		return x
	case *Call:
		if x.Fn.Class == funcs.Aggregate && x.Over == nil {
			return nil
		}
	}
	var bad *Column
	children(e, func(c Expr) {
		if bad == nil {
			bad = g.loose(c)
		}
	})
	if bad != nil {
		return bad
	}
	eachQuery(e, func(q *Query) {
		q.eachExpr(func(c Expr) {
			if col, ok := c.(*Column); ok && bad == nil && g.local[col.Source] {
				bad = g.loose(col)
			}
		})
	})
	return bad
}
