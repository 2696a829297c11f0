package engine

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"resq/engine/sheet"
	"resq/schema"
)

func strconvInt(n int64) string { return strconv.FormatInt(n, 10) }

// record writes the outputs of one row as an object.
func (c *presetCall) record(b []byte, l *loaded, list []*schema.Column, row int) []byte {
	return append(c.members(append(b, '{'), l, list, row), '}')
}

func (c *presetCall) members(b []byte, l *loaded, list []*schema.Column, row int) []byte {
	for i, o := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = c.output(append(b, o.Key...), l, o, row)
	}
	return b
}

// output writes the value of one output.
func (c *presetCall) output(b []byte, l *loaded, o *schema.Column, row int) []byte {
	switch o.Kind {
	case "field":
		return c.shown(b, o, l.t.cell(row, o.Index))
	case "text":
		if code, ok := l.t.text(row, o.Index); ok {
			if label, ok := o.Map.Label(code); ok {
				return appendString(b, label)
			}
		}
	case "lookup":
		if f := l.found[o.Lookup]; f != nil {
			if key, ok := l.t.text(row, o.Index); ok {
				if at, ok := f.by[key]; ok {
					return c.shown(b, o, f.t.cell(at, o.Take+1))
				}
			}
		}
	case "redis":
		if key, ok := redisKey(o.Redis, l.t, row); ok {
			if v, ok := l.kept[o.Redis][key]; ok {
				return c.keptValue(b, o, v)
			}
		}
	case "derive":
		return c.derived(b, l, o, row)
	case "param":
		return c.argument(b, o.Param)
	case "children":
		t, rows := l.rowsOf(o.Child, row)
		return c.objects(b, t, o.Outputs, rows)
	case "distinct":
		return c.distinct(b, l, o, row)
	case "one":
		if t, rows := l.rowsOf(o.Child, row); len(rows) > 0 {
			return c.record(b, t, o.Outputs, rows[0])
		}
	case "spread":
		t, rows := l.rowsOf(o.Child, row)
		if len(rows) == 0 {
			return c.empty(b, o.Columns[0])
		}
		return c.output(b, t, o.Columns[0], rows[0])
	case "gather":
		return c.gather(b, l, o, row)
	case "split":
		return c.split(b, l, o, row)
	case "total":
		return strconv.AppendInt(b, max(l.lists[o.Child].total, 0), 10)
	case "truncated":
		return strconv.AppendBool(b, l.lists[o.Child].more)
	case "object":
		if o.Null && !slices.ContainsFunc(o.Columns, func(x *schema.Column) bool { return x.Kind != "value" && !hollow(c.output(nil, l, x, row)) }) {
			return append(b, "null"...)
		}
		return c.record(b, l, o.Columns, row)
	case "choose":
		if x := chosen(o, l.t, row); x != nil {
			return c.output(b, l, x, row)
		}
	case "context":
		return c.known(b, o)
	}
	return append(b, o.Value...)
}

// shown writes what was read: its default where there is none, its image where it is masked, in the format asked for.
func (c *presetCall) shown(b []byte, o *schema.Column, raw []byte) []byte {
	if string(raw) == "null" {
		return append(b, o.Value...)
	}
	if o.Mask != "" {
		text, _ := sheet.TextOf(raw)
		return appendString(b, masked(o.Mask, text))
	}
	if o.Format == "" {
		return append(b, raw...)
	}
	text, _ := sheet.TextOf(raw)
	switch o.Format {
	case "datetime":
		return appendString(b, text[:min(len(text), len(time.DateTime))])
	case "date":
		return appendString(b, text[:min(len(text), len(time.DateOnly))])
	case "text":
		return appendString(b, text)
	case "number":
		if isNumber(text) {
			return append(b, text...)
		}
	case "bool":
		switch text {
		case "1", "true":
			return append(b, "true"...)
		case "0", "false":
			return append(b, "false"...)
		}
	}
	return append(b, raw...)
}

// keptValue writes a value of Redis. One that is not what it is declared to be counts as none.
func (c *presetCall) keptValue(b []byte, o *schema.Column, v string) []byte {
	switch o.Redis.As {
	case "number":
		if v = strings.Trim(v, `"`); isNumber(v) && json.Valid([]byte(v)) {
			return append(b, v...)
		}
		return append(b, o.Value...)
	case "json":
		if json.Valid([]byte(v)) {
			return appendJSON(b, v)
		}
		return append(b, o.Value...)
	}
	if len(v) >= 2 && v[0] == '"' && v[len(v)-1] == '"' { // its writer may have written JSON (B-062)
		var text string
		if json.Unmarshal([]byte(v), &text) == nil {
			v = text
		} else {
			v = v[1 : len(v)-1]
		}
	}
	return appendString(b, v)
}

// derived writes what the first case that counts shows.
func (c *presetCall) derived(b []byte, l *loaded, o *schema.Column, row int) []byte {
	t := l.t
	for _, d := range o.Cases {
		if d.Of != nil {
			in, rows := l.rowsOf(d.Of, row)
			if !slices.ContainsFunc(rows, func(r int) bool { return !hollow(c.output(nil, in, d.Within, r)) }) {
				continue
			}
		}
		if d.Filled >= 0 {
			if v, ok := t.text(row, d.Filled); !ok || v == "" {
				continue
			}
		}
		if slices.ContainsFunc(d.Equals, func(e schema.Equal) bool { v, ok := t.text(row, e.Index); return !ok || v != e.Text }) {
			continue
		}
		if d.Value == "" {
			return append(b, t.cell(row, d.Index)...)
		}
		return append(b, d.Value...)
	}
	return append(b, "null"...)
}

// argument writes the value of an argument; null when there is none.
func (c *presetCall) argument(b []byte, p *schema.Param) []byte {
	v, given := c.args.of[p]
	switch {
	case !given:
		return append(b, "null"...)
	case v.list != nil:
		text, _ := json.Marshal(v.list) // texts always encode
		return append(b, text...)
	case p.Type == "string" || p.Type == "date" || p.Type == "enum" && !p.Numbers():
		return appendString(b, v.text)
	}
	return append(b, v.text...)
}

func (c *presetCall) objects(b []byte, l *loaded, outputs []*schema.Column, rows []int) []byte {
	b = append(b, '[')
	for i, row := range rows {
		if i > 0 {
			b = append(b, ',')
		}
		b = c.record(b, l, outputs, row)
	}
	return append(b, ']')
}

func (c *presetCall) distinct(b []byte, l *loaded, o *schema.Column, row int) []byte {
	t, rows := l.rowsOf(o.Child, row)
	seen := map[string]bool{}
	b = append(b, '[')
	for _, r := range rows {
		at := len(b)
		if len(seen) > 0 {
			b = append(b, ',')
		}
		from := len(b)
		b = c.record(b, t, o.Outputs, r)
		one := string(b[from:])
		if seen[one] || hollow(b[from:]) {
			b = b[:at]
			continue
		}
		seen[one] = true
	}
	return append(b, ']')
}

// gather makes one value out of the rows of a child list.
func (c *presetCall) gather(b []byte, l *loaded, o *schema.Column, row int) []byte {
	t, rows := l.rowsOf(o.Child, row)
	if o.How == "count" {
		return strconv.AppendInt(b, int64(len(rows)), 10)
	}
	var keys keyList
	for _, r := range rows {
		if one := c.output(nil, t, o.Outputs[0], r); string(one) != "null" {
			keys.add(string(one))
		}
	}
	list := keys.keys
	switch {
	case o.How == "list":
		return append(append(append(b, '['), strings.Join(list, ",")...), ']')
	case len(list) == 0:
		return append(b, "null"...)
	case o.How == "join":
		for i, raw := range list {
			list[i], _ = sheet.TextOf([]byte(raw))
		}
		return appendString(b, strings.Join(list, o.Separator))
	case o.How == "last":
		return append(b, list[len(list)-1]...)
	case o.How == "min":
		return append(b, slices.MinFunc(list, compareJSON)...)
	case o.How == "max":
		return append(b, slices.MaxFunc(list, compareJSON)...)
	}
	return append(b, list[0]...)
}

// compareJSON orders numbers as numbers and everything else as text.
func compareJSON(a, b string) int {
	x, errA := strconv.ParseFloat(a, 64)
	y, errB := strconv.ParseFloat(b, 64)
	switch {
	case errA != nil || errB != nil:
		return strings.Compare(a, b)
	case x < y:
		return -1
	case x > y:
		return 1
	}
	return 0
}

// split parts the rows of a child list by the value of one of their outputs.
func (c *presetCall) split(b []byte, l *loaded, o *schema.Column, row int) []byte {
	t, rows := l.rowsOf(o.Child, row)
	b = append(b, '{')
	for i, p := range o.Parts {
		if i > 0 {
			b = append(b, ',')
		}
		var part []int
		for _, r := range rows {
			if v, ok := sheet.TextOf(c.output(nil, t, o.Outputs[0], r)); ok && v == p.Value {
				part = append(part, r)
			}
		}
		b = c.objects(append(appendString(b, p.Name), ':'), t, o.Child.Shown(), part)
	}
	return append(b, '}')
}

// hollow says whether JSON that was written here holds nothing but null, empty texts and empty lists.
func hollow(raw []byte) bool {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return false
	}
	return empty(v)
}

func empty(v any) bool {
	switch x := v.(type) {
	case nil:
		return true
	case string:
		return x == ""
	case []any:
		return !slices.ContainsFunc(x, func(y any) bool { return !empty(y) })
	case map[string]any:
		for _, y := range x {
			if !empty(y) {
				return false
			}
		}
		return true
	}
	return false
}

// known writes what the server knows by itself.
func (c *presetCall) known(b []byte, o *schema.Column) []byte {
	now := c.e.opts.Now()
	switch o.Context {
	case "service.version":
		return appendString(b, c.e.opts.Version)
	case "now":
		return appendString(b, now.Format(time.DateTime))
	case "now.offset":
		return appendString(b, now.Format(time.RFC3339))
	case "redis":
		return appendString(b, c.probe())
	case "subject.type":
		if c.who.User != "" {
			return appendString(b, "user_delegated")
		}
		return appendString(b, "tenant_service")
	case "subject.id":
		id := c.who.User
		if id == "" && c.who.Token != 0 {
			id = strconvInt(c.who.Token)
		}
		return number(b, id, o.Value)
	case "scopes":
		return appendString(b, strings.Join(c.who.Codes, ","))
	case "scopes.version":
		return appendInt(b, c.who.Bound)
	case "tools", "capabilities":
		list := []string{}
		if c.call.Tools != nil {
			list = slices.Sorted(slices.Values(c.call.Tools()))
		}
		if o.Context == "capabilities" {
			list = capabilities(list)
		}
		text, _ := json.Marshal(list) // texts always encode
		return append(b, text...)
	}
	a := c.who.Attributes[strings.TrimPrefix(o.Context, "principal.")]
	switch {
	case a.List:
		text, _ := json.Marshal(a.Texts)
		return append(b, text...)
	case len(a.Texts) != 1:
		return append(b, o.Value...)
	}
	return number(b, a.Texts[0], o.Value)
}

// number writes a text that is a whole number as one; what is shown without it when there is none.
func number(b []byte, text, none string) []byte {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && strconv.FormatInt(n, 10) == text {
		return appendInt(b, n)
	}
	if text == "" {
		return append(b, none...)
	}
	return appendString(b, text)
}

// capabilities are the levels that tools amount to: any of them is a query, and one that lists changes a way to stay in
// step.
func capabilities(tools []string) []string {
	out := []string{}
	if len(tools) > 0 {
		out = append(out, "QUERY")
	}
	if slices.ContainsFunc(tools, func(t string) bool { return strings.HasSuffix(t, ".changes.list") }) {
		out = append(out, "SYNC")
	}
	return out
}

// probe asks every Redis of the catalog whether it is there.
func (c *presetCall) probe() string {
	if len(c.e.kvs) == 0 {
		return "ERROR: no connection of the driver redis"
	}
	for conn, kv := range c.e.kvs {
		if err := kv.Ping(c.ctx); err != nil {
			c.e.opts.Log.Warn("redis does not answer", "connection", conn.Name, "error", err)
			return "ERROR: unavailable"
		}
	}
	return "PONG"
}
