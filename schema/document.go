package schema

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"resq/schema/problem"
)

// Bounds of one file. They stop accidents (a log file named .yaml, an alias that holds itself), not authors.
const (
	maxFileBytes = 32 << 20
	maxNesting   = 100
	maxNodes     = 4_000_000
)

// A place is where in its file a thing stands. The zero place is nowhere.
type place struct{ line, col int32 }

func placeOf(n *yaml.Node) place { return place{int32(n.Line), int32(n.Column)} }

func (p place) given() bool { return p.line > 0 }

// A file is one catalog file while it is being read.
type file struct {
	name   string
	dir    string // where a relative dsnFile is looked for
	broken bool   // its text could not be parsed
	decl   fileDecl
	found  []found
	data   []byte              // its text, until it is loaded
	told   int                 // how many there were before those told twice were taken together
	bad    map[*yaml.Node]bool // nodes that are told already, and not read
}

// A found is a problem of one file before the problems of all files are sorted.
type found struct {
	at        place
	msg, hint string
	code      problem.Code // "" is ConfigInvalid
}

func (f *file) tell(at place, hint, format string, args ...any) {
	f.found = append(f.found, found{at: at, msg: fmt.Sprintf(format, args...), hint: hint})
}

// tellAs tells what has a code of its own.
func (f *file) tellAs(code problem.Code, at place, hint, format string, args ...any) {
	f.found = append(f.found, found{at: at, msg: fmt.Sprintf(format, args...), hint: hint, code: code})
}

func (f *file) pos(p place) Pos { return Pos{File: f.name, Line: int(p.line), Column: int(p.col)} }

// parse reads the text of f into its root mapping; nil when the text itself is broken, which is told.
func (f *file) parse(data []byte) *yaml.Node {
	f.broken, f.data = true, data
	if len(data) > maxFileBytes {
		f.tell(place{1, 1}, "split it into several files", "the file is larger than %d MiB", maxFileBytes>>20)
		return nil
	}
	if at, what := badText(data); what != "" {
		f.tell(at, "save the file as UTF-8 text", "the file holds %s", what)
		return nil
	}
	var docs []yaml.Node
	if err := yaml.Load(data, &docs, yaml.WithAllDocuments()); err != nil {
		f.tellSyntax(err, data)
		return nil
	}
	if len(docs) == 0 || len(docs[0].Content) == 0 {
		f.tell(place{1, 1}, `begin with "version: 1"`, "the file is empty")
		return nil
	}
	if len(docs) > 1 {
		f.tell(placeOf(&docs[1]), "put it into a file of its own", "a second YAML document begins here; a catalog file is one document")
		return nil
	}
	root := docs[0].Content[0]
	walk := treeCheck{f: f}
	if walk.node(root, 0); walk.stop {
		return nil
	}
	f.broken = false
	return root
}

// badText finds the first byte that no YAML text may hold.
func badText(data []byte) (at place, what string) {
	at = place{1, 1}
	for i := 0; i < len(data); {
		c := data[i]
		switch {
		case c == '\n':
			at = place{at.line + 1, 1}
			i++
		case c < 0x20 && c != '\t' && c != '\r', c == 0x7f:
			return at, fmt.Sprintf("the control character U+%04X", c)
		case c < utf8.RuneSelf:
			at.col++
			i++
		default:
			r, n := utf8.DecodeRune(data[i:])
			if r == utf8.RuneError && n == 1 {
				return at, "bytes that are not UTF-8"
			}
			at.col++
			i += n
		}
	}
	return place{}, ""
}

func (f *file) tellSyntax(err error, data []byte) {
	var le *yaml.LoadError
	if !errors.As(err, &le) {
		f.tell(place{1, 1}, "", "the file is not YAML: %s", err)
		return
	}
	at := place{int32(max(le.Mark.Line, 1)), int32(max(le.Mark.Column, 1))}
	msg := le.Message
	if le.ContextMsg != "" {
		msg += ", " + le.ContextMsg
		if le.ContextMark.Line > 0 && le.ContextMark.Line != le.Mark.Line {
			msg += " that begins in line " + strconv.Itoa(le.ContextMark.Line)
		}
	}
	hint := ""
	if lines := bytes.Split(data, []byte("\n")); int(at.line) <= len(lines) {
		line := lines[at.line-1]
		switch {
		case bytes.Contains(line, []byte("operator")):
			hint = `put operators in quotes: ">", ">=", "!="`
		case bytes.ContainsRune(line[:min(len(line), int(at.col))], '\t'):
			hint = "indent with blanks"
		}
	}
	f.tell(at, hint, "YAML syntax: %s", msg)
}
