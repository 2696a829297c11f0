package server

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"resq/engine/policy"
)

// A pipe is one client on a pair of streams.
type pipe struct {
	t    *testing.T
	in   *io.PipeWriter
	out  *bufio.Scanner
	done chan error
}

func serveStdio(t *testing.T, s *Server) *pipe {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	p := &pipe{t: t, in: inW, out: bufio.NewScanner(outR), done: make(chan error, 1)}
	p.out.Buffer(nil, 16<<20)
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(func() { cancel(); inW.Close(); outR.Close() })
	go func() {
		err := s.ServeStdio(ctx, inR, outW)
		outW.Close()
		p.done <- err
	}()
	return p
}

func (p *pipe) send(lines ...string) {
	for _, l := range lines {
		fmt.Fprintln(p.in, l)
	}
}

func (p *pipe) next() string {
	p.t.Helper()
	got := make(chan string, 1)
	go func() {
		if p.out.Scan() {
			got <- p.out.Text()
		} else {
			got <- ""
		}
	}()
	select {
	case s := <-got:
		return s
	case <-time.After(5 * time.Second):
		p.t.Fatal("no answer")
		return ""
	}
}

func TestStdio(t *testing.T) {
	f := newFake()
	p := serveStdio(t, newServer(t, f, Options{Local: &policy.Principal{Name: "me"}}))
	p.send(initBody)
	if got := p.next(); !strings.Contains(got, `"protocolVersion":"2025-11-25"`) || !strings.Contains(got, `"instructions"`) {
		t.Fatal(got)
	}
	p.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`, "", "  ", `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)
	if got := p.next(); strings.Join(names(t, got), " ") != "res-schema res-query" {
		t.Fatal(got)
	}
	raw := `{"n":9007199254740993,"n":1}`
	p.send(call("res_query", raw))
	if got := p.next(); text(t, got) != `{"who":"me","text":"<a&b>"}` {
		t.Fatal(got)
	}
	if _, seen := f.last(); seen != raw {
		t.Errorf("the engine got %s", seen)
	}
	for send, want := range map[string]string{
		"not json": `"code":-32700`,
		"[]":       `"code":-32600`,
		`{"jsonrpc":"2.0","id":5,"id":6,"method":"ping"}`:                          `"code":-32600`,
		call("nosuch", "{}"):                                                       `"UNKNOWN_TOOL"`,
		call("res-query", "[]"):                                                    `INVALID_ARGUMENT`,
		call("res-query", `{"resource":"panic"}`):                                  `DATA_INTEGRITY_ERROR`,
		call("res-query", `{"resource":"driver"}`):                                 `DATA_INTEGRITY_ERROR`,
		`{"jsonrpc":"2.0","id":7,"method":"ping"}`:                                 `"id":7,"result":{}`,
		`{"jsonrpc":"2.0","id":"a\u0062","method":"nosuch"}`:                       `"code":-32601`,
		modern("tools/call", "res-query", `{}`).body:                               `"resultType":"complete"`,
		modern("server/discover", "", "").body:                                     `2026-07-28`,
		call("res-query", strings.Repeat("[", 20_000)+strings.Repeat("]", 20_000)): `INVALID_ARGUMENT`, // DOS-007
		call("res-query", `{"x":"`+strings.Repeat("y", 9<<20)+`"}`):                `LIMIT_EXCEEDED`,
	} {
		p.send(send)
		if got := p.next(); !strings.Contains(got, want) || strings.Contains(got, "secret") {
			t.Errorf("%.80s: %s", send, got)
		}
	}
	p.in.Close()
	if got := p.next(); got != "" {
		t.Errorf("more output: %s", got)
	}
	if err := <-p.done; err != nil {
		t.Error(err)
	}
}

// Calls run beside each other; a cancelled one stops and is not answered.
func TestStdioCancel(t *testing.T) {
	f := newFake()
	p := serveStdio(t, newServer(t, f, Options{}))
	slow := `{"jsonrpc":"2.0","id":"s","method":"tools/call","params":{"name":"res-query","arguments":{"resource":"slow"}}}`
	p.send(slow)
	<-f.started
	p.send(call("res-query", `{}`))
	if got := p.next(); !strings.Contains(got, `"id":1`) {
		t.Fatal(got)
	}
	p.send(slow)
	if got := p.next(); !strings.Contains(got, "still running") {
		t.Fatal(got)
	}
	p.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"\u0073"}}`)
	select {
	case <-f.stopped:
	case <-time.After(5 * time.Second):
		t.Fatal("the call was not cancelled")
	}
	p.send(`{"jsonrpc":"2.0","id":9,"method":"ping"}`)
	if got := p.next(); !strings.Contains(got, `"id":9`) {
		t.Errorf("a cancelled call was answered: %s", got)
	}
	p.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}`, `{"jsonrpc":"2.0","method":"notifications/cancelled"}`)
}

// What was asked before the input ended is answered; a subscription does not hold the end up.
func TestStdioEnd(t *testing.T) {
	listen := strings.Replace(modern("subscriptions/listen", "", "").body, `"id":1`, `"id":"listen"`, 1)
	listen = strings.Replace(listen, `"params":{`, `"params":{"notifications":{"toolsListChanged":true},`, 1)
	in := strings.Join([]string{initBody, listen, call("res-query", `{"resource":"last"}`)}, "\n") // no line end
	out := &syncBuffer{}
	start := time.Now()
	if err := newServer(t, newFake(), Options{}).ServeStdio(t.Context(), strings.NewReader(in), out); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), `{\"who\":\"local\"`) {
		t.Errorf("no answer to the last call: %s", out)
	}
	if took := time.Since(start); took > 3*time.Second {
		t.Errorf("the subscription held the end up for %v", took)
	}
	ctx, cancel := context.WithCancel(t.Context())
	r, w := io.Pipe()
	defer w.Close()
	cancel()
	if err := newServer(t, newFake(), Options{}).ServeStdio(ctx, r, out); err != nil {
		t.Errorf("ended by a signal: %v", err)
	}
	if err := newServer(t, newFake(), Options{}).ServeStdio(t.Context(), strings.NewReader(initBody+"\n"), broken{}); err == nil {
		t.Error("a client that is gone is no error")
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// Many calls at once all come back, each with its own answer.
func TestStdioMany(t *testing.T) {
	p := serveStdio(t, newServer(t, newFake(), Options{}))
	const n = 300
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range n {
			p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"res-query","arguments":{}}}`, i+1))
		}
	})
	seen := map[string]bool{}
	for range n {
		got := p.next()
		id, _, _ := strings.Cut(strings.TrimPrefix(got, `{"jsonrpc":"2.0","id":`), ",")
		seen[id] = true
	}
	wg.Wait()
	if len(seen) != n {
		t.Errorf("%d different answers to %d calls", len(seen), n)
	}
}
