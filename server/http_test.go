package server

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"resq/engine/policy"
	"resq/schema/problem"
)

// Both eras are served on one endpoint, with the same tools and answers.
func TestEras(t *testing.T) {
	f := newFake()
	url := serveHTTP(t, newServer(t, f, Options{Version: "1.2.3", Local: &policy.Principal{Name: "me"}}))

	got := exchange{body: initBody}.do(t, url)
	var hello struct {
		Result struct {
			ProtocolVersion string
			Instructions    string
			ServerInfo      struct{ Name, Version string }
			Capabilities    map[string]any
		}
	}
	if err := json.Unmarshal([]byte(got.body), &hello); err != nil {
		t.Fatal(err)
	}
	r := hello.Result
	if r.ProtocolVersion != "2025-11-25" || r.ServerInfo.Name != "resq" || r.ServerInfo.Version != "1.2.3" || !strings.Contains(r.Instructions, "res-schema") || r.Capabilities["tools"] == nil {
		t.Errorf("initialize: %s", got.body)
	}
	old := exchange{body: `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`}.do(t, url)
	now := modern("tools/list", "", "").do(t, url)
	if a, b := names(t, old.body), names(t, now.body); !slices.Equal(a, []string{"res-schema", "res-query"}) || !slices.Equal(a, b) {
		t.Errorf("tools: %v and %v", a, b)
	}
	if !strings.Contains(now.body, `"cacheScope":"private"`) || !strings.Contains(now.body, `"ttlMs":300000`) {
		t.Errorf("no cache hints: %.300s", now.body)
	}
	found := modern("server/discover", "", "").do(t, url)
	if !strings.Contains(found.body, "2026-07-28") || !strings.Contains(found.body, "2025-11-25") {
		t.Errorf("discover: %s", found.body)
	}
	raw := `{"resource":"A","n":9007199254740993,"n":1}`
	for _, e := range []exchange{{body: call("res-query", raw)}, modern("tools/call", "res-query", raw)} {
		got := e.do(t, url)
		if s := text(t, got.body); s != `{"who":"me","text":"<a&b>"}` {
			t.Errorf("answer %s", s)
		}
		if _, seen := f.last(); seen != raw {
			t.Errorf("the engine got %s", seen)
		}
	}
}

func names(t *testing.T, body string) []string {
	t.Helper()
	var l struct {
		Result struct{ Tools []struct{ Name string } }
	}
	if err := json.Unmarshal([]byte(body), &l); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	var out []string
	for _, tool := range l.Result.Tools {
		out = append(out, tool.Name)
	}
	return out
}

// Tools answer to their names with underscores as well; other spellings are no tools (ERR-008 … ERR-011).
func TestNames(t *testing.T) {
	url := serveHTTP(t, newServer(t, newFake(), Options{}))
	for _, name := range []string{"res-query", "res_query", "res-schema", "res_schema"} {
		for _, e := range []exchange{{body: call(name, `{}`)}, modern("tools/call", name, `{}`)} {
			if got := e.do(t, url); got.status != 200 || decode(t, got.body).Result.IsError {
				t.Errorf("%s: %d %s", name, got.status, got.body)
			}
		}
	}
	for _, name := range []string{"nosuch-tool", "res-query\x00", "rеs-query", "RES-QUERY", "res-created", "", strings.Repeat("x", 200)} {
		got := exchange{body: call(name, `{}`)}.do(t, url)
		r := decode(t, got.body)
		if got.status != 200 || r.Error == nil || r.Error.Code != -32602 || r.Error.Data.Error.Code != "UNKNOWN_TOOL" {
			t.Errorf("%q: %d %s", name, got.status, got.body)
			continue
		}
		if len(r.Error.Message) > 100 || strings.Contains(got.body, `\u0000`) {
			t.Errorf("%q is told as %s", name, r.Error.Message)
		}
	}
	if got := modern("tools/call", "nosuch", `{}`).do(t, url); got.status != 400 || decode(t, got.body).Error.Code != -32602 {
		t.Errorf("modern: %d %s", got.status, got.body)
	}
}

var uuid = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)

// Errors are results a model can act on: the first problem, a few more, and the id that the log has too.
func TestErrors(t *testing.T) {
	log, lines := quietLog()
	url := serveHTTP(t, newServer(t, newFake(), withKeys(Options{Log: log})))
	ask := func(key, args string) answer {
		return exchange{body: call("res-query", args)}.with("Authorization", "Bearer "+key).do(t, url)
	}
	got := ask("alice-key", `{"resource":"bad"}`)
	f := failure(t, got.body)
	if f.Code != "UNKNOWN_FIELD" || f.At != "/fields/0/code" || f.Hint != "nearest: name" || !uuid.MatchString(f.RequestID) {
		t.Errorf("%+v", f)
	}
	if len(f.Also) != 4 || f.Also[0].Code != "INVALID_ARGUMENT" || f.Also[0].At != "/limit" || f.Also[0].RetryAfter != 3 || f.Also[0].RequestID != "" {
		t.Errorf("also: %+v", f.Also)
	}
	if s := text(t, got.body); !strings.HasPrefix(s, `{"error":{"code":"UNKNOWN_FIELD","message":"no field \"<a&b>\"","at":"/fields/0/code","hint":"nearest: name","request_id":"`) {
		t.Errorf("text %s", s)
	}
	if out := lines.String(); !strings.Contains(out, "request_id="+f.RequestID) || !strings.Contains(out, "principal=alice") || !strings.Contains(out, "code=UNKNOWN_FIELD") {
		t.Errorf("log: %s", out)
	}
	for args, code := range map[string]string{
		`[]`: "INVALID_ARGUMENT", `null`: "INVALID_ARGUMENT", `"x"`: "INVALID_ARGUMENT", `7`: "INVALID_ARGUMENT", ` [[]]`: "INVALID_ARGUMENT",
		strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000): "INVALID_ARGUMENT", // DOS-007
		`{"resource":"driver"}`:                                   "DATA_INTEGRITY_ERROR",
		`{"resource":"nothing"}`:                                  "DATA_INTEGRITY_ERROR",
	} {
		got := ask("alice-key", args)
		if f := failure(t, got.body); string(f.Code) != code || strings.Contains(got.body, "unexpected EOF") {
			t.Errorf("%.40s: %s", args, got.body)
		}
	}
	// N4: what is not listed is not callable.
	if f := failure(t, ask("writer-key", `{}`).body); f.Code != "PERMISSION_DENIED" {
		t.Errorf("%+v", f)
	}
	if got := (exchange{body: `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`}).with("Authorization", "Bearer writer-key").do(t, url); len(names(t, got.body)) != 0 {
		t.Errorf("the writer sees %s", got.body)
	}
}

// Absent arguments are empty ones, and an answer may have two blocks.
func TestArgumentsAndBlocks(t *testing.T) {
	f := newFake()
	url := serveHTTP(t, newServer(t, f, Options{}))
	got := exchange{body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"res-schema"}}`}.do(t, url)
	if _, raw := f.last(); raw != "{}" || text(t, got.body) != "schema for local" {
		t.Errorf("engine got %q, answer %s", raw, got.body)
	}
	r := decode(t, exchange{body: call("res-query", `{"resource":"csv"}`)}.do(t, url).body)
	if c := r.Result.Content; len(c) != 2 || c[0].Text != "id\n1\n" || c[1].Text != `{"hasMore":false}` {
		t.Errorf("%+v", c)
	}
	if got := (exchange{body: `{"jsonrpc":"2.0","method":"tools/call","params":{"name":"res-query","arguments":{}}}`}).do(t, url); got.status != 202 || got.body != "" {
		t.Errorf("a notification is answered: %d %s", got.status, got.body)
	}
}

func TestProbes(t *testing.T) {
	f := newFake()
	s := newServer(t, f, withKeys(Options{}))
	url := serveHTTP(t, s)
	probe := func(path string) answer { return exchange{method: http.MethodGet, path: path}.do(t, url) }
	for range 5 {
		if got := probe("/readyz"); got.status != 200 || got.body != "ok\n" {
			t.Errorf("%d %s", got.status, got.body)
		}
	}
	if f.pings != 1 {
		t.Errorf("%d pings for 5 probes", f.pings)
	}
	f.mu.Lock()
	f.down = true
	f.mu.Unlock()
	s.health.at = time.Time{}
	if got := probe("/readyz"); got.status != 503 || strings.Contains(got.body, "default") {
		t.Errorf("%d %s", got.status, got.body)
	}
	if got := probe("/healthz"); got.status != 200 {
		t.Errorf("alive: %d", got.status)
	}
}

// N2: an address that others can reach is not opened without keys.
func TestListen(t *testing.T) {
	open, keyed := newServer(t, newFake(), Options{}), newServer(t, newFake(), withKeys(Options{}))
	for addr, loopback := range map[string]bool{
		"127.0.0.1:0": true, "localhost:0": true, "[::1]:0": true, "127.9.9.9:0": true,
		"0.0.0.0:0": false, ":0": false, "[::]:0": false, "192.0.2.1:0": false, "example.test:0": false,
	} {
		if Loopback(addr) != loopback {
			t.Errorf("%s: loopback %v", addr, !loopback)
		}
		if loopback {
			continue
		}
		if l, err := open.Listen(addr); err == nil || !strings.Contains(err.Error(), "key") {
			l.Close()
			t.Errorf("%s opened without keys: %v", addr, err)
		}
	}
	l, err := keyed.Listen("0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
}

// At the end a running call gets its answer, open streams are ended, and new requests find nobody.
func TestShutdown(t *testing.T) {
	f := newFake()
	s := newServer(t, f, Options{})
	l, err := s.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	url := "http://" + l.Addr().String()
	ctx, end := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()

	id := exchange{body: initBody}.do(t, url).header.Get("Mcp-Session-Id")
	stream := func(e exchange) chan error {
		req, _ := http.NewRequest(e.method, url+Path, strings.NewReader(e.body))
		for k, v := range e.header {
			req.Header.Set(k, v)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		ended := make(chan error, 1)
		go func() {
			resp, err := http.DefaultClient.Do(req)
			if err == nil {
				_, err = bufio.NewReader(resp.Body).WriteTo(discard{})
				resp.Body.Close()
			}
			ended <- err
		}()
		return ended
	}
	get := stream(exchange{method: http.MethodGet}.with("Mcp-Session-Id", id))
	listen := modern("subscriptions/listen", "", "")
	listen.method = http.MethodPost
	listen.body = strings.Replace(listen.body, `"params":{`, `"params":{"notifications":{"toolsListChanged":true},`, 1)
	sub := stream(listen)
	time.Sleep(200 * time.Millisecond)

	start := time.Now()
	end()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(12 * time.Second):
		t.Fatal("the server does not end")
	}
	if took := time.Since(start); took > 3*time.Second {
		t.Errorf("open streams held the end up for %v", took)
	}
	<-get
	<-sub
	if c, err := net.Dial("tcp", l.Addr().String()); err == nil {
		c.Close()
		t.Error("the port is still open")
	}
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

// A call that does not finish in the time it is given is cut, its query cancelled, and its client told.
func TestShutdownCuts(t *testing.T) {
	f := newFake()
	s := newServer(t, f, Options{})
	if s.drain != 10*time.Second {
		t.Errorf("a running call is given %v", s.drain)
	}
	s.drain = 300 * time.Millisecond
	l, err := s.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	told := make(chan string, 1)
	go func() {
		resp, err := http.Post("http://"+l.Addr().String()+Path, "application/json", strings.NewReader(call("res-query", `{"resource":"slow"}`)))
		if err != nil {
			told <- err.Error()
			return
		}
		defer resp.Body.Close()
		b, _ := io.ReadAll(resp.Body)
		told <- string(b)
	}()
	<-f.started
	start := time.Now()
	end()
	<-done
	if took := time.Since(start); took < 300*time.Millisecond || took > 3*time.Second {
		t.Errorf("ended after %v", took)
	}
	select {
	case <-f.stopped:
	case <-time.After(time.Second):
		t.Error("the query still runs")
	}
	if got := failure(t, <-told); got.Code != problem.Unavailable {
		t.Errorf("its client is told %+v", got)
	}
}

// mcp.md 2.3: a path that is not written plainly is no path, and is not redirected: a client would follow with its key.
func TestUntidyPaths(t *testing.T) {
	s := newServer(t, newFake(), withKeys(Options{API: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.URL.Path) })}))
	url := serveHTTP(t, s)
	for path, status := range map[string]int{
		"//mcp": 404, "/mcp//": 404, "/./mcp": 404, "/mcp/../mcp": 404, "//api/v1/keys": 404, "/api//v1/keys": 404, "/api/v1//keys": 404, "/api/v1/../v1/keys": 404, "/%2e%2e/mcp": 404,
		"/healthz//": 404, "/api/v1/keys": 200, "/api/v1/keys/": 200, "/nothing": 404,
	} {
		a := exchange{path: path, body: `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`}.with("Authorization", "Bearer alice-key").do(t, url)
		if a.status != status || a.header.Get("Location") != "" {
			t.Errorf("%s: %d %v", path, a.status, a.header)
		}
		if status == 404 && path != "/nothing" && !strings.Contains(a.body, `"code":"NOT_FOUND_OR_FORBIDDEN"`) {
			t.Errorf("%s: %s", path, a.body)
		}
	}
	if a := (exchange{path: "//mcp"}).with("Host", "evil.example").do(t, url); a.status != http.StatusForbidden {
		t.Errorf("a foreign host at a path that there is not: %d", a.status)
	}
}
