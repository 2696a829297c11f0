package schema

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"resq/schema/problem"
	"resq/schema/query"
	"resq/schema/sqltext"
)

// Note [slots]
//
// A tool with slots is bound to all that they may be filled with when the catalog is loaded: each binding is a tool of its own, checked
// as one that names its resources would be, and all of them must take the same arguments and give answers of the same form.
// A call picks one. So nothing can be bound at a call that was not checked before, and nothing is looked up in a call but a name.

// A Slot is something that a tool works on and that is settled when it is called (C-041).
type Slot struct {
	Name      string
	Type      string   // table, view, resource or connection
	Binding   string   // static, parameter or context
	Access    string   // read_only or read_write
	Attribute string   // of binding context
	To        []string // what it may be filled with
	Default   string   // what it is filled with where nothing is said; "" must be said
	Param     *Param   // of binding parameter: the argument that names it
	At        Pos
}

// maxBindings is how many bindings of one tool are checked and kept.
const maxBindings = 64

// Bound is what the tool is when its slots are filled with these, in the order of Slots; false where they cannot be.
func (t *Tool) Bound(to []string) (*Tool, bool) {
	b, ok := t.bound[strings.Join(to, "\x00")]
	return b, ok
}

// Bindings are all that a tool can be: the tool itself where it has no slots of resources.
func (t *Tool) Bindings() []*Tool {
	if len(t.bound) == 0 {
		return []*Tool{t}
	}
	out := make([]*Tool, 0, len(t.bound))
	for _, k := range slices.Sorted(maps.Keys(t.bound)) {
		out = append(out, t.bound[k])
	}
	return out
}

// slot checks what a slot says of itself; nil is that it cannot be used, which is told. What it may be bound to is checked by taken.
func (l *loader) slot(f *file, d *slotDecl, taken func(w word)) *Slot {
	told := len(f.found)
	s := &Slot{Name: d.name.text, Type: d.typ.text, Binding: d.binding.text, Access: ReadOnly, Attribute: d.attribute.text, Default: d.deft.text, At: f.pos(d.name.at)}
	name := problem.Quote(s.Name)
	if !query.PlainName(s.Name) {
		f.tell(d.name.at, "letters, digits and _", "%s is no name of a slot", name)
	}
	if d.access.text == ReadWrite { // C-042
		f.tell(d.access.at, "access: read_only", "the tool only reads, so that its slot %s cannot have the access read_write", name)
	}
	for _, w := range d.to {
		s.To = append(s.To, w.text)
		taken(w)
	}
	switch s.Binding {
	case ByStatic:
		if len(d.to) != 1 {
			f.tell(d.at, "to: [NAME]", "the static slot %s is bound to one thing", name)
		}
		for _, w := range []word{d.attribute, d.deft} {
			if w.given() {
				f.tell(w.at, "leave it out", "nothing is chosen for the static slot %s", name)
			}
		}
	case ByParameter:
		if d.attribute.given() {
			f.tell(d.attribute.at, "binding: context", "an argument fills the slot %s, and no attribute of the principal", name)
		}
	case ByContext:
		if !d.attribute.given() {
			f.tell(d.at, "attribute: NAME", "the slot %s needs the attribute of the principal that fills it", name)
		}
	}
	if d.description.at.given() && s.Binding != ByParameter {
		f.tell(d.description.at, "leave it out", "no client is told of the slot %s, which is no argument", name)
	}
	if d.deft.given() && len(d.to) > 0 && !slices.Contains(s.To, s.Default) {
		f.tell(d.deft.at, problem.OneOf(s.Default, s.To), "the slot %s cannot be bound to its default, %s", name, problem.Quote(s.Default))
	}
	switch required := d.required; {
	case required.at.given() && required.on && d.deft.given():
		f.tell(required.at, "leave required or default out", "the slot %s is required, so its default is never used", name)
	case required.at.given() && !required.on && !d.deft.given() && s.Binding != ByStatic:
		f.tell(required.at, "default: NAME", "the slot %s is not required and has no default, so that nothing would fill it", name)
	}
	if len(f.found) > told {
		return nil
	}
	return s
}

// asks makes the argument that fills a slot.
func (s *Slot) asks(about wordsDecl) {
	if s.Binding == ByParameter {
		s.Param = &Param{Name: s.Name, Description: about.words(), Type: "enum", Values: s.To, Required: s.Default == "", Default: s.Default, HasDefault: s.Default != "", At: s.At}
	}
}

// slots reads the slots of a preset; nil is that one cannot be used, which is told.
func (l *loader) slots(f *file, d *toolDecl) []*Slot {
	told := len(f.found)
	var out []*Slot
	for i := range d.slots {
		x := &d.slots[i]
		if x.typ.text == OfConnection {
			f.tell(x.typ.at, "type: resource", "a tool with a shape reads resources; a slot of connections is for SQL tools")
			continue
		}
		if len(x.to) == 0 {
			f.tell(x.at, "to: [CODE, CODE]", "the slot %s does not say which resources it may be bound to", problem.Quote(x.name.text))
			continue
		}
		if _, shadows := l.resources[x.name.text]; shadows {
			f.tell(x.name.at, "name it otherwise", "the slot %s has the code of a resource", problem.Quote(x.name.text))
		}
		for _, p := range d.params {
			if p.name.text == x.name.text && x.binding.text == ByParameter {
				f.tell(x.name.at, "leave that argument out", "the slot %s is an argument by itself, and another one has its name", problem.Quote(x.name.text))
			}
		}
		if d.shape.text == "list" && (x.name.text == "page" || x.name.text == "rows") {
			f.tell(x.name.at, "name it otherwise", "the argument %s belongs to the pages of every list", problem.Quote(x.name.text))
		}
		s := l.slot(f, x, func(w word) { l.fills(f, d, x, w) })
		if s != nil {
			s.asks(x.description)
			out = append(out, s)
		}
	}
	if len(f.found) > told {
		return nil
	}
	return out
}

// fills tells why a resource may not fill a slot.
func (l *loader) fills(f *file, d *toolDecl, x *slotDecl, w word) {
	found, ok := l.resources[w.text]
	if !ok {
		f.tell(w.at, l.nearest("resource", w.text, func() []string { return keysOf(l.resources) }), "no resource %s", problem.Quote(w.text))
		return
	}
	r, kind := found.thing, OfTable
	if r.View {
		kind = OfView
	}
	if x.typ.text != OfResource && x.typ.text != kind {
		f.tell(w.at, "type: "+OfResource+" takes both", "the slot %s takes a %s, and %s is a %s", problem.Quote(x.name.text), x.typ.text, problem.Quote(w.text), kind)
		return
	}
	// Who may call the tool reads the codes in the schema of its arguments.
	if x.binding.text == ByParameter && len(r.Roles) > 0 && !slices.Contains(r.Roles, "tool") &&
		(len(d.roles) == 0 || slices.ContainsFunc(d.roles, func(role word) bool { return !slices.Contains(r.Roles, role.text) })) {
		f.tell(w.at, "roles: ["+strings.Join(r.Roles, ", ")+"]", "the resource %s is for some roles alone, and everybody who may call this tool would read its code", problem.Quote(w.text))
	}
}

// bindings binds a preset with slots to all that they may be filled with, and gives the first of them with the others in it; nil is
// that the slots cannot be used, which is told.
func (l *loader) bindings(f *file, d *toolDecl) *Tool {
	slots := l.slots(f, d)
	if slots == nil {
		return nil
	}
	n := 1
	for _, s := range slots {
		if n *= len(s.To); n > maxBindings {
			f.tell(d.at, "fewer slots, or fewer resources in to", "the tool %s could be bound in more than %d ways", problem.Quote(d.name.text), maxBindings)
			return nil
		}
	}
	var first *Tool
	var conns []*Connection
	read := map[string]bool{}
	told := make([][]found, n)
	by := make([]string, n)
	bound := make(map[string]*Tool, n)
	for i := range n {
		to := make([]string, len(slots))
		filled := map[string]*Resource{}
		rest := i
		for k, s := range slots {
			to[k] = s.To[rest%len(s.To)]
			rest /= len(s.To)
			filled[s.Name] = l.resources[to[k]].thing
			by[i] += ", " + s.Name + " is " + to[k]
		}
		t := l.newTool(f, d)
		t.Slots = slots
		before := len(f.found)
		(&toolBinder{l: l, file: f, tool: t, filled: filled, read: read}).preset(d)
		told[i] = slices.Clone(f.found[before:])
		f.found = f.found[:before]
		bound[strings.Join(to, "\x00")] = t
		if first == nil {
			own := *t
			first = &own
		}
		for _, c := range t.Connections {
			if !slices.Contains(conns, c) {
				conns = append(conns, c)
			}
		}
	}
	first.bound, first.Connections = bound, conns
	quiet := !slices.ContainsFunc(told, func(list []found) bool { return len(list) > 0 })
	for i, s := range slots {
		if quiet && !read[s.Name] {
			f.tell(d.slots[i].name.at, "source: "+s.Name, "nothing in the tool reads the slot %s", problem.Quote(s.Name))
		}
	}
	for i := range told {
		for _, p := range told[i] {
			if everywhere := !slices.ContainsFunc(told, func(list []found) bool { return !slices.Contains(list, p) }); !everywhere {
				p.msg += " (where " + strings.TrimPrefix(by[i], ", ") + ")"
			}
			if !slices.Contains(f.found, p) {
				f.found = append(f.found, p)
			}
		}
	}
	if quiet {
		first.agree(f, d, slots)
	}
	return first
}

// agree tells of bindings that take other arguments or answer in another form than the first does.
func (t *Tool) agree(f *file, d *toolDecl, slots []*Slot) {
	for key, o := range t.bound {
		for _, x := range []struct {
			what  string
			a, b  []byte
			where string
		}{{"takes other arguments", t.input["en"], o.input["en"], "/properties"}, {"answers otherwise", t.output, o.output, ""}} {
			if string(x.a) == string(x.b) {
				continue
			}
			at := differs(decoded(x.a), decoded(x.b), "")
			var is []string
			for i, to := range strings.Split(key, "\x00") {
				is = append(is, slots[i].Name+" is "+to)
			}
			slices.Sort(is)
			f.tell(d.slots[0].name.at, "name outputs alike, of fields of the same type", "the tool %s %s where %s, in %s", problem.Quote(t.Name), x.what, strings.Join(is, ", "), problem.Quote(at))
		}
	}
}

func decoded(raw []byte) (v any) {
	_ = json.Unmarshal(raw, &v) // it was written here
	return v
}

// differs is the first place at which two schemas differ.
func differs(a, b any, at string) string {
	x, ok := a.(map[string]any)
	y, same := b.(map[string]any)
	if !ok || !same {
		return strings.TrimPrefix(at, ".")
	}
	for _, k := range slices.Sorted(maps.Keys(x)) {
		one, _ := json.Marshal(x[k])
		two, _ := json.Marshal(y[k])
		if string(one) == string(two) {
			continue
		}
		if k == "properties" || k == "items" { // which are no names of the tool's own
			return differs(x[k], y[k], at)
		}
		return differs(x[k], y[k], at+"."+k)
	}
	for _, k := range slices.Sorted(maps.Keys(y)) {
		if _, there := x[k]; !there {
			return strings.TrimPrefix(at+"."+k, ".")
		}
	}
	return strings.TrimPrefix(at, ".")
}

// fill puts the resources of slots into a request, where each is known by the name of its slot.
func (b *toolBinder) fill(q *query.Request) {
	if len(b.filled) == 0 {
		return
	}
	q.Each(func(r *query.Request) {
		if res := b.filled[r.Resource]; res != nil {
			if r.Code == "" {
				r.Code = r.Resource
			}
			r.Resource, b.read[r.Resource] = res.Code, true
		}
		for i := range r.Relations {
			x := &r.Relations[i]
			if res := b.filled[x.Resource]; res != nil {
				if x.Code == "" {
					x.Code = x.Resource
				}
				x.Resource, b.read[x.Resource] = res.Code, true
			}
		}
	}, func(*query.Leaf) {})
}

// system settles where a SQL tool runs (D-030, C-041).
func (l *loader) system(f *file, d *sqlDecl, t *Tool) {
	t.SQL.Arg = "system"
	all := l.foreignConnections()
	if len(d.slots) > 0 {
		l.sqlSlot(f, d, t, all)
		return
	}
	if d.system.given() {
		for _, c := range all {
			if c.Name == d.system.text {
				t.SQL.System, t.SQL.Default = c, c
				t.Connections = []*Connection{c}
				return
			}
		}
		f.tell(d.system.at, problem.OneOf(d.system.text, keysOf(l.connections)), "no connection %s", problem.Quote(d.system.text))
		return
	}
	for _, c := range all {
		if t.SQL.Default == nil || c.Name == "default" {
			t.SQL.Default = c
		}
	}
	own := t.Param("system")
	if d.context.given() {
		t.SQL.Context, t.SQL.Among = d.context.text, all
		return
	}
	switch {
	case own != nil && len(all) < 2:
		// With a second connection the name would change its meaning to clients that know it from other tools.
		f.tellAs(problem.SQLParam, d.at, "name it otherwise", "the parameter %s has the name of the argument that chooses a connection", problem.Quote("system"))
	case own == nil && len(all) > 1:
		t.SQL.Choice = all
	}
	t.Connections = t.SQL.Choice
	if t.Connections == nil && t.SQL.Default != nil {
		t.Connections = []*Connection{t.SQL.Default}
	}
}

// sqlSlot settles it by a slot, and reads the statement for every connection that may fill it.
func (l *loader) sqlSlot(f *file, d *sqlDecl, t *Tool, all []*Connection) {
	x := &d.slots[0]
	if len(d.slots) > 1 {
		f.tell(d.slots[1].name.at, "keep one of them", "a SQL tool runs on one connection, and has one slot")
		return
	}
	if d.system.given() || d.context.given() {
		f.tell(x.name.at, "keep one of them", "system and a slot both say where the tool runs")
		return
	}
	if x.typ.text != OfConnection {
		f.tell(x.typ.at, "type: connection", "the slot of a SQL tool takes a connection: its statement names its tables itself")
		return
	}
	if own := t.Param(x.name.text); own != nil && x.binding.text == ByParameter {
		f.tellAs(problem.SQLParam, x.name.at, "name it otherwise", "the parameter %s has the name of the argument that chooses a connection", problem.Quote(x.name.text))
		return
	}
	find := func(name string) *Connection {
		i := slices.IndexFunc(all, func(c *Connection) bool { return c.Name == name })
		if i < 0 {
			return nil
		}
		return all[i]
	}
	var names []string
	for _, c := range all {
		names = append(names, c.Name)
	}
	s := l.slot(f, x, func(w word) {
		if find(w.text) == nil {
			f.tell(w.at, problem.OneOf(w.text, names), "no connection %s that takes SQL", problem.Quote(w.text))
		}
	})
	if s == nil {
		return
	}
	if len(x.to) == 0 {
		if s.To = names; s.Default != "" && find(s.Default) == nil {
			f.tell(x.deft.at, problem.OneOf(s.Default, s.To), "no connection %s that takes SQL", problem.Quote(s.Default))
			return
		}
	}
	among := make([]*Connection, len(s.To))
	for i, name := range s.To {
		among[i] = find(name)
	}
	if len(among) == 0 {
		return // told of the statement
	}
	t.Slots, t.SQL.Default, t.SQL.Among = []*Slot{s}, among[0], among
	if s.Default != "" {
		t.SQL.Default, t.SQL.Fallback = find(s.Default), find(s.Default)
	}
	switch s.Binding {
	case ByStatic:
		t.SQL.System = t.SQL.Default
		t.Connections = among
	case ByParameter:
		t.SQL.Choice, t.SQL.Arg, t.SQL.Must, t.SQL.About = among, s.Name, s.Default == "", x.description.words()
		t.Connections = among
	case ByContext:
		t.SQL.Context = s.Attribute
	}
	for _, c := range among {
		dialect, ok := sqltext.DialectOf(c.Driver)
		if !ok || c == t.SQL.Default || !d.sql.given() { // which statement does
			continue
		}
		if _, err := l.cat.foreign(c, dialect, t.SQL.Text); err != nil {
			for _, p := range problem.From(err) {
				f.tellAs(p.Code, f.inside(d.node, p.At), p.Hint, "on %s: %s", problem.Quote(c.Name), p.Message)
			}
		}
	}
}
