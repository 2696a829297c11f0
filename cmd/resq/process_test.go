package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// A process is the program in a process of its own.
type process struct {
	t   testing.TB
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
	mu  sync.Mutex
	err bytes.Buffer
}

func start(t testing.TB, args ...string) *process {
	t.Helper()
	p := &process{t: t, cmd: exec.Command(os.Args[0], args...)}
	p.cmd.Env = append(os.Environ(), "RESQ_RUN_MAIN=1")
	p.cmd.Stderr = p
	in, err := p.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.in, p.out = in, bufio.NewReaderSize(out, 1<<20)
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.cmd.Process.Kill() })
	return p
}

func (p *process) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err.Write(b)
}

func (p *process) errors() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err.String()
}

func (p *process) send(line string) { fmt.Fprintln(p.in, line) }

func (p *process) line() string {
	p.t.Helper()
	got := make(chan string, 1)
	go func() {
		s, _ := p.out.ReadString('\n')
		got <- strings.TrimSuffix(s, "\n")
	}()
	select {
	case s := <-got:
		return s
	case <-time.After(20 * time.Second):
		p.t.Fatalf("no output; errors: %s", p.errors())
		return ""
	}
}

func (p *process) wait() int {
	p.t.Helper()
	done := make(chan error, 1)
	go func() { done <- p.cmd.Wait() }()
	select {
	case <-done:
		return p.cmd.ProcessState.ExitCode()
	case <-time.After(15 * time.Second):
		p.t.Fatalf("the program does not end; errors: %s", p.errors())
		return -1
	}
}

// until reads lines up to one that holds a text.
func (p *process) until(text string) []string {
	p.t.Helper()
	var lines []string
	for range 100 {
		s := p.line()
		lines = append(lines, s)
		if strings.Contains(s, text) {
			return lines
		}
	}
	p.t.Fatalf("no %q in %q", text, lines)
	return nil
}
