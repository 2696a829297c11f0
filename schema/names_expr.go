package schema

import (
	"slices"
	"strings"

	"resq/schema/problem"
	"resq/schema/query"
)

// expr checks the names in an expression.
func (n *names) expr(e query.Expr, s *scope, at string) {
	eachName(e, func(x *query.Name) {
		if len(x.Parts) == 1 {
			n.bare(x.Parts[0], s, at)
			return
		}
		// Points inside a code and points between codes look alike unless they are quoted.
		for i := len(x.Parts) - 1; i > 0; i-- {
			if owner := s.find(strings.Join(x.Parts[:i], ".")); owner != nil && owner.has(strings.Join(x.Parts[i:], ".")) {
				return
			}
		}
		n.path(s, strings.Join(x.Parts, "."), at)
	})
}

// bare checks a name without a resource: an output, or a field of a source in reach.
func (n *names) bare(name string, s *scope, at string) {
	var all []string
	for o := s; o != nil; o = o.outer {
		if slices.Contains(o.aliases, name) {
			return
		}
		for i := range o.sources {
			if o.sources[i].has(name) {
				return
			}
			all = append(all, o.sources[i].fields()...)
		}
	}
	n.tell(at, problem.OneOf(name, all), "no field %s in the query", problem.Quote(name))
}

// eachName calls f for every name in e.
func eachName(e query.Expr, f func(*query.Name)) {
	all := func(list ...query.Expr) {
		for _, x := range list {
			if x != nil {
				eachName(x, f)
			}
		}
	}
	by := func(list []query.By) {
		for _, b := range list {
			all(b.Expr)
		}
	}
	switch x := e.(type) {
	case *query.Name:
		f(x)
	case *query.Call:
		all(x.Args...)
		by(x.OrderBy)
		if x.Over != nil {
			all(x.Over.Partition...)
			by(x.Over.OrderBy)
		}
	case *query.Unary:
		all(x.X)
	case *query.Binary:
		all(x.L, x.R)
	case *query.Is:
		all(x.X)
	case *query.InList:
		all(x.X)
		all(x.List...)
	case *query.Range:
		all(x.X, x.Low, x.High)
	case *query.Match:
		all(x.X, x.Pattern)
	case *query.Case:
		all(x.Operand, x.Else)
		for _, w := range x.Whens {
			all(w.If, w.Then)
		}
	case *query.Interval:
		all(x.N)
	}
}
