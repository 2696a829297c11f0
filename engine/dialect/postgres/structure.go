package postgres

import "resq/engine/sqlgen"

// Structure asks the system catalogs for what this user may read. A partition is told of by its parent.
func (Dialect) Structure() sqlgen.Structure {
	const table = " FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace "
	const readable = "n.nspname = $1 AND c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition " +
		"AND has_schema_privilege(n.oid, 'USAGE') AND has_any_column_privilege(c.oid, 'SELECT')"
	const one = "n.nspname = $1 AND c.relname = $2"
	const columns = "SELECT c.relname, a.attname, format_type(a.atttypid, a.atttypmod), CASE WHEN a.attnotnull THEN 1 ELSE 0 END, " +
		"CASE WHEN a.attgenerated = '' THEN pg_get_expr(d.adbin, d.adrelid) END, col_description(c.oid, a.attnum), " +
		"CASE WHEN a.attgenerated <> '' THEN pg_get_expr(d.adbin, d.adrelid) END, CASE WHEN a.attgenerated <> '' THEN 1 ELSE 0 END, " +
		"CASE WHEN a.attidentity <> '' OR pg_get_expr(d.adbin, d.adrelid) LIKE 'nextval(%' THEN 1 ELSE 0 END" + table +
		"JOIN pg_catalog.pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped " +
		"LEFT JOIN pg_catalog.pg_attrdef AS d ON d.adrelid = a.attrelid AND d.adnum = a.attnum WHERE " + readable +
		" AND has_column_privilege(c.oid, a.attnum, 'SELECT')"
	const inOrder = " ORDER BY c.relname, a.attnum"
	const routine = " FROM pg_catalog.pg_proc AS p JOIN pg_catalog.pg_namespace AS n ON n.oid = p.pronamespace "
	const shown = "n.nspname = $1 AND p.prokind IN ('f', 'p', 'w') AND p.prorettype <> CAST('trigger' AS regtype) AND has_schema_privilege(n.oid, 'USAGE') AND NOT EXISTS (SELECT 1 FROM pg_catalog.pg_depend AS e " +
		"WHERE e.classid = CAST('pg_catalog.pg_proc' AS regclass) AND e.objid = p.oid AND e.deptype = 'e')"
	return sqlgen.Structure{
		Schemas: sqlgen.Question{Text: "SELECT n.nspname, CASE WHEN n.nspname LIKE 'pg\\_%' OR n.nspname IN ('information_schema', 'crdb_internal') THEN 1 ELSE 0 END " +
			"FROM pg_catalog.pg_namespace AS n WHERE has_schema_privilege(n.oid, 'USAGE') ORDER BY n.nspname"},
		Tables: sqlgen.Question{Args: "s", Text: "SELECT c.relname, CASE WHEN c.relkind IN ('v', 'm') THEN 1 ELSE 0 END, obj_description(c.oid, 'pg_class')" + table + "WHERE " + readable +
			" AND NOT EXISTS (SELECT 1 FROM pg_catalog.pg_depend AS e WHERE e.classid = CAST('pg_catalog.pg_class' AS regclass) AND e.objid = c.oid AND e.deptype = 'e') ORDER BY c.relname"},
		Columns: sqlgen.Question{Args: "s", Text: columns + inOrder},
		Column:  sqlgen.Question{Args: "st", Text: columns + " AND c.relname = $2" + inOrder},
		Key: sqlgen.Question{Args: "st", Text: "SELECT a.attname" + table + "JOIN pg_catalog.pg_index AS i ON i.indrelid = c.oid AND i.indisprimary " +
			"CROSS JOIN LATERAL unnest(CAST(i.indkey AS smallint[])) WITH ORDINALITY AS k(n, at) JOIN pg_catalog.pg_attribute AS a ON a.attrelid = c.oid AND a.attnum = k.n " +
			"WHERE " + one + " AND k.at <= i.indnkeyatts ORDER BY k.at"},
		Indexes: sqlgen.Question{Args: "st", Text: "SELECT x.relname, CASE WHEN i.indisunique THEN 1 ELSE 0 END, CASE WHEN i.indisprimary THEN 1 ELSE 0 END, a.attname, " +
			"CASE WHEN k.n = 0 THEN pg_get_indexdef(i.indexrelid, CAST(k.at AS integer), true) END, CASE WHEN i.indoption[CAST(k.at AS integer) - 1] & 1 = 1 THEN 1 ELSE 0 END, " +
			"pg_get_expr(i.indpred, i.indrelid), CASE WHEN k.at > i.indnkeyatts THEN 1 ELSE 0 END, 0" + table +
			"JOIN pg_catalog.pg_index AS i ON i.indrelid = c.oid AND i.indisvalid JOIN pg_catalog.pg_class AS x ON x.oid = i.indexrelid " +
			"CROSS JOIN LATERAL unnest(CAST(i.indkey AS smallint[])) WITH ORDINALITY AS k(n, at) LEFT JOIN pg_catalog.pg_attribute AS a ON a.attrelid = c.oid AND a.attnum = k.n AND k.n <> 0 " +
			"WHERE " + one + " ORDER BY x.relname, k.at"},
		Owners: sqlgen.Question{Args: "st", Text: "SELECT c.relname" + table + "JOIN pg_catalog.pg_index AS i ON i.indrelid = c.oid JOIN pg_catalog.pg_class AS x ON x.oid = i.indexrelid " +
			"WHERE n.nspname = $1 AND lower(x.relname) = lower($2) ORDER BY c.relname"},
		// A key to a partitioned table has a row for each of the partitions, too; those have a parent.
		Foreign: sqlgen.Question{Args: "s", Text: "SELECT c.relname, f.conname, f.conname, a.attname, rn.nspname, r.relname, ra.attname, " +
			"CASE f.confupdtype WHEN 'c' THEN 'CASCADE' WHEN 'n' THEN 'SET NULL' WHEN 'd' THEN 'SET DEFAULT' ELSE '' END, " +
			"CASE f.confdeltype WHEN 'c' THEN 'CASCADE' WHEN 'n' THEN 'SET NULL' WHEN 'd' THEN 'SET DEFAULT' ELSE '' END" + table +
			"JOIN pg_catalog.pg_constraint AS f ON f.conrelid = c.oid AND f.contype = 'f' AND f.conparentid = 0 " +
			"JOIN pg_catalog.pg_class AS r ON r.oid = f.confrelid JOIN pg_catalog.pg_namespace AS rn ON rn.oid = r.relnamespace " +
			"CROSS JOIN LATERAL unnest(f.conkey, f.confkey) WITH ORDINALITY AS k(n, rn, at) JOIN pg_catalog.pg_attribute AS a ON a.attrelid = c.oid AND a.attnum = k.n " +
			"JOIN pg_catalog.pg_attribute AS ra ON ra.attrelid = r.oid AND ra.attnum = k.rn WHERE n.nspname = $1 ORDER BY c.relname, f.conname, k.at"},
		Checks: sqlgen.Question{Args: "st", Text: "SELECT k.conname, pg_get_expr(k.conbin, k.conrelid)" + table + "JOIN pg_catalog.pg_constraint AS k ON k.conrelid = c.oid AND k.contype = 'c' WHERE " + one + " ORDER BY k.conname"},
		Views:  sqlgen.Question{Args: "s", Text: "SELECT c.relname, pg_get_viewdef(c.oid)" + table + "WHERE n.nspname = $1 AND c.relkind IN ('v', 'm') ORDER BY c.relname"},
		Triggers: sqlgen.Question{Args: "st", Text: "SELECT t.tgname, CASE WHEN t.tgtype & 2 = 2 THEN 'BEFORE' WHEN t.tgtype & 64 = 64 THEN 'INSTEAD OF' ELSE 'AFTER' END, e.event" + table +
			"JOIN pg_catalog.pg_trigger AS t ON t.tgrelid = c.oid AND NOT t.tgisinternal JOIN (VALUES (4, 'INSERT'), (8, 'DELETE'), (16, 'UPDATE'), (32, 'TRUNCATE')) AS e(bit, event) ON t.tgtype & e.bit = e.bit " +
			"WHERE " + one + " ORDER BY t.tgname, e.event"},
		Routines: sqlgen.Question{Args: "s", Text: "SELECT p.proname || '_' || CAST(p.oid AS text), p.proname, CASE p.prokind WHEN 'p' THEN 'procedure' ELSE 'function' END, " +
			"COALESCE(pg_get_function_result(p.oid), ''), obj_description(p.oid, 'pg_proc'), " +
			"(SELECT string_agg(DISTINCT rn.nspname || chr(31) || r.relname, chr(10)) FROM pg_catalog.pg_type AS y LEFT JOIN pg_catalog.pg_type AS z ON z.oid = y.typelem " +
			"JOIN pg_catalog.pg_class AS r ON r.oid IN (y.typrelid, z.typrelid) AND r.relkind <> 'c' JOIN pg_catalog.pg_namespace AS rn ON rn.oid = r.relnamespace " +
			"WHERE y.oid = p.prorettype OR y.oid = ANY (CAST(p.proargtypes AS oid[])) OR y.oid = ANY (p.proallargtypes))" +
			routine + "WHERE " + shown + " ORDER BY p.proname, p.oid"},
		Parameters: sqlgen.Question{Args: "s", Text: "SELECT p.proname || '_' || CAST(p.oid AS text), p.proargnames[CAST(k.at AS integer)], " +
			"CASE p.proargmodes[CAST(k.at AS integer)] WHEN 'o' THEN 'OUT' WHEN 'b' THEN 'INOUT' WHEN 'v' THEN 'VARIADIC' WHEN 't' THEN 'TABLE' ELSE 'IN' END, format_type(k.type, NULL), " +
			"pg_get_function_arg_default(p.oid, CAST(k.at AS integer)), CASE p.prokind WHEN 'p' THEN 'procedure' ELSE 'function' END" + routine +
			"CROSS JOIN LATERAL unnest(COALESCE(p.proallargtypes, CAST(p.proargtypes AS oid[]))) WITH ORDINALITY AS k(type, at) WHERE " + shown + " ORDER BY p.proname, p.oid, k.at"},
		Stored: sqlgen.Question{Args: "st", Text: "SELECT CASE WHEN c.reltuples >= 0 THEN CAST(c.reltuples AS bigint) END, s.n_dead_tup, pg_table_size(c.oid), pg_indexes_size(c.oid), NULL" + table +
			"LEFT JOIN pg_catalog.pg_stat_all_tables AS s ON s.relid = c.oid WHERE " + one + " AND c.relkind IN ('r', 'p', 'm') AND c.reltuples >= 0"},
		Spread: sqlgen.Question{Args: "st", Text: "SELECT s.attname, CAST(round(CASE WHEN s.n_distinct < 0 THEN -s.n_distinct * c.reltuples ELSE s.n_distinct END) AS bigint), CAST(round(s.null_frac * c.reltuples) AS bigint)" + table +
			"JOIN pg_catalog.pg_stats AS s ON s.schemaname = n.nspname AND s.tablename = c.relname WHERE " + one + " AND c.reltuples >= 0"},
	}
}
