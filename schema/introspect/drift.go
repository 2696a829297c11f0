package introspect

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"resq/schema"
	"resq/schema/problem"
)

// A Drift is one place where a catalog and its database differ.
type Drift struct {
	At      schema.Pos // of the catalog's entry
	Text    string     // one sentence, for the people who keep the catalog
	Warning bool       // requests still work
}

func (d Drift) String() string {
	if d.At.File == "" {
		return d.Text
	}
	return d.At.File + ":" + strconv.Itoa(d.At.Line) + ": " + d.Text
}

// An entry is a resource as a catalog declares it.
type entry struct {
	at                  schema.Pos
	code, schema, table string
	view, creates       bool
	writes              bool
	key                 []string // columns
	fields              []fieldEntry
}

type fieldEntry struct {
	at                                                schema.Pos
	code, column                                      string
	typ                                               schema.Type
	native                                            bool
	array, zone, notNull, required, generated, system bool
	maxLength                                         int
	values                                            []string
}

// Compare says where the resources that cat has on conn differ from the database: tables and columns that
// are gone, types that do not fit, NULL where it is not expected, keys that are no keys. Tables that Read
// was told to pass over are not compared.
func Compare(cat *schema.Catalog, conn *schema.Connection, s *Snapshot) []Drift {
	c := check{s: s, zoned: conn.Zone != "" && conn.Zone != "UTC"}
	for _, r := range cat.Resources {
		if r.Connection == conn {
			c.entry(entryOf(r))
		}
	}
	return c.drift
}

func entryOf(r *schema.Resource) entry {
	e := entry{at: r.At, code: r.Code, schema: r.Schema, table: r.Table, view: r.View, creates: slices.Contains(r.Writes, "create"), writes: len(r.Writes) > 0}
	for _, f := range r.Key {
		e.key = append(e.key, f.Column)
	}
	for _, f := range r.Fields {
		e.fields = append(e.fields, fieldEntry{
			at: f.At, code: f.Code, column: f.Column, typ: f.Type, native: f.Native != "", array: f.Array, zone: f.Zone,
			notNull: f.NotNull, required: f.Required, generated: f.Generated, system: f.System != "",
			maxLength: f.MaxLength, values: f.Values,
		})
	}
	return e
}

// A check collects drift. When strict it tells every change, else only what a request could notice.
type check struct {
	s      *Snapshot
	strict bool
	zoned  bool // the connection's local time is not UTC
	drift  []Drift
}

func (c *check) tell(at schema.Pos, warning bool, format string, args ...any) {
	c.drift = append(c.drift, Drift{At: at, Text: fmt.Sprintf(format, args...), Warning: warning})
}

func (c *check) entry(e entry) {
	t := c.s.table(e.schema, e.table)
	if t == nil {
		if c.s.covers(e.schema, e.table) {
			c.tell(e.at, false, "resource %s: the database has no table %s%s", e.code, problem.Quote(qualified(e.schema, e.table)), near(qualified(e.schema, e.table), c.s.names()))
		}
		return
	}
	if e.writes && t.Lasting != "" {
		c.tell(e.at, false, "resource %s: the table %s is kept by %s, which has no transactions, so writes are refused: make it an InnoDB table", e.code, t.Name, t.Lasting)
	}
	for _, f := range e.fields {
		c.field(e, f, t)
	}
	c.key(e, t)
}

func qualified(schema, table string) string {
	if schema == "" {
		return table
	}
	return schema + "." + table
}

func (s *Snapshot) names() []string {
	names := make([]string, len(s.Tables))
	for i, t := range s.Tables {
		names[i] = t.Name
		if t.Schema != s.Schema {
			names[i] = qualified(t.Schema, t.Name)
		}
	}
	return names
}

func near(word string, names []string) string {
	if n := problem.Nearest(word, names, 3); len(n) > 0 {
		return "; nearest: " + strings.Join(n, ", ")
	}
	return ""
}

func (c *check) field(e entry, f fieldEntry, t *Table) {
	col := c.s.lookup(t, f.column)
	title := e.code + "." + f.code
	if col == nil {
		names := make([]string, len(t.Columns))
		for i, x := range t.Columns {
			names[i] = x.Name
		}
		c.tell(f.at, false, "field %s: the %s has no column %s%s", title, c.s.title(t), problem.Quote(f.column), near(f.column, names))
		return
	}
	if why := c.mismatch(f, col); why != "" {
		c.tell(f.at, false, "field %s is declared as %s, but the column is %s%s", title, f.describe(), col.describe(), why)
	} else {
		c.size(f, col, title)
	}
	if !t.View {
		c.null(e, f, col, title)
	}
}

// size tells digits, lengths and values that differ where the kind is the same.
func (c *check) size(f fieldEntry, col *Column, title string) {
	switch {
	case f.typ.Kind == schema.Decimal && col.Type.Kind == schema.Decimal && f.typ.Precision > 0 && col.Type.Precision > 0 && f.typ != col.Type:
		c.tell(f.at, true, "field %s is declared as %s, but the column is %s", title, f.typ, col.Type)
	case col.MaxLength > 0 && f.maxLength > col.MaxLength, c.strict && col.MaxLength > 0 && f.maxLength > 0 && f.maxLength != col.MaxLength:
		c.tell(f.at, true, "field %s is declared to hold %d characters, but the column holds %d", title, f.maxLength, col.MaxLength)
	}
	if len(f.values) > 0 && len(col.Values) > 0 {
		if gone := without(f.values, col.Values); len(gone) > 0 {
			c.tell(f.at, true, "field %s declares values that the database does not take: %s", title, quoted(gone))
		}
		if added := without(col.Values, f.values); len(added) > 0 {
			c.tell(f.at, true, "field %s lacks values that the database has: %s", title, quoted(added))
		}
	}
}

func without(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(s string) bool { return slices.Contains(b, s) })
}

func quoted(s []string) string {
	out := make([]string, len(s))
	for i := range s {
		out[i] = problem.Quote(s[i])
	}
	return strings.Join(out, ", ")
}

// null tells where NULL, or a missing value, is not what the catalog says.
func (c *check) null(e entry, f fieldEntry, col *Column, title string) {
	isKey := slices.ContainsFunc(e.key, func(k string) bool { return c.s.sameName(k, f.column) })
	switch {
	case f.notNull && !col.NotNull && !isKey:
		c.tell(f.at, true, "field %s is declared as never NULL, but the column may be NULL", title)
	case !f.notNull && col.NotNull && c.strict:
		c.tell(f.at, true, "field %s may be NULL, but the column is NOT NULL", title)
	case e.creates && col.NotNull && !col.Filled && !col.Generated && !f.required && !f.system:
		c.tell(f.at, true, "field %s is not required, but the database refuses a new row without it", title)
	}
	switch {
	case col.Generated && !f.generated && (e.creates || c.strict):
		c.tell(f.at, true, "field %s is computed by the database, but not declared as generated", title)
	case f.generated && !col.Generated:
		c.tell(f.at, true, "field %s is declared as generated, but the database does not compute it", title)
	}
}

// sameName compares names as the database does.
func (s *Snapshot) sameName(a, b string) bool {
	return a == b || s.Driver != "postgres" && strings.EqualFold(a, b)
}

// key tells a key that does not keep rows apart. One that nothing but the data show to be a key passes.
func (c *check) key(e entry, t *Table) {
	if t.View {
		return
	}
	if len(e.key) == 0 {
		if key := t.key(); c.strict && len(key) > 0 {
			c.tell(e.at, true, "resource %s has no key, but the database has one: %s", e.code, quoted(key))
		}
		return
	}
	covers := func(key []string) bool {
		return len(key) > 0 && !slices.ContainsFunc(key, func(k string) bool {
			return !slices.ContainsFunc(e.key, func(x string) bool { return c.s.sameName(k, x) })
		})
	}
	unique := slices.ContainsFunc(t.Distinct, func(k string) bool { return covers([]string{k}) })
	if unique || covers(t.Key) || slices.ContainsFunc(t.Unique, covers) {
		return
	}
	for _, k := range e.key {
		if c.s.lookup(t, k) == nil {
			return // told as a missing column
		}
	}
	hint := "nothing keeps it unique"
	if key := t.key(); len(key) > 0 {
		hint = "the key there is " + quoted(key)
	}
	c.tell(e.at, true, "resource %s: its key %s is no key of the %s; %s", e.code, quoted(e.key), c.s.title(t), hint)
}

func (f fieldEntry) describe() string {
	s := f.typ.String()
	if f.array {
		s = "a list of " + s
	}
	if f.zone {
		s += " with zone"
	}
	return s
}

func (c *Column) describe() string {
	s := c.Type.String()
	if c.Array {
		s = "a list of " + s
	}
	if c.Zone {
		s += " with zone"
	}
	if c.Database != "" && !strings.EqualFold(c.Database, s) {
		s += " (" + c.Database + ")"
	}
	return s
}
