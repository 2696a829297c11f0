package engine

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"resq/engine/plan"
	"resq/engine/sqlgen"
	"resq/schema"
	"resq/schema/problem"
	"resq/schema/sqltext"
)

const (
	// profiled is the most columns that are counted in one call (D-071).
	profiled = 20
	// shownText is the most characters that a least or greatest text shows.
	shownText = 200
)

// A profile is what profile_table found out.
type profile struct {
	t        *aTable
	mode     string
	source   string
	rows     *int64
	keeps    object // of statistics
	cols     []*aColumn
	of       map[*aColumn]object
	cut      bool
	warnings []string
}

// profile tells how many rows a table has, and of its columns how many values (D-071): as the database keeps it, or counted
// among the rows that the caller sees. What is kept is of all rows, and told only to who sees all of them.
func (q *inquiry) profile(schemaName, name string, compute bool, only []string) (*Answer, error) {
	p := &profile{mode: "stored", source: "none", keeps: newObject(), of: map[*aColumn]object{}}
	if compute {
		p.mode = "computed"
	}
	_, err := q.turn(func() (*Answer, error) {
		var err error
		if p.t, err = q.table(schemaName, name, "table"); err != nil {
			return nil, err
		}
		if len(p.t.use.Resources) == 0 { // Note [what shows the rows of others]
			shown, err := q.shows(q.ctx, p.t.use)
			if err != nil {
				return nil, err
			}
			if shown {
				return nil, problem.List{{Code: problem.SQLTableNotAllowed, Stage: problem.Resources, Reason: "names", At: "/table",
					Message: "nothing is told of the rows of " + problem.Quote(p.t.name) + ", which are those of tables with rules of their own", Hint: "profile those tables"}}
			}
		}
		if p.cols, _, err = q.columnsOf(p.t); err != nil {
			return nil, err
		}
		if err := p.choose(only); err != nil {
			return nil, err
		}
		if compute || p.t.view {
			return nil, nil
		}
		if !q.allRows(p.t) {
			p.warnings = append(p.warnings, "row rules hold on this table, so that what the database keeps of all of its rows is not told; compute counts those that are there")
			return nil, nil
		}
		return nil, q.stored(p)
	})
	if err != nil {
		return nil, err
	}
	if compute {
		if err := q.compute(p); err != nil {
			return nil, err
		}
	}
	traceRules(q.ctx, q.view)
	return q.profiled(p), nil
}

// allRows says whether no rule hides a row of the table from the caller.
func (q *inquiry) allRows(t *aTable) bool {
	return !slices.ContainsFunc(t.use.Resources, func(r *schema.Resource) bool { return !q.view.Rows(r).All })
}

// choose keeps the columns that are asked for.
func (p *profile) choose(only []string) error {
	if only == nil {
		return nil
	}
	var probs problem.List
	var chosen []*aColumn
	for i, n := range only {
		at := slices.IndexFunc(p.cols, func(c *aColumn) bool { return strings.EqualFold(c.name, n) })
		switch {
		case at < 0:
			probs = append(probs, unknownColumn("/columns/"+strconv.Itoa(i), n, p.cols))
		case !slices.Contains(chosen, p.cols[at]):
			chosen = append(chosen, p.cols[at])
		}
	}
	p.cols = chosen
	return probs.Err()
}

// stored asks what the database keeps.
func (q *inquiry) stored(p *profile) error {
	err := q.askIfKept(q.asks.Stored, p.t.schema, p.t.name, func(r told) {
		if r[0] == nil {
			return
		}
		n, _ := strconv.ParseInt(*r[0], 10, 64)
		p.rows, p.source = &n, "stored"
		for i, key := range []string{"", "deleted_rows", "bytes", "index_bytes"} {
			if key != "" && r[i] != nil {
				p.keeps = p.keeps.raw(key, []byte(*r[i]))
			}
		}
		p.keeps = p.keeps.some("last_change", r.text(4))
	})
	if err != nil || p.source == "none" {
		return err
	}
	return q.askIfKept(q.asks.Spread, p.t.schema, p.t.name, func(r told) {
		i := slices.IndexFunc(p.cols, func(c *aColumn) bool { return c.name == r.text(0) })
		if i < 0 {
			return
		}
		o := newObject()
		if r[1] != nil {
			o = o.raw("distinct", []byte(*r[1]))
		}
		if r[2] != nil {
			o = o.raw("nulls", []byte(*r[2]))
		}
		p.of[p.cols[i]] = o
	})
}

// measure says what is counted of a column: of documents, long texts and types of the database's own their NULLs alone.
func measure(c *aColumn) sqlgen.Measure {
	m := sqlgen.Measure{Column: c.name}
	switch {
	case c.dbType == "mediumtext", c.dbType == "longtext", c.dbType == "clob":
	case c.t.Kind.Numeric(), c.t.Kind.Temporal():
		m.Distinct, m.Values = true, c.mask == ""
	case c.t.Kind == schema.String, c.t.Kind == schema.Text:
		m.Distinct, m.Text, m.Values = true, true, c.mask == ""
	case c.t.Kind == schema.Bool, c.t.Kind == schema.UUID:
		m.Distinct = true
	}
	return m
}

// compute counts, in what stands in place of the table in SQL of the caller's.
func (q *inquiry) compute(p *profile) error {
	if len(p.cols) > profiled {
		p.warnings = append(p.warnings, "the first "+strconv.Itoa(profiled)+" of "+strconv.Itoa(len(p.cols))+" columns were counted; name others in columns")
		p.cols, p.cut = p.cols[:profiled], true
	}
	list := make([]sqlgen.Measure, len(p.cols))
	for i, c := range p.cols {
		list[i] = measure(c)
	}
	err := q.count(p, list, false)
	if err != nil && problem.From(err)[0].Code == problem.DataError {
		err = q.count(p, list, true) // as in execute: a fault is told only when it comes from rows that are seen
	}
	p.source = "computed"
	return err
}

func (q *inquiry) count(p *profile, list []sqlgen.Measure, fence bool) error {
	st, err := q.e.within(q.ctx, q.db, func(ctx context.Context) (*sqlgen.Statement, error) {
		use := *p.t.use
		if len(use.Resources) == 0 {
			use.Schema, use.Table = p.t.schema, p.t.name
		}
		cover := plan.Cover{Use: &use}
		if len(use.Resources) == 0 {
			for _, c := range p.cols {
				cover.Columns = append(cover.Columns, c.name)
			}
		}
		shadows, err := plan.Shadows(q.view, []plan.Cover{cover}, q.e.options(ctx, q.view, nil))
		if err != nil {
			return nil, err
		}
		return sqlgen.Profile(q.db.driver, shadows[0], list, fence)
	})
	if err != nil {
		return err
	}
	_, err = q.turn(func() (*Answer, error) {
		return nil, q.db.query(q.ctx, st.SQL, st.Args, func(rows driver.Rows) error {
			dbType, vals := typesOf(rows), make([]driver.Value, len(rows.Columns()))
			return each(q.ctx, rows, vals, func() (bool, error) {
				p.read(list, vals, func(i int) (string, func(any) any) { return dbType(i), q.db.driver.Decode(dbType(i), nil) })
				return true, nil
			})
		})
	})
	return err
}

// read takes the one row of the counts.
func (p *profile) read(list []sqlgen.Measure, vals []driver.Value, of func(i int) (string, func(any) any)) {
	at := 0
	next := func() int64 {
		n, _ := strconv.ParseInt(*plainText(vals[at]), 10, 64)
		at++
		return n
	}
	rows := next()
	p.rows = &rows
	for i, m := range list {
		c, there := p.cols[i], next()
		o := newObject()
		if m.Distinct {
			o = o.number("distinct", next())
		}
		o = o.number("nulls", rows-there)
		if m.Values {
			for _, key := range []string{"min", "max"} {
				x := column{name: key, t: c.t, computed: true}
				x.dbType, x.decode = of(at)
				b := x.json(nil, x.settled(vals[at]))
				if m.Text {
					b = shortened(b)
				}
				o = o.raw(key, b)
				at++
			}
		}
		p.of[c] = o
	}
}

// shortened cuts a long text, as JSON.
func shortened(b []byte) []byte {
	var s string
	if len(b) <= shownText || json.Unmarshal(b, &s) != nil {
		return b
	}
	r := []rune(s)
	if len(r) <= shownText {
		return b
	}
	return appendString(nil, string(r[:shownText])+"…")
}

func (q *inquiry) profiled(p *profile) *Answer {
	o := newObject().flag("success", true)
	o = append(append(o, ','), p.t.head()[1:]...)
	o = o.text("mode", p.mode).text("source", p.source)
	if p.rows == nil {
		o = o.raw("rows", []byte("null"))
	} else {
		o = o.number("rows", *p.rows)
	}
	if len(p.keeps) > 1 {
		o = o.raw("statistics", p.keeps.end())
	}
	var list []object
	masked := []string{}
	size := 0
	for i, c := range p.cols {
		x := newObject().text("name", c.name).text("type", c.t.String())
		if c.mask != "" {
			masked = append(masked, c.name)
		}
		if more := p.of[c]; len(more) > 1 {
			x = append(append(x, ','), more[1:]...)
		}
		if size += len(x); size > q.e.opts.MaxBytes {
			p.cut = true
			p.warnings = append(p.warnings, "only "+strconv.Itoa(i)+" columns are shown, because the answer would be too large; name others in columns")
			break
		}
		list = append(list, x)
	}
	o = o.objects("columns", list).flag("truncated", p.cut).texts("masked", masked)
	if p.mode == "computed" {
		// Rows that queries usually leave out were counted, too (D-043).
		t := &sqltext.Table{Schema: p.t.schema, Name: p.t.name}
		st := &schema.Statement{Statement: &sqltext.Statement{Tables: []*sqltext.Table{t}}, Connection: q.conn, Uses: map[*sqltext.Table]*schema.Use{t: {Schema: p.t.schema, Table: p.t.name}}}
		return &Answer{Text: object(q.e.remarks(o, st, p.warnings)).end(), Rows: len(list), Cut: p.cut}
	}
	return &Answer{Text: o.list("warnings", p.warnings).end(), Rows: len(list), Cut: p.cut}
}
