package access

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"resq/engine/policy"
	"resq/schema/problem"
	"resq/testdb"
)

func budgets(t *testing.T, opts BudgetOptions) *Budgets {
	t.Helper()
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	b, err := NewBudgets(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

// spent calls Take and gives what it was refused for, "" for a call that was taken.
func spent(t *testing.T, b *Budgets, who *policy.Principal) (reason string, retry int) {
	t.Helper()
	err := b.Take(t.Context(), who)
	if err == nil {
		return "", 0
	}
	p := problem.From(err)[0]
	if p.Code != problem.RateLimited || p.RetryAfter < 1 || p.Hint == "" {
		t.Fatalf("%+v", p)
	}
	return p.Reason, p.RetryAfter
}

func keyed(name string, b policy.Budget) *policy.Principal {
	return &policy.Principal{Name: "alice", Key: name, Budget: b}
}

// DOS-008, T1: the call beyond the bound is refused for as long as the window of the first one lasts, whatever the wall clock
// says; another key is not, nor is a key with a bound of its own.
func TestBudgetHere(t *testing.T) {
	now := time.Now()
	b := budgets(t, BudgetOptions{Default: policy.Budget{CallsPerMinute: 3, RowsPerHour: 100}, Now: func() time.Time { return now }})
	a := keyed("a", policy.Budget{})
	for i := range 3 {
		now = now.Add(5 * time.Second)
		if r, _ := spent(t, b, a); r != "" {
			t.Fatalf("call %d: %s", i, r)
		}
	}
	for range 2 {
		if r, after := spent(t, b, a); r != "calls" || after < 50 || after > 55 {
			t.Fatalf("the fourth: %q, again in %d s", r, after)
		}
	}
	if r, _ := spent(t, b, keyed("b", policy.Budget{})); r != "" {
		t.Errorf("another key: %s", r)
	}
	if r, _ := spent(t, b, keyed("c", policy.Budget{CallsPerMinute: 1})); r != "" {
		t.Errorf("the first of a smaller bound: %s", r)
	}
	if r, _ := spent(t, b, keyed("c", policy.Budget{CallsPerMinute: 1})); r != "calls" {
		t.Errorf("the second of a smaller bound: %q", r)
	}
	for range 20 {
		if r, _ := spent(t, b, keyed("d", policy.Budget{CallsPerMinute: -1})); r != "" {
			t.Errorf("no bound: %s", r)
		}
	}
	now = now.Add(49 * time.Second)
	if r, _ := spent(t, b, a); r != "calls" {
		t.Errorf("before the window is over: %q", r)
	}
	now = now.Add(time.Second)
	if r, _ := spent(t, b, a); r != "" {
		t.Errorf("after it: %s", r)
	}
}

// Rows are charged when they were answered: the answer that spends them is whole, the next call waits for the hour.
func TestBudgetRows(t *testing.T) {
	now := time.Now()
	b := budgets(t, BudgetOptions{Default: policy.Budget{RowsPerHour: 100, CallsPerMinute: 5}, Now: func() time.Time { return now }})
	a := keyed("a", policy.Budget{})
	b.Spend(t.Context(), a, 99)
	if r, _ := spent(t, b, a); r != "" {
		t.Fatal(r)
	}
	b.Spend(t.Context(), a, 1000)
	for range 10 { // and costs no calls
		if r, after := spent(t, b, a); r != "rows" || after < 3500 || after > 3600+360 {
			t.Fatalf("%q, again in %d s", r, after)
		}
	}
	now = now.Add(time.Hour)
	for i := range 5 {
		if r, _ := spent(t, b, a); r != "" {
			t.Fatalf("call %d of the next hour: %s", i, r)
		}
	}
	b.Spend(t.Context(), keyed("free", policy.Budget{RowsPerHour: -1}), 1<<30)
	if r, _ := spent(t, b, keyed("free", policy.Budget{RowsPerHour: -1})); r != "" {
		t.Error(r)
	}
}

// Who has no key is not counted, unless it has a budget of its own (E-17).
func TestBudgetWithoutKey(t *testing.T) {
	b := budgets(t, BudgetOptions{Default: policy.Budget{CallsPerMinute: 1}})
	local := &policy.Principal{Name: "local"}
	for range 5 {
		if r, _ := spent(t, b, local); r != "" {
			t.Fatal(r)
		}
	}
	local.Budget.CallsPerMinute = 2
	for i, want := range []string{"", "", "calls"} {
		if r, _ := spent(t, b, local); r != want {
			t.Errorf("call %d: %q", i, r)
		}
	}
}

// What is remembered is bounded by the keys in use.
func TestBudgetForgets(t *testing.T) {
	now := time.Now()
	b := budgets(t, BudgetOptions{Now: func() time.Time { return now }})
	for i := range maxAccounts {
		spent(t, b, keyed(fmt.Sprint(i), policy.Budget{}))
	}
	now = now.Add(2 * time.Hour)
	spent(t, b, keyed("one more", policy.Budget{}))
	if n := len(b.spent); n != 1 {
		t.Errorf("%d accounts", n)
	}
}

// Many calls at once spend no more than there is.
func TestBudgetConcurrent(t *testing.T) {
	for name, url := range redises(t) {
		t.Run(name, func(t *testing.T) {
			var replicas []*Budgets
			for range 3 {
				replicas = append(replicas, budgets(t, BudgetOptions{Redis: patiently(url), Prefix: t.Name()}))
			}
			who := keyed("a", policy.Budget{CallsPerMinute: 50})
			var taken atomic.Int64
			var all sync.WaitGroup
			for i := range 120 {
				all.Go(func() {
					if replicas[i%3].Take(context.Background(), who) == nil {
						taken.Add(1)
					}
				})
			}
			all.Wait()
			if url == "" && taken.Load() != 120 { // each of the three has 50
				t.Errorf("%d calls", taken.Load())
			} else if url != "" && taken.Load() != 50 {
				t.Errorf("%d calls", taken.Load())
			}
		})
	}
}

// redises are where budgets can be counted: nowhere but here, in a Redis of the test's own, and in one that is only like it.
func redises(t *testing.T) map[string]string {
	like := miniredis.RunT(t)
	m := map[string]string{"here": "", "miniredis": "redis://" + like.Addr()}
	m["redis"] = testdb.StartRedis(t).URL
	return m
}

// patiently is for tests that are not about a slow Redis: this machine may be busy.
func patiently(url string) string {
	if url == "" {
		return ""
	}
	return url + "?read_timeout=10s"
}

// Replicas spend one budget together: calls, rows, and the refusals of both; windows end; what is there has an end.
func TestBudgetShared(t *testing.T) {
	like := miniredis.RunT(t)
	for name, url := range map[string]string{"miniredis": "redis://" + like.Addr(), "redis": testdb.StartRedis(t).URL} {
		t.Run(name, func(t *testing.T) {
			o := BudgetOptions{Redis: patiently(url), Prefix: "test", Default: policy.Budget{CallsPerMinute: 4, RowsPerHour: 10}}
			one, two := budgets(t, o), budgets(t, o)
			a := keyed("a", policy.Budget{})
			for i := range 4 {
				if r, _ := spent(t, []*Budgets{one, two}[i%2], a); r != "" {
					t.Fatalf("call %d: %s", i, r)
				}
			}
			for _, b := range []*Budgets{one, two} {
				if r, after := spent(t, b, a); r != "calls" || after < 30 || after > 66 {
					t.Errorf("the fifth: %q, again in %d s", r, after)
				}
			}
			c := keyed("c", policy.Budget{})
			one.Spend(t.Context(), c, 10)
			if r, after := spent(t, two, c); r != "rows" || after < 3000 || after > 3960 {
				t.Errorf("rows: %q, again in %d s", r, after)
			}
			client := one.redis
			for _, key := range []string{"test:budget:{a}:calls", "test:budget:{c}:rows"} {
				if left, err := client.PTTL(t.Context(), key).Result(); err != nil || left <= 0 || left > time.Hour {
					t.Errorf("%s ends in %v (%v)", key, left, err)
				}
			}
			if n, err := client.Exists(t.Context(), "test:budget:{c}:calls").Result(); n != 0 || err != nil {
				t.Errorf("a call that was refused for its rows was counted (%v)", err)
			}
			if name == "miniredis" {
				like.FastForward(time.Minute)
				if r, _ := spent(t, two, a); r != "" {
					t.Errorf("after the window: %s", r)
				}
			}
			if configured, well := one.Shared(); !configured || !well || one.Failures() != 0 {
				t.Error("it says that Redis does not answer")
			}
		})
	}
}

// The shared Redis of this machine, where there is one, takes part under keys of the test's own.
func TestBudgetRealRedis(t *testing.T) {
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379"})
	defer client.Close()
	if err := client.Ping(t.Context()).Err(); err != nil {
		testdb.Skip(t, "no Redis at 127.0.0.1:6379; TestBudgetShared starts one of its own")
	}
	b := budgets(t, BudgetOptions{Redis: patiently("redis://127.0.0.1:6379"), Prefix: fmt.Sprintf("resq-test-%d", time.Now().UnixNano()), Default: policy.Budget{CallsPerMinute: 2}})
	who := keyed("a", policy.Budget{})
	for i, want := range []string{"", "", "calls"} {
		if r, _ := spent(t, b, who); r != want {
			t.Errorf("call %d: %q", i, r)
		}
	}
	calls, rows := b.keys("a")
	client.Del(t.Context(), calls, rows)
}

// X1: a Redis that dies or is silent costs no call its answer and hardly any time, leaves one line in the log, and
// counts again when it is back.
func TestBudgetRedisDown(t *testing.T) {
	own := testdb.StartRedis(t)
	var log bytes.Buffer
	b := budgets(t, BudgetOptions{Redis: patiently(own.URL), Default: policy.Budget{CallsPerMinute: 5}, Log: slog.New(slog.NewTextHandler(&log, nil))})
	who := keyed("a", policy.Budget{})
	if r, _ := spent(t, b, who); r != "" {
		t.Fatal(r)
	}
	own.Kill()
	for i := range 5 { // counted here from now on
		if r, _ := spent(t, b, who); r != "" {
			t.Fatalf("call %d: %s", i, r)
		}
	}
	if r, _ := spent(t, b, who); r != "calls" {
		t.Errorf("nobody counts: %q", r)
	}
	b.Spend(t.Context(), who, 7)
	if _, well := b.Shared(); well || b.Failures() == 0 {
		t.Error("it says that Redis answers")
	}
	own.Start()
	deadline := time.Now().Add(20 * time.Second)
	for {
		if _, well := b.Shared(); well {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("it never asks again")
		}
		time.Sleep(100 * time.Millisecond)
		_ = b.Take(t.Context(), keyed("other", policy.Budget{CallsPerMinute: -1, RowsPerHour: 1 << 40}))
	}
	if r, _ := spent(t, b, who); r != "" {
		t.Errorf("the Redis that is back has forgotten everything, and yet: %s", r)
	}
	if down, up := strings.Count(log.String(), "does not answer"), strings.Count(log.String(), "answers again"); down != 1 || up != 1 {
		t.Errorf("%d and %d lines:\n%s", down, up, &log)
	}
}

func TestBudgetRedisSilent(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			defer c.Close() // never answers
		}
	}()
	b := budgets(t, BudgetOptions{Redis: "redis://" + l.Addr().String(), Default: policy.Budget{CallsPerMinute: 40}})
	who := keyed("a", policy.Budget{})
	start := time.Now()
	var slow int
	for range 40 {
		at := time.Now()
		if r, _ := spent(t, b, who); r != "" {
			t.Fatal(r)
		}
		b.Spend(t.Context(), who, 1)
		if time.Since(at) > 20*time.Millisecond {
			slow++
		}
	}
	// One call a second finds out, the others do not wait; a busy machine may add to that.
	if took := time.Since(start); slow > 3+int(took/redisPause) && took > time.Second {
		t.Errorf("%d of 40 calls waited; all took %v", slow, took)
	}
	if r, _ := spent(t, b, who); r != "calls" {
		t.Errorf("nobody counts: %q", r)
	}
}

// An address that is none is told without being repeated: it may hold a password.
func TestBudgetURL(t *testing.T) {
	for _, url := range []string{"redis://:secret@host:port/0", "http://:secret@host", "secret"} {
		if _, err := NewBudgets(BudgetOptions{Redis: url}); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", url, err)
		}
	}
}

func BenchmarkBudget(b *testing.B) {
	x, err := NewBudgets(BudgetOptions{Default: policy.Budget{CallsPerMinute: -1, RowsPerHour: 1 << 40}})
	if err != nil {
		b.Fatal(err)
	}
	who := keyed("a", policy.Budget{})
	for b.Loop() {
		_ = x.Take(context.Background(), who)
		x.Spend(context.Background(), who, 1)
	}
}
