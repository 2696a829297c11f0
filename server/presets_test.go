package server

import (
	"encoding/json"
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
