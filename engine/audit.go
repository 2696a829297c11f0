package engine

import (
	"resq/engine/sqlgen"
	"resq/schema/problem"
)

// A Record is what an audit keeps of one write.
type Record struct {
	Event      string // intent, before the commit; outcome, after it
	Request    string // id of the call
	Principal  string
	Key        string // id of the key
	Tool       string
	Resource   string
	Connection string
	Operation  string // id of the operation row
	Code       string // of an outcome: OK, or the code of the problem
	Rows       int
	Statement  string // fingerprint of the statement that changes rows
	Catalog    string // hash of what the catalog says of the resource
	Changes    []byte // JSON: the ids, and what an update sets, without what not everybody may read
}

// An Auditor keeps the trail of writes.
type Auditor interface {
	// Intent keeps, so that no crash loses it, that a write is about to be committed. An error means that
	// it is not kept, and the write is rolled back.
	Intent(r Record) error
	// Outcome keeps what became of a write. The write is made by then, whether it succeeds or not.
	Outcome(r Record) error
}

// record tells the audit of a write that is about to be committed.
func (w *write) record(event, op, code string, rows int, st *sqlgen.Statement, changes []byte) Record {
	r := Record{Event: event, Request: w.call.Request, Principal: w.who.Name, Key: w.who.Key, Tool: w.call.Tool, Resource: w.change.Resource().Code,
		Connection: w.change.Resource().Connection.Name, Operation: op, Code: code, Rows: rows, Catalog: w.catalog, Changes: changes}
	if st != nil {
		r.Statement = Fingerprint(st.SQL)
	}
	return r
}

// intent keeps that the write is about to be committed, by somebody who may still do it.
func (w *write) intent(op string, rows int, st *sqlgen.Statement, changes []byte) error {
	if w.call.Still != nil {
		switch now := w.call.Still(); {
		case now == nil:
			return problem.List{{Code: problem.PermissionDenied, Stage: problem.Confirm, Message: "this key has ended, and nothing was changed"}}
		case policyHash(now, w.change.Resource(), w.e.rules) != policyHash(w.came, w.change.Resource(), w.e.rules):
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
