package engine

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"io"

	"resq/engine/sqlgen"

	"github.com/jmoiron/sqlx"
)

// A querier is where statements that read are run: a pool, or the transaction of a write.
type querier interface {
	query(ctx context.Context, text string, args []any, use func(rows driver.Rows) error) error
	rower
}

// An inside is the transaction of a write as a place to read: what was changed in it is seen, and nothing of it by others.
type inside struct {
	*sqlx.Tx
	db *database
	// lost is the error that ended the transaction, so that whoever reads cannot take it for one of the data.
	lost error
}

func (x *inside) query(ctx context.Context, text string, args []any, use func(rows driver.Rows) error) error {
	traceStatement(ctx, text)
	rows, err := x.QueryContext(ctx, text, args...)
	if err != nil {
		return x.note(err)
	}
	defer rows.Close()
	types, err := rows.ColumnTypes()
	if err != nil {
		return x.note(err)
	}
	return x.note(use(&txRows{rows: rows, types: types}))
}

func (x *inside) note(err error) error {
	if err != nil && x.lost == nil {
		if r := x.db.driver.Refusal(err); r == sqlgen.Busy || r == sqlgen.Gone {
			x.lost = err
		}
	}
	return err
}

// txRows are rows of a transaction as the driver's own, which database/sql keeps to itself there.
type txRows struct {
	rows  *sql.Rows
	types []*sql.ColumnType
}

func (r *txRows) Columns() []string {
	names := make([]string, len(r.types))
	for i, t := range r.types {
		names[i] = t.Name()
	}
	return names
}

func (r *txRows) Close() error { return r.rows.Close() }

// ColumnTypeDatabaseTypeName is that of the driver.
func (r *txRows) ColumnTypeDatabaseTypeName(i int) string { return r.types[i].DatabaseTypeName() }

func (r *txRows) Next(dest []driver.Value) error {
	if !r.rows.Next() {
		if err := r.rows.Err(); err != nil {
			return err
		}
		return io.EOF
	}
	to := make([]any, len(dest))
	vals := make([]any, len(dest))
	for i := range to {
		to[i] = &vals[i]
	}
	if err := r.rows.Scan(to...); err != nil {
		return err
	}
	for i, v := range vals {
		dest[i] = v
	}
	return nil
}
