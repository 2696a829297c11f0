package engine

import "database/sql"

// Stats gives the state of every pool, by connection, to tests that look for leaks.
func (e *Engine) Stats() map[string]sql.DBStats {
	out := map[string]sql.DBStats{}
	for c, db := range e.dbs {
		out[c.Name] = db.Stats()
	}
	return out
}
