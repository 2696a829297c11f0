package engine

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"resq/engine/policy"
	"resq/schema"
	"resq/schema/problem"
	"resq/schema/query"
)

// preset answers a tool that is made of requests.
func (e *Engine) preset(ctx context.Context, who *policy.Principal, t *schema.Tool, call Call) (*Answer, error) {
	r := e.reading(ctx, who)
	r.log = call.Log
	args, err := e.arguments(t, call.Args)
	if err != nil {
		return nil, err
	}
	c := &presetCall{reading: r, tool: t, args: args, call: call}
	a, err := c.answer(t)
	if err == nil && t.Preset.Audit != nil {
		a.Logged = c.logged(t.Preset.Audit)
	}
	return a, err
}

// logged writes the arguments that may be logged, each as it is or under its mask.
func (c *presetCall) logged(audit *schema.Audit) []byte {
	b := []byte{'{'}
	add := func(name string, value []byte) {
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(append(appendString(b, name), ':'), value...)
	}
	for _, p := range c.tool.Params {
		v, given := c.args.of[p]
		if !given {
			continue
		}
		if mask := audit.Mask[p.Name]; mask != "" {
			add(p.Name, appendString(nil, masked(mask, v.text)))
		} else if slices.Contains(audit.Args, p.Name) {
			add(p.Name, c.argument(nil, p))
		}
	}
	if c.args.rows > 0 && slices.Contains(audit.Args, "page") {
		add("page", strconv.AppendInt(nil, c.args.page, 10))
	}
	if c.args.rows > 0 && slices.Contains(audit.Args, "rows") {
		add("rows", strconv.AppendInt(nil, c.args.rows, 10))
	}
	return append(b, '}')
}

func (c *presetCall) answer(t *schema.Tool) (*Answer, error) {
	switch {
	case t.Preset.Shape == "list" && t.Preset.Union != nil:
		return c.union()
	case t.Preset.Shape == "list":
		return c.list()
	case t.Preset.Shape == "count":
		return c.number()
	case t.Preset.Shape == "context":
		return c.context()
	}
	return c.one()
}

// A presetCall is one call of a preset.
type presetCall struct {
	*reading
	tool *schema.Tool
	args *values
	call Call
	down bool // Redis was asked in vain, which is said once
	// checking builds requests to find their faults: every part counts.
	checking bool
}

// list answers with one page of records, and how many there are in all.
func (c *presetCall) list() (*Answer, error) {
	p := c.tool.Preset
	q := c.request(p.Read)
	c.filter(q, p.Read)
	rows, total, err := c.page(q)
	if err != nil {
		return nil, err
	}
	l, err := c.load(p.Read, rows)
	if err != nil {
		return nil, err
	}
	return c.paged(total, rows.rows, 2*len(rows.buf)+32*len(rows.ends), func(b []byte, i int) []byte { return c.record(b, l, p.Read.Columns, i) })
}

// page reads the rows of the page that was asked for, and finds how many there are in all. A page that is not full ends
// the list, so that nothing need be counted.
func (c *presetCall) page(q *query.Request) (*table, int64, error) {
	if c.args.page-1 > c.e.opts.Limits.Offset/c.args.rows {
		return nil, 0, problem.List{{Code: problem.LimitExceeded, Stage: problem.Limits, At: "/page", Message: "the page begins behind row " +
			strconv.FormatInt(c.e.opts.Limits.Offset, 10), Hint: "narrow the conditions"}}
	}
	q.Limit, q.Offset = c.args.rows, (c.args.page-1)*c.args.rows
	rows, err := c.rows(q)
	if err != nil {
		return nil, 0, err
	}
	if !rows.more && (rows.rows > 0 || q.Offset == 0) {
		return rows, q.Offset + int64(rows.rows), nil
	}
	total, err := c.count(q)
	if err != nil {
		return nil, 0, err
	}
	if rows.rows > 0 { // of which some came or went between the two statements
		total = max(total, q.Offset+int64(rows.rows))
	}
	return rows, total, nil
}

// paged writes a page of n records, of about so many bytes.
func (c *presetCall) paged(total int64, n, size int, record func(b []byte, i int) []byte) (*Answer, error) {
	b := strconv.AppendInt(append(make([]byte, 0, 256+size), `{"total":`...), total, 10)
	b = strconv.AppendInt(append(b, `,"page":`...), c.args.page, 10)
	b = strconv.AppendInt(append(b, `,"rows":`...), c.args.rows, 10)
	b = append(b, `,"records":[`...)
	cut := false
	for i := range n {
		before := len(b)
		if i > 0 {
			b = append(b, ',')
		}
		b = record(append(b, '\n'), i)
		if len(b) > hardBytes && i > 0 {
			b, n, cut = b[:before], i, true
			c.args.notices = append(c.args.notices, words(c.tool.Lang, bytesCut, strconv.Itoa(i)))
			break
		}
	}
	if n > 0 {
		b = append(b, '\n')
	}
	b = c.notice(append(b, ']'))
	return &Answer{Text: append(b, '}'), Rows: n, Cut: cut}, nil
}

// notice writes what has to be said, in one text.
func (c *presetCall) notice(b []byte) []byte {
	if len(c.args.notices) == 0 {
		return b
	}
	separator := "; "
	if c.tool.Lang == "zh" {
		separator = "；"
	}
	return appendString(append(b, `,"notice":`...), strings.Join(c.args.notices, separator))
}

// number answers with how many rows there are.
func (c *presetCall) number() (*Answer, error) {
	q := c.request(c.tool.Preset.Read)
	c.filter(q, c.tool.Preset.Read)
	q.OrderBy = nil
	n, err := c.count(q)
	if err != nil {
		return nil, err
	}
	b := c.notice(strconv.AppendInt([]byte(`{"count":`), n, 10))
	return &Answer{Text: append(b, '}'), Rows: 1}, nil
}

// one answers with one record and what belongs to it.
func (c *presetCall) one() (*Answer, error) {
	p := c.tool.Preset
	if p.OneOf != nil && !slices.ContainsFunc(p.OneOf.Params, func(x *schema.Param) bool { _, given := c.args.of[x]; return given }) {
		text := p.OneOf.Text
		if text == "" {
			var names []string
			for _, x := range p.OneOf.Params {
				names = append(names, x.Name)
			}
			text = words(c.tool.Lang, needOne, strings.Join(names, "/"))
		}
		if !p.OneOf.Notice {
			return nil, problem.List{argument(p.OneOf.Params[0].Name, text, "")}
		}
		return c.nothing(text)
	}
	q := c.request(p.Read)
	c.filter(q, p.Read)
	q.Limit = 1
	rows, err := c.rows(q)
	if err != nil {
		return nil, err
	}
	if rows.rows == 0 {
		if !p.NotFound.Notice {
			return nil, problem.List{{Code: problem.NotFound, Stage: problem.Policy, Message: p.NotFound.Text}}
		}
		return c.nothing(p.NotFound.Text)
	}
	l, err := c.load(p.Read, rows)
	if err != nil {
		return nil, err
	}
	b := []byte{'{'}
	if p.Shape == "found" {
		b = append(b, `"found":true,`...)
	}
	if p.Record != "" {
		b = c.record(append(appendString(b, p.Record), ':'), l, p.Read.Columns, 0)
		b = append(b, ',')
	}
	b = c.members(b, l, p.Outputs, 0)
	b = c.notice(bytesTrimComma(b))
	return &Answer{Text: append(b, '}'), Rows: 1}, nil
}

func bytesTrimComma(b []byte) []byte {
	if n := len(b); n > 0 && b[n-1] == ',' {
		return b[:n-1]
	}
	return b
}

// nothing answers that there is no record, in the style of the tool.
func (c *presetCall) nothing(text string) (*Answer, error) {
	p := c.tool.Preset
	if p.Shape == "found" {
		b := appendString([]byte(`{"found":false,"message":`), text)
		return &Answer{Text: append(c.notice(b), '}')}, nil
	}
	b := []byte{'{'}
	if p.Record != "" {
		b = append(appendString(b, p.Record), ":null,"...)
	}
	for _, o := range p.Outputs {
		b = append(c.empty(append(appendString(b, o.Name), ':'), o), ',')
	}
	c.args.notices = append(c.args.notices, text)
	return &Answer{Text: append(c.notice(bytesTrimComma(b)), '}')}, nil
}

// empty is what an output shows beside a record that is not there.
func (c *presetCall) empty(b []byte, o *schema.Column) []byte {
	switch o.Kind {
	case "children", "distinct":
		return append(b, "[]"...)
	case "gather":
		if o.How == "list" {
			return append(b, "[]"...)
		}
		if o.How == "count" {
			return append(b, '0')
		}
	case "total":
		return append(b, '0')
	case "truncated":
		return append(b, "false"...)
	case "split":
		b = append(b, '{')
		for i, p := range o.Parts {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(appendString(b, p.Name), ":[]"...)
		}
		return append(b, '}')
	case "param":
		return c.argument(b, o.Param)
	case "value":
		return append(b, o.Value...)
	}
	return append(b, "null"...)
}

// context answers with what the server knows by itself.
func (c *presetCall) context() (*Answer, error) {
	b := c.members([]byte{'{'}, &loaded{t: &table{}}, c.tool.Preset.Outputs, 0)
	return &Answer{Text: append(b, '}'), Rows: 1}, nil
}

// request asks for the rows of a read, without what the arguments ask for.
func (c *presetCall) request(r *schema.Read) *query.Request {
	q := &query.Request{Resource: r.Source.Code, Limit: -1, Format: query.Columns, Conditions: &query.Node{}}
	for i, f := range r.Fetch {
		x := query.Field{Alias: "c" + strconv.Itoa(i), Expr: f.Expr}
		if f.Field != nil {
			x.Code = f.Field.Code
		}
		q.Fields = append(q.Fields, x)
	}
	if len(q.Fields) == 0 {
		q.Fields = []query.Field{{Code: r.Source.Fields[0].Code, Alias: "c0"}}
	}
	var inner *query.Node
	if r.Query != nil {
		from := c.instance(r.Query)
		inner = &query.Node{}
		if from.Conditions != nil {
			inner.Children = []*query.Node{from.Conditions}
		}
		from.Conditions = inner
		q.With = []query.With{{Code: r.Source.Code, Query: from}}
	}
	for _, cl := range r.Where {
		c.clause(q.Conditions, inner, cl)
	}
	q.OrderBy = orderBy(r.Source, r.Order)
	return q
}

// inner is where the conditions stand on what the query of a read begins with; nil where it reads a resource.
func inner(q *query.Request, r *schema.Read) *query.Node {
	if r.Query == nil {
		return nil
	}
	return q.With[0].Query.Conditions
}

func orderBy(r *schema.Resource, list []schema.Sort) (out []query.Order) {
	for _, s := range list {
		o := query.Order{Desc: s.Desc}
		if s.Is != nil {
			o.Expr = isFirst(r, s)
		} else {
			path := r.Code + "." + s.Field.Code
			o.Item = query.Item{Text: path, Field: path}
		}
		out = append(out, o)
	}
	return out
}

// clause adds a condition where it counts: what it says of the query's own resources inside it.
func (c *presetCall) clause(to, inner *query.Node, cl *schema.Clause) {
	if !c.counts(cl.When) {
		return
	}
	if len(cl.Cond.Children) > 0 || cl.Cond.Or || cl.Cond.Not {
		if n := c.given(cl.Cond); n != nil {
			to.Children = append(to.Children, n)
		}
		return
	}
	for _, l := range cl.Cond.Leaves {
		into := to
		if l.Resource != "" && inner != nil {
			into = inner
		}
		if l = c.givenLeaf(l); l != nil {
			into.Leaves = append(into.Leaves, l)
		}
	}
}

// counts says whether a part of the tool counts in this call.
func (c *presetCall) counts(w *schema.When) bool {
	if w == nil || c.checking {
		return true
	}
	given := func(p *schema.Param) bool { _, ok := c.args.of[p]; return ok }
	switch {
	case w.Param != nil && !slices.Contains(w.Is, c.args.of[w.Param].text):
		return false
	case w.Given != nil && !given(w.Given), w.Absent != nil && given(w.Absent):
		return false
	}
	return c.view.Holds(w.Principal)
}

// filter adds what the arguments ask for.
func (c *presetCall) filter(q *query.Request, r *schema.Read) {
	over := slices.ContainsFunc(c.tool.Params, func(p *schema.Param) bool { _, given := c.args.of[p]; return given && p.Overrides })
	for _, p := range c.tool.Params {
		v, given := c.args.of[p]
		if !given || over && !p.Overrides {
			continue
		}
		c.narrow(q, r, p, v)
	}
	settle(q)
}

// settle leaves out conditions that hold nothing.
func settle(q *query.Request) *query.Request {
	q.Conditions = orNone(q.Conditions)
	for _, w := range q.With {
		w.Query.Conditions = orNone(w.Query.Conditions)
	}
	return q
}

func orNone(n *query.Node) *query.Node {
	if n == nil || len(n.Leaves)+len(n.Children) == 0 {
		return nil
	}
	return n
}

// narrow adds what one argument asks for.
func (c *presetCall) narrow(q *query.Request, r *schema.Read, p *schema.Param, v value) {
	switch {
	case p.Exists != nil:
		q.Conditions.Leaves = append(q.Conditions.Leaves, c.exists(p, v, r.Source))
	case p.Within != nil:
		l := matching(p, v, p.Within.Field)
		l.Resource = p.Within.Source
		n := inner(q, r)
		n.Leaves = append(n.Leaves, l)
	case p.Field != "":
		f, _ := r.Source.Field(p.Field)
		q.Conditions.Leaves = append(q.Conditions.Leaves, matching(p, v, f))
	}
}
