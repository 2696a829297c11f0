package plan

import (
	"slices"

	"resq/engine/policy"
	"resq/schema"
	"resq/schema/problem"
	"resq/schema/query"
)

// Note [guard at the point of use]
//
// A row rule is part of the source it guards, and every occurrence of a guarded table carries it: main,
// joined, both halves of a walk, the tables of nested requests and of other rules. Rendered, the source is a
// sub-select that gives only the rows the principal may see, so nothing outside it can tell an invisible row
// from a missing one. A rule in WHERE turns outer joins into inner ones, a rule in ON lets counts leak; both
// were measured (security.md, section 5).

// maxRules bounds rules inside rules. The catalog refuses circles when it is loaded; this is the wall
// behind that check.
const maxRules = 8

// authorise guards every source. Rules may bring sources of their own, which are guarded in turn.
func (b *binder) authorise() {
	for i := 0; i < len(b.sources); i++ {
		s := b.sources[i]
		if s.CTE != nil {
			s.guarded = true
			continue
		}
		if s.depth > maxRules {
			b.probs = append(b.probs, &problem.Problem{Code: problem.ConfigInvalid, Stage: problem.Policy, Message: "the row rules of this resource are nested too deep"})
			return
		}
		s.guard = b.guard(s)
		s.guarded = true
	}
}

// guard binds the row rule and the soft deletion of one source.
func (b *binder) guard(s *Source) Guard {
	grant := policy.Grant{All: true}
	if !s.free {
		grant = b.view.Rows(s.Resource)
	}
	soft := s.Resource.SoftDelete
	if s.deleted {
		soft = nil
	}
	if grant.All && soft == nil {
		return Guard{}
	}
	in := &Source{ID: b.id(), Code: s.Resource.Code, Resource: s.Resource, guarded: true}
	g := Guard{Inner: in}
	if !grant.All {
		g.Where = b.rule(in, grant, s.depth+1)
	}
	if soft != nil {
		g.Where = and(g.Where, live(in, soft))
	}
	return g
}

// rule binds a row rule over in. A rule that holds nothing, or that lacks an attribute of the principal,
// lets no row through.
func (b *binder) rule(in *Source, grant policy.Grant, depth int) Expr {
	if grant.Cond == nil {
		return &Bool{V: false}
	}
	outer := *b
	b.trusted, b.args, b.depth, b.conditions = true, grant.Args, depth, 0
	sc := &scope{query: &Query{Limit: -1}, place: inner, sources: []namedSource{{in.Code, in}}}
	told := len(b.probs)
	e := b.group(sc, grant.Cond, in, clause{name: "rows"})
	if len(b.probs) > told && !b.checking {
		// What is wrong with a rule is for its author, not for a caller.
		b.probs = append(b.probs[:told], &problem.Problem{Code: problem.DataIntegrity, Stage: problem.Policy, Message: "the row rule of " + problem.Quote(in.Code) + " does not fit the catalog",
			Err: b.probs[told:].Err()})
	}
	b.trusted, b.args, b.depth, b.conditions = outer.trusted, outer.args, outer.depth, outer.conditions
	if e == nil || lacks(e) {
		return &Bool{V: false}
	}
	return e
}

// lacks says whether a rule refers to an attribute that the principal does not have.
func lacks(e Expr) bool {
	found := false
	var visit func(Expr)
	visit = func(x Expr) {
		if _, ok := x.(*missing); ok {
			found = true
		}
		eachQuery(x, func(q *Query) { q.eachExpr(visit) })
	}
	Each(e, visit)
	return found
}

// live is the condition of the rows that are not deleted.
func live(in *Source, d *schema.SoftDelete) Expr {
	c := &Column{Source: in, Field: d.Field, T: fieldType(d.Field)}
	if !slices.Contains(in.used, d.Field) {
		in.used = append(in.used, d.Field)
	}
	null := &Null{X: c}
	if d.Deleted == "" {
		return null
	}
	v, ok := parseValue(d.Deleted, c.T, d.Field)
	if !ok {
		return &Bool{V: false}
	}
	return &Logic{Or: true, Xs: []Expr{null, &Compare{Op: query.Ne, L: c, R: v}}}
}

// setLeaf compares with a named set of the catalog: the union of its queries, which define rules and are
// therefore under none.
func (b *binder) setLeaf(sc *scope, l *query.Leaf, x Expr) Expr {
	set, ok := b.view.Catalog().Set(l.Token)
	if !ok || l.Op != query.In && l.Op != query.NotIn && l.Op != query.Eq && l.Op != query.Ne {
		b.add(problem.ConfigInvalid, problem.Policy, l.At, "a row rule uses a set that is not there, or not with IN", "")
		return nil
	}
	not := l.Op == query.NotIn || l.Op == query.Ne
	if set.Connection != b.conn || set.Stated && !b.checking {
		return b.listed(set, l, x, not)
	}
	q := b.union(set)
	if len(b.probs) > 0 {
		return nil
	}
	if q == nil || len(q.Out) != 1 {
		b.add(problem.ConfigInvalid, problem.Policy, l.At, "a set gives exactly one field", "")
		return nil
	}
	if t := q.Out[0].Type(); !fits(x.Type(), t) && !(x.Type().Kind.Textual() && t.Kind.Textual()) {
		b.add(problem.ConfigInvalid, problem.Policy, l.At, "a set of "+t.String()+" values is compared with a field of type "+x.Type().String(), "compare values of one type")
		return nil
	}
	return &Sub{X: x, Query: q, Not: not, Exact: b.exact(x)}
}

// union binds the queries of a set as one.
func (b *binder) union(set *schema.Set) *Query {
	was := b.free
	b.free = true
	defer func() { b.free = was }()
	var q *Query
	for _, r := range set.Queries {
		n := b.query(r, &scope{query: &Query{}, place: inner}, inner)
		if len(b.probs) > 0 {
			return nil
		}
		if q == nil {
			q = n
			continue
		}
		q.Sets = append(q.Sets, &Set{Op: "union", Query: n})
	}
	if q != nil && !slices.ContainsFunc(q.Sets, func(s *Set) bool { return len(s.Query.Out) != len(q.Out) }) {
		b.agree(q)
	}
	return q
}

// listed takes the values of a set from another connection.
func (b *binder) listed(set *schema.Set, l *query.Leaf, x Expr, not bool) Expr {
	if b.set == nil {
		b.add(problem.ConfigInvalid, problem.Policy, l.At, "a row rule uses a set of another connection here", "")
		return nil
	}
	vals, err := b.set(set)
	if err != nil {
		b.probs = append(b.probs, problem.From(err)...)
		return nil
	}
	if vals == nil {
		return &missing{}
	}
	e := &List{X: x, Not: not, Exact: b.exact(x)}
	for _, s := range vals {
		a := b.attribute(s, l.At, x)
		if _, ok := a.(*Arg); ok {
			e.Xs = append(e.Xs, a)
		} // a value that does not fit the field equals none of its values
	}
	return e
}

// ReadSet gives the plan that reads the values of a set, one more than its bound. It gives nil when the
// principal lacks an attribute that the set depends on: then whatever uses the set is FALSE.
func ReadSet(v *policy.View, set *schema.Set, o Options) (*Plan, error) {
	b := &binder{view: v, lim: &o.Limits, now: o.Now.UTC(), trusted: true, set: o.Set}
	q := b.union(set)
	if err := b.probs.Err(); err != nil {
		return nil, err
	}
	if lacks(&Exists{Query: q}) {
		return nil, nil
	}
	b.authorise()
	if err := b.probs.Err(); err != nil {
		return nil, err
	}
	q.Distinct, q.Limit = len(q.Sets) == 0, int64(set.Bound)
	return &Plan{root: q, connection: b.conn}, nil
}
