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
		check(s.At, s.Connection, func(b *binder) {
			if q := b.union(s); q != nil && len(b.probs) == 0 && len(q.Out) != 1 {
				b.add(problem.ConfigInvalid, problem.Policy, "", "a set gives exactly one field", "")
			}
		})
	}
	return out.Err()
}
