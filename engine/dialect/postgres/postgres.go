// Package postgres is how PostgreSQL differs from standard SQL, and the only importer of its driver.
package postgres

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"resq/engine/plan"
	"resq/engine/sqlgen"
	"resq/schema"
	"resq/schema/query"
)

// Dialect is PostgreSQL's.
type Dialect struct{ sqlgen.ANSI }

// New gives the dialect.
func New() Dialect { return Dialect{} }

// Name is postgres.
func (Dialect) Name() string { return "postgres" }

// Placeholder binds a value under the type it has: PostgreSQL must know it before it sees the value. Equal
// values share a number, for two expressions are the same only then.
func (Dialect) Placeholder(w *sqlgen.Writer, a *plan.Arg) {
	v := a.Value
	var cast sqlgen.Text
	switch a.T.Kind {
	case schema.Integer:
		cast = "::bigint"
		if _, digits := v.(string); digits {
			cast = "::numeric"
		}
		if n, ok := v.(uint64); ok {
			if v = strconv.FormatUint(n, 10); n > math.MaxInt64 {
				cast = "::numeric"
			}
		}
	case schema.Decimal:
		cast = "::numeric"
	case schema.Number:
		cast = "::double precision"
	case schema.Bool:
		cast = "::boolean"
	case schema.Date:
		cast = "::date"
	case schema.Time:
		cast = "::time"
	case schema.DateTime:
		cast = "::timestamp"
		if a.Zone {
			cast = "::timestamptz"
		}
	case schema.UUID:
		cast = "::uuid"
	case schema.JSON:
		cast = "::jsonb"
	case schema.Binary:
		cast = "::bytea"
	case schema.Enum:
		if !a.Bare {
			cast = "::text"
		}
	default:
		cast = "::text"
	}
	w.SQL("$").Int(int64(w.Bind(a, v, true))).SQL(cast)
}

// Given binds the value of a parameter of SQL of others as its text, of which PostgreSQL makes what the place wants; one
// number stands for all places of one type, since two expressions are the same only then. Asked whether it is NULL, it
// gets the type that it was declared with.
func (Dialect) Given(w *sqlgen.Writer, g *sqlgen.Given) {
	v := g.Plain()
	if n, ok := v.(int64); ok {
		v = strconv.FormatInt(n, 10)
	}
	key := g.Name + " " + g.Cast
	if g.Asked && g.Cast == "" {
		key = g.Name + " as declared"
	}
	n := int64(w.Keyed(key, v))
	if !g.Asked || g.Cast != "" {
		w.SQL("$").Int(n)
		return
	}
	kinds := map[string]sqlgen.Text{"integer": "bigint", "number": "numeric", "boolean": "integer", "date": "date"}
	kind := kinds[g.Kind]
	if kind == "" {
		kind = "text"
	}
	w.SQL("CAST($").Int(n).SQL(" AS ").SQL(kind).SQL(")")
}

// Masked writes the image of a column's value.
func (Dialect) Masked(w *sqlgen.Writer, column func(w *sqlgen.Writer), mask string) {
	w.Image(column, func() { column(w); w.SQL("::text") }, mask)
}

// Null writes NULL under a type, which PostgreSQL needs where nothing else gives it one.
func (Dialect) Null(w *sqlgen.Writer, t schema.Type) {
	w.SQL("NULL")
	switch t.Kind {
	case schema.Integer:
		w.SQL("::bigint")
	case schema.Decimal:
		w.SQL("::numeric")
	case schema.Number:
		w.SQL("::double precision")
	case schema.Bool:
		w.SQL("::boolean")
	case schema.Date:
		w.SQL("::date")
	case schema.DateTime:
		w.SQL("::timestamp")
	case schema.Time:
		w.SQL("::time")
	case schema.UUID:
		w.SQL("::uuid")
	case schema.Binary:
		w.SQL("::bytea")
	case schema.String, schema.Text:
		w.SQL("::text")
	}
}

// Column writes a column as a value of its field's type: enums and types of PostgreSQL's own as text, zoned
// times in UTC, arrays as JSON. A number is a double, also where its column is of single precision: by themselves such
// columns would calculate and add up in single precision, and be written as texts by other digits.
func (Dialect) Column(w *sqlgen.Writer, c *plan.Column) {
	if zoned, on := c.Zoned(); zoned != nil {
		zone := "UTC"
		if on.Zone != "" {
			zone = on.Zone
		}
		w.SQL("(").Column(c).SQL(" AT TIME ZONE ").Arg(&plan.Arg{Value: zone, T: schema.Type{Kind: schema.Text}}).SQL(")")
		return
	}
	f := c.Field
	switch {
	case f.Array, f.Native != "" && f.Type.Kind == schema.JSON:
		w.SQL("to_jsonb(").Column(c).SQL(")")
	case f.Native != "" || f.Type.Kind == schema.Enum:
		w.Column(c).SQL("::text")
	case f.Type.Kind == schema.Number:
		w.SQL("CAST(").Column(c).SQL(" AS double precision)")
	default:
		w.Column(c)
	}
}

// Output writes PostgreSQL's own types as it prints them, and composite values as JSON: the driver has forms
// of its own for some.
func (d Dialect) Output(w *sqlgen.Writer, c *plan.Column) {
	_, filled := padded(c)
	switch {
	case c.Field == nil || c.Field.Native == "" || c.Field.Array || filled && !w.Grouped(): // a CHAR is shown as it is stored
		w.Column(c)
	case c.Field.Type.Kind == schema.JSON:
		w.SQL("to_jsonb(").Column(c).SQL(")")
	default:
		w.Column(c).SQL("::text")
	}
}

// own says whether a column can be compared with values in its own type, so that its index serves.
func own(l, r plan.Expr) (*plan.Column, bool) {
	c, ok := l.(*plan.Column)
	if !ok {
		return nil, false
	}
	a, isArg := r.(*plan.Arg)
	if zoned, _ := c.Zoned(); zoned != nil {
		return c, isArg && a.Value != nil && a.Zone
	}
	if c.Field == nil || c.Field.Array || c.Field.Native != "" || c.Field.Type.Kind != schema.Enum {
		return nil, false
	}
	return c, isArg && a.Value != nil && a.Bare
}

// padded says whether a column is a CHAR, whose values are filled up with blanks. As a text it has none of them.
func padded(e plan.Expr) (*plan.Column, bool) {
	c, ok := e.(*plan.Column)
	return c, ok && c.Field != nil && !c.Field.Array && (strings.HasPrefix(c.Field.Native, "character(") || c.Field.Native == "character" || c.Field.Native == "bpchar")
}

// filled compares CHARs with each other, or with a value, in their own type, so that an index serves. It says false,
// and writes nothing, for anything else. A value that ends in a blank is none of theirs, though it would equal one.
func filled(w *sqlgen.Writer, x *plan.Compare) bool {
	l, ok := padded(x.L)
	if !ok || x.Op != query.Eq {
		return false
	}
	if r, ok := padded(x.R); ok {
		w.SQL("(").Column(l).SQL(" = ").Column(r).SQL(")")
		return true
	}
	if !unfilled(x.R) {
		return false
	}
	w.SQL("(").Column(l).SQL(" = CAST(").Expr(x.R).SQL(" AS bpchar))")
	return true
}

func unfilled(e plan.Expr) bool {
	a, ok := e.(*plan.Arg)
	if !ok {
		return false
	}
	s, ok := a.Value.(string)
	return ok && !strings.HasSuffix(s, " ")
}

// Compare compares an enum or a zoned time with a value in the column's own type. The order of an enum's
// values is that of their texts, as elsewhere, and not that of their declaration.
func (d Dialect) Compare(w *sqlgen.Writer, x *plan.Compare) {
	if c, ok := own(x.L, x.R); ok && (c.T.Kind != schema.Enum || x.Op == query.Eq || x.Op == query.Ne) {
		w.SQL("(").Column(c).SQL(sqlgen.Operator(x.Op)).Expr(x.R).SQL(")")
		return
	}
	if sqlgen.Instants(w, x) || filled(w, x) {
		return
	}
	d.ANSI.Compare(w, x)
}

// In lists values in the column's own type.
func (d Dialect) In(w *sqlgen.Writer, x *plan.List) {
	if l, ok := padded(x.X); ok && !slices.ContainsFunc(x.Xs, func(e plan.Expr) bool { return !unfilled(e) }) {
		w.SQL("(").Column(l)
		if x.Not {
			w.SQL(" NOT")
		}
		w.SQL(" IN (").Commas(len(x.Xs), func(i int) { w.SQL("CAST(").Expr(x.Xs[i]).SQL(" AS bpchar)") }).SQL("))")
		return
	}
	c, ok := own(x.X, x.Xs[0])
	if !ok {
		d.ANSI.In(w, x)
		return
	}
	w.SQL("(").Column(c)
	if x.Not {
		w.SQL(" NOT")
	}
	w.SQL(" IN (").Commas(len(x.Xs), func(i int) { w.Expr(x.Xs[i]) }).SQL("))")
}

// Arith calculates with integers as numerics, which do not overflow, and divides as doubles.
func (Dialect) Arith(w *sqlgen.Writer, x *plan.Arith) {
	exact := func(e plan.Expr) {
		if e.Type().Kind == schema.Integer {
			w.SQL("CAST(").Expr(e).SQL(" AS numeric)")
			return
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
		w.SQL("(CAST(").Expr(x.L).SQL(" AS double precision) / NULLIF(CAST(").Expr(x.R).SQL(" AS double precision), 0))")
	case "%":
		w.SQL("(")
		asNumeric(w, x.L)
		w.SQL(" % NULLIF(")
		asNumeric(w, x.R)
		w.SQL(", 0))")
	case "||":
		w.SQL("(").Expr(x.L).SQL(" || ").Expr(x.R).SQL(")")
	default:
		w.SQL("(")
		exact(x.L)
		w.SQL(infix[x.Op])
		exact(x.R)
		w.SQL(")")
	}
}

var infix = map[string]sqlgen.Text{"+": " + ", "-": " - ", "*": " * "}

// asNumeric writes a number as a numeric with all digits that a double shows, which a plain cast would cut
// to 15. Beyond 10^15 there is no digit to calculate with.
func asNumeric(w *sqlgen.Writer, e plan.Expr) {
	if e.Type().Kind != schema.Number {
		w.SQL("CAST(").Expr(e).SQL(" AS numeric)")
		return
	}
	w.SQL("CAST(CAST(CASE WHEN ABS(").Expr(e).SQL(") < 1e15 THEN ").Expr(e).SQL(" END AS text) AS numeric)")
}

// Like uses ILIKE, which folds case.
func (Dialect) Like(w *sqlgen.Writer, x *plan.Like) {
	w.SQL("(").Expr(x.X)
	if x.Not {
		w.SQL(" NOT")
	}
	if x.Case {
		w.SQL(" LIKE ")
	} else {
		w.SQL(" ILIKE ")
	}
	w.Expr(x.Pattern).SQL(" ESCAPE '!')")
}

// Match uses POSIX operators. A point takes a line break too; the others are told to do so.
func (Dialect) Match(w *sqlgen.Writer, x *plan.Match) {
	w.SQL("(").Expr(x.X)
	switch {
	case x.Not && x.Case:
		w.SQL(" !~ ")
	case x.Not:
		w.SQL(" !~* ")
	case x.Case:
		w.SQL(" ~ ")
	default:
		w.SQL(" ~* ")
	}
	w.Expr(x.Pattern).SQL(")")
}

// Average divides as doubles, after an exact sum.
func (Dialect) Average(w *sqlgen.Writer, x *plan.Call) {
	arg := func() { w.Expr(x.Args[0]) }
	w.SQL("(CAST(").Aggregate("SUM", x, arg).SQL(" AS double precision) / ").Aggregate("COUNT", x, arg).SQL(")")
}

// Concat uses STRING_AGG. With DISTINCT PostgreSQL orders by the very expression only, so texts that stand in the order
// of numbers are gathered with these and joined afterwards.
func (d Dialect) Concat(w *sqlgen.Writer, x *plan.Call, marked bool) {
	order := func(by func(i int) func(*sqlgen.Writer)) {
		w.SQL(" ORDER BY ").Commas(len(x.OrderBy), func(i int) { d.Order(w, x.OrderBy[i], by(i), false) })
	}
	w.Capped(marked, func() {
		if x.Distinct && x.OrderBy[0].Expr != x.Args[0] {
			w.SQL("(SELECT STRING_AGG(g.t, ").Expr(x.Args[1])
			order(func(int) func(*sqlgen.Writer) { return func(w *sqlgen.Writer) { w.SQL("g.v") } })
			w.SQL(") FROM (SELECT u.t, MIN(u.v) AS v FROM UNNEST(ARRAY_AGG(").Expr(x.OrderBy[0].Expr).SQL("), ARRAY_AGG(").Expr(x.Args[0])
			w.SQL(")) AS u(v, t) WHERE u.t IS NOT NULL GROUP BY u.t) AS g)")
			return
		}
		w.SQL("STRING_AGG(")
		if x.Distinct {
			w.SQL("DISTINCT ")
		}
		w.Expr(x.Args[0]).SQL(", ").Expr(x.Args[1])
		order(func(i int) func(*sqlgen.Writer) { return func(w *sqlgen.Writer) { w.Expr(x.OrderBy[i].Expr) } })
		w.SQL(")")
	})
}

var letters = map[byte]string{'Y': "YYYY", 'm': "MM", 'd': "DD", 'H': "HH24", 'M': "MI", 'S': "SS", 'j': "DDD"}

// Format uses TO_CHAR; literal text stands in double quotes.
func (Dialect) Format(w *sqlgen.Writer, x *plan.Format) {
	w.SQL("TO_CHAR(").Expr(x.X).SQL(", ").Arg(sqlgen.TimeFormat(x.Parts, letters, `"`)).SQL(")")
}

// Order says where NULL stands, unless there is none: by itself PostgreSQL takes it for the largest value,
// and saying so keeps an index from giving the order.
func (Dialect) Order(w *sqlgen.Writer, o plan.Order, key func(w *sqlgen.Writer), notNull bool) {
	key(w)
	if o.Desc {
		w.SQL(" DESC")
	}
	switch {
	case notNull:
	case o.Nulls == "first" || o.Nulls == "" && !o.Desc:
		w.SQL(" NULLS FIRST")
	default:
		w.SQL(" NULLS LAST")
	}
}

// Fence keeps the sub-select from being flattened.
func (Dialect) Fence(w *sqlgen.Writer) { w.SQL(" OFFSET 0") }

// Link compares as text what is of two families.
func (d Dialect) Link(w *sqlgen.Writer, parent, child func(w *sqlgen.Writer), alike bool) {
	if alike {
		d.ANSI.Link(w, parent, child, alike)
		return
	}
	w.SQL("CAST(")
	parent(w)
	w.SQL(" AS text) = CAST(")
	child(w)
	w.SQL(" AS text)")
}

// Path writes the first key between separators.
func (Dialect) Path(w *sqlgen.Writer, key func(w *sqlgen.Writer)) {
	w.SQL("CHR(31) || CAST(")
	key(w)
	w.SQL(" AS text) || CHR(31)")
}

// Visited looks for the key between separators.
func (Dialect) Visited(w *sqlgen.Writer, path, key func(w *sqlgen.Writer)) {
	w.SQL("STRPOS(")
	path(w)
	w.SQL(", CHR(31) || CAST(")
	key(w)
	w.SQL(" AS text) || CHR(31)) > 0")
}

// Append puts a key behind the path.
func (Dialect) Append(w *sqlgen.Writer, path, key func(w *sqlgen.Writer)) {
	path(w)
	w.SQL(" || CAST(")
	key(w)
	w.SQL(" AS text) || CHR(31)")
}

// Assign leaves the type of a value to its column, which PostgreSQL then knows. A list becomes an array.
func (Dialect) Assign(w *sqlgen.Writer, f *schema.Field, a *plan.Arg) {
	v := a.Value
	if text, ok := v.(string); ok && f != nil && f.Array && a.T.Kind == schema.JSON {
		v = arrayText(text)
	}
	if n, ok := v.(uint64); ok {
		v = strconv.FormatUint(n, 10)
	}
	w.SQL("$").Int(int64(w.Bind(a, v, false)))
}

// Stored gives PostgreSQL's own text, which knows every value of every type: a date before Christ, the bounds of an
// array, a row. A column reads it back as it was.
func (Dialect) Stored(w *sqlgen.Writer, column string) { w.SQL("CAST(").Ident(column).SQL(" AS text)") }

// Own overrides GENERATED ALWAYS AS IDENTITY.
func (Dialect) Own(w *sqlgen.Writer) { w.SQL(" OVERRIDING SYSTEM VALUE") }

// joined is how many values an array may have to be joined with. Joined, an index of the table serves; but inside a walk,
// or for every row of another table, the join may begin again with the whole array. As the value of a comparison, which the
// planner does not take apart, a set is hashed once, as long as the planner thinks that the hash fits into work_mem; beyond,
// it would go through the whole array for every row, and a join is right again.
const (
	joined = 10_000
	hashed = 65_536
)

// Among takes the values as an array.
func (d Dialect) Among(w *sqlgen.Writer, x *plan.List, v *sqlgen.Values) bool {
	if _, ok := padded(x.X); ok || v.T.Kind != schema.Integer && !x.Exact {
		return false
	}
	var b strings.Builder
	b.WriteByte('{')
	for i, n := range v.Ints {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.FormatInt(n, 10))
	}
	for i, s := range v.Texts {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteByte('"')
		b.WriteString(escapes.Replace(s))
		b.WriteByte('"')
	}
	b.WriteByte('}')
	w.SQL("((").Expr(x.X)
	if x.Not {
		w.SQL(" NOT")
	}
	w.SQL(" IN (SELECT unnest($").Int(int64(w.Document(v, b.String(), true)))
	switch v.T.Kind {
	case schema.Integer:
		w.SQL("::bigint[]")
	case schema.UUID:
		w.SQL("::uuid[]")
	default:
		w.SQL("::text[]")
	}
	w.SQL(")))")
	if n := len(x.Xs); n > joined && n <= hashed {
		w.SQL(" = TRUE")
	}
	w.SQL(")")
	return true
}

// escapes are what a text needs inside the quotes of an array.
var escapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`)
