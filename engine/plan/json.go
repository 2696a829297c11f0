package plan

import (
	"strings"

	"resq/schema"
	"resq/schema/problem"
	"resq/schema/query"
)

// jsonLeaf binds json_member_of and json_contains (A-021 … … A-113).
func (b *binder) jsonLeaf(sc *scope, l *query.Leaf, x Expr, fn string) Expr {
	if l.Op != query.Eq && l.Op != query.Ne {
		b.add(problem.InvalidArgument, problem.Semantics, l.At+"/operator", "a JSON function takes = or !=", "")
		return nil
	}
	var path Path
	var doc Expr
	if l.HasParam {
		var ok bool
		if doc, path, ok = b.jsonParam(sc, l); !ok {
			return nil
		}
	}
	not := l.Op == query.Ne
	if fn == "JSON_CONTAINS" {
		if doc == nil {
			doc = x
		}
		return b.contains(l, doc, path, not)
	}
	if doc != nil {
		return &Unnest{X: x, Doc: &Document{Doc: doc, Path: path}, Not: not}
	}
	return b.memberOf(l, x, path, not)
}

// jsonParam reads the two forms of the parameter: a path, or `{Resource}.{field}` with a path after it.
func (b *binder) jsonParam(sc *scope, l *query.Leaf) (Expr, Path, bool) {
	at := l.At + "/fieldSqlFuncParam"
	name, rest := l.Param, ""
	if i := strings.IndexByte(l.Param, '$'); i >= 0 {
		name, rest = strings.TrimRight(strings.TrimSpace(l.Param[:i]), "."), l.Param[i:]
	}
	var path Path
	if rest != "" {
		var ok bool
		if path, ok = parsePath(rest); !ok {
			b.add(problem.InvalidArgument, problem.Constructs, at, problem.Quote(rest)+" is no path", "$.a.b[0]: members and indexes, no wildcards")
			return nil, nil, false
		}
	}
	if name == "" {
		return nil, path, rest != ""
	}
	doc := b.path(sc, name, at)
	if doc == nil {
		return nil, nil, false
	}
	if doc.Type().Kind != schema.JSON {
		b.add(problem.InvalidArgument, problem.Semantics, at, problem.Quote(name)+" is no field of type json", "")
		return nil, nil, false
	}
	return doc, path, true
}

// contains tests whether the document holds the token, as text or as the number or boolean it looks like
//
func (b *binder) contains(l *query.Leaf, doc Expr, path Path, not bool) Expr {
	if doc.Type().Kind != schema.JSON {
		b.add(problem.InvalidArgument, problem.Semantics, l.At+"/field", "json_contains needs a field of type json", "")
		return nil
	}
	vals, ok := b.jsonTokens(l)
	if !ok {
		return b.lacked(l)
	}
	e := &Contains{Doc: doc, Path: path, Not: not}
	for _, s := range vals {
		e.Values = append(e.Values, &Arg{Value: s, T: textType})
		if decimalText.MatchString(s) && (s == "0" || !strings.HasPrefix(strings.TrimPrefix(s, "-"), "0") || strings.HasPrefix(strings.TrimPrefix(s, "-"), "0.")) {
			e.Values = append(e.Values, &Arg{Value: s, T: schema.Type{Kind: schema.Decimal}})
		}
		if s == "true" || s == "false" {
			e.Values = append(e.Values, &Arg{Value: s == "true", T: boolean})
		}
	}
	return e
}

// lacked is what becomes of a leaf without values: a rule that lacks an attribute lets no row through.
func (b *binder) lacked(l *query.Leaf) Expr {
	if b.trusted && (l.TokenType == query.TokenFunc || l.TokenType == query.TokenPrincipal) {
		return &missing{}
	}
	return nil
}

// jsonTokens are the values of a JSON leaf: the principal's, the list, or the token itself.
func (b *binder) jsonTokens(l *query.Leaf) ([]string, bool) {
	switch l.TokenType {
	case query.TokenFunc, query.TokenPrincipal:
		v, ok := b.view.Who().Func(l.Token)
		if l.TokenType == query.TokenPrincipal {
			v, ok = b.view.Who().Attributes[l.Token]
		}
		if b.trusted {
			return v.Texts, len(v.Texts) > 0
		}
		if !ok {
			b.add(problem.Unauthenticated, problem.Policy, l.At+"/token", "the caller has no "+l.Token, "")
		}
		return v.Texts, ok
	case query.TokenString:
		if l.HasTokens {
			return l.Tokens, true
		}
		if !l.HasToken {
			b.add(problem.InvalidArgument, problem.Shape, l.At, "missing token", "")
			return nil, false
		}
		return []string{l.Token}, true
	}
	b.add(problem.InvalidArgument, problem.Semantics, l.At+"/tokenType", "a JSON function takes a literal token", "tokenType string or func")
	return nil, false
}

// memberOf tests whether the field's value is among the elements of the array that the token is. The array
// is known here, so this is a list; elements that are no value of the field's type cannot equal it.
func (b *binder) memberOf(l *query.Leaf, x Expr, path Path, not bool) Expr {
	var elems []string
	if l.TokenType == query.TokenString && !l.HasTokens {
		if !l.HasToken {
			b.add(problem.InvalidArgument, problem.Shape, l.At, "missing token", "")
			return nil
		}
		var ok bool
		if elems, ok = query.Elements(l.Token, pathSteps(path)); !ok {
			b.add(problem.InvalidArgument, problem.Semantics, l.At+"/token", "the token is no JSON array", `["a","b"] or a,b`)
			return nil
		}
	} else {
		var ok bool
		if elems, ok = b.jsonTokens(l); !ok {
			return b.lacked(l)
		}
	}
	if !b.listFits(len(elems), l.At+"/token") {
		return nil
	}
	if x.Type().Kind == schema.JSON {
		x = asText(x)
	}
	e := &List{X: x}
	var f *schema.Field
	if c, ok := x.(*Column); ok {
		f = c.Field
	}
	for _, s := range elems {
		if a, ok := parseValue(s, x.Type(), f); ok {
			e.Xs = append(e.Xs, a)
		}
	}
	if !not {
		return e
	}
	// != is the NULL-safe negation (A-109): a NULL field is no member either.
	return &Logic{Or: true, Xs: []Expr{&Null{X: x}, &List{X: x, Xs: e.Xs, Not: true}}}
}

func pathSteps(p Path) []any {
	out := make([]any, len(p))
	for i, s := range p {
		if s.Name != "" {
			out[i] = s.Name
		} else {
			out[i] = s.Index
		}
	}
	return out
}
