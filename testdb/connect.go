package testdb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"net/url"
	"strings"
	"testing"

	// Each driver has one importer, its dialect, which registers it.
	_ "resq/engine/dialect/mysql"
	_ "resq/engine/dialect/postgres"
	_ "resq/engine/dialect/sqlite"
)

// connect opens a writable pool that takes scripts of several statements. It does not go through the
// dialects' own connectors, which open for reading.
func connect(name, dsn string) (*sql.DB, error) {
	switch name {
	case SQLite:
		path, ok := strings.CutPrefix(dsn, "sqlite:")
		if !ok {
			return nil, fmt.Errorf("the address of a SQLite database has the form sqlite:PATH")
		}
		db, err := sql.Open("sqlite", path)
		if err == nil {
			// One connection: a second one would wait for the first one's lock.
			db.SetMaxOpenConns(1)
		}
		return db, err
	case MySQL:
		s, err := mysqlDSN(dsn)
		if err != nil {
			return nil, err
		}
		return sql.Open("mysql", s)
	case Postgres:
		return sql.Open("pgx", dsn)
	}
	return nil, fmt.Errorf("no engine %q", name)
}

// mysqlDSN writes mysql://user:password@host:port/db?socket=/path in the driver's own form.
func mysqlDSN(dsn string) (string, error) {
	u, err := url.Parse(dsn)
	if err != nil {
		return "", err
	}
	user := u.User.Username()
	if p, ok := u.User.Password(); ok {
		user += ":" + p
	}
	addr := "tcp(" + u.Host + ")"
	if u.Port() == "" {
		addr = "tcp(" + u.Host + ":3306)"
	}
	if s := u.Query().Get("socket"); s != "" {
		addr = "unix(" + s + ")"
	}
	return user + "@" + addr + "/" + strings.TrimPrefix(u.Path, "/") + "?multiStatements=true&charset=utf8mb4&timeout=5s", nil
}

// Connector gives a connector for the database at dsn, for tests of what wraps one.
func Connector(t testing.TB, e Engine, dsn string) driver.Connector {
	t.Helper()
	db, err := connect(e.Name, dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if e.Name == MySQL {
		dsn, _ = mysqlDSN(dsn)
	}
	return dsnConnector{strings.TrimPrefix(dsn, "sqlite:"), db.Driver()}
}

type dsnConnector struct {
	dsn    string
	driver driver.Driver
}

func (c dsnConnector) Connect(ctx context.Context) (driver.Conn, error) {
	if d, ok := c.driver.(driver.DriverContext); ok {
		inner, err := d.OpenConnector(c.dsn)
		if err != nil {
			return nil, err
		}
		return inner.Connect(ctx)
	}
	return c.driver.Open(c.dsn)
}

func (c dsnConnector) Driver() driver.Driver { return c.driver }

// OpenServer gives a pool on the server of e itself, whether it answers or not. The caller closes it.
func OpenServer(e Engine) *sql.DB {
	db, err := connect(e.Name, e.DSN)
	if err != nil {
		panic(fmt.Sprintf("address of a test server: %v", err))
	}
	return db
}
