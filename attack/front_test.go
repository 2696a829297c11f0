package attack_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"resq/engine/policy"
	"resq/server"
	"resq/testdb"
)

// A version of answers that there is not, and a tool outside of a key's scopes, are refused in front of the engine: nothing
// is asked of a database, and the call is kept as what it is (B-004, B-009, E-16). The lines of the corpus about business
// tools that need a server, over HTTP and on every database.
func TestCorpusPresetsFront(t *testing.T) {
	lines := slices.DeleteFunc(corpus(t), func(l line) bool { return notRun()[l.ID] != frontLines })
	if len(lines) != 2 {
		t.Fatalf("%d lines", len(lines))
	}
	tables := fixtureTables(t, needCorpus(t, "fixture.yaml"))
	score := &scores{}
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		g := newTarget(t, on, tables)
		alice := keyed("alice")
		alice.Tools = map[string]bool{policy.ToolKey("user.list.query"): true, policy.ToolKey("order.detail.get"): true}
		var mu sync.Mutex
		var kept []server.Call
		s, err := server.New(g.engine, server.Options{
			Version: "test", Log: slog.New(slog.DiscardHandler),
			Authenticate: func(_ context.Context, key string) (*policy.Principal, error) {
				return map[string]*policy.Principal{"alice-key-of-the-corpus": alice}[key], nil
			},
			Record: func(c *server.Call) {
				mu.Lock()
				defer mu.Unlock()
				kept = append(kept, *c)
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		l, err := s.Listen("127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(context.Background())
		var running sync.WaitGroup
		running.Go(func() {
			if err := s.Serve(ctx, l); err != nil {
				t.Error(err)
			}
		})
		t.Cleanup(func() { stop(); running.Wait() })
		ask := func(tool string, args []byte, headers map[string]string) string {
			body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tool + `","arguments":` + string(args) + `}}`
			req, err := http.NewRequest(http.MethodPost, "http://"+l.Addr().String()+server.Path, bytes.NewReader([]byte(body)))
			if err != nil {
				t.Fatal(err)
			}
			for name, v := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Authorization": "Bearer alice-key-of-the-corpus"} {
				req.Header.Set(name, v)
			}
			for name, v := range headers {
				req.Header.Set(name, v)
			}
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			b, _ := io.ReadAll(resp.Body)
			return string(b)
		}
		for _, c := range lines {
			t.Run(c.ID, func(t *testing.T) {
				t.Cleanup(func() { score.add(c.Category, t.Failed()) })
				tool := strings.TrimPrefix(c.Tool, "preset:")
				mu.Lock()
				kept = nil
				mu.Unlock()
				g.recorder.Reset()
				said := ask(tool, c.arguments(t).bytes(), c.Headers)
				var a struct {
					Result *struct {
						IsError bool
						Content []struct{ Text string }
					}
				}
				if err := json.Unmarshal([]byte(said), &a); err != nil || a.Result == nil || !a.Result.IsError || len(a.Result.Content) == 0 || !strings.Contains(a.Result.Content[0].Text, `"code":"`+c.Code+`"`) {
					t.Errorf("want %s (%s): %v\n%s", c.Code, c.Note, err, said)
				}
				if ran := g.recorder.Statements(); len(ran) > 0 {
					t.Errorf("refused, but %d statements ran: %v", len(ran), ran)
				}
				mu.Lock()
				defer mu.Unlock()
				outcome := map[string]string{"PERMISSION_DENIED": "denied"}[c.Code]
				if len(kept) != 1 || string(kept[0].Code) != c.Code || outcome != "" && (kept[0].Outcome != outcome || kept[0].Tool != tool) || kept[0].Who != alice {
					t.Errorf("kept of the call: %+v", kept)
				}
			})
		}
		// What is refused is refused for its scope and its version alone: the key's own tool answers, and a name that is
		// nowhere is none.
		if said := ask("user.list.query", []byte(`{"rows":1}`), map[string]string{"X-Mcp-Schema-Version": "2"}); !strings.Contains(said, `"schema_version":2`) {
			t.Errorf("its own tool: %s", said)
		}
		if said := ask("no.such.tool", []byte(`{}`), nil); !strings.Contains(said, "UNKNOWN_TOOL") {
			t.Errorf("a tool that is not there: %s", said)
		}
	})
	score.print(t)
}
