package registry

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"resq/engine"
)

// written makes an audit of two files: lines 1 to 6 with a checkpoint at the end, and 7 to 12 the same.
func written(t *testing.T) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "audit")
	for i := range 2 {
		l := mustOpen(t, dir, quiet())
		for n := range 2 {
			op := fmt.Sprintf("op-%d-%d", i, n)
			must(t, l.Intent(engine.Record{Operation: op, Principal: "alice"}))
			must(t, l.Outcome(engine.Record{Operation: op, Code: "OK"}))
		}
		must(t, l.Close())
	}
	return dir
}

func linesIn(t *testing.T, path string) [][]byte {
	t.Helper()
	raw, err := os.ReadFile(path)
	must(t, err)
	return bytes.SplitAfter(raw, []byte("\n"))
}

// relink writes a file again with lines that fit each other, as someone would who has no secret.
func relink(t *testing.T, lines [][]byte) [][]byte {
	t.Helper()
	at := position{}
	var out [][]byte
	for i, raw := range lines {
		e, ok := decode(raw)
		if !ok {
			continue
		}
		if i == 0 {
			at = position{e.Seq - 1, e.Prev}
		}
		mac := e.MAC
		e.Seq, e.Prev, e.MAC = at.seq+1, at.hash, ""
		line, err := json.Marshal(e)
		must(t, err)
		if mac != "" {
			line = append(line[:len(line)-1], macMember+mac+`"}`...)
		}
		line = append(line, '\n')
		at = at.next(line)
		out = append(out, line)
	}
	return out
}

// Verify names the file and the line where an audit stops being what was written.
func TestVerifyFindsChanges(t *testing.T) {
	replace := func(lines [][]byte, i int, old, new string) [][]byte {
		lines[i] = bytes.Replace(lines[i], []byte(old), []byte(new), 1)
		return lines
	}
	for _, c := range []struct {
		name string
		file string
		edit func([][]byte) [][]byte
		at   string
		text string
	}{
		{"an edited line", "00000001.jsonl", func(l [][]byte) [][]byte { return replace(l, 1, "alice", "bob") }, "00000001.jsonl:2", "was changed"},
		{"an edited link", "00000001.jsonl", func(l [][]byte) [][]byte { return replace(l, 3, `"prev":"`, `"prev":"0`) }, "00000001.jsonl:4", "no entry"},
		{"a line edited into none", "00000001.jsonl", func(l [][]byte) [][]byte { return replace(l, 2, "{", "") }, "00000001.jsonl:3", "no entry"},
		{"the last line of a file edited", "00000001.jsonl", func(l [][]byte) [][]byte { return replace(l, 5, "checkpoint", "call") }, "00000001.jsonl:6", "was changed"},
		{"an edited checkpoint", "00000002.jsonl", func(l [][]byte) [][]byte { return replace(l, 5, `"time":"2`, `"time":"3`) }, "00000002.jsonl:6", "signature"},
		{"an edited header", "00000002.jsonl", func(l [][]byte) [][]byte { return replace(l, 0, `"start"`, `"fault"`) }, "00000002.jsonl:1", "signature"},
		{"a removed line", "00000001.jsonl", func(l [][]byte) [][]byte { return slices.Delete(l, 2, 3) }, "00000001.jsonl:3", "lines 3 to 3 before this one are missing"},
		{"the removed end of a file", "00000001.jsonl", func(l [][]byte) [][]byte { return l[:4] }, "00000002.jsonl:1", "lines 5 to 6 before this one are missing"},
		{"a removed header", "00000002.jsonl", func(l [][]byte) [][]byte { return l[1:] }, "00000002.jsonl:1", "does not begin"},
		{"a repeated line", "00000001.jsonl", func(l [][]byte) [][]byte { return slices.Insert(l, 3, l[1]) }, "00000001.jsonl:4", "comes again"},
		{"swapped lines", "00000001.jsonl", func(l [][]byte) [][]byte { l[2], l[3] = l[3], l[2]; return l }, "00000001.jsonl:3", "missing"},
		{"a line behind the end of a file", "00000001.jsonl", func(l [][]byte) [][]byte {
			return relink(t, append(l[:6:6], l[4]))
		}, "00000001.jsonl:7", "was added"},
		{"bytes behind the end of a file", "00000001.jsonl", func(l [][]byte) [][]byte { return append(l, []byte(`{"x"`)) }, "00000001.jsonl:7", "4 bytes"},
		{"a chain written again", "00000002.jsonl", func(l [][]byte) [][]byte {
			return relink(t, replace(l, 1, "alice", "bob"))
		}, "00000002.jsonl:6", "signature"},
		{"a chain written again without its checkpoint, and more", "00000002.jsonl", func(l [][]byte) [][]byte {
			for len(l) < signLines+10 {
				l = slices.Insert(l, 5, l[4])
			}
			return relink(t, l[:len(l)-3])
		}, "00000002.jsonl:1002", "checkpoint is missing"},
		{"a chain written again without its checkpoint, for hours", "00000002.jsonl", func(l [][]byte) [][]byte {
			i := bytes.Index(l[4], []byte(`"time":"`)) + len(`"time":"`)
			l[4] = slices.Concat(l[4][:i], []byte("2999"), l[4][i+4:])
			return relink(t, l[:5])
		}, "00000002.jsonl:5", "checkpoint is missing"},
		// What cannot be known: docs/audit.md says so.
		{"all of the last file removed", "00000002.jsonl", func([][]byte) [][]byte { return nil }, "", ""},
		{"the end of the last file removed", "00000002.jsonl", func(l [][]byte) [][]byte { return l[:3] }, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := written(t)
			whole(t, dir)
			path := chainFile1(t, dir, c.file)
			must(t, os.WriteFile(path, bytes.Join(c.edit(linesIn(t, path)), nil), 0o600))
			_, err := Verify(dir, secret)
			var f *Finding
			if c.at == "" {
				if err != nil {
					t.Errorf("%v", err)
				}
				return
			}
			if !errors.As(err, &f) || fmt.Sprintf("%s:%d", filepath.Base(f.File), f.Line) != c.at || !strings.Contains(f.Text, c.text) {
				t.Errorf("the break is %v; want %s and %q", err, c.at, c.text)
			}
		})
	}
}

// Hashes and signatures can be made again from what docs/audit.md says alone.
func TestFormat(t *testing.T) {
	lines := linesIn(t, chainFile1(t, written(t), "00000001.jsonl"))
	hash := sha256.Sum256(lines[1])
	if !bytes.Contains(lines[2], []byte(`"prev":"`+hex.EncodeToString(hash[:])+`"`)) {
		t.Errorf("line 3 does not name line 2: %s", lines[2])
	}
	key := hmac.New(sha256.New, secret)
	key.Write([]byte("resq-audit-lines-v1"))
	m := regexp.MustCompile(`^(.*),"mac":"([0-9a-f]{64})"}\n$`).FindSubmatch(lines[0])
	if m == nil {
		t.Fatalf("%s", lines[0])
	}
	mac := hmac.New(sha256.New, key.Sum(nil))
	mac.Write(append(m[1], '}'))
	if hex.EncodeToString(mac.Sum(nil)) != string(m[2]) {
		t.Errorf("the signature is another: %s", lines[0])
	}
}

// A whole file that is missing in the middle is a break, one at the beginning is told; another secret fits nothing,
// and without one links are checked alone.
func TestVerifyFiles(t *testing.T) {
	dir := written(t)
	l := mustOpen(t, dir, quiet())
	must(t, l.Note(Entry{Event: EventCall}))
	must(t, l.Close())
	if _, err := Verify(dir, []byte("another secret, of a good length")); err == nil || !strings.Contains(err.Error(), "00000001.jsonl:1: the signature") {
		t.Errorf("with another secret: %v", err)
	}
	if _, err := Verify(dir, nil); err != nil {
		t.Errorf("without a secret: %v", err)
	}
	must(t, os.Rename(chainFile1(t, dir, "00000001.jsonl"), filepath.Join(t.TempDir(), "x")))
	if r := whole(t, dir); !strings.Contains(notes(r), "begins with line 7") || r.First != 7 {
		t.Errorf("%+v", r)
	}
	dir = written(t)
	l = mustOpen(t, dir, quiet())
	must(t, l.Note(Entry{Event: EventCall}))
	must(t, l.Close())
	must(t, os.Remove(chainFile1(t, dir, "00000002.jsonl")))
	if _, err := Verify(dir, secret); err == nil || !strings.Contains(err.Error(), "00000003.jsonl:1: the lines 7 to 12 before this one are missing") {
		t.Errorf("%v", err)
	}
	if _, err := Verify(filepath.Join(dir, "nosuch"), secret); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

// A last line that a crash broke off anywhere is told, and the chain goes on from the last whole line.
func TestTornLine(t *testing.T) {
	for _, keep := range []int{0, 1, 40, -1} { // bytes of the last line that are left; -1: all but the line break
		dir := filepath.Join(t.TempDir(), "audit")
		l := mustOpen(t, dir, quiet())
		must(t, l.Intent(engine.Record{Operation: "a"}))
		must(t, l.Note(Entry{Event: EventCall}))
		must(t, l.Close())
		path := chainFile1(t, dir, "00000001.jsonl")
		lines := linesIn(t, path)[:4] // open, intent, call, checkpoint
		n := keep
		if keep < 0 {
			n = len(lines[3]) - 1
		}
		must(t, os.WriteFile(path, append(bytes.Join(lines[:3], nil), lines[3][:n]...), 0o600))
		if r := whole(t, dir); strings.Contains(notes(r), "00000001.jsonl:4: the last line is not whole") != (n > 0) || r.Last != 3 {
			t.Errorf("%d bytes: %+v", n, r)
		}
		l = mustOpen(t, dir, quiet())
		if p := l.Pending(); len(p) != 1 || p[0].Operation != "a" {
			t.Errorf("%d bytes: pending %+v", n, p)
		}
		must(t, l.Outcome(engine.Record{Operation: "a", Code: Recovered}))
		must(t, l.Close())
		r := whole(t, dir)
		if strings.Contains(notes(r), fmt.Sprintf("00000001.jsonl:4: %d bytes of a line that a crash broke off", n)) != (n > 0) || r.Last != 6 {
			t.Errorf("%d bytes: %+v", n, r)
		}
		if !strings.Contains(notes(r), "00000001.jsonl:3: the last 2 lines before the process ended were never signed") {
			t.Errorf("%d bytes: %s", n, notes(r))
		}
	}
}

// A start that was broken off before its first line was whole leaves a file that counts for nothing.
func TestTornHeader(t *testing.T) {
	dir := written(t)
	must(t, os.WriteFile(filepath.Join(filepath.Dir(chainFile1(t, dir, "00000002.jsonl")), "00000003.jsonl"), []byte(`{"time":`), 0o600))
	l := mustOpen(t, dir, quiet())
	must(t, l.Note(Entry{Event: EventCall}))
	must(t, l.Close())
	if r := whole(t, dir); r.Files != 4 || r.Last != 15 || !strings.Contains(notes(r), "00000003.jsonl:1: 8 bytes") {
		t.Errorf("%+v", r)
	}
}

// A clock that goes back, or forth, is told and breaks nothing: numbers keep the order.
func TestClock(t *testing.T) {
	now := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	o := quiet()
	o.now = func() time.Time { return now }
	dir := filepath.Join(t.TempDir(), "audit")
	l := mustOpen(t, dir, o)
	for i, step := range []time.Duration{0, time.Second, -time.Hour, time.Second, 2 * time.Hour, time.Second} {
		now = now.Add(step)
		must(t, l.Intent(engine.Record{Operation: fmt.Sprint(i)}))
	}
	must(t, l.Close())
	r := whole(t, dir)
	if len(r.Notes) != 1 || !strings.Contains(notes(r), "00000001.jsonl:4: the clock went back by 1h0m0s") {
		t.Errorf("notes: %s", notes(r))
	}
	for i, e := range entries(t, dir) {
		if e.Seq != uint64(i+1) {
			t.Errorf("line %d has the number %d", i+1, e.Seq)
		}
	}
}

// Tail gives the last lines of all chains by their times, and follows what is written, into new files and chains.
func TestTail(t *testing.T) {
	now := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	o := quiet()
	o.now = func() time.Time { now = now.Add(time.Second); return now }
	dir := filepath.Join(t.TempDir(), "audit")
	if err := Tail(t.Context(), dir, 1, false, nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("of nothing: %v", err)
	}
	a, b := mustOpen(t, dir, o), mustOpen(t, dir, o)
	say := func(l *Log, text string) { t.Helper(); must(t, l.Note(Entry{Event: EventCall, Detail: text})) }
	for i := range 3 {
		say(a, fmt.Sprint("a", i))
		say(b, fmt.Sprint("b", i))
	}
	var got []string
	each := func(l Line) error {
		if l.Entry.Detail != "" {
			got = append(got, l.Entry.Detail)
		}
		return nil
	}
	must(t, Tail(t.Context(), dir, 3, false, each))
	if !slices.Equal(got, []string{"b1", "a2", "b2"}) {
		t.Errorf("the last three are %q", got)
	}
	got = nil
	ctx, stop := context.WithTimeout(t.Context(), 10*time.Second)
	defer stop()
	must(t, Tail(ctx, dir, 1, true, func(l Line) error {
		must(t, each(l))
		switch l.Entry.Detail {
		case "b2":
			say(a, "a3")
		case "a3":
			must(t, a.Close())
			a = mustOpen(t, dir, o)
			say(a, "a4") // in a new file
		case "a4":
			say(mustOpen(t, dir, o), "c0") // in a new chain
		case "c0":
			stop()
		}
		return nil
	}))
	if !slices.Equal(got, []string{"b2", "a3", "a4", "c0"}) {
		t.Errorf("followed: %q", got)
	}
}

// An export has the lines of its time, as they stand in the files, or as a table that a spreadsheet does not run.
func TestExport(t *testing.T) {
	now := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	o := quiet()
	o.now = func() time.Time { return now }
	dir := filepath.Join(t.TempDir(), "audit")
	l := mustOpen(t, dir, o)
	for i := range 4 {
		must(t, l.Note(Entry{Event: EventCall, Client: "=1+1", Detail: fmt.Sprint(i)}))
		now = now.Add(time.Hour)
	}
	from, to := time.Date(2026, 7, 1, 13, 0, 0, 0, time.UTC), time.Date(2026, 7, 1, 15, 0, 0, 0, time.UTC)
	var b bytes.Buffer
	must(t, Export(&b, dir, from, to, JSONLines))
	raw, err := os.ReadFile(chainFile1(t, dir, "00000001.jsonl"))
	must(t, err)
	if n := bytes.Count(b.Bytes(), []byte(EventCall)); n != 2 || !bytes.Contains(raw, b.Bytes()) {
		t.Errorf("%s", b.Bytes())
	}
	b.Reset()
	must(t, Export(&b, dir, from, to, CSV))
	table, err := csv.NewReader(&b).ReadAll()
	must(t, err)
	if !slices.Equal(table[0], columns) || table[2][3] != EventCall || table[2][7] != "'=1+1" || table[2][0] != "2026-07-01T13:00:00Z" {
		t.Errorf("%q", table)
	}
	if err := Export(&b, dir, from, to, "xml"); err == nil || !strings.Contains(err.Error(), "jsonl, csv") {
		t.Errorf("%v", err)
	}
}
