package query

import "strings"

// outlined are the words of expressions that say nothing of anybody's data, beside those that end a name.
var outlined = map[string]bool{
	"BY": true, "PARTITION": true, "ORDER": true, "ROWS": true, "RANGE": true, "PRECEDING": true, "FOLLOWING": true, "UNBOUNDED": true, "CURRENT": true,
	"ROW": true, "NULLS": true, "FIRST": true, "LAST": true, "ESCAPE": true, "REGEXP": true, "FILTER": true, "CAST": true, "TRY_CAST": true, "EXTRACT": true,
	"POSITION": true, "DATE": true, "TIME": true, "TIMESTAMP": true, "DATETIME": true, "CURRENT_DATE": true, "CURRENT_TIME": true, "CURRENT_TIMESTAMP": true,
	"TEXT": true, "INTEGER": true, "DECIMAL": true, "FLOAT": true, "BOOLEAN": true,
}

// Outline is an expression without what a caller's data may stand in: each literal, and each name that is not known, is
// replaced by with. It says false for a text that cannot be split into words.
func Outline(text string, known func(name string) bool, with string) (string, bool) {
	toks, err := lex(text)
	if err != nil {
		return "", false
	}
	var b strings.Builder
	at := 0
	for _, t := range toks {
		b.WriteString(text[at:t.pos]) // white space
		at = t.end
		word := strings.ToUpper(t.text)
		switch {
		case t.kind == 0:
		case t.kind == 'p', t.kind == 'n' && (reserved[word] || outlined[word] || units[word] != "" || known(t.text)), t.kind == 'q' && known(t.text):
			b.WriteString(text[t.pos:t.end])
		default:
			b.WriteString(with)
		}
	}
	return b.String(), true
}
