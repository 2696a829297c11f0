package server

import (
	"bytes"
	"encoding/json"
	"errors"
)

// An object is a JSON object that keeps its order. Models read a schema from its beginning, and clients cache
// it by its bytes, so a schema must not be reshuffled by the way through a map.
type object struct{ members []member }

// A member's value is an *object, a []any of such values, or the json.RawMessage of anything else.
type member struct {
	key   string
	value any
}

// parseOrdered reads one JSON object.
func parseOrdered(raw []byte) (*object, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	v, err := orderedValue(dec)
	if err != nil {
		return nil, err
	}
	o, ok := v.(*object)
	if !ok {
		return nil, errors.New("no JSON object")
	}
	return o, nil
}

func orderedValue(dec *json.Decoder) (any, error) {
	token, err := dec.Token()
	if err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('{'):
		o := &object{}
		for dec.More() {
			key, err := dec.Token()
			if err != nil {
				return nil, err
			}
			v, err := orderedValue(dec)
			if err != nil {
				return nil, err
			}
			o.members = append(o.members, member{key.(string), v})
		}
		_, err := dec.Token()
		return o, err
	case json.Delim('['):
		list := []any{}
		for dec.More() {
			v, err := orderedValue(dec)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err := dec.Token()
		return list, err
	}
	return scalar(token), nil
}

// scalar is a text, number, boolean or null as JSON.
func scalar(v any) json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // scalars always encode
	return bytes.TrimRight(b.Bytes(), "\n")
}

// get gives a member's value, or nil.
func (o *object) get(key string) any {
	for _, m := range o.members {
		if m.key == key {
			return m.value
		}
	}
	return nil
}

// child gives a member that is an object, or nil.
func (o *object) child(key string) *object {
	c, _ := o.get(key).(*object)
	return c
}

// text gives a member that is a string, or "".
func (o *object) text(key string) string {
	raw, _ := o.get(key).(json.RawMessage)
	var s string
	_ = json.Unmarshal(raw, &s) // no string is no text
	return s
}

// set changes a member in its place, or adds it at the end.
func (o *object) set(key string, value any) {
	for i := range o.members {
		if o.members[i].key == key {
			o.members[i].value = value
			return
		}
	}
	o.members = append(o.members, member{key, value})
}

// rename gives a member another key and leaves it in its place.
func (o *object) rename(from, to string) {
	for i := range o.members {
		if o.members[i].key == from {
			o.members[i].key = to
		}
	}
}

func (o *object) remove(keys ...string) {
	kept := o.members[:0]
	for _, m := range o.members {
		drop := false
		for _, k := range keys {
			drop = drop || m.key == k
		}
		if !drop {
			kept = append(kept, m)
		}
	}
	o.members = kept
}

// clone copies an object with all below it.
func (o *object) clone() *object { return cloneOrdered(o).(*object) }

func cloneOrdered(v any) any {
	switch v := v.(type) {
	case *object:
		c := &object{members: make([]member, len(v.members))}
		for i, m := range v.members {
			c.members[i] = member{m.key, cloneOrdered(m.value)}
		}
		return c
	case []any:
		c := make([]any, len(v))
		for i := range v {
			c[i] = cloneOrdered(v[i])
		}
		return c
	}
	return v
}

// appendOrdered writes the value as JSON without spaces and without escapes that JSON does not ask for.
func appendOrdered(b []byte, v any) []byte {
	switch v := v.(type) {
	case *object:
		b = append(b, '{')
		for i, m := range v.members {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(appendString(b, m.key), ':')
			b = appendOrdered(b, m.value)
		}
		return append(b, '}')
	case []any:
		b = append(b, '[')
		for i, x := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendOrdered(b, x)
		}
		return append(b, ']')
	case json.RawMessage:
		return append(b, v...)
	}
	return append(b, "null"...)
}
