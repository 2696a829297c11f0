package schema

import (
	"bytes"
	_ "embed"
	"encoding/json"
)

//go:embed catalog.schema.json
var published []byte

// JSONSchema gives the catalog's grammar as a JSON Schema (draft 2020-12), for editors and for resq validate.
// It is made from the same tables that the loader reads with.
func JSONSchema() []byte { return bytes.Clone(published) }

// An object is a JSON object under construction.
type object map[string]any

// definitions are the named parts of a JSON Schema.
type definitions struct{ named object }

// refer gives a reference to the definition name, which it makes when it is not there yet.
func (d *definitions) refer(name string, define func(*definitions) object) object {
	if _, made := d.named[name]; !made {
		d.named[name] = nil // for definitions that hold themselves
		d.named[name] = define(d)
	}
	return object{"$ref": "#/$defs/" + name}
}

func (t *table[T]) define(d *definitions) object {
	properties := object{}
	var must []string
	for i := range t.keys {
		k := &t.keys[i]
		s := k.shape.schema(d)
		s["description"] = k.about
		properties[k.name] = s
		if k.must {
			must = append(must, k.name)
		}
	}
	o := object{"type": "object", "description": t.about, "properties": properties, "additionalProperties": false}
	if must != nil {
		o["required"] = must
	}
	if t.exactly != nil {
		var one []object
		for _, k := range t.exactly {
			one = append(one, object{"required": []string{k}})
		}
		o["oneOf"] = one
	}
	return o
}

// hiddenSet is hiddenRune as the inside of a character class.
const hiddenSet = "\x00-\x1f\x7f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069"

func (r wordRule) schema() object {
	o := object{"type": "string", "maxLength": r.max}
	if r.numbers {
		o["type"] = []string{"string", "number", "boolean"}
	}
	if r.min > 0 {
		o["minLength"] = r.min
	}
	switch {
	case r.name:
		o["pattern"] = "^(_|_?[^_" + hiddenSet + "][^" + hiddenSet + "]*)$"
	case r.line:
		o["pattern"] = "^[^" + hiddenSet + "]*$"
	}
	return o
}

// makeSchema writes the grammar of the tables as a JSON Schema.
func makeSchema() []byte {
	d := &definitions{named: object{}}
	root := fileTable.define(d)
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["title"] = "resq catalog file"
	root["$defs"] = d.named
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(root); err != nil {
		panic(err) // a table that is no JSON is a mistake in this package
	}
	return b.Bytes()
}
