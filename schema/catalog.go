// Package schema is the catalog: the connections, resources, fields, relations, rules, sets and texts that
// YAML files declare. Load reads and checks them; a Catalog never changes afterwards.
package schema

import (
	"slices"
	"strconv"
	"time"

	"resq/schema/query"
)

// A Pos is where in the catalog files a thing was declared.
type Pos struct {
	File         string
	Line, Column int
}

func (p Pos) String() string {
	if p.File == "" {
		return ""
	}
	return p.File + ":" + strconv.Itoa(p.Line) + ":" + strconv.Itoa(p.Column)
}

// A Connection is one database, or one Redis.
type Connection struct {
	Name    string
	Driver  string        // mysql, postgres, sqlite or redis
	DSN     string        // with ${ENV} already filled in; never shown
	Write   bool          // mode: write
	Control bool          // the operations of writes are kept in the control store, not beside the data
	Zone    string        // IANA name of the zone in which the database keeps local times; "" is UTC
	Timeout time.Duration // of one read; 0 is the engine's default
	Pool    int           // connections at most; 0 is the engine's default
	Schemas []string      // database schemas that tables may come from; empty allows all
	// Tables are those that SQL of others may read, as TABLE or SCHEMA.TABLE; empty allows all but the database's own.
	Tables    []string
	Functions []string // that SQL of others may call beside those that are always allowed
	Tools     []string // groups of this program's own tools that it has: metadata, query, export
	At        Pos
}

// A Resource is a table or view under the names its callers know.
type Resource struct {
	Code, Name, Description string
	Schema, Table           string // Schema is "" for the connection's own
	View                    bool
	Connection              *Connection
	Key                     []*Field
	Fields                  []*Field
	Relations               []*Relation
	SoftDelete              *SoftDelete
	Writes                  []string      // create, update, delete
	Confirm                 string        // token, strict, human or none
	Version                 *Field        // optimistic lock column, or nil
	Roles                   []string      // who may use it; empty is everybody
	Rows                    *Rows         // which rows; nil is all
	CaseSensitive           bool          // LIKE and REGEXP respect case
	Validations             []*Attachment // that its changes meet, in the order in which they are asked
	At                      Pos

	byCode map[string]*Field
}

// A Field is one column under the code its callers know.
type Field struct {
	Code, Name, Description string
	Column                  string
	Type                    Type
	Unsigned                bool     // an integer without negative half
	Zone                    bool     // a datetime that carries its zone
	Native                  string   // the database's own type, when none of ours fits; then it is read as text
	Array                   bool     // a list of values (PostgreSQL arrays, MySQL SET)
	Required                bool     // must be given on create
	NotNull                 bool     // never NULL in the database
	Generated               bool     // computed by the database
	MaxLength               int      // characters; 0 is unbounded
	Default                 string   // as the database or the catalog writes it; "" is none
	Values                  []string // of an enum
	Text                    *TextMap // code → label
	References              *Reference
	Mask                    string // "", redact or last4
	System                  string // the role the engine fills it in for; "" is an ordinary field
	Roles                   []string
	Resource                *Resource // whose field it is
	At                      Pos
}

// A Reference is a declared key into another resource. Both ends are on one connection.
type Reference struct {
	Resource *Resource
	Field    *Field
}

// A Relation is a declared way from one resource to another.
type Relation struct {
	Code, Name string
	To         *Resource
	Many       bool
	On         []Pair
}

// A Pair is one equality of a relation: From is a field of the relation's owner.
type Pair struct{ From, To *Field }

// A SoftDelete says which rows count as deleted: those whose column is not NULL, or equals Deleted if that
// is given.
type SoftDelete struct {
	Field   *Field
	Deleted string // "" means: not NULL
}

// Rows is the row rule of a resource: a condition of its own, or a named rule with columns as arguments.
type Rows struct {
	Rule *Rule
	Args map[string]*Field // argument name → field of the resource
	Cond *query.Node       // when Rule is nil
}

// A Rule decides by the principal's attributes which rows are seen. The first case whose When holds
// applies; none is no row at all.
type Rule struct {
	Name  string
	Args  []string
	Cases []Case
	At    Pos
}

// A Case is one branch of a rule.
type Case struct {
	// Roles are those of which the principal must have one; none always holds. While the case decides, the principal
	// reads the fields of the resource as these roles alone: what another role may read is of other rows.
	Roles []string
	When  *query.Node // over attributes of the principal; nil always holds
	All   bool        // rows: all
	None  bool        // rows: none
	Rows  *query.Node // else this condition; its fields may be $arg

	Assigns []Assign // what new rows get
}

// An Assign gives an argument of a rule a value in new rows: an attribute of the principal, or a text.
type Assign struct{ Arg, Attribute, Text string }

// A Set is a named list of values, computed for each call as the union of its members.
type Set struct {
	Name    string
	Members []Member
	Bound   int  // more values than this fail the call
	Stated  bool // the file says the bound; then the values are counted even where they need not be carried
	At      Pos
}

// A Member is one part of a set: exactly one of these is there.
type Member struct {
	Query      *query.Request
	Connection *Connection // where the query runs
	Set        *Set        // all values of another set
	Attribute  string      // of the principal: its value, or its values
	Func       string      // a func token of the principal, alike
	Value      *string     // a constant
}

// On says whether all values of the set can be had on a connection: every query of it runs there, also of the sets
// that it holds, and none of those has a bound to be watched.
func (s *Set) On(c *Connection) bool {
	if s.Stated {
		return false
	}
	for _, m := range s.Members {
		if m.Query != nil && m.Connection != c || m.Set != nil && !m.Set.On(c) {
			return false
		}
	}
	return true
}

// An Owner says how the user that a principal acts for becomes attributes and func tokens: the outputs of queries. Each
// query may name what the ones before it gave; the first decides whether there is such a user.
type Owner struct {
	Queries []OwnerQuery
	Roles   string // the output whose values are roles of the principal, beside those that it brings; "" is none
	At      Pos
}

// An OwnerQuery is one query of an Owner. It sees all rows.
type OwnerQuery struct {
	Query      *query.Request
	Connection *Connection
	Lists      []bool // of each output: whether it is the list of its values in all rows
}

// A TextMap is a named map from stored codes to what a person reads.
type TextMap struct {
	Name   string
	Labels []Label
	At     Pos
}

// A Label is one entry of a TextMap.
type Label struct{ Code, Label string }

// An Instruction is what one file tells clients when they begin.
type Instruction struct {
	Text  string
	Tools []string // of the file; none is for everybody
}

// A Catalog is all that the files of one load declare. It is immutable.
type Catalog struct {
	Connections []*Connection // to databases
	Redis       []*Connection // of the driver redis, which only the look-ups of tools read
	Resources   []*Resource
	Rules       []*Rule
	Sets        []*Set
	Owner       *Owner // nil: principals have what the configuration gives them
	Texts       []*TextMap
	Tools       []*Tool
	Validations []*Validation
	Annotations []*Annotation
	Masks       []*Mask
	// Instructions are what clients are told as far as a tool of the same file is there for them.
	Instructions []Instruction
	Hash         string // SHA-256 over the files, hex

	configs map[any]string // of tools, validations and resources; only with LoadOptions.Sources
	byCode  map[string]*Resource
	tools   map[string]*Tool // by plainName
	sets    map[string]*Set
	index   *index
}

// Resource finds a resource by its exact code.
func (c *Catalog) Resource(code string) (*Resource, bool) {
	r, ok := c.byCode[code]
	return r, ok
}

// Set finds a set by its name.
func (c *Catalog) Set(name string) (*Set, bool) {
	s, ok := c.sets[name]
	return s, ok
}

// Field finds a field by its exact code.
func (r *Resource) Field(code string) (*Field, bool) {
	f, ok := r.byCode[code]
	return f, ok
}

// IsKey says whether f is part of r's key.
func (r *Resource) IsKey(f *Field) bool { return slices.Contains(r.Key, f) }

// Label gives the text of a stored code.
func (t *TextMap) Label(code string) (string, bool) {
	for _, l := range t.Labels {
		if l.Code == code {
			return l.Label, true
		}
	}
	return "", false
}
