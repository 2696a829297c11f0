package introspect

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
)

// The server looks a schema up directly only when it is compared with one constant; hence one round for
// each schema, and not a list.
const (
	mysqlServer = `SELECT COALESCE(DATABASE(), ''), VERSION()`

	mysqlTables = `SELECT table_name, table_type, table_comment,
COALESCE((SELECT e.engine FROM information_schema.engines e WHERE e.engine = t.engine AND COALESCE(e.transactions, 'NO') <> 'YES'), '')
FROM information_schema.tables t WHERE table_schema = ? AND table_type IN ('BASE TABLE', 'VIEW', 'SYSTEM VERSIONED')`

	mysqlColumns = `SELECT table_name, column_name, data_type, column_type, is_nullable, column_default, extra,
COALESCE(character_maximum_length, 0), COALESCE(numeric_precision, 0), COALESCE(numeric_scale, 0), column_comment
FROM information_schema.columns WHERE table_schema = ? ORDER BY table_name, ordinal_position`

	mysqlIndexes = `SELECT table_name, index_name, column_name FROM information_schema.statistics
WHERE table_schema = ? AND non_unique = 0 ORDER BY table_name, index_name, seq_in_index`

	mysqlForeign = `SELECT table_name, constraint_name, column_name,
referenced_table_schema, referenced_table_name, referenced_column_name
FROM information_schema.key_column_usage WHERE table_schema = ? AND referenced_table_name IS NOT NULL
ORDER BY table_name, constraint_name, ordinal_position`

	// Only MariaDB has the column table_name here, and only MariaDB needs it: its JSON is a text with a check.
	mariaChecks = `SELECT table_name, check_clause FROM information_schema.check_constraints
WHERE constraint_schema = ? AND check_clause LIKE '%json_valid(%'`
)

// mysqlSystem are the schemas of the server itself, of MySQL, MariaDB and TiDB.
var mysqlSystem = map[string]bool{"information_schema": true, "mysql": true, "performance_schema": true, "sys": true, "metrics_schema": true}

// mysqlSchema reads the tables of one schema.
type mysqlSchema struct {
	name   string
	maria  bool
	tables map[string]*Table
	order  []*Table
}

func readMySQL(ctx context.Context, c *sql.Conn, s *Snapshot) error {
	var own, version string
	if err := c.QueryRowContext(ctx, mysqlServer).Scan(&own, &version); err != nil {
		return err
	}
	s.setSchema(own)
	schemas := slices.Clone(s.scope.schemas)
	if len(schemas) == 0 {
		if s.Schema == "" {
			return errors.New("the connection has no database of its own; name one in the DSN, or name the schemas to read")
		}
		schemas = []string{s.Schema}
	}
	s.scope.schemas = slices.DeleteFunc(s.scope.schemas, func(name string) bool { return mysqlSystem[strings.ToLower(name)] })
	for _, name := range schemas {
		if mysqlSystem[strings.ToLower(name)] {
			s.note("schema %s was left out: it is the server's own", name)
			continue
		}
		m := &mysqlSchema{name: name, maria: strings.Contains(strings.ToLower(version), "mariadb"), tables: map[string]*Table{}}
		for _, step := range []func(context.Context, *sql.Conn, *Snapshot) error{m.readTables, m.readColumns, m.readIndexes, m.readForeign, m.readJSON} {
			if err := step(ctx, c, s); err != nil {
				return err
			}
		}
		s.Tables = append(s.Tables, m.order...)
	}
	for _, t := range s.Tables {
		s.resolveForeign(t)
	}
	return nil
}

func (m *mysqlSchema) readTables(ctx context.Context, c *sql.Conn, s *Snapshot) error {
	return query(ctx, c, mysqlTables, []any{m.name}, func(row *sql.Rows) error {
		t := &Table{Schema: m.name}
		var kind string
		if err := row.Scan(&t.Name, &kind, &t.Comment, &t.Lasting); err != nil {
			return err
		}
		t.View = kind == "VIEW"
		if t.View {
			t.Comment = "" // "VIEW", or why it is broken
		}
		if s.covers(m.name, t.Name) {
			m.tables[t.Name] = t
			m.order = append(m.order, t)
		}
		return nil
	})
}

func (m *mysqlSchema) readColumns(ctx context.Context, c *sql.Conn, _ *Snapshot) error {
	return query(ctx, c, mysqlColumns, []any{m.name}, func(row *sql.Rows) error {
		col := &Column{}
		var table, name, nullable, extra string
		var def sql.NullString
		var length, precision, scale int64
		if err := row.Scan(&table, &col.Name, &name, &col.Database, &nullable, &def, &extra, &length, &precision, &scale, &col.Comment); err != nil {
			return err
		}
		t := m.tables[table]
		if t == nil {
			return nil
		}
		extra = strings.ToLower(extra)
		col.NotNull = nullable == "NO" && !t.View // of a view it is an inference, wrong for a roll-up
		col.Generated = strings.Contains(extra, "generated") && !strings.Contains(extra, "default_generated") ||
			strings.Contains(extra, "persistent")
		col.ofMySQL(strings.ToLower(name), length, int(precision), int(scale))
		if !t.View { // of a view the server reports the default of the type
			m.fill(col, def, extra)
		}
		t.Columns = append(t.Columns, col)
		return nil
	})
}

// fill reads the default. MariaDB writes it as SQL, 'a' or NULL or an expression; MySQL writes the bare
// value, and says in extra when it is an expression.
func (m *mysqlSchema) fill(c *Column, def sql.NullString, extra string) {
	if strings.Contains(extra, "auto_increment") {
		c.Filled = true
	}
	if !def.Valid || c.Generated || m.maria && strings.EqualFold(def.String, "NULL") {
		return
	}
	if c.Filled = true; c.Array {
		return
	}
	text := def.String
	switch {
	case m.maria:
		text = plainMySQL(text)
	case strings.Contains(extra, "default_generated"):
		return
	case !bits.MatchString(text) && !strings.HasPrefix(strings.ToLower(text), "current_timestamp"):
		text = "'" + strings.ReplaceAll(text, "'", "''") + "'"
	}
	c.Default = literal(text, c.Type.Kind)
}

// readIndexes takes the unique indexes. An expression has no column there, and its index is dropped; a
// prefix that is unique makes the whole column so.
func (m *mysqlSchema) readIndexes(ctx context.Context, c *sql.Conn, _ *Snapshot) error {
	var last [2]string
	return query(ctx, c, mysqlIndexes, []any{m.name}, func(row *sql.Rows) error {
		var table, index string
		var column sql.NullString
		if err := row.Scan(&table, &index, &column); err != nil {
			return err
		}
		t := m.tables[table]
		if t == nil {
			return nil
		}
		at := [2]string{table, index}
		switch {
		case index == "PRIMARY":
			t.Key = append(t.Key, column.String)
		case at == last:
			u := &t.Unique[len(t.Unique)-1]
			*u = append(*u, column.String)
		default:
			t.Unique = append(t.Unique, []string{column.String})
		}
		last = at
		return nil
	})
}

func (m *mysqlSchema) readForeign(ctx context.Context, c *sql.Conn, _ *Snapshot) error {
	var last [2]string
	var open *Foreign
	return query(ctx, c, mysqlForeign, []any{m.name}, func(row *sql.Rows) error {
		var table, name, from, to string
		f := &Foreign{}
		if err := row.Scan(&table, &name, &from, &f.Schema, &f.Table, &to); err != nil {
			return err
		}
		t := m.tables[table]
		if t == nil {
			return nil
		}
		if at := [2]string{table, name}; open == nil || at != last {
			last, open = at, f
			t.Foreign = append(t.Foreign, f)
		}
		open.Columns = append(open.Columns, from)
		open.To = append(open.To, to)
		return nil
	})
}

// readJSON finds the JSON columns of MariaDB: long texts that a check holds to be valid JSON.
func (m *mysqlSchema) readJSON(ctx context.Context, c *sql.Conn, _ *Snapshot) error {
	if !m.maria {
		return nil
	}
	return query(ctx, c, mariaChecks, []any{m.name}, func(row *sql.Rows) error {
		var table, clause string
		if err := row.Scan(&table, &clause); err != nil {
			return err
		}
		if t := m.tables[table]; t != nil {
			for _, col := range t.Columns {
				col.checkJSON(clause)
			}
		}
		return nil
	})
}
