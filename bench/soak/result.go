package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"
)

// A result is what a run came to.
type result struct {
	samples        []sample // start, in between, end, idle
	saves, rubbish int
	exit           error
	revoker        *revoker
	outage         *outage
	database       *database // nil where there is no server
	left           int       // connections at the database after the server's end
}

// Growth between the start and the end that load alone explains: connections come and go.
const (
	moreGoroutines = 64
	moreFiles      = 40
	moreMemory     = 48 << 20
	// Pools of at most 16, an old one beside a new one after a reload, those of the control database, and a command.
	moreConnections = 24
	mostIdle        = 48
)

// tell prints the result. The error says what is not as it must be.
func (r *result) tell(w io.Writer, o options, t *tally, s *serverProcess) error {
	fmt.Fprintf(w, "%v at %d connections, %s\n\n", o.time, o.connections, o.database)
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(tab, "\tgoroutines\tfiles\tRSS MiB\theap MiB\tat the database\t\n")
	samples := r.samples
	if r.database != nil {
		samples = append(slices.Clone(samples), r.outage.during)
	}
	for _, m := range samples {
		connections := "–"
		if m.connections >= 0 && r.database != nil {
			connections = fmt.Sprint(m.connections)
		}
		fmt.Fprintf(tab, "%s\t%d\t%d\t%.1f\t%.1f\t%s\t\n", m.name, m.Goroutines, m.files, float64(m.rss)/(1<<20), float64(m.HeapBytes)/(1<<20), connections)
	}
	if err := tab.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(w, "\nanswers %d (%.0f/s), wrong %d, errors %d, refused outside the outage %v\n", t.answered.Load(), float64(t.answered.Load())/(warmUp+o.time).Seconds(), t.wrong.Load(), t.failed.Load(), t.refused)
	fmt.Fprintf(w, "hung up in the middle %d, broken off before it was sent %d, sessions %d, told of a change %d\n", t.hungUp.Load(), t.broken.Load(), t.sessions.Load(), t.news.Load())
	fmt.Fprintf(w, "saves %d, reloads %d; bad saves %d, told %d; errors in the log %d\n", r.saves, s.reloads.Load(), r.rubbish, s.bad.Load(), s.errors.Load())
	fmt.Fprintf(w, "keys made, used and revoked %d, the slowest refused after %v\n", r.revoker.keys, r.revoker.slowest.Round(time.Millisecond))
	if r.database != nil {
		fmt.Fprintf(w, "%v\nconnections at the database after the server's end %d\n", r.outage, r.left)
	}
	return r.judge(t, s)
}

func (r *result) judge(t *tally, s *serverProcess) error {
	var bad []error
	tell := func(is bool, format string, args ...any) {
		if is {
			bad = append(bad, fmt.Errorf(format, args...))
		}
	}
	loaded := r.samples[:len(r.samples)-1]
	start, end := typical(loaded[:len(loaded)/3]), typical(loaded[len(loaded)*2/3:])
	tell(t.answered.Load() == 0, "nothing was answered")
	tell(t.wrong.Load() > 0 || t.failed.Load() > 0, "the first wrong answer or error: %s", t.first)
	tell(t.news.Load() == 0, "no session was told that the catalog changed")
	tell(len(t.refused) > 0, "calls were refused: %v, the first: %s", t.refused, t.refusal)
	tell(r.revoker.wrong != "", "%s", r.revoker.wrong)
	tell(r.revoker.keys == 0, "no key was revoked")
	tell(s.errors.Load() > 0, "an error in the log: %s", deref(s.firstErr.Load()))
	tell(s.reloads.Load() < int64(r.saves)*8/10, "only %d of %d saves were loaded", s.reloads.Load(), r.saves)
	tell(s.bad.Load() < int64(r.rubbish)*8/10, "only %d of %d bad saves were told", s.bad.Load(), r.rubbish)
	tell(end.Goroutines > start.Goroutines+moreGoroutines, "goroutines grow: %d → %d", start.Goroutines, end.Goroutines)
	tell(end.files > start.files+moreFiles, "open files grow: %d → %d", start.files, end.files)
	tell(end.rss > start.rss+moreMemory, "memory grows: %d → %d", start.rss, end.rss)
	if o := r.outage; r.database != nil {
		idle := r.samples[len(r.samples)-1]
		tell(o.refused["UPSTREAM_UNAVAILABLE"] == 0, "no call was refused while the database was down: %v", o.refused)
		tell(o.wrong != "", "in the outage a call was refused with another error: %s", o.wrong)
		tell(o.first == 0 || o.first > recovery, "no right answer within %v after the database came back", recovery)
		tell(end.connections > start.connections+moreConnections, "connections at the database grow: %d → %d", start.connections, end.connections)
		tell(idle.connections > mostIdle, "%d connections at the database are kept by an idle server", idle.connections)
		tell(r.left != 0, "%d connections at the database are left behind", r.left)
	}
	tell(r.exit != nil, "the server did not end well: %v", r.exit)
	return errors.Join(bad...)
}

// typical is the middle of samples, each figure by itself: one sample depends on what runs at that moment.
func typical(list []sample) sample {
	middle := func(figure func(sample) int64) int64 {
		all := make([]int64, len(list))
		for i, m := range list {
			all[i] = figure(m)
		}
		slices.Sort(all)
		return all[len(all)/2]
	}
	return sample{
		Goroutines: int(middle(func(m sample) int64 { return int64(m.Goroutines) })),
		files:      int(middle(func(m sample) int64 { return int64(m.files) })),
		rss:        middle(func(m sample) int64 { return m.rss }),

		connections: int(middle(func(m sample) int64 { return int64(m.connections) })),
	}
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
