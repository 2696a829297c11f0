// Package query is the request language: what a caller may ask, before any name is looked up. It decodes
// requests strictly, parses expressions, and checks shape and size.
package query

// A Request is one read as asked. It stands for the whole tool call and for every nested query.
type Request struct {
	At         string // JSON Pointer of this request
	Resource   string
	Code       string // name of the main resource inside this request; "" is Resource
	Fields     []Field
	Distinct   bool
	Relations  []Relation
	Conditions *Node
	GroupBy    []Item
	Having     *Node
	OrderBy    []Order
	SetOps     []SetOp
	With       []With
	Recursive  *Recursive
	Limit      int64 // -1 when absent
	Offset     int64
	Total      bool
	Cursor     string
	Format     Format

	body value // as sent
}

// A Format is the form of an answer's rows.
type Format string

// The formats of an answer.
const (
	Columns  Format = "columns"
	Objects  Format = "objects"
	CSV      Format = "csv"
	Markdown Format = "markdown"
)

// A Field is one output.
type Field struct {
	At       string
	Code     string // of a plain field
	Resource string // codeResource; "" is the main resource
	Alias    string
	DataType string
	Expr     Expr // when isExpr
}

// Name is the output's name.
func (f *Field) Name() string {
	if f.Alias != "" {
		return f.Alias
	}
	return f.Code
}

// A Relation is one join.
type Relation struct {
	At         string
	Code       string
	Resource   string // actuallyResource
	Field      string // actuallyField; "" when the conditions alone join
	ToResource string // relationResource
	ToField    string // relationField
	Type       string // inner, left, right or cross
	Conditions *Node
}

// An Item is one entry of groupBy: a `{Resource}.{field}` text or an expression.
type Item struct {
	At    string
	Text  string // as written
	Field string // type field, still unsplit
	Expr  Expr   // type sql
	Plain bool   // written as a bare string
}

// An Order is one entry of orderBy.
type Order struct {
	Item
	Desc  bool
	Nulls string // "", first or last
}

// A SetOp combines the rows so far with those of another query.
type SetOp struct {
	At    string
	Op    string // union, unionAll, intersect or except
	Query *Request
}

// A With names a query that the request may use as a resource or, in an expression, as a scalar.
type With struct {
	At    string
	Code  string
	Query *Request
}

// A Recursive walks a tree.
type Recursive struct {
	At            string
	Parent, Child string // pField and cField, unsplit
	Root          string
	Depth         int64 // 0 when absent
	Level, Path   string
	IncludeRoot   bool
}

// A Node is a group of conditions, joined by and or or.
type Node struct {
	At       string
	Or, Not  bool
	Leaves   []*Leaf
	Children []*Node
}

// A TokenType says what a leaf's token is.
type TokenType string

// The token types. The last three stand only in conditions that the catalog declares, and a param only in those of a
// business tool, whose arguments take its place before the condition is asked.
const (
	TokenString    TokenType = "string"
	TokenFunc      TokenType = "func"
	TokenField     TokenType = "field"
	TokenExpr      TokenType = "expr"
	TokenQuery     TokenType = "query"
	TokenPrincipal TokenType = "principal"
	TokenSet       TokenType = "set"
	TokenParam     TokenType = "param"
)

// A Leaf is one comparison.
type Leaf struct {
	At        string
	Field     string
	Resource  string // fieldResource; "" is the default source of the place
	Expr      Expr   // when isExpr
	Func      string // fieldSqlFunc
	HasFunc   bool
	Param     string // fieldSqlFuncParam
	HasParam  bool
	ParamArgs []Expr // Param read as a list of literals; nil for JSON functions and CAST
	Op        Op
	TokenType TokenType
	Token     string
	HasToken  bool
	Tokens    []string
	HasTokens bool
	Places    []int32  // of the tokens in the arguments; 0 is unknown
	TokenExpr Expr     // of TokenExpr
	Verbatim  Verbatim // of LIKE
	Query     *Request
}

// A Verbatim says where a text must stand that LIKE takes as it is, wildcards included. No request says it; the engine does
// where an argument of a tool asks for a part of a text.
type Verbatim uint8

// The places.
const (
	Pattern Verbatim = iota // the token is a pattern, or a part of one
	Anywhere
	AtStart
)

// An Op is a comparison operator.
type Op string

// The operators.
const (
	Eq         Op = "="
	Ne         Op = "!="
	Lt         Op = "<"
	Le         Op = "<="
	Gt         Op = ">"
	Ge         Op = ">="
	Like       Op = "LIKE"
	NotLike    Op = "NOT LIKE"
	In         Op = "IN"
	NotIn      Op = "NOT IN"
	Between    Op = "BETWEEN"
	NotBetween Op = "NOT BETWEEN"
	IsNull     Op = "IS NULL"
	IsNotNull  Op = "IS NOT NULL"
	Regexp     Op = "REGEXP"
	NotRegexp  Op = "NOT REGEXP"
	Exists     Op = "EXISTS"
	NotExists  Op = "NOT EXISTS"
)

// Limits bound a request (security.md 1.5). They may be lowered per key and raised only by the operator.
type Limits struct {
	Bytes       int // of the arguments
	Depth       int // of the JSON
	Fields      int
	Alias       int // characters
	Expr        int // characters
	ExprDepth   int
	ExprNodes   int
	CondDepth   int
	Leaves      int
	List        int // values of IN
	Token       int // bytes
	Pattern     int // characters of LIKE and REGEXP
	Wildcards   int
	Repeat      int // of REGEXP
	Joins       int
	LooseJoins  int // joins whose ON is no declared key
	GroupBy     int
	OrderBy     int
	DefaultRows int64
	MaxRows     int64
	Offset      int64
	WalkDepth   int64
	WalkRows    int64
	Queries     int // nested requests in one call
	Ids         int // rows of one update or delete
	Batch       int // records of one create
}

// Defaults are the limits of security.md 1.5.
func Defaults() Limits {
	return Limits{
		Bytes: 1 << 20, Depth: 64, Fields: 200, Alias: 64,
		Expr: 2000, ExprDepth: 32, ExprNodes: 200,
		CondDepth: 16, Leaves: 500, List: 1000, Token: 64 << 10,
		Pattern: 200, Wildcards: 8, Repeat: 100,
		Joins: 8, LooseJoins: 2, GroupBy: 16, OrderBy: 8,
		DefaultRows: 30, MaxRows: 1000, Offset: 100_000,
		WalkDepth: 32, WalkRows: 10_000, Queries: 32, Ids: 500, Batch: 500,
	}
}
