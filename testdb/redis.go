package testdb

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// A Redis is a server of one test's own, which it may kill and start again.
type Redis struct {
	// URL is where it listens: a socket, so that no port is taken.
	URL string

	t      testing.TB
	socket string
	cmd    *exec.Cmd
}

// StartRedis starts a Redis without anything in it, which ends with the test. Where the program is not installed the test is
// skipped, and fails where nothing may be left out.
func StartRedis(t testing.TB) *Redis {
	t.Helper()
	if _, err := exec.LookPath("redis-server"); err != nil {
		Skip(t, "there is no redis-server to start")
	}
	dir, err := os.MkdirTemp("", "resq-redis-") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	r := &Redis{t: t, socket: filepath.Join(dir, "s"), URL: "unix://" + filepath.Join(dir, "s")}
	t.Cleanup(func() { r.Kill(); os.RemoveAll(dir) })
	r.Start()
	return r
}

// Start starts it after Kill, with nothing of what was in it.
func (r *Redis) Start() {
	r.t.Helper()
	r.cmd = exec.Command("redis-server", "--port", "0", "--unixsocket", r.socket, "--save", "", "--appendonly", "no", "--dir", filepath.Dir(r.socket))
	if err := r.cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	for range 500 {
		if c, err := net.Dial("unix", r.socket); err == nil {
			c.Close()
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	r.t.Fatal("redis-server does not listen")
}

// Kill ends it as a crash does.
func (r *Redis) Kill() {
	if r.cmd == nil || r.cmd.Process == nil {
		return
	}
	_ = r.cmd.Process.Kill()
	_ = r.cmd.Wait()
	_ = os.Remove(r.socket)
}
