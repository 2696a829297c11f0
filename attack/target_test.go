package attack_test

import (
	"crypto/sha256"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"resq/engine"
	"resq/engine/dialect/mysql"
	"resq/engine/dialect/postgres"
	"resq/engine/dialect/sqlite"
	"resq/schema"
	"resq/testdb"
)

// A target is the system under attack on one database, with a recorder between engine and driver.
type target struct {
	on       testdb.Engine
	dsn      string
	engine   *engine.Engine
	recorder *testdb.Recorder
	tables   []table
	db       *sql.DB // past the engine
}

type recorded struct {
	engine.Driver
	recorder *testdb.Recorder
}

// Connector opens the dialect's own connector and listens to it.
func (d recorded) Connector(c *schema.Connection, timeout time.Duration) (driver.Connector, error) {
	inner, err := d.Driver.Connector(c, timeout)
	if err != nil {
		return nil, err
	}
	return d.recorder.Connector(inner), nil
}

// Writer is Connector for writing.
func (d recorded) Writer(c *schema.Connection, timeout time.Duration) (driver.Connector, error) {
	inner, err := d.Driver.Writer(c, timeout)
	if err != nil {
		return nil, err
	}
	return d.recorder.Connector(inner), nil
}

// clock is the one of engines whose clock nobody moves.
func clock() time.Time { return time.Date(2024, 6, 15, 12, 0, 0, 0, time.UTC) }

func newTarget(t testing.TB, on testdb.Engine, tables []table) *target {
	t.Helper()
	g := &target{on: on, recorder: &testdb.Recorder{}, tables: tables}
	g.dsn = testdb.Create(t, on, script(t, tables, on.Name))
	g.engine = g.start(t, catalog, engine.Options{Now: clock})
	g.db = testdb.Open(t, on, g.dsn)
	return g
}

// start makes an engine on the target's database.
func (g *target) start(t testing.TB, catalog string, opts engine.Options) *engine.Engine {
	t.Helper()
	tables, on := g.tables, g.on
	names := "100"
	for _, tb := range tables {
		if tb.name == "t_user" {
			names = fmt.Sprint(tb.columns[1].length)
		}
	}
	cat, err := schema.LoadFS(fstest.MapFS{
		"sqltools.yaml":    {Data: []byte(sqlTools)},
		"presets.yaml":     {Data: []byte(presets)},
		"catalog.yaml":     {Data: []byte(strings.ReplaceAll(catalog, "NAME_LENGTH", names))},
		"connections.yaml": {Data: fmt.Appendf(nil, "version: 1\nconnections: {default: {driver: %s, dsn: %q, mode: write, tables: [t_dept, t_user, t_order]}}\n", on.Name, g.dsn)},
	}, schema.LoadOptions{})
	if err != nil {
		t.Fatalf("catalog:\n%v", err)
	}
	return g.engineOf(t, cat, opts)
}

// engineOf makes an engine on a catalog, with the recorder in between.
func (g *target) engineOf(t testing.TB, cat *schema.Catalog, opts engine.Options) *engine.Engine {
	t.Helper()
	opts.Drivers = []engine.Driver{recorded{sqlite.New(), g.recorder}, recorded{mysql.New(), g.recorder}, recorded{postgres.New(), g.recorder}}
	opts.Log = slog.New(slog.DiscardHandler)
	e, err := engine.New(cat, opts)
	if err != nil {
		t.Fatalf("engine: %v", err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

// hash is a digest of every row of every table, read past the engine.
func (g *target) hash(t testing.TB) string {
	t.Helper()
	h := sha256.New()
	for _, tb := range g.tables {
		rows, err := g.db.Query("SELECT * FROM " + tb.name + " ORDER BY id")
		if err != nil {
			t.Fatal(err)
		}
		cols, err := rows.Columns()
		if err != nil {
			t.Fatal(err)
		}
		cells := make([]any, len(cols))
		into := make([]any, len(cols))
		for i := range cells {
			into[i] = &cells[i]
		}
		for rows.Next() {
			if err := rows.Scan(into...); err != nil {
				t.Fatal(err)
			}
			for _, c := range cells {
				if b, ok := c.([]byte); ok {
					c = string(b)
				}
				fmt.Fprintf(h, "%q,", fmt.Sprint(c))
			}
			h.Write([]byte{'\n'})
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
		rows.Close()
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}
