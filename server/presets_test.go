package server

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"resq/engine"
)

func orderList(input string) engine.Tool {
	return engine.Tool{Name: "order.list", Title: "Orders", Description: "Lists orders", Input: []byte(input),
		Output: []byte(`{"type":"object","properties":{"total":{"type":"integer"}}}`), ReadOnly: true, Idempotent: true}
}

const noArguments = `{"type":"object","properties":{},"additionalProperties":false}`

// The tools of a catalog are listed behind the server's own with their hints, answer in both spellings and both ways,
// and are not there for whom the catalog does not offer them (B-008, E-08).
func TestCatalogTools(t *testing.T) {
	f := newFake()
	secret := orderList(noArguments)
	secret.Name = "secret.list"
	f.tools = []engine.Tool{orderList(noArguments), secret}
	s := newServer(t, f, withKeys(Options{Version: "1"}))
	url := serveHTTP(t, s)
	send := func(body string) answer {
		return exchange{body: body}.with("Authorization", "Bearer alice-key").do(t, url)
	}
	list := send(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	if got := names(t, list.body); got[0] != toolSchema || !slices.Contains(got, "order.list") || slices.Contains(got, "secret.list") {
		t.Errorf("listed: %v", got)
	}
	for _, want := range []string{`"readOnlyHint":true`, `"idempotentHint":true`, `"destructiveHint":false`, `Lists orders`} {
		if !strings.Contains(list.body[strings.Index(list.body, "order.list")-600:], want) {
			t.Errorf("no %s in %s", want, list.body)
		}
	}
	for _, name := range []string{"order.list", "order_list"} {
		if got := text(t, send(call(name, `{"a":1}`)).body); got != `{"tool":"order.list"}` {
			t.Errorf("%s: %s", name, got)
		}
		e := viaLibrary(exchange{body: call(name, `{"a":1}`)}.with("Authorization", "Bearer alice-key")).do(t, url)
		if !strings.Contains(e.body, `order.list`) {
			t.Errorf("%s by the library: %s", name, e.body)
		}
		if _, raw := f.last(); raw != `{"a":1}` {
			t.Errorf("%s was asked with %s", name, raw)
		}
	}
	two := exchange{body: `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`}.with("Authorization", "Bearer alice-key", headerVersion, "2").do(t, url)
	if !strings.Contains(two.body, `"data":{"type":"object","properties":{"total":{"type":"integer"}}}`) && !strings.Contains(two.body, `"total":{"type":"integer"}`) {
		t.Errorf("version 2 lists no output schema of its own: %s", two.body)
	}
	got := exchange{body: call("order.list", `{}`)}.with("Authorization", "Bearer alice-key", headerVersion, "2").do(t, url)
	var r struct {
		Result struct {
			StructuredContent struct {
				Version int `json:"schema_version"`
				Data    struct{ Tool string }
			}
		}
	}
	if json.Unmarshal([]byte(got.body), &r) != nil || r.Result.StructuredContent.Version != 2 || r.Result.StructuredContent.Data.Tool != "order.list" {
		t.Errorf("version 2: %s", got.body)
	}
}

// A reload brings tools and takes them away; what was listed before is not shown again (E-28).
func TestCatalogToolsChange(t *testing.T) {
	f := newFake()
	s := newServer(t, f, withKeys(Options{Version: "1"}))
	url := serveHTTP(t, s)
	send := func(body string) string {
		return exchange{body: body}.with("Authorization", "Bearer alice-key").do(t, url).body
	}
	list := `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	if slices.Contains(names(t, send(list)), "order.list") {
		t.Fatal("a tool is there before its catalog")
	}
	if got := send(call("order.list", `{}`)); !strings.Contains(got, "order.list") || !strings.Contains(got, `"error"`) {
		t.Errorf("a tool that is not there: %s", got)
	}
	next := newFake()
	next.tools = []engine.Tool{orderList(noArguments)}
	s.Swap(next)
	if !slices.Contains(names(t, send(list)), "order.list") || text(t, send(call("order_list", `{}`))) != `{"tool":"order.list"}` {
		t.Error("a tool of the new catalog is not there")
	}
	again := newFake()
	again.tools = []engine.Tool{orderList(`{"type":"object","properties":{"status":{"type":"integer"}},"additionalProperties":false}`)}
	s.Swap(again)
	if !strings.Contains(send(list), `"status"`) {
		t.Error("the list shows the arguments of the old catalog")
	}
	s.Swap(newFake())
	if slices.Contains(names(t, send(list)), "order.list") || s.mcp.GetTool("order_list") != nil {
		t.Error("a tool outlives its catalog")
	}
}

// What the files of a catalog tell clients is told to those who see one of their tools (D-043).
func TestCatalogInstructions(t *testing.T) {
	f := newFake()
	secret := orderList(noArguments)
	secret.Name = "secret.list"
	f.tools = []engine.Tool{orderList(noArguments), secret}
	f.told = []engine.Instruction{{Text: "Money is in yuan."}, {Text: "Orders are of this year.", Tools: []string{"order.list", "secret.list"}}, {Text: "The vault is empty.", Tools: []string{"secret.list"}}}
	s := newServer(t, f, withKeys(Options{Version: "1"}))
	url := serveHTTP(t, s)
	hello := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`
	got := exchange{body: hello}.with("Authorization", "Bearer alice-key").do(t, url).body
	if !strings.Contains(got, `\n\nMoney is in yuan.\n\nOrders are of this year."`) || strings.Contains(got, "vault") {
		t.Errorf("told: %s", got)
	}
}

// The log line of a call holds the arguments that the tool lets it hold (V-39).
func TestCatalogToolLog(t *testing.T) {
	f := newFake()
	f.tools = []engine.Tool{orderList(noArguments)}
	log, out := quietLog()
	s := newServer(t, f, Options{Log: log})
	if _, ok := s.Call(t.Context(), alice, "order_list", []byte(`{"phone":"13900000304"}`)); !ok {
		t.Fatal("there is no such tool")
	}
	if got := out.String(); !strings.Contains(got, "state") || strings.Contains(got, "13900000304") {
		t.Errorf("log: %s", got)
	}
}

// N4, B-004, security.md C4: a tool that is hidden from a caller is one that does not exist, on every way in and in every
// spelling: in the status, the answer, the log, the metrics and the audit.
func TestHiddenToolIsNone(t *testing.T) {
	const hidden, none = "secret.list", "nosuch.list"
	f := newFake()
	secret, change := orderList(noArguments), orderList(noArguments)
	secret.Name = hidden
	change.Name, change.ReadOnly, change.Destructive = "secret.set", false, true
	f.tools = []engine.Tool{orderList(noArguments), secret, change}
	log, lines := jsonLog()
	var kept []Call
	o := Options{Version: "1", Log: log, Record: func(c *Call) { kept = append(kept, *c) }}
	local := newServer(t, f, o)
	s := newServer(t, f, withKeys(o))
	url := serveHTTP(t, s)
	keyed := func(e exchange) exchange { return e.with("Authorization", "Bearer alice-key") }
	http := func(e exchange) string {
		a := keyed(e).do(t, url)
		return fmt.Sprint(a.status, " ", a.body)
	}
	stdio := func(line string) string {
		p := serveStdio(t, local)
		defer p.close()
		p.send(line)
		return p.next()
	}
	for about, ask := range map[string]func(name string) string{
		"HTTP":         func(name string) string { return http(exchange{body: call(name, `{"a":1}`)}) },
		"HTTP, events": func(name string) string { return http(viaLibrary(exchange{body: call(name, `{}`)})) },
		"HTTP, modern": func(name string) string { return http(modern("tools/call", name, `{}`)) },
		"HTTP, forms":  func(name string) string { return http(able(modern("tools/call", name, `{}`), `{"elicitation":{}}`)) },
		"HTTP, another name in the header": func(name string) string {
			e := modern("tools/call", name, `{}`)
			e.header["Mcp-Name"] = "res-query"
			return http(e)
		},
		"stdio":         func(name string) string { return stdio(call(name, `{}`)) },
		"stdio, modern": func(name string) string { return stdio(modern("tools/call", name, `{}`).body) },
		"Go": func(name string) string {
			r, ok := s.Call(t.Context(), alice, name, []byte(`{}`))
			return fmt.Sprint(r, ok)
		},
	} {
		for _, pair := range [][2]string{{hidden, none}, {underscored(hidden), underscored(none)}, {"secret.set", "nosuch.set"}} {
			got, want := ask(pair[0]), ask(pair[1])
			id := regexp.MustCompile(`"request_id\\?":\\?"[0-9a-f-]+`)
			plain := func(text, name string) string {
				return strings.ReplaceAll(id.ReplaceAllString(text, "ID"), name, "NAME")
			}
			if a, b := plain(got, pair[0]), plain(want, pair[1]); a != b {
				t.Errorf("%s, %s: %s\none that does not exist: %s", about, pair[0], a, b)
			}
		}
	}
	if out := lines.String(); strings.Contains(out, "secret") {
		t.Errorf("the log: %s", out)
	}
	if out := figures(t, url); strings.Contains(out, "secret") {
		t.Error("a hidden name is a label of the metrics")
	}
	for _, c := range kept {
		if c.Tool != "" || string(c.Arguments) != "" {
			t.Errorf("kept: %+v", c)
		}
	}
	if len(kept) == 0 {
		t.Error("no call was kept")
	}
}
