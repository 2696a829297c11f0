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
	names := s.names()
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
		if n := names[i]; n != "" {
			w.Text(" AS " + s.quoted(&Token{Kind: Name, Text: n}))
		}
	}
}

// names gives the outputs without a name of their own, by their last tokens. Two databases call such an output what they
// were sent, which is not what the author wrote, and tells of what stands in place of the tables.
func (s *Statement) names() map[int]string {
	out := map[int]string{}
	if s.Dialect == Postgres {
		return out
	}
	for _, sel := range s.selects {
		for _, it := range sel.Items {
			if it.Star != nil || it.Alias != "" || it.Expr.Column != nil {
				continue
			}
			var b strings.Builder
			for i := it.Expr.First; i <= it.Expr.Last; i++ {
				if i > it.Expr.First && s.Tokens[i].Pos > s.Tokens[i-1].End {
					b.WriteByte(' ')
				}
				b.WriteString(s.text[s.Tokens[i].Pos:s.Tokens[i].End])
			}
			name := []rune(strings.TrimSpace(b.String()))
			out[it.Expr.Last] = string(name[:min(len(name), 64)])
		}
	}
	return out
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
