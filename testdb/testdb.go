// Package testdb gives tests real databases: SQLite always, MySQL or MariaDB and PostgreSQL from the servers
// that the environment names.
//
// RESQ_TEST_MYSQL and RESQ_TEST_POSTGRES hold the addresses of the servers in the forms
// mysql://user:password@host:port/db and postgres://user:password@host:port/db; without them the servers
// are looked for on the loopback interface. A server that does not answer fails the test: a database that is
// silently left out is a database that is not supported. RESQ_WITHOUT, a comma list of engine names, is the
// one way to leave one out, and says so in the output. RESQ_CI=1 says that nothing may be left out.
package testdb

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/hex"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// The names of the engines, as the catalog's `driver` spells them.
const (
	SQLite   = "sqlite"
	MySQL    = "mysql"
	Postgres = "postgres"
)

// An Engine is one database system that a test runs against.
type Engine struct {
	Name string // sqlite, mysql or postgres
	DSN  string // of the server; "" for sqlite
}

// all lists the engines in the order in which tests run, the quickest first.
func all() []Engine {
	return []Engine{
		{Name: SQLite},
		{Name: MySQL, DSN: env("RESQ_TEST_MYSQL", "mysql://root@127.0.0.1:3306/")},
		{Name: Postgres, DSN: env("RESQ_TEST_POSTGRES", "postgres://postgres@127.0.0.1:5432/postgres")},
	}
}

func env(name, fallback string) string {
	if v := os.Getenv(name); v != "" {
		return v
	}
	return fallback
}

// without says whether RESQ_WITHOUT leaves the engine out.
func without(name string) bool {
	names := strings.FieldsFunc(os.Getenv("RESQ_WITHOUT"), func(r rune) bool { return r == ',' || r == ' ' })
	return slices.Contains(names, name)
}

// Skip ends a test that lacks something to run on, and says so; where RESQ_CI is 1 the test fails.
func Skip(t testing.TB, why string) {
	t.Helper()
	if os.Getenv("RESQ_CI") == "1" {
		t.Fatal("nothing may be left out: " + why)
	}
	t.Skip("SKIPPED LOUDLY: " + why)
}

// Engines lists the engines to test on. One that cannot be reached fails t; one that RESQ_WITHOUT names is
// left out with a line in the log.
func Engines(t testing.TB) []Engine {
	t.Helper()
	var list []Engine
	for _, e := range all() {
		if without(e.Name) {
			if os.Getenv("RESQ_CI") == "1" {
				t.Errorf("nothing may be left out: %s is named in RESQ_WITHOUT", e.Name)
			}
			t.Logf("SKIPPED LOUDLY: %s is named in RESQ_WITHOUT; nothing here was tested on it", e.Name)
			continue
		}
		if err := e.reach(); err != nil {
			t.Errorf("%s cannot be reached at %s: %v (name it in RESQ_WITHOUT to leave it out)", e.Name, redact(e.DSN), err)
			continue
		}
		list = append(list, e)
	}
	return list
}

// Each runs one subtest for every engine. An engine that cannot be reached fails its subtest; one that
// RESQ_WITHOUT names skips it.
func Each(t *testing.T, f func(t *testing.T, e Engine)) {
	t.Helper()
	for _, e := range all() {
		t.Run(e.Name, func(t *testing.T) {
			if without(e.Name) {
				Skip(t, e.Name+" is named in RESQ_WITHOUT")
			}
			if err := e.reach(); err != nil {
				t.Fatalf("%s cannot be reached at %s: %v (name it in RESQ_WITHOUT to leave it out)", e.Name, redact(e.DSN), err)
			}
			f(t, e)
		})
	}
}

// Create makes a throw-away database on e, runs the scripts in it, and gives its DSN in the form that a
// catalog takes. The database is dropped at the end of the test. A script that fails ends the test.
func Create(t testing.TB, e Engine, scripts ...string) string {
	t.Helper()
	name := "resq_" + random()
	var dsn string
	switch e.Name {
	case SQLite:
		dsn = "sqlite:" + filepath.Join(t.TempDir(), name+".sqlite")
	case MySQL:
		admin := open(t, e.Name, e.DSN)
		run(t, admin, "CREATE DATABASE "+name+" CHARACTER SET utf8mb4 COLLATE "+collation(t, admin))
		t.Cleanup(func() {
			run(t, admin, "DROP DATABASE IF EXISTS "+name)
			admin.Close()
		})
		dsn = inside(e.DSN, name)
	case Postgres:
		admin := open(t, e.Name, e.DSN)
		run(t, admin, "CREATE DATABASE "+name+" TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C.UTF-8' LC_CTYPE 'C.UTF-8'")
		t.Cleanup(func() {
			run(t, admin, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)")
			admin.Close()
		})
		dsn = inside(e.DSN, name)
	default:
		t.Fatalf("no engine %q", e.Name)
	}
	if len(scripts) > 0 {
		Exec(t, e, dsn, scripts...)
	}
	return dsn
}

// Exec runs scripts of several statements in the database at dsn.
func Exec(t testing.TB, e Engine, dsn string, scripts ...string) {
	t.Helper()
	db := open(t, e.Name, dsn)
	defer db.Close()
	for _, s := range scripts {
		run(t, db, s)
	}
}

// Open gives a writable pool on the database at dsn for the test's own use: loading, hashing, looking behind
// the engine's back. It is closed at the end of the test, before the database is dropped.
func Open(t testing.TB, e Engine, dsn string) *sql.DB {
	t.Helper()
	db := open(t, e.Name, dsn)
	t.Cleanup(func() { db.Close() })
	return db
}

func open(t testing.TB, name, dsn string) *sql.DB {
	t.Helper()
	db, err := connect(name, dsn)
	if err != nil {
		t.Fatalf("open %s: %v", redact(dsn), err)
	}
	return db
}

// collation picks the server's collation that compares whole texts: under a padding one, 'a' equals 'a '.
func collation(t testing.TB, db *sql.DB) string {
	t.Helper()
	var version string
	if err := db.QueryRow("SELECT VERSION()").Scan(&version); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(version, "MariaDB") {
		return "utf8mb4_unicode_nopad_ci"
	}
	return "utf8mb4_0900_ai_ci"
}

func run(t testing.TB, db *sql.DB, script string) {
	t.Helper()
	ctx, stop := context.WithTimeout(context.Background(), 2*time.Minute)
	defer stop()
	if _, err := db.ExecContext(ctx, script); err != nil {
		if len(script) > 400 {
			script = script[:400] + "…"
		}
		t.Fatalf("%v\nin: %s", err, script)
	}
}

// reach says whether the engine's server answers.
func (e Engine) reach() error {
	if e.Name == SQLite {
		return nil
	}
	db, err := connect(e.Name, e.DSN)
	if err != nil {
		return err
	}
	defer db.Close()
	ctx, stop := context.WithTimeout(context.Background(), 5*time.Second)
	defer stop()
	return db.PingContext(ctx)
}

// inside turns the address of a server into that of one database on it.
func inside(dsn, name string) string {
	u, err := url.Parse(dsn)
	if err != nil {
		panic(fmt.Sprintf("address of a test server: %v", err))
	}
	u.Path = "/" + name
	return u.String()
}

func redact(dsn string) string {
	if u, err := url.Parse(dsn); err == nil {
		return u.Redacted()
	}
	return "its address"
}

func random() string {
	b := make([]byte, 6)
	if _, err := rand.Read(b); err != nil {
		panic(err)
	}
	return hex.EncodeToString(b)
}
