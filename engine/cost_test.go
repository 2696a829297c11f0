package engine_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"resq/engine"
	"resq/engine/dialect/sqlite"
	"resq/engine/policy"
	"resq/schema"
	"resq/testdb"
)

// A canned driver is a dialect whose connections answer every statement with the same rows, which they were given
// beforehand: what is left of a query is what the engine does itself, from decoding to shaping.
type canned struct {
	engine.Driver
	rows *[]([]driver.Value)
	cols *[]cannedColumn
}

type cannedColumn struct{ name, dbType string }

// Connector gives connections to no database.
func (c canned) Connector(*schema.Connection, time.Duration) (driver.Connector, error) {
	return cannedConn{c}, nil
}

// A cannedConn is connector and connection at once.
type cannedConn struct{ canned }

func (c cannedConn) Connect(context.Context) (driver.Conn, error) { return c, nil }
func (c cannedConn) Driver() driver.Driver                        { return nil }
func (c cannedConn) Prepare(string) (driver.Stmt, error)          { return nil, driver.ErrSkip }
func (c cannedConn) Begin() (driver.Tx, error)                    { return nil, driver.ErrSkip }
func (c cannedConn) Close() error                                 { return nil }

// QueryContext answers any statement.
func (c cannedConn) QueryContext(context.Context, string, []driver.NamedValue) (driver.Rows, error) {
	return &cannedRows{cannedConn: c}, nil
}

type cannedRows struct {
	cannedConn
	next int
}

func (r *cannedRows) Columns() []string {
	names := make([]string, len(*r.cols))
	for i, c := range *r.cols {
		names[i] = c.name
	}
	return names
}

// ColumnTypeDatabaseTypeName is what the real driver said.
func (r *cannedRows) ColumnTypeDatabaseTypeName(i int) string { return (*r.cols)[i].dbType }

func (r *cannedRows) Next(dest []driver.Value) error {
	if r.next == len(*r.rows) {
		return io.EOF
	}
	copy(dest, (*r.rows)[r.next])
	r.next++
	return nil
}

// eachCost makes every shape of the benchmark ready to be asked without a database.
func eachCost(tb testing.TB, run func(name string, ask func())) {
	on := testdb.Engine{Name: testdb.SQLite}
	shop := newShop(tb, on)
	var rows []([]driver.Value)
	var cols []cannedColumn
	e, err := engine.New(shop.catalog, engine.Options{Drivers: []engine.Driver{canned{sqlite.New(), &rows, &cols}}})
	if err != nil {
		tb.Fatal(err)
	}
	defer e.Close()
	db := sql.OpenDB(testdb.Connector(tb, on, shop.dsn["main"]))
	defer db.Close()
	who := principals(tb)["root"]
	for _, s := range shapes {
		raw := []byte(s.request)
		x, err := shop.engine.Explain(context.Background(), who, raw)
		if err != nil {
			tb.Fatal(err)
		}
		rows, cols = can(tb, db, x.Statements[0].SQL, x.Statements[0].Args)
		ask := func() {
			if a, err := e.Query(context.Background(), who, raw); err != nil || a.Rows == 0 {
				tb.Fatalf("%s: %v", s.name, err)
			}
		}
		if real := answerOf(tb, shop.engine, who, raw); real != answerOf(tb, e, who, raw) {
			tb.Fatalf("%s: another answer than the database's: %s", s.name, real)
		}
		run(s.name, ask)
	}
}

func answerOf(tb testing.TB, e *engine.Engine, who *policy.Principal, raw []byte) string {
	a, err := e.Query(context.Background(), who, raw)
	if err != nil {
		tb.Fatal(err)
	}
	text, _, _ := strings.Cut(string(a.Text), `"cursor"`) // which no two engines write alike
	return text
}

// can runs a statement once and keeps what it gives.
func can(tb testing.TB, db *sql.DB, text string, args []any) (rows []([]driver.Value), cols []cannedColumn) {
	r, err := db.Query(text, args...)
	if err != nil {
		tb.Fatal(err)
	}
	defer r.Close()
	types, err := r.ColumnTypes()
	if err != nil {
		tb.Fatal(err)
	}
	dest := make([]any, len(types))
	for i, t := range types {
		cols = append(cols, cannedColumn{t.Name(), t.DatabaseTypeName()})
		dest[i] = new(any)
	}
	for r.Next() {
		if err := r.Scan(dest...); err != nil {
			tb.Fatal(err)
		}
		row := make([]driver.Value, len(dest))
		for i := range dest {
			row[i] = *dest[i].(*any)
		}
		rows = append(rows, row)
	}
	if err := r.Err(); err != nil {
		tb.Fatal(err)
	}
	return rows, cols
}

// BenchmarkEngine is the engine's own cost of a whole answer, from decoding to shaping, without a database: at most
// 40 µs and 20 kB for each shape.
func BenchmarkEngine(b *testing.B) {
	eachCost(b, func(name string, ask func()) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				ask()
			}
		})
	})
}

// The bytes of BenchmarkEngine do not depend on the machine, so they are kept here.
func TestEngineBytes(t *testing.T) {
	const most, times = 20_000, 200
	eachCost(t, func(name string, ask func()) {
		ask()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range times {
			ask()
		}
		runtime.ReadMemStats(&after)
		if n := (after.TotalAlloc - before.TotalAlloc) / times; n > most {
			t.Errorf("%s: %d bytes", name, n)
		}
	})
}
