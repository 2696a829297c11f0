package server

import (
	"bytes"
	"encoding/json"

	"resq/engine"
)

// Headers by which a client asks for another form of answers.
const (
	headerVersion = "X-Mcp-Schema-Version"
	headerExport  = "X-Resq-Export"
)

// envelopeSchema is what structured answers look like (B-009, B-011). Answers that failed conform to it too.
var envelopeSchema = json.RawMessage(`{"type":"object","properties":{"schema_version":{"type":"integer","enum":[2]},"request_id":{"type":"string"},"data":{"type":"object"},"error":{"type":"object"}},"required":["schema_version","request_id"]}`)

// envelope is envelopeSchema with what a tool answers in it.
func envelope(data []byte) json.RawMessage {
	return bytes.Replace(envelopeSchema, []byte(`"data":{"type":"object"}`), append([]byte(`"data":`), data...), 1)
}

// wants settles the form of the answers from the headers, which the profile can overrule.
func (c *caller) wants(version, export string) {
	switch c.view.profile.structured {
	case "on":
		version = "2"
	case "off":
		version = "1"
	}
	switch version {
	case "", "1":
		c.version = 1
	case "2":
		c.version = 2
	}
	if export == "csv" || c.view.profile.export == "csv" {
		c.export = "csv"
	}
}

// structure adds the envelope of version 2: the answer as JSON, or its text where it is none. The text blocks
// stay as they are, because clients disagree about which of the two a model gets to see.
func (r *Reply) structure(d *definition, a *engine.Answer) {
	text := r.blocks()[0]
	b := append(make([]byte, 0, 128+len(text)), `{"schema_version":2,"request_id":"`...)
	b = append(append(b, r.RequestID...), '"')
	switch {
	case r.Failed: // {"error":{…}}
		b = append(append(b, ','), text[1:]...)
		r.structured = b
		return
	case a.Data != nil:
		b = append(append(b, `,"data":`...), a.Data()...)
	case d.Name != toolSchema && a.Meta == nil:
		// Rows stand on lines of their own; a message over stdio is one line. No string of JSON holds a line end.
		b = append(append(b, `,"data":`...), bytes.ReplaceAll(text, []byte("\n"), nil)...)
	default:
		b = appendString(append(b, `,"data":{"text":`...), text)
		if a.Meta != nil {
			b = append(append(b, `,"meta":`...), a.Meta...)
		}
		b = append(b, '}')
	}
	r.structured = append(b, '}')
}
