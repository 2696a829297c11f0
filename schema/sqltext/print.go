package sqltext

import "strings"

// A Printer takes the parts of a statement in their order.
type Printer interface {
	// Text takes what is written as it is.
	Text(s string)
	// Param writes the place of a parameter.
	Param(p *Param)
	// Shadows says whether something is read in place of a table.
	Shadows(t *Table) bool
	// Shadow writes that, which an alias follows.
	Shadow(t *Table)
}

// Print writes the statement without comments and without its own limit, each name and text in the quotes in which no
// setting of the database reads them otherwise.
func (s *Statement) Print(w Printer) {
	tables, params, columns := map[int]*Table{}, map[int]*Param{}, map[int]*Column{}
	for _, t := range s.Tables {
		tables[t.First] = t
	}
	for _, p := range s.Params {
		params[p.Tok] = p
	}
	for _, c := range s.Columns {
		path := c.Path
		if !c.Star && len(path) > 0 {
			path = path[:len(path)-1]
		}
		if len(path) == 2 {
			if src := find(c.in, path[0], path[1]); src != nil && src.Table != nil && w.Shadows(src.Table) {
				columns[c.First] = c // what is read in place of the table has no schema
			}
		}
	}
	for i := 0; i < s.end; i++ {
		if i > 0 && !s.Tokens[i].sign(".") && !s.Tokens[i-1].sign(".") && !s.glued[i] {
			w.Text(" ")
		}
		if t := tables[i]; t != nil && w.Shadows(t) {
			w.Shadow(t)
			if t.Alias == "" {
				w.Text(" AS " + s.quoted(&s.Tokens[t.Last]))
			}
			i = t.Last
			continue
		}
		if columns[i] != nil {
			i += 2
		}
		switch p := params[i]; {
		case p != nil:
			w.Param(p)
		case s.written[i] != "":
			w.Text(s.written[i])
		default:
			w.Text(s.quoted(&s.Tokens[i]))
		}
	}
}

// quoted writes a token.
func (s *Statement) quoted(t *Token) string {
	switch t.Kind {
	case Name:
		q := "`"
		if s.Dialect == Postgres {
			q = `"`
		}
		return q + strings.ReplaceAll(t.Text, q, q+q) + q
	case Text:
		return "'" + strings.ReplaceAll(t.Text, "'", "''") + "'"
	}
	return t.Text
}
