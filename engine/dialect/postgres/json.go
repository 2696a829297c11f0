package postgres

import (
	"strconv"
	"strings"

	"resq/engine/plan"
	"resq/engine/sqlgen"
	"resq/schema"
)

// document writes a column as jsonb; a column's array is JSON already.
func document(w *sqlgen.Writer, doc plan.Expr) *sqlgen.Writer {
	return w.SQL("CAST(").Expr(doc).SQL(" AS jsonb)")
}

// at writes a document's part; the path is an array of texts. An index into anything but an array gives
// nothing, and neither does a number as the name of an array's member: PostgreSQL would take each for the
// other, and a scalar for an array of one.
func at(w *sqlgen.Writer, doc plan.Expr, p plan.Path) *sqlgen.Writer { return part(w, doc, p, " #> ") }

func part(w *sqlgen.Writer, doc plan.Expr, p plan.Path, operator sqlgen.Text) *sqlgen.Writer {
	if len(p) == 0 && operator == " #> " {
		return document(w, doc)
	}
	guards := 0
	for i, s := range p {
		kind := sqlgen.Text(" AS text[])) = 'array'")
		if s.Name != "" {
			kind = " AS text[])) = 'object'"
			if _, err := strconv.Atoi(s.Name); err != nil {
				continue
			}
		}
		w.SQL([]sqlgen.Text{"(CASE WHEN jsonb_typeof(", " AND jsonb_typeof("}[min(guards, 1)])
		document(w, doc).SQL(" #> CAST(").Arg(pathArg(p[:i])).SQL(kind)
		guards++
	}
	if guards > 0 {
		w.SQL(" THEN ")
	}
	w.SQL("(")
	document(w, doc).SQL(operator).SQL("CAST(").Arg(pathArg(p)).SQL(" AS text[]))")
	if guards > 0 {
		w.SQL(" END)")
	}
	return w
}

func pathArg(p plan.Path) *plan.Arg {
	parts := make([]string, len(p))
	for i, s := range p {
		if s.Name != "" {
			parts[i] = `"` + s.Name + `"`
		} else {
			parts[i] = strconv.Itoa(s.Index)
		}
	}
	return &plan.Arg{Value: "{" + strings.Join(parts, ",") + "}", T: schema.Type{Kind: schema.Text}}
}

// Document reads a member as text, or an array's length.
func (Dialect) Document(w *sqlgen.Writer, x *plan.Document) {
	if x.Kind {
		w.SQL("jsonb_typeof(")
		at(w, x.Doc, x.Path).SQL(")")
		return
	}
	if !x.Length {
		part(w, x.Doc, x.Path, " #>> ")
		return
	}
	w.SQL("(CASE WHEN jsonb_typeof(")
	at(w, x.Doc, x.Path).SQL(") = 'array' THEN CAST(jsonb_array_length(")
	at(w, x.Doc, x.Path).SQL(") AS bigint) WHEN ")
	at(w, x.Doc, x.Path).SQL(" IS NOT NULL THEN 0 END)")
}

// Contains uses containment of arrays.
func (Dialect) Contains(w *sqlgen.Writer, x *plan.Contains) {
	if x.Not {
		w.SQL("(NOT ")
	}
	w.SQL("COALESCE((jsonb_typeof(")
	at(w, x.Doc, x.Path).SQL(") = 'array' AND (")
	for i, v := range x.Values {
		if i > 0 {
			w.SQL(" OR ")
		}
		at(w, x.Doc, x.Path).SQL(" @> ").Arg(&plan.Arg{Value: "[" + sqlgen.JSONValue(v.(*plan.Arg)) + "]", T: schema.Type{Kind: schema.JSON}})
	}
	if len(x.Values) == 0 {
		w.SQL("FALSE")
	}
	w.SQL(")), FALSE)")
	if x.Not {
		w.SQL(")")
	}
}

// Unnest asks whether a value is among another field's elements, as text or as number.
func (Dialect) Unnest(w *sqlgen.Writer, x *plan.Unnest) {
	doc := x.Doc.(*plan.Document)
	if x.Not {
		w.SQL("(NOT ")
	}
	w.SQL("COALESCE((").Expr(x.X).SQL(" IS NOT NULL AND jsonb_typeof(")
	at(w, doc.Doc, doc.Path).SQL(") = 'array' AND (")
	at(w, doc.Doc, doc.Path).SQL(" @> jsonb_build_array(").Expr(x.X).SQL(") OR ")
	at(w, doc.Doc, doc.Path).SQL(" @> jsonb_build_array(CAST(").Expr(x.X).SQL(" AS text)))), FALSE)")
	if x.Not {
		w.SQL(")")
	}
}
