package sqlgen

import (
	"resq/engine/plan"
	"resq/schema/problem"
)

// A Question asks a database about its own tables. Its values are the schema and the table, bound in the order in which
// Args has s and t.
type Question struct {
	Text Text
	Args string
}

// A Structure is the questions with which a database tells of its own tables. Every database answers each with the same
// columns: texts, whole numbers, and 1 or 0 for yes and no. All that is told of, callers see only after the engine has
// compared it with what they may read.
type Structure struct {
	// Apart says that the connections for reading do not admit the questions; those of Inspect do.
	Apart bool
	// Schemas: name, whether it is the database's own.
	Schemas Question
	// Tables of a schema: name, whether it is a view, comment.
	Tables Question
	// Columns of a schema, in their order: table, name, type, whether NULL is refused, default, comment, expression of a
	// computed one, whether it is computed, whether the database counts its values. Without a text Column is asked of
	// each table, because one that cannot be read would spoil the others.
	Columns, Column Question
	// Key is the columns of a table's primary key, in their order.
	Key Question
	// Indexes of a table, by index and place: index, whether it is unique, whether it is the primary key's, column, expression,
	// whether it goes down, condition of the rows, whether the column is only carried along, how many characters of it.
	Indexes Question
	// Owners are the tables of a schema that have an index; in place of the table stands its name.
	Owners Question
	// Foreign keys of a schema: table, what tells the key from others, name, column, schema, table and column referred to,
	// what an update and a delete do.
	Foreign Question
	// Checks of a table: name, condition.
	Checks Question
	// Views of a schema: name, its SELECT.
	Views Question
	// Triggers of a table: name, timing, event; a row for each event.
	Triggers Question
	// Routines of a schema: specific name, name, kind, result, comment, the tables whose rows are values of it (a line each).
	Routines Question
	// Parameters of a schema's routines, in their order: specific name, name, mode, type, default, kind of the routine.
	Parameters Question
	// Stored is what the database keeps of a table's size: rows, deleted rows, bytes, bytes of indexes, the last change.
	Stored Question
	// Spread is what it keeps of the columns: name, distinct values, NULLs.
	Spread Question
}

// A Measure is what is counted of a column.
type Measure struct {
	Column   string
	Text     bool // a text, which equals itself alone
	Distinct bool
	Values   bool // its least and its greatest, too; of a column without a mask alone
}

// Profile counts the rows that a shadow shows, and what is measured of its columns. A masked column is counted by its
// values, and none of them is given.
func Profile(d Dialect, s *plan.Shadow, list []Measure, fence bool) (*Statement, error) {
	w := newWriter(d, fence)
	w.SQL("SELECT COUNT(*)")
	for i := range list {
		m := &list[i]
		column := func(w *Writer) { w.SQL("t.").Ident(m.Column) }
		w.SQL(", COUNT(")
		column(w)
		w.SQL(")")
		if m.Distinct {
			w.SQL(", COUNT(DISTINCT ")
			if !m.Text || !d.Bytes(w, column) {
				column(w)
			}
			w.SQL(")")
		}
		if m.Values {
			for _, c := range s.Columns() {
				if c.Mask != "" && c.Column == m.Column {
					w.fail(problem.MaskedField, "a masked column has no values to tell")
				}
			}
			w.SQL(", MIN(")
			column(w)
			w.SQL("), MAX(")
			column(w)
			w.SQL(")")
		}
	}
	w.SQL(" FROM ")
	w.shadow(s, true)
	w.SQL(" AS t")
	return w.statement()
}
