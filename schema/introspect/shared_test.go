package introspect_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	_ "modernc.org/sqlite"

	"resq/schema"
	"resq/schema/introspect"
	"resq/testdb"
)

// shared is where sample databases lie beside the repository; the test is skipped without them.
func shared(t *testing.T, parts ...string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(append([]string{"..", "..", "..", "shared"}, parts...)...))
	if err != nil {
		t.Fatal(err)
	}
	if len(found) == 0 {
		testdb.Skip(t, "the sample databases are not beside the repository")
	}
	return found
}

func openSQLite(t *testing.T, file string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+file+"?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// files makes a file system of a result, as Save would.
func files(r *introspect.Result) fstest.MapFS {
	fs := fstest.MapFS{}
	for _, f := range r.Files {
		fs[f.Name] = &fstest.MapFile{Data: f.Data}
	}
	return fs
}

// load loads a written catalog with the product's own loader; any problem is a failure of the writer.
func load(t *testing.T, r *introspect.Result) *schema.Catalog {
	t.Helper()
	c, err := schema.LoadFS(files(r), schema.LoadOptions{Getenv: func(string) (string, bool) { return "secret", true }})
	if err != nil {
		for _, f := range r.Files {
			if strings.Contains(err.Error(), f.Name) {
				t.Logf("%s:\n%s", f.Name, f.Data)
			}
		}
		t.Fatalf("the written catalog does not load: %v", err)
	}
	return c
}

// roundTrip reads, writes, loads and compares: a fresh catalog drifts nowhere, under any naming.
func roundTrip(t *testing.T, db *sql.DB, driver, dsn string, opts introspect.Options) (*introspect.Snapshot, *introspect.Result, *schema.Catalog) {
	t.Helper()
	s, err := introspect.Read(context.Background(), db, driver, opts)
	if err != nil {
		t.Fatal(err)
	}
	for _, naming := range []introspect.Naming{introspect.Camel, introspect.Pascal, introspect.Snake, introspect.AsIs} {
		r, err := introspect.Write(s, introspect.WriteOptions{DSN: dsn, Naming: naming})
		if err != nil {
			t.Fatal(err)
		}
		c := load(t, r)
		for _, d := range introspect.Compare(c, c.Connections[0], s) {
			t.Errorf("naming %q: a fresh catalog drifts: %s", naming, d)
		}
		u, err := introspect.Update(files(r), s, introspect.WriteOptions{DSN: dsn, Naming: naming})
		if err != nil {
			t.Fatal(err)
		}
		if len(u.Files)+len(u.Added)+len(u.Drift) > 0 {
			t.Errorf("naming %q: the update of a fresh catalog finds something: %v %v %v", naming, u.Added, u.Drift, u.Files)
		}
		if naming == introspect.AsIs {
			return s, r, c
		}
	}
	panic("unreachable")
}

// Every sample database must introspect, and its catalog load unchanged.
func TestSharedSQLite(t *testing.T) {
	list := shared(t, "eval", "*", "db", "*.sqlite")
	for _, pattern := range [][]string{{"data", "*", "*.sqlite"}, {"data", "*", "sqlite", "*.sqlite"}, {"data", "*", "sqlite", "*", "*.db"}} {
		list = append(list, shared(t, pattern...)...)
	}
	for _, file := range list {
		t.Run(strings.TrimSuffix(filepath.Base(file), filepath.Ext(file)), func(t *testing.T) {
			abs, err := filepath.Abs(file)
			if err != nil {
				t.Fatal(err)
			}
			s, r, _ := roundTrip(t, openSQLite(t, file), "sqlite", "sqlite:"+abs, introspect.Options{})
			for _, n := range s.Notes {
				t.Error(n)
			}
			if len(r.Files) != len(s.Tables)+1 {
				t.Errorf("%d files for %d tables", len(r.Files), len(s.Tables))
			}
		})
	}
}
