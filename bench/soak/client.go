package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// A tally counts what clients met.
type tally struct {
	answered, hungUp, broken, sessions, news, wrong, failed atomic.Int64

	mu      sync.Mutex
	refused map[string]int64 // by code
	first   string           // what the first wrong answer or error was
	refusal string           // … and the first refusal
}

func (t *tally) tell(n *atomic.Int64, format string, args ...any) {
	n.Add(1)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.first == "" {
		t.first = fmt.Sprintf(format, args...)
	}
}

// A client is one connection that calls without a pause.
type client struct {
	url     string
	shop    *shop
	tally   *tally
	rand    *rand.Rand
	http    *http.Client
	keeps   bool // begins sessions, as clients before 2026-07-28 do
	session string
	key     string
	outage  *outage
}

func newClient(url string, s *shop, t *tally, r *rand.Rand, keeps bool) *client {
	return &client{url: url, shop: s, tally: t, rand: r, keeps: keeps, key: soakKey,
		http: &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 1}}}
}

func (c *client) run(ctx context.Context) {
	defer c.http.CloseIdleConnections()
	for n := 0; ctx.Err() == nil; n++ {
		if c.keeps && n%200 == 0 {
			c.begin(ctx)
		}
		call := &c.shop.calls[c.rand.IntN(len(c.shop.calls))]
		switch p := c.rand.IntN(1000); {
		case p < 30 || call.slow && p < 500:
			c.hangUp(ctx, call)
		case p < 35:
			c.breakOff(ctx)
		default:
			c.call(ctx, call)
		}
	}
	if c.session != "" {
		c.end(context.WithoutCancel(ctx))
	}
}

// post sends a message and gives the answer's body.
func (c *client) post(ctx context.Context, body string) (*http.Response, []byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, strings.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("Authorization", "Bearer "+c.key)
	if c.session != "" {
		req.Header.Set("Mcp-Session-Id", c.session)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		b = c.last(b)
	}
	return resp, b, err
}

// last gives the last message of a stream, which is the answer, and counts the news before it.
func (c *client) last(stream []byte) (message []byte) {
	for line := range bytes.Lines(stream) {
		if data, ok := bytes.CutPrefix(line, []byte("data: ")); ok {
			message = data
			if bytes.Contains(data, []byte(`"notifications/tools/list_changed"`)) {
				c.tally.news.Add(1)
			}
		}
	}
	return message
}

// begin ends the session that there is and begins another.
func (c *client) begin(ctx context.Context) {
	if c.session != "" {
		c.end(ctx)
	}
	resp, _, err := c.post(ctx, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"soak","version":"1"}}}`)
	if err != nil {
		if ctx.Err() == nil {
			c.tally.tell(&c.tally.failed, "initialize: %v", err)
		}
		return
	}
	c.session = resp.Header.Get("Mcp-Session-Id")
	c.tally.sessions.Add(1)
	_, _, _ = c.post(ctx, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

func (c *client) end(ctx context.Context) {
	req, err := http.NewRequestWithContext(ctx, http.MethodDelete, c.url, nil)
	if err != nil {
		return
	}
	req.Header.Set("Authorization", "Bearer "+c.key)
	req.Header.Set("Mcp-Session-Id", c.session)
	c.session = ""
	if resp, err := c.http.Do(req); err == nil {
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
}

func (c *client) message(call *call) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"%s","arguments":%s}}`, c.rand.IntN(1<<30), call.tool, call.args)
}

// call makes a call and compares its answer with those that are right.
func (c *client) call(ctx context.Context, call *call) {
	begun := time.Now()
	_, b, err := c.post(ctx, c.message(call))
	switch {
	case ctx.Err() != nil: // the end
		return
	case err != nil:
		c.tally.tell(&c.tally.failed, "%s: %v", call.args, err)
		return
	}
	c.tally.answered.Add(1)
	var a struct {
		Result struct {
			Content []struct{ Text string }
		}
	}
	var texts []string
	if json.Unmarshal(b, &a) == nil {
		for _, t := range a.Result.Content {
			texts = append(texts, t.Text)
		}
	}
	got := plain(strings.Join(texts, "\n"))
	if got == call.answers[0] || got == call.answers[1] {
		c.outage.answer(begun, call.reads)
		return
	}
	var fault struct{ Error struct{ Code string } }
	if json.Unmarshal([]byte(got), &fault) == nil && fault.Error.Code != "" {
		if c.outage.refuse(fault.Error.Code, call.args+"\n"+got) {
			return
		}
		c.tally.mu.Lock()
		c.tally.refused[fault.Error.Code]++
		if c.tally.refusal == "" {
			c.tally.refusal = call.args + "\n" + got
		}
		c.tally.mu.Unlock()
		return
	}
	c.tally.tell(&c.tally.wrong, "%s\n%.600s", call.args, b)
}

// hangUp makes a call and closes the connection after a moment, unless the answer was quicker.
func (c *client) hangUp(ctx context.Context, call *call) {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(c.rand.IntN(20_000))*time.Microsecond)
	defer cancel()
	if _, _, err := c.post(ctx, c.message(call)); errors.Is(err, context.DeadlineExceeded) {
		c.tally.hungUp.Add(1)
	}
}

// breakOff opens a connection and leaves in the middle of a request.
func (c *client) breakOff(ctx context.Context) {
	u, err := url.Parse(c.url)
	if err != nil {
		return
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", u.Host)
	if err != nil {
		return
	}
	defer conn.Close()
	whole := "POST " + u.Path + " HTTP/1.1\r\nHost: " + u.Host + "\r\nContent-Type: application/json\r\nContent-Length: 5000\r\n\r\n{\"jsonrpc\":\"2.0\""
	_, _ = io.WriteString(conn, whole[:c.rand.IntN(len(whole))])
	c.tally.broken.Add(1)
}
