package introspect

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
)

// plain is what YAML reads as the very text that stands there, inside a flow mapping too: a word or words
// of letters, digits and a little punctuation.
var plain = regexp.MustCompile(`^[\pL_]([\pL\pN_ .%/()-]*[\pL\pN_.%/()-])?$`)

// reserved are the words that one YAML or another reads as something else.
var reserved = regexp.MustCompile(`^(?i:null|true|false|yes|no|on|off|y|n)$`)

// scalar writes a text as a YAML scalar that reads back as the same text, on one line.
func scalar(s string) string {
	if plain.MatchString(s) && !reserved.MatchString(s) {
		return s
	}
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case r <= 0xff:
			fmt.Fprintf(&b, `\x%02X`, r)
		case r <= 0xffff:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			fmt.Fprintf(&b, `\U%08X`, r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// A flow is a mapping on one line, its keys in the order in which they were set.
type flow []string

func (f *flow) set(key, value string) { *f = append(*f, key+": "+value) }

// text sets a text unless it is empty.
func (f *flow) text(key, value string) {
	if value != "" {
		f.set(key, scalar(value))
	}
}

func (f *flow) flag(key string, on bool) {
	if on {
		f.set(key, "true")
	}
}

func (f flow) String() string { return "{" + strings.Join(f, ", ") + "}" }

// list writes texts as a YAML list on one line.
func list(texts []string) string {
	out := make([]string, len(texts))
	for i, t := range texts {
		out[i] = scalar(t)
	}
	return "[" + strings.Join(out, ", ") + "]"
}

// oneOrList writes a lone text without brackets.
func oneOrList(texts []string) string {
	if len(texts) == 1 {
		return scalar(texts[0])
	}
	return list(texts)
}

// A page is the text of a file in the making.
type page struct{ strings.Builder }

func (p *page) line(indent int, format string, args ...any) {
	p.WriteString(strings.Repeat(" ", indent))
	fmt.Fprintf(p, format, args...)
	p.WriteByte('\n')
}
