package engine

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
)

// Note [rows of the driver]
//
// database/sql copies every value three times on its way, allocates each, and starts a goroutine for each query that
// waits for its context. An answer needs each value once, for as long as it takes to write it down. So reads use the
// pool of database/sql, which looks after connections, and the driver's own rows. The context ends a statement as
// before: every driver watches it while it waits for the database, and the loop looks at it between rows.

// A lender is rows that can give values without a copy: pointers to values that are the driver's own until the next
// row is read. owned makes one a value to keep.
type lender interface {
	Lend(dest []driver.Value) error
}

var errConn = errors.New("engine: the driver's connection cannot query")

// query runs a statement on a connection of the pool and hands its rows over. A connection that turns out to be dead
// before it has answered is replaced, as database/sql does.
func (db *database) query(ctx context.Context, text string, args []any, use func(rows driver.Rows) error) error {
	for try := db.Stats().MaxOpenConnections; ; try-- {
		c, err := db.Conn(ctx)
		if err != nil {
			return err
		}
		begun := false
		err = queryOn(ctx, c, text, args, func(rows driver.Rows) error {
			begun = true
			return use(rows)
		})
		_ = c.Close() // gives the connection back, or has done so already
		if begun || try <= 0 || !errors.Is(err, driver.ErrBadConn) {
			return err
		}
	}
}

// queryOn is query on one connection, in whatever transaction it is.
func queryOn(ctx context.Context, c *sql.Conn, text string, args []any, use func(rows driver.Rows) error) error {
	traceStatement(ctx, text)
	return c.Raw(func(raw any) error {
		q, ok := raw.(driver.QueryerContext)
		if !ok {
			return errConn
		}
		named, err := arguments(raw, args)
		if err != nil {
			return err
		}
		rows, err := q.QueryContext(ctx, text, named)
		if err != nil {
			return err
		}
		defer rows.Close()
		return use(rows)
	})
}

// arguments are values as a connection takes them.
func arguments(conn any, args []any) ([]driver.NamedValue, error) {
	own, _ := conn.(driver.NamedValueChecker)
	named := make([]driver.NamedValue, len(args))
	for i, v := range args {
		n := &named[i]
		n.Ordinal, n.Value = i+1, v
		err := driver.ErrSkip
		if own != nil {
			err = own.CheckNamedValue(n)
		}
		if errors.Is(err, driver.ErrSkip) {
			n.Value, err = driver.DefaultParameterConverter.ConvertValue(v)
		}
		if err != nil {
			return nil, err
		}
	}
	return named, nil
}

// each gives every row to use, in vals, until use says that it has enough.
func each(ctx context.Context, rows driver.Rows, vals []driver.Value, use func() (more bool, err error)) error {
	next := rows.Next
	if l, ok := rows.(lender); ok {
		next = l.Lend
	}
	for {
		if err := next(vals); err != nil {
			if errors.Is(err, io.EOF) {
				return ctx.Err()
			}
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if more, err := use(); err != nil || !more {
			return err
		}
	}
}
