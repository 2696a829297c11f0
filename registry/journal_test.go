package registry

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"resq/engine"
	"resq/testdb"
)

const keptArguments = `{"conditions":{"exprs":[{"field":"phone","operator":"=","token":"***"},{"field":"name","operator":"=","token":"138****5678"}],"type":"and"},"resource":"User"}`

// A-083, E-16, B-014: a call is kept with all that it is to have, masked, in the database and in the files.
func TestJournal(t *testing.T) {
	testdb.Each(t, func(t *testing.T, e testdb.Engine) {
		c, _ := migratedControl(t, e)
		dir := t.TempDir()
		files, err := Open(dir, Options{Secret: testSecret, KeepArguments: true, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		j := NewJournal(c, func() *Log { return files }, slog.New(slog.DiscardHandler))
		j.Know(knownShop())
		ctx, stop := context.WithCancel(t.Context())
		at := time.Date(2027, 1, 2, 3, 4, 5, 678000000, time.UTC)
		for i := range 350 {
			j.Add(Call{Time: at, Request: fmt.Sprintf("r%d", i), Token: int64(i % 2), Key: "k", User: "42", Principal: "user:42", Tool: "res-query",
				Arguments: []byte(`{"resource":"User","conditions":{"type":"and","exprs":[{"field":"phone","operator":"=","token":"secret"},{"field":"name","operator":"=","token":"13812345678"}]}}`), Outcome: "ok", Rows: 7, Took: 1234 * time.Millisecond, Client: "::1", Version: 2,
				Rules: []string{"own:1", "site:2"}, Bypass: "the boss: =counts", Statements: []string{"SELECT 2", "SELECT 1"}, Stages: []engine.Stage{{Name: "decode", Took: 12 * time.Microsecond}, {Name: "plan", Took: 2 * time.Millisecond}}})
		}
		j.Add(Call{Time: at, Request: "last", Outcome: "denied", Code: "PERMISSION_DENIED", Arguments: []byte(strings.Repeat("x", 20_000))})
		done := make(chan struct{})
		go func() { j.Run(ctx); close(done) }()
		stop() // what was taken over is still kept
		<-done
		list, err := c.Calls(t.Context(), 0, 1000)
		if err != nil || len(list) != 351 || j.Dropped() != 0 {
			t.Fatalf("%d calls, %d dropped, %v", len(list), j.Dropped(), err)
		}
		want := KeptCall{ID: list[1].ID, Time: at, Request: "r349", Token: 1, User: "42", Principal: "user:42", Key: "k", Tool: "res-query", Arguments: keptArguments,
			Outcome: "ok", Rows: 7, Ms: 1234, Client: "::1", Version: 2, Rules: "own:1 site:2", Bypass: "the boss: =counts", SQL: list[1].SQL, Stages: "decode=12 plan=2000"}
		if list[1] != want || len(want.SQL) != 33 || strings.Contains(want.SQL, "SELECT") {
			t.Errorf("%+v\n%+v", list[1], want)
		}
		if last := list[0]; last.Request != "last" || last.Tool != "unknown" || last.Outcome != "denied" || last.Code != "PERMISSION_DENIED" || len(last.Arguments) > maxArguments || last.Token != 0 {
			t.Errorf("%+v", last)
		}
		if list, err := c.Calls(t.Context(), 1, 10); err != nil || len(list) != 10 || list[0].Token != 1 {
			t.Errorf("of one key: %v %v", list, err)
		}
		day := 24 * time.Hour
		for _, x := range []struct {
			f    CallFilter
			want int
		}{
			{CallFilter{}, 351}, {CallFilter{Who: "user:42"}, 350}, {CallFilter{Who: "42"}, 350}, {CallFilter{Who: "k"}, 350}, {CallFilter{Who: "4"}, 0},
			{CallFilter{Tool: "res-query", Token: 1}, 175}, {CallFilter{Tool: "unknown"}, 1}, {CallFilter{Outcome: "denied"}, 1}, {CallFilter{Request: "r7"}, 1},
			{CallFilter{Resource: "User"}, 350}, {CallFilter{Resource: "Use"}, 0}, {CallFilter{Resource: "Us_r"}, 0}, {CallFilter{Resource: "%"}, 0}, {CallFilter{Resource: "!"}, 0},
			{CallFilter{From: at}, 351}, {CallFilter{From: at.Add(time.Second)}, 0}, {CallFilter{To: at}, 0}, {CallFilter{From: at.Add(-day), To: at.Add(day)}, 351},
			{CallFilter{Who: "' OR 1=1 --"}, 0},
		} {
			x.f.Limit = 1000
			if list, err := c.FindCalls(t.Context(), x.f); err != nil || len(list) != x.want {
				t.Errorf("%+v: %d calls, want %d, %v", x.f, len(list), x.want, err)
			}
		}
		if err := files.Close(); err != nil {
			t.Fatal(err)
		}
		var calls int
		for line := range strings.Lines(readAll(t, dir)) {
			if strings.Contains(line, `"event":"call"`) {
				calls++
				if strings.Contains(line, "secret") || strings.Contains(line, "13812345678") {
					t.Fatal(line)
				}
			}
			if strings.Contains(line, `"r349"`) {
				for _, part := range []string{`"key_id":"k"`, `"tool":"res-query"`, `"code":"OK"`, `"rows":7`, `"ms":1234`, `"args":` + keptArguments, `"user_id":"42"`,
					`"outcome":"ok"`, `"client_ip":"::1"`, `"schema_version":2`, `"rules":["own:1","site:2"]`, `"bypass":"the boss: =counts"`, `"statement":"` + want.SQL + `"`} {
					if !strings.Contains(line, part) {
						t.Errorf("no %s in %s", part, line)
					}
				}
			}
		}
		if calls != 351 {
			t.Errorf("%d calls in the files", calls)
		}
		// Old ones are forgotten.
		for i, n := range []int64{0, 351, 0} {
			before := at.Add(time.Duration(i) * time.Hour)
			if got, err := c.ForgetCalls(t.Context(), before); err != nil || got != n {
				t.Errorf("before %s: %d %v", before, got, err)
			}
		}
	})
}

func readAll(t *testing.T, dir string) string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*", "*.jsonl"))
	if err != nil || len(paths) == 0 {
		t.Fatal(paths, err)
	}
	var b strings.Builder
	for _, p := range paths {
		raw, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(raw)
	}
	return b.String()
}

// Reads do not wait for the audit: with a database that does not answer, a call is taken over at once, some thousands
// wait, what comes then is counted, and what waited is kept when the database is back.
func TestJournalWithoutDatabase(t *testing.T) {
	c, _ := migratedControl(t, testdb.Engine{Name: testdb.SQLite})
	blocked, err := c.db.Conn(t.Context()) // the only connection
	if err != nil {
		t.Fatal(err)
	}
	j := NewJournal(c, nil, slog.New(slog.DiscardHandler))
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	done := make(chan struct{})
	go func() { j.Run(ctx); close(done) }()
	start := time.Now()
	for range journalRoom + 1000 {
		j.Add(Call{Time: start, Tool: "res-query", Outcome: "ok"})
	}
	if took := time.Since(start); took > time.Second {
		t.Errorf("%d calls took %s", journalRoom, took)
	}
	dropped := j.Dropped()
	if dropped < 500 || dropped > 1000 {
		t.Errorf("%d were dropped", dropped)
	}
	if err := blocked.Close(); err != nil {
		t.Fatal(err)
	}
	stop()
	<-done
	list, err := c.Calls(t.Context(), 0, 100_000)
	if err != nil || int64(len(list))+j.Dropped() != journalRoom+1000 || len(list) < journalRoom-journalBatch {
		t.Errorf("%d kept and %d dropped of %d, %v", len(list), j.Dropped(), journalRoom+1000, err)
	}
}
