package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"net/url"
	"strings"
	"time"

	"resq/engine/dialect/prepared"
	"resq/engine/sqlgen"
	"resq/schema"
	"resq/schema/problem"

	"modernc.org/sqlite"
)

// path takes the file out of a DSN: sqlite:PATH.
func path(dsn string) (string, error) {
	p, ok := strings.CutPrefix(dsn, "sqlite:")
	p = strings.TrimPrefix(p, "//")
	if !ok || p == "" {
		return "", errors.New("the dsn of a sqlite connection is sqlite:PATH")
	}
	return p, nil
}

func uri(p, query string) string { return "file:" + (&url.URL{Path: p}).EscapedPath() + "?" + query }

// PoolSize is the most connections that are open when the catalog does not say. Each works on a processor of this
// machine and has a cache of its own, of 16 MB: pages that leave it are checked again when they come back.
func (Dialect) PoolSize() int { return 8 }

// Connector opens the file for reading only. mode=ro and query_only are not enough: a connection so opened
// can still attach and write another file, so an authorizer admits SELECT and what it needs, and nothing
// else.
func (Dialect) Connector(c *schema.Connection, timeout time.Duration) (driver.Connector, error) {
	p, err := path(c.DSN)
	if err != nil {
		return nil, err
	}
	in, err := sqlite.NewConnector(uri(p, "mode=ro&_pragma=query_only(1)&_pragma=trusted_schema(0)&_pragma=cell_size_check(1)&_pragma=cache_size(-16384)&_pragma=busy_timeout(2000)&_pragma=case_sensitive_like(0)"))
	if err != nil {
		return nil, err
	}
	return &guarded{in, authorize}, nil
}

type guarded struct {
	driver.Connector
	authorize func(a sqlite.AuthorizerActionCode, arg1, arg2, db, trigger string) sqlite.AuthorizerReturnCode
}

// Connect opens one connection and puts the authorizer in front of it.
func (g *guarded) Connect(ctx context.Context) (driver.Conn, error) {
	c, err := g.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	r, ok := c.(sqlite.AuthorizerRegisterer)
	if !ok {
		return nil, errors.Join(errors.New("the sqlite driver has no authorizer"), c.Close())
	}
	if err := r.RegisterAuthorizer(g.authorize); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	in, ok := c.(inner)
	if !ok {
		return nil, errors.Join(errors.New("the sqlite driver is not the one this was written for"), c.Close())
	}
	return &conn{in, prepared.New(in, func(string) bool { return true })}, nil
}

// inner is what the driver's connections can do and ours passes on.
type inner interface {
	driver.Conn
	driver.ConnPrepareContext
	driver.ConnBeginTx
	driver.QueryerContext
	driver.ExecerContext
	driver.Pinger
	driver.SessionResetter
	driver.Validator
}

// A conn keeps its prepared statements.
type conn struct {
	inner
	stmts *prepared.Statements
}

// QueryContext prepares a text once.
func (c *conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	return c.stmts.Query(ctx, query, args, func() {})
}

// Close closes the statements first: the database would keep the connection until they are.
func (c *conn) Close() error {
	c.stmts.Close()
	return c.inner.Close()
}

// forbidden functions reach outside the database or fill memory.
var forbidden = map[string]bool{"load_extension": true, "readfile": true, "writefile": true, "edit": true, "fsdir": true,
	"randomblob": true, "zeroblob": true, "fts3_tokenizer": true, "sqlite_source_id": true, "sqlite_compileoption_get": true}

func authorize(a sqlite.AuthorizerActionCode, arg1, arg2, _, _ string) sqlite.AuthorizerReturnCode {
	switch a {
	case sqlite.AuthSelect, sqlite.AuthRecursive, sqlite.AuthTransaction, sqlite.AuthSavepoint:
		return sqlite.AuthorizerOK
	case sqlite.AuthRead:
		if n := strings.ToLower(arg1); strings.HasPrefix(n, "sqlite_") && n != "sqlite_sequence" || strings.HasPrefix(n, "pragma_") || n == "dbstat" {
			return sqlite.AuthorizerDeny
		}
		return sqlite.AuthorizerOK
	case sqlite.AuthFunction:
		if forbidden[strings.ToLower(arg2)] {
			return sqlite.AuthorizerDeny
		}
		return sqlite.AuthorizerOK
	}
	return sqlite.AuthorizerDeny
}

// Inspect opens the file for reading its schema.
func (Dialect) Inspect(c *schema.Connection) (*sql.DB, error) {
	p, err := path(c.DSN)
	if err != nil {
		return nil, err
	}
	return sql.Open("sqlite", uri(p, "mode=ro&_pragma=query_only(1)&_pragma=busy_timeout(2000)"))
}

// OpenWrite opens or makes a file for writing, for data that this program generates itself.
func OpenWrite(file string) (*sql.DB, error) {
	db, err := sql.Open("sqlite", uri(file, "_pragma=busy_timeout(5000)&_pragma=foreign_keys(1)"))
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	return db, nil
}

// Decode marks bytes as such: SQLite hands over texts as texts, whatever the column is declared to be.
func (Dialect) Decode(string, *schema.Field) func(any) any {
	return func(v any) any {
		if b, ok := v.([]byte); ok {
			return sqlgen.Blob(b)
		}
		return v
	}
}

// Key takes every value: it is bound under the very storage class under which it was read.
func (Dialect) Key(_ string, _ bool, v any) (any, bool) { return v, true }

// Classify names an error without telling its text. SQLite has one code for most faults, so its words
// decide between those of the data and those of the schema.
func (Dialect) Classify(err error) problem.Code {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		if strings.HasPrefix(err.Error(), failed) || strings.Contains(err.Error(), failed) {
			return problem.DataError
		}
		return problem.Unavailable
	}
	msg := e.Error()
	switch {
	case strings.Contains(msg, failed), strings.Contains(msg, "integer overflow"), strings.Contains(msg, "malformed JSON"), strings.Contains(msg, "JSON path"):
		return problem.DataError
	}
	switch e.Code() & 0xff {
	case 5, 6: // SQLITE_BUSY, SQLITE_LOCKED
		return problem.Unavailable
	case 9: // SQLITE_INTERRUPT
		return problem.Timeout
	case 10, 13, 14: // SQLITE_IOERR, SQLITE_FULL, SQLITE_CANTOPEN
		return problem.Unavailable
	case 18: // SQLITE_TOOBIG
		return problem.DataError
	}
	return problem.DataIntegrity
}
