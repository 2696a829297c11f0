package main

import (
	"context"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"resq/testdb"
)

// openFiles is how many files this process has open, or 0 where that cannot be told.
func openFiles() int {
	list, _ := os.ReadDir("/proc/self/fd")
	return len(list)
}

// counter gives what tells how many connections a database has.
func counter(t *testing.T, e testdb.Engine, dsn string) func() int {
	t.Helper()
	count := map[string]string{
		testdb.MySQL:    "SELECT count(*) FROM information_schema.processlist WHERE db = DATABASE()",
		testdb.Postgres: "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()",
	}[e.Name]
	if count == "" {
		return openFiles
	}
	db := testdb.Open(t, e, dsn)
	db.SetMaxOpenConns(1)
	return func() (n int) {
		if err := db.QueryRow(count).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
}

// A hundred reloads under load: every answer is that of one of the two catalogs, and afterwards there are no more
// goroutines and connections than before.
func TestReloadUnderLoad(t *testing.T) {
	testdb.Each(t, func(t *testing.T, e testdb.Engine) {
		dsn := testdb.Create(t, e, itemScriptFor(e)...)
		path := write(t, t.TempDir(), "item.yaml", itemCatalog(e, dsn, 4, 1, 2))
		s := servingOn(t, &source{catalogs: []string{path}}, true, 5*time.Millisecond)
		ctx, stop := context.WithCancel(t.Context())
		var asking sync.WaitGroup
		var asked, low atomic.Int64
		begin := func() {
			for range 8 {
				asking.Go(func() {
					for ctx.Err() == nil {
						got, err := s.ask(context.Background(), "res-query", askItems)
						asked.Add(1)
						switch {
						case err == nil && got == itemsLow:
							low.Add(1)
						case err != nil || got != itemsHigh:
							t.Errorf("%v %s", err, got)
							return
						}
					}
				})
			}
		}
		begin()
		time.Sleep(300 * time.Millisecond)
		connections := counter(t, e, dsn)
		conns, goroutines := connections(), runtime.NumGoroutine()
		for i := range 100 {
			from := 1 + 2*((i+1)%2)
			replace(t, path, itemCatalog(e, dsn, 4+(i/10+1)%2, from, from+1)) // now and then a pool of another size
			s.until(map[int]string{1: itemsLow, 3: itemsHigh}[from])
		}
		more := 2
		if e.Name == testdb.SQLite { // it leaves files open while another connection has a lock
			more = 8
		}
		var now, running int
		for end := time.Now().Add(15 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
			if now, running = connections(), runtime.NumGoroutine(); now <= conns+more && running <= goroutines+6 {
				break
			}
		}
		if now > conns+more || running > goroutines+6 {
			t.Errorf("connections or files %d before, %d after; goroutines %d before, %d after", conns, now, goroutines, running)
		}
		t.Logf("%d calls; goroutines %d before, %d after; connections or files %d before, %d after", asked.Load(), goroutines, running, conns, now)
		stop()
		asking.Wait()
		if n := len(s.log.with("catalog reloaded")); n != 100 {
			t.Errorf("%d reloads", n)
		}
		if a, l := asked.Load(), low.Load(); l < a/20 || l > a*19/20 {
			t.Errorf("%d of %d answers are those of one catalog", l, a)
		}
	})
}

func itemScriptFor(e testdb.Engine) []string { return strings.Split(itemScript, "; ") }
