package schema

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"resq/schema/problem"
	"resq/schema/query"
)

// A columnBinder looks up the names in the outputs of one read.
type columnBinder struct {
	b      *toolBinder
	read   *Read
	res    *Resource
	single bool // one record at most
	shown  map[*Child]bool
	at     map[*Child]place
	groups []*Field // of a child list whose rows are taken together
}

// fetch gives the place of a field among what is read.
func (r *columnBinder) fetch(f *Field) int {
	for i, x := range r.read.Fetch {
		if x.Field == f {
			return i
		}
	}
	if r.groups != nil && !slices.Contains(r.groups, f) {
		return -1
	}
	r.read.Fetch = append(r.read.Fetch, Fetch{Field: f})
	return len(r.read.Fetch) - 1
}

// index looks up a field and gives its place; -1 when there is none, which is told.
func (r *columnBinder) index(w word) (int, *Field) {
	if r.res == nil {
		if w.given() {
			r.b.tell(w.at, "", "there is no resource here whose field %s could be", problem.Quote(w.text))
		}
		return -1, nil
	}
	f := r.b.field(w, r.res)
	if f == nil {
		return -1, nil
	}
	i := r.fetch(f)
	if i < 0 {
		r.b.tell(w.at, "add it to groupBy, or write expr: SUM("+f.Code+")", "the field %s may differ within a group", problem.Quote(f.Code))
	}
	return i, f
}

// columns binds a list of outputs.
func (r *columnBinder) columns(list []columnDecl) []*Column {
	named := map[string]bool{}
	for i := range list {
		if d := &list[i]; d.field.text != "*" || d.name.given() {
			named[r.nameOf(d)] = true
		}
	}
	var out []*Column
	seen := map[string]place{}
	add := func(c *Column, at place) {
		if c == nil {
			return
		}
		if _, twice := seen[c.Name]; twice && c.Name != "" {
			r.b.tell(at, "name one of them otherwise", "the output %s is there twice", problem.Quote(c.Name))
			return
		}
		seen[c.Name] = at
		c.Key = []byte(asJSON(c.Name) + ":")
		out = append(out, c)
	}
	for i := range list {
		d := &list[i]
		if d.field.text == "*" && !d.name.given() {
			if r.res == nil {
				continue
			}
			for _, f := range r.res.Fields {
				if name := r.b.named(f.Code); !named[name] && !r.softDeletes(f) {
					if j := r.fetch(f); j >= 0 {
						add(&Column{Name: name, Kind: "field", Field: f, Index: j, Value: "null", At: r.b.file.pos(d.at)}, d.at)
					}
				}
			}
			continue
		}
		if d.name.text == "..." {
			c := r.column(d)
			if c != nil && c.Kind != "one" && c.Kind != "lookup" {
				r.b.tell(d.at, "one or lookup", `"..." spreads the outputs of one, or the fields that lookup takes`)
			}
			if c == nil {
				continue
			}
			if c.Kind == "lookup" {
				for _, w := range d.take {
					each := *d
					each.take, each.name = []word{w}, word{r.b.named(w.text), w.at}
					add(r.column(&each), w.at)
				}
				continue
			}
			for _, inner := range c.Outputs {
				add(&Column{Name: inner.Name, Kind: "spread", Child: c.Child, Columns: []*Column{inner}, Field: inner.Field, At: c.At}, d.at)
			}
			continue
		}
		add(r.column(d), d.at)
	}
	return out
}

// softDeletes says whether f marks deleted rows, which are never shown.
func (r *columnBinder) softDeletes(f *Field) bool {
	return r.res.SoftDelete != nil && r.res.SoftDelete.Field == f
}

func (r *columnBinder) nameOf(d *columnDecl) string {
	if d.name.given() {
		return d.name.text
	}
	return r.b.named(d.field.text)
}

// A kindOf is a kind of output with the word that shows it, and the keys that go with it.
type kindOf struct {
	name string
	word func(d *columnDecl) bool
	keys []string
}

var columnKinds = []kindOf{
	{"field", func(d *columnDecl) bool { return d.field.given() }, []string{"format", "mask", "default"}},
	{"expr", func(d *columnDecl) bool { return d.expr.given() }, []string{"format"}},
	{"text", func(d *columnDecl) bool { return d.text.given() }, []string{"map", "default"}},
	{"lookup", func(d *columnDecl) bool { return d.lookup.given() }, []string{"key", "by", "take", "default", "format", "mask"}},
	{"redis", func(d *columnDecl) bool { return d.redis.given() }, []string{"connection", "as", "onDown", "default"}},
	{"derive", func(d *columnDecl) bool { return d.derive != nil }, nil},
	{"value", func(d *columnDecl) bool { return d.value.given() }, nil},
	{"param", func(d *columnDecl) bool { return d.param.given() }, nil},
	{"children", func(d *columnDecl) bool { return d.child.given() }, nil},
	{"one", func(d *columnDecl) bool { return d.one.given() }, nil},
	{"gather", func(d *columnDecl) bool { return d.gather.given() }, []string{"take", "how", "separator"}},
	{"split", func(d *columnDecl) bool { return d.split.given() }, []string{"by", "into"}},
	{"distinct", func(d *columnDecl) bool { return d.distinct.given() }, []string{"take"}},
	{"total", func(d *columnDecl) bool { return d.total.given() }, nil},
	{"truncated", func(d *columnDecl) bool { return d.truncated.given() }, nil},
	{"object", func(d *columnDecl) bool { return d.object != nil }, []string{"nullWhenEmpty"}},
	{"choose", func(d *columnDecl) bool { return d.choose.given() }, []string{"cases", "else"}},
	{"context", func(d *columnDecl) bool { return d.context.given() }, []string{"default"}},
}

// extras are the keys that go with some kinds alone.
var extras = map[string]func(d *columnDecl) bool{
	"format": func(d *columnDecl) bool { return d.format.given() }, "mask": func(d *columnDecl) bool { return d.mask.given() },
	"default": func(d *columnDecl) bool { return d.def.given() }, "map": func(d *columnDecl) bool { return d.texts.given() },
	"key": func(d *columnDecl) bool { return d.key.given() }, "by": func(d *columnDecl) bool { return d.by.given() },
	"take": func(d *columnDecl) bool { return d.take != nil }, "connection": func(d *columnDecl) bool { return d.connection.given() },
	"as": func(d *columnDecl) bool { return d.as.given() }, "onDown": func(d *columnDecl) bool { return d.onDown.given() },
	"how": func(d *columnDecl) bool { return d.how.given() }, "separator": func(d *columnDecl) bool { return d.separator.given() },
	"into": func(d *columnDecl) bool { return d.into != nil }, "nullWhenEmpty": func(d *columnDecl) bool { return d.nullWhenEmpty.at.given() },
	"cases": func(d *columnDecl) bool { return d.cases != nil }, "else": func(d *columnDecl) bool { return d.other != nil },
}

func (r *columnBinder) column(d *columnDecl) *Column {
	var kind *kindOf
	for i := range columnKinds {
		if !columnKinds[i].word(d) {
			continue
		}
		if kind != nil {
			r.b.tell(d.at, "keep one of them", "an output shows one thing, and this one has both %s and %s", kind.name, columnKinds[i].name)
			return nil
		}
		kind = &columnKinds[i]
	}
	if kind == nil {
		r.b.tell(d.at, "field: CODE", "the output %s shows nothing", problem.Quote(d.name.text))
		return nil
	}
	for _, k := range []string{"format", "mask", "default", "map", "key", "by", "take", "connection", "as", "onDown", "how", "separator", "into", "nullWhenEmpty", "cases", "else"} {
		if extras[k](d) && !slices.Contains(kind.keys, k) {
			r.b.tell(d.at, "", "the key %q means nothing beside %s", k, kind.name)
		}
	}
	c := &Column{Name: r.nameOf(d), Kind: kind.name, At: r.b.file.pos(d.at), Format: d.format.text, Mask: d.mask.text, Value: "null", How: d.how.text, Separator: ",", Index: -1}
	if d.def.given() {
		c.Value = string(r.b.file.appendJSON(nil, d.def.node))
	}
	if d.separator.given() {
		c.Separator = d.separator.text
	}
	if !r.fill(c, d) {
		return nil
	}
	return c
}

// fill binds what a kind of output needs; false where something is not there, which was told.
func (r *columnBinder) fill(c *Column, d *columnDecl) bool {
	b := r.b
	switch c.Kind {
	case "field":
		c.Index, c.Field = r.index(d.field)
		if c.Field != nil && r.res.SoftDelete != nil && r.softDeletes(c.Field) && !d.name.given() {
			b.tell(d.field.at, "leave it out", "the field %s marks deleted rows, which are never shown", problem.Quote(c.Field.Code))
		}
		return c.Index >= 0
	case "expr":
		return r.expr(c, d)
	case "text":
		return r.text(c, d)
	case "lookup":
		return r.lookup(c, d)
	case "redis":
		return r.redis(c, d)
	case "derive":
		r.derive(c, d)
	case "value":
		c.Value = string(b.file.appendJSON(nil, d.value.node))
	case "param":
		c.Param = b.argument(d.param)
		return c.Param != nil
	case "children", "one":
		w := d.child
		if c.Kind == "one" {
			w = d.one
		}
		c.Child = r.child(w)
		if c.Child != nil {
			c.Outputs = c.Child.Read.Columns
		}
		return c.Child != nil
	case "total", "truncated":
		w := d.total
		if c.Kind == "truncated" {
			w = d.truncated
		}
		if c.Child = r.child(w); c.Child != nil && c.Child.Several {
			b.tell(w.at, "gather with how: count", "how many rows a child list has is known for a single record alone")
		}
		return c.Child != nil
	case "gather", "split", "distinct":
		return r.collect(c, d)
	case "object":
		inner := *r
		c.Columns, c.Null = inner.columns(d.object), d.nullWhenEmpty.on
	case "choose":
		return r.choose(c, d)
	case "context":
		return r.context(c, d)
	}
	return true
}

func (r *columnBinder) expr(c *Column, d *columnDecl) bool {
	if r.res == nil {
		r.b.tell(d.expr.at, "", "there are no fields here to calculate with")
		return false
	}
	lim := r.b.l.opts.Limits
	e, p := query.ParseExpr(d.expr.text, "", &lim)
	if p != nil {
		r.b.tell(d.expr.at, p.Hint, "%s", p.Message)
		return false
	}
	before := len(r.b.file.found)
	n := &names{l: r.b.l, file: r.b.file, raw: raw{&yaml.Node{Kind: yaml.ScalarNode, Line: int(d.expr.at.line), Column: int(d.expr.at.col)}, d.expr.at}, connection: r.res.Connection}
	n.expr(e, &scope{sources: []source{{name: r.res.Code, res: r.res}}}, "")
	if len(r.b.file.found) > before {
		return false
	}
	c.Kind, c.Index = "field", len(r.read.Fetch)
	r.read.Fetch = append(r.read.Fetch, Fetch{Expr: e, Text: d.expr.text})
	return true
}

func (r *columnBinder) text(c *Column, d *columnDecl) bool {
	i, f := r.index(d.text)
	if i < 0 {
		return false
	}
	c.Index, c.Map = i, f.Text
	if d.texts.given() {
		found, ok := r.b.l.texts[d.texts.text]
		if !ok {
			r.b.tell(d.texts.at, r.b.l.nearest("text", d.texts.text, func() []string { return keysOf(r.b.l.texts) }), "no text %s", problem.Quote(d.texts.text))
			return false
		}
		c.Map = found.thing
	}
	if c.Map == nil {
		r.b.tell(d.text.at, "map: NAME", "the field %s has no text map of its own", problem.Quote(f.Code))
		return false
	}
	for _, v := range f.Values {
		if _, ok := c.Map.Label(v); !ok && !d.def.given() {
			r.b.tell(d.at, "add it to the text map, or give a default", "the text map %s has no label for the value %s of %s", problem.Quote(c.Map.Name), problem.Quote(v), problem.Quote(f.Code))
		}
	}
	return true
}

func (r *columnBinder) lookup(c *Column, d *columnDecl) bool {
	there := r.b.resource(d.lookup)
	if there == nil {
		return false
	}
	var key *Field
	switch {
	case d.key.given():
		key = r.b.field(d.key, there)
	case len(there.Key) == 1:
		key = there.Key[0]
	default:
		r.b.tell(d.lookup.at, "key: CODE", "%s has no single key by which a row could be found", problem.Quote(there.Code))
	}
	if !d.by.given() {
		r.b.tell(d.at, "by: CODE", "nothing says which field holds the key of %s", problem.Quote(there.Code))
	}
	if len(d.take) == 0 {
		r.b.tell(d.at, "take: CODE", "nothing says what is taken from %s", problem.Quote(there.Code))
	}
	if len(d.take) > 1 && d.name.text != "..." {
		r.b.tell(d.take[1].at, `one output for each, or "...": {lookup: …, take: […]}`, "an output takes one field")
	}
	i, by := r.index(d.by)
	if key == nil || i < 0 || len(d.take) == 0 {
		return false
	}
	for _, f := range []*Field{key, by} {
		if f.Mask != "" {
			r.b.tell(d.at, "", "the field %s is masked, so that nothing can be found by it", problem.Quote(f.Code))
			return false
		}
	}
	take := r.b.field(d.take[0], there)
	if take == nil {
		return false
	}
	c.Index, c.Field = i, take
	for _, l := range r.read.Lookups {
		if l.Source == there && l.Key == key {
			c.Lookup = l
		}
	}
	if c.Lookup == nil {
		c.Lookup = &Lookup{Source: there, Key: key}
		r.read.Lookups = append(r.read.Lookups, c.Lookup)
	}
	if c.Take = slices.Index(c.Lookup.Fields, take); c.Take < 0 {
		c.Take = len(c.Lookup.Fields)
		c.Lookup.Fields = append(c.Lookup.Fields, take)
	}
	return true
}

func (r *columnBinder) redis(c *Column, d *columnDecl) bool {
	conn := r.redisConnection(d)
	if conn == nil {
		return false
	}
	x := &Redis{Connection: conn, Template: d.redis.text, As: d.as.text, Fail: d.onDown.text == "error"}
	if x.As == "" {
		x.As = "string"
	}
	rest := d.redis.text
	for rest != "" {
		before, after, found := strings.Cut(rest, "{")
		if before != "" {
			x.Parts = append(x.Parts, RedisPart{before, -1})
		}
		if !found {
			break
		}
		code, tail, closed := strings.Cut(after, "}")
		if !closed {
			r.b.tell(d.redis.at, "name:{field}", "a { of the key is not closed")
			return false
		}
		i, f := r.index(word{code, d.redis.at})
		if i < 0 {
			return false
		}
		if f.Mask != "" {
			r.b.tell(d.redis.at, "", "the field %s is masked, so that nothing can be found by it", problem.Quote(f.Code))
			return false
		}
		x.Parts = append(x.Parts, RedisPart{"", i})
		rest = tail
	}
	if !slices.ContainsFunc(x.Parts, func(p RedisPart) bool { return p.Index >= 0 }) {
		r.b.tell(d.redis.at, "name:{field}", "the key %s is the same for every record", problem.Quote(x.Template))
	}
	c.Redis = x
	return true
}

func (r *columnBinder) redisConnection(d *columnDecl) *Connection {
	var all []*Connection
	for _, c := range r.b.l.cat.Connections {
		if c.Driver == "redis" && (!d.connection.given() || d.connection.text == c.Name) {
			all = append(all, c)
		}
	}
	if len(all) == 1 {
		if !slices.Contains(r.b.tool.Connections, all[0]) {
			r.b.tool.Connections = append(r.b.tool.Connections, all[0])
		}
		return all[0]
	}
	at, hint := d.redis.at, "connection: NAME"
	if d.connection.given() {
		at, hint = d.connection.at, "declare one under connections, with driver: redis"
	} else if len(all) == 0 {
		hint = "declare one under connections, with driver: redis"
	}
	r.b.tell(at, hint, "no connection of the driver redis is meant")
	return nil
}

func (r *columnBinder) derive(c *Column, d *columnDecl) {
	for i := range d.derive {
		x := &d.derive[i]
		out := Derive{Filled: -1, Index: -1}
		switch {
		case x.of.given():
			if out.Of = r.child(x.of); out.Of != nil {
				out.Within = r.within(out.Of, x.filled)
			}
		case x.filled.given():
			out.Filled, _ = r.index(x.filled)
		}
		for _, e := range x.equals {
			if j, f := r.index(e.name); j >= 0 {
				if !plausible(f, e.field.text) {
					r.b.tell(e.field.at, "", "%s is no value of the field %s of type %s", problem.Quote(e.field.text), problem.Quote(f.Code), f.Type)
				}
				out.Equals = append(out.Equals, Equal{j, e.field.text})
			}
		}
		switch {
		case x.value.given() && x.field.given():
			r.b.tell(x.at, "", "a case shows a value or a field, and not both")
		case x.value.given():
			out.Value = string(r.b.file.appendJSON(nil, x.value.node))
		case x.field.given():
			out.Index, c.Field = r.index(x.field)
		default:
			r.b.tell(x.at, "value: TEXT, or field: CODE", "the case shows nothing")
		}
		if !x.filled.given() && len(x.equals) == 0 && i+1 < len(d.derive) {
			r.b.tell(d.derive[i+1].at, "put the case without a condition last", "this case is never reached: the one before it always counts")
		}
		c.Cases = append(c.Cases, out)
	}
}

// child finds a child list by its name and notes that it is shown.
func (r *columnBinder) child(w word) *Child {
	var names []string
	for _, c := range r.read.Children {
		if c.Name == w.text {
			r.shown[c] = true
			return c
		}
		names = append(names, c.Name)
	}
	if w.given() {
		hint := problem.OneOf(w.text, names)
		if hint == "" {
			hint = "declare it under children"
		}
		r.b.tell(w.at, hint, "no child list %s", problem.Quote(w.text))
	}
	return nil
}

// collect binds outputs that look at the outputs of a child list.
func (r *columnBinder) collect(c *Column, d *columnDecl) bool {
	w := map[string]word{"gather": d.gather, "split": d.split, "distinct": d.distinct}[c.Kind]
	if c.Child = r.child(w); c.Child == nil {
		return false
	}
	find := func(name word) *Column { return r.within(c.Child, name) }
	take := d.take
	if c.Kind == "split" {
		take = []word{d.by}
		for _, p := range d.into {
			c.Parts = append(c.Parts, Part{p.name.text, p.field.text})
		}
		if !d.by.given() || len(d.into) == 0 {
			r.b.tell(d.at, "by: OUTPUT and into: {name: value}", "nothing says how the list is parted")
			return false
		}
	}
	if c.Kind == "gather" && c.How == "" {
		c.How = "list"
	}
	if c.Kind == "gather" && c.How == "count" {
		return true
	}
	if len(take) == 0 || c.Kind != "distinct" && len(take) > 1 {
		r.b.tell(d.at, "take: OUTPUT", "nothing says what is taken from the child list %s", problem.Quote(c.Child.Name))
		return false
	}
	for _, x := range take {
		o := find(x)
		if o == nil {
			return false
		}
		c.Outputs = append(c.Outputs, o)
	}
	return true
}

// within finds an output of a child list, or a field of it that its rows do not show and that is read for this alone.
func (r *columnBinder) within(child *Child, name word) *Column {
	var names []string
	for _, o := range child.Read.Columns {
		if o.Name == name.text {
			return o
		}
		names = append(names, o.Name)
	}
	inner := &columnBinder{b: r.b, read: child.Read, res: child.Read.Source, groups: child.Groups}
	if f, ok := inner.res.byCode[name.text]; ok {
		if i := inner.fetch(f); i >= 0 {
			name := r.b.named(f.Code)
			return &Column{Name: name, Key: []byte(asJSON(name) + ":"), Kind: "field", Field: f, Index: i, Value: "null"}
		}
	}
	r.b.tell(name.at, problem.OneOf(name.text, names), "the child list %s has no output %s", problem.Quote(child.Name), problem.Quote(name.text))
	return nil
}

func (r *columnBinder) choose(c *Column, d *columnDecl) bool {
	i, f := r.index(d.choose)
	if i < 0 {
		return false
	}
	c.Index = i
	for k := range d.cases {
		x := &d.cases[k]
		if !plausible(f, x.name.text) {
			r.b.tell(x.name.at, "", "%s is no value of the field %s of type %s", problem.Quote(x.name.text), problem.Quote(f.Code), f.Type)
		}
		if inner := r.column(x); inner != nil {
			c.Choices = append(c.Choices, Choice{x.name.text, inner})
		}
	}
	if len(d.cases) == 0 {
		r.b.tell(d.at, "cases: {VALUE: …}", "nothing says what is chosen")
	}
	if d.other != nil {
		c.Else = r.column(&d.other[0])
	}
	return true
}

// contexts are what the server knows by itself.
var contexts = []string{"service.version", "now", "now.offset", "redis", "tools", "capabilities", "subject.type", "subject.id"}

func (r *columnBinder) context(c *Column, d *columnDecl) bool {
	c.Context = d.context.text
	if slices.Contains(contexts, c.Context) || strings.HasPrefix(c.Context, "principal.") && len(c.Context) > len("principal.") {
		return true
	}
	r.b.tell(d.context.at, problem.OneOf(c.Context, contexts), "the server knows nothing under the name %s", problem.Quote(c.Context))
	return false
}

// children binds the child lists of a read, the inner ones first.
func (r *columnBinder) children(list []childDecl) {
	r.shown, r.at = map[*Child]bool{}, map[*Child]place{}
	for i := range list {
		d := &list[i]
		there := r.b.resource(d.source)
		if there == nil {
			continue
		}
		c := &Child{Name: d.name.text, Read: &Read{Source: there}, When: r.b.when(&d.when), Limit: 1000, Several: !r.single}
		if d.limit.at.given() {
			c.Limit = int64(d.limit.n)
		}
		if c.LimitParam = r.b.argument(d.limitParam); c.LimitParam != nil && c.LimitParam.Type != "integer" {
			r.b.tell(d.limitParam.at, "type: integer", "the argument %s is no number of rows", problem.Quote(c.LimitParam.Name))
		}
		if c.Several && (d.limit.at.given() || d.limitParam.given()) {
			r.b.tell(d.at, "leave limit out", "a limit is for the rows of a single record")
		}
		for _, w := range d.groups {
			if f := r.b.field(w, there); f != nil {
				c.Groups = append(c.Groups, f)
			}
		}
		inner := &columnBinder{b: r.b, read: c.Read, res: there}
		for _, p := range d.on {
			from, to := r.b.field(p.from, there), word{}
			to = p.to
			j, _ := r.index(to)
			if from == nil || j < 0 {
				continue
			}
			if c.Groups != nil && !slices.Contains(c.Groups, from) {
				c.Groups = append(c.Groups, from)
			}
			if from.Mask != "" {
				r.b.tell(p.from.at, "", "the field %s is masked, so that nothing can be found by it", problem.Quote(from.Code))
			}
			c.On = append(c.On, Link{inner.fetch(from), j})
		}
		if len(d.on) == 0 {
			r.b.tell(d.at, "on: {field there: field of the record}", "nothing says which rows of %s belong to a record", problem.Quote(there.Code))
		}
		inner.groups = c.Groups
		c.Read.Where = r.b.clauses(d.where, there)
		if c.Groups != nil {
			c.Read.Order = r.b.sorts(d.order, there)
			for _, g := range c.Groups {
				if !slices.ContainsFunc(c.Read.Order, func(s Sort) bool { return s.Field == g }) {
					c.Read.Order = append(c.Read.Order, Sort{Field: g})
				}
			}
		} else {
			c.Read.Order = r.b.order(d.order, there)
		}
		inner.children(d.children)
		c.Read.Columns = inner.columns(d.columns)
		inner.unused()
		if slices.ContainsFunc(r.read.Children, func(o *Child) bool { return o.Name == c.Name }) {
			continue // told as a key that stands twice
		}
		r.read.Children = append(r.read.Children, c)
		r.at[c] = d.name.at
	}
}

// unused tells of child lists that nothing shows.
func (r *columnBinder) unused() {
	for _, c := range r.lists() {
		if !r.shown[c] {
			r.b.tell(r.at[c], "show it: - name: {children: "+c.Name+"}", "no output shows the child list %s", problem.Quote(c.Name))
		}
	}
}

func (r *columnBinder) lists() []*Child {
	if r.read == nil {
		return nil
	}
	return r.read.Children
}

// union binds a list from several resources.
func (b *toolBinder) union(d *toolDecl, p *Preset) {
	var first *Resource
	across := false
	for i := range d.union {
		u := &d.union[i]
		res := b.resource(u.source)
		if res == nil {
			continue
		}
		if first == nil {
			first = res
		}
		across = across || res.Connection != first.Connection
		if len(res.Key) != 1 {
			b.tell(u.source.at, "key: CODE on the resource", "%s has no single key", problem.Quote(res.Code))
			continue
		}
		x := &Branch{Name: u.name.text, Read: &Read{Source: res}, When: b.when(&u.when), Key: b.field(u.key, res), Prefer: b.sorts(u.prefer, res)}
		r := &columnBinder{b: b, read: x.Read, res: res}
		x.ID = r.fetch(res.Key[0])
		x.Read.Where = b.clauses(u.where, res)
		if x.Key == nil && len(u.prefer) > 0 {
			b.tell(u.prefer[0].at, "key: CODE", "prefer chooses among the rows of a document, and nothing tells documents apart")
		}
		r.children(u.children)
		x.Read.Columns = r.columns(u.columns)
		r.unused()
		if len(x.Read.Columns) == 0 {
			b.tell(u.at, "columns: […]", "the branch %s has no output", problem.Quote(x.Name))
		}
		p.Union = append(p.Union, x)
	}
	if first == nil {
		return
	}
	p.Order = b.sorts(d.order, first)
	for i, s := range p.Order {
		// Each database has an order of texts of its own, so that lists ordered by one cannot be merged.
		if k := s.Field.Type.Kind; across && k != Integer && k != Decimal && k != Date && k != DateTime {
			b.tell(d.order[i].at, "a whole number, a decimal, a date or a moment", "the branches are on several connections, and their rows cannot be ordered by %s of type %s", problem.Quote(s.Field.Code), s.Field.Type)
		}
		for _, u := range p.Union[1:] {
			f, ok := u.Read.Source.byCode[s.Field.Code]
			if !ok {
				b.tell(d.order[i].at, "", "the branch %s cannot be ordered: %s has no field %s", problem.Quote(u.Name), problem.Quote(u.Read.Source.Code), problem.Quote(s.Field.Code))
			} else if f.Type.Kind != s.Field.Type.Kind {
				b.tell(d.order[i].at, "", "the field %s is of type %s on %s and of type %s on %s", problem.Quote(f.Code), s.Field.Type, problem.Quote(first.Code), f.Type, problem.Quote(u.Read.Source.Code))
			}
		}
	}
}
