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

	Values []Arg // of the array that Values asks for, whose entries may be null
}

// Args reads the arguments of a call as strictly as those of res-query: UTF-8, no name twice, no name but those
// known. A text that holds a JSON array is taken for it, as some clients send arrays that way. The error is a
// problem.List.
func Args(raw []byte, known []string, lim Limits) ([]Arg, error) { return Values(raw, known, "", lim) }

// Values is Args, with the entries of one array as they were sent, null among them.
func Values(raw []byte, known []string, array string, lim Limits) ([]Arg, error) {
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
			if list := d.unwrap(val, '['); list.kind == 'a' && m.key == array {
				a.Kind, a.Values = "array", d.values(list.items, at)
			} else if list.kind == 'a' {
				a.List = d.scalars(list.items, at)
			}
		case 'a':
			if a.Kind = "array"; m.key == array {
				a.Values = d.values(val.items, at)
			} else {
				a.List = d.scalars(val.items, at)
			}
		case 'o':
			a.Kind = "object"
		}
		out = append(out, a)
	}
	return out, d.probs.Err()
}

// values are the entries of an array: scalars, or null.
func (d *decoder) values(items []value, at string) []Arg {
	if len(items) > d.lim.List {
		d.limit(at, strconv.Itoa(len(items))+" values", "at most "+strconv.Itoa(d.lim.List))
		return nil
	}
	kinds := map[byte]string{'n': "null", 'b': "boolean", 'd': "number", 's': "string"}
	out := []Arg{}
	for i, x := range items {
		a := Arg{Kind: kinds[byte(x.kind)], Text: x.text}
		if a.Kind == "" || len(x.text) > d.lim.Token {
			d.scalar(x, at+"/"+strconv.Itoa(i)) // says what is wrong
		}
		out = append(out, a)
	}
	return out
}

// Whole reads a whole number as the arguments of tools write it: 1e2 is one.
func Whole(text string) (int64, bool) { return whole(text) }
