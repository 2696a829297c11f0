package query

// An Expr is a parsed expression: *Name, *Literal, *Call, *Unary, *Binary, *Is, *InList, *Range, *Match or
// *Case. There is no node for text that was not understood.
type Expr interface {
	// Pos is the byte offset in the expression's text.
	Pos() int
	expr()
}

// An Offset is where in its text a node begins.
type Offset int

// Pos gives the offset.
func (o Offset) Pos() int { return int(o) }

type (
	// A Name refers to a field: one part is a bare field, more are `{Resource}.{field}`.
	Name struct {
		Offset
		Parts []string
	}
	// A Literal is a constant: Kind is i (integer), d (decimal), s (string), b (TRUE, FALSE) or n (NULL).
	Literal struct {
		Offset
		Kind byte
		Text string
	}
	// A Call is a function call. Type is the target of CAST, Unit the unit of EXTRACT and of intervals.
	Call struct {
		Offset
		Name      string // upper case
		Star      bool   // COUNT(*)
		Distinct  bool
		Args      []Expr
		Type      string // CAST(x AS Type), upper case, with digits as written
		OrderBy   []By   // inside GROUP_CONCAT and STRING_AGG
		Separator *Literal
		Over      *Window
	}
	// A Window is what follows OVER.
	Window struct {
		Partition []Expr
		OrderBy   []By
		Frame     *Frame
	}
	// A Frame is the rows a window function sees.
	Frame struct {
		Unit     string // ROWS or RANGE
		From, To Bound
	}
	// A Bound is one end of a frame: Kind is UNBOUNDED, PRECEDING, FOLLOWING or CURRENT.
	Bound struct {
		Kind      string
		Rows      int64
		Following bool // for UNBOUNDED: FOLLOWING
	}
	// A By is one sort key inside an expression.
	By struct {
		Expr  Expr
		Desc  bool
		Nulls string
	}
	// A Unary is -x or NOT x.
	Unary struct {
		Offset
		Op string
		X  Expr
	}
	// A Binary is an arithmetic operator, a comparison, ||, AND or OR.
	Binary struct {
		Offset
		Op   string
		L, R Expr
	}
	// An Is is x IS [NOT] NULL, TRUE or FALSE; Word says which.
	Is struct {
		Offset
		X    Expr
		Word string
		Not  bool
	}
	// An InList is x [NOT] IN (…).
	InList struct {
		Offset
		X    Expr
		List []Expr
		Not  bool
	}
	// A Range is x [NOT] BETWEEN Low AND High.
	Range struct {
		Offset
		X, Low, High Expr
		Not          bool
	}
	// A Match is x [NOT] LIKE Pattern, or REGEXP.
	Match struct {
		Offset
		X, Pattern Expr
		Not        bool
		Regexp     bool
	}
	// A Case is CASE [Operand] WHEN … END.
	Case struct {
		Offset
		Operand Expr
		Whens   []When
		Else    Expr
	}
	// A When is one branch of a Case.
	When struct{ If, Then Expr }
	// An Interval is INTERVAL n unit. It stands only beside + and - and in DATE_ADD and DATE_SUB.
	Interval struct {
		Offset
		N    Expr
		Unit string // upper case singular: DAY, MONTH, …
	}
)

func (*Name) expr()     {}
func (*Literal) expr()  {}
func (*Call) expr()     {}
func (*Unary) expr()    {}
func (*Binary) expr()   {}
func (*Is) expr()       {}
func (*InList) expr()   {}
func (*Range) expr()    {}
func (*Match) expr()    {}
func (*Case) expr()     {}
func (*Interval) expr() {}
