package plan

import (
	"maps"
	"slices"

	"resq/engine/policy"
	"resq/schema"
	"resq/schema/problem"
	"resq/schema/query"
)

// Check binds every row rule and every set of a catalog, so that what is wrong with one is told to whoever
// loads it and not to whoever asks later. Each problem stands at the resource or set it concerns.
func Check(cat *schema.Catalog) error {
	var out problem.List
	lim := query.Defaults()
	check := func(at schema.Pos, c *schema.Connection, f func(b *binder)) {
		b := &binder{view: policy.For(cat, &policy.Principal{}), lim: &lim, conn: c, checking: true, trusted: true,
			set: func(*schema.Set) ([]string, error) { return []string{}, nil }}
		f(b)
		for _, p := range b.probs {
			out = append(out, &problem.Problem{Code: problem.ConfigInvalid, Stage: problem.Shape, At: at.String(), Message: p.Message, Hint: p.Hint})
		}
	}
	for _, r := range cat.Resources {
		if r.Rows == nil {
			continue
		}
		grants := []policy.Grant{{Cond: r.Rows.Cond}}
		if r.Rows.Rule != nil {
			grants = nil
			for i := range r.Rows.Rule.Cases {
				grants = append(grants, policy.Grant{Cond: r.Rows.Rule.Cases[i].Rows, Args: r.Rows.Args})
			}
		}
		for _, g := range grants {
			if g.Cond != nil {
				check(r.At, r.Connection, func(b *binder) {
					b.rule(&Source{ID: b.id(), Code: r.Code, Resource: r, guarded: true}, g, 1)
				})
			}
		}
	}
	for _, s := range cat.Sets {
		for _, m := range s.Members {
			if m.Query != nil {
				check(s.At, m.Connection, func(b *binder) { b.union([]*query.Request{m.Query}, "unionAll") })
			}
		}
	}
	if cat.Owner != nil {
		for _, q := range cat.Owner.Queries {
			check(cat.Owner.At, q.Connection, func(b *binder) {
				b.free = true
				b.query(q.Query, &scope{query: &Query{}, place: inner}, inner)
			})
		}
	}
	return out.Err()
}

// A Checker plans requests that the catalog itself makes, such as those of business tools, whoever asks: every resource
// and field is there, and what the principal has is not asked. What it plans is never run.
type Checker struct {
	view *policy.View
	lim  query.Limits
}

// NewChecker makes the Checker of a catalog.
func NewChecker(cat *schema.Catalog, lim query.Limits) *Checker {
	roles := map[string]bool{}
	for _, x := range cat.Resources {
		for _, r := range x.Roles {
			roles[r] = true
		}
		for _, f := range x.Fields {
			for _, r := range f.Roles {
				roles[r] = true
			}
		}
	}
	everything := &policy.Principal{Roles: slices.Sorted(maps.Keys(roles))}
	// As nobody, no case of a rule decides which fields there are.
	return &Checker{policy.For(cat, everything.Nobody()), lim}
}

// Read gives what is wrong with a request.
func (c *Checker) Read(r *query.Request) problem.List {
	b := &binder{view: c.view, lim: &c.lim, checking: true, set: func(*schema.Set) ([]string, error) { return []string{}, nil }}
	b.query(r, nil, top)
	return b.probs
}
