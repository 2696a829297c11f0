package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"resq/registry"
	"resq/schema"
	"resq/server"
)

// The places that calls are kept in.
const (
	callsInControl = "control" // the control database
	callsInFiles   = "files"   // the audit's files in the state directory, where writes are kept anyhow
)

// An auditConfig says where calls are kept, and for how long.
type auditConfig struct {
	Calls     []string      // nil is the control database, without one the files where callers are asked for keys
	Arguments bool          // as text in the files too, not only their HMAC
	Keep      time.Duration // of the control database's; 0 is for ever
}

// journal makes what keeps the calls of a server; nil is nothing. asks says whether callers are asked for keys: then
// calls are kept though nobody configured it.
func (o *opened) journal(ctl *registry.Control, asks bool) (*registry.Journal, error) {
	j, err := newJournal(o.config, o.audit, ctl, asks)
	if j != nil {
		j.Know(o.config.known(o.engine.Catalog()))
	}
	return j, err
}

// known is what of calls may be kept: nothing that is a key of the configuration.
func (c *config) known(cat *schema.Catalog) *registry.Known {
	return registry.NewKnown(cat).Secret(func(word string) bool {
		_, is := c.Keys.Find(word)
		return is
	})
}

func newJournal(c *config, a *audit, ctl *registry.Control, asks bool) (*registry.Journal, error) {
	want := c.Audit.Calls
	switch {
	case want == nil && ctl != nil:
		want = []string{callsInControl}
	case want == nil && asks:
		want = []string{callsInFiles}
	}
	var in *registry.Control
	var file func() *registry.Log
	if slices.Contains(want, callsInControl) {
		in = ctl
	}
	if slices.Contains(want, callsInFiles) {
		if _, err := a.open(); err != nil {
			return nil, failure{fmt.Errorf("the audit of calls cannot be kept in %s: %w; audit: {calls: []} keeps none", a.dir, err)}
		}
		file = func() *registry.Log {
			f, err := a.open()
			if err != nil {
				return nil
			}
			return f
		}
	}
	if in == nil && file == nil {
		return nil, nil
	}
	return registry.NewJournal(in, file, a.log), nil
}

// keptCall is a call as the journal takes it.
func keptCall(c *server.Call) registry.Call {
	k := registry.Call{
		Time: c.Time, Request: c.RequestID, Tool: c.Tool, Arguments: c.Arguments, Outcome: c.Outcome, Code: string(c.Code), Rows: c.Rows, Took: c.Took,
		Client: c.Client, Version: c.Version, Rules: c.Rules, Bypass: c.Bypass, Statements: c.Statements, Stages: c.Stages,
	}
	if w := c.Who; w != nil {
		k.Token, k.Key, k.User, k.Principal = w.Token, w.Key, w.User, w.Name
	}
	return k
}

// forgetting deletes calls that are old enough, once an hour, until ctx ends.
func forgetting(ctx context.Context, ctl *registry.Control, keep time.Duration) {
	tick := time.NewTicker(time.Hour)
	defer tick.Stop()
	for {
		_, _ = ctl.ForgetCalls(ctx, time.Now().Add(-keep)) // the next hour tries again
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
