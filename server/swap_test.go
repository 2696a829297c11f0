package server

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"resq/engine"
	"resq/engine/policy"
)

// named answers with its own name, if it has one, and holds calls on "hold" until it is let go.
type named struct {
	*fake
	name   string
	hold   chan struct{}
	closed atomic.Bool
}

func (n *named) Query(ctx context.Context, who *policy.Principal, raw []byte) (*engine.Answer, error) {
	if strings.Contains(string(raw), `"hold"`) {
		n.started <- struct{}{}
		<-n.hold
	}
	if n.closed.Load() {
		return nil, fmt.Errorf("%s was used after it was closed", n.name)
	}
	if n.name == "" {
		return n.fake.Query(ctx, who, raw)
	}
	return &engine.Answer{Text: []byte(n.name)}, nil
}

// R3: calls that run while the backend changes finish on the old one; Swap waits for none of them, and says when
// the last has ended.
func TestSwap(t *testing.T) {
	old := &named{fake: newFake(), name: "old", hold: make(chan struct{})}
	s := newServer(t, old, Options{})
	ask := func(resource string) string {
		r, _ := s.Call(t.Context(), alice, "res-query", []byte(`{"resource":"`+resource+`"}`))
		return r.Texts[0]
	}
	running := make(chan string)
	go func() { running <- ask("hold") }()
	<-old.started
	idle := s.Swap(&named{fake: newFake(), name: "new"})
	next := s.Swap(&named{fake: newFake(), name: "newest"}) // nor does a second change wait for the first
	select {
	case <-next:
	case <-time.After(5 * time.Second):
		t.Fatal("a backend that nobody uses is not idle")
	}
	if got := ask("x"); got != "newest" {
		t.Errorf("calls go to %s", got)
	}
	select {
	case <-idle:
		t.Fatal("the old backend is said to be idle while a call runs on it")
	case <-time.After(20 * time.Millisecond):
	}
	close(old.hold)
	if got := <-running; got != "old" {
		t.Errorf("the running call got %s", got)
	}
	<-idle
}

// Whatever the moment, no call is lost and none runs on a backend that is closed.
func TestSwapUnderLoad(t *testing.T) {
	current := &named{fake: newFake(), name: "0"}
	s := newServer(t, current, Options{})
	stop := make(chan struct{})
	var callers sync.WaitGroup
	for range 8 {
		callers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if r, _ := s.Call(context.Background(), alice, "res-query", nil); r.Failed {
					t.Error(r.Texts[0])
					return
				}
			}
		})
	}
	for i := range 300 {
		next := &named{fake: newFake(), name: fmt.Sprint(i + 1)}
		<-s.Swap(next)
		current.closed.Store(true)
		current = next
	}
	close(stop)
	callers.Wait()
}

// stream opens an event stream and gives its data lines.
func (e exchange) stream(t *testing.T, url string) <-chan string {
	t.Helper()
	if e.method == "" {
		e.method = http.MethodPost
	}
	req, err := http.NewRequestWithContext(t.Context(), e.method, url+Path, strings.NewReader(e.body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	for k, v := range e.header {
		req.Header.Set(k, v)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		t.Fatalf("no stream: %d %v", resp.StatusCode, resp.Header)
	}
	lines := make(chan string, 64)
	go func() {
		defer resp.Body.Close()
		defer close(lines)
		for in := bufio.NewScanner(resp.Body); in.Scan(); {
			if data, ok := strings.CutPrefix(in.Text(), "data: "); ok {
				lines <- data
			}
		}
	}()
	return lines
}

// within gives the next line, or "" after a while.
func within(lines <-chan string, d time.Duration) string {
	select {
	case l := <-lines:
		return l
	case <-time.After(d):
		return ""
	}
}

// expect reads lines until both kinds of news have come.
func expectChanged(t *testing.T, about string, next func() string) {
	t.Helper()
	for _, want := range []string{"notifications/tools/list_changed", "notifications/resources/list_changed"} {
		if got := next(); !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %s", about, got, want)
		}
	}
}

func listenBody() exchange {
	e := modern("subscriptions/listen", "", "")
	e.body = strings.Replace(e.body, `"params":{`, `"params":{"notifications":{"toolsListChanged":true,"resourcesListChanged":true},`, 1)
	e.body = strings.Replace(e.body, `"id":1`, `"id":"sub"`, 1)
	return e
}

// A change is told to sessions, and to listeners of the newer era under the name of their subscription.
func TestSwapIsTold(t *testing.T) {
	s := newServer(t, newFake(), Options{})
	url := serveHTTP(t, s)
	a := exchange{body: initBody}.do(t, url)
	id := a.header.Get("Mcp-Session-Id")
	session := exchange{body: `{"jsonrpc":"2.0","method":"notifications/initialized"}`}.with("Mcp-Session-Id", id)
	session.do(t, url)
	session.method, session.body = http.MethodGet, ""
	legacy := session.stream(t, url)
	listener := listenBody().stream(t, url)
	if got := within(listener, 5*time.Second); !strings.Contains(got, "subscriptions/acknowledged") || !strings.Contains(got, `"toolsListChanged":true`) {
		t.Fatalf("acknowledged: %s", got)
	}
	p := serveStdio(t, s)
	p.send(initBody)
	p.next()
	p.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`, `{"jsonrpc":"2.0","id":5,"method":"ping"}`)
	p.next()

	time.Sleep(50 * time.Millisecond) // for the GET stream to be registered
	s.Swap(newFake())
	expectChanged(t, "session", func() string { return within(legacy, 5*time.Second) })
	expectChanged(t, "listener", func() string {
		got := within(listener, 5*time.Second)
		if !strings.Contains(got, `"io.modelcontextprotocol/subscriptionId":"sub"`) {
			t.Errorf("the subscription is not named: %s", got)
		}
		return got
	})
	expectChanged(t, "stdio", p.next)
}

// A session that holds no stream open is told with its next call, once, if it reads streams; who holds one open, has
// no session, or is of the newer era is not told twice or unasked.
func TestSwapIsToldWithTheNextCall(t *testing.T) {
	s := newServer(t, newFake(), Options{})
	url := serveHTTP(t, s)
	session := func() exchange {
		id := exchange{body: initBody}.do(t, url).header.Get("Mcp-Session-Id")
		e := exchange{body: call("res-query", `{}`)}.with("Mcp-Session-Id", id)
		if a := e.do(t, url); a.header.Get("Content-Type") != "application/json" {
			t.Fatalf("news to a new session: %s", a.body)
		}
		return e
	}
	told := func(about string, e exchange, want bool) {
		t.Helper()
		a := e.do(t, url)
		first, second := strings.Index(a.body, "notifications/tools/list_changed"), strings.Index(a.body, "notifications/resources/list_changed")
		answered := strings.Index(a.body, `"result"`)
		if want != (first >= 0) || want != (second >= 0) || want != (a.header.Get("Content-Type") == "text/event-stream") || answered < max(first, second) {
			t.Errorf("%s: %v %s", about, a.header, a.body)
		}
	}
	quiet, plain, listening := session(), session(), session()
	open := listening
	open.method, open.body = http.MethodGet, ""
	lines := open.stream(t, url)
	time.Sleep(50 * time.Millisecond) // for the stream to be registered
	s.Swap(newFake())
	s.Swap(newFake())
	list := quiet
	list.body = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	told("a list, which is new anyway", list, false)
	told("a session without a stream", quiet, true)
	told("the same once more", quiet, false)
	told("a session that reads no streams", plain.with("Accept", "application/json"), false)
	told("a session with a stream", listening, false)
	expectChanged(t, "its stream", func() string { return within(lines, 5*time.Second) })
	told("no session", exchange{body: call("res-query", `{}`)}, false)
	told("the newer era", modern("tools/call", "res-query", `{}`), false)
	told("a session that begins later", session(), false)
	s.Swap(newFake())
	told("the next change", quiet, true)
}

// Over stdio a client of the newer era is told what it asked for and nothing else, and can end it.
func TestStdioListen(t *testing.T) {
	s := newServer(t, newFake(), Options{})
	p := serveStdio(t, s)
	p.send(modern("server/discover", "", "").body)
	p.next()
	s.Swap(newFake()) // is told to nobody: nobody listens yet
	only := strings.Replace(listenBody().body, `,"resourcesListChanged":true`, "", 1)
	p.send(only)
	if got := p.next(); !strings.Contains(got, "subscriptions/acknowledged") || !strings.Contains(got, `"io.modelcontextprotocol/subscriptionId":"sub"`) {
		t.Fatalf("acknowledged: %s", got)
	}
	s.Swap(newFake())
	if got := p.next(); !strings.Contains(got, "tools/list_changed") || !strings.Contains(got, `"io.modelcontextprotocol/subscriptionId":"sub"`) {
		t.Errorf("told: %s", got)
	}
	p.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"sub"}}`)
	time.Sleep(50 * time.Millisecond)
	s.Swap(newFake())
	p.send(strings.Replace(modern("tools/list", "", "").body, `"id":1`, `"id":"after"`, 1))
	if got := p.next(); !strings.Contains(got, `"id":"after"`) {
		t.Errorf("after its end the subscription told %s", got)
	}
}

// A degraded server answers and says so; a broken one is not ready, whatever else it is.
func TestDegrade(t *testing.T) {
	f := newFake()
	s := newServer(t, f, Options{})
	url := serveHTTP(t, s)
	ready := func() answer { return exchange{method: http.MethodGet, path: "/readyz"}.do(t, url) }
	s.Degrade(`catalog/a.yaml:3:1: no "type"`)
	if a := ready(); a.status != 200 || a.body != `{"status":"degraded","reason":"catalog/a.yaml:3:1: no \"type\""}`+"\n" || a.header.Get("Content-Type") != "application/json" {
		t.Errorf("degraded: %d %s", a.status, a.body)
	}
	if a := (exchange{method: http.MethodGet, path: "/healthz"}).do(t, url); a.body != "ok\n" {
		t.Errorf("healthz: %s", a.body)
	}
	f.mu.Lock()
	f.down = true
	f.mu.Unlock()
	s.health.forget()
	if a := ready(); a.status != http.StatusServiceUnavailable {
		t.Errorf("down and degraded: %d %s", a.status, a.body)
	}
	s.Swap(newFake()) // looks at the new connections at once
	s.Degrade("")
	if a := ready(); a.status != 200 || a.body != "ok\n" {
		t.Errorf("well again: %d %s", a.status, a.body)
	}
}
