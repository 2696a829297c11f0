package engine

import (
	"context"
	"testing"
	"time"

	"resq/engine/policy"
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
	q := newQueue(1, 0, 40*time.Millisecond)
	leave, err := q.enter(context.Background(), &policy.Principal{Key: ""})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := q.enter(context.Background(), &policy.Principal{Key: ""}); codeOf(err) != problem.Overloaded {
		t.Errorf("after the wait: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := q.enter(ctx, &policy.Principal{Key: "k"}); codeOf(err) != problem.Cancelled {
		t.Errorf("a caller that left: %v", err)
	}
	q.waiting.Store(waiters)
	start := time.Now()
	if _, err := q.enter(context.Background(), &policy.Principal{Key: ""}); codeOf(err) != problem.Overloaded || time.Since(start) > 20*time.Millisecond {
		t.Errorf("a full queue: %v after %s", err, time.Since(start))
	}
	q.waiting.Store(0)
	leave()
	if leave, err = q.enter(context.Background(), &policy.Principal{Key: "k"}); err != nil {
		t.Fatalf("a free slot: %v", err)
	}
	leave()
	if len(q.byKey) != 0 || len(q.slots) != 0 {
		t.Errorf("%d keys and %d slots are still held", len(q.byKey), len(q.slots))
	}
}

// One key cannot take the pool from another, however many calls it makes (security.md 1.5, C9).
func TestQueueShares(t *testing.T) {
	q := newQueue(16, 0, 200*time.Millisecond)
	held := 0
	for range 16 {
		if _, err := q.enter(context.Background(), &policy.Principal{Key: "greedy"}); err == nil {
			held++
		}
		if held == perKey(16) {
			break
		}
	}
	if _, err := q.enter(context.Background(), &policy.Principal{Key: "greedy"}); codeOf(err) != problem.Overloaded {
		t.Errorf("one more than its share: %v", err)
	}
	start := time.Now()
	if _, err := q.enter(context.Background(), &policy.Principal{Key: "other"}); err != nil || time.Since(start) > 50*time.Millisecond {
		t.Errorf("another key waited %s: %v", time.Since(start), err)
	}
}

// A budget says how many statements of a key run at once, in place of the share that every key has (security.md 1.5).
func TestQueueBudgets(t *testing.T) {
	for _, c := range []struct{ most, own, want int }{{0, 0, 4}, {2, 0, 2}, {0, 1, 1}, {2, 6, 6}, {0, -1, 16}, {-1, 0, 16}, {3, 99, 16}} {
		q := newQueue(16, c.most, 20*time.Millisecond)
		who := &policy.Principal{Key: "k", Budget: policy.Budget{Statements: c.own}}
		held := 0
		for {
			if _, err := q.enter(context.Background(), who); err != nil {
				break
			}
			held++
		}
		if held != c.want {
			t.Errorf("%d for all and %d for this key: %d at once, want %d", c.most, c.own, held, c.want)
		}
	}
}
