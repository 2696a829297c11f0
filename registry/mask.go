package registry

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"resq/schema/query"
)

// Note [what no record holds]
//
// Phone numbers stand in logs and audits as 138****5678, keys and other secrets not at all (B-014). Texts are looked
// through for both, and what a member of a telling name holds is left out. Of arguments less is kept: see Note [what is
// kept of arguments].

const hidden = "***"

// MaskText hides phone numbers and secrets in a text. One without any is given back as it is.
func MaskText(s string) string {
	var b []byte // nil while nothing was hidden
	from := 0
	for i := 0; i < len(s); {
		n, with := secretAt(s, i)
		if n == 0 {
			n, with = phoneAt(s, i)
		}
		if n == 0 {
			i++
			continue
		}
		b = append(append(b, s[from:i]...), with...)
		i += n
		from = i
	}
	if b == nil {
		return s
	}
	return string(append(b, s[from:]...))
}

// phoneAt finds a mobile number at a place: 13800001111, also as 138-0000-1111, 138 0000 1111, (138)00001111 or in full-width
// digits, and behind 0, 86 or 0086. With one point among its digits it is a decimal.
func phoneAt(s string, i int) (n int, with string) {
	if d, _ := digitAt(s, i); d != '1' || !dialled(s[:i]) {
		return 0, ""
	}
	digits := make([]byte, 0, 11)
	j, between, points := i, byte(0), 0
	for j < len(s) && len(digits) < 11 {
		d, width := digitAt(s, j)
		switch {
		case width > 0:
			digits = append(digits, d)
			between = 0
		case strings.IndexByte(" -.)", s[j]) >= 0 && len(digits) >= 3 && len(digits) <= 7 && (between == 0 || between == ')'):
			if width, between = 1, s[j]; between == '.' {
				points++
			}
		default:
			return 0, ""
		}
		j += width
	}
	if len(digits) < 11 || digits[1] < '3' || points == 1 {
		return 0, ""
	}
	if j < len(s) {
		if _, more := digitAt(s, j); more > 0 {
			return 0, ""
		}
	}
	return j - i, string(digits[:3]) + "****" + string(digits[7:])
}

// dialled says whether a mobile number can begin after s: what stands there is no part of a longer number.
func dialled(s string) bool {
	before := ""
	for len(before) < 5 {
		r, width := utf8.DecodeLastRuneInString(s)
		if r >= '０' && r <= '９' {
			r += '0' - '０'
		}
		if r < '0' || r > '9' {
			break
		}
		before, s = string(r)+before, s[:len(s)-width]
	}
	return before == "" || before == "0" || before == "86" || before == "0086"
}

// digitAt reads a digit, full-width ones too; the width is 0 where there is none.
func digitAt(s string, i int) (d byte, width int) {
	if isDigit(s[i]) {
		return s[i], 1
	}
	if r, n := utf8.DecodeRuneInString(s[i:]); r >= '０' && r <= '９' {
		return byte(r - '０' + '0'), n
	}
	return 0, 0
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isWord(c byte) bool {
	return c == '_' || isDigit(c) || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= utf8.RuneSelf
}

// Mask gives JSON in which phone numbers, secrets and what members of a telling name hold are hidden, in texts of JSON
// too. What is no JSON becomes a text of it.
func Mask(raw []byte) []byte {
	v, ok := readJSON(raw)
	if !ok {
		v = MaskText(strings.ToValidUTF8(string(raw), "\uFFFD"))
	}
	return writeJSON(keepValue(v))
}

func readJSON(raw []byte) (v any, ok bool) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if dec.Decode(&v) != nil {
		return nil, false
	}
	_, err := dec.Token()
	return v, err == io.EOF
}

func writeJSON(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(v) != nil {
		return []byte(`"` + hidden + `"`)
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}

// nested reads a text that is an object or a list, as some clients send them.
func nested(text string) (any, bool) {
	text = strings.TrimSpace(text)
	if text == "" || text[0] != '{' && text[0] != '[' {
		return nil, false
	}
	return readJSON([]byte(text))
}

// unwrap gives the object or list that a text is; anything else stays as it is.
func unwrap(v any, open byte) any {
	text, ok := v.(string)
	if text = strings.TrimSpace(text); !ok || text == "" || text[0] != open {
		return v
	}
	if in, ok := readJSON([]byte(text)); ok {
		return in
	}
	return v
}

// hide hides a value, but not that there is none.
func hide(v any) any {
	if v == nil {
		return nil
	}
	return hidden
}

// keepValue keeps a value but for phone numbers, secrets, and what members of a telling name hold.
func keepValue(v any) any {
	switch x := v.(type) {
	case string:
		if in, ok := nested(x); ok {
			return string(writeJSON(keepValue(in)))
		}
		return MaskText(x)
	case json.Number:
		if s := MaskText(x.String()); s != x.String() {
			return s
		}
	case []any:
		out := make([]any, len(x))
		for i := range x {
			out[i] = keepValue(x[i])
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(x))
		for name, value := range x {
			if tells(name) {
				value = hide(value)
			}
			out[MaskText(name)] = keepValue(value)
		}
		return out
	}
	return v
}

func keepBool(v any) any {
	if _, ok := v.(bool); ok {
		return v
	}
	return hide(v)
}

func keepOneOf(words ...string) keepRule {
	return func(v any) any {
		if n, ok := v.(json.Number); ok && slices.Contains(words, n.String()) {
			return v
		}
		if text, ok := v.(string); ok && slices.Contains(words, text) {
			return v
		}
		return hide(v)
	}
}

func keepOperator(v any) any {
	text, _ := v.(string)
	if query.Operator(text) {
		return v
	}
	return hide(v)
}

// maxCount is the most digits of a number that only counts: with more it could be somebody's.
const maxCount = 9

// keepCount keeps a small number, or a text of one.
func keepCount(v any) any {
	if text, ok := digitsOf(v); ok && len(text) <= maxCount {
		return v
	}
	return hide(v)
}

// keepID keeps a whole number, or a text of one, that is no phone number.
func keepID(v any) any {
	if text, ok := digitsOf(v); ok && MaskText(text) == text {
		return v
	}
	return hide(v)
}

func digitsOf(v any) (string, bool) {
	text, ok := v.(string)
	if n, number := v.(json.Number); number {
		text, ok = n.String(), true
	}
	bare := strings.TrimPrefix(text, "-")
	return text, ok && bare != "" && strings.Trim(bare, "0123456789") == ""
}

func keepOperation(v any) any {
	text, _ := v.(string)
	if text = strings.ToLower(strings.TrimSpace(text)); len(text) == 32 && strings.Trim(text, "0123456789abcdef") == "" {
		return text
	}
	return hide(v)
}
