package mysql

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"resq/engine/plan"
	"resq/engine/sqlgen"
	"resq/schema"
)

// valid writes a document, or NULL where the text is no JSON.
func valid(w *sqlgen.Writer, doc plan.Expr) *sqlgen.Writer {
	return w.SQL("CASE WHEN JSON_VALID(").Expr(doc).SQL(") THEN ").Expr(doc).SQL(" END")
}

// Document reads a member as text, or an array's length.
func (Dialect) Document(w *sqlgen.Writer, x *plan.Document) {
	path := sqlgen.JSONPath(x.Path)
	if x.Length {
		w.SQL("(CASE WHEN ")
		indexed(w, x)
		w.SQL("JSON_TYPE(JSON_EXTRACT(")
		valid(w, x.Doc).SQL(", ").Arg(path).SQL(")) = 'ARRAY' THEN JSON_LENGTH(")
		valid(w, x.Doc).SQL(", ").Arg(path).SQL(") WHEN ")
		indexed(w, x)
		w.SQL("JSON_EXTRACT(")
		valid(w, x.Doc).SQL(", ").Arg(path).SQL(") IS NOT NULL THEN 0 END)")
		return
	}
	if x.Kind {
		w.SQL("(CASE WHEN ")
		indexed(w, x)
		w.SQL("1 = 1 THEN CASE JSON_TYPE(JSON_EXTRACT(")
		valid(w, x.Doc).SQL(", ").Arg(path).SQL(")) WHEN 'OBJECT' THEN 'object' WHEN 'ARRAY' THEN 'array' WHEN 'STRING' THEN 'string' WHEN 'BOOLEAN' THEN 'boolean' WHEN 'NULL' THEN 'null'" +
			" WHEN 'INTEGER' THEN 'number' WHEN 'UNSIGNED INTEGER' THEN 'number' WHEN 'DOUBLE' THEN 'number' WHEN 'DECIMAL' THEN 'number' END END)")
		return
	}
	w.SQL("(CASE WHEN ")
	indexed(w, x)
	w.SQL("JSON_TYPE(JSON_EXTRACT(")
	valid(w, x.Doc).SQL(", ").Arg(path).SQL(")) <> 'NULL' THEN JSON_UNQUOTE(JSON_EXTRACT(")
	valid(w, x.Doc).SQL(", ").Arg(path).SQL(")) END)")
}

// indexed asks that what the path indexes are arrays: MySQL takes any value for an array of one.
func indexed(w *sqlgen.Writer, x *plan.Document) {
	for i, s := range x.Path {
		if s.Name == "" {
			w.SQL("JSON_TYPE(JSON_EXTRACT(")
			valid(w, x.Doc).SQL(", ").Arg(sqlgen.JSONPath(x.Path[:i])).SQL(")) = 'ARRAY' AND ")
		}
	}
}

// Contains uses JSON_CONTAINS for documents and FIND_IN_SET for a SET.
func (Dialect) Contains(w *sqlgen.Writer, x *plan.Contains) {
	if x.Not {
		w.SQL("(NOT ")
	}
	w.SQL("COALESCE((")
	set := false
	if c, ok := x.Doc.(*plan.Column); ok && c.Field != nil && c.Field.Array {
		set = true
	}
	for i, v := range x.Values {
		a := v.(*plan.Arg)
		if i > 0 {
			w.SQL(" OR ")
		}
		if set {
			s, _ := a.Value.(string)
			w.SQL("FIND_IN_SET(").Arg(&plan.Arg{Value: s, T: schema.Type{Kind: schema.Text}}).SQL(", ").Expr(x.Doc).SQL(") > 0")
			continue
		}
		// Only arrays hold elements; JSON_CONTAINS also finds a member in an object. MariaDB takes a character
		// and its escape for different ones.
		w.SQL("(JSON_TYPE(JSON_EXTRACT(")
		valid(w, x.Doc).SQL(", ").Arg(sqlgen.JSONPath(x.Path)).SQL(")) = 'ARRAY' AND (")
		for k, form := range forms(sqlgen.JSONValue(a)) {
			if k > 0 {
				w.SQL(" OR ")
			}
			w.SQL("JSON_CONTAINS(")
			valid(w, x.Doc).SQL(", ").Arg(&plan.Arg{Value: "[" + form + "]", T: schema.Type{Kind: schema.Text}}).SQL(", ").Arg(sqlgen.JSONPath(x.Path)).SQL(")")
		}
		w.SQL("))")
	}
	if len(x.Values) == 0 {
		w.SQL("1 = 0")
	}
	w.SQL("), 0)")
	if x.Not {
		w.SQL(")")
	}
}

// forms gives a JSON value with its characters as they are and, if it has others than ASCII, with escapes.
func forms(value string) []string {
	if strings.IndexFunc(value, func(r rune) bool { return r > unicode.MaxASCII }) < 0 {
		return []string{value}
	}
	var b strings.Builder
	for _, u := range utf16.Encode([]rune(value)) {
		if u < utf8.RuneSelf {
			b.WriteByte(byte(u))
		} else {
			fmt.Fprintf(&b, `\u%04x`, u)
		}
	}
	return []string{value, b.String()}
}

// Unnest asks whether a value is among another field's elements, as text or as number.
func (Dialect) Unnest(w *sqlgen.Writer, x *plan.Unnest) {
	doc := x.Doc.(*plan.Document)
	path := sqlgen.JSONPath(doc.Path)
	if x.Not {
		w.SQL("(NOT ")
	}
	w.SQL("COALESCE((").Expr(x.X).SQL(" IS NOT NULL AND JSON_TYPE(JSON_EXTRACT(")
	valid(w, doc.Doc).SQL(", ").Arg(path).SQL(")) = 'ARRAY' AND (JSON_CONTAINS(")
	valid(w, doc.Doc).SQL(", JSON_ARRAY(").Expr(x.X).SQL("), ").Arg(path).SQL(") OR JSON_CONTAINS(")
	valid(w, doc.Doc).SQL(", JSON_ARRAY(CAST(").Expr(x.X).SQL(" AS CHAR)), ").Arg(path).SQL("))), 0)")
	if x.Not {
		w.SQL(")")
	}
}
