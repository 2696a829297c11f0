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
	if d.paging.def.at.given() {
		p.Paging.Default = int64(d.paging.def.n)
	}
	if d.paging.max.at.given() {
		p.Paging.Max = int64(d.paging.max.n)
	}
	if p.Paging.Default > p.Paging.Max {
		b.tell(d.paging.at, "", "the default page of %d rows is larger than max, %d", p.Paging.Default, p.Paging.Max)
	}
	res := b.resource(d.source)
	if res == nil {
		return
	}
	p.Read = &Read{Source: res}
	p.Read.Where = b.where(d.where, res)
	p.Read.Order = b.order(d.order, res)
	p.Read.Columns = b.columns(d.columns, res)
	for i := range d.params {
		b.param(&d.params[i], p)
	}
	b.tool.input, b.tool.output = map[string][]byte{"en": inputSchema(b.tool, "en"), "zh": inputSchema(b.tool, "zh")}, answerSchema(b.tool)
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

// where reads a condition in either of its forms.
func (b *toolBinder) where(r raw, res *Resource) *query.Node {
	if !r.given() {
		return nil
	}
	node := deref(r.node)
	for i := 0; i < len(node.Content); i += 2 {
		if deref(node.Content[i]).Value == "type" && deref(node.Content[i+1]).Kind == yaml.ScalarNode && res.byCode["type"] == nil {
			cond := b.l.decodeCondition(b.file, r)
			if cond != nil {
				n := &names{l: b.l, file: b.file, raw: r, connection: res.Connection}
				n.condition(cond, &scope{sources: []source{{name: res.Code, res: res}}})
			}
			return cond
		}
	}
	out := &query.Node{}
	for i := 0; i < len(node.Content); i += 2 {
		if b.file.bad[node.Content[i]] {
			continue
		}
		if leaf := b.pair(node.Content[i], node.Content[i+1], res); leaf != nil {
			out.Leaves = append(out.Leaves, leaf)
		}
	}
	if len(out.Leaves) == 0 {
		return nil
	}
	return out
}

// pair reads field → value.
func (b *toolBinder) pair(k, v *yaml.Node, res *Resource) *query.Leaf {
	f := b.field(word{deref(k).Value, placeOf(k)}, res)
	if f == nil {
		return nil
	}
	l := &query.Leaf{Field: f.Code, Op: query.Eq, TokenType: query.TokenString}
	switch n := deref(v); {
	case n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null":
		l.Op = query.IsNull
		return l
	case n.Kind == yaml.ScalarNode:
		l.Token, l.HasToken = b.constant(n, f)
	case n.Kind == yaml.SequenceNode && len(n.Content) > 0:
		l.Op, l.HasTokens = query.In, true
		for _, c := range n.Content {
			if c = deref(c); c.Kind == yaml.ScalarNode && c.ShortTag() != "!!null" {
				t, _ := b.constant(c, f)
				l.Tokens = append(l.Tokens, t)
			} else {
				b.tell(placeOf(c), "", "a list of values holds %s", describe(c))
			}
		}
	default:
		b.tell(placeOf(v), "field: value, field: [value, …], or a condition with type and exprs", "the condition on %s must be a value or a list of values", problem.Quote(f.Code))
		return nil
	}
	return l
}

// constant is a value for a field as conditions write it.
func (b *toolBinder) constant(n *yaml.Node, f *Field) (string, bool) {
	if f != nil && !plausible(f, n.Value) {
		b.tell(placeOf(n), "", "%s is no value of the field %s of type %s", problem.Quote(n.Value), problem.Quote(f.Code), f.Type)
	}
	return n.Value, true
}

// order reads sort keys and ends them with the key of the resource, so that no two rows are alike.
func (b *toolBinder) order(list []word, res *Resource) []Sort {
	var out []Sort
	for _, w := range list {
		code, dir, _ := strings.Cut(w.text, " ")
		if dir = strings.TrimSpace(dir); dir != "" && dir != "asc" && dir != "desc" {
			b.tell(w.at, code+" desc", "%s is no direction of an order", problem.Quote(dir))
		}
		if f := b.field(word{code, w.at}, res); f != nil {
			out = append(out, Sort{f, dir == "desc"})
		}
	}
	for _, k := range res.Key {
		if !slices.ContainsFunc(out, func(s Sort) bool { return s.Field == k }) {
			out = append(out, Sort{k, len(out) > 0 && out[len(out)-1].Desc})
		}
	}
	return out
}

func (b *toolBinder) columns(list []columnDecl, res *Resource) []*Column {
	var out []*Column
	for i := range list {
		d := &list[i]
		f := b.field(d.field, res)
		if f == nil {
			continue
		}
		c := &Column{Name: d.name.text, Field: f, At: b.file.pos(d.at)}
		if c.Name == "" {
			c.Name = b.named(f.Code)
		}
		if slices.ContainsFunc(out, func(o *Column) bool { return o.Name == c.Name }) {
			b.tell(d.at, "name one of them otherwise", "the output %s is there twice", problem.Quote(c.Name))
			continue
		}
		out = append(out, c)
	}
	return out
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

func (b *toolBinder) param(d *paramDecl, p *Preset) {
	x := &Param{
		Name: d.name.text, Description: d.description.words(), Type: d.typ.text, Required: d.required.on,
		Default: d.def.text, HasDefault: d.def.given(), MaxLength: d.maxLength.n, Clamp: d.onOverMax.text == "clamp",
		Values: textsOf(d.values), Match: d.match.text, WholeDay: d.wholeDay.on, At: b.file.pos(d.name.at),
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
		return
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
	b.filter(d, x, p)
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
	res := p.Read.Source
	switch {
	case d.field.given():
		x.Field = b.field(d.field, res)
	default:
		for _, c := range p.Read.Columns {
			if c.Name == x.Name {
				x.Field = c.Field
			}
		}
		for _, f := range res.Fields {
			if x.Field == nil && (f.Code == x.Name || b.named(f.Code) == x.Name) {
				x.Field = f
			}
		}
	}
	if x.Field == nil {
		if !d.field.given() {
			b.tell(d.name.at, "field: one of "+strings.Join(res.fieldCodes(), ", "), "the argument %s changes nothing: no field has its name", problem.Quote(x.Name))
		}
		return
	}
	if x.Match == "" {
		x.Match = "exact"
	}
	if x.Match == "contains" || x.Match == "prefix" {
		if x.Type != "string" {
			b.tell(d.match.at, "type: string", "match %s is for strings", x.Match)
		}
	}
	if x.WholeDay && (x.Match != "to" || x.Type != "date") {
		b.tell(d.wholeDay.at, "type: date and match: to", "wholeDay is for a date that ends a range")
	}
	if x.Field.Mask != "" {
		b.tell(d.name.at, "compare with another field", "the field %s is masked, so nothing can be compared with it", problem.Quote(x.Field.Code))
	}
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
