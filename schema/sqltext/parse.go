package sqltext

import (
	"strconv"
	"strings"

	"resq/schema/problem"
)

// A parser admits a statement. Its errors are faults.
type parser struct {
	st    *Statement
	o     Options
	i     int
	depth int

	query *Query
	in    *Select
	use   use
	expr  *Expr
}

// writing are words that begin or mark what changes something, or locks it.
var writing = words("insert update delete replace merge truncate drop create alter rename call exec execute do set declare grant revoke deny load import " +
	"export lock unlock handler commit rollback savepoint begin start copy vacuum attach detach pragma reindex analyze explain describe desc show use kill " +
	"shutdown into for procedure table returning prepare deallocate listen notify refresh cluster comment discard release install uninstall values")

// structural words are never a name without quotes, in whatever dialect: so nothing that a database takes for the
// beginning of a clause is taken for an alias or a column here.
var structural = words("select from where group having order limit offset fetch for into union intersect except minus window with on using join left right " +
	"inner outer cross full natural straight_join as and or not in is null like between exists case when then else end distinct all any some values set asc desc " +
	"qualify returning lateral only tablesample table procedure lock default check primary references foreign create alter drop insert update delete merge " +
	"grant revoke call exec execute unique constraint collate escape ilike rlike regexp similar glob match xor div mod over partition use force ignore " +
	"indexed isnull notnull true false current_date current_time current_timestamp localtime localtimestamp recursive rows range groups filter within " +
	"sounds binary interval array cast convert both leading trailing against separator unnest variadic symmetric asymmetric placing overlaps to do")

// asName are structural words that some author may well use as the name of a column or an alias, and that begin no
// clause where a name may stand.
var asName = words("match mod glob do to array filter groups rows range")

func (p *parser) cur() *Token { return &p.st.Tokens[p.i] }

func (p *parser) peek(k int) *Token {
	return &p.st.Tokens[min(p.i+k, len(p.st.Tokens)-1)]
}

func (p *parser) is(w string) bool { return p.cur().Kind == Word && p.cur().low == w }

func (t *Token) word(w string) bool { return t.Kind == Word && t.low == w }

func (t *Token) sign(s string) bool { return t.Kind == Sign && t.Text == s }

func (p *parser) sign(s string) bool { return p.cur().sign(s) }

func (p *parser) take(w string) bool {
	if p.is(w) {
		p.i++
		return true
	}
	return false
}

func (p *parser) takeSign(s string) bool {
	if p.sign(s) {
		p.i++
		return true
	}
	return false
}

// unexpected refuses the current token.
func (p *parser) unexpected(want string) error {
	t := p.cur()
	f := &fault{code: problem.SQLSyntax, pos: t.Pos}
	switch {
	case t.Kind == refused:
		return t.fault
	case t.Kind == End:
		f.msg = "the statement ends too early"
	case t.Kind == Marker && want == "a table":
		f.msg, f.hint = "a parameter cannot stand for a table", "name the table"
		return f
	case t.Kind == Word && writing[t.low]:
		f.code, f.msg = problem.SQLNotReadOnly, strings.ToUpper(t.low)+" is not allowed here"
		f.hint = "a tool's statement is one SELECT, or WITH … SELECT, that only reads"
		return f
	default:
		f.msg = problem.Quote(p.st.text[t.Pos:t.End]) + " is not understood here"
	}
	if want != "" {
		f.hint = "expected: " + want
	}
	return f
}

func (p *parser) must(w string) error {
	if !p.take(w) {
		return p.unexpected(strings.ToUpper(w))
	}
	return nil
}

func (p *parser) mustSign(s string) error {
	if !p.takeSign(s) {
		return p.unexpected(s)
	}
	return nil
}

func (p *parser) refuse(tok int, code problem.Code, msg, hint string) error {
	return &fault{code, p.st.Tokens[tok].Pos, msg, hint}
}

// deeper counts what is inside one another.
func (p *parser) deeper() error {
	if p.depth++; p.depth > maxDepth {
		return p.refuse(p.i, problem.LimitExceeded, "the statement is nested too deep", "at most "+strconv.Itoa(maxDepth)+" brackets inside one another")
	}
	return nil
}

func (p *parser) statement() error {
	if p.cur().Kind == End {
		return &fault{problem.SQLSyntax, 0, "there is no statement", "one SELECT, or WITH … SELECT"}
	}
	// Two SELECTs in brackets may be combined; around a single one, brackets would keep the tool's own limit off.
	bracketed := p.sign("(") && p.st.Dialect != SQLite
	if !p.is("select") && !p.is("with") && !bracketed {
		t := p.cur()
		if t.Kind == refused {
			return t.fault
		}
		code := problem.SQLSyntax
		if t.Kind == Word {
			code = problem.SQLNotReadOnly
		}
		return &fault{code, t.Pos, "the statement does not begin with SELECT or WITH", "one SELECT, or WITH … SELECT, that only reads"}
	}
	q, err := p.readQuery()
	if err != nil {
		return err
	}
	if p.cur().Kind != End {
		return p.unexpected("")
	}
	if bracketed && len(q.Terms) == 1 {
		return &fault{problem.SQLSyntax, 0, "the whole statement stands in brackets", "leave them out"}
	}
	p.st.Query = q
	p.st.end = q.last
	return nil
}

// readQuery reads WITH, the terms of set operations, ORDER BY and the limit.
func (p *parser) readQuery() (*Query, error) {
	if err := p.deeper(); err != nil {
		return nil, err
	}
	q := &Query{outer: p.query, from: p.in, first: p.i}
	query, in, u, expr := p.query, p.in, p.use, p.expr
	p.query, p.in, p.expr = q, nil, nil
	defer func() { p.query, p.in, p.use, p.expr, p.depth = query, in, u, expr, p.depth-1 }()
	if p.take("with") {
		if err := p.withs(q); err != nil {
			return nil, err
		}
	}
	for {
		t, err := p.term()
		if err != nil {
			return nil, err
		}
		q.Terms = append(q.Terms, t)
		if !p.take("union") && !p.take("intersect") && !p.take("except") {
			break
		}
		if !p.take("all") {
			p.take("distinct")
		}
	}
	if len(q.Terms) == 1 && q.Terms[0].Select != nil {
		p.in = q.Terms[0].Select
	} else {
		p.in = &Select{query: q} // outputs alone
	}
	p.use = inOrder
	if p.is("order") {
		p.i++
		if err := p.must("by"); err != nil {
			return nil, err
		}
		if err := p.orders(&q.Order); err != nil {
			return nil, err
		}
	}
	q.last = p.i
	if err := p.limit(q); err != nil {
		return nil, err
	}
	return q, nil
}

func (p *parser) withs(q *Query) error {
	q.Recursive = p.take("recursive")
	for {
		c := &CTE{tok: p.i}
		var err error
		if c.Name, err = p.name("the name of a query"); err != nil {
			return err
		}
		for _, x := range q.With {
			if strings.EqualFold(x.Name, c.Name) {
				return p.refuse(c.tok, problem.SQLSyntax, "two queries of WITH are called "+problem.Quote(c.Name), "give each its own name")
			}
		}
		if p.takeSign("(") {
			if c.Columns, err = p.names(); err != nil {
				return err
			}
		}
		if err := p.must("as"); err != nil {
			return err
		}
		if p.st.Dialect != MySQL {
			if p.take("not") && !p.is("materialized") {
				return p.unexpected("MATERIALIZED")
			}
			p.take("materialized")
		}
		if err := p.mustSign("("); err != nil {
			return err
		}
		p.st.CTEs = append(p.st.CTEs, c)
		if q.Recursive || p.st.Dialect == SQLite { // there RECURSIVE says nothing
			q.With = append(q.With, c)
		}
		if c.Query, err = p.readQuery(); err != nil {
			return err
		}
		if err := p.mustSign(")"); err != nil {
			return err
		}
		if !q.Recursive && p.st.Dialect != SQLite {
			q.With = append(q.With, c)
		}
		if !p.takeSign(",") {
			return nil
		}
	}
}

// cte finds the query that an unqualified name means here; nil is none. Whether capitals count differs between databases,
// so a name that differs in them alone is refused: it could mean a table.
func (p *parser) cte(tok int, name string) (*CTE, error) {
	for q := p.query; q != nil; q = q.outer {
		for _, c := range q.With {
			if c.Name == name {
				return c, nil
			}
			if strings.EqualFold(c.Name, name) {
				return nil, p.refuse(tok, problem.SQLSyntax, problem.Quote(name)+" and "+problem.Quote(c.Name)+" differ in capitals alone", "write the name of the query as WITH has it")
			}
		}
	}
	return nil, nil
}

func (p *parser) term() (*Term, error) {
	switch {
	case p.takeSign("("):
		q, err := p.readQuery()
		if err != nil {
			return nil, err
		}
		return &Term{Query: q}, p.mustSign(")")
	case p.is("values") && p.peek(1).sign("("), p.is("values") && p.peek(1).word("row"):
		p.i++
		t := &Term{}
		p.use, p.in = inValues, &Select{query: p.query}
		for {
			p.take("row")
			if !p.sign("(") {
				return nil, p.unexpected("(")
			}
			x, err := p.expression()
			if err != nil {
				return nil, err
			}
			t.Values = append(t.Values, x)
			if !p.takeSign(",") {
				return t, nil
			}
		}
	case !p.is("select"):
		return nil, p.unexpected("SELECT")
	}
	p.i++
	s, err := p.readSelect()
	return &Term{Select: s}, err
}

func (p *parser) readSelect() (*Select, error) {
	s := &Select{query: p.query}
	p.st.selects = append(p.st.selects, s)
	p.in, p.use = s, inItem
	switch {
	case p.take("distinct"):
		s.Distinct = true
		if p.st.Dialect == Postgres && p.is("on") {
			p.i++
			p.use = inGroup
			if !p.sign("(") {
				return nil, p.unexpected("(")
			}
			x, err := p.expression()
			if err != nil {
				return nil, err
			}
			s.Group = append(s.Group, x)
			p.use = inItem
		}
	case p.take("all"):
	}
	for {
		it, err := p.item()
		if err != nil {
			return nil, err
		}
		s.Items = append(s.Items, it)
		if !p.takeSign(",") {
			break
		}
	}
	if p.take("from") {
		for {
			if err := p.joined(s); err != nil {
				return nil, err
			}
			if !p.takeSign(",") {
				break
			}
		}
	}
	var err error
	if p.take("where") {
		p.use = inWhere
		if s.Where, err = p.expression(); err != nil {
			return nil, err
		}
	}
	if p.is("group") {
		p.i++
		if err := p.must("by"); err != nil {
			return nil, err
		}
		p.use = inGroup
		if err := p.groups(s); err != nil {
			return nil, err
		}
	}
	if p.take("having") {
		p.use = inHaving
		if s.Having, err = p.expression(); err != nil {
			return nil, err
		}
	}
	if p.take("window") {
		p.use = inWindow
		for {
			if _, err := p.name("the name of a window"); err != nil {
				return nil, err
			}
			if err := p.must("as"); err != nil {
				return nil, err
			}
			x := p.begin()
			if err := p.window(); err != nil {
				return nil, err
			}
			p.finish(x, nil)
			s.Windows = append(s.Windows, x)
			if !p.takeSign(",") {
				break
			}
		}
	}
	return s, nil
}

func (p *parser) item() (*Item, error) {
	it := &Item{}
	if p.sign("*") {
		it.Star = &Column{Star: true, First: p.i, Last: p.i, in: p.in, query: p.query, use: inItem, item: it}
		p.st.Columns = append(p.st.Columns, it.Star)
		p.i++
		return it, nil
	}
	// source.* and schema.table.*
	for k := 0; k <= 2; k += 2 {
		if p.nameLike(p.peek(k)) && p.peek(k+1).sign(".") && p.peek(k+2).sign("*") {
			c := &Column{Star: true, First: p.i, Last: p.i + k + 2, in: p.in, query: p.query, use: inItem, item: it}
			for j := 0; j <= k; j += 2 {
				c.Path = append(c.Path, p.meant(p.peek(j)))
			}
			p.i += k + 3
			it.Star = c
			p.st.Columns = append(p.st.Columns, c)
			return it, nil
		}
		if !p.nameLike(p.peek(k)) || !p.peek(k+1).sign(".") {
			break
		}
	}
	x, err := p.expression()
	if err != nil {
		return nil, err
	}
	it.Expr = x
	if x.Column != nil {
		x.Column.item = it
	}
	it.Alias, err = p.alias()
	return it, err
}
