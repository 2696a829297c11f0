package plan

import (
	"slices"

	"resq/engine/policy"
	"resq/schema"
	"resq/schema/problem"
	"resq/schema/query"
)

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
				put(Assignment{Field: f, Value: v, Caller: true})
			}
		}
	}
	if c.verb == query.Create {
		for f, v := range b.view.Assigns(c.resource) {
			if a := b.ruled(c.resource, f, v); a != nil {
				put(Assignment{Field: f, Value: a, Caller: true})
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
			v, _ = who.Func("UserSaaS")
		}
	case f.Type.Kind == schema.UUID:
		v, _ = who.Func("UserUuid")
	default:
		v, _ = who.Func("UserID")
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
