package postgres

import (
	"encoding/json"
	"strings"

	"resq/engine/sqlgen"
	"resq/schema"
)

// Decode turns PostgreSQL's text of an array into JSON, and gives a 32-bit number its own digits back.
func (Dialect) Decode(dbType string, f *schema.Field) func(any) any {
	if dbType == "FLOAT4" {
		return func(v any) any {
			if x, ok := v.(float64); ok {
				return float32(x)
			}
			return v
		}
	}
	if !strings.HasPrefix(dbType, "_") && (f == nil || !f.Array) {
		return nil
	}
	numeric := false
	switch dbType {
	case "_INT2", "_INT4", "_INT8", "_FLOAT4", "_FLOAT8", "_NUMERIC", "_BOOL":
		numeric = true
	}
	return func(v any) any {
		s, ok := v.(string)
		if b, isBytes := v.([]byte); isBytes {
			s, ok = string(b), true
		}
		if !ok {
			return v
		}
		a := array{s: s, bare: numeric}
		if out, ok := a.read(); ok {
			return sqlgen.JSON(out)
		}
		return v
	}
}

// An array reads {1,"a,b",NULL,{2}}.
type array struct {
	s    string
	i    int
	bare bool // elements are JSON numbers or booleans
}

func (a *array) read() ([]byte, bool) {
	// A lower bound may stand in front: [0:1]={1,2}.
	if strings.HasPrefix(a.s, "[") {
		_, rest, ok := strings.Cut(a.s, "=")
		if !ok {
			return nil, false
		}
		a.s = rest
	}
	out, ok := a.list(nil)
	return out, ok && a.i == len(a.s)
}

func (a *array) list(out []byte) ([]byte, bool) {
	if a.i >= len(a.s) || a.s[a.i] != '{' {
		return nil, false
	}
	a.i++
	out = append(out, '[')
	if a.i < len(a.s) && a.s[a.i] == '}' {
		a.i++
		return append(out, ']'), true
	}
	for {
		var ok bool
		if out, ok = a.element(out); !ok || a.i >= len(a.s) {
			return nil, false
		}
		c := a.s[a.i]
		a.i++
		switch c {
		case ',':
			out = append(out, ',')
		case '}':
			return append(out, ']'), true
		default:
			return nil, false
		}
	}
}

func (a *array) element(out []byte) ([]byte, bool) {
	if a.i >= len(a.s) {
		return nil, false
	}
	if a.s[a.i] == '{' {
		return a.list(out)
	}
	var b strings.Builder
	if a.s[a.i] == '"' {
		for a.i++; a.i < len(a.s) && a.s[a.i] != '"'; a.i++ {
			if a.s[a.i] == '\\' && a.i+1 < len(a.s) {
				a.i++
			}
			b.WriteByte(a.s[a.i])
		}
		a.i++
		return quote(out, b.String())
	}
	for a.i < len(a.s) && a.s[a.i] != ',' && a.s[a.i] != '}' {
		b.WriteByte(a.s[a.i])
		a.i++
	}
	switch word := b.String(); {
	case word == "NULL":
		return append(out, "null"...), true
	case a.bare && (word == "t" || word == "f"):
		if word == "t" {
			return append(out, "true"...), true
		}
		return append(out, "false"...), true
	case a.bare && json.Valid([]byte(word)):
		return append(out, word...), true
	default:
		return quote(out, word)
	}
}

func quote(out []byte, s string) ([]byte, bool) {
	q, err := json.Marshal(s)
	return append(out, q...), err == nil
}

// arrayText writes a JSON array as PostgreSQL's text of an array.
func arrayText(text string) string {
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var list any
	if dec.Decode(&list) != nil {
		return text
	}
	var b strings.Builder
	writeArray(&b, list)
	return b.String()
}

func writeArray(b *strings.Builder, v any) {
	switch x := v.(type) {
	case []any:
		b.WriteByte('{')
		for i, e := range x {
			if i > 0 {
				b.WriteByte(',')
			}
			writeArray(b, e)
		}
		b.WriteByte('}')
	case nil:
		b.WriteString("NULL")
	case bool:
		b.WriteString(map[bool]string{true: "t", false: "f"}[x])
	case json.Number:
		b.WriteString(x.String())
	case string:
		b.WriteString(`"` + strings.NewReplacer("\\", "\\\\", "\"", "\\\"").Replace(x) + `"`)
	}
}
