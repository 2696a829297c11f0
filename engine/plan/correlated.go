package plan

// Correlated says whether the query names a source of a query around it.
func (q *Query) Correlated() bool {
	own := map[*Source]bool{}
	q.eachSource(func(s *Source) { own[s] = true })
	found := false
	q.eachExpr(func(e Expr) {
		if c, ok := e.(*Column); ok && !own[c.Source] {
			found = true
		}
	})
	return found
}

// eachSource calls f for the sources of q and of every query inside it.
func (q *Query) eachSource(f func(*Source)) {
	if q.From != nil {
		f(q.From)
	}
	for _, j := range q.Joins {
		f(j.Source)
	}
	for _, w := range q.With {
		w.Query.eachSource(f)
	}
	for _, s := range q.Sets {
		s.Query.eachSource(f)
	}
	q.eachExpr(func(e Expr) { eachQuery(e, func(in *Query) { in.eachSource(f) }) })
}
