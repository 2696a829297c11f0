//go:build browser

package console

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"resq/registry"
	"resq/testdb"
)

// The whole story in a browser, beside a client that speaks MCP: scripts/console.sh runs it.
func TestBrowser(t *testing.T) {
	for _, e := range testdb.Engines(t) {
		if e.Name == testdb.Postgres {
			continue // the pages are the same, and TestStory tells the story there
		}
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel() // most of the time is waiting
			b := newBench(t, e)
			b.keyNamed("dashboards")
			if _, err := b.control.CreateAdmin(t.Context(), "agent", registry.RoleApprover, password); err != nil {
				t.Fatal(err)
			}
			l, err := b.server.Listen("127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			go func() { _ = b.server.Serve(t.Context(), l) }()
			cmd := exec.CommandContext(t.Context(), "node", filepath.Join("..", "..", "scripts", "console.mjs"))
			cmd.Env = append(os.Environ(), "CONSOLE_URL="+b.url, "MCP_URL=http://"+l.Addr().String()+"/mcp", "CONSOLE_PASSWORD="+password, "CONSOLE_DATABASE="+e.Name)
			out, err := cmd.CombinedOutput()
			t.Logf("%s", out)
			if err != nil {
				t.Fatal(err)
			}
		})
	}
}
