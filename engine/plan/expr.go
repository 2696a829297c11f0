package plan

import (
	"slices"
	"strings"

	"resq/engine/funcs"
	"resq/schema"
	"resq/schema/problem"
	"resq/schema/query"
)

// An xbinder binds one expression.
type xbinder struct {
	*binder
	sc *scope
	at string
	cl clause
}

// stop leaves an expression after its first problem.
type stop struct{}

func (x *xbinder) fail(code problem.Code, stage problem.Stage, message, hint string) {
	x.add(code, stage, x.at, message, hint)
	panic(stop{})
}

// expr binds a parsed expression. It gives nil when a problem was added.
func (b *binder) expr(sc *scope, e query.Expr, at string, cl clause) (out Expr) {
	if e == nil {
		return nil
	}
	x := &xbinder{binder: b, sc: sc, at: at, cl: cl}
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(stop); !ok {
				panic(r)
			}
			out = nil
		}
	}()
	x.check(e, false)
	v := x.bind(e)
	if x.grows(v, at) > maxGrowth {
		return nil
	}
	return v
}

// check looks at functions before any name is looked up, so that an unknown function is told as such
// whatever its arguments are.
func (x *xbinder) check(e query.Expr, inside bool) {
	query.Walk(e, func(n query.Expr) {
		c, ok := n.(*query.Call)
		if !ok {
			return
		}
		f, ok := function(c.Name)
		if !ok {
			x.unknownFunction(c.Name)
		}
		if f == nil {
			return
		}
		if f.Class == funcs.Window && c.Over == nil {
			x.fail(problem.ExprNotAllowed, problem.Constructs, c.Name+" needs OVER (…)", c.Name+"() OVER (ORDER BY …)")
		}
		if c.Over != nil && (!x.cl.windows || f.Class == funcs.Scalar) {
			x.fail(problem.ExprNotAllowed, problem.Constructs, "no window function may stand here", "compute it as a field of a `with` query and use that")
		}
		if f.Class == funcs.Aggregate && c.Over == nil {
			if !x.cl.aggregates {
				code := problem.FunctionNotAllowed
				if x.cl.name == "groupBy" {
					code = problem.ExprNotAllowed
				}
				x.fail(code, problem.Constructs, "no aggregate may stand in "+x.cl.name, "conditions on aggregates belong in having")
			}
			for _, a := range c.Args {
				query.Walk(a, func(n query.Expr) {
					if in, ok := n.(*query.Call); ok {
						if g, _ := function(in.Name); g != nil && (g.Class == funcs.Aggregate || in.Over != nil) {
							x.fail(problem.ExprNotAllowed, problem.Constructs, "an aggregate inside an aggregate", "compute the inner one in a `with` query")
						}
					}
				})
			}
		}
	})
}

func (x *xbinder) unknownFunction(name string) {
	x.fail(problem.FunctionNotAllowed, problem.Constructs, "there is no function "+problem.Quote(name), nearFunction(name))
}

func nearFunction(name string) string {
	switch strings.ToUpper(name) {
	case "STDDEV", "STD", "STDEV":
		return "STDDEV_POP is that of all values, STDDEV_SAMP that of a sample"
	case "VARIANCE", "VAR":
		return "VAR_POP is that of all values, VAR_SAMP that of a sample"
	}
	if near := problem.Nearest(name, slices.Concat(funcs.Names(), specials), 3); len(near) > 0 {
		return "nearest: " + strings.Join(near, ", ")
	}
	return "docs/functions.md lists the functions"
}

func (x *xbinder) bind(e query.Expr) Expr {
	switch e := e.(type) {
	case *query.Name:
		return x.name(e)
	case *query.Literal:
		return x.literal(e)
	case *query.Call:
		return x.call(e)
	case *query.Unary:
		if e.Op == "NOT" {
			return &Not{X: x.cond(e.X)}
		}
		v := x.numeric(x.bind(e.X))
		return &Arith{Op: "-", R: v, T: arithType("-", v.Type(), v.Type())}
	case *query.Binary:
		return x.binary(e)
	case *query.Is:
		if e.Word != "NULL" {
			return x.truth(e)
		}
		return &Null{X: x.bind(e.X), Not: e.Not}
	case *query.InList:
		return x.inList(e)
	case *query.Range:
		v := x.bind(e.X)
		low, high := x.compareTo(query.Ge, v, e.Low), x.compareTo(query.Le, v, e.High)
		r := Expr(&Logic{Xs: []Expr{low, high}})
		if e.Not {
			r = &Not{X: r}
		}
		return r
	case *query.Match:
		v := asText(x.bind(e.X))
		if e.Regexp {
			lit, ok := e.Pattern.(*query.Literal)
			if !ok || lit.Kind != 's' {
				x.fail(problem.ExprNotAllowed, problem.Constructs, "REGEXP takes a plain 'string'", "'^[a-z]+$'")
			}
			return x.need(x.regexp(v, lit.Text, x.at, e.Not))
		}
		return &Like{X: v, Pattern: pattern(x.bind(e.Pattern)), Not: e.Not, Case: caseSensitive(v)}
	case *query.Case:
		return x.caseOf(e)
	}
	x.fail(problem.ExprSyntax, problem.Syntax, "an interval stands only beside + and -", "DATE_ADD(field, INTERVAL 1 DAY)")
	return nil
}

func (x *xbinder) literal(e *query.Literal) Expr {
	switch e.Kind {
	case 'n':
		return &Arg{}
	case 'b':
		return &Bool{V: e.Text == "true"}
	case 's':
		return &Arg{Value: e.Text, T: schema.Type{Kind: schema.Text}}
	case 'i':
		if a, ok := parseValue(e.Text, schema.Type{Kind: schema.Integer}, nil); ok {
			return a
		}
		if decimalText.MatchString(e.Text) {
			return &Arg{Value: e.Text, T: schema.Type{Kind: schema.Integer}} // beyond 64 bits, and exact all the same
		}
	}
	a, ok := parseValue(e.Text, schema.Type{Kind: schema.Decimal}, nil)
	if !ok {
		x.fail(problem.ExprSyntax, problem.Syntax, "a number of too many digits", "")
	}
	if _, frac, ok := strings.Cut(e.Text, "."); ok {
		a.T.Precision, a.T.Scale = 65, len(frac)
	}
	return a
}

// name binds a field, an output, or a named query used as a scalar.
func (x *xbinder) name(e *query.Name) Expr {
	if len(e.Parts) == 1 {
		return x.bareName(e.Parts[0])
	}
	for n := len(e.Parts) - 1; n > 0; n-- {
		code, field := strings.Join(e.Parts[:n], "."), strings.Join(e.Parts[n:], ".")
		if s, ok := x.sc.find(code); ok {
			return x.need(x.field(s, field, x.at, problem.Names))
		}
		for _, w := range x.sc.allWiths() {
			if w.Code == code {
				return x.scalar(w, field)
			}
		}
	}
	x.unknownResource(x.at, e.Parts[0], append(x.sc.codes(), x.sc.withCodes()...), problem.Names)
	panic(stop{})
}

func (x *xbinder) need(e Expr) Expr {
	if e == nil {
		panic(stop{})
	}
	return e
}

// bareName finds the one source that has the field, or the output of that name where outputs have one.
func (x *xbinder) bareName(name string) Expr {
	if x.cl.outputs {
		if o, _, ok := x.sc.outputNamed(name); ok && (o.Field == nil || !x.known(name)) {
			return o.Expr
		}
	}
	var hit *Source
	var places []string
	for _, s := range x.sc.sources {
		if _, ok := x.lookup(s.src, name); ok {
			hit = s.src
			places = append(places, s.code)
		}
	}
	switch {
	case len(places) > 1:
		if o, _, ok := x.sc.outputNamed(name); ok && x.cl.outputs {
			return o.Expr
		}
		x.fail(problem.AmbiguousField, problem.Names, "several resources here have a field "+problem.Quote(name), "say which: "+strings.Join(qualify(places, name), " or "))
	case len(places) == 1:
		return x.need(x.field(hit, name, x.at, problem.Names))
	}
	var known []string
	for _, s := range x.sc.sources {
		known = append(known, x.fieldNames(s.src)...)
	}
	x.unknownField(x.at, name, x.sc.sources[0].code, known, problem.Names)
	panic(stop{})
}

func (x *xbinder) known(name string) bool {
	for _, s := range x.sc.sources {
		if _, ok := x.lookup(s.src, name); ok {
			return true
		}
	}
	return false
}

func qualify(codes []string, name string) []string {
	out := make([]string, len(codes))
	for i, c := range codes {
		out[i] = c + "." + name
	}
	return out
}

// scalar reads an output of a named query that gives one row.
func (x *xbinder) scalar(w *CTE, field string) Expr {
	for i, o := range w.Query.shown() {
		if o.Name != field {
			continue
		}
		s := &Source{ID: x.id(), Code: w.Code, CTE: w}
		x.sources = append(x.sources, s)
		q := &Query{From: s, Limit: -1, single: w.Query.single, Out: []*Output{{Name: field, Expr: &Column{Source: s, Out: i, T: outType(o)}, growth: o.growth}}}
		return &Scalar{Query: q}
	}
	var known []string
	for _, o := range w.Query.shown() {
		known = append(known, o.Name)
	}
	x.unknownField(x.at, field, w.Code, known, problem.Names)
	panic(stop{})
}

// cond binds a condition.
func (x *xbinder) cond(e query.Expr) Expr {
	v, ok := condition(x.bind(e))
	if !ok {
		x.fail(problem.InvalidArgument, problem.Semantics, "a text or date stands where a condition is needed", "compare it with something")
	}
	return v
}

// truth is IS [NOT] TRUE and FALSE, which are never NULL.
func (x *xbinder) truth(e *query.Is) Expr {
	c := x.cond(e.X)
	if e.Word == "FALSE" {
		c = &Not{X: c}
	}
	return &Case{Whens: []When{{c, &Bool{V: !e.Not}}}, Else: &Bool{V: e.Not}, T: boolean}
}

func (x *xbinder) numeric(v Expr) Expr {
	if v.Type().Kind.Temporal() || v.Type().Kind == schema.Binary {
		x.fail(problem.InvalidArgument, problem.Semantics, "a value of type "+v.Type().String()+" stands where a number is needed",
			"YEAR(…), EPOCH(…) and JULIANDAY(…) make numbers of dates, DATE_ADD and DATEDIFF calculate with them")
	}
	return number(v)
}

func (x *xbinder) binary(e *query.Binary) Expr {
	switch e.Op {
	case "AND", "OR":
		return &Logic{Or: e.Op == "OR", Xs: []Expr{x.cond(e.L), x.cond(e.R)}}
	case "=", "!=", "<", "<=", ">", ">=":
		return x.compareTo(query.Op(e.Op), x.bind(e.L), e.R)
	case "||":
		return &Arith{Op: "||", L: asText(x.bind(e.L)), R: asText(x.bind(e.R)), T: schema.Type{Kind: schema.Text}}
	}
	l := x.bind(e.L)
	if iv, ok := e.R.(*query.Interval); ok {
		return x.addInterval(l, iv, e.Op == "-")
	}
	r := x.bind(e.R)
	if e.Op == "-" && l.Type().Kind == schema.Date && r.Type().Kind == schema.Date {
		return x.table("#DAYS_BETWEEN", l, r)
	}
	l, r = x.numeric(l), x.numeric(r)
	return &Arith{Op: e.Op, L: l, R: r, T: arithType(e.Op, l.Type(), r.Type())}
}

// compareTo compares a bound value with an expression; a literal is read by the value's type.
func (x *xbinder) compareTo(op query.Op, l Expr, e query.Expr) Expr {
	r := x.bind(e)
	x.literalFits(l, r)
	x.literalFits(r, l)
	return x.compare(op, l, r)
}

// literalFits refuses a literal that is no value of what it is compared with.
func (x *xbinder) literalFits(v, lit Expr) {
	a, ok := lit.(*Arg)
	if !ok || a.Value == nil {
		return
	}
	t := v.Type()
	if fits(a.T, t) || text(t.Kind) || t.Kind == schema.JSON {
		return
	}
	if s, ok := argText(a); ok {
		if t.Kind == schema.DateTime {
			s = x.local(s)
		}
		if _, ok := parseValue(s, t, nil); ok {
			if t.Kind == schema.DateTime {
				a.Value = s
			}
			return
		}
		if t.Kind == schema.Integer {
			if _, ok := parseValue(s, schema.Type{Kind: schema.Decimal}, nil); ok {
				return
			}
		}
		x.fail(problem.InvalidArgument, problem.Semantics, problem.Quote(s)+" is no value to compare with a "+t.String(), like(t, nil))
	}
}

// inList binds IN. Beside literals, which are typed by the value, each element may have a type of its own, and
// is compared by itself.
func (x *xbinder) inList(e *query.InList) Expr {
	v := x.bind(e.X)
	l := &List{X: v, Not: e.Not, Exact: x.exact(v)}
	any := &Logic{Or: true}
	literals := true
	for _, i := range e.List {
		r := x.bind(i)
		x.literalFits(v, r)
		_, lit := r.(*Arg)
		literals = literals && lit
		any.Xs = append(any.Xs, x.compare(query.Eq, v, r))
		_, r = meet(v, r)
		l.Xs = append(l.Xs, r)
	}
	switch {
	case literals:
		return l
	case e.Not:
		return &Not{X: any}
	}
	return any
}

func (x *xbinder) caseOf(e *query.Case) Expr {
	c := &Case{}
	var operand Expr
	if e.Operand != nil {
		operand = x.bind(e.Operand)
	}
	for _, w := range e.Whens {
		var cond Expr
		if operand != nil {
			cond = x.compareTo(query.Eq, operand, w.If)
		} else {
			cond = x.cond(w.If)
		}
		c.Whens = append(c.Whens, When{cond, x.bind(w.Then)})
	}
	if e.Else != nil {
		c.Else = x.bind(e.Else)
	}
	for _, w := range c.Whens {
		c.T = union(c.T, w.Then.Type())
	}
	if c.Else != nil {
		c.T = union(c.T, c.Else.Type())
	}
	for i := range c.Whens {
		c.Whens[i].Then = convertTo(c.Whens[i].Then, c.T)
	}
	c.Else = convertTo(c.Else, c.T)
	return c
}
