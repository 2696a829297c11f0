package schema

import (
	"regexp"
	"slices"
	"strings"

	"resq/schema/problem"
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
				if d.check.kind.given() {
					l.validation(f, d, t)
					continue
				}
				l.keepSource(t, "tools", d.node)
				l.cat.Tools = append(l.cat.Tools, t)
				continue
			}
			if len(d.slots) > 0 && !d.check.kind.given() {
				if !l.toolName(f, d, taken) {
					continue
				}
				t := l.bindings(f, d)
				if t == nil {
					t = l.newTool(f, d) // so that its name is taken
				}
				if taken[plainName(t.Name)] = (declared[*Tool]{t, f, d.name.at}); !d.enabled.at.given() || d.enabled.on {
					l.keepSource(t, "tools", d.node)
					l.cat.Tools = append(l.cat.Tools, t)
				}
				continue
			}
			t := l.newTool(f, d)
			if !l.toolName(f, d, taken) {
				continue
			}
			taken[plainName(t.Name)] = declared[*Tool]{t, f, d.name.at}
			if d.check.wraps.given() {
				if !d.enabled.at.given() || d.enabled.on {
					l.validation(f, d, nil)
				}
				continue
			}
			b := &toolBinder{l: l, file: f, tool: t}
			b.preset(d)
			if d.enabled.at.given() && !d.enabled.on {
				continue
			}
			if d.check.kind.given() {
				l.validation(f, d, t)
				continue
			}
			l.keepSource(t, "tools", d.node)
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
	filled map[string]*Resource // by the names of slots
	read   map[string]bool      // slots that something reads
	// sources are the resources of the query that the tool reads, by their codes in it.
	sources map[string]*Resource
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
	for _, s := range b.tool.Slots {
		if s.Param != nil {
			b.tool.Params = append(b.tool.Params, s.Param)
		}
	}
	b.oneOf(d, p)
	r := &columnBinder{b: b, single: p.Shape != "list"}
	switch {
	case p.Shape == "context":
		p.Read = &Read{}
	case len(d.union) > 0:
		b.union(d, p)
	default:
		if p.Read = b.query(d.query); p.Read == nil {
			res := b.resource(d.source)
			if res == nil {
				return
			}
			p.Read = &Read{Source: res}
		}
		res := p.Read.Source
		p.Read.At = b.file.pos(d.at)
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
		if !x.Narrows() && !b.used[x] && i < len(d.params) {
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
		"union": len(d.union) > 0, "query": d.query.given(), "requireOneOf": d.requireOneOf.at.given(), "params": len(d.params) > 0,
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
	if given["query"] && slices.Contains(needs, "source") {
		if given["source"] {
			b.tell(d.query.at, "keep one of them", "a tool reads a source or a query, and not both")
		}
		needs[slices.Index(needs, "source")] = "query"
		takes = append(takes, "source")
	}
	for _, k := range needs {
		if !given[k] {
			b.tell(d.at, "", "a tool of the shape %s needs the key %q", p.Shape, k)
		}
	}
	for _, k := range []string{"source", "query", "where", "order", "paging", "columns", "children", "outputs", "record", "notFound", "union", "requireOneOf", "params"} {
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
	narrowed := p.Read != nil && (len(p.Read.Where) > 0 || p.Read.Query != nil) || slices.ContainsFunc(b.tool.Params, (*Param).Narrows)
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
	if res := b.filled[w.text]; res != nil {
		found.thing, ok, b.read[w.text] = res, true, true
	}
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
