package plan

// Masked are the arguments of the plan that stand beside a masked field, as in a row rule over one: they would tell what
// the field holds.
func (p *Plan) Masked() map[*Arg]bool {
	found := map[*Arg]bool{}
	visit := func(e Expr) {
		switch e.(type) {
		case nil, *Logic, *Not, *Exists, *Arg, *Column:
			return
		}
		masked := false
		Each(e, func(x Expr) {
			c, ok := x.(*Column)
			masked = masked || ok && c.Field != nil && c.Field.Mask != ""
		})
		if !masked {
			return
		}
		Each(e, func(x Expr) {
			if a, ok := x.(*Arg); ok {
				found[a] = true
			}
		})
	}
	p.root.eachExpr(visit)
	for _, s := range p.sources {
		Each(s.guard.Where, func(x Expr) {
			visit(x)
			eachQuery(x, func(q *Query) { q.eachExpr(visit) })
		})
	}
	return found
}
