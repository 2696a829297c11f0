// Package introspect reads the structure of a live database: it writes catalog files for it, brings a
// catalog that people have edited up to date, and says where a catalog and its database differ.
package introspect

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"resq/schema"
	"resq/schema/problem"
)

// A Snapshot is the structure of one database at one moment.
type Snapshot struct {
	Driver string   // sqlite, mysql or postgres
	Schema string   // where the database looks for a name without a schema; may be ""
	Tables []*Table // by schema and name; what may not be read is not among them
	Notes  []string // what was left out, and why; one sentence each

	scope scope // what Read was asked for, so that a table outside it is not reported as missing
}

// A Table is a table or a view.
type Table struct {
	Schema, Name string
	View         bool // a view; also a materialised one
	Comment      string
	Lasting      string // the storage engine, where it has no transactions
	Columns      []*Column
	Key          []string   // the primary key, in its own order
	Unique       [][]string // the other keys: unique indexes over plain columns of all rows
	Foreign      []*Foreign
	// Distinct are columns of a table that declares no key of which the data show that they could be one, the
	// likeliest first. Nothing keeps them so.
	Distinct []string
}

// A Column is one column, with the type a catalog gives it.
type Column struct {
	Name, Comment string
	Database      string // the type as the database writes it
	Type          schema.Type
	Native        string // the database's own type when none of the catalog's fits
	Unsigned      bool
	Zone          bool
	Array         bool
	Loose         bool // the database declares no type; Type was read from the values
	NotNull       bool
	Generated     bool   // computed by the database; it cannot be written
	Filled        bool   // the database fills it in when it is not given: a default, a serial, an identity
	Default       string // the default when it is one plain value; else ""
	MaxLength     int
	Values        []string // of an enum
}

// A Foreign is a foreign key: Columns of this table, pair by pair, name the columns To of another.
type Foreign struct {
	Columns       []string
	Schema, Table string
	To            []string
}

// Options narrow what Read reads. The zero value reads all there is.
type Options struct {
	// Schemas are the database schemas to read; "" is the connection's own. Without any: for postgres all
	// that may be read, for mysql the connection's database, for sqlite main.
	Schemas []string
	// Include and Exclude are patterns as path.Match knows them, compared without regard to case with the
	// name of a table and with schema.table. Without Include all tables are in.
	Include, Exclude []string
	// NoKeys leaves tables without a key that declare none; their data are then not looked at.
	NoKeys bool
	// Progress is told how many of the tables were looked at for keys in their data; nil is nobody.
	Progress func(done, total int)
}

// A reader reads one kind of database.
type reader func(ctx context.Context, c *sql.Conn, s *Snapshot) error

var readers = map[string]reader{"sqlite": readSQLite, "mysql": readMySQL, "postgres": readPostgres}

// Read reads the structure of a database: a few statements for all of it, none of which changes anything, and
// two for each table that declares no key. System tables and this system's own (resq_…) are left out. A table
// that cannot be read is left out with a note; Read fails only when the database as a whole cannot be read or
// a pattern is malformed.
func Read(ctx context.Context, db *sql.DB, driver string, opts Options) (*Snapshot, error) {
	read, ok := readers[driver]
	if !ok {
		return nil, fmt.Errorf("driver %q is not known; it is one of sqlite, mysql, postgres", driver)
	}
	sc, err := newScope(opts)
	if err != nil {
		return nil, err
	}
	c, err := db.Conn(ctx)
	if err != nil {
		return nil, fmt.Errorf("open the database: %w", err)
	}
	s := &Snapshot{Driver: driver, scope: sc}
	err = read(ctx, c, s)
	c.Close() // the pool may have no other
	if err != nil {
		return nil, fmt.Errorf("read the structure of the database: %w", err)
	}
	s.finish()
	if !opts.NoKeys {
		if err := s.guess(ctx, db, opts.Progress); err != nil {
			return nil, fmt.Errorf("look for keys in the data: %w", err)
		}
	}
	return s, nil
}

// finish leaves out what a catalog cannot name and puts the tables in order.
func (s *Snapshot) finish() {
	s.Tables = slices.DeleteFunc(s.Tables, func(t *Table) bool {
		if !sayable(t.Name) || !sayable(t.Schema) {
			s.note("a table was left out: a catalog cannot hold its name %s", problem.Quote(t.Name))
			return true
		}
		t.Columns = slices.DeleteFunc(t.Columns, func(c *Column) bool {
			if sayable(c.Name) {
				return false
			}
			s.note("a column of %s was left out: a catalog cannot hold its name %s", s.title(t), problem.Quote(c.Name))
			return true
		})
		if len(t.Columns) == 0 {
			s.note("%s was left out: it has no columns that can be read", s.title(t))
			return true
		}
		t.prune()
		return false
	})
	slices.SortFunc(s.Tables, func(a, b *Table) int {
		if (a.Schema == s.Schema) != (b.Schema == s.Schema) {
			if a.Schema == s.Schema {
				return -1
			}
			return 1
		}
		if n := strings.Compare(a.Schema, b.Schema); n != 0 {
			return n
		}
		return strings.Compare(a.Name, b.Name)
	})
}

// prune drops keys over columns that were left out.
func (t *Table) prune() {
	known := func(names []string) bool {
		return len(names) > 0 && !slices.ContainsFunc(names, func(n string) bool { return t.column(n) == nil })
	}
	if !known(t.Key) {
		t.Key = nil
	}
	t.Unique = slices.DeleteFunc(t.Unique, func(u []string) bool { return !known(u) })
	t.Foreign = slices.DeleteFunc(t.Foreign, func(f *Foreign) bool { return !known(f.Columns) })
}

func (s *Snapshot) note(format string, args ...any) {
	s.Notes = append(s.Notes, fmt.Sprintf(format, args...))
}

// title is how a person is told which table is meant.
func (s *Snapshot) title(t *Table) string {
	kind := "table"
	if t.View {
		kind = "view"
	}
	if t.Schema == s.Schema || t.Schema == "" {
		return kind + " " + t.Name
	}
	return kind + " " + t.Schema + "." + t.Name
}

// table finds a table by the names a catalog writes; "" is the connection's own schema. Databases that
// ignore the case of a name, or may be told to, fall back on it when that leaves no doubt.
func (s *Snapshot) table(schema, name string) *Table {
	if schema == "" {
		schema = s.Schema
	}
	var near []*Table
	for _, t := range s.Tables {
		if t.Name == name && t.Schema == schema {
			return t
		}
		if s.Driver != "postgres" && strings.EqualFold(t.Name, name) && strings.EqualFold(t.Schema, schema) {
			near = append(near, t)
		}
	}
	if len(near) == 1 {
		return near[0]
	}
	return nil
}

func (t *Table) column(name string) *Column {
	for _, c := range t.Columns {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// lookup finds a column as the database would: PostgreSQL alone tells names apart by case.
func (s *Snapshot) lookup(t *Table, name string) *Column {
	if c := t.column(name); c != nil || s.Driver == "postgres" {
		return c
	}
	for _, c := range t.Columns {
		if strings.EqualFold(c.Name, name) {
			return c
		}
	}
	return nil
}

// key is what identifies a row: the primary key, else the shortest unique key that is never NULL.
func (t *Table) key() []string {
	if len(t.Key) > 0 {
		return t.Key
	}
	var best []string
	for _, u := range t.Unique {
		if slices.ContainsFunc(u, func(n string) bool { return !t.column(n).NotNull }) {
			continue
		}
		if best == nil || len(u) < len(best) {
			best = u
		}
	}
	return best
}

// query runs one constant statement and hands each row to scan.
func query(ctx context.Context, c *sql.Conn, text string, args []any, scan func(row *sql.Rows) error) error {
	rows, err := c.QueryContext(ctx, text, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}
