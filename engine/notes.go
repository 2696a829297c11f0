package engine

import (
	"context"
	"slices"
	"strings"

	"resq/schema"
	"resq/schema/problem"
)

// CheckNotes looks in the databases for the columns of the filters of annotations, and for those of masks. A table that no connection
// has is passed over: notes may be of one that comes later. The error is a problem.List with the places of the columns; it is for
// operators.
func (e *Engine) CheckNotes(ctx context.Context) error {
	var probs problem.List
	for _, a := range e.cat.Annotations {
		for _, f := range a.Filters {
			for _, name := range f.Columns {
				e.checkNote(ctx, a.Schema, a.Table, name, f.At, "a filter", &probs)
			}
		}
	}
	for _, m := range e.cat.Masks {
		e.checkNote(ctx, m.Schema, m.Table, m.Column, m.At, "a mask", &probs)
	}
	return probs.Err()
}

func (e *Engine) checkNote(ctx context.Context, schemaName, table, column string, at schema.Pos, what string, probs *problem.List) {
	for _, c := range e.cat.Connections {
		if e.dbs[c] == nil {
			continue
		}
		names := e.columnsNamed(ctx, c, schemaName, table)
		if names != nil && !slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, column) }) {
			*probs = append(*probs, &problem.Problem{Code: problem.UnknownField, Stage: problem.Resources, At: at.String(),
				Message: "the table " + problem.Quote(table) + " on " + problem.Quote(c.Name) + " has no column " + problem.Quote(column) + ", which " + what + " names", Hint: problem.OneOf(column, names)})
		}
	}
}

// columnsNamed are the columns of a table whose name is written in whatever case; nil is that there is none.
func (e *Engine) columnsNamed(ctx context.Context, c *schema.Connection, schemaName, table string) []string {
	for _, spell := range []func(string) string{func(s string) string { return s }, strings.ToLower, strings.ToUpper} {
		u := &schema.Use{Schema: spell(schemaName), Table: spell(table)}
		ctx, cancel := context.WithTimeout(ctx, e.dbs[c].timeout)
		names, err := e.columns(ctx, c, u)
		cancel()
		if err == nil && len(names) > 0 {
			return names
		}
	}
	return nil
}
