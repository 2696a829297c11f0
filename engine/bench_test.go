package engine_test

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"resq/testdb"
)

// The six request shapes of the benchmark: what clients mostly send.
var shapes = []struct{ name, request string }{
	{"point", `{"resource":"Order","fields":[{"code":"id"},{"code":"amount"}],"conditions":{"type":"and","exprs":[{"field":"id","operator":"=","token":"3"}]}}`},
	{"page", `{"resource":"Order","fields":[],"orderBy":[{"type":"field","expr":"Order.placed_at","direction":"desc"}],"limit":30}`},
	{"search", `{"resource":"User","fields":[{"code":"id"},{"code":"name"}],"conditions":{"type":"or","exprs":[{"field":"name","operator":"LIKE","token":"a"},{"field":"id","operator":"IN","token":"1,2,3"}]}}`},
	{"join", `{"resource":"Order","fields":[{"code":"id"},{"code":"name","codeResource":"User"}],"relations":[{"code":"User","type":"left","actuallyResource":"User","actuallyField":"id","relationResource":"Order","relationField":"user_id"}],"limit":30}`},
	{"group", `{"resource":"Order","fields":[{"code":"status"},{"code":"COUNT(*)","alias":"n","isExpr":true},{"code":"SUM(Order.amount)","alias":"s","isExpr":true}],"groupBy":["Order.status"],"having":{"type":"and","exprs":[{"field":"*","fieldSqlFunc":"COUNT","operator":">","token":"0"}]}}`},
	{"tree", `{"resource":"Dept","fields":[],"recursive":{"pField":"Dept.parent_id","cField":"Dept.id","root":"0"}}`},
}

// BenchmarkCompile is the engine's own cost before the database is asked: decode to render.
func BenchmarkCompile(b *testing.B) {
	shop := newShop(b, testdb.Engines(b)[0])
	who := principals(b)["root"]
	for _, s := range shapes {
		raw := []byte(s.request)
		b.Run(s.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := shop.engine.Explain(context.Background(), who, raw); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkQuery answers each shape, and runs the statement it comes to with the bare driver, in turns: the
// metric is how many times the bare statement the whole answer takes.
func BenchmarkQuery(b *testing.B) {
	for _, on := range testdb.Engines(b) {
		shop := newShop(b, on)
		who := principals(b)["root"]
		for _, s := range shapes {
			raw := []byte(s.request)
			x, err := shop.engine.Explain(context.Background(), who, raw)
			if err != nil {
				b.Fatal(err)
			}
			db := sql.OpenDB(testdb.Connector(b, on, shop.dsn["main"]))
			b.Run(on.Name+"/"+s.name, func(b *testing.B) {
				st, err := db.Prepare(x.Statements[0].SQL)
				if err != nil {
					b.Fatal(err)
				}
				defer st.Close()
				var bare, whole int64
				for b.Loop() {
					bare += timed(func() { drain(b, st, x.Statements[0].Args) })
					whole += timed(func() {
						if _, err := shop.engine.Query(context.Background(), who, raw); err != nil {
							b.Fatal(err)
						}
					})
				}
				b.ReportMetric(float64(whole)/float64(bare), "x-bare")
			})
			db.Close()
		}
	}
}

func timed(f func()) int64 {
	start := time.Now()
	f()
	return time.Since(start).Nanoseconds()
}

// drain reads every row as the driver hands it over, and does nothing with it.
func drain(b *testing.B, st *sql.Stmt, args []any) {
	rows, err := st.Query(args...)
	if err != nil {
		b.Fatal(err)
	}
	defer rows.Close()
	cols, err := rows.Columns()
	if err != nil {
		b.Fatal(err)
	}
	vals := make([]any, len(cols))
	for i := range vals {
		vals[i] = new(any)
	}
	for rows.Next() {
		if err := rows.Scan(vals...); err != nil {
			b.Fatal(err)
		}
	}
	if err := rows.Err(); err != nil {
		b.Fatal(err)
	}
}
