package schema

import (
	"go.yaml.in/yaml/v4"
)

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
		{"context", "What the server knows: service.version, now, now.offset, redis, scopes, scopes.version, tools, capabilities, subject.type, subject.id, or principal.NAME for an attribute.", false,
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
