package plan

import (
	"resq/schema"
	"resq/schema/query"
)

// union is the type that values of two types share.
func union(a, b schema.Type) schema.Type {
	switch {
	case a.Kind == schema.Any:
		return b
	case b.Kind == schema.Any:
		return a
	case a.Kind == schema.JSON || b.Kind == schema.JSON:
		return schema.Type{Kind: schema.Text} // a document of one column and one of another may be kept in two ways
	case a.Kind == schema.Decimal && b.Kind == schema.Decimal:
		return schema.Type{Kind: schema.Decimal, Precision: 38, Scale: max(a.Scale, b.Scale)}
	case a.Kind == b.Kind:
		return a
	case a.Kind.Numeric() && b.Kind.Numeric():
		if a.Kind == schema.Number || b.Kind == schema.Number {
			return schema.Type{Kind: schema.Number}
		}
		if a.Kind == schema.Decimal {
			return a
		}
		return b
	case a.Kind == schema.Date && b.Kind == schema.DateTime || a.Kind == schema.DateTime && b.Kind == schema.Date:
		return schema.Type{Kind: schema.DateTime}
	case a.Kind == schema.Bool && b.Kind.Numeric():
		return b
	case b.Kind == schema.Bool && a.Kind.Numeric():
		return a
	}
	return schema.Type{Kind: schema.Text}
}

// fits says whether values of a can stand among values of b without a conversion.
func fits(a, b schema.Type) bool {
	switch {
	case a.Kind == b.Kind, a.Kind == schema.Any, b.Kind == schema.Any:
		return true
	case a.Kind.Numeric() && b.Kind.Numeric():
		return true
	}
	return text(a.Kind) && text(b.Kind)
}

// widens says whether a value that fits must be converted all the same: an exact number becomes a double, which
// SQLite would leave what it is beside doubles, and what is always NULL gets the type that it stands for.
func widens(from, to schema.Type) bool {
	return to.Kind == schema.Number && (from.Kind == schema.Integer || from.Kind == schema.Decimal) || from.Kind == schema.Any && to.Kind != schema.Any
}

func text(k schema.Kind) bool { return k == schema.String || k == schema.Text }

// convertTo makes e a value of t. A literal is read anew by that type where it can be, and NULL gets it.
func convertTo(e Expr, t schema.Type) Expr {
	if e != nil && null(e) && t.Kind != schema.Any {
		return &Arg{T: t}
	}
	if e == nil || e.Type() == t || fits(e.Type(), t) && !widens(e.Type(), t) {
		return e
	}
	if a, ok := e.(*Arg); ok {
		if v, ok := retype(a, t); ok {
			return v
		}
	}
	return &Convert{X: e, T: t}
}

// retype reads a literal as a value of another type.
func retype(a *Arg, t schema.Type) (*Arg, bool) {
	s, ok := argText(a)
	if !ok {
		return nil, false
	}
	v, ok := parseValue(s, t, nil)
	return v, ok
}

// compare makes two sides fit and compares them. A literal takes the type of the other side; a column and a
// column of different families meet as keys.
func (b *binder) compare(op query.Op, l, r Expr) Expr {
	l, r = meet(l, r)
	return &Compare{Op: op, L: l, R: r, Exact: b.exact(l)}
}

// exact says whether a comparison decides about rows: then a text equals itself alone. Collations that take
// alice for ALICE would show one person the rows of another.
func (b *binder) exact(x Expr) bool { return b.trusted && x.Type().Kind.Textual() }

// meet makes two sides of a comparison fit.
func meet(l, r Expr) (Expr, Expr) {
	lt, rt := l.Type(), r.Type()
	if a, ok := r.(*Arg); ok && lt.Kind == schema.Enum {
		return enumMeets(l, a)
	}
	if a, ok := l.(*Arg); ok && rt.Kind == schema.Enum {
		x, y := enumMeets(r, a)
		return y, x
	}
	if !null(l) && lt.Kind == schema.Any && readable(rt.Kind) {
		return convertTo(l, rt), r
	}
	if !null(r) && rt.Kind == schema.Any && readable(lt.Kind) {
		return l, convertTo(r, lt)
	}
	if fits(lt, rt) || lt.Kind.Textual() && rt.Kind.Textual() && !typed(lt.Kind) && !typed(rt.Kind) {
		return l, r
	}
	if a, ok := r.(*Arg); ok {
		if v, ok := retype(a, lt); ok {
			return l, v
		}
	}
	if a, ok := l.(*Arg); ok {
		if v, ok := retype(a, rt); ok {
			return v, r
		}
	}
	switch {
	case lt.Kind == schema.Date && rt.Kind == schema.DateTime:
		return asMoment(l, r), r
	case lt.Kind == schema.DateTime && rt.Kind == schema.Date:
		return l, asMoment(r, l)
	case lt.Kind == schema.Bool && rt.Kind.Numeric():
		return &Convert{X: l, T: schema.Type{Kind: schema.Integer}}, r
	case rt.Kind == schema.Bool && lt.Kind.Numeric():
		return l, &Convert{X: r, T: schema.Type{Kind: schema.Integer}}
	case text(rt.Kind) && readable(lt.Kind):
		return begin(l), asRead(r, lt)
	case text(lt.Kind) && readable(rt.Kind):
		return asRead(l, rt), begin(r)
	}
	return asText(l), asText(r)
}

// begin makes a date the beginning of its day, beside a text that is read as a date or moment.
func begin(e Expr) Expr {
	if e.Type().Kind == schema.Date {
		return &Convert{X: e, T: momentType}
	}
	return e
}

// asMoment makes a date a datetime, beside one that is no literal: an index on the date serves the literal.
func asMoment(e, other Expr) Expr {
	if _, ok := other.(*Arg); ok {
		return e
	}
	return &Convert{X: e, T: momentType}
}

// readable says whether a text is read as a value of a kind when it is compared with one.
func readable(k schema.Kind) bool { return k.Numeric() || k.Temporal() || k == schema.Bool }

// asRead reads a text as what it is compared with: as a number, exactly unless that is a double, as a date or
// time, or as a boolean. What is none is NULL, and so is the comparison.
func asRead(e Expr, t schema.Type) Expr {
	switch t.Kind {
	case schema.Integer, schema.Decimal:
		return &Convert{X: e, T: schema.Type{Kind: schema.Decimal}, How: Key}
	case schema.Number:
		return &Convert{X: e, T: t, How: Key}
	case schema.Date:
		return &Convert{X: e, T: momentType}
	}
	return &Convert{X: e, T: t}
}

// enumMeets compares an enum with a literal: one of its values in its own type, so that an index serves, and
// any other text as the text it is.
func enumMeets(e Expr, a *Arg) (Expr, Expr) {
	s, ok := argText(a)
	if !ok {
		return e, a
	}
	if c, isCol := e.(*Column); isCol && c.Field != nil && containsText(c.Field.Values, s) {
		return e, &Arg{Value: s, T: e.Type(), Bare: true}
	}
	return asText(e), &Arg{Value: s, T: textType}
}

// typed says whether a textual kind has a type of its own in some database.
func typed(k schema.Kind) bool { return k == schema.Enum || k == schema.UUID }

func fraction(k schema.Kind) bool { return k == schema.Decimal || k == schema.Number }

// number makes e a number; text gives its leading number.
func number(e Expr) Expr {
	t := e.Type()
	if null(e) {
		return &Arg{T: schema.Type{Kind: schema.Integer}}
	}
	switch {
	case t.Kind.Numeric(), t.Kind == schema.Any:
		return e
	case t.Kind == schema.Bool:
		return &Convert{X: e, T: schema.Type{Kind: schema.Integer}}
	}
	if a, ok := e.(*Arg); ok {
		for _, k := range []schema.Kind{schema.Integer, schema.Decimal} {
			if v, ok := retype(a, schema.Type{Kind: k}); ok {
				return v
			}
		}
	}
	return &Convert{X: e, T: schema.Type{Kind: schema.Number}, How: Lead}
}

// asText makes e a text.
func asText(e Expr) Expr {
	if null(e) {
		return &Arg{T: textType}
	}
	if k := e.Type().Kind; text(k) || k == schema.Any {
		return e
	}
	return &Convert{X: e, T: schema.Type{Kind: schema.Text}}
}

// null says whether e is the literal NULL. It gets the type of its place, without which PostgreSQL does not
// know which function or operator is meant.
func null(e Expr) bool {
	a, ok := e.(*Arg)
	return ok && a.Value == nil && a.T.Kind == schema.Any
}

// condition makes e a condition: a number is true when it is not 0.
func condition(e Expr) (Expr, bool) {
	switch k := e.Type().Kind; {
	case k == schema.Bool:
		return e, true
	case k.Numeric():
		return &Compare{Op: query.Ne, L: e, R: &Int{N: 0}}, true
	case k == schema.Any:
		return &Convert{X: e, T: boolean}, true
	}
	return nil, false
}

// arith gives the type of an operation on two numbers.
func arithType(op string, l, r schema.Type) schema.Type {
	if op == "/" {
		return schema.Type{Kind: schema.Number}
	}
	t := union(l, r)
	if op == "*" && t.Kind == schema.Decimal {
		t.Scale = min(30, l.Scale+r.Scale)
	}
	if t.Kind == schema.Any {
		t.Kind = schema.Integer
	}
	return t
}
