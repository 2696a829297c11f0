package console

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"resq/engine"
	"resq/engine/policy"
	"resq/registry"
	"resq/schema"
	"resq/schema/problem"
)

type tryData struct {
	Keys      []*registry.Key
	Resources []*schema.Resource
	Resource  *schema.Resource // of the form
	Operators []string
	Form      tryForm
	Request   string // JSON
	Report    *engine.Report
	Columns   []string
	Rows      [][]string
	Answer    string // as the client has it
	CSV, Curl string
	MCP       string
	Chart     []tryBar
	Failed    *problem.Problem
}

// A tryForm is a request in the boxes of the form.
type tryForm struct {
	Key, Resource, Field, Op, Value, Order, Limit string
	Fields                                        []string
	Descending                                    bool
}

// Has says whether a field is ticked.
func (f tryForm) Has(code string) bool {
	for _, x := range f.Fields {
		if x == code {
			return true
		}
	}
	return false
}

type tryBar struct {
	Label, Value string
	Y, W         int
	TextX        int
}

const (
	tryRows   = 200
	chartBars = 30
	barHeight = 18
	barWidth  = 420
)

var tryOperators = []string{"=", "!=", ">", ">=", "<", "<=", "LIKE", "IS NULL", "IS NOT NULL"}

// try builds a request, shows its SQL and what comes of it for a key.
func (c *Console) try(v *visit) error {
	ctx := v.r.Context()
	e, release := c.opts.Lend()
	defer release()
	d := &tryData{Resources: e.Catalog().Resources, Operators: tryOperators}
	var err error
	if d.Keys, err = c.opts.Control.Keys(ctx, registry.KeyFilter{Limit: 1000}); err != nil {
		return err
	}
	value := func(name string) string {
		if v.r.Method == "GET" {
			return v.r.URL.Query().Get(name)
		}
		return v.form(name)
	}
	d.Form = tryForm{Key: value("key"), Resource: value("resource"), Field: value("field"), Op: value("op"), Value: value("value"), Order: value("order"), Limit: value("limit"), Descending: value("descending") != ""}
	if r, ok := e.Catalog().Resource(d.Form.Resource); ok {
		d.Resource = r
	}
	if v.r.Method == "GET" {
		d.Form.Limit = "20"
		return v.show("try", "", "Try", d)
	}
	d.Form.Fields = v.words("fields")
	d.Request = v.r.PostFormValue("request")
	if v.r.PostFormValue("what") == "build" {
		d.Request = d.Form.request()
		return v.show("try", "", "Try", d)
	}
	id, err := strconv.ParseInt(d.Form.Key, 10, 64)
	if err != nil || c.opts.KeyOwner == nil {
		return &problem.Problem{Code: problem.InvalidArgument, At: "/key", Message: "say which key the request is run as"}
	}
	who, err := c.opts.KeyOwner(ctx, id)
	if err != nil {
		return err
	}
	v.asked["request"] = d.Request
	if err := c.run(v, e, who, d); err != nil {
		_, d.Failed = told(err)
	}
	return v.show("try", "", "Try", d)
}

// request is the form as JSON.
func (f tryForm) request() string {
	type code struct {
		Code string `json:"code"`
	}
	type leaf struct {
		Field    string  `json:"field"`
		Operator string  `json:"operator"`
		Token    *string `json:"token,omitempty"`
	}
	type conditions struct {
		Type  string `json:"type"`
		Exprs []leaf `json:"exprs"`
	}
	type order struct {
		Type      string `json:"type"`
		Expr      string `json:"expr"`
		Direction string `json:"direction"`
	}
	q := struct {
		Resource   string      `json:"resource"`
		Fields     []code      `json:"fields"`
		Conditions *conditions `json:"conditions,omitempty"`
		OrderBy    []order     `json:"orderBy,omitempty"`
		Limit      int         `json:"limit,omitempty"`
	}{Resource: f.Resource, Fields: []code{}}
	for _, x := range f.Fields {
		q.Fields = append(q.Fields, code{x})
	}
	if f.Field != "" && f.Op != "" {
		l := leaf{Field: f.Field, Operator: f.Op}
		if !strings.HasSuffix(f.Op, "NULL") {
			l.Token = &f.Value
		}
		q.Conditions = &conditions{"and", []leaf{l}}
	}
	if f.Order != "" {
		o := order{"field", f.Resource + "." + f.Order, "asc"}
		if f.Descending {
			o.Direction = "desc"
		}
		q.OrderBy = []order{o}
	}
	q.Limit, _ = strconv.Atoi(f.Limit) // anything else is none
	b, _ := json.MarshalIndent(q, "", "  ")
	return string(b)
}

func (c *Console) run(v *visit, e *engine.Engine, who *policy.Principal, d *tryData) error {
	ctx, raw := v.r.Context(), []byte(d.Request)
	var err error
	if d.Report, err = e.Report(ctx, who, "res-query", raw, false); err != nil {
		return err
	}
	text, code, failed := c.opts.Call(ctx, who, "res-query", raw)
	if failed {
		return problemOf(code, text)
	}
	d.Answer = text
	var a struct {
		Columns []string            `json:"columns"`
		Rows    [][]json.RawMessage `json:"rows"`
	}
	if json.Unmarshal(raw, &struct{}{}) != nil || json.Unmarshal([]byte(text), &a) != nil {
		return nil // an answer of another format is shown as it is
	}
	var table bytes.Buffer
	w := csv.NewWriter(&table)
	_ = w.Write(a.Columns) // a buffer takes all
	d.Columns = a.Columns
	for i, row := range a.Rows {
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
	d.Chart = chartOf(a.Columns, a.Rows)
	var one bytes.Buffer
	if json.Compact(&one, raw) == nil {
		call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"res-query","arguments":` + one.String() + `}}`
		d.MCP = call
		d.Curl = "curl -sS -H 'Authorization: Bearer KEY' -H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream' \\\n  -d '" + strings.ReplaceAll(call, "'", `'\''`) + "' http://127.0.0.1:8088/mcp"
	}
	return nil
}

// chartOf draws the first column of numbers as bars, beside the first column of anything else.
func chartOf(columns []string, rows [][]json.RawMessage) []tryBar {
	number := func(k int) bool {
		some := false
		for _, row := range rows {
			if k >= len(row) || string(row[k]) == "null" {
				continue
			}
			if _, err := strconv.ParseFloat(string(row[k]), 64); err != nil {
				return false
			}
			some = true
		}
		return some
	}
	value, label := -1, -1
	for k := range columns {
		switch {
		case !number(k) && label < 0:
			label = k
		case number(k) && columns[k] != "id" && value < 0:
			value = k
		}
	}
	if value < 0 || label < 0 || len(rows) < 2 {
		return nil
	}
	most := 0.0
	for _, row := range rows[:min(len(rows), chartBars)] {
		x, _ := strconv.ParseFloat(string(row[value]), 64)
		most = math.Max(most, x)
	}
	if most <= 0 {
		return nil
	}
	var out []tryBar
	for i, row := range rows[:min(len(rows), chartBars)] {
		x, _ := strconv.ParseFloat(string(row[value]), 64)
		name := []rune(shown(row[label]))
		if len(name) > 16 {
			name = append(name[:15], '…')
		}
		width := int(math.Max(0, x) / most * barWidth)
		out = append(out, tryBar{Label: string(name), Value: shown(row[value]), Y: i * barHeight, W: width, TextX: 166 + width})
	}
	return out
}
