package sqltext

import (
	"strconv"

	"resq/schema/problem"
)

func (p *parser) groups(s *Select) error {
	if p.st.Dialect == Postgres && p.is("grouping") && p.peek(1).word("sets") {
		p.i += 2
		if !p.sign("(") {
			return p.unexpected("(")
		}
	}
	for {
		x, err := p.expression()
		if err != nil {
			return err
		}
		s.Group = append(s.Group, x)
		if !p.takeSign(",") {
			break
		}
	}
	if p.st.Dialect == MySQL && p.is("with") && p.peek(1).word("rollup") {
		p.i += 2
	}
	return nil
}

// orders reads sort keys.
func (p *parser) orders(into *[]*Expr) error {
	for {
		x, err := p.expression()
		if err != nil {
			return err
		}
		if into != nil {
			*into = append(*into, x)
		}
		if !p.take("asc") {
			p.take("desc")
		}
		if p.take("nulls") && !p.take("first") && !p.take("last") {
			return p.unexpected("FIRST or LAST")
		}
		if !p.takeSign(",") {
			return nil
		}
	}
}

// limit reads the limit of a query. It is made of whole numbers: how many rows a tool gives is the tool's to say.
func (p *parser) limit(q *Query) error {
	given := func() *Limit {
		if q.Limit == nil {
			q.Limit = &Limit{Rows: -1}
		}
		return q.Limit
	}
	for {
		switch {
		case p.take("limit"):
			if p.st.Dialect == Postgres && p.take("all") {
				continue
			}
			n, err := p.count()
			if err != nil {
				return err
			}
			given().Rows = n
			if p.st.Dialect != Postgres && p.takeSign(",") {
				q.Limit.Offset = n
				if q.Limit.Rows, err = p.count(); err != nil {
					return err
				}
			}
		case p.take("offset"):
			n, err := p.count()
			if err != nil {
				return err
			}
			given().Offset = n
			if !p.take("rows") {
				p.take("row")
			}
		case p.st.Dialect != SQLite && p.take("fetch"):
			if !p.take("first") && !p.take("next") {
				return p.unexpected("FIRST")
			}
			given().Rows = 1
			if p.cur().Kind == Number || p.cur().Kind == Marker {
				n, err := p.count()
				if err != nil {
					return err
				}
				q.Limit.Rows = n
			}
			if !p.take("rows") && !p.take("row") {
				return p.unexpected("ROWS")
			}
			if err := p.must("only"); err != nil {
				return err
			}
		default:
			return nil
		}
	}
}

func (p *parser) count() (int64, error) {
	t := p.cur()
	if t.Kind == Marker {
		return 0, p.refuse(p.i, problem.SQLParam, "a parameter cannot stand for a number of rows", "a whole number; maxRows is the tool's own limit")
	}
	n, err := strconv.ParseInt(t.Text, 10, 64)
	if t.Kind != Number || err != nil {
		return 0, p.unexpected("a whole number")
	}
	p.i++
	return n, nil
}
