package schema

import (
	"cmp"
	"crypto/sha256"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"resq/schema/problem"
)

// A Validation says whether a change may stay. It is a tool that only reads and that no client calls (C-012).
type Validation struct {
	Name               string
	Title, Description Words
	Mode               string // required or informational, where an attachment does not say it
	Tool               *Tool  // that is asked; of a wrapped one the tool that it wraps
	Wraps              bool
	Args               []FormulaArg // of a wrapped one
	Transform          *Formula     // makes the verdict of the answer; nil where the answer is one
	Text               string       // of Transform
	Each               bool         // it is asked once for each row; else once for the whole change
	At                 Pos
}

// A FormulaArg is one argument of a wrapped tool.
type FormulaArg struct {
	Name    string
	Formula *Formula
	Text    string
}

// An Attachment ties a Validation to a resource.
type Attachment struct {
	ID         string
	Validation *Validation
	Mode       string            // required or informational
	Args       map[string]string // values of further inputs
	At         Pos               // zero for one of the registry
}

// An Attach asks for an Attachment that no file declares.
type Attach struct {
	ID, Resource, Validation, Mode string
	Args                           map[string]string // values of further inputs
}

// AttachmentID names an attachment of the files: always the same for a resource and a validation.
func AttachmentID(resource, validation string) string {
	return StableID("attachment\x00" + resource + "\x00" + validation)
}

// StableID is an id of the form of a ULID that depends on a name alone, so that whoever writes it first writes the same.
func StableID(name string) string {
	const digits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
	sum := sha256.Sum256([]byte("resq-id-v1\x00" + name))
	out := make([]byte, 26)
	for i := range out { // five bits each of the first 130, of which a ULID has 128
		bit := i*5 - 2
		v := 0
		for b := bit; b < bit+5; b++ {
			v <<= 1
			if b >= 0 {
				v |= int(sum[b/8]>>(7-b%8)) & 1
			}
		}
		out[i] = digits[v]
	}
	return string(out)
}

// inputs are the names under which a validation is told what changes. Fields of the row stand behind before_ and after_.
var inputs = []string{"resource", "action", "id", "ids"}

// rowInput gives the field that an input is the value of.
func rowInput(name string) (field string, after, ok bool) {
	if field, ok = strings.CutPrefix(name, "before_"); ok {
		return field, false, true
	}
	field, ok = strings.CutPrefix(name, "after_")
	return field, true, ok
}

// Input says which field an input is the value of, before or after the change; false for one that is none.
func (v *Validation) Input(name string) (field string, after, ok bool) { return rowInput(name) }

// Validation finds a validation by its name.
func (c *Catalog) Validation(name string) (*Validation, bool) {
	i := slices.IndexFunc(c.Validations, func(v *Validation) bool { return v.Name == name })
	if i < 0 {
		return nil, false
	}
	return c.Validations[i], true
}

// A checkUnit is a validation on its way into the catalog.
type checkUnit struct {
	file *file
	decl *checkDecl
	v    *Validation
}

// validation makes a validation of its declaration. t is the tool that it is made of; nil of a wrapped one, which finds
// it when all tools are known.
func (l *loader) validation(f *file, d *toolDecl, t *Tool) {
	v := &Validation{Name: d.name.text, Title: d.title.words(), Description: d.description.words(), Mode: cmp.Or(d.check.mode.text, "required"), Tool: t,
		Text: d.check.transform.text, At: f.pos(d.name.at)}
	if d.sql != nil {
		v.Title, v.Description = Words{En: strings.TrimSpace(d.sql.title.text)}, Words{En: strings.TrimSpace(d.sql.description.text)}
	}
	v.Transform = l.formula(f, d.check.transform, d.check.node)
	u := &checkUnit{f, &d.check, v}
	l.checks = append(l.checks, u)
	l.keepSource(v, "tools", d.node)
	if t == nil {
		v.Wraps, v.Each = true, true
		if !d.check.transform.given() {
			f.tell(d.at, `transform: '{"passed": output.total == 0}'`, "a validation that wraps a tool needs a transform")
		}
		for _, a := range d.check.args {
			v.Args = append(v.Args, FormulaArg{a.name.text, l.formula(f, a.field, nil), a.field.text})
		}
		return
	}
	for i, p := range t.Params {
		_, _, row := rowInput(p.Name)
		v.Each = v.Each || row || p.Name == "id"
		if row && d.sql != nil && !d.sql.params[i].required.at.given() {
			p.Required = false // a new row has nothing before, one that goes nothing after, and any field may be NULL
		}
	}
	if v.Transform == nil && !d.check.transform.given() && d.sql == nil && (t.Preset == nil || !slices.ContainsFunc(t.Preset.Outputs, func(c *Column) bool { return c.Name == "passed" })) {
		f.tell(d.at, `transform: '{"passed": output.count == 0}', or an output passed`, "the validation %s says nowhere whether it passed", problem.Quote(v.Name))
	}
}

// formula compiles an expression; nil where there is none, or one that is told.
func (l *loader) formula(f *file, w word, n *yaml.Node) *Formula {
	if !w.given() {
		return nil
	}
	x, line, column, wrong := compile(w.text)
	if wrong != "" {
		at := w.at
		if n != nil {
			at = f.inside(n, Pos{Line: line, Column: column}.place())
		}
		f.tell(at, "CEL over "+strings.Join(FormulaInputs, ", "), "the expression cannot be read: %s", wrong)
	}
	return x
}

// place is the line and column alone.
func (p Pos) place() string {
	return strings.TrimPrefix(Pos{File: "x", Line: p.Line, Column: p.Column}.String(), "x:")
}

// bindValidations finds what validations wrap, and attaches them.
func (l *loader) bindValidations() {
	known := map[string]declared[*Validation]{}
	for _, u := range l.checks {
		known[u.v.Name] = declared[*Validation]{u.v, u.file, u.decl.kind.at}
		if u.v.Wraps {
			l.wrapped(u)
		}
		l.cat.Validations = append(l.cat.Validations, u.v)
	}
	for _, u := range l.resUnits {
		for i := range u.decl.validations {
			l.attach(u, &u.decl.validations[i], known)
		}
	}
	l.attachOthers(known)
	for _, u := range l.resUnits {
		slices.SortFunc(u.res.Validations, func(a, b *Attachment) int { // C-019
			return cmp.Or(cmp.Compare(a.Mode, b.Mode), cmp.Compare(a.Validation.Name, b.Validation.Name))
		})
	}
}

func (l *loader) wrapped(u *checkUnit) {
	i := slices.IndexFunc(l.cat.Tools, func(t *Tool) bool { return t.Name == u.decl.wraps.text })
	if i < 0 {
		var names []string
		for _, t := range l.cat.Tools {
			names = append(names, t.Name)
		}
		u.file.tell(u.decl.wraps.at, problem.OneOf(u.decl.wraps.text, names), "no tool %s", problem.Quote(u.decl.wraps.text))
		return
	}
	t := l.cat.Tools[i]
	u.v.Tool = t
	if !t.ReadOnly || t.Preset == nil && t.SQL == nil {
		u.file.tell(u.decl.wraps.at, "a tool with shape or sql", "the tool %s cannot be asked by a validation", problem.Quote(t.Name))
	}
	paged := t.Preset != nil && t.Preset.Shape == "list"
	for _, a := range u.decl.args {
		if t.Param(a.name.text) == nil && !(paged && (a.name.text == "page" || a.name.text == "rows")) {
			var names []string
			for _, p := range t.Params {
				names = append(names, p.Name)
			}
			u.file.tell(a.name.at, problem.OneOf(a.name.text, names), "the tool %s has no argument %s", problem.Quote(t.Name), problem.Quote(a.name.text))
		}
	}
	for _, p := range t.Params {
		if p.Required && !p.HasDefault && !slices.ContainsFunc(u.decl.args, func(a argDecl) bool { return a.name.text == p.Name }) {
			u.file.tell(u.decl.wraps.at, "args: {"+p.Name+": id}", "the tool %s needs the argument %s", problem.Quote(t.Name), problem.Quote(p.Name))
		}
	}
}

// attach ties a validation to the resource whose file says so.
func (l *loader) attach(u *resUnit, d *attachDecl, known map[string]declared[*Validation]) {
	if !d.name.given() {
		return // told by the grammar
	}
	found, ok := known[d.name.text]
	if !ok {
		u.file.tell(d.name.at, l.nearest("validation", d.name.text, func() []string { return keysOf(known) }), "no validation %s", problem.Quote(d.name.text))
		return
	}
	a := &Attachment{ID: AttachmentID(u.res.Code, d.name.text), Validation: found.thing, Mode: cmp.Or(d.mode.text, found.thing.Mode), Args: map[string]string{}, At: u.file.pos(d.at)}
	for _, x := range d.args {
		a.Args[x.name.text] = x.field.text
	}
	if u.attached(a.Validation) {
		u.file.tell(d.name.at, "keep one of them", "the validation %s is attached twice", problem.Quote(d.name.text))
		return
	}
	for _, x := range d.args {
		if what, hint := a.Validation.takes(x.name.text, x.field.text); what != "" {
			at := x.name.at
			if found.thing.Tool.Param(x.name.text) != nil {
				at = x.field.at
			}
			u.file.tell(at, hint, "%s", what)
		}
	}
	if what, hint := a.misfit(u.res); what != "" {
		u.file.tell(d.name.at, hint, "%s", what)
		return
	}
	u.res.Validations = append(u.res.Validations, a)
}

func (u *resUnit) attached(v *Validation) bool {
	return slices.ContainsFunc(u.res.Validations, func(a *Attachment) bool { return a.Validation == v })
}

// takes says what is wrong with the value of a further input; "" is nothing. One that wraps a tool has its expressions for them.
func (v *Validation) takes(name, value string) (what, hint string) {
	if v.Wraps || v.Tool == nil {
		return "", ""
	}
	p := v.Tool.Param(name)
	if p == nil {
		return "the validation " + problem.Quote(v.Name) + " has no input " + problem.Quote(name), ""
	}
	if wrong := p.Check(value); wrong != "" {
		return problem.Quote(value) + " " + wrong, p.Hint()
	}
	return "", ""
}

// misfit says why a validation cannot be asked about changes of a resource.
func (a *Attachment) misfit(r *Resource) (what, hint string) {
	v := a.Validation
	if len(r.Writes) == 0 {
		return "the resource " + problem.Quote(r.Code) + " takes no changes, so a validation would never be asked", "writes: [update]"
	}
	if v.Wraps || v.Tool == nil {
		return "", ""
	}
	for _, p := range v.Tool.Params {
		if _, given := a.Args[p.Name]; given || slices.Contains(inputs, p.Name) {
			continue
		}
		if field, _, row := rowInput(p.Name); row {
			if _, ok := r.byCode[field]; !ok {
				return "the validation " + problem.Quote(v.Name) + " asks for the field " + problem.Quote(field) + ", which " + problem.Quote(r.Code) + " does not have", fieldHint(r, field)
			}
			continue
		}
		if p.Required && !p.HasDefault {
			return "the validation " + problem.Quote(v.Name) + " needs the input " + problem.Quote(p.Name), "args: {" + p.Name + ": …}"
		}
	}
	return "", ""
}

// attachOthers adds the attachments that no file declares. One that cannot be is a problem of no file.
func (l *loader) attachOthers(known map[string]declared[*Validation]) {
	for _, x := range l.opts.Attach {
		at := "the attachment " + problem.Quote(x.ID) + " of the registry: "
		i := slices.IndexFunc(l.resUnits, func(u *resUnit) bool { return u.res.Code == x.Resource })
		if i < 0 {
			l.general.tell(place{}, "resq validation detach "+x.ID, "%sthere is no resource %s", at, problem.Quote(x.Resource))
			continue
		}
		u := l.resUnits[i]
		found, ok := known[x.Validation]
		if !ok {
			l.general.tell(place{}, "resq validation detach "+x.ID, "%sthere is no validation %s", at, problem.Quote(x.Validation))
			continue
		}
		a := &Attachment{ID: x.ID, Validation: found.thing, Mode: cmp.Or(x.Mode, found.thing.Mode), Args: maps.Clone(x.Args)}
		if a.Args == nil {
			a.Args = map[string]string{}
		}
		for _, name := range slices.Sorted(maps.Keys(a.Args)) {
			if what, hint := a.Validation.takes(name, a.Args[name]); what != "" {
				l.general.tell(place{}, cmp.Or(hint, "resq validation detach "+x.ID), "%s%s", at, what)
			}
		}
		if u.attached(a.Validation) {
			l.general.tell(place{}, "resq validation detach "+x.ID, "%sthe validation %s is attached to %s in a file, too", at, problem.Quote(x.Validation), problem.Quote(x.Resource))
			continue
		}
		if what, _ := a.misfit(u.res); what != "" {
			l.general.tell(place{}, "resq validation detach "+x.ID, "%s%s", at, what)
			continue
		}
		u.res.Validations = append(u.res.Validations, a)
	}
}
