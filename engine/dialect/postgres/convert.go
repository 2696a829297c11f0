package postgres

import (
	"resq/engine/plan"
	"resq/engine/sqlgen"
	"resq/schema"
)

const (
	decimal = `(?:[0-9]{1,30}(?:\.[0-9]{0,30})?|\.[0-9]{1,30})`
	// Texts that are numbers, and the number with which a text begins: both within the range of doubles.
	numberPattern = `'^ *[+-]?` + decimal + `(?:[eE][+-]?[0-9]{1,2})? *$'`
	leadPattern   = `'^ *([+-]?` + decimal + `(?:[eE][+-]?[0-9]{1,2}(?![0-9]))?)'`
	// Days that exist, leap years included, with or without a time: what casts without an error.
	dayPattern = `(?!0000)[0-9]{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|1[0-9]|2[0-8]))` +
		`|(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:0[48]|[2468][048]|[13579][26])00)-02-29`
	clock         = `(?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:\.[0-9]{1,9})?)?`
	momentPattern = `'^(?:` + dayPattern + `)(?:[ T]` + clock + `(?:Z|\+00:00)?)?$'`
	clockPattern  = `'^` + clock + `$'`
	integers      = " BETWEEN -9223372036854775808 AND 9223372036854775807 THEN "
)

// Convert changes a value's type. Every cast is behind a test, for PostgreSQL raises where others give
// NULL, and an error would tell about rows that are not seen.
func (Dialect) Convert(w *sqlgen.Writer, x *plan.Convert) {
	c := converter{w: w, x: x.X, from: x.X.Type(), to: x.T}
	switch {
	case x.How == plan.Lead:
		w.SQL("(CASE WHEN ")
		c.value().SQL(" IS NOT NULL THEN COALESCE(CAST(SUBSTRING(")
		c.value().SQL(" FROM " + leadPattern + ") AS double precision), 0) END)")
		return
	case x.How == plan.Key:
		if x.T.Kind == schema.Number {
			c.tested(numberPattern, "CAST(", " AS double precision)")
			return
		}
		c.tested(numberPattern, "CAST(", " AS numeric)")
		return
	}
	switch x.T.Kind {
	case schema.Integer:
		c.toInteger()
	case schema.Number:
		if c.from.Kind == schema.Bool {
			w.SQL("CAST(CAST(").Expr(x.X).SQL(" AS integer) AS double precision)")
			return
		}
		c.tested(numberPattern, "CAST(", " AS double precision)")
	case schema.Decimal:
		c.toDecimal()
	case schema.Bool:
		if c.text() {
			w.SQL("(CASE LOWER(")
			c.value().SQL(") WHEN 'true' THEN TRUE WHEN '1' THEN TRUE WHEN 'false' THEN FALSE WHEN '0' THEN FALSE END)")
			return
		}
		w.SQL("(").Expr(x.X).SQL(" <> 0)")
	case schema.Date:
		c.tested(momentPattern, "CAST(", " AS date)")
	case schema.DateTime:
		c.tested(momentPattern, "CAST(", " AS timestamp)")
	case schema.Time:
		if c.text() {
			c.tested(clockPattern, "CAST(LEFT(", ", 8) AS time)")
			return
		}
		w.SQL("CAST(DATE_TRUNC('second', ").Expr(x.X).SQL(") AS time)")
	default:
		c.toText()
	}
}

type converter struct {
	w        *sqlgen.Writer
	x        plan.Expr
	from, to schema.Type
}

func (c converter) text() bool {
	return c.from.Kind.Textual() || c.from.Kind == schema.JSON || c.from.Kind == schema.Any
}

// value writes what is converted, as text where the type has texts of its own.
func (c converter) value() *sqlgen.Writer {
	switch c.from.Kind {
	case schema.JSON, schema.UUID, schema.Enum, schema.Any:
		return c.w.SQL("CAST(").Expr(c.x).SQL(" AS text)")
	}
	return c.w.Expr(c.x)
}

// tested writes the cast behind the test of a text.
func (c converter) tested(pattern, head, tail sqlgen.Text) {
	if !c.text() {
		c.w.SQL(head).Expr(c.x).SQL(tail)
		return
	}
	c.w.SQL("(CASE WHEN ")
	c.value().SQL(" ~ ").SQL(pattern).SQL(" THEN ").SQL(head)
	c.value().SQL(tail).SQL(" END)")
}

// toInteger cuts to a whole number; what 64 bits do not hold is NULL.
func (c converter) toInteger() {
	switch {
	case c.from.Kind == schema.Bool:
		c.w.SQL("CAST(").Expr(c.x).SQL(" AS integer)")
	case c.text():
		c.w.SQL("(CASE WHEN ")
		c.value().SQL(" ~ " + numberPattern + " THEN CASE WHEN TRUNC(CAST(")
		c.value().SQL(" AS numeric))" + integers + "CAST(TRUNC(CAST(")
		c.value().SQL(" AS numeric)) AS bigint) END END)")
	case c.from.Kind == schema.Number:
		c.w.SQL("(CASE WHEN ").Expr(c.x).SQL(" >= -9223372036854775808 AND ").Expr(c.x).SQL(" < 9223372036854775808 THEN CAST(TRUNC(").Expr(c.x).SQL(") AS bigint) END)")
	default:
		c.w.SQL("(CASE WHEN TRUNC(").Expr(c.x).SQL(")" + integers + "CAST(TRUNC(").Expr(c.x).SQL(") AS bigint) END)")
	}
}

// toDecimal rounds to the scale; from 10^30 on it is NULL.
func (c converter) toDecimal() {
	scale := int64(c.to.Scale)
	switch {
	case c.from.Kind == schema.Bool:
		c.w.SQL("ROUND(CAST(CAST(").Expr(c.x).SQL(" AS integer) AS numeric), ").Int(scale).SQL(")")
	case c.text():
		c.w.SQL("(CASE WHEN ")
		c.value().SQL(" ~ " + numberPattern + " THEN CASE WHEN ABS(CAST(")
		c.value().SQL(" AS numeric)) < 1e30 THEN ROUND(CAST(")
		c.value().SQL(" AS numeric), ").Int(scale).SQL(") END END)")
	case c.from.Kind == schema.Number:
		c.w.SQL("ROUND(CAST(CAST(CASE WHEN ABS(").Expr(c.x).SQL(") < 1e30 THEN ").Expr(c.x).SQL(" END AS text) AS numeric), ").Int(scale).SQL(")")
	default:
		c.w.SQL("ROUND(CAST(").Expr(c.x).SQL(" AS numeric), ").Int(scale).SQL(")")
	}
}

// toText writes a double without an exponent, with ten digits behind the point at most and none that say
// nothing, and a calculated decimal with all digits of its scale.
func (c converter) toText() {
	x, column := c.x.(*plan.Column)
	column = column && x.Field != nil // which has its scale by itself
	switch {
	case c.from.Kind == schema.Number:
		c.w.SQL("TRIM(TRAILING '.' FROM TRIM(TRAILING '0' FROM CAST(ROUND(CAST(CAST(CASE WHEN ABS(").Expr(c.x).SQL(") < 1e50 THEN ").Expr(c.x).
			SQL(" END AS text) AS numeric), 10) AS text)))")
	case c.from.Kind == schema.Decimal && c.from.Scale > 0 && !column:
		c.w.SQL("CAST(ROUND(").Expr(c.x).SQL(", ").Int(int64(c.from.Scale)).SQL(") AS text)")
	default:
		c.w.SQL("CAST(").Expr(c.x).SQL(" AS text)")
	}
}
