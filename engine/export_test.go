package engine

import (
	"context"

	"resq/engine/policy"
)

// FormsUsed says how many requests were compiled by the form of others.
func (e *Engine) FormsUsed() int64 { return e.forms.hits.Load() }

// ByRole says whether fields hang on the attributes of whoever asks, so that these are looked up first.
func (e *Engine) ByRole() bool { return e.byRole }

// KeptBefore is the id and the binding under which earlier releases kept a creation with an idempotency key.
func (e *Engine) KeptBefore(ctx context.Context, who *policy.Principal, args string) (id, binding string, err error) {
	w := &write{e: e, who: who, came: who, call: Call{Tool: "res-create", Args: []byte(args)}, lim: e.opts.Writes}
	if err := w.decode(ctx); err != nil {
		return "", "", err
	}
	w.bind("")
	return idempotent("resq-idem-v1", who.Name, w.ask.Idempotency), w.former, nil
}

// WriteOnReadPool tries a statement on the pools that tools which only read are given.
func WriteOnReadPool(ctx context.Context, e *Engine, text string) error {
	for _, db := range e.dbs {
		if _, err := db.ExecContext(ctx, text); err != nil {
			return err
		}
	}
	return nil
}
