package server

import (
	"encoding/json"
	"maps"
	"sync"
	"sync/atomic"

	"github.com/mark3labs/mcp-go/mcp"
)

// A lease counts the calls that run on one backend, so that its owner can be told when the last one is done.
type lease struct {
	Backend
	users atomic.Int64 // the server itself is one for as long as the backend is the current one
	once  sync.Once
	idle  chan struct{} // closed when nobody uses it any more
}

func newLease(b Backend) *lease {
	l := &lease{Backend: b, idle: make(chan struct{})}
	l.users.Store(1)
	return l
}

func (l *lease) release() {
	if l.users.Add(-1) == 0 {
		l.once.Do(func() { close(l.idle) })
	}
}

// lend gives the current backend to a call, which must release it.
func (s *Server) lend() *lease {
	for {
		l := s.backend.Load()
		l.users.Add(1)
		if s.backend.Load() == l { // so whoever replaces it from here on waits for this call
			return l
		}
		l.release()
	}
}

// Lend gives the current backend to somebody beside the calls, who is done with it when the function is called.
func (s *Server) Lend() (Backend, func()) {
	l := s.lend()
	return l.Backend, l.release
}

// Swap puts another backend in the place of the current one and does not wait. Calls that begin afterwards go
// to b; those that run finish on the old backend, and when the last of them has, the channel is closed: from
// then on the server never calls the old one again, so its owner can close it. Clients that asked to be told are
// told that tools and resources may have changed; a session without a stream is told with its next call.
func (s *Server) Swap(b Backend) (idle <-chan struct{}) {
	before := s.views()
	after, err := newViews(s.own.with(b.Tools(s.opts.Lang)), s.opts.Profile)
	if err != nil { // names that meet, which the catalog refuses before
		s.log.Error("the tools of the new catalog cannot be listed", "error", err)
		after = before
	}
	old := s.backend.Swap(newLease(b))
	s.offered.Store(after)
	s.health.forget()
	s.announce(!s.reregister(before.box.Tools, after.box.Tools))
	old.release()
	return old.idle
}

// Changed says that what callers may use can be another by now. The clients of those for whom it is are told: with an open
// stream at once, and a session without one with its next call. The others hear nothing.
func (s *Server) Changed() {
	s.shifts.Add(1)
	s.wake()
}

// announce tells every client that the backend is another.
func (s *Server) announce(tools bool) {
	s.changes.Add(1)
	if tools {
		s.mcp.SendNotificationToAllClients(mcp.MethodNotificationToolsListChanged, nil)
	}
	s.mcp.SendNotificationToAllClients(mcp.MethodNotificationResourcesListChanged, nil)
	s.wake() // what was seen before is not compared with any more
}

// reregister tells the library which tools came and went. It says true when the library told its clients.
func (s *Server) reregister(before, after []definition) (told bool) {
	names := func(list []definition) map[string]bool {
		out := map[string]bool{}
		for i := range list {
			for _, n := range list[i].spellings() {
				out[n] = true
			}
		}
		return out
	}
	was, is := names(before), names(after)
	if maps.Equal(was, is) {
		return false
	}
	var gone []string
	for n := range was {
		if !is[n] {
			gone = append(gone, n)
		}
	}
	if len(gone) > 0 {
		s.mcp.DeleteTools(gone...)
	}
	var came []definition
	for _, d := range after {
		if !was[d.Name] {
			came = append(came, d)
		}
	}
	if len(came) > 0 {
		s.mcp.AddTools(s.registered(came)...)
	}
	return true
}

// Degrade says that a reload failed, so that the server works on an old catalog because the new one is bad.
// /readyz gives the reason and stays well: the answers are right, and a restart would not help. /metrics counts
// it. An empty reason ends it. The reason is shown to whoever can reach /readyz, so it must name nothing secret.
func (s *Server) Degrade(reason string) {
	if reason == "" {
		s.degraded.Store(nil)
		return
	}
	s.degraded.Store(&reason)
	s.metrics.failed.Inc()
}

// degradation is what /readyz says while the server is degraded, or nil.
func (s *Server) degradation() []byte {
	reason := s.degraded.Load()
	if reason == nil {
		return nil
	}
	b, _ := json.Marshal(struct { // two strings always encode
		Status string `json:"status"`
		Reason string `json:"reason"`
	}{"degraded", *reason})
	return append(b, '\n')
}
