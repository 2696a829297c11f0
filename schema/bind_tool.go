package schema

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"resq/schema/problem"
	"resq/schema/query"
)

// ownTools are the names of the tools that every catalog has.
var ownTools = []string{"res-schema", "res-query", "res-create", "res-update", "res-delete", "res-operation", "res-undo",
	"get_business_context", "list_schemas", "list_tables", "list_views", "search_tables", "search_columns", "describe_table", "list_indexes", "get_table_constraints",
	"list_routines", "describe_routine", "get_object_ddl", "get_related_objects", "profile_table", "validate_query", "execute_query", "export_query"}

// OwnTools are the names that no tool of a catalog can have.
func OwnTools() []string { return slices.Clone(ownTools) }

var toolName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]*$`)

// declareTools makes every tool, when all that they name is known.
func (l *loader) declareTools() {
	taken := map[string]declared[*Tool]{}
	for _, f := range l.files {
		for i := range f.decl.tools {
			d := &f.decl.tools[i]
			if !d.name.given() {
				continue // told by the grammar
			}
			if d.sql != nil {
				if !l.sqlName(f, d, taken) {
					continue
				}
				t := l.sqlTool(f, d.sql)
				taken[plainName(t.Name)] = declared[*Tool]{t, f, d.name.at}
				l.cat.Tools = append(l.cat.Tools, t)
				continue
			}
			t := l.newTool(f, d)
			if !l.toolName(f, d, taken) {
				continue
			}
			taken[plainName(t.Name)] = declared[*Tool]{t, f, d.name.at}
			b := &toolBinder{l: l, file: f, tool: t}
			b.preset(d)
			if d.enabled.at.given() && !d.enabled.on {
				continue
			}
			l.cat.Tools = append(l.cat.Tools, t)
		}
	}
}

// toolName refuses a name that clients could not send, or that is another tool's in one of its spellings.
func (l *loader) toolName(f *file, d *toolDecl, taken map[string]declared[*Tool]) bool {
	name := d.name.text
	if !toolName.MatchString(name) || strings.Contains(name, "__") {
		f.tell(d.name.at, "letters, digits, dots, hyphens and single underscores, such as order.list", "%s is no name of a tool", problem.Quote(name))
	}
	if i := slices.IndexFunc(ownTools, func(own string) bool { return plainName(own) == plainName(name) }); i >= 0 {
		f.tell(d.name.at, "choose another name", "the tool %s would have the name of the tool %s, which is always there", problem.Quote(name), ownTools[i])
		return false
	}
	if first, twice := taken[plainName(name)]; twice {
		f.tell(d.name.at, "keep one of them, or name one anew", "the tool %s is declared twice, or differs from %s in punctuation alone; the first is at %s",
			problem.Quote(name), problem.Quote(first.thing.Name), first.file.pos(first.at))
		return false
	}
	return true
}

// sqlName is toolName for SQL tools, whose names are stricter.
func (l *loader) sqlName(f *file, d *toolDecl, taken map[string]declared[*Tool]) bool {
	name := d.name.text
	bad := func(hint, format string, args ...any) bool {
		f.tellAs(problem.ToolName, d.name.at, hint, format, args...)
		return false
	}
	if !snakeName.MatchString(name) && !slices.Contains(ownTools, name) {
		return bad("snake_case of up to 64 characters, such as search_orders", "%s is no name of a SQL tool", problem.Quote(name))
	}
	if i := slices.IndexFunc(ownTools, func(own string) bool { return plainName(own) == plainName(name) }); i >= 0 {
		return bad("choose another name", "the tool %s would have the name of the tool %s, which this server has itself", problem.Quote(name), ownTools[i])
	}
	if first, twice := taken[plainName(name)]; twice {
		return bad("keep one of them, or name one anew", "the tool %s is declared twice; the first is at %s", problem.Quote(name), first.file.pos(first.at))
	}
	return true
}

func (l *loader) newTool(f *file, d *toolDecl) *Tool {
	return &Tool{
		Name: d.name.text, Title: d.title.words(), Description: d.description.words(), Category: d.category.text,
		Toolsets: textsOf(d.toolsets), Roles: textsOf(d.roles), Kind: "preset", Lang: d.lang.text, At: f.pos(d.name.at),
		ReadOnly: true, Idempotent: true,
	}
}

func (w wordsDecl) words() Words {
	return Words{En: strings.TrimSpace(w.en.text), Zh: strings.TrimSpace(w.zh.text)}
}

// A toolBinder looks up the names in one tool.
type toolBinder struct {
	l      *loader
	file   *file
	tool   *Tool
	naming string
	used   map[*Param]bool
}

func (b *toolBinder) tell(at place, hint, format string, args ...any) {
	b.file.tell(at, hint, format, args...)
}

func (b *toolBinder) preset(d *toolDecl) {
	b.naming, b.used = d.naming.text, map[*Param]bool{}
	p := &Preset{Shape: d.shape.text, Paging: Paging{Default: 20, Max: 100}}
	b.tool.Preset = p
	b.paging(d, p)
	b.keysOfShape(d, p)
	for i := range d.params {
		b.declareParam(&d.params[i], p)
	}
	b.oneOf(d, p)
	r := &columnBinder{b: b, single: p.Shape != "list"}
	switch {
	case p.Shape == "context":
		p.Read = &Read{}
	case len(d.union) > 0:
		b.union(d, p)
	default:
		res := b.resource(d.source)
		if res == nil {
			return
		}
		p.Read = &Read{Source: res}
		p.Read.Where = b.clauses(d.where, res)
		p.Read.Order = b.order(d.order, res)
		r.read, r.res = p.Read, res
		r.children(d.children)
		p.Read.Columns = r.columns(d.columns)
	}
	if p.Shape == "context" {
		r.read = p.Read
	}
	if p.Shape != "list" && p.Shape != "count" {
		p.Outputs = r.columns(d.outputs)
	}
	r.unused()
	for i := range d.params {
		b.filter(&d.params[i], b.tool.Params[i], p)
	}
	for i, x := range b.tool.Params {
		if x.Field == "" && x.Exists == nil && !b.used[x] && i < len(d.params) {
			b.tell(d.params[i].name.at, "field: CODE, exists, or a when that asks for it", "the argument %s changes nothing: no field has its name", problem.Quote(x.Name))
		}
	}
	b.record(d, p)
	b.audit(d, p)
	for i := range d.examples {
		e := &d.examples[i]
		x := Example{About: e.about.text, As: e.as.text, At: b.file.pos(e.at)}
		if e.args.given() && e.answer.given() {
			x.Args, x.Answer = b.file.appendJSON(nil, e.args.node), b.file.appendJSON(nil, e.answer.node)
		}
		p.Examples = append(p.Examples, x)
	}
	b.tool.input, b.tool.output = map[string][]byte{"en": inputSchema(b.tool, "en"), "zh": inputSchema(b.tool, "zh")}, answerSchema(b.tool)
}

func (b *toolBinder) paging(d *toolDecl, p *Preset) {
	if d.paging.def.at.given() {
		p.Paging.Default = int64(d.paging.def.n)
	}
	if d.paging.max.at.given() {
		p.Paging.Max = int64(d.paging.max.n)
	}
	p.Paging.Strict = d.paging.onUnderMin.text == "error"
	if p.Paging.Default > p.Paging.Max {
		b.tell(d.paging.at, "", "the default page of %d rows is larger than max, %d", p.Paging.Default, p.Paging.Max)
	}
}

// keysOfShape tells which keys a shape needs, and which mean nothing there.
func (b *toolBinder) keysOfShape(d *toolDecl, p *Preset) {
	given := map[string]bool{
		"source": d.source.given(), "where": len(d.where) > 0, "order": len(d.order) > 0, "paging": d.paging.at.given(), "columns": len(d.columns) > 0,
		"children": len(d.children) > 0, "outputs": len(d.outputs) > 0, "record": d.record.given(), "notFound": d.notFound.at.given(),
		"union": len(d.union) > 0, "requireOneOf": d.requireOneOf.at.given(), "params": len(d.params) > 0,
	}
	needs := map[string][]string{"list": {"source", "columns"}, "record": {"source"}, "found": {"source", "columns"}, "count": {"source"}, "context": {"outputs"}}[p.Shape]
	takes := map[string][]string{
		"list":    {"where", "order", "paging", "children", "params"},
		"record":  {"where", "order", "columns", "children", "outputs", "record", "notFound", "requireOneOf", "params"},
		"found":   {"where", "order", "children", "outputs", "record", "notFound", "requireOneOf", "params"},
		"count":   {"where", "params"},
		"context": nil,
	}[p.Shape]
	if p.Shape == "list" && given["union"] {
		needs, takes = []string{"union", "order"}, []string{"paging", "params"}
	}
	for _, k := range needs {
		if !given[k] {
			b.tell(d.at, "", "a tool of the shape %s needs the key %q", p.Shape, k)
		}
	}
	for _, k := range []string{"source", "where", "order", "paging", "columns", "children", "outputs", "record", "notFound", "union", "requireOneOf", "params"} {
		if given[k] && p.Shape != "" && !slices.Contains(needs, k) && !slices.Contains(takes, k) {
			b.tell(d.at, "", "the key %q means nothing in a tool of the shape %s", k, p.Shape)
		}
	}
}

func (b *toolBinder) oneOf(d *toolDecl, p *Preset) {
	if !d.requireOneOf.at.given() {
		return
	}
	o := &OneOf{Notice: d.requireOneOf.whenNone.text == "notice", Text: d.requireOneOf.text.text}
	for _, w := range d.requireOneOf.params {
		if x := b.argument(w); x != nil {
			o.Params = append(o.Params, x)
			if x.Required {
				b.tell(w.at, "leave required out", "the argument %s is required, so that there is no choice", problem.Quote(x.Name))
			}
		}
	}
	p.OneOf = o
}

// record settles under which name a record stands, and what is said when there is none.
func (b *toolBinder) record(d *toolDecl, p *Preset) {
	p.NotFound = NotFound{Notice: d.notFound.style.text == "notice" || p.Shape == "found", Text: d.notFound.text.text}
	switch {
	case p.Shape != "record" && p.Shape != "found":
		return
	case d.record.text == "none":
	case d.record.given():
		p.Record = d.record.text
	case p.Shape == "found":
		p.Record = "data"
	default:
		p.Record = "record"
	}
	if p.Shape == "record" && p.Record != "" && len(d.columns) == 0 {
		b.tell(d.at, "columns: […], or record: none", "the record has no output")
	}
	if p.NotFound.Text == "" {
		p.NotFound.Text = map[bool]string{true: "没有这条记录，或无权查看", false: "there is no such row, or it is not visible"}[b.tool.Lang == "zh"]
	}
	narrowed := p.Read != nil && len(p.Read.Where) > 0 || slices.ContainsFunc(b.tool.Params, func(x *Param) bool { return x.Field != "" || x.Exists != nil })
	if !narrowed {
		b.tell(d.at, "params: {id: {type: integer, required: true}}", "nothing says which record is meant")
	}
}

func (b *toolBinder) audit(d *toolDecl, p *Preset) {
	if !d.audit.at.given() {
		return
	}
	p.Audit = &Audit{Mask: map[string]string{}}
	for _, w := range d.audit.args {
		if x := b.known(w); x {
			p.Audit.Args = append(p.Audit.Args, w.text)
		}
	}
	for _, m := range d.audit.mask {
		if b.known(m.name) {
			p.Audit.Mask[m.name.text] = m.field.text
		}
	}
}

// known says whether an argument is declared, page and rows included; one that is not is told.
func (b *toolBinder) known(w word) bool {
	if b.tool.Preset.Shape == "list" && (w.text == "page" || w.text == "rows") {
		return true
	}
	if b.tool.Param(w.text) == nil {
		b.argument(w)
		return false
	}
	return true
}

// argument finds a declared argument and notes that it is used; nil when there is none, which is told.
func (b *toolBinder) argument(w word) *Param {
	if !w.given() {
		return nil
	}
	x := b.tool.Param(w.text)
	if x == nil {
		var names []string
		for _, p := range b.tool.Params {
			names = append(names, p.Name)
		}
		b.tell(w.at, problem.OneOf(w.text, names), "the tool has no argument %s", problem.Quote(w.text))
		return nil
	}
	b.used[x] = true
	return x
}

// resource finds a resource by its code; nil when there is none, which is told.
func (b *toolBinder) resource(w word) *Resource {
	if !w.given() {
		return nil
	}
	found, ok := b.l.resources[w.text]
	if !ok {
		b.tell(w.at, b.l.nearest("resource", w.text, func() []string { return keysOf(b.l.resources) }), "no resource %s", problem.Quote(w.text))
		return nil
	}
	if c := found.thing.Connection; c != nil && !slices.Contains(b.tool.Connections, c) {
		b.tool.Connections = append(b.tool.Connections, c)
	}
	return found.thing
}

func (b *toolBinder) field(w word, r *Resource) *Field {
	if !w.given() || r == nil {
		return nil
	}
	x, ok := r.byCode[w.text]
	if !ok {
		b.tell(w.at, fieldHint(r, w.text), "no field %s on %s", problem.Quote(w.text), problem.Quote(r.Code))
	}
	return x
}

func (b *toolBinder) clauses(list []clauseDecl, res *Resource) []*Clause {
	var out []*Clause
	for i := range list {
		if c := b.where(list[i].cond, res); c != nil {
			if !list[i].plain {
				c.When = b.when(&list[i].when)
			}
			out = append(out, c)
		}
	}
	return out
}

func (b *toolBinder) when(d *whenDecl) *When {
	if !d.at.given() {
		return nil
	}
	w := &When{Param: b.argument(d.param), Is: textsOf(d.is), Given: b.argument(d.given), Absent: b.argument(d.absent)}
	if w.Param != nil && len(w.Is) == 0 {
		w.Is = []string{"true"}
	}
	if w.Param != nil {
		for i, v := range w.Is {
			at := d.param.at
			if i < len(d.is) {
				at = d.is[i].at
			}
			if wrong := w.Param.Check(v); wrong != "" {
				b.tell(at, w.Param.Hint(), "%s can never be the value of %s: it %s", problem.Quote(v), problem.Quote(w.Param.Name), wrong)
			}
		}
		if !w.Param.HasDefault && !w.Param.Required && w.Param.Type == "boolean" && len(w.Is) == 1 && w.Is[0] == "false" {
			b.tell(d.param.at, "default: false", "the argument %s has no default, so leaving it out is not false", problem.Quote(w.Param.Name))
		}
	} else if len(d.is) > 0 {
		b.tell(d.is[0].at, "param: NAME", "is compares an argument, and none is named")
	}
	if d.principal.given() {
		if w.Principal = b.l.decodeCondition(b.file, d.principal); w.Principal != nil {
			checkAttributes(b.file, d.principal, w.Principal)
		}
	}
	return w
}

// where reads a condition in either of its forms.
func (b *toolBinder) where(r raw, res *Resource) *Clause {
	if !r.given() {
		return nil
	}
	node := deref(r.node)
	for i := 0; i < len(node.Content); i += 2 {
		if deref(node.Content[i]).Value == "type" && deref(node.Content[i+1]).Kind == yaml.ScalarNode && res.byCode["type"] == nil {
			cond := b.l.decodeCondition(b.file, r)
			if cond == nil {
				return nil
			}
			n := &names{l: b.l, file: b.file, raw: r, connection: res.Connection}
			n.condition(cond, &scope{sources: []source{{name: res.Code, res: res}}})
			return &Clause{Cond: cond}
		}
	}
	out := &Clause{Cond: &query.Node{}}
	for i := 0; i < len(node.Content); i += 2 {
		if b.file.bad[node.Content[i]] {
			continue
		}
		if leaf := b.pair(node.Content[i], node.Content[i+1], res, out); leaf != nil {
			out.Cond.Leaves = append(out.Cond.Leaves, leaf)
		}
	}
	if len(out.Cond.Leaves) == 0 {
		return nil
	}
	return out
}

// pairOps are the comparisons that {operator: value} may name.
var pairOps = []string{"=", "!=", "<", "<=", ">", ">=", "LIKE", "NOT LIKE", "IN", "NOT IN"}

// pair reads field → value.
func (b *toolBinder) pair(k, v *yaml.Node, res *Resource, c *Clause) *query.Leaf {
	f := b.field(word{deref(k).Value, placeOf(k)}, res)
	if f == nil {
		return nil
	}
	l := &query.Leaf{Field: f.Code, Op: query.Eq, TokenType: query.TokenString}
	n := deref(v)
	if n.Kind == yaml.MappingNode && len(n.Content) == 2 {
		op := strings.ToUpper(deref(n.Content[0]).Value)
		if slices.Contains(pairOps, op) {
			if l.Op = query.Op(op); deref(n.Content[1]).Kind == yaml.ScalarNode && deref(n.Content[1]).ShortTag() == "!!null" && l.Op == query.Ne {
				l.Op = query.IsNotNull
				return l
			}
			n = deref(n.Content[1])
		}
	}
	switch {
	case n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null":
		l.Op = query.IsNull
	case n.Kind == yaml.ScalarNode:
		l.Token, l.HasToken = b.constant(n, f), true
	case n.Kind == yaml.SequenceNode && len(n.Content) > 0:
		if l.HasTokens = true; l.Op == query.Eq {
			l.Op = query.In
		} else if l.Op != query.In && l.Op != query.NotIn {
			b.tell(placeOf(v), "IN or NOT IN", "the comparison %s takes one value", l.Op)
		}
		for _, x := range n.Content {
			if x = deref(x); x.Kind == yaml.ScalarNode && x.ShortTag() != "!!null" {
				l.Tokens = append(l.Tokens, b.constant(x, f))
			} else {
				b.tell(placeOf(x), "", "a list of values holds %s", describe(x))
			}
		}
	case n.Kind == yaml.MappingNode && len(n.Content) == 2 && deref(n.Content[1]).Kind == yaml.ScalarNode:
		b.later(l, f, n, res, c)
	default:
		b.tell(placeOf(v), "field: value, field: [value, …], field: {operator: value}, or a condition with type and exprs",
			"the condition on %s must be a value or a list of values", problem.Quote(f.Code))
		return nil
	}
	return l
}

// later reads what is known only when the tool is called: {param: NAME} and the like.
func (b *toolBinder) later(l *query.Leaf, f *Field, n *yaml.Node, res *Resource, c *Clause) {
	what, name := deref(n.Content[0]), word{deref(n.Content[1]).Value, placeOf(n.Content[1])}
	l.Token, l.HasToken = name.text, true
	switch what.Value {
	case "param":
		if x := b.argument(name); x != nil {
			if c.Params == nil {
				c.Params = map[*query.Leaf]*Param{}
			}
			c.Params[l] = x
		}
	case "principal":
		l.TokenType = query.TokenPrincipal
	case "set":
		l.TokenType = query.TokenSet
		if l.Op == query.Eq {
			l.Op = query.In
		}
		if _, ok := b.l.sets[name.text]; !ok {
			b.tell(name.at, b.l.nearest("set", name.text, func() []string { return keysOf(b.l.sets) }), "no set %s", problem.Quote(name.text))
		}
	case "field":
		l.TokenType = query.TokenField
		if o := b.field(name, res); o != nil {
			l.Token = res.Code + "." + o.Code
		}
	default:
		b.tell(placeOf(what), "one of: param, principal, set, field, "+strings.Join(pairOps, ", "), "%s is nothing that the field %s can be compared with", problem.Quote(what.Value), problem.Quote(f.Code))
	}
}

// constant is a value for a field as conditions write it.
func (b *toolBinder) constant(n *yaml.Node, f *Field) string {
	if f != nil && !plausible(f, n.Value) {
		b.tell(placeOf(n), "", "%s is no value of the field %s of type %s", problem.Quote(n.Value), problem.Quote(f.Code), f.Type)
	}
	return n.Value
}

// order reads sort keys and ends them with the key of the resource, so that no two rows are alike.
func (b *toolBinder) order(list []word, res *Resource) []Sort {
	out := b.sorts(list, res)
	for _, k := range res.Key {
		if !slices.ContainsFunc(out, func(s Sort) bool { return s.Field == k && s.Is == nil }) {
			out = append(out, Sort{Field: k, Desc: len(out) > 0 && out[len(out)-1].Desc && out[len(out)-1].Is == nil})
		}
	}
	return out
}

func (b *toolBinder) sorts(list []word, res *Resource) []Sort {
	var out []Sort
	for _, w := range list {
		code, dir, _ := strings.Cut(w.text, " ")
		dir = strings.TrimSpace(dir)
		f := b.field(word{code, w.at}, res)
		if value, is := strings.CutPrefix(dir, "="); is {
			value = strings.TrimSpace(value)
			if f != nil && !plausible(f, value) {
				b.tell(w.at, "", "%s is no value of the field %s of type %s", problem.Quote(value), problem.Quote(f.Code), f.Type)
			}
			out = append(out, Sort{Field: f, Is: &value})
			continue
		}
		if dir != "" && dir != "asc" && dir != "desc" {
			b.tell(w.at, code+" desc", "%s is no direction of an order", problem.Quote(dir))
		}
		if f != nil {
			out = append(out, Sort{Field: f, Desc: dir == "desc"})
		}
	}
	return slices.DeleteFunc(out, func(s Sort) bool { return s.Field == nil })
}

// named gives the name of an output for a field.
func (b *toolBinder) named(code string) string {
	switch b.naming {
	case "camel":
		return Camel(code)
	case "snake":
		return Snake(code)
	}
	return code
}

// Camel spells a code like orderNo.
func Camel(code string) string {
	parts := strings.Split(code, "_")
	for i, p := range parts {
		if i > 0 && p != "" {
			parts[i] = strings.ToUpper(p[:1]) + p[1:]
		}
	}
	return strings.Join(parts, "")
}

// Snake spells a code like order_no.
func Snake(code string) string {
	var s strings.Builder
	for i, c := range code {
		if c >= 'A' && c <= 'Z' {
			if i > 0 {
				s.WriteByte('_')
			}
			c += 'a' - 'A'
		}
		s.WriteRune(c)
	}
	return s.String()
}

// declareParam checks what an argument says of itself.
func (b *toolBinder) declareParam(d *paramDecl, p *Preset) {
	x := &Param{
		Name: d.name.text, Description: d.description.words(), Type: d.typ.text, Required: d.required.on,
		Default: d.def.text, HasDefault: d.def.given(), MaxLength: d.maxLength.n, Clamp: d.onOverMax.text == "clamp",
		Values: textsOf(d.values), Match: d.match.text, WholeDay: d.wholeDay.on, Overrides: d.others.given(), At: b.file.pos(d.name.at),
	}
	at := d.name.at
	bound := func(n number) *int64 {
		if !n.at.given() {
			return nil
		}
		v := int64(n.n)
		return &v
	}
	x.Min, x.Max = bound(d.min), bound(d.max)
	if p.Shape == "list" && (x.Name == "page" || x.Name == "rows") {
		b.tell(at, "paging: {default: 20, max: 100} settles it", "the argument %s belongs to the pages of every list", problem.Quote(x.Name))
	}
	if !query.PlainName(x.Name) {
		b.tell(at, "letters, digits and _", "%s is no name of an argument", problem.Quote(x.Name))
	}
	numeric := x.Type == "integer" || x.Type == "number"
	if (x.Min != nil || x.Max != nil) && !numeric {
		b.tell(at, "", "min and max are for numbers, and the argument %s is one of type %s", problem.Quote(x.Name), x.Type)
	}
	if x.Clamp && x.Max == nil {
		b.tell(d.onOverMax.at, "", "onOverMax needs max")
	}
	if x.MaxLength > 0 && x.Type != "string" {
		b.tell(at, "", "maxLength is for strings, and the argument %s is one of type %s", problem.Quote(x.Name), x.Type)
	}
	b.enum(d, x)
	if x.HasDefault {
		if wrong := x.Check(x.Default); wrong != "" {
			b.tell(d.def.at, "", "the default of %s %s", problem.Quote(x.Name), wrong)
		}
		if x.Required {
			b.tell(d.def.at, "leave required or default out", "the argument %s is required, so its default is never used", problem.Quote(x.Name))
		}
	}
	b.tool.Params = append(b.tool.Params, x)
}

func (b *toolBinder) enum(d *paramDecl, x *Param) {
	if d.text.given() {
		if found, ok := b.l.texts[d.text.text]; ok {
			x.Labels = found.thing
		} else {
			b.tell(d.text.at, b.l.nearest("text", d.text.text, func() []string { return keysOf(b.l.texts) }), "no text %s", problem.Quote(d.text.text))
		}
	}
	if x.Type != "enum" {
		if len(x.Values) > 0 {
			b.tell(d.name.at, "type: enum", "values are for an enum, and the argument %s is one of type %s", problem.Quote(x.Name), x.Type)
		}
		return
	}
	if x.Labels != nil && len(x.Values) == 0 {
		for _, l := range x.Labels.Labels {
			x.Values = append(x.Values, l.Code)
		}
	}
	if len(x.Values) == 0 {
		b.tell(d.name.at, "values: […], or text: NAME", "the enum %s has no values", problem.Quote(x.Name))
	}
	if x.Labels == nil {
		return
	}
	for _, v := range x.Values {
		if _, ok := x.Labels.Label(v); !ok {
			b.tell(d.text.at, "add it to the text map", "the text map %s has no label for the value %s of %s", problem.Quote(x.Labels.Name), problem.Quote(v), problem.Quote(x.Name))
		}
	}
}

// filter finds what an argument is compared with.
func (b *toolBinder) filter(d *paramDecl, x *Param, p *Preset) {
	var reads []*Read
	if p.Read != nil && p.Read.Source != nil {
		reads = append(reads, p.Read)
	}
	for _, u := range p.Union {
		reads = append(reads, u.Read)
	}
	if len(reads) == 0 || x.Match == "none" {
		x.Match = ""
		return
	}
	res := reads[0].Source
	switch {
	case d.exists.at.given():
		b.exists(&d.exists, x, res)
		if d.field.given() {
			b.tell(d.field.at, "", "an argument asks a field or exists, and not both")
		}
	case d.field.given():
		if f := b.field(d.field, res); f != nil {
			x.Field = f.Code
		}
	default:
		for _, c := range reads[0].Columns {
			if c.Name == x.Name && c.Kind == "field" && c.Field != nil {
				x.Field = c.Field.Code
			}
		}
		for _, f := range res.Fields {
			if x.Field == "" && (f.Code == x.Name || b.named(f.Code) == x.Name) && (!b.used[x] || x.Match != "" || p.OneOf != nil && slices.Contains(p.OneOf.Params, x)) {
				x.Field = f.Code
			}
		}
	}
	if x.Field == "" && x.Exists == nil {
		return
	}
	if x.Match == "" {
		x.Match = "exact"
	}
	if (x.Match == "contains" || x.Match == "prefix") && x.Type != "string" {
		b.tell(d.match.at, "type: string", "match %s is for strings", x.Match)
	}
	if x.WholeDay && (x.Match != "to" || x.Type != "date") {
		b.tell(d.wholeDay.at, "type: date and match: to", "wholeDay is for a date that ends a range")
	}
	if x.Exists != nil {
		return
	}
	for _, r := range reads {
		f, ok := r.Source.byCode[x.Field]
		switch {
		case !ok:
			b.tell(d.name.at, "", "the argument %s asks for the field %s, which %s does not have", problem.Quote(x.Name), problem.Quote(x.Field), problem.Quote(r.Source.Code))
		case f.Mask != "":
			b.tell(d.name.at, "compare with another field", "the field %s is masked, so nothing can be compared with it", problem.Quote(f.Code))
		}
	}
}

func (b *toolBinder) exists(d *existsDecl, x *Param, res *Resource) {
	there := b.resource(d.source)
	if there == nil {
		return
	}
	if there.Connection != res.Connection {
		b.tell(d.source.at, "ask a resource of the same connection", "%s is on another connection than %s", problem.Quote(there.Code), problem.Quote(res.Code))
	}
	x.Exists = &Exists{Source: there, Field: b.field(d.field, there)}
	for _, p := range d.on {
		from, to := b.field(p.from, there), b.field(p.to, res)
		if from != nil && to != nil {
			x.Exists.On = append(x.Exists.On, Pair{from, to})
		}
	}
	if len(d.on) == 0 {
		b.tell(d.at, "on: {field there: field of the record}", "nothing says which rows belong to the record")
	}
	x.Exists.Where = b.clauses(d.where, there)
}

// Check says what is wrong with the text of a value, or "".
func (p *Param) Check(text string) string {
	switch p.Type {
	case "integer":
		n, err := strconv.ParseInt(text, 10, 64)
		switch {
		case err != nil:
			return "is no whole number within 64 bits"
		case p.Min != nil && n < *p.Min:
			return "is below " + strconv.FormatInt(*p.Min, 10)
		case p.Max != nil && n > *p.Max && !p.Clamp:
			return "is above " + strconv.FormatInt(*p.Max, 10)
		}
	case "number":
		n, err := strconv.ParseFloat(text, 64)
		switch {
		case err != nil:
			return "is no number"
		case p.Min != nil && n < float64(*p.Min):
			return "is below " + strconv.FormatInt(*p.Min, 10)
		case p.Max != nil && n > float64(*p.Max) && !p.Clamp:
			return "is above " + strconv.FormatInt(*p.Max, 10)
		}
	case "boolean":
		if text != "true" && text != "false" {
			return "is neither true nor false"
		}
	case "date":
		if _, err := time.Parse(time.DateOnly, text); err != nil {
			return "is no date written as YYYY-MM-DD"
		}
	case "enum":
		if !slices.Contains(p.Values, text) {
			return "is none of its values"
		}
	case "string":
		if p.MaxLength > 0 && len([]rune(text)) > p.MaxLength {
			return "has more than " + strconv.Itoa(p.MaxLength) + " characters"
		}
	}
	return ""
}

// Hint says what a call may send for p.
func (p *Param) Hint() string {
	switch {
	case p.Type == "enum":
		return "one of: " + strings.Join(p.Values, ", ")
	case p.Type == "date":
		return "such as 2026-01-31"
	case p.Min != nil && p.Max != nil:
		return "from " + strconv.FormatInt(*p.Min, 10) + " to " + strconv.FormatInt(*p.Max, 10)
	case p.Min != nil:
		return strconv.FormatInt(*p.Min, 10) + " or more"
	case p.Max != nil:
		return "at most " + strconv.FormatInt(*p.Max, 10)
	}
	return ""
}
