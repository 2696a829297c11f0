package server

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"testing"
)

// A recorded is one line of the log about a request.
type recorded struct {
	Msg, Code, Tool, Principal, Key string
	RequestID                       string `json:"request_id"`
	Status                          int
}

func jsonLog() (*slog.Logger, *syncBuffer) {
	b := &syncBuffer{}
	return slog.New(slog.NewJSONHandler(b, nil)), b
}

// records are the lines about requests, in their order.
func records(t *testing.T, b *syncBuffer) (list []recorded) {
	t.Helper()
	for _, line := range strings.Split(strings.TrimSpace(b.String()), "\n") {
		var r recorded
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		if r.Msg == "call" || r.Msg == "refused" {
			list = append(list, r)
		}
	}
	return list
}

// Whatever is answered leaves one record: what it was, how it ended, whose it was, and the request id of the
// answer; and nothing that the caller sent.
func TestRecords(t *testing.T) {
	const canary = "canary7f3a"
	log, lines := jsonLog()
	url := serveHTTP(t, newServer(t, newFake(), withKeys(Options{Log: log})))
	keyed := func(e exchange) exchange { return e.with("Authorization", "Bearer alice-key") }
	list := `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	mismatched := modern("tools/call", "res-query", `{}`)
	mismatched.header["Mcp-Name"] = canary
	for _, c := range []struct {
		about string
		exchange
		want recorded
	}{
		{"a call", keyed(exchange{body: call("res-query", `{"`+canary+`":1}`)}), recorded{"call", "OK", "res-query", "alice", "", "", 0}},
		{"another spelling", keyed(exchange{body: call("res_schema", `{}`)}), recorded{"call", "OK", "res-schema", "alice", "", "", 0}},
		{"a failed call", keyed(exchange{body: call("res-query", `{"resource":"bad"}`)}), recorded{"call", "UNKNOWN_FIELD", "res-query", "alice", "", "", 0}},
		{"a denied call", exchange{body: call("res-query", `{}`)}.with("Authorization", "Bearer writer-key"), recorded{"call", "PERMISSION_DENIED", "res-query", "writer", "", "", 0}},
		{"an unknown tool", keyed(exchange{body: call(canary, `{}`)}), recorded{"call", "UNKNOWN_TOOL", "", "alice", "", "", 0}},
		{"an unknown tool, modern", keyed(modern("tools/call", canary, `{}`)), recorded{"call", "UNKNOWN_TOOL", "", "alice", "", "", 0}},
		{"no key", exchange{body: list}, recorded{"refused", "UNAUTHENTICATED", "", "", "", "", 401}},
		{"a bad key", exchange{body: list}.with("Authorization", "Bearer "+canary), recorded{"refused", "UNAUTHENTICATED", "", "", "", "", 401}},
		{"a foreign host", keyed(exchange{body: list}).with("Host", canary), recorded{"refused", "PERMISSION_DENIED", "", "", "", "", 403}},
		{"a foreign origin", keyed(exchange{body: list}).with("Origin", "http://"+canary), recorded{"refused", "PERMISSION_DENIED", "", "", "", "", 403}},
		{"another session", keyed(exchange{body: list}).with("Mcp-Session-Id", canary), recorded{"refused", "NOT_FOUND_OR_FORBIDDEN", "", "alice", "", "", 404}},
		{"no JSON", keyed(exchange{body: canary}), recorded{"refused", "INVALID_ARGUMENT", "", "alice", "", "", 400}},
		{"a batch", keyed(exchange{body: `["` + canary + `"]`}), recorded{"refused", "INVALID_ARGUMENT", "", "alice", "", "", 400}},
		{"a large body", keyed(exchange{body: strings.Repeat(" ", maxBody+1)}), recorded{"refused", "LIMIT_EXCEEDED", "", "alice", "", "", 413}},
		{"another type", keyed(exchange{body: list}).with("Content-Type", "text/plain"), recorded{"refused", "INVALID_ARGUMENT", "", "", "", "", 415}},
		{"another method", keyed(exchange{method: http.MethodPut}), recorded{"refused", "INVALID_ARGUMENT", "", "", "", "", 405}},
		{"no such profile", keyed(exchange{path: Path + "/p/" + canary, body: list}), recorded{"refused", "NOT_FOUND_OR_FORBIDDEN", "", "alice", "", "", 404}},
		{"a header that contradicts, which the library refuses", keyed(mismatched), recorded{"refused", "INVALID_ARGUMENT", "", "alice", "", "", 400}},
	} {
		before := len(records(t, lines))
		a := c.do(t, url)
		got := records(t, lines)[before:]
		if len(got) != 1 {
			t.Errorf("%s: %d records: %+v", c.about, len(got), got)
			continue
		}
		id := got[0].RequestID
		if strings.Contains(a.body, "request_id") && (id == "" || !strings.Contains(a.body, id)) {
			t.Errorf("%s: record %q, answer %s", c.about, id, a.body)
		}
		got[0].RequestID = ""
		if got[0] != c.want {
			t.Errorf("%s: %+v\nwant %+v", c.about, got[0], c.want)
		}
	}
	// What is no refusal leaves none.
	before := len(records(t, lines))
	for _, e := range []exchange{{body: list}, {body: initBody}, modern("tools/list", "", ""), {body: `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`}} {
		keyed(e).do(t, url)
	}
	if got := records(t, lines)[before:]; len(got) > 0 {
		t.Errorf("records of nothing: %+v", got)
	}
	if strings.Contains(lines.String(), canary) {
		t.Errorf("what was sent is in the log:\n%s", lines)
	}
}

// Over stdio it is the same.
func TestRecordsStdio(t *testing.T) {
	const canary = "canary7f3a"
	log, lines := jsonLog()
	p := serveStdio(t, newServer(t, newFake(), Options{Log: log}))
	for _, c := range []struct {
		line string
		want recorded
	}{
		{call("res-query", `{"`+canary+`":1}`), recorded{"call", "OK", "res-query", "local", "", "", 0}},
		{call("res-query", `{"resource":"bad"}`), recorded{"call", "UNKNOWN_FIELD", "res-query", "local", "", "", 0}},
		{call(canary, `{}`), recorded{"call", "UNKNOWN_TOOL", "", "local", "", "", 0}},
		{canary, recorded{"refused", "INVALID_ARGUMENT", "", "local", "", "", 0}},
		{`[` + quote(canary) + `]`, recorded{"refused", "INVALID_ARGUMENT", "", "local", "", "", 0}},
		{`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"resq://resource/` + canary + `"}}`, recorded{"refused", "NOT_FOUND_OR_FORBIDDEN", "", "local", "", "", 0}},
	} {
		p.send(c.line)
		answer := p.next()
		all := records(t, lines)
		got := all[len(all)-1]
		if id := got.RequestID; strings.Contains(answer, "request_id") && (id == "" || !strings.Contains(answer, id)) {
			t.Errorf("%s: record %q, answer %s", c.line, id, answer)
		}
		if got.RequestID = ""; got != c.want {
			t.Errorf("%s: %+v\nwant %+v", c.line, got, c.want)
		}
	}
	if strings.Contains(lines.String(), canary) {
		t.Errorf("what was sent is in the log:\n%s", lines)
	}
}
