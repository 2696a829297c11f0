package server

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"resq/engine"
	"resq/engine/policy"
)

// long answers after a while.
type long struct {
	*fake
	time time.Duration
}

func (l long) Query(ctx context.Context, _ *policy.Principal, _ []byte) (*engine.Answer, error) {
	select {
	case <-time.After(l.time):
		return &engine.Answer{Text: []byte("done")}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// withToken asks for progress.
func withToken(e exchange, token string) exchange {
	if strings.Contains(e.body, `"_meta":{`) {
		e.body = strings.Replace(e.body, `"_meta":{`, `"_meta":{"progressToken":`+token+`,`, 1)
	} else {
		e.body = strings.Replace(e.body, `"params":{`, `"params":{"_meta":{"progressToken":`+token+`},`, 1)
	}
	return e
}

// checkBeats reads messages up to the answer: signs of life that grow, then the answer, then nothing.
func checkBeats(t *testing.T, token string, next func() string) {
	t.Helper()
	last := 0.0
	for {
		raw := next()
		var m struct {
			Method string
			ID     json.RawMessage
			Params struct {
				ProgressToken json.RawMessage
				Progress      float64
				Message       string
			}
			Result json.RawMessage
		}
		if err := json.Unmarshal([]byte(raw), &m); err != nil {
			t.Fatalf("%v in %q", err, raw)
		}
		if m.Method == "" {
			if !strings.Contains(string(m.Result), "done") || last < 2 {
				t.Errorf("the answer after %v signs of life: %s", last, raw)
			}
			return
		}
		if m.Method != "notifications/progress" || string(m.Params.ProgressToken) != token || m.Params.Progress <= last || !strings.HasPrefix(m.Params.Message, "running for ") {
			t.Errorf("a sign of life: %s", raw)
		}
		last = m.Params.Progress
	}
}

// mcp.md 2.3, 7: a long call shows that it runs, in both eras and over stdio, and not one note comes after the
// answer or is lost before it.
func TestProgress(t *testing.T) {
	s := newServer(t, long{newFake(), 120 * time.Millisecond}, Options{})
	s.beat = 25 * time.Millisecond
	url := serveHTTP(t, s)
	for _, e := range []exchange{{body: call("res-query", `{}`)}, modern("tools/call", "res-query", `{}`)} {
		for _, token := range []string{`"a\"b"`, `7`, `1.5`, `9007199254740993`} {
			lines := withToken(e, token).stream(t, url)
			checkBeats(t, token, func() string { return within(lines, 5*time.Second) })
			if more, open := <-lines; open {
				t.Errorf("after the answer: %s", more)
			}
		}
		for _, quiet := range []exchange{e, withToken(e, `7`).with("Accept", "application/json"), withToken(e, `null`), withToken(e, `[1]`)} {
			if a := quiet.do(t, url); a.header.Get("Content-Type") != "application/json" || !strings.Contains(a.body, "done") {
				t.Errorf("nobody asked for progress: %v %s", a.header, a.body)
			}
		}
	}
	p := serveStdio(t, s)
	for i, e := range []exchange{{body: call("res-query", `{}`)}, modern("tools/call", "res-query", `{}`)} {
		token := fmt.Sprint(i + 1)
		p.send(withToken(e, token).body)
		checkBeats(t, token, p.next)
	}
	p.send(`{"jsonrpc":"2.0","id":9,"method":"ping"}`)
	if got := p.next(); !strings.Contains(got, `"id":9`) {
		t.Errorf("after the answer: %s", got)
	}
}

// A short call is answered as ever, and a failed one on a stream too.
func TestProgressShort(t *testing.T) {
	s := newServer(t, newFake(), Options{})
	url := serveHTTP(t, s)
	if a := withToken(exchange{body: call("res-query", `{}`)}, "1").do(t, url); a.header.Get("Content-Type") != "application/json" || a.header.Get("Content-Length") == "" {
		t.Errorf("a short call: %v", a.header)
	}
	if s.beat != 5*time.Second {
		t.Errorf("a sign of life every %v", s.beat)
	}
}

// A client that hangs up in the middle of its stream stops the call, in both eras.
func TestProgressHangUp(t *testing.T) {
	f := newFake()
	s := newServer(t, f, Options{})
	s.beat = 10 * time.Millisecond
	url := serveHTTP(t, s)
	for _, e := range []exchange{{body: call("res-query", `{"resource":"slow"}`)}, modern("tools/call", "res-query", `{"resource":"slow"}`)} {
		ctx, hangUp := context.WithCancel(t.Context())
		req, _ := http.NewRequestWithContext(ctx, http.MethodPost, url+Path, strings.NewReader(withToken(e, "1").body))
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		for k, v := range e.header {
			req.Header.Set(k, v)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil || resp.StatusCode != 200 {
			t.Fatal(err)
		}
		<-f.started
		hangUp()
		resp.Body.Close()
		select {
		case <-f.stopped:
		case <-time.After(5 * time.Second):
			t.Error("the call runs on")
		}
	}
}

// What is silent for longer than the server allows has ended, unless it holds a stream open.
func TestIdleSessionsEnd(t *testing.T) {
	s := newServer(t, newFake(), Options{IdleTTL: 300 * time.Millisecond})
	url := serveHTTP(t, s)
	start := func() exchange {
		id := exchange{body: initBody}.do(t, url).header.Get("Mcp-Session-Id")
		return exchange{body: call("res-query", `{}`)}.with("Mcp-Session-Id", id)
	}
	idle, busy, listening := start(), start(), start()
	open := listening
	open.method, open.body = http.MethodGet, ""
	open.stream(t, url)
	for range 8 {
		time.Sleep(100 * time.Millisecond)
		if a := busy.do(t, url); a.status != 200 {
			t.Fatalf("a session in use has ended: %d %s", a.status, a.body)
		}
	}
	if a := idle.do(t, url); a.status != http.StatusNotFound || !strings.Contains(a.body, "initialize") {
		t.Errorf("a silent session: %d %s", a.status, a.body)
	}
	if a := listening.do(t, url); a.status != 200 {
		t.Errorf("a session with an open stream: %d %s", a.status, a.body)
	}
}

// The memory of sessions is bounded, and an old id is not new again because its use was forgotten.
func TestSessionMemory(t *testing.T) {
	s := newSessions([]byte("secret"), time.Minute)
	if old := s.madeAt("alice", time.Now().Add(-2*time.Minute)); s.valid(old, "alice") {
		t.Error("an id of yesterday is valid")
	}
	first := s.make("alice")
	if !s.valid(first, "alice") {
		t.Fatal("a new id is not valid")
	}
	for range maxUsed + 100 {
		if !s.valid(s.make("alice"), "alice") {
			t.Fatal("a new id is not valid")
		}
	}
	if len(s.used) > maxUsed {
		t.Errorf("%d sessions are remembered", len(s.used))
	}
	if !s.valid(first, "alice") {
		t.Error("a young session is over because of others")
	}
}
