// Package funcs is the table of functions a request may call: one row a function, all dialects side by side.
package funcs

import (
	"strings"

	"resq/schema"
)

// A Class says where a function may stand.
type Class uint8

// The classes.
const (
	Scalar Class = iota
	Aggregate
	Window // only with OVER
)

// A Kind is what an argument must be. Want is converted to; anything else is taken as it is.
type Kind uint8

// The kinds of arguments.
const (
	Any      Kind = iota
	Text          // made text
	Num           // made a number
	Moment        // made a datetime
	Day           // a date or datetime, as it is
	Clock         // a time of day, as it is, or what can be made a datetime
	LitInt        // a literal whole number within Min and Max
	LitText       // a literal string of Min to Max characters
	Doc           // a JSON document
	SameType      // made the type that all arguments of this kind share
)

// An Arg describes one argument.
type Arg struct {
	Kind     Kind
	Min, Max int64
}

// A Func is one row of the table.
type Func struct {
	Name     string
	Aliases  string // other names, with blanks between them
	Doc      string // what it gives, for the reference
	Class    Class
	Args     []Arg
	Optional int  // how many of the last Args may be left out
	Variadic bool // the last Arg may be repeated
	Result   Result
	Leaf     bool // may be fieldSqlFunc: one field, then literals
	// The texts, in which {0} is the first argument and {*|before|after|between} all of them. A text for fewer
	// arguments may be given with Short; without one an absent number is 0.
	MySQL, Postgres, SQLite Template
	Short                   *Func // the texts when the optional arguments are absent
	Exact                   *Func // the texts for whole numbers and decimals
	Whole                   *Func // the texts for whole numbers
}

// A Result says what a function gives.
type Result uint8

// The results. Same is the type of the first argument, Shared the one that all arguments of kind SameType
// share and that is known where the call is bound.
const (
	Integer Result = iota
	Number
	String
	Date
	DateTime
	Time
	Boolean
	Same
	Shared
	SumOf   // of the first argument
	RoundOf // of the first argument
)

// A Template is SQL text with places for arguments. Only this package's table holds any, so no text of a
// caller ever gets here.
type Template string

// Text gives the template for a dialect: mysql, postgres or sqlite.
func (f *Func) Text(dialect string) Template {
	switch dialect {
	case "mysql":
		return f.MySQL
	case "postgres":
		return f.Postgres
	}
	return f.SQLite
}

// all gives one text to all dialects.
func (f Func) all(t Template) Func {
	f.MySQL, f.Postgres, f.SQLite = t, t, t
	return f
}

var lists = [][]Func{textFuncs, numberFuncs, timeFuncs, logicFuncs, aggregateFuncs, windowFuncs}

var byName = map[string]*Func{}
var names []string

func init() {
	for _, list := range lists {
		for i := range list {
			f := &list[i]
			f.Exact, f.Whole = f.with(f.Exact), f.with(f.Whole)
			for _, n := range append([]string{f.Name}, strings.Fields(f.Aliases)...) {
				if byName[n] != nil {
					panic("funcs: two functions named " + n)
				}
				byName[n] = f
				if !strings.HasPrefix(n, "#") {
					names = append(names, n)
				}
			}
		}
	}
}

// with gives the function with other texts.
func (f *Func) with(texts *Func) *Func {
	if texts == nil {
		return nil
	}
	v := *f
	v.MySQL, v.Postgres, v.SQLite, v.Exact, v.Whole = texts.MySQL, texts.Postgres, texts.SQLite, nil, nil
	return &v
}

// For gives the function with the texts that fit the type of its first argument.
func (f *Func) For(t schema.Type) *Func {
	switch {
	case f.Whole != nil && t.Kind == schema.Integer:
		return f.Whole
	case f.Exact != nil && (t.Kind == schema.Integer || t.Kind == schema.Decimal && t.Precision > 0):
		return f.Exact
	}
	return f
}

// Lookup finds a function by any of its names, in upper case. Names that begin with # are the table's own
// and are not found by callers' names, which cannot hold that character.
func Lookup(name string) (*Func, bool) {
	f, ok := byName[name]
	return f, ok
}

// Must finds a function the program itself needs.
func Must(name string) *Func {
	f, ok := byName[name]
	if !ok {
		panic("funcs: no function " + name)
	}
	return f
}

// Names lists the names a caller may use, for hints.
func Names() []string { return names }

// Type gives the result type for arguments of these types.
func (f *Func) Type(args []schema.Type) schema.Type {
	switch f.Result {
	case Number:
		return schema.Type{Kind: schema.Number}
	case String:
		return schema.Type{Kind: schema.Text}
	case Date:
		return schema.Type{Kind: schema.Date}
	case DateTime:
		return schema.Type{Kind: schema.DateTime}
	case Time:
		return schema.Type{Kind: schema.Time}
	case Boolean:
		return schema.Type{Kind: schema.Bool}
	case Same:
		return args[0]
	case SumOf:
		switch t := args[0]; t.Kind {
		case schema.Integer:
			return t
		case schema.Decimal:
			return schema.Type{Kind: schema.Decimal, Precision: 38, Scale: t.Scale}
		}
		return schema.Type{Kind: schema.Number}
	case RoundOf:
		switch t := args[0]; {
		case t.Kind == schema.Integer:
			return t
		case t.Kind == schema.Decimal && t.Precision > 0:
			return schema.Type{Kind: schema.Decimal, Precision: 38}
		}
		return schema.Type{Kind: schema.Number}
	}
	return schema.Type{Kind: schema.Integer}
}

// arg describes argument i, repeating the last of a variadic function.
func (f *Func) arg(i int) Arg {
	if i >= len(f.Args) {
		return f.Args[len(f.Args)-1]
	}
	return f.Args[i]
}

// Arg describes argument i, repeating the last of a variadic function.
func (f *Func) Arg(i int) Arg { return f.arg(i) }

// Takes says whether n arguments are enough and not too many.
func (f *Func) Takes(n int) bool {
	return n >= len(f.Args)-f.Optional && (n <= len(f.Args) || f.Variadic)
}
