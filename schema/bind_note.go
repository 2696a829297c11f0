package schema

import (
	"slices"
	"strings"

	"resq/schema/problem"
)

// declareNotes reads annotations, masks and instructions.
func (l *loader) declareNotes() {
	notes, masks := map[string]declared[*Annotation]{}, map[string]declared[*Mask]{}
	length := 0
	for _, f := range l.files {
		for i := range f.decl.notes {
			if a := l.note(f, &f.decl.notes[i]); a != nil && declare(notes, "annotation of", strings.ToUpper(a.Schema+"."+a.Table), a, f, f.decl.notes[i].table.at) {
				l.cat.Annotations = append(l.cat.Annotations, a)
			}
		}
		for _, d := range f.decl.masks {
			schema, table, ok := f.tableKey(d.table)
			if !ok {
				continue
			}
			for _, x := range d.columns {
				m := &Mask{Schema: schema, Table: table, Column: x.code.text, Rule: x.label.text, At: f.pos(x.code.at)}
				if !columnName.MatchString(m.Column) {
					f.tell(x.code.at, "an unquoted name", "%s is no name of a column", problem.Quote(m.Column))
					continue
				}
				if !l.maskKnown(f, m, x.code.at, d.table.at) {
					continue
				}
				if declare(masks, "mask of", strings.ToUpper(m.Schema+"."+m.Table+"."+m.Column), m, f, x.code.at) {
					l.cat.Masks = append(l.cat.Masks, m)
				}
			}
		}
		if w := f.decl.instructions; w.given() {
			l.toolText(f, w, "instructions", wordRule{max: 4000})
			if length += len([]rune(w.text)); length > 4000 {
				f.tell(w.at, "shorten them", "the instructions of all files have more than 4000 characters")
			}
		}
	}
}

func (l *loader) note(f *file, d *noteDecl) *Annotation {
	schema, table, ok := f.tableKey(d.table)
	if !ok {
		return nil
	}
	a := &Annotation{Schema: schema, Table: table, Entity: d.entity.text, Description: strings.TrimSpace(d.description.text), At: f.pos(d.table.at)}
	if d.entity.given() && !snakeName.MatchString(d.entity.text) {
		f.tell(d.entity.at, "snake_case, such as sales_order", "%s is no name of an entity", problem.Quote(d.entity.text))
	}
	l.toolText(f, d.description, "description", aText)
	pairs := func(list []labelDecl) []Label {
		var out []Label
		for _, c := range list {
			if !columnName.MatchString(c.code.text) {
				f.tell(c.code.at, "an unquoted name", "%s is no name of a column", problem.Quote(c.code.text))
			}
			out = append(out, Label{c.code.text, strings.TrimSpace(c.label.text)})
		}
		return out
	}
	a.Columns = pairs(d.columns)
	for _, c := range d.columns {
		l.toolText(f, c.label, c.code.text, aText)
	}
	for i := range d.links {
		x := &d.links[i]
		if !x.table.given() {
			continue
		}
		s, t, ok := f.tableKey(x.table)
		if !ok {
			continue
		}
		if x.join != nil && len(x.join) == 0 {
			f.tell(x.at, "join: {COLUMN: COLUMN}", "the relation to %s joins nothing", problem.Quote(x.table.text))
		}
		a.Links = append(a.Links, Kinship{Schema: s, Table: t, Join: pairs(x.join), Cardinality: x.cardinality.text, Description: strings.TrimSpace(x.description.text)})
	}
	for i := range d.filters {
		x := &d.filters[i]
		note := Filter{SQL: x.sql.text, Reason: x.reason.text, Columns: textsOf(x.columns), At: a.At}
		if len(x.columns) > 0 {
			note.At = f.pos(x.columns[0].at)
		}
		a.Filters = append(a.Filters, note)
	}
	return a
}

// tableKey reads SCHEMA.TABLE, or TABLE alone in the schema where the connection looks.
func (f *file) tableKey(w word) (schema, table string, ok bool) {
	schema, table, both := strings.Cut(w.text, ".")
	if !both {
		schema, table = "", schema
	}
	if both && !columnName.MatchString(schema) || !columnName.MatchString(table) {
		f.tell(w.at, "SCHEMA.TABLE", "%s is no name of a table", problem.Quote(w.text))
		return "", "", false
	}
	return schema, table, true
}

// maskKnown refuses a mask that would hide nothing: a typo must not leave a column open. What is only known by the
// database is compared with it when the connection is used, and by validate --connect.
func (l *loader) maskKnown(f *file, m *Mask, at, tableAt place) bool {
	var columns, tables []string
	known, open := false, len(l.cat.Connections) == 0
	for _, c := range l.foreignConnections() {
		if len(c.Tables) == 0 {
			open = true
		}
		for _, t := range c.Tables {
			s, n, both := strings.Cut(t, ".")
			if !both {
				s, n = "", t
			}
			if tables = append(tables, t); strings.EqualFold(n, m.Table) && same(c, s, m.Schema) != no {
				known = true
			}
		}
		for _, r := range l.cat.Resources {
			if r.Connection != c || !strings.EqualFold(r.Table, m.Table) || same(c, r.Schema, m.Schema) == no {
				continue
			}
			known = true
			for _, x := range r.Fields {
				columns = append(columns, x.Column)
			}
		}
	}
	switch {
	case !known && !open:
		f.tell(tableAt, problem.OneOf(m.Table, tables), "no table %s is known that could be masked", problem.Quote(m.Table))
		return false
	case columns != nil && !slices.ContainsFunc(columns, func(c string) bool { return strings.EqualFold(c, m.Column) }):
		f.tell(at, problem.OneOf(m.Column, columns), "the table %s has no column %s that could be masked", problem.Quote(m.Table), problem.Quote(m.Column))
		return false
	}
	return true
}

// declareInstructions ties the instructions of files to their tools.
func (l *loader) declareInstructions() {
	for _, f := range l.files {
		if !f.decl.instructions.given() {
			continue
		}
		x := Instruction{Text: strings.TrimSpace(f.decl.instructions.text)}
		for i := range f.decl.tools {
			x.Tools = append(x.Tools, f.decl.tools[i].name.text)
		}
		l.cat.Instructions = append(l.cat.Instructions, x)
	}
}
