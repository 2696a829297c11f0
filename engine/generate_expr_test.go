package engine_test

import (
	"fmt"
	"strings"
)

// expr makes an expression over the sources and tells the kind of its value.
func (g *gen) expr(sources []*genSource, depth int) (string, byte) {
	switch g.r.IntN(5) {
	case 0, 1:
		return g.number(sources, depth), 'd'
	case 2:
		return g.textExpr(sources), 's'
	case 3:
		return fmt.Sprintf("CASE WHEN %s THEN %s WHEN %s THEN %s END", g.predicate(sources), g.number(sources, depth-1), g.predicate(sources), g.number(sources, depth-1)), 'd'
	default:
		for range 5 {
			s := g.source(sources)
			if f := g.field(s, "tm"); f.kind == 't' || f.kind == 'm' {
				return fmt.Sprintf(pick(g.r, "YEAR(%s.%s)", "EXTRACT(MONTH FROM %s.%s)", "DATEDIFF(%s.%s, '2024-01-01')"), s.name, f.code), 'i'
			}
		}
		return g.number(sources, depth), 'd'
	}
}

// number makes an expression that divides, overflows and casts: on an invisible row it may fail, and that
// must not show.
func (g *gen) number(sources []*genSource, depth int) string {
	if depth <= 0 || chance(g.r, 25) {
		if chance(g.r, 20) {
			return pick(g.r, "0", "1", "3", "2.5", "0.01", g.huge())
		}
		s := g.source(sources)
		if f := g.field(s, "id"); f.kind == 'i' || f.kind == 'd' {
			return s.name + "." + f.code
		}
		return "1"
	}
	a, b := g.number(sources, depth-1), g.number(sources, depth-1)
	switch g.r.IntN(9) {
	case 0:
		return fmt.Sprintf("(%s + %s)", a, b)
	case 1:
		return fmt.Sprintf("(%s - %s)", a, b)
	case 2:
		return fmt.Sprintf("(%s * %s)", a, b)
	case 3:
		return fmt.Sprintf("(%s / %s)", a, b)
	case 4:
		return fmt.Sprintf("(%s %% %s)", a, b)
	case 5:
		return fmt.Sprintf("ABS(%s)", a)
	case 6:
		return fmt.Sprintf("COALESCE(%s, %s)", a, b)
	case 7:
		s := g.source(sources)
		if f := g.field(s, "s"); f.kind == 's' {
			return fmt.Sprintf("CAST(%s.%s AS INTEGER)", s.name, f.code)
		}
		return fmt.Sprintf("ROUND(%s, 1)", a)
	default:
		s := g.source(sources)
		f := g.field(s, "i")
		if f.kind != 'i' {
			return a
		}
		return fmt.Sprintf("(1 / (%s.%s - %d))", s.name, f.code, pick(g.r, 3, 101, 104, 9))
	}
}

// huge is a number at the edge of 64 bits. Beyond it SQLite calculates in floating point where the others are
// exact, so a tame generator has none.
func (g *gen) huge() string {
	if g.tame {
		return "12"
	}
	return "9223372036854775807"
}

func (g *gen) textExpr(sources []*genSource) string {
	s := g.source(sources)
	f := g.field(s, "s")
	x := s.name + "." + f.code
	if f.kind != 's' {
		return fmt.Sprintf("CONCAT('k', %s)", x)
	}
	return fmt.Sprintf(pick(g.r, "UPPER(%s)", "CONCAT(%s, '-')", "SUBSTRING(%s, 1, 2)", "COALESCE(%s, 'none')", "%s || 'x'", "REPLACE(%s, 'a', 'e')", "TRIM(%s)"), x)
}

func (g *gen) predicate(sources []*genSource) string {
	s := g.source(sources)
	f := g.field(s, "")
	x := s.name + "." + f.code
	switch {
	case chance(g.r, 25):
		return x + pick(g.r, " IS NULL", " IS NOT NULL")
	case f.kind == 'i' || f.kind == 'd':
		return fmt.Sprintf("%s %s %s", x, pick(g.r, "=", "<", ">=", "<>"), g.number(sources, 1))
	case f.kind == 's':
		return x + pick(g.r, " = 'ann'", " LIKE 'a%'", " IN ('bea', '7')")
	}
	return x + " >= '2024-01-01'"
}

// window makes a window function whose order is total, so that its value is one.
func (g *gen) window(s *genSource) string {
	key := map[string]string{"User": "id", "Order": "id", "Dept": "id", "Item": "order_id, Item.line"}[s.res]
	key = s.name + "." + strings.ReplaceAll(key, "Item.", s.name+".")
	part := s.name + "." + g.field(s, "").code
	switch g.r.IntN(4) {
	case 0:
		return fmt.Sprintf("ROW_NUMBER() OVER (PARTITION BY %s ORDER BY %s)", part, key)
	case 1:
		return fmt.Sprintf("COUNT(*) OVER (PARTITION BY %s)", part)
	case 2:
		return fmt.Sprintf("RANK() OVER (ORDER BY %s)", part)
	default:
		return fmt.Sprintf("LAG(%s) OVER (ORDER BY %s)", s.name+"."+g.field(s, "i").code, key)
	}
}

// node makes a group of conditions.
func (g *gen) node(sources, outer []*genSource, depth int) *genNode {
	n := &genNode{or: chance(g.r, 50), not: chance(g.r, 12)}
	for range pick(g.r, 0, 1, 1, 2) {
		n.leaves = append(n.leaves, g.leaf(sources, outer))
	}
	if depth > 1 {
		for range 1 + g.r.IntN(2) {
			n.children = append(n.children, g.node(sources, outer, depth-1))
		}
	}
	return n
}

func (g *gen) leaf(sources, outer []*genSource) genLeaf {
	s := g.source(sources)
	f := g.field(s, "")
	l := genLeaf{source: s.name, field: f.code, kind: f.kind}
	if chance(g.r, 20) {
		l.op = pick(g.r, "IS NULL", "IS NOT NULL")
		return l
	}
	if !g.plain && chance(g.r, 25) && g.queries < 3 {
		g.queries++
		l.json = g.nestedLeaf(s, sources, outer)
		return l
	}
	if !g.plain && chance(g.r, 25) {
		l.json = map[string]any{"field": g.number(sources, 2), "isExpr": true, "operator": pick(g.r, ">", "<", "=", "!="), "token": pick(g.r, "0", "1", "0.5", "100")}
		return l
	}
	if all := append(outer[:len(outer):len(outer)], sources...); chance(g.r, 15) && len(all) > 1 {
		o := g.source(all)
		if x := g.field(o, string(f.kind)); x.kind == f.kind {
			l.op, l.other = pick(g.r, "=", "!=", "<", ">="), o.name+"."+x.code
			return l
		}
	}
	token := func() string {
		switch f.kind {
		case 'i':
			return pick(g.r, "0", "1", "2", "3", "9", "10", "11", "101", "-1")
		case 'd':
			return pick(g.r, "0", "0.10", "10", "250.50", "99999999.99")
		case 's':
			return pick(g.r, "ann", "bea", "7", "zed", "twelve", "")
		case 't':
			return pick(g.r, "2024-02-29", "2023-12-31")
		}
		return pick(g.r, "2024-02-29 23:59:59", "2024-03-01")
	}
	l.op, l.tokens = pick(g.r, "=", "!=", ">", "<", ">=", "<="), []string{token()}
	switch g.r.IntN(6) {
	case 0:
		l.op, l.tokens = pick(g.r, "IN", "NOT IN"), []string{token(), token()}
	case 1:
		if !g.plain {
			l.op, l.tokens = pick(g.r, "BETWEEN", "NOT BETWEEN"), []string{token(), token()}
		}
	case 2:
		if f.kind == 's' && !g.plain {
			l.op, l.tokens = pick(g.r, "LIKE", "NOT LIKE"), []string{pick(g.r, "a", "e", "n%", "%e", "50%")}
		}
	}
	return l
}

// nestedLeaf compares with another query: a list of values, one value, or whether there is a row at all.
func (g *gen) nestedLeaf(s *genSource, sources, outer []*genSource) map[string]any {
	inner := g.name()
	scope := append(outer[:len(outer):len(outer)], sources...)
	q := g.query(inner, scope)
	q.group, q.having, q.distinct, q.ordered, q.offset, q.limit = nil, nil, false, false, 0, 0
	main := q.sources[0]
	switch g.r.IntN(3) {
	case 0: // EXISTS, tied to the outer row
		o := g.source(scope)
		f, x := g.field(main, "i"), g.field(o, "i")
		if f.kind == 'i' && x.kind == 'i' {
			q.where = &genNode{leaves: []genLeaf{{source: main.name, field: f.code, op: "=", other: o.name + "." + x.code}}, children: notNil(q.where)}
		}
		q.outs = []genOut{{source: main.name, field: f.code}}
		return map[string]any{"operator": pick(g.r, "EXISTS", "NOT EXISTS"), "tokenType": "query", "query": g.json(q)}
	case 1: // IN
		mine, f := g.field(s, "i"), g.field(main, "i")
		q.outs = []genOut{{source: main.name, field: f.code}}
		if mine.kind != 'i' || f.kind != 'i' {
			mine, f = g.field(s, "s"), g.field(main, "s")
			q.outs = []genOut{{source: main.name, field: f.code}}
		}
		return map[string]any{"field": mine.code, "fieldResource": s.name, "operator": pick(g.r, "IN", "NOT IN"), "tokenType": "query", "query": g.json(q)}
	default: // one value
		mine := g.field(s, "id")
		q.outs = []genOut{{alias: "v", expr: fmt.Sprintf(pick(g.r, "COUNT(*) + 0 * COUNT(%s.%s)", "MAX(%s.%s)", "MIN(%s.%s)"), main.name, g.field(main, "i").code)}}
		return map[string]any{"field": mine.code, "fieldResource": s.name, "operator": pick(g.r, ">", "<=", "=", "!="), "tokenType": "query", "query": g.json(q)}
	}
}

func notNil(n *genNode) []*genNode {
	if n == nil {
		return nil
	}
	return []*genNode{n}
}
