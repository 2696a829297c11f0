package engine

import (
	"context"
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

// values computes a set, once for a call and only when a rule needs it. More values than its bound are an
// error: a shortened set would show or hide the wrong rows.
func (e *Engine) values(ctx context.Context, v *policy.View, s *schema.Set, o plan.Options) ([]string, error) {
	p, err := plan.ReadSet(v, s, o)
	if err != nil || p == nil {
		return nil, err
	}
	db := e.dbs[p.Connection()]
	st, err := sqlgen.Render(p, db.driver, false)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, db.timeout)
	defer cancel()
	rows, err := db.QueryxContext(ctx, st.SQL, st.Args...)
	if err != nil {
		return nil, problem.List{db.fault(ctx, err)}
	}
	defer rows.Close()
	out := p.Root().Out[0]
	c := column{t: out.Type(), field: out.Field}
	vals := []string{}
	for rows.Next() {
		var x any
		if err := rows.Scan(&x); err != nil {
			return nil, problem.List{db.fault(ctx, err)}
		}
		if len(vals) == s.Bound {
			return nil, problem.List{{Code: problem.DataIntegrity, Stage: problem.Policy,
				Message: "a set of the row rules holds more values than its bound of " + strconv.Itoa(s.Bound), Hint: "the operator raises the bound in the catalog"}}
		}
		if t, ok := c.stored(x); ok {
			vals = append(vals, t)
		}
	}
	if err := rows.Err(); err != nil {
		return nil, problem.List{db.fault(ctx, err)}
	}
	return vals, nil
}
