package access

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"resq/testdb"
)

func peers(t *testing.T, url, secret string) *Peers {
	t.Helper()
	p, err := NewPeers(url, []byte(secret), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

// heard collects what a replica receives.
func heard(t *testing.T, p *Peers) func() []string {
	var mu sync.Mutex
	var all []string
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		p.Receive(ctx, func(m []byte) {
			mu.Lock()
			defer mu.Unlock()
			all = append(all, string(m))
		})
	})
	t.Cleanup(func() { stop(); running.Wait() })
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return append([]string(nil), all...)
	}
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Fatal(what)
}

// What one replica sends the others receive, and what it keeps they can fetch; nobody with another secret can do either,
// and nothing of it can be read in Redis.
func TestPeers(t *testing.T) {
	own := testdb.StartRedis(t)
	url := own.URL
	one, two, foreign := peers(t, url, "secret"), peers(t, url, "secret"), peers(t, url, "another")
	here, there, elsewhere := heard(t, one), heard(t, two), heard(t, foreign)
	n := 0
	eventually(t, "nothing arrives", func() bool { // subscribing takes a moment
		n++
		if err := one.Send(t.Context(), fmt.Appendf(nil, "plain text %d", n)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Millisecond)
		return len(here()) > 0 && len(there()) > 0
	})
	_ = foreign.Send(t.Context(), []byte("forged"))
	if err := one.Keep(t.Context(), "a", []byte("plain text"), time.Minute); err != nil {
		t.Fatal(err)
	}
	if v, ok := two.Fetch(t.Context(), "a"); !ok || string(v) != "plain text" {
		t.Errorf("%q %v", v, ok)
	}
	if v, ok := two.Fetch(t.Context(), "b"); ok {
		t.Errorf("%q", v)
	}
	if v, ok := foreign.Fetch(t.Context(), "a"); ok {
		t.Errorf("another secret reads %q", v)
	}
	// A value that stands under another name than it was kept under is none.
	raw, err := one.redis.Get(t.Context(), "resq:kept:a").Result()
	if err != nil || strings.Contains(raw, "plain") {
		t.Errorf("%q %v", raw, err)
	}
	one.redis.Set(t.Context(), "resq:kept:c", raw, 0)
	if v, ok := two.Fetch(t.Context(), "c"); ok {
		t.Errorf("moved: %q", v)
	}
	if ttl := one.redis.TTL(t.Context(), "resq:kept:a").Val(); ttl <= 0 || ttl > time.Minute {
		t.Errorf("kept for %v", ttl)
	}
	eventually(t, "the forger does not hear itself", func() bool { return len(elsewhere()) > 0 })
	if strings.Contains(strings.Join(there(), " "), "forged") || strings.Contains(strings.Join(elsewhere(), " "), "plain") {
		t.Errorf("heard %q; another secret heard %q", there(), elsewhere())
	}
	own.Kill()
	start := time.Now()
	if one.Send(t.Context(), []byte("x")) == nil {
		t.Error("sent to nobody")
	}
	if _, ok := one.Fetch(t.Context(), "a"); ok || time.Since(start) > 5*time.Second {
		t.Errorf("fetched from nowhere in %v", time.Since(start))
	}
	own.Start()
	eventually(t, "nothing arrives any more", func() bool {
		_ = one.Send(t.Context(), []byte("again"))
		time.Sleep(20 * time.Millisecond)
		got := there()
		return len(got) > 0 && got[len(got)-1] == "again"
	})
}
