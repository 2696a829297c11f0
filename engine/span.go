package engine

import "context"

// Spans begin the stages of a call for whoever traces it; the function ends one, and is told what went wrong. Neither ever
// learns a value of a request or of a row.
type Spans func(ctx context.Context, stage string) func(error)

// stage begins a stage of a call.
func (e *Engine) stage(ctx context.Context, name string) func(error) {
	if e.opts.Spans == nil {
		return untraced
	}
	return e.opts.Spans(ctx, name)
}

func untraced(error) {}
