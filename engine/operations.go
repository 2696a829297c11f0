package engine

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"resq/engine/plan"
	"resq/engine/policy"
	"resq/schema"
	"resq/schema/problem"
	"resq/schema/query"
)

// find looks for an operation on every connection that writes.
func (e *Engine) find(ctx context.Context, id string) (*operation, *database, error) {
	return e.search(ctx, func(ctx context.Context, l ledger) (*operation, error) {
		ctx, cancel := context.WithTimeout(ctx, l.timeout)
		defer cancel()
		return l.load(ctx, l.pool, id, false)
	})
}

// search looks for an operation on every connection that writes. That there is none is known only when all of them
// have been asked.
func (e *Engine) search(ctx context.Context, look func(context.Context, ledger) (*operation, error)) (*operation, *database, error) {
	var unasked error
	for _, c := range e.cat.Connections {
		db := e.dbs[c]
		if db.write == nil {
			continue
		}
		if err := e.ready(ctx, db); err != nil {
			if problem.From(err)[0].Code != problem.ConfigInvalid { // without the table there is no operation
				unasked = err
			}
			continue
		}
		o, err := look(ctx, e.ledger(db))
		if err != nil {
			unasked = problem.List{db.fault(ctx, err)}
		}
		if o != nil {
			return o, db, nil
		}
	}
	return nil, nil, unasked
}

// admin says whether a principal may act on the operations of others.
func (e *Engine) admin(who *policy.Principal) bool { return slices.Contains(who.Scopes, "admin") }

// owns says whether an operation is of a caller. Earlier releases kept the principal's name alone: of those operations the
// caller is known by what decided about it then, its user among it, while that is what it was.
func (e *Engine) owns(who *policy.Principal, o *operation) bool {
	if o.Principal == who.Owner() {
		return true
	}
	r, ok := e.cat.Resource(o.Resource)
	return ok && o.Principal == who.Name && o.Catalog == policyHash(who, r, e.rules)
}

// operation answers res-operation: what became of an operation, to the one whose it is.
func (e *Engine) operation(ctx context.Context, who *policy.Principal, call Call) (*Answer, error) {
	id, _, err := query.Handle(call.Args, false, e.opts.Limits)
	if err != nil {
		return nil, err
	}
	o, _, err := e.find(ctx, id)
	if err != nil {
		return nil, err
	}
	b := appendString([]byte(`{"op_id":`), id)
	if o == nil || !e.owns(who, o) {
		return &Answer{Text: append(b, `,"state":"unknown"}`...)}, nil
	}
	b = appendString(append(b, `,"state":`...), o.outcome())
	b = appendString(append(b, `,"tool":`...), o.Tool)
	b = appendString(append(b, `,"resource":`...), o.Resource)
	b = appendString(append(b, `,"short_code":`...), shortCode(id))
	b = appendTime(append(b, `,"created_at":`...), o.Created)
	switch {
	case o.State == applied:
		b = appendTime(append(b, `,"applied_at":`...), o.Applied.Int64)
		b = strconv.AppendInt(append(b, `,"affected":`...), o.Affected.Int64, 10)
		if o.Result.Valid {
			b = append(append(b, `,"result":`...), e.resultFor(ctx, who, o)...)
		}
	case o.State == declined:
		b = appendString(append(b, `,"reason":`...), cut(o.Reason.String, 200))
	default:
		b = appendTime(append(b, `,"expires_at":`...), o.Expires)
	}
	return &Answer{Text: append(b, '}'), Rows: 1}, nil
}

// resultFor is the result of an operation without the rows that its caller may not see by now, and without the fields that
// it may not read.
func (e *Engine) resultFor(ctx context.Context, who *policy.Principal, o *operation) []byte {
	text := []byte(o.Result.String)
	v := policy.For(e.cat, who)
	r, ok := v.Resource(o.Resource)
	if !ok {
		r = nil
	}
	every := ok && v.Rows(r).All
	if every && len(v.Fields(r)) == len(r.Fields) {
		return text
	}
	var result map[string]json.RawMessage
	if json.Unmarshal(text, &result) != nil {
		return []byte("null")
	}
	hidden := false
	delete(result, "validations") // whose words may be of what is hidden
	if !every {
		var err error
		if hidden, err = e.withoutRows(ctx, v, r, result); err != nil {
			e.opts.Log.Warn("the rows of an operation cannot be checked, so none is told", "operation", o.ID, "error", err)
		}
	}
	without := func(record map[string]json.RawMessage) {
		maps.DeleteFunc(record, func(code string, _ json.RawMessage) bool {
			known := false
			if ok {
				_, known = v.Field(r, code)
			}
			hidden = hidden || !known
			return !known
		})
	}
	var one map[string]json.RawMessage
	if json.Unmarshal(result["record"], &one) == nil {
		without(one)
		result["record"], _ = json.Marshal(one) // it was JSON before
	}
	var list []map[string]json.RawMessage
	if json.Unmarshal(result["records"], &list) == nil {
		for _, record := range list {
			without(record)
		}
		result["records"], _ = json.Marshal(list)
	}
	if hidden {
		text, _ = json.Marshal(result)
	}
	return text
}

// withoutRows takes the rows out of a result that the caller does not see; r is nil for a resource that it does not. All go where
// that cannot be found out: the counts stay.
func (e *Engine) withoutRows(ctx context.Context, v *policy.View, r *schema.Resource, result map[string]json.RawMessage) (hidden bool, err error) {
	var list []map[string]json.RawMessage
	batch := json.Unmarshal(result["records"], &list) == nil
	var one map[string]json.RawMessage
	if !batch && json.Unmarshal(result["record"], &one) == nil {
		list = []map[string]json.RawMessage{one}
	}
	if len(list) == 0 {
		return false, nil
	}
	seen := map[string]bool{}
	if r != nil && len(r.Key) == 1 {
		seen, err = e.seen(ctx, v, r, list)
	}
	kept := []map[string]json.RawMessage{}
	for _, record := range list {
		if err == nil && r != nil && seen[keyText(record[r.Key[0].Code])] {
			kept = append(kept, record)
		}
	}
	if len(kept) == len(list) {
		return false, nil
	}
	if batch {
		result["records"], _ = json.Marshal(kept) // it was JSON before
	} else {
		delete(result, "record")
	}
	return true, err
}

// seen gives the keys of those records that the caller sees by now.
func (e *Engine) seen(ctx context.Context, v *policy.View, r *schema.Resource, list []map[string]json.RawMessage) (map[string]bool, error) {
	var ids []int64
	for _, record := range list {
		text := keyText(record[r.Key[0].Code])
		id, err := strconv.ParseInt(text, 10, 64)
		if n, over := strconv.ParseUint(text, 10, 64); err != nil && over == nil {
			id, err = int64(n), nil // a key beyond 63 bits, by its bits
		}
		if err == nil {
			ids = append(ids, id)
		}
	}
	out := map[string]bool{}
	if len(ids) == 0 {
		return out, nil
	}
	p, err := plan.Seen(v, r, ids, e.options(ctx, v, nil))
	if err != nil {
		return nil, err
	}
	return out, e.each(ctx, v.Who(), p, func(row []text) error {
		out[row[0].text] = true
		return nil
	})
}

// keyText is a key as a record tells it: a number, or beyond what JSON readers keep a text of digits.
func keyText(raw json.RawMessage) string { return strings.Trim(string(raw), `"`) }

func appendTime(b []byte, unix int64) []byte {
	return appendString(b, time.Unix(unix, 0).UTC().Format(time.RFC3339))
}

// An Operation is a write or a proposal of one, as an admin sees it.
type Operation struct {
	ID, ShortCode, Connection string
	State                     string // previewed, approved, declined, applied or expired
	Principal, User           string // who asked, and for which user
	Key, Tool, Resource       string
	Mode                      string
	Created, Expires, Applied time.Time // Applied is zero before that
	Affected                  int
	SettledBy, Reason         string
	Told                      string // the preview or result, as its owner was told it
	Undoable                  bool
}

func (e *Engine) told(c *schema.Connection, o *operation) Operation {
	name, user := policy.OwnerOf(o.Principal)
	x := Operation{ID: o.ID, ShortCode: shortCode(o.ID), Connection: c.Name, State: o.outcome(), Principal: name, User: user, Key: o.Key, Tool: o.Tool, Resource: o.Resource,
		Mode: o.Mode, Created: time.Unix(o.Created, 0).UTC(), Expires: time.Unix(o.Expires, 0).UTC(), Affected: int(o.Affected.Int64),
		SettledBy: o.ApprovedBy.String, Reason: o.Reason.String, Told: o.Result.String, Undoable: len(o.Undo) > 0}
	if o.Applied.Valid {
		x.Applied = time.Unix(o.Applied.Int64, 0).UTC()
	}
	return x
}

// Operations lists the newest operations of every connection that writes; state "" is any.
func (e *Engine) Operations(ctx context.Context, state string, limit int) ([]Operation, error) {
	var out []Operation
	for _, c := range e.cat.Connections {
		db := e.dbs[c]
		if db.write == nil {
			continue
		}
		if err := e.ready(ctx, db); err != nil {
			return nil, err
		}
		list, err := e.ledger(db).list(ctx, state, limit)
		if err != nil {
			return nil, problem.List{db.fault(ctx, err)}
		}
		for i := range list {
			out = append(out, e.told(c, &list[i]))
		}
	}
	slices.SortStableFunc(out, func(a, b Operation) int { return b.Created.Compare(a.Created) })
	return out[:min(len(out), limit)], nil
}

// Operation finds one operation; false when there is none.
func (e *Engine) Operation(ctx context.Context, id string) (Operation, bool, error) {
	return e.named(e.find(ctx, id))
}

// named is an operation that was found, as an admin sees it.
func (e *Engine) named(o *operation, db *database, err error) (Operation, bool, error) {
	if err != nil || o == nil {
		return Operation{}, false, err
	}
	for c, x := range e.dbs {
		if x == db {
			return e.told(c, o), true, nil
		}
	}
	return Operation{}, false, nil
}

// Recover finds the operation that an earlier process was about to commit; false when there is none, because it
// did not. The process may be gone while the database still works for it: Recover waits for that.
func (e *Engine) Recover(ctx context.Context, id string) (Operation, bool, error) {
	return e.named(e.search(ctx, func(ctx context.Context, l ledger) (*operation, error) { return l.recover(ctx, id) }))
}

// Settle approves or declines a preview in the name of a person, who must not be the one that asked for it.
func (e *Engine) Settle(ctx context.Context, id string, approve bool, by, reason string) error {
	o, db, err := e.find(ctx, id)
	if err != nil {
		return err
	}
	switch {
	case o == nil:
		return problem.List{{Code: problem.NotFound, Message: "there is no operation " + problem.Quote(id)}}
	case approve && policy.OwnedBy(o.Principal, by):
		return problem.List{{Code: problem.ApprovalRequired, Message: "nobody approves what they asked for themselves", Hint: "another login approves it"}}
	}
	state := declined
	if approve {
		state = approved
	}
	ctx, cancel := context.WithTimeout(ctx, db.timeout)
	defer cancel()
	done, err := e.ledger(db).settle(ctx, id, state, by, reason)
	if err != nil {
		return problem.List{db.fault(ctx, err)}
	}
	if !done {
		return problem.List{{Code: problem.Conflict, Message: "the operation does not wait for a decision: it is " + o.outcome()}}
	}
	return nil
}

// Migrate makes the table of operations on the connections of these names, or on every one that writes. It
// changes nothing where it is.
func (e *Engine) Migrate(ctx context.Context, names ...string) error {
	for _, c := range e.cat.Connections {
		db := e.dbs[c]
		if db.write == nil || c.Control || len(names) > 0 && !slices.Contains(names, c.Name) {
			continue
		}
		if err := migrate(ctx, db, c); err != nil {
			return fmt.Errorf("connection %s: %w", c.Name, err)
		}
	}
	return nil
}

func migrate(ctx context.Context, db *database, c *schema.Connection) (err error) {
	var admin *sql.DB
	if admin, err = db.driver.Admin(c); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, admin.Close()) }()
	for _, text := range db.ops.Table {
		if _, err := admin.ExecContext(ctx, string(text)); err != nil {
			return err
		}
	}
	return nil
}

// Migrations are the statements that Migrate runs on a connection, for those who run them by hand.
func (e *Engine) Migrations() map[string][]string {
	out := map[string][]string{}
	for _, c := range e.cat.Connections {
		if db := e.dbs[c]; db.write != nil {
			for _, text := range db.ops.Table {
				out[c.Name] = append(out[c.Name], string(text))
			}
		}
	}
	return out
}

// Forget drops before-images and unconfirmed proposals that are too old to be used. Whoever serves calls it from time
// to time.
func (e *Engine) Forget(ctx context.Context) error {
	var errs []error
	for _, c := range e.cat.Connections {
		if db := e.dbs[c]; db.write != nil && e.ready(ctx, db) == nil {
			ctx, cancel := context.WithTimeout(ctx, db.timeout)
			errs = append(errs, e.ledger(db).forget(ctx, e.opts.Writes))
			cancel()
		}
	}
	return errors.Join(errs...)
}

// Verbs are what can be done to rows, as a set.
type Verbs uint8

// The verbs.
const (
	Creates Verbs = 1 << iota
	Updates
	Deletes
)

// writable are the resources that take writes, with the verbs of each.
func writable(cat *schema.Catalog) map[*schema.Resource]Verbs {
	out := map[*schema.Resource]Verbs{}
	for _, r := range cat.Resources {
		var v Verbs
		for _, w := range r.Writes {
			v |= map[string]Verbs{string(query.Create): Creates, string(query.Update): Updates, string(query.Delete): Deletes}[w]
		}
		if v != 0 {
			out[r] = v
		}
	}
	return out
}

// Verbs is what a principal can do with some resource or other.
func (e *Engine) Verbs(who *policy.Principal) (v Verbs) {
	view := policy.For(e.cat, e.playing(who))
	for r, x := range e.writable {
		if view.Visible(r) {
			v |= x
		}
	}
	return v
}

// Ready tells of each connection that writes whether it can: an error says what is missing.
func (e *Engine) Ready(ctx context.Context) map[string]error {
	out := map[string]error{}
	for _, c := range e.cat.Connections {
		if db := e.dbs[c]; db.write != nil {
			out[c.Name] = e.ready(ctx, db)
		}
	}
	return out
}
