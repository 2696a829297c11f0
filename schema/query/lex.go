package query

import (
	"strings"
	"unicode/utf8"
)

// A token of an expression. Kinds: i integer, d decimal, s string, n name, q back-quoted name, p punctuation,
// 0 the end.
type token struct {
	kind byte
	text string // of s and q: unquoted; of n: as written; of p: the operator
	pos  int
	end  int
}

func (t token) is(word string) bool { return t.kind == 'n' && strings.EqualFold(t.text, word) }

// lexError says at which byte the text left the grammar and what would be right there.
type lexError struct {
	pos        int
	what, hint string
}

func isLetter(c byte) bool { return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }

// lex splits an expression. Whatever the grammar does not use (comments, placeholders, variables, escapes,
// letters beyond ASCII outside quotes) is refused here rather than guessed at: the databases read these
// differently from each other (security.md 4.2).
func lex(text string) ([]token, *lexError) {
	var out []token
	for i := 0; i < len(text); {
		c := text[i]
		switch {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			i++
		case c == '\'':
			t, err := quoted(text, i, '\'', 's')
			if err != nil {
				return nil, err
			}
			if n := len(out); n > 0 && out[n-1].end == i && (out[n-1].kind == 'n' || out[n-1].kind == 's') {
				return nil, &lexError{i, "a string may not follow a word or a string directly", "write a plain 'string'"}
			}
			out = append(out, t)
			i = t.end
		case c == '`':
			t, err := quoted(text, i, '`', 'q')
			if err != nil {
				return nil, err
			}
			if t.text == "" {
				return nil, &lexError{i, "an empty name in back-quotes", "write the field's code"}
			}
			out = append(out, t)
			i = t.end
		case isDigit(c) || c == '.' && i+1 < len(text) && isDigit(text[i+1]) && !afterName(out, i):
			t, err := number(text, i)
			if err != nil {
				return nil, err
			}
			out = append(out, t)
			i = t.end
		case isLetter(c):
			j := i + 1
			for j < len(text) && (isLetter(text[j]) || isDigit(text[j])) {
				j++
			}
			out = append(out, token{'n', text[i:j], i, j})
			i = j
		default:
			op, err := operator(text, i)
			if err != nil {
				return nil, err
			}
			out = append(out, token{'p', op, i, i + len(op)})
			i += len(op)
		}
	}
	return append(out, token{0, "", len(text), len(text)}), nil
}

func afterName(out []token, i int) bool {
	n := len(out)
	return n > 0 && out[n-1].end == i && (out[n-1].kind == 'n' || out[n-1].kind == 'q')
}

// quoted reads a string or a back-quoted name; the quote is doubled to stand for itself. A backslash is an
// ordinary character.
func quoted(text string, i int, q, kind byte) (token, *lexError) {
	j := i + 1
	for {
		k := strings.IndexByte(text[j:], q)
		if k < 0 {
			return token{}, &lexError{i, "a quote that does not end", "close it with " + string(q)}
		}
		j += k + 1
		if j < len(text) && text[j] == q {
			j++
			continue
		}
		break
	}
	s := text[i+1 : j-1]
	if strings.IndexByte(s, 0) >= 0 {
		return token{}, &lexError{i, "a NUL character inside quotes", ""}
	}
	if strings.IndexByte(s, q) >= 0 {
		s = strings.ReplaceAll(s, string(q)+string(q), string(q))
	}
	return token{kind, s, i, j}, nil
}

func number(text string, i int) (token, *lexError) {
	j, kind := i, byte('i')
	for j < len(text) && isDigit(text[j]) {
		j++
	}
	if j < len(text) && text[j] == '.' {
		kind = 'd'
		j++
		n := j
		for j < len(text) && isDigit(text[j]) {
			j++
		}
		if j == n {
			return token{}, &lexError{i, "a number that ends in a point", ""}
		}
	}
	if j < len(text) && (isLetter(text[j]) || text[j] == '.') {
		return token{}, &lexError{i, "digits that run into other characters", "numbers are 12 or 12.5; put a name that begins with a digit in `back-quotes`"}
	}
	t := text[i:j]
	if t[0] == '.' {
		t = "0" + t
	}
	return token{kind, t, i, j}, nil
}

func operator(text string, i int) (string, *lexError) {
	two := ""
	if i+1 < len(text) {
		two = text[i : i+2]
	}
	switch two {
	case "<=", ">=", "<>", "!=", "||":
		return two, nil
	case "--", "/*":
		return "", &lexError{i, "comments are not part of an expression", "put a blank between two minus signs, and leave comments out"}
	}
	c := text[i]
	if strings.IndexByte("()+-*/%=<>,.", c) >= 0 {
		return text[i : i+1], nil
	}
	hint := ""
	if c >= utf8.RuneSelf {
		hint = "put names with other letters in `back-quotes`"
	} else if c == '"' || c == '[' {
		hint = "names are quoted with `back-quotes`, strings with 'quotes'"
	}
	return "", &lexError{i, "a character that is not part of an expression", hint}
}
