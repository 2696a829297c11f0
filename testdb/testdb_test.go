package testdb_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"slices"
	"sync"
	"testing"

	"resq/testdb"
)

// A database made by Create holds what its scripts put in, text is compared to its end, and it is gone
// after the test.
func TestCreate(t *testing.T) {
	testdb.Each(t, func(t *testing.T, e testdb.Engine) {
		var dsn string
		t.Run("inside", func(t *testing.T) {
			dsn = testdb.Create(t, e,
				"CREATE TABLE a (id INTEGER PRIMARY KEY, name VARCHAR(20)); INSERT INTO a VALUES (1, 'x'), (2, 'x '), (3, '中😀');",
				"INSERT INTO a VALUES (4, NULL)")
			db := testdb.Open(t, e, dsn)
			var n, x int
			var s string
			if err := db.QueryRow("SELECT COUNT(*), SUM(CASE WHEN name = 'x' THEN 1 ELSE 0 END) FROM a").Scan(&n, &x); err != nil {
				t.Fatal(err)
			}
			if n != 4 || x != 1 {
				t.Errorf("%d rows, %d of them equal to 'x'; want 4 and 1", n, x)
			}
			if err := db.QueryRow("SELECT name FROM a WHERE id = 3").Scan(&s); err != nil || s != "中😀" {
				t.Errorf("name is %q, %v", s, err)
			}
		})
		if e.Name == testdb.SQLite {
			return // its directory is gone
		}
		db := testdb.Open(t, e, dsn)
		if err := db.Ping(); err == nil {
			t.Errorf("the database is still there after its test")
		}
	})
}

// A fake driver without any optional interface, to see that the recorder answers for what is missing.
type bare struct{}

func (bare) Connect(context.Context) (driver.Conn, error) { return bareConn{}, nil }
func (bare) Driver() driver.Driver                        { return nil }

type bareConn struct{}

func (bareConn) Prepare(string) (driver.Stmt, error) { return bareStmt{}, nil }
func (bareConn) Close() error                        { return nil }
func (bareConn) Begin() (driver.Tx, error)           { return bareTx{}, nil }

type bareTx struct{}

func (bareTx) Commit() error   { return nil }
func (bareTx) Rollback() error { return nil }

type bareStmt struct{}

func (bareStmt) Close() error                               { return nil }
func (bareStmt) NumInput() int                              { return -1 }
func (bareStmt) Exec([]driver.Value) (driver.Result, error) { return driver.RowsAffected(1), nil }
func (bareStmt) Query([]driver.Value) (driver.Rows, error)  { return bareRows{}, nil }

type bareRows struct{}

func (bareRows) Columns() []string         { return []string{"x"} }
func (bareRows) Close() error              { return nil }
func (bareRows) Next([]driver.Value) error { return context.Canceled }

// The recorder sees what a driver that only prepares is asked to do.
func TestRecorderOfBareDriver(t *testing.T) {
	var r testdb.Recorder
	db := sql.OpenDB(r.Connector(bare{}))
	defer db.Close()
	if _, err := db.Exec("X ?", 7); err != nil {
		t.Fatal(err)
	}
	rows, err := db.Query("Y ?", "a")
	if err != nil {
		t.Fatal(err)
	}
	rows.Close()
	want := []testdb.Statement{
		{Op: "prepare", SQL: "X ?"}, {Op: "exec", SQL: "X ?", Args: []any{int64(7)}},
		{Op: "prepare", SQL: "Y ?"}, {Op: "query", SQL: "Y ?", Args: []any{"a"}},
	}
	compare(t, r.Statements(), want)
	compare(t, r.Texts(), []testdb.Statement{want[1], want[3]})
	r.Reset()
	if got := r.Statements(); len(got) != 0 {
		t.Errorf("%v after Reset", got)
	}
}

// The recorder passes everything through to the real drivers, from several goroutines at once, and keeps
// each text with its arguments.
func TestRecorder(t *testing.T) {
	testdb.Each(t, func(t *testing.T, e testdb.Engine) {
		dsn := testdb.Create(t, e, "CREATE TABLE a (id INTEGER PRIMARY KEY, name VARCHAR(20))")
		var r testdb.Recorder
		db := sql.OpenDB(r.Connector(testdb.Connector(t, e, dsn)))
		defer db.Close()
		db.SetMaxOpenConns(1)
		insert, pick := "INSERT INTO a VALUES (?, ?)", "SELECT name FROM a WHERE id = ?"
		if e.Name == testdb.Postgres {
			insert, pick = "INSERT INTO a VALUES ($1, $2)", "SELECT name FROM a WHERE id = $1"
		}
		tx, err := db.BeginTx(context.Background(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.Exec(insert, 1, "one"); err != nil {
			t.Fatal(err)
		}
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				var name string
				if err := db.QueryRow(pick, 1).Scan(&name); err != nil || name != "one" {
					t.Errorf("read %q, %v", name, err)
				}
			})
		}
		wg.Wait()
		st, err := db.Prepare(pick)
		if err != nil {
			t.Fatal(err)
		}
		var name string
		if err := st.QueryRow(1).Scan(&name); err != nil || name != "one" {
			t.Errorf("read %q, %v", name, err)
		}
		st.Close()

		texts := r.Texts()
		want := []testdb.Statement{{Op: "exec", SQL: insert, Args: []any{int64(1), "one"}}}
		for range 9 {
			want = append(want, testdb.Statement{Op: "query", SQL: pick, Args: []any{int64(1)}})
		}
		compare(t, texts, want)
		ops := map[string]int{}
		for _, s := range r.Statements() {
			ops[s.Op]++
		}
		if ops["begin"] != 1 || ops["commit"] != 1 || ops["rollback"] != 0 {
			t.Errorf("recorded %v; want one begin, one commit, no rollback", ops)
		}
	})
}

func compare(t *testing.T, got, want []testdb.Statement) {
	t.Helper()
	same := slices.EqualFunc(got, want, func(a, b testdb.Statement) bool {
		// As text: some drivers take an int as it is, where database/sql would hand over an int64.
		return a.Op == b.Op && a.SQL == b.SQL && fmt.Sprint(a.Args) == fmt.Sprint(b.Args)
	})
	if !same {
		t.Errorf("recorded %v\nwant %v", got, want)
	}
}
