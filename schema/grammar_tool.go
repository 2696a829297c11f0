package schema

import (
	"go.yaml.in/yaml/v4"
)

// The declarations of a tool as they are written.
type (
	toolDecl struct {
		at                 place
		name               word
		title, description wordsDecl
		category, lang     word
		toolsets, roles    []word
		enabled            yesno

		sql *sqlDecl // of a SQL tool, which has nothing below

		shape, source, naming word
		where                 raw
		params                []paramDecl
		order                 []word
		paging                pagingDecl
		columns               []columnDecl
	}
	wordsDecl struct {
		at     place
		en, zh word
	}
	paramDecl struct {
		at                     place
		name, typ, def, match  word
		field, text, onOverMax word
		description            wordsDecl
		required, wholeDay     yesno
		min, max, maxLength    number
		values                 []word
	}
	pagingDecl struct {
		at       place
		def, max number
	}
	columnDecl struct {
		at          place
		name, field word
	}
)

var aWords = wordRule{min: 1, max: 4000}

var wordsTable = &table[wordsDecl]{
	def: "words", what: "text",
	about: "A text in the languages in which tools describe themselves.",
	at:    func(w *wordsDecl) *place { return &w.at },
	keys: []key[wordsDecl]{
		{"en", "In English.", true, text(func(w *wordsDecl) *word { return &w.en }, aWords)},
		{"zh", "In Chinese.", true, text(func(w *wordsDecl) *word { return &w.zh }, aWords)},
	},
}

// words is one text for all languages, or one for each.
func words[T any](to func(*T) *wordsDecl) shape[T] {
	one := text(func(w *wordsDecl) *word { return &w.en }, aWords)
	return shape[T]{
		read: func(f *file, name string, n *yaml.Node, into *T) {
			w := to(into)
			w.at = placeOf(n)
			if deref(n).Kind == yaml.MappingNode {
				wordsTable.read(f, name, n, w)
				return
			}
			one.read(f, name, n, w)
		},
		schema: func(d *definitions) object { return object{"anyOf": []object{aWords.schema(), wordsTable.schema(d)}} },
	}
}

// toolTable is a preset.
var toolTable = &table[toolDecl]{
	def: "tool", what: "tool",
	about: "A business tool: a call with arguments of its own, answered by the engine's requests.",
	at:    func(t *toolDecl) *place { return &t.at },
	keys: []key[toolDecl]{
		{"name", "What clients call it: up to 64 letters, digits, dots, hyphens and underscores, such as order.list. No two tools may differ in dots, hyphens and underscores alone.", true,
			text(func(t *toolDecl) *word { return &t.name }, aCode)},
		{"title", "What people call it.", false, words(func(t *toolDecl) *wordsDecl { return &t.title })},
		{"description", "What it answers and when to use it, for the model that chooses among tools.", true,
			words(func(t *toolDecl) *wordsDecl { return &t.description })},
		{"category", "The part of the business it belongs to.", false, text(func(t *toolDecl) *word { return &t.category }, aCode)},
		{"lang", "The language of what the engine itself says in answers, such as a page that was cut: en, the default, or zh.", false,
			choice(func(t *toolDecl) *word { return &t.lang }, "en", "zh")},
		{"toolsets", "Groups of tools that it belongs to.", false, texts(func(t *toolDecl) *[]word { return &t.toolsets }, aCode)},
		{"roles", "The roles that may use the tool; left out, everybody may.", false, texts(func(t *toolDecl) *[]word { return &t.roles }, aCode)},
		{"enabled", "false leaves the tool out.", false, yesNo(func(t *toolDecl) *yesno { return &t.enabled })},
		{"shape", "What the answer is: list, a page of records.", true, choice(func(t *toolDecl) *word { return &t.shape }, "list")},
		{"source", "The resource whose rows it reads, under that resource's row rule.", true, text(func(t *toolDecl) *word { return &t.source }, aCode)},
		{"where", "What the rows must meet, whatever the arguments: field → value, or a condition as a request has it.", false,
			whereShape(func(t *toolDecl) *raw { return &t.where })},
		{"params", "The arguments, by name.", false,
			namedOf(func(t *toolDecl) *[]paramDecl { return &t.params }, aCode, func(p *paramDecl) *word { return &p.name }, mapping(paramTable))},
		{"order", "The order of the rows: field, or field desc. The key of the resource is added where it is missing, so that pages never overlap.", false,
			texts(func(t *toolDecl) *[]word { return &t.order }, aSort)},
		{"paging", "The size of a page.", false, inside(func(t *toolDecl) *pagingDecl { return &t.paging }, pagingTable)},
		{"naming", "How outputs are named after fields: asis, the default, camel or snake.", false,
			choice(func(t *toolDecl) *word { return &t.naming }, "asis", "camel", "snake")},
		{"columns", "The outputs of a record in their order: a field, or name → a mapping.", true,
			listOf(func(t *toolDecl) *[]columnDecl { return &t.columns }, columnShape())},
	},
}

var aSort = wordRule{min: 1, max: 70, line: true}

var pagingTable = &table[pagingDecl]{
	def: "paging", what: "paging", proper: true,
	about: "The arguments page and rows are added to those of the tool.",
	at:    func(p *pagingDecl) *place { return &p.at },
	keys: []key[pagingDecl]{
		{"default", "Rows of a page when the call does not say; 20 is the default.", false, whole(func(p *pagingDecl) *number { return &p.def }, 1, 1000)},
		{"max", "The most rows of a page; more are cut to it, with a notice. 100 is the default.", false, whole(func(p *pagingDecl) *number { return &p.max }, 1, 1000)},
	},
}

var paramTable = &table[paramDecl]{
	def: "param", what: "argument",
	about: "One argument of a tool. An argument with the name of a field asks for rows with that value in it.",
	at:    func(p *paramDecl) *place { return &p.at },
	keys: []key[paramDecl]{
		{"type", "string, integer, number, boolean, date (YYYY-MM-DD) or enum.", true,
			choice(func(p *paramDecl) *word { return &p.typ }, "string", "integer", "number", "boolean", "date", "enum")},
		{"description", "What it means, for the model that fills it in.", false, words(func(p *paramDecl) *wordsDecl { return &p.description })},
		{"required", "true when a call must give it.", false, yesNo(func(p *paramDecl) *yesno { return &p.required })},
		{"default", "Its value when a call does not give it.", false, text(func(p *paramDecl) *word { return &p.def }, aScalar)},
		{"min", "The least value of a number.", false, whole(func(p *paramDecl) *number { return &p.min }, -1<<53, 1<<53)},
		{"max", "The largest value of a number.", false, whole(func(p *paramDecl) *number { return &p.max }, -1<<53, 1<<53)},
		{"onOverMax", "What happens beyond max: error, the default, or clamp.", false, choice(func(p *paramDecl) *word { return &p.onOverMax }, "error", "clamp")},
		{"maxLength", "The most characters of a string.", false, whole(func(p *paramDecl) *number { return &p.maxLength }, 1, 65536)},
		{"values", "The values of an enum.", false, texts(func(p *paramDecl) *[]word { return &p.values }, aScalar)},
		{"text", "The text map that says what the values of an enum mean; without values it gives them, too.", false, text(func(p *paramDecl) *word { return &p.text }, aCode)},
		{"field", "The field that it is compared with; by default the one from which an output of its name is made.", false, text(func(p *paramDecl) *word { return &p.field }, aCode)},
		{"match", "How: exact, contains, prefix, in (a list), from or to (the ends of a range).", false,
			choice(func(p *paramDecl) *word { return &p.match }, "exact", "contains", "prefix", "in", "from", "to")},
		{"wholeDay", "true lets a date that ends a range include its whole day.", false, yesNo(func(p *paramDecl) *yesno { return &p.wholeDay })},
	},
}

var columnTable = &table[columnDecl]{
	def: "column", what: "output",
	about: "One output of a record.",
	keys: []key[columnDecl]{
		{"field", "The field that it shows.", true, text(func(c *columnDecl) *word { return &c.field }, aCode)},
	},
}

// columnShape is a field, or one name with what stands behind it.
func columnShape() shape[columnDecl] {
	short := text(func(c *columnDecl) *word { return &c.field }, aCode)
	var named shape[columnDecl]
	return shape[columnDecl]{
		read: func(f *file, name string, n *yaml.Node, into *columnDecl) {
			into.at = placeOf(n)
			k := deref(n)
			if k.Kind != yaml.MappingNode {
				short.read(f, "columns", n, into)
				return
			}
			if len(k.Content) != 2 {
				f.tell(placeOf(n), "one output per entry: - name: {field: code}", "an output must be a field, or one name with what it shows")
				return
			}
			into.name, _ = readWord(f, "columns", k.Content[0], aCode)
			if v := k.Content[1]; deref(v).Kind != yaml.MappingNode {
				short.read(f, into.name.text, v, into)
			} else {
				columnTable.read(f, into.name.text, v, into)
			}
		},
		schema: func(d *definitions) object {
			_ = named
			return object{"anyOf": []object{aCode.schema(), {"type": "object", "minProperties": 1, "maxProperties": 1, "propertyNames": aCode.schema(),
				"additionalProperties": object{"anyOf": []object{aCode.schema(), columnTable.schema(d)}}}}}
		},
	}
}

// whereShape is a condition: a tree, which its key type shows, or field → value.
func whereShape[T any](to func(*T) *raw) shape[T] {
	return rawOf(to, "field → value, or a condition", "where")
}

// whereSchema is the published form of whereShape.
func whereSchema(d *definitions) object {
	scalar := object{"type": []string{"string", "number", "boolean", "null"}}
	return object{"anyOf": []object{
		part(d, "condition"),
		{"type": "object", "description": "Field → the value it must have; null for none, a list for any of several.",
			"propertyNames": aCode.schema(), "not": object{"required": []string{"type"}},
			"additionalProperties": object{"anyOf": []object{scalar, {"type": "array", "items": scalar, "minItems": 1}}}},
	}}
}
