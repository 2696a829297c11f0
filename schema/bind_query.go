package schema

import (
	"slices"
	"strconv"

	"resq/schema/query"
)

// query binds the request that a tool reads instead of a resource (V-02). Its outputs are the fields of a resource of its
// own, so that whatever a tool says of fields it may say of them.
func (b *toolBinder) query(r raw) *Read {
	if !r.given() {
		return nil
	}
	q, err := query.DecodePreset(b.file.appendJSON(nil, r.node), b.l.opts.Limits)
	if err != nil {
		tellDecoded(b.file, r, err)
		return nil
	}
	b.fill(q)
	for _, k := range []struct {
		key   string
		given bool
	}{{"total", q.Total}, {"cursor", q.Cursor != ""}, {"format", q.Format != query.Columns}} {
		if k.given {
			b.tell(follow(r.node, "/"+k.key), "leave it out; the shape of the tool says what is answered", "the query of a tool has no %s", k.key)
		}
	}
	n := &names{l: b.l, file: b.file, raw: r, tool: b}
	if main, ok := b.l.resources[q.Resource]; ok {
		n.connection = main.thing.Connection
	}
	before := len(b.file.found)
	n.request(q, nil)
	if len(q.Fields) == 0 {
		b.tell(r.at, "fields: [{code: FIELD}]", "the query of a tool must name its outputs")
	}
	if len(b.file.found) > before || n.connection == nil {
		return nil
	}
	if !slices.Contains(b.tool.Connections, n.connection) {
		b.tool.Connections = append(b.tool.Connections, n.connection)
	}
	res := &Resource{Code: b.freeCode(), Name: b.tool.Name, Connection: n.connection, At: b.file.pos(r.at), byCode: map[string]*Field{}}
	b.sources = b.sourcesOf(q)
	for i := range q.Fields {
		x := b.output(q, &q.Fields[i])
		x.Resource, x.At = res, b.file.pos(follow(r.node, q.Fields[i].At))
		res.add(x)
	}
	if w := q.Recursive; w != nil {
		for _, x := range []*Field{{Code: w.Level, Type: Type{Kind: Integer}}, {Code: w.Path, Type: Type{Kind: JSON}}} {
			if x.Code != "" {
				x.Resource, x.At = res, res.At
				res.add(x)
			}
		}
	}
	res.Key = b.tells(q, res)
	return &Read{Source: res, Query: q, Place: func(pointer string) Pos { return b.file.pos(follow(r.node, pointer)) }}
}

// add enters an output that the query has not named before; one of the same name is told by whoever plans the query.
func (r *Resource) add(f *Field) {
	if _, twice := r.byCode[f.Code]; !twice {
		r.byCode[f.Code] = f
		r.Fields = append(r.Fields, f)
	}
}

// freeCode is a code that no resource has.
func (b *toolBinder) freeCode() string {
	code := "result"
	for i := 2; ; i++ {
		if _, taken := b.l.resources[code]; !taken {
			return code
		}
		code = "result" + strconv.Itoa(i)
	}
}

// sourcesOf are the resources that a query reads itself, by the codes that they have in it.
func (b *toolBinder) sourcesOf(q *query.Request) map[string]*Resource {
	out := map[string]*Resource{}
	enter := func(resource, code string) {
		if code == "" {
			code = resource
		}
		named := slices.ContainsFunc(q.With, func(w query.With) bool { return w.Code == resource })
		if found, ok := b.l.resources[resource]; ok && !named {
			out[code] = found.thing
		}
	}
	enter(q.Resource, q.Code)
	for _, r := range q.Relations {
		enter(r.Resource, r.Code)
	}
	return out
}

// output is what is known of an output before it is planned: all of a plain field, and of an expression nothing but its name.
func (b *toolBinder) output(q *query.Request, x *query.Field) *Field {
	if x.Expr == nil {
		code := x.Resource
		if code == "" {
			code = mainCode(q)
		}
		if res := b.sources[code]; res != nil {
			if f := res.byCode[x.Code]; f != nil {
				y := *f
				if x.DataType != "" || len(q.SetOps) > 0 {
					y.Type, y.Values = Type{}, nil
				}
				y.Code = x.Name()
				return &y
			}
		}
	}
	return &Field{Code: x.Name()}
}

func mainCode(q *query.Request) string {
	if q.Code != "" {
		return q.Code
	}
	return q.Resource
}

// tells are the outputs that tell two rows of a query apart, and end every order: the key of a resource that is
// read alone, and else all that can be sorted by. Rows that are alike in these may change places unseen.
func (b *toolBinder) tells(q *query.Request, res *Resource) (key []*Field) {
	find := func(resource, code string) *Field {
		for i := range q.Fields {
			x := &q.Fields[i]
			if owner := x.Resource; x.Expr == nil && x.Code == code && (owner == resource || owner == "" && resource == mainCode(q)) {
				return res.byCode[x.Name()]
			}
		}
		return nil
	}
	main := b.sources[mainCode(q)]
	if len(q.SetOps) == 0 && len(q.GroupBy) == 0 && len(q.Relations) == 0 && q.Recursive == nil && main != nil && len(main.Key) > 0 {
		for _, k := range main.Key {
			if f := find(mainCode(q), k.Code); f != nil {
				key = append(key, f)
			}
		}
		if len(key) == len(main.Key) {
			return key
		}
		key = nil
	}
	for _, f := range res.Fields {
		if f.Type.Kind != JSON && f.Type.Kind != Binary && !f.Array && f.Mask == "" {
			key = append(key, f)
		}
	}
	return key
}

// within finds Resource.field of a query that the tool reads; nil where the word is none.
func (b *toolBinder) within(w word, r *Read) *Within {
	if r == nil || r.Query == nil {
		return nil
	}
	for i := range w.text {
		if w.text[i] != '.' {
			continue
		}
		if res := b.sources[w.text[:i]]; res != nil {
			if f := res.byCode[w.text[i+1:]]; f != nil {
				return &Within{w.text[:i], f}
			}
		}
	}
	return nil
}
