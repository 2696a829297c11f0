package server

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// additions are the optional properties and enum values by which the tools grow beyond their published
// contract, by the place of the schema that has them. The profile contract=seed leaves them out.
var additions = map[string][]string{
	"res-schema":                                 {"detail"},
	"res-query":                                  {"distinct", "having", "setOps", "with", "code", "total", "cursor", "format"},
	"res-query/conditions":                       {"not"},
	"res-query/conditions/exprs/items":           {"isExpr", "tokens", "query"},
	"res-query/orderBy/items/1":                  {"nulls"},
	"res-query/recursive":                        {"levelAlias", "pathAlias", "includeRoot"},
	"res-query/conditions/exprs/items/tokenType": {"field", "expr", "query"},
	"res-query/relations/items/type":             {"cross"},
	"res-create":                                 {"idempotency_key"},
	"res-update":                                 {"__confirm_token__", "dry_run"},
	"res-delete":                                 {"__confirm_token__", "dry_run"},
}

// obvious are the properties whose description descriptions=slim leaves out: their name, or the instructions,
// say the same.
var obvious = []string{
	"res-query/conditions", "res-query/conditions/children", "res-query/conditions/exprs", "res-query/conditions/type",
	"res-query/conditions/not", "res-query/conditions/exprs/items/isExpr", "res-query/conditions/exprs/items/ignoreEmptyParam",
	"res-query/fields/items/isExpr", "res-query/fields/items/dataType", "res-query/groupBy", "res-query/limit", "res-query/offset",
	"res-query/orderBy", "res-query/orderBy/items/0", "res-query/orderBy/items/1/nulls", "res-query/relations/items/actuallyField",
	"res-query/relations/items/actuallyResource", "res-query/relations/items/conditions", "res-query/relations/items/name",
	"res-query/resource", "res-query/recursive/depth", "res-query/recursive/pathAlias", "res-query/distinct",
	"res-query/setOps/items/query", "res-query/with/items/code", "res-query/with/items/query", "res-query/total",
}

// eachSchema visits a schema and those inside it with their places: properties by name, the elements of an
// array as "items", the forms of a union by number.
func eachSchema(at string, o *object, visit func(at string, o *object)) {
	visit(at, o)
	if properties := o.child("properties"); properties != nil {
		for _, m := range properties.members {
			if c, ok := m.value.(*object); ok {
				eachSchema(at+"/"+m.key, c, visit)
			}
		}
	}
	if c := o.child("items"); c != nil {
		eachSchema(at+"/items", c, visit)
	}
	for _, union := range []string{"oneOf", "anyOf"} {
		forms, _ := o.get(union).([]any)
		for i, f := range forms {
			if c, ok := f.(*object); ok {
				eachSchema(at+"/"+strconv.Itoa(i), c, visit)
			}
		}
	}
}

// shape turns the schema of a tool into what a profile shows. The texts are those of the published contract,
// where they differ.
func (p Profile) shape(tool string, schema *object, texts map[string]string) *object {
	schema = schema.clone()
	eachSchema(tool, schema, func(at string, o *object) {
		if p.contract == "seed" {
			seed(at, o, texts)
		}
		if p.descriptions == "slim" && slices.Contains(obvious, at) {
			o.remove("description")
		}
		if o.child("properties") != nil && p.format != contractProfile.format {
			if f := o.child("properties").child("format"); f != nil {
				f.set("default", scalar(p.format))
			}
		}
	})
	switch p.schema {
	case "defs":
		defs(schema)
	case "flat", "single":
		inline(schema, schema.clone(), p.depth)
		eachSchema(tool, schema, func(_ string, o *object) {
			if p.schema == "flat" {
				o.rename("oneOf", "anyOf")
			} else {
				oneForm(o)
			}
		})
	}
	return schema
}

// seed takes what was added out of one schema.
func seed(at string, o *object, texts map[string]string) {
	added := additions[at]
	if properties := o.child("properties"); properties != nil {
		properties.remove(added...)
	}
	if values, ok := o.get("enum").([]any); ok {
		o.set("enum", slices.DeleteFunc(values, func(v any) bool {
			raw, _ := v.(json.RawMessage)
			var s string
			return json.Unmarshal(raw, &s) == nil && slices.Contains(added, s)
		}))
	}
	if text, ok := texts[at]; ok {
		if o.remove("description"); text != "" {
			o.set("description", scalar(text))
		}
	}
}

const refPrefix = "#/properties/"

// defs moves what is referred to into $defs, where all clients look for it, and leaves every reference alone:
// some refuse words beside one.
func defs(root *object) {
	referred := map[string]bool{}
	eachSchema("", root, func(_ string, o *object) {
		if name, ok := strings.CutPrefix(o.text("$ref"), refPrefix); ok {
			referred[name] = true
			o.members = []member{{"$ref", scalar("#/$defs/" + name)}}
		}
	})
	moved := &object{}
	properties := root.child("properties")
	for i, m := range properties.members {
		if referred[m.key] {
			moved.set(m.key, m.value)
			properties.members[i].value = &object{[]member{{"$ref", scalar("#/$defs/" + m.key)}}}
		}
	}
	if len(moved.members) > 0 {
		root.set("$defs", moved)
	}
}

// inline writes out what is referred to, as deep as left; below that a recursive property is not shown. The
// copies go without words and defaults, which the first place has. from is the schema before.
func inline(o, from *object, left int) {
	copied := func(ref string) *object {
		c := from.child("properties").child(strings.TrimPrefix(ref, refPrefix)).clone()
		eachSchema("", c, func(_ string, o *object) { o.remove("title", "description", "default") })
		inline(c, from, left-1)
		return c
	}
	if properties := o.child("properties"); properties != nil {
		var tooDeep []string
		for i, m := range properties.members {
			p, ok := m.value.(*object)
			if !ok {
				continue
			}
			items := p.child("items")
			switch {
			case p.text("$ref") != "" && left > 0:
				c := copied(p.text("$ref"))
				if text := p.get("description"); text != nil {
					c.set("description", text)
				}
				properties.members[i].value = c
			case items != nil && items.text("$ref") != "" && left > 0:
				p.set("items", copied(items.text("$ref")))
			case p.text("$ref") != "", items != nil && items.text("$ref") != "":
				tooDeep = append(tooDeep, m.key)
			default:
				inline(p, from, left)
			}
		}
		properties.remove(tooDeep...)
	}
	if c := o.child("items"); c != nil {
		inline(c, from, left)
	}
	forms, _ := o.get("oneOf").([]any)
	for _, f := range forms {
		if c, ok := f.(*object); ok {
			inline(c, from, left)
		}
	}
}

// oneForm puts the richest form of a union in its place: the object, or else the list.
func oneForm(o *object) {
	forms, ok := o.get("oneOf").([]any)
	if !ok {
		return
	}
	var best *object
	for _, kind := range []string{"object", "array"} {
		for _, f := range forms {
			if c, ok := f.(*object); ok && best == nil && c.text("type") == kind {
				best = c
			}
		}
	}
	if best == nil {
		best, _ = forms[0].(*object)
	}
	o.remove("oneOf")
	for _, m := range best.members {
		o.set(m.key, m.value)
	}
}
