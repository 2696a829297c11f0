package server

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"resq/engine"
	"resq/engine/policy"
	"resq/schema/problem"
)

// A fake is a Backend that shows what it was asked.
type fake struct {
	told    []engine.Instruction
	mu      sync.Mutex
	who     *policy.Principal
	raw     []byte
	started chan struct{} // a slow call says that it runs
	stopped chan error    // and why it stopped
	down    bool
	pings   int
	can     engine.Verbs
	calls   []engine.Call
	rows    string // of a preview
	tools   []engine.Tool

	describe error // of res-schema
	reach    func(tool string, verbs engine.Verbs) bool
}

// Query answers by the resource: "slow" waits for its context, "panic" panics, "bad" has problems, "csv" has
// two blocks; anything else is echoed.
func (f *fake) Query(ctx context.Context, who *policy.Principal, raw []byte) (*engine.Answer, error) {
	f.mu.Lock()
	f.who, f.raw = who, bytes.Clone(raw)
	f.mu.Unlock()
	var req struct {
		Resource string `json:"resource"`
	}
	_ = json.Unmarshal(raw, &req)
	switch req.Resource {
	case "slow":
		f.started <- struct{}{}
		<-ctx.Done()
		f.stopped <- context.Cause(ctx)
		return nil, context.Cause(ctx)
	case "panic":
		panic("secret dsn postgres://u:p@h/db")
	case "nothing":
		return nil, nil
	case "driver":
		return nil, io.ErrUnexpectedEOF
	case "bad":
		l := problem.List{{Code: problem.UnknownField, Stage: problem.Fields, At: "/fields/0/code", Message: `no field "<a&b>"`, Hint: "nearest: name"}}
		for range 6 {
			l = append(l, &problem.Problem{Code: problem.InvalidArgument, Stage: problem.Semantics, At: "/limit", Message: "limit below 1", RetryAfter: 3})
		}
		return nil, l.Err()
	case "csv":
		return &engine.Answer{Text: []byte("id\n1\n"), Meta: []byte(`{"hasMore":false}`), Rows: 1}, nil
	}
	return &engine.Answer{Text: []byte(`{"who":"` + who.Name + `","text":"<a&b>"}`), Rows: 1}, nil
}

func (f *fake) Describe(_ context.Context, who *policy.Principal, raw []byte) (*engine.Answer, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.who, f.raw = who, bytes.Clone(raw)
	if f.describe != nil {
		return nil, f.describe
	}
	return &engine.Answer{Text: []byte("schema for " + who.Name)}, nil
}

func (f *fake) Tools(string) []engine.Tool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.tools
}

func (f *fake) Offers(who *policy.Principal, tool string) bool {
	return !strings.HasPrefix(tool, "secret")
}

func (f *fake) Reaches(_ *policy.Principal, tool string, verbs engine.Verbs) bool {
	return f.reach == nil || f.reach(tool, verbs)
}

func (f *fake) CallTool(_ context.Context, who *policy.Principal, call engine.Call) (*engine.Answer, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.who, f.raw = who, bytes.Clone(call.Args)
	if strings.HasPrefix(call.Tool, "secret") {
		return nil, problem.List{{Code: problem.UnknownTool, Message: "no such tool"}}
	}
	return &engine.Answer{Text: []byte(`{"tool":"` + call.Tool + `"}`), Rows: 2, Logged: []byte(`{"state":1}`)}, nil
}

// Instructions is part of Backend.
func (f *fake) Instructions() []engine.Instruction { return f.told }

func (f *fake) Ping(context.Context) map[string]error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.pings++
	if f.down {
		return map[string]error{"default": io.ErrUnexpectedEOF, "other": nil}
	}
	return map[string]error{"default": nil}
}

func (f *fake) last() (who *policy.Principal, raw string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.who, string(f.raw)
}

func newFake() *fake {
	return &fake{started: make(chan struct{}, 8), stopped: make(chan error, 8)}
}

// quietLog keeps expected errors out of the tests' output and inside the buffer, for those that look.
func quietLog() (*slog.Logger, *syncBuffer) {
	b := &syncBuffer{}
	return slog.New(slog.NewTextHandler(b, nil)), b
}

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func newServer(t *testing.T, f Backend, opts Options) *Server {
	t.Helper()
	if opts.Log == nil {
		opts.Log, _ = quietLog()
	}
	s, err := New(f, opts)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

var (
	alice    = &policy.Principal{Name: "alice", Scopes: []string{"read", "write"}}
	bob      = &policy.Principal{Name: "bob"}
	writer   = &policy.Principal{Name: "writer", Scopes: []string{"write"}}
	testKeys = map[string]*policy.Principal{"alice-key": alice, "alice-key-2": alice, "bob-key": bob, "writer-key": writer}
)

func withKeys(o Options) Options {
	o.Authenticate = func(_ context.Context, key string) (*policy.Principal, error) { return testKeys[key], nil }
	return o
}

// serveHTTP runs a server's handler on a loopback port.
func serveHTTP(t *testing.T, s *Server) string {
	t.Helper()
	var h http.Handler
	ts := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h.ServeHTTP(w, r) }))
	h, closeStreams := s.handler(ts.Listener.Addr())
	ts.Start()
	t.Cleanup(func() { closeStreams(); ts.Close() })
	return ts.URL
}

// An exchange is one HTTP request of a test and its answer.
type exchange struct {
	method, path, body string
	header             map[string]string
}

type answer struct {
	status int
	header http.Header
	body   string
}

func (e exchange) do(t *testing.T, url string) answer {
	t.Helper()
	if e.method == "" {
		e.method = http.MethodPost
	}
	if e.path == "" {
		e.path = Path
	}
	req, err := http.NewRequestWithContext(t.Context(), e.method, url+e.path, strings.NewReader(e.body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	for k, v := range e.header {
		if k == "Host" {
			req.Host = v
			continue
		}
		req.Header.Set(k, v)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{resp.StatusCode, resp.Header, string(b)}
}

const initBody = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`

// call is a tools/call of the eras before 2026-07-28.
func call(tool, args string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":` + quote(tool) + `,"arguments":` + args + `}}`
}

// modern is a request of the era since 2026-07-28, with its headers.
func modern(method, tool, args string) exchange {
	e := exchange{header: map[string]string{"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method}}
	params := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	if tool != "" {
		e.header["Mcp-Name"] = tool
		params += `,"name":` + quote(tool) + `,"arguments":` + args
	}
	e.body = `{"jsonrpc":"2.0","id":1,"method":` + quote(method) + `,"params":{` + params + `}}`
	return e
}

func (e exchange) with(header ...string) exchange {
	h := map[string]string{}
	for k, v := range e.header {
		h[k] = v
	}
	for i := 0; i < len(header); i += 2 {
		h[header[i]] = header[i+1]
	}
	e.header = h
	return e
}

func quote(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

// A result is what a tools/call comes back as.
type result struct {
	Result struct {
		Content []struct{ Type, Text string } `json:"content"`
		IsError bool                          `json:"isError"`
	} `json:"result"`
	Error *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
		Data    struct {
			Error fault `json:"error"`
		} `json:"data"`
	} `json:"error"`
}

func decode(t *testing.T, body string) result {
	t.Helper()
	var r result
	if err := json.Unmarshal([]byte(body), &r); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	return r
}

// text is the first text block of a call.
func text(t *testing.T, body string) string {
	t.Helper()
	r := decode(t, body)
	if len(r.Result.Content) == 0 {
		t.Fatalf("no content in %s", body)
	}
	return r.Result.Content[0].Text
}

// failure is the error object of a failed call.
func failure(t *testing.T, body string) fault {
	t.Helper()
	r := decode(t, body)
	if !r.Result.IsError {
		t.Fatalf("no failure: %s", body)
	}
	var e struct{ Error fault }
	if err := json.Unmarshal([]byte(r.Result.Content[0].Text), &e); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	return e.Error
}

func tcp(t *testing.T, addr string) net.Addr {
	t.Helper()
	a, err := net.ResolveTCPAddr("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// Write answers by the tool: a preview first, and what was confirmed as done.
func (f *fake) Write(_ context.Context, who *policy.Principal, call engine.Call) (*engine.Answer, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.who, f.raw = who, bytes.Clone(call.Args)
	f.calls = append(f.calls, call)
	switch {
	case call.Consent == engine.Refused:
		return nil, problem.List{{Code: problem.ApprovalDenied, Message: "declined"}}
	case call.Tool == toolOperation, call.Tool == toolCreate, call.Consent == engine.Granted, call.Consent == engine.NotAsked && bytes.Contains(call.Args, []byte(`"__confirm__":true`)):
		return &engine.Answer{Text: []byte(`{"done":"` + call.Tool + `"}`), Rows: 1}, nil
	case bytes.Contains(call.Args, []byte(`"dry_run":true`)):
		return &engine.Answer{Text: []byte(`{"status":"dry_run"}`), Rows: 1}, nil
	}
	mode := "token"
	for _, m := range []string{"strict", "human"} {
		if bytes.Contains(call.Args, []byte(`"`+m+`"`)) {
			mode = m
		}
	}
	return &engine.Answer{Text: []byte(`{"code":"CONFIRM_REQUIRED","confirm":{"token":"rq1.fake"},"rows":[` + f.rows + `],"rows_total":9,"dependents":[{"resource":"Item","field":"order_id","count":3}],"warnings":["a warning"]}`), Rows: 1,
		Preview: &engine.Preview{Operation: "0123456789abcdef0123456789abcdef", Short: "R1-23", Token: "rq1.fake", Mode: mode, Summary: "UPDATE Order: 1 row", Expires: time.Now().Add(5 * time.Minute)}}, nil
}

// Verbs is what the fake was told.
func (f *fake) Verbs(*policy.Principal) engine.Verbs { return f.can }
