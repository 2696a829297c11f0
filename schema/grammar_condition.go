package schema

// conditionDefinitions are the parts of the published grammar that package query reads: conditions and requests.
// A test holds them against query's own decoder.
var conditionDefinitions map[string]func(*definitions) object

func init() {
	conditionDefinitions = map[string]func(*definitions) object{
		"condition": conditionSchema, "leaf": leafSchema, "request": requestSchema,
		"output": outputSchema, "join": joinSchema, "item": itemSchema, "order": orderSchema, "walk": walkSchema,
		"where": whereSchema,
	}
}

func part(d *definitions, name string) object { return d.refer(name, conditionDefinitions[name]) }

// strict closes an object of the properties; those named must be there.
func strict(about string, properties object, must ...string) object {
	o := object{"type": "object", "description": about, "properties": properties, "additionalProperties": false}
	if len(must) > 0 {
		o["required"] = must
	}
	return o
}

func told(about string, o object) object { o["description"] = about; return o }

func oneOf(about string, values ...string) object {
	return object{"description": about, "type": "string", "enum": values}
}

func arrayOf(about string, entry object) object {
	return object{"description": about, "type": "array", "items": entry}
}

func aString(about string) object { return object{"description": about, "type": "string"} }

func aBool(about string) object { return object{"description": about, "type": "boolean"} }

func conditionSchema(d *definitions) object {
	return strict("A group of conditions, joined by and or or.", object{
		"type":     oneOf("How the conditions of the group are joined.", "and", "or"),
		"not":      aBool("true negates the whole group."),
		"exprs":    arrayOf("The single comparisons.", part(d, "leaf")),
		"children": arrayOf("Groups inside the group.", part(d, "condition")),
	}, "type")
}

func leafSchema(d *definitions) object {
	scalar := object{"type": []string{"string", "number", "boolean"}}
	return strict("One comparison.", object{
		"field":             aString("A field's code; $name for an argument of the rule; with isExpr an expression."),
		"fieldResource":     aString("The resource of the field when it is not the one at hand."),
		"fieldSqlFunc":      aString("A function around the field."),
		"fieldSqlFuncParam": told("Further arguments of that function.", object{"type": []string{"string", "number", "boolean"}}),
		"operator":          told("The comparison: =, !=, <, <=, >, >=, LIKE, IN, BETWEEN, IS NULL, REGEXP, EXISTS and their NOT forms. Quote it.", object{"type": "string"}),
		"token":             told("What to compare with.", object{"anyOf": []object{scalar, {"type": "array", "items": scalar}}}),
		"tokens":            arrayOf("The values for IN and BETWEEN.", scalar),
		"tokenType": oneOf("What the token is: a value (string), a value of the caller's session (func), a field, an expression, a query, an attribute of "+
			"the principal, a set or, in a tool, an argument (param).", "string", "func", "field", "expr", "query", "principal", "set", "param"),
		"ignoreEmptyParam": aBool("Has no effect here."),
		"isExpr":           aBool("true when field holds an expression."),
		"query":            part(d, "request"),
	}, "operator")
}

func requestSchema(d *definitions) object {
	named := strict("A query under a name.", object{"code": aString("Its name."), "query": part(d, "request")}, "code", "query")
	combined := strict("A combination with another query.", object{
		"op": oneOf("How.", "union", "unionAll", "intersect", "except"), "query": part(d, "request")}, "op", "query")
	return strict("A request, as res-query takes it.", object{
		"resource":   aString("The main resource."),
		"code":       aString("Its name inside this request, when an outer one uses the same resource."),
		"fields":     arrayOf("The outputs; left out, every field.", part(d, "output")),
		"distinct":   aBool("true drops equal rows."),
		"relations":  arrayOf("The joins.", part(d, "join")),
		"conditions": part(d, "condition"),
		"groupBy":    arrayOf("What to group by.", part(d, "item")),
		"having":     part(d, "condition"),
		"orderBy":    arrayOf("The order of the rows.", part(d, "order")),
		"setOps":     arrayOf("Combinations with other queries, from first to last.", combined),
		"with":       arrayOf("Queries that this one may name.", named),
		"recursive":  part(d, "walk"),
		"limit":      told("The most rows.", object{"type": []string{"integer", "string"}}),
		"offset":     told("Rows to leave out first.", object{"type": []string{"integer", "string"}}),
	}, "resource")
}

func outputSchema(*definitions) object {
	return strict("One output.", object{
		"code":         aString("A field's code; with isExpr an expression."),
		"codeResource": aString("The resource of the field when it is not the main one."),
		"alias":        aString("The output's name."),
		"isExpr":       aBool("true when code holds an expression."),
		"dataType":     oneOf("The JSON type to give out.", "string", "bool", "number", "array", "json", "integer", "float"),
	}, "code")
}

func joinSchema(d *definitions) object {
	return strict("One join.", object{
		"code":             aString("The name of the joined resource inside the request."),
		"name":             aString("A note for people."),
		"type":             oneOf("The kind of join.", "inner", "left", "right", "cross"),
		"actuallyResource": aString("The joined resource."),
		"actuallyField":    aString("Its field in the equality."),
		"relationResource": aString("The resource it is joined to."),
		"relationField":    aString("That resource's field in the equality."),
		"conditions":       part(d, "condition"),
	}, "code", "type", "actuallyResource")
}

func itemKeys() object {
	return object{"type": oneOf("What expr holds: {Resource}.{field}, or an expression.", "field", "sql"), "expr": aString("The field or the expression.")}
}

func itemSchema(*definitions) object {
	return object{"description": "{Resource}.{field}, or an expression.", "anyOf": []object{{"type": "string"}, strict("A group key.", itemKeys(), "type", "expr")}}
}

func orderSchema(*definitions) object {
	keys := itemKeys()
	keys["direction"] = oneOf("The direction.", "asc", "desc")
	keys["nulls"] = oneOf("Where rows without a value stand.", "first", "last")
	return object{"description": "{Resource}.{field}, or an expression with a direction.",
		"anyOf": []object{{"type": "string"}, strict("A sort key.", keys, "type", "expr")}}
}

func walkSchema(*definitions) object {
	return strict("A walk through a tree.", object{
		"pField":      aString("The field that holds the parent, as {Resource}.{field}."),
		"cField":      aString("The field that the parent field points to, as {Resource}.{field}."),
		"root":        told("The value of the parent field where the walk begins.", object{"type": []string{"string", "number", "boolean"}}),
		"depth":       told("The most levels.", object{"type": "integer", "minimum": 1}),
		"levelAlias":  aString("The name of an output that holds the level."),
		"pathAlias":   aString("The name of an output that holds the path."),
		"includeRoot": aBool("true adds the row whose own key is root."),
	}, "pField", "cField", "root")
}
