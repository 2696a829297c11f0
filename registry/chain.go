package registry

import (
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"resq/engine"
)

// A chain is a row of lines, and the files that hold it. Its process alone appends to it.
//
// Note [one process, one file]: a process never appends to a file that another one made. So what stands behind
// the last whole line of a file was broken off by a crash, the first line of the next file says how much that is,
// and nothing that was written is ever changed.
type chain struct {
	Options
	sign *signer
	dir  string
	name string
	lock io.Closer

	mu       sync.Mutex
	file     file // nil before the first line and after a fault
	size     int64
	number   int      // of the last file
	at       position // the last line
	durable  position // the last line that an fsync has brought to the disk
	unsynced []Entry  // the lines between the two, without the intents, whose callers are told
	unsigned int      // lines since the last signed one
	first    time.Time
	reason   string // of the next file
	torn     int64  // for its first line
	lost     int
	open     map[string]Entry // intents without outcome
	group    *group
	closed   bool
	last     error // of the fsync at the end

	wake chan struct{}
	quit chan struct{}
	done chan struct{}
}

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

var (
	errClosed = errors.New("the audit is closed")
	errFault  = errors.New("the file of the audit failed before the line was safe")
)

// intent writes an entry and waits until it is safe.
func (c *chain) intent(e Entry) error {
	c.mu.Lock()
	if err := c.append(&e); err != nil {
		c.mu.Unlock()
		return err
	}
	c.open[e.pair()] = e
	g := c.group
	g.n++
	if g.n == g.want {
		close(g.full)
	}
	c.mu.Unlock()
	c.kick()
	<-g.done
	return g.err
}

// outcome writes an entry when its intent stands in this chain, and says how many intents are left.
func (c *chain) outcome(e Entry) (left int, mine bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, mine = c.open[e.pair()]; !mine {
		return 0, false, nil
	}
	err = c.settle(e)
	return len(c.open), true, err
}

func (c *chain) settle(e Entry) error {
	if err := c.append(&e); err != nil {
		c.lost++
		return err
	}
	delete(c.open, e.pair())
	c.kick()
	return nil
}

func (c *chain) note(e Entry) error {
	if e.Arguments != nil {
		e.ArgumentsHMAC = hex.EncodeToString(sum(c.sign.arguments, string(e.Arguments)))
		if !c.KeepArguments {
			e.Arguments = nil
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	err := c.append(&e)
	if err != nil {
		c.lost++
	}
	return err
}

func (c *chain) pending() []engine.Record {
	c.mu.Lock()
	defer c.mu.Unlock()
	var list []engine.Record
	for _, e := range slices.SortedFunc(maps.Values(c.open), func(a, b Entry) int { return cmp.Compare(a.Seq, b.Seq) }) {
		list = append(list, e.record())
	}
	return list
}

// clock is the wall clock as lines have it.
func (c *chain) clock() time.Time { return c.now().UTC().Truncate(time.Microsecond) }

// append writes an entry behind the last one, in a new file if there is none, and behind a checkpoint if one is
// due. On an error nothing of it is left.
func (c *chain) append(e *Entry) error {
	if c.closed {
		return errClosed
	}
	now := c.clock()
	if c.file == nil {
		if err := c.begin(now); err != nil {
			return err
		}
	}
	if c.unsigned >= signLines || c.unsigned > 0 && now.Sub(c.first) > signTime {
		if err := c.checkpoint(now); err != nil {
			return err
		}
	}
	return c.write(e, now)
}

func (c *chain) checkpoint(now time.Time) error {
	defer c.kick()
	return c.write(&Entry{Event: EventCheckpoint}, now)
}

// begin makes the next file, with its first line.
func (c *chain) begin(now time.Time) error {
	path := filepath.Join(c.dir, fmt.Sprintf(fileForm, c.number+1))
	f, err := c.disk.create(path)
	if err == nil || errors.Is(err, fs.ErrExist) {
		c.number++
	}
	if err != nil {
		return err
	}
	e := Entry{Event: EventOpen, Reason: c.reason, Torn: c.torn}
	for _, x := range c.open {
		if e.Since == 0 || x.Seq < e.Since {
			e.Since = x.Seq
		}
	}
	line, err := c.line(&e, now)
	n := 0
	if err == nil {
		n, err = f.Write(line)
	}
	if err == nil {
		err = c.disk.sync(c.dir)
	}
	if err != nil {
		f.Close()
		if c.disk.remove(path) != nil {
			c.torn += int64(n)
		}
		return err
	}
	c.file, c.size, c.reason, c.torn = f, 0, reasonSize, 0
	c.wrote(&e, line)
	return nil
}

func (c *chain) line(e *Entry, now time.Time) ([]byte, error) {
	e.Time, e.Chain, e.Seq, e.Prev, e.Lost = now, c.name, c.at.seq+1, c.at.hash, c.lost
	return c.sign.encode(*e)
}

func (c *chain) write(e *Entry, now time.Time) error {
	line, err := c.line(e, now)
	if err != nil {
		return err
	}
	n, err := c.file.Write(line)
	if err == nil {
		c.wrote(e, line)
		return nil
	}
	if n > 0 && c.file.Truncate(c.size) != nil {
		c.abandon(err)
	}
	return err
}

// wrote takes note of a line that stands in the file.
func (c *chain) wrote(e *Entry, line []byte) {
	c.at = c.at.next(line)
	c.size += int64(len(line))
	c.lost = 0
	switch {
	case e.signed():
		c.unsigned = 0
		return
	case e.Event != EventIntent:
		c.unsynced = append(c.unsynced, *e)
	}
	if c.unsigned++; c.unsigned == 1 {
		c.first = e.Time
	}
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

// run brings lines to the disk. Nothing else calls Sync, so what one fsync has seen is plain.
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

// load finds the end of the chain, and the intents without outcome.
func (c *chain) load() error {
	files, err := chainFiles(c.dir)
	if err != nil {
		return err
	}
	for i := len(files) - 1; i >= 0 && c.at.seq == 0; i-- {
		c.number = max(c.number, files[i].number)
		tail := int64(0)
		for l, err := range files[i].lines() {
			if err != nil {
				return err
			}
			if !l.whole {
				tail += int64(len(l.Raw))
				continue
			}
			tail = 0
			c.at = position{seq: l.Entry.Seq - 1}.next(l.Raw)
		}
		c.torn += tail
		// A process that was killed may have left it to the system to write.
		if err := c.disk.sync(files[i].path); err != nil {
			return err
		}
	}
	c.durable = c.at
	if c.torn > 0 {
		c.Log.Warn("the last line of the audit was broken off, and is left out", "directory", c.dir, "bytes", c.torn)
	}
	for l, err := range linesOf(filesSince(files)) {
		if err != nil {
			return err
		}
		switch e := l.Entry; {
		case !l.whole || l.void:
		case e.Event == EventIntent:
			c.open[e.pair()] = e
		case e.Event == EventOutcome:
			delete(c.open, e.pair())
		}
	}
	return nil
}

// filesSince gives the last file, and those before it as far back as there is an intent without outcome.
func filesSince(files []chainFile) []chainFile {
	i := len(files) - 1
	for i > 0 && files[i].header.Seq == 0 {
		i--
	}
	if i < 0 {
		return nil
	}
	for since := files[i].header.Since; since > 0 && i > 0 && (files[i].header.Seq == 0 || files[i].header.Seq > since); {
		i--
	}
	return files[i:]
}
