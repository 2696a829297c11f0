package plan

import (
	"slices"

	"resq/engine/funcs"
	"resq/schema"
	"resq/schema/problem"
	"resq/schema/query"
)

// A Lookup is a set of rows that new values refer to. All of them must be there for the principal.
type Lookup struct {
	At     string
	Values int
	plan   *Plan
}

// Plan counts those of the rows that the principal sees.
func (l *Lookup) Plan() *Plan { return l.plan }

// Plan reads the keys of the rows that refer to ids and that the principal sees, at most limit.
func (c *Child) Plan(ids []int64, limit int64) *Plan {
	q := &Query{From: c.source, Where: among(c.source, c.Field, ids), Limit: limit}
	for _, f := range c.key {
		col := &Column{Source: c.source, Field: f, T: fieldType(f)}
		q.Out = append(q.Out, &Output{Name: f.Code, Expr: col, Field: f})
		q.Order = append(q.Order, Order{Expr: col})
	}
	if len(c.key) == 0 {
		q.Out = []*Output{{Name: "#one", Expr: &Int{N: 1}}}
	}
	return &Plan{root: q, connection: c.conn, page: Page{Limit: limit}}
}

// lookups finds the rows of other resources that new values refer to. A row that is not there and one that
// the principal does not see are refused alike.
func (b *binder) lookups(c *Change, place func(record int, field string) string) {
	for _, f := range c.resource.Fields {
		if f.References == nil {
			continue
		}
		to := f.References
		var vals []Expr
		at := ""
		for i, row := range c.rows {
			for _, a := range row {
				if a.Field != f || a.System || a.Value == nil || a.Value.Value == nil {
					continue
				}
				if at == "" {
					at = place(i, f.Code)
				}
				if !slices.ContainsFunc(vals, func(x Expr) bool { return same(x, a.Value) }) {
					vals = append(vals, a.Value)
				}
			}
		}
		if len(vals) == 0 {
			continue
		}
		if _, ok := b.view.Resource(to.Resource.Code); !ok {
			b.add(problem.PolicyViolation, problem.Policy, at, "the row that "+problem.Quote(f.Code)+" refers to is not there", "")
			continue
		}
		s := b.occurrence(to.Resource)
		col := b.use(&Column{Source: s, Field: to.Field, T: fieldType(to.Field)})
		q := &Query{From: s, Where: &List{X: col, Xs: vals}, Limit: -1, single: true, grouped: true}
		q.Out = []*Output{{Name: "#found", Expr: &Call{Fn: funcs.Must("COUNT"), Args: []Expr{col}, Distinct: true, T: schema.Type{Kind: schema.Integer}}}}
		c.lookups = append(c.lookups, &Lookup{At: at, Values: len(vals), plan: &Plan{root: q, connection: c.resource.Connection, page: Page{Limit: -1}}})
	}
}

func pointerOf(w *query.Write, record int, field string) string {
	for _, a := range w.Records[record] {
		if a.Field == field {
			return a.At
		}
	}
	return "/data"
}

// A Child is a resource whose rows refer to those of a delete.
type Child struct {
	Resource *schema.Resource
	Field    *schema.Field
	source   *Source
	conn     *schema.Connection
	key      []*schema.Field
}

// childrenOf finds the resources that declare a reference to the rows of a delete, as far as the principal
// sees them.
func (b *binder) childrenOf(c *Change) {
	add := func(r *schema.Resource, f *schema.Field) {
		if slices.ContainsFunc(c.children, func(x *Child) bool { return x.Resource == r && x.Field == f }) {
			return
		}
		s := b.occurrence(r)
		s.deleted = true // they refer all the same
		for _, x := range append([]*schema.Field{f}, r.Key...) {
			b.use(&Column{Source: s, Field: x})
		}
		c.children = append(c.children, &Child{Resource: r, Field: f, source: s, conn: r.Connection, key: r.Key})
	}
	for _, r := range b.view.Resources() {
		if r.Connection != c.resource.Connection {
			continue
		}
		for _, f := range r.Fields {
			if f.References != nil && f.References.Resource == c.resource && f.References.Field == c.Key() && b.view.Readable(f) {
				add(r, f)
			}
		}
	}
	for _, rel := range c.resource.Relations {
		if rel.Many && len(rel.On) == 1 && rel.On[0].From == c.Key() && b.view.Visible(rel.To) && b.view.Readable(rel.On[0].To) {
			add(rel.To, rel.On[0].To)
		}
	}
}
