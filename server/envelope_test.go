package server

import (
	"errors"
	"strings"
	"testing"
)

// The envelope is read once, exactly, and the arguments of a call stay as they came (security.md 0, finding 8).
func TestParseMessage(t *testing.T) {
	for _, c := range []struct {
		body              string
		id, method, tool  string
		args, vers, rest  string
		noArgs, untouched bool
	}{
		{
			body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"res-query","arguments":{"a":9007199254740993,"a":2}}}`,
			id:   "1", method: "tools/call", tool: "res-query", args: `{"a":9007199254740993,"a":2}`,
			rest: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"res-query","arguments":{}}}`,
		},
		{
			body: " {\"id\" : \"x\\u0031\" , \"method\":\"tools\\/call\",\"params\":{ \"arguments\" : [1, {\"b\":\"}\\\"]\"}] ,\"name\":\"n\"}} ",
			id:   `"x\u0031"`, method: "tools/call", tool: "n", args: `[1, {"b":"}\"]"}]`,
			rest: " {\"id\" : \"x\\u0031\" , \"method\":\"tools\\/call\",\"params\":{ \"arguments\" : {} ,\"name\":\"n\"}} ",
		},
		{
			body: "{\"method\":\"tools/call\",\"params\":{\"name\":\"n\",\"arguments\":{\"s\":\"a\xff\xfe\"}},\"id\":2}",
			id:   "2", method: "tools/call", tool: "n", args: "{\"s\":\"a\xff\xfe\"}",
			rest: `{"method":"tools/call","params":{"name":"n","arguments":{}},"id":2}`,
		},
		{body: `{"id":null,"method":"ping"}`, method: "ping", noArgs: true, untouched: true},
		{body: `{"id":3,"method":"tools/call","params":{"name":"n"}}`, id: "3", method: "tools/call", tool: "n", noArgs: true, untouched: true},
		{body: `{"id":3,"method":"tools/list","params":{"arguments":{"x":1}}}`, id: "3", method: "tools/list", noArgs: true, untouched: true},
		{body: `{"id":3,"method":"x","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`, id: "3", method: "x", vers: "2026-07-28", noArgs: true, untouched: true},
		{body: `{"id":3,"method":"x","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":7}}}`, id: "3", method: "x", noArgs: true, untouched: true},
		{body: `{"id":3,"result":{}}`, id: "3", noArgs: true, untouched: true},
		{body: `{}`, noArgs: true, untouched: true},
	} {
		m, err := parseMessage([]byte(c.body))
		if err != nil {
			t.Errorf("%s: %v", c.body, err)
			continue
		}
		if c.untouched {
			c.rest = c.body
		}
		if string(m.id) != c.id || m.method != c.method || m.tool != c.tool || string(m.args) != c.args || m.version != c.vers || string(m.rest) != c.rest || (m.args == nil) != c.noArgs {
			t.Errorf("%s: got id %s method %s tool %s args %s version %s rest %s", c.body, m.id, m.method, m.tool, m.args, m.version, m.rest)
		}
	}
}

func TestParseMessageRefuses(t *testing.T) {
	for body, want := range map[string]error{
		"":                    errNotJSON,
		"   ":                 errNotJSON,
		"\xff\xfe\x00":        errNotJSON, // TRN-028
		"null":                errNotJSON,
		`"x"`:                 errNotJSON,
		`{`:                   errNotJSON,
		`{"a"}`:               errNotJSON,
		`{"a":}`:              errNotJSON,
		`{"a":1,}`:            errNotJSON,
		`{"a":1} x`:           errNotJSON,
		`{"a":tru}`:           errNotJSON,
		`{"a":"\x"}`:          errNotJSON,
		`{"a":[}]}`:           errNotJSON,
		`{"method":1}`:        errNotJSON,
		`{"params":"`:         errNotJSON,
		`[{"method":"ping"}]`: errBatch,
		`{"method":"tools/call","method":"tools/list"}`:                                                    errKey, // TRN-023
		`{"method":"tools/list","Method":"tools/call"}`:                                                    errKey,
		`{"METHOD":"notifications/cancelled"}`:                                                             errKey,
		`{"paramſ":{}}`:                                                                                    errKey, // U+017F folds to s in encoding/json
		`{"meth\u006fd":"a","method":"b"}`:                                                                 errKey,
		`{"method":"tools/call","params":{"name":"a","Name":"b"}}`:                                         errKey,
		`{"method":"tools/call","params":{"name":"a","arguments":{},"arguments":{}}}`:                      errKey,
		`{"method":"x","params":{"_meta":{},"_META":{}}}`:                                                  errKey,
		`{"method":"tools/call","params":{"name":"a","arguments":{"a":}}}`:                                 errNotJSON,
		`{"method":"tools/call","params":{"name":"a","arguments":{"a":1]}}}`:                               errNotJSON,
		`{"method":"x","params":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + `}`:        errNotJSON,
		`{"method":"tools/call","params":{"name":"a","arguments":` + strings.Repeat("[", 20_000) + `}}`:    errNotJSON,
		`{"id":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + `,"method":"tools/call"}`:   errNotJSON,
		`{"method":"tools/call","params":{"name":"a","arguments":` + strings.Repeat("{", 1<<20-100) + `}}`: errNotJSON,
	} {
		if _, err := parseMessage([]byte(body)); !errors.Is(err, want) {
			t.Errorf("%.80s: got %v, want %v", body, err, want)
		}
	}
}

// Arguments nested deeper than encoding/json reads reach the engine, which refuses them with a code (DOS-007).
func TestDeepArguments(t *testing.T) {
	deep := strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000)
	m, err := parseMessage([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"res-query","arguments":` + deep + `}}`))
	if err != nil {
		t.Fatal(err)
	}
	if string(m.args) != deep {
		t.Errorf("%d bytes of arguments", len(m.args))
	}
}

// Whatever arrives, the splitter neither panics nor hands the library something that is not JSON.
func FuzzParseMessage(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"res-query","arguments":{"a":[1,"}"]}}}`))
	f.Add([]byte(`{"id":"a","params":{"_meta":{}},"method":"tools\/call"}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		m, err := parseMessage(body)
		if err != nil {
			return
		}
		again, err := parseMessage(m.rest)
		if err != nil {
			t.Fatalf("%q left %q: %v", body, m.rest, err)
		}
		if again.method != m.method || again.tool != m.tool || string(again.id) != string(m.id) || again.version != m.version {
			t.Fatalf("%q and %q differ", body, m.rest)
		}
	})
}
