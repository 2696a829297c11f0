package query

import (
	"slices"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"resq/schema/problem"
)

// A value is one JSON value as it was sent. Numbers keep their text, so that no digit is lost, and members
// keep their order. encoding/json is not used: it takes the last of two equal keys, matches keys without
// regard to case, and repairs broken UTF-8, and each of these has hidden a condition from a guard before
// (security.md, finding 8).
type value struct {
	kind    byte  // n null, b bool, d number, s string, a array, o object
	place   int32 // of the text of a string or number in the arguments; 0 is unknown
	text    string
	items   []value
	members []member
}

type member struct {
	key string
	val value
}

func (v *value) member(key string) *value {
	for i := range v.members {
		if v.members[i].key == key {
			return &v.members[i].val
		}
	}
	return nil
}

var kindNames = map[byte]string{'n': "null", 'b': "a boolean", 'd': "a number", 's': "a string", 'a': "an array", 'o': "an object"}

type scanner struct {
	b     []byte
	i     int
	depth int
	max   int
	deep  bool
	twice string // a key that stands twice

	outer bool // what is read are the arguments themselves, and no text in them

	// What belongs to the arrays and objects that are still open. Growing one list for all costs less than
	// growing one for each.
	items   []value
	members []member
}

// parse reads one JSON value that fills b.
func parse(b []byte, maxDepth int) (value, *problem.Problem) {
	return read(&scanner{b: b, max: maxDepth})
}

func read(s *scanner) (value, *problem.Problem) {
	s.space()
	v, ok := s.value()
	if ok {
		s.space()
		ok = s.i == len(s.b)
	}
	switch {
	case s.deep:
		return value{}, &problem.Problem{Code: problem.LimitExceeded, Stage: problem.Raw,
			Message: "the arguments are nested deeper than " + strconv.Itoa(s.max) + " levels"}
	case s.twice != "":
		return value{}, &problem.Problem{Code: problem.InvalidArgument, Stage: problem.Raw,
			Message: "the key " + problem.Quote(s.twice) + " stands twice in one object, at byte " + strconv.Itoa(s.i), Hint: "each key once"}
	case !ok:
		return value{}, &problem.Problem{Code: problem.InvalidArgument, Stage: problem.Raw,
			Message: "the arguments are not strict JSON at byte " + strconv.Itoa(s.i),
			Hint:    "one object, UTF-8, no key twice"}
	}
	return v, nil
}

func (s *scanner) space() {
	for s.i < len(s.b) {
		switch s.b[s.i] {
		case ' ', '\t', '\n', '\r':
			s.i++
		default:
			return
		}
	}
}

func (s *scanner) word(w string) bool {
	if len(s.b)-s.i < len(w) || string(s.b[s.i:s.i+len(w)]) != w {
		return false
	}
	s.i += len(w)
	return true
}

func (s *scanner) value() (value, bool) {
	if s.i >= len(s.b) {
		return value{}, false
	}
	switch c := s.b[s.i]; c {
	case '{':
		return s.object()
	case '[':
		return s.array()
	case '"':
		place := s.place(s.i + 1)
		t, ok := s.str()
		return value{kind: 's', text: t, place: place}, ok
	case 't':
		return value{kind: 'b', text: "true"}, s.word("true")
	case 'f':
		return value{kind: 'b', text: "false"}, s.word("false")
	case 'n':
		return value{kind: 'n'}, s.word("null")
	default:
		return s.number()
	}
}

func (s *scanner) enter() bool {
	s.depth++
	s.i++
	if s.depth > s.max {
		s.deep = true
		return false
	}
	return true
}

func (s *scanner) array() (value, bool) {
	v := value{kind: 'a'}
	if !s.enter() {
		return v, false
	}
	s.space()
	if s.i < len(s.b) && s.b[s.i] == ']' {
		s.i++
		s.depth--
		return v, true
	}
	from := len(s.items)
	for {
		s.space()
		x, ok := s.value()
		if !ok {
			return v, false
		}
		s.items = append(s.items, x)
		s.space()
		if s.i >= len(s.b) {
			return v, false
		}
		switch s.b[s.i] {
		case ',':
			s.i++
		case ']':
			s.i++
			s.depth--
			v.items = slices.Clone(s.items[from:])
			s.items = s.items[:from]
			return v, true
		default:
			return v, false
		}
	}
}

func (s *scanner) object() (value, bool) {
	v := value{kind: 'o'}
	if !s.enter() {
		return v, false
	}
	s.space()
	if s.i < len(s.b) && s.b[s.i] == '}' {
		s.i++
		s.depth--
		return v, true
	}
	from := len(s.members)
	var seen map[string]bool
	for {
		s.space()
		if s.i >= len(s.b) || s.b[s.i] != '"' {
			return v, false
		}
		at := s.i
		k, ok := s.str()
		if !ok {
			return v, false
		}
		own := value{members: s.members[from:]}
		if len(own.members) == 16 {
			seen = make(map[string]bool, 32)
			for _, m := range own.members {
				seen[m.key] = true
			}
		}
		if seen != nil && seen[k] || seen == nil && own.member(k) != nil {
			s.i, s.twice = at, k
			return v, false
		}
		if seen != nil {
			seen[k] = true
		}
		s.space()
		if s.i >= len(s.b) || s.b[s.i] != ':' {
			return v, false
		}
		s.i++
		s.space()
		x, ok := s.value()
		if !ok {
			return v, false
		}
		s.members = append(s.members, member{k, x})
		s.space()
		if s.i >= len(s.b) {
			return v, false
		}
		switch s.b[s.i] {
		case ',':
			s.i++
		case '}':
			s.i++
			s.depth--
			v.members = slices.Clone(s.members[from:])
			s.members = s.members[:from]
			return v, true
		default:
			return v, false
		}
	}
}

func (s *scanner) digits() bool {
	n := s.i
	for s.i < len(s.b) && s.b[s.i] >= '0' && s.b[s.i] <= '9' {
		s.i++
	}
	return s.i > n
}

func (s *scanner) number() (value, bool) {
	start := s.i
	if s.i < len(s.b) && s.b[s.i] == '-' {
		s.i++
	}
	if s.i < len(s.b) && s.b[s.i] == '0' {
		s.i++
	} else if !s.digits() {
		return value{}, false
	}
	if s.i < len(s.b) && s.b[s.i] == '.' {
		s.i++
		if !s.digits() {
			return value{}, false
		}
	}
	if s.i < len(s.b) && (s.b[s.i] == 'e' || s.b[s.i] == 'E') {
		s.i++
		if s.i < len(s.b) && (s.b[s.i] == '+' || s.b[s.i] == '-') {
			s.i++
		}
		if !s.digits() {
			return value{}, false
		}
	}
	return value{kind: 'd', text: string(s.b[start:s.i]), place: s.place(start)}, true
}

func (s *scanner) place(i int) int32 {
	if !s.outer {
		return 0
	}
	return int32(i)
}

func (s *scanner) str() (string, bool) {
	s.i++
	start := s.i
	for s.i < len(s.b) {
		switch c := s.b[s.i]; {
		case c == '"':
			t := s.b[start:s.i]
			s.i++
			return string(t), utf8.Valid(t)
		case c == '\\':
			return s.escaped(start)
		case c < 0x20:
			return "", false
		default:
			s.i++
		}
	}
	return "", false
}

// escaped finishes a string that holds an escape, from its start.
func (s *scanner) escaped(start int) (string, bool) {
	out := append([]byte(nil), s.b[start:s.i]...)
	for s.i < len(s.b) {
		c := s.b[s.i]
		switch {
		case c == '"':
			s.i++
			return string(out), utf8.Valid(out)
		case c < 0x20:
			return "", false
		case c != '\\':
			out = append(out, c)
			s.i++
			continue
		}
		s.i++
		if s.i >= len(s.b) {
			return "", false
		}
		c = s.b[s.i]
		s.i++
		switch c {
		case '"', '\\', '/':
			out = append(out, c)
		case 'b':
			out = append(out, '\b')
		case 'f':
			out = append(out, '\f')
		case 'n':
			out = append(out, '\n')
		case 'r':
			out = append(out, '\r')
		case 't':
			out = append(out, '\t')
		case 'u':
			r, ok := s.hex4()
			if !ok {
				return "", false
			}
			if utf16.IsSurrogate(r) {
				if !s.word(`\u`) {
					return "", false
				}
				low, ok := s.hex4()
				if !ok {
					return "", false
				}
				if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
					return "", false
				}
			}
			out = utf8.AppendRune(out, r)
		default:
			return "", false
		}
	}
	return "", false
}

func (s *scanner) hex4() (rune, bool) {
	if len(s.b)-s.i < 4 {
		return 0, false
	}
	n, err := strconv.ParseUint(string(s.b[s.i:s.i+4]), 16, 32)
	if err != nil || s.b[s.i] == '+' {
		return 0, false
	}
	s.i += 4
	return rune(n), true
}
