package query

import (
	"strconv"
	"strings"

	"resq/schema/problem"
)

// The words that end a name's run as a field; everything else may be a field without quotes.
var reserved = map[string]bool{
	"AND": true, "OR": true, "NOT": true, "IS": true, "NULL": true, "IN": true, "BETWEEN": true, "LIKE": true,
	"CASE": true, "WHEN": true, "THEN": true, "ELSE": true, "END": true, "TRUE": true, "FALSE": true,
	"DISTINCT": true, "SELECT": true, "EXISTS": true, "FROM": true, "WHERE": true, "UNION": true, "AS": true,
	"OVER": true, "ASC": true, "DESC": true, "INTERVAL": true,
}

type parser struct {
	toks  []token
	i     int
	at    string
	lim   *Limits
	depth int
	nodes int
}

// parseError leaves the parser from any depth; ParseExpr catches it.
type parseError struct{ p *problem.Problem }

// ParseExpr reads an expression by the grammar of security.md 4.2 as widened by design.md section 5. The
// problem's place is at, its message names the character.
func ParseExpr(text, at string, lim *Limits) (e Expr, p *problem.Problem) {
	if n := len([]rune(text)); n > lim.Expr {
		return nil, &problem.Problem{Code: problem.LimitExceeded, Stage: problem.Limits, At: at,
			Message: "an expression of " + strconv.Itoa(n) + " characters", Hint: "at most " + strconv.Itoa(lim.Expr)}
	}
	toks, lerr := lex(text)
	if lerr != nil {
		return nil, syntax(at, lerr.pos, lerr.what, lerr.hint)
	}
	defer func() {
		if r := recover(); r != nil {
			pe, ok := r.(parseError)
			if !ok {
				panic(r)
			}
			e, p = nil, pe.p
		}
	}()
	ps := &parser{toks: toks, at: at, lim: lim}
	e = ps.expr()
	if t := ps.peek(); t.kind != 0 {
		ps.fail(t, "the expression ends before "+problem.Quote(t.text), "one expression; order and direction have keys of their own")
	}
	return e, nil
}

func syntax(at string, pos int, what, hint string) *problem.Problem {
	return &problem.Problem{Code: problem.ExprSyntax, Stage: problem.Syntax, At: at,
		Message: what + ", at character " + strconv.Itoa(pos+1), Hint: hint}
}

func (p *parser) fail(t token, what, hint string) { panic(parseError{syntax(p.at, t.pos, what, hint)}) }

func (p *parser) refuse(what, hint string) {
	panic(parseError{&problem.Problem{Code: problem.ExprNotAllowed, Stage: problem.Constructs, At: p.at, Message: what, Hint: hint}})
}

func (p *parser) peek() token { return p.toks[p.i] }
func (p *parser) peek2() token {
	if p.i+1 < len(p.toks) {
		return p.toks[p.i+1]
	}
	return p.toks[p.i]
}
func (p *parser) next() token {
	t := p.toks[p.i]
	if t.kind != 0 {
		p.i++
	}
	return t
}
func (p *parser) op(s string) bool {
	if t := p.peek(); t.kind == 'p' && t.text == s {
		p.i++
		return true
	}
	return false
}
func (p *parser) word(w string) bool {
	if p.peek().is(w) {
		p.i++
		return true
	}
	return false
}
func (p *parser) want(s string) {
	if t := p.peek(); !p.op(s) {
		p.fail(t, "expected "+s+found(t), "")
	}
}
func (p *parser) wantWord(w string) {
	if t := p.peek(); !p.word(w) {
		p.fail(t, "expected "+w+found(t), "")
	}
}

func found(t token) string {
	if t.kind == 0 {
		return " but the expression ends"
	}
	return " before " + problem.Quote(t.text)
}

// node counts a node and its depth before the parser goes deeper, so that no text can exhaust the stack.
func (p *parser) node() {
	p.nodes++
	if p.nodes > p.lim.ExprNodes {
		panic(parseError{&problem.Problem{Code: problem.LimitExceeded, Stage: problem.Limits, At: p.at,
			Message: "an expression of more than " + strconv.Itoa(p.lim.ExprNodes) + " parts", Hint: "split it, or compute a part in a `with` query"}})
	}
}
func (p *parser) down() {
	p.depth++
	if p.depth > p.lim.ExprDepth {
		panic(parseError{&problem.Problem{Code: problem.LimitExceeded, Stage: problem.Limits, At: p.at,
			Message: "an expression nested deeper than " + strconv.Itoa(p.lim.ExprDepth) + " levels"}})
	}
}
func (p *parser) up() { p.depth-- }

func (p *parser) expr() Expr {
	p.down()
	defer p.up()
	l := p.and()
	for p.peek().is("OR") {
		t := p.next()
		p.node()
		l = &Binary{Offset(t.pos), "OR", l, p.and()}
	}
	return l
}

func (p *parser) and() Expr {
	l := p.not()
	for p.peek().is("AND") {
		t := p.next()
		p.node()
		l = &Binary{Offset(t.pos), "AND", l, p.not()}
	}
	return l
}

func (p *parser) not() Expr {
	if t := p.peek(); t.is("NOT") {
		p.next()
		p.node()
		p.down()
		defer p.up()
		return &Unary{Offset(t.pos), "NOT", p.not()}
	}
	return p.compare()
}

func (p *parser) compare() Expr {
	l := p.add()
	t := p.peek()
	if t.kind == 'p' {
		switch t.text {
		case "=", "!=", "<>", "<", "<=", ">", ">=":
			p.next()
			p.node()
			op := t.text
			if op == "<>" {
				op = "!="
			}
			return &Binary{Offset(t.pos), op, l, p.add()}
		}
		return l
	}
	if t.is("IS") {
		p.next()
		p.node()
		not := p.word("NOT")
		w := p.peek()
		if !w.is("TRUE") && !w.is("FALSE") {
			p.wantWord("NULL")
		} else {
			p.next()
		}
		return &Is{Offset(t.pos), l, strings.ToUpper(w.text), not}
	}
	not := false
	if t.is("NOT") {
		n := p.peek2()
		if !n.is("IN") && !n.is("BETWEEN") && !n.is("LIKE") && !n.is("REGEXP") {
			return l
		}
		p.next()
		not = true
	}
	switch t = p.peek(); {
	case t.is("IN"):
		p.next()
		return p.in(t, l, not)
	case t.is("BETWEEN"):
		p.next()
		p.node()
		low := p.add()
		p.wantWord("AND")
		return &Range{Offset(t.pos), l, low, p.add(), not}
	case t.is("LIKE"), t.is("REGEXP"):
		p.next()
		p.node()
		return &Match{Offset(t.pos), l, p.add(), not, t.is("REGEXP")}
	}
	return l
}

func (p *parser) in(t token, l Expr, not bool) Expr {
	p.node()
	p.want("(")
	if p.peek().is("SELECT") {
		p.subquery()
	}
	x := &InList{Offset: Offset(t.pos), X: l, Not: not}
	for {
		x.List = append(x.List, p.add())
		if !p.op(",") {
			break
		}
	}
	p.want(")")
	return x
}

func (p *parser) subquery() {
	p.refuse("a sub-query inside an expression", "use a condition with tokenType query, or name a query in `with`")
}

func (p *parser) add() Expr {
	l := p.mul()
	for {
		t := p.peek()
		if t.kind != 'p' || t.text != "+" && t.text != "-" && t.text != "||" {
			return l
		}
		p.next()
		p.node()
		if t.text != "||" && p.peek().is("INTERVAL") && p.peek2().kind != 'p' {
			l = &Binary{Offset(t.pos), t.text, l, p.interval()}
			continue
		}
		l = &Binary{Offset(t.pos), t.text, l, p.mul()}
	}
}

func (p *parser) mul() Expr {
	l := p.unary()
	for {
		t := p.peek()
		if t.kind != 'p' || t.text != "*" && t.text != "/" && t.text != "%" {
			return l
		}
		p.next()
		p.node()
		l = &Binary{Offset(t.pos), t.text, l, p.unary()}
	}
}

func (p *parser) unary() Expr {
	if t := p.peek(); t.kind == 'p' && (t.text == "-" || t.text == "+") {
		p.next()
		p.down()
		defer p.up()
		x := p.unary()
		if t.text == "+" {
			return x
		}
		if n, ok := x.(*Literal); ok && (n.Kind == 'i' || n.Kind == 'd') && !strings.HasPrefix(n.Text, "-") {
			return &Literal{Offset(t.pos), n.Kind, "-" + n.Text}
		}
		p.node()
		return &Unary{Offset(t.pos), "-", x}
	}
	return p.primary()
}
