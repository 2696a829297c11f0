// Package sqlite is how SQLite differs from standard SQL, and the only importer of its driver.
package sqlite

import (
	"math"
	"strconv"

	"resq/engine/plan"
	"resq/engine/sqlgen"
	"resq/schema"
	"resq/schema/query"
)

// Dialect is SQLite's.
type Dialect struct{ sqlgen.ANSI }

// New gives the dialect.
func New() Dialect { return Dialect{} }

// Name is sqlite.
func (Dialect) Name() string { return "sqlite" }

// Placeholder binds a value in the form in which SQLite stores it: decimals are numbers, booleans 0 and 1,
// dates texts.
func (Dialect) Placeholder(w *sqlgen.Writer, a *plan.Arg) {
	v := a.Value
	switch x := v.(type) {
	case bool:
		v = int64(0)
		if x {
			v = int64(1)
		}
	case uint64:
		if x > math.MaxInt64 {
			v = float64(x)
		} else {
			v = int64(x)
		}
	case string:
		if a.T.Kind == schema.Decimal {
			v = number(x)
		}
	}
	w.Bind(a, v, false)
	w.SQL("?")
}

func number(s string) any {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return n
	}
	f, _ := strconv.ParseFloat(s, 64)
	return f
}

// Output writes a column so that the driver hands over what is stored: for a declared DATE it would guess a
// time.Time and lose the text. The unary plus takes the declared type away.
func (d Dialect) Output(w *sqlgen.Writer, c *plan.Column) {
	if c.T.Kind != schema.Integer {
		d.Plain(w)
	}
	w.Column(c)
}

// Plain writes the unary plus.
func (Dialect) Plain(w *sqlgen.Writer) { w.SQL("+") }

// midnight gives the two texts under which the beginning of a day may be stored in a datetime column.
func midnight(l, r plan.Expr) (short, long *plan.Arg, ok bool) {
	c, isCol := l.(*plan.Column)
	a, isArg := r.(*plan.Arg)
	if !isCol || !isArg || c.T.Kind != schema.DateTime || a.Bare {
		return nil, nil, false
	}
	s, _ := a.Value.(string)
	if len(s) != 19 || s[10:] != " 00:00:00" {
		return nil, nil, false
	}
	return &plan.Arg{Value: s[:10], T: a.T, Bare: true}, &plan.Arg{Value: s, T: a.T, Bare: true}, true
}

// Compare compares dates as the texts they are. A day's beginning may be stored with or without 00:00:00,
// and each comparison uses the text that is right for both.
func (d Dialect) Compare(w *sqlgen.Writer, x *plan.Compare) {
	short, long, ok := midnight(x.L, x.R)
	if !ok {
		d.ANSI.Compare(w, x)
		return
	}
	switch x.Op {
	case query.Ge, query.Lt:
		d.ANSI.Compare(w, &plan.Compare{Op: x.Op, L: x.L, R: short})
	case query.Gt, query.Le:
		d.ANSI.Compare(w, &plan.Compare{Op: x.Op, L: x.L, R: long})
	default:
		d.ANSI.In(w, &plan.List{X: x.L, Xs: []plan.Expr{short, long}, Not: x.Op == query.Ne})
	}
}

// In lists both texts of a day's beginning.
func (d Dialect) In(w *sqlgen.Writer, x *plan.List) {
	n := &plan.List{X: x.X, Not: x.Not}
	for _, v := range x.Xs {
		if short, long, ok := midnight(x.X, v); ok {
			n.Xs = append(n.Xs, short, long)
		} else {
			n.Xs = append(n.Xs, v)
		}
	}
	d.ANSI.In(w, n)
}

// Arith calculates with integers exactly: SQLite by itself turns an overflow into a double.
func (Dialect) Arith(w *sqlgen.Writer, x *plan.Arith) {
	if x.L == nil {
		w.SQL("(-").Expr(x.R).SQL(")")
		return
	}
	integers := x.L.Type().Kind == schema.Integer && x.R.Type().Kind == schema.Integer
	switch x.Op {
	case "/":
		w.SQL("(").Expr(x.L).SQL(" * 1.0 / NULLIF(").Expr(x.R).SQL(", 0))")
	case "%":
		if integers {
			w.SQL("(").Expr(x.L).SQL(" % NULLIF(").Expr(x.R).SQL(", 0))")
			return
		}
		w.SQL("MOD(").Expr(x.L).SQL(", NULLIF(").Expr(x.R).SQL(", 0))")
	case "||":
		w.SQL("(").Expr(x.L).SQL(" || ").Expr(x.R).SQL(")")
	default:
		if integers {
			w.SQL(exact[x.Op]).Expr(x.L).SQL(", ").Expr(x.R).SQL(")")
			return
		}
		w.SQL("(").Expr(x.L).SQL(infix[x.Op]).Expr(x.R).SQL(")")
	}
}

var (
	exact = map[string]sqlgen.Text{"+": "resq_add(", "-": "resq_sub(", "*": "resq_mul("}
	infix = map[string]sqlgen.Text{"+": " + ", "-": " - ", "*": " * "}
)

// Convert changes a value's type.
func (Dialect) Convert(w *sqlgen.Writer, x *plan.Convert) {
	from := x.X.Type().Kind
	switch {
	case x.How == plan.Key:
		w.Expr(x.X) // SQLite compares by affinity
		return
	case x.How == plan.Lead:
		w.SQL("CAST(").Expr(x.X).SQL(" AS NUMERIC)")
		return
	}
	switch x.T.Kind {
	case schema.Integer:
		call(w, x.X, from.Textual() || from == schema.Any || from == schema.JSON, "resq_int(", "CAST(", " AS INTEGER)")
	case schema.Number:
		call(w, x.X, from.Textual() || from == schema.Any || from == schema.JSON, "resq_real(", "CAST(", " AS REAL)")
	case schema.Decimal:
		w.SQL("ROUND(")
		call(w, x.X, from.Textual() || from == schema.JSON, "resq_real(", "CAST(", " AS REAL)")
		w.SQL(", ").Int(int64(x.T.Scale)).SQL(")")
	case schema.Bool:
		if from.Textual() {
			w.SQL("(CASE LOWER(").Expr(x.X).SQL(") WHEN 'true' THEN 1 WHEN '1' THEN 1 WHEN 'false' THEN 0 WHEN '0' THEN 0 END)")
			return
		}
		w.SQL("(").Expr(x.X).SQL(" <> 0)")
	case schema.Date:
		call(w, x.X, from.Textual(), "date(resq_moment(", "date(", ")")
		if from.Textual() {
			w.SQL(")")
		}
	case schema.DateTime:
		call(w, x.X, from.Textual(), "resq_moment(", "(", ")")
	case schema.Time:
		call(w, x.X, from.Textual(), "time(resq_clock(", "time(", ")")
		if from.Textual() {
			w.SQL(")")
		}
	default:
		if from == schema.Bool {
			w.SQL("(CASE WHEN ").Expr(x.X).SQL(" THEN 'true' WHEN NOT ").Expr(x.X).SQL(" THEN 'false' END)")
			return
		}
		if t := x.X.Type(); t.Kind == schema.Decimal && t.Scale > 0 {
			// Decimals are doubles here; the others keep their scale as text.
			w.SQL("FORMAT('%.").Int(int64(t.Scale)).SQL("f', ").Expr(x.X).SQL(")")
			return
		}
		w.SQL("CAST(").Expr(x.X).SQL(" AS TEXT)")
	}
}

// call writes strict( x ) for a text and lax( x tail for anything else.
func call(w *sqlgen.Writer, x plan.Expr, textual bool, strict, lax, tail sqlgen.Text) {
	if textual {
		w.SQL(strict).Expr(x).SQL(")")
		return
	}
	w.SQL(lax).Expr(x).SQL(tail)
}

// Like folds ASCII only, as SQLite's LIKE does.
func (Dialect) Like(w *sqlgen.Writer, x *plan.Like) {
	if x.Case {
		w.SQL("(")
		if x.Not {
			w.SQL("NOT ")
		}
		w.SQL("resq_like(").Expr(x.X).SQL(", ").Expr(x.Pattern).SQL("))")
		return
	}
	w.SQL("(").Expr(x.X)
	if x.Not {
		w.SQL(" NOT")
	}
	w.SQL(" LIKE ").Expr(x.Pattern).SQL(" ESCAPE '!')")
}

// Match uses Go's RE2.
func (Dialect) Match(w *sqlgen.Writer, x *plan.Match) {
	w.SQL("(")
	if x.Not {
		w.SQL("NOT ")
	}
	if x.Case {
		w.SQL("resq_match(")
	} else {
		w.SQL("resq_imatch(")
	}
	w.Expr(x.Pattern).SQL(", ").Expr(x.X).SQL("))")
}

// Average divides as doubles.
func (Dialect) Average(w *sqlgen.Writer, x *plan.Call) {
	arg := func() { w.Expr(x.Args[0]) }
	w.SQL("(").Aggregate("SUM", x, arg).SQL(" * 1.0 / ").Aggregate("COUNT", x, arg).SQL(")")
}

// Concat orders inside the aggregate. With DISTINCT SQLite takes no separator, so commas inside the values
// are put out of the way while the values are joined with one.
func (Dialect) Concat(w *sqlgen.Writer, x *plan.Call) {
	w.SQL("SUBSTR(")
	if x.Distinct {
		w.SQL("REPLACE(REPLACE(GROUP_CONCAT(DISTINCT REPLACE(").Expr(x.Args[0]).SQL(", ',', CHAR(31)) ORDER BY REPLACE(").Expr(x.Args[0]).SQL(", ',', CHAR(31))")
		if x.OrderBy[0].Desc {
			w.SQL(" DESC")
		}
		w.SQL("), ',', ").Expr(x.Args[1]).SQL("), CHAR(31), ',')")
	} else {
		w.SQL("GROUP_CONCAT(").Expr(x.Args[0]).SQL(", ").Expr(x.Args[1]).SQL(" ORDER BY ").Orders(x.OrderBy).SQL(")")
	}
	w.SQL(", 1, ").Int(sqlgen.ConcatCap).SQL(")")
}

var letters = map[byte]string{'Y': "%Y", 'm': "%m", 'd': "%d", 'H': "%H", 'M': "%M", 'S': "%S", 'j': "%j"}

// Format uses strftime.
func (Dialect) Format(w *sqlgen.Writer, x *plan.Format) {
	w.SQL("strftime(").Arg(sqlgen.TimeFormat(x.Parts, letters, "")).SQL(", ").Expr(x.X).SQL(")")
}

// valid writes a document, or NULL where the text is no JSON.
func valid(w *sqlgen.Writer, doc plan.Expr) *sqlgen.Writer {
	return w.SQL("CASE WHEN json_valid(").Expr(doc).SQL(") THEN ").Expr(doc).SQL(" END")
}

// Document reads a member as text, or an array's length.
func (Dialect) Document(w *sqlgen.Writer, x *plan.Document) {
	if x.Length {
		w.SQL("json_array_length(")
		valid(w, x.Doc).SQL(", ").Arg(sqlgen.JSONPath(x.Path)).SQL(")")
		return
	}
	path := sqlgen.JSONPath(x.Path)
	w.SQL("(CASE json_type(")
	valid(w, x.Doc).SQL(", ").Arg(path).SQL(") WHEN 'true' THEN 'true' WHEN 'false' THEN 'false' ELSE CAST(json_extract(")
	valid(w, x.Doc).SQL(", ").Arg(path).SQL(") AS TEXT) END)")
}

// Contains looks among the elements of the array.
func (Dialect) Contains(w *sqlgen.Writer, x *plan.Contains) {
	if x.Not {
		w.SQL("(NOT ")
	}
	w.SQL("EXISTS (SELECT 1 FROM json_each(")
	valid(w, x.Doc).SQL(", ").Arg(sqlgen.JSONPath(x.Path)).SQL(") AS je WHERE json_type(")
	valid(w, x.Doc).SQL(", ").Arg(sqlgen.JSONPath(x.Path)).SQL(") = 'array' AND (")
	for i, v := range x.Values {
		if i > 0 {
			w.SQL(" OR ")
		}
		a := v.(*plan.Arg)
		switch a.T.Kind {
		case schema.Bool:
			if a.Value == true {
				w.SQL("je.type = 'true'")
			} else {
				w.SQL("je.type = 'false'")
			}
		case schema.Decimal:
			w.SQL("(je.type IN ('integer', 'real') AND je.value = ").Arg(a).SQL(")")
		default:
			w.SQL("(je.type = 'text' AND je.value = ").Arg(a).SQL(")")
		}
	}
	if len(x.Values) == 0 {
		w.SQL("1 = 0")
	}
	w.SQL("))")
	if x.Not {
		w.SQL(")")
	}
}

// Unnest looks for a value among the elements of another field's array.
func (Dialect) Unnest(w *sqlgen.Writer, x *plan.Unnest) {
	doc := x.Doc.(*plan.Document)
	if x.Not {
		w.SQL("(NOT ")
	}
	w.SQL("EXISTS (SELECT 1 FROM json_each(")
	valid(w, doc.Doc).SQL(", ").Arg(sqlgen.JSONPath(doc.Path)).SQL(") AS je WHERE json_type(")
	valid(w, doc.Doc).SQL(", ").Arg(sqlgen.JSONPath(doc.Path)).SQL(") = 'array' AND CAST(je.value AS TEXT) = CAST(").Expr(x.X).SQL(" AS TEXT))")
	if x.Not {
		w.SQL(")")
	}
}

// Scalar fails on a second row, as the other databases do by themselves; SQLite would take the first.
func (Dialect) Scalar(w *sqlgen.Writer, q *plan.Query) {
	if q.Single() {
		w.Sub(q)
		return
	}
	w.SQL("(SELECT resq_single(COUNT(*), MAX(q.c0)) FROM ").Named(q).SQL(" AS q)")
}

// Limit needs a LIMIT before OFFSET; −1 is none.
func (d Dialect) Limit(w *sqlgen.Writer, limit, offset int64) {
	if limit < 0 && offset > 0 {
		w.SQL(" LIMIT -1")
	}
	d.ANSI.Limit(w, limit, offset)
}

// Fence keeps the sub-select from being flattened.
func (Dialect) Fence(w *sqlgen.Writer) { w.SQL(" LIMIT -1 OFFSET 0") }

// Path writes the first key between separators.
func (Dialect) Path(w *sqlgen.Writer, key func(w *sqlgen.Writer)) {
	w.SQL("CHAR(31) || ")
	key(w)
	w.SQL(" || CHAR(31)")
}

// Visited looks for the key between separators.
func (Dialect) Visited(w *sqlgen.Writer, path, key func(w *sqlgen.Writer)) {
	w.SQL("INSTR(")
	path(w)
	w.SQL(", CHAR(31) || ")
	key(w)
	w.SQL(" || CHAR(31)) > 0")
}

// Append puts a key behind the path.
func (Dialect) Append(w *sqlgen.Writer, path, key func(w *sqlgen.Writer)) {
	path(w)
	w.SQL(" || ")
	key(w)
	w.SQL(" || CHAR(31)")
}
