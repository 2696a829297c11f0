package console

import (
	"context"
	"crypto/rand"
	"strings"
	"sync"
	"time"

	"resq/engine"
	"resq/schema/problem"
)

// The calls of Try that run or whose answers are still to be looked at.
const (
	runsAtOnce = 4                // of one session
	runsInAll  = 32               // of all
	runTime    = 10 * time.Minute // of one call, and for which an answer is kept
	runPatient = time.Second      // after which the page is told that a call takes long
)

// A tryRun is a call that runs beside its page.
type tryRun struct {
	id, token string // the session that began it
	began     time.Time
	cancel    context.CancelFunc
	trace     *engine.Trace
	done      chan struct{}
	data      *tryData // to be read when it is done
}

type runs struct {
	mu  sync.Mutex
	now func() time.Time
	all map[string]*tryRun
}

func newRuns(now func() time.Time) *runs { return &runs{now: now, all: map[string]*tryRun{}} }

// start begins a call; do fills d.
func (s *runs) start(ctx context.Context, token string, d *tryData, do func(context.Context)) (*tryRun, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	mine := 0
	for id, r := range s.all {
		if s.now().Sub(r.began) > 2*runTime {
			r.cancel()
			delete(s.all, id)
		} else if r.token == token && !r.ended() {
			mine++
		}
	}
	for id, r := range s.all { // an answer that was not looked at gives way
		if len(s.all) >= runsInAll && r.ended() {
			delete(s.all, id)
		}
	}
	if mine >= runsAtOnce || len(s.all) >= runsInAll {
		return nil, &problem.Problem{Code: problem.RateLimited, Message: "too many calls run already", Hint: "wait for one, or cancel it"}
	}
	r := &tryRun{id: strings.ToLower(rand.Text()), token: token, began: s.now(), trace: &engine.Trace{}, done: make(chan struct{}), data: d}
	ctx, r.cancel = context.WithTimeout(engine.WithTrace(context.WithoutCancel(ctx), r.trace), runTime)
	s.all[r.id] = r
	go func() {
		defer close(r.done)
		defer r.cancel()
		do(ctx)
	}()
	return r, nil
}

func (r *tryRun) ended() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

// find gives a call to the session that began it, and to no other.
func (s *runs) find(id, token string) *tryRun {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.all[id]; r != nil && r.token == token {
		return r
	}
	return nil
}

func (s *runs) forget(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, id)
}

// runData is what the page of a call that runs shows.
type runData struct {
	ID      string
	Seconds int
	Stages  []string // that are behind it
}

// run shows a call: how far it is, or its answer.
func (c *Console) tryRun(v *visit) error {
	r := c.runs.find(v.r.PathValue("id"), v.token)
	polls := v.r.Header.Get("HX-Request") != ""
	switch {
	case r == nil:
		return &problem.Problem{Code: problem.NotFound, Message: "there is no such call of this session any more", Hint: "run it again"}
	case r.ended() && polls:
		v.w.Header().Set("HX-Refresh", "true")
		v.w.WriteHeader(204)
		return nil
	case r.ended():
		return v.show("try", "", "Try", r.data)
	}
	d := runData{ID: r.id, Seconds: int(c.opts.Now().Sub(r.began).Seconds())}
	for _, s := range r.trace.Stages() {
		d.Stages = append(d.Stages, s.Name)
	}
	part := ""
	if polls {
		part = "progress"
	}
	return v.show("run", part, "Try", d)
}

func (c *Console) cancelRun(v *visit) error {
	r := c.runs.find(v.r.PathValue("id"), v.token)
	if r == nil {
		return &problem.Problem{Code: problem.NotFound, Message: "there is no such call of this session any more"}
	}
	r.cancel()
	select { // most calls end at once
	case <-r.done:
	case <-time.After(runPatient):
	}
	return v.redirect("/try/runs/" + r.id)
}
