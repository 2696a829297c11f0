package server

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	mcpgo "github.com/mark3labs/mcp-go/server"

	"resq/engine/policy"
	"resq/schema/problem"
)

const (
	maxBody  = 1 << 20          // bytes of a request
	bodyTime = 15 * time.Second // for a client to send them
)

// A guard stands in front of the MCP library and refuses what the library lets through: foreign hosts and
// origins, bodies without end, sessions of somebody else, and cancellations that name no session.
type guard struct {
	s        *Server
	places   places
	sessions *sessions
	next     http.Handler
	calls    calls
	streams  context.Context // ends when open streams must
	bodyTime time.Duration
}

// A refusal is an answer of the guard itself.
type refusal struct {
	status  int
	code    problem.Code
	rpc     int // its code in JSON-RPC; 0 answers outside it
	message string
	id      []byte // of the JSON-RPC message
	body    []byte // the whole answer, when it is another one
	reason  string // of a spent budget
	retry   int    // seconds, where trying again can help
	call    bool   // of a tool that does not exist
}

func (g *guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	defer g.recover(w, r)
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Accel-Buffering", "no") // proxies must not hold back a stream
	who, no := g.admit(r)
	if no != nil {
		g.refuse(w, r, who, no)
		return
	}
	c, no := g.caller(r, who)
	if no != nil {
		g.refuse(w, r, who, no)
		return
	}
	ctx := r.Context()
	if r.Method == http.MethodPost {
		m, no := g.read(w, r)
		if no == nil {
			no = g.check(r, m, c)
		}
		if no == nil && nameOf(r, m) {
			no = g.s.prepare(r.Context(), &c, m)
			if c.offer.done != nil {
				defer c.offer.done()
			}
		}
		if no != nil {
			g.refuse(w, r, who, no)
			return
		}
		c.args = m.args
		c.able = g.able(r, m)
		c.asks = g.s.asks(m, c.able)
		if takesEvents(r.Header) {
			c.beat = m.beat
		}
		if g.direct(w, r, m, c) { // Note [the direct way]
			return
		}
		if page, ok := g.s.page(m, r.Header, c); ok {
			writeMessage(w, page)
			return
		}
		if inexact(m.id) {
			g.refuse(w, r, who, m.refuseID())
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(m.rest))
		r.ContentLength = int64(len(m.rest))
		if m.method == methodListen { // the library ends no such stream by itself
			var hangUp context.CancelFunc
			c.subscription = &subscription{}
			ctx, hangUp = g.s.stream(ctx, c, c.subscription.tell)
			defer hangUp()
			defer context.AfterFunc(g.streams, hangUp)()
		}
	} else if no := g.session(r, who, ""); no != nil {
		g.refuse(w, r, who, no)
		return
	} else if id := r.Header.Get(mcpgo.HeaderKeySessionID); r.Method == http.MethodGet && id != "" {
		defer g.sessions.hold(id)()
		var hangUp context.CancelFunc
		ctx, hangUp = g.s.stream(ctx, c, func() bool { return g.s.tellSession(id) })
		defer hangUp()
	}
	watched := &watchedWriter{ResponseWriter: w}
	g.next.ServeHTTP(watched, r.WithContext(withCaller(ctx, c)))
	if r.Method == http.MethodDelete && watched.status < http.StatusBadRequest {
		g.hint(r.Context(), hint{Session: r.Header.Get(mcpgo.HeaderKeySessionID)})
	}
	if code := refusedBy(watched.status); code != "" {
		g.s.recordRefused(r.Context(), who, code, watched.status, watched.request)
	}
}

// caller finds out in which form the request wants its answer: the profile is in the path, and what concerns a
// single answer in headers. A profile that does not exist is a path that does not exist.
func (g *guard) caller(r *http.Request, who *policy.Principal) (caller, *refusal) {
	c := g.s.caller(who)
	c.parent = r.Header.Get("Traceparent")
	c.client, _, _ = net.SplitHostPort(r.RemoteAddr)
	if g.s.opts.Authenticate != nil {
		c.still = func() *policy.Principal {
			now, _ := g.authenticate(r)
			return now
		}
	}
	p, err := g.s.opts.Profile, error(nil)
	if name, named := strings.CutPrefix(r.URL.Path, Path+profilePath); named && name != "" {
		p, err = newProfile(name, r.URL.RawQuery)
	} else if r.URL.Path != Path {
		p, err = newProfile("", r.URL.RawQuery)
	}
	if err != nil {
		return c, &refusal{status: http.StatusNotFound, code: problem.NotFound, message: err.Error()}
	}
	c.view = g.s.views().view(p)
	c.wants(strings.Join(r.Header.Values(headerVersion), ", "), r.Header.Get(headerExport))
	return c, nil
}

// admit looks at the request before its body: where it came from, what it is, and whose it is.
func (g *guard) admit(r *http.Request) (*policy.Principal, *refusal) {
	if no := g.places.check(r); no != nil {
		return nil, no
	}
	switch r.Method {
	case http.MethodPost:
		if t, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || t != "application/json" {
			return nil, &refusal{status: http.StatusUnsupportedMediaType, code: problem.InvalidArgument, message: "the content type must be application/json"}
		}
		if e := r.Header.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
			return nil, &refusal{status: http.StatusUnsupportedMediaType, code: problem.InvalidArgument, message: "compressed requests are not supported"}
		}
	case http.MethodGet, http.MethodDelete:
	default:
		return nil, &refusal{status: http.StatusMethodNotAllowed, code: problem.InvalidArgument, message: "the methods are POST, GET and DELETE"}
	}
	return g.authenticate(r)
}

// authenticate finds out whose a request is.
func (g *guard) authenticate(r *http.Request) (*policy.Principal, *refusal) {
	if g.s.opts.Authenticate == nil {
		return g.s.opts.Local, nil
	}
	scheme, key, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if key = strings.TrimSpace(key); strings.EqualFold(scheme, "Bearer") && key != "" {
		who, err := g.s.opts.Authenticate(r.Context(), key)
		if err != nil {
			p := problem.From(err)[0]
			g.s.log.Error("keys cannot be looked up", "error", err, "cause", p.Err)
			return nil, &refusal{status: http.StatusServiceUnavailable, code: p.Code, message: p.Message}
		}
		if who != nil {
			return who, nil
		}
	}
	return nil, &refusal{status: http.StatusUnauthorized, code: problem.Unauthenticated, message: "a valid key is required: Authorization: Bearer <key>"}
}

// read takes the body in, within its size and its time, and takes it apart.
func (g *guard) read(w http.ResponseWriter, r *http.Request) (*message, *refusal) {
	conn := http.NewResponseController(w)
	end := readWithin(conn, g.bodyTime)
	var in bytes.Buffer
	in.Grow(int(min(max(r.ContentLength, 0), maxBody)) + bytes.MinRead) // so that an ordinary body is read in one piece
	_, err := in.ReadFrom(http.MaxBytesReader(w, r.Body, maxBody))
	late := end()
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, &refusal{status: http.StatusRequestEntityTooLarge, code: problem.LimitExceeded, message: fmt.Sprintf("the request is larger than %d bytes", maxBody)}
	case errors.Is(err, os.ErrDeadlineExceeded):
		w.Header().Set("Connection", "close")
		return nil, &refusal{status: http.StatusRequestTimeout, code: problem.Timeout, message: "the request took too long to arrive"}
	case err != nil:
		return nil, &refusal{status: http.StatusBadRequest, code: problem.InvalidArgument, rpc: mcp.PARSE_ERROR, message: "the request ended early"}
	}
	if late { // just now: a deadline that stayed would cut a long answer or a stream
		_ = conn.SetReadDeadline(time.Time{})
	}
	m, err := parseMessage(in.Bytes())
	if err != nil {
		rpc := mcp.INVALID_REQUEST
		if errors.Is(err, errNotJSON) {
			rpc = mcp.PARSE_ERROR
		}
		return nil, &refusal{status: http.StatusBadRequest, code: problem.InvalidArgument, rpc: rpc, message: err.Error()}
	}
	return m, nil
}

// readWithin sets a deadline for reading when a time is up, unless the function that it gives was called before; that says
// whether one was set. The body is nearly always there with the head, and then the connection is never told.
func readWithin(conn *http.ResponseController, d time.Duration) (end func() (late bool)) {
	var mu sync.Mutex
	over, late := false, false
	t := time.AfterFunc(d, func() {
		mu.Lock()
		defer mu.Unlock()
		if !over {
			late = true
			_ = conn.SetReadDeadline(time.Unix(1, 0)) // a writer without deadlines, as in tests, has none to set
		}
	})
	return func() bool {
		t.Stop()
		mu.Lock()
		defer mu.Unlock()
		over = true
		return late
	}
}

// check decides on a message that was read: whether its session is the caller's, and whether it is one that
// the library would misunderstand.
func (g *guard) check(r *http.Request, m *message, c caller) *refusal {
	modern := mcp.IsModernProtocol(m.version) || mcp.IsModernProtocol(r.Header.Get(mcp.HeaderProtocolVersion))
	if modern {
		// Since 2026-07-28 there are no sessions; an id that is sent nevertheless means nothing.
		r.Header.Del(mcpgo.HeaderKeySessionID)
	} else if no := g.session(r, c.who, m.method); no != nil {
		return no
	}
	if m.method == methodCancel {
		session := r.Header.Get(mcpgo.HeaderKeySessionID)
		if session == "" {
			// Without a session the library would look for the request by its number alone and might stop
			// somebody else's. A caller without session cancels by hanging up.
			return &refusal{status: http.StatusAccepted}
		}
		if id := m.cancels(); id != "" && !g.calls.stop(session, id) {
			g.hint(r.Context(), hint{session, id})
		}
		return nil
	}
	if m.method != methodCall || m.id == nil {
		return nil
	}
	if modern && r.Header.Get(mcp.HeaderName) != m.tool {
		return nil // the library says which header contradicts the body
	}
	if fixtures.refuse != nil && g.s.mcp.GetTool(m.tool) != nil {
		return fixtures.refuse(m)
	}
	if _, ok := g.s.toolFor(c, m.tool); ok {
		return nil
	}
	no := g.s.unknown(r.Context(), c, m)
	if modern {
		no.status = http.StatusBadRequest
	}
	return no
}

// nameOf says whether the header that names what a message is about can be right. The library says what is wrong
// with one that is not, and that comes before anything about its contents.
func nameOf(r *http.Request, m *message) bool {
	return !mcp.IsModernProtocol(m.version) || (r.Header.Get(mcp.HeaderName) != "" || m.method == methodComplete) && r.Header.Get(mcp.HeaderMethod) == m.method
}

// session checks a session id on every verb: the library looks at it only in calls, and asks nobody whose it is.
func (g *guard) session(r *http.Request, who *policy.Principal, method string) *refusal {
	if r.Method != http.MethodPost && mcp.IsModernProtocol(r.Header.Get(mcp.HeaderProtocolVersion)) {
		return nil // the library answers 405
	}
	id := r.Header.Get(mcpgo.HeaderKeySessionID)
	switch {
	case method == methodInit:
		r.Header.Del(mcpgo.HeaderKeySessionID) // a new session never takes a name that the client chose
		return nil
	case id == "" && r.Method == http.MethodDelete:
		return &refusal{status: http.StatusBadRequest, code: problem.InvalidArgument, message: "which session? send " + mcpgo.HeaderKeySessionID}
	case id == "" || g.sessions.valid(id, who.Owner()):
		return nil
	}
	return &refusal{status: http.StatusNotFound, code: problem.NotFound, message: "no such session; start again with initialize"}
}

// unknownTool names a tool that does not exist, as the caller wrote it, and the nearest that it may use.
func (c caller) unknownTool(name string) string {
	var names []string
	for _, d := range c.open() {
		names = append(names, d.Name)
	}
	text := "no tool " + problem.Quote(name)
	if near := problem.Nearest(name, names, 1); len(near) > 0 {
		text += "; nearest: " + near[0]
	}
	return text
}

// challenge is what a client without a valid key is told: where it learns who gives tokens. Nothing says why the one it sent is none.
func (x *Resource) challenge(r *http.Request) string {
	if x == nil {
		return "Bearer"
	}
	u, err := url.Parse(x.URL)
	if err != nil {
		return "Bearer"
	}
	text := `Bearer resource_metadata="` + u.Scheme + "://" + u.Host + mcpgo.ProtectedResourceMetadataPath(x.URL) + `"`
	if len(x.Scopes) > 0 {
		text += `, scope="` + strings.Join(x.Scopes, " ") + `"`
	}
	if r.Header.Get("Authorization") != "" {
		text += `, error="invalid_token"`
	}
	return text
}

// refuse writes the guard's own answers, and leaves a record of each.
func (g *guard) refuse(w http.ResponseWriter, r *http.Request, who *policy.Principal, no *refusal) {
	h := w.Header()
	switch no.status {
	case http.StatusAccepted:
		w.WriteHeader(no.status)
		return
	case http.StatusUnauthorized:
		h.Set("WWW-Authenticate", g.s.opts.Resource.challenge(r))
	case http.StatusMethodNotAllowed:
		h.Set("Allow", "POST, GET, DELETE")
	}
	id := newRequestID()
	if no.call {
		c := caller{who: who, version: 1}
		c.client, _, _ = net.SplitHostPort(r.RemoteAddr)
		g.s.recordUnknown(r.Context(), c, no.code, id)
	} else {
		g.s.recordRefused(r.Context(), who, cmp.Or(no.code, problem.InvalidArgument), no.status, id)
	}
	h.Set("Content-Type", "application/json")
	w.WriteHeader(no.status)
	switch {
	case no.body != nil:
		_, _ = w.Write(no.body)
	case no.rpc != 0:
		_ = json.NewEncoder(w).Encode(rpcError(no.id, no.rpc, fault{Code: no.code, Reason: no.reason, Message: no.message, RetryAfter: no.retry, RequestID: id}))
	default:
		_, _ = io.WriteString(w, errorText(fault{Code: no.code, Message: no.message, RequestID: id})+"\n")
	}
}

// An rpcFault is a JSON-RPC error. A code of ours is repeated in its data, where programs look for it, with the
// request id of the log.
type rpcFault struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Error   struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
		Data    struct {
			Error fault `json:"error"`
		} `json:"data"`
	} `json:"error"`
}

func rpcError(id []byte, rpc int, f fault) *rpcFault {
	e := &rpcFault{Version: "2.0", ID: id}
	if id == nil {
		e.ID = json.RawMessage("null")
	}
	e.Error.Code, e.Error.Message = rpc, f.Message
	e.Error.Data.Error = f
	return e
}

// recover keeps a panic of one request from its text reaching the client and from ending the program.
func (g *guard) recover(w http.ResponseWriter, r *http.Request) {
	p := recover()
	if p == nil {
		return
	}
	if p == http.ErrAbortHandler {
		panic(p)
	}
	id := newRequestID()
	g.s.log.Error("panic", "request_id", id, "path", r.URL.Path, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusInternalServerError) // of no effect when the answer has begun
	_, _ = io.WriteString(w, errorText(fault{Code: problem.DataIntegrity, Message: "internal error", RequestID: id})+"\n")
}
