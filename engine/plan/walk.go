package plan

import (
	"resq/schema"
	"resq/schema/problem"
	"resq/schema/query"
)

// walk replaces a source by the part of its tree below a root (A-050 … … A-128). Every step
// reads the guarded table, so a visible row below an invisible one is not reached: reaching it would tell
// that the invisible one exists (security.md 5.3).
func (b *binder) walk(sc *scope, r *query.Request) {
	w := r.Recursive
	s, pName, ok := b.split(sc, w.Parent, w.At+"/pField")
	s2, cName, ok2 := b.split(sc, w.Child, w.At+"/cField")
	if !ok || !ok2 {
		return
	}
	if s != s2 {
		b.add(problem.InvalidArgument, problem.Semantics, w.At+"/cField", "pField and cField name different resources", "both are fields of one resource")
		return
	}
	if s.CTE != nil {
		b.add(problem.InvalidArgument, problem.Semantics, w.At+"/pField", "a named query cannot be walked", "walk a resource")
		return
	}
	walk := &Walk{ID: b.id(), Depth: w.Depth, Asked: w.Depth > 0, Rows: b.lim.WalkRows, levelName: w.Level, pathName: w.Path,
		Level: w.Level != "", Path: w.Path != ""}
	if !walk.Asked {
		walk.Depth = b.lim.WalkDepth
	}
	walk.Start, walk.Step = b.again(s), b.again(s)
	parent := b.field(walk.Start, pName, w.At+"/pField", problem.Fields)
	child := b.field(walk.Start, cName, w.At+"/cField", problem.Fields)
	if parent == nil || child == nil {
		return
	}
	walk.Parent, walk.Child = parent.(*Column).Field, child.(*Column).Field
	walk.Key = walk.Child
	if len(s.Resource.Key) == 1 {
		walk.Key = s.Resource.Key[0]
	}
	for _, src := range []*Source{walk.Start, walk.Step} {
		for _, f := range []*schema.Field{walk.Parent, walk.Child, walk.Key} {
			b.use(&Column{Source: src, Field: f})
		}
	}
	b.use(&Column{Source: s, Field: walk.Key})
	walk.Root = b.root(parent, w)
	if w.IncludeRoot && walk.Root != nil {
		walk.Self, walk.RootText = b.root(child, w), w.Root
	}
	if unique := len(s.Resource.Key) == 1 && s.Resource.Key[0] == walk.Child; unique && !walk.Path && walk.Root != nil {
		again := walk.Parent
		if walk.Self != nil {
			again = walk.Child
		}
		walk.Repeat = b.root(&Column{Source: walk.Step, Field: again, T: again.Type}, w)
	}
	for _, j := range sc.query.Joins {
		if j.Source == s && j.Type == "left" {
			j.Type = "inner" // only rows whose relation was reached are kept
		}
	}
	s.Walk = walk
}

// again makes one more occurrence of a source's table.
func (b *binder) again(s *Source) *Source {
	n := &Source{ID: b.id(), Code: s.Code, Resource: s.Resource, free: s.free, depth: s.depth}
	b.sources = append(b.sources, n)
	return n
}

// root is the condition of the rows at which the walk begins. The empty text stands for NULL where the
// column holds no text, and for both where it does.
func (b *binder) root(x Expr, w *query.Recursive) Expr {
	if w.Root == "" {
		null := &Null{X: x}
		if !text(x.Type().Kind) {
			return null
		}
		return &Logic{Or: true, Xs: []Expr{null, &Compare{Op: query.Eq, L: x, R: &Arg{Value: "", T: textType}}}}
	}
	v := b.token(w.Root, w.At+"/root", x)
	if v == nil {
		return nil
	}
	return b.compare(query.Eq, x, v)
}
