package engine

import (
	"context"
	"time"
)

// Spans begin the stages of a call for whoever traces it; the function ends one, and is told what went wrong. Neither ever
// learns a value of a request or of a row.
type Spans func(ctx context.Context, stage string) func(error)

// stage begins a stage of a call.
func (e *Engine) stage(ctx context.Context, name string) func(error) {
	t := TraceOf(ctx)
	switch {
	case t == nil && e.opts.Spans == nil:
		return untraced
	case t == nil:
		return e.opts.Spans(ctx, name)
	}
	end := untraced
	if e.opts.Spans != nil {
		end = e.opts.Spans(ctx, name)
	}
	start := time.Now()
	return func(err error) {
		t.stage(name, time.Since(start))
		end(err)
	}
}

func untraced(error) {}
