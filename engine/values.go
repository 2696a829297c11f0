package engine

import (
	"cmp"
	"context"
	"fmt"
	"time"
)

// A Values keeps values by key outside of the databases, as Redis does.
type Values interface {
	// Get reads many keys in one turn. A key that is not there has no entry.
	Get(ctx context.Context, keys []string) (map[string]string, error)
	Ping(ctx context.Context) error
	Close() error
}

// openValues opens the connections of the driver redis. None is asked yet: one that is down is found out by the call that
// needs it.
func (e *Engine) openValues() error {
	for _, c := range e.cat.Redis {
		if e.opts.Values == nil {
			return fmt.Errorf("connection %s: there is no driver %q", c.Name, c.Driver)
		}
		kv, err := e.opts.Values(c, cmp.Or(c.Timeout, min(e.opts.Timeout, redisTimeout)))
		if err != nil {
			return err
		}
		e.kvs[c] = kv
	}
	return nil
}

// redisTimeout is how long a look-up in Redis may take: what it adds to an answer is not worth a longer wait.
const redisTimeout = time.Second
