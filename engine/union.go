package engine

import (
	"cmp"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"resq/schema"
	"resq/schema/problem"
	"resq/schema/query"
)

// isFirst is an expression that sorts the rows with a value before the others.
func isFirst(r *schema.Resource, s schema.Sort) query.Expr {
	kind := byte('s')
	switch s.Field.Type.Kind {
	case schema.Integer:
		kind = 'i'
	case schema.Decimal, schema.Number:
		kind = 'd'
	}
	return &query.Case{
		Whens: []query.When{{If: &query.Binary{Op: "=", L: &query.Name{Parts: []string{r.Code, s.Field.Code}}, R: &query.Literal{Kind: kind, Text: *s.Is}},
			Then: &query.Literal{Kind: 'i', Text: "0"}}},
		Else: &query.Literal{Kind: 'i', Text: "1"},
	}
}

// mergedRows is how far into a list of several connections a page may reach: each connection is read up to its end.
const mergedRows = 2000

// union answers with one page of the rows of several resources. One statement of each connection puts them in order, and
// cuts the page where there is one connection; then each branch that has rows on it reads those.
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
	keys, total, err := c.unionPage(on)
	if err != nil {
		return nil, err
	}
	loads := make([]*loaded, len(on))
	at := make([]map[string]int, len(on))
	for i, u := range on {
		var ids keyList
		for _, k := range keys {
			if k.branch == i {
				ids.add(k.id)
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
	for _, k := range keys {
		if r, ok := at[k.branch][k.id]; ok {
			list = append(list, place{k.branch, r})
		}
	}
	return c.paged(total, len(list), 1024*len(list), func(b []byte, i int) []byte {
		x := list[i]
		return c.record(b, loads[x.branch], on[x.branch].Read.Columns, x.row)
	})
}

// A unionKey is one row of a union: its branch, its key, and what it is sorted by, nil for no value.
type unionKey struct {
	branch int
	id     string
	by     []*string
}

// unionPage finds which rows stand on the page, in order, and how many there are in all.
func (c *presetCall) unionPage(on []*schema.Branch) ([]unionKey, int64, error) {
	var connections []*schema.Connection
	for _, u := range on {
		if x := u.Read.Source.Connection; !slices.Contains(connections, x) {
			connections = append(connections, x)
		}
	}
	if len(connections) == 1 {
		rows, total, err := c.page(c.merge(on, connections[0]))
		if err != nil {
			return nil, 0, err
		}
		return unionKeys(rows), total, nil
	}
	if c.args.page > mergedRows/c.args.rows {
		return nil, 0, problem.List{{Code: problem.LimitExceeded, Stage: problem.Limits, At: "/page", Message: "the list comes from several connections, and the page ends behind its row " +
			strconv.Itoa(mergedRows), Hint: "narrow the conditions"}}
	}
	var keys []unionKey
	var total int64
	end := c.args.page * c.args.rows
	for _, x := range connections {
		q := c.merge(on, x)
		q.Limit = end
		rows, err := c.rows(q)
		if err != nil {
			return nil, 0, err
		}
		n := int64(rows.rows)
		if rows.more {
			counted, err := c.count(q)
			if err != nil {
				return nil, 0, err
			}
			n = max(n, counted)
		}
		total += n
		keys = append(keys, unionKeys(rows)...)
	}
	// The rows of one branch are in order already, and of equal rows the earlier branch comes first.
	slices.SortStableFunc(keys, func(a, b unionKey) int {
		for i, s := range c.tool.Preset.Order {
			kind := s.Field.Type.Kind
			if s.Is != nil {
				kind = schema.Integer // 0 for the rows that have the value, 1 for the others
			}
			n := compareSorted(kind, a.by[i], b.by[i])
			if s.Desc {
				n = -n
			}
			if n != 0 {
				return n
			}
		}
		return cmp.Compare(a.branch, b.branch)
	})
	from := min(end-c.args.rows, int64(len(keys)))
	return keys[from:min(end, int64(len(keys)))], total, nil
}

// unionKeys reads what a statement of merge gave.
func unionKeys(t *table) []unionKey {
	out := make([]unionKey, t.rows)
	for row := range out {
		which, _ := t.text(row, 0)
		out[row].branch, _ = strconv.Atoi(which) // it was written by the statement
		out[row].id, _ = t.text(row, 1)
		for col := 2; col < t.width; col++ {
			var by *string
			if v, ok := t.text(row, col); ok {
				by = &v
			}
			out[row].by = append(out[row].by, by)
		}
	}
	return out
}

// compareSorted orders two values of a kind that a union across connections may be ordered by as the databases do, no value first.
func compareSorted(kind schema.Kind, a, b *string) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return -1
	case b == nil:
		return 1
	case kind.Numeric():
		x, okX := new(big.Rat).SetString(*a)
		y, okY := new(big.Rat).SetString(*b)
		if okX && okY {
			return x.Cmp(y)
		}
	}
	return strings.Compare(*a, *b) // dates and moments are written from the year on
}

// merge is the request for the keys of the branches on one connection in one order: the number of the branch, the key,
// and what is sorted by.
func (c *presetCall) merge(on []*schema.Branch, connection *schema.Connection) *query.Request {
	p := c.tool.Preset
	var top *query.Request
	var with []query.With
	for i, u := range on {
		if u.Read.Source.Connection != connection {
			continue
		}
		name := "b" + strconv.Itoa(i)
		src := u.Read.Source
		inner := &query.Request{Resource: src.Code, Limit: -1, Format: query.Columns, Conditions: &query.Node{},
			Fields: []query.Field{{Code: src.Key[0].Code, Alias: "id"}}}
		for k, s := range p.Order {
			x := query.Field{Code: s.Field.Code, Alias: "o" + strconv.Itoa(k)}
			if s.Is != nil {
				x = query.Field{Expr: isFirst(src, s), Alias: x.Alias}
			}
			inner.Fields = append(inner.Fields, x)
		}
		for _, cl := range u.Read.Where {
			c.clause(inner.Conditions, nil, cl)
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
		if len(with) == 1 {
			name = with[0].Code + "." + name
		}
		top.OrderBy = append(top.OrderBy, query.Order{Item: query.Item{Text: name, Field: name}, Desc: s.Desc})
	}
	for _, name := range []string{"branch", "id"} {
		path := name
		if len(with) == 1 && name == "id" {
			path = with[0].Code + ".id"
		}
		top.OrderBy = append(top.OrderBy, query.Order{Item: query.Item{Text: path, Field: path}, Desc: name == "id"})
	}
	return top
}
