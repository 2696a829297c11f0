package mysql

import "resq/engine/sqlgen"

// Structure asks information_schema. It finds a schema and a table directly only where each is compared with one value, so
// that joins repeat them.
func (Dialect) Structure() sqlgen.Structure {
	const columns = "SELECT TABLE_NAME, COLUMN_NAME, COLUMN_TYPE, CASE IS_NULLABLE WHEN 'NO' THEN 1 ELSE 0 END, " +
		// MariaDB writes a default as SQL; MySQL its bare value, unless it is an expression.
		"CASE WHEN VERSION() LIKE '%MariaDB%' OR EXTRA LIKE '%DEFAULT_GENERATED%' THEN NULLIF(COLUMN_DEFAULT, 'NULL') ELSE QUOTE(COLUMN_DEFAULT) END, " +
		"COLUMN_COMMENT, GENERATION_EXPRESSION, CASE WHEN COALESCE(GENERATION_EXPRESSION, '') <> '' THEN 1 ELSE 0 END, CASE WHEN EXTRA LIKE '%auto_increment%' THEN 1 ELSE 0 END " +
		"FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = ?"
	const inOrder = " ORDER BY TABLE_NAME, ORDINAL_POSITION"
	return sqlgen.Structure{
		Schemas: sqlgen.Question{Text: "SELECT SCHEMA_NAME, CASE WHEN LOWER(SCHEMA_NAME) IN ('information_schema', 'mysql', 'performance_schema', 'sys', 'metrics_schema') THEN 1 ELSE 0 END " +
			"FROM information_schema.SCHEMATA ORDER BY SCHEMA_NAME"},
		Tables: sqlgen.Question{Args: "s", Text: "SELECT TABLE_NAME, CASE WHEN TABLE_TYPE LIKE '%VIEW' THEN 1 ELSE 0 END, CASE WHEN TABLE_TYPE LIKE '%VIEW' THEN '' ELSE TABLE_COMMENT END " +
			"FROM information_schema.TABLES WHERE TABLE_SCHEMA = ? AND TABLE_TYPE IN ('BASE TABLE', 'VIEW', 'SYSTEM VIEW', 'SYSTEM VERSIONED') ORDER BY TABLE_NAME"},
		Columns: sqlgen.Question{Args: "s", Text: columns + inOrder},
		Column:  sqlgen.Question{Args: "st", Text: columns + " AND TABLE_NAME = ?" + inOrder},
		Key: sqlgen.Question{Args: "st", Text: "SELECT COLUMN_NAME FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ? AND INDEX_NAME = 'PRIMARY' " +
			"ORDER BY SEQ_IN_INDEX"},
		// An expression is not told by all versions; its index has no column there, and is left out.
		Indexes: sqlgen.Question{Args: "st", Text: "SELECT INDEX_NAME, CASE NON_UNIQUE WHEN 0 THEN 1 ELSE 0 END, CASE INDEX_NAME WHEN 'PRIMARY' THEN 1 ELSE 0 END, COLUMN_NAME, NULL, " +
			"CASE COLLATION WHEN 'D' THEN 1 ELSE 0 END, NULL, 0, COALESCE(SUB_PART, 0) FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ? ORDER BY INDEX_NAME, SEQ_IN_INDEX"},
		Owners: sqlgen.Question{Args: "st", Text: "SELECT DISTINCT TABLE_NAME FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = ? AND INDEX_NAME = ? ORDER BY TABLE_NAME"},
		Foreign: sqlgen.Question{Args: "ss", Text: "SELECT k.TABLE_NAME, k.CONSTRAINT_NAME, k.CONSTRAINT_NAME, k.COLUMN_NAME, k.REFERENCED_TABLE_SCHEMA, k.REFERENCED_TABLE_NAME, k.REFERENCED_COLUMN_NAME, " +
			"r.UPDATE_RULE, r.DELETE_RULE FROM information_schema.KEY_COLUMN_USAGE k JOIN information_schema.REFERENTIAL_CONSTRAINTS r " +
			"ON r.CONSTRAINT_NAME = k.CONSTRAINT_NAME AND r.TABLE_NAME = k.TABLE_NAME WHERE k.TABLE_SCHEMA = ? AND r.CONSTRAINT_SCHEMA = ? AND k.REFERENCED_TABLE_NAME IS NOT NULL " +
			"ORDER BY k.TABLE_NAME, k.CONSTRAINT_NAME, k.ORDINAL_POSITION"},
		// In MariaDB a check has its name within its table, in MySQL within the schema: only the one has TABLE_NAME in both.
		// JSON is a text with a check there, which is part of the type.
		Checks: sqlgen.Question{Args: "sst", Text: "SELECT CONSTRAINT_NAME, CHECK_CLAUSE FROM information_schema.CHECK_CONSTRAINTS NATURAL JOIN information_schema.TABLE_CONSTRAINTS " +
			"WHERE CONSTRAINT_SCHEMA = ? AND TABLE_SCHEMA = ? AND TABLE_NAME = ? AND CONSTRAINT_TYPE = 'CHECK' AND CHECK_CLAUSE NOT LIKE 'json_valid(`%`)' ORDER BY CONSTRAINT_NAME"},
		Views: sqlgen.Question{Args: "s", Text: "SELECT TABLE_NAME, VIEW_DEFINITION FROM information_schema.VIEWS WHERE TABLE_SCHEMA = ? ORDER BY TABLE_NAME"},
		Triggers: sqlgen.Question{Args: "st", Text: "SELECT TRIGGER_NAME, ACTION_TIMING, EVENT_MANIPULATION FROM information_schema.TRIGGERS WHERE EVENT_OBJECT_SCHEMA = ? AND EVENT_OBJECT_TABLE = ? " +
			"ORDER BY TRIGGER_NAME"},
		Routines: sqlgen.Question{Args: "s", Text: "SELECT SPECIFIC_NAME, ROUTINE_NAME, LOWER(ROUTINE_TYPE), COALESCE(DTD_IDENTIFIER, ''), ROUTINE_COMMENT, '' FROM information_schema.ROUTINES " +
			"WHERE ROUTINE_SCHEMA = ? AND ROUTINE_TYPE IN ('FUNCTION', 'PROCEDURE') ORDER BY ROUTINE_NAME, SPECIFIC_NAME, ROUTINE_TYPE"},
		Parameters: sqlgen.Question{Args: "s", Text: "SELECT SPECIFIC_NAME, PARAMETER_NAME, COALESCE(PARAMETER_MODE, 'IN'), DTD_IDENTIFIER, NULL, LOWER(ROUTINE_TYPE) FROM information_schema.PARAMETERS " +
			"WHERE SPECIFIC_SCHEMA = ? AND ORDINAL_POSITION > 0 ORDER BY SPECIFIC_NAME, ORDINAL_POSITION"},
		Stored: sqlgen.Question{Args: "st", Text: "SELECT TABLE_ROWS, NULL, DATA_LENGTH, INDEX_LENGTH, CAST(UPDATE_TIME AS CHAR) FROM information_schema.TABLES WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ?"},
		Spread: sqlgen.Question{Args: "st", Text: "SELECT c.column_name, CAST(ROUND((1 - c.nulls_ratio) * t.cardinality / NULLIF(c.avg_frequency, 0)) AS SIGNED), CAST(ROUND(c.nulls_ratio * t.cardinality) AS SIGNED) " +
			"FROM mysql.column_stats c JOIN mysql.table_stats t ON t.db_name = c.db_name AND t.table_name = c.table_name WHERE c.db_name = ? AND c.table_name = ?"},
	}
}
