package engine

import (
	"context"
	"database/sql"
	"errors"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"resq/engine/plan"
	"resq/engine/policy"
	"resq/engine/sqlgen"
	"resq/schema"
	"resq/schema/problem"
	"resq/schema/query"

	"github.com/jmoiron/sqlx"
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

// attempts is how often a write is tried that the database gave up for a lock.
const attempts = 4

// A Call is one call of a tool that writes or tells of writes.
type Call struct {
	Tool    string // res-create, res-update, res-delete, res-undo or res-operation
	Request string // its id, for the audit
	Args    []byte
	// Still gives the principal as it is by now, and nil when it may ask nothing any more. It is asked once more
	// before a write is committed. Nil is a principal that cannot change while it asks.
	Still func() *policy.Principal
}

// Write answers a call: it makes rows, previews a change, or applies one that was confirmed. The error is a
// problem.List. An answer with a Preview has changed nothing.
func (e *Engine) Write(ctx context.Context, who *policy.Principal, call Call) (*Answer, error) {
	if err := e.run.enter(); err != nil {
		return nil, err
	}
	defer e.run.leave()
	if call.Tool == "res-operation" {
		return e.operation(ctx, who, call)
	}
	w := &write{e: e, who: who, call: call, lim: e.opts.Writes}
	if err := w.decode(ctx); err != nil {
		return nil, err
	}
	leave, err := w.db.writes.enter(ctx, who.Key)
	if err != nil {
		return nil, err
	}
	defer leave()
	switch {
	case w.verb == query.Create && w.undoes == "":
		return w.create(ctx)
	case w.mode == "none":
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
	call Call
	lim  WriteLimits
	ask  *query.Write

	db      *database
	ledger  ledger
	change  *plan.Change
	verb    query.Verb
	mode    string
	binding string
	catalog string
	undoes  string // the operation that a res-undo takes back
	taken   *image
	now     time.Time
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
	if w.change, err = plan.Write(v, w.ask, w.e.options(ctx, v, nil)); err != nil {
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
	w.binding = binding(w.who, w.call.Tool, w.change, undoes)
	w.catalog = policyHash(w.who, r, w.e.rules)
	return nil
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

// A clock is what the database's clock said, and when that was by the program's own.
type clock struct{ database, own time.Time }

// setClock asks the database for the time where no write has heard it yet. From then on it is counted on from there,
// for the wall clock of this machine may be wrong, and may be set.
func (w *write) setClock(ctx context.Context) error {
	if w.db.shared.clock.Load() != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, w.db.timeout)
	defer cancel()
	n, err := w.ledger.now(ctx, w.ledger.pool)
	if err != nil {
		return problem.List{w.db.fault(ctx, err)}
	}
	w.hear(n)
	return nil
}

// hear takes in what the database's clock says, in seconds since 1970.
func (w *write) hear(unix int64) {
	w.now = time.Unix(unix, 0).UTC()
	w.db.shared.clock.Store(&clock{w.now, w.e.opts.Now()})
}

// clock is about what the database's clock says. A transaction that decides asks the database itself.
func (w *write) clock() time.Time {
	c := w.db.shared.clock.Load()
	return c.database.Add(w.e.opts.Now().Sub(c.own))
}

// transaction runs f in a transaction on the write pool, again where the database gave up for a lock or the
// connection broke. After a commit without word it goes on even if the caller has gone: the audit has to know.
func (w *write) transaction(ctx context.Context, f func(ctx context.Context, tx *sqlx.Tx) error) error {
	var unknown, err error
	for try := range attempts {
		if try > 0 && !sleep(ctx, time.Duration(20<<try+rand.IntN(40))*time.Millisecond) {
			break
		}
		var again bool
		w.unapplied = false
		err, again = w.once(ctx, f, try == 0 || unknown != nil)
		if err == nil {
			return nil
		}
		if problem.From(err)[0].Code == problem.OutcomeUnknown {
			if unknown == nil {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), w.lim.Timeout/2)
				defer cancel()
			}
			unknown = err
		} else if w.unapplied {
			unknown = nil // it did not commit, as is known now
		}
		if !again {
			break
		}
	}
	if c := problem.From(err)[0].Code; unknown != nil && (c == problem.Unavailable || c == problem.Timeout || c == problem.Cancelled || c == problem.Conflict && problem.From(err)[0].Reason == "busy") {
		return unknown // what was asked again could not be told
	}
	return err
}

// once is one attempt. It says whether another one may help; patient goes on where the connection broke.
func (w *write) once(ctx context.Context, f func(ctx context.Context, tx *sqlx.Tx) error, patient bool) (err error, again bool) {
	ctx, cancel := context.WithTimeout(ctx, w.lim.Timeout)
	defer cancel()
	level := sql.LevelReadCommitted
	if w.db.driver.Name() == "sqlite" {
		level = sql.LevelDefault
	}
	// The transaction ends with ctx up to its commit. The commit itself is not given up because the caller went
	// away: then it could not be told any more from one that failed.
	held, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	follow := context.AfterFunc(ctx, end)
	tx, err := w.db.write.BeginTxx(held, &sql.TxOptions{Isolation: level})
	if err != nil {
		return w.refusal(ctx, err), w.db.driver.Refusal(err) == sqlgen.Busy || w.db.driver.Refusal(err) == sqlgen.Gone && patient
	}
	defer tx.Rollback() // after a commit it does nothing; before it nothing is left to tell
	if err := f(ctx, tx); err != nil {
		why := w.db.driver.Refusal(err)
		var l problem.List
		if errors.As(err, &l) {
			why = sqlgen.Other
		}
		return w.refusal(ctx, err), errors.Is(err, errTaken) || why == sqlgen.Busy || why == sqlgen.Gone && patient && ctx.Err() == nil
	}
	if !follow() {
		return w.refusal(ctx, ctx.Err()), false
	}
	failpoint("before-commit")
	late := time.AfterFunc(w.lim.Timeout/2, end)
	defer late.Stop()
	if err := tx.Commit(); err != nil {
		// Whether the database committed is not known here. The same transaction once more finds out: it meets
		// its own operation row if it did.
		if w.db.driver.Refusal(err) == sqlgen.Busy {
			return w.refusal(ctx, err), true
		}
		return problem.List{{Code: problem.OutcomeUnknown, Stage: problem.Database, Message: "the connection broke while the write was committed, and what became of it is not known yet",
			Hint: "send the same call again: it cannot run twice", RetryAfter: 2, Err: err}}, true
	}
	failpoint("after-commit")
	return nil, false
}

func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// refusals are what a caller learns of a write that the database did not take.
var refusals = map[sqlgen.Refusal]problem.Problem{
	sqlgen.Duplicate:  {Code: problem.Conflict, Reason: "duplicate", Message: "a value that may stand only once is there already", Hint: "query for the row that has it, or send another value"},
	sqlgen.Referenced: {Code: problem.Conflict, Reason: "referenced", Message: "other rows refer to these, or these to a row that is not there", Hint: "change or delete those rows first"},
	sqlgen.Missing:    {Code: problem.InvalidArgument, Message: "a value that the table requires is missing", Hint: "send every required field that res-schema shows"},
	sqlgen.Unfit:      {Code: problem.InvalidArgument, Reason: "unfit", Message: "a value does not fit its column", Hint: "compare with the types that res-schema shows"},
	sqlgen.Checked:    {Code: problem.InvalidArgument, Reason: "check", Message: "the database checks these values and refuses them", Hint: "send other values; the operator knows the check"},
	sqlgen.Busy:       {Code: problem.Conflict, Reason: "busy", Message: "others are changing these rows, and nothing was changed", Hint: "call again", RetryAfter: 1},
	sqlgen.ReadOnly:   {Code: problem.Unavailable, Message: "the database takes no writes at present", Hint: "call again later", RetryAfter: 5},
	sqlgen.Gone:       {Code: problem.Unavailable, Message: "the database cannot be reached or is busy", RetryAfter: 1},
}

// refusal turns an error of a write into problems.
func (w *write) refusal(ctx context.Context, err error) error {
	var l problem.List
	if errors.As(err, &l) {
		return l
	}
	if ctx.Err() == nil {
		if p, ok := refusals[w.db.driver.Refusal(err)]; ok {
			p.Stage, p.Err = problem.Database, err
			if lacking := w.lacking(); p.Code == problem.InvalidArgument && p.Reason == "" && lacking != "" {
				p.Hint = "the table may ask for: " + lacking
			}
			return problem.List{&p}
		}
	}
	p := w.db.fault(ctx, err)
	if p.Code == problem.Timeout {
		p.Message, p.Hint = "the write took too long, and nothing was changed", "call again, or for fewer rows"
	}
	return problem.List{p}
}

// lacking are the fields of a new row that are never NULL and were not given: the database may fill them by
// itself, but where it refuses the row they are the likely reason.
func (w *write) lacking() string {
	if w.verb != query.Create || w.undoes != "" {
		return ""
	}
	r := w.change.Resource()
	var names []string
	for _, f := range policy.For(w.e.cat, w.who).Fields(r) {
		given := slices.ContainsFunc(w.change.Rows()[0], func(a plan.Assignment) bool { return a.Field == f })
		if f.NotNull && !given && !r.IsKey(f) && !f.Generated && f.Default == "" {
			names = append(names, f.Code)
		}
	}
	return strings.Join(names, ", ")
}

// read runs a plan and keeps its rows.
func (w *write) read(ctx context.Context, tx *sqlx.Tx, p *plan.Plan) (*rowset, error) {
	st, err := sqlgen.Render(p, w.db.driver, false)
	if err != nil {
		return nil, err
	}
	rows, err := tx.QueryxContext(ctx, st.SQL, st.Args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	set := &rowset{}
	if set.cols, err = columnsOf(rows.Rows, w.db.driver, p.Root().Out); err != nil {
		return nil, err
	}
	for rows.Next() {
		vals := make([]any, len(set.cols))
		dest := make([]any, len(vals))
		for i := range vals {
			dest[i] = &vals[i]
		}
		if err := rows.Scan(dest...); err != nil {
			return nil, err
		}
		for i := range vals {
			if d := set.cols[i].decode; d != nil && vals[i] != nil {
				vals[i] = d(vals[i])
			}
		}
		set.rows = append(set.rows, vals)
	}
	return set, rows.Err()
}

// targets reads the rows of a change as the principal sees them. Rows that are missing and rows that are
// not seen are told alike, by id.
func (w *write) targets(ctx context.Context, tx *sqlx.Tx) (*rowset, error) {
	ids := w.change.IDs()
	set, err := w.read(ctx, tx, w.change.Targets(ids))
	if err != nil {
		return nil, err
	}
	if len(set.rows) == len(ids) {
		return set, nil
	}
	have := map[int64]bool{}
	for _, id := range w.keys(set) {
		have[id] = true
	}
	var missing []string
	for _, id := range ids {
		if !have[id] {
			missing = append(missing, strconv.FormatInt(id, 10))
		}
	}
	return nil, problem.List{{Code: problem.NotFound, Stage: problem.Policy, At: "/ids", Message: "no such rows for this key: " + cut(strings.Join(missing, ", "), 200),
		Hint: "ids come from res-query; nothing was changed"}}
}

// keys are the keys of rows that were read with all fields.
func (w *write) keys(set *rowset) []int64 {
	at := keyIndex(w.change.Resource())
	out := make([]int64, len(set.rows))
	for i, row := range set.rows {
		out[i] = whole(row[at])
	}
	return out
}

func keyIndex(r *schema.Resource) int {
	for i, f := range r.Fields {
		if f == r.Key[0] {
			return i
		}
	}
	return 0
}

// whole is a key as a number; drivers hand over some as texts.
func whole(v any) int64 {
	switch x := v.(type) {
	case int64:
		return x
	case uint64:
		return int64(x)
	case []byte:
		n, _ := strconv.ParseInt(string(x), 10, 64)
		return n
	case string:
		n, _ := strconv.ParseInt(x, 10, 64)
		return n
	case float64:
		return int64(x)
	}
	return 0
}

// lookups checks that every row which new values refer to is there for the principal.
func (w *write) lookups(ctx context.Context, tx *sqlx.Tx) error {
	for _, l := range w.change.Lookups() {
		set, err := w.read(ctx, tx, l.Plan())
		if err != nil {
			return err
		}
		if len(set.rows) != 1 || whole(set.rows[0][0]) != int64(l.Values) {
			return problem.List{{Code: problem.PolicyViolation, Stage: problem.Policy, At: l.At, Message: "a row that this value refers to is not there",
				Hint: "query for the rows there are"}}
		}
	}
	return nil
}

func violation() error {
	return problem.List{{Code: problem.PolicyViolation, Stage: problem.Policy, Message: "the rows would not be those of this principal any more, so nothing was changed",
		Hint: "send values within what this key may see"}}
}

// A dependents is the rows of one resource that refer to the rows of a delete.
type dependents struct {
	child *plan.Child
	count int64
	keys  [][]any
}

// maxDependents is how many keys of dependent rows a version holds; beyond it their number has to do.
const maxDependents = 1000

func (w *write) dependents(ctx context.Context, tx *sqlx.Tx) ([]dependents, error) {
	var out []dependents
	for _, c := range w.change.Children() {
		set, err := w.read(ctx, tx, c.Plan(w.change.IDs(), maxDependents))
		if err != nil {
			return nil, err
		}
		d := dependents{child: c, count: int64(len(set.rows)), keys: set.rows}
		if d.count > maxDependents {
			st, err := sqlgen.Count(c.Plan(w.change.IDs(), -1), w.db.driver, false)
			if err != nil {
				return nil, err
			}
			if err := tx.QueryRowxContext(ctx, st.SQL, st.Args...).Scan(&d.count); err != nil {
				return nil, err
			}
			d.keys = d.keys[:maxDependents]
		}
		out = append(out, d)
	}
	return out, nil
}

// exec runs a statement and gives the number of rows it matched.
func (w *write) exec(ctx context.Context, tx *sqlx.Tx, st *sqlgen.Statement, err error) (int64, error) {
	if err != nil {
		return 0, err
	}
	res, err := tx.ExecContext(ctx, st.SQL, st.Args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// lock keeps the rows of a change from being changed by others, in the order of their keys.
func (w *write) lock(ctx context.Context, tx *sqlx.Tx) error {
	if w.db.driver.Name() == "sqlite" {
		return nil // the transaction has the file to itself
	}
	st, err := sqlgen.Lock(w.change, w.change.IDs(), w.db.driver)
	if err != nil {
		return err
	}
	rows, err := tx.QueryxContext(ctx, st.SQL, st.Args...)
	if err != nil {
		return err
	}
	for rows.Next() {
		continue
	}
	return errors.Join(rows.Err(), rows.Close())
}

// record tells the audit of a write that is about to be committed.
func (w *write) record(event, op, code string, rows int, st *sqlgen.Statement, changes []byte) Record {
	r := Record{Event: event, Request: w.call.Request, Principal: w.who.Name, Key: w.who.Key, Tool: w.call.Tool, Resource: w.change.Resource().Code,
		Connection: w.change.Resource().Connection.Name, Operation: op, Code: code, Rows: rows, Catalog: w.catalog, Changes: changes}
	if st != nil {
		d := newDigest("resq-sql-v1")
		d.text(st.SQL)
		r.Statement = d.String()[:16]
	}
	return r
}

// intent keeps that the write is about to be committed, by somebody who may still do it.
func (w *write) intent(op string, rows int, st *sqlgen.Statement, changes []byte) error {
	if w.call.Still != nil {
		switch now := w.call.Still(); {
		case now == nil:
			return problem.List{{Code: problem.PermissionDenied, Stage: problem.Confirm, Message: "this key has ended, and nothing was changed"}}
		case policyHash(now, w.change.Resource(), w.e.rules) != w.catalog:
			return problem.List{{Code: problem.Conflict, Stage: problem.Confirm, Reason: "catalog", Message: "this principal changed during the call, and nothing was changed by it", Hint: "call again without __confirm__ for a new preview"}}
		}
	}
	if w.e.opts.Audit == nil {
		return nil
	}
	defer failpoint("after-intent")
	if err := w.e.opts.Audit.Intent(w.record("intent", op, "", rows, st, changes)); err != nil {
		return problem.List{{Code: problem.AuditUnavailable, Stage: problem.Database, Message: "the audit cannot be kept, so nothing was changed", Hint: "call again later; the operator is told", RetryAfter: 10, Err: err}}
	}
	return nil
}

// outcome tells the audit what became of a write whose intent it has. When that is not known the intent stays open:
// whoever asks again and learns it closes it, or the next start does.
func (w *write) outcome(op string, rows int, err error) {
	if w.e.opts.Audit == nil {
		return
	}
	code := "OK"
	if err != nil {
		code = string(problem.From(err)[0].Code)
	}
	if code == string(problem.OutcomeUnknown) {
		w.db.shared.open.Store(op, nil)
		return
	}
	w.db.shared.open.Delete(op)
	defer failpoint("after-outcome")
	if err := w.e.opts.Audit.Outcome(w.record("outcome", op, code, rows, nil, nil)); err != nil {
		w.e.opts.Log.Error("the outcome of a write is not in the audit", "operation", op, "error", err)
	}
}

func cut(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return string(r[:n]) + "…"
}
