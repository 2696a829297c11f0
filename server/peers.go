package server

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"time"
)

// A hint is what replicas tell each other. One that is lost costs a little time: a call that nobody waits for runs to the end of its
// own, and a session ends when it is old.
type hint struct {
	Session string `json:"session"`
	Cancel  string `json:"cancel,omitempty"` // the id of the call, as idOf writes it; none ends the session
}

// hint tells the other replicas, when there are any.
func (g *guard) hint(ctx context.Context, h hint) {
	if g.s.opts.Peers == nil {
		return
	}
	b, _ := json.Marshal(h) // texts always encode
	_ = g.s.opts.Peers.Send(ctx, b)
}

// heed does what another replica was told.
func (g *guard) heed(message []byte) {
	var h hint
	switch {
	case json.Unmarshal(message, &h) != nil || h.Session == "":
	case h.Cancel != "":
		g.calls.stop(h.Session, h.Cancel)
	default:
		g.sessions.end(h.Session)
	}
}

// maxHandle is longer than any handle; what is longer names nothing.
const maxHandle = 64

// A keptExport is an export as the replicas share it.
type keptExport struct {
	Owner   string    `json:"owner"`
	Tool    string    `json:"tool"`
	Args    []byte    `json:"args"`
	Expires time.Time `json:"expires"`
}

// share makes an export known to the other replicas.
func (s *Server) share(ctx context.Context, handle string, x *export) {
	if s.opts.Peers == nil {
		return
	}
	b, _ := json.Marshal(keptExport{x.owner, x.tool, x.args, x.expires})
	_ = s.opts.Peers.Keep(ctx, "export:"+handle, b, exportTime)
}

// fetch learns of an export that another replica offered. Each counts how often it was read there.
func (s *Server) fetch(ctx context.Context, handle string) {
	if s.opts.Peers == nil || len(handle) > maxHandle || s.exports.knows(handle) {
		return
	}
	b, ok := s.opts.Peers.Fetch(ctx, "export:"+handle)
	var k keptExport
	if !ok || json.Unmarshal(b, &k) != nil {
		return
	}
	s.exports.hold(handle, &export{owner: k.Owner, tool: cmp.Or(k.Tool, toolQuery), args: bytes.Clone(k.Args), expires: k.Expires})
}
