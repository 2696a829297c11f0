package introspect

import (
	"strings"

	"resq/schema"
)

// postgresType is a row of pg_type.
type postgresType struct {
	name     string
	system   bool   // of pg_catalog
	kind     string // b base, c composite, d domain, e enum, r range, …
	base     int64  // of a domain
	baseName string // of a domain, with its length
	mod      int    // of a domain: the length of its base
	elem     int64
	category string
	notNull  bool
	def      string
	labels   []string
}

var postgresKinds = map[string]schema.Kind{
	"int2": schema.Integer, "int4": schema.Integer, "int8": schema.Integer, "oid": schema.Integer,
	"numeric": schema.Decimal, "float4": schema.Number, "float8": schema.Number, "bool": schema.Bool,
	"varchar": schema.String, "bpchar": schema.String, "char": schema.String, "name": schema.String,
	"text": schema.Text, "bytea": schema.Binary, "uuid": schema.UUID, "json": schema.JSON, "jsonb": schema.JSON,
	"date": schema.Date, "time": schema.Time, "timestamp": schema.DateTime, "timestamptz": schema.DateTime,
}

// setType reads the type of a column and gives the default that a domain brings along.
func (p *postgresDB) setType(c *Column, oid int64, mod int) (def string) {
	name := c.Database
	t := p.types[oid]
	open := func() { // a domain is its base, and the domains below it add to what it demands
		for t != nil && t.kind == "d" {
			c.NotNull = c.NotNull || t.notNull && !c.Array
			if def == "" {
				def = t.def
			}
			name, mod, t = t.baseName, t.mod, p.types[t.base]
		}
	}
	open()
	if t != nil && t.category == "A" && t.elem != 0 && !strings.HasSuffix(t.name, "vector") {
		c.Array = true
		name = strings.TrimRight(name, "[]")
		t = p.types[t.elem]
		open()
	}
	kind, known := schema.String, false
	if t != nil && t.system {
		kind, known = postgresKinds[t.name]
	}
	switch {
	case t != nil && t.kind == "e" && !c.Array && len(t.labels) > 0:
		kind, c.Values = schema.Enum, t.labels
	case t != nil && t.kind == "c" && !c.Array: // its fields are those of an object
		kind, c.Native = schema.JSON, name
	case t != nil && t.name == "citext":
		kind = schema.Text
	case !known:
		kind = schema.String
		if !c.Array { // the elements of a list are text all the same
			c.Native = name
		}
	}
	if t != nil && t.system && t.name == "bpchar" && !c.Array {
		c.Native = name // as a text it loses the blanks that fill it up
	}
	c.Type = schema.Type{Kind: kind}
	if known {
		c.measure(t.name, mod)
	}
	return def
}

// padded says whether the column is a CHAR of PostgreSQL.
func (c *Column) padded() bool {
	return c.Native == "character" || c.Native == "bpchar" || strings.HasPrefix(c.Native, "character(")
}

// measure reads the length that is packed into the type's modifier; -1 is none.
func (c *Column) measure(name string, mod int) {
	switch name {
	case "varchar", "bpchar":
		c.MaxLength = max(mod-4, 0)
	case "char":
		c.MaxLength = 1
	case "name":
		c.MaxLength = 63
	case "oid":
		c.Unsigned = true
	case "timestamptz":
		c.Zone = true
	case "numeric":
		if mod < 4 {
			return
		}
		precision := (mod - 4) >> 16 & 0xffff
		scale := ((mod-4)&0x7ff ^ 1024) - 1024
		// Since PostgreSQL 15 a scale may be negative or above the precision; a catalog has no such type.
		if scale >= 0 && scale <= precision {
			c.Type.Precision, c.Type.Scale = precision, scale
		}
	}
}
