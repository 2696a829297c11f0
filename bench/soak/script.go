package main

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"time"

	"resq/resources/store"
)

// A script writes the statements of the demonstration's filler down, in the words of another database, so that the
// database's own client runs them: what drives the program from outside has no drivers.
type script struct {
	driver string
	text   strings.Builder
	rows   string // the INSERT that is open
	n      int
}

// fillScript is a script that makes the shop.
func fillScript(ctx context.Context, driverName string) (string, error) {
	s := &script{driver: driverName}
	if driverName == "mysql" {
		s.text.WriteString("SET sql_mode = CONCAT(@@sql_mode, ',NO_BACKSLASH_ESCAPES');\nSET foreign_key_checks = 0;\nBEGIN;\n")
	} else {
		s.text.WriteString("BEGIN;\n")
	}
	db := sql.OpenDB(s)
	defer db.Close()
	if err := store.Fill(ctx, db); err != nil {
		return "", err
	}
	s.end()
	s.text.WriteString("COMMIT;\n")
	return s.text.String(), nil
}

// perInsert rows go into one statement.
const perInsert = 500

func (s *script) end() {
	if s.n > 0 {
		s.text.WriteString(";\n")
	}
	s.rows, s.n = "", 0
}

func (s *script) run(query string, values []driver.Value) error {
	before, _, inserts := strings.Cut(query, " VALUES ")
	if !inserts {
		s.end()
		switch {
		case query == "ANALYZE" && s.driver == "mysql":
			return nil // it keeps figures of its own
		case s.driver == "postgres":
			query = strings.NewReplacer(" DATETIME", " TIMESTAMP", " REAL", " DOUBLE PRECISION").Replace(query)
		}
		s.text.WriteString(query + ";\n")
		return nil
	}
	if s.rows != before || s.n == perInsert {
		s.end()
		s.rows = before
		s.text.WriteString(before + " VALUES\n")
	} else {
		s.text.WriteString(",\n")
	}
	s.n++
	for i, v := range values {
		if i == 0 {
			s.text.WriteString("(")
		} else {
			s.text.WriteString(", ")
		}
		switch x := v.(type) {
		case nil:
			s.text.WriteString("NULL")
		case bool:
			if x {
				s.text.WriteString("1")
			} else {
				s.text.WriteString("0")
			}
		case int64, float64:
			fmt.Fprint(&s.text, x)
		case string:
			s.text.WriteString("'" + strings.ReplaceAll(x, "'", "''") + "'")
		case time.Time:
			s.text.WriteString("'" + x.UTC().Format(time.DateTime) + "'")
		default:
			return fmt.Errorf("the filler gives a %T", x)
		}
	}
	s.text.WriteString(")")
	return nil
}

// Connect and the rest are what database/sql asks of a driver. Reading is not among it.
func (s *script) Connect(context.Context) (driver.Conn, error) { return scriptConn{s}, nil }
func (s *script) Driver() driver.Driver                        { return nil }

type scriptConn struct{ s *script }

func (c scriptConn) Prepare(query string) (driver.Stmt, error) { return scriptStmt{c.s, query}, nil }
func (c scriptConn) Close() error                              { return nil }
func (c scriptConn) Begin() (driver.Tx, error)                 { return c, nil }
func (c scriptConn) Commit() error                             { return nil }
func (c scriptConn) Rollback() error                           { return nil }

type scriptStmt struct {
	s     *script
	query string
}

func (t scriptStmt) Close() error  { return nil }
func (t scriptStmt) NumInput() int { return -1 }

func (t scriptStmt) Exec(values []driver.Value) (driver.Result, error) {
	return driver.ResultNoRows, t.s.run(t.query, values)
}

func (t scriptStmt) Query([]driver.Value) (driver.Rows, error) {
	return nil, errors.New("a script is only written")
}
