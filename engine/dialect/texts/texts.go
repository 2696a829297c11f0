// Package texts reads texts, such as names of columns or tables.
package texts

import (
	"context"
	"database/sql"
)

// Of gives what a query with one column of texts finds.
func Of(ctx context.Context, db *sql.DB, query string, args ...any) (out []string, err error) {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, rows.Err()
}

// Triples gives what a query with three columns of texts finds; NULL is an empty text.
func Triples(ctx context.Context, db *sql.DB, query string, args ...any) (out [][3]string, err error) {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var a, b, c sql.NullString
		if err := rows.Scan(&a, &b, &c); err != nil {
			return nil, err
		}
		out = append(out, [3]string{a.String, b.String, c.String})
	}
	return out, rows.Err()
}
