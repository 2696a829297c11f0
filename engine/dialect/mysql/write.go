package mysql

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"resq/engine/dialect/texts"
	"resq/engine/sqlgen"
	"resq/schema"

	"github.com/go-sql-driver/mysql"
)

// Writer opens connections for writing. Each transaction sees what others have committed, statement by
// statement, and waits for a lock for no longer than half the time of a statement.
func (Dialect) Writer(c *schema.Connection, timeout time.Duration) (driver.Connector, error) {
	cfg, err := config(c.DSN)
	if err != nil {
		return nil, err
	}
	cfg.RejectReadOnly = true // a server that was demoted: the driver drops the connection and looks anew
	cfg.ReadTimeout = silence(timeout)
	in, err := mysql.NewConnector(cfg)
	if err != nil {
		return nil, errors.New("the dsn of connection " + c.Name + " is not understood")
	}
	return &connector{Connector: in, timeout: timeout, write: true}, nil
}

// ExecContext runs a statement under the eyes of its context.
func (c *conn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	defer c.watch(ctx)()
	return c.inner.ExecContext(ctx, query, args)
}

// Operations is how MySQL keeps the rows of operations.
func (Dialect) Operations() sqlgen.Operations {
	return sqlgen.Operations{
		Table: []sqlgen.Text{
			"CREATE TABLE IF NOT EXISTS resq_operation (op_id CHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY, " +
				"state VARCHAR(10) NOT NULL, principal VARCHAR(190) COLLATE utf8mb4_bin NOT NULL, key_id VARCHAR(64) COLLATE utf8mb4_bin NOT NULL, " +
				"tool VARCHAR(64) NOT NULL, resource VARCHAR(64) NOT NULL, binding_hash CHAR(64) NOT NULL, version_hash CHAR(64) NOT NULL, " +
				"catalog_hash CHAR(64) NOT NULL, mode VARCHAR(10) NOT NULL, created_at DATETIME(6) NOT NULL, expires_at DATETIME(6) NOT NULL, " +
				"approved_by VARCHAR(190), approved_at DATETIME(6), reason VARCHAR(500), applied_at DATETIME(6), affected INT, " +
				"result_json MEDIUMTEXT, undo_blob MEDIUMBLOB, " +
				"INDEX resq_operation_live (principal, key_id, state, expires_at), INDEX resq_operation_time (created_at)) " +
				"DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin ENGINE=InnoDB",
		},
		Now:   "UTC_TIMESTAMP(6)",
		After: "TIMESTAMPADD(SECOND, ?, UTC_TIMESTAMP(6))",
		Epoch: "TIMESTAMPDIFF(SECOND, '1970-01-01 00:00:00', {})",
	}
}

// Refusal says why a write was not taken.
func (Dialect) Refusal(err error) sqlgen.Refusal {
	var e *mysql.MySQLError
	if !errors.As(err, &e) {
		var n net.Error
		if errors.Is(err, driver.ErrBadConn) || errors.Is(err, mysql.ErrInvalidConn) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
			errors.As(err, &n) {
			return sqlgen.Gone
		}
		return sqlgen.Other
	}
	switch e.Number {
	case 1062, 1586, 1022:
		return sqlgen.Duplicate
	case 1451, 1452, 1216, 1217:
		return sqlgen.Referenced
	case 1048, 1364, 1263:
		return sqlgen.Missing
	case 1264, 1265, 1292, 1366, 1406, 1411, 3140:
		return sqlgen.Unfit
	case 4025, 3819, 1644, 1369:
		return sqlgen.Checked
	case 1205, 1213, 1020:
		return sqlgen.Busy
	case 1290, 1792, 1836:
		return sqlgen.ReadOnly
	case 1053, 1927:
		return sqlgen.Gone
	}
	return sqlgen.Other
}

// Effects asks for a table's triggers and storage engine, for the foreign keys that act by themselves when its rows go, and
// for the columns that the server fills.
func (Dialect) Effects(ctx context.Context, db *sql.DB, r *schema.Resource) (out sqlgen.Effects, err error) {
	var n int
	if err := db.QueryRowContext(ctx, "SELECT COUNT(*) FROM information_schema.TRIGGERS WHERE EVENT_OBJECT_SCHEMA = COALESCE(NULLIF(?, ''), DATABASE()) AND EVENT_OBJECT_TABLE = ?", r.Schema, r.Table).Scan(&n); err != nil {
		return out, err
	}
	out.Triggers = n > 0
	err = db.QueryRowContext(ctx, "SELECT t.ENGINE FROM information_schema.TABLES t JOIN information_schema.ENGINES e ON e.ENGINE = t.ENGINE WHERE t.TABLE_SCHEMA = COALESCE(NULLIF(?, ''), DATABASE()) AND t.TABLE_NAME = ? AND COALESCE(e.TRANSACTIONS, 'NO') <> 'YES'", r.Schema, r.Table).Scan(&out.Lasting)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return out, err
	}
	if out.Cascades, err = texts.Of(ctx, db, "SELECT DISTINCT TABLE_NAME FROM information_schema.REFERENTIAL_CONSTRAINTS WHERE UNIQUE_CONSTRAINT_SCHEMA = COALESCE(NULLIF(?, ''), DATABASE()) AND REFERENCED_TABLE_NAME = ? AND DELETE_RULE IN ('CASCADE', 'SET NULL', 'SET DEFAULT')", r.Schema, r.Table); err != nil {
		return out, err
	}
	const columns = "SELECT COLUMN_NAME FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = COALESCE(NULLIF(?, ''), DATABASE()) AND TABLE_NAME = ? AND "
	if out.Moved, err = texts.Of(ctx, db, columns+"EXTRA LIKE '%on update%'", r.Schema, r.Table); err != nil {
		return out, err
	}
	out.Computed, err = texts.Of(ctx, db, columns+"(COALESCE(GENERATION_EXPRESSION, '') <> '' OR EXTRA LIKE '%VIRTUAL GENERATED%' OR EXTRA LIKE '%STORED GENERATED%') AND EXTRA NOT LIKE '%on update%'", r.Schema, r.Table)
	return out, err
}

// Derived lists the views. Nothing is known of one whose text this account may not see, and of one that calls a function of the
// database's users, whose name alone is quoted in front of a bracket.
func (Dialect) Derived(ctx context.Context, db *sql.DB, _ *schema.Connection) ([]sqlgen.Derived, error) {
	list, err := texts.Triples(ctx, db, "SELECT TABLE_SCHEMA, TABLE_NAME, IF(VIEW_DEFINITION LIKE '%`(%', NULL, VIEW_DEFINITION) FROM information_schema.VIEWS WHERE TABLE_SCHEMA NOT IN ('information_schema', 'performance_schema', 'mysql', 'sys')")
	return sqlgen.DerivedOf(list), err
}

// writing are the settings of a session that writes.
func writing(timeout time.Duration) []string {
	return []string{
		fmt.Sprintf("SET SESSION innodb_lock_wait_timeout = %d", max(1, int(timeout.Seconds()/2))),
		"SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE",
	}
}

// Admin opens the database for making tables.
func (d Dialect) Admin(c *schema.Connection) (*sql.DB, error) { return d.Inspect(c) }
