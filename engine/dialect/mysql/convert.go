package mysql

import (
	"resq/engine/plan"
	"resq/engine/sqlgen"
	"resq/schema"
)

const (
	decimal = `([0-9]{1,30}([.][0-9]{0,30})?|[.][0-9]{1,30})`
	// Texts that are numbers, and the number with which a text begins.
	numberPattern = `'^ *[+-]?` + decimal + `([eE][+-]?[0-9]{1,2})? *$'`
	leadPattern   = `'^ *[+-]?` + decimal + `([eE][+-]?[0-9]{1,2}(?![0-9]))?'`
	// Days that exist, leap years included, with or without a time: MySQL also knows the days 0.
	dayPattern = `(?!0000)[0-9]{4}-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)|02-(0[1-9]|1[0-9]|2[0-8]))` +
		`|([0-9]{2}(0[48]|[2468][048]|[13579][26])|(0[48]|[2468][048]|[13579][26])00)-02-29`
	clock         = `([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.][0-9]{1,9})?)?`
	momentPattern = `'^(` + dayPattern + `)([ T]` + clock + `(Z|[+]00:00)?)?$'`
	clockPattern  = `'^` + clock + `$'`
	integers      = " BETWEEN -9223372036854775808 AND 9223372036854775807 THEN "
)

// Convert changes a value's type. Texts that are no value of it become NULL, where CAST would make
// something of them.
func (Dialect) Convert(w *sqlgen.Writer, x *plan.Convert) {
	c := converter{w: w, x: x.X, from: x.X.Type(), to: x.T}
	switch {
	case x.How == plan.Lead:
		w.SQL("(CASE WHEN ")
		c.value().SQL(" IS NOT NULL THEN COALESCE(NULLIF(REGEXP_SUBSTR(")
		c.value().SQL(", " + leadPattern + "), ''), '0') + 0e0 END)")
		return
	case x.How == plan.Key:
		if x.T.Kind == schema.Number {
			c.tested(numberPattern, "(", " + 0e0)")
			return
		}
		c.tested(numberPattern, "CAST(", " AS DECIMAL(65, 30))")
		return
	}
	switch x.T.Kind {
	case schema.Integer:
		c.toInteger()
	case schema.Number:
		c.tested(numberPattern, "(", " + 0e0)")
	case schema.Decimal:
		c.toDecimal()
	case schema.Bool:
		if c.text() {
			w.SQL("(CASE LOWER(")
			c.value().SQL(") WHEN 'true' THEN 1 WHEN '1' THEN 1 WHEN 'false' THEN 0 WHEN '0' THEN 0 END)")
			return
		}
		w.SQL("(").Expr(x.X).SQL(" <> 0)")
	case schema.Date:
		c.tested(momentPattern, "CAST(LEFT(", ", 10) AS DATE)")
	case schema.DateTime:
		switch {
		case c.text():
			c.tested(momentPattern, "CAST(LEFT(", ", 26) AS DATETIME(6))")
		case c.from.Kind == schema.DateTime:
			w.Expr(x.X)
		default:
			w.SQL("CAST(").Expr(x.X).SQL(" AS DATETIME)")
		}
	case schema.Time:
		if c.text() {
			c.tested(clockPattern, "CAST(LEFT(", ", 8) AS TIME)")
			return
		}
		w.SQL("CAST(DATE_FORMAT(").Expr(x.X).SQL(", '%H:%i:%s') AS TIME)")
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

// value writes what is converted. An enum's number is not its value.
func (c converter) value() *sqlgen.Writer {
	if c.from.Kind == schema.Enum {
		return c.w.SQL("CONCAT(").Expr(c.x).SQL(")")
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
	c.value().SQL(" REGEXP ").SQL(pattern).SQL(" THEN ").SQL(head)
	c.value().SQL(tail).SQL(" END)")
}

// toInteger cuts to a whole number; what 64 bits do not hold is NULL.
func (c converter) toInteger() {
	switch {
	case c.from.Kind == schema.Bool || c.from.Kind == schema.Integer:
		c.w.Expr(c.x)
	case c.text():
		c.w.SQL("(CASE WHEN ")
		c.value().SQL(" REGEXP " + numberPattern + " THEN CASE WHEN TRUNCATE(CAST(")
		c.value().SQL(" AS DECIMAL(65, 30)), 0)" + integers + "CAST(TRUNCATE(CAST(")
		c.value().SQL(" AS DECIMAL(65, 30)), 0) AS SIGNED) END END)")
	case c.from.Kind == schema.Number:
		c.w.SQL("(CASE WHEN ").Expr(c.x).SQL(" >= -9223372036854775808e0 AND ").Expr(c.x).SQL(" < 9223372036854775808e0 THEN CAST(TRUNCATE(").Expr(c.x).SQL(", 0) AS SIGNED) END)")
	default:
		c.w.SQL("(CASE WHEN TRUNCATE(").Expr(c.x).SQL(", 0)" + integers + "CAST(TRUNCATE(").Expr(c.x).SQL(", 0) AS SIGNED) END)")
	}
}

// toDecimal rounds to the scale; from 10^30 on it is NULL.
func (c converter) toDecimal() {
	scale := int64(c.to.Scale)
	switch {
	case c.text():
		c.w.SQL("(CASE WHEN ")
		c.value().SQL(" REGEXP " + numberPattern + " THEN CASE WHEN ABS(")
		c.value().SQL(" + 0e0) < 1e30 THEN CAST(")
		c.value().SQL(" AS DECIMAL(65, ").Int(scale).SQL(")) END END)")
	case c.from.Kind == schema.Number:
		c.w.SQL("CAST(CASE WHEN ABS(").Expr(c.x).SQL(") < 1e30 THEN ").Expr(c.x).SQL(" END AS DECIMAL(65, ").Int(scale).SQL("))")
	default:
		c.w.SQL("CAST(").Expr(c.x).SQL(" AS DECIMAL(65, ").Int(scale).SQL("))")
	}
}

// toText writes a boolean as true or false, a double without an exponent, with ten digits behind the point
// at most and none that say nothing, a calculated decimal with all digits of its scale, and the fraction of a
// second only where there is one. CONCAT gives a text that takes any column's collation, where one from CAST
// insists on its own.
func (c converter) toText() {
	x, column := c.x.(*plan.Column)
	column = column && x.Field != nil // which has its scale by itself
	switch {
	case c.from.Kind == schema.Bool:
		c.w.SQL("(CASE WHEN ").Expr(c.x).SQL(" THEN 'true' WHEN NOT ").Expr(c.x).SQL(" THEN 'false' END)")
	case c.from.Kind == schema.Number:
		c.w.SQL("TRIM(TRAILING '.' FROM TRIM(TRAILING '0' FROM CONCAT(CAST(CASE WHEN ABS(").Expr(c.x).SQL(") < 1e50 THEN ").Expr(c.x).SQL(" END AS DECIMAL(65, 10)))))")
	case c.from.Kind == schema.Decimal && c.from.Scale > 0 && !column:
		c.w.SQL("CONCAT(CAST(").Expr(c.x).SQL(" AS DECIMAL(65, ").Int(int64(min(30, c.from.Scale))).SQL(")))")
	case c.from.Kind == schema.DateTime:
		c.w.SQL("(CASE WHEN MICROSECOND(").Expr(c.x).SQL(") = 0 THEN DATE_FORMAT(").Expr(c.x).SQL(", '%Y-%m-%d %H:%i:%s') ELSE TRIM(TRAILING '0' FROM DATE_FORMAT(").
			Expr(c.x).SQL(", '%Y-%m-%d %H:%i:%s.%f')) END)")
	default:
		c.w.SQL("CONCAT(").Expr(c.x).SQL(")")
	}
}
