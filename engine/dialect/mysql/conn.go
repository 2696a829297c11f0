package mysql

import (
	"context"
	"database/sql/driver"
	"io"
	"reflect"
	"strconv"
	"sync/atomic"
	"time"
)

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
	driver.NamedValueChecker
}

// keep is how many prepared statements a connection holds.
const keep = 64

// A conn keeps its prepared statements, so that a statement seen before costs one round trip, and kills a
// statement on the server when its context ends.
type conn struct {
	inner
	from  driver.Connector
	id    string
	stmts map[string]*stmt
	order []string
	bad   atomic.Bool
}

type stmt struct {
	driver.Stmt
	busy bool
}

// QueryContext prepares the text once and runs it.
func (c *conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	s, err := c.prepared(ctx, query)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() {
		c.bad.Store(true)
		c.kill()
	})
	s.busy = true
	rows, err := s.Stmt.(driver.StmtQueryContext).QueryContext(ctx, args)
	if err != nil {
		s.busy = false
		stop()
		return nil, err
	}
	return &watched{Rows: rows, stop: stop, s: s}, nil
}

func (c *conn) prepared(ctx context.Context, query string) (*stmt, error) {
	if s := c.stmts[query]; s != nil && !s.busy {
		return s, nil
	}
	p, err := c.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	s := &stmt{Stmt: p}
	if c.stmts[query] == nil {
		if len(c.order) == keep {
			old := c.order[0]
			if o := c.stmts[old]; !o.busy {
				_ = o.Close() // the server forgets it; nothing depends on the answer
			}
			delete(c.stmts, old)
			c.order = c.order[1:]
		}
		c.order = append(c.order, query)
	}
	c.stmts[query] = s
	return s, nil
}

// kill ends the running statement on the server over a connection of its own. It is told to the server at
// most once for a connection, which is not used again.
func (c *conn) kill() {
	id, err := strconv.ParseUint(c.id, 10, 64)
	if err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	k, err := c.from.Connect(ctx)
	if err != nil {
		return
	}
	defer k.Close()
	if e, ok := k.(driver.ExecerContext); ok {
		_, _ = e.ExecContext(ctx, "KILL QUERY "+strconv.FormatUint(id, 10), nil) // gone already is as good
	}
}

// IsValid says that a connection whose statement was cancelled is not to be used again.
func (c *conn) IsValid() bool { return !c.bad.Load() && c.inner.IsValid() }

// ResetSession checks the connection before it is used again.
func (c *conn) ResetSession(ctx context.Context) error {
	if c.bad.Load() {
		return driver.ErrBadConn
	}
	return c.inner.ResetSession(ctx)
}

// watched are rows that stop the watch when they are closed.
type watched struct {
	driver.Rows
	stop func() bool
	s    *stmt
}

// Close ends the watch and frees the statement.
func (r *watched) Close() error {
	err := r.Rows.Close()
	r.stop()
	r.s.busy = false
	return err
}

// Next reads a row.
func (r *watched) Next(dest []driver.Value) error {
	err := r.Rows.Next(dest)
	if err == io.EOF {
		r.stop()
	}
	return err
}

// ColumnTypeDatabaseTypeName is the driver's.
func (r *watched) ColumnTypeDatabaseTypeName(i int) string {
	if t, ok := r.Rows.(driver.RowsColumnTypeDatabaseTypeName); ok {
		return t.ColumnTypeDatabaseTypeName(i)
	}
	return ""
}

// ColumnTypeScanType is the driver's.
func (r *watched) ColumnTypeScanType(i int) reflect.Type {
	if t, ok := r.Rows.(driver.RowsColumnTypeScanType); ok {
		return t.ColumnTypeScanType(i)
	}
	return reflect.TypeFor[any]()
}
