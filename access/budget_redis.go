package access

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
)

// takeScript spends a call, when neither the calls nor the rows of its windows are spent. It answers which of them is, 1
// or 2, and for how many milliseconds.
var takeScript = redis.NewScript(`
local function spent(key, bound)
  return bound >= 0 and tonumber(redis.call('GET', key) or '0') >= bound
end
local calls, rows = tonumber(ARGV[1]), tonumber(ARGV[2])
if spent(KEYS[2], rows) then return {2, redis.call('PTTL', KEYS[2])} end
if spent(KEYS[1], calls) then return {1, redis.call('PTTL', KEYS[1])} end
if calls >= 0 and redis.call('INCR', KEYS[1]) == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[3]) end
return {0, 0}
`)

// spendScript charges rows to a window, and begins it where there is none.
var spendScript = redis.NewScript(`
local n = redis.call('INCRBY', KEYS[1], ARGV[1])
if n == tonumber(ARGV[1]) then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return n
`)

var errAlone = errors.New("counted in this process")

// keys are those of an account. What stands in braces decides, in a cluster, on which server they are, so they are on one.
func (b *Budgets) keys(id string) (calls, rows string) {
	base := b.opts.Prefix + ":budget:{" + id + "}:"
	return base + budgetCalls, base + budgetRows
}

// takeShared is takeHere in Redis. An error means that it has to be done here.
func (b *Budgets) takeShared(ctx context.Context, id string, calls, rows int64) (spent string, wait time.Duration, err error) {
	if !b.reachable() {
		return "", 0, errAlone
	}
	callsKey, rowsKey := b.keys(id)
	var got []int64
	err = b.ask(ctx, func(ctx context.Context) (err error) {
		got, err = takeScript.Run(ctx, b.redis, []string{callsKey, rowsKey}, calls, rows, time.Minute.Milliseconds()).Int64Slice()
		if err == nil && len(got) != 2 {
			err = errors.New("an unexpected answer")
		}
		return err
	})
	if err != nil {
		return "", 0, err
	}
	switch got[0] {
	case 1:
		spent = budgetCalls
	case 2:
		spent = budgetRows
	}
	return spent, time.Duration(got[1]) * time.Millisecond, nil
}

// spendShared is spendHere in Redis.
func (b *Budgets) spendShared(ctx context.Context, id string, rows int) error {
	if !b.reachable() {
		return errAlone
	}
	_, key := b.keys(id)
	return b.ask(ctx, func(ctx context.Context) error {
		return spendScript.Run(ctx, b.redis, []string{key}, rows, time.Hour.Milliseconds()).Err()
	})
}

// reachable says whether Redis is to be asked: while it does not answer, by one call a second.
func (b *Budgets) reachable() bool {
	if b.redis == nil {
		return false
	}
	if !b.down.Load() {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	if now.Before(b.again) {
		return false
	}
	b.again = now.Add(redisPause)
	return true
}

// ask asks Redis, and remembers whether it answers. A caller that has gone says nothing about that.
func (b *Budgets) ask(ctx context.Context, question func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), b.within)
	defer cancel()
	err := question(ctx)
	if err == nil {
		if b.down.Load() && b.down.CompareAndSwap(true, false) {
			b.opts.Log.Info("Redis answers again; budgets are counted for all replicas together")
		}
		return nil
	}
	b.failures.Add(1)
	b.mu.Lock()
	b.again = time.Now().Add(redisPause)
	b.mu.Unlock()
	if b.down.CompareAndSwap(false, true) {
		b.opts.Log.Warn("Redis does not answer; budgets are counted in this process alone", "error", err)
	}
	return err
}

// Shared says whether there is a Redis that counts for several replicas, and whether it answers.
func (b *Budgets) Shared() (configured, well bool) {
	return b.redis != nil, b.redis != nil && !b.down.Load()
}

// Failures is how often Redis did not answer.
func (b *Budgets) Failures() int64 { return b.failures.Load() }
