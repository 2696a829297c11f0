package plan

import (
	"slices"
	"strconv"
	"strings"

	"resq/engine/funcs"
	"resq/schema"
	"resq/schema/problem"
	"resq/schema/query"
)

// specials are the functions that are put together here because a row of the table cannot say them: they
// read a literal, take a unit of time, or spell another function.
var specials = func() (names []string) {
	for _, s := range funcs.Spellings {
		names = append(names, s.Name)
	}
	return names
}()

// function finds a function by its name; a special one has no row and gives nil.
func function(name string) (*funcs.Func, bool) {
	if f, ok := funcs.Lookup(name); ok {
		return f, true
	}
	return nil, slices.Contains(specials, name)
}

// An operand is a bound argument with the literal it was, if it was one.
type operand struct {
	e   Expr
	lit *query.Literal
}

func (x *xbinder) call(c *query.Call) Expr {
	if c.Star {
		if c.Name != "COUNT" || c.Distinct {
			x.fail(problem.ExprNotAllowed, problem.Constructs, "only COUNT takes *", "COUNT(*)")
		}
		return x.window(&Call{Fn: funcs.Must("#COUNT_ROWS"), T: schema.Type{Kind: schema.Integer}}, c)
	}
	if f, _ := function(c.Name); c.Distinct && (f == nil || f.Class != funcs.Aggregate || c.Over != nil) {
		x.fail(problem.ExprNotAllowed, problem.Constructs, "DISTINCT stands only in plain aggregates", "COUNT(DISTINCT field)")
	}
	if e, ok := x.unitCall(c); ok {
		return e
	}
	ops := make([]operand, len(c.Args))
	for i, a := range c.Args {
		if _, ok := a.(*query.Interval); ok {
			continue
		}
		lit, _ := a.(*query.Literal)
		ops[i] = operand{x.bind(a), lit}
	}
	if len(c.Args) == 2 && len(ops) == 2 && ops[1].e == nil {
		iv := c.Args[1].(*query.Interval)
		return x.addInterval(ops[0].e, iv, c.Name == "DATE_SUB" || c.Name == "SUBDATE")
	}
	for _, o := range ops {
		if o.e == nil {
			x.fail(problem.ExprSyntax, problem.Syntax, "an interval does not stand here", "DATE_ADD(field, INTERVAL 1 DAY)")
		}
	}
	if (c.Name == "MAX" || c.Name == "MIN") && len(ops) > 1 && c.Over == nil {
		c = &query.Call{Offset: c.Offset, Name: map[string]string{"MAX": "GREATEST", "MIN": "LEAST"}[c.Name], Args: c.Args}
	}
	if f, _ := function(c.Name); f != nil && deviation(f) && len(ops) == 1 {
		if c.Distinct {
			x.fail(problem.ExprNotAllowed, problem.Constructs, c.Name+" takes no DISTINCT", "compute it over a `with` query whose rows are distinct")
		}
		return x.deviation(f.Name, ops[0].e, c)
	}
	e := x.apply(c.Name, ops, c.Type, problem.ExprNotAllowed)
	call, ok := e.(*Call)
	if !ok || call.Fn.Class == funcs.Scalar {
		return e
	}
	if call.Distinct = c.Distinct; c.Distinct && call.Args[0].Type().Kind == schema.JSON {
		call.Args[0] = asText(call.Args[0]) // not every kind of document can be told apart
	}
	if call.Fn.Name == "GROUP_CONCAT" {
		x.stringAggregate(call, c)
	}
	return x.window(call, c)
}

// unitCall binds the calls whose first argument is the bare name of a unit.
func (x *xbinder) unitCall(c *query.Call) (Expr, bool) {
	if c.Name != "TIMESTAMPDIFF" && c.Name != "TIMESTAMPADD" {
		return nil, false
	}
	if len(c.Args) != 3 {
		x.arity(c.Name)
	}
	var word string
	switch a := c.Args[0].(type) {
	case *query.Name:
		word = strings.Join(a.Parts, ".")
	case *query.Literal:
		word = a.Text
	}
	unit, ok := query.Unit(word)
	if !ok {
		x.badUnit(word)
	}
	if c.Name == "TIMESTAMPADD" {
		return x.addInterval(x.bind(c.Args[2]), &query.Interval{N: c.Args[1], Unit: unit}, false), true
	}
	f, ok := funcs.Lookup("#DIFF_" + unit)
	if !ok {
		x.badUnit(word)
	}
	return x.table(f.Name, x.bind(c.Args[1]), x.bind(c.Args[2])), true
}

func (x *xbinder) badUnit(word string) {
	x.fail(problem.ExprNotAllowed, problem.Constructs, problem.Quote(word)+" is no unit of time here", "SECOND, MINUTE, HOUR, DAY, WEEK, MONTH, QUARTER or YEAR")
}

func (x *xbinder) arity(name string) {
	hint := ""
	if f, ok := funcs.Lookup(name); ok && len(f.Args) > 0 {
		lo, hi := len(f.Args)-f.Optional, strconv.Itoa(len(f.Args))
		if f.Variadic {
			hi = "any number"
		}
		hint = "it takes " + strconv.Itoa(lo)
		if f.Variadic || f.Optional > 0 {
			hint += " to " + hi
		}
	}
	if name == "LOG" { // of one number it is the natural one here and that of ten there
		hint = "LOG(base, x); LN is the natural logarithm, LOG10 and LOG2 the others"
	}
	x.fail(problem.ExprNotAllowed, problem.Constructs, name+" with this number of arguments", hint)
}

// table calls a row of the function table with values that are bound.
func (x *xbinder) table(name string, args ...Expr) Expr {
	ops := make([]operand, len(args))
	for i, a := range args {
		ops[i].e = a
	}
	return x.apply(name, ops, "", problem.ExprNotAllowed)
}

// apply calls a function. bad is the code of a wrong argument: an expression and fieldSqlFuncParam differ.
func (x *xbinder) apply(name string, ops []operand, castTo string, bad problem.Code) Expr {
	if f, ok := funcs.Lookup(name); ok {
		return x.row(f, ops, bad)
	}
	return x.special(name, ops, castTo, bad)
}

func (x *xbinder) row(f *funcs.Func, ops []operand, bad problem.Code) Expr {
	if !f.Takes(len(ops)) {
		if bad == problem.InvalidArgument {
			x.fail(bad, problem.Constructs, f.Name+" does not take "+strconv.Itoa(len(ops)-1)+" parameters", parameters(f))
		}
		x.arity(f.Name)
	}
	c := &Call{Fn: f, Args: make([]Expr, len(ops))}
	var shared schema.Type
	for i, o := range ops {
		if f.Arg(i).Kind == funcs.SameType {
			shared = union(shared, o.e.Type())
		}
	}
	if deviation(f) {
		return x.deviation(f.Name, ops[0].e, &query.Call{})
	}
	types := make([]schema.Type, len(ops))
	for i, o := range ops {
		c.Args[i] = x.argument(f, i, o, shared, bad)
		types[i] = c.Args[i].Type()
	}
	if len(types) == 0 {
		types = []schema.Type{{}}
	}
	c.T = f.Type(types)
	if f.Result == funcs.Shared {
		c.T = shared
	}
	for i := len(ops); i < len(f.Args) && f.Short == nil && f.Arg(i).Kind == funcs.LitInt; i++ {
		c.Args = append(c.Args, &Int{})
	}
	switch {
	case f.Name == "SUBSTRING":
		return x.substring(c, bad)
	case f.Name == "SUBSTRING_INDEX" && c.Args[2].(*Int).N < 0:
		f = funcs.Must("#SUBSTRING_INDEX_END")
		c.Args[2] = &Int{N: -c.Args[2].(*Int).N}
	case f.Result == funcs.RoundOf && c.T.Kind == schema.Integer && (len(c.Args) == 1 || c.Args[1].(*Int).N >= 0):
		return c.Args[0] // nothing to round
	case f.Result == funcs.RoundOf && c.T.Kind == schema.Decimal && len(c.Args) == 2:
		c.T.Scale = max(0, min(types[0].Scale, int(c.Args[1].(*Int).N)))
	}
	if f.Name == "EPOCH" {
		c.Args[0] = asInstant(c.Args[0])
	}
	c.Fn = f.For(types[0])
	if f.Name == "GREATEST" || f.Name == "LEAST" {
		return extreme(c, func(c *Call) Expr { return c })
	}
	return c
}

// asInstant takes a moment that keeps its zone for what it is, and anything else as it stands.
func asInstant(e Expr) Expr {
	c, ok := e.(*Column)
	if !ok {
		return e
	}
	if f, _ := c.Zoned(); f == nil {
		return e
	}
	own := *c
	own.Instant = true
	return &own
}

// parameters says how many literals may follow the field.
func parameters(f *funcs.Func) string {
	hi := len(f.Args) - 1
	if lo := hi - f.Optional; lo < hi {
		return "it takes " + strconv.Itoa(lo) + " to " + strconv.Itoa(hi)
	}
	if hi == 0 {
		return "leave fieldSqlFuncParam out"
	}
	return "it takes " + strconv.Itoa(hi) + ", with commas between them"
}

// substring turns a start from the end into one of its own, and refuses a start of 0: the databases read it
// differently.
func (x *xbinder) substring(c *Call, bad problem.Code) Expr {
	n := c.Args[1].(*Int).N
	switch {
	case n == 0:
		x.fail(bad, problem.Constructs, "SUBSTRING starts at 1", "")
	case n < 0 && len(c.Args) == 3:
		return &Call{Fn: funcs.Must("#SUBSTRING_END"), Args: []Expr{c.Args[0], &Int{-n}, c.Args[2]}, T: c.T}
	case n < 0:
		return &Call{Fn: funcs.Must("RIGHT"), Args: []Expr{c.Args[0], &Int{-n}}, T: c.T}
	}
	return c
}

// argument makes an operand what the function takes.
func (x *xbinder) argument(f *funcs.Func, i int, o operand, shared schema.Type, bad problem.Code) Expr {
	a := f.Arg(i)
	switch a.Kind {
	case funcs.Text:
		return asText(o.e)
	case funcs.Num:
		return x.numeric(o.e)
	case funcs.Moment:
		return x.moment(o)
	case funcs.Clock:
		if o.e.Type().Kind == schema.Time {
			return o.e
		}
		if a, ok := o.e.(*Arg); ok {
			if v, ok := retype(a, schema.Type{Kind: schema.Time}); ok {
				return v
			}
		}
		return x.moment(o)
	case funcs.Day:
		if o.e.Type().Kind == schema.Date {
			return o.e
		}
		return x.moment(o)
	case funcs.SameType:
		x.literalFits(&Arg{T: shared}, o.e)
		return convertTo(o.e, shared)
	case funcs.LitInt:
		if o.lit != nil && o.lit.Kind == 'i' {
			if n, err := strconv.ParseInt(o.lit.Text, 10, 64); err == nil && n >= a.Min && n <= a.Max {
				return &Int{N: n}
			}
		}
		if lengthens(f) {
			bad = problem.FunctionNotAllowed // a text without bounds is none of its uses
		}
		x.fail(bad, problem.Constructs, f.Name+" takes a plain whole number as argument "+strconv.Itoa(i+1),
			"from "+strconv.FormatInt(a.Min, 10)+" to "+strconv.FormatInt(a.Max, 10))
	case funcs.LitText:
		if o.lit == nil || o.lit.Kind == 'n' || int64(len([]rune(o.lit.Text))) > a.Max || int64(len(o.lit.Text)) < a.Min {
			hint := "of at most " + strconv.FormatInt(a.Max, 10) + " characters"
			if a.Min > 0 {
				hint += ", not empty"
			}
			x.fail(bad, problem.Constructs, f.Name+" takes a plain 'string' as argument "+strconv.Itoa(i+1), hint)
		}
		return &Arg{Value: o.lit.Text, T: schema.Type{Kind: schema.Text}}
	}
	if null(o.e) {
		return asText(o.e)
	}
	if f.Class == funcs.Aggregate && f.Name != "COUNT" {
		switch o.e.Type().Kind {
		case schema.Binary:
			x.fail(problem.InvalidArgument, problem.Semantics, f.Name+" of binary values", "COUNT takes them; not every database has a least of them")
		case schema.UUID, schema.JSON, schema.Enum:
			return asText(o.e)
		}
	}
	return o.e
}

// special binds what the table cannot say.
func (x *xbinder) special(name string, ops []operand, castTo string, bad problem.Code) Expr {
	switch name {
	case "CAST":
		return x.cast(ops[0].e, castTo, bad)
	case "IF", "IIF":
		if len(ops) != 3 {
			x.arity(name)
		}
		cond, ok := condition(ops[0].e)
		if !ok {
			x.fail(problem.InvalidArgument, problem.Semantics, name+" needs a condition first", name+"(condition, value, other)")
		}
		t := union(ops[1].e.Type(), ops[2].e.Type())
		return &Case{Whens: []When{{cond, convertTo(ops[1].e, t)}}, Else: convertTo(ops[2].e, t), T: t}
	case "MOD":
		if len(ops) != 2 {
			x.arity(name)
		}
		l, r := x.numeric(ops[0].e), x.numeric(ops[1].e)
		return &Arith{Op: "%", L: l, R: r, T: arithType("%", l.Type(), r.Type())}
	case "JSON_VALUE", "JSON_EXTRACT", "JSON_LENGTH", "JSON_ARRAY_LENGTH", "JSON_TYPE":
		return x.document(name, ops, bad)
	}
	return x.timeCall(name, ops, bad)
}
