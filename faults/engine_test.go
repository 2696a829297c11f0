//go:build failpoint

package faults

import (
	"context"
	"encoding/json"
	"testing"

	"resq/engine"
	"resq/engine/dialect/sqlite"
	"resq/schema/problem"
)

func sqliteDriver() engine.Driver { return sqlite.New() }

func problemReply(err error) reply {
	p := problem.From(err)[0]
	return reply{text: p.Message + " · " + p.Hint, failed: true, code: string(p.Code), reason: p.Reason}
}

func answerReply(text []byte) (reply, error) {
	r := reply{text: string(text)}
	var x struct{ Code string }
	err := json.Unmarshal(text, &x)
	r.code = x.Code
	return r, err
}

func withCancel(t *testing.T) (context.Context, context.CancelFunc) {
	return context.WithCancel(t.Context())
}
