package query

import (
	"strconv"
	"strings"

	"resq/schema/problem"
)

var ops = map[string]Op{
	"=": Eq, "!=": Ne, "<>": Ne, "<": Lt, "<=": Le, ">": Gt, ">=": Ge,
	"LIKE": Like, "NOT LIKE": NotLike, "IN": In, "NOT IN": NotIn, "BETWEEN": Between, "NOT BETWEEN": NotBetween,
	"IS NULL": IsNull, "IS NOT NULL": IsNotNull, "REGEXP": Regexp, "NOT REGEXP": NotRegexp, "EXISTS": Exists, "NOT EXISTS": NotExists,
}

var opNames = []string{"=", "!=", ">", ">=", "<", "<=", "LIKE", "NOT LIKE", "IN", "NOT IN", "BETWEEN", "NOT BETWEEN",
	"IS NULL", "IS NOT NULL", "REGEXP", "NOT REGEXP", "EXISTS", "NOT EXISTS"}

// Funcs are the values a condition may take from the principal.
var Funcs = []string{"UserID", "UserUuid", "UserRolesUuid", "UserPlatform", "UserSaaS"}

// conditions reads a condition tree and bounds its depth before going down.
func (d *decoder) conditions(v *value, at string) *Node { return d.group(*v, at, 0) }

func (d *decoder) group(v value, at string, depth int) *Node {
	if depth > d.lim.CondDepth {
		d.limit(at, "conditions nested deeper than "+strconv.Itoa(d.lim.CondDepth)+" levels", "")
		return nil
	}
	if v.kind == 'a' {
		d.bad(at, "expected an object, not an array", `{"type":"and","exprs":[…]}`)
		return nil
	}
	o := d.object(v, at, []string{"type", "exprs", "children", "not"})
	n := &Node{At: at}
	if o.v.kind == 'o' && v.kind != 'a' {
		o.need("type")
	}
	n.Or = o.enum("type", "and", "and", "or") == "or"
	n.Not = o.bool("not")
	for i, x := range o.array("exprs", d.lim.Leaves, "conditions") {
		d.leaves++
		if d.leaves == d.lim.Leaves+1 {
			d.limit(at, "more than "+strconv.Itoa(d.lim.Leaves)+" conditions", "")
		}
		n.Leaves = append(n.Leaves, d.leaf(x, at+"/exprs/"+strconv.Itoa(i)))
	}
	for i, x := range o.array("children", d.lim.Leaves, "groups") {
		if c := d.group(x, at+"/children/"+strconv.Itoa(i), depth+1); c != nil {
			n.Children = append(n.Children, c)
		}
	}
	return n
}

var leafKeys = []string{"field", "fieldResource", "fieldSqlFunc", "fieldSqlFuncParam", "operator", "token", "tokens", "tokenType",
	"ignoreEmptyParam", "isExpr", "query"}

func (d *decoder) leaf(v value, at string) *Leaf {
	o := d.object(v, at, leafKeys)
	l := &Leaf{At: at, TokenType: TokenString}
	if o.v.kind != 'o' || len(o.v.members) == 0 {
		if v.kind == 'o' {
			d.bad(at, "an empty condition", "field, operator and token")
		}
		return l
	}
	l.Op = d.operator(o)
	l.Resource, _ = o.code("fieldResource")
	l.Func, l.HasFunc = o.code("fieldSqlFunc")
	l.Param, l.HasParam = o.value("fieldSqlFuncParam", d.lim.Expr)
	o.bool("ignoreEmptyParam")
	if o.bool("isExpr") {
		o.need("field")
		l.Expr = d.expr(o, "field")
		if l.HasFunc || l.HasParam {
			d.bad(at, "isExpr excludes fieldSqlFunc", "write the function into the expression")
		}
	} else {
		if l.Op != Exists && l.Op != NotExists {
			o.need("field")
		}
		l.Field, _ = o.code("field")
	}
	if l.HasParam && !l.HasFunc {
		d.bad(at+"/fieldSqlFuncParam", "a parameter without fieldSqlFunc", "")
	}
	d.tokens(o, l)
	return l
}

func (d *decoder) operator(o object) Op {
	v := o.v.member("operator")
	if v == nil {
		o.need("operator")
		return Eq
	}
	if v.kind != 's' {
		d.bad(o.at+"/operator", "expected a string, not "+kindNames[v.kind], "one of: "+strings.Join(opNames, ", "))
		return Eq
	}
	op, ok := operatorOf(v.text)
	if !ok {
		d.bad(o.at+"/operator", problem.Quote(v.text)+" is no operator", "one of: "+strings.Join(opNames, ", "))
		return Eq
	}
	return op
}

func operatorOf(text string) (Op, bool) {
	op, ok := ops[strings.ToUpper(strings.Join(strings.Fields(text), " "))]
	return op, ok
}

// Operator says whether a text is an operator of a condition.
func Operator(text string) bool {
	_, ok := operatorOf(text)
	return ok
}

// tokens reads what a leaf compares with.
func (d *decoder) tokens(o object, l *Leaf) {
	types := []string{"string", "func", "field", "expr", "query"}
	if d.trusted {
		types = append(types, "principal", "set")
	}
	if d.params {
		types = append(types, "param")
	}
	l.TokenType = TokenType(o.enum("tokenType", "string", types...))
	list := l.Op == In || l.Op == NotIn || l.Op == Between || l.Op == NotBetween
	if v := o.v.member("token"); v != nil {
		switch {
		case v.kind == 'a':
			l.Tokens, l.HasTokens = d.scalars(v.items, o.at+"/token"), true
			l.Places = places(v.items)
		default:
			l.Token, l.HasToken = d.scalar(*v, o.at+"/token")
			l.Places = []int32{v.place}
		}
	}
	if o.has("tokens") {
		if l.HasToken || l.HasTokens {
			d.bad(o.at+"/tokens", "token and tokens exclude each other", "")
		}
		items := o.array("tokens", 1<<30, "tokens")
		l.Tokens, l.HasTokens = d.scalars(items, o.at+"/tokens"), true
		l.Places = places(items)
	}
	if len(l.Tokens) > d.lim.List {
		d.limit(o.at+"/tokens", strconv.Itoa(len(l.Tokens))+" values", "at most "+strconv.Itoa(d.lim.List)+"; use tokenType query")
	}
	if l.HasTokens && !list && !jsonFunc(l) {
		d.bad(o.at, "the operator takes one token", "use IN, NOT IN, BETWEEN or NOT BETWEEN with a list")
	}
	if q := o.v.member("query"); q != nil {
		if l.TokenType != TokenQuery {
			d.bad(o.at+"/query", "a query needs tokenType query", `set "tokenType": "query"`)
		}
		d.depth++
		l.Query = d.request(*q, o.at+"/query", false)
		d.depth--
	}
	switch l.Op {
	case IsNull, IsNotNull:
		return
	case Exists, NotExists:
		if l.TokenType != TokenQuery || l.Query == nil {
			d.bad(o.at, "EXISTS needs tokenType query and a query", "")
		}
		return
	}
	switch l.TokenType {
	case TokenQuery:
		if l.Query == nil {
			d.bad(o.at, "tokenType query needs a query", "")
		}
	case TokenExpr:
		if !l.HasToken {
			d.bad(o.at, "tokenType expr needs a token", "the expression")
			return
		}
		e, p := ParseExpr(l.Token, o.at+"/token", d.lim)
		d.add(p)
		l.TokenExpr = e
	case TokenFunc:
		if !contains(Funcs, l.Token) {
			d.bad(o.at+"/token", problem.Quote(l.Token)+" is no value of the principal", "one of: "+strings.Join(Funcs, ", "))
		}
	default:
		if !l.HasToken && !l.HasTokens && !(jsonFunc(l) && l.HasParam) {
			d.bad(o.at, "missing token", "IS NULL and IS NOT NULL are the operators without one")
		}
	}
}

// jsonFunc says whether the leaf uses one of the two JSON functions, whose token is a list by nature.
func jsonFunc(l *Leaf) bool {
	return strings.EqualFold(l.Func, "json_member_of") || strings.EqualFold(l.Func, "json_contains")
}

// scalar reads a token: a string, or a number or boolean by its text (mcp.md 2.4).
func (d *decoder) scalar(v value, at string) (string, bool) {
	switch v.kind {
	case 's', 'd', 'b':
	default:
		d.bad(at, "expected a string, not "+kindNames[v.kind], "")
		return "", true
	}
	if len(v.text) > d.lim.Token {
		// A long comma list is a list that is too long rather than a value that is.
		d.limit(at, "a value of "+strconv.Itoa(len(v.text))+" bytes", "at most "+strconv.Itoa(d.lim.Token))
		return "", true
	}
	return v.text, true
}

func places(items []value) []int32 {
	out := make([]int32, len(items))
	for i := range items {
		out[i] = items[i].place
	}
	return out
}

func (d *decoder) scalars(items []value, at string) []string {
	out := make([]string, 0, min(len(items), d.lim.List+1))
	for i, x := range items {
		if len(out) > d.lim.List {
			break
		}
		s, _ := d.scalar(x, at+"/"+strconv.Itoa(i))
		out = append(out, s)
	}
	return out
}
