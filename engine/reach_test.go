package engine_test

import (
	"context"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"resq/engine"
	"resq/engine/policy"
	"resq/testdb"
	"resq/testdb/proxy"
)

const reachCatalog = `version: 1
resources:
  - {code: Near, connection: main, table: near, key: id, writes: [update], fields: {id: integer, name: string}}
  - {code: Far, connection: far, table: far, key: id, writes: [update, delete], fields: {id: integer, name: string}}
  - {code: Secret, connection: far, table: far, key: id, roles: [boss], fields: {id: integer}}
tools:
  - {name: near.list, description: Near., shape: list, source: Near, columns: [id], order: [id asc], paging: {default: 20, max: 100}}
  - {name: far.list, description: Far., shape: list, source: Far, columns: [id], order: [id asc], paging: {default: 20, max: 100}}
  - name: both.list
    description: Both.
    shape: list
    source: Near
    order: [id asc]
    paging: {default: 20, max: 100}
    columns: [id, {other: {lookup: Far, by: id, take: name}}]
  - {name: sql_far, title: Far, description: Far by SQL., system: far, sql: SELECT id FROM far}
  - {name: sql_any, title: Any, description: Any by SQL., sql: SELECT 1 AS one}
principal:
  query:
    resource: Secret
    fields: [{code: id, alias: mine}]
    conditions: {type: and, exprs: [{field: id, operator: "=", tokenType: func, token: UserID}]}
`

// E-10: a tool whose connection is known to be down is not there, one that can do without it is, and it comes back with
// the connection. Nobody pings for it, and a short outage takes nothing away.
func TestReach(t *testing.T) {
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		const rows = "CREATE TABLE %s (id INTEGER PRIMARY KEY, name VARCHAR(20)); INSERT INTO %s VALUES (1, 'one')"
		dsn := map[string]string{
			"main": testdb.Create(t, on, strings.ReplaceAll(rows, "%s", "near")),
			"far":  testdb.Create(t, on, strings.ReplaceAll(rows, "%s", "far")),
		}
		var cut, heal func()
		if file, is := strings.CutPrefix(dsn["far"], "sqlite:"); is {
			cut = func() { rename(t, file, file+".away") }
			heal = func() { rename(t, file+".away", file) }
		} else {
			p, through := proxy.Front(t, dsn["far"])
			dsn["far"] = through
			cut = func() { p.CutAfter(0); p.Reset() }
			heal = p.Heal
		}
		if on.Name == testdb.SQLite {
			cut() // a connection that is open stays so, so the file is away from the beginning
		}
		const down = 400 * time.Millisecond
		b := newBench(t, on, fstest.MapFS{"catalog.yaml": {Data: []byte(reachCatalog)}}, dsn, func(o *engine.Options) { o.Down, o.Timeout = down, 5*time.Second })
		var told atomic.Int64
		b.engine.OnReach(func() { told.Add(1) })
		plain := &policy.Principal{Name: "plain", Scopes: []string{"read", "write", "delete"}}
		ask := func() {
			_, _ = b.engine.Query(context.Background(), plain, []byte(`{"resource":"Far","fields":[{"code":"id"}]}`))
		}
		list := func(who *policy.Principal) string {
			var names []string
			for _, tool := range []string{"near.list", "far.list", "both.list", "sql_far", "sql_any"} {
				if b.engine.Reaches(who, tool, 0) {
					names = append(names, tool)
				}
			}
			for tool, verbs := range map[string]engine.Verbs{"read": 0, "update": engine.Updates, "delete": engine.Deletes} {
				if !b.engine.Reaches(who, "", verbs) {
					names = append(names, "no "+tool)
				}
			}
			return strings.Join(names, " ")
		}
		const all, some = "near.list far.list both.list sql_far sql_any", "near.list sql_any no delete"
		waits := func(want string) {
			t.Helper()
			end := time.Now().Add(20 * time.Second)
			for list(plain) != want {
				if time.Now().After(end) {
					t.Fatalf("offered are %s, want %s", list(plain), want)
				}
				time.Sleep(10 * time.Millisecond)
			}
		}
		if on.Name != testdb.SQLite {
			ask()
			cut()
		}
		if list(plain) != all {
			t.Errorf("before anybody knows: %s", list(plain))
		}
		start := time.Now()
		ask()
		waits(some)
		if d := time.Since(start); d < down {
			t.Errorf("taken away after %v, want not before %v", d, down)
		}
		// E-10: a principal whose user is looked up there can use no business tool; D-030: nor is a tool there that reads there.
		if got, want := list(userOf(1)), "no delete"; got != want {
			t.Errorf("a user who cannot be looked up: %s, want %s", got, want)
		}
		// A renewed engine knows what the first one found, and tells the same.
		next, err := b.engine.Renew(b.catalog)
		if err != nil {
			t.Fatal(err)
		}
		first := b.engine
		b.engine = next
		t.Cleanup(func() { first.Close() })
		if got := list(plain); got != some {
			t.Errorf("a renewed engine offers %s, want %s", got, some)
		}
		heal()
		waits(all)
		if told.Load() != 2 {
			t.Errorf("told %d times, want of its end and its return", told.Load())
		}
		if on.Name == testdb.SQLite {
			return // nothing can be cut that is open
		}
		// An outage that is shorter than the bound takes nothing away.
		cut()
		ask()
		time.Sleep(down / 4)
		heal()
		for end := time.Now().Add(3 * down); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
			if list(plain) != all {
				t.Fatalf("a short outage took tools away: %s", list(plain))
			}
		}
		if told.Load() != 2 {
			t.Errorf("told %d times of a short outage", told.Load()-2)
		}
		// What watches ends with the engine.
		cut()
		ask()
	})
}

func rename(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}
