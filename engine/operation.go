package engine

import (
	"context"
	"database/sql"
	"strings"
	"time"

	"resq/engine/policy"
	"resq/engine/sqlgen"
	"resq/schema/problem"

	"github.com/jmoiron/sqlx"
)

// Note [the operation row]
//
// Whether a confirmed write has happened is decided by one row, in the transaction of the write and in the same
// database: its primary key and its lock let one of any number of callers through, and a commit makes the write
// and its record true together. Memory, sessions and tokens have no part in it (security.md 3.9: every design
// that marks the use elsewhere executes twice, or says done and did nothing).

// The states of an operation. A preview that was not used in time stays previewed and is expired by the clock.
const (
	previewed = "previewed"
	approved  = "approved"
	declined  = "declined"
	applied   = "applied"
	claimed   = "claimed" // in the control store: the change is being made, or was when its process died
)

// An operation is one row of resq_operation.
type operation struct {
	ID         string         `db:"op_id"`
	State      string         `db:"state"`
	Principal  string         `db:"principal"` // the owner: its name and user
	Key        string         `db:"key_id"`
	Tool       string         `db:"tool"`
	Resource   string         `db:"resource"`
	Binding    string         `db:"binding_hash"`
	Version    string         `db:"version_hash"`
	Catalog    string         `db:"catalog_hash"`
	Mode       string         `db:"mode"`
	Created    int64          `db:"created"`
	Expires    int64          `db:"expires"`
	Now        int64          `db:"now"`
	Expired    bool           `db:"expired"`
	ApprovedBy sql.NullString `db:"approved_by"`
	Reason     sql.NullString `db:"reason"`
	Applied    sql.NullInt64  `db:"applied"`
	Affected   sql.NullInt64  `db:"affected"`
	Result     sql.NullString `db:"result_json"`
	Undo       []byte         `db:"undo_blob"`
}

// A ledger keeps the operation rows of one connection: in its own database or, where no table can be made there,
// in the control store, apart from the data.
type ledger struct {
	pool   *sqlx.DB
	driver Driver
	ops    sqlgen.Operations
	apart  bool
	// timeout is of a question that no call's time bounds.
	timeout time.Duration
}

// in is where a call's statements on operations run: in the transaction of the data or, apart from it, one by one.
func (l ledger) in(tx *sqlx.Tx) sqlx.ExtContext {
	if l.apart {
		return l.pool
	}
	return tx
}

// sql fills the words of the database's clock into a statement.
func (l ledger) sql(text string) string {
	o := l.ops
	epoch := func(column string) string { return strings.ReplaceAll(string(o.Epoch), "{}", column) }
	return l.pool.Rebind(strings.NewReplacer(
		"$COLUMNS", "op_id, state, principal, key_id, tool, resource, binding_hash, version_hash, catalog_hash, mode, "+
			epoch("created_at")+" AS created, "+epoch("expires_at")+" AS expires, "+epoch(string(o.Now))+" AS now, "+
			"CASE WHEN expires_at < "+string(o.Now)+" THEN 1 ELSE 0 END AS expired, approved_by, reason, "+
			epoch("applied_at")+" AS applied, affected, result_json, undo_blob",
		"$NOW", string(o.Now), "$AFTER", string(o.After),
	).Replace(text))
}

// now is the database's clock in seconds since 1970.
func (l ledger) now(ctx context.Context, tx sqlx.QueryerContext) (n int64, err error) {
	err = tx.QueryRowxContext(ctx, l.sql("SELECT "+strings.ReplaceAll(string(l.ops.Epoch), "{}", "$NOW"))).Scan(&n)
	return n, err
}

// load reads an operation, nil when there is none. With lock nobody else gets it before the transaction ends.
func (l ledger) load(ctx context.Context, q sqlx.QueryerContext, id string, lock bool) (*operation, error) {
	text := "SELECT $COLUMNS FROM resq_operation WHERE op_id = ?"
	if lock && l.driver.Name() != "sqlite" { // whose transactions have the file to themselves
		text += " FOR UPDATE"
	}
	var o operation
	if err := sqlx.GetContext(ctx, q, &o, l.sql(text), id); err != nil {
		if err == sql.ErrNoRows {
			return nil, nil
		}
		return nil, err
	}
	return &o, nil
}

// recover reads an operation once no transaction has a hold on it. A row that is only about to be there cannot be
// locked, but another one of the same key has to wait for it.
func (l ledger) recover(ctx context.Context, id string) (*operation, error) {
	ctx, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	o, err := l.load(ctx, l.pool, id, true)
	if o != nil || err != nil {
		return o, err
	}
	tx, err := l.pool.BeginTxx(ctx, nil)
	if err != nil {
		return nil, err
	}
	err = l.begin(ctx, tx, &operation{ID: id})
	if end := tx.Rollback(); err == nil {
		return nil, end
	}
	if l.driver.Refusal(err) == sqlgen.Duplicate {
		return l.load(ctx, l.pool, id, true)
	}
	return nil, err
}

// live finds the operations that wait for their confirmation and are of the same principal, key and arguments.
func (l ledger) live(ctx context.Context, q sqlx.QueryerContext, who *policy.Principal, binding string) (ids []string, err error) {
	err = sqlx.SelectContext(ctx, q, &ids, l.sql("SELECT op_id FROM resq_operation WHERE principal = ? AND key_id = ? AND binding_hash = ? "+
		"AND state IN ('previewed', 'approved') AND expires_at >= $NOW"), who.Owner(), who.Key, binding)
	return ids, err
}

// propose keeps a preview. The oldest live ones beyond what one key may have end; too many in one minute are
// refused.
func (l ledger) propose(ctx context.Context, tx sqlx.ExtContext, o *operation, lim WriteLimits) error {
	var minute int64
	if err := tx.QueryRowxContext(ctx, l.sql("SELECT COUNT(*) FROM resq_operation WHERE principal = ? AND key_id = ? AND created_at > $AFTER AND tool <> 'res-create'"),
		o.Principal, o.Key, -60).Scan(&minute); err != nil {
		return err
	}
	if lim.PreviewsPerMinute > 0 && minute >= int64(lim.PreviewsPerMinute) {
		return problem.List{{Code: problem.RateLimited, Stage: problem.Confirm, Message: "too many previews in one minute", Hint: "confirm or drop those there are, and call again later", RetryAfter: 30}}
	}
	var old []string
	if err := sqlx.SelectContext(ctx, tx, &old, l.sql("SELECT op_id FROM resq_operation WHERE principal = ? AND key_id = ? AND state IN ('previewed', 'approved') AND expires_at >= $NOW ORDER BY created_at DESC, op_id"),
		o.Principal, o.Key); err != nil {
		return err
	}
	for i := lim.LivePreviews - 1; i >= 0 && i < len(old); i++ {
		if _, err := tx.ExecContext(ctx, l.sql("UPDATE resq_operation SET expires_at = $AFTER WHERE op_id = ?"), -1, old[i]); err != nil {
			return err
		}
	}
	_, err := tx.ExecContext(ctx, l.sql("INSERT INTO resq_operation (op_id, state, principal, key_id, tool, resource, binding_hash, version_hash, catalog_hash, mode, created_at, expires_at, result_json) "+
		"VALUES (?, 'previewed', ?, ?, ?, ?, ?, ?, ?, ?, $NOW, $AFTER, ?)"),
		o.ID, o.Principal, o.Key, o.Tool, o.Resource, o.Binding, o.Version, o.Catalog, o.Mode, int64(lim.Expiry.Seconds()), o.Result.String)
	return err
}

// begin keeps the operation of a creation, or of a write without a preview, before it is made.
func (l ledger) begin(ctx context.Context, tx sqlx.ExtContext, o *operation) error {
	_, err := tx.ExecContext(ctx, l.sql("INSERT INTO resq_operation (op_id, state, principal, key_id, tool, resource, binding_hash, version_hash, catalog_hash, mode, created_at, expires_at, applied_at) "+
		"VALUES (?, 'applied', ?, ?, ?, ?, ?, ?, ?, ?, $NOW, $NOW, $NOW)"),
		o.ID, o.Principal, o.Key, o.Tool, o.Resource, o.Binding, o.Version, o.Catalog, o.Mode)
	return err
}

// finish keeps what a write came to.
func (l ledger) finish(ctx context.Context, tx sqlx.ExtContext, id string, affected int, result string, undo []byte) error {
	_, err := tx.ExecContext(ctx, l.sql("UPDATE resq_operation SET state = 'applied', applied_at = $NOW, affected = ?, result_json = ?, undo_blob = ? WHERE op_id = ?"),
		affected, result, undo, id)
	return err
}

// claim marks that a change is about to be made. It says false when the operation is not what it was.
func (l ledger) claim(ctx context.Context, id, was string) (bool, error) {
	res, err := l.pool.ExecContext(ctx, l.sql("UPDATE resq_operation SET state = 'claimed', applied_at = $NOW WHERE op_id = ? AND state = ?"), id, was)
	if err != nil {
		return false, err
	}
	n, err := res.RowsAffected()
	return n == 1, err
}

// release takes a claim back: the change was not made.
func (l ledger) release(ctx context.Context, id, was string) error {
	_, err := l.pool.ExecContext(ctx, l.sql("UPDATE resq_operation SET state = ?, applied_at = NULL WHERE op_id = ? AND state = 'claimed'"), was, id)
	return err
}

// changed counts the rows that a key has changed or deleted within the last hour.
func (l ledger) changed(ctx context.Context, tx sqlx.ExtContext, who *policy.Principal) (n int64, err error) {
	err = tx.QueryRowxContext(ctx, l.sql("SELECT COALESCE(SUM(affected), 0) FROM resq_operation WHERE principal = ? AND key_id = ? AND state = 'applied' AND tool <> 'res-create' AND applied_at > $AFTER"),
		who.Owner(), who.Key, -3600).Scan(&n)
	return n, err
}

// settle decides a preview that waits. It says false when it no longer does.
func (l ledger) settle(ctx context.Context, id, state, by, reason string) (bool, error) {
	res, err := l.pool.ExecContext(ctx, l.sql("UPDATE resq_operation SET state = ?, approved_by = ?, approved_at = $NOW, reason = ?, expires_at = $AFTER WHERE op_id = ? AND state = 'previewed' AND expires_at >= $NOW"),
		state, by, reason, 3600, id)
	if err != nil {
		return false, err
	}
	n, err := res.RowsAffected()
	return n == 1, err
}

// list gives the newest operations.
func (l ledger) list(ctx context.Context, state string, limit int) (out []operation, err error) {
	text := "SELECT $COLUMNS FROM resq_operation"
	args := []any{}
	switch state {
	case "":
	case "expired":
		text += " WHERE state IN ('previewed', 'approved') AND expires_at < $NOW"
	case previewed, approved:
		text += " WHERE state = ? AND expires_at >= $NOW"
		args = append(args, state)
	default:
		text += " WHERE state = ?"
		args = append(args, state)
	}
	args = append(args, limit)
	err = l.pool.SelectContext(ctx, &out, l.sql(text+" ORDER BY created_at DESC, op_id LIMIT ?"), args...)
	return out, err
}

// forget drops what is too old to be used: before-images, and proposals that nobody confirmed.
func (l ledger) forget(ctx context.Context, lim WriteLimits) error {
	old := -int64(lim.Undo.Seconds())
	for _, text := range []string{
		"UPDATE resq_operation SET undo_blob = NULL WHERE undo_blob IS NOT NULL AND applied_at < $AFTER",
		"DELETE FROM resq_operation WHERE state IN ('previewed', 'approved') AND expires_at < $AFTER",
	} {
		if _, err := l.pool.ExecContext(ctx, l.sql(text), old); err != nil {
			return err
		}
	}
	return nil
}

// Outcome is the state that an owner is told.
func (o *operation) outcome() string {
	if o.State == claimed {
		return "unknown"
	}
	if (o.State == previewed || o.State == approved) && o.Expired {
		return "expired"
	}
	return o.State
}
