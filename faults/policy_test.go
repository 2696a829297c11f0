//go:build failpoint

package faults

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"resq/engine"
	"resq/testdb"
)

// C1: a client goes away in the middle of a query. The database stops within a second, and the connection is free again.
func TestC1DisconnectInQuery(t *testing.T) {
	slow := map[string]string{
		testdb.SQLite:   "CREATE VIEW slow AS WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 2000000000) SELECT 1 AS id, count(*) AS n FROM c",
		testdb.MySQL:    "CREATE VIEW slow AS SELECT 1 AS id, SLEEP(60) AS n",
		testdb.Postgres: "CREATE VIEW slow AS SELECT 1 AS id, CAST(pg_sleep(60) AS text) AS n",
	}
	running := map[string]string{
		testdb.MySQL:    "SELECT COUNT(*) FROM information_schema.processlist WHERE db = DATABASE() AND command <> 'Sleep' AND info LIKE '%slow%' AND id <> CONNECTION_ID()",
		testdb.Postgres: "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND state = 'active' AND query LIKE '%slow%' AND pid <> pg_backend_pid()",
	}
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		p := newPlace(t, on)
		testdb.Exec(t, on, p.direct, slow[on.Name])
		p.pool = 1 // so that a connection that is not free again is missed
		p.reach(p.direct)
		text, err := os.ReadFile(filepath.Join(p.dir, "catalog.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		p.write("catalog.yaml", strings.Replace(string(text), "mode: write,", "mode: write, timeout: 50s,", 1)+"  - {code: Slow, table: slow, connection: main, key: id, fields: {id: integer, n: string}}\n")
		s := p.serve(0, "")
		for range 5 {
			ctx, hangUp := withCancel(t)
			done := make(chan error, 1)
			go func() {
				c := newClient(s.url, annKey)
				defer c.http.CloseIdleConnections()
				_, err := c.call(ctx, "res-query", `{"resource":"Slow","fields":[{"code":"n"}]}`)
				done <- err
			}()
			if q := running[on.Name]; q != "" {
				eventually(t, "slow query", func() bool { return p.scalar(q) > 0 })
			} else {
				time.Sleep(300 * time.Millisecond)
			}
			select {
			case err := <-done:
				t.Fatalf("the slow query ended: %v", err)
			default:
			}
			left := time.Now()
			hangUp()
			<-done
			r := s.client(annKey).must(t, "res-query", `{"resource":"Account","fields":[{"code":"n"}],"limit":1}`)
			took := time.Since(left)
			wants(t, "the next query", r, "", "")
			if took > time.Second {
				t.Errorf("the connection is free after %v", took)
			}
			if q := running[on.Name]; q != "" {
				for p.scalar(q) > 0 {
					if time.Since(left) > 2*time.Second {
						t.Fatal("the query still runs")
					}
					time.Sleep(5 * time.Millisecond)
				}
			}
		}
	})
}

// R4: the catalog changes while previews wait. Those that it concerns end with CONFLICT, the others do not.
func TestR4PolicyChanges(t *testing.T) {
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		for _, c := range []struct {
			name, old, new string
			reason         string
		}{
			{"a rule", `operator: "="`, `operator: ">="`, "catalog"},
			{"who may see the resource", "    key: id\n    writes: [update, delete]", "    key: id\n    roles: []\n    description: x\n    writes: [update]", "catalog"},
			{"the mode of confirmation", "writes: [update, delete]", "writes: [update, delete]\n    confirm: human", "catalog"},
			{"a mask", "note: string", "note: {type: string, mask: redact}", "catalog"},
			{"another resource", "amount: integer", "amount: integer, more: {type: integer, column: amount}", ""},
		} {
			t.Run(strings.ReplaceAll(c.name, " ", "_"), func(t *testing.T) {
				p := newPlace(t, on)
				s := p.serve(0, "")
				cl := s.client(annKey)
				args := change(1, 9)
				token, _ := cl.propose(t, args)
				path := filepath.Join(p.dir, "catalog.yaml")
				text, err := os.ReadFile(path)
				if err != nil || !strings.Contains(string(text), c.old) {
					t.Fatalf("%v: no %q", err, c.old)
				}
				p.write("catalog.yaml", strings.Replace(string(text), c.old, c.new, 1))
				s.hangUp()
				r := cl.must(t, "res-update", confirmed(args, token))
				want := 9
				if c.reason != "" {
					code := "CONFLICT"
					if strings.Contains(c.new, "human") { // the first thing that is in the way
						code, c.reason = "APPROVAL_REQUIRED", ""
					}
					wants(t, "the confirmation", r, code, c.reason)
					want = 0
				} else {
					wants(t, "the confirmation", r, "", "")
				}
				if n := p.value(1); n != want {
					t.Errorf("the account has %d, want %d", n, want)
				}
			})
		}
	})
}

const principalsForm = "principals:\n  ann: {attributes: {owner: %s}, scopes: [%s], keys: [%s]}\n  bob: {attributes: {owner: 2}, keys: [" + bobKey + "]}\n"

// K1: a key ends, or its scopes or attributes change: between preview and confirmation, and while the confirmation
// waits for a lock. Nothing is written any more by who may not; new calls are refused at once.
func TestK1KeyRevoked(t *testing.T) {
	networked(t, func(t *testing.T, on testdb.Engine) {
		for _, c := range []struct {
			name, principals             string
			between, betweenReason, call string
			during, duringReason         string
		}{
			{"the key is revoked", fmt.Sprintf(principalsForm, "1", "read, write, delete", "another-key-of-anns-here"),
				"UNAUTHENTICATED", "", "UNAUTHENTICATED", "PERMISSION_DENIED", ""},
			{"the scope is cut", fmt.Sprintf(principalsForm, "1", "read", annKey), "PERMISSION_DENIED", "", "", "CONFLICT", "catalog"},
			{"an attribute changes", fmt.Sprintf(principalsForm, "7", "read, write, delete", annKey), "CONFLICT", "catalog", "", "CONFLICT", "catalog"},
		} {
			t.Run(strings.ReplaceAll(c.name, " ", "_"), func(t *testing.T) {
				p := newPlace(t, on)
				s := p.serve(0, "")
				cl := s.client(annKey)
				args := change(1, 9)
				token, _ := cl.propose(t, args)
				// While the confirmation waits for a lock.
				db := testdb.Open(t, on, p.direct)
				tx, err := db.Begin()
				if err != nil {
					t.Fatal(err)
				}
				defer tx.Rollback()
				if _, err := tx.Exec("UPDATE account SET note = 'held' WHERE id = 1"); err != nil {
					t.Fatal(err)
				}
				got := make(chan reply, 1)
				go func() { got <- cl.must(t, "res-update", confirmed(args, token)) }()
				time.Sleep(200 * time.Millisecond)
				select {
				case r := <-got:
					t.Fatalf("the confirmation does not wait: %s", r)
				default:
				}
				p.configure(c.principals)
				s.hangUp()
				since := time.Now()
				if r := s.client(annKey).must(t, "res-query", `{"resource":"Account","fields":[{"code":"n"}]}`); r.code != c.call || time.Since(since) > 5*time.Second {
					t.Errorf("a new call, %v after the reload: %s", time.Since(since), r)
				}
				_ = tx.Rollback()
				wants(t, "a confirmation under way", <-got, c.during, c.duringReason)
				wants(t, "a confirmation afterwards", s.client(annKey).must(t, "res-update", confirmed(args, token)), c.between, c.betweenReason)
				if n := p.value(1); n != 0 {
					t.Errorf("the account has %d", n)
				}
				// Given back, the same token works: nothing of it was used up.
				p.configure("")
				s.hangUp()
				wants(t, "given back", cl.must(t, "res-update", confirmed(args, token)), "", "")
				s.stop()
				p.audit(1)
			})
		}
	})
}

// K2: the secret is changed. What was signed and sealed with the earlier one holds while that is known, and no longer.
func TestK2SecretRotated(t *testing.T) {
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		p := newPlace(t, on)
		s := p.serve(0, "")
		c := s.client(annKey)
		args, other := change(1, 5), change(2, 6)
		token, op := c.propose(t, args)
		late, _ := c.propose(t, other)
		wants(t, "before", c.must(t, "res-update", confirmed(args, token)), "", "")
		s.stop()
		const next = "another secret of the fault tests, as long as it must be"
		p.configure(fmt.Sprintf("secret: %q\npreviousSecrets: [%q]\n", next, secret))
		s = p.serve(0, "")
		c = s.client(annKey)
		wants(t, "a token of the earlier secret", c.must(t, "res-update", confirmed(other, late)), "", "")
		undo := fmt.Sprintf(`{"op_id":%q}`, op)
		r := c.must(t, "res-undo", undo)
		back, _ := tokenOf(r)
		wants(t, "an undo of what the earlier secret sealed", r, "CONFIRM_REQUIRED", "")
		p.run("audit", "verify", "--config", p.config(), "--state", p.state(0)) // the audit has lines of both
		third := change(3, 7)
		fresh, _ := c.propose(t, third)
		s.stop()
		p.configure(fmt.Sprintf("secret: %q\n", next))
		s = p.serve(0, "")
		c = s.client(annKey)
		wants(t, "a token of a secret that is gone", c.must(t, "res-update", confirmed(other, late)), "CONFIRM_INVALID", "")
		wants(t, "a token of the present secret", c.must(t, "res-update", confirmed(third, fresh)), "", "")
		r = c.must(t, "res-undo", confirmed(undo, back))
		if r.code != "CONFLICT" || p.value(1) != 5 {
			t.Errorf("an undo of what cannot be opened any more: %s, and the account has %d", r, p.value(1))
		}
		if a, b, c := p.value(1), p.value(2), p.value(3); a != 5 || b != 6 || c != 7 {
			t.Errorf("the accounts have %d, %d and %d", a, b, c)
		}
		s.stop()
	})
}

// T1: the clocks of replicas are wrong, or are set while they run. Tokens follow the database's clock.
func TestT1Clocks(t *testing.T) {
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		p := newPlace(t, on)
		var jump time.Duration
		expiry := 5 * time.Minute
		replica := func(off time.Duration) *engine.Engine {
			return inProcess(t, p, p.direct, func(o *engine.Options) {
				o.Now = func() time.Time { return time.Now().Add(off + jump) }
				o.Timeout, o.Writes.Timeout, o.Writes.Expiry = 10*time.Second, 20*time.Second, expiry
			})
		}
		offs := []time.Duration{0, 2 * time.Minute, -2 * time.Minute, time.Hour, -time.Hour, 365 * 24 * time.Hour}
		n := 0
		for _, from := range offs {
			for _, to := range offs {
				n++
				args := change(1, n)
				token := proposal(t, replica(from), args)
				wants(t, fmt.Sprintf("proposed at %v, confirmed at %v", from, to), ask(t, replica(to), ann, "res-update", confirmed(args, token)), "", "")
			}
		}
		// A token ends by the database's clock, whatever the replicas think.
		tokens := map[time.Duration]string{}
		expiry = time.Second
		for i, off := range offs {
			tokens[off] = proposal(t, replica(off), change(2+i, 99))
		}
		time.Sleep(2500 * time.Millisecond)
		expiry = 5 * time.Minute
		for i, off := range offs {
			wants(t, fmt.Sprintf("too late, at %v", off), ask(t, replica(off), ann, "res-update", confirmed(change(2+i, 99), tokens[off])), "CONFIRM_EXPIRED", "")
			if got := p.value(2 + i); got != 0 {
				t.Errorf("the account has %d", got)
			}
		}
		// The clock is set while the program runs. It may cost a new preview, and never more.
		e := replica(0)
		for i, j := range []time.Duration{time.Hour, 0, -time.Hour, 0} {
			args := change(10, i+1)
			token := proposal(t, e, args)
			jump = j
			r := ask(t, e, ann, "res-update", confirmed(args, token))
			if r.code == "CONFIRM_EXPIRED" {
				token = proposal(t, e, args)
				r = ask(t, e, ann, "res-update", confirmed(args, token))
			}
			wants(t, fmt.Sprintf("after the clock was set to %v", j), r, "", "")
			if got := p.value(10); got != i+1 {
				t.Errorf("the account has %d, want %d", got, i+1)
			}
		}
	})
}
