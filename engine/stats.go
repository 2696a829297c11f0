package engine

import "database/sql"

// A PoolStats is the state of one connection's pool at one moment.
type PoolStats struct {
	sql.DBStats
	Waiting int64 // calls that wait for their turn, before they may ask for a connection
}

// Stats gives the state of every pool, by connection.
func (e *Engine) Stats() map[string]PoolStats {
	out := make(map[string]PoolStats, len(e.dbs))
	for c, db := range e.dbs {
		out[c.Name] = PoolStats{db.Stats(), db.queue.waiting.Load()}
	}
	return out
}
