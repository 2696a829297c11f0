package engine_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// The generator makes random requests that fit worldCatalog: what may be compared with what, what must be
// grouped, how many joins may stand on no declared key. Most of them must run; a request that is refused
// proves nothing about rows.

// A genField is a field with the kind of its values: i(nteger), d(ecimal), s(tring), t (date) or m (moment).
type genField struct {
	code string
	kind byte
}

var genFields = map[string][]genField{
	"Dept":  {{"id", 'i'}, {"name", 's'}, {"parent_id", 'i'}, {"region", 'i'}},
	"User":  {{"id", 'i'}, {"name", 's'}, {"status", 'i'}, {"dept_id", 'i'}, {"manager_id", 'i'}, {"score", 'd'}, {"note", 's'}, {"joined", 't'}},
	"Order": {{"id", 'i'}, {"user_id", 'i'}, {"amount", 'd'}, {"status", 'i'}, {"qty", 'i'}, {"placed_at", 'm'}},
	"Item":  {{"order_id", 'i'}, {"line", 'i'}, {"qty", 'i'}, {"price", 'd'}},
	"Tag":   {{"label", 's'}, {"weight", 'i'}},
}

// genJoins are the equalities that make sense; those that declare a key may be used freely, of the others
// two in a request.
var genJoins = []struct {
	res, field, toRes, toField string
	declared                   bool
}{
	{"User", "dept_id", "Dept", "id", true}, {"Dept", "id", "User", "dept_id", true}, {"Order", "user_id", "User", "id", true},
	{"User", "id", "Order", "user_id", true}, {"Dept", "parent_id", "Dept", "id", true}, {"Dept", "id", "Dept", "parent_id", true},
	{"User", "manager_id", "User", "id", true}, {"User", "id", "User", "manager_id", true}, {"Item", "order_id", "Order", "id", true},
	{"Order", "id", "Item", "order_id", true}, {"User", "dept_id", "User", "dept_id", false}, {"Order", "status", "Order", "status", false},
	{"Tag", "label", "User", "name", false}, {"User", "name", "Tag", "label", false}, {"Dept", "id", "Order", "qty", false},
}

// A genSource is a resource under its name in the request.
type genSource struct {
	name, res string
	join      string // inner, left, right or cross; "" is the main resource
	on        *genEqual
	cond      *genNode // more conditions of ON
}

// A genEqual is the equality of a join: field here, other field of the source to.
type genEqual struct{ field, to, toField string }

// A genNode is a group of conditions.
type genNode struct {
	or, not  bool
	leaves   []genLeaf
	children []*genNode
}

// A genLeaf is one condition. Simple ones have a source and a field; the others are written out at once.
type genLeaf struct {
	source, field, op string
	tokens            []string
	kind              byte
	other             string         // a field as token
	json              map[string]any // everything else
}

// A genOut is one output: a field, an aggregate over a field (or over nothing: COUNT(*)), or an expression.
type genOut struct {
	alias, source, field string
	agg, expr, dataType  string
	kind                 byte
}

// A genQuery is one request.
type genQuery struct {
	sources       []*genSource
	where         *genNode
	outs          []genOut
	group         []genOut // plain outputs that are grouped
	having        []any
	distinct      bool
	ordered       bool
	limit, offset int
}

// A gen is a generator. Plain keeps it to what the small compiler of the negative controls knows, tame to
// numbers that every database calculates with exactly; masks adds the masked fields to the outputs.
type gen struct {
	r       *rand.Rand
	plain   bool
	tame    bool
	masks   bool
	names   int
	loose   int
	queries int
}

func newGen(r *rand.Rand) *gen { return &gen{r: r} }

// request makes a whole request as JSON and says whether its order is total.
func (g *gen) request() (string, bool) {
	g.names, g.loose, g.queries = 0, 0, 0
	var m map[string]any
	switch {
	case chance(g.r, 15):
		m = g.recursion()
	case chance(g.r, 8):
		m = g.setOperation()
	case chance(g.r, 8):
		m = g.with()
	default:
		m = g.json(g.query("", nil))
	}
	if chance(g.r, 10) {
		m["total"] = true
	}
	if chance(g.r, 6) {
		m["format"] = pick(g.r, "objects", "csv", "markdown")
	}
	_, ordered := m["orderBy"]
	return encode(m), ordered
}

func (g *gen) name() string {
	g.names++
	return fmt.Sprintf("n%d", g.names)
}

// query makes a query of one to four sources. A name makes it a nested one, which may lean on the sources
// outside.
func (g *gen) query(name string, outer []*genSource) *genQuery {
	q := &genQuery{}
	main := &genSource{name: name, res: pick(g.r, "User", "User", "Order", "Order", "Dept", "Item", "Tag")}
	if g.plain {
		main.res = pick(g.r, "User", "Order", "Dept", "Item")
	}
	if name == "" {
		main.name = main.res
	}
	q.sources = []*genSource{main}
	joins := pick(g.r, 0, 0, 0, 1, 1, 1, 2, 2, 3)
	if name != "" {
		joins = pick(g.r, 0, 0, 0, 1)
	}
	for range joins {
		g.join(q)
	}
	g.outputs(q)
	if chance(g.r, 70) {
		q.where = g.node(q.sources, outer, pick(g.r, 1, 1, 2, 3))
	}
	q.limit = pick(g.r, 1000, 1000, 1000, 1, 2, 4, 7)
	if chance(g.r, 15) {
		q.offset = g.r.IntN(4)
	}
	q.ordered = q.limit < 1000 || q.offset > 0 || chance(g.r, 50)
	return q
}

// join adds a source that fits one that is there.
func (g *gen) join(q *genQuery) {
	left := q.sources[g.r.IntN(len(q.sources))]
	s := &genSource{name: g.name(), join: pick(g.r, "inner", "inner", "left", "left", "right")}
	if !g.plain && chance(g.r, 6) && g.loose < 2 {
		g.loose++
		s.join, s.res = "cross", pick(g.r, "Tag", "Dept")
		q.sources = append(q.sources, s)
		return
	}
	for range 50 {
		j := genJoins[g.r.IntN(len(genJoins))]
		if j.res != left.res || !j.declared && g.loose >= 2 || g.plain && (j.toRes == "Tag" || j.res == "Tag") {
			continue
		}
		if !j.declared {
			g.loose++
		}
		s.res, s.on = j.toRes, &genEqual{j.toField, left.name, j.field}
		break
	}
	if s.on == nil {
		return
	}
	if !g.plain && chance(g.r, 15) && g.loose < 2 { // the conditions alone join
		g.loose++
		s.cond = &genNode{or: chance(g.r, 30), leaves: []genLeaf{
			{source: s.name, field: s.on.field, op: "=", other: s.on.to + "." + s.on.toField}, g.leaf([]*genSource{s}, nil)}}
		s.on = nil
	} else if chance(g.r, 25) {
		s.cond = g.node([]*genSource{s}, nil, 1)
	}
	q.sources = append(q.sources, s)
}

func (g *gen) field(s *genSource, kinds string) genField {
	list := slices.DeleteFunc(slices.Clone(genFields[s.res]), func(f genField) bool { return kinds != "" && !strings.ContainsRune(kinds, rune(f.kind)) })
	if len(list) == 0 {
		return genFields[s.res][0]
	}
	return list[g.r.IntN(len(list))]
}

func (g *gen) source(list []*genSource) *genSource { return list[g.r.IntN(len(list))] }

// outputs chooses what the rows show: plain fields and expressions, groups with aggregates, or aggregates
// alone.
func (g *gen) outputs(q *genQuery) {
	alias := func() string { return fmt.Sprintf("o%d", len(q.outs)+1) }
	plain := func() genOut {
		s := g.source(q.sources)
		f := g.field(s, "")
		o := genOut{alias: alias(), source: s.name, field: f.code, kind: f.kind}
		if g.masks && s.res == "User" && chance(g.r, 50) {
			o.field, o.kind = pick(g.r, "email", "phone"), 'x'
			o.dataType = pick(g.r, "", "", "string", "integer", "number", "bool", "json", "array")
		}
		return o
	}
	switch {
	case chance(g.r, 35): // groups
		for range pick(g.r, 1, 1, 2) {
			o := plain()
			if o.kind == 'x' || slices.ContainsFunc(q.outs, func(x genOut) bool { return x.source == o.source && x.field == o.field }) {
				if len(q.outs) > 0 {
					break
				}
				f := g.field(q.sources[0], "")
				o = genOut{alias: o.alias, source: q.sources[0].name, field: f.code, kind: f.kind}
			}
			q.outs = append(q.outs, o)
			q.group = append(q.group, o)
		}
		for range 1 + g.r.IntN(3) {
			q.outs = append(q.outs, g.aggregate(q.sources, alias()))
		}
		if !g.plain && chance(g.r, 40) {
			q.having = append(q.having, g.having(q))
		}
	case chance(g.r, 25): // aggregates alone
		for range 1 + g.r.IntN(3) {
			q.outs = append(q.outs, g.aggregate(q.sources, alias()))
		}
	default:
		for range 1 + g.r.IntN(4) {
			if !g.plain && chance(g.r, 35) {
				text, kind := g.expr(q.sources, 2)
				q.outs = append(q.outs, genOut{alias: alias(), expr: text, kind: kind})
			} else {
				q.outs = append(q.outs, plain())
			}
		}
		if !g.plain && len(q.sources) == 1 && q.sources[0].res != "Tag" && chance(g.r, 15) {
			q.outs = append(q.outs, genOut{alias: alias(), expr: g.window(q.sources[0]), kind: 'i'})
		}
		hidden := slices.ContainsFunc(q.outs, func(o genOut) bool { return o.kind == 'x' || strings.Contains(o.expr, "OVER") })
		q.distinct = !hidden && chance(g.r, 20)
	}
}

func (g *gen) aggregate(sources []*genSource, alias string) genOut {
	s := g.source(sources)
	if chance(g.r, 25) {
		return genOut{alias: alias, agg: "COUNT", kind: 'i'}
	}
	switch agg := pick(g.r, "COUNT", "SUM", "SUM", "MIN", "MAX", "AVG", "COUNT DISTINCT"); agg {
	case "SUM", "AVG":
		f := g.field(s, "id")
		if f.kind != 'i' && f.kind != 'd' {
			return genOut{alias: alias, agg: "COUNT", source: s.name, field: f.code, kind: 'i'}
		}
		if agg == "AVG" && g.plain {
			agg = "SUM" // floating point is no matter of this test
		}
		if !g.plain && chance(g.r, 20) {
			text := g.number(sources, 1)
			return genOut{alias: alias, expr: agg + "(" + text + ")", kind: 'd'}
		}
		return genOut{alias: alias, agg: agg, source: s.name, field: f.code, kind: 'd'}
	default:
		f := g.field(s, "")
		kind := f.kind
		if strings.HasPrefix(agg, "COUNT") {
			kind = 'i'
		}
		return genOut{alias: alias, agg: agg, source: s.name, field: f.code, kind: kind}
	}
}

func (g *gen) having(q *genQuery) any {
	switch g.r.IntN(3) {
	case 0:
		return map[string]any{"field": "*", "fieldSqlFunc": "COUNT", "operator": pick(g.r, ">", "<", ">="), "token": fmt.Sprint(g.r.IntN(3))}
	case 1:
		s := g.source(q.sources)
		f := g.field(s, "id")
		return map[string]any{"field": fmt.Sprintf("COUNT(%s.%s)", s.name, f.code), "isExpr": true, "operator": pick(g.r, ">", "<=", "!="), "token": fmt.Sprint(g.r.IntN(3))}
	default:
		for _, o := range q.outs {
			if o.agg == "COUNT" {
				return map[string]any{"field": o.alias, "operator": ">=", "token": fmt.Sprint(g.r.IntN(3))}
			}
		}
		return map[string]any{"field": "COUNT(*)", "isExpr": true, "operator": ">", "token": "0"}
	}
}
