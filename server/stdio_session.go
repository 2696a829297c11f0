package server

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"maps"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
)

// localSession is the one session of a pair of streams.
type localSession struct {
	notes chan mcp.JSONRPCNotification
	mu    sync.Mutex
	greet bool // an initialize was sent
	ready bool
}

func (*localSession) SessionID() string { return "stdio" }

func (s *localSession) NotificationChannel() chan<- mcp.JSONRPCNotification { return s.notes }

// Initialize makes the session one that is told of changes. The library calls it for clients of the newer era
// too, which are told nothing that they did not ask for.
func (s *localSession) Initialize() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ready = s.greet
}

// greeted says that the client begins as clients before 2026-07-28 do.
func (s *localSession) greeted() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.greet = true
}

func (s *localSession) Initialized() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ready
}

// A listener is the session of one subscriptions/listen over a pair of streams. The library tells a session of
// its own only what it asked for, and tells the client's other session, which asked for nothing, nothing.
type listener struct {
	localSession
	name string
	id   json.RawMessage // of the request, by which the client knows its notifications

	filterMu sync.Mutex
	filter   mcp.SubscriptionFilter
}

func (s *listener) SessionID() string { return s.name }

func (s *listener) SetSubscriptionFilter(f mcp.SubscriptionFilter) {
	s.filterMu.Lock()
	defer s.filterMu.Unlock()
	s.filter = f
}

// SubscriptionFilter is active from the first moment on: what comes before the filter was not asked for.
func (s *listener) SubscriptionFilter() (mcp.SubscriptionFilter, bool) {
	s.filterMu.Lock()
	defer s.filterMu.Unlock()
	return s.filter, true
}

// listen makes the session of a subscription and writes what arrives for it until the function is called.
func (l *stdio) listen(ctx context.Context, id json.RawMessage) (context.Context, func()) {
	s := &listener{name: "listen " + rand.Text(), id: id, localSession: localSession{notes: make(chan mcp.JSONRPCNotification, 16), greet: true, ready: true}}
	ctx, cancel := context.WithCancel(ctx)
	if err := l.s.mcp.RegisterSession(ctx, s); err != nil { // the name is random, so there is none of it
		l.s.log.Error("subscription", "error", err)
		return ctx, cancel
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case n := <-s.notes:
				l.write(s.tag(n))
			case <-ctx.Done():
				return
			}
		}
	}()
	x := &subscription{}
	x.attach(s)
	streaming, unfollow := l.s.stream(ctx, l.s.local(), x.tell)
	return l.s.mcp.WithContext(streaming, s), func() {
		unfollow()
		l.s.mcp.UnregisterSession(context.WithoutCancel(ctx), s.name)
		cancel()
		<-done
	}
}

// tag names the subscription in a notification. The library sends one notification to many, so it is copied.
func (s *listener) tag(n mcp.JSONRPCNotification) mcp.JSONRPCNotification {
	meta := maps.Clone(n.Params.Meta)
	if meta == nil {
		meta = map[string]any{}
	}
	meta[mcp.MetaKeySubscriptionID] = s.id
	n.Params.Meta = meta
	return n
}
