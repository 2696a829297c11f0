package engine

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"resq/engine/policy"
	"resq/schema/problem"
)

// waiters is how many calls may wait for a connection of a pool, as a multiple of its size. Beyond it a call
// is told so at once: a queue that only grows answers nobody in time.
const waiters = 16

// A queue lets as many calls at a database as its pool has connections, and bounds those that wait.
type queue struct {
	slots   chan struct{}
	most    int // of one key
	waiting atomic.Int64
	wait    time.Duration

	mu    sync.Mutex
	byKey map[string]*share
}

// A share is the slots of one key: few enough that no key can take the whole pool from the others
// (security.md 1.5). Callers without a key are one and share with nobody.
type share struct {
	slots chan struct{}
	users int // callers that hold or await a slot
}

// perKey is how many statements one key runs at once on a pool of this size.
func perKey(size int) int { return max(1, min(4, size/4)) }

// newQueue makes a queue of a pool's size. A key has most slots of it, where its own budget does not say; 0 is perKey.
func newQueue(size, most int, timeout time.Duration) *queue {
	if most == 0 {
		most = perKey(size)
	}
	return &queue{slots: make(chan struct{}, size), most: most, wait: timeout / 2, byKey: map[string]*share{}}
}

// enter waits for a slot, and for one of the key's own first. It fails with OVERLOADED when too many wait
// already, or after half a statement's time. leave gives back what was taken.
func (q *queue) enter(ctx context.Context, who *policy.Principal) (leave func(), err error) {
	key := who.Account()
	if q.waiting.Add(1) > int64(waiters*cap(q.slots)) {
		q.waiting.Add(-1)
		return nil, overloaded()
	}
	defer q.waiting.Add(-1)
	end := time.Now().Add(q.wait)
	mine := q.share(key, who.Budget.Statements)
	if mine != nil {
		if err := take(ctx, mine.slots, end); err != nil {
			q.done(key, mine)
			return nil, err
		}
	}
	if err := take(ctx, q.slots, end); err != nil {
		if mine != nil {
			<-mine.slots
			q.done(key, mine)
		}
		return nil, err
	}
	return func() {
		<-q.slots
		if mine != nil {
			<-mine.slots
			q.done(key, mine)
		}
	}, nil
}

// share gives that of a key, which has a slot for each of its statements; below zero it has all of them.
func (q *queue) share(key string, statements int) *share {
	if statements == 0 {
		statements = q.most
	}
	if key == "" || statements < 0 {
		return nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	s := q.byKey[key]
	if s == nil {
		s = &share{slots: make(chan struct{}, statements)}
		q.byKey[key] = s
	}
	s.users++
	return s
}

func (q *queue) done(key string, s *share) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if s.users--; s.users == 0 {
		delete(q.byKey, key)
	}
}

// take waits for a slot until end.
func take(ctx context.Context, slots chan struct{}, end time.Time) error {
	select {
	case slots <- struct{}{}:
		return nil
	default:
	}
	late := time.NewTimer(time.Until(end))
	defer late.Stop()
	select {
	case slots <- struct{}{}:
		return nil
	case <-late.C:
		return overloaded()
	case <-ctx.Done():
		return problem.List{ended(ctx)}
	}
}

func overloaded() error {
	return problem.List{{Code: problem.Overloaded, Stage: problem.Database, Message: "too many calls are waiting for the database", Hint: "call again later", RetryAfter: 1}}
}
