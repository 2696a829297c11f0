package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/fsnotify/fsnotify"

	"resq/registry"
	"resq/registry/issuer"
	"resq/schema"
	"resq/schema/problem"
	"resq/server"
	"resq/server/console"
)

const (
	// forgetTime is how often operations are looked through for what is too old to be used.
	forgetTime = time.Hour
	// quietTime is how long files must be left alone before they are read: editors and copies write in pieces,
	// and the first half of a YAML file is often a YAML file.
	quietTime = 300 * time.Millisecond
	// settleTime is what an event of a file that changed during a load may take to arrive.
	settleTime = 20 * time.Millisecond
)

// A reloader keeps what is served up to date with its files: catalog files that change are noticed, and SIGHUP
// reads the configuration as well. What is loaded is served as a whole or not at all.
type reloader struct {
	from    *source
	opened  *opened // what is served; only run changes it
	server  *server.Server
	keys    *keyring          // nil when nobody is asked for a key
	asks    bool              // for keys
	api     *issuer.API       // nil without a control database
	journal *registry.Journal // nil keeps no calls
	log     *slog.Logger
	watch   bool
	hangUp  func() // ends the program when its terminal has gone
	quiet   time.Duration
	failed  bool                  // the last load was bad
	last    atomic.Pointer[error] // of the last load; the console shows it
	loads   history
	unread  bool // the configuration was; files of the catalog that are good again do not mend it

	signals  chan os.Signal
	watcher  *watcher
	terminal bool          // the program belongs to a terminal, and ends with it
	told     chan struct{} // that the control database changed
}

// newReloader begins to take signals, so that none that comes early ends the program.
func newReloader(from *source, watch bool, log *slog.Logger, hangUp func()) *reloader {
	r := &reloader{from: from, log: log, watch: watch, hangUp: hangUp, quiet: quietTime, signals: make(chan os.Signal, 4), told: make(chan struct{}, 1)}
	r.terminal = !signal.Ignored(syscall.SIGHUP) && hasTerminal() // whoever ignores it wants to stay: nohup
	signal.Notify(r.signals, append(statusSignals, syscall.SIGHUP)...)
	return r
}

// close gives the signals their ordinary meaning again.
func (r *reloader) close() { signal.Stop(r.signals) }

// run reloads until ctx ends.
func (r *reloader) run(ctx context.Context) {
	r.startWatching()
	var events chan fsnotify.Event
	var faults chan error
	if r.watcher != nil {
		defer r.watcher.fs.Close()
		events, faults = r.watcher.fs.Events, r.watcher.fs.Errors
	}
	quiet := time.NewTimer(time.Hour)
	quiet.Stop()
	if r.watcher != nil { // a file may have changed between the load and the first watch
		quiet.Reset(r.quiet)
	}
	old := time.NewTicker(forgetTime)
	defer old.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-old.C:
			if err := r.opened.engine.Forget(ctx); err != nil {
				r.log.Warn("what is too old to be undone is still kept", "error", err)
			}
		case s := <-r.signals:
			if s != syscall.SIGHUP {
				r.status()
			} else if r.terminal && !hasTerminal() {
				r.log.Info("the terminal has gone")
				r.hangUp()
			} else {
				r.reload(ctx, true)
			}
		case e := <-events:
			if r.watcher.concerns(e) {
				quiet.Reset(r.quiet)
			}
		case <-r.told:
			if r.registered(ctx) {
				r.reload(ctx, false)
			}
		case <-faults: // events were lost, so anything may have changed
			quiet.Reset(r.quiet)
		case <-quiet.C:
			if again := r.reload(ctx, false); again {
				quiet.Reset(r.quiet)
			}
		}
	}
}

// tell says that the control database changed.
func (r *reloader) tell() {
	select {
	case r.told <- struct{}{}:
	default: // it will be looked at anyhow
	}
}

// registered says whether the registry keeps other tools or attachments by itself than those that are served.
func (r *reloader) registered(ctx context.Context) bool {
	if r.keys == nil || r.keys.control == nil {
		return false
	}
	now, err := registeredIn(ctx, r.keys.control)
	if err != nil {
		r.log.Warn("the registry cannot be read", "error", err)
		return false
	}
	return now.sum != r.opened.kept.sum
}

func (r *reloader) startWatching() {
	paths := r.opened.config.watched()
	if !r.watch || len(paths) == 0 {
		return
	}
	w, err := newWatcher(paths)
	if err != nil {
		r.log.Warn("the catalog files are not watched; send SIGHUP after a change", "error", err)
		return
	}
	r.watcher = w
}

// reload loads everything anew and, when it is good, serves it. With all it reads the configuration as well, and
// takes over even what looks the same. It gives true when files changed while they were read: then nothing was
// done, and it is to be called again.
func (r *reloader) reload(ctx context.Context, all bool) (again bool) {
	start := time.Now()
	next := *r.opened
	if all {
		err := r.configure(&next)
		r.unread = err != nil
		if err != nil {
			r.fail(start, err)
			return false
		}
	}
	r.follow(next.config.watched()) // before the load, so that no file is created unseen in between
	cat, err := next.load(ctx, io.Discard)
	if ctx.Err() != nil || !all && r.disturbed() {
		return true
	}
	if err == nil && !all && alike(cat, r.opened.engine.Catalog()) && next.kept.sum == r.opened.kept.sum {
		if r.failed && !r.unread {
			r.well("the catalog is as it was before the bad one")
		}
		return false
	}
	if err == nil {
		next.engine, err = r.opened.engine.Renew(cat)
	}
	if err != nil {
		r.fail(start, err)
		return false
	}
	if r.keys != nil {
		if err := r.keys.offer(ctx, next.config, cat, next.kept.remotes, next.lang); err != nil {
			r.fail(start, errors.Join(err, next.engine.Close()))
			return false
		}
	}
	old, gone := r.opened.engine, r.opened.kept.remotes
	*r.opened = next
	if r.keys != nil {
		r.keys.load(next.config)
	}
	if r.api != nil {
		_ = r.api.SetAdmin(next.config.Control.Admin) // whose form was checked when it was read
	}
	if r.journal != nil {
		r.journal.Know(next.config.known(cat))
	}
	idle := r.server.Swap(next.backend())
	go func() {
		<-idle
		if err := old.Close(); err != nil {
			r.log.Error("closing the pools of a replaced catalog", "error", err)
		}
		for _, t := range gone {
			_ = t.server.Close() // whoever is there knows what to make of a connection that ends
		}
	}()
	r.loads.add(loaded(start, cat))
	r.well("catalog reloaded", "sha256", cat.Hash, "resources", len(cat.Resources), "ms", time.Since(start).Milliseconds())
	return false
}

// configure reads the configuration for what can change while the server runs: catalogs, principals with
// their keys, and the admin credential of the API that issues keys.
func (r *reloader) configure(next *opened) error {
	c, err := r.from.settings()
	if err != nil {
		return err
	}
	if !r.asks && c.asks() || r.asks && r.keys.directory == nil && c.Keys.Len() == 0 && c.JWT == nil {
		return errors.New("the first key and the last one take a restart: without keys the server asks nobody for one")
	}
	if r.api == nil && c.Control.Admin != "" {
		return errors.New("the first admin credential takes a restart: there is no control database yet")
	}
	config := *next.config
	config.Control.Admin = c.Control.Admin
	config.Catalog, config.Packs, config.Principals, config.Keys, config.Tools, config.Custom = c.Catalog, c.Packs, c.Principals, c.Keys, c.Tools, c.Custom
	next.config = &config
	next.choosePacks()
	return nil
}

func (r *reloader) follow(paths []string) {
	if r.watcher == nil {
		return
	}
	if err := r.watcher.follow(paths); err != nil {
		r.log.Warn("not every directory of the catalog is watched; send SIGHUP after a change", "error", err)
	}
}

// disturbed says whether catalog files changed in the last moments.
func (r *reloader) disturbed() bool {
	if r.watcher == nil {
		return false
	}
	settle := time.NewTimer(settleTime)
	defer settle.Stop()
	hit := false
	for {
		select {
		case e := <-r.watcher.fs.Events:
			hit = hit || r.watcher.concerns(e)
		case <-settle.C:
			return hit
		}
	}
}

// alike says whether two loads came to the same. The DSNs are no part of the files' sum.
func alike(a, b *schema.Catalog) bool {
	return a.Hash == b.Hash && slices.EqualFunc(a.Connections, b.Connections, func(x, y *schema.Connection) bool {
		return x.Name == y.Name && x.DSN == y.DSN
	})
}

// fail leaves one line in the log and says on /readyz that something is not as it should be.
func (r *reloader) fail(start time.Time, err error) {
	r.failed = true
	r.last.Store(&err)
	first, n := &problem.Problem{Message: oneLine(err)}, 1
	var l problem.List
	if errors.As(err, &l) && len(l) > 0 {
		first, n = l[0], len(l)
	}
	r.loads.add(console.Load{Time: start, Took: time.Since(start), Problem: first.Message, At: first.At, Problems: n})
	attrs := []any{"problem", first.Message, "problems", n}
	if first.At != "" {
		attrs = append([]any{"at", first.At}, attrs...)
	}
	if first.Hint != "" {
		attrs = append(attrs, "hint", first.Hint)
	}
	r.log.Error("not reloaded; what was loaded before is still served", attrs...)
	r.server.Degrade(fmt.Sprintf("the last reload failed (problems: %d); what was loaded before is served", n))
}

func (r *reloader) well(what string, attrs ...any) {
	r.log.Info(what, attrs...)
	if !r.unread {
		r.failed = false
		r.last.Store(nil)
		r.server.Degrade("")
	}
}

// problem is why the last load was bad; nil for a good one.
func (r *reloader) problem() error {
	if err := r.last.Load(); err != nil {
		return *err
	}
	return nil
}

// status leaves one line about the process in the log, for whoever looks after it.
func (r *reloader) status() {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	cat := r.opened.engine.Catalog()
	r.log.Info("status", "goroutines", runtime.NumGoroutine(), "heap_bytes", m.HeapAlloc, "sys_bytes", m.Sys,
		"catalog", cat.Hash, "resources", len(cat.Resources), "degraded", r.failed)
}
