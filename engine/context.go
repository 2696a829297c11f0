package engine

import (
	"encoding/json"
	"slices"
	"strings"

	"resq/engine/policy"
	"resq/schema"
)

// A note is an annotation as get_business_context tells it.
type note struct {
	Schema      string            `json:"schema,omitempty"`
	Table       string            `json:"table"`
	Entity      string            `json:"entity,omitempty"`
	Description string            `json:"description,omitempty"`
	Columns     map[string]string `json:"columns,omitempty"`
	Relations   []noteRelation    `json:"relations,omitempty"`
	Filters     []noteFilter      `json:"filters,omitempty"`
}

type noteRelation struct {
	Table       string            `json:"table"`
	Join        map[string]string `json:"join"`
	Cardinality string            `json:"cardinality,omitempty"`
	Description string            `json:"description,omitempty"`
}

type noteFilter struct {
	SQL     string   `json:"sql"`
	Columns []string `json:"columns"`
	Reason  string   `json:"reason,omitempty"`
}

// notes is what get_business_context answers.
type notes struct {
	Success  bool     `json:"success"`
	Data     []note   `json:"data"`
	RowCount int      `json:"rowCount"`
	Partial  bool     `json:"partial_match,omitempty"`
	Hint     string   `json:"hint,omitempty"`
	Entities []string `json:"available_entities,omitempty"`
	Tables   []string `json:"available_tables,omitempty"`
}

// businessContext tells what tables mean, as annotations have it (D-041): all of them, those of an entity, or those of a
// table. An entity that is none is looked for by parts of its name.
func (e *Engine) businessContext(who *policy.Principal, t *schema.Tool, raw []byte) (*Answer, error) {
	v, err := e.arguments(t, raw)
	if err != nil {
		return nil, err
	}
	entity, table := plainWords(v.of[t.Param("entity")].text), v.of[t.Param("table")].text
	view := policy.For(e.cat, who)
	var all []*schema.Annotation
	for _, a := range e.cat.Annotations {
		if e.tells(view, a) {
			all = append(all, a)
		}
	}
	out := notes{Success: true, Data: []note{}}
	found := slices.DeleteFunc(slices.Clone(all), func(a *schema.Annotation) bool { return !names(a, table) })
	if entity != "" {
		exact := slices.DeleteFunc(slices.Clone(found), func(a *schema.Annotation) bool { return plainWords(a.Entity) != entity })
		if len(exact) == 0 {
			if exact = alikeEntity(found, entity); len(exact) > 0 {
				out.Partial, out.Hint = true, "no entity has exactly this name; these are near it"
			}
		}
		found = exact
	}
	if len(found) == 0 {
		out.Hint = "nothing is noted on it; ask for one of those that are available, or leave the arguments out"
		for _, a := range all {
			if a.Entity != "" && !slices.Contains(out.Entities, a.Entity) {
				out.Entities = append(out.Entities, a.Entity)
			}
			if table != "" {
				out.Tables = append(out.Tables, tableName(a.Schema, a.Table))
			}
		}
	}
	for _, a := range found {
		out.Data = append(out.Data, e.noteOf(view, a))
	}
	out.RowCount = len(out.Data)
	text, err := json.Marshal(out)
	if err != nil {
		return nil, err
	}
	return &Answer{Text: text, Rows: out.RowCount}, nil
}

// tells says whether an annotation may be told: one of a table that a resource declares only to those who may use it.
func (e *Engine) tells(v *policy.View, a *schema.Annotation) bool {
	for _, r := range e.cat.Resources {
		if strings.EqualFold(r.Table, a.Table) && e.cat.Note(r.Connection, r.Schema, r.Table) == a && !v.Visible(r) {
			return false
		}
	}
	return true
}

// names says whether an annotation is of a table, written as TABLE or SCHEMA.TABLE; "" is any.
func names(a *schema.Annotation, table string) bool {
	return table == "" || strings.EqualFold(a.Table, table) || strings.EqualFold(tableName(a.Schema, a.Table), table)
}

func tableName(schema, table string) string { return strings.TrimPrefix(schema+"."+table, ".") }

// plainWords makes the spellings of an entity equal: blanks and hyphens are underscores, capitals are small.
func plainWords(s string) string {
	return strings.NewReplacer(" ", "_", "-", "_").Replace(strings.ToLower(strings.TrimSpace(s)))
}

// alikeEntity finds the entities whose names hold the word or are held by it, and else those with the most words of it.
func alikeEntity(list []*schema.Annotation, word string) []*schema.Annotation {
	var out []*schema.Annotation
	for _, a := range list {
		x := plainWords(a.Entity)
		if len(word) >= 3 && strings.Contains(x, word) || len(x) >= 3 && strings.Contains(word, x) {
			out = append(out, a)
		}
	}
	if len(out) > 0 {
		return out
	}
	most := 0
	for _, a := range list {
		n := 0
		for _, part := range strings.Split(plainWords(a.Entity), "_") {
			if part != "" && slices.Contains(strings.Split(word, "_"), part) {
				n++
			}
		}
		switch {
		case n == 0:
		case n > most:
			most, out = n, []*schema.Annotation{a}
		case n == most:
			out = append(out, a)
		}
	}
	return out
}

// hides says whether the caller does not read a column of a table that resources declare.
func (e *Engine) hides(v *policy.View, table, column string) bool {
	return slices.ContainsFunc(e.cat.Resources, func(r *schema.Resource) bool {
		return strings.EqualFold(r.Table, table) && slices.ContainsFunc(r.Fields, func(f *schema.Field) bool { return strings.EqualFold(f.Column, column) && !v.Readable(f) })
	})
}

// noteOf is what an annotation tells the caller: nothing of columns and tables that it does not see.
func (e *Engine) noteOf(v *policy.View, a *schema.Annotation) note {
	pairs := func(list []schema.Label) map[string]string {
		m := map[string]string{}
		for _, l := range list {
			m[l.Code] = l.Label
		}
		return m
	}
	n := note{Schema: a.Schema, Table: a.Table, Entity: a.Entity, Description: a.Description, Columns: pairs(slices.DeleteFunc(slices.Clone(a.Columns), func(l schema.Label) bool { return e.hides(v, a.Table, l.Code) }))}
	for _, l := range a.Links {
		hidden := slices.ContainsFunc(e.cat.Resources, func(r *schema.Resource) bool { return strings.EqualFold(r.Table, l.Table) && !v.Visible(r) })
		if hidden || slices.ContainsFunc(l.Join, func(j schema.Label) bool { return e.hides(v, a.Table, j.Code) || e.hides(v, l.Table, j.Label) }) {
			continue
		}
		n.Relations = append(n.Relations, noteRelation{tableName(l.Schema, l.Table), pairs(l.Join), l.Cardinality, l.Description})
	}
	for _, f := range a.Filters {
		if slices.ContainsFunc(f.Columns, func(c string) bool { return e.hides(v, a.Table, c) }) {
			continue
		}
		n.Filters = append(n.Filters, noteFilter{f.SQL, f.Columns, f.Reason})
	}
	return n
}
