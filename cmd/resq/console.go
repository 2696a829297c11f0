package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

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
	url       string // as people write it
}

// checked says what is wrong with the address that people are to write.
func (how consoling) checked() error {
	u, err := url.Parse(how.url)
	switch {
	case how.url == "":
		return nil
	case how.addr == "":
		return errors.New("--console-url is the address of the console, which --console serves")
	case err != nil, u.Scheme != "https" && u.Scheme != "http", u.Host == "", u.User != nil, u.RawQuery != "", u.Fragment != "":
		return errors.New("--console-url is an address such as https://console.example, without a query")
	case u.Scheme == "http" && !server.Loopback(u.Host):
		return errors.New("--console-url needs https, because people log in there")
	}
	return nil
}

// base is where people find the console that listens at an address; "" is not known.
func (how consoling) base(at net.Addr) string {
	if how.url != "" {
		return strings.TrimRight(how.url, "/")
	}
	host, _, err := net.SplitHostPort(at.String())
	if ip, no := netip.ParseAddr(host); err != nil || how.proxied || no == nil && ip.IsUnspecified() {
		return ""
	}
	if how.cert != "" {
		return "https://" + at.String()
	}
	return "http://" + at.String()
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
