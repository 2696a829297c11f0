package introspect

import (
	"regexp"
	"strconv"
	"strings"

	"resq/schema"
)

// declared splits a type as SQLite keeps it: the words, and what stands in brackets.
var declared = regexp.MustCompile(`^\s*([^(]*?)\s*(?:\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\)\s*(.*))?$`)

// sqliteKinds are the names that people give types in SQLite, which itself would take any.
var sqliteKinds = map[string]schema.Kind{
	"INT": schema.Integer, "INTEGER": schema.Integer, "TINYINT": schema.Integer, "SMALLINT": schema.Integer,
	"MEDIUMINT": schema.Integer, "BIGINT": schema.Integer, "INT2": schema.Integer, "INT4": schema.Integer,
	"INT8": schema.Integer, "LONG": schema.Integer, "YEAR": schema.Integer, "BIT": schema.Integer,
	"SERIAL": schema.Integer, "SMALLSERIAL": schema.Integer, "BIGSERIAL": schema.Integer,
	"BOOL": schema.Bool, "BOOLEAN": schema.Bool,
	"DECIMAL": schema.Decimal, "NUMERIC": schema.Decimal, "NUMBER": schema.Decimal, "DEC": schema.Decimal,
	"MONEY": schema.Decimal, "SMALLMONEY": schema.Decimal, "CURRENCY": schema.Decimal,
	"REAL": schema.Number, "FLOAT": schema.Number, "DOUBLE": schema.Number, "DOUBLE PRECISION": schema.Number,
	"FLOAT4": schema.Number, "FLOAT8": schema.Number, "BINARY_FLOAT": schema.Number, "BINARY_DOUBLE": schema.Number,
	"DATE": schema.Date, "TIME": schema.Time,
	"DATETIME": schema.DateTime, "DATETIME2": schema.DateTime, "SMALLDATETIME": schema.DateTime,
	"TIMESTAMP": schema.DateTime, "TIMESTAMPTZ": schema.DateTime, "DATETIMEOFFSET": schema.DateTime,
	"TIMESTAMP WITH TIME ZONE": schema.DateTime, "TIMESTAMP WITHOUT TIME ZONE": schema.DateTime,
	"TIME WITHOUT TIME ZONE": schema.Time,
	"CHAR":                   schema.String, "CHARACTER": schema.String, "NCHAR": schema.String, "VARCHAR": schema.String,
	"NVARCHAR": schema.String, "VARCHAR2": schema.String, "NVARCHAR2": schema.String, "BPCHAR": schema.String,
	"CHARACTER VARYING": schema.String, "VARYING CHARACTER": schema.String, "NATIVE CHARACTER": schema.String,
	"NATIONAL CHARACTER": schema.String, "NATIONAL VARCHAR": schema.String, "STRING": schema.String,
	"ENUM": schema.String, "NAME": schema.String, "CITEXT": schema.Text,
	"TEXT": schema.Text, "CLOB": schema.Text, "NCLOB": schema.Text, "NTEXT": schema.Text,
	"TINYTEXT": schema.Text, "MEDIUMTEXT": schema.Text, "LONGTEXT": schema.Text, "LONG VARCHAR": schema.Text,
	"JSON": schema.JSON, "JSONB": schema.JSON,
	"BLOB": schema.Binary, "BINARY": schema.Binary, "VARBINARY": schema.Binary, "BYTEA": schema.Binary,
	"TINYBLOB": schema.Binary, "MEDIUMBLOB": schema.Binary, "LONGBLOB": schema.Binary, "IMAGE": schema.Binary,
	"RAW":  schema.Binary,
	"UUID": schema.UUID, "GUID": schema.UUID, "UNIQUEIDENTIFIER": schema.UUID,
}

// ofSQLite reads the declared type. What is declared wins over what is stored, which may be anything.
func (c *Column) ofSQLite() {
	m := declared.FindStringSubmatch(c.Database)
	if m == nil {
		c.Loose, c.Type = true, schema.Type{Kind: schema.Text}
		return
	}
	words := strings.Fields(strings.ToUpper(m[1] + " " + m[4]))
	var plain []string
	for _, w := range words {
		switch w {
		case "UNSIGNED":
			c.Unsigned = true
		case "SIGNED", "ZEROFILL", "IDENTITY", "AUTO_INCREMENT", "AUTOINCREMENT":
		default:
			plain = append(plain, w)
		}
	}
	size, _ := strconv.Atoi(m[2])
	scale, _ := strconv.Atoi(m[3])
	name := strings.Join(plain, " ")
	kind, known := sqliteKinds[name]
	if !known {
		kind, known = affinity(name)
	}
	c.Unsigned = c.Unsigned && kind == schema.Integer
	c.Type = schema.Type{Kind: kind}
	switch {
	case !known:
		c.Loose = true
	case kind == schema.Decimal && m[3] != "":
		// Digits count only where the declaration gives both: DECIMAL(10) is often used for any number.
		if t, ok := schema.ParseType("decimal(" + m[2] + "," + m[3] + ")"); ok && size > 0 && scale <= size {
			c.Type = t
		}
	case kind == schema.String:
		c.MaxLength = size
	}
}

// affinity follows SQLite's own rules for a name that is not in the table: https://sqlite.org/datatype3.html.
// It is false where the rules say no more than "numeric, perhaps", and for a geometry, whose POINT has an
// INT in it.
func affinity(name string) (schema.Kind, bool) {
	has := func(part string) bool { return strings.Contains(name, part) }
	switch {
	case has("POINT"), has("GEOM"):
		return schema.Text, false
	case has("INT"):
		return schema.Integer, true
	case has("CHAR"):
		return schema.String, true
	case has("CLOB"), has("TEXT"):
		return schema.Text, true
	case has("BLOB"):
		return schema.Binary, true
	case has("REAL"), has("FLOA"), has("DOUB"):
		return schema.Number, true
	}
	return schema.Text, false
}
