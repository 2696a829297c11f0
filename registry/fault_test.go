package registry

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"resq/engine"
)

// A faultyDisk counts what is asked of it, and fails on demand.
type faultyDisk struct {
	osDisk
	mu     sync.Mutex
	files  []*faultyFile
	full   bool          // nothing can be written or made
	noSync bool          // the next Sync fails, and no other
	stuck  bool          // nothing can be taken back
	held   chan struct{} // Sync waits for it
	slow   time.Duration
	syncs  atomic.Int64
}

type faultyFile struct {
	file
	disk  *faultyDisk
	syncs int
	fails int // the value of syncs at the failure
}

var errSync = errors.New("injected: fsync")

func (d *faultyDisk) create(path string) (file, error) {
	f, err := d.osDisk.create(path)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	x := &faultyFile{file: f, disk: d}
	d.files = append(d.files, x)
	return x, nil
}

func (f *faultyFile) Write(b []byte) (int, error) {
	f.disk.mu.Lock()
	full := f.disk.full
	f.disk.mu.Unlock()
	if full {
		n, _ := f.file.Write(b[:len(b)/2])
		return n, syscall.ENOSPC
	}
	return f.file.Write(b)
}

func (f *faultyFile) Sync() error {
	f.disk.syncs.Add(1)
	f.disk.mu.Lock()
	f.syncs++
	fail, held := f.disk.noSync, f.disk.held
	if fail {
		f.disk.noSync = false
		f.fails = f.syncs
	}
	f.disk.mu.Unlock()
	time.Sleep(f.disk.slow)
	if held != nil {
		<-held
	}
	if fail {
		return errSync
	}
	return f.file.Sync()
}

func (f *faultyFile) Truncate(size int64) error {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if f.disk.stuck {
		return syscall.EIO
	}
	return f.file.Truncate(size)
}

func (d *faultyDisk) set(f func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f()
}

// Intents that come together share an fsync, and one that comes alone waits for nobody.
func TestGroupCommit(t *testing.T) {
	d := &faultyDisk{slow: 2 * time.Millisecond}
	o := quiet()
	o.disk, o.window = d, 500*time.Millisecond
	dir := filepath.Join(t.TempDir(), "audit")
	l := mustOpen(t, dir, o)
	const callers, each = 16, 20
	var all sync.WaitGroup
	for g := range callers {
		all.Go(func() {
			for i := range each {
				if err := l.Intent(engine.Record{Operation: fmt.Sprintf("%d-%d", g, i)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if n := d.syncs.Load(); n > callers*each/4 || n < each {
		t.Errorf("%d intents took %d fsyncs", callers*each, n)
	} else {
		t.Logf("%d intents of %d callers took %d fsyncs", callers*each, callers, n)
	}
	before := d.syncs.Load()
	must(t, l.Intent(engine.Record{Operation: "the crowd is gone"})) // waits the window, once
	start := time.Now()
	for i := range 5 {
		must(t, l.Intent(engine.Record{Operation: fmt.Sprint("alone ", i)}))
	}
	if took := time.Since(start); took > 5*o.window {
		t.Errorf("five intents alone took %v", took)
	}
	if n := d.syncs.Load() - before; n != 6 {
		t.Errorf("six intents one after the other took %d fsyncs", n)
	}
	must(t, l.Close())
	if r := whole(t, dir); r.Lines < callers*each {
		t.Errorf("%+v", r)
	}
}

// Callers that come one by one, but often, are waited for within the window.
func TestCommitWindow(t *testing.T) {
	d := &faultyDisk{}
	o := quiet()
	o.disk, o.window = d, 300*time.Millisecond
	l := mustOpen(t, filepath.Join(t.TempDir(), "audit"), o)
	const callers, each = 8, 10
	var all sync.WaitGroup
	var begin sync.WaitGroup
	begin.Add(callers)
	for g := range callers {
		all.Go(func() {
			begin.Done()
			begin.Wait()
			for i := range each {
				must(t, l.Intent(engine.Record{Operation: fmt.Sprintf("%d-%d", g, i)}))
				time.Sleep(time.Duration(g) * 3 * time.Millisecond)
			}
		})
	}
	all.Wait()
	if n := d.syncs.Load(); n > callers*each/2 { // each its own where nobody waits
		t.Errorf("%d intents, %d at a time, took %d fsyncs", callers*each, callers, n)
	}
}

// A line that cannot be written and not be taken back ends the file, and with it an fsync that is under way.
func TestFileIsStuck(t *testing.T) {
	d := &faultyDisk{held: make(chan struct{})}
	o := quiet()
	o.disk = d
	dir := filepath.Join(t.TempDir(), "audit")
	l := mustOpen(t, dir, o)
	first := make(chan error)
	go func() { first <- l.Intent(engine.Record{Operation: "first"}) }()
	for deadline := time.Now().Add(5 * time.Second); d.syncs.Load() == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("an intent takes no fsync")
		}
	}
	d.set(func() { d.full, d.stuck = true, true })
	if err := l.Intent(engine.Record{Operation: "second"}); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("the second intent returns %v", err)
	}
	d.set(func() { d.full = false })
	close(d.held)
	if err := <-first; !errors.Is(err, errFault) {
		t.Errorf("the first intent returns %v", err)
	}
	must(t, l.Intent(engine.Record{Operation: "third"}))
	must(t, l.Close())
	r := whole(t, dir)
	if len(r.Notes) != 1 || !strings.Contains(notes(r), "00000001.jsonl:1: 2 lines from here on do not count") {
		t.Errorf("notes: %s", notes(r))
	}
	if p := mustOpen(t, dir, quiet()).Pending(); len(p) != 1 || p[0].Operation != "third" {
		t.Errorf("pending %+v", p)
	}
}

// An intent that an fsync did not make safe is an error, the file gets no other fsync, and the chain goes on in
// the next file with all that was not an intent.
func TestSyncFails(t *testing.T) {
	d := &faultyDisk{}
	o := quiet()
	o.disk = d
	dir := filepath.Join(t.TempDir(), "audit")
	l := mustOpen(t, dir, o)
	must(t, l.Intent(engine.Record{Operation: "before"}))
	must(t, l.Note(Entry{Event: EventCall, Detail: "kept"}))
	d.set(func() { d.noSync = true })
	if err := l.Intent(engine.Record{Operation: "lost"}); !errors.Is(err, errSync) {
		t.Fatalf("the intent returns %v", err)
	}
	if l.own.open["op lost"].Seq != 0 || l.own.open["op before"].Seq != 2 {
		t.Errorf("open are %v", l.own.open)
	}
	must(t, l.Outcome(engine.Record{Operation: "before", Code: "OK"}))
	must(t, l.Intent(engine.Record{Operation: "after"}))
	must(t, l.Close())
	d.set(func() {
		if len(d.files) != 2 || d.files[0].syncs != d.files[0].fails || d.files[1].syncs == 0 {
			t.Errorf("%d files; the first has %d fsyncs, of which number %d failed", len(d.files), d.files[0].syncs, d.files[0].fails)
		}
	})
	r := whole(t, dir)
	if !strings.Contains(notes(r), "00000001.jsonl:3: 2 lines from here on do not count") || len(r.Notes) != 1 {
		t.Errorf("notes: %s", notes(r))
	}
	t.Logf("notes: %s", notes(r))
	var seen []string
	for _, e := range entries(t, dir) {
		seen = append(seen, strings.TrimSpace(e.Event+" "+e.Reason+e.Operation+e.Detail))
	}
	want := []string{"open start", "intent before", "open fault", "call kept", "outcome before", "intent after", "checkpoint"}
	if !slices.Equal(seen, want) {
		t.Errorf("entries %q", seen)
	}
	if p := mustOpen(t, dir, quiet()).Pending(); len(p) != 1 || p[0].Operation != "after" {
		t.Errorf("pending %+v", p)
	}
}

// With many callers, an fsync that fails is told to every one whose line it should have made safe, and those who
// come after are safe in the next file.
func TestSyncFailsInACrowd(t *testing.T) {
	d := &faultyDisk{slow: time.Millisecond}
	o := quiet()
	o.disk = d
	dir := filepath.Join(t.TempDir(), "audit")
	l := mustOpen(t, dir, o)
	var all sync.WaitGroup
	var mu sync.Mutex
	kept, failed := map[string]bool{}, 0
	for g := range 8 {
		all.Go(func() {
			for i := range 30 {
				if g == 0 && i%10 == 5 {
					d.set(func() { d.noSync = true })
				}
				op := fmt.Sprintf("%d-%d", g, i)
				err := l.Intent(engine.Record{Operation: op})
				mu.Lock()
				if kept[op] = err == nil; err != nil {
					failed++
				}
				mu.Unlock()
				if err == nil && l.Outcome(engine.Record{Operation: op, Code: "OK"}) != nil {
					t.Error("an outcome is lost")
				}
			}
		})
	}
	all.Wait()
	must(t, l.Close())
	r := whole(t, dir)
	got := map[string]int{}
	for _, e := range entries(t, dir) {
		if e.Operation != "" {
			got[e.Operation+" "+e.Event]++
		}
	}
	for op, ok := range kept {
		n := 0
		if ok {
			n = 1
		}
		if got[op+" intent"] != n || got[op+" outcome"] != n {
			t.Errorf("%s: kept %v, and there are %d intents and %d outcomes", op, ok, got[op+" intent"], got[op+" outcome"])
		}
	}
	if failed < 3 || r.Files != 4 {
		t.Errorf("%d failed, %d files", failed, r.Files)
	}
	t.Logf("3 failing fsyncs: %d of %d intents told so, all others kept once\n%s", failed, len(kept), notes(r))
}

// On a full disk intents fail and nothing half-written stays; when there is room again the chain goes on, and says
// what it lost.
func TestDiskFull(t *testing.T) {
	d := &faultyDisk{}
	o := quiet()
	o.disk = d
	dir := filepath.Join(t.TempDir(), "audit")
	l := mustOpen(t, dir, o)
	for _, op := range []string{"a", "b"} { // before there is a file, and in the middle of one
		d.set(func() { d.full = true })
		if err := l.Intent(engine.Record{Operation: op}); !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("the intent returns %v", err)
		}
		if err := l.Note(Entry{Event: EventCall}); !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("the note returns %v", err)
		}
		d.set(func() { d.full = false })
		must(t, l.Intent(engine.Record{Operation: op + " again"}))
	}
	must(t, l.Close())
	r := whole(t, dir)
	if n := strings.Count(notes(r), "1 entries before this one could not be written"); n != 2 || len(r.Notes) != 2 || r.Files != 1 {
		t.Errorf("%+v", r)
	}
	for _, e := range entries(t, dir) {
		if e.Operation == "a" || e.Operation == "b" {
			t.Errorf("an intent that failed is there: %+v", e)
		}
	}
	if p := mustOpen(t, dir, quiet()).Pending(); len(p) != 2 {
		t.Errorf("pending %+v", p)
	}
}
