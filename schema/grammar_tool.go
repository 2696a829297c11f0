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

// aConstant is a scalar that is JSON: null, too.
func aConstant[T any](to func(*T) *raw) shape[T] {
	return shape[T]{
		read: func(f *file, name string, n *yaml.Node, into *T) {
			if k := deref(n); k.Kind != yaml.ScalarNode {
				f.tell(placeOf(n), "", "%q must be one value, not %s", name, describe(k))
				return
			}
			*to(into) = raw{n, placeOf(n)}
		},
		schema: func(*definitions) object { return object{"type": []string{"string", "number", "boolean", "null"}} },
	}
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
		{"match", "How: exact, contains, prefix, in (a list), from or to (the ends of a range); none compares it with nothing.", false,
			choice(func(p *paramDecl) *word { return &p.match }, "exact", "contains", "prefix", "in", "from", "to", "none")},
		{"wholeDay", "true lets a date that ends a range include its whole day.", false, yesNo(func(p *paramDecl) *yesno { return &p.wholeDay })},
		{"overrides", "all: when it is given, no other argument narrows the rows.", false, choice(func(p *paramDecl) *word { return &p.others }, "all")},
		{"exists", "Rows of another resource, of which one must have the value.", false, inside(func(p *paramDecl) *existsDecl { return &p.exists }, existsTable)},
	},
}

var existsTable = &table[existsDecl]{
	def: "exists", what: "exists", proper: true,
	about: "A row of another resource of the same connection that belongs to the record and has the value of the argument.",
	at:    func(e *existsDecl) *place { return &e.at },
	keys: []key[existsDecl]{
		{"source", "The other resource.", true, text(func(e *existsDecl) *word { return &e.source }, aCode)},
		{"on", "Field there → field of the record.", true, pairsOf(func(e *existsDecl) *[]pairDecl { return &e.on })},
		{"field", "The field there that has the value.", true, text(func(e *existsDecl) *word { return &e.field }, aCode)},
		{"where", "What else the row there must meet.", false, whereShape(func(e *existsDecl) *[]clauseDecl { return &e.where })},
	},
}

func pairsOf[T any](to func(*T) *[]pairDecl) shape[T] {
	return namedOf(to, aCode, func(p *pairDecl) *word { return &p.from }, text(func(p *pairDecl) *word { return &p.to }, aCode))
}

var whenTable = &table[whenDecl]{
	def: "when", what: "when", proper: true,
	about: "When a part of a tool counts: all that stands here must hold.",
	at:    func(w *whenDecl) *place { return &w.at },
	keys: []key[whenDecl]{
		{"param", "An argument whose value decides.", false, text(func(w *whenDecl) *word { return &w.param }, aCode)},
		{"is", "The value, or the values, that it must have; true is the default.", false, textOrTexts(func(w *whenDecl) *[]word { return &w.is }, aScalar)},
		{"given", "An argument that the call must give.", false, text(func(w *whenDecl) *word { return &w.given }, aCode)},
		{"absent", "An argument that the call must not give.", false, text(func(w *whenDecl) *word { return &w.absent }, aCode)},
		{"principal", "A condition on attributes of the principal.", false, rawOf(func(w *whenDecl) *raw { return &w.principal }, "a condition", "condition")},
	},
}

var childTable = &table[childDecl]{
	def: "children", what: "child list",
	about: "Rows of another resource, on any connection, that belong to each record. They are read once for all records of a page.",
	at:    func(c *childDecl) *place { return &c.at },
}

var branchTable = &table[childDecl]{
	def: "branch", what: "branch",
	about: "One of the resources of a union.",
	at:    func(c *childDecl) *place { return &c.at },
}

var columnTable = &table[columnDecl]{
	def: "column", what: "output",
	about: "One output. What it shows is said by exactly one of field, expr, text, lookup, redis, derive, value, param, children, one, gather, split, distinct, total, truncated, object, choose and context.",
}

var deriveTable = &table[deriveDecl]{
	def: "derive", what: "case",
	about: "One case: it counts when all that it asks holds, and always when it asks nothing.",
	at:    func(d *deriveDecl) *place { return &d.at },
	keys: []key[deriveDecl]{
		{"filled", "A field that must hold something.", false, text(func(d *deriveDecl) *word { return &d.filled }, aCode)},
		{"of", "The child list in one of whose rows filled must hold something, instead of the record.", false, text(func(d *deriveDecl) *word { return &d.of }, aCode)},
		{"equals", "Field → the value that it must have.", false,
			namedOf(func(d *deriveDecl) *[]argDecl { return &d.equals }, aCode, func(a *argDecl) *word { return &a.name },
				text(func(a *argDecl) *word { return &a.field }, aScalar))},
		{"value", "What is shown then.", false, aConstant(func(d *deriveDecl) *raw { return &d.value })},
		{"field", "The field that is shown then.", false, text(func(d *deriveDecl) *word { return &d.field }, aCode)},
	},
}

// The tables below hold each other, so they get their keys when all of them are there.
func init() {
	columns := func(to func(*childDecl) *[]columnDecl) shape[childDecl] { return listOf(to, columnShape()) }
	source := key[childDecl]{"source", "The resource.", true, text(func(c *childDecl) *word { return &c.source }, aCode)}
	where := key[childDecl]{"where", "What its rows must meet.", false, whereShape(func(c *childDecl) *[]clauseDecl { return &c.where })}
	when := key[childDecl]{"when", "When it is read at all.", false, inside(func(c *childDecl) *whenDecl { return &c.when }, whenTable)}
	shown := key[childDecl]{"columns", "The outputs of a row.", false, columns(func(c *childDecl) *[]columnDecl { return &c.columns })}
	inner := key[childDecl]{"children", "Rows that belong to these rows.", false,
		namedOf(func(c *childDecl) *[]childDecl { return &c.children }, aCode, func(c *childDecl) *word { return &c.name }, mapping(childTable))}
	childTable.keys = []key[childDecl]{
		source,
		{"on", "Field there → field of the record.", true, pairsOf(func(c *childDecl) *[]pairDecl { return &c.on })},
		where, when,
		{"order", "The order of its rows: field, or field desc.", false, texts(func(c *childDecl) *[]word { return &c.order }, aSort)},
		{"groupBy", "Fields by which its rows are taken together; further outputs are then expressions such as SUM(count).", false,
			texts(func(c *childDecl) *[]word { return &c.groups }, aCode)},
		{"limit", "The most rows of one record, or an argument that says it; 1000 is the default, and the most.", false, limitShape()},
		shown, inner,
	}
	branchTable.keys = []key[childDecl]{
		source, where, when,
		{"key", "The field that tells its documents apart: of several rows with one value the first by prefer stands for all.", false,
			text(func(c *childDecl) *word { return &c.key }, aCode)},
		{"prefer", "Which of several rows stands for a document: field, field desc, or field = value for those first that have it.", false,
			texts(func(c *childDecl) *[]word { return &c.prefer }, aSort)},
		shown, inner,
	}
	columnTable.keys = []key[columnDecl]{
		{"field", "A field.", false, text(func(c *columnDecl) *word { return &c.field }, aCode)},
		{"expr", "An expression over the fields, as in a request.", false, text(func(c *columnDecl) *word { return &c.expr }, aText)},
		{"format", "How a field is written: datetime and date cut it there, text and number change its JSON type, bool makes 0 and 1 false and true.", false,
			choice(func(c *columnDecl) *word { return &c.format }, "datetime", "date", "text", "number", "bool")},
		{"mask", "Shows an image instead: redact, last4 or phone.", false, choice(func(c *columnDecl) *word { return &c.mask }, "redact", "last4", "phone")},
		{"text", "The label of a field's code.", false, text(func(c *columnDecl) *word { return &c.text }, aCode)},
		{"map", "The text map of text, where it is not the field's own.", false, text(func(c *columnDecl) *word { return &c.texts }, aCode)},
		{"lookup", "A field of another resource, on any connection, found by a key; one statement serves a page.", false, text(func(c *columnDecl) *word { return &c.lookup }, aCode)},
		{"key", "The field there by which it is found; its key is the default.", false, text(func(c *columnDecl) *word { return &c.key }, aCode)},
		{"by", "The field of the record that holds the key, or of the rows that split parts.", false, text(func(c *columnDecl) *word { return &c.by }, aCode)},
		{"take", "What is taken: the field there, or of gathered and distinct rows the output, or a list of them.", false, textOrTexts(func(c *columnDecl) *[]word { return &c.take }, aCode)},
		{"redis", "A value in Redis: its key, in which {field} stands for a field of the record.", false, text(func(c *columnDecl) *word { return &c.redis }, aPath)},
		{"connection", "The connection of redis; where there is one alone it need not be said.", false, text(func(c *columnDecl) *word { return &c.connection }, aCode)},
		{"as", "What the value in Redis is: string, the default, number or json.", false, choice(func(c *columnDecl) *word { return &c.as }, "string", "number", "json")},
		{"onDown", "What happens when Redis cannot be asked: default, the default of each value and a notice, or error.", false, choice(func(c *columnDecl) *word { return &c.onDown }, "default", "error")},
		{"default", "What is shown when nothing is found; null is the default.", false, aConstant(func(c *columnDecl) *raw { return &c.def })},
		{"derive", "The first case that counts; null when none does.", false, listOf(func(c *columnDecl) *[]deriveDecl { return &c.derive }, mapping(deriveTable))},
		{"value", "A constant.", false, aConstant(func(c *columnDecl) *raw { return &c.value })},
		{"param", "The value of an argument.", false, text(func(c *columnDecl) *word { return &c.param }, aCode)},
		{"children", "A child list.", false, text(func(c *columnDecl) *word { return &c.child }, aCode)},
		{"one", "The first row of a child list, or null.", false, text(func(c *columnDecl) *word { return &c.one }, aCode)},
		{"gather", "One value out of the rows of a child list.", false, text(func(c *columnDecl) *word { return &c.gather }, aCode)},
		{"how", "How gather makes it: list of the different values, the default, join of them as a text, first, last, min, max or count.", false,
			choice(func(c *columnDecl) *word { return &c.how }, "list", "join", "first", "last", "min", "max", "count")},
		{"separator", "What stands between joined values; a comma is the default.", false, text(func(c *columnDecl) *word { return &c.separator }, wordRule{max: 16})},
		{"split", "A child list parted by the value of one of its outputs.", false, text(func(c *columnDecl) *word { return &c.split }, aCode)},
		{"into", "Name of a part → the value of its rows.", false,
			namedOf(func(c *columnDecl) *[]argDecl { return &c.into }, aCode, func(a *argDecl) *word { return &a.name },
				text(func(a *argDecl) *word { return &a.field }, aScalar))},
		{"distinct", "The different rows of a child list, of the outputs that take names.", false, text(func(c *columnDecl) *word { return &c.distinct }, aCode)},
		{"total", "How many rows a child list has, whatever its limit and whether or not it is read.", false, text(func(c *columnDecl) *word { return &c.total }, aCode)},
		{"truncated", "Whether the limit of a child list left rows out.", false, text(func(c *columnDecl) *word { return &c.truncated }, aCode)},
		{"object", "Outputs under one name.", false, listOf(func(c *columnDecl) *[]columnDecl { return &c.object }, columnShape())},
		{"nullWhenEmpty", "true shows null instead of an object that holds nothing but null, empty texts and empty lists.", false, yesNo(func(c *columnDecl) *yesno { return &c.nullWhenEmpty })},
		{"choose", "The field that chooses among cases.", false, text(func(c *columnDecl) *word { return &c.choose }, aCode)},
		{"cases", "Value of the field → what is shown.", false,
			namedOf(func(c *columnDecl) *[]columnDecl { return &c.cases }, wordRule{min: 1, max: 400}, func(c *columnDecl) *word { return &c.name }, whatShape())},
		{"else", "What is shown for every other value; null is the default.", false, shape[columnDecl]{
			read: func(f *file, name string, n *yaml.Node, into *columnDecl) {
				into.other = make([]columnDecl, 1)
				into.other[0].at = placeOf(n)
				whatShape().read(f, name, n, &into.other[0])
			},
			schema: func(d *definitions) object { return whatShape().schema(d) },
		}},
		{"context", "What the server knows: service.version, now, now.offset, redis, tools, capabilities, subject.type, subject.id, or principal.NAME for an attribute.", false,
			text(func(c *columnDecl) *word { return &c.context }, aCode)},
	}
}

// limitShape is a number, or the argument that holds it.
func limitShape() shape[childDecl] {
	type holder struct{ param word }
	fixed := whole(func(c *childDecl) *number { return &c.limit }, 1, 1000)
	byParam := &table[holder]{def: "limit", what: "limit", proper: true, about: "An argument that says the limit.",
		keys: []key[holder]{{"param", "The argument.", true, text(func(h *holder) *word { return &h.param }, aCode)}}}
	return shape[childDecl]{
		read: func(f *file, name string, n *yaml.Node, into *childDecl) {
			if deref(n).Kind != yaml.MappingNode {
				fixed.read(f, name, n, into)
				return
			}
			var h holder
			byParam.read(f, name, n, &h)
			into.limitParam = h.param
		},
		schema: func(d *definitions) object { return object{"anyOf": []object{fixed.schema(d), byParam.schema(d)}} },
	}
}

// whatShape is a field, or what stands behind the name of an output.
func whatShape() shape[columnDecl] {
	short := text(func(c *columnDecl) *word { return &c.field }, aCode)
	return shape[columnDecl]{
		read: func(f *file, name string, n *yaml.Node, into *columnDecl) {
			if !into.at.given() {
				into.at = placeOf(n)
			}
			if deref(n).Kind != yaml.MappingNode {
				short.read(f, name, n, into)
			} else {
				columnTable.read(f, name, n, into)
			}
		},
		schema: func(d *definitions) object { return object{"anyOf": []object{aCode.schema(), columnTable.schema(d)}} },
	}
}

// columnShape is a field, or one name with what stands behind it.
func columnShape() shape[columnDecl] {
	short := text(func(c *columnDecl) *word { return &c.field }, aCode)
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
			whatShape().read(f, into.name.text, k.Content[1], into)
		},
		schema: func(d *definitions) object {
			return d.refer("columns", func(d *definitions) object {
				return object{"description": "A field, or one name with what it shows.",
					"anyOf": []object{aCode.schema(), {"type": "object", "minProperties": 1, "maxProperties": 1, "propertyNames": aCode.schema(),
						"additionalProperties": whatShape().schema(d)}}}
			})
		},
	}
}

// clauseTable is a condition with the word when it counts.
var clauseTable = &table[clauseDecl]{
	def: "clause", what: "condition",
	about: "A condition, and when it counts.",
	at:    func(c *clauseDecl) *place { return &c.at },
	keys: []key[clauseDecl]{
		{"where", "The condition.", true, rawOf(func(c *clauseDecl) *raw { return &c.cond }, "field → value, or a condition", "where")},
		{"when", "When it counts.", true, inside(func(c *clauseDecl) *whenDecl { return &c.when }, whenTable)},
	},
}

// whereShape is one condition, or a list of conditions that may say when they count.
func whereShape[T any](to func(*T) *[]clauseDecl) shape[T] {
	plain := rawOf(func(c *clauseDecl) *raw { return &c.cond }, "field → value, or a condition", "where")
	one := func(f *file, name string, n *yaml.Node) (c clauseDecl) {
		if k := deref(n); k.Kind == yaml.MappingNode {
			for i := 0; i < len(k.Content); i += 2 {
				if deref(k.Content[i]).Value == "where" {
					clauseTable.read(f, name, n, &c)
					return c
				}
			}
		}
		c.at, c.plain = placeOf(n), true
		plain.read(f, name, n, &c)
		return c
	}
	return shape[T]{
		read: func(f *file, name string, n *yaml.Node, into *T) {
			if k := deref(n); k.Kind == yaml.SequenceNode {
				for _, c := range k.Content {
					*to(into) = append(*to(into), one(f, name, c))
				}
				return
			}
			*to(into) = append(*to(into), one(f, name, n))
		},
		schema: func(d *definitions) object {
			each := []object{part(d, "where"), clauseTable.schema(d)}
			return object{"anyOf": []object{part(d, "where"), {"type": "array", "items": object{"anyOf": each}}}}
		},
	}
}

// whereSchema is the published form of a condition of a tool.
func whereSchema(d *definitions) object {
	scalar := object{"type": []string{"string", "number", "boolean", "null"}}
	value := object{"anyOf": []object{scalar, {"type": "array", "items": scalar, "minItems": 1},
		{"type": "object", "minProperties": 1, "maxProperties": 1}}}
	return object{"anyOf": []object{
		part(d, "condition"),
		{"type": "object", "description": "Field → the value it must have; null for none, a list for any of several, {operator: value} for another comparison; " +
			"{param: NAME}, {principal: NAME}, {set: NAME} and {field: CODE} stand for what is known when the tool is called.",
			"propertyNames": aCode.schema(), "not": object{"required": []string{"type"}}, "additionalProperties": value},
	}}
}
