package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"strconv"

	"resq/engine"
	"resq/engine/policy"
	"resq/registry"
	"resq/schema/problem"
	"resq/server"
	"resq/server/console"
)

// A consoling is how serve was asked to serve the console.
type consoling struct {
	addr      string
	cert, key string
	proxied   bool
}

// console makes the pages of a server.
func (o *opened) console(how consoling, ctl *registry.Control, ring *keyring, journal *registry.Journal, s *server.Server, reload *reloader, log *slog.Logger) (*console.Console, error) {
	local, audit := o.local, o.audit // a reload puts others in the place of the rest
	opts := console.Options{
		Control: ctl, AuditDir: audit.dir, Secret: o.secret, Previous: o.config.Previous, Hosts: o.config.Hosts, Proxies: o.config.Proxies,
		Proxied: how.proxied, Version: version, Log: log, Problems: reload.problem, Loads: reload.loads.newest, Drift: driftOf, Configured: ring.configured, Visible: s.Visible,
		Lend: func() (*engine.Engine, func()) {
			b, release := s.Lend()
			return b.(*engine.Engine), release // serve hands the server nothing else
		},
		Call: func(ctx context.Context, who *policy.Principal, tool string, args []byte) (string, problem.Code, bool) {
			reply, ok := s.Call(ctx, who, tool, args)
			if !ok {
				return "there is no tool " + tool, problem.UnknownTool, true
			}
			text := ""
			for _, t := range reply.Texts[:min(1, len(reply.Texts))] {
				text = t
			}
			return text, reply.Code, reply.Failed
		},
		Undoes: func() *policy.Principal { return local },
		KeyOwner: func(ctx context.Context, id int64) (*policy.Principal, error) {
			return numbered(ctx, ring, strconv.FormatInt(id, 10))
		},
	}
	file, err := audit.open()
	if err != nil {
		return nil, failure{fmt.Errorf("the console keeps its decisions in an audit, and it cannot be kept in %s: %w", audit.dir, err)}
	}
	opts.Note = file.Note
	opts.Record = func(c registry.Call) {
		if journal != nil {
			journal.Add(c)
			return
		}
		audit.note(registry.Entry{Event: registry.EventCall, Request: c.Request, Principal: c.Principal, Tool: c.Tool, Code: c.Code, Outcome: c.Outcome, Address: c.Client, Ms: c.Took.Milliseconds()})
	}
	switch {
	case (how.cert == "") != (how.key == ""):
		return nil, errors.New("--console-cert and --console-key belong together")
	case how.cert != "":
		pair, err := tls.LoadX509KeyPair(how.cert, how.key)
		if err != nil {
			return nil, fmt.Errorf("the certificate of the console: %w", err)
		}
		opts.Certificate = &pair
	}
	return console.New(opts)
}
