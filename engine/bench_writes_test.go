package engine_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"strings"
	"testing"
	"time"

	"resq/engine"
	"resq/engine/policy"
	"resq/testdb"
)

// unbounded lets a benchmark write as often as it likes.
func unbounded(o *engine.Options) {
	o.Writes = engine.WriteLimits{PreviewsPerMinute: -1, RowsPerHour: -1}
}

// BenchmarkWrite makes writes with the engine, and the very statements they come to with the bare driver, in turns
// and over connections of the same settings: the metric is how many times the bare statements the whole call takes.
func BenchmarkWrite(b *testing.B) {
	for _, on := range testdb.Engines(b) {
		for _, n := range []int{1, 50} {
			office := newOffice(b, on, unbounded)
			seedTasks(b, office, n)
			who := peopleOf(b, officeDir+"/principals.yaml")["root"]
			db := sql.OpenDB(bareWriter(b, office))
			w := &writing{b: b, bench: office, who: who, db: db}
			ids := ""
			for i := range n {
				ids += fmt.Sprintf(",%d", 1000+i)
			}
			args := `{"resource":"Task","ids":[` + ids[1:] + `],"data":{"minutes":45}`
			w.rehearse(args)
			b.Run(fmt.Sprintf("%s/preview/%d", on.Name, n), func(b *testing.B) {
				w.b = b
				var bare, whole int64
				for b.Loop() {
					id := fmt.Sprintf("%032x", time.Now().UnixNano())
					bare += timed(func() { w.replay(w.previewed, id) })
					whole += timed(func() { w.ask("res-update", args+"}") })
				}
				b.ReportMetric(float64(whole)/float64(bare), "x-bare")
			})
			b.Run(fmt.Sprintf("%s/apply/%d", on.Name, n), func(b *testing.B) {
				w.b = b
				var bare, whole int64
				for b.Loop() {
					id := fmt.Sprintf("%032x", time.Now().UnixNano())
					w.replay(w.previewed, id)
					bare += timed(func() { w.replay(w.applied, id) })
					token := tokenOf(b, w.ask("res-update", args+"}"))
					confirmed := args + `,"__confirm__":true,"__confirm_token__":"` + token + `"}`
					whole += timed(func() { w.ask("res-update", confirmed) })
				}
				b.ReportMetric(float64(whole)/float64(bare), "x-bare")
			})
			db.Close()
		}
	}
}

func seedTasks(b *testing.B, office *bench, n int) {
	b.Helper()
	for i := range n {
		testdb.Exec(b, office.on, office.dsn["main"], fmt.Sprintf("INSERT INTO task (id, title, person_id, minutes) VALUES (%d, 'Task %d', %d, 1)", 1000+i, i, 1+i%4))
	}
}

// writing is a benchmark of writes on one database.
type writing struct {
	b                  *testing.B
	bench              *bench
	who                *policy.Principal
	db                 *sql.DB
	op                 string // of the rehearsal
	previewed, applied []testdb.Statement
}

func (w *writing) ask(tool, args string) string {
	a, err := w.bench.engine.Write(context.Background(), w.who, engine.Call{Tool: tool, Args: []byte(args)})
	if err != nil {
		w.b.Fatal(tell(err))
	}
	return string(a.Text)
}

// rehearse finds out which statements a preview and its confirmation come to.
func (w *writing) rehearse(args string) {
	w.ask("res-update", args+"}") // what is asked once in a while is asked here
	r := w.bench.recorder
	r.Reset()
	preview := w.ask("res-update", args+"}")
	w.previewed = r.Statements()
	_, rest, _ := strings.Cut(preview, `"op_id":"`)
	w.op = rest[:32]
	r.Reset()
	w.ask("res-update", args+`,"__confirm__":true,"__confirm_token__":"`+tokenOf(w.b, preview)+`"}`)
	w.applied = r.Statements()
	if len(w.previewed) < 5 || len(w.applied) < 7 {
		w.b.Fatalf("%d and %d statements were recorded", len(w.previewed), len(w.applied))
	}
}

// replay runs statements as they were recorded, for another operation.
func (w *writing) replay(list []testdb.Statement, id string) {
	var tx *sql.Tx
	var err error
	for _, s := range list {
		args := make([]any, len(s.Args))
		for i, a := range s.Args {
			if args[i] = a; a == w.op {
				args[i] = id
			}
		}
		switch s.Op {
		case "begin":
			level := sql.LevelReadCommitted
			if w.bench.on.Name == testdb.SQLite {
				level = sql.LevelDefault
			}
			tx, err = w.db.BeginTx(context.Background(), &sql.TxOptions{Isolation: level})
		case "commit":
			err = tx.Commit()
		case "rollback", "prepare":
		case "exec":
			_, err = tx.Exec(s.SQL, args...)
		default:
			err = drainQuery(tx, s.SQL, args)
		}
		if err != nil {
			w.b.Fatalf("%s %s: %v", s.Op, s.SQL, err)
		}
	}
}

func drainQuery(tx *sql.Tx, text string, args []any) error {
	rows, err := tx.Query(text, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	cols, err := rows.Columns()
	if err != nil {
		return err
	}
	vals := make([]any, len(cols))
	for i := range vals {
		vals[i] = new(any)
	}
	for rows.Next() {
		if err := rows.Scan(vals...); err != nil {
			return err
		}
	}
	return rows.Err()
}

// bareWriter gives connections with the settings of the engine's own.
func bareWriter(b *testing.B, office *bench) driver.Connector {
	b.Helper()
	for _, d := range office.opts.Drivers {
		if d.Name() == office.on.Name {
			c, err := d.(recorded).Driver.Writer(office.catalog.Connections[0], 10*time.Second)
			if err != nil {
				b.Fatal(err)
			}
			return c
		}
	}
	b.Fatal("no driver")
	return nil
}
