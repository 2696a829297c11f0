package engine

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"resq/engine/plan"
	"resq/engine/sqlgen"
	"resq/schema"
	"resq/schema/problem"

	"github.com/jmoiron/sqlx"
)

// read runs a plan and keeps its rows.
func (w *write) read(ctx context.Context, tx *sqlx.Tx, p *plan.Plan) (*rowset, error) {
	st, err := sqlgen.Render(p, w.db.driver, false)
	if err != nil {
		return nil, err
	}
	rows, err := tx.QueryxContext(ctx, st.SQL, st.Args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	types, err := rows.ColumnTypes()
	if err != nil {
		return nil, err
	}
	set := &rowset{cols: columnsOf(func(i int) string { return types[i].DatabaseTypeName() }, w.db.driver, p.Root().Out)}
	for rows.Next() {
		vals := make([]any, len(set.cols))
		dest := make([]any, len(vals))
		for i := range vals {
			dest[i] = &vals[i]
		}
		if err := rows.Scan(dest...); err != nil {
			return nil, err
		}
		for i := range vals {
			if d := set.cols[i].decode; d != nil && vals[i] != nil {
				vals[i] = d(vals[i])
			}
		}
		set.rows = append(set.rows, vals)
	}
	return set, rows.Err()
}

// targets reads the rows of a change as the principal sees them. Rows that are missing and rows that are
// not seen are told alike, by id.
func (w *write) targets(ctx context.Context, tx *sqlx.Tx) (*rowset, error) {
	ids := w.change.IDs()
	set, err := w.read(ctx, tx, w.change.Targets(ids))
	if err != nil {
		return nil, err
	}
	if len(set.rows) == len(ids) {
		return set, nil
	}
	have := map[int64]bool{}
	for _, id := range w.keys(set) {
		have[id] = true
	}
	var missing []string
	for _, id := range ids {
		if !have[id] {
			missing = append(missing, strconv.FormatInt(id, 10))
		}
	}
	return nil, problem.List{{Code: problem.NotFound, Stage: problem.Policy, At: "/ids", Message: "no such rows for this key: " + cut(strings.Join(missing, ", "), 200),
		Hint: "ids come from res-query; nothing was changed"}}
}

// keys are the keys of rows that were read with all fields.
func (w *write) keys(set *rowset) []int64 {
	at := keyIndex(w.change.Resource())
	out := make([]int64, len(set.rows))
	for i, row := range set.rows {
		out[i] = whole(row[at])
	}
	return out
}

func keyIndex(r *schema.Resource) int {
	for i, f := range r.Fields {
		if f == r.Key[0] {
			return i
		}
	}
	return 0
}

// whole is a key as a number; drivers hand over some as texts. An unsigned one beyond 63 bits is below 0, by its bits.
func whole(v any) int64 {
	switch x := v.(type) {
	case int64:
		return x
	case uint64:
		return int64(x)
	case []byte:
		return whole(string(x))
	case string:
		n, err := strconv.ParseInt(x, 10, 64)
		if err != nil {
			if n, err := strconv.ParseUint(x, 10, 64); err == nil {
				return int64(n)
			}
		}
		return n
	case float64:
		return int64(x)
	}
	return 0
}

// lookups checks that every row which new values refer to is there for the principal.
func (w *write) lookups(ctx context.Context, tx *sqlx.Tx) error {
	for _, l := range w.change.Lookups() {
		set, err := w.read(ctx, tx, l.Plan())
		if err != nil {
			return err
		}
		if len(set.rows) != 1 || whole(set.rows[0][0]) != int64(l.Values) {
			return problem.List{{Code: problem.PolicyViolation, Stage: problem.Policy, At: l.At, Message: "a row that this value refers to is not there",
				Hint: "query for the rows there are"}}
		}
	}
	return nil
}

func violation() error {
	return problem.List{{Code: problem.PolicyViolation, Stage: problem.Policy, Message: "the rows would not be those of this principal any more, so nothing was changed",
		Hint: "send values within what this key may see"}}
}

// A dependents is the rows of one resource that refer to the rows of a delete.
type dependents struct {
	child *plan.Child
	count int64
	keys  [][]any
}

func (w *write) dependents(ctx context.Context, tx *sqlx.Tx) ([]dependents, error) {
	var out []dependents
	for _, c := range w.change.Children() {
		set, err := w.read(ctx, tx, c.Plan(w.change.IDs(), maxDependents))
		if err != nil {
			return nil, err
		}
		d := dependents{child: c, count: int64(len(set.rows)), keys: set.rows}
		if d.count > maxDependents {
			st, err := sqlgen.Count(c.Plan(w.change.IDs(), -1), w.db.driver, false)
			if err != nil {
				return nil, err
			}
			if err := tx.QueryRowxContext(ctx, st.SQL, st.Args...).Scan(&d.count); err != nil {
				return nil, err
			}
			d.keys = d.keys[:maxDependents]
		}
		out = append(out, d)
	}
	return out, nil
}

// maxDependents is how many keys of dependent rows a version holds; beyond it their number has to do.
const maxDependents = 1000

// exec runs a statement and gives the number of rows it matched.
func (w *write) exec(ctx context.Context, tx *sqlx.Tx, st *sqlgen.Statement, err error) (int64, error) {
	if err != nil {
		return 0, err
	}
	traceStatement(ctx, st.SQL)
	res, err := tx.ExecContext(ctx, st.SQL, st.Args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// lock keeps the rows of a change from being changed by others, in the order of their keys.
func (w *write) lock(ctx context.Context, tx *sqlx.Tx) error {
	if w.db.driver.Name() == "sqlite" {
		return nil // the transaction has the file to itself
	}
	st, err := sqlgen.Lock(w.change, w.change.IDs(), w.db.driver)
	if err != nil {
		return err
	}
	rows, err := tx.QueryxContext(ctx, st.SQL, st.Args...)
	if err != nil {
		return err
	}
	for rows.Next() {
		continue
	}
	return errors.Join(rows.Err(), rows.Close())
}
