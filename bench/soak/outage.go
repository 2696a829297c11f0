package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// recovery is how long after the database answers again a call may still be refused.
const recovery = 10 * time.Second

// duringOutage are the errors that calls may be answered with while the database is down.
var duringOutage = []string{"UPSTREAM_UNAVAILABLE", "TIMEOUT", "OVERLOADED"}

// An outage is the restart of the database in the middle of a run, and what clients met in it.
type outage struct {
	mu       sync.Mutex
	down, up time.Time        // killed, and answering its own client again; zero before
	refused  map[string]int64 // by code
	answered int64            // right, while it was down: from memory, or known before
	first    time.Duration    // after up, until a call that needs the database was answered right
	last     time.Duration    // after up, until the last call that was refused for it had ended
	wrong    string
	during   sample // while it is down
	log      int64  // records of the level ERROR in it
	dropped  int64  // calls that the audit in the control database lacks
}

// open says whether a moment belongs to the outage or to the time that recovery is given.
func (o *outage) open(at time.Time) bool {
	return !o.down.IsZero() && !at.Before(o.down) && (o.up.IsZero() || at.Sub(o.up) <= recovery)
}

// now says whether the outage is open, and counts nothing.
func (o *outage) now() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.open(time.Now())
}

// lateTold is how long after its cause the server may tell of calls that the audit lacks: it does once a minute at most.
const lateTold = time.Minute + 5*time.Second

// takes says whether a record of the level ERROR is the outage's, and counts it.
func (o *outage) takes(record []byte) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := time.Now()
	var r struct {
		Msg     string
		Dropped int64
	}
	audit := bytes.Contains(record, []byte(`"dropped"`)) && json.Unmarshal(record, &r) == nil && r.Msg == "calls were not kept in the audit"
	if !o.open(now) && !(audit && !o.up.IsZero() && now.Sub(o.up) <= recovery+lateTold) {
		return false
	}
	o.log++
	if audit {
		o.dropped += r.Dropped
	}
	return true
}

// over says whether a time since a moment touches the outage.
func (o *outage) over(since time.Time) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return !o.down.IsZero() && (o.up.IsZero() || since.Sub(o.up) <= recovery)
}

// refuse takes a refusal that is the outage's, and says whether it is.
func (o *outage) refuse(code, what string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := time.Now()
	if !o.open(now) {
		return false
	}
	o.refused[code]++
	if !slices.Contains(duringOutage, code) && o.wrong == "" {
		o.wrong = what
	}
	if !o.up.IsZero() {
		o.last = max(o.last, now.Sub(o.up))
	}
	return true
}

// answer counts a right answer to a call that was begun at a moment.
func (o *outage) answer(begun time.Time, needs bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.down.IsZero() || begun.Before(o.down):
	case o.up.IsZero():
		o.answered++
	case needs && o.first == 0 && begun.After(o.up):
		o.first = time.Since(o.up)
	}
}

// run kills the database after a time, keeps it down, and starts it again on the same data and port.
func (o *outage) run(ctx context.Context, d *database, after, lasts time.Duration, s *serverProcess) error {
	wait := func(t time.Duration) bool {
		select {
		case <-time.After(t):
			return true
		case <-ctx.Done():
			return false
		}
	}
	if !wait(after) {
		return ctx.Err()
	}
	o.mu.Lock()
	o.down = time.Now()
	o.mu.Unlock()
	d.kill()
	if !wait(lasts / 2) {
		return ctx.Err()
	}
	m, err := s.measure()
	if err != nil {
		return err
	}
	m.name, m.connections = "down", -1
	o.during = m
	if !wait(time.Until(o.down.Add(lasts))) {
		return ctx.Err()
	}
	if err := d.start(ctx); err != nil {
		return fmt.Errorf("start the database again: %w", err)
	}
	o.mu.Lock()
	o.up = time.Now()
	o.mu.Unlock()
	return nil
}

func (o *outage) String() string {
	var codes []string
	for _, c := range slices.Sorted(maps.Keys(o.refused)) {
		codes = append(codes, fmt.Sprintf("%s %d", c, o.refused[c]))
	}
	return fmt.Sprintf("database down for %v: refused %s; answered right without it %d; errors in the log %d; calls told as missing in the audit %d\nrecovery: the first right answer %.2f s after the database answered, the last refusal %.2f s after",
		o.up.Sub(o.down).Round(100*time.Millisecond), strings.Join(codes, ", "), o.answered, o.log, o.dropped, o.first.Seconds(), o.last.Seconds())
}
