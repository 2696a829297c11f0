package registry

import (
	"bufio"
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"resq/engine"
)

var secret = []byte("0123456789abcdef0123456789abcdef")

// childDir, in the environment, makes the test binary a process that writes an audit until it is killed.
const childDir = "RESQ_AUDIT_CHILD"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		child(dir)
		return
	}
	os.Exit(m.Run())
}

// child writes pairs of intents and outcomes from four goroutines, and prints each operation when its intent is
// said to be safe.
func child(dir string) {
	l, err := Open(dir, quiet())
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	var out sync.Mutex
	var all sync.WaitGroup
	for g := range 4 {
		all.Go(func() {
			for i := 0; ; i++ {
				op := fmt.Sprintf("%d-%d-%d", os.Getpid(), g, i)
				if err := l.Intent(engine.Record{Operation: op, Principal: "alice", Tool: "res-update"}); err != nil {
					fmt.Println("error", err)
					os.Exit(1)
				}
				out.Lock()
				fmt.Println(op)
				out.Unlock()
				_ = l.Note(Entry{Event: EventCall, Tool: "res-query"})
				_ = l.Outcome(engine.Record{Operation: op, Code: "OK"})
			}
		})
	}
	all.Wait()
}

func quiet() Options { return Options{Secret: secret, Log: slog.New(slog.DiscardHandler)} }

func mustOpen(t *testing.T, dir string, o Options) *Log {
	t.Helper()
	l, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// whole verifies an audit of one chain.
func whole(t *testing.T, dir string) ChainReport {
	t.Helper()
	r, err := Verify(dir, secret)
	if err != nil || len(r.Chains) != 1 {
		t.Fatalf("%v\n%+v", err, r)
	}
	return r.Chains[0]
}

func notes(r ChainReport) string {
	var b strings.Builder
	for _, n := range r.Notes {
		fmt.Fprintln(&b, n.Error())
	}
	return b.String()
}

// entries reads an audit as an export shows it.
func entries(t *testing.T, dir string) []Entry {
	t.Helper()
	var b bytes.Buffer
	must(t, Export(&b, dir, time.Time{}, time.Time{}, JSONLines))
	var list []Entry
	for line := range bytes.Lines(b.Bytes()) {
		e, ok := decode(line)
		if !ok {
			t.Fatalf("no entry: %s", line)
		}
		list = append(list, e)
	}
	return list
}

func chainFile1(t *testing.T, dir, name string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*", name))
	if err != nil || len(files) != 1 {
		t.Fatalf("files %v, %v", files, err)
	}
	return files[0]
}

// Every line follows the one before, across files, restarts and rotation by size; an intent without an outcome is
// pending at the next start, with everything that was said of it, and at no later one.
func TestChainAcrossRestarts(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "audit")
	o := quiet()
	o.MaxBytes = 2000
	for i := range 3 {
		l := mustOpen(t, dir, o)
		want := 0
		if i > 0 {
			want = 1
		}
		pending := l.Pending()
		if len(pending) != want {
			t.Fatalf("start %d: pending %+v", i, pending)
		}
		for _, p := range pending {
			if p.Operation != fmt.Sprintf("open-%d", i-1) || p.Principal != "alice" || p.Rows != 2 || string(p.Changes) != `{"ids":[1,2]}` {
				t.Errorf("pending %+v", p)
			}
			must(t, l.Outcome(engine.Record{Operation: p.Operation, Code: Recovered}))
		}
		if p := l.Pending(); len(p) != 0 {
			t.Errorf("still pending: %+v", p)
		}
		must(t, l.Intent(engine.Record{Operation: fmt.Sprintf("open-%d", i), Principal: "alice", Rows: 2, Changes: []byte(`{"ids": [1, 2]}`)}))
		if p := l.Pending(); len(p) != 0 {
			t.Errorf("an intent of this process is pending: %+v", p)
		}
		for n := range 20 {
			op := fmt.Sprintf("%d-%d", i, n)
			must(t, l.Intent(engine.Record{Operation: op}))
			must(t, l.Outcome(engine.Record{Operation: op, Code: "OK"}))
			must(t, l.Note(Entry{Event: EventCall, Tool: "res-query", Code: "OK"}))
		}
		must(t, l.Close())
		if err := l.Intent(engine.Record{}); err == nil {
			t.Error("an intent is kept by a closed log")
		}
	}
	r := whole(t, dir)
	if r.Files < 6 || r.First != 1 || r.Last != uint64(r.Lines) || r.Signed != r.Last || len(r.Notes) != 0 {
		t.Errorf("%+v", r)
	}
	if info, err := os.Stat(chainFile1(t, dir, "00000001.jsonl")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

// A process that is killed at any moment loses no intent that it was told is safe, and leaves a chain that the
// next one goes on with.
func TestKill(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "audit")
	var safe []string
	for range 6 {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), childDir+"="+dir)
		out, err := cmd.StdoutPipe()
		must(t, err)
		must(t, cmd.Start())
		in := bufio.NewScanner(out)
		for n := 0; in.Scan(); n++ {
			if strings.HasPrefix(in.Text(), "error") {
				t.Fatal(in.Text())
			}
			safe = append(safe, in.Text())
			if n == 40 {
				must(t, cmd.Process.Kill())
			}
		}
		_ = cmd.Wait()
	}
	l := mustOpen(t, dir, quiet())
	pending := l.Pending()
	for _, p := range pending {
		must(t, l.Outcome(engine.Record{Operation: p.Operation, Code: Recovered}))
	}
	must(t, l.Close())
	r := whole(t, dir)
	intents, outcomes := map[string]bool{}, map[string]int{}
	for _, e := range entries(t, dir) {
		switch e.Event {
		case EventIntent:
			intents[e.Operation] = true
		case EventOutcome:
			outcomes[e.Operation]++
		}
	}
	for _, op := range safe {
		if !intents[op] {
			t.Errorf("the intent of %s is lost", op)
		}
	}
	for op := range intents {
		if outcomes[op] != 1 {
			t.Errorf("%s has %d outcomes", op, outcomes[op])
		}
	}
	if len(safe) < 200 || len(pending) == 0 || r.Files != 7 {
		t.Errorf("%d intents, %d pending, %d files: this tests nothing", len(safe), len(pending), r.Files)
	}
	t.Logf("6 kills: %d intents acknowledged, %d in the files, %d pending at the last start, chain of %d lines in %d files whole\n%s",
		len(safe), len(intents), len(pending), r.Lines, r.Files, notes(r))
}

// Two processes write a chain each; what one leaves, the next to start takes over, even while another lives.
func TestTwoProcesses(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "audit")
	first := mustOpen(t, dir, quiet())
	must(t, first.Intent(engine.Record{Operation: "mine"}))
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childDir+"="+dir)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	in := bufio.NewScanner(out)
	for n := 0; in.Scan(); n++ {
		if n == 20 {
			must(t, cmd.Process.Kill())
		}
	}
	_ = cmd.Wait()
	must(t, first.Outcome(engine.Record{Operation: "mine", Code: "OK"}))
	r, err := Verify(dir, secret)
	if err != nil || len(r.Chains) != 2 {
		t.Fatalf("%v\n%+v", err, r)
	}

	third := mustOpen(t, dir, quiet()) // the first still lives
	left := third.Pending()
	for _, p := range left {
		if p.Operation == "mine" {
			t.Error("an intent of a living process is pending")
		}
		must(t, third.Outcome(engine.Record{Operation: p.Operation, Code: Recovered}))
	}
	must(t, third.Close())
	must(t, first.Close())
	if r, err = Verify(dir, secret); err != nil || len(r.Chains) != 2 || len(left) == 0 {
		t.Fatalf("%v\n%+v\n%v", err, r, left)
	}
	if p := mustOpen(t, dir, quiet()).Pending(); len(p) != 0 {
		t.Errorf("pending %+v", p)
	}
}

// What a dead process left in one chain is told and settled there by a process that writes another.
func TestAdoption(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "audit")
	a, b := mustOpen(t, dir, quiet()), mustOpen(t, dir, quiet())
	must(t, a.Intent(engine.Record{Operation: "a"}))
	must(t, b.Intent(engine.Record{Operation: "b"}))
	must(t, a.Close())
	must(t, b.Close())
	l := mustOpen(t, dir, quiet())
	if len(l.Pending()) != 2 {
		t.Fatalf("%+v", l.Pending())
	}
	for _, op := range []string{"a", "b"} {
		must(t, l.Outcome(engine.Record{Operation: op, Code: Recovered}))
	}
	chains := map[string]string{}
	for _, e := range entries(t, dir) {
		if e.Operation != "" {
			chains[e.Operation+" "+e.Event] = e.Chain
		}
	}
	if chains["a intent"] != chains["a outcome"] || chains["b intent"] != chains["b outcome"] || chains["a intent"] == chains["b intent"] {
		t.Errorf("%v", chains)
	}
	if len(l.adopted) != 0 {
		t.Error("a chain is held that needs nothing more")
	}
	must(t, l.Close())
	if _, err := Verify(dir, secret); err != nil {
		t.Error(err)
	}
}

// Arguments are kept as an HMAC, and as text only where that is asked for; what the log writes itself cannot be noted.
func TestNote(t *testing.T) {
	for _, keep := range []bool{false, true} {
		dir := filepath.Join(t.TempDir(), "audit")
		o := quiet()
		o.KeepArguments = keep
		l := mustOpen(t, dir, o)
		for _, arguments := range []string{`{"id":1}`, `{"id":1}`, `{"id":2}`} {
			must(t, l.Note(Entry{Event: EventCall, Arguments: []byte(arguments)}))
		}
		for _, event := range []string{"", EventIntent, EventOutcome, EventOpen, EventCheckpoint} {
			if l.Note(Entry{Event: event}) == nil {
				t.Errorf("%q is noted", event)
			}
		}
		e := entries(t, dir)[1:]
		if len(e) != 3 || e[0].ArgumentsHMAC != e[1].ArgumentsHMAC || e[1].ArgumentsHMAC == e[2].ArgumentsHMAC || len(e[0].ArgumentsHMAC) != 64 {
			t.Fatalf("%+v", e)
		}
		if (string(e[0].Arguments) == `{"id":1}`) != keep {
			t.Errorf("keep %v: %s", keep, e[0].Arguments)
		}
	}
}

// Lines are signed every 1,000, after a minute by the clock of the lines, and after one of waiting.
func TestCheckpoints(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	o := quiet()
	o.now = func() time.Time { return now }
	dir := filepath.Join(t.TempDir(), "audit")
	l := mustOpen(t, dir, o)
	for range signLines + 1 {
		must(t, l.Note(Entry{Event: EventCall}))
	}
	now = now.Add(signTime)
	must(t, l.Note(Entry{Event: EventCall}))
	now = now.Add(time.Second)
	must(t, l.Note(Entry{Event: EventCall}))
	var signed []uint64
	for _, e := range entries(t, dir) {
		if e.Event == EventCheckpoint {
			signed = append(signed, e.Seq)
		}
	}
	if !slices.Equal(signed, []uint64{signLines + 2, signLines + 5}) {
		t.Errorf("checkpoints %v", signed)
	}
	must(t, l.Close())
	whole(t, dir)

	o = quiet()
	o.every = 5 * time.Millisecond
	dir = filepath.Join(t.TempDir(), "audit")
	l = mustOpen(t, dir, o)
	must(t, l.Note(Entry{Event: EventCall}))
	for deadline := time.Now().Add(5 * time.Second); whole(t, dir).Signed != 3; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("a line that none follows is not signed")
		}
	}
}

// Without a secret there is no audit, and a directory that cannot be made is told.
func TestOpenFails(t *testing.T) {
	if _, err := Open(t.TempDir(), Options{Secret: secret[:31]}); err == nil {
		t.Error("a short secret is taken")
	}
	file := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(file, nil, 0o600))
	if _, err := Open(filepath.Join(file, "audit"), quiet()); err == nil {
		t.Error("a directory below a file is opened")
	}
}
