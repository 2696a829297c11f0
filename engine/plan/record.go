package plan

import (
	"slices"
	"strings"

	"resq/schema"
	"resq/schema/problem"
	"resq/schema/query"
)

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
