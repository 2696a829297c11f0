package schema

import (
	"go.yaml.in/yaml/v4"

	"resq/schema/problem"
)

// The declarations of a SQL tool, and of what is noted and masked on tables that no resource declares.
type (
	sqlDecl struct {
		at                 place
		name               word
		title, description word
		toolset, system    word
		context            word // of system: the attribute of the principal that names it
		params             []sqlParamDecl
		slots              []slotDecl
		maxRows            number
		policy, sql        word
		bypass             bypassDecl
		check              checkDecl
		node               *yaml.Node // of sql
	}
	sqlParamDecl struct {
		at                           place
		name, typ, description, deft word
		required                     yesno
		maxLength                    number
		enum                         []word
		listed                       bool // enum was given
	}
	bypassDecl struct {
		at            place
		reason, owner word
		principals    []word
	}
	noteDecl struct {
		at                  place
		table               word
		entity, description word
		columns             []labelDecl
		links               []linkDecl
		filters             []filterDecl
	}
	linkDecl struct {
		at                              place
		table, cardinality, description word
		join                            []labelDecl
	}
	filterDecl struct {
		at          place
		sql, reason word
		columns     []word
	}
	maskDecl struct {
		table   word
		columns []labelDecl
	}
)

var (
	anyText = wordRule{max: 1 << 22}
	aKey    = wordRule{min: 1, max: 257, line: true}
)

// sqlTable is a SQL tool. What is wrong with its own texts and statement has codes of its own.
var sqlTable = &table[sqlDecl]{
	def: "sqlTool", what: "SQL tool", unknown: problem.InvalidArgument,
	about: "A business tool that is one SELECT of its author's, checked when it is loaded and run under the row rules and masks of the tables it reads.",
	at:    func(t *sqlDecl) *place { return &t.at },
	keys: []key[sqlDecl]{
		{"name", "What clients call it: snake_case of up to 64 characters.", true, text(func(t *sqlDecl) *word { return &t.name }, anyText)},
		{"title", "A short label.", true, text(func(t *sqlDecl) *word { return &t.title }, anyText)},
		{"description", "What it returns, and how to choose its arguments.", true, text(func(t *sqlDecl) *word { return &t.description }, anyText)},
		{"toolset", "A group of tools, in snake_case, that can be served or left out as one: toolset:NAME.", false, text(func(t *sqlDecl) *word { return &t.toolset }, aCode)},
		{"parameters", "The arguments, by name. Each stands in the statement as :name.", false,
			namedOf(func(t *sqlDecl) *[]sqlParamDecl { return &t.params }, aCode, func(p *sqlParamDecl) *word { return &p.name }, mapping(sqlParamTable))},
		{"maxRows", "The most rows of an answer.", false, whole(func(t *sqlDecl) *number { return &t.maxRows }, 1, 1<<31-1)},
		{"system", "The connection on which it always runs, or {context: NAME}, the attribute of the principal that names it. Left out, the call may choose one.", false, systemShape()},
		slotsKey("In place of system: the one slot of the type connection on which the tool runs. The statement is checked for every connection that may fill it.",
			func(t *sqlDecl) *[]slotDecl { return &t.slots }),
		{"row_policy", "apply, the default, shows a caller only the rows that the rules of the tables' resources let it see; bypass shows all, and is audited.", false,
			text(func(t *sqlDecl) *word { return &t.policy }, anyText)},
		{"bypass", "Why row rules are bypassed, and for whom.", false, inside(func(t *sqlDecl) *bypassDecl { return &t.bypass }, bypassTable)},
		{"sql", "One statement that begins with SELECT or WITH and only reads. Values stand in it as :name, and no limit is written.", true, shape[sqlDecl]{
			read: func(f *file, name string, n *yaml.Node, into *sqlDecl) {
				into.node = n
				if w, ok := readWord(f, name, n, anyText); ok {
					into.sql = w
				}
			},
			schema: func(*definitions) object { return anyText.schema() },
		}},
	},
}

// systemShape is a connection, or where its name is found.
func systemShape() shape[sqlDecl] {
	fixed := text(func(t *sqlDecl) *word { return &t.system }, aCode)
	found := &table[sqlDecl]{def: "system", what: "system", proper: true, about: "A connection that depends on who asks.",
		keys: []key[sqlDecl]{{"context", "The attribute of the principal that names the connection; who lacks it may not call the tool.", true, text(func(t *sqlDecl) *word { return &t.context }, aCode)}}}
	return shape[sqlDecl]{
		read: func(f *file, name string, n *yaml.Node, into *sqlDecl) {
			if deref(n).Kind == yaml.MappingNode {
				found.read(f, name, n, into)
				return
			}
			fixed.read(f, name, n, into)
		},
		schema: func(d *definitions) object { return object{"anyOf": []object{fixed.schema(d), found.schema(d)}} },
	}
}

var sqlParamTable = &table[sqlParamDecl]{
	def: "sqlParameter", what: "parameter",
	about: "One argument of a SQL tool. One with a default may be left out, and one that is not required is then NULL.",
	at:    func(p *sqlParamDecl) *place { return &p.at },
	keys: []key[sqlParamDecl]{
		{"type", "string, integer, number, boolean, date (YYYY-MM-DD) or enum.", true, text(func(p *sqlParamDecl) *word { return &p.typ }, anyText)},
		{"description", "What it means.", false, text(func(p *sqlParamDecl) *word { return &p.description }, anyText)},
		{"required", "false lets a call leave it out.", false, yesNo(func(p *sqlParamDecl) *yesno { return &p.required })},
		{"default", "Its value when a call leaves it out.", false, text(func(p *sqlParamDecl) *word { return &p.deft }, aScalar)},
		{"maxLength", "The most characters of a string.", false, whole(func(p *sqlParamDecl) *number { return &p.maxLength }, 1, 65536)},
		{"enum", "The values it may have.", false, shape[sqlParamDecl]{
			read: func(f *file, name string, n *yaml.Node, into *sqlParamDecl) {
				into.listed = true
				into.enum = readWords(f, name, n, func(c *yaml.Node) (word, bool) { return readWord(f, name, c, aScalar) })
			},
			schema: texts(func(p *sqlParamDecl) *[]word { return &p.enum }, aScalar).schema,
		}},
	},
}

var bypassTable = &table[bypassDecl]{
	def: "bypass", what: "bypass", proper: true,
	about: "The exception of one tool from row rules.",
	at:    func(b *bypassDecl) *place { return &b.at },
	keys: []key[bypassDecl]{
		{"reason", "Why it is needed.", true, text(func(b *bypassDecl) *word { return &b.reason }, wordRule{min: 1, max: 4000})},
		{"owner", "Who answers for it.", true, text(func(b *bypassDecl) *word { return &b.owner }, wordRule{min: 1, max: 200, line: true})},
		{"principals", "The names of those for whom it holds. Nobody else may call the tool.", true,
			texts(func(b *bypassDecl) *[]word { return &b.principals }, aCode)},
	},
}

// toolShape is a preset or, where it has a statement, a SQL tool; or either as a validation.
func toolShape() shape[toolDecl] {
	return shape[toolDecl]{
		read: func(f *file, name string, n *yaml.Node, into *toolDecl) {
			k := deref(n)
			into.node = k
			if k.Kind == yaml.MappingNode {
				if read := checkShape(k); read != nil {
					read(f, name, n, into)
					return
				}
				for i := 0; i < len(k.Content); i += 2 {
					if deref(k.Content[i]).Value == "sql" {
						into.sql = &sqlDecl{}
						sqlTable.read(f, name, n, into.sql)
						into.at, into.name = into.sql.at, into.sql.name
						return
					}
				}
			}
			toolTable.read(f, name, n, into)
		},
		schema: func(d *definitions) object {
			tools := object{"if": object{"required": []string{"sql"}}, "then": sqlTable.schema(d), "else": toolTable.schema(d)}
			wraps := object{"if": object{"required": []string{"wraps"}}, "then": wrapTable.schema(d), "else": presetCheckTable.schema(d)}
			checks := object{"if": object{"required": []string{"sql"}}, "then": sqlCheckTable.schema(d), "else": wraps}
			return object{"if": object{"required": []string{"type"}}, "then": checks, "else": tools}
		},
	}
}

var noteTable = &table[noteDecl]{
	def: "annotation", what: "annotation",
	about: "What a table means, in the words of the business.",
	at:    func(n *noteDecl) *place { return &n.at },
	keys: []key[noteDecl]{
		{"entity", "What a row is, in snake_case, such as sales_order.", false, text(func(n *noteDecl) *word { return &n.entity }, aCode)},
		{"description", "What the table is.", false, text(func(n *noteDecl) *word { return &n.description }, aText)},
		{"columns", "What columns mean, with the meaning of their codes: column → text.", false, labels(func(n *noteDecl) *[]labelDecl { return &n.columns }, anIdent, aText)},
		{"relations", "Ways to other tables that the database does not declare as keys.", false,
			listOf(func(n *noteDecl) *[]linkDecl { return &n.links }, mapping(linkTable))},
		{"filters", "Conditions that queries on the table usually need; one that uses none of their columns is answered with a warning.", false,
			listOf(func(n *noteDecl) *[]filterDecl { return &n.filters }, mapping(filterTable))},
	},
}

var linkTable = &table[linkDecl]{
	def: "link", what: "relation",
	about: "A way from one table to another.",
	at:    func(l *linkDecl) *place { return &l.at },
	keys: []key[linkDecl]{
		{"table", "The other table: SCHEMA.TABLE.", true, text(func(l *linkDecl) *word { return &l.table }, aKey)},
		{"join", "Which columns are equal: column of this table → column of the other.", true, labels(func(l *linkDecl) *[]labelDecl { return &l.join }, anIdent, anIdent)},
		{"cardinality", "How many rows meet how many.", false,
			choice(func(l *linkDecl) *word { return &l.cardinality }, "one-to-one", "one-to-many", "many-to-one", "many-to-many")},
		{"description", "What the relation means.", false, text(func(l *linkDecl) *word { return &l.description }, aText)},
	},
}

var filterTable = &table[filterDecl]{
	def: "filter", what: "filter",
	about: "A condition that queries on a table usually need.",
	at:    func(x *filterDecl) *place { return &x.at },
	keys: []key[filterDecl]{
		{"sql", "The condition, as it would be written.", true, text(func(x *filterDecl) *word { return &x.sql }, aText)},
		{"columns", "The columns it uses.", true, texts(func(x *filterDecl) *[]word { return &x.columns }, anIdent)},
		{"reason", "Why it is needed.", false, text(func(x *filterDecl) *word { return &x.reason }, aText)},
	},
}

// labels is a mapping from names to texts, in order.
func labels[T any](to func(*T) *[]labelDecl, key, value wordRule) shape[T] {
	return namedOf(to, key, func(l *labelDecl) *word { return &l.code }, text(func(l *labelDecl) *word { return &l.label }, value))
}

// masksShape is column → rule.
func masksShape() shape[maskDecl] {
	one := namedOf(func(m *maskDecl) *[]labelDecl { return &m.columns }, anIdent, func(l *labelDecl) *word { return &l.code },
		choice(func(l *labelDecl) *word { return &l.label }, "redact", "last4"))
	return shape[maskDecl]{read: one.read, schema: one.schema}
}

func noteKeys() []key[fileDecl] {
	return []key[fileDecl]{
		{"annotations", "What tables mean, for SQL tools and those who write SQL: SCHEMA.TABLE → notes.", false,
			namedOf(func(f *fileDecl) *[]noteDecl { return &f.notes }, aKey, func(n *noteDecl) *word { return &n.table }, mapping(noteTable))},
		{"masking", "Columns whose values are hidden, beside the masks of fields: SCHEMA.TABLE → column → redact or last4.", false,
			namedOf(func(f *fileDecl) *[]maskDecl { return &f.masks }, aKey, func(m *maskDecl) *word { return &m.table }, masksShape())},
		{"instructions", "What clients are told when they begin, as far as a tool of this file is there for them.", false,
			text(func(f *fileDecl) *word { return &f.instructions }, wordRule{min: 1, max: 4000})},
	}
}
