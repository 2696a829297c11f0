package query

import (
	"strconv"

	"resq/schema/problem"
)

// requestKeys are the keys of a request; a nested one has those of the top but for the last four.
var requestKeys = []string{"resource", "fields", "conditions", "relations", "groupBy", "having", "orderBy", "limit", "offset",
	"distinct", "setOps", "with", "code", "recursive", "total", "cursor", "format"}

const nestedKeys = 14

func (d *decoder) request(v value, at string, top bool) *Request {
	keys := requestKeys
	if !top {
		keys = requestKeys[:nestedKeys]
	}
	d.queries++
	if d.queries == d.lim.Queries+1 {
		d.limit(at, "more than "+strconv.Itoa(d.lim.Queries)+" nested requests", "")
	}
	o := d.object(v, at, keys)
	r := &Request{At: at, Limit: -1, Format: Columns}
	o.need("resource")
	r.Resource, _ = o.code("resource")
	r.Code, _ = o.code("code")
	if o.has("code") && r.Code != r.Resource && !PlainName(r.Code) {
		d.bad(at+"/code", problem.Quote(r.Code)+" is no name", nameHint)
	}
	r.Distinct = o.bool("distinct")
	d.fields(o, r)
	for i, x := range o.array("relations", d.lim.Joins, "relations") {
		r.Relations = append(r.Relations, d.relation(x, at+"/relations/"+strconv.Itoa(i)))
	}
	if c := o.v.member("conditions"); c != nil {
		r.Conditions = d.conditions(c, at+"/conditions")
	}
	if c := o.v.member("having"); c != nil {
		r.Having = d.conditions(c, at+"/having")
	}
	for i, x := range o.array("groupBy", d.lim.GroupBy, "items of groupBy") {
		r.GroupBy = append(r.GroupBy, d.item(x, at+"/groupBy/"+strconv.Itoa(i), nil))
	}
	for i, x := range o.array("orderBy", d.lim.OrderBy, "items of orderBy") {
		var s Order
		s.Item = d.item(x, at+"/orderBy/"+strconv.Itoa(i), &s)
		r.OrderBy = append(r.OrderBy, s)
	}
	d.window(o, r)
	d.nested(o, r)
	if top {
		r.body = o.v
		r.Total = o.bool("total")
		r.Cursor, _ = o.str("cursor", MaxCursor)
		r.Format = Format(o.enum("format", string(Columns), string(Columns), string(Objects), string(CSV), string(Markdown)))
		if r.Cursor != "" && r.Offset > 0 {
			d.bad(at+"/offset", "cursor and offset exclude each other", "send the cursor alone")
		}
	}
	return r
}

func (d *decoder) fields(o object, r *Request) {
	if v := o.v.member("fields"); v == nil || v.kind == 'n' {
		return
	}
	list := o.array("fields", d.lim.Fields, "fields")
	r.Fields = make([]Field, 0, len(list))
	for i, x := range list {
		r.Fields = append(r.Fields, d.field(x, o.at+"/fields/"+strconv.Itoa(i)))
	}
}

// window reads limit and offset.
func (d *decoder) window(o object, r *Request) {
	if n, ok := o.integer("limit", -1, true); ok {
		if n < 1 {
			d.bad(o.at+"/limit", "limit is below 1", "1 to "+strconv.FormatInt(d.lim.MaxRows, 10))
		}
		r.Limit = n
	}
	if n, ok := o.integer("offset", 0, true); ok {
		if n < 0 {
			d.bad(o.at+"/offset", "offset is below 0", "")
		}
		if n > d.lim.Offset {
			d.limit(o.at+"/offset", "an offset above "+strconv.FormatInt(d.lim.Offset, 10), "page with cursor, or narrow the conditions")
		}
		r.Offset = n
	}
}

// nested reads what holds requests of its own, and the walk.
func (d *decoder) nested(o object, r *Request) {
	d.depth++
	defer func() { d.depth-- }()
	for i, x := range o.array("with", d.lim.Queries, "named queries") {
		w := With{At: o.at + "/with/" + strconv.Itoa(i)}
		wo := d.object(x, w.At, []string{"code", "query"})
		wo.need("code")
		wo.need("query")
		w.Code, _ = wo.code("code")
		if wo.has("code") && !PlainName(w.Code) {
			d.bad(w.At+"/code", problem.Quote(w.Code)+" is no name", nameHint)
		}
		if q := wo.v.member("query"); q != nil {
			w.Query = d.request(*q, w.At+"/query", false)
			r.With = append(r.With, w)
		}
	}
	for i, x := range o.array("setOps", d.lim.Queries, "set operations") {
		s := SetOp{At: o.at + "/setOps/" + strconv.Itoa(i)}
		so := d.object(x, s.At, []string{"op", "query"})
		so.need("op")
		so.need("query")
		s.Op = so.enum("op", "union", "union", "unionAll", "intersect", "except")
		if q := so.v.member("query"); q != nil {
			s.Query = d.request(*q, s.At+"/query", false)
			r.SetOps = append(r.SetOps, s)
		}
	}
	if v := o.v.member("recursive"); v != nil {
		r.Recursive = d.recursive(*v, o.at+"/recursive")
	}
}

func (d *decoder) recursive(v value, at string) *Recursive {
	o := d.object(v, at, []string{"pField", "cField", "root", "depth", "levelAlias", "pathAlias", "includeRoot"})
	w := &Recursive{At: at}
	for _, k := range []string{"pField", "cField", "root"} {
		o.need(k)
	}
	w.Parent, _ = o.path("pField")
	w.Child, _ = o.path("cField")
	if x := o.v.member("root"); x != nil {
		w.Root, _ = d.scalar(*x, at+"/root")
	}
	if n, ok := o.integer("depth", 0, false); ok {
		if n < 1 {
			d.bad(at+"/depth", "depth is below 1", "1 is the roots alone; leave it out for all levels")
		}
		if n > d.lim.WalkDepth {
			d.limit(at+"/depth", "a depth above "+strconv.FormatInt(d.lim.WalkDepth, 10), "")
		}
		w.Depth = n
	}
	w.Level = d.alias(o, "levelAlias")
	w.Path = d.alias(o, "pathAlias")
	w.IncludeRoot = o.bool("includeRoot")
	return w
}

func (d *decoder) alias(o object, key string) string {
	s, ok := o.code(key)
	if v := o.v.member(key); ok && v.kind == 's' && len([]rune(v.text)) <= d.lim.Alias && !PlainName(s) {
		d.bad(o.at+"/"+key, problem.Quote(s)+" is no name for an output", nameHint)
	}
	return s
}

func (d *decoder) field(v value, at string) Field {
	if v.kind == 's' && (v.text == "" || v.text[0] != '{') {
		d.bad(at, "expected an object, not a string", `{"code":"field"}`)
		return Field{At: at}
	}
	o := d.object(v, at, []string{"code", "codeResource", "alias", "isExpr", "dataType"})
	f := Field{At: at}
	o.need("code")
	f.Resource, _ = o.code("codeResource")
	f.Alias = d.alias(o, "alias")
	f.DataType = o.enum("dataType", "", "string", "bool", "number", "array", "json", "integer", "float")
	if !o.bool("isExpr") {
		f.Code, _ = o.code("code")
		return f
	}
	if !o.has("alias") {
		d.bad(at, "an expression needs an alias", `add "alias"`)
	}
	f.Expr = d.expr(o, "code")
	return f
}

func (d *decoder) expr(o object, key string) Expr {
	text, ok := o.str(key, 1<<20)
	if v := o.v.member(key); !ok || v.kind != 's' {
		return nil
	}
	e, p := ParseExpr(text, o.at+"/"+key, d.lim)
	d.add(p)
	return e
}

func (d *decoder) relation(v value, at string) Relation {
	o := d.object(v, at, []string{"code", "type", "actuallyResource", "actuallyField", "relationResource", "relationField", "conditions", "name"})
	r := Relation{At: at}
	o.need("code")
	o.need("type")
	o.need("actuallyResource")
	r.Code, _ = o.code("code")
	r.Resource, _ = o.code("actuallyResource")
	r.Field, _ = o.code("actuallyField")
	r.ToResource, _ = o.code("relationResource")
	r.ToField, _ = o.code("relationField")
	o.str("name", d.lim.Token)
	r.Type = o.enum("type", "inner", "inner", "left", "right", "cross")
	if o.has("code") && r.Code != r.Resource && !PlainName(r.Code) {
		d.bad(at+"/code", problem.Quote(r.Code)+" is no name for a relation", nameHint)
	}
	if c := o.v.member("conditions"); c != nil {
		r.Conditions = d.conditions(c, at+"/conditions")
	}
	// A client that holds to the contract's required keys sends "" for those a cross relation has no use for.
	eq := 0
	for _, s := range []string{r.Field, r.ToResource, r.ToField} {
		if s != "" {
			eq++
		}
	}
	switch {
	case r.Type == "cross" && (eq > 0 || o.has("conditions")):
		d.bad(at, "a cross relation takes neither an equality nor conditions", "leave them out, or use type inner")
	case r.Type != "cross" && eq == 0 && r.Conditions == nil:
		d.bad(at, "a relation without an equality needs conditions", "give actuallyField, relationResource and relationField, or conditions that join")
	case eq > 0 && eq < 3:
		d.bad(at, "a part of the relation's equality is missing", "actuallyField, relationResource and relationField go together")
	}
	return r
}

// item reads one entry of groupBy or, with s, of orderBy.
func (d *decoder) item(v value, at string, s *Order) Item {
	it := Item{At: at}
	if v.kind == 's' && (v.text == "" || v.text[0] != '{') {
		if len([]rune(v.text)) > 2*d.lim.Alias+1 {
			d.limit(at, "a name of more than "+strconv.Itoa(2*d.lim.Alias+1)+" characters", "")
			return it
		}
		it.Field, it.Text, it.Plain = v.text, v.text, true
		return it
	}
	keys := []string{"type", "expr"}
	if s != nil {
		keys = append(keys, "direction", "nulls")
	}
	o := d.object(v, at, keys)
	o.need("type")
	o.need("expr")
	kind := o.enum("type", "field", "field", "sql")
	if s != nil {
		s.Desc = o.enum("direction", "asc", "asc", "desc") == "desc"
		s.Nulls = o.enum("nulls", "", "first", "last")
	}
	if kind == "sql" {
		it.Expr = d.expr(o, "expr")
		if x := o.v.member("expr"); x != nil {
			it.Text = x.text
		}
		return it
	}
	it.Field, _ = o.path("expr")
	it.Text = it.Field
	return it
}
