package introspect

import (
	"slices"

	"resq/schema"
)

// fits are the kinds of column that a field of another kind may stand for, per database. A catalog may say
// more than the database does: a tinyint that is a truth value, a text that holds dates.
var fits = map[string]map[schema.Kind][]schema.Kind{
	"sqlite": {
		schema.Integer:  {schema.Bool, schema.Decimal, schema.Number},
		schema.Bool:     {schema.Integer, schema.Decimal, schema.Text, schema.String},
		schema.Date:     {schema.DateTime, schema.Text, schema.String, schema.Integer, schema.Decimal, schema.Number},
		schema.Time:     {schema.DateTime, schema.Text, schema.String, schema.Integer, schema.Decimal, schema.Number},
		schema.DateTime: {schema.Date, schema.Text, schema.String, schema.Integer, schema.Decimal, schema.Number},
		schema.JSON:     {schema.Text, schema.String, schema.Binary},
		schema.UUID:     {schema.Text, schema.String, schema.Binary},
		schema.Text:     {schema.JSON, schema.Date, schema.Time, schema.DateTime, schema.Bool},
		schema.String:   {schema.JSON, schema.Date, schema.Time, schema.DateTime, schema.Bool},
		schema.Decimal:  {schema.Text, schema.String}, // the only way to keep its digits there
		schema.Enum:     {schema.Integer},
	},
	"mysql": {
		schema.Bool:    {schema.Integer},
		schema.Integer: {schema.Bool},
		schema.Decimal: {schema.Bool},
		schema.Number:  {schema.Bool},
		schema.JSON:    {schema.Text, schema.String},
		schema.UUID:    {schema.Binary},
		schema.Text:    {schema.JSON},
		schema.String:  {schema.JSON},
		schema.Enum:    {schema.Integer, schema.Bool},
	},
	"postgres": {
		schema.Text:   {schema.Enum},
		schema.String: {schema.Enum},
	},
}

// mismatch says why a field cannot stand for a column, as the end of a sentence; "" is that it can.
func (c *check) mismatch(f fieldEntry, col *Column) string {
	switch {
	case col.Loose:
		return ""
	case f.array != col.Array, f.zone != col.Zone && c.s.Driver == "postgres":
		return "; a list and a zone must be declared as they are"
	case col.Zone && !f.zone && c.zoned:
		return "; it is read in UTC, and would be taken for local time of the connection's zone: declare it with zone: true"
	case f.typ.Kind == col.Type.Kind:
	case c.s.Driver == "postgres" && f.native && col.Native != "" && slices.Contains([]schema.Kind{schema.String, schema.Text, schema.JSON}, f.typ.Kind):
		return "" // each of its own types can be shown as text and as JSON
	case f.typ.Kind.Numeric() && col.Type.Kind.Numeric():
		// A field of whole numbers must not meet fractions.
		if f.typ.Kind == schema.Integer && c.s.Driver != "sqlite" && (col.Type.Kind == schema.Number || col.Type.Scale > 0 || col.Type.Precision == 0) {
			return "; it may hold fractions"
		}
	case f.typ.Kind.Textual() && col.Type.Kind.Textual() && (c.s.Driver != "postgres" || (f.typ.Kind == schema.UUID) == (col.Type.Kind == schema.UUID)):
	case slices.Contains(fits[c.s.Driver][f.typ.Kind], col.Type.Kind):
	default:
		return "; the two are not compared or written alike"
	}
	if c.s.Driver == "postgres" && col.padded() && !f.native {
		return "; its values are filled up with blanks, which only a field with native: " + col.Native + " is without"
	}
	if c.s.Driver == "postgres" && f.native != (col.Native != "") {
		return "; a type that the catalog has no name for is declared as native"
	}
	return ""
}
