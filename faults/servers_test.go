//go:build failpoint

package faults

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"sort"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"resq/testdb"
)

// A server is a database server of the tests' own, which may be killed and told to take no writes. Those of the
// machine are left alone. What it has committed outlives its process, but not a loss of power.
type server struct {
	on   testdb.Engine
	dir  string
	port string
	cred *syscall.Credential // servers refuse to run as root
	cmd  *exec.Cmd
	done chan struct{}
}

var (
	private   = map[string]*server{}
	privateMu sync.Mutex
)

// privateServer gives the private server of a system, made when it is first asked for and kept for other tests.
func privateServer(t *testing.T, name string) *server {
	t.Helper()
	privateMu.Lock()
	defer privateMu.Unlock()
	if s := private[name]; s != nil {
		s.ensure(t)
		return s
	}
	dir, err := os.MkdirTemp("", "resq-server-")
	if err != nil {
		t.Fatal(err)
	}
	s := &server{dir: dir, on: testdb.Engine{Name: name}}
	private[name] = s
	if os.Getuid() == 0 {
		u, err := user.Lookup(map[string]string{testdb.MySQL: "mysql", testdb.Postgres: "postgres"}[name])
		if err != nil {
			if u, err = user.Lookup("nobody"); err != nil {
				t.Fatal(err)
			}
		}
		uid, _ := strconv.Atoi(u.Uid)
		gid, _ := strconv.Atoi(u.Gid)
		s.cred = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		if err := os.Chown(dir, uid, gid); err != nil {
			t.Fatal(err)
		}
	}
	_, s.port, _ = net.SplitHostPort(freeAddress(t))
	data := filepath.Join(dir, "data")
	if name == testdb.Postgres {
		s.on.DSN = "postgres://postgres@127.0.0.1:" + s.port + "/postgres"
		s.run(t, program(t, "initdb"), "-D", data, "-U", "postgres", "--auth=trust", "-E", "UTF8", "--locale=C.UTF-8", "-N")
	} else {
		s.on.DSN = "mysql://root@127.0.0.1:" + s.port + "/"
		if install, err := exec.LookPath("mariadb-install-db"); err == nil {
			s.run(t, install, "--no-defaults", "--datadir="+data, "--auth-root-authentication-method=normal", "--skip-test-db")
		} else {
			s.run(t, program(t, "mysqld"), "--no-defaults", "--initialize-insecure", "--datadir="+data)
		}
	}
	s.ensure(t)
	return s
}

// program finds a program of a database, which need not be on the path.
func program(t *testing.T, names ...string) string {
	t.Helper()
	for _, n := range names {
		if path, err := exec.LookPath(n); err == nil {
			return path
		}
		var found []string
		for _, pattern := range []string{"/usr/sbin/", "/usr/local/sbin/", "/usr/lib/postgresql/*/bin/", "/usr/pgsql-*/bin/", "/opt/homebrew/opt/postgresql@*/bin/"} {
			list, _ := filepath.Glob(pattern + n)
			found = append(found, list...)
		}
		if sort.Strings(found); len(found) > 0 {
			return found[len(found)-1]
		}
	}
	t.Fatalf("none of %v is installed, and the fault tests need a server of their own", names)
	return ""
}

func (s *server) command(path string, args ...string) *exec.Cmd {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real // PostgreSQL looks for its files beside its program
	}
	c := exec.Command(path, args...)
	c.Dir = s.dir
	c.SysProcAttr = &syscall.SysProcAttr{Credential: s.cred, Setpgid: true}
	return c
}

func (s *server) run(t *testing.T, path string, args ...string) {
	t.Helper()
	if out, err := s.command(path, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", path, err, out)
	}
}

// ensure starts the server where it does not run, and waits until it answers.
func (s *server) ensure(t *testing.T) {
	t.Helper()
	if s.done != nil {
		select {
		case <-s.done:
		default:
			return
		}
	}
	data := filepath.Join(s.dir, "data")
	if s.on.Name == testdb.Postgres {
		s.cmd = s.command(program(t, "postgres"), "-D", data, "-p", s.port, "-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=", "-c", "fsync=off")
	} else {
		init := filepath.Join(s.dir, "init.sql")
		if err := os.WriteFile(init, []byte("CREATE USER IF NOT EXISTS 'root'@'127.0.0.1'; GRANT ALL PRIVILEGES ON *.* TO 'root'@'127.0.0.1' WITH GRANT OPTION;\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		s.cmd = s.command(program(t, "mariadbd", "mysqld"), "--no-defaults", "--datadir="+data, "--port="+s.port, "--bind-address=127.0.0.1", "--socket="+filepath.Join(s.dir, "sock"),
			"--init-file="+init, "--character-set-server=utf8mb4", "--skip-log-bin", "--innodb-flush-log-at-trx-commit=1", "--innodb-flush-method=nosync")
	}
	log, err := os.OpenFile(filepath.Join(s.dir, "server.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	s.cmd.Stdout, s.cmd.Stderr = log, log
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	log.Close()
	s.done = make(chan struct{})
	go func(c *exec.Cmd, done chan struct{}) {
		_ = c.Wait()
		close(done)
	}(s.cmd, s.done)
	for end := time.Now().Add(60 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		if s.answers() {
			return
		}
		select {
		case <-s.done:
		default:
			if time.Now().Before(end) {
				continue
			}
		}
		text, _ := os.ReadFile(filepath.Join(s.dir, "server.log"))
		t.Fatalf("the private server of %s does not answer:\n%s", s.on.Name, text[max(0, len(text)-3000):])
	}
}

func (s *server) answers() bool {
	db := testdb.OpenServer(s.on)
	defer db.Close()
	return db.Ping() == nil
}

// kill ends the server and all its processes as kill -9 does.
func (s *server) kill() {
	if s.cmd == nil || s.cmd.Process == nil {
		return
	}
	_ = syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL)
	<-s.done
}

// stopServers ends what privateServer began.
func stopServers() {
	for _, s := range private {
		s.kill()
		if err := os.RemoveAll(s.dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
}
