package schema

import (
	"slices"

	"go.yaml.in/yaml/v4"
)

// The declarations of a validation beside those of the tool that it is made of, and of where one is attached.
type (
	checkDecl struct {
		kind, mode, wraps word
		transform         word
		node              *yaml.Node // of transform
		args              []argDecl  // of wraps: argument → expression
	}
	attachDecl struct {
		at         place
		name, mode word
		args       []argDecl // input → constant
	}
)

// A transform and the arguments of a wrapped tool are expressions.
var aFormula = wordRule{min: 1, max: 10_000}

// checkKeys are those that make a tool a validation.
func checkKeys[T any](to func(*T) *checkDecl) []key[T] {
	return []key[T]{
		{"type", "validation: the tool says whether a change may stay. It is attached to resources, and no client calls it.", true,
			choice(func(t *T) *word { return &to(t).kind }, "validation")},
		{"mode", "What it is where an attachment does not say: required, the default, stops a change that fails it; informational is told.", false,
			choice(func(t *T) *word { return &to(t).mode }, "required", "informational")},
		{"transform", "A CEL expression that makes {passed, message, data} of the answer, which is called output.", false, shape[T]{
			read: func(f *file, name string, n *yaml.Node, into *T) {
				to(into).node = n
				text(func(t *T) *word { return &to(t).transform }, aFormula).read(f, name, n, into)
			},
			schema: func(*definitions) object { return aFormula.schema() },
		}},
	}
}

// without gives keys but those of some names.
func without[T any](list []key[T], names ...string) []key[T] {
	return slices.DeleteFunc(slices.Clone(list), func(k key[T]) bool { return slices.Contains(names, k.name) })
}

var presetCheckTable = &table[toolDecl]{
	def: "validation", what: "validation",
	about: "A validation that is made of the engine's requests. It sees every row, whoever asks for the change.",
	at:    func(t *toolDecl) *place { return &t.at },
	keys:  append(checkKeys(func(t *toolDecl) *checkDecl { return &t.check }), without(toolTable.keys, "category", "toolsets", "roles", "audit", "examples", "slots")...),
}

var sqlCheckTable = &table[sqlDecl]{
	def: "sqlValidation", what: "validation", unknown: sqlTable.unknown,
	about: "A validation that is one SELECT with the columns passed, message and data. It sees every row, whoever asks for the change.",
	at:    func(t *sqlDecl) *place { return &t.at },
	keys:  append(checkKeys(func(t *sqlDecl) *checkDecl { return &t.check }), without(sqlTable.keys, "slots", "toolset", "maxRows", "row_policy", "bypass")...),
}

var wrapTable = &table[toolDecl]{
	def: "wrappedValidation", what: "validation",
	about: "A validation that is made of another tool of the catalog.",
	at:    func(t *toolDecl) *place { return &t.at },
	keys: append(checkKeys(func(t *toolDecl) *checkDecl { return &t.check }), append(without(toolTable.keys, "category", "toolsets", "roles", "audit", "examples",
		"shape", "source", "slots", "query", "where", "params", "requireOneOf", "order", "paging", "naming", "columns", "children", "outputs", "record", "notFound", "union"),
		key[toolDecl]{"wraps", "The tool that is asked.", true, text(func(t *toolDecl) *word { return &t.check.wraps }, aCode)},
		key[toolDecl]{"args", "Its arguments: argument → CEL expression over id, ids, resource, action, before, after and args.", false,
			namedOf(func(t *toolDecl) *[]argDecl { return &t.check.args }, aCode, func(a *argDecl) *word { return &a.name }, text(func(a *argDecl) *word { return &a.field }, aFormula))},
	)...),
}

// attachShape is the name of a validation, or a mapping.
func attachShape() shape[attachDecl] {
	short := text(func(a *attachDecl) *word { return &a.name }, aCode)
	return shape[attachDecl]{
		read: func(f *file, name string, n *yaml.Node, into *attachDecl) {
			into.at = placeOf(n)
			if deref(n).Kind != yaml.MappingNode {
				short.read(f, "validations", n, into)
				return
			}
			attachTable.read(f, "", n, into)
		},
		schema: func(d *definitions) object { return object{"anyOf": []object{aCode.schema(), attachTable.schema(d)}} },
	}
}

var attachTable = &table[attachDecl]{
	def: "attachment", what: "attachment",
	about: "A validation that every change of the resource has to meet, or is told of.",
	at:    func(a *attachDecl) *place { return &a.at },
	keys: []key[attachDecl]{
		{"name", "The validation.", true, text(func(a *attachDecl) *word { return &a.name }, aCode)},
		{"mode", "required or informational; the validation's own is the default.", false,
			choice(func(a *attachDecl) *word { return &a.mode }, "required", "informational")},
		{"args", "Values of further inputs, by name.", false,
			namedOf(func(a *attachDecl) *[]argDecl { return &a.args }, aCode, func(x *argDecl) *word { return &x.name }, text(func(x *argDecl) *word { return &x.field }, aScalar))},
	},
}

// checkShape says which table reads a tool whose type is validation; nil where it is none.
func checkShape(n *yaml.Node) func(f *file, name string, n *yaml.Node, into *toolDecl) {
	keys := map[string]string{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		keys[deref(n.Content[i]).Value] = deref(n.Content[i+1]).Value
	}
	if _, is := keys["type"]; !is {
		return nil
	}
	if _, is := keys["sql"]; is {
		return func(f *file, name string, n *yaml.Node, into *toolDecl) {
			into.sql = &sqlDecl{}
			sqlCheckTable.read(f, name, n, into.sql)
			into.at, into.name, into.check = into.sql.at, into.sql.name, into.sql.check
		}
	}
	if _, is := keys["wraps"]; is {
		return wrapTable.read
	}
	return presetCheckTable.read
}
