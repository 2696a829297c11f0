package engine

import (
	"context"
	"testing"
	"time"

	"resq/schema/problem"
)

func codeOf(err error) problem.Code {
	if err == nil {
		return ""
	}
	return problem.From(err)[0].Code
}

// A full queue says so at once, a slow one after its time, and a caller that leaves gives its place back
// (security.md D6).
func TestQueue(t *testing.T) {
	q := newQueue(1, 40*time.Millisecond)
	if err := q.enter(context.Background()); err != nil {
		t.Fatal(err)
	}
	if c := codeOf(q.enter(context.Background())); c != problem.Overloaded {
		t.Errorf("after the wait: %s", c)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if c := codeOf(q.enter(ctx)); c != problem.Timeout {
		t.Errorf("a caller that left: %s", c)
	}
	q.waiting.Store(waiters)
	start := time.Now()
	if c := codeOf(q.enter(context.Background())); c != problem.Overloaded || time.Since(start) > 20*time.Millisecond {
		t.Errorf("a full queue: %s after %s", c, time.Since(start))
	}
	q.waiting.Store(0)
	q.leave()
	if err := q.enter(context.Background()); err != nil {
		t.Errorf("a free slot: %v", err)
	}
}
