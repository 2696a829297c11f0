package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// A serverProcess is the program under load.
type serverProcess struct {
	cmd      *exec.Cmd
	outage   *outage
	asking   sync.Mutex // one asks for the status at a time
	url      string
	status   chan sample
	done     chan error
	reloads  atomic.Int64
	bad      atomic.Int64
	errors   atomic.Int64 // records of the level ERROR that no bad save explains
	firstErr atomic.Pointer[string]
}

// A sample is how large the server is at one moment.
type sample struct {
	name       string
	Goroutines int
	HeapBytes  int64 `json:"heap_bytes"`
	rss        int64
	files      int

	connections int // at the database; -1 when it does not answer
}

func startServer(program string, s *shop, r *revoker) (*serverProcess, error) {
	p := &serverProcess{outage: s.outage, cmd: exec.Command(program, "serve", "--http", "127.0.0.1:0", "--config", r.config, "--state", r.state, "--log-format", "json"),
		status: make(chan sample, 1), done: make(chan error, 1)}
	p.cmd.Env = s.environment()
	log, err := p.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	address := make(chan string, 1)
	go p.read(log, address)
	select {
	case a := <-address:
		p.url = "http://" + a + "/mcp"
		return p, nil
	case err := <-p.done:
		return nil, fmt.Errorf("the server ended: %w", err)
	case <-time.After(20 * time.Second):
		p.kill()
		return nil, errors.New("the server does not listen")
	}
}

// read follows the log. Most records are of calls, so only those of interest are taken apart.
func (p *serverProcess) read(log io.Reader, address chan<- string) {
	lines := bufio.NewScanner(log)
	lines.Buffer(make([]byte, 0, 64<<10), 4<<20)
	for lines.Scan() {
		b := lines.Bytes()
		switch {
		case bytes.Contains(b, []byte(`"msg":"status"`)):
			var m sample
			if json.Unmarshal(b, &m) == nil {
				p.status <- m
			}
		case bytes.Contains(b, []byte(`"msg":"listening"`)):
			var l struct{ Address string }
			if json.Unmarshal(b, &l) == nil {
				address <- l.Address
			}
		case bytes.Contains(b, []byte(`"msg":"catalog reloaded"`)):
			p.reloads.Add(1)
		case bytes.Contains(b, []byte(`"msg":"not reloaded`)):
			p.bad.Add(1)
		case bytes.Contains(b, []byte(`"level":"ERROR"`)) && !bytes.Contains(b, []byte(`context canceled`)):
			if p.outage.takes(b) {
				continue
			}
			p.errors.Add(1)
			s := string(b)
			p.firstErr.CompareAndSwap(nil, &s)
		}
	}
	p.done <- p.cmd.Wait()
}

// measure asks the server and the system how large it is.
func (p *serverProcess) measure() (sample, error) {
	p.asking.Lock()
	defer p.asking.Unlock()
	if err := p.cmd.Process.Signal(syscall.SIGUSR1); err != nil {
		return sample{}, fmt.Errorf("the server has ended: %w", err)
	}
	var m sample
	select {
	case m = <-p.status:
	case <-time.After(20 * time.Second):
		return m, errors.New("the server does not tell its status")
	}
	proc := filepath.Join("/proc", strconv.Itoa(p.cmd.Process.Pid))
	if files, err := os.ReadDir(filepath.Join(proc, "fd")); err == nil {
		m.files = len(files)
	}
	if status, err := os.ReadFile(filepath.Join(proc, "status")); err == nil {
		for _, line := range strings.Split(string(status), "\n") {
			if f := strings.Fields(line); len(f) > 1 && f[0] == "VmRSS:" {
				kb, _ := strconv.ParseInt(f[1], 10, 64) // 0 says that it is not known
				m.rss = kb << 10
			}
		}
	}
	return m, nil
}

// end asks the server to end and says how it did.
func (p *serverProcess) end() error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case err := <-p.done:
		p.done <- err
		return err
	case <-time.After(15 * time.Second):
		return errors.New("it does not end within 15 seconds")
	}
}

func (p *serverProcess) kill() { _ = p.cmd.Process.Kill() }
