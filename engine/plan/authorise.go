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
		if s.Resource.Rows != nil && !slices.ContainsFunc(b.uses, func(u Use) bool { return u.Resource == s.Resource }) {
			b.uses = append(b.uses, Use{s.Resource, grant})
		}
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
	b.trusted, b.args, b.inner, b.depth, b.conditions = true, grant.Args, in, depth, 0
	sc := &scope{query: &Query{Limit: -1}, place: inner, sources: []namedSource{{in.Code, in}}}
	told := len(b.probs)
	e := b.group(sc, grant.Cond, in, clause{name: "rows"})
	if len(b.unread) > 0 {
		b.probs = append(b.probs[:told], b.unread...)
	} else if len(b.probs) > told && !b.checking {
		// What is wrong with a rule is for its author, not for a caller.
		b.probs = append(b.probs[:told], &problem.Problem{Code: problem.DataIntegrity, Stage: problem.Policy, Message: "the row rule of " + problem.Quote(in.Code) + " does not fit the catalog",
			Err: b.probs[told:].Err()})
	}
	b.trusted, b.args, b.inner, b.depth, b.conditions = outer.trusted, outer.args, outer.inner, outer.depth, outer.conditions
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
