package sqlgen

import (
	"fmt"
	"strings"
	"sync"

	sq "github.com/Masterminds/squirrel"
)

// A block is the clauses of one SELECT, each already written: constants, quoted names and places of
// arguments, and nothing else.
type block struct {
	distinct bool
	clause   [clauses]string // "" is absent
}

// The clauses of a block.
const (
	with = iota
	columns
	from
	joins
	where
	group
	having
	order
	tail
	clauses
)

// layouts are the orders of clauses that squirrel gives, one for each set of clauses that occurs. squirrel
// puts marks in place of the clauses, once; statements are then filled in without its builder, whose
// reflection would cost more than all the rest of writing one. Its own placeholders and maps are not used:
// they print what they are given (security.md 4.7).
var layouts sync.Map // int → []piece

// A piece is constant text, and the clause after it; clauses is none.
type piece struct {
	text   string
	clause int
}

func (b *block) text() (string, error) {
	set := 0
	n := 0
	for i, c := range b.clause {
		if c != "" {
			set |= 1 << i
			n += len(c) + 12
		}
	}
	if b.distinct {
		set |= 1 << clauses
	}
	l, ok := layouts.Load(set)
	if !ok {
		made, err := layout(set)
		if err != nil {
			return "", err
		}
		l, _ = layouts.LoadOrStore(set, made)
	}
	var s strings.Builder
	s.Grow(n)
	for _, p := range l.([]piece) {
		s.WriteString(p.text)
		if p.clause < clauses {
			s.WriteString(b.clause[p.clause])
		}
	}
	return s.String(), nil
}

// mark stands for a clause: no text of a statement holds a NUL.
func mark(clause int) string { return string([]byte{0, byte('a' + clause)}) }

// layout asks squirrel for the order of a set of clauses.
func layout(set int) ([]piece, error) {
	has := func(c int) bool { return set&(1<<c) != 0 }
	s := sq.Select(mark(columns))
	if has(with) {
		s = s.Prefix(mark(with))
	}
	if has(clauses) {
		s = s.Distinct()
	}
	if has(from) {
		s = s.From(mark(from))
	}
	if has(joins) {
		s = s.JoinClause(mark(joins))
	}
	if has(where) {
		s = s.Where(mark(where))
	}
	if has(group) {
		s = s.GroupBy(mark(group))
	}
	if has(having) {
		s = s.Having(mark(having))
	}
	if has(order) {
		s = s.OrderBy(mark(order))
	}
	if has(tail) {
		s = s.Suffix(mark(tail))
	}
	text, _, err := s.ToSql()
	if err != nil {
		return nil, err
	}
	var out []piece
	for {
		i := strings.IndexByte(text, 0)
		if i < 0 {
			return append(out, piece{text, clauses}), nil
		}
		if i+1 >= len(text) {
			return nil, fmt.Errorf("sqlgen: a clause was lost in %q", text)
		}
		out = append(out, piece{text[:i], int(text[i+1] - 'a')})
		text = text[i+2:]
	}
}
