package postgres

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"net"
	"strconv"
	"strings"
	"time"

	"resq/schema"
	"resq/schema/problem"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/stdlib"
)

func config(c *schema.Connection) (*pgx.ConnConfig, error) {
	cfg, err := pgx.ParseConfig(c.DSN)
	if err != nil {
		return nil, errors.New("the dsn of connection " + c.Name + " is not understood: postgres://user:password@host:port/database")
	}
	if cfg.ConnectTimeout == 0 {
		cfg.ConnectTimeout = 5 * time.Second
	}
	cfg.BuildContextWatcherHandler = func(c *pgconn.PgConn) ctxwatch.Handler { return newCanceller(c) }
	p := cfg.RuntimeParams
	p["application_name"] = "resq"
	p["TimeZone"] = "UTC"
	p["DateStyle"] = "ISO"
	p["standard_conforming_strings"] = "on"
	if p["search_path"] == "" {
		p["search_path"] = "public"
		if len(c.Schemas) > 0 {
			p["search_path"] = quoted(c.Schemas)
		}
	}
	return cfg, nil
}

func quoted(names []string) string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = `"` + strings.ReplaceAll(n, `"`, `""`) + `"`
	}
	return strings.Join(out, ", ")
}

// Connector opens connections for reading: every transaction on them is read-only, and statements end after
// the timeout on the server too.
func (Dialect) Connector(c *schema.Connection, timeout time.Duration) (driver.Connector, error) {
	cfg, err := config(c)
	if err != nil {
		return nil, err
	}
	p := cfg.RuntimeParams
	p["default_transaction_read_only"] = "on"
	p["statement_timeout"] = strconv.FormatInt(timeout.Milliseconds(), 10)
	p["lock_timeout"] = "2000"
	p["idle_in_transaction_session_timeout"] = "30000"
	p["jit"] = "off"
	return connector{stdlib.GetConnector(*cfg, stdlib.OptionResetSession(unlessCancelled))}, nil
}

// Inspect opens the database for reading its schema.
func (Dialect) Inspect(c *schema.Connection) (*sql.DB, error) {
	cfg, err := config(c)
	if err != nil {
		return nil, err
	}
	return stdlib.OpenDB(*cfg), nil
}

// compared are the types whose values equal themselves again as arguments of the types that Placeholder writes.
var compared = map[string]bool{"BOOL": true, "INT2": true, "INT4": true, "INT8": true, "OID": true, "FLOAT4": true, "FLOAT8": true, "NUMERIC": true, "TEXT": true, "VARCHAR": true,
	"BPCHAR": true, "UUID": true, "DATE": true, "TIME": true, "TIMESTAMP": true, "TIMESTAMPTZ": true}

// Key admits the common types: others have an order of their own, which a text would not be compared by. The blanks
// with which CHAR(n) is filled up take no part in its order, but would in a text's.
func (Dialect) Key(dbType string, _ bool, v any) (any, bool) {
	if s, ok := v.(string); ok && dbType == "BPCHAR" {
		v = strings.TrimRight(s, " ")
	}
	return v, compared[dbType]
}

// Classify names an error without telling its text (the codes of PostgreSQL's appendix A).
func (Dialect) Classify(err error) problem.Code {
	var e *pgconn.PgError
	if !errors.As(err, &e) {
		var n net.Error
		if errors.As(err, &n) && n.Timeout() || errors.Is(err, context.DeadlineExceeded) {
			return problem.Timeout
		}
		return problem.Unavailable
	}
	switch {
	case e.Code == "57014":
		return problem.Timeout
	case e.Code == "0A000" && e.File == "numeric.c": // an infinite moment has no year that a whole number could hold
		return problem.DataError
	case strings.HasPrefix(e.Code, "22"), strings.HasPrefix(e.Code, "21"):
		return problem.DataError
	case strings.HasPrefix(e.Code, "54"):
		return problem.LimitExceeded
	case strings.HasPrefix(e.Code, "08"), strings.HasPrefix(e.Code, "53"), strings.HasPrefix(e.Code, "57"), strings.HasPrefix(e.Code, "40"),
		strings.HasPrefix(e.Code, "28"), strings.HasPrefix(e.Code, "3D"), e.Code == "55P03":
		return problem.Unavailable
	}
	return problem.DataIntegrity
}
