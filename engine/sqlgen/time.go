package sqlgen

import (
	"strings"

	"resq/engine/plan"
	"resq/schema"
)

// TimeFormat makes a format text of parts: letters gives each part's spelling, quote what stands around
// literal text. It travels as an argument.
func TimeFormat(parts []plan.TimePart, letters map[byte]string, quote string) *plan.Arg {
	var b strings.Builder
	for _, p := range parts {
		if p.Letter != 0 {
			b.WriteString(letters[p.Letter])
		} else {
			b.WriteString(quote + p.Text + quote)
		}
	}
	return &plan.Arg{Value: b.String(), T: schema.Type{Kind: schema.Text}}
}

// JSONPath writes a path as MySQL and SQLite read it: $."a"[0].
func JSONPath(p plan.Path) *plan.Arg {
	var b strings.Builder
	b.WriteByte('$')
	for _, s := range p {
		if s.Name != "" {
			b.WriteString(`."` + s.Name + `"`)
		} else {
			b.WriteString("[" + itoa(s.Index) + "]")
		}
	}
	return &plan.Arg{Value: b.String(), T: schema.Type{Kind: schema.Text}}
}

// JSONValue writes a value as JSON.
func JSONValue(a *plan.Arg) string {
	switch v := a.Value.(type) {
	case bool:
		if v {
			return "true"
		}
		return "false"
	case string:
		if a.T.Kind == schema.Decimal {
			return v
		}
		return quoteJSON(v)
	}
	return "null"
}
