package plan

import (
	"slices"

	"resq/engine/funcs"
	"resq/schema"
)

// Wide says whether a whole number may have more than 64 bits. SQLite has no such number: there it is a text of its
// digits, which sorts and compares otherwise.
func Wide(e Expr) bool {
	if e.Type().Kind != schema.Integer {
		return false
	}
	switch x := e.(type) {
	case *Arg:
		_, digits := x.Value.(string)
		return digits
	case *Arith:
		return x.Op != "%" || Wide(x.L) && Wide(x.R)
	case *Call:
		switch x.Fn.Name {
		case "SUM", "ABS", "#WHOLE":
			return true
		case "#SORT_WHOLE":
			return false
		case "ROUND": // in front of the point it may grow
			if len(x.Args) == 2 {
				return true
			}
		}
		return (x.Fn.Result == funcs.Same || x.Fn.Result == funcs.Shared || x.Fn.Result == funcs.RoundOf) && slices.ContainsFunc(x.Args, Wide)
	case *Case:
		return x.Else != nil && Wide(x.Else) || slices.ContainsFunc(x.Whens, func(w When) bool { return Wide(w.Then) })
	case *Scalar:
		return x.Query.wide(0)
	case *Column:
		return x.Field == nil && x.Pseudo == "" && x.Source.CTE.Query.wide(x.Out)
	}
	return false
}

// wide says whether output i may hold such a number.
func (q *Query) wide(i int) bool {
	return Wide(q.Out[i].Expr) || slices.ContainsFunc(q.Sets, func(s *Set) bool { return s.Query.wide(i) })
}

// extreme takes the least or greatest of values that may be wide: by what they sort by.
func extreme(call *Call, around func(*Call) Expr) Expr {
	if !slices.ContainsFunc(call.Args, Wide) {
		return around(call)
	}
	for i, a := range call.Args {
		call.Args[i] = &Call{Fn: funcs.Must("#SORT_WHOLE"), Args: []Expr{a}, T: a.Type()}
	}
	return &Call{Fn: funcs.Must("#WHOLE"), Args: []Expr{around(call)}, T: call.T}
}
