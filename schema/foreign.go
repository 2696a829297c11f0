package schema

import (
	"net/url"
	"slices"
	"strings"

	"resq/schema/problem"
	"resq/schema/sqltext"
)

// A SQL is what a tool of the kind sql asks.
type SQL struct {
	Text     string
	System   *Connection   // on which it always runs; nil where the call may choose
	Default  *Connection   // on which it runs when nothing is chosen
	Choice   []*Connection // what the argument Arg may name; nil has no such argument
	Arg      string        // the name of that argument: system, or that of the slot
	Must     bool          // the call has to choose
	About    Words         // what the argument means; of a slot
	Context  string        // the attribute of the principal that names the connection, one of Among; "" is none
	Among    []*Connection
	Fallback *Connection // for a principal without that attribute; nil may not ask
	MaxRows  int         // 0 is the usual number
	Bypass   *Bypass     // of row rules; nil applies them
	Kinds    map[*Param]string
}

// A Bypass lets a tool show rows that no rule lets its callers see.
type Bypass struct {
	Reason, Owner string
	Principals    []string
}

// An Annotation is what a table means. Names are as they are written in the file; they are compared without regard to
// case.
type Annotation struct {
	Schema, Table string
	Entity        string
	Description   string
	Columns       []Label
	Links         []Kinship
	Filters       []Filter
	At            Pos
}

// A Kinship is a way to another table that the database does not declare.
type Kinship struct {
	Schema, Table string
	Join          []Label // column → column of the other table
	Cardinality   string
	Description   string
}

// A Filter is a condition that queries usually need.
type Filter struct {
	SQL, Reason string
	Columns     []string
	At          Pos // of its first column
}

// A Mask hides a column of a table of the database.
type Mask struct {
	Schema, Table, Column string
	Rule                  string // redact or last4
	At                    Pos
}

// Home is the schema in which a name without one is looked up; "" is not known.
func (c *Connection) Home() string {
	switch c.Driver {
	case "sqlite":
		return "main"
	case "mysql":
		if u, err := url.Parse(c.DSN); err == nil {
			return strings.TrimPrefix(u.Path, "/")
		}
	case "postgres":
		if len(c.Schemas) > 0 {
			return c.Schemas[0]
		}
		u, err := url.Parse(c.DSN)
		if err != nil || c.DSN == "" {
			return ""
		}
		if path, _, _ := strings.Cut(u.Query().Get("search_path"), ","); path != "" {
			return strings.Trim(strings.TrimSpace(path), `"`)
		}
		return "public"
	}
	return ""
}

// A Statement is SQL of others that was checked against the catalog for one connection.
type Statement struct {
	*sqltext.Statement
	Connection *Connection
	Uses       map[*sqltext.Table]*Use
}

// A Use is what the catalog says of a table that a statement reads.
type Use struct {
	Schema, Table string      // as the catalog has them, or as they are written where it does not
	Resources     []*Resource // that declare the table; all of their rules hold
	Masks         map[string]string
}

// Masked gives how a column is hidden; "" is not at all.
func (u *Use) Masked(column string) string { return u.Masks[strings.ToLower(column)] }

// Reads are the resources whose tables a statement reads, each once.
func (s *Statement) Reads() []*Resource {
	var list []*Resource
	for _, t := range s.Tables {
		for _, r := range s.Uses[t].Resources {
			if !slices.Contains(list, r) {
				list = append(list, r)
			}
		}
	}
	return list
}

// Foreign reads a statement of others for a connection, and refuses what it may not do there: the grammar, the
// functions, the tables and the masks, in this order. The error is a problem.List with places as line:column of the
// text.
func (c *Catalog) Foreign(conn *Connection, text string) (*Statement, error) {
	d, ok := sqltext.DialectOf(conn.Driver)
	if !ok {
		return nil, problem.List{{Code: problem.InvalidArgument, Stage: problem.Shape, Message: "the connection " + problem.Quote(conn.Name) + " takes no SQL"}}
	}
	return c.foreign(conn, d, text)
}

func (c *Catalog) foreign(conn *Connection, d sqltext.Dialect, text string) (*Statement, error) {
	st, err := sqltext.Read(d, text, conn.options(false))
	if err != nil {
		return nil, err
	}
	s := &Statement{Statement: st, Connection: conn, Uses: map[*sqltext.Table]*Use{}}
	var probs problem.List
	for _, x := range st.CTEs {
		if c.declares(conn, x.Name, nil) {
			probs = append(probs, shadowing(st, x))
		}
	}
	err = st.Check(func(t *sqltext.Table) (*sqltext.Facts, *problem.Problem) {
		u, p := c.use(conn, t, nil)
		if p != nil {
			return nil, p
		}
		s.Uses[t] = u
		return u.facts(nil), nil
	})
	if err != nil {
		probs = append(probs, problem.From(err)...)
	}
	if err := probs.Err(); err != nil {
		return nil, err
	}
	return s, nil
}

// declares says whether a table of this name is a resource's on conn, or has masks. Resources that see does not see are left
// out, and the masks of a table that only such declare.
func (c *Catalog) declares(conn *Connection, name string, see Sight) bool {
	unseen := false
	if slices.ContainsFunc(c.Resources, func(r *Resource) bool {
		if r.Connection != conn || !strings.EqualFold(r.Table, name) {
			return false
		}
		seen := see == nil || see.Visible(r)
		unseen = unseen || !seen
		return seen
	}) {
		return true
	}
	return !unseen &&
		slices.ContainsFunc(c.Masks, func(m *Mask) bool { return strings.EqualFold(m.Table, name) })
}

// own are the schemas of a database's own tables.
var own = map[string][]string{
	"mysql":    {"information_schema", "mysql", "performance_schema", "sys"},
	"postgres": {"information_schema", "pg_catalog", "pg_toast", "pg_temp"},
	"sqlite":   {"temp", "sqlite_temp"},
}

// reserved says whether a table is one of the database's own.
func reserved(conn *Connection, schema, table string) bool {
	if slices.ContainsFunc(own[conn.Driver], func(s string) bool { return strings.EqualFold(s, schema) }) {
		return true
	}
	name := strings.ToLower(table)
	if strings.HasPrefix(name, "resq_") {
		return true // previews, operations: this program's own
	}
	switch conn.Driver {
	case "postgres": // looked up without a schema, too
		return strings.HasPrefix(name, "pg_") || strings.HasPrefix(strings.ToLower(schema), "pg_")
	case "sqlite":
		return strings.HasPrefix(name, "sqlite_") || strings.HasPrefix(name, "pragma_") || name == "dbstat"
	}
	return false
}

func notAllowed(t *sqltext.Table, why, hint string) *problem.Problem {
	name := t.Name
	if t.Schema != "" {
		name = t.Schema + "." + name
	}
	return &problem.Problem{Code: problem.SQLTableNotAllowed, Message: "the table " + problem.Quote(name) + " " + why, Hint: hint}
}

// use finds what the catalog says of a table, and whether it may be read at all.
//
// Whether two names mean one table is not always known: a name without a schema is looked up where the connection looks.
// Where that leaves a doubt whether a table has rules, it is refused. Neither a use nor a problem is of a table that see does
// not see; with nil all are seen.
func (c *Catalog) use(conn *Connection, t *sqltext.Table, see Sight) (*Use, *problem.Problem) {
	home, schema := conn.Home(), t.Schema
	if schema == "" {
		schema = home
	}
	listed := func(s string) bool {
		return slices.ContainsFunc(conn.Schemas, func(a string) bool { return strings.EqualFold(a, s) })
	}
	if reserved(conn, t.Schema, t.Name) && (!(t.Schema != "" && listed(t.Schema)) || strings.HasPrefix(strings.ToLower(t.Name), "resq_")) {
		return nil, notAllowed(t, "is the database's own", "read a table of the business")
	}
	if len(conn.Schemas) > 0 && schema != "" && !listed(schema) {
		return nil, notAllowed(t, "is in a schema that the connection does not allow", "one of: "+strings.Join(conn.Schemas, ", "))
	}
	if len(conn.Tables) > 0 && !slices.ContainsFunc(conn.Tables, func(a string) bool {
		s, n, both := strings.Cut(a, ".")
		if !both {
			s, n = home, a
		}
		return strings.EqualFold(n, t.Name) && (strings.EqualFold(s, schema) || s == "" && t.Schema == "")
	}) {
		if see != nil {
			return nil, nil // as one that is listed and hidden
		}
		return nil, notAllowed(t, "is none that SQL tools may read", "list it under tables of the connection, or read another one")
	}
	of := func(r *Resource) bool { return r.Connection == conn && strings.EqualFold(r.Table, t.Name) }
	if see != nil && slices.ContainsFunc(c.Resources, func(r *Resource) bool { return of(r) && same(conn, r.Schema, t.Schema) != no && !see.Visible(r) }) {
		return nil, nil
	}
	u := &Use{Schema: t.Schema, Table: t.Name, Masks: map[string]string{}}
	for _, r := range c.Resources {
		if !of(r) {
			continue
		}
		switch same(conn, r.Schema, t.Schema) {
		case unsure:
			return nil, notAllowed(t, "may be one with rules of its own", "write it with its schema, or without one")
		case yes:
			u.Resources = append(u.Resources, r)
			u.Schema, u.Table = r.Schema, r.Table
			for _, f := range r.Fields {
				u.mask(f.Column, f.Mask)
			}
		}
	}
	for _, m := range c.Masks {
		if !strings.EqualFold(m.Table, t.Name) {
			continue
		}
		switch same(conn, m.Schema, t.Schema) {
		case unsure:
			return nil, notAllowed(t, "may be one with rules of its own", "write it with its schema, or without one")
		case yes:
			u.mask(m.Column, m.Rule)
		}
	}
	return u, nil
}

// mask adds a rule; redact wins.
func (u *Use) mask(column, rule string) {
	if k := strings.ToLower(column); rule != "" && u.Masks[k] != "redact" {
		u.Masks[k] = rule
	}
}

const (
	no = iota
	yes
	unsure
)

// same compares the schemas of two tables of one name.
func same(conn *Connection, a, b string) int {
	home := conn.Home()
	switch {
	case strings.EqualFold(a, b), home != "" && strings.EqualFold(a+b, home):
		return yes
	case a != "" && b != "":
		return no
	case home == "" || conn.Driver == "postgres": // which may look in several schemas
		return unsure
	}
	return no
}

// Note finds what a table means: by its name, or by its schema and name; nil is nothing.
func (c *Catalog) Note(conn *Connection, schema, table string) *Annotation {
	for _, a := range c.Annotations {
		if strings.EqualFold(a.Table, table) && same(conn, a.Schema, schema) == yes {
			return a
		}
	}
	return nil
}
