//go:build failpoint && linux

package faults

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"resq/registry"
	"resq/testdb"
)

// limitFiles bounds the size of the files that a process writes, as a disk that is full does; below zero it lifts the
// bound.
func (p *process) limitFiles(size int64) {
	p.t.Helper()
	const fileSize = 1 // RLIMIT_FSIZE
	limit := syscall.Rlimit{Cur: uint64(size), Max: ^uint64(0)}
	if size < 0 {
		limit.Cur = ^uint64(0)
	}
	if _, _, no := syscall.RawSyscall6(syscall.SYS_PRLIMIT64, uintptr(p.cmd.Process.Pid), fileSize, uintptr(unsafe.Pointer(&limit)), 0, 0, 0); no != 0 {
		p.t.Fatal(no)
	}
}

const readOne = `{"resource":"Account","fields":[{"code":"n"}],"limit":1}`

// S1: the disk of the audit is full. Writes are refused before their commit, reads go on, and when there is room again the
// same tokens work.
func TestS1AuditDiskFull(t *testing.T) {
	networked(t, func(t *testing.T, on testdb.Engine) {
		p := newPlace(t, on)
		s := p.serve(0, "")
		c := s.client(annKey)
		first := change(1, 1)
		token, _ := c.propose(t, first)
		wants(t, "before", c.must(t, "res-update", confirmed(first, token)), "", "")
		for i, room := range []int64{0, 40, 300} { // nothing fits, a piece of a line, or nearly all of it
			args := change(2, i+1)
			token, _ := c.propose(t, args)
			s.limitFiles(largest(t, p) + room)
			for range 3 {
				wants(t, "a confirmed change", c.must(t, "res-update", confirmed(args, token)), "AUDIT_UNAVAILABLE", "")
				wants(t, "a creation", c.must(t, "res-create", fmt.Sprintf(`{"resource":"Entry","data":{"code":"e%d"},"idempotency_key":"e%d"}`, i, i)), "AUDIT_UNAVAILABLE", "")
			}
			wants(t, "a read", c.must(t, "res-query", readOne), "", "")
			if n, m := p.value(2), p.scalar("SELECT COUNT(*) FROM entry"); n != i || m != i {
				t.Fatalf("with a full disk the account has %d, and there are %d entries", n, m)
			}
			s.limitFiles(-1)
			wants(t, "there is room again", c.must(t, "res-update", confirmed(args, token)), "", "")
			wants(t, "a creation, with room again", c.must(t, "res-create", fmt.Sprintf(`{"resource":"Entry","data":{"code":"e%d"},"idempotency_key":"e%d"}`, i, i)), "", "")
		}
		if code := s.stop(); code != 0 {
			t.Errorf("the server ended with %d", code)
		}
		p.serve(0, "").stop()
		p.audit(1)
	})
}

// largest is the size of the largest file of the audit, the one that is written.
func largest(t *testing.T, p *place) (n int64) {
	files, _ := filepath.Glob(filepath.Join(p.state(0), "audit", "*", "*.jsonl"))
	for _, f := range files {
		if i, err := os.Stat(f); err == nil {
			n = max(n, i.Size())
		}
	}
	return n
}

// S2: the disk of a SQLite database is full. Writes are refused and rolled back, the database stays whole, reads go on, and
// when there is room again the same tokens work.
func TestS2DataDiskFull(t *testing.T) {
	on := testdb.Engine{Name: testdb.SQLite}
	p := newPlace(t, on)
	s := p.serve(0, "")
	c := s.client(annKey)
	var args, tokens []string
	for i := 1; i <= 8; i++ { // each wants about 15 pages
		a := fmt.Sprintf(`{"resource":"Account","ids":[%d],"data":{"n":%d,"note":%q}}`, i, i, strings.Repeat(string(rune('a'+i)), 60_000))
		token, _ := c.propose(t, a)
		args, tokens = append(args, a), append(tokens, token)
	}
	path := strings.TrimPrefix(p.direct, "sqlite:")
	size := func() int64 {
		i, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return i.Size()
	}
	full := 0
	for i := range args {
		s.limitFiles(size() + []int64{0, 4096, 20480, 40960}[i%4])
		for range 2 {
			r := c.must(t, "res-update", confirmed(args[i], tokens[i]))
			if r.failed {
				full++
			}
			wants(t, "a change without room", r, "UPSTREAM_UNAVAILABLE", "")
		}
		wants(t, "a read", c.must(t, "res-query", readOne), "", "")
		if n := p.value(i + 1); n != 0 {
			t.Fatalf("with a full disk the account has %d", n)
		}
		if got := p.integrity(); got != "ok" {
			t.Fatalf("the database is damaged: %s", got)
		}
		s.limitFiles(-1)
		wants(t, "there is room again", c.must(t, "res-update", confirmed(args[i], tokens[i])), "", "")
		if n := p.value(i + 1); n != i+1 {
			t.Errorf("the account has %d, want %d", n, i+1)
		}
	}
	t.Logf("%d writes met a full disk", full)
	if code := s.stop(); code != 0 {
		t.Errorf("the server ended with %d", code)
	}
	p.serve(0, "").stop()
	p.audit(1)
}

func (p *place) integrity() (text string) {
	p.t.Helper()
	db := testdb.Open(p.t, p.on, p.direct)
	defer db.Close()
	if err := db.QueryRow("PRAGMA integrity_check").Scan(&text); err != nil {
		p.t.Fatal(err)
	}
	return text
}

// S3: an fsync of the audit fails. The write is not made, the file is given up, and the next intents stand in another one.
func TestS3FsyncFails(t *testing.T) {
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		p := newPlace(t, on)
		broken := filepath.Join(p.dir, "the disk is broken")
		t.Setenv("RESQ_FAIL_FSYNC", broken)
		s := p.serve(0, "")
		c := s.client(annKey)
		for i := 1; i <= 3; i++ {
			args := change(1, i)
			token, _ := c.propose(t, args)
			if err := os.WriteFile(broken, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				wants(t, "a change that cannot be recorded", c.must(t, "res-update", confirmed(args, token)), "AUDIT_UNAVAILABLE", "")
			}
			wants(t, "a read", c.must(t, "res-query", readOne), "", "")
			if n := p.value(1); n != i-1 {
				t.Fatalf("the account has %d", n)
			}
			if err := os.Remove(broken); err != nil {
				t.Fatal(err)
			}
			wants(t, "the disk is well", c.must(t, "res-update", confirmed(args, token)), "", "")
		}
		files, _ := filepath.Glob(filepath.Join(p.state(0), "audit", "*", "*.jsonl"))
		if len(files) < 7 { // six failures, each of which ends a file
			t.Errorf("the audit has %d files", len(files))
		}
		s.stop()
		p.audit(1)
		if r, err := registry.Verify(filepath.Join(p.state(0), "audit"), []byte(secret)); err != nil {
			t.Errorf("%+v: %v", r, err)
		}
	})
}
