package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"time"

	"resq/engine/plan"
	"resq/engine/sqlgen"
	"resq/schema"
	"resq/schema/problem"
	"resq/schema/query"

	"github.com/jmoiron/sqlx"
)

// Note [the control store]
//
// Where no table can be made beside the data, no commit makes a write and its record true together. Then the
// operation is claimed in the control store, the rows are changed where they are still what the preview showed,
// and the operation is marked. A process that dies in between leaves a claim. Whoever comes next looks at the rows:
// as they were before, and the change is made; as they were to be, and it was made; neither, and only a person can
// tell (security.md 3.8).

// A control is the store of operations that are kept apart from their data.
type control struct {
	once   sync.Once
	err    error
	dsn    string
	driver Driver
	pool   *sqlx.DB
	shared *shared
}

// newControl finds the driver of the store; it is opened by its first use.
func newControl(dsn string, drivers []Driver) (*control, error) {
	for _, d := range drivers {
		if strings.HasPrefix(dsn, d.Name()+":") {
			return &control{dsn: dsn, driver: d, shared: &shared{uses: 1}}, nil
		}
	}
	return nil, errors.New("operations: control needs a control store, which this program was not given")
}

func (c *control) open(ctx context.Context) error {
	c.once.Do(func() {
		db, err := c.driver.Admin(&schema.Connection{Name: "control", Driver: c.driver.Name(), DSN: c.dsn, Write: true})
		if err != nil {
			c.err = err
			return
		}
		for _, text := range c.driver.Operations().Table {
			if _, err := db.ExecContext(ctx, string(text)); err != nil {
				c.err = errors.Join(err, db.Close())
				return
			}
		}
		c.pool = sqlx.NewDb(db, c.driver.Name())
	})
	return c.err
}

func (c *control) close() error {
	if c == nil || !c.shared.drop() || c.pool == nil {
		return nil
	}
	return c.pool.Close()
}

// ledger is where the operations of a database are.
func (e *Engine) ledger(db *database) ledger {
	if !db.control {
		return ledger{db.write, db.driver, db.ops, false, db.timeout}
	}
	return ledger{e.store.pool, e.store.driver, e.store.driver.Operations(), true, db.timeout}
}

// prepareControl opens the control store when a connection needs it.
func (e *Engine) prepareControl() error {
	for _, c := range e.cat.Connections {
		if !c.Write || !c.Control {
			continue
		}
		if e.store == nil {
			var err error
			if e.store, err = newControl(e.opts.Control, e.opts.Drivers); err != nil {
				return fmt.Errorf("connection %s: %w", c.Name, err)
			}
		}
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := e.store.open(ctx); err != nil {
			return fmt.Errorf("connection %s: the control store cannot be opened: %w", c.Name, err)
		}
		e.opts.Log.Warn("operations are kept apart from their data, so a write whose process dies may have to be looked up", "connection", c.Name)
	}
	return nil
}

// applyApart makes a previewed change whose operation is in the control store.
func (w *write) applyApart(ctx context.Context, op string) (*Answer, error) {
	o, err := w.ledger.load(ctx, w.ledger.pool, op, false)
	if err != nil {
		return nil, problem.List{w.db.fault(ctx, err)}
	}
	again := o != nil && o.State == claimed
	if again && (!w.e.owns(w.who, o) || o.Key != w.who.Key || !w.same(o)) {
		again = false // admit tells it
	}
	if !again {
		if done, err := w.admit(o); err != nil {
			return nil, err
		} else if done {
			return w.answer(ctx, result{told: o, affected: int(o.Affected.Int64)}), nil
		}
		was := o.State
		ok, err := w.ledger.claim(ctx, op, was)
		if err != nil {
			return nil, problem.List{w.db.fault(ctx, err)}
		}
		if !ok { // another call was faster: what it did decides
			return w.applyApart(ctx, op)
		}
		if o, err = w.ledger.load(ctx, w.ledger.pool, op, false); err != nil {
			return nil, problem.List{w.db.fault(ctx, err)}
		}
		a, err := w.changeApart(ctx, o, true)
		if l := problem.From(err); err != nil && l[0].Code != problem.OutcomeUnknown {
			// Nothing was changed, so the preview is what it was.
			err = errors.Join(err, w.ledger.release(context.WithoutCancel(ctx), op, was))
			return nil, problem.From(err)
		}
		return a, err
	}
	return w.changeApart(ctx, o, false)
}

// changeApart changes the rows of a claimed operation, or finds that it was done. fresh says that the claim is this
// call's own, so that nobody can have done it before.
func (w *write) changeApart(ctx context.Context, o *operation, fresh bool) (*Answer, error) {
	var res result
	started, found := false, false
	err := w.transaction(ctx, func(ctx context.Context, tx *sqlx.Tx) error {
		w.now = time.Unix(o.Applied.Int64, 0).UTC() // the moment of the claim, so that the values are the same each time
		if err := w.budget(ctx, tx, o); err != nil {
			return err
		}
		if w.verb != query.Create {
			if err := w.lock(ctx, tx); err != nil {
				return err
			}
		}
		before, children, err := w.examine(ctx, tx)
		if err == nil && version(w.change.Resource(), before, children) == o.Version {
			if res, err = w.make(ctx, tx, o.ID, before); err != nil {
				return err
			}
			started = true
			return w.intent(o.ID, res.affected, res.statement, w.changes(res))
		}
		var done bool
		var text []byte
		var lookErr error
		if !fresh {
			done, text, lookErr = w.done(ctx, tx, o.ID)
		}
		switch {
		case lookErr != nil:
			return lookErr
		case done:
			found, res.text, res.affected = true, text, len(w.change.IDs())
			return nil
		case !fresh:
			return problem.List{{Code: problem.OutcomeUnknown, Stage: problem.Database, Message: "an earlier call was about to make this change, and the rows are neither as they were nor as they were to be",
				Hint: "query for the rows: a person has to tell whether it was made"}}
		case err != nil:
			return err
		}
		return problem.List{{Code: problem.Conflict, Stage: problem.Confirm, Reason: "changed", Message: "the rows changed since the preview, and nothing was changed by this call",
			Hint: "call again without __confirm__ for a new preview"}}
	})
	if started {
		w.outcome(o.ID, res.affected, err)
	} else {
		w.stopped(o.ID, err)
	}
	if err != nil {
		if l := problem.From(err); l[0].Code == problem.OutcomeUnknown && l[0].Err != nil { // the connection broke
			p := *l[0]
			p.Hint = "send the same call again: it cannot run twice; or ask res-operation for " + o.ID
			err = problem.List{&p}
		}
		return nil, err
	}
	failpoint("before-mark")
	if err := w.ledger.finish(context.WithoutCancel(ctx), w.ledger.pool, o.ID, res.affected, string(res.text), res.undo); err != nil {
		w.e.opts.Log.Error("a write was made, and its operation is not marked", "operation", o.ID, "error", err)
	}
	if found {
		res.text = replayed(string(res.text))
	}
	return &Answer{Text: res.text, Rows: res.affected}, nil
}

// done says whether the rows are what the change was to make them. It is asked when they are not what they were.
func (w *write) done(ctx context.Context, tx *sqlx.Tx, op string) (bool, []byte, error) {
	ids := w.change.IDs()
	set, err := w.read(ctx, tx, w.change.Targets(ids))
	if err != nil {
		return false, nil, err
	}
	switch w.verb {
	case query.Delete:
		st, err := sqlgen.Lock(w.change, ids, w.db.driver) // those too that the principal does not see
		if err != nil {
			return false, nil, err
		}
		rows, err := tx.QueryxContext(ctx, st.SQL, st.Args...)
		if err != nil {
			return false, nil, err
		}
		defer rows.Close()
		if rows.Next() {
			return false, nil, nil
		}
		b := appendIDs(append(fmt.Appendf(nil, `{"deleted":%d`, len(ids)), `,"ids":`...), w.change.Key(), ids)
		return true, unkept(b, op), rows.Err()
	case query.Update:
		if len(set.rows) != len(ids) || !w.holds(set) {
			return false, nil, nil
		}
		b := w.records(fmt.Appendf(nil, `{"updated":%d,"records":`, len(ids)), set, w.given(), true)
		return true, unkept(b, op), nil
	}
	if len(set.rows) != len(ids) || !w.holds(set) {
		return false, nil, nil
	}
	return true, unkept(w.records(fmt.Appendf(nil, `{"created":%d,"records":`, len(ids)), set, w.given(), true), op), nil
}

// unkept ends the result of a change whose process died before it could keep what was before.
func unkept(b []byte, op string) []byte {
	return append(appendString(append(b, `,"op_id":`...), op), `,"undo":{"available":false}}`...)
}

// holds says whether rows have the values that the change gives, as a caller would read both.
func (w *write) holds(set *rowset) bool {
	r := w.change.Resource()
	for i := range set.rows {
		for _, a := range plan.Stamp(w.assigned(i), r.Connection, w.now) {
			if a.Field == nil || a.Next {
				continue
			}
			for k, f := range r.Fields {
				if f != a.Field {
					continue
				}
				c := set.cols[k]
				c.mask, c.computed = "", true // the whole value, and no zeros that only one of the two has
				if !sameDocument(c.json(nil, set.rows[i][k]), c.json(nil, shownAs(a))) {
					return false
				}
			}
		}
	}
	return true
}

// sameDocument says whether two JSON texts mean the same: databases keep documents in a form of their own.
func sameDocument(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}
