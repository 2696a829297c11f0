package engine

import (
	"context"
	"database/sql/driver"
	"slices"
	"strconv"
	"strings"

	"resq/engine/sqlgen"
	"resq/schema"
	"resq/schema/problem"
	"resq/schema/sqltext"
)

// foreignRows are the rows of SQL of others, encoded as they were read.
type foreignRows struct {
	names []string
	body  []byte
	n     int64
	more  bool
	cut   bool // by the budget of bytes
}

// kindOf gives the type that a value of the database is encoded as.
func kindOf(dbType string) schema.Type {
	name, _, _ := strings.Cut(strings.ToUpper(strings.TrimPrefix(dbType, "UNSIGNED ")), "(")
	switch strings.TrimSpace(name) {
	case "INT", "INTEGER", "BIGINT", "SMALLINT", "TINYINT", "MEDIUMINT", "INT2", "INT4", "INT8", "YEAR":
		return schema.Type{Kind: schema.Integer}
	case "DECIMAL", "NUMERIC":
		return schema.Type{Kind: schema.Decimal}
	case "FLOAT", "DOUBLE", "REAL", "FLOAT4", "FLOAT8", "DOUBLE PRECISION":
		return schema.Type{Kind: schema.Number}
	case "BOOL", "BOOLEAN":
		return schema.Type{Kind: schema.Bool}
	case "DATE":
		return schema.Type{Kind: schema.Date}
	case "DATETIME", "TIMESTAMP", "TIMESTAMPTZ":
		return schema.Type{Kind: schema.DateTime}
	case "JSON", "JSONB":
		return schema.Type{Kind: schema.JSON}
	}
	return schema.Type{Kind: schema.Any}
}

// foreignColumns says how the outputs are encoded. Two of one name are told apart by a number.
func foreignColumns(rows driver.Rows, d Driver) ([]column, []string) {
	dbType := typesOf(rows)
	names := slices.Clone(rows.Columns())
	cols := make([]column, len(names))
	seen := map[string]int{}
	for i, n := range names {
		if seen[n]++; seen[n] > 1 {
			names[i] = n + "_" + strconv.Itoa(seen[n])
		}
		c := column{name: names[i], dbType: dbType(i), computed: true}
		c.t = kindOf(c.dbType)
		c.decode = d.Decode(c.dbType, nil)
		c.quoted = appendString(nil, names[i])
		cols[i] = c
	}
	return cols, names
}

func (e *Engine) readForeign(ctx context.Context, db *database, c *foreignCall, st *sqlgen.Statement) (*foreignRows, error) {
	r := &foreignRows{body: make([]byte, 0, 1024)}
	room := c.bytes
	if room == 0 {
		room = e.opts.MaxBytes
	}
	var in querier = db
	if c.in != nil {
		in = c.in
	}
	err := in.query(ctx, st.SQL, st.Args, func(rows driver.Rows) error {
		var cols []column
		cols, r.names = foreignColumns(rows, db.driver)
		vals := make([]driver.Value, len(cols))
		if c.file != nil {
			return c.file.fill(ctx, c.limit, rows, cols, vals, r)
		}
		var one []byte
		return each(ctx, rows, vals, func() (bool, error) {
			if r.n == c.limit {
				r.more = true
				return false, nil
			}
			one = append(one[:0], '\n', '{')
			for i := range cols {
				if i > 0 {
					one = append(one, ',')
				}
				one = append(append(one, cols[i].quoted...), ':')
				one = cols[i].json(one, cols[i].settled(vals[i]))
			}
			one = append(one, '}')
			if r.n > 0 {
				r.body = append(r.body, ',')
			}
			if len(r.body)+len(one) > room && (r.n > 0 || len(one) > hardBytes) {
				if r.n == 0 {
					return false, problem.List{{Code: problem.LimitExceeded, Stage: problem.Database, Message: "one row is larger than an answer may be"}}
				}
				r.body = r.body[:len(r.body)-1]
				r.more, r.cut = true, true
				return false, nil
			}
			r.body = append(r.body, one...)
			r.n++
			return true, nil
		})
	})
	return r, err
}

// answerForeign is the answer of SQL of others: all of sql-tools' keys, and what has to be said (D-019).
func (e *Engine) answerForeign(c *foreignCall, r *foreignRows) *Answer {
	b := append(make([]byte, 0, len(r.body)+256), `{"success":true,"data":[`...)
	b = append(b, r.body...)
	b = append(b, `],"rowCount":`...)
	b = strconv.AppendInt(b, r.n, 10)
	b = append(b, `,"limitApplied":`...)
	b = strconv.AppendInt(b, c.limit, 10)
	b = append(b, `,"truncated":`...)
	b = strconv.AppendBool(b, r.more)
	var warnings []string
	switch {
	case r.cut:
		warnings = append(warnings, "the answer was cut at "+strconv.FormatInt(r.n, 10)+" rows because it would be too large; narrow it")
	case r.more:
		warnings = append(warnings, "there are more than "+strconv.FormatInt(c.limit, 10)+" rows; narrow the arguments")
	}
	b = e.remarks(b, c.st, warnings)
	return &Answer{Text: append(b, '}'), Rows: int(r.n), Cut: r.cut}
}

// remarks writes what has to be said of an answer: its warnings, and the conditions that the statement does without.
func (e *Engine) remarks(b []byte, st *schema.Statement, warnings []string) []byte {
	skipped := e.skipped(st)
	for _, s := range skipped {
		w := "the rows of " + s.table + " usually need the condition " + s.filter.SQL
		if s.filter.Reason != "" {
			w += ": " + s.filter.Reason
		}
		warnings = append(warnings, w)
	}
	if warnings != nil {
		b = append(b, `,"warnings":[`...)
		for i, w := range warnings {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendString(b, w)
		}
		b = append(b, ']')
	}
	if skipped != nil {
		b = append(b, `,"skippedFilters":[`...)
		for i, s := range skipped {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendString(append(b, `{"table":`...), s.table)
			b = appendString(append(b, `,"sql":`...), s.filter.SQL)
			if s.filter.Reason != "" {
				b = appendString(append(b, `,"reason":`...), s.filter.Reason)
			}
			b = append(b, '}')
		}
		b = append(b, ']')
	}
	return b
}

// A skippedFilter is a condition that a statement does without.
type skippedFilter struct {
	table  string
	filter schema.Filter
}

// skipped finds the conditions of annotations of which a statement uses no column (D-043).
func (e *Engine) skipped(st *schema.Statement) []skippedFilter {
	var out []skippedFilter
	seen := map[*schema.Annotation]bool{}
	for _, t := range st.Tables {
		u := st.Uses[t]
		a := e.cat.Note(st.Connection, u.Schema, u.Table)
		if a == nil || seen[a] {
			continue
		}
		seen[a] = true
		for _, f := range a.Filters {
			used := slices.ContainsFunc(f.Columns, func(name string) bool {
				return slices.ContainsFunc(st.Columns, func(c *sqltext.Column) bool { return !c.Star && strings.EqualFold(c.Path[len(c.Path)-1], name) })
			})
			if !used {
				out = append(out, skippedFilter{strings.TrimPrefix(a.Schema+"."+a.Table, "."), f})
			}
		}
	}
	return out
}
