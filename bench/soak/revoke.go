package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// soakKey is the key of the clients. It is spent by nobody.
const soakKey = "soak-key-0123456789"

// config is the server's: keys in a control database, and no budget, which 64 clients with one key would spend at once.
const config = `catalog: [catalog]
secret: the-secret-of-the-soak-0123456789abcdef
timeout: 15s
control: {dsn: "%s"}
principals:
  soak: {scopes: [read, write, delete], keys: [%s], budget: {callsPerMinute: none, rowsPerHour: none, statements: none}}
`

// revokeTime is how long a key that was revoked may still open the server (security.md N3).
const revokeTime = 5 * time.Second

// A revoker makes keys, uses them, revokes them, and sees that they are refused in time.
type revoker struct {
	resq, config, state, url string
	http                     *http.Client
	keys                     int
	slowest                  time.Duration
	wrong                    string // the first
	lasting                  string // a key of clients
	outage                   *outage
}

func (r *revoker) run(ctx context.Context, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for ctx.Err() == nil && r.wrong == "" {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if r.outage.now() { // keys cannot be made
			continue
		}
		begun := time.Now()
		if err := r.one(ctx); err != nil && ctx.Err() == nil && !r.outage.over(begun) {
			r.wrong = err.Error()
		}
	}
}

// one is the life of a key.
func (r *revoker) one(ctx context.Context) error {
	key, id, err := r.create(fmt.Sprintf("soak %d", r.keys))
	if err != nil {
		return err
	}
	if _, err := r.until(ctx, key, http.StatusOK, 2*revokeTime); err != nil {
		return err
	}
	if _, err := r.tell("keys", "revoke", strconv.FormatInt(id, 10)); err != nil {
		return err
	}
	took, err := r.until(ctx, key, http.StatusUnauthorized, revokeTime)
	if err != nil {
		return err
	}
	r.slowest = max(r.slowest, took)
	for range 5 { // and stays refused
		if status, err := r.call(ctx, key); err != nil || status != http.StatusUnauthorized {
			return fmt.Errorf("a revoked key opens the server again: %d %v", status, err)
		}
	}
	r.keys++
	return nil
}

// create makes a key that sees what the program sees when it is asked by hand.
func (r *revoker) create(name string) (key string, id int64, err error) {
	out, err := r.tell("keys", "create", "--name", name, "--principal", "soak", "--scope", "working", "--format", "json")
	if err != nil {
		return "", 0, err
	}
	var made struct {
		Key string
		ID  int64
	}
	if err := json.Unmarshal(out, &made); err != nil {
		return "", 0, fmt.Errorf("keys create: %w in %s", err, out)
	}
	return made.Key, made.ID, nil
}

// until calls with a key until it is answered with a status, and gives the time that took.
func (r *revoker) until(ctx context.Context, key string, want int, within time.Duration) (time.Duration, error) {
	start := time.Now()
	for {
		asked := time.Now()
		status, err := r.call(ctx, key)
		if err != nil {
			return 0, err
		}
		if status == want {
			return time.Since(start), nil
		}
		if asked.Sub(start) > within {
			return 0, fmt.Errorf("a key is answered with %d %v after its change, not with %d", status, asked.Sub(start), want)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func (r *revoker) call(ctx context.Context, key string) (int, error) {
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"res-schema","arguments":{"detail":"names"}}}`
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.url, strings.NewReader(body))
	if err != nil {
		return 0, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("Authorization", "Bearer "+key)
	resp, err := r.http.Do(req)
	if err != nil {
		return 0, err
	}
	return resp.StatusCode, resp.Body.Close()
}

// tell runs the program as an admin does.
func (r *revoker) tell(args ...string) ([]byte, error) {
	cmd := exec.Command(r.resq, append(args, "--config", r.config, "--state", r.state)...)
	var errOut strings.Builder
	cmd.Stderr = &errOut
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%v: %w: %s", args, err, errOut.String())
	}
	return out, nil
}

// newRevoker writes the server's configuration and makes the scope of all keys.
func newRevoker(o options, dir string, db *database, out *outage) (*revoker, error) {
	control := "sqlite:" + filepath.Join(dir, "control.sqlite")
	if db != nil {
		control = db.dsn(controlDatabase)
	}
	r := &revoker{outage: out, resq: o.resq, config: filepath.Join(dir, "resq.yaml"), state: filepath.Join(dir, "state"), http: &http.Client{Timeout: 30 * time.Second}}
	if err := replace(r.config, fmt.Sprintf(config, control, soakKey)); err != nil {
		return nil, err
	}
	if _, err := r.tell("scopes", "create", "working", "--tool", "res-schema", "--tool", "res-query",
		"--tool", "res-create", "--tool", "res-update", "--tool", "res-delete"); err != nil {
		return nil, err
	}
	var err error
	r.lasting, _, err = r.create("lasting")
	return r, err
}
