// Package erp holds the tables of the pack erp, which are the same on every database.
package erp

import (
	"context"
	"database/sql"
	_ "embed" // of the script
)

// Version changes with what Fill makes.
const Version = 1

// Script makes the tables and rows, in SQL that every database of this program reads.
//
//go:embed erp.sql
var Script string

// Fill makes the tables and their rows.
func Fill(ctx context.Context, db *sql.DB) error {
	_, err := db.ExecContext(ctx, Script)
	return err
}
