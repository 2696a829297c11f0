package server

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"
)

// What clients choke on, one test for each theme: what a client with that weakness sees and sends works here, or is
// told what to send. The many forms of each stand in the tests named TestHabits….
func TestHabitRows(t *testing.T) {
	s := shop(t)
	url := serveHTTP(t, s)
	schemas := func(profile string) (texts []string) {
		l := listing(t, "", profile)
		for i := range l.Tools {
			texts = append(texts, string(l.tool(t, i).InputSchema))
		}
		return texts
	}
	answers := func(t *testing.T, tool, args, want string) {
		t.Helper()
		if got := text(t, exchange{body: call(tool, args)}.do(t, url).body); !strings.Contains(got, want) {
			t.Errorf("%s %s lacks %q: %s", tool, args, want, got)
		}
	}
	none := func(t *testing.T, profile string, words ...string) {
		t.Helper()
		for _, schema := range schemas(profile) {
			for _, word := range words {
				if strings.Contains(schema, word) {
					t.Errorf("%s shows %s", profile, word)
				}
			}
		}
	}
	const one = `{"resource":"Category","fields":[{"code":"id"}],"limit":1}`
	for theme, check := range map[string]func(t *testing.T){
		"dots in names": func(t *testing.T) {
			for _, profile := range []string{"claude-desktop", "openai", "gemini"} {
				for _, tool := range listing(t, "", profile).Tools {
					if !regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`).MatchString(tool.Name) {
						t.Errorf("%s shows %s", profile, tool.Name)
					}
				}
			}
			if got := dotless("mall.order.query"); got != "mall_order_query" {
				t.Error(got)
			}
		},
		"hyphens": func(t *testing.T) {
			for _, tool := range listing(t, "", "cursor").Tools {
				if !regexp.MustCompile(`^[a-zA-Z0-9_]+$`).MatchString(tool.Name) {
					t.Errorf("cursor is shown %s", tool.Name)
				}
			}
			answers(t, "res_query", one, `"columns":["id"]`)
			answers(t, "res-query", one, `"columns":["id"]`)
		},
		"length": func(t *testing.T) {
			for _, profile := range Profiles() { // beside the alias of a server, which may have 30 characters
				for _, tool := range listing(t, "", profile).Tools {
					if len(tool.Name) > 26 {
						t.Errorf("%s shows %s", profile, tool.Name)
					}
				}
			}
		},
		"double underscore": func(t *testing.T) {
			for _, profile := range Profiles() {
				for _, tool := range listing(t, "", profile).Tools {
					if strings.Contains(tool.Name, "__") {
						t.Errorf("%s shows %s", profile, tool.Name)
					}
				}
			}
		},
		"recursive $ref": func(t *testing.T) {
			none(t, "gemini", "$ref")
			none(t, "moonshot", "$ref")
			if strings.Contains(string(envelopeSchema), "$ref") {
				t.Error("the output schema refers to itself")
			}
		},
		"$ref to properties": func(t *testing.T) {
			none(t, "schema=defs", `"#/properties/`)
			none(t, "openai", "$ref")
		},
		"$ref beside a description": func(t *testing.T) {
			for _, schema := range schemas("schema=defs") {
				if m := regexp.MustCompile(`\{[^{}]*"\$ref":"[^"]*"[^{}]*\}`).FindAllString(schema, -1); len(m) > 0 {
					for _, ref := range m {
						if strings.Contains(ref, ",") {
							t.Errorf("words beside a reference: %s", ref)
						}
					}
				}
			}
			if flat := schemas("gemini")[1]; !strings.Contains(flat, "ON") {
				t.Error("the description of the joins' conditions is lost")
			}
		},
		"oneOf": func(t *testing.T) {
			none(t, "gemini", `"oneOf"`)
			none(t, "openai", `"oneOf"`, `"anyOf"`)
			none(t, "moonshot", `"oneOf"`, `"anyOf"`)
			answers(t, "res-query", `{"resource":"Category","fields":[{"code":"id"}],"orderBy":["Category.id"],"limit":1}`, "[1]")
			answers(t, "res-query", `{"resource":"Category","fields":[{"code":"id"}],"orderBy":[{"type":"field","expr":"Category.id"}],"limit":1}`, "[1]")
		},
		"stringified arguments": func(t *testing.T) {
			answers(t, "res-query", quote(one), "[1]")
			answers(t, "res-query", `{"resource":"Category","fields":"[{\"code\":\"id\"}]","limit":1}`, "[1]")
		},
		"integers beyond 2^53": func(t *testing.T) {
			answers(t, "res-query", `{"resource":"Category","fields":[{"code":"9007199254740993 + 0","isExpr":true,"alias":"n"}],"limit":1}`, `["9007199254740993"]`)
		},
		"text and structured content": func(t *testing.T) {
			if a := (exchange{body: call("res-query", one)}).do(t, url); strings.Contains(a.body, "structuredContent") {
				t.Errorf("both without being asked: %s", a.body)
			}
			a := exchange{body: call("res-query", one)}.with("X-Mcp-Schema-Version", "2").do(t, url)
			var r struct {
				Result struct {
					Content           []struct{ Text string }
					StructuredContent struct{ Data json.RawMessage }
				}
			}
			if err := json.Unmarshal([]byte(a.body), &r); err != nil || !same(t, r.Result.StructuredContent.Data, []byte(r.Result.Content[0].Text)) {
				t.Errorf("the two differ: %v %s", err, a.body)
			}
		},
		"result size": func(t *testing.T) {
			a := exchange{body: call("res-query", `{"resource":"Order","fields":[],"limit":1000}`)}.do(t, url)
			if got := text(t, a.body); len(got) > 25<<10 || !strings.Contains(got, "BYTES_CUT") || !strings.Contains(got, `"nextOffset"`) {
				t.Errorf("%d bytes, ending in %s", len(got), got[max(0, len(got)-200):])
			}
		},
		"descriptions": func(t *testing.T) {
			for _, lang := range Languages() {
				l := listing(t, lang, "")
				for i := range l.Tools {
					if n := len([]rune(l.tool(t, i).Description)); n > 2000 {
						t.Errorf("%s %s: %d characters", lang, l.Tools[i].Name, n)
					}
				}
				if n := len([]rune(l.Instructions)); n > 2000 {
					t.Errorf("%s: instructions of %d characters", lang, n)
				}
			}
		},
		"tool count": func(t *testing.T) {
			if n := len(listing(t, "", "").Tools); n > 40 {
				t.Errorf("%d tools", n)
			}
		},
		"timeouts": func(t *testing.T) { // of a client that waits a minute, and longer while it hears something
			if s.beat > 10*time.Second || s.beat <= 0 {
				t.Errorf("a sign of life every %v", s.beat)
			}
		},
		"elicitation": func(t *testing.T) { // nobody is asked what it did not say it can answer; here nobody is asked at all
			for _, e := range []exchange{{body: call("res-query", one)}, modern("tools/call", "res-query", one)} {
				if a := e.do(t, url); strings.Contains(a.body, "elicitation") || strings.Contains(a.body, "input_required") {
					t.Errorf("asked: %s", a.body)
				}
			}
		},
		"annotations": func(t *testing.T) {
			for _, profile := range Profiles() {
				l := listing(t, "", profile)
				for i := range l.Tools {
					a := l.tool(t, i).Annotations
					for _, hint := range []string{"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"} {
						if _, said := a[hint]; !said {
							t.Errorf("%s %s: no %s", profile, l.Tools[i].Name, hint)
						}
					}
				}
			}
		},
	} {
		t.Run(theme, check)
	}
}

// Two callers count their requests alike: what one cancels in its own session is its own (mcp.md 2.3).
func TestCancelSameNumber(t *testing.T) {
	f := newFake()
	url := serveHTTP(t, newServer(t, f, withKeys(Options{})))
	ids := map[string]string{}
	for _, key := range []string{"alice-key", "bob-key"} {
		ids[key] = exchange{body: initBody}.with("Authorization", "Bearer "+key).do(t, url).header.Get("Mcp-Session-Id")
	}
	ctx, hangUp := context.WithCancel(t.Context())
	defer hangUp()
	go func() {
		req, _ := http.NewRequestWithContext(ctx, http.MethodPost, url+Path, strings.NewReader(call("res-query", `{"resource":"slow"}`)))
		for k, v := range map[string]string{"Content-Type": "application/json", "Authorization": "Bearer alice-key", "Mcp-Session-Id": ids["alice-key"]} {
			req.Header.Set(k, v)
		}
		if resp, err := http.DefaultClient.Do(req); err == nil {
			resp.Body.Close()
		}
	}()
	<-f.started
	cancel := exchange{body: `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`}
	for about, e := range map[string]exchange{
		"bob in his session":   cancel.with("Authorization", "Bearer bob-key", "Mcp-Session-Id", ids["bob-key"]),
		"bob in alice's":       cancel.with("Authorization", "Bearer bob-key", "Mcp-Session-Id", ids["alice-key"]),
		"bob without one":      cancel.with("Authorization", "Bearer bob-key"),
		"alice, a second name": cancel.with("Authorization", "Bearer alice-key-2"),
	} {
		e.do(t, url)
		select {
		case <-f.stopped:
			t.Fatalf("%s stopped the call", about)
		case <-time.After(30 * time.Millisecond):
		}
	}
	cancel.with("Authorization", "Bearer alice-key", "Mcp-Session-Id", ids["alice-key"]).do(t, url)
	select {
	case <-f.stopped:
	case <-time.After(5 * time.Second):
		t.Fatal("alice could not stop her call")
	}
}

// Clients that come and go leave nothing behind: no goroutine of a stream, a call or a session, and no memory of
// sessions that are over (mcp.md 2.3, 3).
func TestNothingIsLeft(t *testing.T) {
	f := newFake()
	s := newServer(t, f, Options{IdleTTL: 100 * time.Millisecond})
	s.beat = 5 * time.Millisecond
	url := serveHTTP(t, s)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	send := func(ctx context.Context, method, session, body string) {
		req, _ := http.NewRequestWithContext(ctx, method, url+Path, strings.NewReader(body))
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		if session != "" {
			req.Header.Set("Mcp-Session-Id", session)
		}
		if resp, err := client.Do(req); err == nil {
			resp.Body.Close()
		}
	}
	round := func() {
		id := exchange{body: initBody}.do(t, url).header.Get("Mcp-Session-Id")
		ctx, hangUp := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			send(ctx, http.MethodPost, id, withToken(exchange{body: call("res-query", `{"resource":"slow"}`)}, "1").body)
			close(done)
		}()
		<-f.started
		short, end := context.WithTimeout(t.Context(), 5*time.Millisecond)
		send(short, http.MethodGet, id, "")
		end()
		hangUp()
		<-done
		<-f.stopped
	}
	settle := func() (goroutines int, heap uint64) {
		var m runtime.MemStats
		for range 40 { // the library forgets idle sessions in its own time
			time.Sleep(25 * time.Millisecond)
			http.DefaultClient.CloseIdleConnections()
			goroutines = runtime.NumGoroutine()
		}
		runtime.GC()
		runtime.ReadMemStats(&m)
		return goroutines, m.HeapAlloc
	}
	for range 20 {
		round()
	}
	before, held := settle()
	for range 150 {
		round()
	}
	for range 1500 {
		exchange{body: initBody}.do(t, url)
	}
	after, holds := settle()
	if after > before+5 {
		t.Errorf("%d goroutines, and %d before", after, before)
	}
	if holds > held+4<<20 {
		t.Errorf("the heap is %s, and was %s", kib(holds), kib(held))
	}
}

func kib(n uint64) string { return fmt.Sprintf("%d KiB", n>>10) }
