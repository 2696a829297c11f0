package server

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"time"

	"resq/engine"
	"resq/engine/policy"
	"resq/schema/problem"
)

// codeOK is the code of a call that succeeded, in the log and in the metrics. Answers carry none.
const codeOK problem.Code = "OK"

// record leaves one log line for a call, and counts it. What was asked for stays out of both: arguments and
// answers are data.
func (s *Server) record(ctx context.Context, c caller, d *definition, r *Reply, err error, took time.Duration) {
	who := c.who
	level, code := slog.LevelInfo, codeOK
	if r.Code != "" {
		code = r.Code
	}
	attrs := append(make([]slog.Attr, 0, 8), slog.String("tool", d.Name), slog.String("code", string(code)),
		slog.String("request_id", r.RequestID), slog.Int64("ms", took.Milliseconds()), slog.Int("rows", r.Rows))
	attrs = caused(attrs, who)
	if r.logged != "" {
		attrs = append(attrs, slog.String("args", r.logged))
	}
	if err != nil {
		for _, p := range problem.From(err) {
			if p.Err != nil {
				level = slog.LevelError
				attrs = append(attrs, slog.String("cause", p.Err.Error()))
			}
		}
	}
	s.metrics.call(d.Name, code, took)
	s.log.LogAttrs(ctx, level, "call", attrs...)
	if s.opts.Record == nil {
		return
	}
	call := &Call{Time: time.Now(), RequestID: r.RequestID, Who: who, Tool: d.contract, Arguments: bytes.Clone(c.args), Outcome: outcomeOf(code), Rows: r.Rows, Took: took,
		Client: c.client, Version: c.version}
	if call.Tool == "" {
		call.Tool = d.Name
	}
	if code != codeOK {
		call.Code = code
	}
	if c.trace != nil {
		call.Rules, call.Bypass, call.Statements, call.Stages = c.trace.Rules(), c.trace.Bypass(), c.trace.Statements(), c.trace.Stages()
	}
	s.opts.Record(call)
}

// A Call is what is to be kept of one call of a tool.
type Call struct {
	Time       time.Time // of its end
	RequestID  string
	Who        *policy.Principal // nil is nobody
	Tool       string            // by its own name; "" is one that does not exist
	Arguments  []byte            // as they came: whoever keeps them masks them
	Outcome    string            // ok, error, denied or rate_limited
	Code       problem.Code      // "" when there is nothing to say
	Rows       int
	Took       time.Duration
	Client     string   // address; "" over stdio
	Version    int      // of the answer's form; 0 is one that does not exist
	Rules      []string // that decided about rows
	Bypass     string   // who answers for it that row rules were bypassed, and why; "" is that none were
	Statements []string // that ran, without their arguments; only for Fingerprint
	Stages     []engine.Stage
}

// outcomeOf puts a code into one of the four outcomes of an audit (E-16).
func outcomeOf(code problem.Code) string {
	switch code {
	case codeOK, problem.ConfirmRequired:
		return "ok"
	case problem.PermissionDenied, problem.Unauthenticated:
		return "denied"
	case problem.RateLimited:
		return "rate_limited"
	}
	return "error"
}

// traced lets a call gather what is done for it, when somebody wants to know.
func (s *Server) traced(ctx context.Context) (context.Context, *engine.Trace) {
	if t := engine.TraceOf(ctx); t != nil { // whoever calls gathers already
		return ctx, t
	}
	if s.opts.Record == nil {
		return ctx, nil
	}
	t := &engine.Trace{}
	return engine.WithTrace(ctx, t), t
}

// recordUnknown is record for a tool that does not exist. The name is the caller's, so it is not told.
func (s *Server) recordUnknown(ctx context.Context, c caller, code problem.Code, requestID string) {
	s.metrics.call(noTool, code, 0)
	s.log.LogAttrs(ctx, slog.LevelInfo, "call", caused([]slog.Attr{
		slog.String("code", string(code)), slog.String("request_id", requestID),
	}, c.who)...)
	if s.opts.Record != nil {
		s.opts.Record(&Call{Time: time.Now(), RequestID: requestID, Who: c.who, Outcome: outcomeOf(code), Code: code, Client: c.client, Version: c.version})
	}
}

// recordRefused leaves one log line for a request that never was a call. The status is that of HTTP; over stdio
// there is none.
func (s *Server) recordRefused(ctx context.Context, who *policy.Principal, code problem.Code, status int, requestID string) {
	attrs := []slog.Attr{slog.String("code", string(code))}
	if status != 0 {
		attrs = append(attrs, slog.Int("status", status))
	}
	if requestID != "" {
		attrs = append(attrs, slog.String("request_id", requestID))
	}
	s.metrics.refused.WithLabelValues(string(code)).Inc()
	s.log.LogAttrs(ctx, slog.LevelInfo, "refused", caused(attrs, who)...)
}

// caused adds whose doing it is, where that is known.
func caused(attrs []slog.Attr, who *policy.Principal) []slog.Attr {
	if who == nil {
		return attrs
	}
	attrs = append(attrs, slog.String("principal", who.Name))
	if who.Key != "" {
		attrs = append(attrs, slog.String("key", who.Key))
	}
	return attrs
}

// A watchedWriter notices with which status the library answers, for the record of what it refuses.
// Its errors have no place for a request id, which is in a header then.
type watchedWriter struct {
	http.ResponseWriter
	status  int
	request string // id, of a refusal
}

const headerRequest = "X-Request-Id"

// WriteHeader is part of http.ResponseWriter.
func (w *watchedWriter) WriteHeader(status int) {
	if w.status == 0 {
		if w.status = status; status >= http.StatusBadRequest {
			w.request = newRequestID()
			w.Header().Set(headerRequest, w.request)
		}
	}
	w.ResponseWriter.WriteHeader(status)
}

// Flush is part of http.Flusher, which the library asks for before it streams.
func (w *watchedWriter) Flush() { _ = http.NewResponseController(w.ResponseWriter).Flush() }

// Unwrap is for http.ResponseController.
func (w *watchedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// refusedBy is the code of a refusal of the library, which has none of ours. Zero is for an answer.
func refusedBy(status int) problem.Code {
	switch {
	case status < 400:
		return ""
	case status == http.StatusNotFound:
		return problem.NotFound
	case status >= 500:
		return problem.DataIntegrity
	}
	return problem.InvalidArgument
}
