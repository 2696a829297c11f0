package registry

import (
	"slices"
	"strings"

	"resq/engine/funcs"
	"resq/schema"
	"resq/schema/query"
)

// Note [what is kept of arguments]
//
// Of the arguments of a call an audit keeps what is known to be harmless, and *** for all else: what a request is made
// of (resources, fields, relations, functions, operators), switches and small numbers, and values of fields that
// everybody may read as they are. A key or a name that the catalog does not have may hold anything, so it is *** as well. Whatever
// the engine reads as JSON, a text of it included, is looked into as the engine does.
//
// Whether values of a field may be kept is decided by its name alone: a name that any resource has for a field that is
// masked, or not everybody's, is closed everywhere, and so is one that the request itself gives to an output.

// Known is what of a catalog's calls may be kept.
type Known struct {
	names  map[string]bool // of resources, fields and relations
	open   map[string]bool // fields
	keys   map[string]bool // resources of which everybody may read the key
	params map[string]map[string]keepRule
	secret func(string) bool // nil knows none
}

// A keepRule gives what is kept of an argument of a catalog's tool.
type keepRule func(v any) any

// NewKnown looks through a catalog.
func NewKnown(cat *schema.Catalog) *Known {
	n := &Known{names: map[string]bool{}, open: map[string]bool{}, keys: map[string]bool{}, params: map[string]map[string]keepRule{}}
	closed := map[string]bool{}
	masked := map[string]bool{} // columns of tables, whatever their letter case
	for _, m := range cat.Masks {
		masked[strings.ToLower(m.Column)] = true
	}
	for _, r := range cat.Resources {
		n.names[r.Code] = true
		for _, x := range r.Relations {
			n.names[x.Code] = true
		}
		for _, f := range r.Fields {
			n.names[f.Code] = true
			if f.Mask == "" && len(f.Roles) == 0 && len(r.Roles) == 0 && !masked[strings.ToLower(f.Column)] {
				n.open[f.Code] = true
			} else {
				closed[f.Code], closed[f.Column] = true, true
			}
		}
	}
	for name := range closed {
		delete(n.open, name)
	}
	for _, r := range cat.Resources {
		n.keys[r.Code] = !slices.ContainsFunc(r.Key, func(f *schema.Field) bool { return !n.open[f.Code] })
	}
	for _, t := range cat.Tools {
		n.params[t.Name] = n.rules(t)
	}
	return n
}

// Secret lets words of which is says so be hidden, such as keys of the configuration, which may look like anything. It must be set before
// the first use.
func (n *Known) Secret(is func(word string) bool) *Known {
	n.secret = is
	return n
}

// rules says what is kept of the arguments of a tool: what its catalog names for that, and otherwise values of fields that
// are open, and those that the catalog lists.
func (n *Known) rules(t *schema.Tool) map[string]keepRule {
	rules := map[string]keepRule{}
	var audit *schema.Audit
	if t.Preset != nil {
		audit = t.Preset.Audit
	}
	for _, p := range t.Params {
		rules[p.Name] = hide
		field := p.Field
		if p.Exists != nil && p.Exists.Field != nil {
			field = p.Exists.Field.Code
		}
		switch {
		case field != "" && !n.open[field]: // whatever the tool says
		case audit != nil:
			if slices.Contains(audit.Args, p.Name) {
				rules[p.Name] = keepValue
			}
		case field != "":
			rules[p.Name] = keepValue
		case p.Type == "enum":
			rules[p.Name] = keepOneOf(p.Values...)
		case p.Type == "boolean":
			rules[p.Name] = keepBool
		}
	}
	if audit == nil {
		rules["page"], rules["rows"] = keepCount, keepCount
		return rules
	}
	for _, name := range []string{"page", "rows"} {
		if slices.Contains(audit.Args, name) {
			rules[name] = keepCount
		}
	}
	for name, mask := range audit.Mask {
		switch mask {
		case "last4":
			rules[name] = func(v any) any {
				if text, ok := v.(string); ok {
					if r := []rune(text); len(r) > 4 {
						return MaskText(strings.Repeat("*", len(r)-4) + string(r[len(r)-4:]))
					}
				}
				return hide(v)
			}
		case "phone":
			rules[name] = func(v any) any {
				if text, ok := v.(string); ok && MaskText(text) != text {
					return MaskText(text)
				}
				return hide(v)
			}
		default:
			rules[name] = hide
		}
	}
	return rules
}

// Keep gives what may be kept of the arguments of a tool, as JSON.
func (n *Known) Keep(tool string, raw []byte) []byte {
	if n == nil {
		n = &Known{}
	}
	kept := n.keep(tool, raw)
	if n.secret == nil || len(kept) < keyShort {
		return kept
	}
	v, _ := readJSON(kept) // which it is
	return writeJSON(hideAll(v, n.secret))
}

func (n *Known) keep(tool string, raw []byte) []byte {
	if len(raw) == 0 {
		return []byte(`""`)
	}
	v, ok := readJSON(raw)
	if !ok {
		return []byte(`"` + hidden + `"`)
	}
	k := &keeper{Known: n, given: map[string]bool{}}
	v = unwrap(v, '{')
	k.notice(v)
	switch tool {
	case "res-schema":
		return writeJSON(object(v, map[string]keepRule{"keywords": k.keywords, "detail": keepOneOf("names", "fields", "full")}))
	case "res-query":
		return writeJSON(k.request(v))
	case "res-create", "res-update", "res-delete":
		return writeJSON(k.write(v))
	case "res-operation", "res-undo":
		return writeJSON(object(v, map[string]keepRule{"op_id": keepOperation, "__confirm__": keepBool, "dry_run": keepBool, "__confirm_token__": hide}))
	}
	return writeJSON(object(v, n.params[tool]))
}

// A keeper looks through the arguments of one call.
type keeper struct {
	*Known
	given map[string]bool // names that the request itself gives to outputs
	mixed bool            // columns of several queries come together
}

// notice finds what makes a name mean something else than in the catalog.
func (k *keeper) notice(v any) {
	switch x := v.(type) {
	case string:
		if in, ok := nested(x); ok {
			k.notice(in)
		}
	case []any:
		for _, in := range x {
			k.notice(in)
		}
	case map[string]any:
		for name, in := range x {
			switch text, _ := in.(string); name {
			case "alias", "levelAlias", "pathAlias":
				k.given[text] = true
			case "setOps":
				k.mixed = true
			}
			k.notice(in)
		}
	}
}

// fieldOpen says whether values that are compared with a field may be kept.
func (k *keeper) fieldOpen(v any) bool {
	text, ok := v.(string)
	name := text[strings.LastIndexByte(text, '.')+1:]
	return ok && !k.mixed && k.open[name] && !k.given[name]
}

// name keeps a name, or two with a point between them, that the catalog has.
func (k *keeper) name(v any) any {
	text, ok := v.(string)
	if !ok {
		return hide(v)
	}
	parts := strings.Split(text, ".")
	for i, p := range parts {
		if !k.names[p] && p != "" {
			parts[i] = hidden
		}
	}
	return strings.Join(parts, ".")
}

// keywords keeps those of a search that are names of the catalog.
func (k *keeper) keywords(v any) any {
	text, ok := v.(string)
	if !ok {
		return hide(v)
	}
	words := strings.Fields(text)
	for i, w := range words {
		if !k.names[w] && w != "|" {
			words[i] = hidden
		}
	}
	return strings.Join(words, " ")
}

func (k *keeper) function(v any) any {
	if text, ok := v.(string); ok {
		if _, known := funcs.Lookup(text); known {
			return text
		}
		if strings.EqualFold(text, "json_member_of") || strings.EqualFold(text, "json_contains") {
			return text
		}
	}
	return hide(v)
}

// expression keeps one without its literals.
func (k *keeper) expression(v any) any {
	text, ok := v.(string)
	if !ok {
		return hide(v)
	}
	out, ok := query.Outline(text, func(name string) bool {
		_, function := funcs.Lookup(name)
		return function || k.names[name]
	}, hidden)
	if !ok {
		return hide(v)
	}
	return out
}

func (k *keeper) request(v any) any {
	return object(v, map[string]keepRule{
		"resource": k.name, "code": k.name, "distinct": keepBool, "total": keepBool, "limit": keepCount, "offset": keepCount, "cursor": hide,
		"format": keepOneOf("columns", "objects", "csv", "markdown"),
		"fields": list(k.field), "conditions": k.group, "having": k.group, "relations": list(k.relation), "groupBy": list(k.item), "orderBy": list(k.item),
		"with": list(func(v any) any { return object(v, map[string]keepRule{"code": k.name, "query": k.request}) }),
		"setOps": list(func(v any) any {
			return object(v, map[string]keepRule{"op": keepOneOf("union", "unionAll", "intersect", "except"), "query": k.request})
		}),
		"recursive": k.walk,
	})
}

func (k *keeper) field(v any) any {
	code := k.name
	if m, _ := unwrap(v, '{').(map[string]any); m["isExpr"] != nil && m["isExpr"] != false {
		code = k.expression
	}
	return object(v, map[string]keepRule{
		"code": code, "codeResource": k.name, "alias": k.name, "isExpr": keepBool,
		"dataType": keepOneOf("string", "bool", "number", "array", "json", "integer", "float"),
	})
}

func (k *keeper) relation(v any) any {
	return object(v, map[string]keepRule{
		"code": k.name, "type": keepOneOf("inner", "left", "right", "cross"), "actuallyResource": k.name, "actuallyField": k.name, "relationResource": k.name,
		"relationField": k.name, "conditions": k.group, "name": hide,
	})
}

// item keeps an entry of groupBy or orderBy.
func (k *keeper) item(v any) any {
	v = unwrap(v, '{')
	m, ok := v.(map[string]any)
	if !ok {
		return k.name(v)
	}
	expr := k.name
	if m["type"] != "field" {
		expr = k.expression
	}
	return object(v, map[string]keepRule{"type": keepOneOf("field", "sql"), "expr": expr, "direction": keepOneOf("asc", "desc"), "nulls": keepOneOf("first", "last")})
}

func (k *keeper) walk(v any) any {
	m, _ := unwrap(v, '{').(map[string]any)
	root := hide
	if k.fieldOpen(m["pField"]) && k.fieldOpen(m["cField"]) {
		root = keepValue
	}
	return object(v, map[string]keepRule{
		"pField": k.name, "cField": k.name, "root": root, "depth": keepCount, "levelAlias": k.name, "pathAlias": k.name, "includeRoot": keepBool,
	})
}

func (k *keeper) group(v any) any {
	return object(v, map[string]keepRule{"type": keepOneOf("and", "or"), "not": keepBool, "exprs": list(k.leaf), "children": list(k.group)})
}

// leaf keeps a comparison, with its values where they are those of an open field.
func (k *keeper) leaf(v any) any {
	m, _ := unwrap(v, '{').(map[string]any)
	field, value, param := k.name, hide, hide
	expr := m["isExpr"] != nil && m["isExpr"] != false
	if expr {
		field = k.expression
	}
	open := !expr && k.fieldOpen(m["field"])
	if open {
		param = keepValue
	}
	switch m["tokenType"] {
	case nil, "string":
		if open {
			value = keepValue
		}
	case "func":
		value = keepOneOf(query.Funcs...)
	case "field":
		value = k.name
	case "expr":
		value = k.expression
	}
	return object(v, map[string]keepRule{
		"field": field, "fieldResource": k.name, "fieldSqlFunc": k.function, "fieldSqlFuncParam": param, "operator": keepOperator, "token": value, "tokens": value,
		"tokenType": keepOneOf("string", "func", "field", "expr", "query"), "ignoreEmptyParam": keepBool, "isExpr": keepBool, "query": k.request,
	})
}

func (k *keeper) write(v any) any {
	ids := hide
	if m, _ := v.(map[string]any); m != nil {
		if text, _ := m["resource"].(string); k.keys[text] {
			ids = list(keepID)
		}
	}
	return object(v, map[string]keepRule{
		"resource": k.name, "ids": ids, "data": k.data, "idempotency_key": hide, "__confirm__": keepBool, "__confirm_token__": hide, "dry_run": keepBool,
	})
}

// data keeps a record or a list of them.
func (k *keeper) data(v any) any {
	if _, ok := unwrap(v, '[').([]any); ok {
		return list(k.data)(v)
	}
	m, ok := unwrap(v, '{').(map[string]any)
	if !ok {
		return hide(v)
	}
	out := make(map[string]any, len(m))
	for name, value := range m {
		switch {
		case k.open[name] && !tells(name):
			out[name] = keepValue(value)
		case k.names[name]:
			out[name] = hide(value)
		default:
			out[hidden] = hidden
		}
	}
	return out
}

// object keeps the members of an object for which there is a rule.
func object(v any, members map[string]keepRule) any {
	m, ok := unwrap(v, '{').(map[string]any)
	if !ok {
		return hide(v)
	}
	out := make(map[string]any, len(m))
	for name, value := range m {
		if keep := members[name]; keep != nil {
			out[name] = keep(value)
		} else {
			out[hidden] = hidden
		}
	}
	return out
}

func list(each keepRule) keepRule {
	return func(v any) any {
		in, ok := unwrap(v, '[').([]any)
		if !ok {
			return hide(v)
		}
		out := make([]any, len(in))
		for i, x := range in {
			out[i] = each(x)
		}
		return out
	}
}
