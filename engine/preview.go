package engine

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"resq/engine/plan"
	"resq/engine/policy"
	"resq/engine/sqlgen"
	"resq/schema"
	"resq/schema/problem"
	"resq/schema/query"

	"github.com/jmoiron/sqlx"
)

// A Preview is a change that waits for its confirmation.
type Preview struct {
	Operation string
	Short     string // by which a person finds it
	Token     string
	Mode      string // token, strict or human
	Summary   string // without any value of the data, which may hold instructions
	Expires   time.Time
}

// maxShown is how many rows a preview shows, and maxCell how many characters of a value.
const (
	maxShown = 20
	maxCell  = 200
)

// preview shows what a change would do, and keeps it for its confirmation.
func (w *write) preview(ctx context.Context) (*Answer, error) {
	var a *Answer
	err := w.transaction(ctx, func(ctx context.Context, tx *sqlx.Tx) error {
		now, err := w.ledger.now(ctx, w.ledger.in(tx))
		if err != nil {
			return err
		}
		w.hear(now)
		before, children, err := w.examine(ctx, tx)
		if err != nil {
			return err
		}
		checks, err := w.tried(ctx, tx, before)
		if err != nil {
			return err
		}
		a, err = w.propose(ctx, tx, before, children, checks)
		return err
	})
	if err == nil {
		return a, nil
	}
	if l := problem.From(err); l[0].Code == problem.OutcomeUnknown { // of a proposal that nobody has seen
		p := refusals[sqlgen.Gone]
		p.Stage, p.Err = problem.Database, l[0].Err
		return nil, problem.List{&p}
	}
	return nil, err
}

// examine reads the rows of a change and checks all that can be checked without changing them.
func (w *write) examine(ctx context.Context, tx *sqlx.Tx) (*rowset, []dependents, error) {
	if w.verb == query.Create { // the undo of a delete
		set, err := w.vacant(ctx, tx)
		if err != nil {
			return nil, nil, err
		}
		return set, nil, nil
	}
	before, err := w.targets(ctx, tx)
	if err != nil {
		return nil, nil, err
	}
	if err := w.unmasked(before); err != nil {
		return nil, nil, err
	}
	if w.taken != nil && version(w.change.Resource(), before, nil) != w.taken.After {
		return nil, nil, movedOn()
	}
	if err := w.lookups(ctx, tx); err != nil {
		return nil, nil, err
	}
	if p := w.change.Merged(w.now); p != nil {
		set, err := w.read(ctx, tx, p)
		if err != nil {
			return nil, nil, err
		}
		if len(set.rows) != len(before.rows) {
			return nil, nil, violation()
		}
	}
	children, err := w.dependents(ctx, tx)
	return before, children, err
}

// effects asks, once in a while, what the database does by itself, and what it cannot do.
func (w *write) effects(ctx context.Context) (sqlgen.Effects, error) {
	type known struct {
		sqlgen.Effects
		at time.Time
	}
	r := w.change.Resource()
	name := r.Schema + "." + r.Table
	old, told := w.db.effects.Load(name)
	if told && time.Since(old.(known).at) < time.Minute {
		return old.(known).Effects, nil
	}
	ctx, cancel := context.WithTimeout(ctx, w.db.timeout)
	defer cancel()
	x, err := w.db.driver.Effects(ctx, w.db.write.DB, r)
	if err != nil && told {
		return old.(known).Effects, nil // the transaction meets the fault, and tries again where that may help
	}
	if err != nil {
		return x, problem.List{w.db.fault(ctx, err)}
	}
	w.db.effects.Store(name, known{x, time.Now()})
	return x, nil
}

// propose writes the preview and keeps its row.
func (w *write) propose(ctx context.Context, tx *sqlx.Tx, before *rowset, children []dependents, checks []verdict) (*Answer, error) {
	id, err := newID()
	if err != nil {
		return nil, err
	}
	p := &Preview{Operation: id, Short: shortCode(id), Mode: w.mode, Summary: w.summary(len(before.rows)), Expires: w.now.Add(w.lim.Expiry)}
	b := []byte(`{"status":"confirmation_required","code":"CONFIRM_REQUIRED"`)
	if w.ask.DryRun {
		b = append([]byte(`{"status":"dry_run"`), `,"message":"Nothing has been changed."`...)
	} else {
		p.Token = w.e.sign.token(id, p.Expires)
		b = appendString(append(b, `,"message":`...), w.message())
		b = append(append(b, `,"confirm":{`...), keptToken...)
		b = appendString(append(b, `,"expires_at":`...), p.Expires.Format(time.RFC3339))
		b = strconv.AppendInt(append(b, `,"expires_in":`...), int64(w.lim.Expiry.Seconds()), 10)
		b = appendString(append(b, `,"mode":`...), w.mode)
		b = appendString(append(b, `,"op_id":`...), id)
		b = append(appendString(append(b, `,"short_code":`...), p.Short), '}')
	}
	b = appendString(append(b, `,"summary":`...), p.Summary)
	b = w.shown(append(b, `,"rows":[`...), before)
	b = strconv.AppendInt(append(b, `],"rows_total":`...), int64(len(before.rows)), 10)
	b = strconv.AppendInt(append(b, `,"rows_shown":`...), int64(min(len(before.rows), maxShown)), 10)
	b = append(b, `,"dependents":[`...)
	n := 0
	for _, c := range children {
		if c.count == 0 {
			continue
		}
		if n++; n > 1 {
			b = append(b, ',')
		}
		b = appendString(append(b, `{"resource":`...), c.child.Resource.Code)
		b = appendString(append(b, `,"field":`...), c.child.Field.Code)
		b = append(strconv.AppendInt(append(b, `,"count":`...), c.count, 10), '}')
	}
	b = append(b, `],"warnings":[`...)
	for i, s := range append(w.warnings(), forewarned(checks)...) {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendString(b, s)
	}
	b = append(b, ']')
	if len(checks) > 0 {
		b = verdictsJSON(append(b, `,"validations":`...), checks)
	}
	b = append(b, `,"undo":{"available":true`...)
	b = append(appendString(append(b, `,"until":`...), w.now.Add(w.lim.Undo).Format(time.RFC3339)), "}}"...)
	a := &Answer{Text: b, Rows: len(before.rows)}
	if w.ask.DryRun {
		return a, nil
	}
	a.Text, a.Preview = w.told(string(b), p), p
	o := &operation{ID: id, Principal: w.who.Owner(), Key: w.who.Key, Tool: w.call.Tool, Resource: w.change.Resource().Code, Binding: w.binding,
		Version: version(w.change.Resource(), before, children), Catalog: w.catalog, Mode: w.mode}
	o.Result.String = string(b)
	return a, w.ledger.propose(ctx, w.ledger.in(tx), o, w.lim)
}

// keptToken stands for the token in a preview that is kept for those who approve it.
const keptToken = `"token":"…"`

// message says how to go on.
func (w *write) message() string {
	switch {
	case w.call.Dialog && w.mode == "human":
		return "Nothing has been changed yet. A person approves this by its short_code under another login. The dialog that the user sees leads there and goes on after that; wait for what it says."
	case w.call.Dialog:
		return "Nothing has been changed yet. The user decides in the dialog that shows this; wait for what it says."
	case w.mode == "human":
		return "Nothing has been changed yet. A person approves this by its short_code under another login; after that call " + w.call.Tool +
			" again with the same arguments, __confirm__: true and __confirm_token__."
	}
	return "Nothing has been changed yet. Show this to the user; to apply it call " + w.call.Tool +
		" again with the same arguments, __confirm__: true and __confirm_token__."
}

// summary says in a line what the change is. No value of the data stands in it.
func (w *write) summary(n int) string {
	rows := strconv.Itoa(n) + " rows"
	if n == 1 {
		rows = "1 row"
	}
	what := map[query.Verb]string{query.Update: "UPDATE ", query.Delete: "DELETE ", query.Create: "CREATE "}[w.verb]
	switch {
	case w.undoes != "":
		what = "UNDO of " + w.undoes + ": " + strings.TrimSpace(what) + " "
	case w.change.Soft() == "delete":
		what = "SOFT DELETE "
	case w.change.Soft() == "restore":
		what = "RESTORE "
	}
	s := what + w.change.Resource().Code + ": " + rows
	if w.verb == query.Update {
		var names []string
		for _, f := range w.given() {
			names = append(names, f.Code)
		}
		s += ", fields: " + strings.Join(names, ", ")
	}
	return s
}

// shown writes the first rows: before and, of an update, after; masked as reads are.
func (w *write) shown(b []byte, set *rowset) []byte {
	r := w.change.Resource()
	key := keyIndex(r)
	v := policy.For(w.e.cat, w.who)
	for i, row := range set.rows[:min(len(set.rows), maxShown)] {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendString(append(b, '{'), r.Key[0].Code), ':')
		b = set.cols[key].json(b, row[key])
		state := `,"before":{`
		if w.verb == query.Create {
			state = `,"after":{`
		}
		b = append(b, state...)
		assigned := w.assigned(i)
		n := 0
		for k, f := range r.Fields {
			if k == key || !v.Readable(f) || w.verb == query.Update && !slices.ContainsFunc(assigned, func(a plan.Assignment) bool { return a.Field == f && !a.System }) {
				continue
			}
			if n++; n > 1 {
				b = append(b, ',')
			}
			b = append(appendString(b, f.Code), ':')
			b = appendCut(b, set.cols[k].json(nil, row[k]))
		}
		b = append(b, '}')
		if w.verb == query.Update {
			b = w.after(append(b, `,"after":{`...), set, assigned)
			b = append(b, '}')
		}
		b = append(b, '}')
	}
	return b
}

// assigned are the new values of the i-th row.
func (w *write) assigned(i int) []plan.Assignment {
	switch rows := w.change.Rows(); {
	case len(rows) == 0:
		return nil
	case len(rows) == 1:
		return rows[0]
	default:
		return rows[i]
	}
}

func (w *write) after(b []byte, set *rowset, assigned []plan.Assignment) []byte {
	n := 0
	v := policy.For(w.e.cat, w.who)
	for _, a := range assigned {
		if a.System || a.Field == nil || !v.Readable(a.Field) {
			continue
		}
		if n++; n > 1 {
			b = append(b, ',')
		}
		b = append(appendString(b, a.Field.Code), ':')
		if a.Now {
			b = append(b, `"CURRENT_TIMESTAMP"`...)
			continue
		}
		c := set.cols[slices.Index(w.change.Resource().Fields, a.Field)]
		b = appendCut(b, c.json(nil, shownAs(a)))
	}
	return b
}

// appendCut shortens a long text.
func appendCut(b, value []byte) []byte {
	if len(value) > maxCell && value[0] == '"' {
		var s string
		if json.Unmarshal(value, &s) == nil && utf8.RuneCountInString(s) > maxCell {
			return appendString(b, cut(s, maxCell))
		}
	}
	if len(value) > 4*maxCell {
		return appendString(b, cut(string(value), maxCell))
	}
	return append(b, value...)
}

// warnings say what a person should know beside the rows.
func (w *write) warnings() []string {
	x := w.effect
	var out []string
	r := w.change.Resource()
	if w.verb == query.Delete {
		if r.SoftDelete != nil {
			out = append(out, "this removes the rows for good; to delete softly call res-update with "+r.SoftDelete.Field.Code)
		}
		if len(x.Cascades) > 0 {
			var names []string
			hidden := 0
			v := policy.For(w.e.cat, w.who)
			for _, t := range x.Cascades {
				i := slices.IndexFunc(w.e.cat.Resources, func(o *schema.Resource) bool {
					return o.Connection == r.Connection && strings.EqualFold(o.Table, t) && v.Visible(o)
				})
				if i < 0 {
					hidden++
				} else {
					names = append(names, w.e.cat.Resources[i].Code)
				}
			}
			if hidden > 0 {
				names = append(names, strconv.Itoa(hidden)+" other table"+map[bool]string{true: "s"}[hidden > 1])
			}
			out = append(out, "the database changes or deletes dependent rows by itself: "+strings.Join(names, ", ")+"; an undo does not bring those back")
		}
	}
	if moved := w.moved(); len(moved) > 0 {
		var names []string
		v := policy.For(w.e.cat, w.who)
		for _, f := range v.Fields(r) {
			if slices.ContainsFunc(moved, func(c string) bool { return sameColumn(w.db.driver.Name(), f.Column, c) }) {
				names = append(names, f.Code)
			}
		}
		if hidden := len(moved) - len(names); hidden > 0 {
			names = append(names, strconv.Itoa(hidden)+" column"+map[bool]string{true: "s"}[hidden > 1]+" not shown")
		}
		out = append(out, "the database itself changes with every update: "+strings.Join(names, ", ")+"; an undo puts that back")
	}
	if x.Triggers {
		out = append(out, "the table has triggers: more may change than is shown, and an undo does not take that back")
	}
	if w.taken != nil && w.taken.Foreign > 0 {
		out = append(out, "columns that the catalog does not know are restored as well")
	}
	return out
}
