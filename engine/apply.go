package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"resq/engine/plan"
	"resq/engine/policy"
	"resq/engine/sqlgen"
	"resq/schema"
	"resq/schema/problem"
	"resq/schema/query"

	"github.com/jmoiron/sqlx"
)

// A result is what a write came to.
type result struct {
	text      []byte
	affected  int
	undo      []byte
	statement *sqlgen.Statement
	ids       []int64
	replayed  bool
}

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
				res = result{text: replayed(o.Result.String), affected: int(o.Affected.Int64), replayed: true}
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
	}
	if err != nil {
		return nil, err
	}
	return &Answer{Text: res.text, Rows: res.affected}, nil
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
		*res = result{text: replayed(o.Result.String), affected: int(o.Affected.Int64), replayed: true}
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
	case o == nil, o.Principal != w.who.Name, o.Key != w.who.Key:
		return refuse(problem.ConfirmInvalid, "", "the token is not one of a preview", again)
	case o.Binding != w.binding:
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

// direct makes an update at once, on a resource whose operator asks for no confirmation.
func (w *write) direct(ctx context.Context) (*Answer, error) {
	if w.ask.DryRun {
		return w.preview(ctx)
	}
	id, err := newID()
	if err != nil {
		return nil, err
	}
	return w.new(ctx, id, false, func(ctx context.Context, tx *sqlx.Tx) (result, error) {
		if err := w.lock(ctx, tx); err != nil {
			return result{}, err
		}
		before, _, err := w.examine(ctx, tx)
		if err != nil {
			return result{}, err
		}
		return w.make(ctx, tx, id, before)
	})
}

// create makes rows. The same idempotency key of the same principal makes them once.
func (w *write) create(ctx context.Context) (*Answer, error) {
	id, err := newID()
	if err != nil {
		return nil, err
	}
	if w.ask.Idempotency != "" {
		sum := sha256.Sum256([]byte("resq-idem-v1" + w.who.Name + "\x00" + w.ask.Idempotency))
		id = hex.EncodeToString(sum[:])[:32]
		anyKey := *w.who
		anyKey.Key = ""
		w.binding = binding(&anyKey, w.call.Tool, w.change, "")
	}
	return w.new(ctx, id, w.ask.Idempotency != "", func(ctx context.Context, tx *sqlx.Tx) (result, error) {
		if err := w.lookups(ctx, tx); err != nil {
			return result{}, err
		}
		return w.insert(ctx, tx)
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
			if o != nil {
				if o.Principal != w.who.Name || o.Binding != w.binding {
					return problem.List{{Code: problem.Conflict, Stage: problem.Confirm, At: "/idempotency_key", Reason: "idempotency", Message: "this key was used for other data", Hint: "a new key for new data"}}
				}
				res = result{text: replayed(o.Result.String), affected: int(o.Affected.Int64), replayed: true}
				return nil
			}
		}
		now, err := w.ledger.now(ctx, tx)
		if err != nil {
			return err
		}
		w.hear(now)
		o := &operation{ID: id, Principal: w.who.Name, Key: w.who.Key, Tool: w.call.Tool, Resource: w.change.Resource().Code, Binding: w.binding, Catalog: w.catalog, Mode: w.mode}
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
	}
	if err != nil {
		return nil, err
	}
	return &Answer{Text: res.text, Rows: res.affected}, nil
}

// make changes rows that are locked and were read, checks what they are then, and keeps what they were.
func (w *write) make(ctx context.Context, tx *sqlx.Tx, op string, before *rowset) (res result, err error) {
	switch w.verb {
	case query.Update:
		return w.update(ctx, tx, op, before)
	case query.Delete:
		return w.remove(ctx, tx, op, before)
	}
	return w.insert(ctx, tx)
}

func unmatched() error {
	return problem.List{{Code: problem.Conflict, Stage: problem.Confirm, Reason: "changed", Message: "the database matched other rows than the preview, and nothing was changed", Hint: "call again without __confirm__ for a new preview"}}
}

func (w *write) update(ctx context.Context, tx *sqlx.Tx, op string, before *rowset) (res result, err error) {
	ids, rows := w.change.IDs(), w.change.Rows()
	conn := w.change.Resource().Connection
	if len(rows) == 1 {
		var n int64
		res.statement, err = sqlgen.Update(w.change, ids, plan.Stamp(rows[0], conn, w.now), w.db.driver)
		if n, err = w.exec(ctx, tx, res.statement, err); err != nil {
			return res, err
		}
		if n != int64(len(ids)) {
			return res, unmatched()
		}
	} else {
		for i, id := range ids {
			var n int64
			res.statement, err = sqlgen.Update(w.change, []int64{id}, plan.Stamp(rows[i], conn, w.now), w.db.driver)
			if n, err = w.exec(ctx, tx, res.statement, err); err != nil {
				return res, err
			}
			if n != 1 {
				return res, unmatched()
			}
		}
	}
	after, err := w.read(ctx, tx, w.change.Targets(ids))
	if err != nil {
		return res, err
	}
	if len(after.rows) != len(ids) {
		return res, violation()
	}
	if res.undo, err = w.imageOf(op, before, after); err != nil {
		return res, err
	}
	res.affected, res.ids = len(ids), ids
	b := strconv.AppendInt([]byte(`{"updated":`), int64(len(ids)), 10)
	b = w.records(append(b, `,"records":`...), after, w.given(), true)
	res.text = w.closing(b, op)
	return res, nil
}

// given are the fields that the caller changed, as far as it may read them: who undoes what another did may not.
func (w *write) given() []*schema.Field {
	var out []*schema.Field
	v := policy.For(w.e.cat, w.who)
	for _, row := range w.change.Rows() {
		for _, a := range row {
			if a.Field != nil && !a.System && v.Readable(a.Field) && !slices.Contains(out, a.Field) {
				out = append(out, a.Field)
			}
		}
	}
	return out
}

func (w *write) remove(ctx context.Context, tx *sqlx.Tx, op string, before *rowset) (res result, err error) {
	ids := w.change.IDs()
	extra, err := w.foreign(ctx, tx)
	if err != nil {
		return res, err
	}
	if res.undo, err = w.imageOfDelete(op, before, extra); err != nil {
		return res, err
	}
	var n int64
	res.statement, err = sqlgen.Delete(w.change, ids, w.db.driver)
	if n, err = w.exec(ctx, tx, res.statement, err); err != nil {
		return res, err
	}
	if n != int64(len(ids)) {
		return res, unmatched()
	}
	res.affected, res.ids = len(ids), ids
	b := strconv.AppendInt([]byte(`{"deleted":`), int64(len(ids)), 10)
	b = appendIDs(append(b, `,"ids":`...), ids)
	res.text = w.closing(b, op)
	return res, nil
}

func appendIDs(b []byte, ids []int64) []byte {
	b = append(b, '[')
	for i, id := range ids {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendInt(b, id)
	}
	return append(b, ']')
}

// insert makes the rows of a change one by one, so that each tells its key, and reads them as the principal sees
// them: defaults and triggers show, and a row that would not be seen ends the whole call.
func (w *write) insert(ctx context.Context, tx *sqlx.Tx) (res result, err error) {
	key := w.change.Key()
	for _, row := range w.change.Rows() {
		st, returns, err := sqlgen.Insert(w.change, plan.Stamp(row, w.change.Resource().Connection, w.now), w.db.driver)
		if err != nil {
			return res, err
		}
		res.statement = st
		id, known := int64(0), false
		for _, a := range row {
			if a.Field == key {
				id, known = whole(a.Value.Value), a.Value.Value != nil
			}
		}
		if returns {
			var v any
			if err := tx.QueryRowxContext(ctx, st.SQL, st.Args...).Scan(&v); err != nil {
				return res, err
			}
			id, known = whole(v), true
		} else {
			r, err := tx.ExecContext(ctx, st.SQL, st.Args...)
			if err != nil {
				return res, err
			}
			if last, err := r.LastInsertId(); !known && err == nil && last != 0 {
				id, known = last, true
			}
		}
		if !known {
			return res, problem.List{{Code: problem.DataIntegrity, Stage: problem.Database, Message: "the database gives new rows no key", Hint: "send the key " + problem.Quote(key.Code) + ", or the operator makes it count by itself"}}
		}
		res.ids = append(res.ids, id)
	}
	set, err := w.read(ctx, tx, w.change.Targets(res.ids))
	if err != nil {
		return res, err
	}
	if len(set.rows) != len(res.ids) {
		return res, violation()
	}
	order := map[int64]int{}
	for i, id := range res.ids {
		order[id] = i
	}
	at := keyIndex(w.change.Resource())
	slices.SortFunc(set.rows, func(a, b []any) int { return order[whole(a[at])] - order[whole(b[at])] })
	res.affected = len(res.ids)
	b := strconv.AppendInt([]byte(`{"created":`), int64(len(res.ids)), 10)
	fields := policy.For(w.e.cat, w.who).Fields(w.change.Resource())
	if w.ask.Batch || w.undoes != "" {
		b = w.records(append(b, `,"records":`...), set, fields, false)
	} else {
		one := w.records(nil, set, fields, false)
		b = append(append(b, `,"record":`...), one[1:len(one)-1]...)
	}
	res.text = append(b, '}')
	return res, nil
}

// records writes rows as objects of the given fields, masked as reads are; with key the key stands first.
func (w *write) records(b []byte, set *rowset, fields []*schema.Field, key bool) []byte {
	r := w.change.Resource()
	at := keyIndex(r)
	b = append(b, '[')
	for i, row := range set.rows {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, '{')
		n := 0
		put := func(k int) {
			if n++; n > 1 {
				b = append(b, ',')
			}
			b = append(appendString(b, r.Fields[k].Code), ':')
			b = set.cols[k].json(b, row[k])
		}
		if key {
			put(at)
		}
		for k, f := range r.Fields {
			if slices.Contains(fields, f) && !(key && k == at) {
				put(k)
			}
		}
		b = append(b, '}')
	}
	return append(b, ']')
}

// closing ends the result of a change that can be undone.
func (w *write) closing(b []byte, op string) []byte {
	b = appendString(append(b, `,"op_id":`...), op)
	b = appendString(append(b, `,"undo":{"tool":"res-undo","until":`...), w.now.Add(w.lim.Undo).Format(time.RFC3339))
	return append(b, "}}"...)
}

// changes is what the audit keeps of a result: the rows, and what they were given where that is not masked.
func (w *write) changes(r result) []byte {
	b := appendIDs([]byte(`{"ids":`), r.ids)
	if rows := w.change.Rows(); w.verb == query.Update && len(rows) == 1 {
		b = append(b, `,"set":{`...)
		n := 0
		for _, a := range rows[0] {
			if a.Field == nil || a.System {
				continue
			}
			if n++; n > 1 {
				b = append(b, ',')
			}
			b = append(appendString(b, a.Field.Code), ':')
			switch c := (&column{t: a.Field.Type, field: a.Field, mask: a.Field.Mask}); {
			case a.Now:
				b = append(b, `"CURRENT_TIMESTAMP"`...)
			case len(a.Field.Roles) > 0: // what not everybody may read
				b = append(b, `"****"`...)
			default:
				b = appendCut(b, c.json(nil, shownAs(a)))
			}
		}
		b = append(b, '}')
	}
	return append(b, '}')
}

// replayed is a result that was told before.
func replayed(text string) []byte {
	if strings.HasSuffix(text, "}") {
		return []byte(text[:len(text)-1] + `,"replayed":true}`)
	}
	return []byte(text)
}
