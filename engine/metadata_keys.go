package engine

import (
	"slices"
	"strings"

	"resq/schema/sqltext"
)

// An anIndex is an index of which the caller sees all columns.
type anIndex struct {
	name            string
	unique, primary bool
	parts           []indexPart
	carried         []string
	where           string
}

type indexPart struct {
	column, expression string
	down               bool
	length             string // of the beginning that is indexed; "0" is all
}

// key are the columns of an index that holds each row's once; nil is one that does not, or not of all rows.
func (x *anIndex) key() []string {
	if !x.unique || x.where != "" {
		return nil
	}
	var names []string
	for _, p := range x.parts {
		if p.column == "" || p.length != "0" {
			return nil
		}
		names = append(names, p.column)
	}
	return names
}

func (q *inquiry) indexesOf(t *aTable, cols []*aColumn, hidden []string) ([]*anIndex, error) {
	var list []*anIndex
	unseen := map[string]bool{}
	err := q.ask(q.asks.Indexes, t.schema, t.name, func(r told) {
		name := r.text(0)
		if len(list) == 0 || list[len(list)-1].name != name {
			list = append(list, &anIndex{name: name, unique: r.yes(1), primary: r.yes(2), where: r.text(6)})
		}
		x := list[len(list)-1]
		column, expression := r.text(3), r.text(4)
		switch {
		case column == "" && expression == "", column != "" && !holdsAll(cols, []string{column}), tells(expression, hidden), tells(x.where, hidden):
			unseen[name] = true
		case r.yes(7):
			x.carried = append(x.carried, column)
		default:
			x.parts = append(x.parts, indexPart{column, expression, r.yes(5), r.text(8)})
		}
	})
	return slices.DeleteFunc(list, func(x *anIndex) bool { return unseen[x.name] }), err
}

// A foreignKey is one that the database declares.
type foreignKey struct {
	table, id, name    string
	columns, far       []string
	toSchema, to       string
	onUpdate, onDelete string
}

// foreignIn gives the foreign keys of a schema's tables, seen or not.
func (q *inquiry) foreignIn(schemaName string) ([]*foreignKey, error) {
	if list, ok := q.keys[schemaName]; ok {
		return list, nil
	}
	var list []*foreignKey
	err := q.ask(q.asks.Foreign, schemaName, "", func(r told) {
		if n := len(list); n == 0 || list[n-1].table != r.text(0) || list[n-1].id != r.text(1) {
			list = append(list, &foreignKey{table: r.text(0), id: r.text(1), name: r.text(2), toSchema: r.text(4), to: r.text(5), onUpdate: action(r.text(7)), onDelete: action(r.text(8))})
		}
		k := list[len(list)-1]
		k.columns, k.far = append(k.columns, r.text(3)), append(k.far, r.text(6))
	})
	if err != nil {
		return nil, err
	}
	q.keys[schemaName] = list
	return list, nil
}

// action is what a foreign key does; "" is that it refuses, under whatever name.
func action(rule string) string {
	if rule = strings.ToUpper(rule); rule == "NO ACTION" || rule == "RESTRICT" {
		return ""
	}
	return rule
}

// foreignOf gives the foreign keys of a table whose both ends the caller sees, with the tables that they refer to.
func (q *inquiry) foreignOf(t *aTable, cols []*aColumn) ([]*foreignKey, []*aTable, error) {
	all, err := q.foreignIn(t.schema)
	if err != nil {
		return nil, nil, err
	}
	var keys []*foreignKey
	var tables []*aTable
	for _, k := range all {
		if k.table != t.name || !holdsAll(cols, k.columns) {
			continue
		}
		to, err := q.find(k.toSchema, k.to)
		if err != nil {
			return nil, nil, err
		}
		if to == nil {
			continue
		}
		far, _, err := q.columnsOf(to)
		if err != nil {
			return nil, nil, err
		}
		if holdsAll(far, k.far) {
			keys, tables = append(keys, k), append(tables, to)
		}
	}
	return keys, tables, nil
}

// A check is a condition that every row of a table meets.
type check struct{ name, text string }

func (q *inquiry) checksOf(t *aTable, hidden []string) ([]check, error) {
	var list []check
	err := q.ask(q.asks.Checks, t.schema, t.name, func(r told) {
		if c := (check{r.text(0), strings.TrimSpace(r.text(1))}); c.text != "" && !tells(c.text, hidden) {
			list = append(list, c)
		}
	})
	return list, err
}

func (q *inquiry) listIndexes(schemaName, name string) (*Answer, error) {
	t, err := q.table(schemaName, name, "table")
	if err != nil {
		return nil, err
	}
	cols, hidden, err := q.columnsOf(t)
	if err != nil {
		return nil, err
	}
	list, err := q.indexesOf(t, cols, hidden)
	if err != nil {
		return nil, err
	}
	l := q.listing()
	for _, x := range list {
		if !l.add(x.told()) {
			break
		}
	}
	return l.answer(), nil
}

func (x *anIndex) told() object {
	o := newObject().text("index", x.name).flag("unique", x.unique).flag("primary", x.primary)
	parts := make([]object, len(x.parts))
	for i, p := range x.parts {
		parts[i] = newObject().some("column", p.column).some("expression", p.expression)
		if p.down {
			parts[i] = parts[i].flag("descending", true)
		}
		if p.length != "0" && p.length != "" {
			parts[i] = parts[i].raw("length", []byte(p.length))
		}
	}
	return o.objects("columns", parts).list("included", x.carried).some("where", x.where)
}

// listConstraints tells what rows must be. Every unique index of all rows is a unique key, whether it was declared as an
// index or as a key: databases differ in what they call it alone.
func (q *inquiry) listConstraints(schemaName, name string) (*Answer, error) {
	t, err := q.table(schemaName, name, "table")
	if err != nil {
		return nil, err
	}
	c, err := q.constraints(t)
	if err != nil {
		return nil, err
	}
	l := q.listing()
	var all []object
	if len(c.key) > 0 {
		all = append(all, newObject().text("type", "primary key").texts("columns", c.key))
	}
	for _, x := range c.unique {
		all = append(all, newObject().text("type", "unique").some("name", given(x.name)).texts("columns", x.key()))
	}
	for i, k := range c.foreign {
		to := c.to[i]
		o := newObject().text("type", "foreign key").some("name", k.name).texts("columns", k.columns).text("referenced_schema", to.schema).text("referenced_table", to.name)
		all = append(all, o.texts("referenced_columns", k.far).some("on_update", k.onUpdate).some("on_delete", k.onDelete))
	}
	for _, x := range c.checks {
		all = append(all, newObject().text("type", "check").some("name", x.name).text("condition", x.text))
	}
	for _, o := range all {
		if !l.add(o) {
			break
		}
	}
	return l.answer(), nil
}

// given is a name that somebody gave; SQLite makes up some.
func given(name string) string {
	if strings.HasPrefix(name, "sqlite_autoindex_") {
		return ""
	}
	return name
}

// constraints are those of a table, as far as the caller sees all that they name.
type constraints struct {
	cols    []*aColumn
	hidden  []string
	key     []string
	unique  []*anIndex
	foreign []*foreignKey
	to      []*aTable
	checks  []check
}

func (q *inquiry) constraints(t *aTable) (c constraints, err error) {
	if c.cols, c.hidden, err = q.columnsOf(t); err != nil {
		return c, err
	}
	if c.key, err = q.keyOf(t, c.cols); err != nil {
		return c, err
	}
	indexes, err := q.indexesOf(t, c.cols, c.hidden)
	if err != nil {
		return c, err
	}
	for _, x := range indexes {
		if !x.primary && x.key() != nil {
			c.unique = append(c.unique, x)
		}
	}
	if c.foreign, c.to, err = q.foreignOf(t, c.cols); err != nil {
		return c, err
	}
	c.checks, err = q.checksOf(t, c.hidden)
	return c, err
}

func (q *inquiry) listRelated(schemaName, name string) (*Answer, error) {
	t, err := q.table(schemaName, name, "table")
	if err != nil {
		return nil, err
	}
	cols, hidden, err := q.columnsOf(t)
	if err != nil {
		return nil, err
	}
	l := q.listing()
	var all []object
	keys, to, err := q.foreignOf(t, cols)
	if err != nil {
		return nil, err
	}
	for i, k := range keys {
		all = append(all, newObject().text("relation", "refers to").text("type", to[i].kind()).text("schema", to[i].schema).text("name", to[i].name).texts("columns", k.columns).texts("other_columns", k.far))
	}
	names, err := q.schemas(false)
	if err != nil {
		return nil, err
	}
	var referring, reading []object
	for _, s := range names {
		list, err := q.in(s)
		if err != nil {
			return nil, err
		}
		if len(list) == 0 {
			continue
		}
		from, err := q.referring(t, cols, s, list)
		if err != nil {
			return nil, err
		}
		referring = append(referring, from...)
		views, err := q.reading(t, s, list)
		if err != nil {
			return nil, err
		}
		reading = append(reading, views...)
	}
	all = append(append(all, referring...), reading...)
	indexes, err := q.indexesOf(t, cols, hidden)
	if err != nil {
		return nil, err
	}
	for _, x := range indexes {
		if given(x.name) != "" && !x.primary {
			all = append(all, newObject().text("relation", "index of").text("type", "index").text("schema", t.schema).text("name", x.name))
		}
	}
	triggers, err := q.triggersOf(t)
	if err != nil {
		return nil, err
	}
	for _, o := range append(all, triggers...) {
		if !l.add(o) {
			break
		}
	}
	return l.answer(), nil
}

// referring are the tables of a schema that refer to t.
func (q *inquiry) referring(t *aTable, cols []*aColumn, schemaName string, list []*aTable) ([]object, error) {
	keys, err := q.foreignIn(schemaName)
	if err != nil {
		return nil, err
	}
	var out []object
	for _, k := range keys {
		if !strings.EqualFold(k.toSchema, t.schema) || !strings.EqualFold(k.to, t.name) || !holdsAll(cols, k.far) {
			continue
		}
		i := slices.IndexFunc(list, func(x *aTable) bool { return x.name == k.table })
		if i < 0 {
			continue
		}
		near, _, err := q.columnsOf(list[i])
		if err != nil {
			return nil, err
		}
		if holdsAll(near, k.columns) {
			out = append(out, newObject().text("relation", "referred to by").text("type", "table").text("schema", schemaName).text("name", k.table).texts("columns", k.far).texts("other_columns", k.columns))
		}
	}
	return out, nil
}

// reading are the views of a schema that read t.
func (q *inquiry) reading(t *aTable, schemaName string, list []*aTable) ([]object, error) {
	var out []object
	err := q.ask(q.asks.Views, schemaName, "", func(r told) {
		i := slices.IndexFunc(list, func(x *aTable) bool { return x.view && x.name == r.text(0) })
		if i >= 0 && list[i] != t && q.reads(r.text(1), schemaName, t) {
			out = append(out, newObject().text("relation", "read by").text("type", "view").text("schema", schemaName).text("name", list[i].name))
		}
	})
	return out, err
}

// reads says whether the SELECT of a view in a schema reads t: by its tables where it is understood, and else by its words.
func (q *inquiry) reads(text, schemaName string, t *aTable) bool {
	if d, ok := sqltext.DialectOf(q.conn.Driver); ok {
		if st, err := sqltext.Read(d, strings.TrimSuffix(strings.TrimSpace(text), ";"), sqltext.Options{}); err == nil {
			return slices.ContainsFunc(st.Tables, func(x *sqltext.Table) bool {
				s := x.Schema
				if s == "" && q.conn.Driver == "postgres" {
					s = q.conn.Home() // names of the search path are told without their schema
				} else if s == "" {
					s = schemaName
				}
				return strings.EqualFold(x.Name, t.name) && strings.EqualFold(s, t.schema)
			})
		}
	}
	return tells(text, []string{t.name})
}

func (q *inquiry) triggersOf(t *aTable) ([]object, error) {
	type trigger struct {
		name, timing string
		events       []string
	}
	var list []*trigger
	err := q.ask(q.asks.Triggers, t.schema, t.name, func(r told) {
		if len(list) == 0 || list[len(list)-1].name != r.text(0) {
			list = append(list, &trigger{name: r.text(0), timing: r.text(1)})
		}
		x := list[len(list)-1]
		x.events = append(x.events, r.text(2))
	})
	var out []object
	for _, x := range list {
		out = append(out, newObject().text("relation", "trigger of").text("type", "trigger").text("schema", t.schema).text("name", x.name).text("timing", x.timing).texts("events", x.events))
	}
	return out, err
}
