package engine

import (
	"context"
	"slices"
	"sync"
	"time"

	"resq/engine/policy"
	"resq/schema"
)

// A Trace gathers what was done for one call, for its record in an audit. The zero value is ready.
type Trace struct {
	mu         sync.Mutex
	rules      []string
	bypass     string
	statements []string
	stages     []Stage
}

// A Stage is what one stage of a call took; "execute" has "shape" in it, because rows take shape while they arrive.
type Stage struct {
	Name string
	Took time.Duration
}

// maxTraced bounds the statements that a trace keeps; a call that needs more repeats itself.
const maxTraced = 64

type traceKey struct{}

// WithTrace lets a call gather what is done for it. It takes no part in the answer.
func WithTrace(ctx context.Context, t *Trace) context.Context {
	return context.WithValue(ctx, traceKey{}, t)
}

// TraceOf is the trace that a call is to gather in; nil is none.
func TraceOf(ctx context.Context) *Trace {
	t, _ := ctx.Value(traceKey{}).(*Trace)
	return t
}

// Rules are the names of the row rules that applied, each once.
func (t *Trace) Rules() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.rules)
}

// Bypass says who answers for it that row rules were bypassed, and why: "owner: reason"; "" is that none were.
func (t *Trace) Bypass() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.bypass
}

// Statements are the texts of the statements that ran, each once, without their arguments. They are for Fingerprint:
// no caller may see them.
func (t *Trace) Statements() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.statements)
}

// Stages are what the stages of the call took, in the order in which they ended first.
func (t *Trace) Stages() []Stage {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.stages)
}

// stage adds what a stage took, also where a call goes through it several times.
func (t *Trace) stage(name string, took time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range t.stages {
		if t.stages[i].Name == name {
			t.stages[i].Took += took
			return
		}
	}
	t.stages = append(t.stages, Stage{name, took})
}

// traceStatement notes a statement that runs.
func traceStatement(ctx context.Context, text string) {
	if t := TraceOf(ctx); t != nil {
		t.mu.Lock()
		defer t.mu.Unlock()
		if len(t.statements) < maxTraced && !slices.Contains(t.statements, text) {
			t.statements = append(t.statements, text)
		}
	}
}

// traceRules notes the row rules that a view has applied so far.
func traceRules(ctx context.Context, v *policy.View) {
	if t := TraceOf(ctx); t != nil {
		t.mu.Lock()
		defer t.mu.Unlock()
		for _, name := range v.Applied() {
			if !slices.Contains(t.rules, name) {
				t.rules = append(t.rules, name)
			}
		}
	}
}

// traceBypass notes that a call bypasses row rules.
func traceBypass(ctx context.Context, b *schema.Bypass) {
	if t := TraceOf(ctx); t != nil {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.bypass = b.Owner + ": " + b.Reason
	}
}

// Fingerprint names a statement without telling it.
func Fingerprint(text string) string {
	d := newDigest("resq-sql-v1")
	d.text(text)
	return d.String()[:16]
}
