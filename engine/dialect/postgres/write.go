package postgres

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"strconv"
	"strings"
	"time"

	"resq/engine/dialect/texts"
	"resq/engine/sqlgen"
	"resq/schema"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

// Writer opens connections for writing. A statement waits for a lock for no longer than half its time.
func (Dialect) Writer(c *schema.Connection, timeout time.Duration) (driver.Connector, error) {
	cfg, err := config(c)
	if err != nil {
		return nil, err
	}
	p := cfg.RuntimeParams
	p["default_transaction_read_only"] = "off"
	p["statement_timeout"] = strconv.FormatInt(timeout.Milliseconds(), 10)
	p["lock_timeout"] = strconv.FormatInt(timeout.Milliseconds()/2, 10)
	p["idle_in_transaction_session_timeout"] = "30000"
	p["jit"] = "off"
	p["extra_float_digits"] = "3" // texts of numbers are kept for an undo, with every digit
	// A table may change its columns while the server runs; a description kept by the driver would not.
	cfg.DefaultQueryExecMode = pgx.QueryExecModeDescribeExec
	return stdlib.GetConnector(*cfg, stdlib.OptionResetSession(unlessCancelled)), nil
}

// Operations is how PostgreSQL keeps the rows of operations.
func (Dialect) Operations() sqlgen.Operations {
	return sqlgen.Operations{
		Table: []sqlgen.Text{
			"CREATE TABLE IF NOT EXISTS resq_operation (op_id CHAR(32) PRIMARY KEY, state VARCHAR(10) NOT NULL, principal VARCHAR(190) NOT NULL, " +
				"key_id VARCHAR(64) NOT NULL, tool VARCHAR(64) NOT NULL, resource VARCHAR(64) NOT NULL, binding_hash CHAR(64) NOT NULL, " +
				"version_hash CHAR(64) NOT NULL, catalog_hash CHAR(64) NOT NULL, mode VARCHAR(10) NOT NULL, created_at TIMESTAMPTZ NOT NULL, " +
				"expires_at TIMESTAMPTZ NOT NULL, approved_by VARCHAR(190), approved_at TIMESTAMPTZ, reason VARCHAR(500), applied_at TIMESTAMPTZ, " +
				"affected INT, result_json TEXT, undo_blob BYTEA)",
			"CREATE INDEX IF NOT EXISTS resq_operation_live ON resq_operation (principal, key_id, state, expires_at)",
			"CREATE INDEX IF NOT EXISTS resq_operation_time ON resq_operation (created_at)",
		},
		Now:   "clock_timestamp()",
		After: "(clock_timestamp() + CAST(? AS BIGINT) * interval '1 second')",
		Epoch: "CAST(FLOOR(EXTRACT(EPOCH FROM {})) AS BIGINT)",
	}
}

// Refusal says why a write was not taken.
func (Dialect) Refusal(err error) sqlgen.Refusal {
	var e *pgconn.PgError
	if !errors.As(err, &e) {
		// pgx fits values to the types of their columns before anything is sent.
		if strings.HasPrefix(err.Error(), "failed to encode args") {
			return sqlgen.Unfit
		}
		var n net.Error
		if errors.Is(err, driver.ErrBadConn) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &n) || pgconn.SafeToRetry(err) {
			return sqlgen.Gone
		}
		if strings.Contains(err.Error(), "conn closed") {
			return sqlgen.Gone
		}
		return sqlgen.Other
	}
	switch {
	case e.Code == "23505":
		return sqlgen.Duplicate
	case e.Code == "23503", e.Code == "23001":
		return sqlgen.Referenced
	case e.Code == "23502":
		return sqlgen.Missing
	case e.Code == "23514", e.Code == "23P01", e.Code == "P0001", e.Code == "44000":
		return sqlgen.Checked
	case strings.HasPrefix(e.Code, "22"), e.Code == "42804":
		return sqlgen.Unfit
	case e.Code == "40001", e.Code == "40P01", e.Code == "55P03":
		return sqlgen.Busy
	case e.Code == "25006":
		return sqlgen.ReadOnly
	case strings.HasPrefix(e.Code, "08"), e.Code == "57P01", e.Code == "57P02", e.Code == "57P03":
		return sqlgen.Gone
	}
	return sqlgen.Other
}

// Effects asks for a table's triggers, and for the foreign keys that act by themselves when its rows go.
func (Dialect) Effects(ctx context.Context, db *sql.DB, r *schema.Resource) (out sqlgen.Effects, err error) {
	name := `"` + strings.ReplaceAll(r.Table, `"`, `""`) + `"`
	if r.Schema != "" {
		name = `"` + strings.ReplaceAll(r.Schema, `"`, `""`) + `".` + name
	}
	if err := db.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM pg_trigger WHERE tgrelid = to_regclass($1) AND NOT tgisinternal)", name).Scan(&out.Triggers); err != nil {
		return out, err
	}
	if out.Cascades, err = texts.Of(ctx, db, "SELECT DISTINCT c.relname FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid WHERE k.confrelid = to_regclass($1) AND k.contype = 'f' AND k.confdeltype IN ('c', 'n', 'd')", name); err != nil {
		return out, err
	}
	out.Computed, err = texts.Of(ctx, db, "SELECT attname FROM pg_attribute WHERE attrelid = to_regclass($1) AND attgenerated <> '' AND NOT attisdropped", name)
	return out, err
}

// Derived lists the views, those that are materialized as well, with the relations that they read; one that calls a function of
// the database's users may read anything. Tables that inherit are of each other.
func (Dialect) Derived(ctx context.Context, db *sql.DB, _ *schema.Connection) ([]sqlgen.Derived, error) {
	const views = " FROM pg_depend d JOIN pg_rewrite w ON w.oid = d.objid AND d.classid = 'pg_rewrite'::regclass JOIN pg_class v ON v.oid = w.ev_class AND v.relkind IN ('v', 'm') AND v.oid >= 16384 "
	const kin = " FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid JOIN pg_class p ON p.oid = i.inhparent WHERE c.relkind IN ('r', 'p', 'f')"
	list, err := texts.Triples(ctx, db, "SELECT DISTINCT v.relnamespace::regnamespace::text, v.relname, quote_ident(t.relname)"+views+"JOIN pg_class t ON d.refclassid = 'pg_class'::regclass AND t.oid = d.refobjid AND t.oid <> v.oid"+
		" UNION ALL SELECT DISTINCT v.relnamespace::regnamespace::text, v.relname, NULL::text"+views+"JOIN pg_proc f ON d.refclassid = 'pg_proc'::regclass AND f.oid = d.refobjid AND f.oid >= 16384"+
		" UNION ALL SELECT c.relnamespace::regnamespace::text, c.relname, quote_ident(p.relname)"+kin+" UNION ALL SELECT p.relnamespace::regnamespace::text, p.relname, quote_ident(c.relname)"+kin)
	return sqlgen.DerivedOf(list), err
}

// Admin opens the database for making tables.
func (d Dialect) Admin(c *schema.Connection) (*sql.DB, error) { return d.Inspect(c) }
