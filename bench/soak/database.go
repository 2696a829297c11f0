package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A database is a private server of PostgreSQL, MySQL or MariaDB in a temporary directory, which may be killed. It
// holds the shop and the control database. What it has committed outlives its process.
type database struct {
	driver, dir, port string
	cred              *syscall.Credential // servers refuse to run as root
	cmd               *exec.Cmd
	done              chan struct{}
}

const (
	shopDatabase    = "shop"
	controlDatabase = "control"
)

// newDatabase makes and starts a server with two empty databases.
func newDatabase(ctx context.Context, driver string) (*database, error) {
	d := &database{driver: driver}
	if driver != "postgres" && driver != "mysql" {
		return nil, fmt.Errorf("-database %s: use postgres, mysql or sqlite", driver)
	}
	var err error
	if d.dir, err = os.MkdirTemp("", "resq-soak-server-"); err != nil {
		return nil, err
	}
	if err := d.make(ctx); err != nil {
		d.remove()
		return nil, err
	}
	return d, nil
}

func (d *database) make(ctx context.Context) error {
	if os.Getuid() == 0 {
		u, err := user.Lookup(d.driver) // both systems' packages call their user so
		if err != nil {
			if u, err = user.Lookup("nobody"); err != nil {
				return err
			}
		}
		uid, _ := strconv.Atoi(u.Uid)
		gid, _ := strconv.Atoi(u.Gid)
		d.cred = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		if err := os.Chown(d.dir, uid, gid); err != nil {
			return err
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	_, d.port, _ = net.SplitHostPort(l.Addr().String())
	l.Close()
	args := []string{"initdb", "-D", d.data(), "-U", "postgres", "--auth=trust", "-E", "UTF8", "--locale=C.UTF-8", "-N"}
	if d.driver == "mysql" {
		if _, err := exec.LookPath("mariadb-install-db"); err == nil {
			args = []string{"mariadb-install-db", "--no-defaults", "--datadir=" + d.data(), "--auth-root-authentication-method=normal", "--skip-test-db"}
		} else {
			args = []string{"mysqld", "--no-defaults", "--initialize-insecure", "--datadir=" + d.data()}
		}
	}
	install, err := d.command(args[:1], args[1:]...)
	if err != nil {
		return err
	}
	if out, err := install.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", args[0], err, out)
	}
	if err := d.start(ctx); err != nil {
		return err
	}
	for _, name := range []string{shopDatabase, controlDatabase} {
		if _, err := d.ask(ctx, "", "CREATE DATABASE "+name+";"); err != nil {
			return err
		}
	}
	return nil
}

func (d *database) data() string { return filepath.Join(d.dir, "data") }

// dsn is the address of one of its databases.
func (d *database) dsn(name string) string {
	if d.driver == "postgres" {
		return "postgres://postgres@127.0.0.1:" + d.port + "/" + name
	}
	return "mysql://root@127.0.0.1:" + d.port + "/" + name
}

// command finds the first of some programs, which need not be on the path, and runs it as the server's user.
func (d *database) command(names []string, args ...string) (*exec.Cmd, error) {
	for _, n := range names {
		path, err := exec.LookPath(n)
		for _, pattern := range []string{"/usr/sbin/", "/usr/local/sbin/", "/usr/lib/postgresql/*/bin/", "/usr/pgsql-*/bin/", "/opt/homebrew/opt/postgresql@*/bin/"} {
			if list, _ := filepath.Glob(pattern + n); err != nil && len(list) > 0 {
				path, err = slices.Max(list), nil
			}
		}
		if err != nil {
			continue
		}
		if real, err := filepath.EvalSymlinks(path); err == nil && n != "psql" {
			path = real // PostgreSQL looks for its files beside its program
		}
		c := exec.Command(path, args...)
		c.Dir = d.dir
		c.SysProcAttr = &syscall.SysProcAttr{Credential: d.cred, Setpgid: true}
		return c, nil
	}
	return nil, fmt.Errorf("none of %v is installed, and the soak needs a database server of its own (or -database sqlite, without a restart)", names)
}

// start starts the server on its data and its port, and waits until it answers.
func (d *database) start(ctx context.Context) (err error) {
	if d.driver == "postgres" {
		d.cmd, err = d.command([]string{"postgres"}, "-D", d.data(), "-p", d.port, "-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=", "-c", "fsync=off")
	} else {
		init := filepath.Join(d.dir, "init.sql")
		if err := os.WriteFile(init, []byte("CREATE USER IF NOT EXISTS 'root'@'127.0.0.1'; GRANT ALL PRIVILEGES ON *.* TO 'root'@'127.0.0.1' WITH GRANT OPTION;\n"), 0o644); err != nil {
			return err
		}
		d.cmd, err = d.command([]string{"mariadbd", "mysqld"}, "--no-defaults", "--datadir="+d.data(), "--port="+d.port, "--bind-address=127.0.0.1", "--socket="+filepath.Join(d.dir, "sock"),
			"--pid-file="+filepath.Join(d.dir, "pid"), "--init-file="+init, "--character-set-server=utf8mb4", "--skip-log-bin", "--innodb-flush-method=nosync")
	}
	if err != nil {
		return err
	}
	logFile := filepath.Join(d.dir, "server.log")
	log, err := os.OpenFile(logFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	d.cmd.Stdout, d.cmd.Stderr = log, log
	if err := d.cmd.Start(); err != nil {
		return err
	}
	done, cmd := make(chan struct{}), d.cmd
	d.done = done
	go func() {
		_ = cmd.Wait()
		close(done)
	}()
	for end := time.Now().Add(60 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		if _, err = d.ask(ctx, "", "SELECT 1;"); err == nil {
			return nil
		}
		select {
		case <-done:
		case <-ctx.Done():
			return ctx.Err()
		default:
			if time.Now().Before(end) {
				continue
			}
		}
		text, _ := os.ReadFile(logFile)
		return fmt.Errorf("the private server does not answer: %w\n%s", err, text[max(0, len(text)-3000):])
	}
}

// ask runs a script with the system's client and gives what it prints, without headings.
func (d *database) ask(ctx context.Context, name, script string) (string, error) {
	names, args := []string{"psql"}, []string{"-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h", "127.0.0.1", "-p", d.port, "-U", "postgres", "-w", "-d", "postgres"}
	if name != "" {
		args[len(args)-1] = name
	}
	if d.driver == "mysql" {
		names, args = []string{"mariadb", "mysql"}, []string{"--no-defaults", "--default-character-set=utf8mb4", "-N", "-B", "-h", "127.0.0.1", "-P", d.port, "-u", "root"}
		if name != "" {
			args = append(args, name)
		}
	}
	c, err := d.command(names, args...)
	if err != nil {
		return "", err
	}
	var out, errOut bytes.Buffer
	c.Stdin, c.Stdout, c.Stderr = strings.NewReader(script), &out, &errOut
	if err := c.Run(); err != nil {
		return "", fmt.Errorf("%s: %w: %.600s", names[0], errors.Join(err, ctx.Err()), errOut.String())
	}
	return strings.TrimSpace(out.String()), nil
}

// connections is how many connections of others the server has.
func (d *database) connections(ctx context.Context) (int, error) {
	question := "SELECT COUNT(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid();"
	if d.driver == "mysql" {
		question = "SELECT COUNT(*) FROM information_schema.processlist WHERE user = 'root' AND id <> CONNECTION_ID();"
	}
	out, err := d.ask(ctx, "", question)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(out)
}

// kill ends the server and all its processes as kill -9 does.
func (d *database) kill() {
	if d.cmd == nil || d.cmd.Process == nil || d.done == nil {
		return
	}
	select {
	case <-d.done: // it has ended, and the number may be another's
		return
	default:
	}
	_ = syscall.Kill(-d.cmd.Process.Pid, syscall.SIGKILL)
	<-d.done
}

func (d *database) remove() {
	d.kill()
	_ = os.RemoveAll(d.dir)
}
