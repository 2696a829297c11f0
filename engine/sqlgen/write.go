package sqlgen

import (
	"resq/engine/plan"
	"resq/schema"
)

// Note [locked before changed]
//
// An UPDATE or DELETE names rows by their keys alone. It stands behind two others in its transaction: Lock,
// which keeps those rows from changing, and the read of the same rows through the principal's rules, which
// must find every one of them. A rule inside the statement itself would add nothing, and MySQL refuses one
// that reads the table that is changed.

// Lock writes the statement that locks rows, in the order of their keys.
func Lock(c *plan.Change, ids []int64, d Dialect) (*Statement, error) {
	w := newWriter(d, false)
	w.SQL("SELECT ").Ident(c.Key().Column).SQL(" FROM ")
	w.table(c.Resource())
	w.keyed(c, ids)
	w.SQL(" ORDER BY ").Ident(c.Key().Column)
	d.Lock(w)
	return w.statement()
}

// Update writes the statement that gives rows the values of one row of a change.
func Update(c *plan.Change, ids []int64, row []plan.Assignment, d Dialect) (*Statement, error) {
	w := newWriter(d, false)
	w.SQL("UPDATE ")
	w.table(c.Resource())
	w.SQL(" SET ").Commas(len(row), func(i int) {
		w.Ident(row[i].Column).SQL(" = ")
		if row[i].Next {
			w.Ident(row[i].Column).SQL(" + 1")
			return
		}
		w.assign(row[i])
	})
	w.keyed(c, ids)
	return w.statement()
}

// Delete writes the statement that removes rows.
func Delete(c *plan.Change, ids []int64, d Dialect) (*Statement, error) {
	w := newWriter(d, false)
	w.SQL("DELETE FROM ")
	w.table(c.Resource())
	w.keyed(c, ids)
	return w.statement()
}

// Insert writes the statement that makes one row. returns says that it gives back the row's key; otherwise
// the driver does.
func Insert(c *plan.Change, row []plan.Assignment, d Dialect) (s *Statement, returns bool, err error) {
	w := newWriter(d, false)
	w.SQL("INSERT INTO ")
	w.table(c.Resource())
	w.SQL(" (").Commas(len(row), func(i int) { w.Ident(row[i].Column) })
	w.SQL(")")
	if c.Again() {
		d.Own(w)
	}
	w.SQL(" VALUES (").Commas(len(row), func(i int) { w.assign(row[i]) })
	w.SQL(")")
	returns = d.Returning(w, c.Key().Column)
	s, err = w.statement()
	return s, returns, err
}

// Shape writes the statement that tells the columns of a table and reads no row.
func Shape(c *plan.Change, d Dialect) (*Statement, error) {
	w := newWriter(d, false)
	w.SQL("SELECT * FROM ")
	w.table(c.Resource())
	w.SQL(" WHERE 1 = 0")
	return w.statement()
}

// Columns writes the statement that reads columns as they are stored, in the order of the rows' keys. Their names are
// the database's own, and the catalog need not know them.
func Columns(c *plan.Change, ids []int64, names []string, d Dialect) (*Statement, error) {
	w := newWriter(d, false)
	w.SQL("SELECT ").Commas(len(names), func(i int) { d.Stored(w, names[i]) })
	w.SQL(" FROM ")
	w.table(c.Resource())
	w.keyed(c, ids)
	w.SQL(" ORDER BY ").Ident(c.Key().Column)
	return w.statement()
}

func (w *Writer) keyed(c *plan.Change, ids []int64) {
	w.SQL(" WHERE ").Ident(c.Key().Column).SQL(" IN (").Commas(len(ids), func(i int) {
		w.Arg(&plan.Arg{Value: ids[i], T: schema.Type{Kind: schema.Integer}})
	}).SQL(")")
}

func (w *Writer) assign(a plan.Assignment) {
	if a.Exact {
		a.Field, a.Value = nil, &plan.Arg{Value: a.Stored}
	}
	if a.Value.Value == nil {
		w.SQL("NULL")
		return
	}
	w.d.Assign(w, a.Field, a.Value)
}

// merged writes the rows of a table with new values laid over them, as far as the source and its rule look at
// them. CASE gives a value the type and the collation of its column.
func (w *Writer) merged(s, inner *plan.Source, m *plan.Merge) {
	w.SQL("(SELECT ")
	first := true
	seen := map[*schema.Field]bool{}
	for _, list := range [][]*schema.Field{s.Used(), inner.Used(), {m.Key}} {
		for _, f := range list {
			if seen[f] {
				continue
			}
			seen[f] = true
			if !first {
				w.SQL(", ")
			}
			first = false
			w.laid(inner.ID, f, m)
		}
	}
	w.SQL(" FROM ")
	w.table(s.Resource)
	w.SQL(" AS ").Alias('t', inner.ID).SQL(" WHERE ").Alias('t', inner.ID).SQL(".").Ident(m.Key.Column)
	w.SQL(" IN (").Commas(len(m.IDs), func(i int) {
		w.Arg(&plan.Arg{Value: m.IDs[i], T: schema.Type{Kind: schema.Integer}})
	}).SQL("))")
}

func (w *Writer) laid(id int, f *schema.Field, m *plan.Merge) {
	column := func() { w.Alias('t', id).SQL(".").Ident(f.Column) }
	for _, a := range m.Rows {
		if a.Field == f && a.Next {
			column()
			w.SQL(" + 1 AS ").Ident(f.Column)
			return
		}
		if a.Field == f {
			w.SQL("CASE WHEN 1 = 0 THEN ")
			column()
			w.SQL(" ELSE ")
			if f.Native != "" || f.Array || f.Type.Kind == schema.Enum || f.Type.Kind == schema.JSON {
				w.assign(a)
			} else {
				w.Arg(a.Value)
			}
			w.SQL(" END AS ").Ident(f.Column)
			return
		}
	}
	column()
}
