package engine

import (
	"strings"

	"resq/schema"
	"resq/schema/problem"
	"resq/schema/query"
)

// loaded is the rows of a read with all that belongs to them: one statement for each look-up and for each child list,
// and one MGET for each template, however many rows there are.
type loaded struct {
	t     *table
	found map[*schema.Lookup]*foundRows
	kept  map[*schema.Redis]map[string]string
	lists map[*schema.Child]*childRows
}

// foundRows are the rows of a look-up: column 0 is the key, the fields stand behind it.
type foundRows struct {
	t  *table
	by map[string]int
}

// childRows are the rows of a child list, by the record that they belong to.
type childRows struct {
	l     *loaded
	of    map[string][]int
	more  bool
	total int64 // -1 is not known
}

// load finds all that belongs to the rows of t.
func (c *presetCall) load(r *schema.Read, t *table) (*loaded, error) {
	l := &loaded{t: t, found: map[*schema.Lookup]*foundRows{}, kept: map[*schema.Redis]map[string]string{}, lists: map[*schema.Child]*childRows{}}
	if err := c.lookups(l, r); err != nil {
		return nil, err
	}
	if err := c.redis(l, r.Columns); err != nil {
		return nil, err
	}
	for _, child := range r.Children {
		if err := c.child(l, child); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// active visits the outputs of a row that show a value of its own, those inside others too.
func active(list []*schema.Column, t *table, row int, visit func(*schema.Column)) {
	for _, o := range list {
		switch o.Kind {
		case "object":
			active(o.Columns, t, row, visit)
		case "choose":
			if o = chosen(o, t, row); o != nil {
				active([]*schema.Column{o}, t, row, visit)
			}
		default:
			visit(o)
		}
	}
}

// chosen is the output that counts in a row; nil where none does.
func chosen(o *schema.Column, t *table, row int) *schema.Column {
	text, _ := t.text(row, o.Index)
	for _, x := range o.Choices {
		if x.Value == text {
			return x.Column
		}
	}
	return o.Else
}

// A keyList is different keys in the order in which they were met.
type keyList struct {
	keys []string
	seen map[string]bool
}

func (k *keyList) add(key string) {
	if k.seen == nil {
		k.seen = map[string]bool{}
	}
	if !k.seen[key] {
		k.seen[key] = true
		k.keys = append(k.keys, key)
	}
}

// lookups asks each other resource once, for the keys of all rows and of all outputs.
func (c *presetCall) lookups(l *loaded, r *schema.Read) error {
	if len(r.Lookups) == 0 {
		return nil
	}
	keys := make(map[*schema.Lookup]*keyList, len(r.Lookups))
	for row := range l.t.rows {
		active(r.Columns, l.t, row, func(o *schema.Column) {
			if o.Kind != "lookup" {
				return
			}
			if key, ok := l.t.text(row, o.Index); ok && key != "" {
				if keys[o.Lookup] == nil {
					keys[o.Lookup] = &keyList{}
				}
				keys[o.Lookup].add(key)
			}
		})
	}
	for _, x := range r.Lookups {
		list := keys[x]
		if list == nil {
			continue
		}
		t, err := c.rows(lookupRequest(x, list.keys))
		if err != nil {
			return err
		}
		if t.more {
			return tooMany()
		}
		f := &foundRows{t: t, by: make(map[string]int, t.rows)}
		for row := range t.rows {
			if key, ok := t.text(row, 0); ok {
				if _, twice := f.by[key]; !twice {
					f.by[key] = row
				}
			}
		}
		l.found[x] = f
	}
	return nil
}

// lookupRequest asks for the rows of a look-up with some keys.
func lookupRequest(x *schema.Lookup, keys []string) *query.Request {
	q := &query.Request{Resource: x.Source.Code, Limit: toolRows, Format: query.Columns, Fields: []query.Field{{Code: x.Key.Code, Alias: "k"}}}
	for _, f := range x.Fields {
		if f == x.Key { // which an output may show as well
			q.Fields = append(q.Fields, query.Field{Code: f.Code, Alias: "again"})
			continue
		}
		q.Fields = append(q.Fields, query.Field{Code: f.Code})
	}
	q.Conditions = &query.Node{Leaves: []*query.Leaf{amongTexts(x.Key, keys)}}
	return q
}

// amongTexts is the condition that a field has one of some values.
func amongTexts(f *schema.Field, list []string) *query.Leaf {
	if len(list) == 1 {
		return &query.Leaf{Field: f.Code, Op: query.Eq, TokenType: query.TokenString, Token: list[0], HasToken: true}
	}
	return &query.Leaf{Field: f.Code, Op: query.In, TokenType: query.TokenString, Tokens: list, HasTokens: true}
}

func tooMany() error {
	return problem.List{{Code: problem.LimitExceeded, Stage: problem.Database, Message: "more rows belong to the records of the answer than a tool reads", Hint: "ask for fewer records"}}
}

// redis reads the values that outputs find in Redis.
func (c *presetCall) redis(l *loaded, list []*schema.Column) error {
	keys := map[*schema.Redis]*keyList{}
	var order []*schema.Redis
	for row := range l.t.rows {
		active(list, l.t, row, func(o *schema.Column) {
			if o.Kind != "redis" {
				return
			}
			if keys[o.Redis] == nil {
				keys[o.Redis] = &keyList{}
				order = append(order, o.Redis)
			}
			if key, ok := redisKey(o.Redis, l.t, row); ok {
				keys[o.Redis].add(key)
			}
		})
	}
	for _, x := range order {
		if c.down && !x.Fail {
			continue // its time is not waited for a second time
		}
		values, err := c.e.kvs[x.Connection].Get(c.ctx, keys[x].keys)
		if err != nil {
			if x.Fail || c.ctx.Err() != nil {
				return problem.List{{Code: problem.Unavailable, Stage: problem.Database, Message: "what is kept in Redis cannot be read", RetryAfter: 1, Err: err}}
			}
			c.down = true
			c.args.notices = append(c.args.notices, words(c.tool.Lang, redisDown))
			continue
		}
		l.kept[x] = values
	}
	return nil
}

// redisKey makes the key of a row; false where a value is missing.
func redisKey(x *schema.Redis, t *table, row int) (string, bool) {
	var b strings.Builder
	for _, p := range x.Parts {
		if p.Index < 0 {
			b.WriteString(p.Text)
			continue
		}
		v, ok := t.text(row, p.Index)
		if !ok || v == "" {
			return "", false
		}
		b.WriteString(v)
	}
	return b.String(), true
}

// child reads the rows of a child list for all records at once.
func (c *presetCall) child(l *loaded, x *schema.Child) error {
	rows := &childRows{l: &loaded{t: &table{}}, of: map[string][]int{}, total: -1}
	l.lists[x] = rows
	q := c.request(x.Read)
	keys := make([]keyList, len(x.On))
	for row := range l.t.rows {
		for i, on := range x.On {
			if key, ok := l.t.text(row, on.Parent); ok {
				keys[i].add(key)
			}
		}
	}
	for i, on := range x.On {
		if len(keys[i].keys) == 0 { // nothing belongs to nothing
			rows.total = 0
			return nil
		}
		q.Conditions.Leaves = append(q.Conditions.Leaves, amongTexts(x.Read.Fetch[on.Child].Field, keys[i].keys))
	}
	group(q, x)
	if !c.counts(x.When) {
		return c.total(rows, x, q)
	}
	q.Limit = toolRows
	if !x.Several {
		q.Limit = x.Limit
		if v, given := c.args.of[x.LimitParam]; x.LimitParam != nil && given {
			n, ok := query.Whole(v.text)
			if ok && n >= 0 {
				q.Limit = min(n, x.Limit)
			}
		}
	}
	t, err := c.rows(q)
	if err != nil {
		return err
	}
	if rows.more = t.more; t.more && x.Several {
		return tooMany()
	}
	for row := range t.rows {
		key := joined(t, row, x.On, func(on schema.Link) int { return on.Child })
		rows.of[key] = append(rows.of[key], row)
	}
	if rows.l, err = c.load(x.Read, t); err != nil {
		return err
	}
	if !t.more {
		rows.total = int64(t.rows)
		return nil
	}
	if c.told(x) == "" {
		c.args.notices = append(c.args.notices, words(c.tool.Lang, listCut, x.Name, strconvInt(q.Limit)))
	}
	return c.total(rows, x, q)
}

// group takes the rows of a child list together where it says so.
func group(q *query.Request, x *schema.Child) {
	for _, g := range x.Groups {
		path := x.Read.Source.Code + "." + g.Code
		q.GroupBy = append(q.GroupBy, query.Item{Text: path, Field: path})
	}
}

// total counts the rows of a child list when an output shows their number.
func (c *presetCall) total(rows *childRows, x *schema.Child, q *query.Request) (err error) {
	if c.told(x) != "total" {
		return nil
	}
	q.OrderBy = nil
	rows.total, err = c.count(q)
	return err
}

// told says by which kind of output it is told that a child list was cut: total, truncated, or "" for none.
func (c *presetCall) told(x *schema.Child) (by string) {
	var look func([]*schema.Column)
	look = func(list []*schema.Column) {
		for _, o := range list {
			if o.Child == x && (o.Kind == "total" || o.Kind == "truncated" && by == "") {
				by = o.Kind
			}
			look(o.Columns)
		}
	}
	p := c.tool.Preset
	look(p.Outputs)
	if p.Read != nil {
		look(p.Read.Columns)
	}
	return by
}

// joined is the values that tell which record a row belongs to, as one text.
func joined(t *table, row int, on []schema.Link, col func(schema.Link) int) string {
	if len(on) == 1 {
		v, _ := t.text(row, col(on[0]))
		return v
	}
	var b strings.Builder
	for _, x := range on {
		v, _ := t.text(row, col(x))
		b.WriteString(v + "\x00")
	}
	return b.String()
}

// rowsOf are the rows of a child list that belong to a record.
func (l *loaded) rowsOf(x *schema.Child, row int) (*loaded, []int) {
	list := l.lists[x]
	if list == nil {
		return &loaded{t: &table{}}, nil
	}
	return list.l, list.of[joined(l.t, row, x.On, func(on schema.Link) int { return on.Parent })]
}
