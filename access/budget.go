package access

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/redis/go-redis/v9/maintnotifications"

	"resq/engine/policy"
	"resq/schema/problem"
)

// What a key may spend where nobody says otherwise (security.md 1.5).
const (
	CallsPerMinute = 1000
	RowsPerHour    = 1_000_000
)

// The names of the budgets, in metrics and as the reasons of refusals.
const (
	budgetCalls = "calls"
	budgetRows  = "rows"
)

// Note [windows]
//
// A budget is spent within a window that begins with its first call: the 1,001st call within a minute of the first is
// refused, whatever the time between the others. A bucket that fills up meanwhile would let it through. Rows are known
// only when they have been answered, so the answer that spends the last ones is given whole, and the next call is refused.
// A call that is refused for its rows costs no call.

// BudgetOptions are the choices for Budgets. The zero value counts in this process, with the default bounds.
type BudgetOptions struct {
	// Default is for keys without a budget of their own; what it leaves at 0 is CallsPerMinute and RowsPerHour.
	Default policy.Budget
	// Redis is the URL of a server that replicas count in together, such as redis://:password@host:6379/0; "" is none. Its
	// read_timeout, such as ?read_timeout=100ms, is how long an answer may take; 25 ms where it says nothing.
	Redis string
	// Prefix begins the keys there; "" is resq.
	Prefix string
	Log    *slog.Logger // nil is slog's default
	Now    func() time.Time
}

// Budgets count what keys spend. While Redis does not answer they count in this process, so that a call is never
// refused, or late, because of it (security.md X1).
type Budgets struct {
	opts   BudgetOptions
	redis  *redis.Client // nil counts here alone
	within time.Duration // that Redis has for an answer

	mu    sync.Mutex
	spent map[string]*account

	down     atomic.Bool // Redis does not answer
	again    time.Time   // when it is tried next; under mu
	failures atomic.Int64
}

// An account is what one key has spent in this process.
type account struct{ calls, rows window }

// A window is what was spent since it began.
type window struct {
	began time.Time
	n     int64
}

// Bounds of what Redis may cost: a call asks it once before it runs and once after, and neither takes longer.
const (
	redisTime  = 25 * time.Millisecond
	redisPause = time.Second // after a failure, until one call tries again
)

// maxAccounts is when accounts whose windows are over are looked for.
const maxAccounts = 10_000

// NewBudgets makes Budgets that have spent nothing. The error is about the URL and does not repeat it; whether Redis
// answers is found out later.
func NewBudgets(opts BudgetOptions) (*Budgets, error) {
	if opts.Default.CallsPerMinute == 0 {
		opts.Default.CallsPerMinute = CallsPerMinute
	}
	if opts.Default.RowsPerHour == 0 {
		opts.Default.RowsPerHour = RowsPerHour
	}
	if opts.Prefix == "" {
		opts.Prefix = "resq"
	}
	if opts.Log == nil {
		opts.Log = slog.Default()
	}
	if opts.Now == nil {
		opts.Now = time.Now // its monotonic part keeps windows right when the clock is set
	}
	b := &Budgets{opts: opts, spent: map[string]*account{}}
	if opts.Redis != "" {
		o, err := redis.ParseURL(opts.Redis)
		if err != nil {
			return nil, errRedisURL
		}
		if b.within = o.ReadTimeout; o.ReadTimeout <= 0 {
			b.within = redisTime
		}
		within := b.within
		o.ContextTimeoutEnabled, o.MaxRetries, o.DialerRetries = true, -1, 1
		o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.PoolTimeout = within, within, within, within
		o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
		redis.SetLogger(&logging.VoidLogger{}) // it writes around the log; what matters is told here once
		b.redis = redis.NewClient(o)
	}
	return b, nil
}

var errRedisURL = errors.New("this is no URL of a Redis server, such as redis://:password@host:6379/0")

// Close ends the connections to Redis.
func (b *Budgets) Close() error {
	if b.redis == nil {
		return nil
	}
	return b.redis.Close()
}

// bounds are those of a principal; below zero there is none.
func (b *Budgets) bounds(who *policy.Principal) (calls, rows int64) {
	calls, rows = int64(who.Budget.CallsPerMinute), int64(who.Budget.RowsPerHour)
	if calls == 0 {
		calls = int64(b.opts.Default.CallsPerMinute)
	}
	if rows == 0 {
		rows = int64(b.opts.Default.RowsPerHour)
	}
	return calls, rows
}

// Take spends one call of who's key. The error is a problem RATE_LIMITED that says when to try again, and has the name
// of the spent budget, calls or rows, as its reason. Who has no account is never refused.
func (b *Budgets) Take(ctx context.Context, who *policy.Principal) error {
	id := who.Account()
	if id == "" {
		return nil
	}
	calls, rows := b.bounds(who)
	if calls < 0 && rows < 0 {
		return nil
	}
	spent, wait, err := b.takeShared(ctx, id, calls, rows)
	if err != nil {
		spent, wait = b.takeHere(id, calls, rows)
	}
	switch spent {
	case budgetCalls:
		return limited(spent, wait, "this key has made its "+strconv.FormatInt(calls, 10)+" calls of a minute")
	case budgetRows:
		return limited(spent, wait, "this key has had its "+strconv.FormatInt(rows, 10)+" rows of an hour")
	}
	return nil
}

// limited is the refusal of a call. Keys that are refused at the same time are told different times, so that they do not
// all come back at once.
func limited(reason string, wait time.Duration, text string) error {
	seconds := int((wait + time.Second - 1) / time.Second)
	seconds = max(1, seconds) + rand.IntN(1+seconds/10)
	return problem.List{{
		Code: problem.RateLimited, Stage: problem.Limits, Reason: reason, Message: text,
		Hint: "call again in " + strconv.Itoa(seconds) + " s", RetryAfter: seconds,
	}}
}

// Spend charges rows that were answered.
func (b *Budgets) Spend(ctx context.Context, who *policy.Principal, rows int) {
	id := who.Account()
	if id == "" || rows <= 0 {
		return
	}
	if _, bound := b.bounds(who); bound < 0 {
		return
	}
	if b.spendShared(ctx, id, rows) != nil {
		b.spendHere(id, rows)
	}
}

func (b *Budgets) takeHere(id string, calls, rows int64) (spent string, wait time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.opts.Now()
	a := b.account(id, now)
	if over, wait := a.rows.state(now, time.Hour, rows); over {
		return budgetRows, wait
	}
	if over, wait := a.calls.state(now, time.Minute, calls); over {
		return budgetCalls, wait
	}
	a.calls.add(now, time.Minute, 1)
	return "", 0
}

func (b *Budgets) spendHere(id string, rows int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.opts.Now()
	b.account(id, now).rows.add(now, time.Hour, int64(rows))
}

// account gives that of a key. There are as many as keys were in use within an hour.
func (b *Budgets) account(id string, now time.Time) *account {
	a := b.spent[id]
	if a == nil {
		if len(b.spent) >= maxAccounts {
			for old, x := range b.spent {
				if x.calls.over(now, time.Minute) && x.rows.over(now, time.Hour) {
					delete(b.spent, old)
				}
			}
		}
		a = &account{}
		b.spent[id] = a
	}
	return a
}

func (w *window) over(now time.Time, length time.Duration) bool {
	return w.n == 0 || now.Sub(w.began) >= length || now.Before(w.began)
}

// state says whether the window is spent, and for how long it still is.
func (w *window) state(now time.Time, length time.Duration, bound int64) (spent bool, wait time.Duration) {
	if bound < 0 || w.over(now, length) || w.n < bound {
		return false, 0
	}
	return true, length - now.Sub(w.began)
}

func (w *window) add(now time.Time, length time.Duration, n int64) {
	if w.over(now, length) {
		*w = window{began: now}
	}
	w.n += n
}
