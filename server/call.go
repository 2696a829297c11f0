package server

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"resq/engine"
	"resq/engine/policy"
	"resq/schema/problem"
)

// A Reply is what a tool call gives back.
type Reply struct {
	Texts     []string // the text blocks in order
	Failed    bool     // the one block is an error the caller can act on
	Code      problem.Code
	Rows      int
	RequestID string

	answer     *engine.Answer  // whose text is not in Texts yet; nil when there is none
	preview    *engine.Preview // of a change that waits for its confirmation
	link       *link           // to the whole of an answer that was cut
	logged     string          // the arguments that the log may hold
	why        fault           // of a failed one
	structured []byte          // the same once more as JSON, for clients that ask for it
}

// Call runs one tool for a principal. Problems of the request are a failed Reply, never an error; false means
// that there is no such tool for the principal.
func (s *Server) Call(ctx context.Context, who *policy.Principal, tool string, args []byte) (*Reply, bool) {
	c := s.caller(who)
	c.args, c.view, c.version = args, s.views().view(contractProfile), 1
	return s.reply(ctx, c, tool)
}

// caller is a principal as it may use this server now.
func (s *Server) caller(who *policy.Principal) caller {
	return caller{who: who, verbs: s.verbs(who), offers: s.granted(who), reaches: s.reaches(who), enabled: s.opts.Enabled}
}

// reply is call for whoever takes the answer as texts.
func (s *Server) reply(ctx context.Context, c caller, tool string) (*Reply, bool) {
	r, ok := s.call(ctx, c, tool)
	if ok {
		r.fill()
	}
	return r, ok
}

// blocks are the text blocks of a reply, as bytes that are gone once it is released.
func (r *Reply) blocks() [][]byte {
	var b [][]byte
	for _, t := range r.Texts {
		b = append(b, []byte(t))
	}
	if a := r.answer; a != nil {
		if b = append(b, a.Text); a.Meta != nil {
			b = append(b, a.Meta)
		}
	}
	return b
}

// fill makes texts of the answer's bytes.
func (r *Reply) fill() {
	a := r.answer
	if a == nil {
		return
	}
	r.Texts = append(r.Texts, string(a.Text))
	if a.Meta != nil {
		r.Texts = append(r.Texts, string(a.Meta))
	}
	r.release()
}

// release gives back what the answer was written in.
func (r *Reply) release() {
	if r.answer != nil {
		r.answer.Release()
		r.answer = nil
	}
}

// local is whoever asks without a transport that could tell.
func (s *Server) local() caller {
	c := s.caller(s.opts.Local)
	c.view = s.views().view(s.opts.Profile)
	c.wants("", "")
	return c
}

// call is Call for a client that wants its answer in a form of its own.
func (s *Server) call(ctx context.Context, c caller, tool string) (*Reply, bool) {
	d, ok := s.toolFor(c, tool)
	if !ok {
		return nil, false
	}
	start := time.Now()
	r := &Reply{RequestID: newRequestID()}
	if s.opts.Trace != nil {
		var end func(string, int)
		ctx, end = s.opts.Trace(ctx, d.Name, r.RequestID, c.parent)
		defer func() { end(string(cmp.Or(r.Code, codeOK)), r.Rows) }()
	}
	ctx, c.trace = s.traced(ctx)
	s.metrics.running.Inc()
	defer s.metrics.running.Dec()
	answer, err := s.paid(ctx, c, d, r.RequestID)
	if err != nil {
		r.fail(problem.From(err))
	} else {
		r.Rows, r.logged = answer.Rows, string(answer.Logged)
		if answer.Preview != nil {
			r.Code, r.preview = problem.ConfirmRequired, answer.Preview
		}
		r.answer = answer
		switch {
		case answer.File != nil:
			r.link = s.offer(ctx, c, d.contract, answer.File)
			answer.Text = r.link.placed(answer.Text)
		case answer.Cut && c.export != "" && d.Name == toolQuery:
			r.link = s.offer(ctx, c, toolQuery, nil)
		}
	}
	if c.version == 2 {
		r.structure(d, answer)
	}
	s.record(ctx, c, d, r, err, time.Since(start))
	return r, true
}

// paid is run for a caller whose budget is not spent, and charges the rows.
func (s *Server) paid(ctx context.Context, c caller, d *definition, request string) (*engine.Answer, error) {
	if err := s.take(ctx, c); err != nil {
		return nil, err
	}
	a, err := s.run(ctx, c, d, request)
	if a != nil && c.who != nil && s.opts.Budgets != nil {
		s.opts.Budgets.Spend(ctx, c.who, a.Rows)
	}
	return a, err
}

// take spends one call of the caller's budget; the error says that there is none left.
func (s *Server) take(ctx context.Context, c caller) error {
	if s.opts.Budgets == nil || c.who == nil {
		return nil
	}
	err := s.opts.Budgets.Take(ctx, c.who)
	if err != nil {
		s.metrics.spent.WithLabelValues(problem.From(err)[0].Reason).Inc()
	}
	return err
}

// unknown is the answer to a call of a tool that does not exist. It costs as much as any other call, so that nobody can
// try names without end.
func (s *Server) unknown(ctx context.Context, c caller, m *message) *refusal {
	no := m.refuse(problem.UnknownTool, c.unknownTool(m.tool))
	if err := s.take(ctx, c); err != nil {
		no = m.refused(told(problem.From(err)[0]))
	}
	no.call = true
	return no
}

// run checks what can be checked before the engine, and keeps a panic of the engine inside this one call.
func (s *Server) run(ctx context.Context, c caller, d *definition, request string) (a *engine.Answer, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = internal(fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
		}
	}()
	who, args := c.who, c.args
	if who == nil {
		return nil, &problem.Problem{Code: problem.Unauthenticated, Message: "no principal"}
	}
	// A write goes to the engine even where its connection is down: only it knows whether one like it was under way when
	// the connection broke, and without a connection it refuses with the same code.
	if no := d.closed(c); no != nil && !(no.Code == problem.Unavailable && d.verbs != 0) {
		return nil, no
	}
	if c.version == 0 {
		return nil, &problem.Problem{
			Code: problem.VersionUnsupported, Message: "this version of answers does not exist", Hint: "send " + headerVersion + " 1 or 2, or leave it out",
		}
	}
	if args = unwrapped(args); args == nil {
		args = []byte("{}")
	}
	if i := skipSpace(args, 0); i == len(args) || args[i] != '{' {
		return nil, &problem.Problem{
			Code: problem.InvalidArgument, Message: "the arguments are not a JSON object", Hint: `send an object such as {"resource": …}`,
		}
	}
	backend := s.lend()
	defer backend.release()
	switch d.Name {
	case toolSchema:
		a, err = backend.Describe(ctx, who, args)
	case toolQuery:
		a, err = backend.Query(ctx, who, c.view.profile.usual(args))
	case d.contract:
		if d.file && c.file == nil { // whoever reads the file has a turn by now
			if !s.exports.begin() {
				return nil, &problem.Problem{Code: problem.Overloaded, Message: exportsBusy, RetryAfter: 1}
			}
			defer s.exports.end()
		}
		a, err = backend.CallTool(ctx, who, engine.Call{Tool: d.Name, Request: request, Args: args, Still: c.still, Tools: c.names, File: c.file})
	default:
		a, err = backend.Write(ctx, who, engine.Call{Tool: d.Name, Request: request, Args: args, Still: c.still, Token: c.token, Consent: c.consent, Dialog: c.able.apps})
	}
	if err == nil && a == nil {
		err = internal(fmt.Errorf("%s gave neither an answer nor an error", d.Name))
	}
	return a, err
}

// granted says which of the catalog's tools a principal may use by now.
func (s *Server) granted(who *policy.Principal) func(tool string) bool {
	return func(tool string) bool {
		backend := s.lend()
		defer backend.release()
		return backend.Offers(who, tool)
	}
}

// reaches says whether the connections of a tool are there by now.
func (s *Server) reaches(who *policy.Principal) func(d *definition) bool {
	return func(d *definition) bool {
		if d.offline {
			return true
		}
		backend := s.lend()
		defer backend.release()
		return backend.Reaches(who, d.contract, d.verbs)
	}
}

// verbs is what a principal can do with some resource.
func (s *Server) verbs(who *policy.Principal) engine.Verbs {
	if who == nil || !slices.Contains(who.Scopes, "write") && !slices.Contains(who.Scopes, "delete") {
		return 0
	}
	backend := s.lend()
	defer backend.release()
	return backend.Verbs(who)
}

// unwrapped gives the object in arguments that a client sent as a text of JSON, which some do. Anything else
// stays as it is.
func unwrapped(args []byte) []byte {
	i := skipSpace(args, 0)
	if i == len(args) || args[i] != '"' {
		return args
	}
	var text string
	if json.Unmarshal(args, &text) != nil {
		return args
	}
	if i := skipSpace([]byte(text), 0); i == len(text) || text[i] != '{' {
		return args
	}
	return []byte(text)
}

// internal hides a cause from the caller and keeps it for the log.
func internal(cause error) error {
	return &problem.Problem{Code: problem.DataIntegrity, Stage: problem.Database, Message: "internal error", Err: cause}
}

// maxAlso is how many problems are told beside the first.
const maxAlso = 4

// A fault is the error object of a failed call (security.md 1.4): the first problem, and a few more.
type fault struct {
	Code       problem.Code `json:"code"`
	Reason     string       `json:"reason,omitempty"`
	Message    string       `json:"message"`
	At         string       `json:"at,omitempty"`
	Hint       string       `json:"hint,omitempty"`
	RetryAfter int          `json:"retry_after,omitempty"`
	RequestID  string       `json:"request_id,omitempty"`
	Also       []fault      `json:"also,omitempty"`

	Details json.RawMessage `json:"details,omitempty"`
}

// fail turns problems into the reply of a failed call.
func (r *Reply) fail(l problem.List) {
	if len(l) == 0 { // an empty list handed back as an error
		l = problem.From(internal(nil))
	}
	f := told(l[0])
	f.RequestID = r.RequestID
	for _, p := range l[1:min(len(l), 1+maxAlso)] {
		f.Also = append(f.Also, told(p))
	}
	r.Failed, r.Code, r.Rows, r.why = true, f.Code, 0, f
	r.Texts = []string{errorText(f)}
}

func told(p *problem.Problem) fault {
	return fault{Code: p.Code, Reason: p.Reason, Message: p.Message, At: p.At, Hint: p.Hint, RetryAfter: p.RetryAfter, Details: p.Details}
}

// errorText writes the error object. HTML escapes would cost a model ten tokens where it reads one character.
func errorText(f fault) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(map[string]fault{"error": f}) // strings and numbers always encode
	return string(bytes.TrimRight(b.Bytes(), "\n"))
}

// newRequestID makes the random UUID that names one call in the answer and in the log.
func newRequestID() string {
	var b [16]byte
	_, _ = rand.Read(b[:])
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	var s [36]byte
	at := 0
	for i, n := range []int{4, 6, 8, 10, 16} {
		if i > 0 {
			s[at] = '-'
			at++
		}
		from := []int{0, 4, 6, 8, 10}[i]
		at += hex.Encode(s[at:], b[from:n])
	}
	return string(s[:])
}

// Visible are the names of the tools that a principal may call: those that it is listed.
func (s *Server) Visible(who *policy.Principal) []string {
	c := s.caller(who)
	c.view = s.views().view(contractProfile)
	var out []string
	for _, d := range c.open() {
		out = append(out, d.Name)
	}
	return out
}
