package sqlgen

import (
	"fmt"
	"slices"
	"strings"

	"resq/engine/funcs"
	"resq/engine/plan"
	"resq/schema/query"
)

func (w *Writer) expr(e plan.Expr) {
	switch x := e.(type) {
	case *plan.Column:
		zoned, _ := x.Zoned()
		if x.Instant || x.Field == nil && zoned == nil {
			w.column(x)
			return
		}
		w.d.Column(w, x)
	case *plan.Arg:
		w.Arg(x)
	case *plan.Int:
		w.Int(x.N)
	case *plan.Bool:
		if x.V {
			w.SQL("(1 = 1)")
		} else {
			w.SQL("(1 = 0)")
		}
	case *plan.Call:
		w.call(x)
	case *plan.Arith:
		w.d.Arith(w, x)
	case *plan.Logic:
		w.logic(x)
	case *plan.Not:
		w.SQL("(NOT ").Expr(x.X).SQL(")")
	case *plan.Compare:
		if x.Exact && (x.Op == "=" || x.Op == "!=") && w.bytes() {
			w.exact(x)
			return
		}
		w.d.Compare(w, x)
	case *plan.Null:
		w.SQL("(").Expr(x.X)
		if x.Not {
			w.SQL(" IS NOT NULL)")
		} else {
			w.SQL(" IS NULL)")
		}
	case *plan.List:
		w.among(x)
	case *plan.Sub:
		w.in(x)
	case *plan.Exists:
		if x.Not {
			w.SQL("(NOT EXISTS ").Sub(x.Query).SQL(")")
		} else {
			w.SQL("EXISTS ").Sub(x.Query)
		}
	case *plan.Scalar:
		w.d.Scalar(w, x.Query)
	case *plan.Like:
		w.d.Like(w, x)
	case *plan.Match:
		w.d.Match(w, x)
	case *plan.Case:
		w.SQL("(CASE")
		for _, b := range x.Whens {
			w.SQL(" WHEN ").Expr(b.If).SQL(" THEN ").Expr(b.Then)
		}
		if x.Else != nil {
			w.SQL(" ELSE ").Expr(x.Else)
		}
		w.SQL(" END)")
	case *plan.Convert:
		w.d.Convert(w, x)
	case *plan.Format:
		w.d.Format(w, x)
	case *plan.Document:
		w.d.Document(w, x)
	case *plan.Contains:
		w.d.Contains(w, x)
	case *plan.Unnest:
		w.d.Unnest(w, x)
	case *plan.Cut:
		w.cut(x)
	default:
		panic(fmt.Sprintf("sqlgen: unexpected %T", e))
	}
}

func (w *Writer) logic(x *plan.Logic) {
	word := Text(" AND ")
	if x.Or {
		word = " OR "
	}
	w.SQL("(")
	xs := x.Xs
	if !x.Or && w.d.Multiplies() && slices.ContainsFunc(xs, long) {
		xs = slices.Clone(xs)
		slices.SortStableFunc(xs, func(a, b plan.Expr) int {
			switch {
			case long(a) && !long(b):
				return -1
			case long(b) && !long(a):
				return 1
			}
			return 0
		})
	}
	for i, y := range xs {
		if i > 0 {
			w.SQL(word)
		}
		w.Expr(y)
	}
	w.SQL(")")
}

// many is how many arguments make a list long beside a query.
const many = 100

// long says that e is a list that stands before the queries beside it; see in.
func long(e plan.Expr) bool {
	x, ok := e.(*plan.List)
	return ok && len(x.Xs) > many
}

// among writes X IN (…); an empty list matches nothing.
func (w *Writer) among(x *plan.List) {
	if len(x.Xs) > 0 {
		if w.tabled(x) {
			return
		}
		if x.Exact && w.bytes() {
			if len(x.Xs) == 1 && !x.Not {
				w.exact(&plan.Compare{Op: query.Eq, L: x.X, R: x.Xs[0]})
				return
			}
			also := func() {}
			if !x.Not && values(x.Xs) {
				also = func() { w.d.In(w, x); w.SQL(" AND ") }
			}
			w.exactIn(x.X, x.Not, also, func() { w.Commas(len(x.Xs), func(i int) { w.exactly(x.Xs[i]) }) })
			return
		}
		w.d.In(w, x)
		return
	}
	if x.Not {
		w.SQL("(").Expr(x.X).SQL(" IS NOT NULL OR 1 = 1)")
		return
	}
	w.SQL("(").Expr(x.X).SQL(" IS NULL AND 1 = 0)")
}

// values says whether all of these are values of their own.
func values(xs []plan.Expr) bool {
	for _, x := range xs {
		if _, ok := x.(*plan.Arg); !ok {
			return false
		}
	}
	return true
}

// in writes X IN (query). A limit inside such a query is not understood by MySQL, but inside a derived
// table it is.
func (w *Writer) in(x *plan.Sub) {
	// What was bound so far holds a list, which bounds the rows: the query is to say which of those, instead of being
	// searched for once for each value of the list. As one side of a comparison it has no index.
	if !x.Not && len(*w.args) > many && w.d.Multiplies() {
		w.SQL("(")
		defer func() { w.SQL(" = 1)") }()
	}
	if x.Exact && w.bytes() {
		w.exactIn(x.X, x.Not, func() {}, func() {
			w.SQL("SELECT ")
			w.d.Bytes(w, func(w *Writer) { w.SQL("q.c0") })
			w.SQL(" FROM ").named(x.Query).SQL(" AS q")
		})
		return
	}
	w.SQL("(").Expr(x.X)
	if x.Not {
		w.SQL(" NOT")
	}
	w.SQL(" IN ")
	if x.Query.Limit >= 0 || x.Query.Offset > 0 {
		w.derived(x.Query)
		w.SQL("(SELECT q.c0 FROM ").named(x.Query).SQL(" AS q))")
		return
	}
	w.Sub(x.Query).SQL(")")
}

// bytes says whether the dialect has to be told to compare texts exactly.
func (w *Writer) bytes() bool { return w.d.Bytes(w.part(), func(*Writer) {}) }

// exact writes a comparison of texts that are equal only when they are the same. The range beside it lets an
// index serve a value. It is no equality: the optimiser would put one side for the other inside the exact
// comparison, which then compared a text with itself.
func (w *Writer) exact(x *plan.Compare) {
	w.SQL("(")
	if _, value := x.R.(*plan.Arg); value && x.Op == query.Eq {
		w.d.Compare(w, &plan.Compare{Op: query.Ge, L: x.L, R: x.R})
		w.SQL(" AND ")
		w.d.Compare(w, &plan.Compare{Op: query.Le, L: x.L, R: x.R})
		w.SQL(" AND ")
	}
	w.exactly(x.L)
	w.SQL(operators[x.Op])
	w.exactly(x.R)
	w.SQL(")")
}

// exactIn writes membership of a text among texts that are the same.
func (w *Writer) exactIn(x plan.Expr, not bool, also, list func()) {
	w.SQL("(")
	also()
	w.exactly(x)
	if not {
		w.SQL(" NOT")
	}
	w.SQL(" IN (")
	list()
	w.SQL("))")
}

func (w *Writer) exactly(x plan.Expr) { w.d.Bytes(w, func(w *Writer) { w.Expr(x) }) }

func (w *Writer) call(x *plan.Call) {
	switch x.Fn.Name {
	case "AVG":
		w.d.Average(w, x)
		return
	case "GROUP_CONCAT":
		w.d.Concat(w, x, true)
		return
	}
	text := x.Fn.Text(w.d.Name())
	if x.Fn.Short != nil && len(x.Args) < len(x.Fn.Args) {
		text = x.Fn.Short.Text(w.d.Name())
	}
	if x.Fn.Class == funcs.Aggregate && len(x.Args) == 1 {
		name, _, _ := strings.Cut(string(text), "(")
		w.Aggregate(Text(name), x, func() { w.Expr(x.Args[0]) })
		return
	}
	w.template(string(text), x.Args)
	w.over(x.Over)
}

// template fills the places of a function's text.
func (w *Writer) template(t string, args []plan.Expr) {
	for {
		i := strings.IndexByte(t, '{')
		if i < 0 {
			w.raw(t)
			return
		}
		w.raw(t[:i])
		end := strings.IndexByte(t, '}')
		place := t[i+1 : end]
		t = t[end+1:]
		if place[0] != '*' {
			w.Expr(args[place[0]-'0'])
			continue
		}
		parts := strings.Split(place, "|") // *, before, after, between
		between := strings.Join(parts[3:], "|")
		for k, a := range args {
			if k > 0 {
				w.raw(between)
			}
			w.raw(parts[1])
			w.Expr(a)
			w.raw(parts[2])
		}
	}
}

// over writes a window.
func (w *Writer) over(o *plan.Window) {
	if o == nil {
		return
	}
	w.SQL(" OVER (")
	if len(o.Partition) > 0 {
		w.SQL("PARTITION BY ").Commas(len(o.Partition), func(i int) { w.Expr(o.Partition[i]) })
	}
	if len(o.OrderBy) > 0 {
		if len(o.Partition) > 0 {
			w.SQL(" ")
		}
		w.SQL("ORDER BY ").Orders(o.OrderBy)
	}
	if f := o.Frame; f != nil {
		if f.Unit == "ROWS" {
			w.SQL(" ROWS BETWEEN ")
		} else {
			w.SQL(" RANGE BETWEEN ")
		}
		w.bound(f.From.Kind, f.From.Rows, f.From.Following).SQL(" AND ").bound(f.To.Kind, f.To.Rows, f.To.Following)
	}
	w.SQL(")")
}

func (w *Writer) bound(kind string, rows int64, following bool) *Writer {
	switch kind {
	case "UNBOUNDED":
		if following {
			return w.SQL("UNBOUNDED FOLLOWING")
		}
		return w.SQL("UNBOUNDED PRECEDING")
	case "PRECEDING":
		return w.Int(rows).SQL(" PRECEDING")
	case "FOLLOWING":
		return w.Int(rows).SQL(" FOLLOWING")
	}
	return w.SQL("CURRENT ROW")
}

// Orders writes sort keys inside an expression.
func (w *Writer) Orders(keys []plan.Order) *Writer {
	return w.Commas(len(keys), func(i int) {
		k := keys[i]
		w.d.Order(w, k, func(w *Writer) { w.key(k.Expr) }, notNull(k.Expr))
	})
}

// key writes a value to sort or group by: a column as the database has it, so that an index serves, unless its type is
// one of the database's own, which may have no order.
func (w *Writer) key(e plan.Expr) {
	if c, ok := e.(*plan.Column); ok && (c.Field == nil || c.Field.Native == "" || c.Field.Array) {
		w.column(c)
		return
	}
	w.Expr(e)
}

func notNull(e plan.Expr) bool {
	c, ok := e.(*plan.Column)
	return ok && c.Field != nil && c.Field.NotNull && !c.Source.Outer()
}
