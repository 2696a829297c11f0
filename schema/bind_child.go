package schema

import (
	"slices"

	"resq/schema/problem"
)

// child finds a child list by its name and notes that it is shown.
func (r *columnBinder) child(w word) *Child {
	var names []string
	for _, c := range r.read.Children {
		if c.Name == w.text {
			r.shown[c] = true
			return c
		}
		names = append(names, c.Name)
	}
	if w.given() {
		hint := problem.OneOf(w.text, names)
		if hint == "" {
			hint = "declare it under children"
		}
		r.b.tell(w.at, hint, "no child list %s", problem.Quote(w.text))
	}
	return nil
}

// collect binds outputs that look at the outputs of a child list.
func (r *columnBinder) collect(c *Column, d *columnDecl) bool {
	w := map[string]word{"gather": d.gather, "split": d.split, "distinct": d.distinct}[c.Kind]
	if c.Child = r.child(w); c.Child == nil {
		return false
	}
	find := func(name word) *Column { return r.within(c.Child, name) }
	take := d.take
	if c.Kind == "split" {
		take = []word{d.by}
		for _, p := range d.into {
			c.Parts = append(c.Parts, Part{p.name.text, p.field.text})
		}
		if !d.by.given() || len(d.into) == 0 {
			r.b.tell(d.at, "by: OUTPUT and into: {name: value}", "nothing says how the list is parted")
			return false
		}
	}
	if c.Kind == "gather" && c.How == "" {
		c.How = "list"
	}
	if c.Kind == "gather" && c.How == "count" {
		return true
	}
	if len(take) == 0 || c.Kind != "distinct" && len(take) > 1 {
		r.b.tell(d.at, "take: OUTPUT", "nothing says what is taken from the child list %s", problem.Quote(c.Child.Name))
		return false
	}
	for _, x := range take {
		o := find(x)
		if o == nil {
			return false
		}
		c.Outputs = append(c.Outputs, o)
	}
	return true
}

// within finds an output of a child list, or a field of it that its rows do not show and that is read for this alone.
func (r *columnBinder) within(child *Child, name word) *Column {
	var names []string
	for _, o := range child.Read.Columns {
		if o.Name == name.text {
			return o
		}
		names = append(names, o.Name)
	}
	inner := &columnBinder{b: r.b, read: child.Read, res: child.Read.Source, groups: child.Groups}
	if f, ok := inner.res.byCode[name.text]; ok {
		if i := inner.fetch(f); i >= 0 {
			name := r.b.named(f.Code)
			return &Column{Name: name, Key: []byte(asJSON(name) + ":"), Kind: "field", Field: f, Index: i, Value: "null"}
		}
	}
	r.b.tell(name.at, problem.OneOf(name.text, names), "the child list %s has no output %s", problem.Quote(child.Name), problem.Quote(name.text))
	return nil
}

// children binds the child lists of a read, the inner ones first.
func (r *columnBinder) children(list []childDecl) {
	r.shown, r.at = map[*Child]bool{}, map[*Child]place{}
	for i := range list {
		d := &list[i]
		there := r.b.resource(d.source)
		if there == nil {
			continue
		}
		c := &Child{Name: d.name.text, At: r.b.file.pos(d.name.at), Read: &Read{Source: there, At: r.b.file.pos(d.at)}, When: r.b.when(&d.when), Limit: 1000, Several: !r.single}
		if d.limit.at.given() {
			c.Limit = int64(d.limit.n)
		}
		if c.LimitParam = r.b.argument(d.limitParam); c.LimitParam != nil && c.LimitParam.Type != "integer" {
			r.b.tell(d.limitParam.at, "type: integer", "the argument %s is no number of rows", problem.Quote(c.LimitParam.Name))
		}
		if c.Several && (d.limit.at.given() || d.limitParam.given()) {
			r.b.tell(d.at, "leave limit out", "a limit is for the rows of a single record")
		}
		for _, w := range d.groups {
			if f := r.b.field(w, there); f != nil {
				c.Groups = append(c.Groups, f)
			}
		}
		inner := &columnBinder{b: r.b, read: c.Read, res: there}
		for _, p := range d.on {
			from, to := r.b.field(p.from, there), word{}
			to = p.to
			j, _ := r.index(to)
			if from == nil || j < 0 {
				continue
			}
			if c.Groups != nil && !slices.Contains(c.Groups, from) {
				c.Groups = append(c.Groups, from)
			}
			if from.Mask != "" {
				r.b.tell(p.from.at, "", "the field %s is masked, so that nothing can be found by it", problem.Quote(from.Code))
			}
			c.On = append(c.On, Link{inner.fetch(from), j})
		}
		if len(d.on) == 0 {
			r.b.tell(d.at, "on: {field there: field of the record}", "nothing says which rows of %s belong to a record", problem.Quote(there.Code))
		}
		inner.groups = c.Groups
		c.Read.Where = r.b.clauses(d.where, there)
		if c.Groups != nil {
			c.Read.Order = r.b.sorts(d.order, there)
			for _, g := range c.Groups {
				if !slices.ContainsFunc(c.Read.Order, func(s Sort) bool { return s.Field == g }) {
					c.Read.Order = append(c.Read.Order, Sort{Field: g})
				}
			}
		} else {
			c.Read.Order = r.b.order(d.order, there)
		}
		inner.children(d.children)
		c.Read.Columns = inner.columns(d.columns)
		inner.unused()
		if slices.ContainsFunc(r.read.Children, func(o *Child) bool { return o.Name == c.Name }) {
			continue // told as a key that stands twice
		}
		r.read.Children = append(r.read.Children, c)
		r.at[c] = d.name.at
	}
}

// unused tells of child lists that nothing shows.
func (r *columnBinder) unused() {
	for _, c := range r.lists() {
		if !r.shown[c] {
			r.b.tell(r.at[c], "show it: - name: {children: "+c.Name+"}", "no output shows the child list %s", problem.Quote(c.Name))
		}
	}
}

func (r *columnBinder) lists() []*Child {
	if r.read == nil {
		return nil
	}
	return r.read.Children
}

// union binds a list from several resources.
func (b *toolBinder) union(d *toolDecl, p *Preset) {
	var first *Resource
	across := false
	for i := range d.union {
		u := &d.union[i]
		res := b.resource(u.source)
		if res == nil {
			continue
		}
		if first == nil {
			first = res
		}
		across = across || res.Connection != first.Connection
		if len(res.Key) != 1 {
			b.tell(u.source.at, "key: CODE on the resource", "%s has no single key", problem.Quote(res.Code))
			continue
		}
		x := &Branch{Name: u.name.text, Read: &Read{Source: res, At: b.file.pos(u.at)}, When: b.when(&u.when), Key: b.field(u.key, res), Prefer: b.sorts(u.prefer, res)}
		r := &columnBinder{b: b, read: x.Read, res: res}
		x.ID = r.fetch(res.Key[0])
		x.Read.Where = b.clauses(u.where, res)
		if x.Key == nil && len(u.prefer) > 0 {
			b.tell(u.prefer[0].at, "key: CODE", "prefer chooses among the rows of a document, and nothing tells documents apart")
		}
		r.children(u.children)
		x.Read.Columns = r.columns(u.columns)
		r.unused()
		if len(x.Read.Columns) == 0 {
			b.tell(u.at, "columns: […]", "the branch %s has no output", problem.Quote(x.Name))
		}
		p.Union = append(p.Union, x)
	}
	if first == nil {
		return
	}
	p.Order = b.sorts(d.order, first)
	for i, s := range p.Order {
		// Each database has an order of texts of its own, so that lists ordered by one cannot be merged.
		if k := s.Field.Type.Kind; across && s.Is == nil && k != Integer && k != Decimal && k != Date && k != DateTime {
			b.tell(d.order[i].at, "a whole number, a decimal, a date or a moment", "the branches are on several connections, and their rows cannot be ordered by %s of type %s", problem.Quote(s.Field.Code), s.Field.Type)
		}
		for _, u := range p.Union[1:] {
			f, ok := u.Read.Source.byCode[s.Field.Code]
			if !ok {
				b.tell(d.order[i].at, "", "the branch %s cannot be ordered: %s has no field %s", problem.Quote(u.Name), problem.Quote(u.Read.Source.Code), problem.Quote(s.Field.Code))
			} else if f.Type.Kind != s.Field.Type.Kind {
				b.tell(d.order[i].at, "", "the field %s is of type %s on %s and of type %s on %s", problem.Quote(f.Code), s.Field.Type, problem.Quote(first.Code), f.Type, problem.Quote(u.Read.Source.Code))
			}
		}
	}
}
