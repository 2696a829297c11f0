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
	Kind        string // preset or sql
	Lang        string // of what the engine itself says in answers: en or zh
	Roles       []string
	Params      []*Param
	Connections []*Connection // that a call may ask
	At          Pos

	// What a client is told of the effects of a call.
	ReadOnly, Idempotent, Destructive bool

	// Preset is what a tool of the kind preset asks; nil of others.
	Preset *Preset
	// SQL is what a tool of the kind sql asks; nil of others.
	SQL *SQL

	input  map[string][]byte // by language
	output []byte
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
	Type        string // string, integer, number, boolean, date or enum
	Required    bool
	Default     string // its text; HasDefault says whether there is one
	HasDefault  bool
	Min, Max    *int64
	MaxLength   int
	Clamp       bool // a number beyond Max becomes Max, with a notice
	Values      []string
	Labels      *TextMap // what the values mean

	// What an argument that was given asks of the rows. Field is nil where it asks nothing by itself.
	Field    *Field
	Match    string // exact, contains, prefix, in, from or to
	WholeDay bool   // a date that ends a range of moments includes its day
	At       Pos
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
	Shape  string // list
	Read   *Read
	Paging Paging
}

// A Paging bounds the pages of a list.
type Paging struct{ Default, Max int64 }

// A Read asks one resource for rows.
type Read struct {
	Source  *Resource
	Where   *query.Node // nil is all
	Order   []Sort
	Columns []*Column
}

// A Sort is one key of an order.
type Sort struct {
	Field *Field
	Desc  bool
}

// A Column is one output of a read.
type Column struct {
	Name  string
	Field *Field
	At    Pos
}

// Tool finds a tool by its name, in any of the spellings that clients use.
func (c *Catalog) Tool(name string) (*Tool, bool) {
	t, ok := c.tools[plainName(name)]
	return t, ok
}

// plainName makes the spellings of a tool's name equal: some clients take no dots, and some no hyphens.
func plainName(name string) string { return strings.NewReplacer(".", "_", "-", "_").Replace(name) }
