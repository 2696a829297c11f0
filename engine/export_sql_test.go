package engine

import (
	"context"

	"resq/engine/policy"
	"resq/schema"
	"resq/schema/sqltext"
)

// RunSQL runs SQL of others as a client's is run. With unchecked what is said of masked columns in it is passed over, so
// that only what stands in place of its tables is left to hide them.
func (e *Engine) RunSQL(ctx context.Context, who *policy.Principal, connection, text string, unchecked bool) (*Answer, error) {
	var conn *schema.Connection
	for _, c := range e.cat.Connections {
		if c.Name == connection {
			conn = c
		}
	}
	if !unchecked {
		st, err := e.foreign(conn, text)
		if err != nil {
			return nil, err
		}
		return e.runForeign(ctx, &foreignCall{who: who, st: st, limit: 10_000, bytes: 1 << 22})
	}
	d, _ := sqltext.DialectOf(conn.Driver)
	read, err := sqltext.Read(d, text, sqltext.Options{})
	if err != nil {
		return nil, err
	}
	st := &schema.Statement{Statement: read, Connection: conn, Uses: map[*sqltext.Table]*schema.Use{}}
	for _, t := range read.Tables {
		one, err := e.cat.Foreign(conn, "SELECT 1 FROM "+t.Name)
		if err != nil {
			return nil, err
		}
		st.Uses[t] = one.Uses[one.Tables[0]]
	}
	return e.runForeign(ctx, &foreignCall{who: who, st: st, limit: 10_000, bytes: 1 << 22})
}
