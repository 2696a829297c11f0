//go:build failpoint

package faults

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"resq/testdb"
)

// P1: a token outlives the process that gave it.
func TestP1KillBetweenPreviewAndCommit(t *testing.T) {
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		p := newPlace(t, on)
		for i := 1; i <= 5; i++ {
			s := p.serve(0, "")
			args := change(1, i)
			token, _ := s.client(annKey).propose(t, args)
			s.kill()
			s = p.serve(0, "")
			wants(t, "after the restart", s.client(annKey).must(t, "res-update", confirmed(args, token)), "", "")
			s.kill()
			if n := p.value(1); n != i {
				t.Fatalf("the account has %d, want %d", n, i)
			}
		}
		p.serve(0, "").stop()
		p.audit(1)
	})
}

// points are where a process is killed on its way through a write.
const points = "before-write:%d,before-intent:%d,after-intent:%d,before-commit:%d,after-commit:%d,after-outcome:%d"

// A keeper runs a server again and again at one address.
type keeper struct {
	p      *place
	addr   string
	faults func() string
	kills  atomic.Int64

	mu  sync.Mutex
	now *process
	end bool
	all sync.WaitGroup
}

func keep(p *place, faults func() string) *keeper {
	k := &keeper{p: p, addr: freeAddress(p.t), faults: faults}
	k.now = p.serveAt(k.addr, 0, faults())
	k.all.Go(k.run)
	return k
}

// run starts the server anew whenever it was killed.
func (k *keeper) run() {
	for {
		k.mu.Lock()
		s := k.now
		k.mu.Unlock()
		<-s.done
		k.mu.Lock()
		if k.end {
			k.mu.Unlock()
			return
		}
		k.kills.Add(1)
		if code := s.cmd.ProcessState.ExitCode(); code >= 0 {
			k.p.t.Errorf("the server ended by itself with %d: %s", code, s.errors())
		}
		k.now = k.p.serveAt(k.addr, 0, k.faults())
		k.mu.Unlock()
	}
}

func (k *keeper) current() *process {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.now
}

// rest lets the last server end in peace, and one more start without faults, so that its audit closes what is open.
func (k *keeper) rest() {
	k.mu.Lock()
	k.end = true
	s := k.now
	k.mu.Unlock()
	s.kill()
	k.all.Wait()
	if code := k.p.serveAt(k.addr, 0, "").stop(); code != 0 {
		k.p.t.Errorf("the last server ended with %d", code)
	}
}

func (k *keeper) client(key string) *client { return newClient("http://"+k.addr+"/mcp", key) }

// kills is how often a process is killed on a database: RESQ_FAULT_KILLS on SQLite, and a share of that elsewhere,
// where every start takes longer.
func kills(t *testing.T, on testdb.Engine) int64 {
	n := 500
	if s := os.Getenv("RESQ_FAULT_KILLS"); s != "" {
		var err error
		if n, err = strconv.Atoi(s); err != nil || n < 1 {
			t.Fatalf("RESQ_FAULT_KILLS is %q", s)
		}
	}
	if on.Name != testdb.SQLite {
		n = max(20, n/8)
	}
	return int64(n)
}

// P2: the process is killed anywhere in a write, again and again. Clients ask until they know. Then the rows that
// were changed, the operation rows and the audit tell the same, and nothing was changed twice.
func TestP2KillAnywhere(t *testing.T) {
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		p := newPlace(t, on)
		want := kills(t, on)
		n := 0
		k := keep(p, func() string {
			if n++; n%2 == 0 {
				return "" // killed from outside, at any time
			}
			return fmt.Sprintf(points, 8, 8, 8, 8, 8, 8)
		})
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		var work sync.WaitGroup
		var known, asked atomic.Int64
		for w := range 4 {
			work.Go(func() {
				c := k.client(annKey)
				defer c.http.CloseIdleConnections()
				for i := 1; ctx.Err() == nil; i++ {
					if i%4 == 0 {
						created(t, c, fmt.Sprintf("w%d-%d", w, i), &asked)
					} else {
						changedTo(t, c, w+1, i, &asked)
					}
					known.Add(1)
				}
			})
		}
		work.Go(func() {
			for r := rand.New(rand.NewPCG(1, 2)); ctx.Err() == nil; time.Sleep(time.Duration(10+r.IntN(80)) * time.Millisecond) {
				if s := k.current(); s.cmd.Env[len(s.cmd.Env)-1] == "RESQ_FAILPOINT=" && s.running() {
					_ = s.cmd.Process.Kill()
				}
			}
		})
		for began := time.Now(); k.kills.Load() < want && !t.Failed(); time.Sleep(20 * time.Millisecond) {
			if time.Since(began) > 10*time.Minute {
				t.Errorf("only %d kills in ten minutes", k.kills.Load())
				break
			}
		}
		stop()
		// What was asked is asked to its end, while nobody kills any more.
		k.mu.Lock()
		k.faults = func() string { return "" }
		_ = k.now.cmd.Process.Kill()
		k.mu.Unlock()
		work.Wait()
		k.rest()
		b := p.audit(1)
		t.Logf("%d kills, %d writes of which the outcome is known, %d calls; %+v", k.kills.Load(), known.Load(), asked.Load(), b)
		if int64(b.applied) != known.Load() {
			t.Errorf("clients know of %d writes, and %d were applied", known.Load(), b.applied)
		}
		for w := 1; w <= 4; w++ {
			if n, last := p.scalar(fmt.Sprintf("SELECT COUNT(*) FROM changed WHERE account_id = %d AND before_n >= after_n", w)), p.value(w); n > 0 {
				t.Errorf("account %d went backwards %d times, to %d", w, n, last)
			}
		}
	})
}

// changedTo previews a change and confirms it, with the same token until it is known what became of it.
func changedTo(t testing.TB, c *client, id, n int, asked *atomic.Int64) {
	args := change(id, n)
	r := persistent(t, c, "res-update", args, asked)
	token, _ := tokenOf(r)
	if token == "" {
		t.Errorf("no preview: %s", r)
		return
	}
	if r = persistent(t, c, "res-update", confirmed(args, token), asked); r.failed {
		t.Errorf("the change of %d to %d: %s", id, n, r)
	}
}

func created(t testing.TB, c *client, code string, asked *atomic.Int64) {
	if r := persistent(t, c, "res-create", fmt.Sprintf(`{"resource":"Entry","data":{"code":%q,"amount":1},"idempotency_key":%q}`, code, code), asked); r.failed {
		t.Errorf("the creation of %s: %s", code, r)
	}
}

// again are the codes that say: ask again.
var again = map[string]bool{"UPSTREAM_UNAVAILABLE": true, "OUTCOME_UNKNOWN": true, "TIMEOUT": true, "OVERLOADED": true}

// persistent asks until there is an answer that decides.
func persistent(t testing.TB, c *client, tool, args string, asked *atomic.Int64) reply {
	for end := time.Now().Add(time.Minute); ; time.Sleep(2 * time.Millisecond) {
		asked.Add(1)
		r, err := c.call(context.Background(), tool, args)
		if err == nil && !again[r.code] && r.reason != "busy" {
			return r
		}
		if time.Now().After(end) {
			t.Errorf("%s is not answered: %v %s", tool, err, r)
			return reply{failed: true}
		}
	}
}

// C2: clients go away in the middle of a write, at any moment. Each write has happened and is recorded, or has not.
func TestC2DisconnectInWrite(t *testing.T) {
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		p := newPlace(t, on)
		s := p.serve(0, "")
		cuts := 334 // of a thousand on three databases
		var next, cut, heard atomic.Int64
		var work sync.WaitGroup
		for w := range 4 {
			work.Go(func() {
				c := s.client(annKey)
				r := rand.New(rand.NewPCG(uint64(w), 3))
				usual := 20 * time.Millisecond
				for i := 0; next.Add(1) <= int64(cuts); i++ {
					n := int(next.Load())
					args := change(w+1, n)
					token, _ := c.propose(t, args)
					most := 10 * time.Second
					if i%6 > 0 { // the others tell how long a call takes, so that the cuts fall within it
						most = time.Duration(r.Int64N(int64(usual) * 5 / 4))
					}
					ctx, cancel := context.WithTimeout(t.Context(), most)
					began := time.Now()
					if a, err := c.call(ctx, "res-update", confirmed(args, token)); err != nil {
						cut.Add(1)
					} else if heard.Add(1); a.failed {
						t.Errorf("the change: %s", a)
					} else if i%6 == 0 {
						usual = (usual + time.Since(began)) / 2
					}
					cancel()
				}
			})
		}
		work.Wait()
		if code := s.stop(); code != 0 {
			t.Errorf("the server ended with %d", code)
		}
		b := p.audit(1)
		t.Logf("%d calls cut off, %d answered; %+v", cut.Load(), heard.Load(), b)
		if int64(b.applied) < heard.Load() {
			t.Errorf("%d were answered, and %d applied", heard.Load(), b.applied)
		}
		if cut.Load() < int64(cuts)/4 {
			t.Errorf("only %d of %d calls were cut off", cut.Load(), cuts)
		}
	})
}

// C3: the same request twice is one write, whether one comes after the other or both at once.
func TestC3SameRequestTwice(t *testing.T) {
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		p := newPlace(t, on)
		s := p.serve(0, "")
		for i := 1; i <= 10; i++ {
			c := s.client(annKey)
			args := change(1, i)
			token, _ := c.propose(t, args)
			twice := [][2]string{{"res-update", confirmed(args, token)}, {"res-create", fmt.Sprintf(`{"resource":"Entry","data":{"code":"e%d"},"idempotency_key":"e%d"}`, i, i)}}
			for _, x := range twice {
				var both sync.WaitGroup
				var got [3]reply
				for j := range 2 {
					both.Go(func() { got[j] = c.must(t, x[0], x[1]) })
				}
				both.Wait()
				got[2] = c.must(t, x[0], x[1])
				replayed := 0
				for _, r := range got {
					wants(t, x[0], r, "", "")
					if strings.Contains(r.text, `"replayed":true`) {
						replayed++
					}
				}
				if replayed != 2 {
					t.Errorf("of three same calls %d were told of what was done before: %v", replayed, got)
				}
			}
		}
		s.stop()
		if b := p.audit(1); b.changed != 10 || b.created != 10 {
			t.Errorf("%+v", b)
		}
	})
}

// P4: servers are told to end under load, one after the other. They finish what they have begun and end well; no
// write that was acknowledged is lost, and no answer is broken off.
func TestP4TerminateUnderLoad(t *testing.T) {
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		p := newPlace(t, on)
		const replicas = 3
		var addrs [replicas]string
		var servers [replicas]*process
		for i := range replicas {
			addrs[i] = freeAddress(t)
			servers[i] = p.serveAt(addrs[i], i, "")
		}
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		var work sync.WaitGroup
		var acknowledged sync.Map
		var n, broken, asked atomic.Int64
		for w := range 6 {
			work.Go(func() {
				c := newClient("", annKey)
				defer c.http.CloseIdleConnections()
				for i := 0; ctx.Err() == nil; i++ {
					code := fmt.Sprintf("w%d-%d", w, i)
					args := fmt.Sprintf(`{"resource":"Entry","data":{"code":%q},"idempotency_key":%q}`, code, code)
					for try := w; ; try++ { // as a balancer does: the next replica, with the same key
						c.url = "http://" + addrs[(try+i)%replicas] + "/mcp"
						r, err := c.call(context.Background(), "res-create", args)
						if err == nil && !r.failed {
							acknowledged.Store(code, true)
							n.Add(1)
							break
						}
						if errors.Is(err, errBroken) {
							broken.Add(1)
							t.Errorf("an answer was broken off: %v", err)
						}
						if err == nil && !again[r.code] && r.reason != "busy" {
							t.Errorf("a creation: %s", r)
							break
						}
						asked.Add(1)
						time.Sleep(10 * time.Millisecond)
					}
					time.Sleep(40 * time.Millisecond)
				}
			})
		}
		time.Sleep(500 * time.Millisecond)
		for range 2 {
			for i := range replicas {
				began := time.Now()
				if code := servers[i].stop(); code != 0 {
					t.Errorf("the server ended with %d: %s", code, servers[i].errors())
				}
				if took := time.Since(began); took > 11*time.Second {
					t.Errorf("the server took %v to end", took)
				}
				servers[i] = p.serveAt(addrs[i], i, "")
				time.Sleep(200 * time.Millisecond)
			}
		}
		stop()
		work.Wait()
		for _, s := range servers {
			s.stop()
		}
		db := testdb.Open(t, on, p.direct)
		lost := 0
		acknowledged.Range(func(code, _ any) bool {
			var n int
			if err := db.QueryRow("SELECT COUNT(*) FROM entry WHERE code = '" + code.(string) + "'").Scan(&n); err != nil || n != 1 {
				t.Errorf("%s was acknowledged and is there %d times (%v)", code, n, err)
				lost++
			}
			return true
		})
		b := p.audit(replicas)
		t.Logf("six restarts of %d servers: %d writes acknowledged, %d lost, %d asked again, %d answers broken off; %+v", replicas, n.Load(), lost, asked.Load(), broken.Load(), b)
	})
}
