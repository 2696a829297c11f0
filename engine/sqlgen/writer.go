// Package sqlgen writes a plan as one SQL statement for one dialect.
package sqlgen

import (
	"strconv"
	"strings"

	"resq/engine/plan"
	"resq/schema"
	"resq/schema/problem"
)

// Text is SQL that stands in this program's source. Other packages can only write untyped constants where
// it is wanted, or take one from the function table: a caller's string does not compile.
type Text string

// Bounds of one statement: what every database takes, with room to spare.
const (
	maxArgs = 30_000
	maxText = 1 << 20
)

// A Writer collects a statement. Text comes only from source constants and quoted catalog names; values
// only as arguments. The first failure sticks.
type Writer struct {
	b     strings.Builder
	d     Dialect
	args  *[]any
	given *[]*plan.Arg
	keys  *[]string // of arguments of SQL of others
	fence bool
	err   *error

	grouped bool
}

// Grouped says whether the outputs that are being written stand for several rows, so that they must be what those were
// grouped by.
func (w *Writer) Grouped() bool { return w.grouped }

func newWriter(d Dialect, fence bool) *Writer {
	return &Writer{d: d, args: new([]any), given: new([]*plan.Arg), keys: new([]string), fence: fence, err: new(error)}
}

// part gives a writer for one clause: a text of its own, but the same arguments, in the order of writing.
func (w *Writer) part() *Writer {
	return &Writer{d: w.d, args: w.args, given: w.given, keys: w.keys, fence: w.fence, err: w.err}
}

// SQL writes constant text.
func (w *Writer) SQL(s Text) *Writer {
	w.raw(string(s))
	return w
}

func (w *Writer) raw(s string) {
	if w.b.Len()+len(s) > maxText {
		w.fail(problem.LimitExceeded, "the request makes a statement that is too long")
		return
	}
	w.b.WriteString(s)
}

// Int writes a whole number that this program chose or checked.
func (w *Writer) Int(n int64) *Writer {
	w.raw(strconv.FormatInt(n, 10))
	return w
}

// Ident writes a catalog name in quotes, doubling those inside it.
func (w *Writer) Ident(name string) *Writer {
	q := string(w.d.Quote())
	w.raw(q)
	w.raw(strings.ReplaceAll(name, q, q+q))
	w.raw(q)
	return w
}

// Alias writes a name this program made: a letter and a number.
func (w *Writer) Alias(letter byte, id int) *Writer {
	w.raw(string(letter) + strconv.Itoa(id))
	return w
}

// Arg writes a value as an argument.
func (w *Writer) Arg(a *plan.Arg) *Writer {
	if a.Value == nil {
		w.d.Null(w, a.T)
		return w
	}
	w.d.Placeholder(w, a)
	return w
}

// Bind adds an argument and gives its number, counted from 1. Where reuse is true an equal argument is
// used again: PostgreSQL takes two expressions for the same only when their arguments have the same number.
func (w *Writer) Bind(a *plan.Arg, value any, reuse bool) int {
	if reuse && len(*w.given) <= 256 {
		for i, old := range *w.given {
			if old != nil && old.T.Kind == a.T.Kind && old.Zone == a.Zone && old.Bare == a.Bare && equal((*w.args)[i], value) {
				return i + 1
			}
		}
	}
	if len(*w.args) == maxArgs {
		w.fail(problem.LimitExceeded, "the request has too many values")
		return 1
	}
	*w.args = append(*w.args, value)
	*w.given = append(*w.given, a)
	return len(*w.args)
}

func equal(a, b any) bool {
	switch a.(type) {
	case string, int64, float64, bool, uint64:
		return a == b
	}
	return false
}

// Expr writes an expression.
func (w *Writer) Expr(e plan.Expr) *Writer {
	w.expr(e)
	return w
}

// Fail refuses what a database cannot do: an error, never an approximation.
func (w *Writer) Fail(what Text) {
	w.fail(problem.InvalidArgument, string(what)+" is not supported by "+w.d.Name())
}

func (w *Writer) fail(code problem.Code, message string) {
	if *w.err == nil {
		*w.err = problem.List{{Code: code, Stage: problem.Semantics, Message: message}}
	}
}

// Commas writes n things with commas between them.
func (w *Writer) Commas(n int, f func(i int)) *Writer {
	for i := 0; i < n; i++ {
		if i > 0 {
			w.SQL(", ")
		}
		f(i)
	}
	return w
}

func (w *Writer) column(c *plan.Column) {
	w.Alias('s', c.Source.ID).SQL(".")
	switch {
	case c.Pseudo == "level":
		w.SQL("resq_level")
	case c.Pseudo == "path":
		w.SQL("resq_path")
	case c.Field == nil:
		w.Alias('c', c.Out)
	default:
		w.Ident(c.Field.Column)
	}
}

// Column writes a column as the database has it.
func (w *Writer) Column(c *plan.Column) *Writer {
	w.column(c)
	return w
}

func (w *Writer) table(r *schema.Resource) {
	if r.Schema != "" {
		w.Ident(r.Schema).SQL(".")
	}
	w.Ident(r.Table)
}
