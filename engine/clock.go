package engine

import (
	"context"
	"time"

	"resq/schema/problem"
)

// A clock is what the database's clock said, and when that was by the program's own.
type clock struct{ database, own time.Time }

// clock is about what the database's clock says. A transaction that decides asks the database itself.
func (w *write) clock() time.Time {
	c := w.db.shared.clock.Load()
	return c.database.Add(w.e.opts.Now().Sub(c.own))
}

// setClock asks the database for the time where no write has heard it yet. From then on it is counted on from there,
// for the wall clock of this machine may be wrong, and may be set.
func (w *write) setClock(ctx context.Context) error {
	if w.db.shared.clock.Load() != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, w.db.timeout)
	defer cancel()
	n, err := w.ledger.now(ctx, w.ledger.pool)
	if err != nil {
		return problem.List{w.db.fault(ctx, err)}
	}
	w.hear(n)
	return nil
}

// hear takes in what the database's clock says, in seconds since 1970.
func (w *write) hear(unix int64) {
	w.now = time.Unix(unix, 0).UTC()
	w.db.shared.clock.Store(&clock{w.now, w.e.opts.Now()})
}
