package plan

import (
	"slices"

	"resq/engine/funcs"
	"resq/schema"
	"resq/schema/problem"
	"resq/schema/query"
)

// A tied window is one whose result hangs on the order of rows that its own order does not tell apart.
type tied struct {
	call *Call
	last bool // the order of such rows is turned round
}

// window adds OVER. Without ORDER BY the functions that number rows would number them at will.
func (x *xbinder) window(call *Call, c *query.Call) Expr {
	if call.T.Kind == schema.Bool && call.Fn.Class == funcs.Aggregate {
		// PostgreSQL knows no least and no greatest boolean.
		whole := schema.Type{Kind: schema.Integer}
		call.Args[0], call.T = &Convert{X: call.Args[0], T: whole}, whole
		return &Convert{X: x.window(call, c), T: boolean}
	}
	switch call.Fn.Name {
	case "MIN", "MAX", "ANY_VALUE":
		if Wide(call.Args[0]) {
			return extreme(call, func(call *Call) Expr { return x.window(call, c) })
		}
	}
	if c.Over == nil {
		if call.Fn.Class == funcs.Aggregate {
			x.sc.query.grouped = true
		}
		return call
	}
	if call.Fn.Name == "GROUP_CONCAT" {
		x.fail(problem.ExprNotAllowed, problem.Constructs, "a string aggregate takes no OVER", "group by the partition in a `with` query")
	}
	w := &Window{Frame: c.Over.Frame}
	for _, p := range c.Over.Partition {
		w.Partition = append(w.Partition, x.bind(p))
	}
	w.OrderBy = x.sortKeys(c.Over.OrderBy)
	if call.Fn.Class == funcs.Window && len(w.OrderBy) == 0 {
		x.fail(problem.ExprNotAllowed, problem.Constructs, call.Fn.Name+" needs an order", call.Fn.Name+"() OVER (ORDER BY …)")
	}
	if f := w.Frame; f != nil && f.Unit == "RANGE" && (f.From.Kind == "PRECEDING" || f.From.Kind == "FOLLOWING" || f.To.Kind == "PRECEDING" || f.To.Kind == "FOLLOWING") {
		x.fail(problem.ExprNotAllowed, problem.Constructs, "a RANGE frame with an offset", "ROWS BETWEEN n PRECEDING AND CURRENT ROW")
	}
	call.Over = w
	switch call.Fn.Name {
	case "PERCENT_RANK", "CUME_DIST":
		// MariaDB gives ten digits behind the point.
		return x.apply("ROUND", []operand{{e: call}, {e: &Int{N: 10}, lit: &query.Literal{Kind: 'i', Text: "10"}}}, "", problem.ExprNotAllowed)
	case "RANK", "DENSE_RANK":
		return call
	case "FIRST_VALUE", "LAST_VALUE", "NTH_VALUE":
		if w.Frame == nil || w.Frame.Unit == "RANGE" {
			return x.amongTies(call)
		}
	}
	if call.Fn.Class == funcs.Window || w.Frame != nil && w.Frame.Unit == "ROWS" && *w.Frame != *wholeFrame {
		x.sc.windows = append(x.sc.windows, tied{call: call})
	}
	if len(call.Args) > 1 && (call.Fn.Name == "LAG" || call.Fn.Name == "LEAD") {
		return x.offset(call)
	}
	return call
}

// offset binds LAG and LEAD with a number of rows. MariaDB's take no default, so it stands where a LAG of 1, which
// is never NULL, finds no row.
func (x *xbinder) offset(call *Call) Expr {
	call.Fn = funcs.Must("#" + call.Fn.Name)
	if len(call.Args) == 2 {
		return call
	}
	def := call.Args[2]
	x.literalFits(call, def)
	t := union(call.T, def.Type())
	there := &Call{Fn: call.Fn, Args: []Expr{&Int{N: 1}, call.Args[1]}, Over: call.Over, T: schema.Type{Kind: schema.Integer}}
	call.Args = call.Args[:2]
	return &Case{Whens: []When{{&Null{X: there}, convertTo(def, t)}}, Else: convertTo(call, t), T: t}
}

// wholeFrame is the frame of all rows of a partition.
var wholeFrame = &query.Frame{Unit: "ROWS", From: query.Bound{Kind: "UNBOUNDED"}, To: query.Bound{Kind: "UNBOUNDED", Following: true}}

// amongTies says which row a function takes whose frame begins or ends with the current row's ties. With a total
// order there would be no ties to share the frame, so the frame is put otherwise: the ties of a row are a partition
// of their own.
func (x *xbinder) amongTies(call *Call) Expr {
	w := call.Over
	fromTies := w.Frame != nil && w.Frame.From.Kind != "UNBOUNDED"
	toTies := w.Frame == nil || w.Frame.To.Kind != "UNBOUNDED"
	ties := slices.Clone(w.Partition)
	for _, o := range w.OrderBy {
		ties = append(ties, o.Expr)
	}
	t := tied{call: call}
	out := Expr(call)
	switch call.Fn.Name {
	case "FIRST_VALUE":
		w.Frame = nil
		if fromTies {
			w.Partition, w.OrderBy = ties, nil
		}
	case "LAST_VALUE":
		if toTies {
			call.Fn, t.last = funcs.Must("FIRST_VALUE"), true
			w.Frame, w.Partition, w.OrderBy = nil, ties, nil
		} else {
			w.Frame = wholeFrame
		}
	default:
		w.Frame = wholeFrame
		switch {
		case fromTies && toTies:
			w.Partition, w.OrderBy = ties, nil
		case fromTies:
			x.fail(problem.ExprNotAllowed, problem.Constructs, "NTH_VALUE with a RANGE frame from the current row", "ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING")
		case toTies:
			seen := &Call{Fn: funcs.Must("#COUNT_ROWS"), T: schema.Type{Kind: schema.Integer}, Over: &Window{Partition: w.Partition, OrderBy: w.OrderBy}}
			out = &Case{Whens: []When{{&Compare{Op: query.Ge, L: seen, R: call.Args[1]}, call}}, T: call.T}
		}
	}
	x.sc.windows = append(x.sc.windows, t)
	return out
}

// total gives every window whose result hangs on it an order that tells all rows apart, so that one request has one
// answer and its pages fit together: by the groups of a grouped query, else by the keys of the sources.
func (b *binder) total(sc *scope) {
	if len(sc.windows) == 0 {
		return
	}
	keys := b.distinguishing(sc)
	for _, t := range sc.windows {
		w := t.call.Over
		w.OrderBy = slices.Clone(w.OrderBy) // a window beside it may share the list
		for _, k := range keys {
			in := func(e Expr) bool { return same(e, k) }
			if !slices.ContainsFunc(w.Partition, in) && !slices.ContainsFunc(w.OrderBy, func(o Order) bool { return in(o.Expr) }) {
				w.OrderBy = append(w.OrderBy, Order{Expr: k, Desc: t.last})
			}
		}
	}
}

// distinguishing are the values that tell the rows of a query apart. Of a source without a key they are all that the
// request reads of it: rows alike in these are alike to the answer too.
func (b *binder) distinguishing(sc *scope) []Expr {
	var out []Expr
	add := func(e Expr) {
		if e = sortable(e); e.Type().Kind != schema.Binary {
			out = append(out, e)
		}
	}
	if sc.query.grouped {
		for _, g := range sc.query.Group {
			add(g)
		}
		return out
	}
	for i, n := range sc.sources {
		s := n.src
		if i > 0 && !sc.query.Joins[i-1].repeats() {
			continue
		}
		if s.CTE != nil {
			for k, o := range s.CTE.Query.shown() {
				add(&Column{Source: s, Out: k, T: outType(o)})
			}
			continue
		}
		fields := s.Resource.Key
		if len(fields) == 0 {
			fields = slices.Clone(s.used)
		}
		for _, f := range fields {
			if f.Mask == "" {
				add(b.use(&Column{Source: s, Field: f, T: fieldType(f)}))
			}
		}
	}
	return out
}
