package engine

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"

	"resq/engine/plan"
	"resq/engine/policy"
	"resq/engine/sqlgen"
	"resq/schema"
	"resq/schema/problem"
	"resq/schema/query"

	"github.com/jmoiron/sqlx"
)

// An image is what rows were before a change, as it is sealed in the operation row.
type image struct {
	Verb       query.Verb
	Connection string
	Resource   string
	IDs        []int64
	Columns    []string
	Foreign    int      // the last columns, which the catalog does not know
	Rows       [][]kept // by id
	After      string   // the version of the rows after an update
	System     []string `json:",omitempty"` // codes of fields that the engine had filled
}

// A kept value: its tag and its text, in base64 where it is bytes.
type kept [2]string

func keptOf(v any) kept {
	tag, text := packed(v)
	if tag == 'x' || tag == 'y' {
		text = base64.StdEncoding.EncodeToString([]byte(text))
	}
	return kept{string(tag), text}
}

// arg gives the value as an argument for a column of a driver.
func (c kept) arg(driver string) (any, bool) {
	if len(c[0]) != 1 {
		return nil, false
	}
	tag, text := c[0][0], c[1]
	if tag == 'x' || tag == 'y' {
		raw, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return nil, false
		}
		if tag == 'x' || driver == "postgres" {
			return raw, true
		}
		return string(raw), true
	}
	return unpacked(tag, text)
}

// imageOf keeps the values that an update replaces.
func (w *write) imageOf(op string, before, after *rowset) ([]byte, error) {
	r := w.change.Resource()
	im := image{Verb: query.Update, Connection: r.Connection.Name, Resource: r.Code, IDs: w.change.IDs(), After: version(r, after, nil)}
	var at []int
	for _, row := range w.change.Rows() {
		for _, a := range row {
			k := slices.Index(r.Fields, a.Field)
			if k < 0 || slices.Contains(at, k) || a.System && (a.Now || a.Next) {
				continue // the engine moves these on by itself
			}
			at = append(at, k)
			im.Columns = append(im.Columns, r.Fields[k].Column)
			if a.System {
				im.System = append(im.System, r.Fields[k].Code)
			}
		}
	}
	for _, row := range before.rows {
		cells := make([]kept, len(at))
		for i, k := range at {
			cells[i] = keptOf(row[k])
		}
		im.Rows = append(im.Rows, cells)
	}
	return w.sealed(op, &im)
}

// imageOfDelete keeps whole rows.
func (w *write) imageOfDelete(op string, before *rowset, extra *foreign) ([]byte, error) {
	r := w.change.Resource()
	im := image{Verb: query.Delete, Connection: r.Connection.Name, Resource: r.Code, IDs: w.change.IDs()}
	for _, f := range r.Fields {
		if !f.Generated {
			im.Columns = append(im.Columns, f.Column)
		}
	}
	im.Columns = append(im.Columns, extra.columns...)
	im.Foreign = len(extra.columns)
	for i, row := range before.rows {
		var cells []kept
		for k, f := range r.Fields {
			if !f.Generated {
				cells = append(cells, keptOf(row[k]))
			}
		}
		for k := range extra.columns {
			cells = append(cells, keptOf(extra.rows[i][k]))
		}
		im.Rows = append(im.Rows, cells)
	}
	return w.sealed(op, &im)
}

func (w *write) sealed(op string, im *image) ([]byte, error) {
	plain, err := json.Marshal(im)
	if err != nil {
		return nil, err
	}
	return w.e.sign.seal(op, plain)
}

// foreign are the columns of a table that the catalog does not know, of the rows of a delete.
type foreign struct {
	columns []string
	rows    [][]any
}

// foreign reads them. Without them a row could not be made again as it was.
func (w *write) foreign(ctx context.Context, tx *sqlx.Tx) (*foreign, error) {
	out := &foreign{}
	names, err := w.columns(ctx, tx)
	if err != nil {
		return nil, err
	}
	for _, n := range names {
		if !slices.ContainsFunc(w.change.Resource().Fields, func(f *schema.Field) bool { return sameColumn(w.db.driver.Name(), f.Column, n) }) {
			out.columns = append(out.columns, n)
		}
	}
	if len(out.columns) == 0 {
		return out, nil
	}
	st, err := sqlgen.Columns(w.change, w.change.IDs(), out.columns, w.db.driver)
	if err != nil {
		return nil, err
	}
	rows, err := tx.QueryxContext(ctx, st.SQL, st.Args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		vals, err := rows.SliceScan()
		if err != nil {
			return nil, err
		}
		out.rows = append(out.rows, vals)
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	if len(out.rows) != len(w.change.IDs()) {
		return nil, unmatched()
	}
	return out, nil
}

func sameColumn(driver, a, b string) bool {
	if driver == "postgres" {
		return a == b
	}
	return strings.EqualFold(a, b)
}

// columns are the names of all columns of the table.
func (w *write) columns(ctx context.Context, tx *sqlx.Tx) ([]string, error) {
	st, err := sqlgen.Shape(w.change, w.db.driver)
	if err != nil {
		return nil, err
	}
	rows, err := tx.QueryxContext(ctx, st.SQL)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	return rows.Columns()
}

func movedOn() error {
	return problem.List{{Code: problem.Conflict, Stage: problem.Confirm, Reason: "changed", Message: "the rows have changed since, so they cannot be put back as they were", Hint: "query for them, and change what is wrong with res-update"}}
}

// decodeUndo reads the arguments of res-undo and makes the change that takes the operation back.
func (w *write) decodeUndo(ctx context.Context) error {
	op, ask, err := query.Handle(w.call.Args, true, w.e.opts.Limits)
	if err != nil {
		return err
	}
	w.ask = ask
	o, db, err := w.e.find(ctx, op)
	if err != nil {
		return err
	}
	refuse := func(code problem.Code, message, hint string) error {
		return problem.List{{Code: code, Stage: problem.Confirm, At: "/op_id", Message: message, Hint: hint}}
	}
	if o == nil || o.Principal != w.who.Name && !w.e.admin(w.who) {
		return refuse(problem.NotFound, "there is no such operation of this principal", "the op_id of a result of res-update or res-delete")
	}
	switch {
	case o.State != applied:
		return refuse(problem.Conflict, "the operation was not applied, so there is nothing to take back", "")
	case o.Tool == "res-create":
		return refuse(problem.Conflict, "a creation is not taken back by res-undo", "delete the rows with res-delete")
	case len(o.Undo) == 0:
		return refuse(problem.Conflict, "what the rows were before is no longer kept", "")
	}
	plain, err := w.e.sign.unseal(op, o.Undo)
	w.taken = &image{}
	if err == nil {
		err = json.Unmarshal(plain, w.taken)
	}
	if err != nil {
		return problem.List{{Code: problem.Conflict, Stage: problem.Confirm, At: "/op_id", Message: "what the rows were before cannot be opened any more", Hint: "the secret of this server was changed since", Err: err}}
	}
	v := policy.For(w.e.cat, w.who)
	r, ok := v.Resource(w.taken.Resource)
	if !ok || w.e.dbs[r.Connection] != db || len(r.Key) != 1 {
		return refuse(problem.Conflict, "the catalog no longer has what the operation changed", "")
	}
	verb := query.Update
	if w.taken.Verb == query.Delete {
		verb = query.Create
	}
	rows, ok := w.taken.assignments(r, db.driver.Name())
	if !ok {
		return refuse(problem.Conflict, "the catalog no longer fits what the operation changed", "")
	}
	if w.change, err = plan.Restore(v, r, verb, w.taken.IDs, rows, w.e.options(ctx, v, nil)); err != nil {
		return err
	}
	return w.settle(ctx, op)
}

// assignments are the old values as those of a change.
func (im *image) assignments(r *schema.Resource, driver string) ([][]plan.Assignment, bool) {
	fields := make([]*schema.Field, len(im.Columns))
	for i, name := range im.Columns {
		k := slices.IndexFunc(r.Fields, func(f *schema.Field) bool { return f.Column == name })
		if k >= 0 {
			fields[i] = r.Fields[k]
		} else if i < len(im.Columns)-im.Foreign {
			return nil, false
		}
	}
	var out [][]plan.Assignment
	for _, cells := range im.Rows {
		if len(cells) != len(im.Columns) {
			return nil, false
		}
		var row []plan.Assignment
		for i, c := range cells {
			v, ok := c.arg(driver)
			if !ok {
				return nil, false
			}
			a := plan.Assignment{Field: fields[i], Column: im.Columns[i], Value: &plan.Arg{Value: v}}
			if f := fields[i]; f != nil {
				a.Value.T, a.Value.Zone = f.Type, f.Zone
				if c[0] == "j" {
					a.Value.T.Kind = schema.JSON
				}
				a.System = slices.Contains(im.System, f.Code)
			}
			row = append(row, a)
		}
		if im.Verb == query.Update {
			row = append(row, plan.Touched(r)...)
		}
		out = append(out, row)
	}
	return out, len(out) == len(im.IDs)
}

// shownAs is the value of an assignment as a read would give it.
func shownAs(a plan.Assignment) any {
	switch x := a.Value.Value.(type) {
	case []byte:
		if a.Field.Type.Kind == schema.Binary {
			return sqlgen.Blob(x)
		}
	case string:
		if a.Value.T.Kind == schema.JSON {
			return sqlgen.JSON(x)
		}
	}
	return a.Value.Value
}

// vacant checks that the keys of deleted rows are free, and gives the rows as they will be.
func (w *write) vacant(ctx context.Context, tx *sqlx.Tx) (*rowset, error) {
	st, err := sqlgen.Lock(w.change, w.change.IDs(), w.db.driver)
	if err != nil {
		return nil, err
	}
	rows, err := tx.QueryxContext(ctx, st.SQL, st.Args...)
	if err != nil {
		return nil, err
	}
	taken := rows.Next()
	for rows.Next() {
		continue
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	if err := rows.Close(); err != nil {
		return nil, err
	}
	if taken {
		return nil, movedOn()
	}
	set, err := w.read(ctx, tx, w.change.Targets(w.change.IDs()))
	if err != nil {
		return nil, err
	}
	r := w.change.Resource()
	for _, row := range w.change.Rows() {
		vals := make([]any, len(r.Fields))
		for _, a := range row {
			if k := slices.Index(r.Fields, a.Field); k >= 0 {
				vals[k] = a.Value.Value
				vals[k] = shownAs(a)
			}
		}
		set.rows = append(set.rows, vals)
	}
	return set, nil
}
