package sqlite

import (
	"resq/engine/plan"
	"resq/engine/sqlgen"
	"resq/schema"
)

// valid writes a document, or NULL where the text is no JSON.
func valid(w *sqlgen.Writer, doc plan.Expr) *sqlgen.Writer {
	return w.SQL("CASE WHEN json_valid(").Expr(doc).SQL(") THEN ").Expr(doc).SQL(" END")
}

// Document reads a member as text, or an array's length.
func (Dialect) Document(w *sqlgen.Writer, x *plan.Document) {
	if x.Length {
		w.SQL("json_array_length(")
		valid(w, x.Doc).SQL(", ").Arg(sqlgen.JSONPath(x.Path)).SQL(")")
		return
	}
	if x.Kind {
		w.SQL("(CASE json_type(")
		valid(w, x.Doc).SQL(", ").Arg(sqlgen.JSONPath(x.Path)).SQL(") WHEN 'true' THEN 'boolean' WHEN 'false' THEN 'boolean' WHEN 'integer' THEN 'number' WHEN 'real' THEN 'number' WHEN 'text' THEN 'string' ELSE json_type(")
		valid(w, x.Doc).SQL(", ").Arg(sqlgen.JSONPath(x.Path)).SQL(") END)")
		return
	}
	// A number keeps its digits as they are written in the document: -> gives the part as JSON.
	path := sqlgen.JSONPath(x.Path)
	w.SQL("(CASE json_type(")
	valid(w, x.Doc).SQL(", ").Arg(path).SQL(") WHEN 'true' THEN 'true' WHEN 'false' THEN 'false' WHEN 'text' THEN json_extract(")
	valid(w, x.Doc).SQL(", ").Arg(path).SQL(") WHEN 'null' THEN NULL ELSE (")
	valid(w, x.Doc).SQL(") -> ").Arg(path).SQL(" END)")
}

// Contains looks among the elements of the array.
func (Dialect) Contains(w *sqlgen.Writer, x *plan.Contains) {
	if x.Not {
		w.SQL("(NOT ")
	}
	w.SQL("EXISTS (SELECT 1 FROM json_each(")
	valid(w, x.Doc).SQL(", ").Arg(sqlgen.JSONPath(x.Path)).SQL(") AS je WHERE json_type(")
	valid(w, x.Doc).SQL(", ").Arg(sqlgen.JSONPath(x.Path)).SQL(") = 'array' AND (")
	for i, v := range x.Values {
		if i > 0 {
			w.SQL(" OR ")
		}
		a := v.(*plan.Arg)
		switch a.T.Kind {
		case schema.Bool:
			if a.Value == true {
				w.SQL("je.type = 'true'")
			} else {
				w.SQL("je.type = 'false'")
			}
		case schema.Decimal:
			w.SQL("(je.type IN ('integer', 'real') AND je.value = ").Arg(a).SQL(")")
		default:
			w.SQL("(je.type = 'text' AND je.value = ").Arg(a).SQL(")")
		}
	}
	if len(x.Values) == 0 {
		w.SQL("1 = 0")
	}
	w.SQL("))")
	if x.Not {
		w.SQL(")")
	}
}

// Unnest looks for a value among the elements of another field's array.
func (Dialect) Unnest(w *sqlgen.Writer, x *plan.Unnest) {
	doc := x.Doc.(*plan.Document)
	if x.Not {
		w.SQL("(NOT ")
	}
	w.SQL("EXISTS (SELECT 1 FROM json_each(")
	valid(w, doc.Doc).SQL(", ").Arg(sqlgen.JSONPath(doc.Path)).SQL(") AS je WHERE json_type(")
	valid(w, doc.Doc).SQL(", ").Arg(sqlgen.JSONPath(doc.Path)).SQL(") = 'array' AND (je.type IN ('integer', 'real') AND je.value = ").Expr(x.X).SQL(" OR je.type = 'text' AND je.value = CAST(").Expr(x.X).SQL(" AS TEXT)))")
	if x.Not {
		w.SQL(")")
	}
}
