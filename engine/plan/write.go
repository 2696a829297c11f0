package plan

import (
	"slices"
	"strings"
	"time"

	"resq/engine/policy"
	"resq/schema"
	"resq/schema/problem"
	"resq/schema/query"
)

// A Change is a write whose names are resolved, whose values fit their fields, and whose rows can only be
// reached through the principal's row rules. Only Write and Restore make one.
type Change struct {
	verb     query.Verb
	resource *schema.Resource
	ids      []int64
	rows     [][]Assignment // of create: a row each; of update: one for all ids, or one for each
	again    bool           // it takes another change back
	soft     string         // delete or restore, when an update is that of a soft deletion
	target   *Source
	merged   *Source // target with the changes of an update laid over it; nil when no rule looks at it
	lookups  []*Lookup
	children []*Child
	uses     []Use
}

// Uses are the row rules that the change applies, each once.
func (c *Change) Uses() []Use { return c.uses }

// Verb is what the change does.
func (c *Change) Verb() query.Verb { return c.verb }

// Resource is what the change is made on.
func (c *Change) Resource() *schema.Resource { return c.resource }

// Key is the field that tells the rows apart.
func (c *Change) Key() *schema.Field { return c.resource.Key[0] }

// IDs are the rows of an update or delete, ascending.
func (c *Change) IDs() []int64 { return c.ids }

// Rows are the values of each created row; of an update one set of values for all rows, or one for each.
func (c *Change) Rows() [][]Assignment { return c.rows }

// Again says that the change takes another one back.
func (c *Change) Again() bool { return c.again }

// Soft is "delete" or "restore" for an update that deletes softly or takes that back.
func (c *Change) Soft() string { return c.soft }

// Lookups are the rows of other resources that the new values refer to.
func (c *Change) Lookups() []*Lookup { return c.lookups }

// Children are the resources that refer to the rows of a delete.
func (c *Change) Children() []*Child { return c.children }

// An Assignment gives a column a value.
type Assignment struct {
	Field  *schema.Field // nil for a column that the catalog does not know, of a row that is restored
	Column string
	Value  *Arg // a nil Value inside is NULL
	Now    bool // the moment of the write, in the form of the field
	Next   bool // one more than it was: a version that counts
	System bool // filled by the engine
	Caller bool // and from who asks: the principal, or what its row rule sets
	Exact  bool // the column is to hold Stored, in the database's own form; Value is how a reader sees it
	Stored any
}

// Stamp gives the assignments with the moment of the write in them.
func Stamp(row []Assignment, c *schema.Connection, now time.Time) []Assignment {
	out := slices.Clone(row)
	for i, a := range out {
		if a.Now {
			out[i].Value = moment(a.Field, c, now)
		}
	}
	return out
}

// moment is a point in time in the form of a field: in the connection's zone where the field keeps none.
func moment(f *schema.Field, c *schema.Connection, now time.Time) *Arg {
	now = now.UTC().Truncate(time.Second)
	if !f.Zone {
		now = now.In((&binder{conn: c}).zone())
	}
	form := map[schema.Kind]string{schema.Date: "2006-01-02", schema.Time: "15:04:05"}[f.Type.Kind]
	if form == "" {
		form = "2006-01-02 15:04:05"
	}
	return &Arg{Value: now.Format(form), T: f.Type, Zone: f.Zone}
}

// Targets reads all fields of rows as the principal sees them, in the order of their keys.
func (c *Change) Targets(ids []int64) *Plan {
	q := &Query{From: c.target, Where: among(c.target, c.Key(), ids), Limit: -1}
	for _, f := range c.resource.Fields {
		q.Out = append(q.Out, &Output{Name: f.Code, Expr: &Column{Source: c.target, Field: f, T: fieldType(f)}, Field: f, Mask: f.Mask})
	}
	q.Order = []Order{{Expr: &Column{Source: c.target, Field: c.Key(), T: fieldType(c.Key())}}}
	return &Plan{root: q, connection: c.resource.Connection, page: Page{Limit: -1}}
}

// Merged reads the keys of those rows of an update that the principal would still see after it; nil when
// that cannot change.
func (c *Change) Merged(now time.Time) *Plan {
	if c.merged == nil {
		return nil
	}
	// The values are of the moment of the call; the source is this change's own and is written once a call.
	s := *c.merged
	inner := *s.guard.Inner
	inner.merged = &Merge{Rows: Stamp(c.rows[0], c.resource.Connection, now), Key: c.Key(), IDs: c.ids}
	s.guard.Inner = &inner
	q := &Query{From: &s, Limit: -1}
	key := &Column{Source: &s, Field: c.Key(), T: fieldType(c.Key())}
	q.Out = []*Output{{Name: c.Key().Code, Expr: key, Field: c.Key()}}
	q.Order = []Order{{Expr: key}}
	return &Plan{root: q, connection: c.resource.Connection, page: Page{Limit: -1}}
}

// Seen reads the keys of those rows that the principal may see, deleted softly or not. The error is a problem.List.
func Seen(v *policy.View, r *schema.Resource, ids []int64, o Options) (*Plan, error) {
	b := &binder{view: v, lim: &o.Limits, now: o.Now.UTC(), set: o.Set, conn: r.Connection}
	c, err := b.reach(&Change{verb: query.Create, resource: r, again: true})
	if err != nil {
		return nil, err
	}
	p := c.Targets(ids)
	at := slices.Index(r.Fields, r.Key[0])
	p.root.Out = p.root.Out[at : at+1]
	return p, nil
}

// A Merge lays new values over the rows of a table before a rule looks at them.
type Merge struct {
	Rows []Assignment
	Key  *schema.Field
	IDs  []int64
}

func among(s *Source, f *schema.Field, ids []int64) Expr {
	l := &List{X: &Column{Source: s, Field: f, T: fieldType(f)}}
	for _, id := range ids {
		a := &Arg{Value: id, T: schema.Type{Kind: schema.Integer}}
		if f.Unsigned && id < 0 {
			a.Value = uint64(id) // a key beyond 63 bits, by its bits
		}
		l.Xs = append(l.Xs, a)
	}
	return l
}

// Write resolves a write in the principal's view, checks its values, and guards every row it may reach. The
// error is a problem.List.
func Write(v *policy.View, w *query.Write, o Options) (*Change, error) {
	b := &binder{view: v, lim: &o.Limits, now: o.Now.UTC(), set: o.Set}
	r, ok := v.Resource(w.Resource)
	if !ok {
		b.unknownResource("/resource", w.Resource, v.Codes(), problem.Resources)
		return nil, b.probs.Err()
	}
	if !slices.Contains(r.Writes, string(w.Verb)) {
		hint := "it takes no writes"
		if len(r.Writes) > 0 {
			hint = "it takes: " + strings.Join(r.Writes, ", ")
		}
		b.add(problem.PermissionDenied, problem.Resources, "/resource", problem.Quote(r.Code)+" does not take "+string(w.Verb), hint)
		return nil, b.probs.Err()
	}
	b.conn = r.Connection
	c := &Change{verb: w.Verb, resource: r, ids: w.IDs}
	for _, rec := range w.Records {
		c.rows = append(c.rows, b.record(c, rec))
	}
	if len(b.probs) > 0 {
		return nil, b.probs.Err()
	}
	for i := range c.rows {
		c.rows[i] = b.system(c, c.rows[i])
	}
	b.lookups(c, func(i int, field string) string { return pointerOf(w, i, field) })
	return b.reach(c)
}

// reach guards what a change reads and writes.
func (b *binder) reach(c *Change) (*Change, error) {
	c.target = b.occurrence(c.resource)
	// Rows that are deleted softly are there for a restoration, and to be removed for good.
	c.target.deleted = c.soft != "" || c.verb == query.Delete || c.again
	if c.verb == query.Update {
		c.merged = b.occurrence(c.resource)
		c.merged.deleted = c.target.deleted
	}
	for _, f := range c.resource.Fields {
		b.use(&Column{Source: c.target, Field: f})
	}
	if c.merged != nil {
		b.use(&Column{Source: c.merged, Field: c.Key()})
	}
	if c.verb == query.Delete {
		b.childrenOf(c)
	}
	b.authorise()
	if c.merged != nil && c.merged.guard.Inner == nil {
		c.merged = nil
	}
	if err := b.probs.Err(); err != nil {
		return nil, err
	}
	c.uses = b.uses
	return c, nil
}

func (b *binder) occurrence(r *schema.Resource) *Source {
	s := &Source{ID: b.id(), Code: r.Code, Resource: r}
	b.sources = append(b.sources, s)
	return s
}

// Restore makes the change that takes another one back: it gives rows their old values, or makes rows anew
// under their old keys. The values are those that were read, and the rows are reached through the
// principal's rules like any others.
func Restore(v *policy.View, r *schema.Resource, verb query.Verb, ids []int64, rows [][]Assignment, o Options) (*Change, error) {
	b := &binder{view: v, lim: &o.Limits, now: o.Now.UTC(), set: o.Set, conn: r.Connection}
	c := &Change{verb: verb, resource: r, ids: ids, rows: rows, again: true}
	if r.SoftDelete != nil && verb == query.Update {
		c.soft = "restore"
	}
	b.lookups(c, func(int, string) string { return "" })
	c, err := b.reach(c)
	if c != nil {
		c.merged = nil // each row has its own values; the check after the change sees them
	}
	return c, err
}
