package console

import (
	"encoding/json"
	"slices"
	"strings"

	"resq/schema"
)

// A tryArg is an argument of a tool, as its schema describes it, with the box that takes it.
type tryArg struct {
	Name, About, Kind string // text, number, choice, list or json
	Choices           []string
	Required          bool
	Value             string
	Hint              string
}

// argsOf are the arguments of a tool in the order of its schema.
func argsOf(t *schema.Tool, lang string, given map[string]string) []tryArg {
	var out []tryArg
	var required []string
	var properties json.RawMessage
	for _, m := range members(t.Input(lang)) {
		switch m.name {
		case "required":
			_ = json.Unmarshal(m.value, &required)
		case "properties":
			properties = m.value
		}
	}
	for _, m := range members(properties) {
		a := tryArg{Name: m.name, Kind: "json", Required: slices.Contains(required, m.name), Value: given[m.name]}
		var s struct {
			Type        any
			Description string
			Enum        []json.RawMessage
			Default     json.RawMessage
			Items       struct{ Type any }
		}
		if json.Unmarshal(m.value, &s) != nil {
			out = append(out, a)
			continue
		}
		a.About = s.Description
		if len(s.Default) > 0 {
			a.Hint = string(s.Default)
		}
		switch kind := typeOf(s.Type); {
		case len(s.Enum) > 0:
			a.Kind = "choice"
			for _, x := range s.Enum {
				if string(x) != "null" {
					a.Choices = append(a.Choices, string(x))
				}
			}
		case kind == "boolean":
			a.Kind, a.Choices = "choice", []string{"true", "false"}
		case kind == "integer", kind == "number":
			a.Kind = "number"
		case kind == "string":
			a.Kind = "text"
		case kind == "array" && typeOf(s.Items.Type) == "string":
			a.Kind = "list"
		}
		out = append(out, a)
	}
	return out
}

// typeOf is the type of a schema; of several, the one that is not null.
func typeOf(v any) string {
	switch x := v.(type) {
	case string:
		return x
	case []any:
		for _, y := range x {
			if s, ok := y.(string); ok && s != "null" {
				return s
			}
		}
	}
	return ""
}

// argsJSON is what stands in the boxes as the arguments of a call. What a box cannot be read as is sent as the text that it
// is, and the tool says what is wrong with it.
func argsJSON(args []tryArg) string {
	var b strings.Builder
	b.WriteByte('{')
	n := 0
	for _, a := range args {
		if a.Value == "" {
			continue
		}
		value := quoteJSON(a.Value)
		switch a.Kind {
		case "list":
			var list []string
			for _, s := range strings.Split(a.Value, ",") {
				list = append(list, strings.TrimSpace(s))
			}
			raw, _ := json.Marshal(list) // texts always encode
			value = string(raw)
		case "number", "choice", "json":
			if json.Valid([]byte(a.Value)) {
				value = a.Value
			}
		}
		if n++; n > 1 {
			b.WriteByte(',')
		}
		b.WriteString("\n  " + quoteJSON(a.Name) + ": " + value)
	}
	if n > 0 {
		b.WriteByte('\n')
	}
	b.WriteByte('}')
	return b.String()
}

func quoteJSON(s string) string {
	b, _ := json.Marshal(s) // texts always encode
	return string(b)
}
