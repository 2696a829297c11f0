package introspect

import (
	"context"
	"database/sql"
	"slices"
	"strings"
)

const (
	sqliteTables = `SELECT schema, name, type, wr FROM pragma_table_list
WHERE schema <> 'temp' AND type IN ('table', 'view', 'virtual') AND name NOT LIKE 'sqlite\_%' ESCAPE '\'
ORDER BY schema, name`

	sqliteColumns = `SELECT name, type, "notnull", dflt_value, pk, hidden FROM pragma_table_xinfo(?, ?) ORDER BY cid`

	sqliteIndexes = `SELECT l.schema, l.name, i.name, i.origin, x.name
FROM pragma_table_list AS l JOIN pragma_index_list(l.name, l.schema) AS i JOIN pragma_index_info(i.name, l.schema) AS x
WHERE l.type = 'table' AND l.schema <> 'temp' AND i."unique" AND NOT i.partial
ORDER BY l.schema, l.name, i.origin, i.name, x.seqno`

	// The newest key has the number 0; the order of their declaration is the other way round.
	sqliteForeign = `SELECT l.schema, l.name, f.id, f."table", f."from", f."to"
FROM pragma_table_list AS l JOIN pragma_foreign_key_list(l.name, l.schema) AS f
WHERE l.type = 'table' AND l.schema <> 'temp'
ORDER BY l.schema, l.name, f.id DESC, f.seq`
)

// sqliteTable is a table with what only SQLite's rules about keys need.
type sqliteTable struct {
	*Table
	withoutRowID bool
	keyIndex     bool // the primary key has an index of its own, so it is no alias of the rowid
	declared     map[*Column]string
}

func readSQLite(ctx context.Context, c *sql.Conn, s *Snapshot) error {
	s.setSchema("main")
	var tables []*sqliteTable
	err := query(ctx, c, sqliteTables, nil, func(row *sql.Rows) error {
		t := &sqliteTable{Table: &Table{}, declared: map[*Column]string{}}
		var kind string
		if err := row.Scan(&t.Schema, &t.Name, &kind, &t.withoutRowID); err != nil {
			return err
		}
		t.View = kind == "view"
		switch {
		case !s.covers(t.Schema, t.Name):
		case kind == "virtual": // its module may do more than read, so the engine's connections do not admit it
			s.note("%s was left out: it is a virtual table, which is not read", s.title(t.Table))
		default:
			tables = append(tables, t)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if tables, err = s.sqliteColumns(ctx, c, tables); err != nil {
		return err
	}
	named := map[[2]string]*sqliteTable{}
	for _, t := range tables {
		named[[2]string{t.Schema, t.Name}] = t
	}
	if err := sqliteUnique(ctx, c, named); err != nil {
		return err
	}
	if err := sqliteReferences(ctx, c, named); err != nil {
		return err
	}
	for _, t := range tables {
		s.resolveForeign(t.Table)
		if err := s.sample(ctx, c, t); err != nil {
			return err
		}
		t.finish()
	}
	return nil
}

// sqliteColumns asks table by table: a view over a table that is gone, or a virtual table whose module is
// not linked in, fails the statement that names it, and must fail alone. Those that can be read are returned.
func (s *Snapshot) sqliteColumns(ctx context.Context, c *sql.Conn, tables []*sqliteTable) (good []*sqliteTable, err error) {
	for _, t := range tables {
		type keyed struct {
			at   int
			name string
		}
		var key []keyed
		err := query(ctx, c, sqliteColumns, []any{t.Name, t.Schema}, func(row *sql.Rows) error {
			col := &Column{}
			var def sql.NullString
			var at, hidden int
			if err := row.Scan(&col.Name, &col.Database, &col.NotNull, &def, &at, &hidden); err != nil {
				return err
			}
			if hidden == 1 {
				return nil
			}
			col.Generated = hidden > 1
			col.Filled = def.Valid && !strings.EqualFold(def.String, "NULL")
			t.declared[col] = def.String
			col.ofSQLite()
			t.Columns = append(t.Columns, col)
			if at > 0 {
				key = append(key, keyed{at, col.Name})
			}
			return nil
		})
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			s.note("%s was left out: SQLite cannot read it (%v)", s.title(t.Table), err)
			continue
		}
		slices.SortFunc(key, func(a, b keyed) int { return a.at - b.at })
		for _, k := range key {
			t.Key = append(t.Key, k.name)
		}
		good, s.Tables = append(good, t), append(s.Tables, t.Table)
	}
	return good, nil
}

func sqliteUnique(ctx context.Context, c *sql.Conn, named map[[2]string]*sqliteTable) error {
	var last string
	return query(ctx, c, sqliteIndexes, nil, func(row *sql.Rows) error {
		var schema, table, index, origin string
		var column sql.NullString // NULL in an index over an expression
		if err := row.Scan(&schema, &table, &index, &origin, &column); err != nil {
			return err
		}
		t := named[[2]string{schema, table}]
		switch {
		case t == nil:
		case origin == "pk":
			t.keyIndex = true
		case index == last:
			u := &t.Unique[len(t.Unique)-1]
			*u = append(*u, column.String)
		default:
			t.Unique = append(t.Unique, []string{column.String})
		}
		last = index
		return nil
	})
}

func sqliteReferences(ctx context.Context, c *sql.Conn, named map[[2]string]*sqliteTable) error {
	var open *Foreign
	var at struct {
		t  *sqliteTable
		id int
	}
	return query(ctx, c, sqliteForeign, nil, func(row *sql.Rows) error {
		var schema, table, target, from string
		var to sql.NullString // NULL where the parent's primary key is meant
		var id int
		if err := row.Scan(&schema, &table, &id, &target, &from, &to); err != nil {
			return err
		}
		t := named[[2]string{schema, table}]
		if t == nil {
			return nil
		}
		if open == nil || at.t != t || at.id != id {
			open = &Foreign{Schema: schema, Table: target}
			at.t, at.id = t, id
			t.Foreign = append(t.Foreign, open)
		}
		open.Columns = append(open.Columns, from)
		if to.Valid {
			open.To = append(open.To, to.String)
		}
		return nil
	})
}

// resolveForeign writes the names of a foreign key as their owners do. SQLite accepts a key to a table or
// column that does not exist; such a key says nothing and is dropped.
func (s *Snapshot) resolveForeign(t *Table) {
	t.Foreign = slices.DeleteFunc(t.Foreign, func(f *Foreign) bool {
		parent := s.table(f.Schema, f.Table)
		if parent == nil {
			return true
		}
		f.Schema, f.Table = parent.Schema, parent.Name
		if len(f.To) == 0 {
			f.To = slices.Clone(parent.Key)
		}
		if len(f.To) != len(f.Columns) {
			return true
		}
		return !s.canonical(t, f.Columns) || !s.canonical(parent, f.To)
	})
}

// canonical replaces names by their owners' spelling, and is false where one is not there.
func (s *Snapshot) canonical(t *Table, names []string) bool {
	for i, n := range names {
		c := s.lookup(t, n)
		if c == nil {
			return false
		}
		names[i] = c.Name
	}
	return true
}

// finish works out which columns the rowid and the defaults fill in. A lone INTEGER PRIMARY KEY without an
// index is the rowid itself; any other primary key may hold NULL, unless the table has no rowid.
func (t *sqliteTable) finish() {
	for _, c := range t.Columns {
		if !slices.Contains(t.Key, c.Name) {
			continue
		}
		if len(t.Key) == 1 && strings.EqualFold(c.Database, "integer") && !t.keyIndex && !t.withoutRowID {
			c.NotNull, c.Filled = true, true
		}
		if t.withoutRowID {
			c.NotNull = true
		}
	}
	for c, text := range t.declared {
		c.Default = literal(text, c.Type.Kind)
	}
}
