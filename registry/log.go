// Package registry keeps the audit: who asked for what, and what was written.
//
// An audit is a directory with one directory for each chain, which one process at a time writes. A chain is a
// row of files, 00000001.jsonl and on, of one JSON object a line; every line holds the SHA-256 of the line before
// it, across files and restarts. The first line of a file and a checkpoint every 1,000 lines or minute are signed
// with a key of the server's secret. docs/audit.md is the format for those who read it.
package registry

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"time"

	"resq/engine"
)

const (
	signLines = 1000        // unsigned lines that a chain has at most
	signTime  = time.Minute // … and the time from the first of them to the last

	defaultMaxBytes = 64 << 20
	commitWindow    = 2 * time.Millisecond // how long an intent waits for others to share its fsync
	secretLength    = 32
)

// Options are how an audit is kept.
type Options struct {
	Secret        []byte       // of the server, at least 32 bytes; signs checkpoints and hides arguments
	KeepArguments bool         // keep the arguments of calls as text, not only their HMAC
	MaxBytes      int64        // of a file before the next one is begun; 0 is 64 MiB
	Log           *slog.Logger // is told of faults; nil is slog's default

	// For tests.
	disk   disk
	now    func() time.Time
	window time.Duration
	every  time.Duration // between looks for lines to be signed
}

// A Log writes an audit. It is an engine.Auditor, and safe for use by several goroutines.
type Log struct {
	own *chain

	mu      sync.Mutex
	adopted []*chain // of processes that are gone, until their intents have outcomes
}

var _ engine.Auditor = (*Log)(nil)

// chainName is the form of the name of a chain and its directory.
var chainName = regexp.MustCompile(`^[0-9a-f]{8}$`)

// Open opens the audit in a directory for writing, and makes it where there is none. It goes on with a chain that
// no process writes, or begins another: processes that share a directory write a chain each. It fails when the
// directory cannot be written, and without a secret.
func Open(dir string, o Options) (*Log, error) {
	if len(o.Secret) < secretLength {
		return nil, fmt.Errorf("the audit needs a secret of at least %d bytes", secretLength)
	}
	o.defaults()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("open the audit: %w", err)
	}
	names, err := chainNames(dir)
	if err != nil {
		return nil, fmt.Errorf("open the audit: %w", err)
	}
	l := &Log{}
	for _, name := range names {
		c, err := lockChain(dir, name, o)
		switch {
		case err != nil:
			l.release()
			return nil, fmt.Errorf("open the audit: %w", err)
		case c == nil: // another process writes it
		case l.own == nil:
			l.own = c
		case len(c.open) > 0:
			l.adopted = append(l.adopted, c)
		default:
			c.lock.Close()
		}
	}
	if l.own == nil {
		if l.own, err = newChain(dir, o); err != nil {
			l.release()
			return nil, fmt.Errorf("open the audit: %w", err)
		}
	}
	for _, c := range l.chains() {
		go c.run()
	}
	return l, nil
}

func (o *Options) defaults() {
	if o.MaxBytes <= 0 {
		o.MaxBytes = defaultMaxBytes
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.disk == nil {
		o.disk = osDisk{}
	}
	if o.now == nil {
		o.now = time.Now
	}
	if o.window == 0 {
		o.window = commitWindow
	}
	if o.every == 0 {
		o.every = signTime
	}
}

func chainNames(dir string) ([]string, error) {
	list, err := os.ReadDir(dir)
	var names []string
	for _, d := range list {
		if d.IsDir() && chainName.MatchString(d.Name()) {
			names = append(names, d.Name())
		}
	}
	return names, err
}

// newChain begins a chain. Its name is random, so that those of several machines can be told apart.
func newChain(dir string, o Options) (*chain, error) {
	var id [4]byte
	if _, err := rand.Read(id[:]); err != nil {
		return nil, err
	}
	name := hex.EncodeToString(id[:])
	if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
		return nil, err
	}
	for _, d := range []string{dir, filepath.Dir(filepath.Clean(dir))} {
		if err := o.disk.sync(d); err != nil {
			return nil, err
		}
	}
	c, err := lockChain(dir, name, o)
	if err == nil && c == nil {
		err = errors.New("another process has locked the new chain " + name)
	}
	return c, err
}

// lockChain makes a chain this process's own and reads where it ends; nil is that another process has it.
func lockChain(dir, name string, o Options) (*chain, error) {
	path := filepath.Join(dir, name)
	lock, ok, err := tryLock(filepath.Join(path, "lock"))
	if err != nil || !ok {
		return nil, err
	}
	c := &chain{
		Options: o, sign: newSigner(o.Secret), dir: path, name: name, lock: lock, at: beginning, reason: reasonStart,
		open: map[string]Entry{}, group: newGroup(1), wake: make(chan struct{}, 1), quit: make(chan struct{}), done: make(chan struct{}),
	}
	if err := c.load(); err != nil {
		lock.Close()
		return nil, err
	}
	return c, nil
}

func (l *Log) chains() []*chain {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := slices.Clone(l.adopted)
	if l.own != nil {
		list = append(list, l.own)
	}
	return list
}

func (l *Log) release() {
	for _, c := range l.chains() {
		c.lock.Close()
	}
}

// Intent keeps, so that no crash loses it, that a write is about to be committed. It returns when the line is on
// the disk; intents of several callers share an fsync. An error means that it is not kept, for instance because
// the disk is full, and that the write must not be committed. The next intent may succeed.
func (l *Log) Intent(r engine.Record) error {
	if err := l.own.intent(entryOf(EventIntent, r)); err != nil {
		return fmt.Errorf("keep the intent of a write: %w", err)
	}
	return nil
}

// Outcome keeps what became of a write, in the chain of its intent. It returns when the line is written, and an
// fsync follows; should a crash come first, the intent is pending at the next start.
func (l *Log) Outcome(r engine.Record) error {
	e := entryOf(EventOutcome, r)
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, c := range l.adopted {
		if left, mine, err := c.outcome(e); mine {
			if err == nil && left == 0 {
				l.adopted = slices.Delete(l.adopted, i, i+1)
				err = c.close()
			}
			return keepOutcome(err)
		}
	}
	l.own.mu.Lock()
	defer l.own.mu.Unlock()
	return keepOutcome(l.own.settle(e))
}

func keepOutcome(err error) error {
	if err != nil {
		return fmt.Errorf("keep the outcome of a write: %w", err)
	}
	return nil
}

// Pending gives the intents that processes before this one left without an outcome, the oldest of a chain first.
// Whoever opened the log finds out what became of them and tells Outcome, with the code Recovered.
func (l *Log) Pending() []engine.Record {
	var list []engine.Record
	for _, c := range l.chains() {
		list = append(list, c.pending()...)
	}
	return list
}

// Note keeps anything but a write, without an fsync: a crash of the machine may lose it. On an error the entry is
// lost, and the next line that is written tells how many were.
func (l *Log) Note(e Entry) error {
	switch e.Event {
	case "", EventIntent, EventOutcome, EventOpen, EventCheckpoint:
		return fmt.Errorf("no such event can be noted: %q", e.Event)
	}
	if err := l.own.note(e); err != nil {
		return fmt.Errorf("keep an audit entry: %w", err)
	}
	return nil
}

// Close signs what was written, brings it to the disk, and lets other processes go on with the chain. The error is
// that of the fsync.
func (l *Log) Close() error {
	var errs []error
	for _, c := range l.chains() {
		errs = append(errs, c.close())
	}
	return errors.Join(errs...)
}
