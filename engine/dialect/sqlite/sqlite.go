// Package sqlite is how SQLite differs from standard SQL, and the only importer of its driver.
package sqlite

import (
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

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

// Given binds the value of a parameter of SQL of others.
func (d Dialect) Given(w *sqlgen.Writer, g *sqlgen.Given) {
	if g.Kind != "number" || g.None {
		d.ANSI.Given(w, g)
		return
	}
	v, _ := number(g.Value)
	w.Keyed("", v)
	w.SQL("?")
}

// Masked writes the image of a column's value.
func (Dialect) Masked(w *sqlgen.Writer, column func(w *sqlgen.Writer), mask string) {
	w.SQL("CASE WHEN ")
	column(w)
	w.SQL(" IS NULL THEN NULL ")
	if mask == "last4" {
		text := func() { w.SQL("CAST("); column(w); w.SQL(" AS TEXT)") }
		w.SQL("WHEN LENGTH(")
		text()
		w.SQL(") > 4 THEN PRINTF('%.*c', LENGTH(")
		text()
		w.SQL(") - 4, '*') || SUBSTR(")
		text()
		w.SQL(", -4) ")
	}
	w.SQL("ELSE '****' END")
}

// Placeholder binds a value in the form in which SQLite stores it: decimals are numbers, booleans 0 and 1,
// dates texts.
func (Dialect) Placeholder(w *sqlgen.Writer, a *plan.Arg) {
	v := a.Value
	switch x := v.(type) {
	case string:
		if a.T.Kind == schema.Decimal && !a.Kept {
			v, _ = number(x)
		}
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
	}
	w.Bind(a, v, false)
	w.SQL("?")
}

// Output writes a column so that the driver hands over what is stored: for a declared DATE it would guess a
// time.Time and lose the text. The unary plus takes the declared type away.
func (d Dialect) Output(w *sqlgen.Writer, c *plan.Column) {
	if c.T.Kind != schema.Integer {
		d.Plain(w)
	}
	w.Column(c)
}

// Multiplies is true: without statistics, which few files have, SQLite takes the pairs for few.
func (Dialect) Multiplies() bool { return true }

// Bytes takes away a collation that the column declares, such as NOCASE.
func (Dialect) Bytes(w *sqlgen.Writer, x func(w *sqlgen.Writer)) bool {
	w.SQL("(")
	x(w)
	w.SQL(" COLLATE BINARY)")
	return true
}

// Plain writes the unary plus.
func (Dialect) Plain(w *sqlgen.Writer) { w.SQL("+") }

// Stored takes the declared type away, so that a value comes in its own storage class.
func (Dialect) Stored(w *sqlgen.Writer, column string) { w.SQL("+").Ident(column) }

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
		d.compare(w, x)
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

func (d Dialect) compare(w *sqlgen.Writer, x *plan.Compare) {
	if !plan.Wide(x.L) && !plan.Wide(x.R) {
		d.ANSI.Compare(w, x)
		return
	}
	side := func(e plan.Expr) {
		if a, ok := e.(*plan.Arg); ok && a.T.Kind == schema.Decimal {
			e = &plan.Arg{Value: a.Value, T: schema.Type{Kind: schema.Text}} // with all its digits
		}
		w.Expr(e)
	}
	w.SQL("(resq_compare(")
	side(x.L)
	w.SQL(", ")
	side(x.R)
	w.SQL(")").SQL(sqlgen.Operator(x.Op)).SQL("0)")
}

// In lists both texts of a day's beginning.
func (d Dialect) In(w *sqlgen.Writer, x *plan.List) {
	if plan.Wide(x.X) || slices.ContainsFunc(x.Xs, plan.Wide) {
		w.SQL("(")
		if x.Not {
			w.SQL("NOT (")
		}
		for i, v := range x.Xs {
			if i > 0 {
				w.SQL(" OR ")
			}
			d.compare(w, &plan.Compare{Op: query.Eq, L: x.X, R: v})
		}
		if x.Not {
			w.SQL(")")
		}
		w.SQL(")")
		return
	}
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

// Arith calculates with whole numbers and decimals exactly: SQLite by itself turns an overflow into a double,
// and decimals are doubles to it. What leaves the doubles is an error, as on the other databases.
func (d Dialect) Arith(w *sqlgen.Writer, x *plan.Arith) {
	if x.L == nil {
		if x.T.Kind == schema.Number {
			w.SQL("(-").Expr(x.R).SQL(")")
			return
		}
		w.SQL("resq_sub(0, ").Expr(x.R).SQL(")")
		return
	}
	switch x.Op {
	case "/":
		w.SQL("resq_finite(").Expr(x.L).SQL(" * 1.0 / NULLIF(").Expr(x.R).SQL(", 0))")
	case "%":
		if x.T.Kind == schema.Integer && !plan.Wide(x.L) && !plan.Wide(x.R) {
			w.SQL("(").Expr(x.L).SQL(" % NULLIF(").Expr(x.R).SQL(", 0))")
			return
		}
		w.SQL("resq_mod(").Expr(x.L).SQL(", ").Expr(x.R).SQL(")")
	case "||":
		w.SQL("(").Expr(x.L).SQL(" || ").Expr(x.R).SQL(")")
	default:
		if x.T.Kind == schema.Number {
			w.SQL("resq_finite(").Expr(x.L).SQL(infix[x.Op]).Expr(x.R).SQL(")")
			return
		}
		w.SQL(precise[x.Op]).Expr(x.L).SQL(", ").Expr(x.R).SQL(")")
	}
}

var (
	precise = map[string]sqlgen.Text{"+": "resq_add(", "-": "resq_sub(", "*": "resq_mul("}
	infix   = map[string]sqlgen.Text{"+": " + ", "-": " - ", "*": " * "}
)

// Convert changes a value's type.
func (Dialect) Convert(w *sqlgen.Writer, x *plan.Convert) {
	t := x.X.Type()
	texts := t.Kind.Textual() || t.Kind == schema.Any || t.Kind == schema.JSON
	call := func(head, tail sqlgen.Text) { w.SQL(head).Expr(x.X).SQL(tail) }
	switch {
	case x.How == plan.Key:
		call("resq_number(", ")")
		return
	case x.How == plan.Lead:
		call("resq_lead(", ")")
		return
	}
	switch x.T.Kind {
	case schema.Integer:
		if t.Kind == schema.Bool || t.Kind == schema.Integer {
			w.Expr(x.X)
			return
		}
		call("resq_int(", ")")
	case schema.Number:
		if texts {
			call("resq_real(", ")")
			return
		}
		call("CAST(", " AS REAL)")
	case schema.Decimal:
		if t.Kind == schema.Integer || t.Kind == schema.Bool {
			w.Expr(x.X)
			return
		}
		w.SQL("resq_fixed(").Expr(x.X).SQL(", ").Int(int64(x.T.Scale)).SQL(")")
	case schema.Bool:
		if texts {
			w.SQL("(CASE LOWER(").Expr(x.X).SQL(") WHEN 'true' THEN 1 WHEN '1' THEN 1 WHEN 'false' THEN 0 WHEN '0' THEN 0 END)")
			return
		}
		call("(", " <> 0)")
	case schema.Date:
		if texts {
			call("resq_day(", ")")
			return
		}
		call("date(", ")")
	case schema.DateTime:
		switch {
		case texts:
			call("resq_moment(", ")")
		case t.Kind == schema.Date:
			call("strftime('%Y-%m-%d 00:00:00', ", ")")
		default:
			w.Expr(x.X)
		}
	case schema.Time:
		if texts {
			call("resq_clock(", ")")
			return
		}
		call("time(", ")")
	default:
		toText(w, x.X)
	}
}

// toText writes a value as text. Booleans are 0 and 1 here, decimals doubles.
func toText(w *sqlgen.Writer, x plan.Expr) {
	switch t := x.Type(); {
	case t.Kind == schema.Bool:
		w.SQL("(CASE WHEN ").Expr(x).SQL(" THEN 'true' WHEN NOT ").Expr(x).SQL(" THEN 'false' END)")
	case t.Kind == schema.Decimal && t.Scale > 0:
		w.SQL("resq_decimal(").Expr(x).SQL(", ").Int(int64(t.Scale)).SQL(")")
	case t.Kind == schema.Decimal || t.Kind == schema.Number:
		w.SQL("resq_text(").Expr(x).SQL(")")
	default:
		w.SQL("CAST(").Expr(x).SQL(" AS TEXT)")
	}
}

// Like folds the letters of ASCII as SQLite's LIKE does; where the pattern has others, ours folds those too.
func (Dialect) Like(w *sqlgen.Writer, x *plan.Like) {
	if x.Case || !ascii(x.Pattern) {
		w.SQL("(")
		if x.Not {
			w.SQL("NOT ")
		}
		if x.Case {
			w.SQL("resq_like(")
		} else {
			w.SQL("resq_ilike(")
		}
		w.Expr(x.X).SQL(", ").Expr(x.Pattern).SQL("))")
		return
	}
	w.SQL("(").Expr(x.X)
	if x.Not {
		w.SQL(" NOT")
	}
	w.SQL(" LIKE ").Expr(x.Pattern).SQL(" ESCAPE '!')")
}

// ascii says whether a pattern is known and holds no letter beyond ASCII that has two cases.
func ascii(pattern plan.Expr) bool {
	a, ok := pattern.(*plan.Arg)
	if !ok {
		return false
	}
	s, _ := a.Value.(string)
	return strings.IndexFunc(s, func(r rune) bool { return r >= utf8.RuneSelf && unicode.SimpleFold(r) != r }) < 0
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
	w.SQL("(").Aggregate("resq_sum", x, arg).SQL(" * 1.0 / ").Aggregate("COUNT", x, arg).SQL(")")
}

// Concat orders inside the aggregate. With DISTINCT SQLite takes no separator, so an aggregate of ours does
// it.
func (Dialect) Concat(w *sqlgen.Writer, x *plan.Call, marked bool) {
	if marked {
		w.SQL("resq_capped(")
	} else {
		w.SQL("SUBSTR(")
	}
	if x.Distinct {
		w.SQL("resq_concat(").Expr(x.Args[0]).SQL(", ").Expr(x.Args[1]).SQL(", ").Expr(x.OrderBy[0].Expr)
		if x.OrderBy[0].Desc {
			w.SQL(", 1)")
		} else {
			w.SQL(", 0)")
		}
	} else {
		w.SQL("GROUP_CONCAT(").Expr(x.Args[0]).SQL(", ").Expr(x.Args[1]).SQL(" ORDER BY ").Orders(x.OrderBy).SQL(")")
	}
	if marked {
		w.SQL(", ").Int(sqlgen.ConcatCap).SQL(")")
	} else {
		w.SQL(", 1, ").Int(sqlgen.ConcatCap + 1).SQL(")")
	}
}

var letters = map[byte]string{'Y': "%Y", 'm': "%m", 'd': "%d", 'H': "%H", 'M': "%M", 'S': "%S", 'j': "%j"}

// Format uses strftime.
func (Dialect) Format(w *sqlgen.Writer, x *plan.Format) {
	w.SQL("strftime(").Arg(sqlgen.TimeFormat(x.Parts, letters, "")).SQL(", ").Expr(x.X).SQL(")")
}

// Scalar fails on a second row, as the other databases do by themselves; SQLite would take the first.
func (Dialect) Scalar(w *sqlgen.Writer, q *plan.Query) {
	if q.Single() {
		w.Sub(q)
		return
	}
	w.SQL("(SELECT resq_single(COUNT(*), MAX(q.c0)) FROM ").Named(q).SQL(" AS q)")
}

// Order sorts large whole numbers by their value: they are texts.
func (d Dialect) Order(w *sqlgen.Writer, o plan.Order, key func(w *sqlgen.Writer), notNull bool) {
	if !o.Whole {
		d.ANSI.Order(w, o, key, notNull)
		return
	}
	d.ANSI.Order(w, o, func(w *sqlgen.Writer) {
		w.SQL("resq_order(")
		key(w)
		w.SQL(")")
	}, notNull)
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

// Lock writes nothing: a transaction that writes has the file to itself.
func (Dialect) Lock(*sqlgen.Writer) {}

// listed is how long a list may be that is written as one: SQLite plans by the length of a list, and takes any table for
// one of 25 rows.
const listed = 10_000

// Among reads a JSON array as a table. The comparison with 1 keeps an index from being searched once for every value of
// the set, which would be done for every row of a join.
func (d Dialect) Among(w *sqlgen.Writer, x *plan.List, v *sqlgen.Values) bool {
	if len(x.Xs) <= listed && !v.Crowded || plan.Wide(x.X) || v.T.Kind != schema.Integer && !x.Exact {
		return false
	}
	w.Each(x, v.JSON(), func(doc string) {
		w.SQL("((")
		if v.T.Kind == schema.Integer {
			w.Expr(x.X)
		} else {
			d.Bytes(w, func(w *sqlgen.Writer) { w.Expr(x.X) })
		}
		if x.Not {
			w.SQL(" NOT")
		}
		w.Document(v, doc, false)
		w.SQL(" IN (SELECT value FROM json_each(?))) = 1)")
	})
	return true
}
