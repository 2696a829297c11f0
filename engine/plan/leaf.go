package plan

import (
	"strconv"
	"strings"

	"resq/engine/funcs"
	"resq/schema"
	"resq/schema/problem"
	"resq/schema/query"
)

// group binds a condition tree. A group that holds nothing is no condition, and never TRUE inside an OR
//
func (b *binder) group(sc *scope, n *query.Node, def *Source, cl clause) Expr {
	b.conditions++
	defer func() { b.conditions-- }()
	var xs []Expr
	for _, l := range n.Leaves {
		if e := b.leaf(sc, l, def, cl); e != nil {
			xs = append(xs, e)
			if cl.name == "having" {
				sc.having = append(sc.having, placed{e, l.At})
			}
		}
	}
	for _, c := range n.Children {
		if e := b.group(sc, c, def, cl); e != nil {
			xs = append(xs, e)
		}
	}
	if len(xs) == 0 {
		return nil
	}
	e := xs[0]
	if len(xs) > 1 {
		e = &Logic{Or: n.Or, Xs: xs}
	}
	if n.Not {
		return &Not{X: e}
	}
	return e
}

func (b *binder) leaf(sc *scope, l *query.Leaf, def *Source, cl clause) Expr {
	if l.Op == query.Exists || l.Op == query.NotExists {
		q := b.query(l.Query, sc, inner)
		if len(b.probs) > 0 {
			return nil
		}
		return &Exists{Query: q, Not: l.Op == query.NotExists}
	}
	x, jsonFunc := b.left(sc, l, def, cl)
	if x == nil {
		return nil
	}
	if jsonFunc != "" {
		return b.jsonLeaf(sc, l, x, jsonFunc)
	}
	switch l.Op {
	case query.IsNull, query.IsNotNull:
		return &Null{X: x, Not: l.Op == query.IsNotNull}
	}
	if x.Type().Kind == schema.JSON {
		x = asText(x)
	}
	switch l.TokenType {
	case query.TokenQuery:
		return b.queryLeaf(sc, l, x)
	case query.TokenFunc, query.TokenPrincipal:
		return b.principalLeaf(l, x)
	case query.TokenSet:
		return b.setLeaf(sc, l, x)
	case query.TokenField, query.TokenExpr:
		return b.exprLeaf(sc, l, x, def, cl)
	}
	e := b.stringLeaf(l, x)
	if cl.name == "conditions" {
		b.slotsOf(l, x, e)
	}
	return e
}

// left binds what a leaf compares: an expression, or a field with a function around it. For the two JSON
// functions it gives the field and the function's name.
func (b *binder) left(sc *scope, l *query.Leaf, def *Source, cl clause) (Expr, string) {
	if l.Expr != nil {
		return b.expr(sc, l.Expr, l.At+"/field", cl), ""
	}
	if l.Field == "*" && cl.aggregates && strings.EqualFold(l.Func, "COUNT") {
		sc.query.grouped = true
		return &Call{Fn: funcs.Must("#COUNT_ROWS"), T: schema.Type{Kind: schema.Integer}}, ""
	}
	name := l.Field
	if f, ok := b.args[strings.TrimPrefix(name, "$")]; ok && strings.HasPrefix(name, "$") {
		name = f.Code
	}
	s := def
	if l.Resource != "" {
		var ok bool
		if s, ok = sc.find(l.Resource); !ok {
			b.unknownResource(l.At+"/fieldResource", l.Resource, sc.codes(), problem.Resources)
			return nil, ""
		}
	} else if cl.outputs && !l.HasFunc {
		if o, _, ok := sc.outputNamed(name); ok && o.Field == nil {
			return o.Expr, ""
		}
	}
	fn, fnOK := b.leafFunction(l, cl)
	x := b.field(s, name, l.At+"/field", problem.Fields)
	if x == nil || !fnOK {
		return nil, ""
	}
	if !l.HasFunc {
		return x, ""
	}
	if fn == "JSON_MEMBER_OF" || fn == "JSON_CONTAINS" {
		return x, fn
	}
	return b.applyLeaf(sc, l, x, fn, cl), ""
}

var leafSpecials = map[string]bool{"CAST": true, "JSON_TYPE": true, "EXTRACT": true, "DATE_PART": true, "DATE": true, "DATETIME": true, "TIME": true,
	"DATE_FORMAT": true, "STRFTIME": true, "TO_CHAR": true, "DATE_TRUNC": true, "MOD": true, "JSON_VALUE": true, "JSON_EXTRACT": true,
	"JSON_LENGTH": true, "JSON_ARRAY_LENGTH": true, "IFNULL": true, "COALESCE": true, "NULLIF": true, "DATE_ADD": true, "DATE_SUB": true}

// leafFunction says whether fieldSqlFunc names a function that may stand there.
func (b *binder) leafFunction(l *query.Leaf, cl clause) (string, bool) {
	if !l.HasFunc {
		return "", true
	}
	name := strings.ToUpper(l.Func)
	if name == "JSON_MEMBER_OF" || name == "JSON_CONTAINS" {
		return name, true
	}
	f, ok := funcs.Lookup(name)
	switch {
	case ok && !strings.HasPrefix(name, "#") && (f.Leaf || leafSpecials[name]), !ok && leafSpecials[name]:
		return name, true
	case ok && f.Class == funcs.Aggregate && cl.aggregates:
		return name, true
	}
	hint := nearFunction(l.Func)
	if ok && f.Class == funcs.Aggregate {
		hint = "conditions on aggregates belong in having"
	} else if ok {
		hint = "write it as an expression: isExpr: true"
	}
	b.add(problem.FunctionNotAllowed, problem.Constructs, l.At+"/fieldSqlFunc", problem.Quote(l.Func)+" is no function for a field", hint)
	return "", false
}

// applyLeaf puts the function around the field; the parameter is a list of literals.
func (b *binder) applyLeaf(sc *scope, l *query.Leaf, x Expr, fn string, cl clause) (out Expr) {
	xb := &xbinder{binder: b, sc: sc, at: l.At + "/fieldSqlFuncParam", cl: cl}
	if !l.HasParam {
		xb.at = l.At + "/fieldSqlFunc"
	}
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(stop); !ok {
				panic(r)
			}
			out = nil
		}
	}()
	bad := problem.InvalidArgument
	ops := []operand{{e: x}}
	if fn == "CAST" {
		return xb.cast(x, strings.ToUpper(strings.TrimSpace(l.Param)), bad)
	}
	if l.HasParam {
		lits, p := query.ParseLiterals(l.Param, xb.at, b.lim)
		if p != nil && bareParam(fn) {
			// A unit, a format or a path may stand without quotes, as the contract's own texts write it.
			lits, p = []query.Expr{&query.Literal{Kind: 's', Text: strings.TrimSpace(l.Param)}}, nil
		}
		if p != nil {
			b.probs = append(b.probs, p)
			return nil
		}
		for _, e := range lits {
			ops = append(ops, operand{xb.literal(e.(*query.Literal)), e.(*query.Literal)})
		}
	}
	if fn == "STRFTIME" && len(ops) > 1 {
		ops[0], ops[1] = ops[1], ops[0]
	}
	e := xb.apply(fn, ops, "", bad)
	if c, ok := e.(*Call); ok && c.Fn.Class == funcs.Aggregate {
		if c.Fn.Name == "GROUP_CONCAT" {
			xb.stringAggregate(c, &query.Call{Name: fn})
		}
		return xb.window(c, &query.Call{Name: fn})
	}
	return e
}

func bareParam(fn string) bool {
	switch fn {
	case "EXTRACT", "DATE_PART", "DATE_FORMAT", "STRFTIME", "TO_CHAR", "DATE_TRUNC", "JSON_VALUE", "JSON_EXTRACT", "JSON_LENGTH", "JSON_ARRAY_LENGTH", "JSON_TYPE":
		return true
	}
	return false
}

// stringLeaf compares with literal tokens, each typed by what it is compared with.
func (b *binder) stringLeaf(l *query.Leaf, x Expr) Expr {
	switch l.Op {
	case query.Like, query.NotLike:
		return b.likeLeaf(l, x)
	case query.Regexp, query.NotRegexp:
		return b.regexpLeaf(l, x)
	case query.In, query.NotIn:
		return b.listLeaf(l, x)
	case query.Between, query.NotBetween:
		return b.betweenLeaf(l, x)
	}
	if l.Token == "" && fraction(x.Type().Kind) && (l.Op == query.Eq || l.Op == query.Ne) {
		// "Not empty" is asked of columns that hold numbers and, where the database lets them, texts.
		x = asText(x)
	}
	v := b.token(l.Token, l.At+"/token", x)
	if v == nil {
		return nil
	}
	return b.compare(l.Op, x, v)
}

// values are the tokens of a list: tokens as they are, a token as a JSON array or split at commas.
func (b *binder) values(l *query.Leaf) ([]string, string, bool) {
	if l.HasTokens {
		return l.Tokens, l.At + "/tokens", true
	}
	at := l.At + "/token"
	if arr, ok := query.Strings(l.Token); ok {
		return arr, at, b.listFits(len(arr), at)
	}
	var out []string
	var cur strings.Builder
	for i := 0; i < len(l.Token); i++ {
		switch c := l.Token[i]; {
		case c == '\\' && i+1 < len(l.Token) && l.Token[i+1] == ',':
			cur.WriteByte(',')
			i++
		case c == ',':
			out = append(out, strings.TrimSpace(cur.String()))
			cur.Reset()
			if len(out) > b.lim.List {
				return nil, at, b.listFits(len(out), at)
			}
		default:
			cur.WriteByte(c)
		}
	}
	out = append(out, strings.TrimSpace(cur.String()))
	kept := out[:0]
	for _, s := range out {
		if s != "" {
			kept = append(kept, s)
		}
	}
	if len(kept) == 0 {
		b.add(problem.InvalidArgument, problem.Semantics, at, "an empty list", `"tokens": [] matches nothing`)
		return nil, at, false
	}
	return kept, at, b.listFits(len(kept), at)
}

func (b *binder) listFits(n int, at string) bool {
	if n > b.lim.List {
		b.add(problem.LimitExceeded, problem.Limits, at, "a list of more than "+strconv.Itoa(b.lim.List)+" values", "use tokenType query")
		return false
	}
	return true
}

func (b *binder) listLeaf(l *query.Leaf, x Expr) Expr {
	vals, at, ok := b.values(l)
	if !ok {
		return nil
	}
	e := &List{X: x, Not: l.Op == query.NotIn, Exact: b.exact(x)}
	for _, s := range vals {
		v := b.token(s, at, x)
		if v == nil {
			return nil
		}
		e.Xs = append(e.Xs, v)
	}
	return e
}

func (b *binder) betweenLeaf(l *query.Leaf, x Expr) Expr {
	vals, at, ok := b.values(l)
	if !ok {
		return nil
	}
	if len(vals) != 2 {
		b.add(problem.InvalidArgument, problem.Semantics, at, "BETWEEN takes two values, not "+strconv.Itoa(len(vals)), `"tokens": ["low", "high"]`)
		return nil
	}
	low, high := b.token(vals[0], at, x), b.token(vals[1], at, x)
	if low == nil || high == nil {
		return nil
	}
	e := Expr(&Logic{Xs: []Expr{b.compare(query.Ge, x, low), b.compare(query.Le, x, high)}})
	if l.Op == query.NotBetween {
		e = &Not{X: e}
	}
	return e
}

// exprLeaf compares with another field or an expression.
func (b *binder) exprLeaf(sc *scope, l *query.Leaf, x Expr, def *Source, cl clause) Expr {
	at := l.At + "/token"
	var r Expr
	if l.TokenType == query.TokenField {
		if f, ok := b.args[strings.TrimPrefix(l.Token, "$")]; ok && strings.HasPrefix(l.Token, "$") {
			r = b.field(b.inner, f.Code, at, problem.Fields)
		} else {
			r = b.path(sc, l.Token, at)
		}
		if r == nil {
			return nil
		}
		if same(x, r) && sc.parent != nil {
			b.add(problem.InvalidArgument, problem.Semantics, at, "the field is compared with itself", "to name the outer resource of the same code, give the nested query a code of its own")
			return nil
		}
	} else {
		cl.outputs = false
		xb := &xbinder{binder: b, sc: sc, at: at, cl: cl}
		if r = b.expr(sc, l.TokenExpr, at, cl); r == nil {
			return nil
		}
		if !xb.fitsQuietly(x, r) {
			b.add(problem.InvalidArgument, problem.Semantics, at, "the literal is no value to compare with a "+x.Type().String(), like(x.Type(), nil))
			return nil
		}
	}
	switch l.Op {
	case query.Like, query.NotLike:
		return &Like{X: asText(x), Pattern: pattern(r), Not: l.Op == query.NotLike, Case: caseSensitive(x)}
	case query.In:
		return b.compare(query.Eq, x, r)
	case query.NotIn:
		return b.compare(query.Ne, x, r)
	case query.Between, query.NotBetween, query.Regexp, query.NotRegexp:
		b.add(problem.InvalidArgument, problem.Semantics, l.At+"/tokenType", string(l.Op)+" takes literal tokens only", "two comparisons do the same as BETWEEN")
		return nil
	}
	return b.compare(l.Op, x, r)
}

func (x *xbinder) fitsQuietly(v, lit Expr) (ok bool) {
	n := len(x.probs)
	defer func() {
		if recover() != nil {
			x.probs = x.probs[:n]
			ok = false
		}
	}()
	x.literalFits(v, lit)
	return true
}

// queryLeaf compares with the answer of a nested request.
func (b *binder) queryLeaf(sc *scope, l *query.Leaf, x Expr) Expr {
	q := b.query(l.Query, sc, inner)
	if len(b.probs) > 0 {
		return nil
	}
	at := l.At + "/query"
	if len(q.Out) != 1 {
		b.add(problem.InvalidArgument, problem.Semantics, at+"/fields", "a nested request of "+strconv.Itoa(len(q.Out))+" fields", "exactly one")
		return nil
	}
	switch l.Op {
	case query.In, query.NotIn:
		w := q
		if len(q.Sets) > 0 || q.Limit >= 0 || q.Offset > 0 {
			w = b.around(q)
		}
		l2, r2 := meet(x, w.Out[0].Expr)
		if r2 != w.Out[0].Expr {
			w.Out[0].Expr, w.Out[0].Field, q = r2, nil, w
		}
		return &Sub{X: l2, Query: q, Not: l.Op == query.NotIn, Exact: b.exact(l2)}
	case query.Eq, query.Ne, query.Lt, query.Le, query.Gt, query.Ge:
		return b.compare(l.Op, x, &Scalar{Query: q})
	}
	b.add(problem.InvalidArgument, problem.Semantics, l.At+"/operator", string(l.Op)+" takes no query", "=, !=, <, <=, >, >=, IN, NOT IN, EXISTS or NOT EXISTS")
	return nil
}
