//go:build failpoint

package faults

import (
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"resq/engine"
	"resq/engine/dialect/mysql"
	"resq/engine/dialect/postgres"
	"resq/engine/policy"
	"resq/schema"
	"resq/testdb"
	"resq/testdb/proxy"
)

// commits matches the packet of a COMMIT, and not those of READ COMMITTED.
var commits = regexp.MustCompile(`(?i)commit(\x00|$)`)

// networked are the databases behind a network.
func networked(t *testing.T, f func(t *testing.T, on testdb.Engine)) {
	t.Helper()
	for _, on := range testdb.Engines(t) {
		if on.Name != testdb.SQLite {
			t.Run(on.Name, func(t *testing.T) { f(t, on) })
		}
	}
}

// sizeOf is how many bytes the audit of a state has.
func sizeOf(dir string) (n int64) {
	_ = filepath.WalkDir(filepath.Join(dir, "audit"), func(_ string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			if i, err := d.Info(); err == nil {
				n += i.Size()
			}
		}
		return nil
	})
	return n
}

// D2: the database dies when the write is about to be committed. Nothing is applied, and the same token succeeds when it
// is back.
func TestD2DatabaseDiesBeforeCommit(t *testing.T) {
	networked(t, func(t *testing.T, on testdb.Engine) {
		db := privateServer(t, on.Name)
		p := newPlace(t, db.on)
		s := p.serve(0, "before-commit:100:sleep")
		c := s.client(annKey)
		args := change(1, 7)
		token := func() string { // the preview has a commit of its own
			x, _ := c.propose(t, args)
			return x
		}()
		before := sizeOf(p.state(0))
		got := make(chan reply, 1)
		go func() { got <- c.must(t, "res-update", confirmed(args, token)) }()
		eventually(t, "intent", func() bool { return sizeOf(p.state(0)) > before })
		time.Sleep(100 * time.Millisecond)
		db.kill()
		wants(t, "the database is dead", <-got, "OUTCOME_UNKNOWN", "")
		db.ensure(t)
		if n := p.value(1); n != 0 {
			t.Fatalf("the account has %d without a commit", n)
		}
		r := c.must(t, "res-update", confirmed(args, token))
		for range 5 {
			if !again[r.code] {
				break
			}
			r = c.must(t, "res-update", confirmed(args, token))
		}
		wants(t, "the database is back", r, "", "")
		if n := p.value(1); n != 7 {
			t.Errorf("the account has %d", n)
		}
		s.stop()
		p.serve(0, "").stop()
		p.audit(1)
	})
}

// D3: the connection breaks after the COMMIT was sent, and nothing of its answer arrives. The write has happened once;
// the call itself finds out, or the same call once more.
func TestD3ConnectionBreaksAtCommit(t *testing.T) {
	networked(t, func(t *testing.T, on testdb.Engine) {
		p := newPlace(t, on)
		x, through := proxy.Front(t, p.direct)
		p.reach(through)
		s := p.serve(0, "")
		c := s.client(annKey)
		for i, fault := range []struct {
			name string
			do   func()
			code string // of the first answer
		}{
			{"the answer is lost, and the connection with it", func() {
				x.Deafen()
				go func() {
					time.Sleep(50 * time.Millisecond)
					x.Reset()
					x.Heal()
				}()
			}, ""},
			{"the answer is cut after a byte", func() { x.CutAfter(1); time.AfterFunc(50*time.Millisecond, x.Heal) }, ""},
			{"the server closes its half", x.HalfClose, ""},
			{"nothing comes through for long", x.Deafen, "OUTCOME_UNKNOWN"},
		} {
			args := change(1, i+1)
			token, op := c.propose(t, args)
			once := sync.Once{}
			x.OnSend(func(b []byte) {
				if commits.Match(b) {
					once.Do(fault.do)
				}
			})
			wants(t, fault.name, c.must(t, "res-update", confirmed(args, token)), fault.code, "")
			x.Heal()
			x.Reset()
			r := c.must(t, "res-update", confirmed(args, token))
			for again[r.code] {
				time.Sleep(10 * time.Millisecond)
				r = c.must(t, "res-update", confirmed(args, token))
			}
			wants(t, fault.name+", asked again", r, "", "")
			if !strings.Contains(r.text, `"replayed":true`) {
				t.Errorf("%s: asked again: %s", fault.name, r)
			}
			if r := c.must(t, "res-operation", fmt.Sprintf(`{"op_id":%q}`, op)); !strings.Contains(r.text, `"state":"applied"`) {
				t.Errorf("%s: the operation: %s", fault.name, r)
			}
			if n := p.value(1); n != i+1 {
				t.Errorf("%s: the account has %d", fault.name, n)
			}
			key := fmt.Sprintf(`{"resource":"Entry","data":{"code":"e%d"},"idempotency_key":"k%d"}`, i, i)
			once = sync.Once{}
			x.OnSend(func(b []byte) {
				if commits.Match(b) {
					once.Do(fault.do)
				}
			})
			wants(t, fault.name+", a creation", c.must(t, "res-create", key), fault.code, "")
			x.Heal()
			x.Reset()
			if r = c.must(t, "res-create", key); again[r.code] {
				r = c.must(t, "res-create", key)
			}
			wants(t, fault.name+", a creation, asked again", r, "", "")
		}
		s.stop()
		p.serve(0, "").stop()
		b := p.audit(1)
		if b.changed != 4 || b.created != 4 {
			t.Errorf("%+v", b)
		}
		t.Logf("%+v", b)
	})
}

// inProcess opens an engine of this process on a place.
func inProcess(t *testing.T, p *place, dsn string, more ...func(o *engine.Options)) *engine.Engine {
	t.Helper()
	p.reach(dsn)
	cat, err := schema.Load([]string{filepath.Join(p.dir, "catalog.yaml")}, schema.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	o := engine.Options{Drivers: drivers(), Secret: []byte(secret), Timeout: time.Second,
		Writes: engine.WriteLimits{Timeout: 2 * time.Second, PreviewsPerMinute: -1, LivePreviews: 1000, RowsPerHour: -1}}
	for _, f := range more {
		f(&o)
	}
	e, err := engine.New(cat, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

var ann = &policy.Principal{Name: "ann", Key: "k1", Scopes: []string{"read", "write", "delete"}, Attributes: map[string]policy.Value{"owner": policy.One("1")}}

// ask makes a call of an engine in this process.
func ask(t *testing.T, e *engine.Engine, who *policy.Principal, tool, args string) reply {
	t.Helper()
	var a *engine.Answer
	var err error
	if tool == "res-query" {
		a, err = e.Query(t.Context(), who, []byte(args))
	} else {
		a, err = e.Write(t.Context(), who, engine.Call{Tool: tool, Args: []byte(args)})
	}
	return toldBy(a, err)
}

// proposal previews a change in this process and gives its token.
func proposal(t *testing.T, e *engine.Engine, args string) string {
	t.Helper()
	r := ask(t, e, ann, "res-update", args)
	token, _ := tokenOf(r)
	if token == "" {
		t.Fatalf("no preview: %s", r)
	}
	return token
}

// D4: the network swallows everything. Reads and writes end at their deadline, with TIMEOUT or a word that the outcome
// is unknown, nothing is left behind, and all is well when the network is back.
func TestD4BlackHole(t *testing.T) {
	networked(t, func(t *testing.T, on testdb.Engine) {
		p := newPlace(t, on)
		x, through := proxy.Front(t, p.direct)
		e := inProcess(t, p, through)
		read := `{"resource":"Account","fields":[{"code":"n"}],"conditions":{"type":"and","exprs":[{"field":"id","operator":"=","token":"1"}]},"total":true}`
		wants(t, "a read", ask(t, e, ann, "res-query", read), "", "")
		args := change(1, 1)
		token := proposal(t, e, args)
		settle := func() int { // connections that were given up end on their own within a while
			n := 0
			for range 200 {
				if n = runtime.NumGoroutine(); n <= 40 {
					break
				}
				time.Sleep(50 * time.Millisecond)
			}
			return n
		}
		before := settle()
		begun := func(what string, most time.Duration, f func() reply, codes ...string) {
			t.Helper()
			start := time.Now()
			r := f()
			if took := time.Since(start); took > most {
				t.Errorf("%s took %v", what, took)
			}
			for _, c := range codes {
				if r.code == c {
					told(t, r.text)
					return
				}
			}
			t.Errorf("%s: want %v, got %s", what, codes, r)
		}
		x.BlackHole()
		begun("a read", 5*time.Second, func() reply { return ask(t, e, ann, "res-query", read) }, "TIMEOUT")
		begun("a confirmed change", 6*time.Second, func() reply { return ask(t, e, ann, "res-update", confirmed(args, token)) }, "TIMEOUT")
		x.Heal()
		x.Reset()
		eventually(t, "answer after the black hole", func() bool { return ask(t, e, ann, "res-query", read).code == "" })
		once := sync.Once{}
		x.OnSend(func(b []byte) {
			if commits.Match(b) {
				once.Do(x.BlackHole)
			}
		})
		begun("a commit", 10*time.Second, func() reply { return ask(t, e, ann, "res-update", confirmed(args, token)) }, "OUTCOME_UNKNOWN")
		x.Heal()
		x.Reset()
		eventually(t, "write after the black hole", func() bool { return ask(t, e, ann, "res-update", confirmed(args, token)).code == "" })
		if n, changed := p.value(1), p.scalar("SELECT COUNT(*) FROM changed"); n != 1 || changed != 1 {
			t.Errorf("the account has %d after %d changes", n, changed)
		}
		x.BlackHole()
		begun("closing", 6*time.Second, func() reply { e.Close(); return reply{} }, "")
		x.Reset()
		time.Sleep(200 * time.Millisecond)
		after := 0
		for range 100 {
			if after = runtime.NumGoroutine(); after <= before {
				break
			}
			time.Sleep(50 * time.Millisecond)
		}
		if after > before {
			stacks := make([]byte, 1<<20)
			t.Errorf("%d goroutines before, %d after\n%s", before, after, stacks[:runtime.Stack(stacks, true)])
		}
	})
}

// D7: a deadlock with a writer of another program, a lock that it keeps for a while, and one that it keeps for long.
func TestD7Locks(t *testing.T) {
	networked(t, func(t *testing.T, on testdb.Engine) {
		p := newPlace(t, on)
		e := inProcess(t, p, p.direct, func(o *engine.Options) { o.Writes.Timeout = 3 * time.Second })
		db := testdb.Open(t, p.on, p.direct)
		begin := func() *sql.Tx {
			tx, err := db.Begin()
			if err != nil {
				t.Fatal(err)
			}
			return tx
		}
		hold := func(tx *sql.Tx, id int) error {
			_, err := tx.Exec(fmt.Sprintf("UPDATE account SET note = 'held' WHERE id = %d", id))
			return err
		}
		both := func(n int) string { return fmt.Sprintf(`{"resource":"Account","ids":[1,2],"data":{"n":%d}}`, n) }
		deadlocks := 0
		for i := 1; i <= 3; i++ { // we lock 1 and want 2; the other has 2 and wants 1
			// The version of a row must not move on under the preview, so the other one changes nothing and ends its
			// transaction with a rollback.
			args := both(i)
			token := proposal(t, e, args)
			tx := begin()
			if err := hold(tx, 2); err != nil {
				t.Fatal(err)
			}
			got := make(chan reply, 1)
			go func() { got <- ask(t, e, ann, "res-update", confirmed(args, token)) }()
			eventually(t, "lock of ours", func() bool { // from then on it is a deadlock
				rows, err := db.Query("SELECT id FROM account WHERE id = 1 FOR UPDATE NOWAIT")
				if err == nil {
					for rows.Next() {
						continue
					}
					err = rows.Err()
					rows.Close()
				}
				return err != nil
			})
			if err := hold(tx, 1); err != nil {
				deadlocks++
			}
			_ = tx.Rollback()
			wants(t, "a deadlock", <-got, "", "")
			if n := p.value(2); n != i {
				t.Errorf("the account has %d, want %d", n, i)
			}
		}
		args := both(10)
		token := proposal(t, e, args)
		tx := begin()
		if err := hold(tx, 2); err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(2*time.Second, func() { _ = tx.Rollback() }) // a lock is waited for half of that
		wants(t, "a lock that is kept for a while", ask(t, e, ann, "res-update", confirmed(args, token)), "", "")
		args = both(11)
		token = proposal(t, e, args)
		tx = begin()
		if err := hold(tx, 2); err != nil {
			t.Fatal(err)
		}
		wants(t, "a lock that is kept for long", ask(t, e, ann, "res-update", confirmed(args, token)), "CONFLICT", "busy")
		_ = tx.Rollback()
		wants(t, "the lock is gone", ask(t, e, ann, "res-update", confirmed(args, token)), "", "")
		if n := p.value(1); n != 11 {
			t.Errorf("the account has %d", n)
		}
		t.Logf("the database gave up the other writer in %d of 3 deadlocks, and ours in the rest", deadlocks)
	})
}

// D8: the server takes no writes. They are refused and change nothing, reads go on, and when the server takes writes
// again the same token succeeds.
func TestD8ReadOnlyServer(t *testing.T) {
	networked(t, func(t *testing.T, on testdb.Engine) {
		db := privateServer(t, on.Name)
		p := newPlace(t, db.on)
		admin := testdb.Open(t, db.on, db.on.DSN)
		dsn := p.direct
		if on.Name == testdb.MySQL { // the lock does not hold for those who may set it
			u, _ := url.Parse(dsn)
			u.User = url.User("app")
			dsn = u.String()
			for _, q := range []string{"CREATE USER IF NOT EXISTS 'app'@'127.0.0.1'", "GRANT SELECT, INSERT, UPDATE, DELETE ON " + strings.TrimPrefix(u.Path, "/") + ".* TO 'app'@'127.0.0.1'"} {
				if _, err := admin.Exec(q); err != nil {
					t.Fatal(err)
				}
			}
		}
		readOnly := func(is bool) {
			t.Helper()
			if on.Name == testdb.MySQL {
				if _, err := admin.Exec(fmt.Sprintf("SET GLOBAL read_only = %d", map[bool]int{true: 1}[is])); err != nil {
					t.Fatal(err)
				}
				return
			}
			// A standby without a primary is what a server is before it is promoted.
			signal := filepath.Join(db.dir, "data", "standby.signal")
			if !is {
				if _, err := admin.Exec("SELECT pg_promote()"); err != nil {
					t.Fatal(err)
				}
				return
			}
			if _, err := admin.Exec("CHECKPOINT"); err != nil {
				t.Fatal(err)
			}
			db.kill()
			if err := os.WriteFile(signal, nil, 0o644); err != nil {
				t.Fatal(err)
			}
			if db.cred != nil {
				if err := os.Chown(signal, int(db.cred.Uid), int(db.cred.Gid)); err != nil {
					t.Fatal(err)
				}
			}
			db.ensure(t)
		}
		p.reach(dsn)
		s := p.serve(0, "")
		c := s.client(annKey)
		args := change(1, 5)
		token, _ := c.propose(t, args)
		readOnly(true)
		defer func() {
			if t.Failed() {
				_ = os.Remove(filepath.Join(db.dir, "data", "standby.signal"))
				db.kill()
			}
		}()
		for range 3 {
			wants(t, "a preview", persistentRead(t, c, "res-update", change(2, 5)), "UPSTREAM_UNAVAILABLE", "")
			wants(t, "a confirmed change", c.must(t, "res-update", confirmed(args, token)), "UPSTREAM_UNAVAILABLE", "")
			wants(t, "a creation", c.must(t, "res-create", `{"resource":"Entry","data":{"code":"x"},"idempotency_key":"x"}`), "UPSTREAM_UNAVAILABLE", "")
			wants(t, "a read", persistentRead(t, c, "res-query", `{"resource":"Account","fields":[{"code":"n"}]}`), "", "")
		}
		readOnly(false)
		eventually(t, "write after the failover", func() bool {
			return c.must(t, "res-update", confirmed(args, token)).code == ""
		})
		if n := p.value(1); n != 5 {
			t.Errorf("the account has %d", n)
		}
		s.stop()
		p.serve(0, "").stop()
		p.audit(1)
	})
}

// persistentRead asks once more where the first call finds the connections dead that the server's restart has ended. It
// leaves the server time between two calls, which would otherwise be over before it has found any connection.
func persistentRead(t *testing.T, c *client, tool, args string) reply {
	t.Helper()
	r := c.must(t, tool, args)
	for i := 0; i < 20 && r.code != "" && tool == "res-query"; i++ {
		time.Sleep(20 * time.Millisecond)
		r = c.must(t, tool, args)
	}
	return r
}

func drivers() []engine.Driver { return []engine.Driver{mysql.New(), postgres.New(), sqliteDriver()} }

// toldBy gives what an engine said in the form of a reply.
func toldBy(a *engine.Answer, err error) reply {
	if err != nil {
		return problemReply(err)
	}
	r, _ := answerReply(a.Text)
	return r
}
