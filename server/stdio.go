package server

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"resq/schema/problem"
)

const (
	maxLine    = 8 << 20 // bytes of one message; arguments have the engine's own limit
	stdioCalls = 64      // at once; more wait
	stdioDrain = 5 * time.Second
)

// ServeStdio answers one client over a pair of streams until the input ends or ctx does; calls that run at the
// end of the input are given five seconds, and then told that the server ends. The library's own loop is not used: it answers cancelled requests,
// cuts running calls when the input ends, tells the client the text of a panic, and reads lines of any length.
func (s *Server) ServeStdio(ctx context.Context, in io.Reader, out io.Writer) error {
	base, cut := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cut(nil)
	defer context.AfterFunc(ctx, func() { cut(ending) })()
	l := &stdio{s: s, out: out, cut: cut, running: map[string]context.CancelFunc{}, slots: make(chan struct{}, stdioCalls)}
	open, hangUp := context.WithCancel(base)
	defer hangUp()
	l.open, l.hangUp = open, hangUp
	session := &talker{localSession: &localSession{notes: make(chan mcp.JSONRPCNotification, 16)}, l: l, open: map[string]chan *mcp.ElicitationResult{}}
	l.session = session
	if err := s.mcp.RegisterSession(base, session); err != nil {
		return fmt.Errorf("stdio: %w", err)
	}
	defer s.mcp.UnregisterSession(context.WithoutCancel(base), session.SessionID())
	l.base = s.mcp.WithContext(base, session)
	_, unfollow := s.stream(base, s.local(), func() bool { return s.tellSession(session.SessionID()) })
	defer unfollow()
	go func() {
		for {
			select {
			case n := <-session.notes:
				l.write(n)
			case <-base.Done():
				return
			}
		}
	}()

	lines := make(chan line)
	go read(base, bufio.NewReaderSize(in, 64<<10), lines)
	for {
		select {
		case <-base.Done():
			l.calls.Wait()
			return l.err()
		case next := <-lines:
			if next.err != nil {
				l.drain()
				if errors.Is(next.err, io.EOF) {
					return l.err()
				}
				return fmt.Errorf("stdio: %w", next.err)
			}
			l.take(next)
		}
	}
}

// A line is one line of input, or why there is none.
type line struct {
	text []byte
	long bool
	err  error
}

// read cuts the input into lines. What is longer than a message may be is skipped, not kept.
func read(ctx context.Context, in *bufio.Reader, lines chan<- line) {
	for {
		var next line
		for {
			part, err := in.ReadSlice('\n')
			if len(next.text)+len(part) > maxLine {
				next.long, next.text = true, nil
			} else if !next.long {
				next.text = append(next.text, part...)
			}
			if err == nil || !errors.Is(err, bufio.ErrBufferFull) {
				next.err = err
				break
			}
		}
		last := next.err
		if last != nil && (next.long || skipSpace(next.text, 0) < len(next.text)) {
			next.err = nil // the last message may lack its line end
			select {
			case lines <- next:
			case <-ctx.Done():
				return
			}
			next = line{err: last}
		}
		select {
		case lines <- next:
		case <-ctx.Done():
			return
		}
		if next.err != nil {
			return
		}
	}
}

// stdio is the state of one ServeStdio.
type stdio struct {
	s       *Server
	base    context.Context
	cut     context.CancelCauseFunc
	session *talker
	slots   chan struct{}
	calls   sync.WaitGroup

	open   context.Context // while more input may come; subscriptions last as long
	hangUp context.CancelFunc

	mu      sync.Mutex
	running map[string]context.CancelFunc // request id → its call

	outMu  sync.Mutex
	out    io.Writer
	broken error
}

// take starts one message. Only initialize and notifications are answered before the next line is read:
// everything else may run beside what follows it.
func (l *stdio) take(in line) {
	if in.long {
		l.write(l.refuse(&refusal{rpc: mcp.INVALID_REQUEST, code: problem.LimitExceeded, message: fmt.Sprintf("the message is larger than %d bytes", maxLine)}))
		return
	}
	if skipSpace(in.text, 0) == len(in.text) {
		return
	}
	m, err := parseMessage(in.text)
	if err != nil {
		rpc := mcp.INVALID_REQUEST
		if errors.Is(err, errNotJSON) {
			rpc = mcp.PARSE_ERROR
		}
		l.write(l.refuse(&refusal{rpc: rpc, code: problem.InvalidArgument, message: err.Error()}))
		return
	}
	switch {
	case m.method == methodCancel:
		l.stop(m)
	case m.reply:
		l.session.hears(m)
	case m.id == nil || m.method == methodInit || m.method == "":
		if m.method == methodInit {
			l.session.greeted()
			l.session.greets(m)
		}
		l.write(l.answer(l.base, m))
	default:
		l.start(m)
	}
}

// start runs a request beside the others, under its id.
func (l *stdio) start(m *message) {
	id := idOf(m.id)
	ctx, cancel := context.WithCancel(l.base)
	l.mu.Lock()
	_, twice := l.running[id]
	if !twice {
		l.running[id] = cancel
	}
	l.mu.Unlock()
	if twice {
		cancel()
		l.write(l.refuse(&refusal{id: m.id, rpc: mcp.INVALID_REQUEST, code: problem.InvalidArgument, message: "a request with this id is still running"}))
		return
	}
	select {
	case l.slots <- struct{}{}:
	case <-l.base.Done():
		cancel()
		return
	}
	l.calls.Go(func() {
		defer func() { <-l.slots }()
		ctx := ctx
		if m.method == methodListen {
			defer context.AfterFunc(l.open, cancel)()
			var forget func()
			ctx, forget = l.listen(ctx, m.id)
			defer forget()
		}
		response := l.answer(ctx, m)
		cancelled := !wanted(ctx) || m.method == methodListen && ctx.Err() != nil
		l.mu.Lock()
		delete(l.running, id) // before the client can see the answer and use the id again
		l.mu.Unlock()
		cancel()
		if !cancelled {
			l.write(response)
			if b, ok := response.([]byte); ok { // of direct, which nobody else has
				outgoing.Give(b)
			}
		}
	})
}

// refuse is the answer to what cannot be, and leaves a record of it.
func (l *stdio) refuse(no *refusal) *rpcFault {
	request := newRequestID()
	if no.call {
		l.s.recordUnknown(l.base, caller{who: l.s.opts.Local, version: 1}, no.code, request)
	} else {
		l.s.recordRefused(l.base, l.s.opts.Local, no.code, 0, request)
	}
	return rpcError(no.id, no.rpc, fault{Code: no.code, Reason: no.reason, Message: no.message, RetryAfter: no.retry, RequestID: request})
}

// stop cancels a running request; it will not be answered, as the protocol demands.
func (l *stdio) stop(m *message) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if cancel, ok := l.running[m.cancels()]; ok {
		cancel()
	}
}

// answer handles one message. It gives nil where none is due.
func (l *stdio) answer(ctx context.Context, m *message) (response any) {
	c := l.s.local()
	if m.method == methodCall && m.id != nil {
		if _, ok := l.s.toolFor(c, m.tool); !ok {
			return l.refuse(l.s.unknown(ctx, c, m))
		}
	}
	defer func() {
		if p := recover(); p != nil {
			id := newRequestID()
			l.s.log.Error("panic", "request_id", id, "method", m.method, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			response = nil
			if m.id != nil {
				response = rpcError(m.id, mcp.INTERNAL_ERROR, fault{Code: problem.DataIntegrity, Message: "internal error", RequestID: id})
			}
		}
	}()
	c.args = m.args
	no := l.s.prepare(ctx, &c, m)
	if c.offer.done != nil {
		defer c.offer.done()
	}
	if no != nil {
		return l.refuse(no)
	}
	c.able = l.able(m)
	c.asks = l.s.asks(m, c.able)
	if page, ok := l.s.page(m, nil, c); ok {
		return page
	}
	if direct := !c.asks && m.page == "" && plain(m, nil); direct || c.asks { // Note [the direct way]
		stop := func() {}
		if m.beat != nil {
			stop = l.s.progress(ctx, m.beat, func(note []byte) { l.write(note) })
		}
		defer stop()
		if direct {
			if out, ok := l.s.direct(ctx, m, c); ok {
				return out
			}
		}
	}
	if inexact(m.id) {
		return l.refuse(m.refuseID())
	}
	return l.s.mcp.HandleMessage(withCaller(ctx, c), m.rest)
}

// drain lets the calls in flight finish, for a while, and ends the rest.
func (l *stdio) drain() {
	l.hangUp()
	finished := make(chan struct{})
	go func() { l.calls.Wait(); close(finished) }()
	select {
	case <-finished:
	case <-time.After(stdioDrain):
	}
	l.cut(ending)
	<-finished
}

// write sends one message as one line: bytes as they are, anything else as JSON. When the client is gone, so is the reason to go on.
func (l *stdio) write(v any) {
	if v == nil {
		return
	}
	b, whole := v.([]byte)
	if !whole {
		var err error
		if b, err = json.Marshal(v); err != nil {
			l.s.log.Error("response cannot be written as JSON", "error", err)
			return
		}
		b = append(b, '\n')
	}
	l.outMu.Lock()
	defer l.outMu.Unlock()
	if l.broken != nil {
		return
	}
	if _, err := l.out.Write(b); err != nil {
		l.broken = err
		l.cut(nil)
	}
}

func (l *stdio) err() error {
	l.outMu.Lock()
	defer l.outMu.Unlock()
	if l.broken != nil {
		return fmt.Errorf("stdio: %w", l.broken)
	}
	return nil
}
