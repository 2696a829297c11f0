package server

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// N1: no page of a browser reaches the endpoint (TRN-003 … TRN-008). Names are listed; what a caller sends of
// itself, such as an Origin equal to its Host, proves nothing.
func TestHostAndOrigin(t *testing.T) {
	url := serveHTTP(t, newServer(t, newFake(), Options{Hosts: []string{"Db.Example"}, Origins: []string{"https://console.example/"}}))
	_, port, _ := strings.Cut(strings.TrimPrefix(url, "http://"), ":")
	for _, c := range []struct {
		host, origin string
		want         int
	}{
		{"127.0.0.1:8088", "", 200},
		{"127.0.0.1", "", 200},
		{"localhost:1", "", 200},
		{"LOCALHOST", "", 200},
		{"[::1]:8088", "", 200},
		{"[::1]", "", 200},
		{"db.example:443", "", 200},
		{"attacker.test:8088", "http://attacker.test:8088", 403},
		{"attacker.test", "", 403},
		{"127.0.0.1:8088@attacker.test", "", 403},
		{"127.0.0.1:", "", 403},
		{"127.0.0.1.attacker.test", "", 403},
		{"10.0.0.1:8088", "", 403},
		{"0.0.0.0:8088", "", 403},
		{"localhost.attacker.test", "", 403},
		{"127.0.0.1", "http://attacker.test", 403},
		{"127.0.0.1", "null", 403},
		{"127.0.0.1", "http://localhost:" + port + "@attacker.test", 403},
		{"127.0.0.1", "http://localhost:" + port + ".attacker.test", 403},
		{"127.0.0.1", "http://localhost:1", 403},
		{"127.0.0.1", "http://localhost:" + port, 200},
		{"127.0.0.1", "https://console.example", 200},
		{"127.0.0.1", "https://Console.Example", 200},
		{"127.0.0.1", "http://console.example", 403},
	} {
		e := exchange{body: call("res-query", `{}`)}.with("Host", c.host)
		if c.origin != "" {
			e = e.with("Origin", c.origin)
		}
		if got := e.do(t, url); got.status != c.want {
			t.Errorf("Host %q Origin %q: %d, want %d: %s", c.host, c.origin, got.status, c.want, got.body)
		}
		if got := (exchange{method: "GET", path: "/healthz"}).with("Host", c.host, "Origin", e.header["Origin"]).do(t, url); got.status != c.want && c.origin != "" {
			t.Errorf("/healthz Host %q Origin %q: %d, want %d", c.host, c.origin, got.status, c.want)
		}
	}
}

// Which hosts a listener serves depends on the address it listens on.
func TestPlaces(t *testing.T) {
	for _, c := range []struct {
		listen, host string
		want         bool
	}{
		{"0.0.0.0:8088", "192.168.1.7:8088", true},
		{"0.0.0.0:8088", "localhost:8088", true},
		{"0.0.0.0:8088", "name.example", false},
		{"192.168.1.7:8088", "192.168.1.7:8088", true},
		{"192.168.1.7:8088", "192.168.1.8:8088", false},
		{"192.168.1.7:8088", "localhost:8088", false},
		{"[::1]:8088", "[::1]:8088", true},
		{"127.0.0.1:8088", "[::ffff:127.0.0.1]:8088", true},
		{"127.0.0.1:8088", "", false},
	} {
		if got := newPlaces(tcp(t, c.listen), nil, nil).host(c.host); got != c.want {
			t.Errorf("%s serves %q: %v", c.listen, c.host, got)
		}
	}
	for origin, good := range map[string]bool{"https://a.example": true, "http://a:80": true, "vscode-webview://x": true, "a.example": false, "https://a/": false, "https://u@a": false, "*": false} {
		if (BadOrigin(origin) == "") != good {
			t.Errorf("origin %q: %s", origin, BadOrigin(origin))
		}
	}
}

// N2: without a valid key nothing but a 401 is learnt (TRN-012 … TRN-016).
func TestKeys(t *testing.T) {
	f := newFake()
	url := serveHTTP(t, newServer(t, f, withKeys(Options{})))
	for _, auth := range []string{"", "Bearer ", "Bearer", "Bearer wrong", "Basic alice-key", "alice-key", "Bearer alice-key x", "Bearer Alice-Key"} {
		e := exchange{body: call("res-query", `{}`), path: Path + "?access_token=alice-key&key=alice-key"}
		if auth != "" {
			e = e.with("Authorization", auth)
		}
		got := e.do(t, url)
		if got.status != 401 || got.header.Get("WWW-Authenticate") != "Bearer" || !strings.Contains(got.body, `"code":"UNAUTHENTICATED"`) {
			t.Errorf("Authorization %q: %d %q %s", auth, got.status, got.header.Get("WWW-Authenticate"), got.body)
		}
		for _, method := range []string{http.MethodGet, http.MethodDelete} {
			if got := (exchange{method: method}).with("Authorization", auth).do(t, url); got.status != 401 {
				t.Errorf("%s with Authorization %q: %d", method, auth, got.status)
			}
		}
	}
	if who, _ := f.last(); who != nil {
		t.Errorf("a call without a key reached the engine as %v", who)
	}
	for _, auth := range []string{"Bearer alice-key", "bearer alice-key", "Bearer  alice-key "} {
		got := exchange{body: call("res-query", `{}`)}.with("Authorization", auth).do(t, url)
		if got.status != 200 || !strings.Contains(got.body, `alice`) {
			t.Errorf("Authorization %q: %d %s", auth, got.status, got.body)
		}
	}
	// TRN-029: headers that a proxy might set are nobody's word about who asks.
	got := exchange{body: call("res-query", `{}`)}.with("Authorization", "Bearer bob-key", "X-Forwarded-Host", "attacker.test", "X-Forwarded-For", "127.0.0.1", "X-User", "alice").do(t, url)
	if got.status != 200 || !strings.Contains(got.body, `bob`) {
		t.Errorf("forwarded headers: %d %s", got.status, got.body)
	}
}

func TestRequestForm(t *testing.T) {
	url := serveHTTP(t, newServer(t, newFake(), Options{}))
	ok := call("res-query", `{}`)
	for _, c := range []struct {
		name string
		e    exchange
		want int
	}{
		{"good", exchange{body: ok}, 200},
		{"charset", exchange{body: ok}.with("Content-Type", "application/json; charset=utf-8"), 200},
		{"TRN-017", exchange{body: ok}.with("Content-Type", "text/plain"), 415},
		{"form", exchange{body: ok}.with("Content-Type", "application/x-www-form-urlencoded"), 415},
		{"no type", exchange{body: ok}.with("Content-Type", ""), 415},
		{"TRN-026", exchange{body: ok}.with("Content-Encoding", "gzip"), 415},
		{"TRN-023", exchange{body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","method":"tools/list"}`}, 400},
		{"TRN-028", exchange{body: "\xff\xfe\x00"}, 400},
		{"batch", exchange{body: `[` + ok + `]`}, 400},
		{"put", exchange{method: http.MethodPut, body: ok}, 405},
		{"options", exchange{method: http.MethodOptions}, 405},
		{"head", exchange{method: http.MethodHead}, 405},
		{"delete without session", exchange{method: http.MethodDelete}, 400},
		{"other path", exchange{path: "/", body: ok}, 404},
		{"TRN-019", exchange{body: ok}.with("MCP-Protocol-Version", "1999-01-01"), 400},
		{"TRN-024", exchange{body: `{"x":"` + strings.Repeat("a", 2<<20) + `"}`}, 413},
		{"just small enough", exchange{body: call("res-query", `{"resource":"`+strings.Repeat("a", 1<<20-200)+`"}`)}, 200},
		{"modern", modern("tools/call", "res-query", `{}`), 200},
		{"TRN-018", modern("tools/call", "res-query", `{}`).with("Mcp-Name", "res-delete"), 400},
		{"modern without header", exchange{body: modern("tools/call", "res-query", `{}`).body}, 400},
		{"TRN-027", exchange{method: http.MethodGet}.with("MCP-Protocol-Version", "2026-07-28"), 405},
		{"modern delete", exchange{method: http.MethodDelete}.with("MCP-Protocol-Version", "2026-07-28"), 405},
	} {
		if got := c.e.do(t, url); got.status != c.want {
			t.Errorf("%s: %d, want %d: %.200s", c.name, got.status, c.want, got.body)
		}
	}
}

// TRN-025: a body that trickles in is given up, and the connection with it.
func TestSlowBody(t *testing.T) {
	s := newServer(t, newFake(), Options{})
	h, closeStreams := s.handler(tcp(t, "127.0.0.1:1"))
	defer closeStreams()
	ts := httptest.NewServer(&guard{s: s, sessions: newSessions(nil, time.Hour), next: h, places: newPlaces(tcp(t, "127.0.0.1:1"), nil, nil), bodyTime: 100 * time.Millisecond})
	defer ts.Close()
	conn, err := net.Dial("tcp", ts.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{")
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if b, _ := io.ReadAll(resp.Body); resp.StatusCode != 408 || !strings.Contains(string(b), "TIMEOUT") {
		t.Errorf("%d %s", resp.StatusCode, b)
	}
	if _, err := conn.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("the connection stays open: %v", err)
	}
}

// mcp.md 2.3, 2: a session belongs to the principal that opened it, on every verb.
func TestSessions(t *testing.T) {
	f := newFake()
	url := serveHTTP(t, newServer(t, f, withKeys(Options{})))
	got := exchange{body: initBody}.with("Authorization", "Bearer alice-key", "Mcp-Session-Id", "attacker-chosen").do(t, url)
	id := got.header.Get("Mcp-Session-Id")
	if got.status != 200 || id == "" || id == "attacker-chosen" {
		t.Fatalf("initialize: %d session %q %s", got.status, id, got.body)
	}
	ping := `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	answered := `{"jsonrpc":"2.0","id":1,"result":{"action":"accept"}}`
	cancel := `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`
	for _, c := range []struct {
		name, key, session string
		e                  exchange
		want               int
	}{
		{"own", "alice-key", id, exchange{body: ping}, 200},
		{"own, other key", "alice-key-2", id, exchange{body: ping}, 200},
		{"none", "bob-key", "", exchange{body: ping}, 200},
		{"foreign", "bob-key", id, exchange{body: ping}, 404},
		{"foreign call", "bob-key", id, exchange{body: call("res-query", `{}`)}, 404},
		{"foreign answer", "bob-key", id, exchange{body: answered}, 404},
		{"foreign cancellation", "bob-key", id, exchange{body: cancel}, 404},
		{"foreign stream", "bob-key", id, exchange{method: http.MethodGet}, 404},
		{"foreign end", "bob-key", id, exchange{method: http.MethodDelete}, 404},
		{"invented", "alice-key", "mcp-session-1", exchange{body: ping}, 404},
		{"invented, well-formed", "alice-key", "x." + strings.Repeat("A", 27), exchange{body: ping}, 404},
		{"invented stream", "alice-key", "mcp-session-1", exchange{method: http.MethodGet}, 404},
		{"TRN-020", "bob-key", id, modern("tools/call", "res-query", `{}`), 200},
		{"TRN-021", "bob-key", "attacker-chosen", modern("tools/call", "res-query", `{}`), 200},
		{"end", "alice-key", id, exchange{method: http.MethodDelete}, 200},
		{"ended", "alice-key", id, exchange{body: ping}, 404},
	} {
		e := c.e.with("Authorization", "Bearer "+c.key)
		if c.session != "" {
			e = e.with("Mcp-Session-Id", c.session)
		}
		got := e.do(t, url)
		if got.status != c.want {
			t.Errorf("%s: %d, want %d: %s", c.name, got.status, c.want, got.body)
		}
		if got.status == 200 && strings.HasPrefix(c.name, "TRN") && !strings.Contains(got.body, "bob") {
			t.Errorf("%s: not bob's view: %s", c.name, got.body)
		}
	}
}

// Replicas that share the secret accept each other's sessions; others do not.
func TestSharedSecret(t *testing.T) {
	one := newSessions([]byte("secret one"), time.Hour)
	id := one.make("alice")
	if !newSessions([]byte("secret one"), time.Hour).valid(id, "alice") {
		t.Error("a replica refuses the session")
	}
	for _, c := range []struct{ secret, owner, id string }{
		{"secret two", "alice", id}, {"secret one", "bob", id}, {"secret one", "alice", id + "x"},
		{"secret one", "alice", "x" + id}, {"secret one", "alice", ""}, {"secret one", "alice", "."},
	} {
		if newSessions([]byte(c.secret), time.Hour).valid(c.id, c.owner) {
			t.Errorf("%+v is accepted", c)
		}
	}
	for range maxEnded + 10 {
		one.end(one.make("alice"))
	}
	if len(one.ended) != maxEnded || len(one.order) != maxEnded {
		t.Errorf("%d ended sessions are kept", len(one.ended))
	}
}

// mcp.md 2.3, 1: nobody stops another's call. A cancellation without session is dropped; with it, it works; a
// caller that hangs up stops its own call.
func TestCancel(t *testing.T) {
	f := newFake()
	url := serveHTTP(t, newServer(t, f, withKeys(Options{})))
	id := exchange{body: initBody}.with("Authorization", "Bearer alice-key").do(t, url).header.Get("Mcp-Session-Id")
	ctx, hangUp := context.WithCancel(t.Context())
	t.Cleanup(hangUp)
	slow := func(header ...string) chan struct{} {
		done := make(chan struct{})
		req, _ := http.NewRequestWithContext(ctx, http.MethodPost, url+Path, strings.NewReader(call("res-query", `{"resource":"slow"}`)))
		req.Header.Set("Content-Type", "application/json")
		for i := 0; i < len(header); i += 2 {
			req.Header.Set(header[i], header[i+1])
		}
		go func() {
			if resp, err := http.DefaultClient.Do(req); err == nil {
				resp.Body.Close()
			}
			close(done)
		}()
		<-f.started
		return done
	}
	cancel := exchange{body: `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`}

	running := slow("Authorization", "Bearer alice-key")
	for _, e := range []exchange{cancel, {body: strings.Replace(cancel.body, `"params":{`, `"params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}},`, 1)}} {
		if got := e.with("Authorization", "Bearer bob-key").do(t, url); got.status != 202 {
			t.Errorf("bob's cancellation: %d %s", got.status, got.body)
		}
	}
	select {
	case <-f.stopped:
		t.Fatal("bob stopped alice's call")
	case <-time.After(100 * time.Millisecond):
	}
	http.DefaultClient.CloseIdleConnections()

	own := slow("Authorization", "Bearer alice-key", "Mcp-Session-Id", id)
	if got := cancel.with("Authorization", "Bearer alice-key", "Mcp-Session-Id", id).do(t, url); got.status != 202 {
		t.Errorf("alice's cancellation: %d", got.status)
	}
	select {
	case <-f.stopped:
	case <-time.After(5 * time.Second):
		t.Fatal("alice could not stop her call")
	}
	<-own

	// The first call is still there, until its client hangs up.
	req, _ := http.NewRequest(http.MethodPost, url+Path, strings.NewReader(call("res-query", `{"resource":"slow"}`)))
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer alice-key")
	hang := &http.Client{Timeout: 200 * time.Millisecond}
	_, err := hang.Do(req)
	<-f.started
	if err == nil {
		t.Error("an answer to a slow call")
	}
	select {
	case <-f.stopped:
	case <-time.After(5 * time.Second):
		t.Fatal("hanging up does not stop the call")
	}
	select {
	case <-running:
		t.Error("the first call was stopped")
	default:
	}
}

// A panic anywhere costs one answer, tells nothing, and leaves a log line (mcp.md 2.3, 6).
func TestPanics(t *testing.T) {
	log, lines := quietLog()
	s := newServer(t, newFake(), Options{Log: log})
	url := serveHTTP(t, s)
	got := exchange{body: call("res-query", `{"resource":"panic"}`)}.do(t, url)
	f := failure(t, got.body)
	if got.status != 200 || f.Code != "DATA_INTEGRITY_ERROR" || strings.Contains(got.body, "secret") {
		t.Errorf("%d %s", got.status, got.body)
	}
	if out := lines.String(); !strings.Contains(out, "secret dsn") || !strings.Contains(out, f.RequestID) || !strings.Contains(out, "fake_test.go") {
		t.Errorf("the log has no panic, stack and request id: %s", out)
	}
	w := httptest.NewRecorder()
	g := &guard{s: s, sessions: newSessions(nil, time.Hour), places: newPlaces(tcp(t, "127.0.0.1:1"), nil, nil), bodyTime: time.Second,
		next: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("secret") })}
	r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1/mcp", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
	r.Header.Set("Content-Type", "application/json")
	g.ServeHTTP(w, r)
	if w.Code != 500 || strings.Contains(w.Body.String(), "secret") || !strings.Contains(w.Body.String(), "request_id") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
