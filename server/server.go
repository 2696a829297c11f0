// Package server speaks MCP with clients: it lists the tools, hands each call's raw arguments to the engine and
// gives back its answer or its problems, over stdio and over Streamable HTTP behind a guard of its own. It is
// the only importer of the MCP library, and no type of that library crosses its border.
package server

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"sync/atomic"
	"time"

	mcpgo "github.com/mark3labs/mcp-go/server"

	"resq/access"
	"resq/engine"
	"resq/engine/policy"
)

// A Backend answers tool calls. Its errors are problem.Lists; anything else is told to a client as an internal
// error. *engine.Engine is one.
type Backend interface {
	// Query answers res-query.
	Query(ctx context.Context, who *policy.Principal, raw []byte) (*engine.Answer, error)
	// Write answers the tools that write, and those that tell of writes and take them back.
	Write(ctx context.Context, who *policy.Principal, call engine.Call) (*engine.Answer, error)
	// Tools are the business tools of the catalog, described in a language.
	Tools(lang string) []engine.Tool
	// Offers says whether a principal may use one of them.
	Offers(who *policy.Principal, tool string) bool
	// Reaches says whether the connections that a tool needs are there; verbs are what one of the server's own does.
	Reaches(who *policy.Principal, tool string, verbs engine.Verbs) bool
	// CallTool answers one of them.
	CallTool(ctx context.Context, who *policy.Principal, call engine.Call) (*engine.Answer, error)
	// Verbs is what a principal can do with some resource or other.
	Verbs(who *policy.Principal) engine.Verbs
	// Describe answers res-schema.
	Describe(ctx context.Context, who *policy.Principal, raw []byte) (*engine.Answer, error)
	// Instructions are what the files of the catalog tell clients.
	Instructions() []engine.Instruction
	// Ping tries every connection; a nil error is a healthy one.
	Ping(ctx context.Context) map[string]error
}

// Options are the choices of whoever runs the server. The zero value serves English descriptions to one local
// principal without attributes.
type Options struct {
	Version string // of the program, for clients
	Lang    string // of the tool descriptions, one of Languages; "" is en
	// Profile is how the tools show themselves over stdio and at Path; the zero value is the contract. Over HTTP
	// a client can choose another one by its URL.
	Profile Profile

	// Local is who asks over stdio, and over HTTP when Authenticate is nil. With Authenticate, nil is nobody.
	Local *policy.Principal
	// Authenticate finds a key's owner, nil for a key that it does not know. When it is set, HTTP answers nobody
	// without a key that it knows. Its error is a problem: whose a key is cannot be found out now.
	Authenticate func(ctx context.Context, key string) (*policy.Principal, error)
	// Record is handed every call of a tool, refused ones too; nil is nobody. It must not wait.
	Record func(*Call)
	// API answers below APIPath, behind the same lists of hosts and origins; nil is nothing. It asks for a credential
	// of its own.
	API http.Handler
	// Unrecorded is how many calls Record could not keep, for /metrics; nil is none.
	Unrecorded func() int64
	// Enabled says whether a tool can be used at all, whoever asks; nil is every tool. It is asked on every call, so
	// it must not wait. Whoever changes its mind tells Changed.
	Enabled func(tool string) bool

	// Resource is set where clients can get tokens by themselves; nil is opaque keys alone, and clients are not led to a login that
	// cannot succeed.
	Resource *Resource

	// Trace begins the span of a call, whose parent is the header traceparent of its request; the function ends it. Nil traces nothing.
	Trace func(ctx context.Context, tool, request, parent string) (context.Context, func(code string, rows int))

	// Budgets bound what keys spend; nil bounds nothing.
	Budgets *access.Budgets

	// Page gives the address of the page on which a person decides about a preview, by its operation; nil is that there is none.
	Page func(operation string) string

	// Peers are the other replicas, behind a balancer that sends a client's messages to any of them: a call can be cancelled, a
	// session ended and an export read through another one than began it. Users of clients from before 2026-07-28 are not asked then,
	// for their answer would reach any replica. Nil is a server alone, or a balancer that keeps sessions together.
	Peers *access.Peers

	// Hosts are further names a request's Host may carry, beside those of the listen address.
	Hosts []string
	// Origins are the browser origins that may ask, such as https://console.example. There are none by default.
	Origins []string
	// Proxies are those whose X-Forwarded-For says who calls. There are none by default.
	Proxies []netip.Prefix

	// Secret binds session ids to their principal. Replicas that share it accept each other's sessions; nil is
	// a random one.
	Secret []byte
	// IdleTTL is how long a session may be silent; 0 is 30 minutes.
	IdleTTL time.Duration
	// Log takes one record for each call. It must not write to standard output, which stdio clients own; nil
	// is slog's default, which writes to standard error.
	Log *slog.Logger
}

// A Resource is what clients are told about where tokens come from (RFC 9728).
type Resource struct {
	URL     string   // of this server, as clients write it
	Issuers []string // that give tokens for it
	Scopes  []string // that a client may ask for
}

// A Server serves one Backend to any number of clients and transports.
type Server struct {
	backend  atomic.Pointer[lease]
	degraded atomic.Pointer[string] // why, or nil
	opts     Options
	own      *toolbox // without the tools of a catalog
	offered  atomic.Pointer[views]
	mcp      *mcpgo.MCPServer
	log      *slog.Logger
	metrics  *metrics
	changes  atomic.Int64                  // how often the backend was replaced
	shifts   atomic.Int64                  // how often what callers may use of it can have become another
	woken    atomic.Pointer[chan struct{}] // closed when one of them counts up
	health   health
	exports  exports
	apps     map[string]string // that clients show beside answers, by their addresses
	drain    time.Duration     // from the signal to the end
	beat     time.Duration     // between two signs of life of a call
	askTime  time.Duration     // for a user to answer
	bodyTime time.Duration     // for a client to send a body
}

// New makes a server. It fails for a language that has no descriptions, and without a backend.
func New(b Backend, opts Options) (*Server, error) {
	if b == nil {
		return nil, errors.New("server: no backend")
	}
	tools, err := loadTools(opts.Lang)
	if err != nil {
		return nil, err
	}
	if opts.Profile == (Profile{}) {
		opts.Profile = contractProfile
	}
	views, err := newViews(tools.with(b.Tools(opts.Lang)), opts.Profile)
	if err != nil {
		return nil, err
	}
	if opts.Local == nil && opts.Authenticate == nil {
		opts.Local = &policy.Principal{Name: "local"}
	}
	if opts.Secret == nil {
		opts.Secret = make([]byte, 32)
		_, _ = rand.Read(opts.Secret) // never fails: crypto/rand ends the program instead
	}
	if opts.IdleTTL <= 0 {
		opts.IdleTTL = 30 * time.Minute
	}
	if opts.Log == nil {
		opts.Log = slog.Default()
	}
	s := &Server{opts: opts, own: tools, log: opts.Log, drain: drainTime, beat: progressTime, askTime: askTime, bodyTime: bodyTime}
	s.apps = newPages(cmp.Or(opts.Lang, "en"), &tools.Apps)
	s.backend.Store(newLease(b))
	woken := make(chan struct{})
	s.woken.Store(&woken)
	s.offered.Store(views)
	s.metrics = newMetrics(s)
	s.mcp = s.protocol()
	s.log.Info("tools", "sha256", s.views().box.hash())
	return s, nil
}

// views are the tools that are served by now.
func (s *Server) views() *views { return s.offered.Load() }

// tool finds a tool that is served by now.
func (s *Server) tool(name string) (*definition, bool) { return s.views().box.find(name) }

// toolFor is tool for a caller. One that is hidden from it is as one that does not exist, wherever that shows: in the
// answer, the log, the metrics and the audit (N4, B-004).
func (s *Server) toolFor(c caller, name string) (*definition, bool) {
	d, ok := s.tool(name)
	if !ok || d.hidden(c) {
		return nil, false
	}
	return d, true
}
