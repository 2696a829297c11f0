package plan

import (
	"strconv"
	"strings"

	"resq/schema"
	"resq/schema/problem"
)

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
		if s, ok := a.Value.(string); ok && t.Kind == schema.DateTime {
			a = &Arg{Value: x.local(s), T: a.T}
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
