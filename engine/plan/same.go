package plan

import "slices"

// children calls f for the parts of e, but not for those of nested queries.
func children(e Expr, f func(Expr)) {
	switch x := e.(type) {
	case *Call:
		for _, a := range x.Args {
			f(a)
		}
		for _, o := range x.OrderBy {
			f(o.Expr)
		}
		if x.Over != nil {
			for _, p := range x.Over.Partition {
				f(p)
			}
			for _, o := range x.Over.OrderBy {
				f(o.Expr)
			}
		}
	case *Arith:
		if x.L != nil {
			f(x.L)
		}
		f(x.R)
	case *Logic:
		for _, y := range x.Xs {
			f(y)
		}
	case *Not:
		f(x.X)
	case *Compare:
		f(x.L)
		f(x.R)
	case *Null:
		f(x.X)
	case *List:
		f(x.X)
		for _, y := range x.Xs {
			f(y)
		}
	case *Sub:
		f(x.X)
	case *Like:
		f(x.X)
		f(x.Pattern)
	case *Match:
		f(x.X)
		f(x.Pattern)
	case *Case:
		for _, w := range x.Whens {
			f(w.If)
			f(w.Then)
		}
		if x.Else != nil {
			f(x.Else)
		}
	case *Convert:
		f(x.X)
	case *Format:
		f(x.X)
	case *Document:
		f(x.Doc)
	case *Contains:
		f(x.Doc)
		for _, y := range x.Values {
			f(y)
		}
	case *Unnest:
		f(x.X)
		f(x.Doc)
	}
}

// Each calls f for e and everything below it, but not for nested queries.
func Each(e Expr, f func(Expr)) {
	if e == nil {
		return
	}
	f(e)
	children(e, func(c Expr) { Each(c, f) })
}

// eachQuery calls f for the nested queries directly in e.
func eachQuery(e Expr, f func(*Query)) {
	switch x := e.(type) {
	case *Scalar:
		f(x.Query)
	case *Sub:
		f(x.Query)
	case *Exists:
		f(x.Query)
	}
}

// eachExpr calls f for every expression of q, at any depth, nested queries included.
func (q *Query) eachExpr(f func(Expr)) {
	visit := func(e Expr) {
		Each(e, func(x Expr) {
			f(x)
			eachQuery(x, func(in *Query) { in.eachExpr(f) })
		})
	}
	for _, o := range q.Out {
		visit(o.Expr)
	}
	for _, j := range q.Joins {
		visit(j.On)
	}
	visit(q.Where)
	for _, g := range q.Group {
		visit(g)
	}
	visit(q.Having)
	for _, o := range q.Order {
		visit(o.Expr)
	}
	for _, w := range q.With {
		w.Query.eachExpr(f)
	}
	for _, s := range q.Sets {
		s.Query.eachExpr(f)
	}
}

// same says whether two expressions are the same for every row. Arguments are the same when their values
// are.
func same(a, b Expr) bool {
	if a == nil || b == nil {
		return a == b
	}
	switch x := a.(type) {
	case *Column:
		y, ok := b.(*Column)
		return ok && x.Source == y.Source && x.Field == y.Field && x.Out == y.Out && x.Pseudo == y.Pseudo && x.Instant == y.Instant
	case *Arg:
		y, ok := b.(*Arg)
		if !ok || x.T != y.T {
			return false
		}
		if _, ok := x.Value.([]byte); ok {
			return false
		}
		if _, ok := y.Value.([]byte); ok {
			return false
		}
		return x.Value == y.Value
	case *Int:
		y, ok := b.(*Int)
		return ok && x.N == y.N
	case *Bool:
		y, ok := b.(*Bool)
		return ok && x.V == y.V
	case *Scalar, *Sub, *Exists:
		return a == b
	}
	return sameShape(a, b) && sameChildren(a, b)
}

func sameChildren(a, b Expr) bool {
	var xs, ys []Expr
	children(a, func(e Expr) { xs = append(xs, e) })
	children(b, func(e Expr) { ys = append(ys, e) })
	return slices.EqualFunc(xs, ys, same)
}

// sameShape compares what a node says beside its parts.
func sameShape(a, b Expr) bool {
	switch x := a.(type) {
	case *Call:
		y, ok := b.(*Call)
		return ok && x.Fn == y.Fn && x.Distinct == y.Distinct && x.Over == nil && y.Over == nil && len(x.Args) == len(y.Args) &&
			slices.EqualFunc(x.OrderBy, y.OrderBy, func(a, b Order) bool { return a.Desc == b.Desc && a.Nulls == b.Nulls })
	case *Arith:
		y, ok := b.(*Arith)
		return ok && x.Op == y.Op && (x.L == nil) == (y.L == nil)
	case *Logic:
		y, ok := b.(*Logic)
		return ok && x.Or == y.Or
	case *Not:
		_, ok := b.(*Not)
		return ok
	case *Compare:
		y, ok := b.(*Compare)
		return ok && x.Op == y.Op
	case *Null:
		y, ok := b.(*Null)
		return ok && x.Not == y.Not
	case *List:
		y, ok := b.(*List)
		return ok && x.Not == y.Not
	case *Like:
		y, ok := b.(*Like)
		return ok && x.Not == y.Not && x.Case == y.Case
	case *Match:
		y, ok := b.(*Match)
		return ok && x.Not == y.Not && x.Case == y.Case
	case *Case:
		y, ok := b.(*Case)
		return ok && len(x.Whens) == len(y.Whens) && (x.Else == nil) == (y.Else == nil)
	case *Convert:
		y, ok := b.(*Convert)
		return ok && x.T == y.T && x.How == y.How
	case *Format:
		y, ok := b.(*Format)
		return ok && slices.Equal(x.Parts, y.Parts)
	case *Document:
		y, ok := b.(*Document)
		return ok && x.Length == y.Length && x.Kind == y.Kind && slices.Equal(x.Path, y.Path)
	}
	return false
}
