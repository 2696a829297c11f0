package engine_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"testing/fstest"

	"resq/engine"
	"resq/engine/policy"
	"resq/schema/query"
	"resq/testdb"
)

// On PostgreSQL what is allocated for an answer does not grow with its rows and columns: values are written down from
// where the driver read them (performance.md, section 9).
func TestAllocationsOfRows(t *testing.T) {
	for _, on := range testdb.Engines(t) {
		if on.Name != testdb.Postgres {
			continue
		}
		var columns, fields, values []string
		for i, kind := range []string{"integer bigint", "string varchar(40)", "decimal(12,2) numeric(12,2)", "number double precision", "bool boolean", "datetime timestamp", "date date"} {
			typ, native, _ := strings.Cut(kind, " ")
			for j := range 3 {
				name := fmt.Sprintf("f%d_%d", i, j)
				columns = append(columns, name+" "+native)
				fields = append(fields, name+": {type: \""+typ+"\"}")
				values = append(values, []string{"1000 + n", "'text number ' || n", "n + 0.25", "n / 3.0", "n % 2 = 0", "timestamp '2024-01-01' + n * interval '1 hour'", "date '2024-01-01' + n"}[i])
			}
		}
		dsn := testdb.Create(t, on, "CREATE TABLE wide (id integer PRIMARY KEY, "+strings.Join(columns, ", ")+");\n"+
			"INSERT INTO wide SELECT n, "+strings.Join(values, ", ")+" FROM generate_series(1, 2000) AS n;")
		catalog := "version: 1\nresources:\n  - code: Wide\n    name: Wide\n    table: wide\n    connection: main\n    key: id\n    fields:\n      id: {type: integer}\n      " + strings.Join(fields, "\n      ") + "\n"
		limits := query.Defaults()
		limits.MaxRows = 5000
		b := newBench(t, on, fstest.MapFS{"wide.yaml": &fstest.MapFile{Data: []byte(catalog)}}, map[string]string{"main": dsn},
			func(o *engine.Options) { o.Limits, o.MaxBytes = limits, 10<<20 })
		mallocs := func(rows int) uint64 {
			raw := []byte(fmt.Sprintf(`{"resource":"Wide","fields":[],"orderBy":["Wide.id"],"limit":%d}`, rows))
			ask := func() {
				if a, err := b.engine.Query(context.Background(), &policy.Principal{Name: "p"}, raw); err != nil || a.Rows != rows {
					t.Fatalf("%d rows: %v", rows, err)
				}
			}
			ask()
			const times = 5
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			for range times {
				ask()
			}
			runtime.ReadMemStats(&after)
			return (after.Mallocs - before.Mallocs) / times
		}
		if few, many := mallocs(30), mallocs(2000); many > few+200 {
			t.Errorf("%d allocations for 30 rows of 22 columns, and %d for 2000", few, many)
		}
	}
}
