package console

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"resq/engine"
	"resq/engine/policy"
	"resq/registry"
	"resq/schema"
	"resq/schema/problem"
)

type tryData struct {
	Keys       []*registry.Key
	Resources  []*schema.Resource
	Tools      []*schema.Tool
	Resource   *schema.Resource // of the form
	Tool       *schema.Tool     // of the form; nil is res-query
	Args       []tryArg
	Joins      []tryJoin
	Fields     []tryField
	Form       *tryForm
	Request    string // JSON
	Statements []string
	Columns    []string
	Rows       [][]string
	Answer     string // as the client has it
	CSV, Curl  string
	MCP        string
	Chart      *tryChart
	Failed     *problem.Problem
	Refused    problem.List
}

// Operators and Aggregates are those that the form offers.
func (d *tryData) Operators() []string { return tryOperators }

// Aggregates are told with Operators.
func (d *tryData) Aggregates() []string { return tryAggregates }

// Ordered are the names that the answer can be ordered by.
func (d *tryData) Ordered() []string {
	var out []string
	for _, f := range d.Fields {
		out = append(out, f.Name)
	}
	for _, s := range d.Form.Sums {
		if s.Func != "" {
			alias := strings.ToLower(s.Func)
			if _, code, ok := strings.Cut(s.Field, "."); ok {
				alias += "_" + code
			}
			out = append(out, alias)
		}
	}
	return out
}

const tryRows = 200

// try builds a request or the call of a tool, shows its SQL and what comes of it for a key.
func (c *Console) try(v *visit) error {
	_ = v.r.PostFormValue("what") // which parses the form
	e, release := c.opts.Lend()
	defer release()
	d, err := c.tryForm(v, e)
	if err != nil {
		return err
	}
	if v.r.Method == "GET" {
		return v.show("try", "", "Try", d)
	}
	d.Request = v.r.PostFormValue("request")
	what, path, _ := strings.Cut(v.r.PostFormValue("what"), " ")
	switch what {
	case "leaf", "group", "drop":
		d.Form.edit(what, path)
		return v.show("try", "", "Try", d)
	case "build", "":
		d.build()
		return v.show("try", "", "Try", d)
	case "sql":
		if d.Tool != nil {
			d.build()
		}
	}
	id, err := strconv.ParseInt(d.Form.Key, 10, 64)
	if err != nil || c.opts.KeyOwner == nil {
		return &problem.Problem{Code: problem.InvalidArgument, At: "/key", Message: "say which key the request is run as"}
	}
	who, err := c.opts.KeyOwner(v.r.Context(), id)
	if err != nil {
		return err
	}
	v.asked["request"], v.asked["key"], v.asked["tool"] = d.Request, d.Form.Key, d.name()
	r, err := c.runs.start(v.r.Context(), v.token, d, func(ctx context.Context) {
		if err := c.run(ctx, who, d, what == "sql"); err != nil {
			_, d.Failed = told(err)
		}
	})
	if err != nil {
		return err
	}
	select {
	case <-r.done:
		c.runs.forget(r.id)
		return v.show("try", "", "Try", d)
	case <-time.After(runPatient):
		return v.redirect("/try/runs/" + r.id)
	}
}

// tryForm is what the form offers for what stands in it.
func (c *Console) tryForm(v *visit, e *engine.Engine) (*tryData, error) {
	cat := e.Catalog()
	d := &tryData{Resources: cat.Resources, Form: formOf(v)}
	var err error
	if d.Keys, err = c.opts.Control.Keys(v.r.Context(), registry.KeyFilter{Limit: 1000}); err != nil {
		return nil, err
	}
	for _, t := range cat.Tools {
		if t.ReadOnly { // what writes is asked for by a client, and decided under Changes
			d.Tools = append(d.Tools, t)
			if t.Name == d.Form.Tool {
				d.Tool, d.Args = t, argsOf(t, languageOf(v.r), d.Form.Args)
			}
		}
	}
	if d.Form.Tool != "" && d.Tool == nil {
		return nil, &problem.Problem{Code: problem.NotFound, Message: "there is no tool " + problem.Quote(d.Form.Tool) + " that reads"}
	}
	if r, ok := cat.Resource(d.Form.Resource); ok && d.Tool == nil {
		d.Resource = r
		d.Joins = d.Form.joins(r)
		d.Fields = fieldsOf(r, d.Joins)
	}
	return d, nil
}

func (d *tryData) name() string {
	if d.Tool != nil {
		return d.Tool.Name
	}
	return "res-query"
}

// build writes what stands in the boxes as JSON.
func (d *tryData) build() {
	switch {
	case d.Tool != nil:
		d.Request = argsJSON(d.Args)
	case d.Resource != nil:
		d.Request = d.Form.request(d.Resource)
	}
}

// run calls the tool in the name of a key's owner; with only the statements are shown, and no row.
func (c *Console) run(ctx context.Context, who *policy.Principal, d *tryData, only bool) error {
	raw := []byte(d.Request)
	if d.Tool == nil {
		e, release := c.opts.Lend()
		r, err := e.Report(ctx, who, "res-query", raw, false)
		release()
		if err != nil {
			return err
		}
		for _, s := range r.Statements {
			d.Statements = append(d.Statements, s.SQL)
		}
		d.Refused = r.Refused
		if only {
			return nil
		}
	}
	text, code, failed := c.opts.Call(ctx, who, d.name(), raw)
	if t := engine.TraceOf(ctx); t != nil && d.Tool != nil {
		d.Statements = t.Statements()
	}
	if failed {
		return problemOf(code, text)
	}
	if only {
		return nil
	}
	d.Answer = text
	d.call(raw)
	var rows [][]json.RawMessage
	if d.Columns, rows = tableOf(text); d.Columns == nil {
		return nil // an answer of another form is shown as it is
	}
	var table bytes.Buffer
	w := csv.NewWriter(&table)
	_ = w.Write(d.Columns) // a buffer takes all
	for i, row := range rows {
		cells := make([]string, len(row))
		for k, x := range row {
			cells[k] = shown(x)
		}
		_ = w.Write(cells)
		if i < tryRows {
			d.Rows = append(d.Rows, cells)
		}
	}
	w.Flush()
	d.CSV = table.String()
	d.Chart = chartOf(d.Columns, rows)
	return nil
}

// call is the same as a client sends it.
func (d *tryData) call(raw []byte) {
	var one bytes.Buffer
	if json.Compact(&one, raw) != nil {
		return
	}
	d.MCP = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":` + quoteJSON(d.name()) + `,"arguments":` + one.String() + `}}`
	d.Curl = "curl -sS -H 'Authorization: Bearer KEY' -H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream' \\\n  -d '" + strings.ReplaceAll(d.MCP, "'", `'\''`) + "' http://127.0.0.1:8088/mcp"
}

// tableOf reads the rows of an answer: those beside its columns, or its first list of objects.
func tableOf(text string) (columns []string, rows [][]json.RawMessage) {
	var a struct {
		Columns []string            `json:"columns"`
		Rows    [][]json.RawMessage `json:"rows"`
	}
	if json.Unmarshal([]byte(text), &a) == nil && a.Columns != nil {
		return a.Columns, a.Rows
	}
	for _, m := range members([]byte(text)) {
		var list []json.RawMessage
		if json.Unmarshal(m.value, &list) != nil || len(list) == 0 {
			continue
		}
		at := map[string]int{}
		for _, raw := range list {
			object := members(raw)
			if object == nil {
				return nil, nil
			}
			row := make([]json.RawMessage, len(columns), len(columns)+len(object))
			for _, x := range object {
				k, ok := at[x.name]
				if !ok {
					k = len(columns)
					at[x.name], columns = k, append(columns, x.name)
				}
				for len(row) <= k {
					row = append(row, nil)
				}
				row[k] = x.value
			}
			rows = append(rows, row)
		}
		for i := range rows {
			for len(rows[i]) < len(columns) {
				rows[i] = append(rows[i], nil)
			}
			for k := range rows[i] {
				if rows[i][k] == nil {
					rows[i][k] = json.RawMessage("null")
				}
			}
		}
		return columns, rows
	}
	return nil, nil
}
