package server

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// progressTime is between two signs of life of a long call. Clients give up after a minute of silence.
const progressTime = 5 * time.Second

// progress tells the client of a call, while it runs, that it does. The function ends that, and returns when
// nothing more will be told; it may be called again. The library's own way is not used because the last
// notification can come after the answer, and is lost then.
func (s *Server) progress(ctx context.Context, token []byte, tell func(note []byte)) (stop func()) {
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(s.beat)
		defer tick.Stop()
		start := time.Now()
		for n := 1; ; n++ {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			case <-end:
				return
			}
			// What is still to come cannot be known, so the measure is the beats so far, and there is no total.
			b := append([]byte(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":`), token...)
			b = strconv.AppendInt(append(b, `,"progress":`...), int64(n), 10)
			b = append(b, `,"message":"running for `...)
			b = strconv.AppendInt(b, int64(time.Since(start).Round(time.Second)/time.Second), 10)
			tell(append(b, " s\"}}\n"...))
		}
	}()
	return sync.OnceFunc(func() { close(end); <-ended })
}

// takesEvents says whether a client reads an answer that comes as a stream of events.
func takesEvents(h http.Header) bool {
	for _, accept := range h.Values("Accept") {
		if strings.Contains(accept, "text/event-stream") {
			return true
		}
	}
	return false
}

// An eventStream is an answer of several messages. It is not safe for concurrent use: progress ends before the
// answer is sent.
type eventStream struct {
	w    http.ResponseWriter
	open bool
}

// send writes one message, which ends in a line end.
func (e *eventStream) send(message []byte) {
	if !e.open {
		e.open = true
		h := e.w.Header()
		h.Set("Content-Type", "text/event-stream")
		h.Set("Cache-Control", "no-store")
	}
	_, _ = e.w.Write(append(append([]byte("event: message\ndata: "), message...), '\n')) // a client that is gone has cancelled the call
	_ = http.NewResponseController(e.w).Flush()
}
