package engine

import (
	"slices"
	"strconv"
	"strings"

	"resq/schema"
	"resq/schema/problem"
)

// An aColumn is a column that the caller sees.
type aColumn struct {
	name, dbType string
	t            schema.Type
	required     bool // refuses NULL
	preset       string
	hasPreset    bool
	comment      string
	computed     bool
	expression   string // of a computed one, as far as it may be seen
	counted      bool   // by the database
	mask         string
}

// columnsOf gives the columns of a table that the caller sees, in the order of the database, and the names of those that it
// does not see. A table that cannot be read has none.
func (q *inquiry) columnsOf(t *aTable) ([]*aColumn, []string, error) {
	var all []*aColumn
	err := q.askIfKept(q.asks.Column, t.schema, t.name, func(r told) { all = append(all, columnTold(r, 1)) })
	if err != nil {
		return nil, nil, err
	}
	seen, hidden := q.readable(t, all)
	return seen, hidden, nil
}

func columnTold(r told, at int) *aColumn {
	c := &aColumn{name: r.text(at), dbType: strings.ToLower(r.text(at + 1)), required: r.yes(at + 2), preset: r.text(at + 3), hasPreset: r[at+3] != nil, comment: harmless(r.text(at + 4)),
		expression: r.text(at + 5), computed: r.yes(at + 6), counted: r.yes(at + 7)}
	if c.counted {
		c.preset, c.hasPreset = "", false
	}
	c.t = typeTold(c.dbType)
	return c
}

// readable keeps the columns that the caller sees.
func (q *inquiry) readable(t *aTable, all []*aColumn) (seen []*aColumn, hidden []string) {
	declared := t.use.Declared(q)
	for _, c := range all {
		if declared != nil && !slices.ContainsFunc(declared, func(n string) bool { return strings.EqualFold(n, c.name) }) {
			hidden = append(hidden, c.name)
			continue
		}
		if c.mask = t.use.Masked(c.name); c.mask != "" {
			c.preset, c.hasPreset = "", false // a value, and one that the column may hold
		}
		for _, r := range t.use.Resources {
			for _, f := range r.Fields {
				if strings.EqualFold(f.Column, c.name) && q.view.Readable(f) {
					c.t = f.Type
				}
			}
		}
		seen = append(seen, c)
	}
	for _, c := range seen {
		if tells(c.preset, hidden) {
			c.preset, c.hasPreset = "", false
		}
		if tells(c.expression, hidden) {
			c.expression = ""
		}
	}
	return seen, hidden
}

// columnsIn gives the columns that the caller sees of all tables of a schema.
func (q *inquiry) columnsIn(schemaName string, list []*aTable) (map[*aTable][]*aColumn, error) {
	out := map[*aTable][]*aColumn{}
	if q.asks.Columns.Text == "" {
		for _, t := range list {
			cols, _, err := q.columnsOf(t)
			if err != nil {
				return nil, err
			}
			out[t] = cols
		}
		return out, nil
	}
	byName := make(map[string]*aTable, len(list))
	for _, t := range list {
		byName[t.name] = t
	}
	err := q.ask(q.asks.Columns, schemaName, "", func(r told) {
		if t := byName[r.text(0)]; t != nil {
			out[t] = append(out[t], columnTold(r, 1))
		}
	})
	for t, cols := range out {
		out[t], _ = q.readable(t, cols)
	}
	return out, err
}

func (q *inquiry) keyOf(t *aTable, seen []*aColumn) ([]string, error) {
	var key []string
	if err := q.ask(q.asks.Key, t.schema, t.name, func(r told) { key = append(key, r.text(0)) }); err != nil {
		return nil, err
	}
	if !holdsAll(seen, key) {
		return nil, nil
	}
	return key, nil
}

func holdsAll(seen []*aColumn, names []string) bool {
	for _, n := range names {
		if !slices.ContainsFunc(seen, func(c *aColumn) bool { return strings.EqualFold(c.name, n) }) {
			return false
		}
	}
	return true
}

// tells says whether SQL of the database's names one of the columns, as far as its words say.
func tells(text string, hidden []string) bool {
	if text == "" || len(hidden) == 0 {
		return false
	}
	in := wordsOf(text)
	for _, h := range hidden {
		if !slices.ContainsFunc(wordsOf(h), func(w string) bool { return !slices.Contains(in, w) }) {
			return true
		}
	}
	return false
}

// wordsOf are the runs of letters and digits, in lower case.
func wordsOf(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !(r == '_' || r == '$' || r >= 0x80 || '0' <= r && r <= '9' || 'a' <= r && r <= 'z')
	})
}

// typeTold is what the type of a column means, in the words of catalogs.
func typeTold(dbType string) schema.Type {
	name, rest, _ := strings.Cut(dbType, "(")
	args, _, _ := strings.Cut(rest, ")")
	name = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(name), " unsigned"))
	if strings.HasSuffix(dbType, "[]") {
		return schema.Type{Kind: schema.Any}
	}
	switch name {
	case "tinyint":
		if args == "1" {
			return schema.Type{Kind: schema.Bool}
		}
		return schema.Type{Kind: schema.Integer}
	case "int", "integer", "bigint", "smallint", "mediumint", "int2", "int4", "int8", "year":
		return schema.Type{Kind: schema.Integer}
	case "decimal", "numeric":
		t := schema.Type{Kind: schema.Decimal}
		p, s, _ := strings.Cut(args, ",")
		t.Precision, _ = strconv.Atoi(strings.TrimSpace(p))
		t.Scale, _ = strconv.Atoi(strings.TrimSpace(s))
		return t
	case "float", "double", "real", "double precision", "float4", "float8":
		return schema.Type{Kind: schema.Number}
	case "bool", "boolean":
		return schema.Type{Kind: schema.Bool}
	case "date":
		return schema.Type{Kind: schema.Date}
	case "datetime", "timestamp", "timestamp without time zone", "timestamp with time zone", "timestamptz":
		return schema.Type{Kind: schema.DateTime}
	case "time", "time without time zone":
		return schema.Type{Kind: schema.Time}
	case "char", "varchar", "character", "character varying", "nchar", "nvarchar", "bpchar":
		return schema.Type{Kind: schema.String}
	case "text", "tinytext", "mediumtext", "longtext", "clob", "citext":
		return schema.Type{Kind: schema.Text}
	case "enum":
		return schema.Type{Kind: schema.Enum}
	case "json", "jsonb":
		return schema.Type{Kind: schema.JSON}
	case "uuid":
		return schema.Type{Kind: schema.UUID}
	case "blob", "tinyblob", "mediumblob", "longblob", "binary", "varbinary", "bytea":
		return schema.Type{Kind: schema.Binary}
	}
	if strings.HasPrefix(name, "timestamp") && strings.Contains(dbType, "time zone") {
		return schema.Type{Kind: schema.DateTime}
	}
	return schema.Type{Kind: schema.Any}
}

// meaning is what an annotation says of a column.
func (t *aTable) meaning(column string) string {
	if t.note != nil {
		for _, l := range t.note.Columns {
			if strings.EqualFold(l.Code, column) {
				return l.Label
			}
		}
	}
	return ""
}

func (q *inquiry) searchColumns(schemaName, filter string, system bool) (*Answer, error) {
	names, err := q.where(schemaName, system)
	if err != nil {
		return nil, err
	}
	l := q.listing()
	match := matcher(filter)
	for _, s := range names {
		list, err := q.in(s)
		if err != nil {
			return nil, err
		}
		if len(list) == 0 {
			continue
		}
		cols, err := q.columnsIn(s, list)
		if err != nil {
			return nil, err
		}
		for _, t := range list {
			for _, c := range cols[t] {
				if !match(c.name) {
					continue
				}
				o := t.head().text("column", c.name)
				if !l.add(q.columnKeys(o, t, c)) {
					return l.answer(), nil
				}
			}
		}
	}
	return l.answer(), nil
}

// columnKeys tells of a column what all tools tell.
func (q *inquiry) columnKeys(o object, t *aTable, c *aColumn) object {
	o = o.text("type", c.t.String()).text("database_type", c.dbType).some("comment", c.comment).some("business_description", t.meaning(c.name))
	return o.some("mask", c.mask)
}

func (q *inquiry) describe(schemaName, name string) (*Answer, error) {
	t, err := q.table(schemaName, name, "table")
	if err != nil {
		return nil, err
	}
	cols, _, err := q.columnsOf(t)
	if err != nil {
		return nil, err
	}
	key, err := q.keyOf(t, cols)
	if err != nil {
		return nil, err
	}
	o := newObject().flag("success", true)
	o = append(append(o, ','), t.head()[1:]...)
	o = o.some("comment", t.comment)
	if t.note != nil {
		o = o.some("entity", t.note.Entity).some("business_description", t.note.Description)
	}
	o = o.list("resources", q.resources(t))
	var warnings []string
	var list []object
	size := 0
	for i, c := range cols {
		x := newObject().text("name", c.name)
		x = q.columnKeys(x, t, c).flag("nullable", t.view || !c.required)
		if c.hasPreset {
			x = x.text("default", c.preset)
		}
		if c.counted {
			x = x.flag("counted", true)
		}
		if c.computed {
			x = x.flag("computed", true)
		}
		if size += len(x); size > q.e.opts.MaxBytes {
			warnings = append(warnings, "only "+strconv.Itoa(i)+" of "+strconv.Itoa(len(cols))+" columns are shown, because the answer would be too large; search_columns finds the others")
			break
		}
		list = append(list, x)
	}
	o = o.objects("columns", list).texts("primary_key", key)
	relations, err := q.relations(t, cols)
	if err != nil {
		return nil, err
	}
	if relations != nil {
		o = o.objects("relations", relations)
	}
	o = o.list("warnings", warnings)
	return &Answer{Text: o.end(), Rows: len(list), Cut: len(list) < len(cols)}, nil
}

// relations are the ways to other tables that an annotation knows, as far as the caller sees both ends.
func (q *inquiry) relations(t *aTable, cols []*aColumn) ([]object, error) {
	if t.note == nil {
		return nil, nil
	}
	var out []object
	for _, k := range t.note.Links {
		s := k.Schema
		if s == "" {
			s = t.schema
		}
		to, err := q.find(s, k.Table)
		if err != nil {
			return nil, err
		}
		if to == nil {
			continue
		}
		far, _, err := q.columnsOf(to)
		if err != nil {
			return nil, err
		}
		join, whole := newObject(), true
		for _, j := range k.Join {
			whole = whole && holdsAll(cols, []string{j.Code}) && holdsAll(far, []string{j.Label})
			join = join.text(j.Code, j.Label)
		}
		if !whole {
			continue
		}
		out = append(out, newObject().text("table", tableName(k.Schema, k.Table)).raw("join", join.end()).some("cardinality", k.Cardinality).some("description", k.Description))
	}
	return out, nil
}

// unknownColumn says that a table has no such column.
func unknownColumn(at, name string, cols []*aColumn) *problem.Problem {
	names := make([]string, len(cols))
	for i, c := range cols {
		names[i] = c.name
	}
	return &problem.Problem{Code: problem.UnknownField, Stage: problem.Resources, At: at, Message: "there is no column " + problem.Quote(name) + " here", Hint: problem.OneOf(name, names)}
}
