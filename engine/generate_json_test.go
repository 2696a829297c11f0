package engine_test

import "fmt"

// json writes a query as the request that a client would send.
func (g *gen) json(q *genQuery) map[string]any {
	main := q.sources[0]
	m := map[string]any{"resource": main.res}
	if main.name != main.res {
		m["code"] = main.name
	}
	var fields []any
	for _, o := range q.outs {
		fields = append(fields, o.json(main.name))
	}
	m["fields"] = fields
	var relations []any
	for _, s := range q.sources[1:] {
		r := map[string]any{"code": s.name, "type": s.join, "actuallyResource": s.res}
		if s.on != nil {
			r["actuallyField"], r["relationResource"], r["relationField"] = s.on.field, s.on.to, s.on.toField
		}
		if s.cond != nil {
			r["conditions"] = s.cond.json()
		}
		relations = append(relations, r)
	}
	if relations != nil {
		m["relations"] = relations
	}
	if q.where != nil {
		m["conditions"] = q.where.json()
	}
	if q.group != nil {
		var group []any
		for _, o := range q.group {
			group = append(group, o.source+"."+o.field)
		}
		m["groupBy"] = group
	}
	if q.having != nil {
		m["having"] = map[string]any{"type": "and", "exprs": q.having}
	}
	if q.distinct {
		m["distinct"] = true
	}
	if q.ordered {
		m["orderBy"] = g.order(q)
	}
	if q.limit > 0 {
		m["limit"] = q.limit
	}
	if q.offset > 0 {
		m["offset"] = q.offset
	}
	return m
}

// order sorts by every output, so that rows that differ have one order. A masked output cannot be sorted by;
// where there is one, the keys of all sources are the order.
func (g *gen) order(q *genQuery) []any {
	var list []any
	item := func(typ, expr string) {
		list = append(list, map[string]any{"type": typ, "expr": expr, "direction": pick(g.r, "asc", "desc")})
	}
	for _, o := range q.outs {
		if o.kind == 'x' {
			list = nil
			for _, s := range q.sources {
				switch s.res {
				case "Item":
					item("field", s.name+".order_id")
					item("field", s.name+".line")
				case "Tag":
					item("field", s.name+".label")
					item("field", s.name+".weight")
				default:
					item("field", s.name+".id")
				}
			}
			return list
		}
		item("sql", o.alias)
	}
	g.r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	if chance(g.r, 15) {
		list[0].(map[string]any)["nulls"] = pick(g.r, "first", "last")
	}
	return list
}

func (o genOut) json(main string) map[string]any {
	switch {
	case o.expr != "":
		return map[string]any{"code": o.expr, "isExpr": true, "alias": o.alias}
	case o.agg == "COUNT DISTINCT":
		return map[string]any{"code": fmt.Sprintf("COUNT(DISTINCT %s.%s)", o.source, o.field), "isExpr": true, "alias": o.alias}
	case o.agg != "" && o.field == "":
		return map[string]any{"code": "COUNT(*)", "isExpr": true, "alias": o.alias}
	case o.agg != "":
		return map[string]any{"code": fmt.Sprintf("%s(%s.%s)", o.agg, o.source, o.field), "isExpr": true, "alias": o.alias}
	}
	f := map[string]any{"code": o.field}
	if o.source != main {
		f["codeResource"] = o.source
	}
	if o.alias != "" {
		f["alias"] = o.alias
	}
	if o.dataType != "" {
		f["dataType"] = o.dataType
	}
	return f
}

func (n *genNode) json() map[string]any {
	m := map[string]any{"type": "and", "exprs": []any{}}
	if n.or {
		m["type"] = "or"
	}
	if n.not {
		m["not"] = true
	}
	var leaves, children []any
	for _, l := range n.leaves {
		leaves = append(leaves, l.write())
	}
	for _, c := range n.children {
		children = append(children, c.json())
	}
	if leaves != nil {
		m["exprs"] = leaves
	}
	if children != nil {
		m["children"] = children
	}
	return m
}

func (l genLeaf) write() map[string]any {
	if l.json != nil {
		return l.json
	}
	m := map[string]any{"field": l.field, "fieldResource": l.source, "operator": l.op}
	switch {
	case l.other != "":
		m["tokenType"], m["token"] = "field", l.other
	case len(l.tokens) == 1:
		m["token"] = l.tokens[0]
	case len(l.tokens) > 1:
		m["tokens"] = l.tokens
	}
	return m
}

// recursion makes a walk over the departments or over who manages whom, with all that may stand beside one.
func (g *gen) recursion() map[string]any {
	res, parent, roots := "Dept", "parent_id", []string{"0", "10", "11", "12", "20", "15", "22"}
	if chance(g.r, 40) {
		res, parent, roots = "User", "manager_id", []string{"", "1", "2", "101", "102"}
	}
	source := &genSource{name: res, res: res}
	rec := map[string]any{"pField": res + "." + parent, "cField": res + ".id", "root": pick(g.r, roots...)}
	m := map[string]any{"resource": res, "recursive": rec, "limit": pick(g.r, 1000, 1000, 2, 3)}
	fields := []any{map[string]any{"code": "id"}, map[string]any{"code": "name"}}
	if chance(g.r, 40) {
		rec["depth"] = 1 + g.r.IntN(4)
	}
	if chance(g.r, 40) && rec["root"] != "" {
		rec["includeRoot"] = true
	}
	switch g.r.IntN(5) {
	case 0:
		rec["levelAlias"] = "level"
	case 1:
		rec["levelAlias"], rec["pathAlias"] = "level", "path"
	case 2:
		fields = []any{map[string]any{"code": "COUNT(*)", "isExpr": true, "alias": "n"}, map[string]any{"code": "MAX(" + res + ".id)", "isExpr": true, "alias": "top"}}
	case 3: // on a relation: the users of the departments walked
		if res == "Dept" {
			rec["pField"], rec["cField"] = "d.parent_id", "d.id"
			m["resource"], source = "User", &genSource{name: "User", res: "User"}
			m["relations"] = []any{map[string]any{"code": "d", "type": pick(g.r, "inner", "left"), "actuallyResource": "Dept", "actuallyField": "id", "relationResource": "User", "relationField": "dept_id"}}
			fields = append(fields, map[string]any{"code": "name", "codeResource": "d", "alias": "dept"})
		}
	}
	m["fields"] = fields
	if chance(g.r, 40) {
		m["conditions"] = g.node([]*genSource{source}, nil, 1).json()
	}
	if len(fields) != 2 || fields[1].(map[string]any)["isExpr"] == nil { // an aggregate has one row
		if chance(g.r, 60) {
			m["orderBy"] = []any{map[string]any{"type": "field", "expr": source.name + ".id", "direction": pick(g.r, "asc", "desc")}}
		}
	}
	return m
}

// setOperation combines queries of the same kinds of outputs and sorts by all of them.
func (g *gen) setOperation() map[string]any {
	kinds := pick(g.r, "i", "is", "ii", "ids")
	part := func(name string) map[string]any {
		q := g.query(name, nil)
		for q.sources[0].res == "Tag" || q.sources[0].res == "Item" {
			q = g.query(name, nil)
		}
		q.group, q.having, q.distinct, q.ordered, q.limit, q.offset, q.outs = nil, nil, false, false, 0, 0, nil
		for i, k := range kinds {
			f := g.field(q.sources[0], string(k))
			o := genOut{alias: fmt.Sprintf("o%d", i+1), source: q.sources[0].name, field: f.code, kind: byte(k)}
			if f.kind != byte(k) {
				o = genOut{alias: o.alias, kind: byte(k), expr: map[rune]string{'i': "1", 'd': "1.50", 's': "'k'"}[k]}
			}
			q.outs = append(q.outs, o)
		}
		return g.json(q)
	}
	m := part("")
	var ops []any
	for range 1 + g.r.IntN(2) {
		ops = append(ops, map[string]any{"op": pick(g.r, "union", "unionAll", "intersect", "except"), "query": part(g.name())})
	}
	m["setOps"] = ops
	var order []any
	for i := range kinds {
		order = append(order, map[string]any{"type": "sql", "expr": fmt.Sprintf("o%d", i+1), "direction": pick(g.r, "asc", "desc")})
	}
	m["orderBy"], m["limit"] = order, pick(g.r, 1000, 3)
	return m
}

// with makes a request over a named query: as the main resource, as a joined one, or as a scalar.
func (g *gen) with() map[string]any {
	sums := map[string]any{"resource": "Order", "fields": []any{
		map[string]any{"code": "user_id"}, map[string]any{"code": pick(g.r, "COUNT(*)", "SUM(Order.amount)", "MAX(Order.qty)"), "isExpr": true, "alias": "n"}},
		"groupBy": []any{"Order.user_id"}}
	if chance(g.r, 50) {
		sums["conditions"] = g.node([]*genSource{{name: "Order", res: "Order"}}, nil, 1).json()
	}
	order := func(names ...string) []any {
		var list []any
		for _, n := range names {
			list = append(list, map[string]any{"type": "sql", "expr": n})
		}
		return list
	}
	switch g.r.IntN(3) {
	case 0:
		return map[string]any{"resource": "w", "with": []any{map[string]any{"code": "w", "query": sums}}, "limit": 1000,
			"fields": []any{map[string]any{"code": "COUNT(*)", "isExpr": true, "alias": "c"}, map[string]any{"code": "MAX(w.n)", "isExpr": true, "alias": "m"}}}
	case 1:
		return map[string]any{"resource": "User", "with": []any{map[string]any{"code": "w", "query": sums}}, "limit": pick(g.r, 1000, 3),
			"fields":    []any{map[string]any{"code": "id", "alias": "u"}, map[string]any{"code": "n", "codeResource": "w"}},
			"relations": []any{map[string]any{"code": "w", "type": pick(g.r, "inner", "left", "right"), "actuallyResource": "w", "actuallyField": "user_id", "relationResource": "User", "relationField": "id"}},
			"orderBy":   order("u", "n")}
	default:
		whole := map[string]any{"resource": "Order", "fields": []any{map[string]any{"code": "COUNT(*)", "isExpr": true, "alias": "n"}}}
		return map[string]any{"resource": "Dept", "with": []any{map[string]any{"code": "k", "query": whole}}, "limit": 1000,
			"fields": []any{map[string]any{"code": "id"}, map[string]any{"code": pick(g.r, "Dept.id * k.n", "Dept.id / k.n", "k.n"), "isExpr": true, "alias": "x"}}}
	}
}
