package engine

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"

	"resq/engine/policy"
	"resq/schema/problem"
)

// execute runs a plan's statements and shapes the answer. A fault of the data may come from a row that the
// principal does not see, met while the database was free to evaluate conditions early: then everything is
// run once more behind fences, and only what fails again is told (security.md 5.4).
func (e *Engine) execute(ctx context.Context, db *database, who *policy.Principal, c *compiled, st statements) (*Answer, error) {
	end := e.stage(ctx, "wait")
	leave, err := db.queue.enter(ctx, who)
	end(err)
	if err != nil {
		return nil, err
	}
	defer leave()
	ctx, cancel := context.WithTimeout(ctx, db.timeout)
	defer cancel()
	end = e.stage(ctx, "execute")
	a, err := e.fetch(ctx, db, who, c, st)
	end(err)
	if err != nil && db.fault(ctx, err).Code == problem.DataError {
		if st, err = render(c.p, db.driver, true); err != nil {
			return nil, err
		}
		a, err = e.fetch(ctx, db, who, c, st)
	}
	if err != nil {
		return nil, problem.List{db.fault(ctx, err)}
	}
	return a, nil
}

func (e *Engine) fetch(ctx context.Context, db *database, who *policy.Principal, c *compiled, st statements) (a *Answer, err error) {
	read := func(total int64) func(driver.Rows) error {
		return func(rows driver.Rows) (err error) {
			end := e.stage(ctx, "shape") // while rows arrive
			defer func() { end(err) }()
			s, err := e.shaper(rows, db.driver, who, c)
			if err != nil {
				return err
			}
			if err = each(ctx, rows, s.vals, s.row); err != nil {
				return err
			}
			a, err = s.answer(total)
			return err
		}
	}
	if st.count == nil {
		err = db.query(ctx, st.rows.SQL, st.rows.Args, read(-1))
		return a, err
	}
	// Rows and their number are read from one state of the data.
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	tx, err := conn.BeginTx(ctx, &sql.TxOptions{Isolation: db.isolation(), ReadOnly: true})
	if err != nil {
		return nil, err
	}
	defer tx.Rollback() // nothing was changed; there is nothing to tell if it fails
	total, err := count(ctx, tx, st)
	if err != nil {
		return nil, err
	}
	err = queryOn(ctx, conn, st.rows.SQL, st.rows.Args, read(total))
	return a, err
}

// isolation is that of a transaction that sees one state. SQLite's always do and its driver takes no level.
func (db *database) isolation() sql.IsolationLevel {
	if db.driver.Name() == "sqlite" {
		return sql.LevelDefault
	}
	return sql.LevelRepeatableRead
}

// rower is a pool or a transaction.
type rower interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

func count(ctx context.Context, in rower, st statements) (n int64, err error) {
	traceStatement(ctx, st.count.SQL)
	err = in.QueryRowContext(ctx, st.count.SQL, st.count.Args...).Scan(&n)
	return n, err
}

// messages are all that a caller learns of a fault of the database.
var messages = map[problem.Code]string{
	problem.Timeout:       "the query took too long and was stopped",
	problem.DataError:     "a value in the data cannot be calculated with as the request asks",
	problem.Unavailable:   "the database cannot be reached or is busy",
	problem.DataIntegrity: "the database does not fit the catalog",
	problem.LimitExceeded: "the request is too complex for the database",
}

var hints = map[problem.Code]string{
	problem.Timeout:   "narrow the conditions, or ask for fewer rows",
	problem.DataError: "NULLIF, CASE or a condition keeps such values out; a query used as one value must give one row",
}

// fault turns an error of running a statement into a problem.
func (db *database) fault(ctx context.Context, err error) *problem.Problem {
	var l problem.List
	if errors.As(err, &l) && len(l) > 0 {
		return l[0]
	}
	var p *problem.Problem
	if errors.As(err, &p) {
		return p
	}
	code := db.driver.Classify(err)
	if ctx.Err() != nil {
		if p = ended(ctx); p.Code != problem.Timeout {
			return p
		}
		code = problem.Timeout
	}
	p = &problem.Problem{Code: code, Stage: problem.Database, Message: messages[code], Hint: hints[code], Err: err}
	if code == problem.Unavailable {
		p.RetryAfter = 1
	}
	return p
}

// ended says why a call whose context is over was not answered: its time was up, its caller went away, or whoever
// ended the context gave a problem as the cause. The last two are nobody's fault, so they have no cause for the log.
func ended(ctx context.Context) *problem.Problem {
	cause := context.Cause(ctx)
	var p *problem.Problem
	switch {
	case errors.As(cause, &p):
		own := *p
		return &own
	case errors.Is(cause, context.DeadlineExceeded):
		return &problem.Problem{Code: problem.Timeout, Stage: problem.Database, Message: messages[problem.Timeout], Hint: hints[problem.Timeout], Err: cause}
	}
	return &problem.Problem{Code: problem.Cancelled, Stage: problem.Database, Message: "the call was cancelled before it was answered"}
}
