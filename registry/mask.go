package registry

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"unicode/utf8"
)

// Note [what no record holds]
//
// Phone numbers stand in logs and audits as 138****5678, keys and other secrets not at all (B-014). Texts are looked
// through for both; arguments are also looked through by name: what is compared with, or written into, a field whose
// values are masked in answers is left out, and so is what a member of a telling name holds.

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

// phoneAt finds a mobile number at a place: 13800001111, also as 138-0000-1111 or 138 0000 1111, and behind +86.
func phoneAt(s string, i int) (n int, with string) {
	if s[i] != '1' || i+1 >= len(s) || s[i+1] < '3' || s[i+1] > '9' {
		return 0, ""
	}
	if i > 0 && isDigit(s[i-1]) && !strings.HasSuffix(s[:i], "86") || i > 2 && isDigit(s[i-1]) && isDigit(s[i-3]) {
		return 0, ""
	}
	digits := make([]byte, 0, 11)
	j := i
	for ; j < len(s) && len(digits) < 11; j++ {
		switch c := s[j]; {
		case isDigit(c):
			digits = append(digits, c)
		case (c == ' ' || c == '-') && (len(digits) == 3 || len(digits) == 7) && isDigit(s[j-1]):
		default:
			return 0, ""
		}
	}
	if len(digits) < 11 || j < len(s) && isDigit(s[j]) {
		return 0, ""
	}
	return j - i, string(digits[:3]) + "****" + string(digits[7:])
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isWord(c byte) bool {
	return c == '_' || isDigit(c) || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= utf8.RuneSelf
}

// secretAt finds a key at a place: one that this program made, or whatever follows the word Bearer.
func secretAt(s string, i int) (n int, with string) {
	if i > 0 && isWord(s[i-1]) {
		return 0, ""
	}
	if len(s)-i > 7 && strings.EqualFold(s[i:i+7], "bearer ") {
		j := i + 7
		for j < len(s) && s[j] != ' ' && s[j] != '"' && s[j] != '\'' && s[j] != ',' {
			j++
		}
		if j-i-7 >= keyShort/2 {
			return j - i, s[i:i+7] + hidden
		}
		return 0, ""
	}
	j := i
	for j < len(s) && (s[j] >= 'a' && s[j] <= 'z' || isDigit(s[j])) {
		j++
	}
	if j == i || j-i > 15 || j >= len(s) || s[j] != '_' {
		return 0, ""
	}
	k := j + 1
	for k < len(s) && (s[k] >= 'A' && s[k] <= 'Z' || s[k] >= '2' && s[k] <= '7') {
		k++
	}
	if k-j-1 < 40 {
		return 0, ""
	}
	return k - i, s[i:j+1] + hidden
}

// telling are the names of members that hold secrets, whatever tool they are for.
var telling = map[string]bool{"password": true, "passwd": true, "pwd": true, "secret": true, "credential": true, "apikey": true, "accesstoken": true, "refreshtoken": true,
	"authorization": true, "privatekey": true, "confirmtoken": true}

func tells(name string) bool {
	return telling[strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(name))]
}

// Mask gives the arguments of a call as JSON that may be kept: see Note [what no record holds]. masked says whether
// answers mask the field of a name; nil is none. What is no JSON becomes a text of it.
func Mask(raw []byte, masked func(field string) bool) []byte {
	var v any
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if dec.Decode(&v) != nil || !ended(dec) {
		out, _ := json.Marshal(MaskText(strings.ToValidUTF8(string(raw), "\uFFFD"))) // a text always encodes
		return out
	}
	if masked == nil {
		masked = func(string) bool { return false }
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(maskValue(v, masked)) != nil {
		return []byte(`"` + hidden + `"`)
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}

func ended(dec *json.Decoder) bool {
	_, err := dec.Token()
	return err == io.EOF
}

func maskValue(v any, masked func(string) bool) any {
	switch x := v.(type) {
	case string:
		return MaskText(x)
	case json.Number:
		if s := MaskText(x.String()); s != x.String() {
			return s
		}
	case []any:
		for i := range x {
			x[i] = maskValue(x[i], masked)
		}
	case map[string]any:
		field, _ := x["field"].(string)
		compares := names(field, masked)
		out := make(map[string]any, len(x))
		for name, value := range x {
			switch {
			case tells(name), masked(last(name)), compares && (name == "token" || name == "tokens" || name == "value" || name == "values"):
				if value != nil {
					value = hidden
				}
			case name == "field":
				if text, ok := value.(string); ok && compares && strings.ContainsAny(text, "'\"") {
					value = hidden // an expression that compares by itself
					break
				}
				value = maskValue(value, masked)
			default:
				value = maskValue(value, masked)
			}
			out[MaskText(name)] = value
		}
		return out
	}
	return v
}

// last is the field in a name such as Order.phone.
func last(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }

// names says whether a field or an expression names a masked field.
func names(text string, masked func(string) bool) bool {
	for i := 0; i < len(text); {
		if !isWord(text[i]) {
			i++
			continue
		}
		j := i
		for j < len(text) && isWord(text[j]) {
			j++
		}
		if masked(text[i:j]) {
			return true
		}
		i = j
	}
	return false
}
