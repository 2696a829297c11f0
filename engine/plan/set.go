package plan

import (
	"slices"

	"resq/engine/policy"
	"resq/schema"
	"resq/schema/problem"
	"resq/schema/query"
)

// setLeaf compares with a named set of the catalog. Where all its values are to be had on the connection of the
// request it becomes part of the statement; else its values are read first and carried there.
func (b *binder) setLeaf(sc *scope, l *query.Leaf, x Expr) Expr {
	set, ok := b.view.Catalog().Set(l.Token)
	if !ok || l.Op != query.In && l.Op != query.NotIn && l.Op != query.Eq && l.Op != query.Ne {
		b.add(problem.ConfigInvalid, problem.Policy, l.At, "a row rule uses a set that is not there, or not with IN", "")
		return nil
	}
	if b.checking {
		b.checkSet(set, l, x)
	}
	not := l.Op == query.NotIn || l.Op == query.Ne
	if !set.On(b.conn) {
		return b.listed(set, l, x, not)
	}
	var in members
	b.gather(set, &in)
	if len(b.probs) > 0 {
		return nil
	}
	if in.lacking {
		return &missing{}
	}
	var xs []Expr
	if len(in.queries) > 0 {
		// Values that come twice do no harm, and a collation would take 'a' and 'A' for one.
		q := b.union(in.queries, "unionAll")
		if len(b.probs) > 0 {
			return nil
		}
		if not {
			q = b.filled(q)
		}
		xs = append(xs, &Sub{X: x, Query: q, Not: not, Exact: b.exact(x)})
	}
	if len(in.texts) > 0 || len(xs) == 0 {
		xs = append(xs, b.among(in.texts, l, x, not))
	}
	if len(xs) == 1 {
		return xs[0]
	}
	return &Logic{Or: !not, Xs: xs}
}

// members are what a set is made of, with the sets that it holds taken apart.
type members struct {
	queries []*query.Request
	texts   []string
	lacking bool // the principal lacks an attribute that the set depends on
}

// gather takes a set apart that is on one connection.
func (b *binder) gather(set *schema.Set, into *members) {
	for _, m := range set.Members {
		switch {
		case m.Query != nil:
			into.queries = append(into.queries, m.Query)
		case m.Set != nil:
			b.gather(m.Set, into)
		default:
			b.gatherValue(m, into)
		}
	}
}

func (b *binder) gatherValue(m schema.Member, into *members) {
	if m.Value != nil {
		into.texts = append(into.texts, *m.Value)
		return
	}
	who := b.view.Who()
	v, ok := who.Func(m.Func)
	if m.Attribute != "" {
		v, ok = who.Attributes[m.Attribute]
	}
	if !ok || !v.List && len(v.Texts) != 1 {
		into.lacking = true
	}
	into.texts = append(into.texts, v.Texts...)
}

// union binds the queries of a set as one. They define rules, and are therefore under none.
func (b *binder) union(queries []*query.Request, op string) *Query {
	was := b.free
	b.free = true
	defer func() { b.free = was }()
	var q *Query
	for _, r := range queries {
		n := b.query(r, &scope{query: &Query{}, place: inner}, inner)
		if len(b.probs) > 0 {
			return nil
		}
		if q == nil {
			q = n
			continue
		}
		q.Sets = append(q.Sets, &Set{Op: op, Query: n})
	}
	if slices.ContainsFunc(q.Sets, func(s *Set) bool { return len(s.Query.Out) != len(q.Out) }) || len(q.Out) != 1 {
		b.add(problem.ConfigInvalid, problem.Policy, "", "a set gives exactly one field", "")
		return nil
	}
	b.agree(q)
	return q
}

// filled gives a query without its NULLs, which are no values of a set: NOT IN would hold for nothing beside one.
func (b *binder) filled(q *Query) *Query {
	if c, ok := q.Out[0].Expr.(*Column); ok && len(q.Sets) == 0 && c.Field != nil && c.Field.NotNull && !c.Source.Outer() {
		return q
	}
	w := b.around(q)
	w.Where = &Null{X: w.Out[0].Expr, Not: true}
	return w
}

// listed takes the values of a set that were read before.
func (b *binder) listed(set *schema.Set, l *query.Leaf, x Expr, not bool) Expr {
	if b.set == nil {
		b.add(problem.ConfigInvalid, problem.Policy, l.At, "a row rule uses a set of another connection here", "")
		return nil
	}
	b.momentary = true
	vals, err := b.set(set)
	if err != nil {
		b.unread = problem.From(err)
		return &missing{}
	}
	if vals == nil {
		return &missing{}
	}
	c, ok := x.(*Column)
	if !ok || c.Field == nil {
		return b.among(vals, l, x, not)
	}
	// A set that is compared with one field in several places is read as its values once.
	k := listKey{set, c.Field}
	if xs, ok := b.lists[k]; ok {
		return &List{X: x, Xs: xs, Not: not, Exact: b.exact(x)}
	}
	e := b.among(vals, l, x, not)
	if b.lists == nil {
		b.lists = map[listKey][]Expr{}
	}
	b.lists[k] = e.Xs
	return e
}

// A listKey names the values of a set as those of a field.
type listKey struct {
	set   *schema.Set
	field *schema.Field
}

// among compares with values that are known. One that does not fit the field equals none of its values.
func (b *binder) among(vals []string, l *query.Leaf, x Expr, not bool) *List {
	e := &List{X: x, Not: not, Exact: b.exact(x)}
	for _, s := range vals {
		if a, ok := b.attribute(s, l.At, x).(*Arg); ok {
			e.Xs = append(e.Xs, a)
		}
	}
	return e
}

// checkSet tells of a set whose values are of another type than what they are compared with.
func (b *binder) checkSet(set *schema.Set, l *query.Leaf, x Expr) {
	for _, m := range set.Members {
		if m.Set != nil {
			b.checkSet(m.Set, l, x)
		}
		if m.Query == nil {
			continue
		}
		in := &binder{view: b.view, lim: b.lim, conn: m.Connection, checking: true, trusted: true, set: b.set}
		q := in.union([]*query.Request{m.Query}, "unionAll")
		if q == nil { // told where the set is checked
			continue
		}
		if t := q.Out[0].Type(); !fits(x.Type(), t) && !(x.Type().Kind.Textual() && t.Kind.Textual()) {
			b.add(problem.ConfigInvalid, problem.Policy, l.At, "a set of "+t.String()+" values is compared with a field of type "+x.Type().String(), "compare values of one type")
		}
	}
}

// A Gathering is what gives the values of a set: those that are known already, and the plans that read the others.
type Gathering struct {
	Texts []string
	Plans []*Plan // one for each connection; each gives one more value than the set's bound
}

// ReadSet takes a set apart. It gives nil when the principal lacks an attribute that the set depends on: then whatever
// uses the set is FALSE. Sets that it holds are taken from o.Set.
func ReadSet(v *policy.View, set *schema.Set, o Options) (*Gathering, error) {
	g := &Gathering{}
	var known members
	b := &binder{view: v}
	byConnection := map[*schema.Connection][]*query.Request{}
	var connections []*schema.Connection
	for _, m := range set.Members {
		switch {
		case m.Query != nil:
			if byConnection[m.Connection] == nil {
				connections = append(connections, m.Connection)
			}
			byConnection[m.Connection] = append(byConnection[m.Connection], m.Query)
		case m.Set != nil:
			vals, err := o.Set(m.Set)
			if err != nil {
				return nil, err
			}
			known.texts, known.lacking = append(known.texts, vals...), known.lacking || vals == nil
		default:
			b.gatherValue(m, &known)
		}
	}
	if known.lacking {
		return nil, nil
	}
	g.Texts = known.texts
	for _, c := range connections {
		p, err := readSet(v, byConnection[c], set.Bound, o)
		if err != nil || p == nil {
			return nil, err
		}
		g.Plans = append(g.Plans, p)
	}
	return g, nil
}

// readSet makes the plan of those queries of a set that are on one connection.
func readSet(v *policy.View, queries []*query.Request, bound int, o Options) (*Plan, error) {
	b := &binder{view: v, lim: &o.Limits, now: o.Now.UTC(), trusted: true, set: o.Set}
	q := b.union(queries, "unionAll")
	if err := append(b.unread, b.probs...).Err(); err != nil {
		return nil, err
	}
	if lacks(&Exists{Query: q}) {
		return nil, nil
	}
	b.authorise()
	if err := b.probs.Err(); err != nil {
		return nil, err
	}
	// Where a collation may take two texts for one, whoever reads them tells them apart, and counts.
	if t := q.Out[0].Type().Kind; !t.Textual() {
		q.Distinct, q.Limit = len(q.Sets) == 0, int64(bound)
		for _, s := range q.Sets {
			s.Op = "union"
		}
	}
	return &Plan{root: q, connection: b.conn}, nil
}

// ReadOwner gives the plan of a query that makes attributes of the principal's user. It gives nil when the principal
// lacks what the query compares with, so that no row is of it.
func ReadOwner(v *policy.View, q schema.OwnerQuery, rows int64, o Options) (*Plan, error) {
	b := &binder{view: v, lim: &o.Limits, now: o.Now.UTC(), trusted: true, free: true}
	root := b.query(q.Query, &scope{query: &Query{}, place: inner}, inner)
	if err := b.probs.Err(); err != nil {
		return nil, err
	}
	if lacks(&Exists{Query: root}) {
		return nil, nil
	}
	b.authorise()
	if err := b.probs.Err(); err != nil {
		return nil, err
	}
	root.Limit = rows
	return &Plan{root: root, connection: b.conn}, nil
}
