package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strconv"

	"resq/engine/sqlgen"
	"resq/schema/problem"
	"resq/schema/query"

	"github.com/jmoiron/sqlx"
)

// confirm applies the preview that the call confirms. Without a token that is the only live one of the same
// arguments; where there is none, or more than one, the answer is a new preview (security.md 3.1).
func (w *write) confirm(ctx context.Context) (*Answer, error) {
	op := ""
	if w.ask.Token != "" {
		var p *problem.Problem
		if op, p = w.e.sign.open(w.ask.Token, w.clock()); p != nil {
			return nil, problem.List{p}
		}
	} else {
		if w.mode == "strict" {
			return w.preview(ctx)
		}
		ctx, cancel := context.WithTimeout(ctx, w.db.timeout)
		defer cancel()
		ids, err := w.ledger.live(ctx, w.ledger.pool, w.who, w.binding)
		if err != nil {
			return nil, problem.List{w.db.fault(ctx, err)}
		}
		if len(ids) != 1 {
			return w.preview(ctx)
		}
		op = ids[0]
	}
	return w.apply(ctx, op)
}

// apply makes a previewed change, once (security.md 3.7).
func (w *write) apply(ctx context.Context, op string) (*Answer, error) {
	if w.ledger.apart {
		return w.applyApart(ctx, op)
	}
	var res result
	started := false
	err := w.transaction(ctx, func(ctx context.Context, tx *sqlx.Tx) error {
		o, err := w.ledger.load(ctx, tx, op, true)
		if err != nil {
			return err
		}
		if done, err := w.admit(o); err != nil || done {
			if done {
				res = result{told: o, affected: int(o.Affected.Int64), replayed: true}
			}
			return err
		}
		w.unapplied = true
		w.hear(o.Now)
		if err := w.budget(ctx, tx, o); err != nil {
			return err
		}
		if w.verb != query.Create {
			if err := w.lock(ctx, tx); err != nil {
				return err
			}
		}
		before, children, err := w.examine(ctx, tx)
		if err != nil {
			return err
		}
		if version(w.change.Resource(), before, children) != o.Version {
			return problem.List{{Code: problem.Conflict, Stage: problem.Confirm, Reason: "changed", Message: "the rows changed since the preview, and nothing was changed by this call",
				Hint: "call again without __confirm__ for a new preview"}}
		}
		failpoint("before-write")
		if res, err = w.make(ctx, tx, op, before); err != nil {
			return err
		}
		if err := w.ledger.finish(ctx, tx, op, res.affected, string(res.text), res.undo); err != nil {
			return err
		}
		failpoint("before-intent")
		err = w.intent(op, res.affected, res.statement, w.changes(res))
		started = started || err == nil
		return err
	})
	err = w.resolve(ctx, op, &res, err)
	if started || res.replayed && w.left(op) {
		w.outcome(op, res.affected, err)
	} else {
		w.stopped(op, err)
	}
	if err != nil {
		return nil, err
	}
	return w.answer(ctx, res), nil
}

// answer tells what a write came to. That of an earlier call is looked at once more, outside of any transaction.
func (w *write) answer(ctx context.Context, res result) *Answer {
	if res.told != nil {
		res.text = replayed(string(w.e.resultFor(ctx, w.who, res.told)))
	}
	return &Answer{Text: res.text, Rows: res.affected}
}

// left says, once, that an earlier call began an operation and did not learn what became of it.
func (w *write) left(op string) bool {
	_, is := w.db.shared.open.LoadAndDelete(op)
	return is
}

// resolve reads the operation row after a commit that gave no word to the last. Only where that cannot be read either is
// the outcome unknown.
func (w *write) resolve(ctx context.Context, op string, res *result, err error) error {
	if err == nil || problem.From(err)[0].Code != problem.OutcomeUnknown {
		return err
	}
	p := *problem.From(err)[0]
	ctx = context.WithoutCancel(ctx)
	switch o, lost := w.ledger.recover(ctx, op); {
	case lost != nil:
		p.Hint = "send the same call again: it cannot run twice; or ask res-operation for " + op
		return problem.List{&p}
	case o != nil && o.State == applied:
		*res = result{told: o, affected: int(o.Affected.Int64), replayed: true}
		return nil
	}
	return w.refusal(ctx, p.Err)
}

// admit decides whether an operation may be applied by this call. It says true when it was applied before,
// whose answer is then given again.
func (w *write) admit(o *operation) (done bool, err error) {
	refuse := func(code problem.Code, reason, message, hint string) (bool, error) {
		return false, problem.List{{Code: code, Stage: problem.Confirm, Reason: reason, Message: message, Hint: hint}}
	}
	again := "call again without __confirm__ for a new preview"
	switch {
	case o == nil, !w.e.owns(w.who, o), o.Key != w.who.Key:
		return refuse(problem.ConfirmInvalid, "", "the token is not one of a preview", again)
	case !w.same(o):
		return refuse(problem.ConfirmMismatch, "", "the preview was for other arguments", "send the arguments of the preview, or "+again)
	case o.State == applied:
		return true, nil
	case o.State == declined:
		reason := "a person declined this change"
		if o.Reason.String != "" {
			reason += ": " + cut(o.Reason.String, 200)
		}
		return refuse(problem.ApprovalDenied, "", reason, "do not try again unless the user says so")
	case o.Expired:
		return false, problem.List{expired()}
	case (w.mode == "human" || o.Mode == "human") && o.State != approved:
		return refuse(problem.ApprovalRequired, "", "a person has to approve this change under another login; its short code is "+shortCode(o.ID), "call again after that; nothing was changed yet")
	case o.Catalog != w.catalog:
		return refuse(problem.Conflict, "catalog", "the catalog or this principal changed since the preview", again)
	}
	return false, nil
}

// budget bounds what one key changes in an hour without a person.
func (w *write) budget(ctx context.Context, tx *sqlx.Tx, o *operation) error {
	if w.lim.RowsPerHour < 0 || o.State == approved || w.verb == query.Create {
		return nil
	}
	n, err := w.ledger.changed(ctx, w.ledger.in(tx), w.who)
	if err != nil {
		return err
	}
	if n+int64(len(w.change.IDs())) > int64(w.lim.RowsPerHour) {
		return problem.List{{Code: problem.ApprovalRequired, Stage: problem.Confirm, Reason: "budget", Message: "this key has changed or deleted " + strconv.FormatInt(n, 10) + " rows within the hour; more need a person's approval",
			Hint: "a person approves " + shortCode(o.ID) + " under another login; then call again"}}
	}
	return nil
}

// direct makes an update at once, on a resource whose operator asks for no confirmation. When the key has changed all it may
// within the hour, a person approves it.
func (w *write) direct(ctx context.Context) (*Answer, error) {
	if w.ask.DryRun {
		return w.preview(ctx)
	}
	id, err := newID()
	if err != nil {
		return nil, err
	}
	over := false
	a, err := w.new(ctx, id, false, func(ctx context.Context, tx *sqlx.Tx) (result, error) {
		if err := w.budget(ctx, tx, &operation{ID: id}); err != nil {
			over = true
			return result{}, err
		}
		if err := w.lock(ctx, tx); err != nil {
			return result{}, err
		}
		before, _, err := w.examine(ctx, tx)
		if err != nil {
			return result{}, err
		}
		return w.make(ctx, tx, id, before)
	})
	if l := problem.From(err); err == nil || !over || l[0].Reason != "budget" {
		return a, err
	}
	if w.mode = "human"; w.ask.Confirm {
		return w.confirm(ctx)
	}
	return w.preview(ctx)
}

// idempotent is the id of the operation that an owner's idempotency key names.
func idempotent(form, owner, key string) string {
	sum := sha256.Sum256([]byte(form + owner + "\x00" + key))
	return hex.EncodeToString(sum[:])[:32]
}

// before is the operation that an earlier release kept under the idempotency key of a call, for every user of the principal.
func (w *write) before(ctx context.Context, tx *sqlx.Tx) (*operation, error) {
	return w.ledger.load(ctx, tx, idempotent("resq-idem-v1", w.who.Name, w.ask.Idempotency), false)
}

// create makes rows. The same idempotency key of the same caller makes them once.
func (w *write) create(ctx context.Context) (*Answer, error) {
	id, err := newID()
	if err != nil {
		return nil, err
	}
	if w.ask.Idempotency != "" {
		id = idempotent("resq-idem-v2", w.who.Owner(), w.ask.Idempotency)
		w.bind("") // whichever key it comes with
	}
	return w.new(ctx, id, w.ask.Idempotency != "", func(ctx context.Context, tx *sqlx.Tx) (result, error) {
		if err := w.lookups(ctx, tx); err != nil {
			return result{}, err
		}
		return w.make(ctx, tx, id, nil)
	})
}

// errTaken says that an operation row is there already: the transaction begins anew and finds it.
var errTaken = errors.New("the operation is there already")

// new makes a write that had no preview, under an operation of its own.
func (w *write) new(ctx context.Context, id string, known bool, f func(ctx context.Context, tx *sqlx.Tx) (result, error)) (*Answer, error) {
	var res result
	started := false
	run := func(ctx context.Context, tx *sqlx.Tx) error {
		if known {
			o, err := w.ledger.load(ctx, tx, id, true)
			if err != nil {
				return err
			}
			if o == nil {
				if o, err = w.before(ctx, tx); err != nil {
					return err
				}
			}
			if o != nil {
				if !w.e.owns(w.who, o) || !w.same(o) {
					return problem.List{{Code: problem.Conflict, Stage: problem.Confirm, At: "/idempotency_key", Reason: "idempotency", Message: "this key was used for other data", Hint: "a new key for new data"}}
				}
				res = result{told: o, affected: int(o.Affected.Int64), replayed: true}
				return nil
			}
		}
		now, err := w.ledger.now(ctx, tx)
		if err != nil {
			return err
		}
		w.hear(now)
		o := &operation{ID: id, Principal: w.who.Owner(), Key: w.who.Key, Tool: w.call.Tool, Resource: w.change.Resource().Code, Binding: w.binding, Catalog: w.catalog, Mode: w.mode}
		if err := w.ledger.begin(ctx, tx, o); err != nil {
			if w.db.driver.Refusal(err) == sqlgen.Duplicate {
				known = true
				return errTaken
			}
			return err
		}
		w.unapplied = true
		failpoint("before-write")
		if res, err = f(ctx, tx); err != nil {
			return err
		}
		if err := w.ledger.finish(ctx, tx, id, res.affected, string(res.text), res.undo); err != nil {
			return err
		}
		failpoint("before-intent")
		err = w.intent(id, res.affected, res.statement, w.changes(res))
		started = started || err == nil
		return err
	}
	err := w.transaction(ctx, run)
	err = w.resolve(ctx, id, &res, err)
	if started || res.replayed && w.left(id) {
		w.outcome(id, res.affected, err)
	} else {
		w.stopped(id, err)
	}
	if err != nil {
		return nil, err
	}
	return w.answer(ctx, res), nil
}
