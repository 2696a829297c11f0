// Package kv reads many keys of a Redis in one turn.
package kv

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"resq/engine"
	"resq/schema"
)

// Open makes the pool of a connection of the driver redis. It asks nothing yet. No call waits longer than the timeout,
// and none is tried again: a Redis that is down must not make an answer late.
func Open(c *schema.Connection, timeout time.Duration) (engine.Values, error) {
	o, err := redis.ParseURL(c.DSN)
	if err != nil {
		return nil, fmt.Errorf("connection %s: the DSN is not understood", c.Name) // the cause repeats the DSN
	}
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.PoolTimeout = timeout, timeout, timeout, timeout
	o.MaxRetries, o.DialerRetries = -1, 1
	o.ContextTimeoutEnabled = true
	if c.Pool > 0 {
		o.PoolSize = c.Pool
	}
	redis.SetLogger(&logging.VoidLogger{}) // it writes around the log; what matters is in the error
	return store{redis.NewClient(o)}, nil
}

type store struct{ client *redis.Client }

// Get is part of engine.Values: one MGET.
func (s store) Get(ctx context.Context, keys []string) (map[string]string, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	list, err := s.client.MGet(ctx, keys...).Result()
	if err != nil {
		return nil, err
	}
	out := make(map[string]string, len(list))
	for i, v := range list {
		if text, ok := v.(string); ok { // else there is no such key, or it holds no text
			out[keys[i]] = text
		}
	}
	return out, nil
}

// Ping is part of engine.Values.
func (s store) Ping(ctx context.Context) error { return s.client.Ping(ctx).Err() }

// Close is part of engine.Values.
func (s store) Close() error { return s.client.Close() }
