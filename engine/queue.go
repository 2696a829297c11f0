package engine

import (
	"context"
	"sync/atomic"
	"time"

	"resq/schema/problem"
)

// waiters is how many calls may wait for a connection of a pool, as a multiple of its size. Beyond it a call
// is told so at once: a queue that only grows answers nobody in time.
const waiters = 16

// A queue lets as many calls at a database as its pool has connections, and bounds those that wait.
type queue struct {
	slots   chan struct{}
	waiting atomic.Int64
	wait    time.Duration
}

func newQueue(size int, timeout time.Duration) *queue {
	return &queue{slots: make(chan struct{}, size), wait: timeout / 2}
}

// enter waits for a slot. It fails with OVERLOADED when too many wait already, or after half a statement's
// time.
func (q *queue) enter(ctx context.Context) error {
	select {
	case q.slots <- struct{}{}:
		return nil
	default:
	}
	if q.waiting.Add(1) > int64(waiters*cap(q.slots)) {
		q.waiting.Add(-1)
		return overloaded()
	}
	defer q.waiting.Add(-1)
	t := time.NewTimer(q.wait)
	defer t.Stop()
	select {
	case q.slots <- struct{}{}:
		return nil
	case <-t.C:
		return overloaded()
	case <-ctx.Done():
		return problem.List{{Code: problem.Timeout, Stage: problem.Database, Message: "the call ended before the database was free"}}
	}
}

func (q *queue) leave() { <-q.slots }

func overloaded() error {
	return problem.List{{Code: problem.Overloaded, Stage: problem.Database, Message: "too many calls are waiting for the database", Hint: "call again later", RetryAfter: 1}}
}
