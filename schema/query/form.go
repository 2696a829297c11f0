package query

import "unicode/utf8"

// A Hole is the place of a token that was left out of a form: the text of a string without escapes, or the digits of
// a whole number.
type Hole struct{ From, To int }

// Form appends arguments to b without the values of their tokens, and gives the places of those. Arguments of one form
// are decoded alike, but for these tokens. It says false where that cannot be told without decoding them.
//
// A token is what stands behind the key token, and the items of the list behind the key tokens. What is no token of a
// condition for the decoder is left out here too: whoever uses a form must know each hole as one.
func Form(b, raw []byte) (form []byte, holes []Hole, ok bool) {
	f := former{raw: raw, b: b}
	for f.i < len(raw) {
		switch c := raw[f.i]; {
		case c == '"':
			key, ok := f.text()
			if !ok {
				return b, nil, false
			}
			if key == "token" || key == "tokens" {
				f.tokens()
			}
		case c < ' ' && c != '\t' && c != '\n' && c != '\r': // which stand for holes
			return b, nil, false
		default:
			f.next()
		}
		if f.bad {
			return b, nil, false
		}
	}
	return f.b, f.holes, true
}

// What stands in a form for a hole. No JSON has these bytes.
const (
	textHole   = 0
	numberHole = 1
)

type former struct {
	raw   []byte
	i     int
	b     []byte
	holes []Hole
	bad   bool
}

func (f *former) next() {
	f.b = append(f.b, f.raw[f.i])
	f.i++
}

func (f *former) space() {
	for f.i < len(f.raw) {
		switch f.raw[f.i] {
		case ' ', '\t', '\n', '\r':
			f.next()
		default:
			return
		}
	}
}

// text copies a string and gives what is in it; nothing where it holds an escape.
func (f *former) text() (string, bool) {
	from, plain := f.i, true
	for f.i++; f.i < len(f.raw); f.i++ {
		switch c := f.raw[f.i]; {
		case c == '\\':
			plain = false
			f.i++
		case c < ' ':
			return "", false
		case c == '"':
			f.i++
			f.b = append(f.b, f.raw[from:f.i]...)
			if in := f.raw[from+1 : f.i-1]; plain && (len(in) == 5 || len(in) == 6) {
				return string(in), true
			}
			return "", true
		}
	}
	return "", false
}

// tokens leaves out what stands behind a key.
func (f *former) tokens() {
	f.space()
	if f.i >= len(f.raw) || f.raw[f.i] != ':' {
		return // the text was no key
	}
	f.next()
	f.space()
	if f.i >= len(f.raw) || f.raw[f.i] != '[' {
		f.hole()
		return
	}
	f.next()
	for {
		f.space()
		if !f.hole() {
			return
		}
		f.space()
		if f.i >= len(f.raw) || f.raw[f.i] != ',' {
			return
		}
		f.next()
	}
}

// hole leaves a value out if it is one that may be.
func (f *former) hole() bool {
	if f.i >= len(f.raw) {
		return false
	}
	from := f.i
	if f.raw[from] == '"' {
		end := from + 1
		for end < len(f.raw) && f.raw[end] != '"' && f.raw[end] != '\\' && f.raw[end] >= ' ' {
			end++
		}
		if end == len(f.raw) || f.raw[end] != '"' {
			return false
		}
		f.bad = f.bad || !utf8.Valid(f.raw[from+1:end])
		f.b = append(f.b, textHole)
		f.holes = append(f.holes, Hole{from + 1, end})
		f.i = end + 1
		return true
	}
	end := from
	if f.raw[end] == '-' {
		end++
	}
	digits := end
	for end < len(f.raw) && f.raw[end] >= '0' && f.raw[end] <= '9' {
		end++
	}
	if end == digits || f.raw[digits] == '0' && end > digits+1 || end < len(f.raw) && f.raw[end] != ',' && f.raw[end] != '}' && f.raw[end] != ']' {
		return false
	}
	f.b = append(f.b, numberHole)
	f.holes = append(f.holes, Hole{from, end})
	f.i = end
	return true
}

// Tokens are tokens of a decoded request that can be replaced.
type Tokens []*value

// Tokens finds those at places in the arguments. It says false where one of them is none that was sent at a place.
func (r *Request) Tokens(holes []Hole) (Tokens, bool) {
	t := make(Tokens, len(holes))
	left := len(holes)
	var find func(v *value)
	find = func(v *value) {
		for i := range holes {
			if v.place != 0 && int(v.place) == holes[i].From && t[i] == nil {
				t[i] = v
				left--
			}
		}
		for i := range v.items {
			find(&v.items[i])
		}
		for i := range v.members {
			find(&v.members[i].val)
		}
	}
	find(&r.body)
	return t, left == 0
}

// Set replaces the i-th token in what Shape is made of.
func (t Tokens) Set(i int, text string) { t[i].text = text }
