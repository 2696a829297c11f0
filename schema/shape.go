package schema

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"resq/schema/problem"
)

// Note [one grammar]: a shape both reads a node of a file and describes itself as JSON Schema. The tables in
// grammar.go are made of shapes, so that the loader and catalog.schema.json cannot tell different stories.

// A shape is what the value of a key may look like. It is read into a T.
type shape[T any] struct {
	// read takes n, the value of the key name, into into. What does not fit is told and left out.
	read   func(f *file, name string, n *yaml.Node, into *T)
	schema func(d *definitions) object
}

// A key is one key of a mapping.
type key[T any] struct {
	name  string
	about string // its description in the published grammar
	must  bool
	shape shape[T]
}

// A table is a mapping with a fixed set of keys.
type table[T any] struct {
	def  string // name of its definition in the published grammar
	what string // "resource"
	// proper says that what is the name of a key and takes no article.
	proper bool
	about  string
	at     func(*T) *place // where to note where it stands; may be nil
	keys   []key[T]
	// unknown is the code of a key that is none of these; "" is ConfigInvalid.
	unknown problem.Code
	// exactly names keys of which one and only one must stand.
	exactly []string
}

func (t *table[T]) names() []string {
	names := make([]string, len(t.keys))
	for i := range t.keys {
		names[i] = t.keys[i].name
	}
	return names
}

func (t *table[T]) key(name string) *key[T] {
	for i := range t.keys {
		if t.keys[i].name == name {
			return &t.keys[i]
		}
	}
	return nil
}

func (t *table[T]) read(f *file, name string, n *yaml.Node, into *T) {
	at := placeOf(n)
	if t.at != nil {
		*t.at(into) = at
	}
	n = deref(n)
	if n.Kind != yaml.MappingNode {
		f.tell(at, "", "%s must be a mapping, not %s", t.subject(name), describe(n))
		return
	}
	given := make(map[string]bool, len(n.Content)/2)
	for i := 0; i < len(n.Content); i += 2 {
		if f.bad[n.Content[i]] {
			continue
		}
		word := deref(n.Content[i]).Value
		k := t.key(word)
		switch {
		case k == nil:
			f.tellAs(t.unknown, placeOf(n.Content[i]), problem.OneOf(word, t.names()), "unknown key %s in %s", problem.Quote(word), t.subject(""))
		default:
			given[word] = true
			k.shape.read(f, word, n.Content[i+1], into)
		}
	}
	for i := range t.keys {
		if k := &t.keys[i]; k.must && !given[k.name] {
			f.tell(at, "", "%s needs the key %q", t.subject(name), k.name)
		}
	}
	if len(t.exactly) > 0 {
		count := 0
		for _, k := range t.exactly {
			if given[k] {
				count++
			}
		}
		if count != 1 {
			f.tell(at, "", "%s needs exactly one of %s", t.subject(name), strings.Join(t.exactly, ", "))
		}
	}
}

func (t *table[T]) subject(name string) string {
	switch {
	case t.proper:
		return t.what
	case name == "":
		return "a " + t.what
	}
	return "the " + t.what + " " + problem.Quote(name)
}

func (t *table[T]) schema(d *definitions) object { return d.refer(t.def, t.define) }

// A wordRule bounds a text.
type wordRule struct {
	min, max int  // characters
	name     bool // may stand as a code: no control characters, no __ first
	line     bool // no control characters
	numbers  bool // numbers and booleans are taken by their text
}

var (
	aCode     = wordRule{min: 1, max: 64, name: true}
	anIdent   = wordRule{min: 1, max: 128, line: true}
	aTitle    = wordRule{max: 200, line: true}
	aText     = wordRule{max: 4000}
	aScalar   = wordRule{max: 4000, numbers: true}
	aLabel    = wordRule{max: 400, numbers: true}
	aPath     = wordRule{min: 1, max: 129, line: true}
	aLocation = wordRule{min: 1, max: 4000}
)

// check says what is wrong with s, or "".
func (r wordRule) check(s string) (wrong, hint string) {
	switch n := utf8.RuneCountInString(s); {
	case n < r.min:
		return "must not be empty", ""
	case n > r.max:
		return "has " + strconv.Itoa(n) + " characters", "at most " + strconv.Itoa(r.max)
	}
	if r.name || r.line {
		for _, c := range s {
			if hiddenRune(c) {
				return "holds the character U+" + strings.ToUpper(strconv.FormatInt(int64(c)+0x10000, 16)[1:]), "no control characters"
			}
		}
	}
	if r.name && strings.HasPrefix(s, "__") {
		return "begins with __", "names that begin with __ are the engine's own"
	}
	return "", ""
}

// hiddenRune says whether c may break a line or turn the direction of what is shown after it.
func hiddenRune(c rune) bool {
	return c < 0x20 || c >= 0x7f && c < 0xa0 || c == 0x2028 || c == 0x2029 || c >= 0x202a && c <= 0x202e || c >= 0x2066 && c <= 0x2069
}

// A word is a text of a file with its place.
type word struct {
	text string
	at   place
}

func (w word) given() bool { return w.at.given() }

// readWord takes n as a word; false when it is none, which is told.
func readWord(f *file, name string, n *yaml.Node, rule wordRule) (word, bool) {
	at := placeOf(n)
	n = deref(n)
	if f.bad[n] {
		return word{}, false
	}
	fits := n.Kind == yaml.ScalarNode
	if fits {
		switch n.ShortTag() {
		case "!!str", "!!timestamp":
		case "!!int", "!!float", "!!bool":
			fits = rule.numbers
		default:
			fits = false
		}
	}
	if !fits {
		hint := ""
		if n.Kind == yaml.ScalarNode && n.ShortTag() != "!!null" {
			hint = "write it in quotes: " + strconv.Quote(n.Value)
		}
		f.tell(at, hint, "%q must be a text, not %s", name, describe(n))
		return word{}, false
	}
	if wrong, hint := rule.check(n.Value); wrong != "" {
		f.tell(at, hint, "%q %s", name, wrong)
		return word{}, false
	}
	return word{n.Value, at}, true
}

func text[T any](to func(*T) *word, rule wordRule) shape[T] {
	return shape[T]{
		read: func(f *file, name string, n *yaml.Node, into *T) {
			if w, ok := readWord(f, name, n, rule); ok {
				*to(into) = w
			}
		},
		schema: func(*definitions) object { return rule.schema() },
	}
}

// readChoice takes n as one of values.
func readChoice(f *file, name string, n *yaml.Node, values []string) (word, bool) {
	w, ok := readWord(f, name, n, wordRule{max: 1 << 20})
	if !ok {
		return word{}, false
	}
	for _, v := range values {
		if v == w.text {
			return w, true
		}
	}
	// A DSN in the wrong place must not show its password.
	shown, _, _ := strings.Cut(w.text, "://")
	f.tell(w.at, problem.OneOf(w.text, values), "%s is no value of %q", problem.Quote(shown), name)
	return word{}, false
}

func choice[T any](to func(*T) *word, values ...string) shape[T] {
	return shape[T]{
		read: func(f *file, name string, n *yaml.Node, into *T) {
			if w, ok := readChoice(f, name, n, values); ok {
				*to(into) = w
			}
		},
		schema: func(*definitions) object { return object{"type": "string", "enum": values} },
	}
}

// A yesno is true or false, or was not given.
type yesno struct {
	on bool
	at place
}

func yesNo[T any](to func(*T) *yesno) shape[T] {
	return shape[T]{
		read: func(f *file, name string, n *yaml.Node, into *T) {
			at := placeOf(n)
			n = deref(n)
			if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!bool" {
				f.tell(at, "", "%q must be true or false, not %s", name, describe(n))
				return
			}
			*to(into) = yesno{strings.EqualFold(n.Value, "true"), at}
		},
		schema: func(*definitions) object { return object{"type": "boolean"} },
	}
}

// A number is a whole number, or was not given.
type number struct {
	n  int
	at place
}

func whole[T any](to func(*T) *number, low, high int) shape[T] {
	return shape[T]{
		read: func(f *file, name string, n *yaml.Node, into *T) {
			at := placeOf(n)
			n = deref(n)
			v, err := strconv.Atoi(n.Value)
			switch {
			case n.Kind != yaml.ScalarNode || n.ShortTag() != "!!int":
				f.tell(at, "", "%q must be a whole number, not %s", name, describe(n))
			case err == nil && v != low && low == high:
				f.tell(at, "", "%q must be %d", name, low)
			case err != nil || v < low || v > high:
				f.tell(at, "from "+strconv.Itoa(low)+" to "+strconv.Itoa(high), "%q is out of range", name)
			default:
				*to(into) = number{v, at}
			}
		},
		schema: func(*definitions) object { return object{"type": "integer", "minimum": low, "maximum": high} },
	}
}
