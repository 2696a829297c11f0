package postgres

import (
	"context"
	"database/sql/driver"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// cancelTime is how long the server has to end a statement that is not wanted any more, before its connection is cut.
const cancelTime = time.Second

const cancelled = "cancelled"

// A canceller ends a statement on the server when its context ends, and the call only afterwards. By itself the
// driver cuts the connection and tells the server in the background, which a program that ends does not wait for.
type canceller struct {
	pgconn.CancelRequestContextWatcherHandler
}

func newCanceller(c *pgconn.PgConn) *canceller {
	return &canceller{pgconn.CancelRequestContextWatcherHandler{Conn: c, DeadlineDelay: cancelTime}}
}

// HandleCancel is called when the context ends.
func (h *canceller) HandleCancel(ctx context.Context) {
	h.Conn.CustomData()[cancelled] = true
	h.CancelRequestContextWatcherHandler.HandleCancel(ctx)
}

// unlessCancelled keeps a connection whose statement was cancelled from being used again: the server may act on
// the cancellation late, and would end the next one.
func unlessCancelled(_ context.Context, c *pgx.Conn) error {
	if c.PgConn().CustomData()[cancelled] != nil {
		return driver.ErrBadConn
	}
	return nil
}
