// Package plan binds a request to the catalog and turns it into a query with no name left to look up and no
// rule left to apply.
package plan

import (
	"resq/engine/funcs"
	"resq/engine/policy"
	"resq/schema"
	"resq/schema/query"
)

// A Plan is what rendering needs and nothing else does. Only Read makes one, after resolving every name in
// the principal's view and guarding every source.
type Plan struct {
	connection *schema.Connection
	root       *Query
	total      bool
	page       Page
	notices    []string
	slots      []Slot
	momentary  bool
	uses       []Use
	sources    []*Source
}

// A Use is a row rule that a plan applies, as it was decided for the principal.
type Use struct {
	Resource *schema.Resource
	Grant    policy.Grant
}

// Uses are the row rules that the plan applies, each once, in the order of their first place.
func (p *Plan) Uses() []Use { return p.uses }

// Connection is where the plan runs.
func (p *Plan) Connection() *schema.Connection { return p.connection }

// Root is the outermost query.
func (p *Plan) Root() *Query { return p.root }

// Total says whether all rows are to be counted too.
func (p *Plan) Total() bool { return p.total }

// Page is the window of rows that was asked for.
func (p *Plan) Page() Page { return p.page }

// Notices are what has to be said about the request itself.
func (p *Plan) Notices() []string { return p.notices }

// A Page is the window of rows that was asked for.
type Page struct {
	Limit, Offset int64
	Seen          int64 // rows in front of the cursor
	// Keys are the outputs of the root that hold the values of its sort keys, when the order is total and a
	// cursor can be made of them; else nil.
	Keys []int
}

// A Query is one query block, with the set operations that follow it.
type Query struct {
	With     []*CTE
	Out      []*Output
	Hidden   int // the last outputs, which are not shown
	From     *Source
	Joins    []*Join
	Where    Expr
	After    Expr // of a cursor; not counted into the total
	Group    []Expr
	Having   Expr
	Distinct bool
	Sets     []*Set
	Order    []Order
	Limit    int64 // -1 is none
	Offset   int64

	grouped bool
	keyed   bool // ordered by the keys of all that may repeat its rows
	single  bool // gives one row at most
}

// Single says whether the query is known to give one row at most.
func (q *Query) Single() bool { return q.single }

// An Output is one column of a query.
type Output struct {
	Name     string
	Expr     Expr
	DataType string        // asked for by the caller; "" is the type's own
	Field    *schema.Field // when Expr is a plain field
	Mask     string

	growth int
	shared schema.Type // what the terms of set operations have in common; Any where there are none
}

// Type is the type of the output's values.
func (o *Output) Type() schema.Type {
	if o.shared.Kind != schema.Any {
		return o.shared
	}
	return o.Expr.Type()
}

// Gathered says whether the output is a string aggregate and nothing else.
func (o *Output) Gathered() bool {
	c, ok := o.Expr.(*Call)
	return ok && c.Fn.Name == "GROUP_CONCAT"
}

// Calculated says whether the values are not those of a column, as they stand there.
func (o *Output) Calculated() bool {
	c, ok := o.Expr.(*Column)
	switch {
	case o.shared.Kind == schema.Decimal:
		return true
	case !ok:
		return o.Field == nil
	case c.Field == nil && c.Pseudo == "":
		return c.Source.CTE.Query.Out[c.Out].Calculated()
	}
	return false
}

// A Set combines a query's rows with those of another.
type Set struct {
	Op    string // union, unionAll, intersect or except
	Query *Query
}

// An Order is one sort key. Ordinal is the output it repeats, counted from 1, or 0. Whole says that the output may hold
// whole numbers of more than 64 bits.
type Order struct {
	Whole   bool
	Expr    Expr
	Ordinal int
	Desc    bool
	Nulls   string // "", first or last
}

// A CTE is a named query.
type CTE struct {
	ID    int
	Code  string
	Query *Query
}

// A Join adds a source. On is nil for a cross join.
type Join struct {
	Source *Source
	Type   string // inner, left, right or cross
	On     Expr
}

// A Source is one occurrence of a table or of a named query.
type Source struct {
	ID       int
	Code     string
	Resource *schema.Resource // nil when it reads a CTE
	CTE      *CTE
	Walk     *Walk // the part of a tree that is read instead of the whole table

	used    []*schema.Field
	guard   Guard
	guarded bool
	free    bool // in a set's query, which defines rules and is not under them
	deleted bool // a condition names the soft-delete column, so deleted rows are not hidden
	depth   int  // of rules inside rules
	outer   bool // an outer join may leave it empty
	merged  *Merge
}

// Merged are new values laid over the rows before a rule looks at them; nil is none.
func (s *Source) Merged() *Merge { return s.merged }

// Used are the fields that the request touches, wherever it touches them.
func (s *Source) Used() []*schema.Field { return s.used }

// Outer says whether a join may leave the source empty, so that all its columns are NULL.
func (s *Source) Outer() bool { return s.outer }

// Guard is the row rule of the source. It panics when the source has not been authorised: such a source
// must never be rendered.
func (s *Source) Guard() Guard {
	if !s.guarded {
		panic("plan: a source was not authorised")
	}
	return s.guard
}

// A Guard is a bound row rule: the rows of Inner for which Where holds.
type Guard struct {
	Inner *Source // the table under the guard; nil when every row is seen
	Where Expr
}

// A Walk is a bounded descent through a tree.
type Walk struct {
	ID          int
	Start, Step *Source // the same table, guarded, as first row and as child
	Root        Expr    // condition on Start
	Self        Expr    // condition on Start for the row that is the root itself; nil leaves it out
	RootText    string  // begins every path when Self is there
	// Repeat is the condition on Step of the first row that comes again, where that needs no paths: each row is
	// reached by one parent only, so what repeats first is the row at which the walk began. Nil wants paths.
	Repeat        Expr
	Parent, Child *schema.Field
	Key           *schema.Field // what tells rows apart: the resource's key, or Child
	Depth         int64
	Asked         bool // the depth was the caller's own
	Rows          int64
	Level, Path   bool

	levelName, pathName string
}

// An Expr is a typed, bound value. A nil Expr is no condition.
type Expr interface {
	Type() schema.Type
	expr()
}

type (
	// A Column is a field of a source, or an output of the named query it reads.
	Column struct {
		Source *Source
		Field  *schema.Field // nil for a CTE's output and for Level and Path
		Out    int           // index of the CTE's output
		Pseudo string        // level or path of a Walk
		T      schema.Type
		// Instant is a moment that keeps its zone as what it is: in UTC, and not as the local time of the connection.
		Instant bool
	}
	// An Arg is a value. It always leaves the program as an argument.
	Arg struct {
		Value any // nil, bool, int64, uint64, string or []byte; a decimal, date or time is its text
		T     schema.Type
		Zone  bool   // a datetime with zone
		Bare  bool   // takes the column's own type, such as an enum's
		Kept  bool   // is in the very form in which the database keeps it
		Many  []Expr // what an argument of several values holds
	}
	// An Int is a small whole number the renderer may print itself.
	Int struct{ N int64 }
	// A Bool is TRUE or FALSE.
	Bool struct{ V bool }
	// A Call is a function of the table.
	Call struct {
		Fn       *funcs.Func
		Args     []Expr
		Distinct bool
		OrderBy  []Order
		Over     *Window
		T        schema.Type
	}
	// A Window is what a window function sees.
	Window struct {
		Partition []Expr
		OrderBy   []Order
		Frame     *query.Frame
	}
	// An Arith is + - * / % || or unary - (L nil).
	Arith struct {
		Op   string
		L, R Expr
		T    schema.Type
	}
	// A Logic joins conditions by AND or OR. An empty one does not exist.
	Logic struct {
		Or bool
		Xs []Expr
	}
	// A Not negates.
	Not struct{ X Expr }
	// A Compare compares two values of fitting types.
	Compare struct {
		Op    query.Op // = != < <= > >=
		L, R  Expr
		Exact bool // texts are equal only when they are the same, whatever the collation says
	}
	// A Null is X IS [NOT] NULL.
	Null struct {
		X   Expr
		Not bool
	}
	// A List is X [NOT] IN (…). An empty list matches nothing.
	List struct {
		X     Expr
		Xs    []Expr
		Not   bool
		Exact bool
	}
	// A Sub is X [NOT] IN (query).
	Sub struct {
		X     Expr
		Query *Query
		Not   bool
		Exact bool
	}
	// An Exists is [NOT] EXISTS (query).
	Exists struct {
		Query *Query
		Not   bool
	}
	// A Scalar is a query of one row and one column as a value.
	Scalar struct{ Query *Query }
	// A Like is X [NOT] LIKE Pattern with the escape character !.
	Like struct {
		X, Pattern Expr
		Not        bool
		Case       bool // respects case
	}
	// A Match is X [NOT] REGEXP Pattern, an RE2 pattern that was checked.
	Match struct {
		X, Pattern Expr
		Not        bool
		Case       bool
	}
	// A Case is CASE WHEN … END.
	Case struct {
		Whens []When
		Else  Expr
		T     schema.Type
	}
	// A Convert changes a value's type.
	Convert struct {
		X   Expr
		T   schema.Type
		How How
	}
	// A Format is a date or time as text.
	Format struct {
		X     Expr
		Parts []TimePart
	}
	// A Document reads a JSON document at Path: its scalar as text, its length when Length, or
	// the word for what it is when Kind.
	Document struct {
		Doc    Expr
		Path   Path
		Length bool
		Kind   bool
	}
	// A Contains tests JSON arrays: whether Doc, at Path, holds one of Values.
	Contains struct {
		Doc    Expr // JSON text or column
		Path   Path
		Values []Expr // the forms in which the value may stand in JSON: texts, numbers, booleans
		Not    bool
	}
	// A Unnest tests whether X is among the elements of the JSON array Doc.
	Unnest struct {
		X   Expr
		Doc Expr
		Not bool
	}
	// A Cut asks a walk what it left out: the repeats of a cycle, levels or rows.
	Cut struct {
		Source *Source
		What   string // cycle, depth or rows
	}
)

// How a conversion treats what does not convert.
type How uint8

// The ways. Strict gives NULL. Lead takes the leading number of a text, or 0, as arithmetic on text does in
// MySQL and SQLite. Key makes two sides of a comparison fit where the database does not do so by itself.
const (
	Strict How = iota
	Lead
	Key
)

// A TimePart is one element of a time format: a letter of strftime, or literal text when Letter is 0.
type TimePart struct {
	Letter byte // Y m d H M S j w
	Text   string
}

// Zoned gives the field of a moment that keeps its zone, also where the column is that of a named query, with the
// connection whose zone its local time is of.
func (x *Column) Zoned() (*schema.Field, *schema.Connection) {
	switch {
	case x.Field != nil && x.Field.Zone && x.Field.Type.Kind == schema.DateTime && !x.Field.Array && x.Field.Native == "":
		return x.Field, x.Source.Resource.Connection
	case x.Field == nil && x.Pseudo == "" && x.Source.CTE != nil && len(x.Source.CTE.Query.Sets) == 0:
		if c, ok := x.Source.CTE.Query.Out[x.Out].Expr.(*Column); ok {
			return c.Zoned()
		}
	}
	return nil, nil
}

// A Path leads into a JSON document.
type Path []Step

// A Step is a member's name, or an index when Name is "".
type Step struct {
	Name  string
	Index int
}

// A When is one branch of a Case.
type When struct{ If, Then Expr }

var boolean = schema.Type{Kind: schema.Bool}

func (x *Column) Type() schema.Type  { return x.T }
func (x *Arg) Type() schema.Type     { return x.T }
func (*Int) Type() schema.Type       { return schema.Type{Kind: schema.Integer} }
func (*Bool) Type() schema.Type      { return boolean }
func (x *Call) Type() schema.Type    { return x.T }
func (x *Arith) Type() schema.Type   { return x.T }
func (*Logic) Type() schema.Type     { return boolean }
func (*Not) Type() schema.Type       { return boolean }
func (*Compare) Type() schema.Type   { return boolean }
func (*Null) Type() schema.Type      { return boolean }
func (*List) Type() schema.Type      { return boolean }
func (*Sub) Type() schema.Type       { return boolean }
func (*Exists) Type() schema.Type    { return boolean }
func (*Like) Type() schema.Type      { return boolean }
func (*Match) Type() schema.Type     { return boolean }
func (x *Case) Type() schema.Type    { return x.T }
func (x *Convert) Type() schema.Type { return x.T }
func (*Format) Type() schema.Type    { return schema.Type{Kind: schema.Text} }
func (*Cut) Type() schema.Type       { return schema.Type{Kind: schema.Integer} }
func (*Contains) Type() schema.Type  { return boolean }
func (*Unnest) Type() schema.Type    { return boolean }

// Type is an integer for a length, else text.
func (x *Document) Type() schema.Type {
	if x.Length {
		return schema.Type{Kind: schema.Integer}
	}
	return schema.Type{Kind: schema.Text}
}

// Type is that of the query's only column.
func (x *Scalar) Type() schema.Type { return x.Query.Out[0].Type() }

func (*Column) expr()   {}
func (*Arg) expr()      {}
func (*Int) expr()      {}
func (*Bool) expr()     {}
func (*Call) expr()     {}
func (*Arith) expr()    {}
func (*Logic) expr()    {}
func (*Not) expr()      {}
func (*Compare) expr()  {}
func (*Null) expr()     {}
func (*List) expr()     {}
func (*Sub) expr()      {}
func (*Exists) expr()   {}
func (*Scalar) expr()   {}
func (*Like) expr()     {}
func (*Match) expr()    {}
func (*Case) expr()     {}
func (*Convert) expr()  {}
func (*Format) expr()   {}
func (*Document) expr() {}
func (*Cut) expr()      {}
func (*Contains) expr() {}
func (*Unnest) expr()   {}
