package sqlgen

import (
	"resq/engine/plan"
	"resq/schema"
	"resq/schema/query"
)

// A Dialect says how one database differs from standard SQL. Embed ANSI and override what differs.
type Dialect interface {
	// Name is mysql, postgres or sqlite.
	Name() string
	// Quote is the character around names.
	Quote() byte
	// Placeholder binds a value that is not NULL and writes its place.
	Placeholder(w *Writer, a *plan.Arg)
	// Null writes NULL as a value of a type.
	Null(w *Writer, t schema.Type)
	// Column writes a column inside an expression, as a value of its field's type.
	Column(w *Writer, c *plan.Column)
	// Output writes a column as an output of the whole statement.
	Output(w *Writer, c *plan.Column)
	// Bytes writes a text so that it equals itself alone. It says false, and writes nothing, where texts do so
	// anyway.
	Bytes(w *Writer, x func(w *Writer)) bool
	// Plain writes what takes a column's declared type away, in front of a column of a derived table that is
	// an output of the whole statement.
	Plain(w *Writer)
	Convert(w *Writer, x *plan.Convert)
	Arith(w *Writer, x *plan.Arith)
	// Compare writes a comparison; both sides fit.
	Compare(w *Writer, x *plan.Compare)
	In(w *Writer, x *plan.List)
	// Among writes In for a long list, whose values go as arguments that are read as tables; texts equal themselves
	// alone. It says false, and writes nothing, where the database cannot.
	Among(w *Writer, x *plan.List, v *Values) bool
	// Multiplies says that the database searches one index for every pair of a long list's values and a query's rows.
	Multiplies() bool
	Like(w *Writer, x *plan.Like)
	Match(w *Writer, x *plan.Match)
	// Average writes AVG so that it gives all digits of a double.
	Average(w *Writer, x *plan.Call)
	// Concat writes a string aggregate of at most ConcatCap characters. One that is longer ends in … if it is marked,
	// and has one character more if it is not.
	Concat(w *Writer, x *plan.Call, marked bool)
	Format(w *Writer, x *plan.Format)
	Document(w *Writer, x *plan.Document)
	Contains(w *Writer, x *plan.Contains)
	Unnest(w *Writer, x *plan.Unnest)
	// Scalar writes a query of one column as a value; more rows than one are an error of the data.
	Scalar(w *Writer, q *plan.Query)
	// Order writes a sort key. NULL is the smallest value unless the key says otherwise; notNull says that
	// there is none.
	Order(w *Writer, o plan.Order, key func(w *Writer), notNull bool)
	// Limit writes LIMIT and OFFSET; a limit below 0 is none.
	Limit(w *Writer, limit, offset int64)
	// Fence writes what keeps conditions outside a sub-select from being evaluated inside it.
	Fence(w *Writer)
	// Path writes a key as text, between separators, for the path of a walk.
	Path(w *Writer, key func(w *Writer))
	// Visited says whether the path holds the key.
	Visited(w *Writer, path, key func(w *Writer))
	// Link compares a parent's key with a child's; alike says that they are of one family.
	Link(w *Writer, parent, child func(w *Writer), alike bool)
	// Append puts a key behind a path.
	Append(w *Writer, path, key func(w *Writer))

	// Given binds the value of a parameter of SQL of others, and writes its place.
	Given(w *Writer, g *Given)
	// Masked writes the image of a column's value.
	Masked(w *Writer, column func(w *Writer), mask string)

	// Assign writes a value that a column is to hold; f is nil where the catalog does not know the column.
	Assign(w *Writer, f *schema.Field, a *plan.Arg)
	// Stored writes a column in the form in which it is kept for an undo: what Assign takes back without a loss.
	Stored(w *Writer, column string)
	// Own writes what makes an INSERT take the key that it is given, where the database counts keys by itself.
	Own(w *Writer)
	// Lock writes what keeps the rows of a SELECT from being changed by others until the transaction ends.
	Lock(w *Writer)
	// Returning writes what makes an INSERT give back a column. It says false, and writes nothing, where the
	// driver tells the new key by itself.
	Returning(w *Writer, column string) bool
}

// ConcatCap is the longest text a string aggregate gives, in characters.
const ConcatCap = 10_000

// Capped writes a text that is cut at ConcatCap characters.
func (w *Writer) Capped(marked bool, text func()) {
	if !marked {
		w.SQL("LEFT(")
		text()
		w.SQL(", ").Int(ConcatCap + 1).SQL(")")
		return
	}
	w.SQL("(CASE WHEN CHAR_LENGTH(")
	text()
	w.SQL(") > ").Int(ConcatCap).SQL(" THEN CONCAT(LEFT(")
	text()
	w.SQL(", ").Int(ConcatCap).SQL("), '…') ELSE ")
	text()
	w.SQL(" END)")
}

// ANSI is standard SQL, and the base of every dialect.
type ANSI struct{}

// Quote is that of the standard.
func (ANSI) Quote() byte { return '"' }

// Null writes NULL.
func (ANSI) Null(w *Writer, _ schema.Type) { w.SQL("NULL") }

// Column writes the column.
func (ANSI) Column(w *Writer, c *plan.Column) { w.Column(c) }

// Output writes the column.
func (ANSI) Output(w *Writer, c *plan.Column) { w.Column(c) }

// Multiplies is false.
func (ANSI) Multiplies() bool { return false }

// Bytes has nothing to do: by the standard's default a text equals itself alone.
func (ANSI) Bytes(*Writer, func(*Writer)) bool { return false }

// Plain writes nothing.
func (ANSI) Plain(*Writer) {}

// Compare writes the operator between the sides.
func (ANSI) Compare(w *Writer, x *plan.Compare) {
	w.SQL("(").Expr(x.L).SQL(operators[x.Op]).Expr(x.R).SQL(")")
}

var operators = map[query.Op]Text{query.Eq: " = ", query.Ne: " <> ", query.Lt: " < ", query.Le: " <= ", query.Gt: " > ", query.Ge: " >= "}

// Operator is the text of a comparison.
func Operator(op query.Op) Text { return operators[op] }

// Instants compares two columns that keep their zones as the instants they are. It says false, and writes nothing, for
// anything else. As local times two instants would be the same when clocks are put back, and no index would serve.
func Instants(w *Writer, x *plan.Compare) bool {
	l, ok := x.L.(*plan.Column)
	r, too := x.R.(*plan.Column)
	if !ok || !too {
		return false
	}
	if f, _ := l.Zoned(); f == nil {
		return false
	}
	if f, _ := r.Zoned(); f == nil {
		return false
	}
	w.SQL("(").Column(l).SQL(operators[x.Op]).Column(r).SQL(")")
	return true
}

// In writes the list.
func (ANSI) In(w *Writer, x *plan.List) {
	w.SQL("(").Expr(x.X)
	if x.Not {
		w.SQL(" NOT")
	}
	w.SQL(" IN (").Commas(len(x.Xs), func(i int) { w.Expr(x.Xs[i]) }).SQL("))")
}

// Among cannot: the standard has no such tables.
func (ANSI) Among(*Writer, *plan.List, *Values) bool { return false }

// Link compares the two.
func (ANSI) Link(w *Writer, parent, child func(w *Writer), _ bool) {
	parent(w)
	w.SQL(" = ")
	child(w)
}

// Scalar writes the query in brackets.
func (ANSI) Scalar(w *Writer, q *plan.Query) { w.Sub(q) }

// Order writes the key and, where it matters, where NULL stands.
func (ANSI) Order(w *Writer, o plan.Order, key func(w *Writer), notNull bool) {
	key(w)
	if o.Desc {
		w.SQL(" DESC")
	}
	switch {
	case o.Nulls == "first" && o.Desc:
		w.SQL(" NULLS FIRST")
	case o.Nulls == "last" && !o.Desc:
		w.SQL(" NULLS LAST")
	}
}

// Assign writes the value as any other.
func (ANSI) Assign(w *Writer, _ *schema.Field, a *plan.Arg) { w.Arg(a) }

// Stored writes the column as it is.
func (ANSI) Stored(w *Writer, column string) { w.Ident(column) }

// Own writes nothing: a key that is given is taken.
func (ANSI) Own(*Writer) {}

// Lock locks the rows that are read.
func (ANSI) Lock(w *Writer) { w.SQL(" FOR UPDATE") }

// Returning gives the column back.
func (ANSI) Returning(w *Writer, column string) bool {
	w.SQL(" RETURNING ").Ident(column)
	return true
}

// Limit writes LIMIT and OFFSET.
func (ANSI) Limit(w *Writer, limit, offset int64) {
	if limit >= 0 {
		w.SQL(" LIMIT ").Int(limit)
	}
	if offset > 0 {
		w.SQL(" OFFSET ").Int(offset)
	}
}

// Aggregate writes the name, DISTINCT and one argument of an aggregate, and its window.
func (w *Writer) Aggregate(name Text, x *plan.Call, arg func()) *Writer {
	w.SQL(name).SQL("(")
	if x.Distinct {
		w.SQL("DISTINCT ")
	}
	arg()
	w.SQL(")")
	w.over(x.Over)
	return w
}
