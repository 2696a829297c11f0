package server

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// B-009 … B-011, E-04: who asks for version 2 gets the same text and an envelope beside it, and is told so in
// the list; who asks for a version that does not exist is told when it calls.
func TestStructured(t *testing.T) {
	s := shop(t)
	url := serveHTTP(t, s)
	schema := compile(t, envelopeSchema)
	type reply struct {
		Result struct {
			Content           []struct{ Text string }
			StructuredContent json.RawMessage
			IsError           bool
		}
	}
	ask := func(e exchange, header ...string) reply {
		a := e.with(header...).do(t, url)
		var r reply
		if err := json.Unmarshal([]byte(a.body), &r); err != nil || len(r.Result.Content) == 0 {
			t.Fatalf("%v in %s", err, a.body)
		}
		return r
	}
	for _, c := range []struct{ tool, args, data string }{
		{"res-query", `{"resource":"Category","fields":[{"code":"id"},{"code":"name"}],"limit":2}`, "="},
		{"res-query", `{"resource":"Category","fields":[{"code":"id"}],"limit":2,"format":"objects"}`, "="},
		{"res-query", `{"resource":"Category","fields":[{"code":"id"}],"limit":2,"format":"csv"}`, `{"text":"id\n1\n2\n","meta":`},
		{"res-query", `{"resource":"Category","fields":[{"code":"id"}],"limit":2,"format":"markdown"}`, `{"text":"`},
		{"res-schema", `{"keywords":"订单","detail":"full"}`, `{"resources":[{"code":"Order","name":"订单","connection":"`},
		{"res-schema", `{}`, `{"resources":[{"code":"`},
		{"res-schema", `{"keywords":"nosuchthing"}`, `{"resources":[],`},
		{"res-query", `{"resource":"Nothing","fields":[]}`, "error"},
		{"res-query", `[]`, "error"},
	} {
		for _, e := range []exchange{{body: call(c.tool, c.args)}, modern("tools/call", c.tool, c.args), viaLibrary(modern("tools/call", c.tool, c.args))} {
			one, two := ask(e), ask(e, "X-Mcp-Schema-Version", "2")
			if one.Result.StructuredContent != nil || ask(e, "X-Mcp-Schema-Version", "1").Result.StructuredContent != nil {
				t.Errorf("%s: structured without being asked: %s", c.args, one.Result.StructuredContent)
			}
			text := two.Result.Content[0].Text
			if without(one.Result.Content[0].Text) != without(text) {
				t.Errorf("%s: the text differs: %s", c.args, text)
			}
			var v any
			var envelope struct {
				SchemaVersion int             `json:"schema_version"`
				RequestID     string          `json:"request_id"`
				Data, Error   json.RawMessage `json:",omitempty"`
			}
			raw := two.Result.StructuredContent
			if json.Unmarshal(raw, &v) != nil || json.Unmarshal(raw, &envelope) != nil || schema.Validate(v) != nil || envelope.SchemaVersion != 2 || len(envelope.RequestID) != 36 {
				t.Errorf("%s: %s", c.args, raw)
				continue
			}
			if bytes.ContainsRune(raw, '\n') {
				t.Errorf("%s: the envelope has line ends", c.args)
			}
			switch c.data {
			case "=":
				if !same(t, envelope.Data, []byte(text)) || envelope.Error != nil {
					t.Errorf("%s: %s is not %s", c.args, envelope.Data, text)
				}
			case "error":
				var told struct{ Error json.RawMessage }
				_ = json.Unmarshal([]byte(text), &told)
				if !two.Result.IsError || envelope.Data != nil || !same(t, envelope.Error, told.Error) || !strings.Contains(text, envelope.RequestID) {
					t.Errorf("%s: %s is not %s", c.args, raw, text)
				}
			default:
				if !strings.HasPrefix(string(envelope.Data), c.data) {
					t.Errorf("%s: %s", c.args, envelope.Data)
				}
			}
		}
	}
	for _, e := range []exchange{{body: `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`}, modern("tools/list", "", "")} {
		for version, want := range map[string]int{"": 0, "1": 0, "2": 2, "3": 0, "x": 0} {
			for range 2 {
				if a := e.with("X-Mcp-Schema-Version", version).do(t, url); strings.Count(a.body, `"outputSchema"`) != want || len(names(t, a.body)) != 2 {
					t.Errorf("version %q: %s", version, a.body)
				}
			}
		}
	}
	for _, version := range []string{"3", "0", "v2", "2.0"} {
		for _, e := range []exchange{{body: call("res-query", `{"resource":"Category","fields":[]}`)}, modern("tools/call", "res-schema", `{}`)} {
			a := e.with("X-Mcp-Schema-Version", version).do(t, url)
			if f := failure(t, a.body); f.Code != "SCHEMA_VERSION_UNSUPPORTED" || f.RequestID == "" {
				t.Errorf("version %s: %s", version, a.body)
			}
		}
	}
	for path, want := range map[string]bool{Path + "/compat?structured=on": true, Path + "/compat?structured=off": false} {
		e := exchange{path: path, body: call("res-query", `{"resource":"Category","fields":[]}`)}.with("X-Mcp-Schema-Version", map[bool]string{true: "1", false: "2"}[want])
		if got := ask(e).Result.StructuredContent != nil; got != want {
			t.Errorf("%s: structured is %v", path, got)
		}
	}
	// One message is one line over stdio.
	local, err := New(s.backend.Load().Backend, Options{Log: s.log, Profile: parse(t, "structured=on")})
	if err != nil {
		t.Fatal(err)
	}
	p := serveStdio(t, local)
	p.send(call("res-query", `{"resource":"Category","fields":[],"limit":3}`))
	if got := p.next(); !strings.Contains(got, `"structuredContent":{"schema_version":2`) || !json.Valid([]byte(got)) {
		t.Errorf("stdio: %s", got)
	}
}

// without leaves out what differs from call to call.
func without(text string) string {
	head, _, _ := strings.Cut(text, `"request_id"`)
	head, _, _ = strings.Cut(head, `"cursor"`)
	return head
}

func same(t *testing.T, a, b []byte) bool {
	t.Helper()
	var x, y bytes.Buffer
	if json.Compact(&x, a) != nil || json.Compact(&y, b) != nil {
		return false
	}
	return x.String() == y.String()
}
