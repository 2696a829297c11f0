package server

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"resq/engine"
	"resq/engine/policy"
)

var requestID = regexp.MustCompile(`request_id\\":\\"[0-9a-f-]*`)

// Note [the direct way]: its answers are the library's own, but for the spelling of JSON.
func TestDirectEqualsLibrary(t *testing.T) {
	f := newFake()
	s := newServer(t, f, withKeys(Options{Version: "1"}))
	url := serveHTTP(t, s)
	for _, body := range []string{
		call("res-query", `{}`), call("res_query", `{"resource":"bad"}`), call("res-query", `[]`), call("res-query", `{"resource":"csv"}`),
		call("res-schema", `{"keywords":"x"}`), modern("tools/call", "res-query", `{}`).body, modern("tools/call", "res-query", `{"resource":"bad"}`).body,
		`{"jsonrpc":"2.0","id":"a\u0062\"","method":"tools/list"}`, `{"jsonrpc":"2.0","id":-7,"method":"tools/list","params":{}}`, modern("tools/list", "", "").body,
	} {
		for _, key := range []string{"alice-key", "writer-key"} {
			m, err := parseMessage([]byte(body))
			if err != nil {
				t.Fatal(err)
			}
			if !plain(m, nil) {
				t.Errorf("not plain: %s", body)
				continue
			}
			c := caller{who: testKeys[key], args: m.args, view: s.views().view(contractProfile), version: 1}
			got, ok := s.direct(t.Context(), m, c)
			if !ok {
				t.Errorf("no direct answer to %s", body)
				continue
			}
			lib, err := json.Marshal(s.mcp.HandleMessage(withCaller(t.Context(), c), m.rest))
			if err != nil {
				t.Fatal(err)
			}
			var a, b any
			if json.Unmarshal(requestID.ReplaceAll(got, nil), &a) != nil || json.Unmarshal(requestID.ReplaceAll(lib, nil), &b) != nil {
				t.Fatalf("no JSON: %s\n%s", got, lib)
			}
			if !reflect.DeepEqual(a, b) {
				t.Errorf("%s\ndirect  %s\nlibrary %s", body, got, lib)
			}
			e := exchange{body: body}.with("Authorization", "Bearer "+key)
			if m.version != "" {
				e = e.with("MCP-Protocol-Version", m.version, "Mcp-Method", m.method, "Mcp-Name", m.tool)
			}
			over := e.do(t, url)
			var http any
			if json.Unmarshal(requestID.ReplaceAll([]byte(over.body), nil), &http) != nil || !reflect.DeepEqual(a, http) || over.header.Get("Content-Type") != "application/json" {
				t.Errorf("over HTTP: %d %s", over.status, over.body)
			}
		}
	}
}

// The same on a real engine: whatever is asked, both ways give the same, in either version of the answers and with
// the offer of an export, of which each names another handle.
func TestDirectEqualsLibraryOnRows(t *testing.T) {
	s := shop(t)
	changing := regexp.MustCompile(`((?:request_id|cursor)\\?":\\?"|resq://export/)[A-Za-z0-9_-]*`)
	cases := append([]struct{ about, args, want string }{
		{"cut", `{"resource":"Order","fields":[],"limit":1000}`, ""}, {"refused", `{"resource":"Order","fields":[{"code":"nosuch"}]}`, ""}, {"nothing", `{}`, ""},
	}, promises...)
	for i, q := range cases {
		for _, version := range [][]int{{1}, {2}, {1, 2, 0}}[i%3] {
			m, err := parseMessage([]byte(call("res-query", q.args)))
			if err != nil {
				t.Fatal(err)
			}
			c := caller{who: alice, args: m.args, view: s.views().view(contractProfile), version: version, export: "csv"}
			got, ok := s.direct(t.Context(), m, c)
			lib, err := json.Marshal(s.mcp.HandleMessage(withCaller(t.Context(), c), m.rest))
			if err != nil || !ok {
				t.Fatal(err, ok)
			}
			var a, b any
			if json.Unmarshal(changing.ReplaceAll(got, []byte("$1")), &a) != nil || json.Unmarshal(changing.ReplaceAll(lib, []byte("$1")), &b) != nil {
				t.Fatalf("no JSON: %s\n%s", got, lib)
			}
			if !reflect.DeepEqual(a, b) {
				t.Errorf("%s, version %d\ndirect  %.600s\nlibrary %.600s", q.about, version, got, lib)
			}
		}
	}
}

// viaLibrary makes a request take the way of the library, which does not mind an odd id.
func viaLibrary(e exchange) exchange {
	e.body = strings.Replace(e.body, `"id":1,`, `"id":true,`, 1)
	return e
}

// An id is the client's own: it goes back to the last digit, whatever it is, and its call tells progress and can
// be cancelled. Where the library would send another one back, the request is refused under its own.
func TestOddIDs(t *testing.T) {
	s := newServer(t, long{newFake(), 60 * time.Millisecond}, Options{})
	s.beat = 20 * time.Millisecond
	url := serveHTTP(t, s)
	p := serveStdio(t, s)
	has := func(about, got, id, want string) {
		t.Helper()
		var m struct{ ID json.RawMessage }
		if err := json.Unmarshal([]byte(got), &m); err != nil || string(m.ID) != id || !strings.Contains(got, want) {
			t.Errorf("%s %s: %v %s", about, id, err, got)
		}
	}
	for _, id := range []string{`1.5`, `-0.25e-3`, `1e3`, `9007199254740993`, `-123456789012345678901234567890`, `"9007199254740993"`, `""`, `"é\u4e2d\n"`} {
		for _, e := range []exchange{{body: call("res-query", `{}`)}, modern("tools/call", "res-query", `{}`)} {
			e.body = strings.Replace(e.body, `"id":1`, `"id":`+id, 1)
			has("a call", e.do(t, url).body, id, "done")
			lines := withToken(e, "7").stream(t, url)
			told := within(lines, 5*time.Second)
			if !strings.Contains(told, `"notifications/progress"`) {
				t.Errorf("no progress for %s: %s", id, told)
			}
			p.send(withToken(e, "7").body)
			if told := p.next(); !strings.Contains(told, `"notifications/progress"`) {
				t.Errorf("no progress over stdio for %s: %s", id, told)
			}
			for told = p.next(); strings.Contains(told, `"notifications/progress"`); told = p.next() {
			}
			has("a call over stdio", told, id, "done")
		}
		has("a list", exchange{body: `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/list"}`}.do(t, url).body, id, `"tools"`)
	}
	for id, kept := range map[string]bool{`1.5`: true, `-7`: true, `"a"`: true, `1e3`: false, `9007199254740993`: false} {
		want := `"prompts"`
		if !kept {
			want = "an integer within 2^53"
		}
		ask := `{"jsonrpc":"2.0","id":` + id + `,"method":"prompts/list"}`
		has("prompts", exchange{body: ask}.do(t, url).body, id, want)
		p.send(ask)
		has("prompts over stdio", p.next(), id, want)
	}
}

// What is not quite ordinary is left to the library, which says what is wrong.
func TestNotPlain(t *testing.T) {
	meta := `"io.modelcontextprotocol/protocolVersion":"2026-07-28"`
	for _, body := range []string{
		`{"id":1,"method":"tools/list"}`,
		`{"jsonrpc":"1.0","id":1,"method":"tools/list"}`,
		`{"jsonrpc":"2.0","method":"tools/list"}`,
		`{"jsonrpc":"2.0","id":true,"method":"tools/list"}`,
		`{"jsonrpc":"2.0","id":{"a":1},"method":"tools/list"}`,
		`{"jsonrpc":"2.0","id":[1],"method":"tools/list"}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"x"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"ping"}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{` + meta + `}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{` + meta + `,"io.modelcontextprotocol/clientCapabilities":1}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2099-01-01","io.modelcontextprotocol/clientCapabilities":{}}}}`,
	} {
		m, err := parseMessage([]byte(body))
		if err != nil {
			t.Fatalf("%s: %v", body, err)
		}
		if plain(m, nil) {
			t.Errorf("plain: %s", body)
		}
	}
	m, err := parseMessage([]byte(modern("tools/call", "res-query", `{}`).body))
	if err != nil {
		t.Fatal(err)
	}
	good := http.Header{"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {"tools/call"}, "Mcp-Name": {"res-query"}}
	if !plain(m, good) {
		t.Error("whole headers are not plain")
	}
	for k, v := range map[string]string{"Mcp-Protocol-Version": "2025-11-25", "Mcp-Method": "tools/list", "Mcp-Name": "res-schema", "Last-Event-Id": "1"} {
		h := good.Clone()
		h.Set(k, v)
		if plain(m, h) {
			t.Errorf("plain with %s: %s", k, v)
		}
	}
}

func FuzzAppendString(f *testing.F) {
	for _, s := range []string{"", "a", "\"\\\n\r\t\x00\x1f\x7f", "中文 <a&b> \u2028", "\xff\xfe", "a\xc3", "\U0001f600"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var got string
		if err := json.Unmarshal(appendString(nil, s), &got); err != nil {
			t.Fatalf("%q: %v", s, err)
		}
		if want := strings.ToValidUTF8(s, "\ufffd"); utf8.ValidString(s) && got != want {
			t.Fatalf("%q came back as %q", s, got)
		}
	})
}

// page answers with a page of thirty rows, so that the benchmark shows what the protocol costs.
type page struct {
	*fake
	text []byte
}

func (p page) Query(context.Context, *policy.Principal, []byte) (*engine.Answer, error) {
	return &engine.Answer{Text: p.text, Rows: 30}, nil
}

func BenchmarkCall(b *testing.B) {
	row := `[1,"订单 \"A\"","2024-01-01 08:00:00",12.5,null,"13800000000","a@b.example"],` + "\n"
	p := page{newFake(), []byte(`{"resource":"Order","columns":[],"rows":[` + strings.Repeat(row, 30) + `],"hasMore":false}`)}
	s, err := New(p, Options{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	h, closeStreams := s.handler(nil)
	defer closeStreams()
	for name, e := range map[string]exchange{
		"direct":  {body: call("res-query", `{"resource":"Order","fields":[],"limit":30}`)},
		"library": viaLibrary(modern("tools/call", "res-query", `{"resource":"Order","fields":[],"limit":30}`)),
		"list":    {body: `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1/mcp", strings.NewReader(e.body))
				r.Header.Set("Content-Type", "application/json")
				w := httptest.NewRecorder()
				h.ServeHTTP(w, r)
				if w.Code != 200 || w.Body.Len() < 1000 {
					b.Fatal(w.Code, w.Body)
				}
				_, _ = io.Copy(io.Discard, w.Body)
			}
		})
	}
}
