package engine_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"resq/engine"
	"resq/engine/dialect/mysql"
	"resq/engine/dialect/postgres"
	"resq/engine/dialect/sqlite"
	"resq/schema"
	"resq/schema/problem"
	"resq/testdb"
)

// A slow resource is a view that no index and no limit makes quick: it counts the pairs of pairs of a table's
// rows. Its name in the statement finds it in the server's list of what runs.
const slowView = "resq_slow_rows"

const slowCatalog = `
version: 1
resources:
  - {code: Slow, table: resq_slow_rows, key: id, fields: {id: {type: integer}, name: {type: string}}}
  - {code: Plain, table: plain, key: id, fields: {id: {type: integer}, name: {type: string}}}
  - {code: Other, table: other, key: id, fields: {id: {type: integer}, secret_column: {type: string}}}
  - {code: Gone, table: gone, key: id, fields: {id: {type: integer}}}
`

// patience is the time-out of a read under test, and within how long it must be gone from the server.
const (
	patience = 700 * time.Millisecond
	within   = time.Second
)

func slowScript() string {
	var b strings.Builder
	b.WriteString("CREATE TABLE plain (id INTEGER NOT NULL PRIMARY KEY, name VARCHAR(20));\n")
	b.WriteString("CREATE TABLE other (id INTEGER NOT NULL PRIMARY KEY, secret_column VARCHAR(20));\nINSERT INTO other VALUES (1, 'x');\n")
	b.WriteString("CREATE TABLE gone (id INTEGER NOT NULL PRIMARY KEY);\n")
	b.WriteString("INSERT INTO plain VALUES (0, 'name 0')")
	for id := range 2000 {
		fmt.Fprintf(&b, ", (%d, 'name %d')", id+1, id+1)
	}
	b.WriteString(";\n")
	b.WriteString("CREATE VIEW " + slowView + " AS SELECT MIN(a.id) AS id, MAX(c.name) AS name FROM plain a CROSS JOIN plain b CROSS JOIN plain c " +
		"WHERE a.name LIKE '%9%' AND b.name LIKE '%8%' AND c.name NOT LIKE '%x%' GROUP BY a.name;\n")
	return b.String()
}

// newSlow makes the slow database on one system. The driver records, so the pool under test is the real one.
func newSlow(t *testing.T, on testdb.Engine, timeout time.Duration) (*engine.Engine, string) {
	t.Helper()
	dsn := testdb.Create(t, on, slowScript())
	return openSlow(t, on, dsn, timeout), dsn
}

func openSlow(t *testing.T, on testdb.Engine, dsn string, timeout time.Duration) *engine.Engine {
	t.Helper()
	cat, err := schema.LoadFS(fstest.MapFS{
		"catalog.yaml":     {Data: []byte(slowCatalog)},
		"connections.yaml": {Data: connections(map[string]string{"default": dsn}, false)},
	}, schema.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.New(cat, engine.Options{Drivers: []engine.Driver{sqlite.New(), mysql.New(), postgres.New()}, Timeout: timeout})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

const (
	slowRequest  = `{"resource":"Slow","fields":[{"code":"id"},{"code":"name"}]}`
	likeRequest  = `{"resource":"Plain","code":"a","fields":[{"code":"COUNT(*)","alias":"n","isExpr":true}],"relations":[{"code":"b","type":"cross","actuallyResource":"Plain"},{"code":"c","type":"cross","actuallyResource":"Plain"}],"conditions":{"type":"and","exprs":[{"field":"name","operator":"LIKE","tokenType":"expr","token":"CONCAT('%', b.name, c.name, '%')"}]}}`
	plainRequest = `{"resource":"Plain","fields":[{"code":"id"}],"limit":3}`
)

// A read that takes too long ends at the time-out, with TIMEOUT, and is gone from the server within a second;
// the engine answers the next one (security.md 1.5, 4.6).
func TestTimeout(t *testing.T) {
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		e, dsn := newSlow(t, on, patience)
		for name, request := range map[string]string{"a slow view": slowRequest, "LIKE over cross joins": likeRequest, "with the total": strings.Replace(slowRequest, "{", `{"total":true,`, 1)} {
			t.Run(name, func(t *testing.T) {
				start := time.Now()
				_, err := e.Query(context.Background(), anyone, []byte(request))
				if took := time.Since(start); took < patience/2 || took > patience+within {
					t.Errorf("the answer came after %v, the time-out is %v", took, patience)
				}
				timedOut(t, err)
				gone(t, on, dsn)
				answers(t, e)
			})
		}
		idle(t, e)
	})
}

// The same when the caller goes away: its context ends, and so does the statement, which was seen to run.
func TestCancel(t *testing.T) {
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		e, dsn := newSlow(t, on, time.Minute)
		db := testdb.Open(t, on, dsn)
		for range 3 {
			ctx, cancel := context.WithCancel(context.Background())
			done := make(chan error, 1)
			go func() {
				_, err := e.Query(ctx, anyone, []byte(slowRequest))
				done <- err
			}()
			time.Sleep(patience / 4)
			for end := time.Now().Add(5 * time.Second); on.Name != testdb.SQLite && running(t, on, db) == 0; time.Sleep(20 * time.Millisecond) {
				if time.Now().After(end) {
					t.Fatal("the slow statement is not seen to run, so nothing would be seen to end")
				}
			}
			left := time.Now()
			cancel()
			err := <-done
			if took := time.Since(left); took > within {
				t.Errorf("the call returned %v after its caller left", took)
			}
			if err == nil {
				t.Error("a call without a caller was answered")
			}
			if p := told(t, err); p.Code != problem.Cancelled || p.Err != nil {
				t.Errorf("the problem is %+v, want %s without a cause, which the log would take for a fault", p, problem.Cancelled)
			}
			gone(t, on, dsn)
		}
		answers(t, e)
		idle(t, e)
	})
}

// Many callers that leave at once leak nothing and block nobody.
func TestCancelMany(t *testing.T) {
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		e, dsn := newSlow(t, on, patience)
		done := make(chan error)
		for i := range 12 {
			go func() {
				ctx, cancel := context.WithTimeout(context.Background(), time.Duration(100+50*i)*time.Millisecond)
				defer cancel()
				_, err := e.Query(ctx, anyone, []byte(slowRequest))
				done <- err
			}()
		}
		for range 12 {
			if err := <-done; err == nil {
				t.Error("a slow read was answered")
			} else {
				told(t, err)
			}
		}
		gone(t, on, dsn)
		answers(t, e)
		idle(t, e)
	})
}

// A database that is not there is UPSTREAM_UNAVAILABLE, and when it is there again the same engine answers.
func TestDown(t *testing.T) {
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		dsn := "sqlite:" + t.TempDir() + "/nothing-here.sqlite"
		if on.Name != testdb.SQLite {
			dsn = fmt.Sprintf("%s://somebody:hidden-password@127.0.0.1:%d/nowhere", on.Name, freePort(t))
		}
		e := openSlow(t, on, dsn, 3*time.Second)
		_, err := e.Query(context.Background(), anyone, []byte(plainRequest))
		p := told(t, err)
		if p == nil || p.Code != problem.Unavailable || p.RetryAfter == 0 {
			t.Errorf("the problem is %+v, want %s with a time to retry after", p, problem.Unavailable)
		}
		if errs := e.Ping(context.Background()); errs["default"] == nil {
			t.Error("Ping says nothing of a database that is not there")
		}
		idle(t, e)
	})
}

// A table or column that is gone under a running engine is DATA_INTEGRITY_ERROR without its name, and other
// resources are not touched.
func TestChangedUnderneath(t *testing.T) {
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		e, dsn := newSlow(t, on, 30*time.Second)
		other, gone := `{"resource":"Other","fields":[{"code":"secret_column"}]}`, `{"resource":"Gone","fields":[{"code":"id"}]}`
		for _, r := range []string{other, gone, plainRequest} {
			if _, err := e.Query(context.Background(), anyone, []byte(r)); err != nil {
				t.Fatalf("before the change: %s", tell(err))
			}
		}
		testdb.Exec(t, on, dsn, "ALTER TABLE other DROP COLUMN secret_column", "DROP TABLE gone")
		for range 2 { // the second time on prepared statements
			for _, r := range []string{other, gone} {
				_, err := e.Query(context.Background(), anyone, []byte(r))
				if p := told(t, err, "secret_column", "gone", "other"); p == nil || p.Code != problem.DataIntegrity {
					t.Errorf("the problem is %+v, want %s", p, problem.DataIntegrity)
				}
			}
			answers(t, e)
			if _, err := e.Query(context.Background(), anyone, []byte(`{"resource":"Other","fields":[{"code":"id"}]}`)); err != nil {
				t.Errorf("the other columns of a changed table: %s", tell(err))
			}
		}
		idle(t, e)
	})
}

func timedOut(t *testing.T, err error) {
	t.Helper()
	if p := told(t, err); p == nil || p.Code != problem.Timeout {
		t.Errorf("the problem is %+v, want %s", p, problem.Timeout)
	}
}

// told gives the only problem of an error and sees that it says nothing of drivers, SQL, addresses or what else
// is hidden.
func told(t *testing.T, err error, hidden ...string) *problem.Problem {
	t.Helper()
	if err == nil {
		return nil
	}
	p := problemOf(t, err)
	said := strings.ToLower(p.Message + " " + p.Hint + " " + p.At)
	for _, h := range append(hidden, slowView, "select", "sqlite", "mysql", "postgres", "127.0.0.1", "password", "hidden", "somebody", "nowhere", "nothing-here", "driver", "context", "sqlstate", "dial", "pq:") {
		if strings.Contains(said, h) {
			t.Errorf("the problem tells %q: %s", h, said)
		}
	}
	return p
}

func problemOf(t *testing.T, err error) *problem.Problem {
	t.Helper()
	var l problem.List
	if !errors.As(err, &l) || len(l) != 1 {
		t.Fatalf("not one problem: %T %v", err, err)
	}
	return l[0]
}

// running counts the statements that the server runs in the database for others than the one who asks.
func running(t *testing.T, on testdb.Engine, db *sql.DB) (n int) {
	t.Helper()
	list := "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND state = 'active' AND query LIKE 'SELECT%'"
	if on.Name == testdb.MySQL {
		list = "SELECT COUNT(*) FROM information_schema.processlist WHERE db = DATABASE() AND id <> CONNECTION_ID() AND command IN ('Query', 'Execute') AND info LIKE 'SELECT%'"
	}
	if err := db.QueryRow(list).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// gone sees that nothing of a read runs on the server any more. SQLite has no server; that its connections work
// again is seen by the next read.
func gone(t *testing.T, on testdb.Engine, dsn string) {
	t.Helper()
	if on.Name == testdb.SQLite {
		return
	}
	db := testdb.Open(t, on, dsn)
	for end := time.Now().Add(within); running(t, on, db) > 0; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Errorf("%d statements still run on the server %v after the answer", running(t, on, db), within)
			return
		}
	}
}

func answers(t *testing.T, e *engine.Engine) {
	t.Helper()
	if _, err := e.Query(context.Background(), anyone, []byte(plainRequest)); err != nil {
		t.Errorf("the next read: %s", tell(err))
	}
}

// idle sees that no connection is still in use.
func idle(t *testing.T, e *engine.Engine) {
	t.Helper()
	var last map[string]engine.PoolStats
	for range 50 {
		busy := false
		last = e.Stats()
		for _, s := range last {
			busy = busy || s.InUse > 0
		}
		if !busy {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Errorf("connections are still in use: %+v", last)
}

// freePort gives a port of the loopback interface on which nobody listens.
func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}
