package introspect

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Naming says how codes are made of the names in the database.
type Naming string

// The namings. With AsIs a code is the name itself; the others change it, and the catalog keeps the name as
// table or column.
const (
	AsIs   Naming = ""
	Camel  Naming = "camel"  // orderItem
	Pascal Naming = "pascal" // OrderItem
	Snake  Naming = "snake"  // order_item
)

// ParseNaming reads a naming as a command line gives it.
func ParseNaming(s string) (Naming, error) {
	n := Naming(s)
	if s == "none" || slices.Contains([]Naming{AsIs, Camel, Pascal, Snake}, n) {
		return Naming(strings.TrimPrefix(s, "none")), nil
	}
	return AsIs, fmt.Errorf("naming %q is not known; it is one of none, camel, pascal, snake", s)
}

// What a catalog takes: codes of at most maxCode characters, database names of at most maxName.
const (
	maxCode        = 64
	maxName        = 128
	maxTitle       = 60 // a name longer than this is no name
	maxDescription = 2000
	maxDefault     = 400 // bytes; a longer default is known to the database alone
)

// code makes a code of a name: by the naming, without the two leading underscores that are the engine's,
// no longer than a code may be, and none of taken, where it is then noted.
func (n Naming) code(name string, taken map[string]bool) string {
	s := strings.TrimSpace(n.join(words(name), name))
	if strings.HasPrefix(s, "__") || s == "" || s == "*" {
		s = "_" + strings.TrimLeft(s, "_*")
	}
	if s == "_" && (name != s || taken[s]) { // a number behind it would begin with two underscores
		s = "x"
	}
	s = shorten(s, name)
	out := s
	for i := 2; taken[out]; i++ {
		suffix := "_" + strconv.Itoa(i)
		out = cut(s, maxCode-len(suffix)) + suffix
	}
	taken[out] = true
	return out
}

// shorten keeps a long code apart from others that begin alike.
func shorten(code, name string) string {
	if utf8.RuneCountInString(code) <= maxCode {
		return code
	}
	sum := sha256.Sum256([]byte(name))
	mark := "_" + hex.EncodeToString(sum[:4])
	return cut(code, maxCode-len(mark)) + mark
}

func cut(s string, runes int) string {
	for i := range s {
		if runes == 0 {
			return s[:i]
		}
		runes--
	}
	return s
}

func (n Naming) join(words []string, name string) string {
	if n == AsIs || len(words) == 0 {
		return name
	}
	var b strings.Builder
	for i, w := range words {
		switch {
		case n == Snake:
			if i > 0 {
				b.WriteByte('_')
			}
			b.WriteString(w)
		case n == Camel && i == 0:
			b.WriteString(w)
		default:
			r, size := utf8.DecodeRuneInString(w)
			b.WriteRune(unicode.ToUpper(r))
			b.WriteString(w[size:])
		}
	}
	return b.String()
}

// words splits a name at what is neither letter nor digit, and where a word begins inside: orderNo,
// HTTPServer. They come in lower case.
func words(name string) []string {
	var out []string
	for _, part := range strings.FieldsFunc(name, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) }) {
		runes := []rune(part)
		from := 0
		for i := 1; i < len(runes); i++ {
			up := unicode.IsUpper(runes[i])
			if up && !unicode.IsUpper(runes[i-1]) || // r|N
				up && i+1 < len(runes) && unicode.IsLower(runes[i+1]) { // P|Se
				out = append(out, strings.ToLower(string(runes[from:i])))
				from = i
			}
		}
		out = append(out, strings.ToLower(string(runes[from:])))
	}
	return out
}

// fileName makes a name that every file system takes, different from all in taken even where case does not
// count. taken holds lower-case names and gets the new one.
func fileName(code string, taken map[string]bool) string {
	var b strings.Builder
	for _, r := range code {
		if b.Len() > 100 {
			break
		}
		switch {
		case unicode.IsLetter(r), unicode.IsDigit(r), r == '_', b.Len() > 0 && (r == '-' || r == '.'):
			b.WriteRune(r)
		case !strings.HasSuffix(b.String(), "_"):
			b.WriteByte('_')
		}
	}
	base := strings.TrimRight(b.String(), ".")
	if base == "" || device(base) {
		base += "_"
	}
	out := base
	for i := 2; taken[strings.ToLower(out)]; i++ {
		out = base + "-" + strconv.Itoa(i)
	}
	taken[strings.ToLower(out)] = true
	return out
}

// device says whether Windows takes the name for a device.
func device(name string) bool {
	stem, _, _ := strings.Cut(strings.ToLower(name), ".")
	if slices.Contains([]string{"con", "prn", "aux", "nul"}, stem) {
		return true
	}
	return len(stem) == 4 && (strings.HasPrefix(stem, "com") || strings.HasPrefix(stem, "lpt")) && stem[3] >= '0' && stem[3] <= '9'
}

// sayable says whether a catalog can name a table or column at all.
func sayable(name string) bool {
	return strings.TrimSpace(name) != "" && utf8.ValidString(name) && utf8.RuneCountInString(name) <= maxName &&
		!strings.ContainsFunc(name, hidden)
}

// hidden says whether a rune is not seen, or changes how others are seen. A joiner is a letter's part.
func hidden(r rune) bool {
	return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' ||
		unicode.Is(unicode.Cf, r) && r != '\u200c' && r != '\u200d'
}

// titled makes a name and a description of a comment in the database: the name is what stands before the
// first punctuation, the description the whole where there is more of it.
func titled(comment string) (name, description string) {
	comment = strings.Map(func(r rune) rune {
		switch {
		case r == '\n':
			return r
		case r == '\t', r == '\r', r == '\u2028', r == '\u2029':
			return ' '
		case hidden(r), r == utf8.RuneError:
			return -1
		}
		return r
	}, comment)
	comment = strings.TrimSpace(comment)
	name = comment
	if i := strings.IndexAny(comment, "：:,，(（\n"); i >= 0 {
		name = strings.TrimSpace(comment[:i])
	}
	if utf8.RuneCountInString(name) > maxTitle {
		name = ""
	}
	if comment == name {
		return name, ""
	}
	if utf8.RuneCountInString(comment) > maxDescription {
		comment = cut(comment, maxDescription-1) + "…"
	}
	return name, comment
}
