package introspect

import (
	"context"
	"database/sql"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// postgresFrom is every table and view that this user may read: no partition, for its parent stands for
// it, nothing that belongs to the server or to an extension, and only the schemas of $1 when it names any.
const postgresFrom = ` pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
AND c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition
AND n.nspname NOT LIKE 'pg\_%' AND n.nspname NOT IN ('information_schema', 'crdb_internal')
AND (CAST($1 AS text) = '[]' OR n.nspname IN (SELECT json_array_elements_text(CAST($1 AS json)))) `

const (
	postgresServer = `SELECT COALESCE(current_schema(), '')`

	postgresTables = `SELECT CAST(c.oid AS bigint), n.nspname, c.relname, c.relkind IN ('v', 'm'), COALESCE(d.description, '')
FROM` + postgresFrom + `LEFT JOIN pg_catalog.pg_description AS d
ON d.objoid = c.oid AND d.classoid = CAST('pg_catalog.pg_class' AS regclass) AND d.objsubid = 0
WHERE has_schema_privilege(n.oid, 'USAGE') AND has_any_column_privilege(c.oid, 'SELECT')
AND NOT EXISTS (SELECT 1 FROM pg_catalog.pg_depend AS e
WHERE e.classid = CAST('pg_catalog.pg_class' AS regclass) AND e.objid = c.oid AND e.deptype = 'e')`

	postgresColumns = `SELECT CAST(c.oid AS bigint), a.attnum, a.attname, CAST(a.atttypid AS bigint), a.atttypmod,
format_type(a.atttypid, a.atttypmod), a.attnotnull, CAST(a.attidentity AS text), CAST(a.attgenerated AS text),
COALESCE(pg_get_expr(v.adbin, v.adrelid), ''), COALESCE(d.description, '')
FROM` + postgresFrom + `JOIN pg_catalog.pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
LEFT JOIN pg_catalog.pg_attrdef AS v ON v.adrelid = a.attrelid AND v.adnum = a.attnum
LEFT JOIN pg_catalog.pg_description AS d
ON d.objoid = c.oid AND d.classoid = CAST('pg_catalog.pg_class' AS regclass) AND d.objsubid = a.attnum
WHERE has_column_privilege(c.oid, a.attnum, 'SELECT') ORDER BY c.oid, a.attnum`

	postgresTypes = `SELECT CAST(t.oid AS bigint), t.typname, n.nspname = 'pg_catalog', CAST(t.typtype AS text),
CAST(t.typbasetype AS bigint), t.typtypmod, CAST(t.typelem AS bigint), CAST(t.typcategory AS text), t.typnotnull,
COALESCE(t.typdefault, ''), CASE WHEN t.typtype = 'd' THEN format_type(t.typbasetype, t.typtypmod) ELSE '' END
FROM pg_catalog.pg_type AS t JOIN pg_catalog.pg_namespace AS n ON n.oid = t.typnamespace`

	postgresEnums = `SELECT CAST(enumtypid AS bigint), enumlabel FROM pg_catalog.pg_enum ORDER BY enumtypid, enumsortorder`

	postgresIndexes = `SELECT CAST(c.oid AS bigint), i.indisprimary, CAST(i.indkey AS text), i.indnkeyatts
FROM` + postgresFrom + `JOIN pg_catalog.pg_index AS i ON i.indrelid = c.oid
WHERE i.indisunique AND i.indisvalid AND i.indpred IS NULL ORDER BY c.oid, i.indexrelid`

	// A key to a partitioned table has a row for each of the partitions, too; those have a parent.
	postgresForeign = `SELECT CAST(c.oid AS bigint), CAST(k.confrelid AS bigint),
array_to_string(k.conkey, ' '), array_to_string(k.confkey, ' ')
FROM` + postgresFrom + `JOIN pg_catalog.pg_constraint AS k ON k.conrelid = c.oid AND k.contype = 'f' AND k.conparentid = 0
ORDER BY c.oid, k.conname`
)

// postgresTable is a table with the numbers its keys use for its columns.
type postgresTable struct {
	*Table
	named map[int]string
}

// postgresDB is what has been read of one database so far.
type postgresDB struct {
	schemas string // JSON
	tables  map[int64]*postgresTable
	types   map[int64]*postgresType
}

func readPostgres(ctx context.Context, c *sql.Conn, s *Snapshot) error {
	var own string
	if err := c.QueryRowContext(ctx, postgresServer).Scan(&own); err != nil {
		return err
	}
	s.setSchema(own)
	list, err := json.Marshal(append([]string{}, s.scope.schemas...)) // [], and not null, for none
	if err != nil {
		return err
	}
	p := &postgresDB{schemas: string(list), tables: map[int64]*postgresTable{}, types: map[int64]*postgresType{}}
	for _, step := range []func(context.Context, *sql.Conn, *Snapshot) error{p.readTables, p.readTypes, p.readColumns, p.readIndexes, p.readForeign} {
		if err := step(ctx, c, s); err != nil {
			return err
		}
	}
	for _, t := range p.tables {
		s.Tables = append(s.Tables, t.Table)
	}
	return nil
}

func (p *postgresDB) readTables(ctx context.Context, c *sql.Conn, s *Snapshot) error {
	return query(ctx, c, postgresTables, []any{p.schemas}, func(row *sql.Rows) error {
		t := &postgresTable{Table: &Table{}, named: map[int]string{}}
		var oid int64
		if err := row.Scan(&oid, &t.Schema, &t.Name, &t.View, &t.Comment); err != nil {
			return err
		}
		if s.covers(t.Schema, t.Name) {
			p.tables[oid] = t
		}
		return nil
	})
}

func (p *postgresDB) readTypes(ctx context.Context, c *sql.Conn, _ *Snapshot) error {
	err := query(ctx, c, postgresTypes, nil, func(row *sql.Rows) error {
		t := &postgresType{}
		var oid int64
		if err := row.Scan(&oid, &t.name, &t.system, &t.kind, &t.base, &t.mod, &t.elem, &t.category, &t.notNull, &t.def, &t.baseName); err != nil {
			return err
		}
		p.types[oid] = t
		return nil
	})
	if err != nil {
		return err
	}
	return query(ctx, c, postgresEnums, nil, func(row *sql.Rows) error {
		var oid int64
		var label string
		if err := row.Scan(&oid, &label); err != nil {
			return err
		}
		if t := p.types[oid]; t != nil {
			t.labels = append(t.labels, label)
		}
		return nil
	})
}

func (p *postgresDB) readColumns(ctx context.Context, c *sql.Conn, _ *Snapshot) error {
	return query(ctx, c, postgresColumns, []any{p.schemas}, func(row *sql.Rows) error {
		col := &Column{}
		var oid, typ int64
		var number, mod int
		var identity, generated, def string
		if err := row.Scan(&oid, &number, &col.Name, &typ, &mod, &col.Database, &col.NotNull, &identity, &generated, &def, &col.Comment); err != nil {
			return err
		}
		t := p.tables[oid]
		if t == nil {
			return nil
		}
		base := p.setType(col, typ, mod)
		if def == "" && identity == "" {
			def = base
		}
		// GENERATED ALWAYS AS IDENTITY refuses a value just as a computed column does.
		col.Generated = generated != "" || identity == "a"
		if generated == "" {
			col.Filled = def != "" || identity != ""
			if !col.Array && (col.Native == "" || col.padded()) {
				col.Default = literal(def, col.Type.Kind)
			}
		}
		t.named[number] = col.Name
		t.Columns = append(t.Columns, col)
		return nil
	})
}

func (p *postgresDB) readIndexes(ctx context.Context, c *sql.Conn, _ *Snapshot) error {
	return query(ctx, c, postgresIndexes, []any{p.schemas}, func(row *sql.Rows) error {
		var oid int64
		var primary bool
		var numbers string
		var keyed int // the columns after these are only carried along
		if err := row.Scan(&oid, &primary, &numbers, &keyed); err != nil {
			return err
		}
		t := p.tables[oid]
		if t == nil {
			return nil
		}
		names := t.names(numbers)
		names = names[:min(keyed, len(names))]
		if primary {
			t.Key = names
		} else {
			t.Unique = append(t.Unique, names)
		}
		return nil
	})
}

func (p *postgresDB) readForeign(ctx context.Context, c *sql.Conn, _ *Snapshot) error {
	return query(ctx, c, postgresForeign, []any{p.schemas}, func(row *sql.Rows) error {
		var from, to int64
		var columns, target string
		if err := row.Scan(&from, &to, &columns, &target); err != nil {
			return err
		}
		t, parent := p.tables[from], p.tables[to]
		if t == nil || parent == nil {
			return nil
		}
		f := &Foreign{Columns: t.names(columns), Schema: parent.Schema, Table: parent.Name, To: parent.names(target)}
		if !slices.Contains(f.To, "") {
			t.Foreign = append(t.Foreign, f)
		}
		return nil
	})
}

// names turns "1 3" into the names of these columns. An expression, or a column that may not be read,
// becomes "".
func (t *postgresTable) names(numbers string) []string {
	var names []string
	for n := range strings.FieldsSeq(numbers) {
		i, _ := strconv.Atoi(n)
		names = append(names, t.named[i])
	}
	return names
}
