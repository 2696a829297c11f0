package registry

import (
	"errors"
	"slices"
	"time"
)

// Note [who calls Sync]: the goroutine in run alone brings lines to the disk, so what one fsync has made safe is
// plain. A caller with an intent joins the group that waits for the next one.

// A group are the intents that wait for one fsync.
type group struct {
	n, want int
	full    chan struct{} // closed when there are as many as there were last time
	done    chan struct{}
	err     error
}

func newGroup(want int) *group {
	return &group{want: want, full: make(chan struct{}), done: make(chan struct{})}
}

// abandon leaves a file for good: after an fsync that failed, the system may have dropped what it did not write,
// and a second fsync would say that all is well (https://lwn.net/Articles/752063). The chain goes on from the last
// line that is safe. The intents behind it fail, and the other lines are written again.
func (c *chain) abandon(cause error) {
	c.Log.Error("a file of the audit failed, and is given up; the next one is begun", "error", cause)
	c.file.Close()
	c.file, c.at, c.reason, c.torn, c.unsigned = nil, c.durable, reasonFault, 0, 0
	for pair, e := range c.open {
		if e.Seq > c.durable.seq {
			delete(c.open, pair)
		}
	}
	again := c.unsynced
	c.unsynced = nil
	c.group.err = errFault
	close(c.group.done)
	c.group = newGroup(c.group.want)
	for i, e := range again {
		if err := c.append(&e); err != nil {
			c.lost += len(again) - i
			return
		}
	}
	if len(again) > 0 {
		c.kick()
	}
}

func (c *chain) kick() {
	select {
	case c.wake <- struct{}{}:
	default: // it is to wake already
	}
}

// run brings lines to the disk, until the chain is closed.
func (c *chain) run() {
	defer close(c.done)
	tick := time.NewTicker(c.every)
	defer tick.Stop()
	for {
		select {
		case <-c.wake:
			c.gather()
		case <-tick.C:
			c.signDue()
		case <-c.quit:
			c.signDue()
			c.last = c.sync()
			return
		}
		_ = c.sync() // whom it concerns is told
	}
}

// signDue signs lines that no line follows.
func (c *chain) signDue() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.unsigned > 0 && c.file != nil {
		if err := c.checkpoint(c.clock()); err != nil {
			c.Log.Error("the audit cannot be signed", "error", err)
		}
	}
}

// gather lets as many intents come together as shared the last fsync, for at most the window: whoever is alone
// waits for nobody.
func (c *chain) gather() {
	c.mu.Lock()
	g := c.group
	c.mu.Unlock()
	select {
	case <-g.full:
	case <-g.done: // the file was given up
	case <-time.After(c.window):
	}
}

func (c *chain) sync() error {
	c.mu.Lock()
	g, f, upTo, n := c.group, c.file, c.at, len(c.unsynced)
	idle := f == nil || upTo == c.durable
	c.group = newGroup(g.want)
	if g.n > 0 {
		c.group.want = g.n
	}
	c.mu.Unlock()
	defer close(g.done)
	if idle {
		return nil
	}
	err := f.Sync()
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.file != f: // given up meanwhile; its lines are void, on the disk or not
		g.err = errFault
	case err != nil:
		g.err = err
		c.abandon(err)
	default:
		c.durable = upTo
		c.unsynced = slices.Delete(c.unsynced, 0, n)
		if c.size >= c.MaxBytes {
			c.leave()
		}
	}
	return g.err
}

// leave ends a file that is full. Lines that came during the fsync get one more.
func (c *chain) leave() {
	if c.at != c.durable {
		if err := c.file.Sync(); err != nil {
			c.abandon(err)
			return
		}
		c.durable, c.unsynced = c.at, nil
	}
	c.file.Close()
	c.file = nil
}

// close ends the chain in this process. The error is that of the last fsync.
func (c *chain) close() error {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil
	}
	c.closed = true
	c.mu.Unlock()
	close(c.quit)
	<-c.done
	err := c.last
	if c.file != nil {
		err = errors.Join(err, c.file.Close())
	}
	return errors.Join(err, c.lock.Close())
}
