package engine

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// masked is the image of a masked value: nothing but itself may be learnt from it.
func masked(mask, s string) string {
	groups := clusters(s)
	switch {
	case mask == "phone" && len(groups) > 7: // 138****5678 (B-014)
		return strings.Join(groups[:3], "") + "****" + strings.Join(groups[len(groups)-4:], "")
	case mask != "last4":
		return "****"
	}
	if len(groups) <= 4 {
		return "****"
	}
	return strings.Repeat("*", len(groups)-4) + strings.Join(groups[len(groups)-4:], "")
}

// clusters splits a text into characters, combining marks with their base.
func clusters(s string) []string {
	var out []string
	for _, r := range s {
		if len(out) > 0 && (unicode.Is(unicode.M, r) || r == 0x200d) {
			out[len(out)-1] += string(r)
			continue
		}
		out = append(out, string(r))
	}
	return out
}

const hexDigits = "0123456789abcdef"

// appendString writes a JSON string. What cannot be seen, or changes how other text is seen, is escaped, so
// that data cannot disguise itself; broken UTF-8 becomes U+FFFD.
func appendString[T string | ~[]byte](b []byte, s T) []byte {
	b = append(b, '"')
	start := 0
	for i := 0; i < len(s); {
		if c := s[i]; c < utf8.RuneSelf {
			if c >= 0x20 && c != '"' && c != '\\' && c != 0x7f {
				i++
				continue
			}
			b = append(b, s[start:i]...)
			switch c {
			case '"', '\\':
				b = append(b, '\\', c)
			case '\n':
				b = append(b, '\\', 'n')
			case '\r':
				b = append(b, '\\', 'r')
			case '\t':
				b = append(b, '\\', 't')
			default:
				b = append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
			}
			i++
			start = i
			continue
		}
		r, n := utf8.DecodeRuneInString(string(s[i:min(i+utf8.UTFMax, len(s))]))
		switch {
		case r == utf8.RuneError && n == 1:
			b = append(append(b, s[start:i]...), "\ufffd"...)
		case hidden(r):
			b = append(b, s[start:i]...)
			if r > 0xffff {
				r -= 0x10000
				b = appendUnit(appendUnit(b, 0xd800+(r>>10)), 0xdc00+(r&0x3ff))
			} else {
				b = appendUnit(b, r)
			}
		default:
			i += n
			continue
		}
		i += n
		start = i
	}
	return append(append(b, s[start:]...), '"')
}

func appendUnit(b []byte, r rune) []byte {
	return append(b, '\\', 'u', hexDigits[r>>12&15], hexDigits[r>>8&15], hexDigits[r>>4&15], hexDigits[r&15])
}

// hidden are controls, direction marks, tags and line separators. Zero-width joiners stay: scripts and
// emoji need them.
func hidden(r rune) bool {
	switch {
	case r < 0xa0, r == 0x2028, r == 0x2029, r == 0xfeff, r == 0x200b, r == 0x200e, r == 0x200f:
		return true
	case r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069, r >= 0xe0000 && r <= 0xe007f:
		return true
	}
	return false
}

// appendCSV writes one value by RFC 4180.
func appendCSV(b []byte, s string) []byte {
	if s != "" && !strings.ContainsAny(s, ",\"\r\n") && s[0] != ' ' && s[len(s)-1] != ' ' {
		return append(b, s...)
	}
	b = append(b, '"')
	b = append(b, strings.ReplaceAll(s, `"`, `""`)...)
	return append(b, '"')
}

// appendCell writes one value of a Markdown table on one line.
func appendCell(b []byte, s string) []byte {
	return append(b, cellText.Replace(s)...)
}

var cellText = strings.NewReplacer("|", `\|`, "\r\n", "<br>", "\n", "<br>", "\r", "<br>", "\\", `\\`)
