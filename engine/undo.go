package engine

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

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
	Asked      query.Verb // what was asked for first: of an undo, what it takes back
	Seen       []string   // codes of the fields of it that its principal could read
	Connection string
	Resource   string
	IDs        []int64
	Columns    []string
	Foreign    int      // the last columns, which the catalog does not know
	Rows       [][]kept // by id, as they were read
	Stored     [][]kept // the same as the database stored them; = is as read
	After      string   // the version of the rows after an update or an undo that made them anew
	System     []string `json:",omitempty"` // codes of fields that the engine had filled
}

// A kept value: its tag and its text, in base64 where it is bytes.
type kept [2]string

// keptOf keeps a value. The bytes that MySQL's driver gives are texts, unless they are none; SQLite's are a BLOB.
func keptOf(v any, driver string) kept {
	tag, text := packed(v)
	switch {
	case tag == 'y' && driver != "mysql":
		tag = 'x'
	case tag == 'y' && utf8.ValidString(text):
		tag = 's'
	case tag == 's' && !utf8.ValidString(text):
		tag = 'y'
	}
	if tag == 'x' || tag == 'y' {
		text = base64.StdEncoding.EncodeToString([]byte(text))
	}
	return kept{string(tag), text}
}

// arg gives the value as an argument.
func (c kept) arg() (any, bool) {
	if len(c[0]) != 1 {
		return nil, false
	}
	tag, text := c[0][0], c[1]
	if tag == 'x' || tag == 'y' {
		raw, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return nil, false
		}
		if tag == 'x' {
			return raw, true
		}
		return string(raw), true
	}
	return unpacked(tag, text)
}

// imageOf keeps the values that a change is about to replace: of an update those of the columns that it gives a value or
// the database moves on with it, of a delete those of all columns but the computed ones, which come back by themselves.
func (w *write) imageOf(ctx context.Context, tx *sqlx.Tx, before *rowset) (*image, error) {
	driver := w.db.driver.Name()
	im := w.image()
	var at []int // the field of each column
	var err error
	if w.verb == query.Update {
		at = w.replaced(im)
	} else {
		at, err = w.whole(ctx, tx, im)
	}
	if err != nil {
		return nil, err
	}
	w.seen(im, at)
	if len(im.Columns) == 0 {
		return im, nil
	}
	stored, err := w.stored(ctx, tx, im.Columns)
	if err != nil {
		return nil, err
	}
	for i, row := range before.rows {
		shown, exact := make([]kept, len(im.Columns)), make([]kept, len(im.Columns))
		for k := range im.Columns {
			exact[k] = keptOf(stored[i][k], driver)
			if k >= len(at) {
				continue
			}
			shown[k] = keptOf(row[at[k]], driver)
			if exact[k] == shown[k] {
				exact[k] = kept{"=", ""}
			}
		}
		im.Rows, im.Stored = append(im.Rows, shown), append(im.Stored, exact)
	}
	return im, nil
}

// image is one of nothing yet.
func (w *write) image() *image {
	r := w.change.Resource()
	im := &image{Verb: w.verb, Asked: w.verb, Connection: r.Connection.Name, Resource: r.Code, IDs: w.change.IDs()}
	if w.taken != nil {
		im.Asked = w.taken.Asked
	}
	return im
}

// seen keeps which of these fields, by their place, the principal reads.
func (w *write) seen(im *image, at []int) {
	v := policy.For(w.e.cat, w.who)
	for _, k := range at {
		if f := w.change.Resource().Fields[k]; v.Readable(f) {
			im.Seen = append(im.Seen, f.Code)
		}
	}
}

// replaced adds the columns of an update to its image.
func (w *write) replaced(im *image) (at []int) {
	r := w.change.Resource()
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
	var foreign []string
	for _, c := range w.moved() {
		k := slices.IndexFunc(r.Fields, func(f *schema.Field) bool { return sameColumn(w.db.driver.Name(), f.Column, c) })
		if k < 0 {
			foreign = append(foreign, c)
			continue
		}
		at = append(at, k)
		im.Columns, im.System = append(im.Columns, r.Fields[k].Column), append(im.System, r.Fields[k].Code)
	}
	im.Columns, im.Foreign = append(im.Columns, foreign...), len(foreign)
	return at
}

// moved are the columns that the database changes with every update by itself, and that this one gives no value.
func (w *write) moved() (out []string) {
	if w.verb != query.Update || len(w.change.Rows()) == 0 {
		return nil
	}
	for _, c := range w.effect.Moved {
		if !slices.ContainsFunc(w.change.Rows()[0], func(a plan.Assignment) bool { return sameColumn(w.db.driver.Name(), a.Column, c) }) {
			out = append(out, c)
		}
	}
	return out
}

// whole adds the columns of a table to the image of a delete, those that the catalog knows first.
func (w *write) whole(ctx context.Context, tx *sqlx.Tx, im *image) (at []int, err error) {
	names, err := w.columns(ctx, tx)
	if err != nil {
		return nil, err
	}
	r, driver := w.change.Resource(), w.db.driver.Name()
	var foreign []string
	for _, n := range names {
		if slices.ContainsFunc(w.effect.Computed, func(c string) bool { return sameColumn(driver, c, n) }) {
			continue
		}
		k := slices.IndexFunc(r.Fields, func(f *schema.Field) bool { return sameColumn(driver, f.Column, n) })
		if k < 0 {
			foreign = append(foreign, n)
			continue
		}
		at = append(at, k)
		im.Columns = append(im.Columns, r.Fields[k].Column)
	}
	im.Columns = append(im.Columns, foreign...)
	im.Foreign = len(foreign)
	return at, nil
}

func (w *write) sealed(op string, im *image) ([]byte, error) {
	plain, err := json.Marshal(im)
	if err != nil {
		return nil, err
	}
	return w.e.sign.seal(op, plain)
}

// stored reads columns of the rows of a change as they are stored.
func (w *write) stored(ctx context.Context, tx *sqlx.Tx, columns []string) (out [][]any, err error) {
	st, err := sqlgen.Columns(w.change, w.change.IDs(), columns, w.db.driver)
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
		out = append(out, vals)
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	if len(out) != len(w.change.IDs()) {
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
	if o == nil || !w.e.owns(w.who, o) && !w.e.admin(w.who) {
		return refuse(problem.NotFound, "no connection that takes writes has such an operation of this principal", "the op_id of a result of res-update or res-delete")
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
		return refuse(problem.Conflict, "what the operation changed is not there for this key any more", "")
	}
	// Whoever narrowed what a resource takes meant its undo as well.
	if !slices.Contains(r.Writes, string(w.taken.Asked)) {
		return refuse(problem.PermissionDenied, problem.Quote(r.Code)+" does not take "+string(w.taken.Asked)+" any more, nor the undo of one", "")
	}
	if w.e.owns(w.who, o) && w.taken.hidden(v, r) {
		return refuse(problem.PermissionDenied, "this key may no longer see all that the operation changed, so it cannot take it back", "someone who may see it puts it right")
	}
	verb := map[query.Verb]query.Verb{query.Update: query.Update, query.Delete: query.Create, query.Create: query.Delete}[w.taken.Verb]
	if verb == query.Delete && !slices.Contains(w.who.Scopes, "delete") {
		return refuse(problem.PermissionDenied, "this undo deletes rows, which needs the scope delete", "")
	}
	rows, ok := w.taken.assignments(r)
	if !ok {
		return refuse(problem.Conflict, "the catalog no longer fits what the operation changed", "")
	}
	if w.change, err = plan.Restore(v, r, verb, w.taken.IDs, rows, w.e.options(ctx, v, nil)); err != nil {
		return err
	}
	return w.settle(ctx, op)
}

// hidden says whether the principal read a field at the time that it may not read now.
func (im *image) hidden(v *policy.View, r *schema.Resource) bool {
	return slices.ContainsFunc(r.Fields, func(f *schema.Field) bool { return slices.Contains(im.Seen, f.Code) && !v.Readable(f) })
}

// assignments are the old values as those of a change. To take back rows that an undo made anew needs none.
func (im *image) assignments(r *schema.Resource) ([][]plan.Assignment, bool) {
	fields := make([]*schema.Field, len(im.Columns))
	for i, name := range im.Columns {
		k := slices.IndexFunc(r.Fields, func(f *schema.Field) bool { return f.Column == name })
		if k >= 0 {
			fields[i] = r.Fields[k]
		} else if i < len(im.Columns)-im.Foreign {
			return nil, false
		}
	}
	if im.Verb == query.Create {
		return nil, true
	}
	if len(im.Rows) != len(im.Stored) {
		return nil, false
	}
	var out [][]plan.Assignment
	for i, cells := range im.Rows {
		if len(cells) != len(im.Columns) || len(im.Stored[i]) != len(im.Columns) {
			return nil, false
		}
		var row []plan.Assignment
		for k, c := range cells {
			exact := im.Stored[i][k]
			if exact[0] == "=" {
				exact = c
			}
			stored, ok := exact.arg()
			if !ok {
				return nil, false
			}
			v, ok := c.arg()
			if !ok { // a value that reads have no form for
				v = stored
			}
			a := plan.Assignment{Field: fields[k], Column: im.Columns[k], Value: &plan.Arg{Value: v}, Exact: true, Stored: stored}
			if f := fields[k]; f != nil {
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
	free, err := w.gone(ctx, tx, w.change.IDs())
	if err != nil {
		return nil, err
	}
	if !free {
		return nil, movedOn()
	}
	set, err := w.read(ctx, tx, w.change.Targets(w.change.IDs()))
	if err != nil {
		return nil, err
	}
	set.rows = append(set.rows, w.restored()...)
	return set, nil
}

// gone says whether a table has no row of these keys, whoever may see it.
func (w *write) gone(ctx context.Context, tx *sqlx.Tx, ids []int64) (bool, error) {
	st, err := sqlgen.Lock(w.change, ids, w.db.driver)
	if err != nil {
		return false, err
	}
	rows, err := tx.QueryxContext(ctx, st.SQL, st.Args...)
	if err != nil {
		return false, err
	}
	defer rows.Close()
	n := 0
	for rows.Next() {
		n++
	}
	return n == 0, rows.Err()
}

// restored are the rows of an undo as reads will give them.
func (w *write) restored() (out [][]any) {
	r := w.change.Resource()
	for _, row := range w.change.Rows() {
		vals := make([]any, len(r.Fields))
		for _, a := range row {
			if k := slices.Index(r.Fields, a.Field); k >= 0 {
				vals[k] = shownAs(a)
			}
		}
		out = append(out, vals)
	}
	return out
}
