package attack_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"resq/access"
	"resq/engine"
	"resq/engine/policy"
	"resq/server"
	"resq/testdb"
)

// before are the lines that end before the engine is asked, and those of which what a key may spend decides.
func before(t testing.TB) []line {
	return slices.DeleteFunc(corpus(t), func(l line) bool { return notRun()[l.ID] != serverLines })
}

// keyed gives a principal a key of its own, without which nothing is counted.
func keyed(name string) *policy.Principal {
	p := *people[name]
	p.Key = "key of " + name
	return &p
}

// The names of tools and the budgets of keys (N4, C9): the lines of the corpus that need what stands in front of the engine,
// on every database.
func TestCorpusKeys(t *testing.T) {
	lines := before(t)
	if len(lines) != 6 {
		t.Fatalf("%d lines", len(lines))
	}
	tables := fixtureTables(t, needCorpus(t, "fixture.yaml"))
	score := &scores{}
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		g := newTarget(t, on, tables)
		slow := newTarget(t, on, enlarge(tables))
		slow.engine = slow.start(t, catalog, engine.Options{Now: clock, Timeout: 20 * time.Second})
		for _, l := range lines {
			t.Run(l.ID, func(t *testing.T) {
				t.Cleanup(func() { score.add(l.Category, t.Failed()) })
				switch l.ID {
				case "DOS-008":
					l.flood(t, g)
				case "DOS-009":
					l.besiege(t, slow)
				default:
					l.name(t, g)
				}
			})
		}
	})
	score.print(t)
}

// front is a server on the engine of a target.
func (g *target) front(t testing.TB, e *engine.Engine) *server.Server {
	t.Helper()
	b, err := access.NewBudgets(access.BudgetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := server.New(e, server.Options{Version: "test", Budgets: b, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// name asks for a tool that is none.
func (l *line) name(t *testing.T, g *target) {
	g.recorder.Reset()
	if r, ok := g.front(t, g.engine).Call(context.Background(), keyed(l.As), l.Tool, l.arguments(t).bytes()); ok {
		t.Errorf("the tool %q answered %v", l.Tool, r.Texts)
	}
	if ran := g.recorder.Statements(); len(ran) > 0 {
		t.Errorf("%d statements ran", len(ran))
	}
}

// flood spends what a key may, and one call more.
func (l *line) flood(t *testing.T, g *target) {
	s := g.front(t, g.engine)
	raw := l.arguments(t).bytes()
	for i := range access.CallsPerMinute {
		if r, _ := s.Call(context.Background(), keyed(l.As), l.Tool, raw); r.Failed {
			t.Fatalf("call %d: %v", i+1, r.Texts)
		}
	}
	g.recorder.Reset()
	r, _ := s.Call(context.Background(), keyed(l.As), l.Tool, raw)
	if string(r.Code) != l.Code || !strings.Contains(r.Texts[0], `"retry_after":`) {
		t.Errorf("the call after them: %s %v", r.Code, r.Texts)
	}
	if ran := g.recorder.Statements(); len(ran) > 0 {
		t.Errorf("refused, but %d statements ran", len(ran))
	}
	if r, _ := s.Call(context.Background(), keyed("bob"), l.Tool, raw); r.Failed {
		t.Errorf("another key: %v", r.Texts)
	}
}

// besiege lets 200 calls of one key run into slow queries; another key is answered all the same.
func (l *line) besiege(t *testing.T, g *target) {
	s := g.front(t, g.engine)
	slow := `{"resource":"User","fields":[{"code":"COUNT(*)","isExpr":true,"alias":"n"}],"relations":[` +
		`{"code":"a","type":"cross","actuallyResource":"User"},{"code":"b","type":"cross","actuallyResource":"User"}],` +
		`"conditions":{"type":"and","exprs":[{"field":"LENGTH(User.name) + LENGTH(a.name) + LENGTH(b.name) > LENGTH(CONCAT(a.name, b.name))","isExpr":true,"operator":"=","token":"true"}]}}`
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	who := keyed("alice")
	who.Attributes = map[string]policy.Value{"all_rows": policy.One("true")}
	ended := make(chan string, 200)
	for range 200 {
		wg.Go(func() {
			r, _ := s.Call(ctx, who, "res-query", []byte(slow))
			ended <- fmt.Sprint(r.Code, r.Texts)
		})
	}
	time.Sleep(time.Second) // by then those that may run do
	start := time.Now()
	r, _ := s.Call(context.Background(), keyed(l.As), l.Tool, l.arguments(t).bytes())
	took := time.Since(start)
	if r.Failed || took > 8*time.Second {
		t.Errorf("the other key is answered after %v: %v", took, r.Texts)
	}
	t.Logf("the other key is answered after %v, while %d of 200 calls have ended", took, len(ended))
	if len(ended) > 190 {
		t.Errorf("the queries are not slow: %s", <-ended)
	}
}
