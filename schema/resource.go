package schema

import (
	"strconv"
	"strings"

	"resq/schema/problem"
)

const defaultConfirm = "token"

// A resUnit is a resource on its way from its declaration into the catalog.
type resUnit struct {
	file *file
	decl *resDecl
	res  *Resource
	// fields pairs each field with its declaration.
	fields map[*Field]*fieldDecl
}

// declareResources makes every resource with its fields, so that later steps can look up any name.
func (l *loader) declareResources() {
	l.resources = map[string]declared[*Resource]{}
	for _, f := range l.files {
		for i := range f.decl.resources {
			d := &f.decl.resources[i]
			if !d.code.given() {
				continue // told by the grammar
			}
			r := &Resource{
				Code: d.code.text, Name: d.name.text, Description: strings.TrimSpace(d.description.text),
				Schema: d.schema.text, Table: d.table.text, View: d.view.on,
				Confirm: d.confirm.text, CaseSensitive: d.caseSensitive.on,
				Writes: textsOf(d.writes), Roles: textsOf(d.roles),
				Connection: l.connectionOf(f, d), At: f.pos(d.code.at),
				Fields: make([]*Field, 0, len(d.fields)), byCode: make(map[string]*Field, len(d.fields)),
			}
			if r.Table == "" {
				r.Table = r.Code
			}
			if r.Confirm == "" {
				r.Confirm = defaultConfirm
			}
			if !declare(l.resources, "resource", r.Code, r, f, d.code.at) {
				continue
			}
			l.cat.Resources = append(l.cat.Resources, r)
			u := &resUnit{file: f, decl: d, res: r, fields: make(map[*Field]*fieldDecl, len(d.fields))}
			for j := range d.fields {
				l.declareField(u, &d.fields[j])
			}
			l.resUnits = append(l.resUnits, u)
		}
	}
}

func textsOf(words []word) []string {
	if len(words) == 0 {
		return nil
	}
	s := make([]string, len(words))
	for i, w := range words {
		s[i] = w.text
	}
	return s
}

func (l *loader) declareField(u *resUnit, d *fieldDecl) {
	if _, twice := u.res.byCode[d.code.text]; twice {
		return // told as a key that stands twice
	}
	x := &Field{
		Code: d.code.text, Name: d.name.text, Description: strings.TrimSpace(d.description.text), Column: d.column.text,
		Unsigned: d.unsigned.on, Zone: d.zone.on, Native: d.native.text, Array: d.array.on,
		Required: d.required.on, NotNull: d.nullable.at.given() && !d.nullable.on, Generated: d.generated.on,
		MaxLength: d.maxLength.n, Default: d.def.text, Values: textsOf(d.values), Mask: d.mask.text, System: d.system.text,
		Roles: textsOf(d.roles), Resource: u.res, At: u.file.pos(d.code.at),
	}
	x.Type, _ = ParseType(d.typ.text)
	if x.Column == "" {
		x.Column = x.Code
	}
	u.res.Fields = append(u.res.Fields, x)
	u.res.byCode[x.Code] = x
	u.fields[x] = d
}

// field looks up a field of u that a word of u's own declaration names; nil when there is none, which is told.
func (l *loader) field(u *resUnit, w word, where string) *Field {
	if !w.given() {
		return nil
	}
	if x, ok := u.res.byCode[w.text]; ok {
		return x
	}
	u.file.tell(w.at, fieldHint(u.res, w.text), "%s names the field %s, which %s does not have", where, problem.Quote(w.text), problem.Quote(u.res.Code))
	return nil
}

func fieldHint(r *Resource, word string) string {
	return problem.OneOf(word, r.fieldCodes())
}

func (r *Resource) fieldCodes() []string {
	codes := make([]string, len(r.Fields))
	for i, x := range r.Fields {
		codes[i] = x.Code
	}
	return codes
}

// bindResources checks what a resource says of itself.
func (l *loader) bindResources() {
	for _, u := range l.resUnits {
		l.keepSource(u.res, "resources", u.decl.node)
		if u.decl.fields != nil && len(u.decl.fields) == 0 {
			u.file.tell(u.decl.at, "declare its columns under fields", "the resource %s has no field", problem.Quote(u.res.Code))
		}
		l.bindKey(u)
		for _, x := range u.res.Fields {
			l.bindField(u, x, u.fields[x])
		}
		l.bindSystem(u)
		u.res.Version = l.field(u, u.decl.version, `"version"`)
		l.bindSoftDelete(u)
		l.bindWrites(u)
		l.bindSchema(u)
	}
}

func (l *loader) bindKey(u *resUnit) {
	if u.decl.key == nil {
		if id, ok := u.res.byCode["id"]; ok {
			u.res.Key = []*Field{id}
		}
	}
	for _, w := range u.decl.key {
		if x := l.field(u, w, `"key"`); x != nil {
			u.res.Key = append(u.res.Key, x)
		}
	}
	for _, x := range u.res.Key {
		if !u.fields[x].nullable.at.given() {
			x.NotNull = true
		}
	}
}

// bindField checks that the keys of a field go together.
func (l *loader) bindField(u *resUnit, x *Field, d *fieldDecl) {
	if !d.typ.given() {
		return // its type is what the others depend on, and has been told
	}
	refuse := func(at place, given bool, hint, format string, args ...any) {
		if given {
			u.file.tell(at, hint, "the field "+problem.Quote(x.Code)+" "+format, args...)
		}
	}
	kind := x.Type.Kind
	refuse(d.unsigned.at, x.Unsigned && kind != Integer, "unsigned is for integers", "is unsigned, but of type %s", x.Type)
	refuse(d.zone.at, x.Zone && kind != DateTime, "zone is for datetimes", "has a zone, but is of type %s", x.Type)
	refuse(d.maxLength.at, d.maxLength.at.given() && !kind.Textual() && kind != Binary && x.Native == "", "maxLength is for texts and binary values", "has a maxLength, but is of type %s", x.Type)
	refuse(d.typ.at, kind == Enum && len(x.Values) == 0, "add values: [a, b]", "is an enum without values")
	refuse(d.at, kind != Enum && len(x.Values) > 0, "use type enum, or texts for labels of codes", "has values, but is of type %s", x.Type)
	refuse(d.required.at, x.Required && x.System != "", "leave required out", "is filled by the engine (system: %s) and cannot be required of callers", x.System)
	refuse(d.required.at, x.Required && x.Generated, "leave required out", "is generated by the database and cannot be required of callers")
	refuse(d.system.at, x.System != "" && x.Generated, "keep one of them", "is both generated by the database and filled by the engine")
	switch x.System {
	case "created_at", "updated_at":
		refuse(d.system.at, kind != DateTime && kind != Date, "type datetime or date", "is to hold a time (system: %s), but is of type %s", x.System, x.Type)
	case "enabled":
		refuse(d.system.at, kind != Bool && !kind.Numeric(), "type bool or integer", "is to hold 1 or 0 (system: enabled), but is of type %s", x.Type)
	}
	if d.text.given() {
		if t, ok := l.texts[d.text.text]; ok {
			x.Text = t.thing
		} else {
			u.file.tell(d.text.at, l.nearest("text", d.text.text, func() []string { return keysOf(l.texts) }), "no text map %s", problem.Quote(d.text.text))
		}
	}
}

// bindSystem refuses two fields with one role: the engine would not know which to fill.
func (l *loader) bindSystem(u *resUnit) {
	first := map[string]*Field{}
	for _, x := range u.res.Fields {
		if x.System == "" {
			continue
		}
		if other := first[x.System]; other != nil {
			u.file.tell(u.fields[x].system.at, "keep one of them", "the fields %s and %s are both system: %s", problem.Quote(other.Code), problem.Quote(x.Code), x.System)
			continue
		}
		first[x.System] = x
	}
}

func (l *loader) bindSoftDelete(u *resUnit) {
	d := &u.decl.softDelete
	x := l.field(u, d.field, `"softDelete"`)
	if x == nil {
		return
	}
	u.res.SoftDelete = &SoftDelete{Field: x, Deleted: d.deleted.text}
	switch {
	case !d.deleted.given() && x.NotNull:
		u.file.tell(d.field.at, "say with deleted which value marks a deleted row", "the field %s is never NULL, so every row would count as deleted", problem.Quote(x.Code))
	case d.deleted.given() && d.deleted.text == "":
		u.file.tell(d.deleted.at, "leave deleted out when any value marks the row", `"deleted" must not be empty`)
	case d.deleted.given() && !plausible(x, d.deleted.text):
		u.file.tell(d.deleted.at, "", "%s is no value of the field %s of type %s", problem.Quote(d.deleted.text), problem.Quote(x.Code), x.Type)
	}
}

// plausible says whether text can be a value of x; types with many forms are left to the database.
func plausible(x *Field, text string) bool {
	switch x.Type.Kind {
	case Integer:
		_, err := strconv.ParseInt(text, 10, 64)
		return err == nil
	case Decimal, Number:
		_, err := strconv.ParseFloat(text, 64)
		return err == nil
	case Bool:
		return text == "true" || text == "false" || text == "0" || text == "1"
	case Enum:
		for _, v := range x.Values {
			if v == text {
				return true
			}
		}
		return false
	}
	return true
}

// bindWrites checks that what may be written can be: on a connection that writes, a table, by an integer key.
func (l *loader) bindWrites(u *resUnit) {
	if len(u.decl.writes) == 0 {
		return
	}
	at, code := u.decl.writes[0].at, problem.Quote(u.res.Code)
	if c := u.res.Connection; c != nil && !c.Write {
		u.file.tell(at, "set mode: write on the connection, or leave writes out", "the resource %s has writes, but its connection %s only reads", code, problem.Quote(c.Name))
	}
	if u.res.View {
		u.file.tell(at, "leave writes out, or declare the table behind it", "the resource %s is a view and cannot be written", code)
	}
	switch key := u.res.Key; {
	case len(u.decl.key) > len(key): // an unknown key field has been told
	case len(key) != 1:
		u.file.tell(at, "the write tools find rows by one integer key", "the resource %s has writes, but %s", code, map[bool]string{true: "no key", false: "a key of several fields"}[len(key) == 0])
	case u.fields[key[0]].typ.given() && key[0].Type.Kind != Integer:
		u.file.tell(at, "the write tools find rows by one integer key", "the resource %s has writes, but its key is of type %s", code, key[0].Type)
	}
}

// bindSchema keeps a table within the schemas that its connection allows.
func (l *loader) bindSchema(u *resUnit) {
	c := u.res.Connection
	if c == nil || len(c.Schemas) == 0 || u.res.Schema == "" {
		return
	}
	for _, s := range c.Schemas {
		if s == u.res.Schema {
			return
		}
	}
	u.file.tell(u.decl.schema.at, problem.OneOf(u.res.Schema, c.Schemas), "the connection %s does not allow the schema %s", problem.Quote(c.Name), problem.Quote(u.res.Schema))
}
