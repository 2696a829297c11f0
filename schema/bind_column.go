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
	r.read.Fetch = append(r.read.Fetch, Fetch{Expr: e, Text: d.expr.text, At: r.b.file.pos(d.expr.at)})
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
var contexts = []string{"service.version", "now", "now.offset", "redis", "scopes", "scopes.version", "tools", "capabilities", "subject.type", "subject.id"}

func (r *columnBinder) context(c *Column, d *columnDecl) bool {
	c.Context = d.context.text
	if slices.Contains(contexts, c.Context) || strings.HasPrefix(c.Context, "principal.") && len(c.Context) > len("principal.") {
		return true
	}
	r.b.tell(d.context.at, problem.OneOf(c.Context, contexts), "the server knows nothing under the name %s", problem.Quote(c.Context))
	return false
}
