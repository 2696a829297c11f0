package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"resq/engine"
	"resq/registry"
	"resq/schema"
)

// An audit is the audit of writes in a state directory. It is opened by the first write, so that whoever only
// reads needs no directory; a server that can write opens it when it starts.
type audit struct {
	dir    string
	secret []byte
	texts  bool // of arguments
	log    *slog.Logger

	mu   sync.Mutex
	file *registry.Log
}

var errNoSecret = errors.New("it needs a secret that lasts: name one in the configuration, or with --state a directory that can be written to")

func (a *audit) open() (*registry.Log, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.file != nil {
		return a.file, nil
	}
	if a.secret == nil {
		return nil, errNoSecret
	}
	f, err := registry.Open(a.dir, registry.Options{Secret: a.secret, KeepArguments: a.texts, Log: a.log})
	if err != nil {
		return nil, err
	}
	a.file = f
	return f, nil
}

// Intent keeps that a write is about to be committed.
func (a *audit) Intent(r engine.Record) error {
	f, err := a.open()
	if err != nil {
		return err
	}
	r.Changes = maskedChanges(r.Changes)
	return f.Intent(r)
}

// Outcome keeps what became of a write.
func (a *audit) Outcome(r engine.Record) error {
	f, err := a.open()
	if err != nil {
		return err
	}
	r.Changes = maskedChanges(r.Changes)
	return f.Outcome(r)
}

// maskedChanges hides phone numbers and secrets in what a write changes.
func maskedChanges(changes []byte) []byte {
	if text := string(changes); len(changes) == 0 || registry.MaskText(text) == text {
		return changes
	}
	return registry.Mask(changes)
}

// note keeps something else that happened, as well as it can; nothing before the audit is open.
func (a *audit) note(e registry.Entry) {
	a.mu.Lock()
	f := a.file
	a.mu.Unlock()
	if f == nil {
		return
	}
	if err := f.Note(e); err != nil {
		a.log.Error("a line is missing in the audit", "event", e.Event, "error", err)
	}
}

func (a *audit) close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.file == nil {
		return nil
	}
	err := a.file.Close()
	a.file = nil
	return err
}

// audited opens the audit of a server that can write, and closes its open ends: what became of a write that an
// earlier process was about to commit stands in its operation.
func (o *opened) audited(ctx context.Context) error {
	if !slices.ContainsFunc(o.engine.Catalog().Resources, func(r *schema.Resource) bool { return len(r.Writes) > 0 }) {
		return nil
	}
	f, err := o.audit.open()
	if err != nil {
		return failure{fmt.Errorf("the audit of writes cannot be kept in %s: %w", o.audit.dir, err)}
	}
	for _, r := range f.Pending() {
		x, found, err := o.engine.Recover(ctx, r.Operation)
		if err != nil {
			continue // the database does not answer; the next start tries again
		}
		r.Event, r.Code, r.Changes, r.Rows = "outcome", registry.Recovered, nil, 0
		if found && x.State == "applied" {
			r.Rows = x.Affected
		}
		if err := f.Outcome(r); err != nil {
			return failure{err}
		}
	}
	o.audit.note(registry.Entry{Event: registry.EventStart})
	return nil
}
