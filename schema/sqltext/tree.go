package sqltext

import "strconv"

// A Statement is one SELECT that was understood.
type Statement struct {
	Dialect Dialect
	Tokens  []Token
	Query   *Query
	Params  []*Param  // in the order of their places
	Tables  []*Table  // of the database, in the order of their places; names of common tables are none
	Calls   []*Call   // of functions, those in FROM included
	Columns []*Column // wherever one is named
	CTEs    []*CTE

	text    string
	end     int // the token behind the statement, without its own limit
	selects []*Select
	written map[int]string // tokens that are printed otherwise
	glued   map[int]bool   // brackets of calls, which stand right behind the name
}

// Limit is the statement's own limit; nil is none. Print leaves it out.
func (s *Statement) Limit() *Limit { return s.Query.Limit }

// At is where a token stands in the text, as line:column.
func (s *Statement) At(tok int) string {
	line, col := Place(s.text, s.Tokens[tok].Pos)
	return strconv.Itoa(line) + ":" + strconv.Itoa(col)
}

// CTEAt is where a named query is named, as line:column.
func (s *Statement) CTEAt(c *CTE) string { return s.At(c.tok) }

// A Param is one occurrence of :name.
type Param struct {
	Name string
	Tok  int
	// Cast says that the parameter is itself what a CAST converts, so that its type is known there.
	Cast string
	// Null says that IS NULL is asked of the parameter itself, which tells nothing of its type.
	Null bool
}

// A Query is a SELECT, or several that set operations combine, with what stands in front and behind.
type Query struct {
	With      []*CTE
	Recursive bool
	Terms     []*Term
	Order     []*Expr
	Limit     *Limit

	outer  *Query // the query in which this one stands
	from   *Select
	exists bool // stands in EXISTS, where outputs do not matter
	first  int  // tokens
	last   int
}

// A Term is one operand of set operations: a SELECT, a query in brackets, or VALUES. One of the three is there.
type Term struct {
	Select *Select
	Query  *Query
	Values []*Expr
}

// A Select is one SELECT without set operations.
type Select struct {
	Distinct bool
	Items    []*Item
	From     []*Source
	Joins    []*Join // with a condition
	Where    *Expr
	Group    []*Expr
	Having   *Expr
	Windows  []*Expr

	query *Query
}

// An Item is one output of a SELECT.
type Item struct {
	Expr  *Expr
	Alias string // "" is none
	Star  *Column
}

// A Source is one entry of FROM. Exactly one of Table, CTE, Query and Call is there.
type Source struct {
	Alias   string // "" is none
	Columns []string
	Table   *Table
	CTE     *CTE
	Query   *Query
	Call    *Call
}

// name is what columns are qualified with.
func (s *Source) name() string {
	switch {
	case s.Alias != "":
		return s.Alias
	case s.Table != nil:
		return s.Table.Name
	case s.CTE != nil:
		return s.CTE.Name
	case s.Call != nil:
		return s.Call.Name
	}
	return ""
}

// A Join is a condition between sources.
type Join struct {
	Natural bool
	Using   []string
	On      *Expr
	tok     int
}

// A Table is one occurrence of a table of the database.
type Table struct {
	Schema, Name string
	Alias        string // "" is none
	First, Last  int    // the tokens of its name
}

// A CTE is a query named by WITH.
type CTE struct {
	Name    string
	Columns []string
	Query   *Query
	tok     int
}

// A Call is one call of a function.
type Call struct {
	Schema, Name string // Name is in lower case unless it was quoted
	tok          int
}

// A Column is one place at which a column is named: column, source.column or schema.table.column. Star is for source.*
// and *.
type Column struct {
	Path        []string
	Star        bool
	First, Last int // tokens

	in     *Select // whose sources it may mean; nil is none
	query  *Query
	use    use
	lonely bool // is all of its expression
	item   *Item
}

// name is the column's own name; "" is every column's.
func (c *Column) name() string {
	if c.Star {
		return ""
	}
	return c.Path[len(c.Path)-1]
}

// use is what a column is named for.
type use uint8

const (
	inItem use = iota
	inWhere
	inJoin
	inGroup
	inHaving
	inOrder
	inWindow
	inValues
)

// An Expr is an expression: what it refers to, but not how it calculates. That is the database's.
type Expr struct {
	First, Last int // tokens
	Columns     []*Column
	Column      *Column // when it is a column and nothing else
	Position    int     // when it is a whole number and nothing else; else 0
}

// A Limit is how many rows a query gives at most.
type Limit struct {
	Rows   int64
	Offset int64
}
