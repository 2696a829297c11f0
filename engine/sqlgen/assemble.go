package sqlgen

import sq "github.com/Masterminds/squirrel"

// A block is the clauses of one SELECT, each already written: constants, quoted names and places of
// arguments, and nothing else. squirrel puts them in order; its own placeholders and maps are not used, for
// they would print what they are given (security.md 4.7).
type block struct {
	with, from, where, having, tail string
	columns, joins, group, order    []string
	distinct                        bool
}

func (b *block) text() (string, error) {
	s := sq.Select(b.columns...)
	if b.with != "" {
		s = s.Prefix(b.with)
	}
	if b.distinct {
		s = s.Distinct()
	}
	if b.from != "" {
		s = s.From(b.from)
	}
	for _, j := range b.joins {
		s = s.JoinClause(j)
	}
	if b.where != "" {
		s = s.Where(b.where)
	}
	s = s.GroupBy(b.group...)
	if b.having != "" {
		s = s.Having(b.having)
	}
	s = s.OrderBy(b.order...)
	if b.tail != "" {
		s = s.Suffix(b.tail)
	}
	text, _, err := s.ToSql()
	return text, err
}
