//go:build failpoint

package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"resq/testdb"

	"github.com/anishathalye/porcupine"
)

// What a client asked about one account, and what it was told.
type (
	asked struct {
		Kind    string // read or confirm
		Account int
		Op      string `json:",omitempty"` // of a confirmation
		Before  int    // what its preview showed
		To      int
	}
	answered struct {
		N        int    // of a read
		Code     string // of a confirmation: "" is success, or CONFLICT
		Replayed bool   // it was done before
		Retried  bool   // by whom is not known: an earlier try of the same client had no answer
	}
)

// An accountState is an account as one process alone would keep it: its value, and the operations that were applied.
type accountState struct {
	n       int
	applied string // ids, each between semicolons
}

// accountModel is the sequential one: a preview and a read show the value of the moment; a confirmation is applied
// once, and only on the value that its preview showed.
var accountModel = porcupine.Model{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		byAccount := make([][]porcupine.Operation, accounts+1)
		for _, o := range history {
			a := o.Input.(asked).Account
			byAccount[a] = append(byAccount[a], o)
		}
		return byAccount
	},
	Init: func() any { return accountState{} },
	Step: func(state, input, output any) (bool, any) {
		s, in, out := state.(accountState), input.(asked), output.(answered)
		if in.Kind == "read" {
			return out.N == s.n, s
		}
		done := strings.Contains(s.applied, ";"+in.Op+";")
		switch {
		case out.Code != "": // it was not applied, for another change came first
			return !done && s.n != in.Before, s
		case done:
			return out.Replayed, s
		case out.Replayed && !out.Retried:
			return false, s
		}
		return s.n == in.Before, accountState{in.To, s.applied + ";" + in.Op + ";"}
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v → %+v", input, output) },
}

// A recorder keeps the history of all clients.
type recorder struct {
	mu      sync.Mutex
	began   time.Time
	history []porcupine.Operation
}

func (r *recorder) record(client int, in asked, call time.Duration, out answered) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.history = append(r.history, porcupine.Operation{ClientId: client, Input: in, Call: int64(call), Output: out, Return: int64(time.Since(r.began))})
}

// The check itself sees a write that was doubled, one that was lost, and a read of the past.
func TestHistorySees(t *testing.T) {
	confirm := func(op string, before, to int, call, ret int64, out answered) porcupine.Operation {
		return porcupine.Operation{Input: asked{"confirm", 1, op, before, to}, Output: out, Call: call, Return: ret}
	}
	read := func(n int, call, ret int64) porcupine.Operation {
		return porcupine.Operation{Input: asked{Kind: "read", Account: 1}, Output: answered{N: n}, Call: call, Return: ret}
	}
	for _, c := range []struct {
		name    string
		history []porcupine.Operation
		right   bool
	}{
		{"one after the other", []porcupine.Operation{confirm("a", 0, 1, 0, 10, answered{}), read(1, 11, 12), confirm("b", 1, 2, 13, 14, answered{}), read(2, 15, 16)}, true},
		{"both at once, one is told of the other", []porcupine.Operation{confirm("a", 0, 1, 0, 10, answered{}), confirm("a", 0, 1, 1, 9, answered{Replayed: true})}, true},
		{"both say that they did it", []porcupine.Operation{confirm("a", 0, 1, 0, 10, answered{}), confirm("a", 0, 1, 1, 9, answered{})}, false},
		{"two on one value", []porcupine.Operation{confirm("a", 0, 1, 0, 10, answered{}), confirm("b", 0, 2, 11, 20, answered{})}, false},
		{"one is lost", []porcupine.Operation{confirm("a", 0, 1, 0, 10, answered{}), read(0, 11, 12)}, false},
		{"told of what nobody did", []porcupine.Operation{confirm("a", 0, 1, 0, 10, answered{Replayed: true})}, false},
		{"a conflict without a reason", []porcupine.Operation{confirm("a", 0, 1, 0, 10, answered{Code: "CONFLICT"})}, false},
		{"done twice", []porcupine.Operation{confirm("a", 0, 1, 0, 10, answered{}), confirm("b", 1, 0, 11, 12, answered{}), confirm("a", 0, 1, 13, 14, answered{}), read(1, 15, 16)}, false},
	} {
		if got := porcupine.CheckOperations(accountModel, c.history); got != c.right {
			t.Errorf("%s: linearizable is %v", c.name, got)
		}
	}
}

// TestHistory is the linearizability of writes over three processes on one database, which are killed while clients
// read, preview and confirm, some of them the same preview at once: the history is that of one process that does one
// thing after the other, and no write is lost or doubled.
func TestHistory(t *testing.T) {
	networked(t, func(t *testing.T, on testdb.Engine) {
		p := newPlace(t, on)
		const replicas, clients, rows = 3, 6, 3
		var addrs [replicas]string
		var servers [replicas]*process
		var mu sync.Mutex
		for i := range replicas {
			addrs[i] = freeAddress(t)
			servers[i] = p.serveAt(addrs[i], i, "")
		}
		ctx, stop := context.WithTimeout(t.Context(), 12*time.Second)
		defer stop()
		h := &recorder{began: time.Now()}
		var work, killing sync.WaitGroup
		var next, kills, unanswered, both, conflicts atomic.Int64
		killing.Go(func() {
			r := rand.New(rand.NewPCG(5, 6))
			for ctx.Err() == nil {
				time.Sleep(time.Duration(50+r.IntN(250)) * time.Millisecond)
				i := r.IntN(replicas)
				mu.Lock()
				s := servers[i]
				mu.Unlock()
				s.kill()
				kills.Add(1)
				faults := ""
				if r.IntN(2) == 0 {
					faults = fmt.Sprintf(points, 2, 2, 2, 2, 2, 2)
				}
				s = p.serveAt(addrs[i], i, faults)
				mu.Lock()
				servers[i] = s
				mu.Unlock()
			}
		})
		// try asks one replica after another until one answers in a way that decides. since is when the try began
		// that was answered, and tries how many there were.
		try := func(c *client, r *rand.Rand, tool, args string) (a reply, since time.Duration, tries int) {
			for end := time.Now().Add(time.Minute); ; time.Sleep(3 * time.Millisecond) {
				c.url = "http://" + addrs[r.IntN(replicas)] + "/mcp"
				since, tries = time.Since(h.began), tries+1
				a, err := c.call(context.Background(), tool, args)
				if err == nil && !again[a.code] && a.reason != "busy" {
					return a, since, tries
				}
				unanswered.Add(1)
				if time.Now().After(end) {
					t.Errorf("%s is not answered: %v %s", args, err, a)
					return a, since, tries
				}
			}
		}
		for k := range clients {
			work.Go(func() {
				r := rand.New(rand.NewPCG(uint64(k), 7))
				c, other := newClient("", annKey), newClient("", annKey)
				defer c.http.CloseIdleConnections()
				defer other.http.CloseIdleConnections()
				for ctx.Err() == nil {
					account := 1 + r.IntN(rows)
					if r.IntN(3) == 0 {
						a, since, _ := try(c, r, "res-query", fmt.Sprintf(`{"resource":"Account","fields":[{"code":"n"}],"conditions":{"type":"and","exprs":[{"field":"id","operator":"=","token":"%d"}]}}`, account))
						n, ok := firstNumber(a.text, `"rows":[`)
						if !ok {
							t.Errorf("a read: %s", a)
						}
						h.record(k, asked{Kind: "read", Account: account}, since, answered{N: n})
						continue
					}
					to := int(next.Add(1))
					args := change(account, to)
					a, since, _ := try(c, r, "res-update", args)
					token, op := tokenOf(a)
					before, ok := firstNumber(a.text, `"before":{"n":`)
					if token == "" || !ok {
						t.Errorf("no preview: %s", a)
						return
					}
					h.record(k, asked{Kind: "read", Account: account}, since, answered{N: before})
					confirm := func(client int, c *client, r *rand.Rand) {
						call := time.Since(h.began)
						a, _, tries := try(c, r, "res-update", confirmed(args, token))
						if a.failed && (a.code != "CONFLICT" || a.reason != "changed") {
							t.Errorf("a confirmation: %s", a)
						}
						if a.failed {
							conflicts.Add(1)
						}
						h.record(client, asked{"confirm", account, op, before, to}, call, answered{Code: a.code, Replayed: strings.Contains(a.text, `"replayed":true`), Retried: tries > 1})
					}
					var pair sync.WaitGroup
					if r.IntN(3) == 0 { // the same token at two places at once
						both.Add(1)
						s := rand.New(rand.NewPCG(r.Uint64(), 8))
						pair.Go(func() { confirm(k+clients, other, s) })
					}
					confirm(k, c, r)
					pair.Wait()
				}
			})
		}
		killing.Wait()
		work.Wait()
		for i := range replicas {
			servers[i].kill()
			p.serveAt(addrs[i], i, "").stop()
		}
		result, info := porcupine.CheckOperationsVerbose(accountModel, h.history, 2*time.Minute)
		succeeded := map[string]bool{}
		for _, o := range h.history {
			if in, out := o.Input.(asked), o.Output.(answered); in.Kind == "confirm" && out.Code == "" {
				succeeded[in.Op] = true
			}
		}
		b := p.audit(replicas)
		t.Logf("%s: %d operations of %d clients on %d accounts, %d kills, %d tries without an answer, %d tokens confirmed at two places at once, %d conflicts; "+
			"%d writes told to be done, %d applied, %d rows changed: %d lost, %d doubled", result, len(h.history), clients, rows, kills.Load(), unanswered.Load(), both.Load(), conflicts.Load(),
			len(succeeded), b.applied, b.changed, len(succeeded)-b.applied, b.changed-b.applied)
		if result != porcupine.Ok || os.Getenv("RESQ_FAULT_HISTORY") != "" {
			keepHistory(t, on.Name, h.history, info)
		}
		if result != porcupine.Ok {
			t.Errorf("the history is not that of one process: %s", result)
		}
		if len(succeeded) != b.applied || b.changed != b.applied {
			t.Error("writes were lost or doubled")
		}
		for account := 1; account <= rows; account++ {
			if n := p.scalar(fmt.Sprintf("SELECT COUNT(*) FROM (SELECT before_n FROM changed WHERE account_id = %d GROUP BY before_n HAVING COUNT(*) > 1) AS twice", account)); n > 0 {
				t.Errorf("account %d was changed twice from the same value %d times", account, n)
			}
		}
		if len(succeeded) < 20 || kills.Load() < 10 || conflicts.Load() == 0 {
			t.Error("too little happened to prove anything")
		}
	})
}

// firstNumber finds the number behind a text, brackets and line breaks left out.
func firstNumber(s, behind string) (int, bool) {
	_, s, ok := strings.Cut(s, behind)
	s = strings.TrimLeft(s, "[\n ")
	end := strings.IndexFunc(s, func(r rune) bool { return r < '0' || r > '9' })
	if !ok || end < 1 {
		return 0, false
	}
	n, err := strconv.Atoi(s[:end])
	return n, err == nil
}

// keepHistory writes a history, and the picture of it, to the directory of RESQ_FAULT_HISTORY or a temporary one.
func keepHistory(t *testing.T, name string, history []porcupine.Operation, info porcupine.LinearizationInfo) {
	t.Helper()
	dir := os.Getenv("RESQ_FAULT_HISTORY")
	if dir == "" {
		var err error
		if dir, err = os.MkdirTemp("", "resq-history-"); err != nil {
			t.Fatal(err)
		}
	}
	text, err := json.MarshalIndent(history, "", " ")
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, name+".json"), text, 0o600)
	}
	if err == nil {
		err = porcupine.VisualizePath(accountModel, info, filepath.Join(dir, name+".html"))
	}
	if err != nil {
		t.Errorf("keep the history: %v", err)
	}
	t.Logf("the history is in %s", dir)
}
