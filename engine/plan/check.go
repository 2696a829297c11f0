package plan

import (
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

// CheckRead finds what is wrong with a request that the catalog itself makes, such as that of a business tool, whoever
// asks: every resource and field is there, and what the principal has is not asked.
func CheckRead(cat *schema.Catalog, r *query.Request, lim query.Limits) problem.List {
	everything := &policy.Principal{}
	for _, x := range cat.Resources {
		everything.Roles = append(everything.Roles, x.Roles...)
		for _, f := range x.Fields {
			everything.Roles = append(everything.Roles, f.Roles...)
		}
	}
	// As nobody, no case of a rule decides which fields there are.
	b := &binder{view: policy.For(cat, everything.Nobody()), lim: &lim, checking: true,
		set: func(*schema.Set) ([]string, error) { return []string{}, nil }}
	b.query(r, nil, top)
	return b.probs
}
