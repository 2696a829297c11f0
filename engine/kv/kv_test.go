package kv_test

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"resq/engine"
	"resq/engine/kv"
	"resq/schema"
	"resq/testdb"
)

// A place is a Redis to read, with what begins all the keys of the test in it.
type place struct {
	dsn, prefix string
	client      *redis.Client
}

// places are the Redis inside the process and a real one: that of RESQ_TEST_REDIS, or of this machine.
func places(t *testing.T) map[string]place {
	t.Helper()
	out := map[string]place{"in the process": {dsn: "redis://" + miniredis.RunT(t).Addr() + "/0"}}
	real := cmp.Or(os.Getenv("RESQ_TEST_REDIS"), "redis://127.0.0.1:6379/0")
	for name, dsn := range map[string]string{"in the process": out["in the process"].dsn, "real": real} {
		o, err := redis.ParseURL(dsn)
		if err != nil {
			t.Fatal(err)
		}
		p := place{dsn, fmt.Sprintf("resq-test-%d-%d:", os.Getpid(), time.Now().UnixNano()), redis.NewClient(o)}
		t.Cleanup(func() { p.client.Close() })
		out[name] = p
	}
	return out
}

func open(t *testing.T, dsn string, timeout time.Duration) engine.Values {
	t.Helper()
	v, err := kv.Open(&schema.Connection{Name: "cache", Driver: "redis", DSN: dsn}, timeout)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { v.Close() })
	return v
}

// One MGET reads what there is, whatever bytes it is of; keys that are not there, and those that hold no text, are left
// out (V-21). A real Redis and the one inside the process are alike in it.
func TestGet(t *testing.T) {
	for name, p := range places(t) {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			if err := p.client.Ping(ctx).Err(); err != nil {
				testdb.Skip(t, "no Redis at RESQ_TEST_REDIS or 127.0.0.1:6379")
			}
			texts := map[string]string{"plain": "北京", "quoted": `"a name"`, "empty": "", "number": "42", "bytes": "a\x00\xff\r\nb", "long": strings.Repeat("x", 1<<20), "{odd} key *": "there"}
			var all []string
			t.Cleanup(func() {
				for _, k := range append(all, p.prefix+"list", p.prefix+"gone") {
					p.client.Del(context.Background(), k)
				}
			})
			for k, v := range texts {
				all = append(all, p.prefix+k)
				if err := p.client.Set(ctx, p.prefix+k, v, time.Minute).Err(); err != nil {
					t.Fatal(err)
				}
			}
			if err := p.client.RPush(ctx, p.prefix+"list", "a", "b").Err(); err != nil {
				t.Fatal(err)
			}
			v := open(t, p.dsn, 5*time.Second)
			if err := v.Ping(ctx); err != nil {
				t.Error(err)
			}
			got, err := v.Get(ctx, append(all, p.prefix+"gone", p.prefix+"list", p.prefix+"plain"))
			if err != nil {
				t.Fatal(err)
			}
			if len(got) != len(texts) {
				t.Errorf("%d values, want %d", len(got), len(texts))
			}
			for k, want := range texts {
				if got[p.prefix+k] != want {
					t.Errorf("%s: %.40q, want %.40q", k, got[p.prefix+k], want)
				}
			}
			if got, err := v.Get(ctx, nil); len(got) != 0 || err != nil {
				t.Errorf("nothing asked: %v %v", got, err)
			}
			many := make([]string, 5000) // a page has fewer; nothing bounds the command
			for i := range many {
				many[i] = fmt.Sprintf("%snone-%d", p.prefix, i)
			}
			if got, err := v.Get(ctx, append(many, p.prefix+"plain")); err != nil || len(got) != 1 {
				t.Errorf("%d values of 5001 keys: %v", len(got), err)
			}
			ended, cancel := context.WithCancel(ctx)
			cancel()
			if _, err := v.Get(ended, []string{p.prefix + "plain"}); err == nil {
				t.Error("a call that has ended is answered")
			}
		})
	}
}

// A Redis that is not there, or that does not answer, costs no more than the timeout, and what is wrong with a DSN is said
// without it.
func TestDown(t *testing.T) {
	gone := miniredis.RunT(t)
	addr := gone.Addr()
	gone.Close()
	v := open(t, "redis://"+addr+"/0", 200*time.Millisecond)
	start := time.Now()
	if _, err := v.Get(t.Context(), []string{"a"}); err == nil {
		t.Error("a Redis that is down answers")
	}
	if err := v.Ping(t.Context()); err == nil {
		t.Error("a Redis that is down is there")
	}
	if took := time.Since(start); took > 2*time.Second {
		t.Errorf("it took %v", took)
	}
	_, err := kv.Open(&schema.Connection{Name: "cache", DSN: "redis://:hunter2@[::1"}, time.Second)
	if err == nil || strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), "cache") {
		t.Errorf("%v", err)
	}
}
