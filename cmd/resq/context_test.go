package main

import (
	"encoding/json"
	"strconv"
	"testing"
	"time"

	"resq/testdb"
)

// What integration.context.get tells of a key stands in the control database, and is as it stands there by now: the codes of
// its scopes that are enabled, sorted, and when its bindings changed last (V-36; tool 14 of the pack xiaoqu).
func TestContextOfKeys(t *testing.T) {
	testdb.Each(t, func(t *testing.T, e testdb.Engine) {
		config := controlledConfig(t, t.TempDir(), e, "packs: [xiaoqu]\n")
		start := time.Now().Add(-time.Second).UnixMilli()
		do(t, config, nil, "scopes", "create", "warehouse", "--tool", "integration.context.get", "--tool", "warehouse.out.list.query")
		do(t, config, nil, "scopes", "create", "crm", "--tool", "agent_count")
		do(t, config, nil, "scopes", "create", "sync", "--tool", "orders.changes.list")
		var user, service made
		do(t, config, &user, "keys", "create", "--name", "a", "--user", "2", "--scope", "warehouse", "--scope", "crm")
		do(t, config, &service, "keys", "create", "--name", "b", "--scope", "warehouse")
		s := runServer(t, "--config", config)
		type context struct {
			Tenant   string          `json:"tenant_id"`
			Type     string          `json:"principal_type"`
			Subject  json.RawMessage `json:"subject_id"`
			Scopes   []string        `json:"scopes"`
			Version  int64           `json:"data_scope_version"`
			Levels   []string        `json:"capability_levels"`
			ServerAt time.Time       `json:"server_time"`
		}
		ask := func(key string) (c context) {
			_, body := s.post("/mcp", key, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"integration.context.get","arguments":{}}}`)
			var a struct {
				Result struct{ Content []struct{ Text string } }
			}
			if err := json.Unmarshal([]byte(body), &a); err != nil || len(a.Result.Content) != 1 {
				t.Fatalf("%v: %s", err, body)
			}
			if err := json.Unmarshal([]byte(a.Result.Content[0].Text), &c); err != nil {
				t.Fatalf("%v: %s", err, body)
			}
			return c
		}
		until := func(about string, key string, holds func(context) bool) context {
			for end := time.Now().Add(6 * time.Second); ; time.Sleep(50 * time.Millisecond) {
				c := ask(key)
				if holds(c) {
					return c
				}
				if time.Now().After(end) {
					t.Fatalf("%s: %+v", about, c)
				}
			}
		}
		c := ask(user.Key)
		if c.Tenant != "crm,warehouse" || c.Type != "user_delegated" || string(c.Subject) != "2" || len(c.Scopes) != 3 || c.Scopes[0] != "agent.count" || len(c.Levels) != 1 || c.ServerAt.IsZero() {
			t.Errorf("%+v", c)
		}
		if now := time.Now().UnixMilli(); c.Version < start || c.Version > now {
			t.Errorf("the version %d is no moment from %d to %d", c.Version, start, now)
		}
		if d := ask(service.Key); d.Tenant != "warehouse" || d.Type != "tenant_service" || string(d.Subject) != strconv.FormatInt(service.ID, 10) {
			t.Errorf("%+v", d)
		}
		time.Sleep(5 * time.Millisecond)
		do(t, config, nil, "scopes", "disable", "crm") // which leaves the bindings as they are
		until("a disabled scope", user.Key, func(x context) bool { return x.Tenant == "warehouse" && x.Version == c.Version && len(x.Scopes) == 2 })
		do(t, config, nil, "scopes", "bind", strconv.FormatInt(user.ID, 10), "sync")
		until("a new binding", user.Key, func(x context) bool { return x.Tenant == "sync,warehouse" && x.Version > c.Version })
	})
}
