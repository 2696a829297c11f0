package sqltext

import "resq/schema/problem"

// joinWords begin or continue a join.
var joinWords = words("join left right inner cross full natural straight_join outer")

func (p *parser) joined(s *Select) error {
	if err := p.source(s); err != nil {
		return err
	}
	for p.cur().Kind == Word && joinWords[p.cur().low] {
		tok, natural := p.i, false
		for !p.is("join") && !p.is("straight_join") {
			if !joinWords[p.cur().low] || p.cur().Kind != Word {
				return p.unexpected("JOIN")
			}
			natural = natural || p.is("natural")
			p.i++
		}
		p.i++
		if err := p.source(s); err != nil {
			return err
		}
		j := &Join{Natural: natural, tok: tok}
		switch {
		case p.take("on"):
			p.use = inJoin
			x, err := p.expression()
			if err != nil {
				return err
			}
			j.On = x
		case p.take("using"):
			if err := p.mustSign("("); err != nil {
				return err
			}
			var err error
			if j.Using, err = p.names(); err != nil {
				return err
			}
		}
		s.Joins = append(s.Joins, j)
	}
	return nil
}

// source reads one entry of FROM.
func (p *parser) source(s *Select) error {
	lateral := p.take("lateral")
	if p.sign("(") {
		if t := p.peek(1); t.word("select") || t.word("with") || t.word("values") || t.sign("(") && p.holdsQuery() {
			p.i++
			q, err := p.readQuery()
			if err != nil {
				return err
			}
			if err := p.mustSign(")"); err != nil {
				return err
			}
			return p.called(s, &Source{Query: q})
		}
		if lateral {
			return p.unexpected("a query in brackets")
		}
		if err := p.deeper(); err != nil {
			return err
		}
		p.i++
		for {
			if err := p.joined(s); err != nil {
				return err
			}
			if !p.takeSign(",") {
				break
			}
		}
		p.depth--
		return p.mustSign(")")
	}
	first := p.i
	if p.cur().Kind == Word && structural[p.cur().low] && p.peek(1).sign("(") && !writing[p.cur().low] && !p.is("select") {
		p.i++ // a function whose name is a keyword, such as UNNEST
	} else if _, err := p.name("a table"); err != nil {
		return err
	}
	path := []string{p.meant(&p.st.Tokens[first])}
	for p.takeSign(".") {
		if !p.nameLike(p.cur()) && !p.session(p.cur()) {
			return p.unexpected("a table")
		}
		path = append(path, p.meant(p.cur()))
		p.i++
	}
	if p.sign("(") {
		c, err := p.call(first)
		if err != nil {
			return err
		}
		if p.st.Dialect == Postgres && p.is("with") {
			p.i++
			if err := p.must("ordinality"); err != nil {
				return err
			}
		}
		return p.called(s, &Source{Call: c})
	}
	if lateral {
		return p.unexpected("a query in brackets")
	}
	if len(path) > 2 {
		return p.refuse(first, problem.SQLTableNotAllowed, "a table of another database", "SCHEMA.TABLE, or TABLE")
	}
	t := &Table{Name: path[len(path)-1], First: first, Last: p.i - 1}
	if len(path) == 2 {
		t.Schema = path[0]
	} else if c, err := p.cte(first, t.Name); err != nil {
		return err
	} else if c != nil {
		return p.called(s, &Source{CTE: c})
	}
	p.st.Tables = append(p.st.Tables, t)
	return p.called(s, &Source{Table: t})
}

// holdsQuery says whether the brackets that open here hold a query, and not joined tables.
func (p *parser) holdsQuery() bool {
	k := 0
	for p.peek(k).sign("(") {
		k++
	}
	if t := p.peek(k); !t.word("select") && !t.word("with") && !t.word("values") {
		return false
	}
	// ((SELECT …) UNION …) is a query, ((SELECT …) x JOIN …) is not: what stands behind the inner bracket decides.
	depth := 0
	for j := 1; ; j++ {
		switch t := p.peek(j); {
		case t.Kind == End || t.Kind == refused:
			return true
		case t.sign("("):
			depth++
		case t.sign(")"):
			if depth--; depth == 0 {
				next := p.peek(j + 1)
				return next.sign(")") || next.word("union") || next.word("intersect") || next.word("except") || next.word("order") || next.word("limit")
			}
		}
	}
}

// called reads the alias of a source and enters it.
func (p *parser) called(s *Select, src *Source) error {
	if p.sign("*") {
		return p.unexpected("")
	}
	var err error
	if src.Alias, err = p.alias(); err != nil {
		return err
	}
	if src.Alias != "" && p.takeSign("(") {
		if src.Columns, err = p.names(); err != nil {
			return err
		}
	}
	if src.Table != nil {
		src.Table.Alias = src.Alias
	}
	s.From = append(s.From, src)
	return nil
}
