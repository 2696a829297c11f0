package plan

import (
	"slices"
	"strings"
	"time"

	"resq/engine/funcs"
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
}

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

// A Lookup is a set of rows that new values refer to. All of them must be there for the principal.
type Lookup struct {
	At     string
	Values int
	plan   *Plan
}

// Plan counts those of the rows that the principal sees.
func (l *Lookup) Plan() *Plan { return l.plan }

// A Child is a resource whose rows refer to those of a delete.
type Child struct {
	Resource *schema.Resource
	Field    *schema.Field
	source   *Source
	conn     *schema.Connection
	key      []*schema.Field
}

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

// A Merge lays new values over the rows of a table before a rule looks at them.
type Merge struct {
	Rows []Assignment
	Key  *schema.Field
	IDs  []int64
}

func among(s *Source, f *schema.Field, ids []int64) Expr {
	l := &List{X: &Column{Source: s, Field: f, T: fieldType(f)}}
	for _, id := range ids {
		l.Xs = append(l.Xs, &Arg{Value: id, T: schema.Type{Kind: schema.Integer}})
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
	return c, nil
}

func (b *binder) occurrence(r *schema.Resource) *Source {
	s := &Source{ID: b.id(), Code: r.Code, Resource: r}
	b.sources = append(b.sources, s)
	return s
}

// reserved are the fields that callers never fill, by the names of the contract.
var reserved = []string{"id", "created_at", "updated_at", "created_user", "owned_user", "enabled"}

// role is what the engine fills a field in for; "" leaves it to the caller.
func role(r *schema.Resource, f *schema.Field) string {
	switch {
	case f.System != "":
		return f.System
	case f == r.Version:
		return "version"
	case f.Generated || r.IsKey(f):
		return ""
	}
	for _, name := range reserved[1:] {
		if f.Code == name {
			return name
		}
	}
	return ""
}

// record resolves the fields of one record and reads its values.
func (b *binder) record(c *Change, rec query.Record) []Assignment {
	out := make([]Assignment, 0, len(rec)+4)
	soft := c.resource.SoftDelete
	var enabled *query.Assignment
	for i, a := range rec {
		f, known := b.view.Field(c.resource, a.Field)
		ours := known && (role(c.resource, f) != "" || f.Generated)
		marks := known && soft != nil && soft.Field == f
		switch {
		case marks && c.verb == query.Create:
			b.add(problem.InvalidArgument, problem.Fields, a.At, "the field "+problem.Quote(a.Field)+" marks deleted rows and is not set on creation", "leave it out")
			continue
		case marks:
		case a.Field == "enabled" && soft != nil && c.verb == query.Update:
			enabled = &rec[i]
			continue
		case ours || slices.Contains(reserved, a.Field):
			b.add(problem.InvalidArgument, problem.Fields, a.At, "the field "+problem.Quote(a.Field)+" is filled by the system", "leave it out")
			continue
		case !known:
			b.unknownField(a.At, a.Field, c.resource.Code, b.writable(c.resource), problem.Fields)
			continue
		case c.verb == query.Update && c.resource.IsKey(f):
			b.add(problem.InvalidArgument, problem.Fields, a.At, "the key "+problem.Quote(a.Field)+" of a row does not change", "leave it out")
			continue
		}
		x, ok := b.assigned(f, a)
		if !ok {
			continue
		}
		if marks {
			c.soft = "restore"
			if x.Now || deletes(soft, x.Value) {
				c.soft = "delete"
			}
		}
		out = append(out, x)
	}
	b.enabled(c, enabled)
	if c.verb == query.Create {
		b.required(c.resource, out, rec)
	}
	return out
}

// deletes says whether a value of the soft-delete field marks its row.
func deletes(d *schema.SoftDelete, v *Arg) bool {
	if d.Deleted == "" {
		return v.Value != nil
	}
	t, ok := argText(v)
	return ok && (t == d.Deleted || d.Field.Type.Kind == schema.Bool && (t == "true") == (d.Deleted == "true" || d.Deleted == "1"))
}

// enabled takes the field of that name only beside the mark of a soft deletion, with the value that belongs to
// it. The engine fills it in either case.
func (b *binder) enabled(c *Change, a *query.Assignment) {
	if a == nil {
		return
	}
	text, _ := a.Value.Scalar()
	on := text == "1" || text == "true"
	off := text == "0" || text == "false"
	if c.soft == "delete" && off || c.soft == "restore" && on {
		return
	}
	f := c.resource.SoftDelete.Field.Code
	b.add(problem.InvalidArgument, problem.Fields, a.At, "the field \"enabled\" is filled by the system",
		"to delete softly send "+f+" with enabled 0, to restore send "+f+": null with enabled 1")
}

// writable are the fields that a caller may give a value, for hints.
func (b *binder) writable(r *schema.Resource) []string {
	var out []string
	for _, f := range b.view.Fields(r) {
		if role(r, f) == "" && !f.Generated && !slices.Contains(reserved, f.Code) {
			out = append(out, f.Code)
		}
	}
	return out
}

// required tells which fields a new record lacks.
func (b *binder) required(r *schema.Resource, have []Assignment, rec query.Record) {
	at := ""
	if len(rec) > 0 {
		at = rec[0].At[:strings.LastIndexByte(rec[0].At, '/')]
	}
	set := b.view.Assigns(r)
	for _, f := range r.Fields {
		given := slices.ContainsFunc(rec, func(a query.Assignment) bool { return a.Field == f.Code })
		if _, filled := set[f]; f.Required && !given && !filled && role(r, f) == "" && f.Default == "" {
			if !b.view.Readable(f) {
				b.add(problem.PermissionDenied, problem.Fields, at, "a record needs a field that this key does not have", "")
				continue
			}
			b.add(problem.InvalidArgument, problem.Fields, at, "missing the field "+problem.Quote(f.Code), "it is required: "+like(f.Type, f))
		}
	}
}

// system adds what the engine fills: times, the principal, and what the row rule sets.
func (b *binder) system(c *Change, row []Assignment) []Assignment {
	put := func(a Assignment) {
		a.Column, a.System = a.Field.Column, true
		for i := range row {
			if row[i].Field == a.Field {
				row[i] = a
				return
			}
		}
		row = append(row, a)
	}
	for _, f := range c.resource.Fields {
		what := role(c.resource, f)
		switch {
		case what == "updated_at" || what == "created_at" && c.verb == query.Create:
			if f.Type.Kind.Temporal() {
				put(Assignment{Field: f, Now: true})
			}
		case what == "version":
			b.counted(c, f, put)
		case what == "enabled" && (c.verb == query.Create || c.soft != ""):
			if v, ok := parseValue(map[bool]string{true: "0", false: "1"}[c.soft == "delete"], f.Type, f); ok {
				put(Assignment{Field: f, Value: v})
			}
		case c.verb == query.Create && (what == "created_user" || what == "owned_user" || what == "tenant"):
			if v := b.owner(c.resource, f, what); v != nil {
				put(Assignment{Field: f, Value: v})
			}
		}
	}
	if c.verb == query.Create {
		for f, v := range b.view.Assigns(c.resource) {
			if a := b.ruled(c.resource, f, v); a != nil {
				put(Assignment{Field: f, Value: a})
			}
		}
	}
	slices.SortStableFunc(row, func(x, y Assignment) int {
		return slices.Index(c.resource.Fields, x.Field) - slices.Index(c.resource.Fields, y.Field)
	})
	return row
}

// counted moves the version of a row on, so that others who look at it see the change.
func (b *binder) counted(c *Change, f *schema.Field, put func(Assignment)) {
	switch {
	case f.Type.Kind.Temporal():
		put(Assignment{Field: f, Now: true})
	case f.Type.Kind != schema.Integer:
	case c.verb == query.Update:
		put(Assignment{Field: f, Next: true})
	case f.Default == "":
		put(Assignment{Field: f, Value: &Arg{Value: int64(1), T: f.Type}})
	}
}

// ruled is a value that the row rule gives to new rows.
func (b *binder) ruled(r *schema.Resource, f *schema.Field, v policy.Value) *Arg {
	if len(v.Texts) == 1 {
		if a, ok := parseValue(v.Texts[0], f.Type, f); ok {
			return a
		}
	}
	b.add(problem.PolicyViolation, problem.Policy, "", "the row rule of "+problem.Quote(r.Code)+" gives new rows a value that this principal does not have", "")
	return nil
}

// owner is the principal as a value of a field: its number for integers, else its uuid or its name.
func (b *binder) owner(r *schema.Resource, f *schema.Field, what string) *Arg {
	who := b.view.Who()
	var v policy.Value
	switch {
	case what == "tenant":
		v = who.Attributes["tenant"]
		if len(v.Texts) == 0 {
			v = who.Funcs["UserSaaS"]
		}
	case f.Type.Kind == schema.UUID:
		v = who.Funcs["UserUuid"]
	default:
		v = who.Funcs["UserID"]
		if len(v.Texts) == 0 && f.Type.Kind.Textual() {
			v = policy.One(who.Name)
		}
	}
	if len(v.Texts) == 1 {
		if a, ok := parseValue(v.Texts[0], f.Type, f); ok {
			return a
		}
	}
	if f.NotNull || f.Required || what == "tenant" {
		b.add(problem.PolicyViolation, problem.Policy, "", "a new "+problem.Quote(r.Code)+" belongs to a "+map[bool]string{true: "tenant", false: "user"}[what == "tenant"]+", which this principal does not have", "")
	}
	return nil
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

// Touched are the columns that the engine sets with every update of a row.
func Touched(r *schema.Resource) []Assignment {
	var out []Assignment
	for _, f := range r.Fields {
		switch role(r, f) {
		case "updated_at":
			if f.Type.Kind.Temporal() {
				out = append(out, Assignment{Field: f, Column: f.Column, Now: true, System: true})
			}
		case "version":
			a := Assignment{Field: f, Column: f.Column, System: true, Now: f.Type.Kind.Temporal(), Next: f.Type.Kind == schema.Integer}
			if a.Now || a.Next {
				out = append(out, a)
			}
		}
	}
	return out
}

// Filled says whether the engine fills f, so that callers do not.
func Filled(r *schema.Resource, f *schema.Field) bool { return role(r, f) != "" }
