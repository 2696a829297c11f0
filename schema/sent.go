package schema

import (
	"slices"
	"strings"

	"resq/schema/problem"
	"resq/schema/sqltext"
)

// A Sight is what somebody who sends SQL sees of the tables of a connection. What they do not see is for them as what is
// not there.
type Sight interface {
	Visible(r *Resource) bool
	Readable(f *Field) bool
	// Columns asks the database for the columns of a table that no resource declares; none are of a table that is not there.
	Columns(u *Use) ([]string, error)
}

// Sent reads a statement that a client sent, with ? for each of its values, and refuses what it may not do there: the
// grammar and the functions, the tables that the connection allows, the masks, in this order and before the database is
// asked anything; then tables and columns that are not there for who sent it. An error of the database is handed back as it
// is; every other one is a problem.List with places as line:column of the text, whose Reason names the check.
func (c *Catalog) Sent(conn *Connection, text string, see Sight) (*Statement, error) {
	d, ok := sqltext.DialectOf(conn.Driver)
	if !ok {
		return nil, problem.List{{Code: problem.InvalidArgument, Stage: problem.Shape, Message: "the connection " + problem.Quote(conn.Name) + " takes no SQL"}}
	}
	st, err := sqltext.Read(d, text, conn.options(true))
	if err != nil {
		return nil, checked("read-only", err)
	}
	s := &Statement{Statement: st, Connection: conn, Uses: map[*sqltext.Table]*Use{}}
	hidden := map[*sqltext.Table]bool{}
	var probs problem.List
	for _, x := range st.CTEs {
		// The name of a table that is not seen is as good as any other: where a query of WITH has it, that is meant.
		if c.declares(conn, x.Name, see) {
			probs = append(probs, shadowing(st, x))
		}
	}
	for _, t := range st.Tables {
		u, p := c.use(conn, t, see)
		switch {
		case p != nil:
			p.At, p.Stage = st.At(t.First), problem.Resources
			probs = append(probs, p)
		case u == nil:
			hidden[t], u = true, &Use{Schema: t.Schema, Table: t.Name}
		}
		s.Uses[t] = u
	}
	if err := probs.Err(); err != nil {
		return nil, checked("tables", err)
	}
	known := func(t *sqltext.Table) (*sqltext.Facts, *problem.Problem) {
		return s.Uses[t].facts(see.Readable), nil
	}
	if err := st.Check(known); err != nil {
		if l := problem.From(err); slices.ContainsFunc(l, func(p *problem.Problem) bool { return p.Code == problem.SQLMaskedColumn }) {
			return nil, checked("masks", slices.DeleteFunc(l, func(p *problem.Problem) bool { return p.Code != problem.SQLMaskedColumn }).Err())
		}
	}
	var failed error
	err = st.Check(func(t *sqltext.Table) (*sqltext.Facts, *problem.Problem) {
		u := s.Uses[t]
		f := u.facts(see.Readable)
		if len(u.Resources) > 0 {
			return f, nil
		}
		var names []string
		if !hidden[t] || len(conn.Tables) == 0 { // of a hidden one, too, so that it takes as long; beside a list, none that is missing is asked for
			var err error
			if names, err = see.Columns(u); err != nil && failed == nil {
				failed = err
			}
		}
		if hidden[t] || len(names) == 0 {
			return nil, c.absent(conn, t, see)
		}
		f.Columns = names
		return f, nil
	})
	if failed != nil {
		return nil, failed
	}
	if err != nil {
		return nil, checked("names", err)
	}
	return s, nil
}

// checked names the check that found the problems.
func checked(check string, err error) error {
	l := problem.From(err)
	for _, p := range l {
		p.Reason = check
	}
	return l.Err()
}

// absent says that a table is not there, and which are.
func (c *Catalog) absent(conn *Connection, t *sqltext.Table, see Sight) *problem.Problem {
	return &problem.Problem{Code: problem.SQLTableNotAllowed, Reason: "names", Message: "there is no table " + problem.Quote(t.Name) + " here", Hint: problem.OneOf(t.Name, c.Tables(conn, see))}
}

// Tables are the tables of a connection that are declared or listed, as far as they are seen.
func (c *Catalog) Tables(conn *Connection, see Sight) []string {
	var names, hidden []string
	for _, r := range c.Resources {
		switch {
		case r.Connection != conn:
		case see.Visible(r):
			names = append(names, r.Table)
		default:
			hidden = append(hidden, strings.ToLower(r.Table))
		}
	}
	for _, t := range conn.Tables {
		names = append(names, t[strings.LastIndexByte(t, '.')+1:])
	}
	names = slices.DeleteFunc(names, func(n string) bool { return slices.Contains(hidden, strings.ToLower(n)) })
	slices.Sort(names)
	return slices.Compact(names)
}

func (c *Connection) options(positional bool) sqltext.Options {
	o := sqltext.Options{Functions: make([]string, len(c.Functions)), Positional: positional}
	for i, f := range c.Functions {
		o.Functions[i] = strings.ToLower(f)
	}
	return o
}

func shadowing(st *sqltext.Statement, x *sqltext.CTE) *problem.Problem {
	return &problem.Problem{Code: problem.SQLTableNotAllowed, Stage: problem.Resources, At: st.CTEAt(x),
		Message: "the query " + problem.Quote(x.Name) + " has the name of a table with rules of its own", Hint: "name the query otherwise"}
}

// facts are what the catalog knows of the table; readable says which fields are there, nil is all.
func (u *Use) facts(readable func(*Field) bool) *sqltext.Facts {
	f := &sqltext.Facts{}
	for col := range u.Masks {
		f.Masked = append(f.Masked, col)
	}
	slices.Sort(f.Masked)
	for _, r := range u.Resources {
		for _, x := range r.Fields {
			if !slices.Contains(f.Columns, x.Column) && (readable == nil || readable(x)) {
				f.Columns = append(f.Columns, x.Column)
			}
		}
	}
	if len(u.Resources) > 0 && f.Columns == nil {
		f.Columns = []string{}
	}
	return f
}

// Seen says what the catalog has on a table of the database, as SQL that a client sends would find it there; nil is one
// that it would not find.
func (c *Catalog) Seen(conn *Connection, schema, table string, see Sight) *Use {
	u, p := c.use(conn, &sqltext.Table{Schema: schema, Name: table}, see)
	if p != nil {
		return nil
	}
	return u
}

// Declared are the columns that the resources of a table declare, as far as see reads them; nil is a table of which nothing
// is declared.
func (u *Use) Declared(see Sight) []string { return u.facts(see.Readable).Columns }
