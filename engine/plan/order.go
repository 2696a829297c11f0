package plan

import (
	"slices"
	"strconv"

	"resq/engine/funcs"
	"resq/schema"
	"resq/schema/problem"
	"resq/schema/query"
)

// order binds orderBy.
func (b *binder) order(sc *scope, r *query.Request) {
	q := sc.query
	for i := range r.OrderBy {
		s := &r.OrderBy[i]
		o := Order{Desc: s.Desc, Nulls: s.Nulls}
		if len(r.SetOps) > 0 {
			b.orderOutput(sc, s, &o)
		} else {
			b.orderExpr(sc, s, &o)
		}
		if o.Expr != nil || o.Ordinal > 0 {
			q.Order = append(q.Order, o)
		}
	}
}

// orderOutput sorts the result of set operations: by an output, since the sources are gone.
func (b *binder) orderOutput(sc *scope, s *query.Order, o *Order) {
	name := s.Field
	if n, ok := s.Expr.(*query.Name); ok {
		name = n.Parts[len(n.Parts)-1]
	}
	for i, out := range sc.query.Out {
		if out.Name == name || out.Field != nil && out.Expr != nil && out.Expr.(*Column).Source.Code+"."+out.Field.Code == s.Text {
			if out.Mask != "" {
				b.masked(s.At, name)
			}
			o.Ordinal, o.Whole = i+1, sc.query.wide(i)
			return
		}
	}
	var names []string
	for _, out := range sc.query.Out {
		names = append(names, out.Name)
	}
	b.add(problem.InvalidArgument, problem.Semantics, s.At, "the result of set operations is ordered by an output's name", problem.OneOf(name, names))
}

func (b *binder) orderExpr(sc *scope, s *query.Order, o *Order) {
	if s.Expr != nil {
		at := s.At + "/expr"
		o.Expr = b.expr(sc, s.Expr, at, clause{name: "orderBy", aggregates: true, outputs: true, windows: true})
		if o.Expr != nil && !refers(o.Expr) {
			b.add(problem.ExprNotAllowed, problem.Constructs, at, "a constant is no sort key", "order by a field or an expression over fields")
			o.Expr = nil
		}
	} else if out, _, ok := sc.outputNamed(s.Field); ok && !s.Plain && out.Field == nil {
		o.Expr = out.Expr
	} else if s.Field != "" || s.Plain {
		o.Expr = b.path(sc, s.Field, s.At)
	}
	if o.Expr != nil {
		o.Expr = sortable(o.Expr)
	}
}

// settle makes the order total, so that pages do not overlap and one request has one answer. A nested query
// without a limit needs no order at all.
func (b *binder) settle(sc *scope, r *query.Request) {
	q := sc.query
	if sc.place != top && q.Limit < 0 && q.Offset == 0 {
		q.Order = nil
		return
	}
	switch {
	case len(q.Sets) > 0:
		b.tieOutputs(q)
		return
	case q.Distinct:
		if !b.distinctOrder(q, r) {
			return
		}
		b.tieOutputs(q)
	case q.grouped:
		for _, g := range q.Group {
			q.tie(g)
		}
	default:
		q.keyed = b.tieKeys(sc)
		if !q.keyed {
			b.tieOutputs(q)
		} else if sc.place == top {
			b.keyset(q)
		}
	}
	q.repeat()
}

// tie adds a sort key unless it is there or cannot be sorted by.
func (q *Query) tie(e Expr) {
	switch e.Type().Kind {
	case schema.JSON, schema.Binary:
		return
	}
	for _, o := range q.Order {
		if o.Expr != nil && same(o.Expr, e) {
			return
		}
	}
	q.Order = append(q.Order, Order{Expr: e})
}

// tieKeys orders by the key of the main resource and of every source that may repeat its rows. It says
// false when one of them has no key.
func (b *binder) tieKeys(sc *scope) bool {
	for i, s := range sc.sources {
		if i > 0 && !sc.query.Joins[i-1].repeats() {
			continue
		}
		if s.src.CTE != nil || len(s.src.Resource.Key) == 0 || slices.ContainsFunc(s.src.Resource.Key, func(f *schema.Field) bool { return f.Mask != "" }) {
			return false
		}
	}
	for i, s := range sc.sources {
		if i > 0 && !sc.query.Joins[i-1].repeats() {
			continue
		}
		for _, f := range s.src.Resource.Key {
			sc.query.tie(b.use(&Column{Source: s.src, Field: f, T: fieldType(f)}))
		}
	}
	return true
}

// repeats says whether a join may give several rows for one of the rows before it, or rows of its own.
func (j *Join) repeats() bool {
	if j.Type == "right" || j.Source.CTE != nil || len(j.Source.Resource.Key) == 0 {
		return true
	}
	for _, f := range j.Source.Resource.Key {
		if !slices.ContainsFunc(equalities(j.On), func(p [2]*Column) bool {
			return p[0].Source == j.Source && p[0].Field == f && p[1].Source != j.Source || p[1].Source == j.Source && p[1].Field == f && p[0].Source != j.Source
		}) {
			return true
		}
	}
	return false
}

// tieOutputs orders by every output that is not a sort key yet: rows that are still alike then are equal.
func (b *binder) tieOutputs(q *Query) {
	for i, o := range q.Out {
		switch o.Expr.Type().Kind {
		case schema.JSON, schema.Binary:
			continue
		}
		if o.Mask != "" {
			continue
		}
		if slices.ContainsFunc(q.Order, func(k Order) bool { return k.Ordinal == i+1 || k.Expr != nil && same(k.Expr, o.Expr) }) {
			continue
		}
		q.Order = append(q.Order, Order{Ordinal: i + 1, Whole: q.wide(i)})
	}
}

// distinctOrder handles sort keys that are no outputs of a distinct query: the rows are grouped, and each
// group stands where its first row would.
func (b *binder) distinctOrder(q *Query, r *query.Request) bool {
	outside := -1
	for i := range q.Order {
		k := slices.IndexFunc(q.Out, func(o *Output) bool { return q.Order[i].Expr != nil && same(sortable(o.Expr), q.Order[i].Expr) })
		if k >= 0 {
			q.Order[i].Ordinal, q.Order[i].Expr, q.Order[i].Whole = k+1, nil, q.wide(k)
		} else if q.Order[i].Ordinal == 0 {
			outside = i
		}
	}
	if outside < 0 {
		return true
	}
	windowed := func(e Expr) bool {
		found := false
		Each(e, func(x Expr) {
			if c, ok := x.(*Call); ok && c.Over != nil {
				found = true
			}
		})
		return found
	}
	if q.grouped || slices.ContainsFunc(q.Out, func(o *Output) bool { return windowed(o.Expr) }) || slices.ContainsFunc(q.Order, func(o Order) bool { return windowed(o.Expr) }) {
		b.add(problem.InvalidArgument, problem.Semantics, r.OrderBy[outside].At, "a distinct result is ordered by its outputs", "add the sort key to fields")
		return false
	}
	q.Distinct, q.grouped = false, true
	for _, o := range q.Out {
		q.Group = append(q.Group, groupable(o.Expr))
	}
	var keys []Order
	for _, o := range q.Order {
		if o.Ordinal > 0 {
			keys = append(keys, o)
			continue
		}
		if first := o.Nulls == "first" || o.Nulls == "" && !o.Desc; first {
			// Aggregates pass over NULL, which stands first here.
			one := func(n int64) Expr { return &Int{N: n} }
			null := &Case{Whens: []When{{&Null{X: o.Expr}, one(0)}}, Else: one(1), T: schema.Type{Kind: schema.Integer}}
			keys = append(keys, Order{Expr: &Call{Fn: funcs.Must("MIN"), Args: []Expr{null}, T: null.T}})
		}
		name := "MIN"
		if o.Desc {
			name = "MAX"
		}
		x := extremum(o.Expr)
		o.Expr = &Call{Fn: funcs.Must(name), Args: []Expr{x}, T: x.Type()}
		keys = append(keys, o)
	}
	q.Order = keys
	return true
}

// extremum makes a value one of which there is a least and a greatest in every database.
func extremum(e Expr) Expr {
	switch e.Type().Kind {
	case schema.Bool:
		return &Convert{X: e, T: schema.Type{Kind: schema.Integer}}
	case schema.UUID, schema.JSON, schema.Enum:
		return asText(e)
	}
	return e
}

// repeat replaces sort keys that repeat an output by its place, so that an expression with arguments is the
// same expression to every database.
func (q *Query) repeat() {
	for i := range q.Order {
		o := &q.Order[i]
		if _, col := o.Expr.(*Column); o.Expr == nil || col {
			continue
		}
		for k, out := range q.Out {
			if same(out.Expr, o.Expr) {
				o.Ordinal, o.Expr = k+1, nil
				break
			}
		}
	}
}

// keyset adds the values of the sort keys as outputs, so that a cursor can be made of a row.
func (b *binder) keyset(q *Query) {
	for _, o := range q.Order {
		if o.Expr == nil || !comparedAsSorted(o.Expr) {
			return
		}
	}
	for i, o := range q.Order {
		if !slices.ContainsFunc(q.Out, func(x *Output) bool { return x.Mask == "" && same(x.Expr, o.Expr) }) {
			k := &Output{Name: "#" + strconv.Itoa(i), Expr: o.Expr}
			if c, ok := o.Expr.(*Column); ok {
				k.Field = c.Field
			}
			q.Out = append(q.Out, k)
			q.Hidden++
		}
	}
}

// comparedAsSorted says whether a sort key is compared as it is sorted. An enum is sorted by its declaration and compared
// as a text, and so is a type of the database's own.
func comparedAsSorted(e Expr) bool {
	switch e.Type().Kind {
	case schema.Any, schema.JSON, schema.Binary, schema.Enum:
		return false
	}
	c, ok := e.(*Column)
	return !ok || c.Field == nil || c.Field.Native == ""
}

// page settles the window of rows: where the sort keys' values are found, and where a cursor begins.
func (b *binder) page(p *Plan, q *Query, r *query.Request, o Options) {
	p.page = Page{Limit: q.Limit, Offset: q.Offset}
	if len(o.After) > 0 {
		p.page.Seen, _ = o.After[0].(int64)
		o.After = o.After[1:]
	}
	if q.grouped || q.Distinct || len(q.Sets) > 0 {
		if r.Cursor != "" {
			b.add(problem.InvalidArgument, problem.Semantics, "/cursor", "a grouped, distinct or combined result has no cursor", "page with offset")
		}
		return
	}
	var keys []int
	for _, k := range q.Order {
		var e = k.Expr
		i := k.Ordinal - 1
		if e != nil {
			i = slices.IndexFunc(q.Out, func(x *Output) bool { return x.Mask == "" && same(x.Expr, e) })
		}
		if i < 0 || !comparedAsSorted(q.Out[i].Expr) {
			keys = nil
			break
		}
		keys = append(keys, i)
	}
	if !q.keyed {
		keys = nil // rows that are alike could be skipped
	}
	p.page.Keys = keys
	if r.Cursor == "" {
		return
	}
	if keys == nil || len(o.After) != len(keys) {
		b.add(problem.InvalidArgument, problem.Semantics, "/cursor", "the cursor is not of this request", "send it with the very request it came with but for limit, fields and format")
		return
	}
	q.After = b.after(q, keys, o.After)
}

// after is the condition of the rows behind the cursor's: later in the first key, or alike in it and later
// in the second, and so on. NULL stands first in ascending order unless nulls says otherwise.
func (b *binder) after(q *Query, keys []int, vals []any) Expr {
	var alternatives []Expr
	var alike []Expr
	for i, k := range q.Order {
		e := q.Out[keys[i]].Expr
		nullsFirst := k.Nulls == "first" || k.Nulls == "" && !k.Desc
		var later, equal Expr
		if vals[i] == nil {
			equal = &Null{X: e}
			if nullsFirst {
				later = &Null{X: e, Not: true}
			}
		} else {
			a := kept(vals[i], e)
			op := query.Gt
			if k.Desc {
				op = query.Lt
			}
			later, equal = &Compare{Op: op, L: e, R: a}, &Compare{Op: query.Eq, L: e, R: a}
			if !nullsFirst {
				later = &Logic{Or: true, Xs: []Expr{later, &Null{X: e}}}
			}
		}
		if later != nil {
			alternatives = append(alternatives, &Logic{Xs: append(slices.Clone(alike), later)})
		}
		alike = append(alike, equal)
	}
	if len(alternatives) == 0 {
		return &Bool{V: false}
	}
	return &Logic{Or: true, Xs: alternatives}
}

// kept makes an argument of a sort key's value. What decides is the form in which the database gave it, and not the
// key's declared type: a decimal has digits that a double has not, and a SQLite column may hold a text that is no
// date under a date's name.
func kept(v any, e Expr) *Arg {
	a := &Arg{Value: v, Kept: true}
	switch x := v.(type) {
	case int64, uint64:
		a.T.Kind = schema.Integer
	case float64:
		a.T.Kind = schema.Number
	case bool:
		a.T.Kind = schema.Bool
	default:
		t := e.Type()
		switch {
		case t.Kind.Temporal():
			a.T, a.Bare = t, true
			if c, ok := e.(*Column); ok {
				f := c.Field
				if f == nil {
					f, _ = c.Zoned()
				}
				a.Zone = f != nil && f.Zone
			}
		case t.Kind.Numeric() || t.Kind == schema.Bool:
			a.T.Kind = schema.Decimal
		case t.Kind == schema.UUID:
			a.T = t
		default:
			a.T = textType
		}
		a.Value = x
	}
	return a
}
