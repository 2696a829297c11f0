package main

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"
)

// A refusal is the outage's from the kill until the end of the time for recovery, and not before or after.
func TestOutageTakesItsRefusals(t *testing.T) {
	now := time.Now()
	for _, c := range []struct {
		name     string
		down, up time.Time
		taken    bool
	}{
		{"before", time.Time{}, time.Time{}, false},
		{"down", now.Add(-time.Second), time.Time{}, true},
		{"recovering", now.Add(-15 * time.Second), now.Add(-5 * time.Second), true},
		{"after", now.Add(-25 * time.Second), now.Add(-recovery - time.Second), false},
	} {
		o := &outage{refused: map[string]int64{}, down: c.down, up: c.up}
		if got := o.refuse("UPSTREAM_UNAVAILABLE", "call"); got != c.taken {
			t.Errorf("%s: taken %v", c.name, got)
		}
		if o.refuse("DATA_CONFLICT", "call"); (o.wrong != "") != c.taken {
			t.Errorf("%s: another error is told as %q", c.name, o.wrong)
		}
	}
}

// What the audit lacks is told up to a minute late; no other record, and no later one, is the outage's then.
func TestOutageTakesItsRecords(t *testing.T) {
	lacks, other := `{"level":"ERROR","msg":"calls were not kept in the audit","dropped":7}`, `{"level":"ERROR","msg":"panic"}`
	for _, c := range []struct {
		since  time.Duration
		record string
		taken  bool
	}{
		{5 * time.Second, other, true},
		{recovery + time.Second, other, false},
		{recovery + time.Second, lacks, true},
		{recovery + lateTold + time.Second, lacks, false},
	} {
		up := time.Now().Add(-c.since)
		o := &outage{down: up.Add(-10 * time.Second), up: up}
		if got := o.takes([]byte(c.record)); got != c.taken || (o.dropped == 7) != (c.taken && c.record == lacks) {
			t.Errorf("%v after: %s: taken %v, %d", c.since, c.record, got, o.dropped)
		}
	}
}

// What the run is for ends it with an error.
func TestJudge(t *testing.T) {
	good := func() (*result, *tally, *serverProcess) {
		now := time.Now()
		o := &outage{down: now.Add(-60 * time.Second), up: now.Add(-50 * time.Second), first: time.Second, refused: map[string]int64{"UPSTREAM_UNAVAILABLE": 1}}
		m := sample{Goroutines: 100, files: 100, rss: 100 << 20, connections: 16}
		r := &result{samples: []sample{m, m, m, m, m, m, {connections: 3}}, revoker: &revoker{keys: 1}, outage: o, database: &database{}}
		a := &tally{refused: map[string]int64{}}
		a.answered.Store(1)
		a.news.Store(1)
		return r, a, &serverProcess{outage: o}
	}
	r, a, s := good()
	if err := r.tell(io.Discard, options{}, a, s); err != nil {
		t.Fatal(err)
	}
	for want, spoil := range map[string]func(r *result, a *tally, s *serverProcess){
		"the first wrong answer": func(_ *result, a *tally, _ *serverProcess) { a.wrong.Add(1) },
		"calls were refused":     func(_ *result, a *tally, _ *serverProcess) { a.refused["TIMEOUT"] = 1 },
		"an error in the log":    func(_ *result, _ *tally, s *serverProcess) { s.errors.Add(1) },
		"with another error":     func(r *result, _ *tally, _ *serverProcess) { r.outage.wrong = "x" },
		"no call was refused":    func(r *result, _ *tally, _ *serverProcess) { delete(r.outage.refused, "UPSTREAM_UNAVAILABLE") },
		"no right answer within": func(r *result, _ *tally, _ *serverProcess) { r.outage.first = 0 },
		"connections at the database grow": func(r *result, _ *tally, _ *serverProcess) {
			r.samples[4].connections, r.samples[5].connections = 60, 60
		},
		"are kept by an idle server": func(r *result, _ *tally, _ *serverProcess) { r.samples[6].connections = mostIdle + 1 },
		"are left behind":            func(r *result, _ *tally, _ *serverProcess) { r.left = 1 },
		"goroutines grow": func(r *result, _ *tally, _ *serverProcess) {
			r.samples[4].Goroutines, r.samples[5].Goroutines = 300, 300
		},
		"memory grows":                       func(r *result, _ *tally, _ *serverProcess) { r.samples[4].rss, r.samples[5].rss = 1<<30, 1<<30 },
		"the server did not end well: ended": func(r *result, _ *tally, _ *serverProcess) { r.exit = errors.New("ended") },
	} {
		r, a, s := good()
		spoil(r, a, s)
		if err := r.tell(io.Discard, options{}, a, s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// The script of the shop is whole: a row in it for each that the filler makes, and no sign that is left open.
func TestFillScript(t *testing.T) {
	for _, driver := range []string{"postgres", "mysql"} {
		text, err := fillScript(t.Context(), driver)
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(text, "'")%2 + strings.Count(text, "?"); n != 0 || strings.Count(text, "CREATE TABLE") != 8 || strings.Count(text, "\n(") < 40_000 {
			t.Errorf("%s: %d open, %d tables, %d rows", driver, n, strings.Count(text, "CREATE TABLE"), strings.Count(text, "\n("))
		}
	}
}
