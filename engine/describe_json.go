package engine

import (
	"bytes"
	"encoding/json"
	"strings"

	"resq/engine/plan"
	"resq/schema"
)

// The JSON form of a description says what the text says, for programs.
type (
	describedJSON struct {
		Resources []resourceJSON `json:"resources"`
		Nearest   []string       `json:"nearest,omitempty"`
		Notice    []string       `json:"notice,omitempty"`
	}
	resourceJSON struct {
		Code        string          `json:"code"`
		Name        string          `json:"name,omitempty"`
		Connection  string          `json:"connection"`
		Table       string          `json:"table,omitempty"`
		Description string          `json:"description,omitempty"`
		Writes      []string        `json:"writes,omitempty"`
		Fields      []fieldJSON     `json:"fields,omitempty"`
		Relations   []relationJSON  `json:"relations,omitempty"`
		Example     json.RawMessage `json:"example,omitempty"`
	}
	fieldJSON struct {
		Code        string      `json:"code"`
		Name        string      `json:"name,omitempty"`
		Type        string      `json:"type"`
		MaxLength   int         `json:"maxLength,omitempty"`
		Array       bool        `json:"array,omitempty"`
		Unsigned    bool        `json:"unsigned,omitempty"`
		Key         bool        `json:"key,omitempty"`
		Required    bool        `json:"required,omitempty"`
		NotNull     bool        `json:"notNull,omitempty"`
		Default     string      `json:"default,omitempty"`
		System      bool        `json:"system,omitempty"`
		Masked      bool        `json:"masked,omitempty"`
		References  string      `json:"references,omitempty"`
		Values      []string    `json:"values,omitempty"`
		Texts       []labelJSON `json:"texts,omitempty"`
		Description string      `json:"description,omitempty"`
	}
	labelJSON struct {
		Code  string `json:"code"`
		Label string `json:"label"`
	}
	relationJSON struct {
		Code     string     `json:"code"`
		Resource string     `json:"resource"`
		Many     bool       `json:"many,omitempty"`
		On       []pairJSON `json:"on"`
	}
	pairJSON struct {
		Field string `json:"field"`
		Of    string `json:"of"` // the field of the resource that is described
	}
)

// json writes what was described once more as JSON, on one line.
func (d *describer) json() []byte {
	out := describedJSON{Resources: make([]resourceJSON, len(d.listed)), Nearest: d.nearest, Notice: d.notices}
	for i, r := range d.listed {
		out.Resources[i] = d.resourceJSON(r)
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(out) // texts, numbers, and an example that is JSON always encode
	return bytes.TrimRight(b.Bytes(), "\n")
}

func (d *describer) resourceJSON(r *schema.Resource) resourceJSON {
	j := resourceJSON{Code: r.Code, Connection: r.Connection.Name}
	if r.Name != r.Code {
		j.Name = flat(r.Name)
	}
	if d.detail == "names" {
		return j
	}
	j.Table, j.Writes = r.Table, d.v.Writes(r)
	if flat(r.Description) != flat(r.Name) {
		j.Description = flat(r.Description)
	}
	for _, f := range d.v.Fields(r) {
		j.Fields = append(j.Fields, d.fieldJSON(r, f))
	}
	for _, x := range r.Relations {
		if !d.shown(x) {
			continue
		}
		rel := relationJSON{Code: d.joinCode(r, x), Resource: x.To.Code, Many: x.Many}
		for _, p := range x.On {
			rel.On = append(rel.On, pairJSON{Field: p.To.Code, Of: p.From.Code})
		}
		j.Relations = append(j.Relations, rel)
	}
	if d.detail == "full" {
		if s := d.example(r); s != "" {
			j.Example = json.RawMessage(s)
		}
	}
	return j
}

func (d *describer) fieldJSON(r *schema.Resource, f *schema.Field) fieldJSON {
	j := fieldJSON{
		Code: f.Code, Type: f.Type.String(), MaxLength: f.MaxLength, Array: f.Array, Unsigned: f.Unsigned, Key: r.IsKey(f),
		Required: f.Required, NotNull: f.NotNull && !f.Required && !r.IsKey(f), Default: flat(f.Default),
		System: plan.Filled(r, f) || f.Generated, Masked: f.Mask != "", Values: f.Values, Description: d.told(f),
	}
	if f.Name != f.Code {
		j.Name = flat(f.Name)
	}
	if f.References != nil && d.v.Visible(f.References.Resource) {
		j.References = strings.Join([]string{f.References.Resource.Code, f.References.Field.Code}, ".")
	}
	if f.Text != nil {
		for _, x := range f.Text.Labels {
			j.Texts = append(j.Texts, labelJSON{x.Code, flat(x.Label)})
		}
	}
	return j
}
