package sqlgen

import (
	"strconv"

	"resq/engine/plan"
	"resq/schema/problem"
	"resq/schema/sqltext"
)

// A Given is the value of a parameter at one of its places in SQL of others.
type Given struct {
	Name  string
	Kind  string // string, integer, number, boolean or date
	Value string // its text; a boolean is true or false
	None  bool   // NULL
	Cast  string // the type to which the statement itself converts it here; "" is none
	Asked bool   // the statement asks whether it is NULL, which says nothing of its type
}

// A Foreign is a statement of others with all that it takes to run it.
type Foreign struct {
	Statement *sqltext.Statement
	Shadows   map[*sqltext.Table]*plan.Shadow
	Given     func(name string) Given
	Limit     int64 // rows at most
	Offset    int64
}

// Render writes the statement for a dialect. The text is that of a checked statement, from its tokens alone; in place
// of its tables stand their shadows, and its values are arguments. With fence the shadows are kept from sharing their
// rows' evaluation with conditions outside.
func (f *Foreign) Render(d Dialect, fence bool) (*Statement, error) {
	w := newWriter(d, fence)
	f.Statement.Print(&printer{w: w, f: f})
	w.d.Limit(w, f.Limit, f.Offset)
	return w.statement()
}

// A printer is where sqltext puts the parts of a statement.
type printer struct {
	w *Writer
	f *Foreign
}

// Text is part of sqltext.Printer. It is the one way by which text that is not of this program's source gets into a
// statement: text that sqltext has understood word by word.
func (p *printer) Text(s string) { p.w.raw(s) }

// Param writes the place of a value.
func (p *printer) Param(x *sqltext.Param) {
	g := p.f.Given(x.Name)
	g.Name, g.Cast, g.Asked = x.Name, x.Cast, x.Null
	p.w.d.Given(p.w, &g)
}

// Shadows says whether something is read in place of a table.
func (p *printer) Shadows(t *sqltext.Table) bool { return p.f.Shadows[t] != nil }

// Shadow writes it.
func (p *printer) Shadow(t *sqltext.Table) { p.w.shadow(p.f.Shadows[t], false) }

// shadow writes it. Counted are values themselves, and not their images; only Profile counts, and gives none of them.
func (w *Writer) shadow(s *plan.Shadow, counted bool) {
	w.SQL("(SELECT ")
	cols := s.Columns()
	if len(cols) == 0 {
		w.SQL("1 AS resq_one")
	}
	w.Commas(len(cols), func(i int) {
		column := func(w *Writer) { w.Alias('s', s.Alias()).SQL(".").Ident(cols[i].Column) }
		if cols[i].Mask == "" || counted {
			column(w)
		} else {
			w.d.Masked(w, column, cols[i].Mask)
		}
		w.SQL(" AS ").Ident(cols[i].Column)
	})
	w.SQL(" FROM ")
	schema, table := s.Table()
	if schema != "" {
		w.Ident(schema).SQL(".")
	}
	w.Ident(table).SQL(" AS ").Alias('s', s.Alias())
	if s.Where() != nil {
		w.SQL(" WHERE ").Expr(s.Where())
		if w.fence {
			w.d.Fence(w)
		}
	}
	w.SQL(")")
}

// Outputs asks a table for its columns, and for no row.
func Outputs(d Dialect, schema, table string) *Statement {
	w := newWriter(d, false)
	w.SQL("SELECT * FROM ")
	if schema != "" {
		w.Ident(schema).SQL(".")
	}
	w.Ident(table).SQL(" WHERE 1 = 0")
	return &Statement{SQL: w.b.String()}
}

// Given binds the value and writes its place: whole numbers as such, everything else as text.
func (ANSI) Given(w *Writer, g *Given) {
	w.Keyed("", g.plain())
	w.SQL("?")
}

// plain is the value as most drivers take it.
func (g *Given) plain() any {
	if g.None {
		return nil
	}
	switch g.Kind {
	case "integer":
		if n, err := strconv.ParseInt(g.Value, 10, 64); err == nil {
			return n
		}
	case "boolean":
		if g.Value == "true" {
			return int64(1)
		}
		return int64(0)
	}
	return g.Value
}

// Plain is the value as most drivers take it: nil, an int64 or its text. A boolean is 1 or 0 (D-013).
func (g *Given) Plain() any { return g.plain() }

// Keyed adds an argument and gives its number, counted from 1. One that was added under the same key is used again; ""
// is no key.
func (w *Writer) Keyed(key string, value any) int {
	if key != "" {
		for i, k := range *w.keys {
			if k == key {
				return i + 1
			}
		}
	}
	if len(*w.args) == maxArgs {
		w.fail(problem.LimitExceeded, "the statement has too many values")
		return 1
	}
	*w.args = append(*w.args, value)
	*w.given = append(*w.given, nil)
	for len(*w.keys) < len(*w.args)-1 {
		*w.keys = append(*w.keys, "")
	}
	*w.keys = append(*w.keys, key)
	return len(*w.args)
}

// Masked writes the image of a value: asterisks, or asterisks and the last four characters. NULL stays NULL (D-050).
func (ANSI) Masked(w *Writer, column func(w *Writer), mask string) {
	w.Image(column, func() { w.SQL("CAST("); column(w); w.SQL(" AS CHAR)") }, mask)
}

// Image is Masked for a column that text writes as a text.
func (w *Writer) Image(column func(w *Writer), text func(), mask string) {
	w.SQL("CASE WHEN ")
	column(w)
	w.SQL(" IS NULL THEN NULL ")
	if mask == "last4" {
		w.SQL("WHEN CHAR_LENGTH(")
		text()
		w.SQL(") > 4 THEN CONCAT(REPEAT('*', CHAR_LENGTH(")
		text()
		w.SQL(") - 4), RIGHT(")
		text()
		w.SQL(", 4)) ")
	}
	w.SQL("ELSE '****' END")
}
