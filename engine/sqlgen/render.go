package sqlgen

import (
	"strings"

	"resq/engine/plan"
	"resq/schema"
)

// A Statement is a rendered plan: its text and its arguments in the order of their places.
type Statement struct {
	SQL  string
	Args []any
	// Given are what the arguments stand for, one each.
	Given []*plan.Arg
}

// Render writes a plan for a dialect. It decides nothing: every choice was made in the plan or is the
// dialect's. With fence every guarded source is kept from sharing its rows' evaluation with conditions
// outside it (security.md 5.4).
func Render(p *plan.Plan, d Dialect, fence bool) (*Statement, error) {
	w := newWriter(d, fence)
	w.query(p.Root(), use{extra: true})
	return w.statement()
}

// Count writes the statement that counts all rows of a plan, without its window and cursor.
func Count(p *plan.Plan, d Dialect, fence bool) (*Statement, error) {
	w := newWriter(d, fence)
	q := *p.Root()
	q.Limit, q.Offset, q.After = -1, 0, nil
	if !q.Distinct && len(q.Sets) == 0 {
		q.Order = nil
	}
	w.SQL("SELECT COUNT(*) FROM ").named(&q).SQL(" AS q")
	return w.statement()
}

func (w *Writer) statement() (*Statement, error) {
	if *w.err != nil {
		return nil, *w.err
	}
	return &Statement{SQL: w.b.String(), Args: *w.args, Given: *w.given}, nil
}

// use says what a query block is written for.
type use struct {
	names bool // its columns are called c0, c1, …
	extra bool // one row more than the limit is read, to see whether there are more
}

// Sub writes a query in brackets.
func (w *Writer) Sub(q *plan.Query) *Writer {
	w.SQL("(")
	w.query(q, use{})
	return w.SQL(")")
}

// Named writes a query in brackets whose columns are called c0, c1, ….
func (w *Writer) Named(q *plan.Query) *Writer { return w.named(q) }

func (w *Writer) named(q *plan.Query) *Writer {
	w.SQL("(")
	w.query(q, use{names: true})
	return w.SQL(")")
}

func (w *Writer) query(q *plan.Query, u use) {
	if len(q.Sets) > 0 {
		w.sets(q, u)
		return
	}
	w.block(q, u)
}

func (w *Writer) block(q *plan.Query, u use) {
	var b block
	b.clause[with] = w.withs(q)
	b.distinct = q.Distinct
	b.clause[columns] = w.list(len(q.Out), func(p *Writer, i int) {
		o := q.Out[i]
		c, ok := o.Expr.(*plan.Column)
		switch {
		case u.extra && o.Gathered():
			p.d.Concat(p, o.Expr.(*plan.Call), false)
		case ok && !u.names:
			p.grouped = len(q.Group) > 0 || q.Distinct
			w.d.Output(p, c)
		case ok && c.Field != nil && (c.Field.Native != "" || c.Field.Array || c.Field.Type.Kind == schema.Enum):
			p.Expr(c) // what refers to the output knows it as text or JSON
		default:
			p.key(o.Expr)
		}
		if u.names {
			p.SQL(" AS ").Alias('c', i)
		}
	})
	if q.From != nil {
		b.clause[from] = w.text(func(p *Writer) { p.source(q.From) })
	}
	if len(q.Joins) > 0 {
		b.clause[joins] = w.text(func(p *Writer) {
			for i, j := range q.Joins {
				if i > 0 {
					p.SQL(" ")
				}
				p.join(j)
			}
		})
	}
	if q.Where != nil || q.After != nil {
		b.clause[where] = w.text(func(p *Writer) {
			switch {
			case q.After == nil:
				p.Expr(q.Where)
			case q.Where == nil:
				p.Expr(q.After)
			default:
				p.Expr(q.Where).SQL(" AND ").Expr(q.After)
			}
		})
	}
	b.clause[group] = w.list(len(q.Group), func(p *Writer, i int) { p.key(q.Group[i]) })
	if q.Having != nil {
		b.clause[having] = w.text(func(p *Writer) { p.Expr(q.Having) })
	}
	b.clause[order] = w.list(len(q.Order), func(p *Writer, i int) { p.order(q, q.Order[i], "") })
	b.clause[tail] = w.window(q, u)
	w.put(&b)
}

// put writes a block.
func (w *Writer) put(b *block) {
	text, err := b.text()
	if err != nil && *w.err == nil {
		*w.err = err
	}
	w.raw(text)
}

// list writes n things with commas between them as one clause.
func (w *Writer) list(n int, f func(p *Writer, i int)) string {
	if n == 0 {
		return ""
	}
	return w.text(func(p *Writer) { p.Commas(n, func(i int) { f(p, i) }) })
}

func (w *Writer) text(f func(p *Writer)) string {
	p := w.part()
	f(p)
	return p.b.String()
}

func (w *Writer) window(q *plan.Query, u use) string {
	limit := q.Limit
	if u.extra && limit >= 0 {
		limit++
	}
	return strings.TrimPrefix(w.text(func(p *Writer) { w.d.Limit(p, limit, q.Offset) }), " ")
}

// order writes one sort key; the columns of of, if it is given, are those of a derived table.
func (w *Writer) order(q *plan.Query, o plan.Order, of Text) {
	expr := o.Expr
	if expr == nil {
		expr = q.Out[o.Ordinal-1].Expr
	}
	key := func(w *Writer) {
		switch {
		case of != "":
			w.SQL(of).SQL(".").Alias('c', o.Ordinal-1)
		case o.Ordinal > 0:
			w.Int(int64(o.Ordinal))
		default:
			w.key(o.Expr)
		}
	}
	if o.Ordinal > 0 && of == "" && (o.Nulls != "" || o.Whole) {
		// An ordinal cannot stand inside an expression, which some databases need to place NULL or a large number.
		key = func(w *Writer) { w.key(expr) }
	}
	w.d.Order(w, o, key, notNull(expr) && of == "")
}

// sets writes set operations from left to right. A branch with an order, a limit or set operations of its
// own becomes a derived table, and so does the left side before INTERSECT, which binds tighter than the
// others in some databases.
func (w *Writer) sets(q *plan.Query, u use) {
	w.derived(q)
	var b block
	b.clause[with] = w.withs(q)
	first := *q
	first.Sets, first.Order, first.Limit, first.Offset, first.With = nil, nil, -1, 0, nil
	left := w.part()
	left.branch(&first)
	for i, s := range q.Sets {
		if i > 0 && s.Op == "intersect" {
			wrapped := w.part()
			wrapped.SQL("SELECT ").Commas(len(q.Out), func(k int) { wrapped.SQL("l.").Alias('c', k).SQL(" AS ").Alias('c', k) })
			wrapped.SQL(" FROM (")
			wrapped.raw(left.b.String())
			wrapped.SQL(") AS l")
			left = wrapped
		}
		left.SQL(setWords[s.Op])
		left.branch(s.Query)
	}
	b.clause[columns] = w.list(len(q.Out), func(p *Writer, i int) {
		if !u.names {
			w.d.Plain(p)
		}
		p.SQL("q.").Alias('c', i)
		if u.names {
			p.SQL(" AS ").Alias('c', i)
		}
	})
	b.clause[from] = "(" + left.b.String() + ") AS q"
	b.clause[order] = w.list(len(q.Order), func(p *Writer, i int) { p.order(q, q.Order[i], "q") })
	b.clause[tail] = w.window(q, u)
	w.put(&b)
}

// derived refuses a query that would become a derived table and names a source outside it, where the database
// does not let such a table see that source.
func (w *Writer) derived(q *plan.Query) {
	if w.d.Name() == "mysql" && q.Correlated() {
		w.Fail("a nested query that names an outer resource and has a limit or set operations")
	}
}

var setWords = map[string]Text{"union": " UNION ", "unionAll": " UNION ALL ", "intersect": " INTERSECT ", "except": " EXCEPT "}

func (w *Writer) branch(q *plan.Query) {
	if len(q.Sets) == 0 && q.Limit < 0 && q.Offset == 0 && len(q.With) == 0 && !walks(q) {
		q := *q
		q.Order = nil
		w.block(&q, use{names: true})
		return
	}
	w.SQL("SELECT ").Commas(len(q.Out), func(k int) { w.SQL("b.").Alias('c', k).SQL(" AS ").Alias('c', k) })
	w.SQL(" FROM ").named(q).SQL(" AS b")
}

func walks(q *plan.Query) bool {
	if q.From != nil && q.From.Walk != nil {
		return true
	}
	for _, j := range q.Joins {
		if j.Source.Walk != nil {
			return true
		}
	}
	return false
}
