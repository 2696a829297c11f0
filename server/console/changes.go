package console

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"resq/engine"
	"resq/engine/policy"
	"resq/registry"
	"resq/schema/problem"
)

// states are those that changes are listed by; "" is all of them.
var states = []string{"", "previewed", "approved", "applied", "declined", "expired"}

const (
	listed     = 100 // changes on a page
	typedRows  = 10  // rows up to which a change is approved without typing their number
	maxReason  = 500
	shownTexts = 20 << 10
)

type changesData struct {
	State  string
	States []string
	List   []engine.Operation
	Most   bool // there may be more
}

func (c *Console) changes(v *visit) error {
	state := v.r.URL.Query().Get("state")
	if !slices.Contains(states, state) {
		return &problem.Problem{Code: problem.InvalidArgument, Message: "there is no state " + problem.Quote(state), Hint: problem.OneOf(state, states[1:])}
	}
	e, release := c.opts.Lend()
	defer release()
	list, err := e.Operations(v.r.Context(), state, listed)
	if err != nil {
		return err
	}
	part := ""
	if v.r.Header.Get("HX-Request") != "" {
		part = "rows"
	}
	return v.show("changes", part, "Changes", changesData{state, states, list, len(list) == listed})
}

// A diff is a preview or a result as a page shows it.
type diff struct {
	Summary    string
	Columns    []string
	Rows       []diffRow
	Total      int
	Dependents []dependent
	Warnings   []string
	Verdicts   []verdict
	UndoUntil  string
	Rest       string // what has no place of its own, as JSON
}

// A verdict is what a validation found.
type verdict struct {
	Validation, Mode, Message string
	Passed                    bool
}

type diffRow struct {
	ID    string
	Cells []diffCell // in the order of Columns
}

// A diffCell is one value; without a change Before or After is not there.
type diffCell struct {
	Before, After       string
	HasBefore, HasAfter bool
}

// Changed says whether both are there and differ.
func (c diffCell) Changed() bool { return c.HasBefore && c.HasAfter && c.Before != c.After }

type dependent struct {
	Resource, Field string
	Count           int64
}

// A member is one of an object, in its order.
type member struct {
	name  string
	value json.RawMessage
}

func members(raw []byte) []member {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil
	}
	var out []member
	for dec.More() {
		t, err := dec.Token()
		name, ok := t.(string)
		var m member
		if err != nil || !ok || dec.Decode(&m.value) != nil {
			return out
		}
		m.name = name
		out = append(out, m)
	}
	return out
}

// shown is a JSON value as a person reads it: a text without its quotes.
func shown(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil && len(raw) > 0 && raw[0] == '"' {
		return s
	}
	return string(raw)
}

// diffOf reads what an operation was told as.
func diffOf(text string) *diff {
	d := &diff{Total: -1}
	for _, m := range members([]byte(text)) {
		switch m.name {
		case "summary":
			d.Summary = shown(m.value)
		case "rows_total":
			d.Total, _ = strconv.Atoi(string(m.value)) // this program wrote it
		case "dependents":
			_ = json.Unmarshal(m.value, &d.Dependents)
		case "warnings":
			_ = json.Unmarshal(m.value, &d.Warnings)
		case "validations":
			var x struct{ Results []verdict }
			_ = json.Unmarshal(m.value, &x)
			d.Verdicts = x.Results
		case "undo":
			var u struct{ Until string }
			_ = json.Unmarshal(m.value, &u)
			d.UndoUntil = u.Until
		case "rows":
			var rows []json.RawMessage
			_ = json.Unmarshal(m.value, &rows)
			d.rows(rows)
		}
	}
	if d.Rows == nil && text != "" {
		var b bytes.Buffer
		if json.Indent(&b, []byte(text), "", "  ") == nil {
			d.Rest = b.String()
		} else {
			d.Rest = text
		}
		if len(d.Rest) > shownTexts {
			d.Rest = strings.ToValidUTF8(d.Rest[:shownTexts], "") + "…"
		}
	}
	return d
}

func (d *diff) rows(list []json.RawMessage) {
	type side map[string]string
	var before, after []side
	column := func(list []member) side {
		out := side{}
		for _, m := range list {
			if !slices.Contains(d.Columns, m.name) {
				d.Columns = append(d.Columns, m.name)
			}
			out[m.name] = shown(m.value)
		}
		return out
	}
	for _, raw := range list {
		var row diffRow
		var b, a side
		for _, m := range members(raw) {
			switch m.name {
			case "before":
				b = column(members(m.value))
			case "after":
				a = column(members(m.value))
			default:
				row.ID = m.name + " " + shown(m.value)
			}
		}
		d.Rows, before, after = append(d.Rows, row), append(before, b), append(after, a)
	}
	for i := range d.Rows {
		for _, name := range d.Columns {
			var c diffCell
			c.Before, c.HasBefore = before[i][name]
			c.After, c.HasAfter = after[i][name]
			d.Rows[i].Cells = append(d.Rows[i].Cells, c)
		}
	}
}

// sumOf is what a decision is bound to: what the page showed of the operation.
func sumOf(o engine.Operation) string {
	s := sha256.Sum256([]byte(o.ID + "\x00" + o.State + "\x00" + o.Told))
	return hex.EncodeToString(s[:])
}

type changeData struct {
	engine.Operation
	Diff *diff
	Sum  string
	Type bool // the number of rows is typed
	Mine bool // this admin asked for it
	// Undo is the preview of taking it back, with the token that confirms it.
	Undo      *diff
	Made      *diff // of an applied change that can be taken back: rows as they were and are
	UndoToken string
	UndoCode  string // by which another admin finds it
	UndoHuman bool
	CanUndo   bool
	Decide    bool // this admin may
}

func (c *Console) find(ctx context.Context, id string) (engine.Operation, error) {
	e, release := c.opts.Lend()
	defer release()
	o, ok, err := e.Operation(ctx, id)
	if err == nil && !ok {
		err = &problem.Problem{Code: problem.NotFound, Message: "there is no change " + problem.Quote(id)}
	}
	return o, err
}

func (c *Console) changeOf(v *visit, o engine.Operation) *changeData {
	d := &changeData{Operation: o, Diff: diffOf(o.Told), Sum: sumOf(o), Mine: policy.OwnedBy(o.Principal, v.admin.Name), Decide: v.admin.Is(registry.RoleApprover)}
	d.Type = d.Diff.Total > typedRows
	d.CanUndo = o.Undoable && o.State == "applied" && d.Decide && c.undoes(v.admin) != nil
	return d
}

func (c *Console) change(v *visit) error {
	o, err := c.find(v.r.Context(), v.r.PathValue("id"))
	if err != nil {
		return err
	}
	if v.r.Header.Get("HX-Request") != "" { // has anything happened since the page was made?
		if v.r.URL.Query().Get("sum") != sumOf(o) {
			v.w.Header().Set("HX-Refresh", "true")
		}
		v.w.WriteHeader(204)
		return nil
	}
	d := c.changeOf(v, o)
	d.Made = c.made(v, o)
	return v.show("change", "", "Change", d)
}

// made is what an applied change made of its rows: taking it back, the other way round. It is nil where that cannot be
// told, such as after the rows changed again.
func (c *Console) made(v *visit, o engine.Operation) *diff {
	who := c.undoes(v.admin)
	if o.State != "applied" || !o.Undoable || who == nil {
		return nil
	}
	raw, _ := json.Marshal(map[string]any{"op_id": o.ID, "dry_run": true}) // texts always encode
	text, _, failed := c.opts.Call(v.r.Context(), who, "res-undo", raw)
	if failed {
		return nil
	}
	d := diffOf(text)
	if len(d.Rows) == 0 {
		return nil
	}
	for i := range d.Rows {
		for k := range d.Rows[i].Cells {
			x := &d.Rows[i].Cells[k]
			x.Before, x.After, x.HasBefore, x.HasAfter = x.After, x.Before, x.HasAfter, x.HasBefore
		}
	}
	d.Summary, d.Dependents, d.Warnings, d.Verdicts = "", nil, nil, nil // of the undo
	return d
}

func (c *Console) approve(v *visit) error { return c.settle(v, true) }

func (c *Console) decline(v *visit) error { return c.settle(v, false) }

// settle decides about a change. What is decided about is what the page showed.
func (c *Console) settle(v *visit, approve bool) error {
	ctx := v.r.Context()
	o, err := c.find(ctx, v.r.PathValue("id"))
	if err != nil {
		return err
	}
	reason := v.form("reason")
	d := c.changeOf(v, o)
	switch {
	case len(reason) > maxReason:
		return &problem.Problem{Code: problem.InvalidArgument, At: "/reason", Message: "a reason has at most " + strconv.Itoa(maxReason) + " bytes"}
	case v.r.PostFormValue("sum") != d.Sum:
		return &problem.Problem{Code: problem.Conflict, Message: "the change is not as the page showed it any more", Hint: "look at it again"}
	case approve && o.Mode != "human":
		return &problem.Problem{Code: problem.InvalidArgument, Message: "this change waits for whoever asked for it, not for an approval"}
	case approve && d.Type && v.form("count") != strconv.Itoa(d.Diff.Total):
		return &problem.Problem{Code: problem.InvalidArgument, At: "/count", Message: "the number of rows that was typed is not that of the change", Hint: "type how many rows it changes"}
	case !approve && reason == "":
		return &problem.Problem{Code: problem.InvalidArgument, At: "/reason", Message: "say why: whoever asked is told"}
	case approve && d.Mine: // the engine refuses it too; here it leaves no line of a decision in the audit
		return &problem.Problem{Code: problem.ApprovalRequired, Message: "nobody approves what they asked for themselves", Hint: "another login approves it"}
	}
	code := "DECLINE"
	if approve {
		code = "APPROVE"
	}
	note := registry.Entry{Event: registry.EventApproval, Principal: v.admin.Name, Tool: o.Tool, Resource: o.Resource, Connection: o.Connection, Operation: o.ID, Code: code, Detail: reason, Address: addressOf(v.r)}
	if err := c.opts.Note(note); err != nil {
		return &problem.Problem{Code: problem.AuditUnavailable, Message: "the audit cannot be kept, so nothing was decided", Err: err}
	}
	e, release := c.opts.Lend()
	err = e.Settle(ctx, o.ID, approve, v.admin.Name, reason)
	release()
	if err != nil {
		_, p := told(err)
		note.Code, note.Detail = string(p.Code), "not "+strings.ToLower(code)+"d"
		_ = c.opts.Note(note) // the decision itself stands there
		return err
	}
	return v.redirect("/changes/" + o.ID)
}

// undoes is in whose name an admin takes changes back: with the rows and fields of the principal that is configured for
// it, and the admin's own name, so that nobody approves an undo of their own.
func (c *Console) undoes(a *registry.Admin) *policy.Principal {
	if c.opts.Undoes == nil {
		return nil
	}
	p := c.opts.Undoes()
	if p == nil {
		return nil
	}
	who := *p
	who.Name, who.Key, who.Token, who.Tools = a.Name, "", 0, nil
	who.Scopes = []string{"read", "write", "delete", "admin"}
	return &who
}

// undo shows what taking a change back would do, and with the token of that does it.
func (c *Console) undo(v *visit) error {
	ctx := v.r.Context()
	o, err := c.find(ctx, v.r.PathValue("id"))
	if err != nil {
		return err
	}
	d := c.changeOf(v, o)
	if !d.CanUndo {
		return &problem.Problem{Code: problem.Conflict, Message: "this change cannot be taken back from here", Hint: "it is not applied, too old, or the server has no principal of its own: see --principal"}
	}
	ask := map[string]any{"op_id": o.ID}
	if token := v.r.PostFormValue("token"); token != "" {
		ask["__confirm__"], ask["__confirm_token__"] = true, token
	}
	raw, _ := json.Marshal(ask) // texts always encode
	text, code, failed := c.opts.Call(ctx, c.undoes(v.admin), "res-undo", raw)
	if failed {
		return problemOf(code, text)
	}
	var answer struct {
		Confirm struct {
			Token     string
			Mode      string
			ShortCode string `json:"short_code"`
		}
	}
	_ = json.Unmarshal([]byte(text), &answer) // without a token it was done
	if answer.Confirm.Token == "" {
		v.asked["confirmed"] = true
		return v.redirect("/changes/" + o.ID)
	}
	d.Undo, d.UndoToken, d.UndoCode, d.UndoHuman = diffOf(text), answer.Confirm.Token, answer.Confirm.ShortCode, answer.Confirm.Mode == "human"
	return v.show("change", "", "Change", d)
}

// problemOf is what a tool's failed answer says.
func problemOf(code problem.Code, text string) error {
	type said struct{ Message, Hint string }
	var a struct {
		said
		Error  said
		Errors []said
	}
	_ = json.Unmarshal([]byte(text), &a) // an answer that is no JSON is shown as it is
	p := &problem.Problem{Code: code}
	for _, x := range append([]said{a.said, a.Error}, a.Errors...) {
		if p.Message == "" {
			p.Message, p.Hint = x.Message, x.Hint
		}
	}
	if p.Message == "" {
		p.Message = text
	}
	return p
}
