package schema

import (
	"slices"
	"strings"

	"resq/schema/query"
)

// A Tool is a business tool: a named call with arguments of its own, which a catalog declares. A preset is answered by
// the engine's own requests. All tools of a catalog are in one namespace.
type Tool struct {
	Name        string
	Title       Words
	Description Words
	Category    string
	Toolsets    []string
	Kind        string // preset, sql, context, metadata, query or export
	Lang        string // of what the engine itself says in answers: en or zh
	Roles       []string
	Params      []*Param
	Connections []*Connection // that a call may ask
	Slots       []*Slot       // what is settled by the call
	At          Pos

	// What a client is told of the effects of a call.
	ReadOnly, Idempotent, Destructive bool

	// Preset is what a tool of the kind preset asks; nil of others.
	Preset *Preset
	// SQL is what a tool of the kind sql asks; nil of others.
	SQL *SQL
	// Own is what this program's own tools on databases can be asked of; nil of others.
	Own *Own

	input  map[string][]byte // by language
	output []byte
	bound  map[string]*Tool // by what fills the slots of a preset
}

// Words are a text in the languages in which tools describe themselves. Zh is "" where one text serves all.
type Words struct{ En, Zh string }

// In gives the text for a language.
func (w Words) In(lang string) string {
	if lang == "zh" && w.Zh != "" || w.En == "" {
		return w.Zh
	}
	return w.En
}

// Input is the JSON Schema of the arguments, with its descriptions in a language. It is made once, when the catalog
// is loaded.
func (t *Tool) Input(lang string) []byte {
	if lang == "zh" {
		return t.input["zh"]
	}
	return t.input["en"]
}

// Output is the JSON Schema of an answer that did not fail.
func (t *Tool) Output() []byte { return t.output }

// Param finds an argument by its name; nil when the tool has none of that name.
func (t *Tool) Param(name string) *Param {
	for _, p := range t.Params {
		if p.Name == name {
			return p
		}
	}
	return nil
}

// A Param is one argument of a tool.
type Param struct {
	Name        string
	Description Words
	Type        string // string, integer, number, boolean, date or enum; of this program's own tools also values, a list of any scalars
	Required    bool
	Default     string // its text; HasDefault says whether there is one
	HasDefault  bool
	Min, Max    *int64
	MaxLength   int
	Clamp       bool // a number beyond Max becomes Max, with a notice
	Values      []string
	Labels      *TextMap // what the values mean

	// What an argument that was given asks of the rows. Field is the code of the field that it is compared with, "" where
	// it asks nothing by itself.
	Field     string
	Match     string  // exact, contains, prefix, in, from or to
	WholeDay  bool    // a date that ends a range of moments includes its day
	Overrides bool    // when it is given, no other argument narrows the rows
	Exists    *Exists // a row of another resource has the value, instead of the record itself
	Within    *Within // the rows that the query of the tool begins with have it, instead of those that it gives
	At        Pos
}

// A Within is a field of a resource that the query of a tool reads, under the code that the resource has there.
type Within struct {
	Source string
	Field  *Field
}

// Narrows says whether p asks something of the rows by itself.
func (p *Param) Narrows() bool { return p.Field != "" || p.Exists != nil || p.Within != nil }

// An Exists is a row of another resource that belongs to the record.
type Exists struct {
	Source *Resource
	On     []Pair // From there, To of the record
	Field  *Field
	Where  []*Clause
}

// Numbers says whether the values of an enum are whole numbers.
func (p *Param) Numbers() bool {
	return p.Type == "enum" && !slices.ContainsFunc(p.Values, func(v string) bool { return !digits(strings.TrimPrefix(v, "-")) })
}

func digits(s string) bool {
	return s != "" && len(s) <= 18 && strings.Trim(s, "0123456789") == ""
}

// A Preset is a tool made of the engine's requests.
type Preset struct {
	Shape    string // list, record, found, count or context
	Read     *Read  // nil of context and of a union
	Union    []*Branch
	Order    []Sort // of a union; the fields are the first branch's, and the others have them under the same codes
	Paging   Paging
	OneOf    *OneOf
	Record   string // the name of the record; "" where it is not shown
	Outputs  []*Column
	NotFound NotFound
	Audit    *Audit
	Examples []Example
}

// A Paging bounds the pages of a list. Strict refuses a page or a size below 1, instead of taking the default with a notice.
type Paging struct {
	Default, Max int64
	Strict       bool
}

// A OneOf is arguments of which one at least is needed.
type OneOf struct {
	Params []*Param
	Notice bool // an answer without a record instead of an error
	Text   string
}

// A NotFound is what is said when there is no row, or none that the caller sees.
type NotFound struct {
	Notice bool // an answer without a record instead of an error
	Text   string
}

// An Audit says which arguments the log of calls may hold.
type Audit struct {
	Args []string
	Mask map[string]string
}

// An Example is one call with the part of its answer that matters.
type Example struct {
	About, As    string
	Args, Answer []byte // JSON
	At           Pos
}

// A Read asks one resource for rows, or a query, whose outputs are then the fields of Source.
type Read struct {
	Source   *Resource
	Query    *query.Request           // nil where Source is a resource of the catalog
	Place    func(pointer string) Pos // of a part of Query in its file
	At       Pos                      // of what reads
	Where    []*Clause
	Order    []Sort
	Columns  []*Column
	Children []*Child
	Lookups  []*Lookup
	Fetch    []Fetch // what the statement reads, in order
}

// A Fetch is one value that a statement reads.
type Fetch struct {
	Field *Field
	Expr  query.Expr // when Field is nil
	Text  string     // of Expr
	At    Pos        // of Expr
}

// A Clause is a condition on the rows of a read, and when it counts. A comparison with an argument (query.TokenParam)
// that the call does not give asks nothing. One with a resource of its own is about the rows that the query of the read
// begins with, and not about those that it gives.
type Clause struct {
	When  *When // nil is always
	Cond  *query.Node
	Place func(pointer string) Pos // of a part of Cond in its file
}

// A When says when a part of a tool counts: all that stands in it must hold.
type When struct {
	Param         *Param
	Is            []string
	Given, Absent *Param
	Principal     *query.Node
}

// A Sort is one key of an order. Is puts the rows that have this value first.
type Sort struct {
	Field *Field
	Desc  bool
	Is    *string
	At    Pos // the zero place where it was added
}

// A Child is rows of another resource that belong to each record.
type Child struct {
	Name       string
	At         Pos
	Read       *Read
	On         []Link
	When       *When
	Groups     []*Field
	Limit      int64
	LimitParam *Param
	Several    bool // it may belong to several records in one call
}

// A Link joins a child to its record: the place in what the child fetches, and in what the record does.
type Link struct{ Child, Parent int }

// A Branch is one of the resources of a union.
type Branch struct {
	Name   string
	Read   *Read
	When   *When
	Key    *Field // tells documents apart; nil where every row is one
	Prefer []Sort
	ID     int // the place of the resource's key in what it fetches
}

// A Lookup is another resource that is asked by key, once for a page.
type Lookup struct {
	Source *Resource
	Key    *Field
	Fields []*Field
	By     []int // of what is fetched: the fields that hold its key
	At     Pos
}

// A Column is one output. Kind says which of the members count.
type Column struct {
	Name string
	Key  []byte // the name as a JSON object has it, with the colon
	Kind string // field, text, lookup, redis, derive, value, param, children, one, gather, split, distinct, total, truncated, object, choose, context or spread
	At   Pos

	Index  int    // of what is fetched: the field itself, the code of text, the key of lookup, what choose asks
	Field  *Field // for the type of the output
	Format string
	Mask   string
	Map    *TextMap
	Lookup *Lookup
	Take   int // of the lookup's fields
	Redis  *Redis
	Cases  []Derive
	Value  string // JSON: of value, and what is shown when nothing is found
	Param  *Param

	Child     *Child
	Outputs   []*Column // of the child that gather, split and distinct look at
	Hidden    bool      // an output of a child that only gather and split look at
	How       string
	Separator string
	Parts     []Part
	Columns   []*Column // of object
	Null      bool      // of object: when it is empty
	Choices   []Choice
	Else      *Column
	Context   string
}

// A Redis is a key in Redis, made of texts and of what was fetched.
type Redis struct {
	Connection *Connection
	Template   string
	Parts      []RedisPart
	As         string // string, number or json
	Fail       bool   // when Redis cannot be asked; else the default is shown
}

// A RedisPart is a text, or a value when Index is not below 0.
type RedisPart struct {
	Text  string
	Index int
}

// A Derive is one case of what is derived. Value is JSON; where it is "" the value at Index is shown.
type Derive struct {
	Filled int     // -1 is nothing
	Of     *Child  // whose rows Within looks at; nil is none
	Within *Column // that one of them must hold
	Equals []Equal
	Value  string
	Index  int
}

// An Equal compares what was fetched with a text.
type Equal struct {
	Index int
	Text  string
}

// A Part is one of the lists into which rows are parted.
type Part struct{ Name, Value string }

// A Choice is what is shown for one value.
type Choice struct {
	Value  string
	Column *Column
}

// Tool finds a tool by its name, in any of the spellings that clients use.
func (c *Catalog) Tool(name string) (*Tool, bool) {
	t, ok := c.tools[plainName(name)]
	return t, ok
}

// plainName makes the spellings of a tool's name equal: some clients take no dots, and some no hyphens.
func plainName(name string) string { return strings.NewReplacer(".", "_", "-", "_").Replace(name) }
