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

		slots []slotDecl
		sql   *sqlDecl // of a SQL tool, which has nothing below
		check checkDecl
		node  *yaml.Node // all of it

		shape, source, naming word
		query                 raw
		where                 []clauseDecl
		params                []paramDecl
		requireOneOf          oneOfDecl
		order                 []word
		paging                pagingDecl
		columns, outputs      []columnDecl
		children              []childDecl
		union                 []childDecl
		record                word
		notFound              notFoundDecl
		audit                 auditDecl
		examples              []exampleDecl
	}
	wordsDecl struct {
		at     place
		en, zh word
	}
	paramDecl struct {
		at                             place
		name, typ, def, match          word
		field, text, onOverMax, others word
		description                    wordsDecl
		required, wholeDay             yesno
		min, max, maxLength            number
		values                         []word
		exists                         existsDecl
	}
	existsDecl struct {
		at            place
		source, field word
		on            []pairDecl
		where         []clauseDecl
	}
	oneOfDecl struct {
		at             place
		params         []word
		whenNone, text word
	}
	pagingDecl struct {
		at         place
		def, max   number
		onUnderMin word
	}
	notFoundDecl struct {
		at          place
		style, text word
	}
	auditDecl struct {
		at   place
		args []word
		mask []argDecl
	}
	exampleDecl struct {
		at           place
		about, as    word
		args, answer raw
	}
	// A clauseDecl is a condition, and when it counts.
	clauseDecl struct {
		at    place
		cond  raw
		when  whenDecl
		plain bool // written without where
	}
	whenDecl struct {
		at                   place
		param, given, absent word
		is                   []word
		principal            raw
	}
	childDecl struct {
		at                    place
		name, source, key     word
		on                    []pairDecl
		where                 []clauseDecl
		when                  whenDecl
		order, prefer, groups []word
		columns               []columnDecl
		children              []childDecl
		limit                 number
		limitParam            word
	}
	columnDecl struct {
		at                                         place
		name, field, expr, format, mask            word
		text, texts, lookup, key, by               word
		redis, connection, as, onDown              word
		param, child, one, gather, how, separator  word
		split, distinct, total, truncated, context word
		choose                                     word
		take                                       []word
		def, value                                 raw
		derive                                     []deriveDecl
		into                                       []argDecl
		object                                     []columnDecl
		nullWhenEmpty                              yesno
		cases                                      []columnDecl
		other                                      []columnDecl // of else: one
	}
	deriveDecl struct {
		at            place
		filled, field word
		of            word
		equals        []argDecl
		value         raw
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
		{"shape", "What the answer is: list, a page of records; record, one record with what belongs to it; found, one record or the word that there is none; count, a number; context, what the server knows by itself.", true,
			choice(func(t *toolDecl) *word { return &t.shape }, "list", "record", "found", "count", "context")},
		{"source", "The resource whose rows it reads, under that resource's row rule.", false, text(func(t *toolDecl) *word { return &t.source }, aCode)},
		slotsKey("What is settled when the tool is called, by name. A slot's name stands where the code of a resource could; what it may be bound to is checked when the file is loaded.",
			func(t *toolDecl) *[]slotDecl { return &t.slots }),
		{"query", "A request, as res-query takes it, whose rows it reads instead of those of a resource; its outputs are the fields of the tool. " +
			"Its conditions may compare with arguments (tokenType param), and arguments may narrow what it reads (field: Resource.field).", false,
			rawOf(func(t *toolDecl) *raw { return &t.query }, "a request", "request")},
		{"where", "What the rows must meet, whatever the arguments: one condition, or a list of conditions of which each may say when it counts.", false,
			whereShape(func(t *toolDecl) *[]clauseDecl { return &t.where })},
		{"params", "The arguments, by name.", false,
			namedOf(func(t *toolDecl) *[]paramDecl { return &t.params }, aCode, func(p *paramDecl) *word { return &p.name }, mapping(paramTable))},
		{"requireOneOf", "Arguments of which a call must give one at least; when it gives several, one row must fit all of them.", false,
			inside(func(t *toolDecl) *oneOfDecl { return &t.requireOneOf }, oneOfTable)},
		{"order", "The order of the rows: field, or field desc. The key of the resource is added where it is missing, so that pages never overlap.", false,
			texts(func(t *toolDecl) *[]word { return &t.order }, aSort)},
		{"paging", "The size of a page.", false, inside(func(t *toolDecl) *pagingDecl { return &t.paging }, pagingTable)},
		{"naming", "How outputs are named after fields: asis, the default, camel or snake.", false,
			choice(func(t *toolDecl) *word { return &t.naming }, "asis", "camel", "snake")},
		{"columns", "The outputs of a record in their order: a field, \"*\" for every field that is not named otherwise, or name → what it shows.", false,
			listOf(func(t *toolDecl) *[]columnDecl { return &t.columns }, columnShape())},
		{"children", "Rows of other resources that belong to a record, by name; outputs show them.", false,
			namedOf(func(t *toolDecl) *[]childDecl { return &t.children }, aCode, func(c *childDecl) *word { return &c.name }, mapping(childTable))},
		{"outputs", "What stands beside the record, in its order.", false,
			listOf(func(t *toolDecl) *[]columnDecl { return &t.outputs }, columnShape())},
		{"record", "The name under which the record stands: record, or data where the shape is found; none shows what stands beside it alone.", false,
			text(func(t *toolDecl) *word { return &t.record }, aCode)},
		{"notFound", "What is said when there is no row, or none that the caller sees.", false,
			inside(func(t *toolDecl) *notFoundDecl { return &t.notFound }, notFoundTable)},
		{"union", "A list from several resources, by name: the rows of all of them in one order.", false,
			namedOf(func(t *toolDecl) *[]childDecl { return &t.union }, aCode, func(c *childDecl) *word { return &c.name }, mapping(branchTable))},
		{"audit", "Which arguments the log of calls may hold.", false, inside(func(t *toolDecl) *auditDecl { return &t.audit }, auditTable)},
		{"examples", "Arguments with the answer that they must give; resq test runs them.", false,
			listOf(func(t *toolDecl) *[]exampleDecl { return &t.examples }, mapping(exampleTable))},
	},
}

var aSort = wordRule{min: 1, max: 70, line: true}

var oneOfTable = &table[oneOfDecl]{
	def: "requireOneOf", what: "requireOneOf", proper: true,
	about: "Arguments of which one is needed.",
	at:    func(o *oneOfDecl) *place { return &o.at },
	keys: []key[oneOfDecl]{
		{"params", "The arguments.", true, texts(func(o *oneOfDecl) *[]word { return &o.params }, aCode)},
		{"whenNone", "What happens when none is given: error, the default, or notice, an answer without a record.", false,
			choice(func(o *oneOfDecl) *word { return &o.whenNone }, "error", "notice")},
		{"text", "What is said then.", false, text(func(o *oneOfDecl) *word { return &o.text }, aTitle)},
	},
}

var pagingTable = &table[pagingDecl]{
	def: "paging", what: "paging", proper: true,
	about: "The arguments page and rows are added to those of the tool.",
	at:    func(p *pagingDecl) *place { return &p.at },
	keys: []key[pagingDecl]{
		{"default", "Rows of a page when the call does not say; 20 is the default.", false, whole(func(p *pagingDecl) *number { return &p.def }, 1, 1000)},
		{"max", "The most rows of a page; more are cut to it, with a notice. 100 is the default.", false, whole(func(p *pagingDecl) *number { return &p.max }, 1, 1000)},
		{"onUnderMin", "What happens to a page or a size below 1: default, its default with a notice, or error.", false,
			choice(func(p *pagingDecl) *word { return &p.onUnderMin }, "default", "error")},
	},
}

var notFoundTable = &table[notFoundDecl]{
	def: "notFound", what: "notFound", proper: true,
	about: "A row that is not there and one that the caller does not see are told alike.",
	at:    func(n *notFoundDecl) *place { return &n.at },
	keys: []key[notFoundDecl]{
		{"style", "error, the default, or notice: an answer whose record is null, with a notice.", false,
			choice(func(n *notFoundDecl) *word { return &n.style }, "error", "notice")},
		{"text", "What is said.", false, text(func(n *notFoundDecl) *word { return &n.text }, aTitle)},
	},
}

var auditTable = &table[auditDecl]{
	def: "audit", what: "audit", proper: true,
	about: "The log of calls holds no argument that is not named here.",
	at:    func(a *auditDecl) *place { return &a.at },
	keys: []key[auditDecl]{
		{"args", "Arguments that may be logged as they are.", false, texts(func(a *auditDecl) *[]word { return &a.args }, aCode)},
		{"mask", "Argument → the mask under which it is logged: redact, last4 or phone.", false,
			namedOf(func(a *auditDecl) *[]argDecl { return &a.mask }, aCode, func(x *argDecl) *word { return &x.name },
				choice(func(x *argDecl) *word { return &x.field }, "redact", "last4", "phone"))},
	},
}

var exampleTable = &table[exampleDecl]{
	def: "example", what: "example",
	about: "One call with its answer.",
	at:    func(e *exampleDecl) *place { return &e.at },
	keys: []key[exampleDecl]{
		{"about", "What it shows.", false, text(func(e *exampleDecl) *word { return &e.about }, aTitle)},
		{"as", "The principal who asks; the local one is the default.", false, text(func(e *exampleDecl) *word { return &e.as }, aCode)},
		{"args", "The arguments.", true, anyObject(func(e *exampleDecl) *raw { return &e.args })},
		{"answer", "The answer, or the part of it that matters: every key that stands here must be there with this value.", true,
			anyObject(func(e *exampleDecl) *raw { return &e.answer })},
	},
}

// anyObject is a mapping that is JSON.
func anyObject[T any](to func(*T) *raw) shape[T] {
	s := rawOf(to, "a mapping", "condition")
	s.schema = func(*definitions) object { return object{"type": "object"} }
	return s
}
