package registry

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"resq/testdb"
)

// registryNames are the constraints and indexes of tool-registry.md, each with its table and what it is.
var registryNames = []string{
	"resources uq_resources_name unique",
	"tool_bindings ck_tool_bindings_access check",
	"tool_bindings ck_tool_bindings_mode check",
	"tool_bindings fk_tool_bindings_tool_id foreign",
	"tool_bindings uq_tool_bindings_tool_slot unique",
	"tools ck_tools_source_type check",
	"tools ck_tools_tool_type check",
	"tools ix_tools_name index",
	"tools ix_tools_tool_type index",
	"tools uq_tools_name unique",
	"validation_attachments ck_validation_attachments_mode check",
	"validation_attachments fk_validation_attachments_resource_id foreign",
	"validation_attachments ix_validation_attachments_resource_id index",
	"validation_attachments uq_validation_attachments_resource_validation unique",
}

// namesThere reads the constraints and indexes back from the database.
func namesThere(t *testing.T, c *Control) (out []string) {
	t.Helper()
	tables := "('resources', 'tools', 'tool_bindings', 'validation_attachments')"
	text := map[string]string{
		inMySQL: "SELECT CONCAT(TABLE_NAME, ' ', CONSTRAINT_NAME, ' ', CASE CONSTRAINT_TYPE WHEN 'FOREIGN KEY' THEN 'foreign' ELSE LOWER(CONSTRAINT_TYPE) END) FROM information_schema.TABLE_CONSTRAINTS " +
			"WHERE TABLE_SCHEMA = DATABASE() AND CONSTRAINT_TYPE <> 'PRIMARY KEY' AND TABLE_NAME IN " + tables +
			" UNION SELECT CONCAT(TABLE_NAME, ' ', INDEX_NAME, ' index') FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = DATABASE() AND NON_UNIQUE = 1 AND TABLE_NAME IN " + tables,
		inPostgres: "SELECT k.relname || ' ' || c.conname || ' ' || CASE c.contype WHEN 'u' THEN 'unique' WHEN 'f' THEN 'foreign' ELSE 'check' END FROM pg_constraint c JOIN pg_class k ON k.oid = c.conrelid " +
			"WHERE k.relnamespace = current_schema()::regnamespace AND c.contype IN ('u', 'f', 'c') AND k.relname IN " + tables +
			" UNION SELECT k.relname || ' ' || i.relname || ' index' FROM pg_index x JOIN pg_class k ON k.oid = x.indrelid JOIN pg_class i ON i.oid = x.indexrelid " +
			"WHERE k.relnamespace = current_schema()::regnamespace AND NOT x.indisunique AND k.relname IN " + tables,
	}[c.name]
	if c.name == inSQLite { // which keeps the names of constraints in the text of the table alone
		text = "SELECT tbl_name || char(9) || type || char(9) || name || char(9) || sql FROM sqlite_master WHERE sql IS NOT NULL AND tbl_name IN " + tables
	}
	rows, err := c.db.QueryContext(t.Context(), text)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			t.Fatal(err)
		}
		if c.name != inSQLite {
			out = append(out, s)
			continue
		}
		p := strings.SplitN(s, "\t", 4)
		if p[1] == "index" {
			out = append(out, p[0]+" "+p[2]+" index")
			continue
		}
		words := strings.Fields(p[3])
		for i := range words {
			if words[i] == "CONSTRAINT" {
				out = append(out, p[0]+" "+words[i+1]+" "+strings.ToLower(words[i+2]))
			}
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	slices.Sort(out)
	return out
}

// C-001, C-002, C-003: the tables of the registry have the names, checks and cascades of its description on every
// database, and its revision is recorded.
func TestRegistryTables(t *testing.T) {
	testdb.Each(t, func(t *testing.T, e testdb.Engine) {
		c, _ := migratedControl(t, e)
		ctx := t.Context()
		if got := namesThere(t, c); !slices.Equal(got, registryNames) {
			t.Errorf("there are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(registryNames, "\n"))
		}
		revision := func() (s string) {
			if err := c.db.QueryRowContext(ctx, "SELECT version_num FROM alembic_version").Scan(&s); err != nil {
				s = err.Error()
			}
			return s
		}
		if got := revision(); got != "c1_001_tool_registry" {
			t.Errorf("revision %s", got)
		}
		for _, columns := range []string{
			"resources: resource_id, name, resource_type, connection, config_yaml, created_at, updated_at",
			"tools: tool_id, name, description, tool_type, source_type, input_schema, output_schema, read_only, writes, checkpointable, side_effects, config_yaml, created_at, updated_at",
			"tool_bindings: binding_id, tool_id, slot_name, resource_type, binding_mode, access_level, created_at",
			"validation_attachments: attachment_id, resource_id, validation_name, mode, created_at",
		} {
			table, list, _ := strings.Cut(columns, ": ")
			rows, err := c.db.QueryContext(ctx, "SELECT * FROM "+table+" WHERE 1 = 0")
			if err != nil {
				t.Fatal(err)
			}
			names, err := rows.Columns()
			if err != nil || strings.Join(names, ", ") != list {
				t.Errorf("%s has %v %v", table, names, err)
			}
			if err := rows.Close(); err != nil {
				t.Fatal(err)
			}
		}
		do := func(ok bool, text string) {
			t.Helper()
			if _, err := c.db.ExecContext(ctx, text); (err == nil) != ok {
				t.Errorf("%s\n%v, want it to work: %v", text, err, ok)
			}
		}
		count := func(table string) (n int) {
			t.Helper()
			if err := c.db.QueryRowContext(ctx, "SELECT COUNT(*) FROM "+table).Scan(&n); err != nil {
				t.Fatal(err)
			}
			return n
		}
		tool := func(id, name, kind, source string) string {
			return fmt.Sprintf("INSERT INTO tools (tool_id, name, tool_type, source_type, created_at, updated_at) VALUES ('%s', '%s', '%s', '%s', 'now', 'now')", id, name, kind, source)
		}
		do(true, tool("t1", "biz/a", "tool", "custom"))
		do(true, tool("t2", "biz/A", "validation", "wrapped")) // C-046: the case of letters counts
		do(false, tool("t1", "biz/b", "tool", "custom"))
		do(false, tool("t3", "biz/a", "tool", "custom"))
		do(false, tool("t3", "biz/c", "skill", "custom"))
		do(false, tool("t3", "biz/c", "tool", "python"))
		for i, source := range []string{"mcp", "agent_skill", "builtin"} {
			do(true, tool(fmt.Sprint("u", i), fmt.Sprint("biz/u", i), "tool", source))
		}
		var flags [4]bool
		if err := c.db.QueryRowContext(ctx, "SELECT read_only, writes, checkpointable, side_effects FROM tools WHERE tool_id = 't1'").Scan(&flags[0], &flags[1], &flags[2], &flags[3]); err != nil || flags != [4]bool{} {
			t.Errorf("defaults %v %v", flags, err)
		}
		binding := func(id, tool, slot, mode, access string) string {
			return fmt.Sprintf("INSERT INTO tool_bindings (binding_id, tool_id, slot_name, resource_type, binding_mode, access_level, created_at) VALUES ('%s', '%s', '%s', 'table', '%s', '%s', 'now')", id, tool, slot, mode, access)
		}
		do(true, binding("b1", "t1", "orders", "context", "read_only"))
		do(true, binding("b2", "t1", "store", "parameter", "read_write"))
		do(true, binding("b3", "t2", "orders", "static", "read_only"))
		do(false, binding("b4", "t1", "orders", "static", "read_only"))
		do(false, binding("b4", "t1", "other", "guess", "read_only"))
		do(false, binding("b4", "t1", "other", "static", "all"))
		do(false, binding("b4", "nosuch", "other", "static", "read_only"))
		do(true, "INSERT INTO tool_bindings (binding_id, tool_id, slot_name, resource_type, binding_mode, created_at) VALUES ('b5', 't2', 'five', 'table', 'static', 'now')")
		var access string
		if err := c.db.QueryRowContext(ctx, "SELECT access_level FROM tool_bindings WHERE binding_id = 'b5'").Scan(&access); err != nil || access != "read_only" {
			t.Errorf("default access %q %v", access, err)
		}
		do(true, "INSERT INTO resources (resource_id, name, resource_type, created_at, updated_at) VALUES ('r1', 'Order', 'table', 'now', 'now')")
		do(false, "INSERT INTO resources (resource_id, name, resource_type, created_at, updated_at) VALUES ('r2', 'Order', 'table', 'now', 'now')")
		attach := func(id, resource, name, columns, values string) string {
			return fmt.Sprintf("INSERT INTO validation_attachments (attachment_id, resource_id, validation_name, created_at%s) VALUES ('%s', '%s', '%s', 'now'%s)", columns, id, resource, name, values)
		}
		do(true, attach("a1", "r1", "biz/no-such-tool", "", "")) // the name refers to a tool logically alone
		do(false, attach("a2", "r1", "biz/no-such-tool", "", ""))
		do(false, attach("a2", "r1", "biz/a", ", mode", ", 'maybe'"))
		do(false, attach("a2", "nosuch", "biz/a", "", ""))
		do(true, attach("a2", "r1", "biz/a", ", mode", ", 'informational'"))
		var mode string
		if err := c.db.QueryRowContext(ctx, "SELECT mode FROM validation_attachments WHERE attachment_id = 'a1'").Scan(&mode); err != nil || mode != "required" {
			t.Errorf("default mode %q %v", mode, err)
		}
		// What belongs to a tool or a resource goes with it; a tool's attachments do not go by themselves.
		do(true, "DELETE FROM tools WHERE tool_id = 't1'")
		if n := count("tool_bindings"); n != 2 {
			t.Errorf("%d bindings are left of a tool that went, want 2 of the other", n)
		}
		if n := count("validation_attachments"); n != 2 {
			t.Errorf("%d attachments, want 2", n)
		}
		do(true, "DELETE FROM resources WHERE resource_id = 'r1'")
		if n := count("validation_attachments"); n != 0 {
			t.Errorf("%d attachments are left of a resource that went", n)
		}
		for there := true; there; { // past the steps that came later
			var err error
			if _, err = c.Down(ctx, false); err != nil {
				t.Fatal(err)
			}
			if there, err = c.has(ctx, "tools"); err != nil {
				t.Fatal(err)
			}
		}
		if revision() != "b0_001_projects" {
			t.Errorf("below the registry: %s", revision())
		}
		if _, err := c.Up(ctx); err != nil || revision() != "c1_001_tool_registry" {
			t.Errorf("up again: %v %s", err, revision())
		}
	})
}
