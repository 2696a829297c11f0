package sqltext

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"resq/schema/problem"
)

// A Kind tells tokens apart.
type Kind uint8

// The kinds of tokens.
const (
	End     Kind = iota
	Word         // a name or keyword without quotes
	Name         // a name in quotes
	Text         // a text in quotes
	Number       // as it is written
	Bits         // X'…' and B'…', as written
	Marker       // :name
	Sign         // an operator, a bracket, a comma
	refused      // where reading ended
)

// A Token is one word of a statement. Text is what is meant: a word as it is written, a name or text without its
// quotes, a marker without its colon.
type Token struct {
	Kind     Kind
	Text     string
	Pos, End int

	low   string // a word in lower case
	fault *fault // of refused
}

// lower folds ASCII alone: to a database the Kelvin sign is no k, and a name that only looks like one on the list of
// what is allowed must not be taken for it.
func lower(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

// A lexer cuts a text into tokens. What it cannot read becomes one last token that says why, so that a parser that
// stops before it can give the better reason.
type lexer struct {
	d   Dialect
	s   string
	i   int
	out []Token

	positional bool // values are written as ?
	places     int  // of values so far
}

func lex(d Dialect, s string, positional bool) []Token {
	l := &lexer{d: d, s: s, positional: positional}
	if f := l.text(); f != nil {
		l.out = append(l.out, Token{Kind: refused, Pos: f.pos, End: f.pos, fault: f})
	}
	return append(l.out, Token{Kind: End, Pos: len(s), End: len(s)})
}

func (l *lexer) at(k int) byte {
	if k < len(l.s) {
		return l.s[k]
	}
	return 0
}

func (l *lexer) add(k Kind, text string, from int) {
	t := Token{Kind: k, Text: text, Pos: from, End: l.i}
	if k == Word {
		t.low = lower(text)
	}
	l.out = append(l.out, t)
}

func syntax(pos int, msg, hint string) *fault {
	return &fault{code: problem.SQLSyntax, pos: pos, msg: msg, hint: hint}
}

func (l *lexer) text() *fault {
	if !utf8.ValidString(l.s) {
		return syntax(0, "the statement is not UTF-8", "")
	}
	if i := strings.IndexByte(l.s, 0); i >= 0 {
		return syntax(i, "the statement holds a NUL character", "")
	}
	for l.i < len(l.s) {
		if f := l.one(); f != nil {
			return f
		}
	}
	return nil
}

func (l *lexer) one() *fault {
	from, c := l.i, l.s[l.i]
	switch {
	case c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f':
		l.i++
		return nil
	case c == '-' && l.at(from+1) == '-':
		return l.lineComment(2)
	case c == '#' && l.d == MySQL:
		return l.lineComment(1)
	case c == '/' && l.at(from+1) == '*':
		return l.comment()
	case c == '\'':
		return l.quoted(Text, l.d == MySQL)
	case c == '"' && l.d == MySQL:
		return l.quoted(Text, true)
	case c == '"', c == '`' && l.d != Postgres:
		return l.quoted(Name, false)
	case c == '[' && l.d == SQLite:
		return l.bracketed()
	case c == '$':
		return l.dollar()
	case c == '?' && l.positional:
		l.i++
		l.places++
		l.add(Marker, strconv.Itoa(l.places), from)
		return nil
	case c == '?':
		return &fault{problem.SQLParam, from, "a ? of its own", "name the parameter: :name"}
	case c == ':':
		return l.colon()
	case c == '@' && l.d == MySQL:
		return &fault{problem.SQLNotReadOnly, from, "variables are not allowed", "declare a parameter and write :name"}
	case c == '@' && l.d == SQLite:
		return &fault{problem.SQLParam, from, "a native marker", l.marker()}
	case c >= '0' && c <= '9', c == '.' && digit(l.at(from+1)):
		return l.number()
	case c == ';':
		l.i++
		if rest := lex(l.d, l.s[l.i:], l.positional); rest[0].Kind != End {
			return syntax(from, "more than one statement", "one SELECT without anything behind its semicolon")
		}
		l.i = len(l.s)
		return nil
	}
	r, _ := utf8.DecodeRuneInString(l.s[from:])
	if starts(r) {
		return l.word()
	}
	if strings.IndexByte("(),.", c) >= 0 || l.d == Postgres && (c == '[' || c == ']') {
		l.i++
		l.add(Sign, l.s[from:l.i], from)
		return nil
	}
	if op := l.operator(); op != "" {
		l.i += len(op)
		l.add(Sign, op, from)
		return nil
	}
	return syntax(from, "the character "+problem.Quote(string(r))+" is not understood here", "")
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

// starts says whether a name without quotes may begin with r.
func starts(r rune) bool { return r == '_' || unicode.IsLetter(r) }

func continues(r rune) bool {
	return starts(r) || r >= '0' && r <= '9' || r == '$' || r >= 0x80 && (unicode.IsDigit(r) || unicode.IsMark(r))
}

// lineComment passes over a comment to the end of its line. What ends a line differs, and so does -- without a blank
// behind it: in one database it begins a comment, in another it is two minus signs.
func (l *lexer) lineComment(n int) *fault {
	from := l.i
	if c := l.at(from + n); n == 2 && from+n < len(l.s) && c != ' ' && c != '\t' && c != '\n' && c != '\r' {
		return syntax(from, "-- without a blank behind it", "put a blank behind --, or between two minus signs")
	}
	end := strings.IndexByte(l.s[from:], '\n')
	if end < 0 {
		end = len(l.s) - from
	}
	body := strings.TrimSuffix(l.s[from:from+end], "\r")
	if strings.ContainsAny(body, "\r\v\f\u0085\u2028\u2029") {
		return syntax(from, "a comment that some databases end before others", "end the line with a line feed")
	}
	l.i += end
	return nil
}

func (l *lexer) comment() *fault {
	from := l.i
	if c := l.at(from + 2); c == '!' || c == '+' || (c == 'M' || c == 'm') && l.at(from+3) == '!' {
		return &fault{problem.SQLNotReadOnly, from, "a comment that the database executes", "leave out hints and /*! */"}
	}
	depth := 1
	for k := from + 2; k < len(l.s); k++ {
		switch {
		case strings.HasPrefix(l.s[k:], "*/"):
			depth--
			k++
			if depth == 0 {
				l.i = k + 1
				return nil
			}
		case strings.HasPrefix(l.s[k:], "/*"):
			if l.d != Postgres {
				return syntax(k, "a comment inside a comment", "")
			}
			depth++
			k++
		}
	}
	return syntax(from, "a comment without its end", "")
}

// quoted reads a text or a name in the quotes that stand here.
func (l *lexer) quoted(k Kind, escapes bool) *fault {
	from, q := l.i, l.s[l.i]
	var b strings.Builder
	for i := from + 1; i < len(l.s); i++ {
		c := l.s[i]
		switch {
		case c == '\\' && k == Text:
			next := l.at(i + 1)
			if next == '\'' || next == '"' {
				return syntax(i, "a backslash in front of a quote", "what it means depends on a setting: double the quote instead")
			}
			if !escapes {
				b.WriteByte(c)
				continue
			}
			t, ok := l.escape(next)
			if !ok {
				return syntax(i, "an escape that is not understood", "")
			}
			b.WriteString(t)
			i++
		case c == q && l.at(i+1) == q:
			b.WriteByte(c)
			i++
		case c == q:
			l.i = i + 1
			if k == Name && b.Len() == 0 {
				return syntax(from, "an empty name", "")
			}
			l.add(k, b.String(), from)
			return nil
		default:
			b.WriteByte(c)
		}
	}
	return syntax(from, "a quote without its end", "")
}

// escape is what a backslash and the character behind it mean.
func (l *lexer) escape(c byte) (string, bool) {
	switch c {
	case 'n':
		return "\n", true
	case 't':
		return "\t", true
	case 'r':
		return "\r", true
	case 'b':
		return "\b", true
	case '\\':
		return `\`, true
	}
	if l.d == Postgres {
		return "\f", c == 'f'
	}
	switch {
	case c == '%' || c == '_': // for LIKE, which takes the backslash off itself
		return `\` + string(c), true
	case c == 'Z':
		return "\x1a", true
	}
	return "", false
}

func (l *lexer) bracketed() *fault {
	from := l.i
	end := strings.IndexByte(l.s[from:], ']')
	if end < 2 {
		return syntax(from, "a name in brackets without its end", "")
	}
	l.i = from + end + 1
	l.add(Name, l.s[from+1:from+end], from)
	return nil
}

// dollar reads what PostgreSQL puts between two equal $tag$, and refuses every other use of the sign.
func (l *lexer) dollar() *fault {
	from := l.i
	if l.d == Postgres && !digit(l.at(from+1)) {
		k := from + 1
		for k < len(l.s) {
			r, n := utf8.DecodeRuneInString(l.s[k:])
			if r == '$' || !continues(r) {
				break
			}
			k += n
		}
		if l.at(k) == '$' {
			tag := l.s[from : k+1]
			end := strings.Index(l.s[k+1:], tag)
			if end < 0 {
				return syntax(from, "a text in dollar signs without its end", "")
			}
			l.i = k + 1 + end + len(tag)
			l.add(Text, l.s[k+1:k+1+end], from)
			return nil
		}
	}
	return &fault{problem.SQLParam, from, "a native marker", l.marker()}
}

// marker says how a parameter is written.
func (l *lexer) marker() string {
	if l.positional {
		return "write ? and give its value in params"
	}
	return "name the parameter: :name"
}

func (l *lexer) colon() *fault {
	from := l.i
	switch next := l.at(from + 1); {
	case next == ':' && l.d == Postgres:
		l.i += 2
		l.add(Sign, "::", from)
		return nil
	case next == '_' || next >= 'a' && next <= 'z' || next >= 'A' && next <= 'Z':
		k := from + 1
		for c := l.at(k); c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || digit(c); c = l.at(k) {
			k++
		}
		if r, _ := utf8.DecodeRuneInString(l.s[k:]); k < len(l.s) && continues(r) {
			return &fault{problem.SQLParam, from, "the name of a parameter has letters, digits and _ only", ""}
		}
		if l.positional {
			return &fault{problem.SQLParam, from, "a named parameter", l.marker()}
		}
		l.i = k
		l.add(Marker, l.s[from+1:k], from)
		return nil
	case l.d == Postgres && next != '=':
		l.i++
		l.add(Sign, ":", from)
		return nil
	}
	return syntax(from, "the character \":\" is not understood here", "")
}

func (l *lexer) number() *fault {
	from, k := l.i, l.i
	if l.s[k] == '0' && (l.at(k+1) == 'x' || l.at(k+1) == 'X') && l.d != Postgres {
		for k += 2; strings.IndexByte("0123456789abcdefABCDEF", l.at(k)) >= 0 && k < len(l.s); {
			k++
		}
	} else {
		for digit(l.at(k)) {
			k++
		}
		if l.at(k) == '.' {
			for k++; digit(l.at(k)); {
				k++
			}
		}
		if c := l.at(k); c == 'e' || c == 'E' {
			n := k + 1
			if c := l.at(n); c == '+' || c == '-' {
				n++
			}
			if digit(l.at(n)) {
				for k = n; digit(l.at(k)); {
					k++
				}
			}
		}
	}
	if r, _ := utf8.DecodeRuneInString(l.s[k:]); k < len(l.s) && continues(r) {
		return syntax(from, "a name must not begin with a digit", "put it in quotes")
	}
	l.i = k
	l.add(Number, l.s[from:k], from)
	return nil
}

// typed are the words that may stand right in front of a quote, and only say what kind of text it is.
var typed = words("date time timestamp timestamptz timetz interval")

func (l *lexer) word() *fault {
	from := l.i
	for l.i < len(l.s) {
		r, n := utf8.DecodeRuneInString(l.s[l.i:])
		if !continues(r) {
			break
		}
		l.i += n
	}
	w := lower(l.s[from:l.i])
	quote := l.at(l.i)
	if w == "u" && quote == '&' && (l.at(l.i+1) == '\'' || l.at(l.i+1) == '"') {
		return syntax(from, "a name or text with Unicode escapes", "write the characters themselves")
	}
	if quote != '\'' && (quote != '"' || l.d != MySQL) || typed[w] {
		l.add(Word, l.s[from:l.i], from)
		return nil
	}
	switch {
	case w == "e" && l.d == Postgres:
		if f := l.quoted(Text, true); f != nil {
			return f
		}
		l.out[len(l.out)-1].Pos = from
		return nil
	case (w == "x" || w == "b") && quote == '\'':
		end := strings.IndexByte(l.s[l.i+1:], '\'')
		if end < 0 || strings.Trim(l.s[l.i+1:l.i+1+end], "0123456789abcdefABCDEF") != "" {
			return syntax(from, "bits that are not understood", "")
		}
		l.i += end + 2
		l.add(Bits, l.s[from:l.i], from)
		return nil
	}
	return syntax(from, "a text with a prefix", "write the text alone")
}

// operators of each dialect, the longer before their beginnings.
var operators = [...][]string{
	MySQL:    {"<=>", "->>", "->", "<<", ">>", "<=", ">=", "<>", "!=", "||", "&&", "+", "-", "*", "/", "%", "<", ">", "=", "!", "&", "|", "^", "~"},
	Postgres: {"!~~*", "!~~", "!~*", "#>>", "->>", "~~*", "#>", "->", "<<", ">>", "<=", ">=", "<>", "!=", "||", "&&", "@>", "<@", "@@", "!~", "~*", "~~", "+", "-", "*", "/", "%", "<", ">", "=", "&", "|", "^", "~", "#", "@"},
	SQLite:   {"->>", "->", "<<", ">>", "<=", ">=", "<>", "!=", "==", "||", "+", "-", "*", "/", "%", "<", ">", "=", "&", "|", "~"},
}

// operator gives the operator that stands here; "" is none that is known. PostgreSQL takes as many signs for one
// operator as there are, but for a + or - at the end, so that a sequence which is not on the list is not cut into ones
// that are.
func (l *lexer) operator() string {
	if l.d != Postgres {
		for _, op := range operators[l.d] {
			if strings.HasPrefix(l.s[l.i:], op) {
				return op
			}
		}
		return ""
	}
	k := l.i
	for k < len(l.s) && strings.IndexByte("+-*/<>=~!@#%^&|", l.s[k]) >= 0 && (k == l.i || !strings.HasPrefix(l.s[k:], "--") && !strings.HasPrefix(l.s[k:], "/*")) {
		k++
	}
	op := l.s[l.i:k]
	if !strings.ContainsAny(op, "~!@#%^&|") {
		for len(op) > 1 && (op[len(op)-1] == '+' || op[len(op)-1] == '-') {
			op = op[:len(op)-1]
		}
	}
	for _, known := range operators[Postgres] {
		if op == known {
			return op
		}
	}
	return ""
}

func words(s string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(s) {
		m[w] = true
	}
	return m
}
