package engine

import (
	"context"
	"database/sql"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"resq/engine/plan"
	"resq/engine/policy"
	"resq/engine/sqlgen"
	"resq/schema/problem"
	"resq/schema/query"

	"github.com/jmoiron/sqlx"
)

// attempts is how often a write is tried that the database gave up for a lock.
const attempts = 4

// transaction runs f in a transaction on the write pool, again where the database gave up for a lock or the
// connection broke. After a commit without word it goes on even if the caller has gone: the audit has to know.
func (w *write) transaction(ctx context.Context, f func(ctx context.Context, tx *sqlx.Tx) error) error {
	var unknown, err error
	for try := range attempts {
		if try > 0 && !sleep(ctx, time.Duration(20<<try+rand.IntN(40))*time.Millisecond) {
			break
		}
		var again bool
		w.unapplied = false
		err, again = w.once(ctx, f, try == 0 || unknown != nil)
		if err == nil {
			return nil
		}
		if problem.From(err)[0].Code == problem.OutcomeUnknown {
			if unknown == nil {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), w.lim.Timeout/2)
				defer cancel()
			}
			unknown = err
		} else if w.unapplied {
			unknown = nil // it did not commit, as is known now
		}
		if !again {
			break
		}
	}
	if c := problem.From(err)[0].Code; unknown != nil && (c == problem.Unavailable || c == problem.Timeout || c == problem.Cancelled || c == problem.Conflict && problem.From(err)[0].Reason == "busy") {
		return unknown // what was asked again could not be told
	}
	return err
}

// once is one attempt. It says whether another one may help; patient goes on where the connection broke.
func (w *write) once(ctx context.Context, f func(ctx context.Context, tx *sqlx.Tx) error, patient bool) (err error, again bool) {
	ctx, cancel := context.WithTimeout(ctx, w.lim.Timeout)
	defer cancel()
	level := sql.LevelReadCommitted
	if w.db.driver.Name() == "sqlite" {
		level = sql.LevelDefault
	}
	// The transaction ends with ctx up to its commit. The commit itself is not given up because the caller went
	// away: then it could not be told any more from one that failed.
	held, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	follow := context.AfterFunc(ctx, end)
	tx, err := w.db.write.BeginTxx(held, &sql.TxOptions{Isolation: level})
	if err != nil {
		return w.refusal(ctx, err), w.db.driver.Refusal(err) == sqlgen.Busy || w.db.driver.Refusal(err) == sqlgen.Gone && patient
	}
	defer tx.Rollback() // after a commit it does nothing; before it nothing is left to tell
	if err := f(ctx, tx); err != nil {
		why := w.db.driver.Refusal(err)
		var l problem.List
		if errors.As(err, &l) {
			why = sqlgen.Other
		}
		return w.refusal(ctx, err), errors.Is(err, errTaken) || why == sqlgen.Busy || why == sqlgen.Gone && patient && ctx.Err() == nil
	}
	if !follow() {
		return w.refusal(ctx, ctx.Err()), false
	}
	failpoint("before-commit")
	late := time.AfterFunc(w.lim.Timeout/2, end)
	defer late.Stop()
	if err := tx.Commit(); err != nil {
		// Whether the database committed is not known here. The same transaction once more finds out: it meets
		// its own operation row if it did.
		if w.db.driver.Refusal(err) == sqlgen.Busy {
			return w.refusal(ctx, err), true
		}
		return problem.List{{Code: problem.OutcomeUnknown, Stage: problem.Database, Message: "the connection broke while the write was committed, and what became of it is not known yet",
			Hint: "send the same call again: it cannot run twice", RetryAfter: 2, Err: err}}, true
	}
	failpoint("after-commit")
	return nil, false
}

func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// refusals are what a caller learns of a write that the database did not take.
var refusals = map[sqlgen.Refusal]problem.Problem{
	sqlgen.Duplicate:  {Code: problem.Conflict, Reason: "duplicate", Message: "a value that may stand only once is there already", Hint: "query for the row that has it, or send another value"},
	sqlgen.Referenced: {Code: problem.Conflict, Reason: "referenced", Message: "other rows refer to these, or these to a row that is not there", Hint: "change or delete those rows first"},
	sqlgen.Missing:    {Code: problem.InvalidArgument, Message: "a value that the table requires is missing", Hint: "send every required field that res-schema shows"},
	sqlgen.Unfit:      {Code: problem.InvalidArgument, Reason: "unfit", Message: "a value does not fit its column", Hint: "compare with the types that res-schema shows"},
	sqlgen.Checked:    {Code: problem.InvalidArgument, Reason: "check", Message: "the database checks these values and refuses them", Hint: "send other values; the operator knows the check"},
	sqlgen.Busy:       {Code: problem.Conflict, Reason: "busy", Message: "others are changing these rows, and nothing was changed", Hint: "call again", RetryAfter: 1},
	sqlgen.ReadOnly:   {Code: problem.Unavailable, Message: "the database takes no writes at present", Hint: "call again later", RetryAfter: 5},
	sqlgen.Gone:       {Code: problem.Unavailable, Message: "the database cannot be reached or is busy", RetryAfter: 1},
}

// refusal turns an error of a write into problems.
func (w *write) refusal(ctx context.Context, err error) error {
	var l problem.List
	if errors.As(err, &l) {
		return l
	}
	if ctx.Err() == nil {
		if p, ok := refusals[w.db.driver.Refusal(err)]; ok {
			p.Stage, p.Err = problem.Database, err
			if lacking := w.lacking(); p.Code == problem.InvalidArgument && p.Reason == "" && lacking != "" {
				p.Hint = "the table may ask for: " + lacking
			}
			return problem.List{&p}
		}
	}
	p := w.db.fault(ctx, err)
	if p.Code == problem.Timeout {
		p.Message, p.Hint = "the write took too long, and nothing was changed", "call again, or for fewer rows"
	}
	return problem.List{p}
}

// lacking are the fields of a new row that are never NULL and were not given: the database may fill them by
// itself, but where it refuses the row they are the likely reason.
func (w *write) lacking() string {
	if w.verb != query.Create || w.undoes != "" {
		return ""
	}
	r := w.change.Resource()
	var names []string
	for _, f := range policy.For(w.e.cat, w.who).Fields(r) {
		given := slices.ContainsFunc(w.change.Rows()[0], func(a plan.Assignment) bool { return a.Field == f })
		if f.NotNull && !given && !r.IsKey(f) && !f.Generated && f.Default == "" {
			names = append(names, f.Code)
		}
	}
	return strings.Join(names, ", ")
}
