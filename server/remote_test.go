package server

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	mcpgo "github.com/mark3labs/mcp-go/server"

	"resq/schema/problem"
)

// stubRemote is another server, whose tools do what their names say.
func stubRemote(t *testing.T) *httptest.Server {
	t.Helper()
	m := mcpgo.NewMCPServer("stub", "1")
	answer := func(r *mcp.CallToolResult) mcpgo.ToolHandlerFunc {
		return func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) { return r, nil }
	}
	m.AddTool(mcp.NewTool("echo", mcp.WithDescription("Says it again."), mcp.WithString("message", mcp.Required()), mcp.WithReadOnlyHintAnnotation(true)),
		func(_ context.Context, q mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultText("again: " + q.GetString("message", "")), nil
		})
	m.AddTool(mcp.NewTool("write"), answer(mcp.NewToolResultText(`{"done":true}`)))
	m.AddTool(mcp.NewTool("fail"), answer(mcp.NewToolResultError("no \x1b[31mway\nat all "+strings.Repeat("x", 600))))
	m.AddTool(mcp.NewTool("picture"), answer(mcp.NewToolResultImage("seen", "AAAA", "image/png")))
	m.AddTool(mcp.NewTool("large"), answer(mcp.NewToolResultText(strings.Repeat("y", maxRemote))))
	m.AddTool(mcp.NewTool("slow"), func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		select {
		case <-ctx.Done():
		case <-time.After(5 * time.Second):
		}
		return mcp.NewToolResultText("late"), nil
	})
	h := mcpgo.NewStreamableHTTPServer(m)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		switch {
		case q.Header.Get("X-Stub") != "yes":
			http.Error(w, "who are you", http.StatusForbidden)
		case q.URL.Path == "/elsewhere":
			http.Redirect(w, q, "/mcp", http.StatusTemporaryRedirect)
		default:
			h.ServeHTTP(w, q)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// C-040: tools of another server are listed and called as that tells them; what goes wrong there is a clear error with
// nothing of the way there in it, and the next call finds the server again.
func TestRemote(t *testing.T) {
	s := stubRemote(t)
	open := func(path, header string, timeout time.Duration) *Remote {
		r := NewRemote(RemoteOptions{URL: s.URL + path, Headers: map[string]string{"X-Stub": header}, Timeout: timeout})
		t.Cleanup(func() { _ = r.Close() })
		return r
	}
	r := open("/mcp", "yes", 10*time.Second)
	list, err := r.Tools(t.Context())
	if err != nil || len(list) != 6 {
		t.Fatalf("%v %v", list, err)
	}
	for _, x := range list {
		if x.Name == "echo" && (!x.ReadOnly || x.Description != "Says it again." || !strings.Contains(string(x.Input), `"message"`)) || x.Name == "write" && x.ReadOnly {
			t.Errorf("%+v", x)
		}
	}
	for tool, want := range map[string]string{"echo": `{"text":"again: <hm>"}`, "write": `{"done":true}`, "picture": `{"notice":"1 parts of the answer are no text and were left out","text":"seen"}`} {
		if got, err := r.Call(t.Context(), tool, []byte(`{"message":"<hm>"}`)); err != nil || string(got) != want {
			t.Errorf("%s: %s %v", tool, got, err)
		}
	}
	fails := func(what string, r *Remote, tool string, code problem.Code, message string) {
		t.Helper()
		got, err := r.Call(t.Context(), tool, []byte(`{}`))
		l := problem.From(err)
		if err == nil || l[0].Code != code || !strings.Contains(l[0].Message, message) || strings.Contains(l.Error(), "127.0.0.1") || strings.ContainsAny(l.Error(), "\x1b\n") || len(l.Error()) > 800 {
			t.Errorf("%s: %.80s %v", what, got, err)
		}
	}
	fails("a tool that fails", r, "fail", problem.DataError, `no `)
	fails("no such tool", r, "nosuch", problem.Unavailable, "cannot be asked")
	fails("too large", r, "large", problem.Unavailable, "cannot be asked")
	if got, err := r.Call(t.Context(), "write", []byte(`{}`)); err != nil || string(got) != `{"done":true}` {
		t.Errorf("afterwards: %s %v", got, err)
	}
	fails("too slow", open("/mcp", "yes", 300*time.Millisecond), "slow", problem.Timeout, "took too long")
	fails("refused", open("/mcp", "no", time.Second), "write", problem.Unavailable, "cannot be asked")
	fails("sent elsewhere", open("/elsewhere", "yes", time.Second), "write", problem.Unavailable, "cannot be asked")
	s.Close()
	fails("gone", r, "write", problem.Unavailable, "cannot be asked")
}
