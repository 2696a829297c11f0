// Package mysql is how MySQL and MariaDB differ from standard SQL, and the only importer of their driver.
package mysql

import (
	"encoding/json"
	"strings"

	"resq/engine/plan"
	"resq/engine/sqlgen"
	"resq/schema"
)

// Dialect is that of MySQL and MariaDB.
type Dialect struct{ sqlgen.ANSI }

// New gives the dialect.
func New() Dialect { return Dialect{} }

// Name is mysql.
func (Dialect) Name() string { return "mysql" }

// Quote is the back-quote: double quotes hold strings by default.
func (Dialect) Quote() byte { return '`' }

// Placeholder binds a value. A decimal is cast: compared with a text, MySQL would compare doubles.
func (Dialect) Placeholder(w *sqlgen.Writer, a *plan.Arg) {
	v := a.Value
	if b, ok := v.(bool); ok {
		v = int64(0)
		if b {
			v = int64(1)
		}
	}
	s, isText := v.(string)
	if isText && a.Zone {
		v = utc(s)
	}
	w.Bind(a, v, false)
	if isText && (a.T.Kind == schema.Decimal || a.T.Kind == schema.Integer) {
		_, frac, _ := strings.Cut(s, ".")
		w.SQL("CAST(? AS DECIMAL(65, ").Int(int64(min(30, len(frac)))).SQL("))")
		return
	}
	w.SQL("?")
}

// Given binds the value of a parameter of SQL of others. A number is a decimal: compared with a text, MySQL would compare
// doubles.
func (d Dialect) Given(w *sqlgen.Writer, g *sqlgen.Given) {
	if g.Kind != "number" || g.None {
		d.ANSI.Given(w, g)
		return
	}
	w.Keyed("", g.Value)
	_, frac, _ := strings.Cut(g.Value, ".")
	if strings.ContainsAny(g.Value, "eE") {
		w.SQL("CAST(? AS DOUBLE)")
		return
	}
	w.SQL("CAST(? AS DECIMAL(65, ").Int(int64(min(30, len(frac)))).SQL("))")
}

var geometries = map[string]bool{"geometry": true, "point": true, "linestring": true, "polygon": true, "multipoint": true,
	"multilinestring": true, "multipolygon": true, "geometrycollection": true, "geomcollection": true}

// Column writes a type of MySQL's own as text, and a moment that keeps its zone as local time.
func (Dialect) Column(w *sqlgen.Writer, c *plan.Column) {
	zoned, on := c.Zoned()
	switch {
	case zoned != nil:
		local(w, c, on.Zone)
	case c.Field == nil || c.Field.Native == "":
		w.Column(c)
	case geometries[strings.ToLower(c.Field.Native)]:
		w.SQL("ST_AsText(").Column(c).SQL(")")
	default:
		w.SQL("CAST(").Column(c).SQL(" AS CHAR)")
	}
}

// Output writes a type of MySQL's own as text.
func (d Dialect) Output(w *sqlgen.Writer, c *plan.Column) {
	if c.Field == nil || c.Field.Native == "" {
		w.Column(c)
		return
	}
	d.Column(w, c)
}

// Bytes compares the bytes: collations fold case and accents, and pad with blanks.
func (Dialect) Bytes(w *sqlgen.Writer, x func(w *sqlgen.Writer)) bool {
	w.SQL("CAST(CONVERT(")
	x(w)
	w.SQL(" USING utf8mb4) AS BINARY)")
	return true
}

// Arith calculates with integers as decimals, which do not overflow, and divides as doubles: a decimal
// quotient would end after four digits.
func (Dialect) Arith(w *sqlgen.Writer, x *plan.Arith) {
	exact := func(e plan.Expr) {
		switch e.(type) {
		case *plan.Column, *plan.Arg, *plan.Int:
			if e.Type().Kind == schema.Integer {
				w.SQL("CAST(").Expr(e).SQL(" AS DECIMAL(38, 0))")
				return
			}
		case *plan.Arith: // is a decimal already
		default:
			if e.Type().Kind == schema.Integer {
				w.SQL("CAST(").Expr(e).SQL(" AS DECIMAL(65, 0))")
				return
			}
		}
		w.Expr(e)
	}
	if x.L == nil {
		w.SQL("(-")
		exact(x.R)
		w.SQL(")")
		return
	}
	switch x.Op {
	case "/":
		w.SQL("(").Expr(x.L).SQL(" * 1e0 / NULLIF(").Expr(x.R).SQL(", 0))")
	case "%":
		w.SQL("(")
		remaining(w, x.L)
		w.SQL(" % NULLIF(")
		remaining(w, x.R)
		w.SQL(", 0) + 0)") // which takes the sign off a zero
	case "||":
		w.SQL("CONCAT(").Expr(x.L).SQL(", ").Expr(x.R).SQL(")")
	default:
		w.SQL("(")
		exact(x.L)
		w.SQL(infix[x.Op])
		exact(x.R)
		w.SQL(")")
	}
}

var infix = map[string]sqlgen.Text{"+": " + ", "-": " - ", "*": " * "}

// remaining writes a number of which there is an exact remainder: a double by the digits that it shows. Beyond
// 10^15 there is no digit to calculate with.
func remaining(w *sqlgen.Writer, e plan.Expr) {
	switch e.Type().Kind {
	case schema.Number:
		w.SQL("CAST(CASE WHEN ABS(").Expr(e).SQL(") < 1e15 THEN ").Expr(e).SQL(" END AS DECIMAL(65, 20))")
	case schema.Integer:
		w.SQL("CAST(").Expr(e).SQL(" AS DECIMAL(38, 0))")
	default:
		w.Expr(e)
	}
}

// Like folds case and keeps accents apart, whatever the column's collation does.
func (Dialect) Like(w *sqlgen.Writer, x *plan.Like) {
	side := func(e plan.Expr) {
		if x.Case {
			w.SQL("CONVERT(").Expr(e).SQL(" USING utf8mb4)")
			return
		}
		w.SQL("LOWER(CONVERT(").Expr(e).SQL(" USING utf8mb4))")
	}
	w.SQL("(")
	side(x.X)
	w.SQL(" COLLATE utf8mb4_bin")
	if x.Not {
		w.SQL(" NOT")
	}
	w.SQL(" LIKE ")
	side(x.Pattern)
	w.SQL(" ESCAPE '!')")
}

// Match uses REGEXP. The collation decides about case. A point takes any character, and $ stands at the very
// end, as elsewhere: here it would also stand before a last line break.
func (Dialect) Match(w *sqlgen.Writer, x *plan.Match) {
	w.SQL("(CONVERT(").Expr(x.X).SQL(" USING utf8mb4)")
	if x.Case {
		w.SQL(" COLLATE utf8mb4_bin")
	} else {
		w.SQL(" COLLATE utf8mb4_general_ci")
	}
	if x.Not {
		w.SQL(" NOT")
	}
	pattern := x.Pattern
	if a, ok := pattern.(*plan.Arg); ok {
		s, _ := a.Value.(string)
		pattern = &plan.Arg{Value: "(?s)" + toEnd(s), T: a.T}
	}
	w.SQL(" REGEXP ").Expr(pattern).SQL(")")
}

// toEnd writes $ as \z where it is neither escaped nor in a class.
func toEnd(pattern string) string {
	var b strings.Builder
	class := false
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case c == '\\' && i+1 < len(pattern):
			b.WriteByte(c)
			i++
			b.WriteByte(pattern[i])
			continue
		case c == '[' && !class:
			class = true
			for i+1 < len(pattern) && (pattern[i+1] == '^' || pattern[i+1] == ']') {
				b.WriteByte(pattern[i])
				i++
			}
			b.WriteByte(pattern[i])
			continue
		case c == '[' && class && i+1 < len(pattern) && pattern[i+1] == ':':
			end := strings.Index(pattern[i:], ":]")
			if end > 0 {
				b.WriteString(pattern[i : i+end+2])
				i += end + 1
				continue
			}
		case c == ']':
			class = false
		case c == '$' && !class:
			b.WriteString(`\z`)
			continue
		}
		b.WriteByte(pattern[i])
	}
	return b.String()
}

// Average divides as doubles: AVG itself would end four digits behind the operand's.
func (Dialect) Average(w *sqlgen.Writer, x *plan.Call) {
	arg := func() { w.Expr(x.Args[0]) }
	w.SQL("(").Aggregate("SUM", x, arg).SQL(" * 1e0 / ").Aggregate("COUNT", x, arg).SQL(")")
}

// Concat joins with a separator of its own, since MySQL takes only a literal, and puts the asked one in its
// place.
func (d Dialect) Concat(w *sqlgen.Writer, x *plan.Call, marked bool) {
	w.Capped(marked, func() {
		w.SQL("REPLACE(GROUP_CONCAT(")
		if x.Distinct {
			w.SQL("DISTINCT ")
		}
		w.Expr(x.Args[0]).SQL(" ORDER BY ").Commas(len(x.OrderBy), func(i int) { gatheringOrder(w, x, x.OrderBy[i]) })
		w.SQL(" SEPARATOR X'1F'), CHAR(31 USING utf8mb4), ").Expr(x.Args[1]).SQL(")")
	})
}

// gatheringOrder writes a sort key inside a string aggregate. MariaDB compares a NULL there as whatever its
// column held before, so it gets a value, and a key of its own in front; the aggregated value is never NULL.
func gatheringOrder(w *sqlgen.Writer, x *plan.Call, o plan.Order) {
	own := o.Expr == x.Args[0]
	if c, ok := x.Args[0].(*plan.Convert); ok {
		own = own || o.Expr == c.X
	}
	if own {
		w.Orders([]plan.Order{o})
		return
	}
	w.SQL("(").Expr(o.Expr)
	if o.Nulls == "first" || o.Nulls == "" && !o.Desc {
		w.SQL(" IS NOT NULL), COALESCE(")
	} else {
		w.SQL(" IS NULL), COALESCE(")
	}
	w.Expr(o.Expr).SQL(zeros[o.Expr.Type().Kind]).SQL(")")
	if o.Desc {
		w.SQL(" DESC")
	}
}

var zeros = map[schema.Kind]sqlgen.Text{schema.Any: ", ''", schema.Integer: ", 0", schema.Decimal: ", 0", schema.Number: ", 0", schema.String: ", ''", schema.Text: ", ''",
	schema.Bool: ", 0", schema.Date: ", DATE'2000-01-01'", schema.Time: ", TIME'00:00:00'", schema.DateTime: ", TIMESTAMP'2000-01-01 00:00:00'", schema.JSON: ", ''",
	schema.Binary: ", ''", schema.UUID: ", ''", schema.Enum: ", ''"}

var letters = map[byte]string{'Y': "%Y", 'm': "%m", 'd': "%d", 'H': "%H", 'M': "%i", 'S': "%s", 'j': "%j"}

// Format uses DATE_FORMAT.
func (Dialect) Format(w *sqlgen.Writer, x *plan.Format) {
	w.SQL("DATE_FORMAT(").Expr(x.X).SQL(", ").Arg(sqlgen.TimeFormat(x.Parts, letters, "")).SQL(")")
}

// Order puts NULL elsewhere by a key of its own: there is no NULLS FIRST.
func (d Dialect) Order(w *sqlgen.Writer, o plan.Order, key func(w *sqlgen.Writer), notNull bool) {
	switch {
	case o.Nulls == "first" && o.Desc:
		key(w)
		w.SQL(" IS NULL DESC, ")
	case o.Nulls == "last" && !o.Desc:
		key(w)
		w.SQL(" IS NULL, ")
	}
	o.Nulls = ""
	d.ANSI.Order(w, o, key, notNull)
}

// Limit needs a limit before an offset; the manual asks for a large number.
func (d Dialect) Limit(w *sqlgen.Writer, limit, offset int64) {
	if limit < 0 && offset > 0 {
		w.SQL(" LIMIT 18446744073709551615")
	}
	d.ANSI.Limit(w, limit, offset)
}

// Fence keeps the sub-select from being merged into the query around it.
func (Dialect) Fence(w *sqlgen.Writer) { w.SQL(" LIMIT 18446744073709551615") }

// binary writes a value as text of one collation, so that keys of any collation can be put together.
func binary(w *sqlgen.Writer, value func(w *sqlgen.Writer)) *sqlgen.Writer {
	w.SQL("CONVERT(")
	value(w)
	return w.SQL(" USING utf8mb4) COLLATE utf8mb4_bin")
}

// Path settles the length of the recursive column with its first value.
func (Dialect) Path(w *sqlgen.Writer, key func(w *sqlgen.Writer)) {
	w.SQL("CAST(CONCAT(CHAR(31 USING utf8mb4), ")
	binary(w, key).SQL(", CHAR(31 USING utf8mb4)) AS CHAR(16000)) COLLATE utf8mb4_bin")
}

// Visited looks for the key between separators.
func (Dialect) Visited(w *sqlgen.Writer, path, key func(w *sqlgen.Writer)) {
	w.SQL("LOCATE(CONCAT(CHAR(31 USING utf8mb4), ")
	binary(w, key).SQL(", CHAR(31 USING utf8mb4)), ")
	path(w)
	w.SQL(") > 0")
}

// Append puts a key behind the path.
func (Dialect) Append(w *sqlgen.Writer, path, key func(w *sqlgen.Writer)) {
	w.SQL("CONCAT(")
	path(w)
	w.SQL(", ")
	binary(w, key).SQL(", CHAR(31 USING utf8mb4))")
}

// Assign writes a list as the text of a SET, and well-known text as a geometry.
func (d Dialect) Assign(w *sqlgen.Writer, f *schema.Field, a *plan.Arg) {
	v := a.Value
	if b, ok := v.(bool); ok {
		v = int64(0)
		if b {
			v = int64(1)
		}
	}
	text, isText := v.(string)
	var members []string
	if f != nil && f.Array && isText && a.T.Kind == schema.JSON && json.Unmarshal([]byte(text), &members) == nil {
		v = strings.Join(members, ",")
	}
	if isText && a.Zone {
		v = utc(text)
	}
	w.Bind(a, v, false)
	if f != nil && geometries[f.Native] && isText {
		w.SQL("ST_GeomFromText(?)")
		return
	}
	w.SQL("?")
}

// Returning writes nothing: MySQL has no such clause, and its driver tells the key that AUTO_INCREMENT gave.
func (Dialect) Returning(*sqlgen.Writer, string) bool { return false }

// Among reads JSON arrays as tables. A text is compared by its bytes, so that no collation has a say. The table is a
// derived one with distinct rows: the optimiser takes a JSON table for one of 40 rows, and would go through all of it for
// every row of another; into a derived table it looks by a key.
func (d Dialect) Among(w *sqlgen.Writer, x *plan.List, v *sqlgen.Values) bool {
	text := v.T.Kind != schema.Integer
	if text && !x.Exact {
		return false
	}
	longest := v.Longest()
	w.Each(x, v.JSON(), func(doc string) {
		one := func(w *sqlgen.Writer) { w.Expr(x.X) }
		if text {
			d.Bytes(w, one)
		} else {
			one(w)
		}
		if x.Not {
			w.SQL(" NOT")
		}
		w.SQL(" IN (SELECT t.v FROM (SELECT DISTINCT ")
		if text {
			w.SQL("CAST(j.v AS BINARY) AS v")
		} else {
			w.SQL("j.v AS v")
		}
		w.Document(v, doc, false)
		w.SQL(" FROM JSON_TABLE(?, '$[*]' COLUMNS (v ")
		switch {
		case !text:
			w.SQL("BIGINT")
		case longest <= 64:
			w.SQL("VARCHAR(64) CHARACTER SET utf8mb4")
		case longest <= 512:
			w.SQL("VARCHAR(512) CHARACTER SET utf8mb4")
		default: // which no key serves
			w.SQL("LONGTEXT CHARACTER SET utf8mb4")
		}
		w.SQL(" PATH '$')) AS j) AS t)")
	})
	return true
}
