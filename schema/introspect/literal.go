package introspect

import (
	"regexp"
	"strconv"
	"strings"

	"resq/schema"
)

var (
	numeral = regexp.MustCompile(`^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$`)
	bits    = regexp.MustCompile(`^[bB]'([01]{1,64})'$`)
	cast    = regexp.MustCompile(`::[\pL_"][\pL\pN_" .]*(\(\d+(,\d+)?\))?(\[\])?$`)
	// stamp is a point in time written out. 'now', 'today' and 'infinity' are none.
	stamp = regexp.MustCompile(`^\d[\d:. T+-]*$`)
)

// literal reads the default of a column as a database writes it. It gives the plain value, or "" where the
// default is an expression, NULL, the empty string, or nothing a field of this kind could hold: the database
// fills that in by itself.
func literal(text string, kind schema.Kind) string {
	value, quoted, ok := constant(strings.TrimSpace(text))
	if !ok {
		return ""
	}
	switch {
	case kind == schema.Binary, kind == schema.JSON:
		return ""
	case kind == schema.Bool:
		return truth(value)
	case kind == schema.Integer:
		if m := bits.FindStringSubmatch(value); m != nil && !quoted {
			n, _ := strconv.ParseUint(m[1], 2, 64)
			return strconv.FormatUint(n, 10)
		}
		if b := truth(value); !quoted && b != "" && !numeral.MatchString(value) {
			return map[string]string{"true": "1", "false": "0"}[b]
		}
		if !whole.MatchString(value) {
			return ""
		}
		return strings.TrimPrefix(value, "+")
	case kind.Numeric():
		if !numeral.MatchString(value) {
			return ""
		}
		return strings.TrimPrefix(value, "+")
	case kind.Temporal():
		if !quoted || !stamp.MatchString(value) {
			return ""
		}
	case !quoted && !numeral.MatchString(value):
		return ""
	}
	return value
}

var whole = regexp.MustCompile(`^[+-]?\d+$`)

func truth(s string) string {
	switch strings.ToLower(s) {
	case "1", "t", "true", "b'1'":
		return "true"
	case "0", "f", "false", "b'0'":
		return "false"
	}
	return ""
}

// constant takes brackets and casts off a default and says whether a plain value is left, and whether it
// was in quotes.
func constant(s string) (value string, quoted, ok bool) {
	for {
		before := s
		if n := len(s); n > 1 && s[0] == '(' && s[n-1] == ')' {
			s = strings.TrimSpace(s[1 : n-1])
		}
		if at := cast.FindStringIndex(s); at != nil {
			s = strings.TrimSpace(s[:at[0]])
		}
		if s == before {
			break
		}
	}
	if v, ok := unquote(s); ok {
		return v, true, true
	}
	switch strings.ToLower(s) {
	case "true", "false":
		return strings.ToLower(s), false, true
	}
	return s, false, numeral.MatchString(s) || bits.MatchString(s)
}

// unquote reads one SQL string, with doubled quotes. It fails where more than the one string stands there.
// A backslash is left as it is: who needs it read knows the dialect.
func unquote(s string) (string, bool) {
	n := len(s)
	if n < 2 || (s[0] != '\'' && s[0] != '"') || s[n-1] != s[0] {
		return "", false
	}
	q := s[:1]
	body := s[1 : n-1]
	if strings.Contains(strings.ReplaceAll(body, q+q, ""), q) {
		return "", false
	}
	return strings.ReplaceAll(body, q+q, q), true
}
