package server

import (
	"context"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	mcpgo "github.com/mark3labs/mcp-go/server"
)

// keyTime is between two looks at whether the key of an open stream is still good.
const keyTime = 2 * time.Second

// A sight is what the client of a stream or a session was last told, or found out by asking first.
type sight struct {
	swaps, shifts int64 // changes of the backend, and of what callers may use of it
	tools         string
}

// sees is what a caller sees by now. The counts are read first: a change in between is looked at once more.
func (s *Server) sees(swaps, shifts int64, c caller) sight {
	var names strings.Builder
	for _, d := range c.open() {
		names.WriteString(d.Name)
		names.WriteByte('\n')
	}
	return sight{swaps, shifts, names.String()}
}

// missed says whether a client that was told up to before, and of every change of the backend, has to be told of now.
// When the backend has changed as well, nobody knows which of the two it has asked after.
func (before sight) missed(now sight) bool {
	return now.shifts != before.shifts && (now.tools != before.tools || now.swaps != before.swaps)
}

// stream is the context of a stream, which ends with the key that opened it. While it is open its client is told when
// the tools that it may use have become others: tell does, and says false when it is too early to.
func (s *Server) stream(ctx context.Context, c caller, tell func() bool) (context.Context, context.CancelFunc) {
	ctx, hangUp := context.WithCancel(ctx)
	woken := *s.woken.Load()
	last := s.sees(s.changes.Load(), s.shifts.Load(), c)
	go func() {
		tick := time.NewTicker(keyTime)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-woken:
			case <-tick.C:
			}
			woken = *s.woken.Load() // before the look, so that none after it is missed
			swaps, shifts := s.changes.Load(), s.shifts.Load()
			who := c.who
			if c.still != nil {
				if who = c.still(); who == nil {
					hangUp()
					return
				}
			}
			if swaps == last.swaps && shifts == last.shifts {
				continue
			}
			by := s.caller(who)
			by.view = s.views().view(c.view.profile)
			now := s.sees(swaps, shifts, by)
			if last.missed(now) && !tell() {
				continue
			}
			last = now
		}
	}()
	return ctx, hangUp
}

// wake lets every stream look whether its client has to be told something.
func (s *Server) wake() {
	next := make(chan struct{})
	close(*s.woken.Swap(&next))
}

// listChanged are the notifications of what a client lists.
var listChanged = []string{mcp.MethodNotificationToolsListChanged, mcp.MethodNotificationResourcesListChanged}

// tellSession tells a session that is registered with the library, if its client is ready to hear.
func (s *Server) tellSession(id string) bool {
	for _, method := range listChanged {
		_ = s.mcp.SendNotificationToSpecificClient(id, method, nil) // one that is not ready has listed nothing yet
	}
	return true
}

// A subscription is the library's session of a stream of the newer era, from its beginning on.
type subscription struct {
	session atomic.Pointer[mcpgo.ClientSession]
}

// attach is told by the library when the stream begins.
func (x *subscription) attach(session mcpgo.ClientSession) {
	if x != nil && session != nil {
		x.session.Store(&session)
	}
}

// tell tells the client what it asked for. Before it has, it cannot be told.
func (x *subscription) tell() bool {
	session := x.session.Load()
	if session == nil {
		return false
	}
	filtered, ok := (*session).(mcpgo.SessionWithSubscriptionFilter)
	if !ok {
		return true
	}
	filter, _ := filtered.SubscriptionFilter()
	for i, wanted := range []bool{filter.ToolsListChanged, filter.ResourcesListChanged} {
		if !wanted {
			continue
		}
		select {
		case filtered.NotificationChannel() <- mcp.JSONRPCNotification{JSONRPC: mcp.JSONRPC_VERSION, Notification: mcp.Notification{Method: listChanged[i]}}:
		default: // a client that does not read
		}
	}
	return !filter.IsEmpty()
}
