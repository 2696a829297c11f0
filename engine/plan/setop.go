package plan

import (
	"strconv"

	"resq/schema"
	"resq/schema/problem"
	"resq/schema/query"
)

// setOp binds one set operation.
func (b *binder) setOp(sc *scope, s *query.SetOp) {
	q := b.query(s.Query, sc, branch)
	if len(b.probs) > 0 {
		return
	}
	if len(q.Out) != len(sc.query.Out) {
		b.add(problem.InvalidArgument, problem.Semantics, s.At+"/query/fields", strconv.Itoa(len(q.Out))+" outputs against "+strconv.Itoa(len(sc.query.Out)), "both sides of a set operation have as many fields")
		return
	}
	if s.Op != "unionAll" {
		sc.query.comparable()
		q.comparable()
	}
	sc.query.Sets = append(sc.query.Sets, &Set{Op: s.Op, Query: q})
}

// agree makes the outputs of all terms of q values of the type that they share. It is found over all of them
// before one is converted: text made of a boolean that was made a number would be another text.
func (b *binder) agree(q *Query) {
	if len(q.Sets) == 0 {
		return
	}
	types := make([]schema.Type, len(q.Out))
	for i, o := range q.Out {
		types[i] = o.Type()
		for _, s := range q.Sets {
			types[i] = union(types[i], s.Query.Out[i].Type())
		}
	}
	for _, s := range q.Sets {
		s.Query = b.converted(s.Query, types)
	}
	for i, o := range q.Out {
		e := convertTo(o.Expr, types[i])
		for _, s := range q.Sets {
			if s.Query.Out[i].Field == nil || e != o.Expr {
				o.Field = nil
			}
		}
		o.Expr = e
		o.shared = types[i]
	}
}

// converted gives a query whose outputs are of these types. One that is more than a block is read as a whole
// first: what it holds was found equal, sorted and cut as what it was.
func (b *binder) converted(q *Query, types []schema.Type) *Query {
	if q.composite() {
		w := b.around(q)
		changes := false
		for i, o := range w.Out {
			e := convertTo(o.Expr, types[i])
			changes = changes || e != o.Expr
			o.Expr = e
		}
		if !changes {
			return q
		}
		return w
	}
	for i, o := range q.Out {
		if e := convertTo(o.Expr, types[i]); e != o.Expr {
			o.Expr, o.Field = e, nil
		}
	}
	return q
}

// composite says whether the rows of q hang on the values of its outputs.
func (q *Query) composite() bool {
	return len(q.Sets) > 0 || q.Distinct || q.Limit >= 0 || q.Offset > 0
}

// around reads a query as if it had a name.
func (b *binder) around(q *Query) *Query {
	c := &CTE{ID: b.id(), Query: q}
	s := &Source{ID: b.id(), CTE: c}
	b.sources = append(b.sources, s)
	w := &Query{With: []*CTE{c}, From: s, Limit: -1, single: q.single}
	for i, o := range q.shown() {
		w.Out = append(w.Out, &Output{Name: o.Name, DataType: o.DataType, growth: o.growth, Expr: &Column{Source: s, Out: i, T: outType(o)}})
	}
	return w
}
