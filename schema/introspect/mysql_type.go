package introspect

import (
	"strings"

	"resq/schema"
)

var mysqlKinds = map[string]schema.Kind{
	"tinyint": schema.Integer, "smallint": schema.Integer, "mediumint": schema.Integer, "int": schema.Integer,
	"integer": schema.Integer, "bigint": schema.Integer, "year": schema.Integer, "bit": schema.Integer,
	"decimal": schema.Decimal, "numeric": schema.Decimal,
	"float": schema.Number, "double": schema.Number, "real": schema.Number,
	"char": schema.String, "varchar": schema.String, "set": schema.String, "enum": schema.Enum,
	"tinytext": schema.Text, "text": schema.Text, "mediumtext": schema.Text, "longtext": schema.Text,
	"binary": schema.Binary, "varbinary": schema.Binary, "tinyblob": schema.Binary, "blob": schema.Binary,
	"mediumblob": schema.Binary, "longblob": schema.Binary, "vector": schema.Binary,
	"date": schema.Date, "time": schema.Time, "datetime": schema.DateTime, "timestamp": schema.DateTime,
	"json": schema.JSON, "uuid": schema.UUID,
}

// ofMySQL reads the type: name is data_type, c.Database column_type. TINYINT(1), which BOOLEAN becomes, stays a number,
// for it may hold others than 0 and 1; whoever knows that it does not declares it a bool.
func (c *Column) ofMySQL(name string, length int64, precision, scale int) {
	kind, ok := mysqlKinds[name]
	if !ok {
		kind, c.Native = schema.String, c.Database
	}
	c.Type = schema.Type{Kind: kind}
	switch {
	case name == "bit", name == "year":
		c.Unsigned = true
	case kind == schema.Integer:
		c.Unsigned = strings.Contains(strings.ToLower(c.Database), "unsigned")
	case kind == schema.Decimal:
		c.Type.Precision, c.Type.Scale = precision, scale
	case kind == schema.Enum:
		c.Values = listMySQL(c.Database)
	case name == "set":
		c.Array = true
	case name == "timestamp": // an instant: the server turns it into its session's zone
		c.Zone = true
	case kind == schema.String && c.Native == "", name == "binary", name == "varbinary":
		c.MaxLength = int(length)
	}
}

// checkJSON makes the column JSON when the check holds it to that. A check with OR in it holds nothing.
func (c *Column) checkJSON(clause string) {
	if c.Type.Kind != schema.Text && c.Type.Kind != schema.String || c.Array || c.Native != "" {
		return
	}
	want := "json_valid(`" + strings.ReplaceAll(c.Name, "`", "``") + "`)"
	for part := range strings.SplitSeq(clause, " and ") {
		if strings.EqualFold(strings.TrimSpace(part), want) && !strings.Contains(strings.ToLower(clause), " or ") {
			c.Type, c.MaxLength, c.Default = schema.Type{Kind: schema.JSON}, 0, ""
		}
	}
}

// listMySQL reads the values of enum('a','b”c'). The server writes them with doubled quotes, and a
// backslash before a backslash, a line break and NUL.
func listMySQL(column string) []string {
	from, to := strings.IndexByte(column, '('), strings.LastIndexByte(column, ')')
	if from < 0 || to < from {
		return nil
	}
	var values []string
	rest := column[from+1 : to]
	for strings.HasPrefix(rest, "'") {
		end := endOfString(rest)
		if v, ok := unquote(plainMySQL(rest[:end])); ok {
			values = append(values, v)
		}
		rest = strings.TrimPrefix(rest[end:], ",")
	}
	return values
}

// endOfString is where the string ends with which s begins.
func endOfString(s string) int {
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '\\':
			i++
		case s[i] != '\'':
		case i+1 < len(s) && s[i+1] == '\'':
			i++
		default:
			return i + 1
		}
	}
	return len(s)
}

var escapes = strings.NewReplacer(`\\`, `\`, `\'`, `''`, `\"`, `"`, `\n`, "\n", `\r`, "\r", `\t`, "\t", `\0`, "\x00", `\Z`, "\x1a", `\b`, "\b")

// plainMySQL turns the backslash escapes of a string into standard SQL; anything else stays as it is.
func plainMySQL(s string) string {
	if !strings.HasPrefix(s, "'") {
		return s
	}
	return escapes.Replace(s)
}
