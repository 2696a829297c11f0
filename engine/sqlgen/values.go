package sqlgen

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"

	"resq/engine/plan"
	"resq/schema"
)

// Note [long lists]
//
// The values of a set may be many. Up to listed of them stand in the statement one by one, which every optimiser turns
// into an index range. More go as one argument, which the database reads as a table for the length of the statement: an
// array on PostgreSQL, a JSON array on the others. So there is no temporary table to be made, for which a connection
// that only reads has no right, and the text of the statement does not grow with the set. Kinds of values whose forms the
// databases do not share stay in a list, as long as it fits a statement.

const (
	// listed is the longest list of which each value is an argument of its own.
	listed = 1000
	// crowded is how many arguments of a statement let shorter lists, too, be one.
	crowded = 20_000
	// chunk is the longest JSON text of one argument: MySQL bounds what one may hold.
	chunk = 2 << 20
)

// A Values is the values of a long list.
type Values struct {
	T    schema.Type
	Ints []int64
	// Texts are those of a text, where there are no Ints.
	Texts []string
	// Crowded says that the statement has no room for the list.
	Crowded bool
	of      *plan.List
}

// Longest is the number of characters of the longest text.
func (v *Values) Longest() int {
	n := 0
	for _, s := range v.Texts {
		n = max(n, utf8.RuneCountInString(s))
	}
	return n
}

// tabled writes X IN (…) with all values in one argument. It says false, and writes nothing, for a list that is short,
// or of values that cannot be carried so.
func (w *Writer) tabled(x *plan.List) bool {
	n := len(x.Xs)
	full := len(*w.args)+2*n > crowded
	if n <= listed && (!full || n < 16) {
		return false
	}
	t := x.X.Type()
	if t.Kind != schema.Integer && !t.Kind.Textual() {
		return false
	}
	v := Values{T: t, Crowded: full, of: x}
	for _, e := range x.Xs {
		a, ok := e.(*plan.Arg)
		if !ok {
			return false
		}
		switch s := a.Value.(type) {
		case int64:
			v.Ints = append(v.Ints, s)
		case string:
			if utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 { // no column holds another
				v.Texts = append(v.Texts, s)
			}
		default:
			return false
		}
	}
	if t.Kind == schema.Integer && len(v.Ints) != n || t.Kind != schema.Integer && len(v.Ints) > 0 {
		return false
	}
	return w.d.Among(w, x, &v)
}

// JSON gives the values as JSON arrays that are not too long for an argument.
func (v *Values) JSON() []string {
	var out []string
	b := []byte{'['}
	add := func(one []byte) {
		if len(b)+len(one) >= chunk {
			out = append(out, string(append(b, ']')))
			b = []byte{'['}
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(b, one...)
	}
	for _, n := range v.Ints {
		add(strconv.AppendInt(nil, n, 10))
	}
	for _, s := range v.Texts {
		one, _ := json.Marshal(s) // a text is JSON
		add(one)
	}
	return append(out, string(append(b, ']')))
}

// Document binds one argument that holds values and gives its number.
func (w *Writer) Document(v *Values, text string, reuse bool) int {
	return w.Bind(&plan.Arg{Value: text, T: schema.Type{Kind: schema.JSON}, Many: v.of.Xs}, text, reuse)
}

// Each writes what one does with each of some things, joined by OR, or by AND where x is negated.
func (w *Writer) Each(x *plan.List, docs []string, one func(doc string)) {
	w.SQL("(")
	for i, doc := range docs {
		switch {
		case i > 0 && x.Not:
			w.SQL(" AND ")
		case i > 0:
			w.SQL(" OR ")
		}
		one(doc)
	}
	w.SQL(")")
}
