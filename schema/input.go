package schema

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

// inputSchema is the JSON Schema of a tool's arguments. Keys are written in the order of the declaration, because a
// model reads them in that order.
func inputSchema(t *Tool, lang string) []byte {
	var b bytes.Buffer
	b.WriteString(`{"type":"object","properties":{`)
	var must []string
	one := func(name, schema string) {
		if b.Bytes()[b.Len()-1] != '{' {
			b.WriteByte(',')
		}
		b.WriteString(asJSON(name) + ":" + schema)
	}
	for _, p := range t.Params {
		one(p.Name, p.schema(lang))
		if p.Required {
			must = append(must, asJSON(p.Name))
		}
	}
	if p := t.Preset; p != nil && p.Shape == "list" {
		page, rows := "Page, from 1", "Rows of a page; more than "+strconv.FormatInt(p.Paging.Max, 10)+" are cut to it"
		if lang == "zh" {
			page, rows = "页码，从 1 开始", "每页条数，上限 "+strconv.FormatInt(p.Paging.Max, 10)+"，超出截断"
		}
		one("page", `{"type":"integer","default":1,"description":`+asJSON(page)+`}`)
		one("rows", `{"type":"integer","default":`+strconv.FormatInt(p.Paging.Default, 10)+`,"description":`+asJSON(rows)+`}`)
	}
	if t.SQL != nil && t.SQL.Choice != nil {
		list := make([]string, len(t.SQL.Choice))
		for i, c := range t.SQL.Choice {
			list[i] = c.Name
		}
		about, usual := t.SQL.About.In(lang), `,"default":`+asJSON(t.SQL.Default.Name)
		if about == "" {
			about = "The database to ask"
		}
		if t.SQL.Must {
			usual = ""
			must = append(must, asJSON(t.SQL.Arg))
		}
		one(t.SQL.Arg, `{"type":"string","enum":`+asJSON(list)+usual+`,"description":`+asJSON(about)+`}`)
	}
	b.WriteString("}")
	if must != nil {
		b.WriteString(`,"required":[` + strings.Join(must, ",") + `]`)
	}
	b.WriteString(`,"additionalProperties":false}`)
	return b.Bytes()
}

func asJSON(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // texts and numbers always encode
	return strings.TrimSuffix(b.String(), "\n")
}

// schema is the JSON Schema of one argument.
func (p *Param) schema(lang string) string {
	kind := map[string]string{"date": "string", "enum": "string"}[p.Type]
	if kind == "" {
		kind = p.Type
	}
	if p.Numbers() {
		kind = "integer"
	}
	about := p.Description.In(lang)
	var b strings.Builder
	each := `"type":"` + kind + `"`
	if p.Type == "date" {
		each += `,"format":"date","pattern":"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"`
	}
	if p.Type == "enum" {
		list := make([]string, len(p.Values))
		for i, v := range p.Values {
			list[i] = p.literal(v)
		}
		each += `,"enum":[` + strings.Join(list, ",") + `]`
		if p.Labels != nil {
			var labels []string
			for _, v := range p.Values {
				if label, ok := p.Labels.Label(v); ok {
					labels = append(labels, v+"="+label)
				}
			}
			about = strings.TrimSpace(about + " " + strings.Join(labels, " "))
		}
	}
	if p.Min != nil {
		each += `,"minimum":` + strconv.FormatInt(*p.Min, 10)
	}
	if p.Max != nil && !p.Clamp {
		each += `,"maximum":` + strconv.FormatInt(*p.Max, 10)
	}
	if p.MaxLength > 0 {
		each += `,"maxLength":` + strconv.Itoa(p.MaxLength)
	}
	if p.Type == "values" {
		each = `"type":"array","items":{"type":["string","number","boolean","null"]}`
	}
	if p.Match == "in" {
		each = `"type":"array","minItems":1,"items":{` + each + `}`
	}
	b.WriteString("{" + each)
	if p.HasDefault {
		b.WriteString(`,"default":` + p.literal(p.Default))
	}
	if about != "" {
		b.WriteString(`,"description":` + asJSON(about))
	}
	b.WriteString("}")
	return b.String()
}

// literal is the text of a value as JSON.
func (p *Param) literal(text string) string {
	switch {
	case p.Type == "integer", p.Type == "number", p.Type == "boolean", p.Numbers():
		return text
	}
	return asJSON(text)
}

// answerSchema is the JSON Schema of an answer. It never refers to itself: some clients follow references for ever.
func answerSchema(t *Tool) []byte {
	p := t.Preset
	var parts, must []string
	add := func(name, schema string) {
		parts, must = append(parts, asJSON(name)+":"+schema), append(must, asJSON(name))
	}
	switch p.Shape {
	case "list":
		add("total", `{"type":"integer"}`)
		add("page", `{"type":"integer"}`)
		add("rows", `{"type":"integer"}`)
		records := `{"type":"object"}`
		if p.Read != nil {
			records = recordSchema(p.Read.Columns)
		} else if len(p.Union) == 1 {
			records = recordSchema(p.Union[0].Read.Columns)
		}
		add("records", `{"type":"array","items":`+records+`}`)
	case "count":
		add("count", `{"type":"integer"}`)
	case "found":
		add("found", `{"type":"boolean"}`)
		parts = append(parts, `"message":{"type":"string"}`, asJSON(p.Record)+":"+recordSchema(p.Read.Columns))
		for _, c := range p.Outputs {
			parts = append(parts, asJSON(c.Name)+":"+c.schema())
		}
	default:
		if p.Record != "" && p.Read != nil {
			add(p.Record, orNull(recordSchema(p.Read.Columns)))
		}
		for _, c := range p.Outputs {
			add(c.Name, c.schema())
		}
	}
	if p.Shape != "context" {
		parts = append(parts, `"notice":{"type":"string"}`)
	}
	return []byte(`{"type":"object","properties":{` + strings.Join(parts, ",") + `},"required":[` + strings.Join(must, ",") + `]}`)
}

func recordSchema(list []*Column) string {
	parts := make([]string, len(list))
	for i, c := range list {
		parts[i] = asJSON(c.Name) + ":" + c.schema()
	}
	return `{"type":"object","properties":{` + strings.Join(parts, ",") + `}}`
}

func orNull(schema string) string {
	return strings.Replace(schema, `"type":"object"`, `"type":["object","null"]`, 1)
}

func arrayOfSchema(schema string) string { return `{"type":"array","items":` + schema + `}` }

// schema is the JSON Schema of one output. What a database holds may be nothing, and integers beyond 2^53 and decimals
// beyond 15 digits are texts.
func (c *Column) schema() string {
	switch c.Kind {
	case "text":
		return `{"type":["string","null"]}`
	case "children":
		return arrayOfSchema(recordSchema(c.Outputs))
	case "distinct":
		return arrayOfSchema(recordSchema(c.Outputs))
	case "one":
		return orNull(recordSchema(c.Outputs))
	case "object":
		if c.Null {
			return orNull(recordSchema(c.Columns))
		}
		return recordSchema(c.Columns)
	case "split":
		parts := make([]string, len(c.Parts))
		for i, p := range c.Parts {
			parts[i] = asJSON(p.Name) + ":" + arrayOfSchema(recordSchema(c.Child.Shown()))
		}
		return `{"type":"object","properties":{` + strings.Join(parts, ",") + `}}`
	case "total":
		return `{"type":"integer"}`
	case "truncated":
		return `{"type":"boolean"}`
	case "gather":
		switch c.How {
		case "count":
			return `{"type":"integer"}`
		case "join":
			return `{"type":["string","null"]}`
		case "list":
			return arrayOfSchema(c.Outputs[0].schema())
		}
		return c.Outputs[0].schema()
	case "spread":
		return c.Columns[0].schema()
	case "field", "lookup":
		if c.Field == nil || c.Field.Array || c.Format != "" && c.Format != "datetime" && c.Format != "date" {
			return `{}`
		}
		if c.Field.Mask != "" || c.Mask != "" {
			return `{"type":["string","null"]}`
		}
		switch c.Field.Type.Kind {
		case Integer, Decimal, Number:
			return `{"type":["number","string","null"]}`
		case Bool:
			return `{"type":["boolean","null"]}`
		case JSON, Any: // Any is an expression of a query
			return `{}`
		}
		return `{"type":["string","null"]}`
	}
	return `{}`
}

// Shown are the outputs of a row of the child list.
func (c *Child) Shown() []*Column { return c.Read.Columns }
