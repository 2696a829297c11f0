package server

import (
	"slices"
	"strings"
	"testing"

	"resq/engine"
	"resq/schema/problem"
)

// E-10, N4: a tool whose connection is down is neither listed nor answered; whoever lists and calls is told alike. What
// needs no connection stays, and a reason that says more about the caller comes first.
func TestReach(t *testing.T) {
	f := newFake()
	f.can = engine.Creates | engine.Updates | engine.Deletes
	f.tools = []engine.Tool{{Name: "a.list", Title: "A", Description: "A", Input: []byte(`{"type":"object"}`), Output: []byte(`{"type":"object"}`), ReadOnly: true},
		{Name: "b.list", Title: "B", Description: "B", Input: []byte(`{"type":"object"}`), Output: []byte(`{"type":"object"}`), ReadOnly: true},
		{Name: "secret.list", Title: "S", Description: "S", Input: []byte(`{"type":"object"}`), Output: []byte(`{"type":"object"}`), ReadOnly: true}}
	down := map[string]bool{}
	f.reach = func(tool string, verbs engine.Verbs) bool {
		if tool == "" {
			tool = map[bool]string{true: "read", false: "write"}[verbs == 0]
		}
		return !down[tool]
	}
	s := newServer(t, f, withKeys(Options{}))
	url := serveHTTP(t, s)
	list := func(key string) []string {
		var names []string
		body := exchange{body: `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`}.with("Authorization", "Bearer "+key).do(t, url).body
		for _, name := range []string{toolSchema, toolQuery, toolCreate, toolUpdate, toolOperation, "a.list", "b.list", "secret.list"} {
			if strings.Contains(body, `"name":"`+name+`"`) {
				names = append(names, name)
			}
		}
		return names
	}
	for _, c := range []struct {
		down []string
		gone []string
	}{{}, {down: []string{"b.list"}, gone: []string{"b.list"}}, {down: []string{"write", "secret.list"}, gone: []string{toolCreate, toolUpdate, toolOperation}},
		{down: []string{"read", "write", "a.list", "b.list"}, gone: []string{toolQuery, toolCreate, toolUpdate, toolOperation, "a.list", "b.list"}}, {}} {
		clear(down)
		for _, d := range c.down {
			down[d] = true
		}
		listed := list("alice-key")
		for _, name := range []string{toolSchema, toolQuery, toolCreate, toolUpdate, toolOperation, "a.list", "b.list"} {
			if slices.Contains(listed, name) == slices.Contains(c.gone, name) {
				t.Errorf("down %v: listed are %v, and %v should not be", c.down, listed, c.gone)
			}
			f.raw = nil
			body := exchange{body: call(name, `{"resource":"x"}`)}.with("Authorization", "Bearer alice-key").do(t, url).body
			d, _ := s.tool(name)
			switch {
			case !slices.Contains(c.gone, name):
				if decode(t, body).Result.IsError {
					t.Errorf("down %v: %s: %s", c.down, name, body)
				}
			case d.verbs != 0: // whether it was done already the engine knows alone
				if f.raw == nil {
					t.Errorf("down %v: a write did not reach the engine", c.down)
				}
			default:
				if got := failure(t, body); got.Code != problem.Unavailable || got.RetryAfter == 0 || !strings.Contains(got.Message, name) || f.raw != nil {
					t.Errorf("down %v: %s: %s", c.down, name, body)
				}
			}
		}
		// Whoever has no right to it learns nothing of its connection.
		if body := (exchange{body: call(toolCreate, `{"resource":"x"}`)}).with("Authorization", "Bearer bob-key").do(t, url).body; failure(t, body).Code != problem.PermissionDenied {
			t.Errorf("down %v: a key that may not write: %s", c.down, body)
		}
		if body := (exchange{body: call("secret.list", `{}`)}).with("Authorization", "Bearer alice-key").do(t, url).body; !strings.Contains(body, "UNKNOWN_TOOL") {
			t.Errorf("down %v: a hidden tool: %s", c.down, body)
		}
	}
	// mcp.md 2.3: a session is told with its next call, whoever loses a tool and when it is back.
	session := exchange{body: initBody}.with("Authorization", "Bearer alice-key").do(t, url).header.Get("Mcp-Session-Id")
	ask := func() bool {
		body := exchange{body: call(toolSchema, `{}`)}.with("Authorization", "Bearer alice-key", "Mcp-Session-Id", session).do(t, url).body
		return strings.Contains(body, "notifications/tools/list_changed")
	}
	if ask() {
		t.Error("told of nothing")
	}
	for _, is := range []bool{true, false} {
		down["b.list"] = is
		s.Changed()
		if !ask() || ask() {
			t.Errorf("down %v: not told once", is)
		}
	}
	if s.Changed(); ask() {
		t.Error("told of a connection whose tools are as they were")
	}
}
