package engine

import (
	"context"
	"database/sql/driver"
	"fmt"
	"strconv"

	"resq/engine/plan"
	"resq/engine/policy"
	"resq/engine/sqlgen"
	"resq/schema"
	"resq/schema/problem"
)

// options are what the plan of one call depends on.
func (e *Engine) options(ctx context.Context, v *policy.View, after []any) plan.Options {
	o := plan.Options{Limits: e.opts.Limits, Now: e.opts.Now(), After: after}
	sets := map[*schema.Set][]string{}
	o.Set = func(s *schema.Set) ([]string, error) {
		if vals, ok := sets[s]; ok {
			return vals, nil
		}
		vals, err := e.values(ctx, v, s, o)
		if err == nil {
			sets[s] = vals
		}
		return vals, err
	}
	return o
}

// values computes a set, once for a call and only when a rule needs it; nil when the principal lacks an attribute for
// it. More values than its bound are an error: a shortened set would show or hide the wrong rows.
func (e *Engine) values(ctx context.Context, v *policy.View, s *schema.Set, o plan.Options) ([]string, error) {
	g, err := plan.ReadSet(v, s, o)
	if err != nil || g == nil {
		return nil, err
	}
	vals, seen := []string{}, map[string]bool{}
	add := func(t string) error {
		if seen[t] {
			return nil
		}
		if len(vals) == s.Bound {
			return problem.List{{Code: problem.DataIntegrity, Stage: problem.Policy, Reason: "set_bound",
				Message: "a set of the row rules holds more values than its bound of " + strconv.Itoa(s.Bound), Hint: "the operator raises the bound in the catalog",
				Err: fmt.Errorf("set %s", s.Name)}}
		}
		seen[t] = true
		vals = append(vals, t)
		return nil
	}
	for _, t := range g.Texts {
		if err := add(t); err != nil {
			return nil, err
		}
	}
	for _, p := range g.Plans {
		err := e.each(ctx, v.Who(), p, func(row []text) error {
			if row[0].null {
				return nil
			}
			return add(row[0].text)
		})
		if err != nil {
			return nil, err
		}
	}
	return vals, nil
}

// A text is a value as rules compare it, alike on all databases; null is none.
type text struct {
	text string
	null bool
}

// each runs a query of the catalog's own and gives its rows, one at a time.
func (e *Engine) each(ctx context.Context, who *policy.Principal, p *plan.Plan, f func([]text) error) error {
	db := e.dbs[p.Connection()]
	st, err := sqlgen.Render(p, db.driver, false)
	if err != nil {
		return err
	}
	leave, err := db.queue.enter(ctx, who)
	if err != nil {
		return err
	}
	defer leave()
	ctx, cancel := context.WithTimeout(ctx, db.timeout)
	defer cancel()
	var refused error // by f, and no fault of the database
	err = db.query(ctx, st.SQL, st.Args, func(rows driver.Rows) error {
		cols, err := readColumns(rows, db.driver, p.Root().Out)
		if err != nil {
			return err
		}
		vals, row := make([]driver.Value, len(cols)), make([]text, len(cols))
		for i := range cols {
			cols[i].mask, cols[i].dataType, cols[i].lent = "", "", false // what a rule compares is the value itself
		}
		return each(ctx, rows, vals, func() (bool, error) {
			for i, v := range vals {
				t, ok := cols[i].text(cols[i].settled(v))
				row[i] = text{t, !ok}
			}
			refused = f(row)
			return refused == nil, nil
		})
	})
	if refused != nil {
		return refused
	}
	if err != nil {
		return problem.List{db.fault(ctx, err)}
	}
	return nil
}
