package schema

import (
	"slices"

	"go.yaml.in/yaml/v4"

	"resq/schema/problem"
)

// items gives the entries of a list; false when n is none, which is told.
func items(f *file, name string, n *yaml.Node) ([]*yaml.Node, bool) {
	at := placeOf(n)
	n = deref(n)
	if n.Kind != yaml.SequenceNode {
		f.tell(at, "", "%q must be a list, not %s", name, describe(n))
		return nil, false
	}
	return n.Content, true
}

// readWords takes n as a list of different words.
func readWords(f *file, name string, n *yaml.Node, one func(*yaml.Node) (word, bool)) []word {
	list, _ := items(f, name, n)
	out := make([]word, 0, len(list))
	seen := make(map[string]bool, len(list))
	for _, c := range list {
		w, ok := one(c)
		if ok && seen[w.text] {
			f.tell(w.at, "keep one of them", "%s stands twice in %q", problem.Quote(w.text), name)
			continue
		}
		if ok {
			seen[w.text] = true
			out = append(out, w)
		}
	}
	return out
}

func texts[T any](to func(*T) *[]word, rule wordRule) shape[T] {
	return shape[T]{
		read: func(f *file, name string, n *yaml.Node, into *T) {
			*to(into) = readWords(f, name, n, func(c *yaml.Node) (word, bool) { return readWord(f, name, c, rule) })
		},
		schema: func(*definitions) object {
			return object{"type": "array", "items": rule.schema(), "uniqueItems": true}
		},
	}
}

// textOrTexts is one word or a list of them.
func textOrTexts[T any](to func(*T) *[]word, rule wordRule) shape[T] {
	many := texts(to, rule)
	return shape[T]{
		read: func(f *file, name string, n *yaml.Node, into *T) {
			switch k := deref(n); {
			case k.Kind == yaml.SequenceNode:
				many.read(f, name, n, into)
				return
			case k.Kind == yaml.MappingNode:
				f.tell(placeOf(n), "", "%q must be a text or a list of texts, not %s", name, describe(k))
				return
			}
			if w, ok := readWord(f, name, n, rule); ok {
				*to(into) = []word{w}
			}
		},
		schema: func(d *definitions) object { return object{"anyOf": []object{rule.schema(), many.schema(d)}} },
	}
}

func choices[T any](to func(*T) *[]word, values ...string) shape[T] {
	return shape[T]{
		read: func(f *file, name string, n *yaml.Node, into *T) {
			*to(into) = readWords(f, name, n, func(c *yaml.Node) (word, bool) { return readChoice(f, name, c, values) })
		},
		schema: func(*definitions) object {
			return object{"type": "array", "items": object{"type": "string", "enum": values}, "uniqueItems": true}
		},
	}
}

// inside is a mapping of fixed keys as the value of a key.
func inside[T, U any](to func(*T) *U, t *table[U]) shape[T] {
	return shape[T]{
		read:   func(f *file, name string, n *yaml.Node, into *T) { t.read(f, name, n, to(into)) },
		schema: t.schema,
	}
}

// listOf is a list whose entries have one shape.
func listOf[T, U any](to func(*T) *[]U, entry shape[U]) shape[T] {
	return shape[T]{
		read: func(f *file, name string, n *yaml.Node, into *T) {
			list, _ := items(f, name, n)
			out := make([]U, len(list))
			for i, c := range list {
				entry.read(f, "", c, &out[i])
			}
			*to(into) = append(*to(into), out...)
		},
		schema: func(d *definitions) object { return object{"type": "array", "items": entry.schema(d)} },
	}
}

// namedOf is a mapping from free names, in their order, to values of one shape.
func namedOf[T, U any](to func(*T) *[]U, rule wordRule, name func(*U) *word, entry shape[U]) shape[T] {
	return shape[T]{
		read: func(f *file, key string, n *yaml.Node, into *T) {
			at := placeOf(n)
			n = deref(n)
			if n.Kind != yaml.MappingNode {
				f.tell(at, "", "%q must be a mapping, not %s", key, describe(n))
				return
			}
			out := make([]U, 0, len(n.Content)/2)
			for i := 0; i < len(n.Content); i += 2 {
				if f.bad[n.Content[i]] {
					continue
				}
				k := deref(n.Content[i])
				if wrong, hint := rule.check(k.Value); wrong != "" {
					f.tell(placeOf(n.Content[i]), hint, "the name %s in %q %s", problem.Quote(k.Value), key, wrong)
					continue
				}
				out = append(out, *new(U))
				u := &out[len(out)-1]
				*name(u) = word{k.Value, placeOf(n.Content[i])}
				entry.read(f, k.Value, n.Content[i+1], u)
			}
			if len(out) > 0 || len(n.Content) == 0 {
				*to(into) = append(slices.Grow(*to(into), 1), out...) // not nil: it was given
			}
		},
		schema: func(d *definitions) object {
			return object{"type": "object", "additionalProperties": entry.schema(d), "propertyNames": rule.schema()}
		},
	}
}

// mapping is a table as a shape of its own.
func mapping[T any](t *table[T]) shape[T] { return shape[T]{read: t.read, schema: t.schema} }

// A raw is a condition or a request: it is read by package query, which owns that grammar.
type raw struct {
	node *yaml.Node
	at   place
}

func (r raw) given() bool { return r.node != nil }

func rawOf[T any](to func(*T) *raw, what, def string) shape[T] {
	return shape[T]{
		read: func(f *file, name string, n *yaml.Node, into *T) {
			if k := deref(n); k.Kind != yaml.MappingNode {
				f.tell(placeOf(n), "", "%q must be %s, not %s", name, what, describe(k))
				return
			}
			*to(into) = raw{n, placeOf(n)}
		},
		schema: func(d *definitions) object { return d.refer(def, conditionDefinitions[def]) },
	}
}
