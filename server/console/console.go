// Package console serves the web pages on which admins decide about changes, look after keys and read what happened. It
// has a listener and logins of its own: no key of a caller opens it, and no login of it calls a tool over MCP.
package console

import (
	"bytes"
	"context"
	"crypto/tls"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"resq/engine"
	"resq/engine/policy"
	"resq/registry"
	"resq/schema"
	"resq/schema/problem"
)

//go:embed pages/*.html
var pageFiles embed.FS

//go:embed static
var staticFiles embed.FS

// Options are what the console works on.
type Options struct {
	Control *registry.Control // admins, keys, scopes and calls
	// Lend gives the engine that is served now, and keeps it until the function is called.
	Lend func() (*engine.Engine, func())
	// Call runs a tool in the name of a principal, as the server does it for its clients.
	Call func(ctx context.Context, who *policy.Principal, tool string, args []byte) (text string, code problem.Code, failed bool)
	// Undoes is in whose name changes are taken back, within its rows; nil is nobody.
	Undoes func() *policy.Principal
	// KeyOwner is whoever the key of a number belongs to, with what the key opens. The error is for an admin to read.
	KeyOwner func(ctx context.Context, id int64) (*policy.Principal, error)
	// Visible lists the tools that a principal may call.
	Visible func(who *policy.Principal) []string
	// Configured says whether there is a principal of a name.
	Configured func(name string) bool
	// Note keeps a decision in the audit of writes; a decision that cannot be kept is not made.
	Note func(e registry.Entry) error
	// Record keeps any other action.
	Record func(c registry.Call)
	// Problems are those of the last load of the catalog; nil is none.
	Problems func() error
	// Loads are the last loads of the catalog, the newest first; nil is none.
	Loads func() []Load
	// Drift says where the catalog differs from the databases as they are now, by connection; nil says nothing.
	Drift func(ctx context.Context, cat *schema.Catalog) []Drift

	AuditDir string // of the files that hold the audit of writes
	Secret   []byte // with which they are signed
	Previous [][]byte

	Hosts   []string // names a request's Host may carry beside those of the listen address
	Proxies []netip.Prefix
	// Certificate is that of HTTPS; nil is HTTP.
	Certificate *tls.Certificate
	// Proxied says that a proxy in front of the console ends HTTPS, so that browsers reach it through that alone.
	Proxied bool

	Version string
	Log     *slog.Logger
	Now     func() time.Time
}

// A Load is one load of the catalog, good or bad.
type Load struct {
	Time      time.Time
	Took      time.Duration
	Hash      string // of what was loaded; "" is a bad one
	Resources int
	Tools     int
	Problem   string // the first of a bad one's
	At        string // its place in the files
	Problems  int
}

// A Drift is one place where a catalog and a database differ, or why that cannot be told.
type Drift struct {
	Connection, At, Text string
	Warning              bool // requests still work
}

// A Console is the web pages.
type Console struct {
	opts  Options
	log   *slog.Logger
	pages map[string]*template.Template
	tries *tries
	runs  *runs
	hosts []string // that a request may name
}

// New makes a console. It fails when something that it cannot do without is missing.
func New(o Options) (*Console, error) {
	if o.Control == nil || o.Lend == nil || o.Call == nil || o.Note == nil || o.Record == nil {
		return nil, errors.New("the console lacks what it works on")
	}
	c := &Console{opts: o, log: o.Log, pages: map[string]*template.Template{}}
	if c.log == nil {
		c.log = slog.Default()
	}
	if c.opts.Now == nil {
		c.opts.Now = time.Now
	}
	c.tries, c.runs = newTries(c.opts.Now), newRuns(time.Now)
	names, err := fs.Glob(pageFiles, "pages/*.html")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		base := strings.TrimSuffix(strings.TrimPrefix(name, "pages/"), ".html")
		if base == "layout" || base == "parts" {
			continue
		}
		t, err := template.New(base).Funcs(functions).ParseFS(pageFiles, "pages/layout.html", "pages/parts.html", name)
		if err != nil {
			return nil, fmt.Errorf("page %s: %w", base, err)
		}
		c.pages[base] = t
	}
	return c, nil
}

// Listen opens an address for Serve. It refuses one that other machines can reach without HTTPS: a login must not be read
// on its way.
func (c *Console) Listen(addr string) (net.Listener, error) {
	if !loopback(addr) && c.opts.Certificate == nil && !c.opts.Proxied {
		return nil, fmt.Errorf("%s can be reached from other machines, and logins would travel unencrypted; name a certificate with --console-cert and --console-key, or say with --console-proxied that a proxy in front ends HTTPS, or listen on 127.0.0.1", addr)
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", addr, err)
	}
	return l, nil
}

func loopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		host = addr
	}
	ip, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && ip.Unmap().IsLoopback()
}

// Serve answers on l until ctx ends.
func (c *Console) Serve(ctx context.Context, l net.Listener) error {
	c.hosts = append(slices.Clone(c.opts.Hosts), "localhost", "127.0.0.1", "::1")
	if host, _, err := net.SplitHostPort(l.Addr().String()); err == nil {
		c.hosts = append(c.hosts, host)
	}
	if c.opts.Certificate != nil {
		l = tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{*c.opts.Certificate}, MinVersion: tls.VersionTLS12})
	}
	srv := &http.Server{
		Handler: c.Handler(), ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 15 * time.Second, WriteTimeout: time.Minute, IdleTimeout: 2 * time.Minute,
		MaxHeaderBytes: 16 << 10, ErrorLog: slog.NewLogLogger(c.log.Handler(), slog.LevelDebug),
	}
	done := make(chan error, 1)
	go func() { done <- srv.Serve(l) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := srv.Shutdown(end); err != nil {
		return srv.Close()
	}
	return nil
}

// Handler routes the console's paths.
func (c *Console) Handler() http.Handler {
	mux := http.NewServeMux()
	static, _ := fs.Sub(staticFiles, "static") // it is there: it was embedded
	files := http.StripPrefix("/static/", http.FileServerFS(static))
	mux.HandleFunc("GET /static/{file}", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "max-age=3600")
		files.ServeHTTP(w, r)
	})
	mux.HandleFunc("GET /login", c.loginPage)
	mux.HandleFunc("POST /login", c.login)
	mux.HandleFunc("POST /language", c.language)
	viewer, approver, admin := registry.RoleViewer, registry.RoleApprover, registry.RoleAdmin
	for pattern, x := range map[string]struct {
		role string
		do   func(*visit) error
	}{
		"GET /{$}":                      {viewer, func(v *visit) error { return v.redirect("/changes") }},
		"POST /logout":                  {viewer, c.logout},
		"GET /changes":                  {viewer, c.changes},
		"GET /changes/{id}":             {viewer, c.change},
		"POST /changes/{id}/approve":    {approver, c.approve},
		"POST /changes/{id}/decline":    {approver, c.decline},
		"POST /changes/{id}/undo":       {approver, c.undo},
		"GET /keys":                     {viewer, c.keys},
		"POST /keys":                    {admin, c.createKey},
		"GET /keys/{id}":                {viewer, c.key},
		"POST /keys/{id}/{what}":        {admin, c.changeKey},
		"POST /scopes":                  {admin, c.createScope},
		"POST /scopes/{code}/{what}":    {admin, c.changeScope},
		"GET /audit":                    {viewer, c.audit},
		"GET /audit/calls/{request}":    {viewer, c.story},
		"GET /audit/export":             {admin, c.export},
		"POST /audit/verify":            {viewer, c.verify},
		"GET /catalog":                  {viewer, c.catalog},
		"GET /catalog/resources/{code}": {viewer, c.resource},
		"GET /catalog/tools/{name}":     {viewer, c.tool},
		"GET /health":                   {viewer, c.health},
		"GET /try":                      {admin, c.try},
		"POST /try":                     {admin, c.try},
		"GET /try/runs/{id}":            {admin, c.tryRun},
		"POST /try/runs/{id}/cancel":    {admin, c.cancelRun},
	} {
		mux.Handle(pattern, c.visited(x.role, x.do))
	}
	guarded := http.NewCrossOriginProtection().Handler(mux)
	return c.behind(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			if p := recover(); p != nil {
				c.log.Error("a page of the console panicked", "path", r.URL.Path, "panic", fmt.Sprint(p))
				http.Error(w, "internal error", http.StatusInternalServerError)
			}
		}()
		headers(w.Header(), c.secure())
		if !c.mine(r.Host) {
			http.Error(w, "this name is not the console's", http.StatusMisdirectedRequest)
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, 256<<10)
		guarded.ServeHTTP(w, r)
	}))
}

// headers forbid whatever the pages do not do: scripts and styles of others or in the page, being framed, being kept.
func headers(h http.Header, secure bool) {
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'")
	h.Set("X-Frame-Options", "DENY")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	if secure {
		h.Set("Strict-Transport-Security", "max-age=31536000")
	}
}

func (c *Console) secure() bool { return c.opts.Certificate != nil || c.opts.Proxied }

// mine says whether a Host is one of this console's names: another site's name that leads here is not.
func (c *Console) mine(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.ToLower(strings.Trim(host, "[]"))
	return slices.ContainsFunc(c.hosts, func(h string) bool {
		if only, _, err := net.SplitHostPort(h); err == nil {
			h = only
		}
		return strings.EqualFold(strings.Trim(h, "[]"), host)
	})
}

// behind names as a request's address that of the client where one of our proxies passed it on.
func (c *Console) behind(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ours := func(a netip.Addr) bool {
			return slices.ContainsFunc(c.opts.Proxies, func(p netip.Prefix) bool { return p.Contains(a.Unmap()) })
		}
		if from, err := netip.ParseAddrPort(r.RemoteAddr); err == nil && ours(from.Addr()) {
			for _, hop := range slices.Backward(strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")) {
				a, err := netip.ParseAddr(strings.TrimSpace(hop))
				if err != nil {
					break
				}
				r.RemoteAddr = net.JoinHostPort(a.Unmap().String(), "0")
				if !ours(a) {
					break
				}
			}
		}
		next.ServeHTTP(w, r)
	})
}

// render writes a page, or of a page only a part of that name.
func (c *Console) render(w http.ResponseWriter, r *http.Request, status int, name, part string, p *page) {
	p.Lang = languageOf(r)
	p.Version = c.opts.Version
	if p.Problem != nil { // whose own is shared
		x := *p.Problem
		x.Message, x.Hint = text(p.Lang, x.Message), text(p.Lang, x.Hint)
		p.Problem = &x
	}
	if part == "" {
		part = "layout"
	}
	var b bytes.Buffer
	if err := c.pages[name].ExecuteTemplate(&b, part, p); err != nil {
		c.log.Error("a page of the console cannot be made", "page", name, "error", err)
		http.Error(w, "internal error", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = b.WriteTo(w)
}

// told is an error as an admin reads it, with the status of its answer.
func told(err error) (status int, p *problem.Problem) {
	p = &problem.Problem{Code: problem.DataIntegrity, Message: "something went wrong; the log of the server tells what"}
	var one *problem.Problem
	var l problem.List
	switch {
	case errors.As(err, &l) && len(l) > 0:
		p = l[0]
	case errors.As(err, &one):
		p = one
	}
	switch p.Code {
	case problem.NotFound:
		return http.StatusNotFound, p
	case problem.PermissionDenied, problem.ApprovalRequired:
		return http.StatusForbidden, p
	case problem.Conflict:
		return http.StatusConflict, p
	case problem.Unavailable, problem.AuditUnavailable, problem.ConfigInvalid:
		return http.StatusServiceUnavailable, p
	case problem.DataIntegrity:
		return http.StatusInternalServerError, p
	}
	return http.StatusBadRequest, p
}
