package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
)

// The colours of words that are looked for; only a terminal gets any, and NO_COLOR takes them away (no-color.org).
const (
	green = "32"
	red   = "31"
	amber = "33"
)

// paint gives a text in a colour, for a terminal.
func paint(w io.Writer, colour, text string) string {
	if !isTerminal(w) || os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}

const (
	barWait  = 500 * time.Millisecond // before work is told to take long
	barBeat  = 200 * time.Millisecond
	barWidth = 24
)

// A bar tells on a terminal how far long work is. It is on standard error, so that what is printed stays free of it; without
// a terminal it is nothing.
type bar struct {
	w     io.Writer // nil is no terminal
	what  string
	start time.Time

	mu          sync.Mutex
	done, total int64 // total 0 is not known
	unit        string
	drawn       bool
	end         chan struct{}
	ended       sync.WaitGroup
}

// newBar begins to tell about work.
func newBar(w io.Writer, what string) *bar {
	if !isTerminal(w) || os.Getenv("TERM") == "dumb" {
		return &bar{}
	}
	return startBar(w, what, barWait)
}

func startBar(w io.Writer, what string, wait time.Duration) *bar {
	b := &bar{w: w, what: what, start: time.Now(), end: make(chan struct{})}
	b.ended.Go(func() {
		next := time.NewTimer(wait)
		defer next.Stop()
		for {
			select {
			case <-b.end:
				return
			case <-next.C:
				b.draw()
				next.Reset(barBeat)
			}
		}
	})
	return b
}

// at says how much of the work is done; total 0 is not known.
func (b *bar) at(done, total int64, unit string) {
	if b.w == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.done, b.total, b.unit = done, total, unit
}

// Write counts what goes through it as done.
func (b *bar) Write(p []byte) (int, error) {
	if b.w != nil {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.done, b.unit = b.done+int64(len(p)), "bytes"
	}
	return len(p), nil
}

func (b *bar) draw() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.drawn = true
	line := fmt.Sprintf("\r\x1b[K%s  %s", b.what, time.Since(b.start).Round(time.Second))
	switch {
	case b.total > 0:
		n := int(min(b.done, b.total) * barWidth / b.total)
		line = fmt.Sprintf("\r\x1b[K%s  [%s%s]  %d of %d %s", b.what, strings.Repeat("#", n), strings.Repeat("-", barWidth-n), b.done, b.total, b.unit)
	case b.done > 0:
		line += fmt.Sprintf("  %d %s", b.done, b.unit)
	}
	_, _ = io.WriteString(b.w, line) // a terminal that is gone needs no news
}

// close takes the bar off the terminal.
func (b *bar) close() {
	if b.w == nil {
		return
	}
	close(b.end)
	b.ended.Wait()
	if b.drawn {
		_, _ = io.WriteString(b.w, "\r\x1b[K")
	}
	b.w = nil
}
