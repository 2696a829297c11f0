package registry

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"resq/engine/policy"
	"resq/schema/problem"
)

// Note [how long a key is remembered]
//
// A change through this program counts up the version of the control database, which every process reads once a
// second: whatever it remembers is read again before it is used. A change that somebody makes in the tables by hand
// counts up nothing, so what is remembered is never older than four seconds either. While the database does not
// answer, what is remembered is used on for a stated time, and then nobody is let in.
const (
	pollTime = time.Second
	softTime = 2 * time.Second // after which a key is looked up again beside the calls that use it
	hardTime = 4 * time.Second // … and before
	noneTime = 2 * time.Second // for which a key that there is not is not looked up again
	lookTime = time.Second     // for a look-up
	awayTime = time.Second     // for which a database that failed is not asked again

	// DefaultStale is for how long what is remembered is used while the control database does not answer.
	DefaultStale = time.Minute

	useTime   = time.Minute // between two writes of a key's last use
	maxOwners = 20_000      // remembered keys
	maxNone   = 2_000       // … that are none
	lookups   = 16          // of unknown keys at once
	keyShort  = 16          // characters
)

// A Directory answers whose a key is, from memory where it can.
type Directory struct {
	control *Control
	stale   time.Duration
	// principal makes the principal of an owner; nil is nobody.
	principal func(*Owner) *policy.Principal
	changed   func() // is told after a change of keys, scopes or tools

	looking  chan struct{}
	version  atomic.Int64 // of what was read last; one more than the database's, so that 0 is none
	disabled atomic.Pointer[map[string]bool]
	away     atomic.Int64 // until when the database is not asked, in Unix nanoseconds

	mu     sync.Mutex
	owners map[[sha256.Size]byte]*held
	none   map[[sha256.Size]byte]time.Time

	opening sync.Mutex // of reading the scopes again
	opens   atomic.Pointer[opens]
}

// opens is what was read of the scopes, and when.
type opens struct {
	version int64
	read    time.Time
	tools   map[string][]string // by the codes of the scopes that are enabled
}

// held is one remembered key.
type held struct {
	sum   [sha256.Size]byte
	known atomic.Pointer[known]

	turn    sync.Mutex   // of reading it again
	reading atomic.Bool  // beside the calls
	used    atomic.Int64 // Unix seconds; 0 is not since it was remembered
	written int64        // by keep alone
}

// known is what was read of a key, and when.
type known struct {
	version int64
	read    time.Time
	owner   *Owner // nil is none
	who     *policy.Principal
}

// DirectoryOptions are how a directory is made.
type DirectoryOptions struct {
	Stale     time.Duration // 0 is DefaultStale
	Principal func(*Owner) *policy.Principal
	Changed   func() // may be nil
}

// NewDirectory makes a directory of a control database. Run keeps it up to date.
func NewDirectory(ctx context.Context, c *Control, o DirectoryOptions) (*Directory, error) {
	d := &Directory{
		control: c, stale: o.Stale, principal: o.Principal, changed: o.Changed, looking: make(chan struct{}, lookups),
		owners: map[[sha256.Size]byte]*held{}, none: map[[sha256.Size]byte]time.Time{},
	}
	if d.stale <= 0 {
		d.stale = DefaultStale
	}
	d.disabled.Store(&map[string]bool{})
	if _, err := d.poll(ctx); err != nil {
		return nil, c.fault(err)
	}
	return d, nil
}

// Changed sets what is told after a change of keys, scopes or tools. It must be called before Run.
func (d *Directory) Changed(f func()) { d.changed = f }

// Run notices changes and keeps when keys were last used, until ctx ends.
func (d *Directory) Run(ctx context.Context) {
	tick := time.NewTicker(pollTime)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookTime)
			defer cancel()
			d.keep(last, 0)
			return
		case <-tick.C:
		}
		changed, err := d.poll(ctx)
		if err != nil {
			if ctx.Err() == nil {
				d.control.log.Warn("the control database does not answer", "error", err)
			}
			continue
		}
		if changed && d.changed != nil {
			d.changed()
		}
		d.keep(ctx, useTime)
	}
}

// poll reads the version and the tools that are disabled.
func (d *Directory) poll(ctx context.Context) (changed bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	version, names, lost, err := d.control.disabled(ctx)
	if err != nil {
		return false, err
	}
	if loaded := d.control.loaded.Load(); lost { // so what this server has can be listed, put into scopes and switched off again
		if err := d.control.RegisterTools(ctx, *loaded); err != nil {
			d.control.log.Warn("the control database was not told which tools there are", "error", err)
		}
	}
	now := make(map[string]bool, len(names))
	for _, n := range names {
		now[policy.ToolKey(n)] = true
	}
	was := *d.disabled.Swap(&now)
	before := d.version.Swap(version + 1)
	return before != version+1 || len(was) != len(now) || slices.ContainsFunc(names, func(n string) bool { return !was[policy.ToolKey(n)] }), nil
}

// Enabled says whether an admin lets a tool be used at all.
func (d *Directory) Enabled(tool string) bool { return !(*d.disabled.Load())[policy.ToolKey(tool)] }

// Remake makes every remembered principal anew, because the configuration has changed.
func (d *Directory) Remake() {
	d.mu.Lock()
	list := slices.Collect(maps.Values(d.owners))
	d.mu.Unlock()
	for _, h := range list {
		h.turn.Lock()
		k := *h.known.Load()
		if k.who = nil; k.owner != nil {
			k.who = d.principal(k.owner)
		}
		h.known.Store(&k)
		h.turn.Unlock()
	}
	d.mu.Lock()
	clear(d.none) // among them may be keys of principals that there are now
	d.mu.Unlock()
}

// Find gives the principal of a key: nil for a key that there is not, or that is not good any more. The error is a
// problem: the control database does not answer, and nothing fresh enough is remembered.
func (d *Directory) Find(ctx context.Context, key string) (*policy.Principal, error) {
	if len(key) < keyShort || len(key) > maxKey {
		return nil, nil
	}
	sum := sha256.Sum256([]byte(key))
	d.mu.Lock()
	h := d.owners[sum]
	missed, none := d.none[sum]
	d.mu.Unlock()
	now := d.control.now()
	if h == nil {
		if none && now.Sub(missed) < noneTime {
			return nil, nil
		}
		return d.look(ctx, sum)
	}
	if !d.fresh(h, now) {
		if err := d.again(ctx, h, now); err != nil && now.Sub(h.known.Load().read) > d.stale {
			return nil, d.control.fault(err)
		}
	} else if now.Sub(h.known.Load().read) > softTime && h.reading.CompareAndSwap(false, true) {
		go func() {
			defer h.reading.Store(false)
			h.turn.Lock()
			defer h.turn.Unlock()
			_ = d.renew(context.WithoutCancel(ctx), h) // the next call that needs to know is told
		}()
	}
	k := h.known.Load()
	if k.who == nil || !k.owner.expires.IsZero() && !k.owner.expires.After(now) {
		return nil, nil
	}
	h.used.Store(now.Unix())
	return k.who, nil
}

// fresh says whether what is remembered of a key can be used without a look.
func (d *Directory) fresh(h *held, now time.Time) bool {
	k := h.known.Load()
	return k.version == d.version.Load() && now.Sub(k.read) <= hardTime
}

// Open gives the tools that scopes open together. A scope that is not there, or is disabled, opens nothing. The error is a
// problem: the control database does not answer, and nothing fresh enough is remembered.
func (d *Directory) Open(ctx context.Context, scopes []string) ([]string, error) {
	now := d.control.now()
	fresh := func(o *opens) bool { return o != nil && o.version == d.version.Load() && now.Sub(o.read) <= hardTime }
	o := d.opens.Load()
	if !fresh(o) {
		var err error
		if o, err = d.reopen(ctx, now, fresh); err != nil && (o == nil || now.Sub(o.read) > d.stale) {
			return nil, d.control.fault(err)
		}
	}
	var tools []string
	for _, code := range scopes {
		for _, tool := range o.tools[code] {
			if !slices.Contains(tools, tool) {
				tools = append(tools, tool)
			}
		}
	}
	return tools, nil
}

// reopen reads the scopes again, unless another call just did. With an error it gives what is remembered.
func (d *Directory) reopen(ctx context.Context, now time.Time, fresh func(*opens) bool) (*opens, error) {
	d.opening.Lock()
	defer d.opening.Unlock()
	o := d.opens.Load()
	if fresh(o) {
		return o, nil
	}
	if now.UnixNano() < d.away.Load() {
		return o, errAway
	}
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	version := d.version.Load() // before the look-up: a change in between is read again
	tools, err := d.control.opens(ctx)
	if err != nil {
		if ctx.Err() == nil || context.Cause(ctx) == context.DeadlineExceeded { // not the caller's leaving
			d.away.Store(now.Add(awayTime).UnixNano())
		}
		return o, err
	}
	o = &opens{version, now, tools}
	d.opens.Store(o)
	return o, nil
}

// again reads a key again, unless another call just did.
func (d *Directory) again(ctx context.Context, h *held, now time.Time) error {
	h.turn.Lock()
	defer h.turn.Unlock()
	if d.fresh(h, now) {
		return nil
	}
	return d.renew(ctx, h)
}

// look looks up a key that is not remembered. Only so many do at once: whoever sends keys at random must not take
// the database away from the others.
func (d *Directory) look(ctx context.Context, sum [sha256.Size]byte) (*policy.Principal, error) {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	select {
	case d.looking <- struct{}{}:
		defer func() { <-d.looking }()
	case <-ctx.Done():
		return nil, d.control.fault(ctx.Err())
	}
	h := &held{sum: sum}
	if err := d.renew(ctx, h); err != nil {
		return nil, d.control.fault(err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	k := h.known.Load()
	if k.who == nil {
		if len(d.none) >= maxNone {
			clear(d.none)
		}
		d.none[sum] = k.read
		return nil, nil
	}
	delete(d.none, sum)
	if len(d.owners) >= maxOwners {
		d.room()
	}
	h.used.Store(k.read.Unix())
	d.owners[sum] = h
	return k.who, nil
}

// room forgets a tenth of the keys: those that were not read for the longest, among some.
func (d *Directory) room() {
	var some []*held
	for _, h := range d.owners {
		if some = append(some, h); len(some) == maxOwners/4 {
			break
		}
	}
	at := func(h *held) int64 { return h.used.Load() }
	slices.SortFunc(some, func(a, b *held) int { return int(at(a) - at(b)) })
	for _, h := range some[:maxOwners/10] {
		delete(d.owners, h.sum)
	}
}

// renew reads a key again. Whoever calls it has its turn.
func (d *Directory) renew(ctx context.Context, h *held) error {
	now := d.control.now()
	if until := d.away.Load(); now.UnixNano() < until {
		return errAway
	}
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	version := d.version.Load() // before the look-up: a change in between is read again
	o, err := d.control.owner(ctx, hex.EncodeToString(h.sum[:]))
	if err != nil {
		if ctx.Err() == nil || context.Cause(ctx) == context.DeadlineExceeded { // not the caller's leaving
			d.away.Store(now.Add(awayTime).UnixNano())
		}
		return err
	}
	k := &known{version: version, read: now, owner: o}
	if o != nil {
		k.who = d.principal(o)
	}
	h.known.Store(k)
	return nil
}

var errAway = &problem.Problem{Code: problem.Unavailable, Stage: problem.Database, Message: "the control database does not answer", RetryAfter: 2}

// keep writes when keys were last used, each at most once in a while, and forgets those that are none any more.
func (d *Directory) keep(ctx context.Context, every time.Duration) {
	now := d.control.now().Unix()
	at := map[int64]time.Time{}
	d.mu.Lock()
	for sum, h := range d.owners {
		k, used := h.known.Load(), h.used.Load()
		if k.who == nil {
			delete(d.owners, sum)
		} else if used > h.written && now-h.written >= int64(every.Seconds()) {
			at[k.owner.ID], h.written = time.Unix(used, 0), now
		}
	}
	d.mu.Unlock()
	if len(at) == 0 {
		return
	}
	if err := d.control.used(ctx, at); err != nil && ctx.Err() == nil {
		d.control.log.Warn("when keys were last used is not kept", "error", err)
	}
}
