package engine

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"resq/engine/plan"
	"resq/engine/policy"
	"resq/engine/sqlgen"
	"resq/schema"
	"resq/schema/problem"
	"resq/schema/query"

	"github.com/jmoiron/sqlx"
)

// A result is what a write came to.
type result struct {
	text      []byte
	affected  int
	undo      []byte
	statement *sqlgen.Statement
	ids       []int64
	after     *rowset // the rows as they are then; nil of a delete
	replayed  bool
	told      *operation // of a replayed one, what was told before
}

// make changes rows that are locked and were read, checks what they are then, and keeps what they were. A change that a
// validation stops is an error.
func (w *write) make(ctx context.Context, tx *sqlx.Tx, op string, before *rowset) (result, error) {
	w.verdicts = nil
	res, err := w.made(ctx, tx, op, before)
	if err != nil {
		return res, err
	}
	list, err := w.validate(ctx, tx, before, &res)
	if err != nil {
		return res, err
	}
	res.with(list)
	return res, w.refused(list)
}

// made is make without the validations.
func (w *write) made(ctx context.Context, tx *sqlx.Tx, op string, before *rowset) (res result, err error) {
	switch w.verb {
	case query.Update:
		return w.update(ctx, tx, op, before)
	case query.Delete:
		return w.remove(ctx, tx, op, before)
	}
	return w.insert(ctx, tx, op)
}

func unmatched() error {
	return problem.List{{Code: problem.Conflict, Stage: problem.Confirm, Reason: "changed", Message: "the database matched other rows than the preview, and nothing was changed", Hint: "call again without __confirm__ for a new preview"}}
}

func (w *write) update(ctx context.Context, tx *sqlx.Tx, op string, before *rowset) (res result, err error) {
	ids, rows := w.change.IDs(), w.change.Rows()
	conn := w.change.Resource().Connection
	im, err := w.imageOf(ctx, tx, before)
	if err != nil {
		return res, err
	}
	if len(rows) == 1 {
		var n int64
		res.statement, err = sqlgen.Update(w.change, ids, plan.Stamp(rows[0], conn, w.now), w.db.driver)
		if n, err = w.exec(ctx, tx, res.statement, err); err != nil {
			return res, err
		}
		if n != int64(len(ids)) {
			return res, unmatched()
		}
	} else {
		for i, id := range ids {
			var n int64
			res.statement, err = sqlgen.Update(w.change, []int64{id}, plan.Stamp(rows[i], conn, w.now), w.db.driver)
			if n, err = w.exec(ctx, tx, res.statement, err); err != nil {
				return res, err
			}
			if n != 1 {
				return res, unmatched()
			}
		}
	}
	after, err := w.read(ctx, tx, w.change.Targets(ids))
	if err != nil {
		return res, err
	}
	if len(after.rows) != len(ids) {
		return res, violation()
	}
	if err := w.kept(after); err != nil {
		return res, err
	}
	res.after = after
	im.After = version(w.change.Resource(), after, nil)
	if res.undo, err = w.sealed(op, im); err != nil {
		return res, err
	}
	res.affected, res.ids = len(ids), ids
	b := strconv.AppendInt([]byte(`{"updated":`), int64(len(ids)), 10)
	b = w.records(append(b, `,"records":`...), after, w.given(), true)
	res.text = w.closing(b, op)
	return res, nil
}

// given are the fields that the caller changed, as far as it may read them: who undoes what another did may not.
func (w *write) given() []*schema.Field {
	var out []*schema.Field
	v := policy.For(w.e.cat, w.who)
	for _, row := range w.change.Rows() {
		for _, a := range row {
			if a.Field != nil && !a.System && v.Readable(a.Field) && !slices.Contains(out, a.Field) {
				out = append(out, a.Field)
			}
		}
	}
	return out
}

func (w *write) remove(ctx context.Context, tx *sqlx.Tx, op string, before *rowset) (res result, err error) {
	ids := w.change.IDs()
	im, err := w.imageOf(ctx, tx, before)
	if err != nil {
		return res, err
	}
	if res.undo, err = w.sealed(op, im); err != nil {
		return res, err
	}
	key := keyIndex(w.change.Resource())
	for _, round := range rounds(w.change.Resource(), before.rows) {
		var n int64
		some := make([]int64, len(round))
		for i, k := range round {
			some[i] = whole(before.rows[k][key])
		}
		res.statement, err = sqlgen.Delete(w.change, some, w.db.driver)
		if n, err = w.exec(ctx, tx, res.statement, err); err != nil {
			return res, err
		}
		if n == int64(len(round)) {
			continue
		}
		// A foreign key that the catalog does not know took the one row with the other, which counts once.
		switch gone, err := w.gone(ctx, tx, some); {
		case err != nil:
			return res, err
		case !gone:
			return res, unmatched()
		}
	}
	res.affected, res.ids = len(ids), ids
	b := strconv.AppendInt([]byte(`{"deleted":`), int64(len(ids)), 10)
	b = appendIDs(append(b, `,"ids":`...), w.change.Key(), ids)
	res.text = w.closing(b, op)
	return res, nil
}

// rounds are rows by their place, those to which no other of them refers first: where a resource refers to itself the
// databases differ about rows that go together, and some delete the one with the other and do not count it. Rows that
// refer to each other in a circle go at once.
func rounds(r *schema.Resource, rows [][]any) (out [][]int) {
	var from, to []int
	for i, f := range r.Fields {
		if f.References != nil && f.References.Resource == r {
			from, to = append(from, i), append(to, slices.Index(r.Fields, f.References.Field))
		}
	}
	rest := make([]int, len(rows))
	for i := range rest {
		rest[i] = i
	}
	for len(rest) > 0 {
		referred := map[string]bool{}
		for _, k := range rest {
			for i := range from {
				if v := named(i, rows[k][from[i]]); rows[k][from[i]] != nil && v != named(i, rows[k][to[i]]) {
					referred[v] = true
				}
			}
		}
		var now, later []int
		for _, k := range rest {
			held := false
			for i := range to {
				held = held || referred[named(i, rows[k][to[i]])]
			}
			if held {
				later = append(later, k)
			} else {
				now = append(now, k)
			}
		}
		if len(now) == 0 {
			now, later = rest, nil
		}
		out, rest = append(out, now), later
	}
	return out
}

// order is in which new rows are made: as they were given or, of an undo, those first to which others refer.
func (w *write) order() (out []int) {
	r := w.change.Resource()
	if w.undoes == "" {
		for i := range w.change.Rows() {
			out = append(out, i)
		}
		return out
	}
	for _, round := range rounds(r, w.restored()) {
		out = append(out, round...)
	}
	slices.Reverse(out)
	return out
}

// named is a value of the i-th reference.
func named(i int, v any) string {
	tag, text := packed(v)
	return strconv.Itoa(i) + string(tag) + text
}

func appendIDs(b []byte, key *schema.Field, ids []int64) []byte {
	b = append(b, '[')
	for i, id := range ids {
		if i > 0 {
			b = append(b, ',')
		}
		if key.Unsigned && id < 0 {
			b = append(strconv.AppendUint(append(b, '"'), uint64(id), 10), '"')
			continue
		}
		b = appendInt(b, id)
	}
	return append(b, ']')
}

// insert makes the rows of a change one by one, so that each tells its key, and reads them as the principal sees
// them: defaults and triggers show, and a row that would not be seen ends the whole call.
func (w *write) insert(ctx context.Context, tx *sqlx.Tx, op string) (res result, err error) {
	key := w.change.Key()
	res.ids = make([]int64, len(w.change.Rows()))
	for _, place := range w.order() {
		row := w.change.Rows()[place]
		st, returns, err := sqlgen.Insert(w.change, plan.Stamp(row, w.change.Resource().Connection, w.now), w.db.driver)
		if err != nil {
			return res, err
		}
		res.statement = st
		traceStatement(ctx, st.SQL)
		id, known := int64(0), false
		for _, a := range row {
			if a.Field == key {
				id, known = whole(a.Value.Value), a.Value.Value != nil
			}
		}
		if returns {
			var v any
			err := tx.QueryRowxContext(ctx, st.SQL, st.Args...).Scan(&v)
			if errors.Is(err, sql.ErrNoRows) {
				return res, problem.List{{Code: problem.Conflict, Stage: problem.Database, Reason: "skipped", Message: "a trigger or rule of the database left the new row out, so nothing was created", Hint: "send other values; the operator knows the trigger"}}
			}
			if err != nil {
				return res, err
			}
			id, known = whole(v), true
		} else {
			r, err := tx.ExecContext(ctx, st.SQL, st.Args...)
			if err != nil {
				return res, err
			}
			if last, err := r.LastInsertId(); !known && err == nil && last != 0 {
				id, known = last, true
			}
		}
		if !known {
			return res, problem.List{{Code: problem.DataIntegrity, Stage: problem.Database, Message: "the database gives new rows no key", Hint: "send the key " + problem.Quote(key.Code) + ", or the operator makes it count by itself"}}
		}
		res.ids[place] = id
	}
	if w.undoes != "" && !slices.Equal(res.ids, w.change.IDs()) { // a trigger gave others
		return res, unmatched()
	}
	set, err := w.read(ctx, tx, w.change.Targets(res.ids))
	if err != nil {
		return res, err
	}
	if len(set.rows) != len(res.ids) {
		return res, violation()
	}
	order := map[int64]int{}
	for i, id := range res.ids {
		order[id] = i
	}
	at := keyIndex(w.change.Resource())
	slices.SortFunc(set.rows, func(a, b []any) int { return order[whole(a[at])] - order[whole(b[at])] })
	if err := w.kept(set); err != nil {
		return res, err
	}
	res.after = set
	res.affected = len(res.ids)
	b := strconv.AppendInt([]byte(`{"created":`), int64(len(res.ids)), 10)
	fields := policy.For(w.e.cat, w.who).Fields(w.change.Resource())
	if w.ask.Batch || w.undoes != "" {
		b = w.records(append(b, `,"records":`...), set, fields, false)
	} else {
		one := w.records(nil, set, fields, false)
		b = append(append(b, `,"record":`...), one[1:len(one)-1]...)
	}
	if w.undoes == "" {
		res.text = append(b, '}')
		return res, nil
	}
	im := w.image()
	im.After = version(w.change.Resource(), set, nil)
	for k := range w.change.Resource().Fields {
		w.seen(im, []int{k})
	}
	res.undo, err = w.sealed(op, im)
	res.text = w.closing(b, op)
	return res, err
}

// records writes rows as objects of the given fields, masked as reads are; with key the key stands first.
func (w *write) records(b []byte, set *rowset, fields []*schema.Field, key bool) []byte {
	r := w.change.Resource()
	at := keyIndex(r)
	b = append(b, '[')
	for i, row := range set.rows {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, '{')
		n := 0
		put := func(k int) {
			if n++; n > 1 {
				b = append(b, ',')
			}
			b = append(appendString(b, r.Fields[k].Code), ':')
			b = set.cols[k].json(b, row[k])
		}
		if key {
			put(at)
		}
		for k, f := range r.Fields {
			if slices.Contains(fields, f) && !(key && k == at) {
				put(k)
			}
		}
		b = append(b, '}')
	}
	return append(b, ']')
}

// closing ends the result of a change that can be undone.
func (w *write) closing(b []byte, op string) []byte {
	b = appendString(append(b, `,"op_id":`...), op)
	b = appendString(append(b, `,"undo":{"tool":"res-undo","until":`...), w.now.Add(w.lim.Undo).Format(time.RFC3339))
	return append(b, "}}"...)
}

// changes is what the audit keeps of a result: the rows, and what they were given where that is not masked.
func (w *write) changes(r result) []byte {
	b := appendIDs([]byte(`{"ids":`), w.change.Key(), r.ids)
	if rows := w.change.Rows(); w.verb == query.Update && len(rows) == 1 {
		b = append(b, `,"set":{`...)
		n := 0
		for _, a := range rows[0] {
			if a.Field == nil || a.System {
				continue
			}
			if n++; n > 1 {
				b = append(b, ',')
			}
			b = append(appendString(b, a.Field.Code), ':')
			switch c := (&column{t: a.Field.Type, field: a.Field, mask: a.Field.Mask}); {
			case a.Now:
				b = append(b, `"CURRENT_TIMESTAMP"`...)
			case len(a.Field.Roles) > 0, a.Field.Mask != "": // what not everybody may read
				b = append(b, `"****"`...)
			default:
				b = appendCut(b, c.json(nil, shownAs(a)))
			}
		}
		b = append(b, '}')
	}
	return w.audited(append(b, '}'))
}

// replayed is a result that was told before.
func replayed(text string) []byte {
	if strings.HasSuffix(text, "}") {
		return []byte(text[:len(text)-1] + `,"replayed":true}`)
	}
	return []byte(text)
}
