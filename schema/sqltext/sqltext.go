// Package sqltext reads SQL that this program did not write: it takes a text apart by the rules of one database's
// dialect and admits one statement that only reads. What it does not understand it refuses, with the place; so the
// grammar here is the list of what can get through, and everything else is on no list.
//
// A Statement is never sent as it was written. It is printed from its tokens in a form that every setting of the
// database reads alike: without comments, with names and texts in that database's plain quotes, and with the tables and
// parameters left to whoever prints it.
package sqltext

import (
	"fmt"
	"strings"

	"resq/schema/problem"
)

// A Dialect is the SQL of one kind of database.
type Dialect uint8

// The dialects that can be read. MySQL is MariaDB's too.
const (
	MySQL Dialect = iota
	Postgres
	SQLite
)

// DialectOf gives the dialect of a driver by its name in a catalog.
func DialectOf(driver string) (Dialect, bool) {
	switch driver {
	case "mysql":
		return MySQL, true
	case "postgres":
		return Postgres, true
	case "sqlite":
		return SQLite, true
	}
	return 0, false
}

// Bounds of one statement.
const (
	MaxText  = 10_000 // characters
	maxDepth = 32     // brackets and queries inside one another
)

// An Options settles what a statement may hold beside the grammar.
type Options struct {
	// Functions are further functions that may be called, in lower case, with their schema if they have one.
	Functions []string
	// Positional says that values are written as ?, and not as :name. The first one's parameter is called 1.
	Positional bool
}

// Read takes a text apart. The error is a problem.List of one problem, whose At is line:column of the text.
func Read(d Dialect, text string, o Options) (*Statement, error) {
	if n := len([]rune(text)); n > MaxText {
		return nil, problem.List{{Code: problem.LimitExceeded, Stage: problem.Syntax, At: "1:1",
			Message: fmt.Sprintf("the statement has %d characters", n), Hint: fmt.Sprintf("at most %d", MaxText)}}
	}
	p := &parser{st: &Statement{Dialect: d, text: text, written: map[int]string{}, glued: map[int]bool{}}, o: o}
	p.st.Tokens = lex(d, text, o.Positional)
	if err := p.statement(); err != nil {
		f := err.(*fault)
		line, col := Place(text, f.pos)
		return nil, problem.List{{Code: f.code, Stage: problem.Syntax, At: fmt.Sprintf("%d:%d", line, col), Message: f.msg, Hint: f.hint}}
	}
	return p.st, nil
}

// Place turns an offset into a line and a column in characters, both counted from 1.
func Place(text string, pos int) (line, col int) {
	before := text[:min(pos, len(text))]
	line = strings.Count(before, "\n") + 1
	return line, len([]rune(before[strings.LastIndexByte(before, '\n')+1:])) + 1
}

// A fault is why a text was refused, and where.
type fault struct {
	code      problem.Code
	pos       int
	msg, hint string
}

func (f *fault) Error() string { return f.msg }
