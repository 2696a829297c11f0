package main

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"resq/schema"
)

// An examination looks at what the role of one connection may do (security.md 4.6).
type examination struct {
	*report
	db     *sql.DB
	conn   *schema.Connection
	tables []*schema.Resource // of the catalog, on this connection
}

// privileges examine a role, by driver.
var privileges = map[string]func(context.Context, *examination) error{
	"postgres": examinePostgres, "mysql": examineMySQL, "sqlite": examineSQLite,
}

func (x *examination) say(level, text, do string) {
	x.tell(level, "privileges", x.conn.Name, text, do)
}

// clean leaves a line when nothing else was found.
func (x *examination) clean(before int) {
	if len(x.findings) == before {
		x.say(levelOK, "its role has no privilege that it should not have", "")
	}
}

// writable tells of tables of the catalog that a connection for reading may change.
func (x *examination) writable(may []string) {
	if len(may) > 0 {
		x.say(levelFail, "its mode is read, but its role may change tables of the catalog: "+some(may), "revoke all but SELECT, or give the connection a role of its own")
	}
}

// some lists names, the first of them if there are many.
func some(names []string) string {
	slices.Sort(names)
	if names = slices.Compact(names); len(names) > maxNamed {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:maxNamed], ", "), len(names)-maxNamed)
	}
	return strings.Join(names, ", ")
}

// rows reads all rows of a constant statement as texts.
func (x *examination) rows(ctx context.Context, text string) (out [][]string, err error) {
	rows, err := x.db.QueryContext(ctx, text)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	for rows.Next() {
		row, dest := make([]string, len(columns)), make([]any, len(columns))
		for i := range row {
			dest[i] = &row[i]
		}
		if err := rows.Scan(dest...); err != nil {
			return nil, err
		}
		out = append(out, row)
	}
	return out, rows.Err()
}

const (
	pgRole = `SELECT current_user, rolsuper, rolcreaterole, rolcreatedb, rolreplication, rolbypassrls,
		current_setting('server_version_num')::int < 160000, has_database_privilege(current_database(), 'CREATE')
		FROM pg_catalog.pg_roles WHERE rolname = current_user`
	pgMember = `SELECT rolname FROM pg_catalog.pg_roles WHERE rolname IN
		('pg_read_server_files', 'pg_write_server_files', 'pg_execute_server_program', 'pg_write_all_data') AND pg_has_role(current_user, oid, 'MEMBER')`
	pgCreate = `SELECT nspname FROM pg_catalog.pg_namespace WHERE nspname !~ '^pg_' AND nspname <> 'information_schema' AND has_schema_privilege(oid, 'CREATE')`
	pgWrite  = `SELECT n.nspname, c.relname, n.nspname = ANY (current_schemas(false)), concat_ws(', ',
		CASE WHEN has_any_column_privilege(c.oid, 'INSERT') THEN 'INSERT' END, CASE WHEN has_any_column_privilege(c.oid, 'UPDATE') THEN 'UPDATE' END,
		CASE WHEN has_table_privilege(c.oid, 'DELETE') THEN 'DELETE' END, CASE WHEN has_table_privilege(c.oid, 'TRUNCATE') THEN 'TRUNCATE' END)
		FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname !~ '^pg_'`
	pgLarge = `SELECT DISTINCT proname FROM pg_catalog.pg_proc WHERE pronamespace = 'pg_catalog'::regnamespace AND has_function_privilege(oid, 'EXECUTE') AND proname IN
		('lo_creat', 'lo_create', 'lo_from_bytea', 'lo_put', 'lo_unlink', 'lo_import', 'lo_export', 'lo_truncate', 'lo_truncate64', 'lowrite')`
)

func examinePostgres(ctx context.Context, x *examination) error {
	before := len(x.findings)
	var name string
	var super, roles, databases, replication, bypass, old, create bool
	if err := x.db.QueryRowContext(ctx, pgRole).Scan(&name, &super, &roles, &databases, &replication, &bypass, &old, &create); err != nil {
		return err
	}
	if super {
		x.say(levelFail, "its role "+name+" is a superuser, who may read and write files and run programs", "give it a role of its own with SELECT on the tables of the catalog")
		return nil
	}
	for _, p := range []struct {
		has         bool
		level, text string
		do          string
	}{
		{roles, levelFail, "may create roles", "ALTER ROLE " + name + " NOCREATEROLE"},
		{replication, levelFail, "may copy the whole server", "ALTER ROLE " + name + " NOREPLICATION"},
		{bypass, levelWarn, "passes by row security", "ALTER ROLE " + name + " NOBYPASSRLS"},
		{databases, levelWarn, "may create databases", "ALTER ROLE " + name + " NOCREATEDB"},
		{create, levelWarn, "may create schemas in the database", "REVOKE CREATE on the database"},
	} {
		if p.has {
			x.say(p.level, "its role "+name+" "+p.text, p.do)
		}
	}
	if err := x.postgresObjects(ctx, name, old); err != nil {
		return err
	}
	x.clean(before)
	return nil
}

// postgresObjects looks at what the role may do with others' objects. Before version 16 functions of large
// objects write in transactions that only read.
func (x *examination) postgresObjects(ctx context.Context, name string, old bool) error {
	member, err := x.rows(ctx, pgMember)
	if err != nil {
		return err
	}
	for _, m := range member {
		x.say(levelFail, "its role "+name+" is a member of "+m[0], "REVOKE "+m[0]+" FROM "+name)
	}
	create, err := x.rows(ctx, pgCreate)
	if err != nil {
		return err
	}
	if names := column(create); len(names) > 0 {
		x.say(levelWarn, "its role "+name+" may create tables in the schemas: "+some(names), "REVOKE CREATE ON SCHEMA … FROM "+name+", and from PUBLIC")
	}
	if !x.conn.Write {
		list, err := x.rows(ctx, pgWrite)
		if err != nil {
			return err
		}
		var may []string
		for _, row := range list {
			if row[3] != "" && slices.ContainsFunc(x.tables, func(r *schema.Resource) bool {
				return r.Table == row[1] && (r.Schema == row[0] || r.Schema == "" && row[2] == "true")
			}) {
				may = append(may, row[1]+" ("+row[3]+")")
			}
		}
		x.writable(may)
	}
	if !old {
		return nil
	}
	large, err := x.rows(ctx, pgLarge)
	if names := column(large); len(names) > 0 {
		x.say(levelWarn, "its role "+name+" may write large objects: "+some(names), "REVOKE EXECUTE ON FUNCTION … FROM PUBLIC; the functions are open to everybody before version 16")
	}
	return err
}

func column(rows [][]string) []string {
	out := make([]string, len(rows))
	for i, r := range rows {
		out[i] = r[0]
	}
	return out
}

// examineSQLite looks at the file, which has no roles, but an owner and a directory.
func examineSQLite(ctx context.Context, x *examination) error {
	before := len(x.findings)
	list, err := x.rows(ctx, "SELECT file FROM pragma_database_list WHERE name = 'main'")
	if err != nil {
		return err
	}
	var mode string
	if err := x.db.QueryRowContext(ctx, "PRAGMA journal_mode").Scan(&mode); err != nil {
		return err
	}
	if len(list) == 0 || list[0][0] == "" {
		x.say(levelWarn, "the database has no file", "")
		return nil
	}
	file := list[0][0]
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	if othersMay(info, mayWrite) {
		x.say(levelFail, "every user of this machine may write "+file, "chmod o-w "+file)
	}
	dir := filepath.Dir(file)
	if info, err := os.Stat(dir); err == nil && othersMay(info, mayWrite) {
		level := levelFail
		if info.Mode()&os.ModeSticky != 0 {
			level = levelWarn // the file cannot be replaced, but a journal can be put beside it
		}
		x.say(level, "every user of this machine may write to its directory "+dir, "keep it in a directory of its own")
	}
	switch {
	case mode != "wal":
		x.say(levelOK, "its journal mode is "+mode+": whoever writes makes readers wait", "PRAGMA journal_mode = WAL lets both work at once")
	case !canCreate(dir):
		x.say(levelWarn, "its journal mode is WAL, and this process may not write to its directory "+dir+", where readers keep an index", "let it, or set another journal mode")
	default:
		x.say(levelOK, "its journal mode is WAL: readers and a writer work at once", "")
	}
	x.clean(before)
	return nil
}
