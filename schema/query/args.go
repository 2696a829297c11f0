package query

import (
	"strconv"

	"resq/schema/problem"
)

// An Arg is one argument of a call, as it was sent.
type Arg struct {
	Name string
	Kind string   // null, boolean, number, string, array or object
	Text string   // of a scalar
	List []string // of an array of scalars
}

// Args reads the arguments of a call as strictly as those of res-query: UTF-8, no name twice, no name but those
// known. A text that holds a JSON array is taken for it, as some clients send arrays that way. The error is a
// problem.List.
func Args(raw []byte, known []string, lim Limits) ([]Arg, error) {
	v, p := arguments(raw, lim)
	if p != nil {
		return nil, problem.List{p}
	}
	d := &decoder{lim: &lim}
	o := d.object(v, "", known)
	out := make([]Arg, 0, len(o.v.members))
	for i := range o.v.members {
		m := &o.v.members[i]
		at := "/" + pointer(m.key)
		a := Arg{Name: m.key, Text: m.val.text}
		val := m.val
		switch val.kind {
		case 'n':
			a.Kind = "null"
		case 'b':
			a.Kind = "boolean"
		case 'd':
			a.Kind = "number"
		case 's':
			a.Kind = "string"
			if len(val.text) > lim.Token {
				d.limit(at, "a value of "+strconv.Itoa(len(val.text))+" bytes", "at most "+strconv.Itoa(lim.Token))
			}
			if list := d.unwrap(val, '['); list.kind == 'a' {
				a.List = d.scalars(list.items, at)
			}
		case 'a':
			a.Kind, a.List = "array", d.scalars(val.items, at)
		case 'o':
			a.Kind = "object"
		}
		out = append(out, a)
	}
	return out, d.probs.Err()
}

// Whole reads a whole number as the arguments of tools write it: 1e2 is one.
func Whole(text string) (int64, bool) { return whole(text) }
