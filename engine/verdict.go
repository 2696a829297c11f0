package engine

import (
	"context"
	"strconv"

	"resq/schema/problem"
	"resq/schema/query"

	"github.com/jmoiron/sqlx"
)

// verdictsJSON writes what the validations said, and how many of each mode passed (C-019).
func verdictsJSON(b []byte, list []verdict) []byte {
	type tally struct{ passed, failed int }
	var n [2]tally
	for i := range list {
		t := &n[0]
		if list[i].a.Mode != "required" && !list[i].broken {
			t = &n[1]
		}
		if list[i].passed {
			t.passed++
		} else {
			t.failed++
		}
	}
	for i, mode := range []string{`{"required":`, `,"informational":`} {
		b = strconv.AppendInt(append(append(b, mode...), `{"passed":`...), int64(n[i].passed), 10)
		b = append(strconv.AppendInt(append(b, `,"failed":`...), int64(n[i].failed), 10), '}')
	}
	b = append(b, `,"results":[`...)
	for i := range list {
		v := &list[i]
		if i > 0 {
			b = append(b, ',')
		}
		b = appendString(append(b, `{"validation":`...), v.a.Validation.Name)
		b = appendString(append(b, `,"mode":`...), v.a.Mode)
		b = strconv.AppendBool(append(b, `,"passed":`...), v.passed)
		if v.broken {
			b = append(b, `,"error":true`...)
		}
		if v.message != "" && !v.passed { // it says what is wrong, and nothing is
			b = appendString(append(b, `,"message":`...), v.message)
		}
		if v.data != nil {
			b = append(append(b, `,"data":`...), v.data...)
		}
		b = strconv.AppendInt(append(b, `,"duration_ms":`...), v.took.Milliseconds(), 10)
		b = appendString(append(b, `,"attempt":1,"attachment_id":`...), v.a.ID)
		b = appendString(append(b, `,"attachment_resource":`...), v.resource)
		b = append(b, `,"attachment_scope":"direct"}`...)
	}
	return append(b, "]}"...)
}

// with adds what the validations said to a result.
func (r *result) with(list []verdict) {
	if len(list) > 0 && len(r.text) > 0 {
		r.text = append(verdictsJSON(append(r.text[:len(r.text)-1], `,"validations":`...), list), '}')
	}
}

// tried makes a change, asks its validations and takes the change back: a preview shows what they say.
func (w *write) tried(ctx context.Context, tx *sqlx.Tx, before *rowset) ([]verdict, error) {
	if len(w.change.Resource().Validations) == 0 {
		return nil, nil
	}
	if w.verb != query.Create {
		if err := w.lock(ctx, tx); err != nil {
			return nil, err
		}
	}
	if _, err := tx.ExecContext(ctx, "SAVEPOINT resq_preview"); err != nil {
		return nil, err
	}
	res, err := w.made(ctx, tx, "preview", before)
	if err != nil {
		return nil, err
	}
	list, err := w.validate(ctx, tx, before, &res)
	if err != nil {
		return nil, err
	}
	if _, err := tx.ExecContext(ctx, "ROLLBACK TO SAVEPOINT resq_preview"); err != nil {
		return nil, err
	}
	_, err = tx.ExecContext(ctx, "RELEASE SAVEPOINT resq_preview")
	return list, err
}

// forewarned says beforehand which validations a change will not pass.
func forewarned(list []verdict) (out []string) {
	for i := range list {
		v := &list[i]
		what := "the validation " + v.a.Validation.Name + " does not pass"
		if v.message != "" {
			what += ": " + v.message
		}
		switch {
		case v.stops():
			out = append(out, what+"; as it is required, the change would be refused")
		case !v.passed:
			out = append(out, what+"; it only informs")
		}
	}
	return out
}

// audited is what the audit keeps of the verdicts: no word of them, which may hold values.
func (w *write) audited(changes []byte) []byte {
	if len(w.verdicts) == 0 {
		return changes
	}
	b := append(changes[:len(changes)-1], `,"validations":[`...)
	for i := range w.verdicts {
		v := &w.verdicts[i]
		if i > 0 {
			b = append(b, ',')
		}
		b = appendString(append(b, `{"validation":`...), v.a.Validation.Name)
		b = appendString(append(b, `,"mode":`...), v.a.Mode)
		b = strconv.AppendBool(append(b, `,"passed":`...), v.passed)
		if v.broken {
			b = append(b, `,"error":true`...)
		}
		b = append(b, '}')
	}
	return append(b, "]}"...)
}

// stopped tells the audit that validations stopped a write, of which it has no intent.
func (w *write) stopped(op string, err error) {
	if w.e.opts.Audit == nil || err == nil || problem.From(err)[0].Code != problem.ValidationFailed {
		return
	}
	r := w.record("outcome", op, string(problem.ValidationFailed), 0, nil, w.audited(append(appendIDs([]byte(`{"ids":`), w.change.Key(), w.change.IDs()), '}')))
	if err := w.e.opts.Audit.Outcome(r); err != nil {
		w.e.opts.Log.Error("the outcome of a write is not in the audit", "operation", op, "error", err)
	}
}
