package schema

import (
	"go.yaml.in/yaml/v4"
)

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
