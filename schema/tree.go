package schema

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"resq/schema/problem"
)

// A treeCheck looks at what holds for every part of a file alike: keys are single words and stand once,
// nothing carries a tag of its own, and the tree is neither too deep nor, through aliases, too large.
type treeCheck struct {
	f     *file
	nodes int
	stop  bool
}

func (t *treeCheck) node(n *yaml.Node, depth int) {
	if t.nodes++; t.stop {
		return
	}
	if depth > maxNesting || t.nodes > maxNodes {
		t.stop = true
		t.f.tell(placeOf(n), "write it flatter, and without an alias inside its own anchor", "the file is nested deeper than %d levels or grows without bound through aliases", maxNesting)
		return
	}
	switch n.Kind {
	case yaml.AliasNode:
		t.node(n.Alias, depth+1)
	case yaml.ScalarNode:
		t.tag(n)
	case yaml.SequenceNode:
		t.tag(n)
		for _, c := range n.Content {
			t.node(c, depth+1)
		}
	case yaml.MappingNode:
		t.tag(n)
		rejoin(n)
		t.keys(n)
		for i := 1; i < len(n.Content); i += 2 {
			t.node(n.Content[i], depth+1)
		}
	}
}

// rejoin puts decimal(12,2) together again. Within braces YAML ends a value at a comma, so that the second half
// arrives as a key without a value: {type: decimal(12, "2)": null}.
func rejoin(n *yaml.Node) {
	for i := 2; i+1 < len(n.Content); i += 2 {
		v, k, none := n.Content[i-1], n.Content[i], n.Content[i+1]
		if n.Style&yaml.FlowStyle != 0 && v.Kind == yaml.ScalarNode && k.Kind == yaml.ScalarNode &&
			none.Kind == yaml.ScalarNode && none.Value == "" && none.ShortTag() == "!!null" &&
			decimalText.MatchString(v.Value+","+strings.TrimSpace(k.Value)) {
			v.Value += "," + strings.TrimSpace(k.Value)
			n.Content = slices.Delete(n.Content, i, i+2)
			i -= 2
		}
	}
}

// tag refuses written tags, which could say of a value what it is not. Only !!str does no harm.
func (t *treeCheck) tag(n *yaml.Node) {
	fits := false
	switch tag := n.ShortTag(); n.Kind {
	case yaml.MappingNode:
		fits = tag == "!!map"
	case yaml.SequenceNode:
		fits = tag == "!!seq"
	default:
		fits = tag == "!!str" || n.Style&yaml.TaggedStyle == 0
	}
	if !fits {
		t.spoil(n, `put a text that begins with "!" in quotes: "!="`, "the value carries the YAML tag %s", problem.Quote(n.Tag))
	}
}

func (t *treeCheck) keys(n *yaml.Node) {
	seen := make(map[string]place, len(n.Content)/2)
	for i := 0; i < len(n.Content); i += 2 {
		k := deref(n.Content[i])
		at := placeOf(n.Content[i])
		switch {
		case k.Kind != yaml.ScalarNode:
			t.spoil(n.Content[i], "", "a key must be a single word, not %s", describe(k))
		case k.ShortTag() == "!!merge":
			t.spoil(n.Content[i], "repeat the keys, or refer to the whole with *name", `merge keys ("<<") are not part of the catalog grammar`)
		case k.Value == "":
			t.spoil(n.Content[i], "", "a key must not be empty")
		default:
			if first, twice := seen[k.Value]; twice {
				t.spoil(n.Content[i], "keep one of them", "the key %s stands here a second time; the first is in line %d", problem.Quote(k.Value), first.line)
				continue
			}
			seen[k.Value] = at
		}
	}
}

func (t *treeCheck) spoil(n *yaml.Node, hint, format string, args ...any) {
	t.f.tell(placeOf(n), hint, format, args...)
	if t.f.bad == nil {
		t.f.bad = map[*yaml.Node]bool{}
	}
	t.f.bad[n] = true
}

// deref follows an alias to the node it names.
func deref(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode && n.Alias != nil {
		n = n.Alias
	}
	return n
}

// describe names what a node is, for a message.
func describe(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	}
	switch n.ShortTag() {
	case "!!null":
		return "nothing"
	case "!!int":
		return "a number"
	case "!!float":
		return "a decimal number"
	case "!!bool":
		return "true or false"
	}
	return "a text"
}

// appendJSON writes n as JSON. Numbers keep their value, dates stay texts. What JSON cannot say (NaN) becomes a text,
// which the reader of the JSON refuses by its type; keys that are told already are left out.
func (f *file) appendJSON(b []byte, n *yaml.Node) []byte {
	n = deref(n)
	switch n.Kind {
	case yaml.MappingNode:
		b = append(b, '{')
		first := true
		for i := 0; i < len(n.Content); i += 2 {
			if f.bad[n.Content[i]] {
				continue
			}
			if !first {
				b = append(b, ',')
			}
			first = false
			b = appendText(b, deref(n.Content[i]).Value)
			b = append(b, ':')
			b = f.appendJSON(b, n.Content[i+1])
		}
		return append(b, '}')
	case yaml.SequenceNode:
		b = append(b, '[')
		for i, c := range n.Content {
			if i > 0 {
				b = append(b, ',')
			}
			b = f.appendJSON(b, c)
		}
		return append(b, ']')
	}
	switch n.ShortTag() {
	case "!!null":
		return append(b, "null"...)
	case "!!bool":
		if v := strings.ToLower(n.Value); v == "true" || v == "false" {
			return append(b, v...)
		}
	case "!!int":
		if v, err := strconv.ParseInt(strings.ReplaceAll(n.Value, "_", ""), 0, 64); err == nil {
			return strconv.AppendInt(b, v, 10)
		}
	case "!!float":
		if json.Valid([]byte(n.Value)) {
			return append(b, n.Value...)
		}
		if v, err := strconv.ParseFloat(strings.ReplaceAll(n.Value, "_", ""), 64); err == nil {
			if text, err := json.Marshal(v); err == nil {
				return append(b, text...)
			}
		}
	}
	return appendText(b, n.Value)
}

func appendText(b []byte, s string) []byte {
	text, err := json.Marshal(s)
	if err != nil { // strings always marshal
		panic(err)
	}
	return append(b, text...)
}

// follow finds the node that a JSON Pointer into n's JSON means. Where the pointer leads nowhere it gives the
// nearest node above. For a block that begins below its key it gives the key, which is what one looks for.
func follow(n *yaml.Node, pointer string) place {
	at := placeOf(n)
	n = deref(n)
	for token := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		token = strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
		var next *yaml.Node
		switch n.Kind {
		case yaml.MappingNode:
			for i := 0; i < len(n.Content); i += 2 {
				if k := deref(n.Content[i]); k.Value == token {
					next, at = n.Content[i+1], placeOf(n.Content[i+1])
					if next.Line != n.Content[i].Line {
						at = placeOf(n.Content[i])
					}
				}
			}
		case yaml.SequenceNode:
			if i, err := strconv.Atoi(token); err == nil && i >= 0 && i < len(n.Content) {
				next, at = n.Content[i], placeOf(n.Content[i])
			}
		}
		if next == nil {
			return at
		}
		n = deref(next)
	}
	return at
}
