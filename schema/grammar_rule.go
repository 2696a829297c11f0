package schema

import (
	"go.yaml.in/yaml/v4"

	"resq/schema/problem"
	"resq/schema/query"
)

var softTable = &table[softDecl]{
	def: "softDelete", what: "softDelete", proper: true,
	about: "A row counts as deleted when the field is not NULL or, where deleted is given, when it equals that value.",
	at:    func(s *softDecl) *place { return &s.at },
	keys: []key[softDecl]{
		{"field", "The field that marks the row.", true, text(func(s *softDecl) *word { return &s.field }, aCode)},
		{"deleted", "Its value in a deleted row.", false, text(func(s *softDecl) *word { return &s.deleted }, aScalar)},
	},
}

var relTable = &table[relDecl]{
	def: "relation", what: "relation",
	about: "A way from this resource to another of the same connection.",
	at:    func(r *relDecl) *place { return &r.at },
	keys: []key[relDecl]{
		{"code", "Its name in this resource; the code of the other resource is the default.", false,
			text(func(r *relDecl) *word { return &r.code }, aCode)},
		{"name", "What people call it.", false, text(func(r *relDecl) *word { return &r.name }, aTitle)},
		{"to", "The other resource.", true, text(func(r *relDecl) *word { return &r.to }, aCode)},
		{"many", "true when one row here may have several there.", false, yesNo(func(r *relDecl) *yesno { return &r.many })},
		{"on", "The fields that must be equal: field here → field there; or a list of such pairs, or of fields with the same code on both sides.", true,
			pairsShape()},
	},
}

var rowsTable = &table[rowsDecl]{
	def: "rows", what: "rows", proper: true,
	about: "A named rule, with fields of this resource as its arguments.",
	keys: []key[rowsDecl]{
		{"rule", "The name of the rule.", true, text(func(r *rowsDecl) *word { return &r.rule }, aCode)},
		{"args", "Argument of the rule → field of this resource.", false,
			namedOf(func(r *rowsDecl) *[]argDecl { return &r.args }, aCode, func(a *argDecl) *word { return &a.name },
				text(func(a *argDecl) *word { return &a.field }, aCode))},
	},
}

var ruleTable = &table[ruleDecl]{
	def: "rule", what: "rule",
	about: "Ordered cases; the first whose condition on the principal holds decides. When none holds, no row is there.",
	at:    func(r *ruleDecl) *place { return &r.at },
	keys: []key[ruleDecl]{
		{"args", "The names of the fields that each resource hands in; conditions write them as $name.", false,
			texts(func(r *ruleDecl) *[]word { return &r.args }, aCode)},
		{"cases", "The cases in the order in which they are tried.", true,
			listOf(func(r *ruleDecl) *[]caseDecl { return &r.cases }, mapping(caseTable))},
	},
}

var caseTable = &table[caseDecl]{
	def: "case", what: "case",
	about: "One branch of a rule.",
	at:    func(c *caseDecl) *place { return &c.at },
	keys: []key[caseDecl]{
		{"roles", "The case is for callers with one of these roles; while it decides, they read the fields of the resource as these roles alone.", false,
			texts(func(c *caseDecl) *[]word { return &c.roles }, anIdent)},
		{"when", "A condition whose fields are attributes of the principal; left out, the case always holds.", false,
			rawOf(func(c *caseDecl) *raw { return &c.when }, "a condition", "condition")},
		{"rows", "all, none, or the condition that a row must meet.", true, caseRowsShape()},
		{"set", "Argument of the rule → what new rows get there, whatever the caller sends: a value, or principal.NAME for an attribute.", false,
			namedOf(func(c *caseDecl) *[]argDecl { return &c.set }, aCode, func(a *argDecl) *word { return &a.name },
				text(func(a *argDecl) *word { return &a.field }, aScalar))},
	},
}

var setTable = &table[setDecl]{
	def: "set", what: "set",
	about:   "Distinct values: those of one or several queries with one output each, on any connections, or a union of other sets.",
	at:      func(s *setDecl) *place { return &s.at },
	exactly: []string{"query", "queries", "union"},
	keys: []key[setDecl]{
		{"query", "The one query.", false, oneRequest(func(s *setDecl) *[]raw { return &s.queries })},
		{"queries", "Several queries; the set holds the values of all of them.", false, requests(func(s *setDecl) *[]raw { return &s.queries })},
		{"union", "What the set holds the values of: names of other sets, attributes of the principal, queries and constants.", false, shape[setDecl]{
			read: func(f *file, name string, n *yaml.Node, into *setDecl) {
				list, ok := items(f, name, n)
				if ok && len(list) == 0 {
					f.tell(placeOf(n), "", "%q must not be empty", name)
				}
				into.union = make([]memberDecl, len(list))
				for i, c := range list {
					aMember.read(f, name, c, &into.union[i])
				}
			},
			schema: func(d *definitions) object {
				return object{"type": "array", "items": aMember.schema(d), "minItems": 1}
			},
		}},
		{"bound", "More values than this fail the call instead of being cut; 10000 is the default.", false,
			whole(func(s *setDecl) *number { return &s.bound }, 1, 1_000_000)},
	},
}

var memberTable = &table[memberDecl]{
	def: "member", what: "member of a union",
	about:   "One part of a set.",
	at:      func(m *memberDecl) *place { return &m.at },
	exactly: []string{"set", "principal", "func", "query", "value"},
	keys: []key[memberDecl]{
		{"set", "The name of another set.", false, text(func(m *memberDecl) *word { return &m.set }, aCode)},
		{"principal", "An attribute of the principal: its value, or its values.", false, text(func(m *memberDecl) *word { return &m.attribute }, anIdent)},
		{"func", "A value of the caller's session.", false, choice(func(m *memberDecl) *word { return &m.token }, query.Funcs...)},
		{"query", "A query with one output.", false, rawOf(func(m *memberDecl) *raw { return &m.query }, "a request", "request")},
		{"value", "A constant.", false, text(func(m *memberDecl) *word { return &m.value }, aScalar)},
	},
}

// aMember is the name of a set, or a member in full.
var aMember = shape[memberDecl]{
	read: func(f *file, name string, n *yaml.Node, into *memberDecl) {
		if deref(n).Kind == yaml.ScalarNode {
			into.at = placeOf(n)
			into.set, _ = readWord(f, name, n, aCode)
			return
		}
		memberTable.read(f, "", n, into)
	},
	schema: func(d *definitions) object { return object{"anyOf": []object{aCode.schema(), memberTable.schema(d)}} },
}

var ownerTable = &table[ownerDecl]{
	def: "principal", what: "principal", proper: true,
	about: "The outputs of the queries are the attributes of whoever acts for the user; an output called UserID, UserUuid, UserRolesUuid, " +
		"UserPlatform or UserSaaS is that func token, too. The queries compare with the user through tokenType func, token UserID, and with outputs of the " +
		"queries before them through tokenType principal. When the first gives no row, there is no such user: every row rule denies.",
	at:      func(o *ownerDecl) *place { return &o.at },
	exactly: []string{"query", "queries"},
	keys: []key[ownerDecl]{
		{"query", "The one query.", false, oneRequest(func(o *ownerDecl) *[]raw { return &o.queries })},
		{"queries", "Several queries, on any connections, run one after the other.", false, requests(func(o *ownerDecl) *[]raw { return &o.queries })},
		{"lists", "The outputs that are lists: all values of all rows. Any other output has one value.", false, texts(func(o *ownerDecl) *[]word { return &o.lists }, anIdent)},
		{"roles", "The output whose values are roles of the caller, beside those of the configuration.", false, text(func(o *ownerDecl) *word { return &o.roles }, anIdent)},
	},
}

// ownerShape is the principal of a catalog. It is kept as a list, so that a second one can be told.
func ownerShape() shape[fileDecl] {
	return shape[fileDecl]{
		read: func(f *file, name string, n *yaml.Node, into *fileDecl) {
			into.owners = append(into.owners, ownerDecl{})
			ownerTable.read(f, "", n, &into.owners[len(into.owners)-1])
		},
		schema: ownerTable.schema,
	}
}

var aRequest = rawOf(func(r *raw) *raw { return r }, "a request", "request")

// oneRequest is a request, as a list of one.
func oneRequest[T any](to func(*T) *[]raw) shape[T] {
	return shape[T]{
		read: func(f *file, name string, n *yaml.Node, into *T) {
			*to(into) = make([]raw, 1)
			aRequest.read(f, name, n, &(*to(into))[0])
		},
		schema: aRequest.schema,
	}
}

// requests is a list of requests that is not empty.
func requests[T any](to func(*T) *[]raw) shape[T] {
	return shape[T]{
		read: func(f *file, name string, n *yaml.Node, into *T) {
			list, ok := items(f, name, n)
			if ok && len(list) == 0 {
				f.tell(placeOf(n), "", "%q must not be empty", name)
			}
			*to(into) = make([]raw, len(list))
			for i, c := range list {
				aRequest.read(f, name, c, &(*to(into))[i])
			}
		},
		schema: func(d *definitions) object {
			return object{"type": "array", "items": aRequest.schema(d), "minItems": 1}
		},
	}
}

// labelsShape is the map of a text. A code may be written as a number, a label as well.
func labelsShape() shape[textDecl] {
	code := wordRule{min: 1, max: 400}
	return namedOf(func(t *textDecl) *[]labelDecl { return &t.labels }, code, func(l *labelDecl) *word { return &l.code },
		text(func(l *labelDecl) *word { return &l.label }, aLabel))
}

// typeShape is the name of a type.
func typeShape() shape[fieldDecl] {
	return shape[fieldDecl]{
		read: func(f *file, name string, n *yaml.Node, into *fieldDecl) {
			w, ok := readWord(f, "type", n, wordRule{max: 1 << 20})
			if !ok {
				return
			}
			if _, ok := ParseType(w.text); !ok {
				hint := problem.OneOf(w.text, Kinds())
				if decimalText.MatchString(w.text) {
					hint = "decimal(digits,scale): 1 to 1000 digits, and no more after the point than there are"
				}
				f.tell(w.at, hint, "%s is no type", problem.Quote(w.text))
				return
			}
			into.typ = w
		},
		schema: func(d *definitions) object {
			return d.refer("type", func(*definitions) object {
				return object{
					"description": "A type. A decimal may say its digits: decimal(12,2).",
					"anyOf": []object{
						{"type": "string", "enum": Kinds()},
						{"type": "string", "pattern": decimalText.String()},
					},
				}
			})
		},
	}
}

// fieldShape is a field in full, or its type alone.
func fieldShape() shape[fieldDecl] {
	short := typeShape()
	return shape[fieldDecl]{
		read: func(f *file, name string, n *yaml.Node, into *fieldDecl) {
			switch k := deref(n); {
			case k.Kind == yaml.ScalarNode && k.ShortTag() == "!!null":
				f.tell(into.code.at, name+": integer", "the field %s has no type", problem.Quote(name))
			case k.Kind == yaml.ScalarNode:
				into.at = placeOf(n)
				short.read(f, name, n, into)
			default:
				fieldTable.read(f, name, n, into)
			}
		},
		schema: func(d *definitions) object { return object{"anyOf": []object{short.schema(d), fieldTable.schema(d)}} },
	}
}

// rowsShape is a named rule, which the key rule or args shows, or a condition.
func rowsShape() shape[resDecl] {
	cond := rawOf(func(r *rowsDecl) *raw { return &r.cond }, `a condition or {rule, args}`, "condition")
	return shape[resDecl]{
		read: func(f *file, name string, n *yaml.Node, into *resDecl) {
			into.rows.at = placeOf(n)
			if k := deref(n); k.Kind == yaml.MappingNode {
				for i := 0; i < len(k.Content); i += 2 {
					if w := deref(k.Content[i]).Value; w == "rule" || w == "args" {
						rowsTable.read(f, "", n, &into.rows)
						return
					}
				}
			}
			cond.read(f, name, n, &into.rows)
		},
		schema: func(d *definitions) object { return object{"anyOf": []object{rowsTable.schema(d), cond.schema(d)}} },
	}
}

// caseRowsShape is all, none or a condition.
func caseRowsShape() shape[caseDecl] {
	named := choice(func(c *caseDecl) *word { return &c.all }, "all", "none")
	cond := rawOf(func(c *caseDecl) *raw { return &c.cond }, "all, none or a condition", "condition")
	return shape[caseDecl]{
		read: func(f *file, name string, n *yaml.Node, into *caseDecl) {
			if k := deref(n); k.Kind == yaml.ScalarNode && k.ShortTag() == "!!str" {
				named.read(f, name, n, into)
			} else {
				cond.read(f, name, n, into)
			}
		},
		schema: func(d *definitions) object { return object{"anyOf": []object{named.schema(d), cond.schema(d)}} },
	}
}

// pairsShape is the on of a relation: a mapping of pairs, or a list of them.
func pairsShape() shape[relDecl] {
	pairs := namedOf(func(r *relDecl) *[]pairDecl { return &r.on }, aCode, func(p *pairDecl) *word { return &p.from },
		text(func(p *pairDecl) *word { return &p.to }, aCode))
	return shape[relDecl]{
		read: func(f *file, name string, n *yaml.Node, into *relDecl) {
			if deref(n).Kind != yaml.SequenceNode {
				pairs.read(f, name, n, into)
				return
			}
			for _, c := range deref(n).Content {
				switch k := deref(c); {
				case k.Kind == yaml.MappingNode && len(k.Content) == 2:
					pairs.read(f, name, c, into)
				case k.Kind == yaml.MappingNode:
					f.tell(placeOf(c), "one pair per entry", "a pair of %q must be {fieldHere: fieldThere}", name)
				default:
					if w, ok := readWord(f, name, c, aCode); ok {
						into.on = append(into.on, pairDecl{w, w})
					}
				}
			}
		},
		schema: func(d *definitions) object {
			one := pairs.schema(d)
			one["minProperties"], one["maxProperties"] = 1, 1
			return object{"anyOf": []object{pairs.schema(d), {"type": "array", "items": object{"anyOf": []object{aCode.schema(), one}}}}}
		},
	}
}
