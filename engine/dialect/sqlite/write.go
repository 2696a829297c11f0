package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"strings"
	"time"

	"resq/engine/dialect/texts"
	"resq/engine/sqlgen"
	"resq/schema"

	"modernc.org/sqlite"
)

// Writer opens the file for writing. A transaction takes the file's lock when it begins, so that what it reads
// stays true until it ends. Foreign keys hold. Beside reading, an authorizer admits changes of rows and nothing
// else.
func (Dialect) Writer(c *schema.Connection, timeout time.Duration) (driver.Connector, error) {
	p, err := path(c.DSN)
	if err != nil {
		return nil, err
	}
	in, err := sqlite.NewConnector(uri(p, "mode=rw&_txlock=immediate&_pragma=foreign_keys(1)&_pragma=synchronous(FULL)&_pragma=trusted_schema(0)&_pragma=cell_size_check(1)&_pragma=busy_timeout(2000)&_pragma=case_sensitive_like(0)"))
	if err != nil {
		return nil, err
	}
	return &guarded{in, authorizeWrite}, nil
}

// authorizeWrite admits what authorize does, and changes of rows.
func authorizeWrite(a sqlite.AuthorizerActionCode, arg1, arg2, db, trigger string) sqlite.AuthorizerReturnCode {
	switch a {
	case sqlite.AuthInsert, sqlite.AuthUpdate, sqlite.AuthDelete:
		if n := strings.ToLower(arg1); strings.HasPrefix(n, "sqlite_") && n != "sqlite_sequence" {
			return sqlite.AuthorizerDeny
		}
		return sqlite.AuthorizerOK
	}
	return authorize(a, arg1, arg2, db, trigger)
}

// Operations is how SQLite keeps the rows of operations.
func (Dialect) Operations() sqlgen.Operations {
	return sqlgen.Operations{
		Table: []sqlgen.Text{
			"CREATE TABLE IF NOT EXISTS resq_operation (op_id TEXT NOT NULL PRIMARY KEY, state TEXT NOT NULL, principal TEXT NOT NULL, " +
				"key_id TEXT NOT NULL, tool TEXT NOT NULL, resource TEXT NOT NULL, binding_hash TEXT NOT NULL, version_hash TEXT NOT NULL, " +
				"catalog_hash TEXT NOT NULL, mode TEXT NOT NULL, created_at TEXT NOT NULL, expires_at TEXT NOT NULL, approved_by TEXT, " +
				"approved_at TEXT, reason TEXT, applied_at TEXT, affected INTEGER, result_json TEXT, undo_blob BLOB)",
			"CREATE INDEX IF NOT EXISTS resq_operation_live ON resq_operation (principal, key_id, state, expires_at)",
			"CREATE INDEX IF NOT EXISTS resq_operation_time ON resq_operation (created_at)",
		},
		Now:   "strftime('%Y-%m-%d %H:%M:%f', 'now')",
		After: "strftime('%Y-%m-%d %H:%M:%f', 'now', ? || ' seconds')",
		Epoch: "CAST(strftime('%s', {}) AS INTEGER)",
	}
}

// Refusal says why a write was not taken (the result codes of SQLite, extended).
func (Dialect) Refusal(err error) sqlgen.Refusal {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		if errors.Is(err, driver.ErrBadConn) {
			return sqlgen.Gone
		}
		return sqlgen.Other
	}
	switch e.Code() {
	case 2067, 1555, 2579: // CONSTRAINT_UNIQUE, _PRIMARYKEY, _ROWID
		return sqlgen.Duplicate
	case 787, 1811: // CONSTRAINT_FOREIGNKEY, and RESTRICT, which SQLite keeps by a trigger of its own
		if e.Code() == 1811 && !strings.Contains(e.Error(), "FOREIGN KEY") {
			return sqlgen.Checked
		}
		return sqlgen.Referenced
	case 1299: // CONSTRAINT_NOTNULL
		return sqlgen.Missing
	case 275: // CONSTRAINT_CHECK
		return sqlgen.Checked
	}
	switch e.Code() & 0xff {
	case 5, 6: // BUSY, LOCKED
		return sqlgen.Busy
	case 8, 10, 13: // READONLY, IOERR, FULL
		return sqlgen.ReadOnly
	case 18, 20, 25: // TOOBIG, MISMATCH, RANGE
		return sqlgen.Unfit
	case 19:
		return sqlgen.Checked
	}
	return sqlgen.Other
}

// Derived lists the views, and the virtual tables with those that they keep their content in: an index of texts may be one of another
// table's.
func (d Dialect) Derived(ctx context.Context, _ *sql.DB, c *schema.Connection) ([]sqlgen.Derived, error) {
	db, err := d.Inspect(c)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	list, err := texts.Triples(ctx, db, `SELECT 'main', name, sql FROM sqlite_master WHERE type = 'view' OR sql LIKE 'CREATE VIRTUAL %'
UNION ALL SELECT 'main', s.name, v.sql FROM sqlite_master v JOIN sqlite_master s ON s.type = 'table' AND s.name LIKE replace(v.name, '_', '\_') || '\_%' ESCAPE '\' WHERE v.sql LIKE 'CREATE VIRTUAL %'`)
	return sqlgen.DerivedOf(list), err
}

// Effects reads a table's triggers, and the foreign keys that act by themselves when its rows go, over a
// connection that may only read the schema.
func (d Dialect) Effects(ctx context.Context, _ *sql.DB, r *schema.Resource) (out sqlgen.Effects, err error) {
	db, err := d.Inspect(r.Connection)
	if err != nil {
		return out, err
	}
	defer db.Close()
	var n int
	if err := db.QueryRowContext(ctx, "SELECT COUNT(*) FROM sqlite_master WHERE type = 'trigger' AND tbl_name = ? COLLATE NOCASE", r.Table).Scan(&n); err != nil {
		return out, err
	}
	out.Triggers = n > 0
	if out.Cascades, err = texts.Of(ctx, db, "SELECT DISTINCT m.name FROM sqlite_master m JOIN pragma_foreign_key_list(m.name) k WHERE m.type = 'table' AND k.\"table\" = ? COLLATE NOCASE AND k.on_delete IN ('CASCADE', 'SET NULL', 'SET DEFAULT')", r.Table); err != nil {
		return out, err
	}
	out.Computed, err = texts.Of(ctx, db, "SELECT name FROM pragma_table_xinfo(?) WHERE hidden IN (2, 3)", r.Table)
	return out, err
}

// Admin opens the file for making tables.
func (Dialect) Admin(c *schema.Connection) (*sql.DB, error) {
	p, err := path(c.DSN)
	if err != nil {
		return nil, err
	}
	return OpenWrite(p)
}
