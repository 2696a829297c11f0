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

	mu        sync.Mutex
	file      file // nil before the first line and after a fault
	size      int64
	number    int      // of the last file
	at        position // the last line
	durable   position // the last line that an fsync has brought to the disk
	unsynced  []Entry  // the lines between the two, without the intents, whose callers are told
	unsigned  int      // lines since the last signed one
	first     time.Time
	reason    string // of the next file
	torn      int64  // for its first line
	lost      int
	open      map[string]Entry // intents without outcome
	inherited uint64           // number of the last line of processes before this one
	group     *group
	closed    bool
	last      error // of the fsync at the end

	wake chan struct{}
	quit chan struct{}
	done chan struct{}
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
		if e.Seq <= c.inherited {
			list = append(list, e.record())
		}
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
