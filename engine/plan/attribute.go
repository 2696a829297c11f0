package plan

import (
	"resq/schema/problem"
	"resq/schema/query"
)

// principalLeaf compares with a value of the principal. A missing one fails closed: for a caller's own func
// token the call is refused, in a row rule no row is seen (A-014, security.md 5.2).
func (b *binder) principalLeaf(l *query.Leaf, x Expr) Expr {
	at := l.At + "/token"
	who := b.view.Who()
	v, ok := who.Func(l.Token)
	if l.TokenType == query.TokenPrincipal {
		v, ok = who.Attributes[l.Token]
	}
	if !ok || !v.List && len(v.Texts) != 1 {
		if b.trusted || b.checking {
			return &missing{}
		}
		b.add(problem.Unauthenticated, problem.Policy, at, "the caller has no "+l.Token, "")
		return nil
	}
	op := l.Op
	if v.List {
		switch op {
		case query.Eq:
			op = query.In
		case query.Ne:
			op = query.NotIn
		case query.In, query.NotIn:
		default:
			b.add(problem.InvalidArgument, problem.Semantics, l.At+"/operator", l.Token+" is a list", "=, !=, IN or NOT IN")
			return nil
		}
	}
	if op == query.In || op == query.NotIn {
		if v.List && len(v.Texts) == 0 && b.trusted {
			return &missing{}
		}
		e := &List{X: x, Not: op == query.NotIn, Exact: b.exact(x)}
		for _, s := range v.Texts {
			a := b.attribute(s, at, x)
			if a == nil {
				return nil
			}
			e.Xs = append(e.Xs, a)
		}
		return e
	}
	a := b.attribute(v.Texts[0], at, x)
	if a == nil {
		return nil
	}
	switch op {
	case query.Eq, query.Ne, query.Lt, query.Le, query.Gt, query.Ge:
		return b.compare(op, x, a)
	}
	b.add(problem.InvalidArgument, problem.Semantics, l.At+"/operator", string(op)+" takes no value of the principal", "=, !=, <, <=, >, >=, IN or NOT IN")
	return nil
}

// attribute types a principal's value by the field; one that does not fit is a fault of the configuration
// and matches nothing.
func (b *binder) attribute(s, at string, x Expr) Expr {
	if !b.trusted {
		return b.token(s, at, x)
	}
	n := len(b.probs)
	if a := b.token(s, at, x); a != nil {
		return a
	}
	b.probs = b.probs[:n]
	return &missing{}
}

// missing marks a rule that lacks an attribute: the whole rule is FALSE then.
type missing struct{ Bool }
