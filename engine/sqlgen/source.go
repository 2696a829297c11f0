package sqlgen

import (
	"resq/engine/plan"
	"resq/schema"
)

// source writes an occurrence of a table: guarded, if a rule applies, at the very place where it is used
// (see Note [guard at the point of use]).
func (w *Writer) source(s *plan.Source) {
	if s.CTE != nil {
		w.Alias('n', s.CTE.ID).SQL(" AS ").Alias('s', s.ID)
		return
	}
	if s.Walk == nil {
		w.guarded(s)
		return
	}
	w.SQL("(SELECT ").columns(s, s.ID)
	w.SQL(", ").Alias('v', s.Walk.ID).SQL(".lvl AS resq_level")
	if s.Walk.Repeat == nil {
		w.SQL(", ").Alias('v', s.Walk.ID).SQL(".path AS resq_path")
	}
	w.SQL(" FROM ")
	w.guarded(s)
	w.SQL(" JOIN ").Alias('v', s.Walk.ID).SQL(" ON ").Alias('v', s.Walk.ID).SQL(".k = ").Alias('s', s.ID).SQL(".").Ident(s.Walk.Key.Column)
	w.SQL(") AS ").Alias('s', s.ID)
}

func (w *Writer) guarded(s *plan.Source) {
	g := s.Guard()
	if g.Inner == nil {
		w.table(s.Resource)
		w.SQL(" AS ").Alias('s', s.ID)
		return
	}
	w.SQL("(SELECT ").columns(s, g.Inner.ID)
	w.SQL(" FROM ")
	if m := g.Inner.Merged(); m != nil {
		w.merged(s, g.Inner, m)
	} else {
		w.table(s.Resource)
	}
	w.SQL(" AS ").Alias('s', g.Inner.ID).SQL(" WHERE ").Expr(g.Where)
	if w.fence {
		w.d.Fence(w)
	}
	w.SQL(") AS ").Alias('s', s.ID)
}

// columns writes the fields of s that the request touches, and at least one.
func (w *Writer) columns(s *plan.Source, alias int) *Writer {
	used := s.Used()
	if len(used) == 0 {
		return w.SQL("1 AS resq_one")
	}
	return w.Commas(len(used), func(i int) { w.Alias('s', alias).SQL(".").Ident(used[i].Column) })
}

func (w *Writer) join(j *plan.Join) {
	switch j.Type {
	case "cross":
		w.SQL("CROSS JOIN ")
	case "left":
		w.SQL("LEFT JOIN ")
	case "right":
		w.SQL("RIGHT JOIN ")
	default:
		w.SQL("INNER JOIN ")
	}
	w.source(j.Source)
	if j.On != nil {
		w.SQL(" ON ").Expr(j.On)
	}
}

// withs writes the named queries of a block, and the walks of its sources.
func (w *Writer) withs(q *plan.Query) string {
	walked := []*plan.Source{}
	if q.From != nil && q.From.Walk != nil {
		walked = append(walked, q.From)
	}
	for _, j := range q.Joins {
		if j.Source.Walk != nil {
			walked = append(walked, j.Source)
		}
	}
	if len(q.With) == 0 && len(walked) == 0 {
		return ""
	}
	p := w.part()
	p.SQL("WITH ")
	if len(walked) > 0 {
		p.SQL("RECURSIVE ")
	}
	for i, c := range q.With {
		if i > 0 {
			p.SQL(", ")
		}
		if c.Code == "" {
			p.derived(c.Query) // it was no named query before, and may name a source outside
		}
		p.Alias('n', c.ID).SQL(" AS ").named(c.Query)
	}
	for i, s := range walked {
		if i > 0 || len(q.With) > 0 {
			p.SQL(", ")
		}
		p.walk(s.Walk)
	}
	return p.b.String()
}

// walk writes the recursion w, its result v: each row once, at its least level, and f, from which cut is told. One
// level more than asked is read, and repeats are marked rather than dropped, so that what was cut can be told.
func (w *Writer) walk(x *plan.Walk) {
	col := func(s *plan.Source, f *schema.Field) func(*Writer) {
		return func(w *Writer) { w.column(&plan.Column{Source: s, Field: f}) }
	}
	from := func(letter byte, name Text) func(*Writer) {
		return func(w *Writer) { w.Alias(letter, x.ID).SQL(name) }
	}
	paths := x.Repeat == nil // a path is as long as a row is deep, and the databases copy it with every step
	path := func(f func()) {
		if paths {
			w.SQL(", ")
			f()
		}
	}
	w.Alias('w', x.ID).SQL(" (k, child, lvl")
	path(func() { w.SQL("path") })
	w.SQL(", cyc) AS (SELECT ")
	col(x.Start, x.Key)(w)
	w.SQL(", ")
	col(x.Start, x.Child)(w)
	w.SQL(", 1")
	path(func() {
		if x.Self != nil {
			// The root begins every path if it is there for this principal.
			root := func(w *Writer) { w.Arg(&plan.Arg{Value: x.RootText, T: schema.Type{Kind: schema.Text}}) }
			w.SQL("CASE WHEN EXISTS (SELECT 1 FROM ")
			w.guarded(x.Start)
			w.SQL(" WHERE ").Expr(x.Self).SQL(") THEN ")
			w.d.Append(w, func(w *Writer) { w.d.Path(w, root) }, col(x.Start, x.Child))
			w.SQL(" ELSE ")
			w.d.Path(w, col(x.Start, x.Child))
			w.SQL(" END")
		} else {
			w.d.Path(w, col(x.Start, x.Child))
		}
	})
	w.SQL(", 0 FROM ")
	w.guarded(x.Start)
	w.SQL(" WHERE ").Expr(x.Root).SQL(" UNION ALL SELECT ")
	col(x.Step, x.Key)(w)
	w.SQL(", ")
	col(x.Step, x.Child)(w)
	w.SQL(", ").Alias('w', x.ID).SQL(".lvl + 1")
	path(func() { w.d.Append(w, from('w', ".path"), col(x.Step, x.Child)) })
	w.SQL(", CASE WHEN ")
	if paths {
		w.d.Visited(w, from('w', ".path"), col(x.Step, x.Child))
	} else {
		w.Expr(x.Repeat)
	}
	w.SQL(" THEN 1 ELSE 0 END FROM ").Alias('w', x.ID).SQL(" JOIN ")
	w.guarded(x.Step)
	w.SQL(" ON ")
	w.d.Link(w, col(x.Step, x.Parent), from('w', ".child"), x.Parent.Type.Kind.Textual() == x.Child.Type.Kind.Textual())
	w.SQL(" WHERE ").Alias('w', x.ID).SQL(".cyc = 0 AND ").Alias('w', x.ID).SQL(".lvl <= ").Int(x.Depth)
	w.SQL("), ").Alias('v', x.ID).SQL(" AS (SELECT u.k AS k, MIN(u.lvl) AS lvl")
	path(func() { w.SQL("MIN(u.path) AS path") })
	w.SQL(" FROM (SELECT k, lvl")
	path(func() { w.SQL("path") })
	w.SQL(" FROM ").Alias('w', x.ID).SQL(" WHERE cyc = 0 AND lvl <= ").Int(x.Depth)
	if x.Self != nil {
		w.SQL(" UNION ALL SELECT ")
		col(x.Start, x.Key)(w)
		w.SQL(", 0")
		path(func() { w.d.Path(w, col(x.Start, x.Child)) })
		w.SQL(" FROM ")
		w.guarded(x.Start)
		w.SQL(" WHERE ").Expr(x.Self)
	}
	w.SQL(") AS u GROUP BY u.k ORDER BY 2, 1")
	w.d.Limit(w, x.Rows, 0)
	w.SQL("), ").Alias('f', x.ID).SQL(" AS (SELECT MAX(cyc) AS cyc, MAX(CASE WHEN cyc = 0 THEN lvl END) AS lvl, COUNT(DISTINCT CASE WHEN cyc = 0 AND lvl <= ").Int(x.Depth)
	w.SQL(" THEN k END) AS n FROM ").Alias('w', x.ID).SQL(")")
}

// cut asks a walk what it left out.
func (w *Writer) cut(x *plan.Cut) {
	walk := x.Source.Walk
	switch x.What {
	case "cycle":
		w.SQL("(SELECT cyc")
	case "depth":
		w.SQL("(SELECT CASE WHEN lvl > ").Int(walk.Depth).SQL(" THEN 1 ELSE 0 END")
	default:
		w.SQL("(SELECT CASE WHEN n > ").Int(walk.Rows).SQL(" THEN 1 ELSE 0 END")
	}
	w.SQL(" FROM ").Alias('f', walk.ID).SQL(")")
}
