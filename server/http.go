package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	mcpgo "github.com/mark3labs/mcp-go/server"

	"resq/schema/problem"
)

// Path is where the server answers MCP over HTTP.
const Path = "/mcp"

// APIPath is below which Options.API answers.
const APIPath = "/api/"

// Below Path a client chooses a profile: a ready-made one by its name, or any by its switches.
const (
	profilePath = "/p/"
	compatPath  = "/compat"
)

const (
	headerTime = 5 * time.Second
	idleTime   = 2 * time.Minute
	heartbeat  = 25 * time.Second
	drainTime  = 10 * time.Second
	cutTime    = 4 * time.Second // for a cut call to end on the database and to tell its client
	pingTime   = 2 * time.Second
	pingFresh  = time.Second
)

// Listen opens an address for Serve. It refuses one that other machines can reach while no key is asked for:
// that would publish the databases.
func (s *Server) Listen(addr string) (net.Listener, error) {
	if !Loopback(addr) && s.opts.Authenticate == nil {
		return nil, fmt.Errorf("%s can be reached from other machines, and no principal has a key; give one a key, or listen on 127.0.0.1", addr)
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", addr, err)
	}
	return l, nil
}

// ending is what a call is told that is cut because the server ends. It is the cause of the end of its context, by
// which such a call is told apart from one that nobody waits for.
var ending = &problem.Problem{
	Code: problem.Unavailable, Stage: problem.Database, Message: "the server is ending, and the call was stopped", Hint: "call again in a moment", RetryAfter: 2,
}

// wanted says whether somebody waits for the answer of a call.
func wanted(ctx context.Context) bool {
	return ctx.Err() == nil || errors.Is(context.Cause(ctx), ending)
}

// Serve answers on l until ctx ends. Then it takes no new requests and lets the running ones finish for ten seconds;
// a request that is still running after that is cut, its statement ended on the database, and its client told.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	handler, closeStreams := s.handler(l.Addr())
	running, cut := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cut(nil)
	srv := &http.Server{
		Handler:           behind(s.opts.Proxies, handler),
		ReadHeaderTimeout: headerTime,
		IdleTimeout:       idleTime,
		MaxHeaderBytes:    16 << 10,
		// WriteTimeout stays 0: it would cut event streams. A query has a time of its own.
		BaseContext: func(net.Listener) context.Context { return running },
		ErrorLog:    slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
	done := make(chan error, 1)
	go func() { done <- srv.Serve(l) }()
	select {
	case err := <-done:
		closeStreams()
		return err
	case <-ctx.Done():
	}
	stop := make(chan struct{})
	go func() { // streams opened while the last requests finish have to end too
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			closeStreams()
			select {
			case <-stop:
				return
			case <-tick.C:
			}
		}
	}()
	shut := func(within time.Duration) error {
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), within)
		defer cancel()
		return srv.Shutdown(end)
	}
	err := shut(s.drain)
	if err != nil { // somebody is still at it
		cut(ending)
		if err = shut(cutTime); err != nil {
			err = srv.Close()
		}
	}
	close(stop)
	if e := <-done; err == nil && !errors.Is(e, http.ErrServerClosed) {
		err = e
	}
	return err
}

// handler routes the server's paths. The function ends every open event stream.
func (s *Server) handler(listen net.Addr) (http.Handler, func()) {
	sessions := newSessions(s.opts.Secret, s.opts.IdleTTL)
	sessions.spread = s.opts.Peers != nil
	lib := mcpgo.NewStreamableHTTPServer(s.mcp,
		mcpgo.WithSessionIdManagerResolver(sessions),
		mcpgo.WithSessionIdleTTL(s.opts.IdleTTL),
		mcpgo.WithHeartbeatInterval(heartbeat),
		mcpgo.WithStreamableHTTPLogger(slog.New(quiet{s.log.Handler()})),
		mcpgo.WithDisableLocalhostProtection(true), // the guard's own check is the stricter one
	)
	streams, hangUp := context.WithCancel(context.Background())
	g := &guard{
		s: s, sessions: sessions, next: lib, streams: streams, bodyTime: s.bodyTime,
		places: newPlaces(listen, s.opts.Hosts, s.opts.Origins),
	}
	if s.opts.Peers != nil {
		go s.opts.Peers.Receive(streams, g.heed)
	}
	mux := http.NewServeMux()
	mux.Handle(Path, g)
	mux.Handle(Path+compatPath, g)
	mux.Handle(Path+profilePath+"{name}", g)
	if s.opts.API != nil {
		mux.Handle(APIPath, g.placed(s.opts.API))
	}
	if res := s.opts.Resource; res != nil {
		metadata := mcpgo.NewProtectedResourceMetadataHandler(mcpgo.ProtectedResourceMetadataConfig{
			Resource: res.URL, AuthorizationServers: res.Issuers, ScopesSupported: res.Scopes, BearerMethodsSupported: []string{"header"}, ResourceName: "resq",
		})
		for _, path := range slices.Compact([]string{mcpgo.WellKnownProtectedResourcePath, mcpgo.ProtectedResourceMetadataPath(res.URL)}) {
			mux.Handle(path, g.placed(metadata))
		}
	}
	mux.HandleFunc("GET "+metricsPath, g.metrics())
	mux.HandleFunc("GET /healthz", g.health(func(context.Context) bool { return true }, func() []byte { return nil }))
	mux.HandleFunc("GET /readyz", g.health(s.ready, s.degradation))
	return g.tidy(mux), func() {
		hangUp()
		_ = lib.Shutdown(context.Background()) // has no server of its own that could fail
	}
}

// tidy lets nothing through whose path is not written plainly, such as //mcp. The library would lead there by a redirect,
// which clients follow with or without their body and their key.
func (g *guard) tidy(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if p := r.URL.Path; p != "" && p != "*" && strings.TrimSuffix(p, "/") != strings.TrimSuffix(path.Clean(p), "/") || strings.HasSuffix(p, "//") {
			g.placed(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				g.refuse(w, r, nil, &refusal{status: http.StatusNotFound, code: problem.NotFound, message: "there is nothing at this path"})
			})).ServeHTTP(w, r)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// placed lets a handler answer requests to this server's own names only.
func (g *guard) placed(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer g.recover(w, r)
		if no := g.places.check(r); no != nil {
			g.refuse(w, r, nil, no)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// health answers a probe. It tells nobody which connection is down; the log does.
func (g *guard) health(well func(context.Context) bool, degraded func() []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		defer g.recover(w, r)
		if no := g.places.check(r); no != nil {
			g.refuse(w, r, nil, no)
			return
		}
		w.Header().Set("Cache-Control", "no-store")
		if !well(r.Context()) {
			http.Error(w, "unavailable", http.StatusServiceUnavailable)
			return
		}
		if why := degraded(); why != nil {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(why)
			return
		}
		_, _ = w.Write([]byte("ok\n"))
	}
}

// health remembers the last ping, so that probes cannot load the databases.
type health struct {
	mu   sync.Mutex
	at   time.Time
	well bool
}

// forget makes the next probe look again: the connections may be others now.
func (h *health) forget() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.at = time.Time{}
}

// watchTime is between two looks at connections that nobody asks anything.
const watchTime = 10 * time.Second

// Watch looks now and then whether the connections of the backend answer, until ctx ends, so that tools of one that is
// down are not listed even where nobody calls them.
func (s *Server) Watch(ctx context.Context) {
	tick := time.NewTicker(watchTime)
	defer tick.Stop()
	for {
		s.look(ctx)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (s *Server) look(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, pingTime)
	defer cancel()
	backend := s.lend()
	defer backend.release()
	_ = backend.Ping(ctx) // whose backend remembers what is wrong
}

// ready says whether every connection answers.
func (s *Server) ready(ctx context.Context) bool {
	h := &s.health
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.at.IsZero() && time.Since(h.at) < pingFresh {
		return h.well
	}
	// A probe that hangs up must not decide for the next one.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), pingTime)
	defer cancel()
	h.well = true
	backend := s.lend()
	defer backend.release()
	for name, err := range backend.Ping(ctx) {
		if err != nil {
			h.well = false
			s.log.Warn("connection does not answer", "connection", name, "error", err)
		}
	}
	h.at = time.Now()
	return h.well
}

// quiet lets only the library's errors through: its notes name session ids.
type quiet struct{ slog.Handler }

func (q quiet) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= slog.LevelError && q.Handler.Enabled(ctx, l)
}

func (q quiet) WithAttrs(a []slog.Attr) slog.Handler { return quiet{q.Handler.WithAttrs(a)} }

func (q quiet) WithGroup(name string) slog.Handler { return quiet{q.Handler.WithGroup(name)} }
