package attack_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// A value is JSON that keeps the order of its keys and the text of its numbers: what is sent must be what
// the corpus line says, byte for byte.
type value struct {
	members []member // of an object
	items   []*value // of an array
	scalar  any      // string, json.Number, bool or nil
	kind    byte     // { [ or s
	raw     []byte   // sent as it is, when not nil
}

type member struct {
	key   string
	value *value
}

func parseValue(raw []byte) (*value, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	return readValue(d)
}

func readValue(d *json.Decoder) (*value, error) {
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch t {
	case json.Delim('{'):
		v := &value{kind: '{'}
		for d.More() {
			k, err := d.Token()
			if err != nil {
				return nil, err
			}
			x, err := readValue(d)
			if err != nil {
				return nil, err
			}
			v.members = append(v.members, member{k.(string), x})
		}
		_, err = d.Token()
		return v, err
	case json.Delim('['):
		v := &value{kind: '['}
		for d.More() {
			x, err := readValue(d)
			if err != nil {
				return nil, err
			}
			v.items = append(v.items, x)
		}
		_, err = d.Token()
		return v, err
	}
	return &value{kind: 's', scalar: t}, nil
}

func (v *value) bytes() []byte {
	var b bytes.Buffer
	v.write(&b)
	return b.Bytes()
}

func (v *value) write(b *bytes.Buffer) {
	switch {
	case v.raw != nil:
		b.Write(v.raw)
	case v.kind == '{':
		b.WriteByte('{')
		for i, m := range v.members {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(quote(m.key))
			b.WriteByte(':')
			m.value.write(b)
		}
		b.WriteByte('}')
	case v.kind == '[':
		b.WriteByte('[')
		for i, x := range v.items {
			if i > 0 {
				b.WriteByte(',')
			}
			x.write(b)
		}
		b.WriteByte(']')
	default:
		switch s := v.scalar.(type) {
		case string:
			b.WriteString(quote(s))
		case json.Number:
			b.WriteString(s.String())
		case bool:
			b.WriteString(strconv.FormatBool(s))
		default:
			b.WriteString("null")
		}
	}
}

// quote writes s as JSON without escaping what needs none.
func quote(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		panic(err)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func (v *value) member(key string) *value {
	for _, m := range v.members {
		if m.key == key {
			return m.value
		}
	}
	return nil
}

// clone copies v deeply, so that a mutation leaves the original alone.
func (v *value) clone() *value {
	c := *v
	c.members = nil
	for _, m := range v.members {
		c.members = append(c.members, member{m.key, m.value.clone()})
	}
	c.items = nil
	for _, x := range v.items {
		c.items = append(c.items, x.clone())
	}
	return &c
}

// walk calls f for every string value in v with the keys that lead to it; list positions are left out.
func (v *value) walk(path []string, f func(path []string, v *value)) {
	switch {
	case v.raw != nil:
	case v.kind == '{':
		for _, m := range v.members {
			m.value.walk(append(path[:len(path):len(path)], m.key), f)
		}
	case v.kind == '[':
		for _, x := range v.items {
			x.walk(path, f)
		}
	default:
		if _, ok := v.scalar.(string); ok {
			f(path, v)
		}
	}
}

// expand writes out the macros of the corpus: an object whose only key begins with $ and names one.
func expand(v *value) (*value, error) {
	if v.kind == '{' && len(v.members) == 1 {
		m := v.members[0]
		if f, ok := macros[m.key]; ok {
			return f(m.value)
		}
	}
	for i := range v.members {
		x, err := expand(v.members[i].value)
		if err != nil {
			return nil, err
		}
		v.members[i].value = x
	}
	for i := range v.items {
		x, err := expand(v.items[i])
		if err != nil {
			return nil, err
		}
		v.items[i] = x
	}
	return v, nil
}

var macros map[string]func(*value) (*value, error)

func init() { // init, because $arr expands in turn
	macros = map[string]func(*value) (*value, error){
		"$rep": func(v *value) (*value, error) {
			n, err := v.count("n")
			if err != nil {
				return nil, err
			}
			return &value{kind: 's', scalar: strings.Repeat(v.member("s").text(), n)}, nil
		},
		"$arr": func(v *value) (*value, error) {
			n, err := v.count("n")
			if err != nil {
				return nil, err
			}
			list := &value{kind: '['}
			for range n {
				x, err := expand(v.member("v").clone())
				if err != nil {
					return nil, err
				}
				list.items = append(list.items, x)
			}
			return list, nil
		},
		"$range": func(v *value) (*value, error) {
			from, err := v.count("from")
			if err != nil {
				return nil, err
			}
			to, err := v.count("to")
			if err != nil {
				return nil, err
			}
			list := &value{kind: '['}
			for i := from; i <= to; i++ {
				list.items = append(list.items, &value{kind: 's', scalar: json.Number(strconv.Itoa(i))})
			}
			return list, nil
		},
		"$num": func(v *value) (*value, error) { return &value{raw: []byte(v.text())}, nil },
		"$deep": func(v *value) (*value, error) {
			n, err := v.count("n")
			if err != nil {
				return nil, err
			}
			text := strings.Repeat(`{"type":"and","exprs":[],"children":[`, n) +
				`{"type":"and","exprs":[{"field":"status","operator":"=","token":"1"}]}` + strings.Repeat(`]}`, n)
			return &value{raw: []byte(text)}, nil
		},
		"$deepjson": func(v *value) (*value, error) {
			n, err := v.count("n")
			if err != nil {
				return nil, err
			}
			return &value{raw: []byte(strings.Repeat("[", n) + strings.Repeat("]", n))}, nil
		},
		"$raw": func(v *value) (*value, error) { return &value{raw: []byte(v.text())}, nil },
		"$rawhex": func(v *value) (*value, error) {
			b, err := hex.DecodeString(v.text())
			return &value{raw: b}, err
		},
	}
}

func (v *value) text() string {
	if v == nil {
		return ""
	}
	s, _ := v.scalar.(string)
	return s
}

func (v *value) count(key string) (int, error) {
	m := v.member(key)
	if m == nil {
		return 0, fmt.Errorf("macro without %q", key)
	}
	n, ok := m.scalar.(json.Number)
	if !ok {
		return 0, fmt.Errorf("macro: %q is no number", key)
	}
	return strconv.Atoi(n.String())
}
