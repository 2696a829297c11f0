package mysql

import (
	"context"
	"database/sql/driver"
	"strconv"
	"sync/atomic"
	"time"

	"resq/engine/dialect/prepared"
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

// A conn keeps its prepared statements and kills a statement on the server when its context ends.
type conn struct {
	inner
	from  driver.Connector
	id    string
	stmts *prepared.Statements
	bad   atomic.Bool
}

// QueryContext runs a statement under the eyes of its context.
func (c *conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	return c.stmts.Query(ctx, query, args, c.watch(ctx))
}

// watch kills what runs when the context ends. The function it gives ends the watch; it waits for a kill that is on
// its way, for the program may end as soon as its calls have.
func (c *conn) watch(ctx context.Context) (done func()) {
	killed := make(chan struct{})
	end := func() {
		defer close(killed)
		c.bad.Store(true)
		c.kill()
	}
	stop := context.AfterFunc(ctx, end)
	return func() {
		switch {
		case !stop():
			<-killed
		case ctx.Err() != nil: // the driver has seen the end and given up before end could begin
			end()
		}
	}
}

// kill ends the connection, and what it runs, on the server over a connection of its own. KILL QUERY would not do:
// what has been sent but has not begun outlives it. The connection is not used again.
func (c *conn) kill() {
	id, err := strconv.ParseUint(c.id, 10, 64)
	if err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	k, err := c.from.Connect(ctx)
	if err != nil {
		return
	}
	defer k.Close()
	if e, ok := k.(driver.ExecerContext); ok {
		_, _ = e.ExecContext(ctx, "KILL "+strconv.FormatUint(id, 10), nil) // gone already is as good
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
