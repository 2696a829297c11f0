package sqltext

import (
	"slices"
	"strconv"
	"strings"

	"resq/schema/problem"
)

// begin starts an expression, which gathers what it refers to.
func (p *parser) begin() *Expr {
	p.expr = &Expr{First: p.i}
	return p.expr
}

func (p *parser) finish(x, outer *Expr) {
	x.Last = p.i - 1
	p.expr = outer
	t := p.st.Tokens[x.First:p.i]
	if len(x.Columns) == 1 && x.Columns[0].First == x.First && x.Columns[0].Last == x.Last {
		x.Column = x.Columns[0]
		x.Column.lonely = true
	}
	// Some databases take a number in brackets for a position, too.
	t = slices.DeleteFunc(slices.Clone(t), func(t Token) bool { return t.sign("(") || t.sign(")") || t.sign("+") })
	if len(t) == 1 && t[0].Kind == Number {
		x.Position, _ = strconv.Atoi(t[0].Text)
		x.Position = max(x.Position, 1)
	}
}

// expression reads one expression as a whole.
func (p *parser) expression() (*Expr, error) {
	outer := p.expr
	x := p.begin()
	err := p.operands(true)
	p.finish(x, outer)
	return x, err
}

// operands reads operands with operators between them. Which binds tighter is left to the database. Without in, IN is
// none of the operators.
func (p *parser) operands(in bool) error {
	for {
		if err := p.operand(); err != nil {
			return err
		}
		for {
			more, err := p.operator(in)
			if err != nil {
				return err
			}
			if more == complete {
				continue // such as IS NULL, which takes no further operand
			}
			if more == none {
				return nil
			}
			break
		}
	}
}

const (
	none = iota
	binary
	complete
)

// operator reads what stands between two operands, or behind one.
func (p *parser) operator(in bool) (int, error) {
	t := p.cur()
	if t.Kind == Sign {
		if slices.Contains([]string{"(", ")", ",", ".", "[", "]", ":", "::", "!", "~"}, t.Text) && !(t.Text == "~" && p.st.Dialect == Postgres) {
			return none, nil
		}
		p.i++
		return binary, nil
	}
	if t.Kind != Word {
		return none, nil
	}
	d := p.st.Dialect
	switch t.low {
	case "and", "or":
	case "like":
	case "escape":
	case "between":
		if n := p.peek(1); n.word("symmetric") || n.word("asymmetric") {
			p.i++
		}
	case "xor", "div", "rlike":
		if d != MySQL {
			return none, nil
		}
	case "mod":
		if d != MySQL {
			return none, nil
		}
	case "regexp":
		if d == Postgres {
			return none, nil
		}
	case "ilike", "overlaps":
		if d != Postgres {
			return none, nil
		}
	case "glob":
		if d != SQLite {
			return none, nil
		}
	case "similar":
		p.i++
		if d != Postgres || !p.is("to") {
			return none, p.unexpected("")
		}
	case "isnull", "notnull":
		p.i++
		return complete, nil
	case "is":
		return p.isOperator()
	case "in":
		if !in {
			return none, nil
		}
		p.i++
		return complete, p.list()
	case "not":
		switch n := p.peek(1); {
		case n.word("in"):
			p.i += 2
			return complete, p.list()
		case n.word("null") && d == SQLite:
			p.i += 2
			return complete, nil
		case n.word("like"), n.word("between"), n.word("ilike") && d == Postgres, n.word("rlike") && d == MySQL, n.word("regexp") && d != Postgres, n.word("glob") && d == SQLite:
			p.i += 2
			return binary, nil
		case n.word("similar") && d == Postgres && p.peek(2).word("to"):
			p.i += 3
			return binary, nil
		}
		return none, p.unexpected("")
	default:
		return none, nil
	}
	p.i++
	return binary, nil
}

func (p *parser) isOperator() (int, error) {
	asked := p.i > 0 && p.st.Tokens[p.i-1].Kind == Marker
	p.i++
	p.take("not")
	switch {
	case p.take("null"):
		if asked {
			p.st.Params[len(p.st.Params)-1].Null = true
		}
		return complete, nil
	case p.take("true"), p.take("false"), p.take("unknown"):
		return complete, nil
	case p.take("distinct"):
		return binary, p.must("from")
	case p.st.Dialect == SQLite:
		return binary, nil
	}
	return none, p.unexpected("NULL")
}

// list reads what IN compares with.
func (p *parser) list() error {
	if !p.sign("(") {
		return p.unexpected("(")
	}
	return p.brackets()
}

// brackets reads a query or expressions in brackets.
func (p *parser) brackets() error {
	if err := p.deeper(); err != nil {
		return err
	}
	p.i++
	if p.is("select") || p.is("with") || p.is("values") {
		if err := p.nested(false); err != nil {
			return err
		}
	} else if p.use != inGroup || !p.sign(")") { // () is the empty grouping set
		if err := p.several(); err != nil {
			return err
		}
	}
	p.depth--
	if err := p.mustSign(")"); err != nil {
		return err
	}
	if p.sign(".") {
		return p.refuse(p.i, problem.SQLSyntax, "a part of a whole row", "name the column of the table")
	}
	return nil
}

// several reads expressions with commas between them.
func (p *parser) several() error {
	for {
		if err := p.operands(true); err != nil {
			return err
		}
		if !p.takeSign(",") {
			return nil
		}
	}
}

// nested reads a query inside an expression.
func (p *parser) nested(exists bool) error {
	q, err := p.readQuery()
	if err != nil {
		return err
	}
	q.exists = exists
	return nil
}

// bare are values that are written as a word alone.
var bare = words("true false null unknown current_date current_time current_timestamp localtime localtimestamp")

func (p *parser) operand() error {
	for p.is("not") || p.sign("-") || p.sign("+") || p.sign("~") || p.st.Dialect == MySQL && (p.sign("!") || p.is("binary")) || p.st.Dialect == Postgres && p.sign("@") {
		p.i++
	}
	t, next := p.cur(), p.peek(1)
	switch t.Kind {
	case Text:
		p.i++
		if p.cur().Kind == Text {
			return p.refuse(p.i, problem.SQLSyntax, "two texts side by side", "write one, or put || between them")
		}
	case Number, Bits:
		p.i++
	case Marker:
		p.st.Params = append(p.st.Params, &Param{Name: t.Text, Tok: p.i})
		p.i++
		if p.sign("::") {
			p.st.Params[len(p.st.Params)-1].Cast = p.castTo(p.i + 1)
		}
	case Sign:
		if t.Text != "(" {
			return p.unexpected("a value")
		}
		if err := p.brackets(); err != nil {
			return err
		}
	case Name:
		if err := p.named(); err != nil {
			return err
		}
	case Word:
		if err := p.worded(t, next); err != nil {
			return err
		}
	default:
		return p.unexpected("a value")
	}
	return p.behind()
}

// worded reads an operand that begins with a word.
func (p *parser) worded(t, next *Token) error {
	switch {
	case t.low == "case":
		return p.caseWhen()
	case t.low == "exists":
		p.i++
		if err := p.mustSign("("); err != nil {
			return err
		}
		if err := p.nested(true); err != nil {
			return err
		}
		return p.mustSign(")")
	case (t.low == "any" || t.low == "some" || t.low == "all") && next.sign("("):
		p.i++
		return p.brackets()
	case t.low == "row" && next.sign("("):
		p.i++
		return p.brackets()
	case t.low == "array" && p.st.Dialect == Postgres && (next.sign("[") || next.sign("(")):
		p.i++
		if next.sign("(") {
			return p.brackets()
		}
		return p.elements()
	case t.low == "interval" && (next.Kind == Text || p.st.Dialect == MySQL):
		return p.interval()
	case typed[t.low] && next.Kind == Text:
		p.i += 2
		return nil
	case t.low == "cast" && next.sign("("):
		return p.cast()
	case t.low == "convert" && next.sign("(") && p.st.Dialect == MySQL:
		return p.convert()
	case t.low == "match" && next.sign("(") && p.st.Dialect == MySQL:
		return p.against()
	case bare[t.low]:
		p.i++
		if p.sign("(") { // CURRENT_TIMESTAMP(3)
			p.i++
			if !p.sign(")") {
				if _, err := p.count(); err != nil {
					return err
				}
			}
			return p.mustSign(")")
		}
		return nil
	case next.sign("(") && !(structural[t.low] && !callable[t.low]):
		first := p.i
		p.i++
		_, err := p.call(first)
		return err
	case p.session(t):
		return p.refuse(p.i, problem.SQLFunctionNotAllowed, strings.ToUpper(t.low)+" is not allowed", "put it in quotes if it is a column")
	case !p.nameLike(t):
		return p.unexpected("a value")
	}
	return p.named()
}

// callable are structural words that are functions in front of a bracket.
var callable = words("isnull left right replace insert truncate if mod glob char date time timestamp year values unnest array")

// named reads a column, or a function with its schema.
func (p *parser) named() error {
	first := p.i
	path := []string{p.meant(p.cur())}
	p.i++
	for p.sign(".") {
		if t := p.peek(1); t.Kind != Word && t.Kind != Name {
			p.i++
			return p.unexpected("a column")
		}
		path = append(path, p.meant(p.peek(1)))
		p.i += 2
	}
	if p.sign("(") {
		_, err := p.call(first)
		return err
	}
	if len(path) > 3 {
		return p.refuse(first, problem.SQLSyntax, "a column of another database", "SCHEMA.TABLE.COLUMN, TABLE.COLUMN or COLUMN")
	}
	c := &Column{Path: path, First: first, Last: p.i - 1, in: p.in, query: p.query, use: p.use}
	p.st.Columns = append(p.st.Columns, c)
	if p.expr != nil {
		p.expr.Columns = append(p.expr.Columns, c)
	}
	return nil
}

// behind reads what may follow an operand without being an operator.
func (p *parser) behind() error {
	for {
		switch {
		case p.sign("::"):
			p.i++
			if err := p.typeName(); err != nil {
				return err
			}
		case p.sign("["):
			if err := p.elements(); err != nil {
				return err
			}
		case p.is("collate"):
			p.i++
			if t := p.cur(); t.Kind != Word && t.Kind != Name {
				return p.unexpected("a collation")
			}
			p.i++
			if p.sign(".") {
				p.i++
				if _, err := p.name("a collation"); err != nil {
					return err
				}
			}
		case p.is("at") && p.peek(1).word("time") && p.st.Dialect == Postgres:
			p.i += 2
			if err := p.must("zone"); err != nil {
				return err
			}
			if err := p.operand(); err != nil {
				return err
			}
		case p.sign("."):
			return p.refuse(p.i, problem.SQLSyntax, "a part of a whole row", "name the column of the table")
		default:
			return nil
		}
	}
}

// elements reads [a, b], [n] and [a:b].
func (p *parser) elements() error {
	p.i++
	if err := p.deeper(); err != nil {
		return err
	}
	for !p.sign("]") {
		if p.sign("[") {
			if err := p.elements(); err != nil {
				return err
			}
		} else if err := p.operands(true); err != nil {
			return err
		}
		if !p.takeSign(",") && !p.takeSign(":") {
			break
		}
	}
	p.depth--
	return p.mustSign("]")
}

func (p *parser) caseWhen() error {
	if err := p.deeper(); err != nil {
		return err
	}
	p.i++
	if !p.is("when") {
		if err := p.operands(true); err != nil {
			return err
		}
	}
	if !p.is("when") {
		return p.unexpected("WHEN")
	}
	for p.take("when") {
		if err := p.operands(true); err != nil {
			return err
		}
		if err := p.must("then"); err != nil {
			return err
		}
		if err := p.operands(true); err != nil {
			return err
		}
	}
	if p.take("else") {
		if err := p.operands(true); err != nil {
			return err
		}
	}
	p.depth--
	return p.must("end")
}
