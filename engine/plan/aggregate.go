package plan

import (
	"slices"
	"strings"

	"resq/engine/funcs"
	"resq/schema"
	"resq/schema/problem"
	"resq/schema/query"
)

// deviation says whether an aggregate is put together of sums.
func deviation(f *funcs.Func) bool {
	switch f.Name {
	case "VAR_POP", "VAR_SAMP", "STDDEV_POP", "STDDEV_SAMP":
		return true
	}
	return false
}

// deviation calculates a variance as (n·Σx² − (Σx)²) / n², or / n·(n−1) for a sample. For whole numbers and
// decimals the sums are exact, so every database gives the same; MySQL and PostgreSQL by themselves would not.
func (x *xbinder) deviation(name string, v Expr, c *query.Call) Expr {
	v = x.numeric(v)
	op := func(op string, l, r Expr) Expr {
		return &Arith{Op: op, L: l, R: r, T: arithType(op, l.Type(), r.Type())}
	}
	over := func(fn string, arg Expr) Expr { return x.window(x.table(fn, arg).(*Call), c) }
	n, sum := over("COUNT", v), over("SUM", v)
	above := op("-", op("*", n, over("SUM", op("*", v, v))), op("*", sum, sum))
	below := op("*", n, n)
	if strings.HasSuffix(name, "_SAMP") {
		below = op("*", n, op("-", n, &Int{N: 1}))
	}
	q := op("/", above, below)
	// Of doubles the difference may be less than 0 by a last digit.
	e := Expr(&Case{Whens: []When{{&Compare{Op: query.Lt, L: q, R: &Int{}}, &Int{}}}, Else: q, T: q.Type()})
	if strings.HasPrefix(name, "STDDEV") {
		return x.table("SQRT", e)
	}
	return e
}

func (x *xbinder) sortKeys(keys []query.By) []Order {
	var out []Order
	for _, k := range keys {
		e := x.bind(k.Expr)
		if _, ok := e.(*Arg); ok {
			x.fail(problem.ExprNotAllowed, problem.Constructs, "a constant is no sort key", "")
		}
		out = append(out, Order{Expr: sortable(e), Desc: k.Desc, Nulls: k.Nulls})
	}
	return out
}

// sortable makes a value sortable: a document as its text, and a calculated whole number by its value, for
// beyond 64 bits it is a text to SQLite.
func sortable(e Expr) Expr {
	switch {
	case e.Type().Kind == schema.JSON:
		return asText(e)
	case Wide(e):
		return &Call{Fn: funcs.Must("#SORT_WHOLE"), Args: []Expr{e}, T: e.Type()}
	}
	return e
}

// stringAggregate settles the order of a string aggregate, so that its text is the same every time.
func (x *xbinder) stringAggregate(call *Call, c *query.Call) {
	if c.Separator != nil {
		if len([]rune(c.Separator.Text)) > 16 {
			x.fail(problem.LimitExceeded, problem.Limits, "a separator of more than 16 characters", "")
		}
		call.Args = append(call.Args[:1], &Arg{Value: c.Separator.Text, T: schema.Type{Kind: schema.Text}})
	}
	if len(call.Args) == 1 {
		call.Args = append(call.Args, &Arg{Value: ",", T: schema.Type{Kind: schema.Text}})
	}
	call.OrderBy = x.sortKeys(c.OrderBy)
	own := bare(call.Args[0])
	isOwn := func(o Order) bool { return same(bare(o.Expr), own) || same(o.Expr, sortable(own)) }
	if call.Distinct && len(call.OrderBy) > 0 && (len(call.OrderBy) > 1 || !isOwn(call.OrderBy[0])) {
		x.fail(problem.ExprNotAllowed, problem.Constructs, "a DISTINCT string aggregate is ordered by its own values only", "leave ORDER BY out")
	}
	if !call.Distinct && !slices.ContainsFunc(call.OrderBy, isOwn) || len(call.OrderBy) == 0 {
		call.OrderBy = append(call.OrderBy, Order{Expr: sortable(own)}) // what is alike by the other keys must not stand at will
	}
	if call.Distinct && own.Type().Kind.Numeric() && refers(own) {
		call.OrderBy[0].Expr = sortable(own)
	} else if call.Distinct {
		call.OrderBy[0].Expr = call.Args[0] // texts that are alike are one
	}
	for i, o := range call.OrderBy {
		if o.Expr.Type().Kind == schema.JSON {
			call.OrderBy[i].Expr = call.Args[0]
		}
	}
}
