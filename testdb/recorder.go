package testdb

import (
	"context"
	"database/sql/driver"
	"slices"
	"sync"
)

// A Statement is one call that reached the database driver.
type Statement struct {
	Op   string // query, exec, prepare, begin, commit or rollback
	SQL  string // "" for begin, commit and rollback
	Args []any
}

// A Recorder keeps every statement that passes through the connectors it wraps. Its zero value is ready, and
// it may be used by several connections at once.
type Recorder struct {
	// Commit, when it is set, is called in the place of a transaction's commit.
	Commit func(tx driver.Tx) error

	mu         sync.Mutex
	statements []Statement
}

// Connector wraps c so that whatever is done over its connections is recorded and then done. What c does
// while it opens a connection is not recorded: a test sees the statements of requests, not of the pool.
func (r *Recorder) Connector(c driver.Connector) driver.Connector { return &connector{c, r} }

// Statements gives what was recorded since the last Reset, in order.
func (r *Recorder) Statements() []Statement {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.statements)
}

// Texts gives the statements that carry SQL text, in order, a prepared one once for each time it ran.
func (r *Recorder) Texts() []Statement {
	return slices.DeleteFunc(r.Statements(), func(s Statement) bool { return s.SQL == "" || s.Op == "prepare" })
}

// Reset forgets everything recorded.
func (r *Recorder) Reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.statements = nil
}

func (r *Recorder) add(op, text string, args []driver.NamedValue) {
	s := Statement{Op: op, SQL: text}
	for _, a := range args {
		v := a.Value
		if b, ok := v.([]byte); ok {
			v = slices.Clone(b) // the caller may reuse its buffer
		}
		s.Args = append(s.Args, v)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.statements = append(r.statements, s)
}

type connector struct {
	driver.Connector
	r *Recorder
}

func (c *connector) Connect(ctx context.Context) (driver.Conn, error) {
	inner, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &conn{inner, c.r}, nil
}

// A conn offers every optional interface of a driver's connection and answers for what the inner one lacks
// as database/sql documents it.
type conn struct {
	driver.Conn
	r *Recorder
}

// Unwrap gives the driver's own connection, for code that reaches it through sql.Conn.Raw.
func (c *conn) Unwrap() driver.Conn { return c.Conn }

func (c *conn) Prepare(text string) (driver.Stmt, error) {
	return c.PrepareContext(context.Background(), text)
}

func (c *conn) PrepareContext(ctx context.Context, text string) (driver.Stmt, error) {
	c.r.add("prepare", text, nil)
	var inner driver.Stmt
	var err error
	if p, ok := c.Conn.(driver.ConnPrepareContext); ok {
		inner, err = p.PrepareContext(ctx, text)
	} else {
		inner, err = c.Conn.Prepare(text)
	}
	if err != nil {
		return nil, err
	}
	return &stmt{inner, c.Conn, text, c.r}, nil
}

func (c *conn) ExecContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Result, error) {
	x, ok := c.Conn.(driver.ExecerContext)
	if !ok {
		return nil, driver.ErrSkip
	}
	res, err := x.ExecContext(ctx, text, args)
	if err != driver.ErrSkip { // then database/sql prepares, and that is recorded
		c.r.add("exec", text, args)
	}
	return res, err
}

func (c *conn) QueryContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Rows, error) {
	q, ok := c.Conn.(driver.QueryerContext)
	if !ok {
		return nil, driver.ErrSkip
	}
	rows, err := q.QueryContext(ctx, text, args)
	if err != driver.ErrSkip {
		c.r.add("query", text, args)
	}
	return rows, err
}

func (c *conn) Begin() (driver.Tx, error) { return c.BeginTx(context.Background(), driver.TxOptions{}) }

func (c *conn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	c.r.add("begin", "", nil)
	var inner driver.Tx
	var err error
	if b, ok := c.Conn.(driver.ConnBeginTx); ok {
		inner, err = b.BeginTx(ctx, opts)
	} else {
		//lint:ignore SA1019 the only way a plain driver has
		inner, err = c.Conn.Begin()
	}
	if err != nil {
		return nil, err
	}
	return &tx{inner, c.r}, nil
}

func (c *conn) Ping(ctx context.Context) error {
	if p, ok := c.Conn.(driver.Pinger); ok {
		return p.Ping(ctx)
	}
	return nil
}

func (c *conn) ResetSession(ctx context.Context) error {
	if s, ok := c.Conn.(driver.SessionResetter); ok {
		return s.ResetSession(ctx)
	}
	return nil
}

func (c *conn) IsValid() bool {
	if v, ok := c.Conn.(driver.Validator); ok {
		return v.IsValid()
	}
	return true
}

func (c *conn) CheckNamedValue(v *driver.NamedValue) error {
	if n, ok := c.Conn.(driver.NamedValueChecker); ok {
		return n.CheckNamedValue(v)
	}
	return driver.ErrSkip
}

type tx struct {
	driver.Tx
	r *Recorder
}

func (t *tx) Commit() error {
	t.r.add("commit", "", nil)
	if t.r.Commit != nil {
		return t.r.Commit(t.Tx)
	}
	return t.Tx.Commit()
}

func (t *tx) Rollback() error {
	t.r.add("rollback", "", nil)
	return t.Tx.Rollback()
}

type stmt struct {
	driver.Stmt
	conn driver.Conn
	text string
	r    *Recorder
}

func (s *stmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	s.r.add("exec", s.text, args)
	if x, ok := s.Stmt.(driver.StmtExecContext); ok {
		return x.ExecContext(ctx, args)
	}
	//lint:ignore SA1019 the only way a plain driver has
	return s.Stmt.Exec(plain(args))
}

func (s *stmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	s.r.add("query", s.text, args)
	if q, ok := s.Stmt.(driver.StmtQueryContext); ok {
		return q.QueryContext(ctx, args)
	}
	//lint:ignore SA1019 the only way a plain driver has
	return s.Stmt.Query(plain(args))
}

// CheckNamedValue asks the statement, then the connection, as database/sql does when nothing is wrapped.
func (s *stmt) CheckNamedValue(v *driver.NamedValue) error {
	if n, ok := s.Stmt.(driver.NamedValueChecker); ok {
		return n.CheckNamedValue(v)
	}
	if n, ok := s.conn.(driver.NamedValueChecker); ok {
		return n.CheckNamedValue(v)
	}
	//lint:ignore SA1019 older drivers have only this
	if c, ok := s.Stmt.(driver.ColumnConverter); ok {
		value, err := c.ColumnConverter(v.Ordinal - 1).ConvertValue(v.Value)
		v.Value = value
		return err
	}
	return driver.ErrSkip
}

func plain(args []driver.NamedValue) []driver.Value {
	values := make([]driver.Value, len(args))
	for i, a := range args {
		values[i] = a.Value
	}
	return values
}
