package server

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"resq/engine/policy"
)

// owners are whose keys are, by now.
type owners struct {
	mu sync.Mutex
	of map[string]*policy.Principal
}

func (o *owners) set(key string, who *policy.Principal) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.of[key] = who
}

func (o *owners) find(_ context.Context, key string) (*policy.Principal, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.of[key], nil
}

func withTools(name string, tools ...string) *policy.Principal {
	p := &policy.Principal{Name: name, Key: name, Scopes: []string{"read"}, Tools: map[string]bool{}}
	for _, t := range tools {
		p.Tools[policy.ToolKey(t)] = true
	}
	return p
}

// streams opens a stream of either era for a key, and gives a session without one beside.
func streams(t *testing.T, url, key string) (legacy, listener <-chan string, quiet exchange) {
	t.Helper()
	bearer := func(e exchange) exchange { return e.with("Authorization", "Bearer "+key) }
	begin := func() exchange {
		id := bearer(exchange{body: initBody}).do(t, url).header.Get("Mcp-Session-Id")
		e := bearer(exchange{body: `{"jsonrpc":"2.0","method":"notifications/initialized"}`}).with("Mcp-Session-Id", id)
		e.do(t, url)
		return e
	}
	quiet = begin()
	quiet.body = call("res-query", `{}`)
	quiet.do(t, url)
	get := begin()
	get.method, get.body = http.MethodGet, ""
	legacy, listener = get.stream(t, url), bearer(listenBody()).stream(t, url)
	if got := within(listener, 5*time.Second); !strings.Contains(got, "subscriptions/acknowledged") {
		t.Fatalf("acknowledged: %s", got)
	}
	time.Sleep(50 * time.Millisecond) // for the GET stream to be registered
	return legacy, listener, quiet
}

// E-10: a change of what keys may use is told to the clients whose tools have become others, on streams of both eras,
// over stdio and with the next call of a session, and to nobody else: that a key was made is none of their business.
func TestChangedIsToldToWhomItConcerns(t *testing.T) {
	o := &owners{of: map[string]*policy.Principal{"key-a": withTools("alice", "res-query"), "key-b": withTools("bob", "res-query")}}
	var off sync.Map
	s := newServer(t, newFake(), Options{Authenticate: o.find, Local: withTools("here", "res-query", "res-schema"),
		Enabled: func(tool string) bool { _, is := off.Load(tool); return !is }})
	url := serveHTTP(t, s)
	legacyA, listenerA, quietA := streams(t, url, "key-a")
	legacyB, listenerB, quietB := streams(t, url, "key-b")
	p := serveStdio(t, s)
	p.send(initBody)
	p.next()
	p.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`, `{"jsonrpc":"2.0","id":5,"method":"ping"}`)
	p.next()
	told := func(about string, e exchange, want bool) {
		t.Helper()
		if got := e.do(t, url).body; strings.Contains(got, "tools/list_changed") != want {
			t.Errorf("%s: told is not %v: %s", about, want, got)
		}
	}
	silent := func(about string, lines ...<-chan string) {
		t.Helper()
		for i, l := range lines {
			if got := within(l, 100*time.Millisecond); got != "" {
				t.Errorf("%s: stream %d was told %s", about, i, got)
			}
		}
	}
	hears := func(about string, lines ...<-chan string) {
		t.Helper()
		for _, l := range lines {
			expectChanged(t, about, func() string { return within(l, 5*time.Second) })
		}
	}
	o.set("key-c", withTools("carol", "res-schema"))
	s.Changed()
	silent("a new key", legacyA, listenerA, legacyB, listenerB)
	told("a new key", quietA, false)

	o.set("key-a", withTools("alice", "res-query", "res-schema"))
	s.Changed()
	hears("one more tool", legacyA, listenerA)
	silent("a tool of somebody else", legacyB, listenerB)
	told("one more tool", quietA, true)
	told("one more tool, again", quietA, false)
	told("a tool of somebody else", quietB, false)

	off.Store("res-schema", true)
	s.Changed()
	hears("a tool is switched off", legacyA, listenerA)
	expectChanged(t, "stdio", p.next) // which was not told of anything before
	silent("a tool that it never had", legacyB, listenerB)
	told("a tool is switched off", quietA, true)
	told("a tool that it never had", quietB, false)

	s.Swap(newFake()) // is told to everybody, once
	hears("another catalog", legacyA, listenerA, legacyB, listenerB)
	told("another catalog", quietB, true)
	s.Changed()
	silent("nothing since", legacyA, listenerA, legacyB, listenerB)
	told("nothing since", quietB, false)
}

// N3, E-10: streams of both eras end with the key that opened them, and those of other keys do not.
func TestStreamsEndWithTheirKey(t *testing.T) {
	o := &owners{of: map[string]*policy.Principal{"key-a": withTools("alice", "res-query"), "key-b": withTools("bob", "res-query")}}
	s := newServer(t, newFake(), Options{Authenticate: o.find})
	url := serveHTTP(t, s)
	legacyA, listenerA, _ := streams(t, url, "key-a")
	legacyB, listenerB, _ := streams(t, url, "key-b")
	o.set("key-a", nil)
	s.Changed()
	for i, l := range []<-chan string{legacyA, listenerA} {
		for open := true; open; {
			select {
			case _, open = <-l: // the newer era says goodbye
			case <-time.After(5 * time.Second):
				t.Fatalf("stream %d of a revoked key is open after five seconds", i)
			}
		}
	}
	for i, l := range []<-chan string{legacyB, listenerB} {
		if got := within(l, 50*time.Millisecond); got != "" {
			t.Errorf("stream %d of another key was told %s", i, got)
		}
		select {
		case _, open := <-l:
			if !open {
				t.Errorf("stream %d of another key ended", i)
			}
		default:
		}
	}
}
