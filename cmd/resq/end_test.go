package main

import (
	"database/sql"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"resq/testdb"
)

// A statement that takes a minute and no work.
var sleeping = map[string]string{
	testdb.MySQL:    "CREATE VIEW resq_sleeps AS SELECT 1 AS id, SLEEP(60) AS done",
	testdb.Postgres: "CREATE VIEW resq_sleeps AS SELECT 1 AS id, CAST(pg_sleep(60) AS text) AS done",
}

const sleepRequest = `{"resource":"Sleep","fields":[{"code":"done"}]}`

// However the program ends while a call runs, nothing of the call goes on at the database's server, and whoever
// waits for its answer is told.
func TestEndLeavesNothing(t *testing.T) {
	t.Parallel() // the graces are waited for
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		if on.Name == testdb.SQLite {
			return // has no server
		}
		t.Parallel()
		catalog := func(dsn string) string {
			return write(t, t.TempDir(), "c.yaml", "version: 1\nconnections:\n  default: {driver: "+on.Name+", dsn: \""+dsn+"\"}\n"+
				"resources:\n  - {code: Sleep, table: resq_sleeps, key: id, fields: {id: {type: integer}, done: {type: string}}}\n")
		}
		for name, end := range map[string]func(t *testing.T, catalog string, runs func()) string{
			"http and SIGTERM":            endHTTP,
			"stdio and SIGTERM":           func(t *testing.T, c string, runs func()) string { return endStdio(t, c, runs, true) },
			"stdio and the end of input":  func(t *testing.T, c string, runs func()) string { return endStdio(t, c, runs, false) },
			"call and Ctrl-C on a reader": endCall,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				dsn := testdb.Create(t, on, sleeping[on.Name])
				db := testdb.Open(t, on, dsn)
				told := end(t, catalog(dsn), func() {
					for until := time.Now().Add(10 * time.Second); statements(t, on, db) == 0; time.Sleep(20 * time.Millisecond) {
						if time.Now().After(until) {
							t.Fatal("the statement is not seen to run, so nothing would be seen to end")
						}
					}
				})
				for until := time.Now().Add(time.Second); statements(t, on, db) > 0; time.Sleep(20 * time.Millisecond) {
					if time.Now().After(until) {
						t.Fatal("the statement still runs on the server")
					}
				}
				want := "UPSTREAM_UNAVAILABLE"
				if strings.HasPrefix(name, "call") {
					want = "CANCELLED"
				}
				if !strings.Contains(told, want) {
					t.Errorf("the caller is told %s, want %s", told, want)
				}
			})
		}
	})
}

func endHTTP(t *testing.T, catalog string, runs func()) string {
	p := start(t, "serve", "--http", "127.0.0.1:0", "--catalog", catalog, "--timeout", "50s", "--state", t.TempDir())
	var url string
	for _, l := range p.until("curl -s") {
		if m := regexp.MustCompile(`answers at (\S+)`).FindStringSubmatch(l); m != nil {
			url = m[1]
		}
	}
	told := make(chan string, 1)
	go func() {
		resp, err := http.Post(url, "application/json", strings.NewReader(sleepCall))
		if err != nil {
			told <- err.Error()
			return
		}
		defer resp.Body.Close()
		b, _ := io.ReadAll(resp.Body)
		told <- string(b)
	}()
	runs()
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	if code := p.wait(); code != 0 {
		t.Errorf("exit %d: %s", code, p.errors())
	}
	return <-told
}

const sleepCall = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"res-query","arguments":` + sleepRequest + `}}`

func endStdio(t *testing.T, catalog string, runs func(), signal bool) string {
	p := start(t, "serve", "--stdio", "--catalog", catalog, "--timeout", "50s", "--state", t.TempDir())
	p.send(sleepCall)
	runs()
	if signal {
		_ = p.cmd.Process.Signal(syscall.SIGTERM)
	} else {
		p.in.Close()
	}
	told := p.line()
	if code := p.wait(); code != 0 {
		t.Errorf("exit %d: %s", code, p.errors())
	}
	return told
}

func endCall(t *testing.T, catalog string, runs func()) string {
	p := start(t, "call", "res-query", sleepRequest, "--catalog", catalog, "--timeout", "50s", "--state", t.TempDir())
	runs()
	_ = p.cmd.Process.Signal(os.Interrupt)
	if code := p.wait(); code != exitFailed {
		t.Errorf("exit %d: %s", code, p.errors())
	}
	return p.errors()
}

// statements counts what the server runs in the database for others than the one who asks.
func statements(t *testing.T, on testdb.Engine, db *sql.DB) (n int) {
	t.Helper()
	list := "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND state = 'active'"
	if on.Name == testdb.MySQL {
		list = "SELECT COUNT(*) FROM information_schema.processlist WHERE db = DATABASE() AND id <> CONNECTION_ID() AND command <> 'Sleep'"
	}
	if err := db.QueryRow(list).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}
