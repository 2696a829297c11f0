package engine

import (
	"bytes"
	"context"
	"time"

	"resq/engine/plan"
	"resq/engine/policy"
	"resq/engine/sqlgen"
	"resq/schema/problem"
	"resq/schema/query"
)

// WriteLimits bound writes. The zero value of each means its default; below zero, none.
type WriteLimits struct {
	Timeout           time.Duration // of one attempt at a write; 10 s
	Expiry            time.Duration // of a preview; 5 min
	LivePreviews      int           // of one key; 20
	PreviewsPerMinute int           // of one key; 60
	RowsPerHour       int           // that one key changes or deletes without a person's approval; 1,000
	Undo              time.Duration // for which before-images are kept; 7 days
}

func (l WriteLimits) filled() WriteLimits {
	if l.Timeout == 0 {
		l.Timeout = 10 * time.Second
	}
	if l.Expiry == 0 {
		l.Expiry = 5 * time.Minute
	}
	if l.LivePreviews == 0 {
		l.LivePreviews = 20
	}
	if l.PreviewsPerMinute == 0 {
		l.PreviewsPerMinute = 60
	}
	if l.RowsPerHour == 0 {
		l.RowsPerHour = 1000
	}
	if l.Undo == 0 {
		l.Undo = 7 * 24 * time.Hour
	}
	return l
}

// A Call is one call of a tool that writes or tells of writes, or of a business tool.
type Call struct {
	Tool    string // res-create, res-update, res-delete, res-undo, res-operation, or the name of a business tool
	Request string // its id, for the audit
	Args    []byte
	// Still gives the principal as it is by now, and nil when it may ask nothing any more. It is asked once more
	// before a write is committed. Nil is a principal that cannot change while it asks.
	Still func() *policy.Principal

	// Where a preview of these arguments was put to the user as a question: its token, and what came of it.
	Token   string
	Consent Consent
	// Dialog says that the client shows previews in a dialog of this program, which has the token. The text, which a model reads,
	// is without one then, and __confirm__: false with the token ends the preview.
	Dialog bool

	// File takes the file of a business tool that makes one; with nil it is made and measured, and nobody gets it.
	File *bytes.Buffer

	// Tools gives the tools that the caller may use, for a business tool that tells it; nil is none.
	Tools func() []string
	// Log takes the statements of a business tool's requests, in the order in which they are run; nil takes none.
	Log *[]Explained
}

// Write answers a call: it makes rows, previews a change, or applies one that was confirmed. The error is a
// problem.List. An answer with a Preview has changed nothing.
func (e *Engine) Write(ctx context.Context, who *policy.Principal, call Call) (*Answer, error) {
	if err := e.run.enter(); err != nil {
		return nil, err
	}
	defer e.run.leave()
	came := who
	who, err := e.present(ctx, who)
	if err != nil {
		return nil, err
	}
	if call.Tool == "res-operation" {
		return e.operation(ctx, who, call)
	}
	w := &write{e: e, who: who, came: came, call: call, lim: e.opts.Writes}
	end := e.stage(ctx, "decode")
	err = w.decode(ctx)
	end(err)
	if err != nil {
		return nil, err
	}
	end = e.stage(ctx, "wait")
	leave, err := w.db.writes.enter(ctx, who)
	end(err)
	if err != nil {
		return nil, err
	}
	defer leave()
	end = e.stage(ctx, "write")
	a, err := w.run(ctx)
	end(err)
	return a, err
}

// run previews, applies or makes.
func (w *write) run(ctx context.Context) (*Answer, error) {
	op, p := w.asked()
	switch {
	case p != nil:
		return nil, problem.List{p}
	case op != "":
		return w.answered(ctx, op)
	case w.verb == query.Create && w.undoes == "":
		return w.create(ctx)
	case w.mode == "none" && w.ask.Token == "":
		return w.direct(ctx)
	case !w.ask.Confirm:
		return w.preview(ctx)
	}
	return w.confirm(ctx)
}

// A write is one call on its way.
type write struct {
	e    *Engine
	who  *policy.Principal
	came *policy.Principal // who, as it came with the call: without what was found of its user
	call Call
	lim  WriteLimits
	ask  *query.Write

	db      *database
	ledger  ledger
	change  *plan.Change
	verb    query.Verb
	mode    string
	binding string
	former  string // what an earlier release bound the call to
	catalog string
	undoes  string // the operation that a res-undo takes back
	taken   *image
	effect  sqlgen.Effects // what the database does by itself; not of a creation
	now     time.Time
	// verdicts are what the validations said in the last attempt.
	verdicts []verdict
	// unapplied says that this attempt has the operation's row to itself, and that it is not applied.
	unapplied bool
}

// decode reads the arguments and makes the plan of the change.
func (w *write) decode(ctx context.Context) error {
	if w.call.Tool == "res-undo" {
		return w.decodeUndo(ctx)
	}
	verb, ok := verbOf(w.call.Tool)
	if !ok {
		return problem.List{{Code: problem.UnknownTool, Message: "there is no tool " + problem.Quote(w.call.Tool)}}
	}
	var err error
	if w.ask, err = query.DecodeWrite(verb, w.call.Args, w.e.opts.Limits); err != nil {
		return err
	}
	v := policy.For(w.e.cat, w.who)
	w.change, err = plan.Write(v, w.ask, w.e.options(ctx, v, nil))
	traceRules(ctx, v)
	if err != nil {
		return err
	}
	return w.settle(ctx, "")
}

// settle fills in what follows from the change.
func (w *write) settle(ctx context.Context, undoes string) error {
	r := w.change.Resource()
	w.verb, w.undoes = w.change.Verb(), undoes
	w.db = w.e.dbs[r.Connection]
	w.ledger = w.e.ledger(w.db)
	if err := w.e.ready(ctx, w.db); err != nil {
		return err
	}
	if err := w.transactional(ctx); err != nil {
		return err
	}
	if err := w.setClock(ctx); err != nil {
		return err
	}
	w.mode = r.Confirm
	if w.mode == "none" && (w.verb == query.Delete || undoes != "" || w.ledger.apart) {
		w.mode = "token"
	}
	if w.ledger.apart && w.verb == query.Create && undoes == "" {
		return problem.List{{Code: problem.PermissionDenied, Stage: problem.Resources, At: "/resource", Message: "this connection keeps no operations beside its data, so a creation could not be told from its repetition",
			Hint: "the operator makes the table of operations there with resq migrate"}}
	}
	if w.verb != query.Create || undoes != "" {
		var err error
		if w.effect, err = w.effects(ctx); err != nil {
			return err
		}
	}
	w.bind(w.who.Key)
	w.catalog = policyHash(w.who, r, w.e.rules)
	return nil
}

// bind fills in what the call is bound to: its caller, to one key or to any, and its arguments.
func (w *write) bind(key string) {
	w.binding = binding(w.who.Owner(), key, w.call.Tool, w.change, w.undoes)
	w.former = bindingBefore(w.who.Name, key, w.call.Tool, w.change, w.undoes)
}

// same says whether an operation of this caller was for what the call is for. Of one that an earlier release kept that is known
// while the principal and the catalog are what they were.
func (w *write) same(o *operation) bool {
	return o.Binding == w.binding || o.Binding == w.former && o.Catalog == w.catalog
}

// transactional refuses a table that would keep what was written when the rest of a write is refused.
func (w *write) transactional(ctx context.Context) error {
	x, err := w.effects(ctx)
	if err != nil || x.Lasting == "" {
		return err
	}
	return problem.List{{Code: problem.ConfigInvalid, Stage: problem.Database, At: "/resource", Reason: "engine",
		Message: "the table of " + problem.Quote(w.change.Resource().Code) + " is kept by " + x.Lasting + ", which has no transactions, so nothing was written", Hint: "the operator makes it an InnoDB table"}}
}

// ready checks once that a connection can be written through.
func (e *Engine) ready(ctx context.Context, db *database) error {
	if db.write == nil {
		return problem.List{{Code: problem.PermissionDenied, Stage: problem.Resources, Message: "this connection only reads"}}
	}
	if db.set.Load() || db.control {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, db.timeout)
	defer cancel()
	rows, err := db.write.QueryxContext(ctx, "SELECT op_id FROM resq_operation WHERE 1 = 0")
	if err == nil {
		err = rows.Close()
	}
	if err == nil {
		db.set.Store(true)
		return nil
	}
	if p := db.fault(ctx, err); p.Code != problem.DataIntegrity {
		return problem.List{p}
	}
	return problem.List{{Code: problem.ConfigInvalid, Stage: problem.Database, Message: "writes are not set up on this connection", Hint: "the operator runs resq migrate", Err: err}}
}

func cut(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return string(r[:n]) + "…"
}
