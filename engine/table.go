package engine

import (
	"context"
	"database/sql/driver"

	"resq/engine/plan"
	"resq/engine/policy"
	"resq/engine/sheet"
	"resq/engine/sqlgen"
	"resq/schema/problem"
	"resq/schema/query"
)

// A table is the rows of one statement, each value as the JSON that an answer shows.
type table struct {
	width int
	rows  int
	more  bool // there was a row behind the last one
	buf   []byte
	ends  []int // of the cells in buf, row by row
}

// cell is a value as JSON.
func (t *table) cell(row, col int) []byte {
	i := row*t.width + col
	from := 0
	if i > 0 {
		from = t.ends[i-1]
	}
	return t.buf[from:t.ends[i]]
}

// text is a value as text; false for none.
func (t *table) text(row, col int) (string, bool) { return sheet.TextOf(t.cell(row, col)) }

// A reading is one call's way to the databases: who asks, and what was computed once for the call.
type reading struct {
	e    *Engine
	ctx  context.Context
	who  *policy.Principal
	view *policy.View
	opts plan.Options
	log  *[]Explained // takes the statements that are run; nil keeps none
	in   *inside      // the transaction of a write, in which requests to its database run; nil is none
}

// The largest requests that tools may make of the engine: they are the catalog's own, and what a caller may choose of
// them is bounded where the tool says it.
const (
	toolRows = 100_000
	toolList = 20_000
)

func toolLimits(l query.Limits) query.Limits {
	l.MaxRows, l.List, l.Fields, l.Joins, l.Queries = toolRows, toolList, 1000, 32, 256
	return l
}

func (e *Engine) reading(ctx context.Context, who *policy.Principal) *reading {
	who = asTool(who)
	return e.readingIn(ctx, who, policy.For(e.cat, who))
}

// readingWhole is the reading of a validation: it sees everything, and what is changed in a transaction.
func (e *Engine) readingWhole(ctx context.Context, who *policy.Principal, in *inside) *reading {
	who = asTool(who)
	r := e.readingIn(ctx, who, policy.Whole(e.cat, who))
	r.in = in
	return r
}

func (e *Engine) readingIn(ctx context.Context, who *policy.Principal, v *policy.View) *reading {
	o := e.options(ctx, v, nil)
	o.Limits = toolLimits(o.Limits)
	return &reading{e: e, ctx: ctx, who: who, view: v, opts: o}
}

// rows runs one request.
func (r *reading) rows(q *query.Request) (*table, error) {
	var t *table
	err := r.run(q, func(ctx context.Context, db *database, in querier, p *plan.Plan, fence bool) error {
		st, err := sqlgen.Render(p, db.driver, fence)
		if err != nil {
			return err
		}
		r.note(p, st)
		t, err = readTable(ctx, in, db.driver, p, st)
		return err
	})
	return t, err
}

// count counts the rows of a request, whatever its page.
func (r *reading) count(q *query.Request) (n int64, err error) {
	err = r.run(q, func(ctx context.Context, db *database, in querier, p *plan.Plan, fence bool) error {
		st, err := sqlgen.Count(p, db.driver, fence)
		if err != nil {
			return err
		}
		r.note(p, st)
		n, err = count(ctx, in, statements{count: st})
		return err
	})
	return n, err
}

func (r *reading) note(p *plan.Plan, st *sqlgen.Statement) {
	if r.log != nil {
		*r.log = append(*r.log, Explained{p.Connection().Name, st.SQL, st.Args})
	}
}

// run plans a request and lets do work on it, within the time and the turn of the connection. As in execute, a fault
// of the data is told only when it comes from rows that the principal sees.
func (r *reading) run(q *query.Request, do func(ctx context.Context, db *database, in querier, p *plan.Plan, fence bool) error) error {
	p, err := plan.Read(r.view, q, r.opts)
	traceRules(r.ctx, r.view)
	if err != nil {
		return err
	}
	db := r.e.dbs[p.Connection()]
	if r.in != nil && r.in.db == db { // which has its turn and its time, and whose rows are all seen
		if err := r.in.note(do(r.ctx, db, r.in, p, false)); err != nil {
			return problem.List{db.fault(r.ctx, err)}
		}
		return nil
	}
	leave, err := db.queue.enter(r.ctx, r.who)
	if err != nil {
		return err
	}
	defer leave()
	ctx, cancel := context.WithTimeout(r.ctx, db.timeout)
	defer cancel()
	err = do(ctx, db, db, p, false)
	if err != nil && db.fault(ctx, err).Code == problem.DataError {
		err = do(ctx, db, db, p, true)
	}
	if err != nil {
		return problem.List{db.fault(ctx, err)}
	}
	return nil
}

func readTable(ctx context.Context, in querier, d Driver, p *plan.Plan, st *sqlgen.Statement) (t *table, err error) {
	err = in.query(ctx, st.SQL, st.Args, func(rows driver.Rows) error {
		t, err = scanTable(ctx, rows, d, p)
		return err
	})
	return t, err
}

func scanTable(ctx context.Context, rows driver.Rows, d Driver, p *plan.Plan) (*table, error) {
	root := p.Root()
	cols, err := readColumns(rows, d, root.Out)
	if err != nil {
		return nil, err
	}
	shown, page := len(root.Out)-root.Hidden, p.Page()
	t := &table{width: shown, buf: make([]byte, 0, 1024), ends: make([]int, 0, 16*shown)}
	vals := make([]driver.Value, len(cols))
	return t, each(ctx, rows, vals, func() (bool, error) {
		if page.Limit >= 0 && int64(t.rows) == page.Limit {
			t.more = true
			return false, nil
		}
		for i := range shown {
			t.buf = cols[i].json(t.buf, cols[i].settled(vals[i]))
			t.ends = append(t.ends, len(t.buf))
		}
		t.rows++
		return true, nil
	})
}
