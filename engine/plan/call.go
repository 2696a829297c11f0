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
	call.Distinct = c.Distinct
	if call.Fn.Name == "GROUP_CONCAT" {
		x.stringAggregate(call, c)
	}
	return x.window(call, c)
}

// window adds OVER. Without ORDER BY the functions that number rows would number them at will.
func (x *xbinder) window(call *Call, c *query.Call) Expr {
	if c.Over == nil {
		if call.Fn.Class == funcs.Aggregate {
			x.sc.query.grouped = true
		}
		return call
	}
	if call.Fn.Name == "GROUP_CONCAT" {
		x.fail(problem.ExprNotAllowed, problem.Constructs, "a string aggregate takes no OVER", "group by the partition in a `with` query")
	}
	w := &Window{Frame: c.Over.Frame}
	for _, p := range c.Over.Partition {
		w.Partition = append(w.Partition, x.bind(p))
	}
	w.OrderBy = x.sortKeys(c.Over.OrderBy)
	if call.Fn.Class == funcs.Window && len(w.OrderBy) == 0 {
		x.fail(problem.ExprNotAllowed, problem.Constructs, call.Fn.Name+" needs an order", call.Fn.Name+"() OVER (ORDER BY …)")
	}
	if f := w.Frame; f != nil && f.Unit == "RANGE" && (f.From.Kind == "PRECEDING" || f.From.Kind == "FOLLOWING" || f.To.Kind == "PRECEDING" || f.To.Kind == "FOLLOWING") {
		x.fail(problem.ExprNotAllowed, problem.Constructs, "a RANGE frame with an offset", "ROWS BETWEEN n PRECEDING AND CURRENT ROW")
	}
	call.Over = w
	if call.Fn.Name == "PERCENT_RANK" || call.Fn.Name == "CUME_DIST" {
		// MariaDB gives ten digits behind the point.
		return x.apply("ROUND", []operand{{e: call}, {e: &Int{N: 10}, lit: &query.Literal{Kind: 'i', Text: "10"}}}, "", problem.ExprNotAllowed)
	}
	return call
}

// deviation says whether an aggregate is put together of sums.
func deviation(f *funcs.Func) bool {
	switch f.Name {
	case "VAR_POP", "VAR_SAMP", "STDDEV_POP", "STDDEV_SAMP":
		return true
	}
	return false
}

// deviation calculates a variance as (n·Σx² − (Σx)²) / n², or / n·(n−1) for a sample. For whole numbers and
// decimals the sums are exact, so every database gives the same; MySQL and PostgreSQL by themselves would not.
func (x *xbinder) deviation(name string, v Expr, c *query.Call) Expr {
	v = x.numeric(v)
	op := func(op string, l, r Expr) Expr {
		return &Arith{Op: op, L: l, R: r, T: arithType(op, l.Type(), r.Type())}
	}
	over := func(fn string, arg Expr) Expr { return x.window(x.table(fn, arg).(*Call), c) }
	n, sum := over("COUNT", v), over("SUM", v)
	above := op("-", op("*", n, over("SUM", op("*", v, v))), op("*", sum, sum))
	below := op("*", n, n)
	if strings.HasSuffix(name, "_SAMP") {
		below = op("*", n, op("-", n, &Int{N: 1}))
	}
	q := op("/", above, below)
	// Of doubles the difference may be less than 0 by a last digit.
	e := Expr(&Case{Whens: []When{{&Compare{Op: query.Lt, L: q, R: &Int{}}, &Int{}}}, Else: q, T: q.Type()})
	if strings.HasPrefix(name, "STDDEV") {
		return x.table("SQRT", e)
	}
	return e
}

func (x *xbinder) sortKeys(keys []query.By) []Order {
	var out []Order
	for _, k := range keys {
		e := x.bind(k.Expr)
		if _, ok := e.(*Arg); ok {
			x.fail(problem.ExprNotAllowed, problem.Constructs, "a constant is no sort key", "")
		}
		out = append(out, Order{Expr: sortable(e), Desc: k.Desc, Nulls: k.Nulls})
	}
	return out
}

// sortable makes a value sortable: a document as its text, and a calculated whole number by its value, for
// beyond 64 bits it is a text to SQLite.
func sortable(e Expr) Expr {
	switch {
	case e.Type().Kind == schema.JSON:
		return asText(e)
	case wide(e):
		return &Call{Fn: funcs.Must("#SORT_WHOLE"), Args: []Expr{e}, T: e.Type()}
	}
	return e
}

// wide says whether a whole number may have more than 64 bits.
func wide(e Expr) bool {
	if e.Type().Kind != schema.Integer {
		return false
	}
	switch x := e.(type) {
	case *Arith:
		return x.Op != "%" && x.Op != "/"
	case *Call:
		return x.Fn.Name == "SUM" || x.Fn.Name == "ABS"
	}
	return false
}

// stringAggregate settles the order of a string aggregate, so that its text is the same every time.
func (x *xbinder) stringAggregate(call *Call, c *query.Call) {
	if c.Separator != nil {
		if len([]rune(c.Separator.Text)) > 16 {
			x.fail(problem.LimitExceeded, problem.Limits, "a separator of more than 16 characters", "")
		}
		call.Args = append(call.Args[:1], &Arg{Value: c.Separator.Text, T: schema.Type{Kind: schema.Text}})
	}
	if len(call.Args) == 1 {
		call.Args = append(call.Args, &Arg{Value: ",", T: schema.Type{Kind: schema.Text}})
	}
	call.OrderBy = x.sortKeys(c.OrderBy)
	if call.Distinct && len(call.OrderBy) > 0 && (len(call.OrderBy) > 1 || !same(bare(call.OrderBy[0].Expr), bare(call.Args[0]))) {
		x.fail(problem.ExprNotAllowed, problem.Constructs, "a DISTINCT string aggregate is ordered by its own values only", "leave ORDER BY out")
	}
	if own := bare(call.Args[0]); !call.Distinct && !slices.ContainsFunc(call.OrderBy, func(o Order) bool { return same(o.Expr, own) }) || len(call.OrderBy) == 0 {
		call.OrderBy = append(call.OrderBy, Order{Expr: own}) // what is alike by the other keys must not stand at will
	}
	if call.Distinct {
		call.OrderBy[0].Expr = call.Args[0]
	}
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
	case f.Result == funcs.RoundOf && c.T.Kind == schema.Integer:
		return c.Args[0] // nothing to round
	case f.Result == funcs.RoundOf && c.T.Kind == schema.Decimal && len(c.Args) == 2:
		c.T.Scale = min(types[0].Scale, int(c.Args[1].(*Int).N))
	}
	c.Fn = f.For(types[0])
	return c
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
		x.fail(bad, problem.Constructs, f.Name+" takes a plain whole number as argument "+strconv.Itoa(i+1),
			"from "+strconv.FormatInt(a.Min, 10)+" to "+strconv.FormatInt(a.Max, 10))
	case funcs.LitText:
		if o.lit == nil || o.lit.Kind == 'n' || int64(len([]rune(o.lit.Text))) > a.Max {
			x.fail(bad, problem.Constructs, f.Name+" takes a plain 'string' as argument "+strconv.Itoa(i+1), "of at most "+strconv.FormatInt(a.Max, 10)+" characters")
		}
		return &Arg{Value: o.lit.Text, T: schema.Type{Kind: schema.Text}}
	}
	if f.Class == funcs.Aggregate && f.Name != "COUNT" {
		switch o.e.Type().Kind {
		case schema.Bool:
			return &Convert{X: o.e, T: schema.Type{Kind: schema.Integer}}
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
	case "JSON_VALUE", "JSON_EXTRACT", "JSON_LENGTH", "JSON_ARRAY_LENGTH":
		return x.document(name, ops, bad)
	}
	return x.timeCall(name, ops, bad)
}

func (x *xbinder) document(name string, ops []operand, bad problem.Code) Expr {
	length := strings.HasSuffix(name, "LENGTH")
	if len(ops) == 0 || len(ops) > 2 || len(ops) == 1 && !length {
		x.arity(name)
	}
	d := &Document{Doc: ops[0].e, Length: length}
	if d.Doc.Type().Kind != schema.JSON {
		x.fail(problem.InvalidArgument, problem.Semantics, name+" needs a field of type json", "")
	}
	if len(ops) == 2 {
		if ops[1].lit == nil {
			x.fail(bad, problem.Constructs, name+" takes a path as a plain 'string'", "'$.a.b[0]'")
		}
		p, ok := parsePath(ops[1].lit.Text)
		if !ok {
			x.fail(bad, problem.Constructs, problem.Quote(ops[1].lit.Text)+" is no path", "$.a.b[0]: members and indexes, no wildcards")
		}
		d.Path = p
	}
	return d
}

// cast converts strictly: what does not convert is NULL on every database. A document is converted as its
// text, and a time of day is no part of a calendar.
func (x *xbinder) cast(e Expr, to string, bad problem.Code) Expr {
	t, ok := castType(to)
	if !ok {
		x.fail(bad, problem.Constructs, "there is no cast to "+problem.Quote(to), "CHAR, TEXT, INTEGER, DECIMAL(p,s), REAL, DATE, DATETIME, TIME or BOOLEAN")
	}
	if a, ok := e.(*Arg); ok {
		if a.Value == nil {
			return &Arg{T: t}
		}
		if v, ok := retype(a, t); ok && whole(v) {
			return v
		}
	}
	from := e.Type().Kind
	switch {
	case t.Kind == schema.Text:
		return asText(e)
	case from == t.Kind && t.Kind != schema.Decimal:
		return e
	case from == schema.JSON || from == schema.UUID || from == schema.Enum:
		return &Convert{X: asText(e), T: t}
	case from == schema.Binary, from.Temporal() != t.Kind.Temporal() && !text(from) && from != schema.Any,
		from == schema.Time && t.Kind != schema.Time, from == schema.Date && t.Kind == schema.Time:
		hint := ""
		if from == schema.Date || from == schema.DateTime {
			hint = "YEAR(…), EPOCH(…) or JULIANDAY(…)"
		}
		x.fail(problem.InvalidArgument, problem.Semantics, "no cast from "+from.String()+" to "+t.Kind.String(), hint)
	}
	return &Convert{X: e, T: t}
}

// whole says whether a literal is a value of its type with nothing to round or cut.
func whole(a *Arg) bool {
	s, ok := a.Value.(string)
	if !ok || a.T.Kind != schema.Decimal && a.T.Kind != schema.Time {
		return true
	}
	_, fraction, _ := strings.Cut(s, ".")
	return len(fraction) <= a.T.Scale
}

func castType(s string) (schema.Type, bool) {
	base, digits, _ := strings.Cut(strings.TrimSuffix(s, ")"), "(")
	switch strings.TrimSpace(base) {
	case "CHAR", "VARCHAR", "TEXT", "STRING", "CHARACTER VARYING", "NVARCHAR":
		return schema.Type{Kind: schema.Text}, true
	case "INTEGER", "INT", "BIGINT", "SMALLINT", "SIGNED", "SIGNED INTEGER", "UNSIGNED", "UNSIGNED INTEGER":
		return schema.Type{Kind: schema.Integer}, digits == ""
	case "REAL", "FLOAT", "DOUBLE", "DOUBLE PRECISION":
		return schema.Type{Kind: schema.Number}, digits == ""
	case "DATE":
		return schema.Type{Kind: schema.Date}, digits == ""
	case "DATETIME", "TIMESTAMP":
		return schema.Type{Kind: schema.DateTime}, digits == ""
	case "TIME":
		return schema.Type{Kind: schema.Time}, digits == ""
	case "BOOLEAN", "BOOL":
		return boolean, digits == ""
	case "DECIMAL", "NUMERIC":
		t := schema.Type{Kind: schema.Decimal, Precision: 38, Scale: 10}
		if digits != "" {
			p, sc, _ := strings.Cut(digits, ",")
			t.Precision, _ = strconv.Atoi(p)
			t.Scale, _ = strconv.Atoi(sc)
		}
		return t, t.Precision >= 1 && t.Precision <= 38 && t.Scale <= t.Precision && t.Scale <= 30
	}
	return schema.Type{}, false
}

// parsePath reads $.a.b[0]: members and indexes, no wildcards.
func parsePath(s string) (Path, bool) {
	rest, ok := strings.CutPrefix(strings.TrimSpace(s), "$")
	if !ok {
		return nil, false
	}
	p := Path{}
	for rest != "" {
		if len(p) == 16 {
			return nil, false
		}
		switch rest[0] {
		case '.':
			rest = rest[1:]
			var name string
			if strings.HasPrefix(rest, `"`) {
				end := strings.IndexByte(rest[1:], '"')
				if end < 0 {
					return nil, false
				}
				name, rest = rest[1:end+1], rest[end+2:]
			} else {
				end := strings.IndexAny(rest, ".[")
				if end < 0 {
					end = len(rest)
				}
				name, rest = rest[:end], rest[end:]
				if !identifier(name) {
					return nil, false
				}
			}
			if name == "" || len(name) > 128 || strings.ContainsAny(name, "\"\\'{},\x00") {
				return nil, false
			}
			p = append(p, Step{Name: name})
		case '[':
			end := strings.IndexByte(rest, ']')
			if end < 2 || end > 6 {
				return nil, false
			}
			n, err := strconv.ParseUint(rest[1:end], 10, 16)
			if err != nil {
				return nil, false
			}
			p, rest = append(p, Step{Index: int(n)}), rest[end+1:]
		default:
			return nil, false
		}
	}
	return p, true
}
