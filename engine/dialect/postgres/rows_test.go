package postgres_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"resq/engine/dialect/postgres"
	"resq/engine/sqlgen"
	"resq/schema"
	"resq/testdb"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// values are of every way in which the rows read one, at its edges.
var values = []string{
	"NULL::int4", "true", "false", "'-32768'::int2", "'2147483647'::int4", "'-9223372036854775808'::int8", "'4294967295'::oid", "'7'::xid",
	"'1.5'::float4", "'NaN'::float8", "'-Infinity'::float8", "'1e308'::float8", "'0.1'::float4",
	"'12345678901234567890.123456789'::numeric", "'NaN'::numeric", "'0.00'::numeric",
	"'2024-02-29'::date", "'infinity'::date", "'-infinity'::date", "'0044-03-15 BC'::date", "'5874897-12-31'::date",
	"'2024-02-29 23:59:59.999999'::timestamp", "'1999-12-31 23:59:59.000001'::timestamp", "'infinity'::timestamp", "'-infinity'::timestamp", "'0044-03-15 01:02:03 BC'::timestamp",
	"'2024-02-29 12:00:00+08'::timestamptz", "'infinity'::timestamptz", "'1900-01-01 00:00:00.5+00'::timestamptz",
	"'24:00:00'::time", "'1 year 2 days'::interval", "'a\"b\\c'::text", "''::varchar", "'ab  '::char(6)", "'订单'::text", "'x'::\"char\"",
	`'\x00ff'::bytea`, `'\x'::bytea`, `'{"a": [1, null]}'::json`, `'{"a": 1}'::jsonb`, "'<a/>'::xml",
	"'6ba7b810-9dad-11d1-80b4-00c04fd430c8'::uuid", "'{1,NULL,3}'::int4[]", "'192.168.0.1/24'::inet", "'[1,5)'::int4range", "B'101'::bit(3)", "'12.50'::money",
}

// Rows give what the driver's own give, lent or not, and a value that was taken over stays what it was.
func TestRowsAreTheDrivers(t *testing.T) {
	for _, on := range testdb.Engines(t) {
		if on.Name == testdb.Postgres {
			testRows(t, testdb.Create(t, on))
		}
	}
}

func testRows(t *testing.T, dsn string) {
	text := "SELECT " + strings.Join(values, ", ") + " UNION ALL SELECT " + strings.Join(nulls(), ", ")
	cfg, err := pgx.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	cfg.RuntimeParams["timezone"] = "UTC"
	want := read(t, stdlib.GetConnector(*cfg), text, false)
	in, err := postgres.New().Connector(&schema.Connection{Name: "main", Driver: "postgres", DSN: dsn}, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	for _, lend := range []bool{false, true} {
		got := read(t, in, text, lend)
		for i := range want {
			if i >= len(got) || got[i] != want[i] {
				t.Errorf("lent %t, %s:\n got %s\nwant %s", lend, append([]string{"types"}, append(values, nulls()...)...)[i], got[i], want[i])
			}
		}
	}
}

func nulls() []string {
	out := make([]string, len(values))
	for i := range out {
		out[i] = "NULL"
	}
	return out
}

// read gives the types of the columns, and then every value.
func read(t *testing.T, in driver.Connector, text string, lend bool) []string {
	t.Helper()
	db := sql.OpenDB(in)
	defer db.Close()
	c, err := db.Conn(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var kept []driver.Value
	var types []string
	err = c.Raw(func(raw any) error {
		rows, err := raw.(driver.QueryerContext).QueryContext(context.Background(), text, nil)
		if err != nil {
			return err
		}
		defer rows.Close()
		for i := range rows.Columns() {
			types = append(types, rows.(driver.RowsColumnTypeDatabaseTypeName).ColumnTypeDatabaseTypeName(i))
		}
		next := rows.Next
		if lend {
			next = rows.(interface{ Lend([]driver.Value) error }).Lend
		}
		for {
			dest := make([]driver.Value, len(types))
			if err := next(dest); err == io.EOF {
				return nil
			} else if err != nil {
				return err
			}
			for _, v := range dest {
				if lend {
					if v = sqlgen.Owned(v); fmt.Sprintf("%T", v) == "[]uint8" {
						v = append([]byte{}, v.([]byte)...)
					}
				}
				kept = append(kept, v)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	out := []string{strings.Join(types, " ")}
	for _, v := range kept {
		if m, ok := v.(time.Time); ok {
			v = m.UTC().Format(time.RFC3339Nano)
		}
		out = append(out, fmt.Sprintf("%T %v", v, v))
	}
	return out
}
