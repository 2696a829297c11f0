package query

import (
	"strconv"
	"strings"

	"resq/schema/problem"
)

func (p *parser) primary() Expr {
	p.node()
	t := p.next()
	switch t.kind {
	case 'i', 'd', 's':
		return &Literal{Offset(t.pos), t.kind, t.text}
	case 'q':
		return p.name(t)
	case 'n':
		return p.worded(t)
	case 'p':
		if t.text == "(" {
			if p.peek().is("SELECT") {
				p.subquery()
			}
			x := p.expr()
			p.want(")")
			return x
		}
	}
	p.fail(t, "expected a value"+found(t), "a field, a number, a 'string', a function or CASE")
	return nil
}

// worded reads what begins with a plain word: a field path, a call, a keyword or a bare field.
func (p *parser) worded(t token) Expr {
	n := p.peek()
	if n.kind == 'p' && n.text == "." {
		return p.name(t)
	}
	up := strings.ToUpper(t.text)
	switch up {
	case "CASE":
		return p.caseOf(t)
	case "TRUE", "FALSE":
		return &Literal{Offset(t.pos), 'b', strings.ToLower(t.text)}
	case "NULL":
		return &Literal{Offset(t.pos), 'n', ""}
	case "SELECT":
		p.subquery()
	case "EXISTS":
		p.refuse("EXISTS inside an expression", "use a condition with operator EXISTS and tokenType query")
	case "CURRENT_DATE", "CURRENT_TIMESTAMP", "CURRENT_TIME", "LOCALTIMESTAMP":
		if p.op("(") {
			p.want(")")
		}
		return &Call{Offset: Offset(t.pos), Name: up}
	case "DATE", "TIMESTAMP", "DATETIME", "TIME":
		// DATE '2024-01-01', the standard's date literal.
		if n.kind == 's' {
			p.next()
			return &Call{Offset: Offset(t.pos), Name: "CAST", Type: up, Args: []Expr{&Literal{Offset(n.pos), 's', n.text}}}
		}
	}
	if n.kind == 'p' && n.text == "(" {
		if reserved[up] {
			if up == "INTERVAL" {
				p.fail(t, "INTERVAL stands only beside + and -", "DATE_ADD(field, INTERVAL 1 DAY)")
			}
			p.fail(t, up+" does not begin a value", "")
		}
		p.next()
		return p.call(t, up)
	}
	if reserved[up] {
		p.fail(t, up+" does not begin a value", "put a field of that name in `back-quotes`")
	}
	return &Name{Offset(t.pos), []string{t.text}}
}

// name reads a dotted path. Any word may follow a point.
func (p *parser) name(t token) Expr {
	x := &Name{Offset(t.pos), []string{t.text}}
	for p.op(".") {
		n := p.next()
		if n.kind != 'n' && n.kind != 'q' {
			p.fail(n, "expected a field's code after the point"+found(n), "`back-quotes` hold any name")
		}
		x.Parts = append(x.Parts, n.text)
		if len(x.Parts) > 8 {
			p.fail(n, "a name of too many parts", "`{Resource}`.`{field}`")
		}
	}
	if n := p.peek(); n.kind == 'p' && n.text == "(" {
		p.fail(n, "functions have plain names", "FUNCTION(argument, …)")
	}
	return x
}

func (p *parser) caseOf(t token) Expr {
	p.down()
	defer p.up()
	x := &Case{Offset: Offset(t.pos)}
	if !p.peek().is("WHEN") {
		x.Operand = p.expr()
	}
	for p.word("WHEN") {
		cond := p.expr()
		p.wantWord("THEN")
		x.Whens = append(x.Whens, When{cond, p.expr()})
	}
	if len(x.Whens) == 0 {
		p.fail(p.peek(), "expected WHEN"+found(p.peek()), "CASE WHEN condition THEN value ELSE value END")
	}
	if p.word("ELSE") {
		x.Else = p.expr()
	}
	p.wantWord("END")
	return x
}

// units maps what the databases call a unit of time to one name.
var units = map[string]string{
	"MICROSECOND": "MICROSECOND", "SECOND": "SECOND", "MINUTE": "MINUTE", "HOUR": "HOUR", "DAY": "DAY", "WEEK": "WEEK",
	"MONTH": "MONTH", "QUARTER": "QUARTER", "YEAR": "YEAR",
	"SECONDS": "SECOND", "MINUTES": "MINUTE", "HOURS": "HOUR", "DAYS": "DAY", "WEEKS": "WEEK",
	"MONTHS": "MONTH", "QUARTERS": "QUARTER", "YEARS": "YEAR", "MON": "MONTH", "MONS": "MONTH",
	"DOW": "DOW", "DOY": "DOY", "EPOCH": "EPOCH", "ISODOW": "ISODOW",
}

// Unit gives the one name of a unit of time: DAY for days, Day, 'day'.
func Unit(s string) (string, bool) {
	u, ok := units[strings.ToUpper(strings.TrimSpace(s))]
	return u, ok
}

// interval reads INTERVAL n unit, INTERVAL 'n' unit or INTERVAL 'n unit'.
func (p *parser) interval() Expr {
	t := p.next()
	p.node()
	p.down()
	defer p.up()
	if s := p.peek(); s.kind == 's' {
		p.next()
		num, unit, both := strings.Cut(strings.TrimSpace(s.text), " ")
		if !both {
			u := p.next()
			unit = u.text
		}
		u, ok := Unit(unit)
		n, err := strconv.ParseInt(num, 10, 32)
		if !ok || err != nil {
			p.fail(s, "an interval that is no whole number of a unit", "INTERVAL 30 DAY or INTERVAL '30 days'")
		}
		return &Interval{Offset(t.pos), &Literal{Offset(s.pos), 'i', strconv.FormatInt(n, 10)}, u}
	}
	n := p.unary()
	w := p.next()
	u, ok := Unit(w.text)
	if w.kind != 'n' || !ok {
		p.fail(w, "expected a unit of time"+found(w), "SECOND, MINUTE, HOUR, DAY, WEEK, MONTH, QUARTER or YEAR")
	}
	return &Interval{Offset(t.pos), n, u}
}

// call reads the arguments of a call; the opening bracket is read.
func (p *parser) call(t token, name string) Expr {
	p.down()
	defer p.up()
	c := &Call{Offset: Offset(t.pos), Name: name}
	switch name {
	case "CAST", "TRY_CAST":
		c.Name = "CAST"
		p.noQuery()
		c.Args = []Expr{p.expr()}
		p.wantWord("AS")
		c.Type = p.castType()
		p.want(")")
		return p.over(c)
	case "EXTRACT":
		if u := p.peek(); p.peek2().is("FROM") {
			p.next()
			p.next()
			unit, ok := Unit(u.text)
			if !ok || u.kind != 'n' && u.kind != 's' {
				p.fail(u, "an unknown unit of time", "YEAR, QUARTER, MONTH, WEEK, DAY, HOUR, MINUTE, SECOND, DOW, DOY or EPOCH")
			}
			c.Args = []Expr{&Literal{Offset(u.pos), 's', unit}, p.expr()}
			p.want(")")
			return c
		}
	case "POSITION":
		needle := p.add2()
		if p.word("IN") {
			c.Args = []Expr{needle, p.expr()}
			p.want(")")
			return c
		}
		c.Args = append(c.Args, needle)
		if !p.op(",") {
			p.want(")")
			return c
		}
	}
	if p.op(")") {
		return p.over(c)
	}
	if p.op("*") {
		c.Star = true
		p.want(")")
		return p.over(c)
	}
	c.Distinct = p.word("DISTINCT")
	for {
		p.noQuery()
		// A unit of time may stand as a bare word: TIMESTAMPDIFF(DAY, a, b).
		if p.peek().is("INTERVAL") && !(p.peek2().kind == 'p' && (p.peek2().text == "," || p.peek2().text == ")" || p.peek2().text == ".")) {
			if name != "DATE_ADD" && name != "DATE_SUB" && name != "ADDDATE" && name != "SUBDATE" {
				p.fail(p.peek(), "INTERVAL stands only beside + and - and in DATE_ADD and DATE_SUB", "")
			}
			c.Args = append(c.Args, p.interval())
		} else {
			c.Args = append(c.Args, p.expr())
		}
		if p.substring(c) {
			continue
		}
		if !p.op(",") {
			break
		}
	}
	p.aggregateTail(c)
	p.want(")")
	return p.over(c)
}

// substring turns the standard's FROM and FOR of SUBSTRING, and FROM of TRIM, into commas.
func (p *parser) substring(c *Call) bool {
	if c.Name != "SUBSTRING" && c.Name != "SUBSTR" {
		return false
	}
	return len(c.Args) == 1 && p.word("FROM") || len(c.Args) == 2 && p.word("FOR")
}

func (p *parser) add2() Expr {
	p.noQuery()
	return p.add()
}

func (p *parser) noQuery() {
	if p.peek().is("SELECT") {
		p.subquery()
	}
}

// aggregateTail reads ORDER BY and SEPARATOR inside GROUP_CONCAT and STRING_AGG.
func (p *parser) aggregateTail(c *Call) {
	if c.Name != "GROUP_CONCAT" && c.Name != "STRING_AGG" {
		return
	}
	if p.peek().is("ORDER") && p.peek2().is("BY") {
		p.next()
		p.next()
		c.OrderBy = p.sortKeys()
	}
	if p.word("SEPARATOR") {
		s := p.next()
		if s.kind != 's' {
			p.fail(s, "expected a 'string' after SEPARATOR", "")
		}
		c.Separator = &Literal{Offset(s.pos), 's', s.text}
	}
}

func (p *parser) sortKeys() []By {
	var out []By
	for {
		b := By{Expr: p.expr()}
		if p.word("DESC") {
			b.Desc = true
		} else {
			p.word("ASC")
		}
		if p.peek().is("NULLS") && (p.peek2().is("FIRST") || p.peek2().is("LAST")) {
			p.next()
			b.Nulls = strings.ToLower(p.next().text)
		}
		out = append(out, b)
		if !p.op(",") {
			return out
		}
	}
}

// over reads a window, if one follows.
func (p *parser) over(c *Call) Expr {
	if !p.peek().is("OVER") || p.peek2().kind != 'p' || p.peek2().text != "(" {
		return c
	}
	p.next()
	p.want("(")
	p.node()
	c.Over = &Window{}
	if p.peek().is("PARTITION") && p.peek2().is("BY") {
		p.next()
		p.next()
		for {
			c.Over.Partition = append(c.Over.Partition, p.expr())
			if !p.op(",") {
				break
			}
		}
	}
	if p.peek().is("ORDER") && p.peek2().is("BY") {
		p.next()
		p.next()
		c.Over.OrderBy = p.sortKeys()
	}
	if t := p.peek(); t.is("ROWS") || t.is("RANGE") {
		p.next()
		c.Over.Frame = p.frame(strings.ToUpper(t.text))
	}
	p.want(")")
	return c
}

func (p *parser) frame(unit string) *Frame {
	f := &Frame{Unit: unit, To: Bound{Kind: "CURRENT"}}
	if p.word("BETWEEN") {
		f.From = p.bound()
		p.wantWord("AND")
		f.To = p.bound()
		return f
	}
	f.From = p.bound()
	return f
}

func (p *parser) bound() Bound {
	t := p.next()
	switch {
	case t.is("UNBOUNDED"):
		if p.word("FOLLOWING") {
			return Bound{Kind: "UNBOUNDED", Following: true}
		}
		p.wantWord("PRECEDING")
		return Bound{Kind: "UNBOUNDED"}
	case t.is("CURRENT"):
		p.wantWord("ROW")
		return Bound{Kind: "CURRENT"}
	case t.kind == 'i' && len(t.text) <= 6:
		n, _ := strconv.ParseInt(t.text, 10, 64)
		if p.word("FOLLOWING") {
			return Bound{Kind: "FOLLOWING", Rows: n}
		}
		p.wantWord("PRECEDING")
		return Bound{Kind: "PRECEDING", Rows: n}
	}
	p.fail(t, "expected the end of a window frame"+found(t), "UNBOUNDED PRECEDING, n PRECEDING, CURRENT ROW, n FOLLOWING or UNBOUNDED FOLLOWING")
	return Bound{}
}

// castType reads a type's words. Which types there are is decided when the call is bound.
func (p *parser) castType() string {
	t := p.next()
	if t.kind != 'n' {
		p.fail(t, "expected a type after AS"+found(t), "CHAR, TEXT, INTEGER, DECIMAL(p,s), REAL, DATE, DATETIME, TIME or BOOLEAN")
	}
	s := strings.ToUpper(t.text)
	for p.peek().kind == 'n' {
		s += " " + strings.ToUpper(p.next().text)
	}
	if p.op("(") {
		s += "("
		for {
			n := p.next()
			if n.kind != 'i' || len(n.text) > 4 {
				p.fail(n, "expected digits in the type"+found(n), "DECIMAL(12,2)")
			}
			s += n.text
			if !p.op(",") {
				break
			}
			s += ","
		}
		p.want(")")
		s += ")"
	}
	return s
}

// ParseLiterals reads fieldSqlFuncParam: literals with commas between them. Anything else is an argument
// problem, not one of syntax: the parameter is no expression.
func ParseLiterals(text, at string, lim *Limits) ([]Expr, *problem.Problem) {
	bad := func() *problem.Problem {
		return &problem.Problem{Code: problem.InvalidArgument, Stage: problem.Constructs, At: at,
			Message: "the parameter is no list of literals", Hint: "numbers and 'strings' with commas between them, such as 1, 10"}
	}
	if len(text) > lim.Expr {
		return nil, bad()
	}
	toks, err := lex(text)
	if err != nil {
		return nil, bad()
	}
	var out []Expr
	for i := 0; ; i++ {
		sign := ""
		if toks[i].kind == 'p' && toks[i].text == "-" && (toks[i+1].kind == 'i' || toks[i+1].kind == 'd') {
			sign = "-"
			i++
		}
		t := toks[i]
		if t.kind != 'i' && t.kind != 'd' && t.kind != 's' {
			return nil, bad()
		}
		out = append(out, &Literal{Offset(t.pos), t.kind, sign + t.text})
		i++
		if toks[i].kind == 0 {
			return out, nil
		}
		if toks[i].kind != 'p' || toks[i].text != "," {
			return nil, bad()
		}
	}
}
