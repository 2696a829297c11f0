package engine

import (
	"strconv"

	"resq/schema"
	"resq/schema/query"
)

// isFirst is an expression that sorts the rows with a value before the others.
func isFirst(r *schema.Resource, s schema.Sort) query.Expr {
	kind := byte('s')
	if s.Field.Type.Kind == schema.Integer {
		kind = 'i'
	}
	return &query.Case{
		Whens: []query.When{{If: &query.Binary{Op: "=", L: &query.Name{Parts: []string{r.Code, s.Field.Code}}, R: &query.Literal{Kind: kind, Text: *s.Is}},
			Then: &query.Literal{Kind: 'i', Text: "0"}}},
		Else: &query.Literal{Kind: 'i', Text: "1"},
	}
}

// union answers with one page of the rows of several resources. One statement puts them in order and cuts the page; then
// each branch that has rows on it reads those.
func (c *presetCall) union() (*Answer, error) {
	p := c.tool.Preset
	var on []*schema.Branch
	for _, u := range p.Union {
		if c.counts(u.When) {
			on = append(on, u)
		}
	}
	if len(on) == 0 {
		return c.paged(0, 0, 0, nil)
	}
	rows, total, err := c.page(c.merge(on))
	if err != nil {
		return nil, err
	}
	loads := make([]*loaded, len(on))
	at := make([]map[string]int, len(on))
	for i, u := range on {
		var ids keyList
		for row := range rows.rows {
			if which, _ := rows.text(row, 0); which == strconv.Itoa(i) {
				id, _ := rows.text(row, 1)
				ids.add(id)
			}
		}
		if len(ids.keys) == 0 {
			continue
		}
		q := c.request(u.Read)
		c.filter(q, u.Read)
		if q.Conditions == nil {
			q.Conditions = &query.Node{}
		}
		q.Conditions.Leaves = append(q.Conditions.Leaves, amongTexts(u.Read.Source.Key[0], ids.keys))
		q.Limit = int64(len(ids.keys))
		t, err := c.rows(q)
		if err != nil {
			return nil, err
		}
		if loads[i], err = c.load(u.Read, t); err != nil {
			return nil, err
		}
		at[i] = map[string]int{}
		for row := range t.rows {
			id, _ := t.text(row, u.ID)
			at[i][id] = row
		}
	}
	// A row that went away between the two statements is left out.
	type place struct{ branch, row int }
	var list []place
	for row := range rows.rows {
		which, _ := rows.text(row, 0)
		id, _ := rows.text(row, 1)
		i, _ := strconv.Atoi(which) // it was written by the statement
		if r, ok := at[i][id]; ok {
			list = append(list, place{i, r})
		}
	}
	return c.paged(total, len(list), 1024*len(list), func(b []byte, i int) []byte {
		x := list[i]
		return c.record(b, loads[x.branch], on[x.branch].Read.Columns, x.row)
	})
}

// merge is the request for the keys of all branches in one order: the number of the branch, the key, and what is sorted
// by.
func (c *presetCall) merge(on []*schema.Branch) *query.Request {
	p := c.tool.Preset
	var top *query.Request
	var with []query.With
	for i, u := range on {
		name := "b" + strconv.Itoa(i)
		src := u.Read.Source
		inner := &query.Request{Resource: src.Code, Limit: -1, Format: query.Columns, Conditions: &query.Node{},
			Fields: []query.Field{{Code: src.Key[0].Code, Alias: "id"}}}
		for k, s := range p.Order {
			inner.Fields = append(inner.Fields, query.Field{Code: s.Field.Code, Alias: "o" + strconv.Itoa(k)})
		}
		for _, cl := range u.Read.Where {
			c.clause(inner.Conditions, cl)
		}
		c.filter(inner, u.Read)
		outer := &query.Request{Resource: name, Limit: -1, Format: query.Columns,
			Fields: []query.Field{{Expr: &query.Literal{Kind: 'i', Text: strconv.Itoa(i)}, Alias: "branch"}, {Code: "id"}}}
		if u.Key != nil {
			w := &query.Window{Partition: []query.Expr{&query.Name{Parts: []string{src.Code, u.Key.Code}}}}
			for _, s := range append(u.Prefer, schema.Sort{Field: src.Key[0], Desc: true}) {
				by := query.By{Expr: &query.Name{Parts: []string{src.Code, s.Field.Code}}, Desc: s.Desc}
				if s.Is != nil {
					by.Expr = isFirst(src, s)
				}
				w.OrderBy = append(w.OrderBy, by)
			}
			inner.Fields = append(inner.Fields, query.Field{Expr: &query.Call{Name: "ROW_NUMBER", Over: w}, Alias: "nth"})
			outer.Conditions = &query.Node{Leaves: []*query.Leaf{{Field: "nth", Op: query.Eq, TokenType: query.TokenString, Token: "1", HasToken: true}}}
		}
		for k := range p.Order {
			outer.Fields = append(outer.Fields, query.Field{Code: "o" + strconv.Itoa(k)})
		}
		with = append(with, query.With{Code: name, Query: inner})
		if top == nil {
			top = outer
		} else {
			top.SetOps = append(top.SetOps, query.SetOp{Op: "unionAll", Query: outer})
		}
	}
	top.With = with
	for k, s := range p.Order {
		name := "o" + strconv.Itoa(k)
		if len(on) == 1 {
			name = "b0." + name
		}
		top.OrderBy = append(top.OrderBy, query.Order{Item: query.Item{Text: name, Field: name}, Desc: s.Desc})
	}
	for _, name := range []string{"branch", "id"} {
		path := name
		if len(on) == 1 && name == "id" {
			path = "b0.id"
		}
		top.OrderBy = append(top.OrderBy, query.Order{Item: query.Item{Text: path, Field: path}, Desc: name == "id"})
	}
	return top
}
