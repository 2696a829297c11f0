package engine

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"resq/engine/policy"
	"resq/schema"
	"resq/schema/problem"
	"resq/schema/query"

	"github.com/jmoiron/sqlx"
)

// Note [validations]
//
// A validation is asked in the transaction of a change, after the rows were changed and before anything is kept, so that
// it decides about what would be there. It sees every row, whoever asks: a rule about orders and shipments must not hang on
// who may list shipments. A validation that cannot be asked, or does not say whether it passed, counts as a required one
// that failed: what was not checked is not let through (C-020). The same is done for a preview, and taken back (C-043).

// Bounds of what a validation says.
const (
	maxVerdictText = 500
	maxVerdictData = 4 << 10
)

// A verdict is what one validation said of a change.
type verdict struct {
	a        *schema.Attachment
	resource string
	passed   bool
	broken   bool // it could not be asked, which counts as a required one that failed
	message  string
	data     []byte // JSON; nil is none
	took     time.Duration
}

// stops says that the change may not stay.
func (v *verdict) stops() bool { return !v.passed && (v.broken || v.a.Mode == "required") }

// validate asks the validations of the resource about a change that was made in tx.
func (w *write) validate(ctx context.Context, tx *sqlx.Tx, before *rowset, res *result) ([]verdict, error) {
	list := w.change.Resource().Validations
	if len(list) == 0 {
		return nil, nil
	}
	c := &checking{w: w, in: &inside{Tx: tx, db: w.db}, rows: w.changed(before, res)}
	out := make([]verdict, 0, len(list))
	for _, a := range list {
		v, err := c.judge(ctx, a)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	w.verdicts = out
	return out, nil
}

// refused says that validations stop a change; nil is that none does. No verdict at all where there should be one stops
// it, too (C-021).
func (w *write) refused(list []verdict) error {
	var told []string
	for i := range list {
		if v := &list[i]; v.stops() {
			told = append(told, v.a.Validation.Name+": "+cmp.Or(v.message, "it does not pass"))
		}
	}
	if len(told) == 0 && len(list) == len(w.change.Resource().Validations) {
		return nil
	}
	return problem.List{{Code: problem.ValidationFailed, Stage: problem.Confirm, Message: "nothing was changed, because a validation does not pass: " + cut(strings.Join(told, "; "), maxVerdictText),
		Hint: "send what passes; dry_run shows it beforehand", Details: verdictsJSON(nil, list)}}
}

// A changed row, as validations are told of it. Values are those of the database, hidden from nobody.
type changedRow struct {
	id            json.RawMessage
	before, after map[string]json.RawMessage // by field; nil where there is no such row
}

// changed pairs the rows before and after a change.
func (w *write) changed(before *rowset, res *result) []changedRow {
	r := w.change.Resource()
	key := keyIndex(r)
	var out []changedRow
	at := map[int64]int{}
	add := func(set *rowset, after bool) {
		if set == nil {
			return
		}
		for _, row := range set.rows {
			fields := make(map[string]json.RawMessage, len(r.Fields))
			for k, f := range r.Fields {
				c := set.cols[k]
				c.mask = ""
				fields[f.Code] = c.json(nil, row[k])
			}
			id := whole(row[key])
			i, known := at[id]
			if !known {
				i = len(out)
				at[id] = i
				out = append(out, changedRow{id: fields[r.Fields[key].Code]})
			}
			if after {
				out[i].after = fields
			} else {
				out[i].before = fields
			}
		}
	}
	if w.verb != query.Create {
		add(before, false)
	}
	add(res.after, true)
	return out
}

// A checking asks validations about one change.
type checking struct {
	w    *write
	in   *inside
	rows []changedRow
}

// judge asks one validation, of which nothing stays. The error is one that ends the transaction; it is no verdict.
func (c *checking) judge(ctx context.Context, a *schema.Attachment) (verdict, error) {
	began := time.Now()
	v := verdict{a: a, resource: c.w.change.Resource().Code, passed: true}
	if _, err := c.in.ExecContext(ctx, "SAVEPOINT resq_validation"); err != nil {
		return v, err
	}
	rows := c.rows
	if !a.Validation.Each {
		rows = []changedRow{{}}
	}
	for i := range rows {
		one, err := c.ask(ctx, a, &rows[i])
		if c.in.lost != nil {
			return v, c.in.lost
		}
		if ctx.Err() != nil {
			return v, ctx.Err()
		}
		if err != nil {
			c.w.e.opts.Log.Error("a validation cannot be asked, which stops the change", "validation", a.Validation.Name, "resource", c.w.change.Resource().Code, "request", c.w.call.Request, "error", err)
			v.passed, v.broken, v.message, v.data = false, true, "the validation could not be asked: "+reasonOf(err), nil
			break
		}
		if !one.passed || i == 0 {
			v.passed, v.message, v.data = one.passed, one.message, one.data
		}
		if !v.passed {
			break // the first row that does not pass says why
		}
	}
	if _, err := c.in.ExecContext(ctx, "ROLLBACK TO SAVEPOINT resq_validation"); err != nil {
		return v, err
	}
	if _, err := c.in.ExecContext(ctx, "RELEASE SAVEPOINT resq_validation"); err != nil {
		return v, err
	}
	v.took = time.Since(began)
	return v, nil
}

// reasonOf is what may be told of why a validation could not be asked: words of this program alone.
func reasonOf(err error) string {
	var l problem.List
	if errors.As(err, &l) && len(l) > 0 {
		return l[0].Message
	}
	var m malformed
	if errors.As(err, &m) {
		return string(m)
	}
	return "its transform failed"
}

// A malformed says what is wrong with the answer of a validation.
type malformed string

func (m malformed) Error() string { return string(m) }

// A finding is what a validation answers about one row, or about the whole change.
type finding struct {
	passed  bool
	message string
	data    []byte
}

func (c *checking) ask(ctx context.Context, a *schema.Attachment, row *changedRow) (finding, error) {
	v := a.Validation
	args, err := c.inputs(ctx, a, row)
	if err != nil {
		return finding{}, err
	}
	var answers []json.RawMessage
	switch t := v.Tool; {
	case t.SQL != nil && (v.Wraps || v.Transform != nil):
		var a *Answer
		if a, err = c.sql(ctx, t, args); err == nil {
			answers = []json.RawMessage{a.Text}
		}
	case t.SQL != nil:
		var a *Answer
		if a, err = c.sql(ctx, t, args); err == nil {
			var all struct{ Data []json.RawMessage }
			if err = json.Unmarshal(a.Text, &all); err == nil && len(all.Data) == 0 {
				err = malformed("it gave no row")
			}
			if answers = all.Data; a.Cut {
				err = malformed("it gave too many rows")
			}
		}
	default:
		var text []byte
		if text, err = c.preset(ctx, t, args); err == nil {
			answers = []json.RawMessage{text}
		}
	}
	if err != nil {
		return finding{}, err
	}
	var first finding
	for i, answer := range answers {
		one, err := c.verdictOf(ctx, a, row, answer)
		if err != nil || !one.passed {
			return one, err
		}
		if i == 0 {
			first = one
		}
	}
	return first, nil
}

// preset asks a tool that is made of requests.
func (c *checking) preset(ctx context.Context, t *schema.Tool, raw []byte) ([]byte, error) {
	e := c.w.e
	t, err := e.filled(c.w.who, t, raw)
	if err != nil {
		return nil, err
	}
	args, err := e.arguments(t, raw)
	if err != nil {
		return nil, err
	}
	p := &presetCall{reading: e.readingWhole(ctx, c.w.who, c.in), tool: t, args: args, call: c.w.call}
	a, err := p.answer(t)
	if err != nil {
		return nil, err
	}
	return a.Text, nil
}

// sql asks a SQL tool: on the connection of the change, where it may run there.
func (c *checking) sql(ctx context.Context, t *schema.Tool, raw []byte) (*Answer, error) {
	e := c.w.e
	given, conn, err := e.given(t, raw)
	if err != nil {
		return nil, err
	}
	if own := c.w.change.Resource().Connection; conn == nil && slices.Contains(t.SQL.Choice, own) {
		conn = own
	}
	if conn, err = runsOn(c.w.who, t, conn); err != nil {
		return nil, err
	}
	st, err := e.foreign(conn, t.SQL.Text)
	if err != nil {
		return nil, err
	}
	f := &foreignCall{who: asTool(c.w.who), st: st, given: given, limit: e.opts.SQL.Default, view: policy.Whole(e.cat, asTool(c.w.who))}
	if e.dbs[conn] == c.in.db {
		f.in = c.in
	}
	return e.runForeign(ctx, f)
}

// inputs are the arguments with which the tool of a validation is asked.
func (c *checking) inputs(ctx context.Context, a *schema.Attachment, row *changedRow) ([]byte, error) {
	v := a.Validation
	out := map[string]any{}
	if v.Wraps {
		for _, x := range v.Args {
			val, err := x.Formula.Eval(ctx, c.variables(a, row, nil))
			if err != nil {
				return nil, err
			}
			out[x.Name] = val
		}
		return json.Marshal(out)
	}
	for _, p := range v.Tool.Params {
		if text, given := a.Args[p.Name]; given {
			out[p.Name] = text
			continue
		}
		field, after, isField := v.Input(p.Name)
		switch {
		case p.Name == "resource":
			out[p.Name] = c.w.change.Resource().Code
		case p.Name == "action":
			out[p.Name] = string(c.w.verb)
		case p.Name == "id":
			out[p.Name] = row.id
		case p.Name == "ids":
			ids := []json.RawMessage{}
			for i := range c.rows {
				ids = append(ids, c.rows[i].id)
			}
			out[p.Name] = ids
		case isField:
			from := row.before
			if after {
				from = row.after
			}
			if val, there := from[field]; there {
				out[p.Name] = val
			} else if !p.HasDefault {
				out[p.Name] = nil
			}
		}
	}
	return json.Marshal(out)
}

// variables are what an expression of a validation may use.
func (c *checking) variables(a *schema.Attachment, row *changedRow, output any) map[string]any {
	ids := make([]any, len(c.rows))
	for i := range c.rows {
		ids[i] = calculable(c.rows[i].id)
	}
	record := func(fields map[string]json.RawMessage) any {
		if fields == nil {
			return nil
		}
		out := make(map[string]any, len(fields))
		for code, raw := range fields {
			out[code] = calculable(raw)
		}
		return out
	}
	in := map[string]any{"output": output, "resource": c.w.change.Resource().Code, "action": string(c.w.verb), "ids": ids, "args": a.Args}
	if a.Validation.Each {
		in["id"], in["before"], in["after"] = calculable(row.id), record(row.before), record(row.after)
		return in
	}
	var before, after []any
	for i := range c.rows {
		if b := record(c.rows[i].before); b != nil {
			before = append(before, b)
		}
		if b := record(c.rows[i].after); b != nil {
			after = append(after, b)
		}
	}
	in["id"], in["before"], in["after"] = nil, before, after
	return in
}

// calculable is JSON as CEL calculates with it.
func calculable(raw []byte) any {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return nil
	}
	return numeric(v)
}

func numeric(v any) any {
	switch x := v.(type) {
	case json.Number:
		return schema.Numeric(x)
	case []any:
		for i := range x {
			x[i] = numeric(x[i])
		}
	case map[string]any:
		for k := range x {
			x[k] = numeric(x[k])
		}
	}
	return v
}

// verdictOf reads an answer as {passed, message, data}, by way of the transform where there is one.
func (c *checking) verdictOf(ctx context.Context, a *schema.Attachment, row *changedRow, answer []byte) (s finding, err error) {
	var v any
	if x := a.Validation.Transform; x != nil {
		if v, err = x.Eval(ctx, c.variables(a, row, calculable(answer))); err != nil {
			return s, err
		}
	} else if err := json.Unmarshal(answer, &v); err != nil {
		return s, err
	}
	m, ok := v.(map[string]any)
	if !ok {
		return s, malformed("its answer is no object")
	}
	switch x := m["passed"].(type) {
	case bool:
		s.passed = x
	case json.Number:
		ok, s.passed = x == "1" || x == "0", x == "1"
	case float64: // what databases without booleans have for one
		ok, s.passed = x == 1 || x == 0, x == 1
	default:
		ok = false
	}
	if !ok {
		return s, malformed("its answer does not say whether it passed")
	}
	switch x := m["message"].(type) {
	case nil:
	case string:
		s.message = cut(x, maxVerdictText)
	default:
		return s, malformed("its message is no text")
	}
	if x := m["data"]; x != nil {
		if s.data, err = json.Marshal(x); err != nil {
			return s, err
		}
		if len(s.data) > maxVerdictData {
			s.data = []byte(`"(more than ` + strconv.Itoa(maxVerdictData) + ` bytes, left out)"`)
		}
	}
	return s, nil
}
