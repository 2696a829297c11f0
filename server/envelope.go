package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
)

// A message is one JSON-RPC message taken apart only as far as the server must look: the arguments of a
// tool call stay the bytes they arrived as, because decoding them here would lose what the engine has to
// refuse (duplicate keys, integers beyond 2^53, invalid UTF-8).
type message struct {
	v2      bool   // it names JSON-RPC 2.0
	id      []byte // as sent; nil for a notification
	method  string
	tool    string // params.name of a tools/call
	page    string // params.uri of a resources/read, where it is one of this program's own pages
	args    []byte // params.arguments of a tools/call; nil when absent
	cursor  bool   // there is a params.cursor
	version string // the protocol version that params._meta names; "" before 2026-07-28
	caps    []byte // the client's capabilities in params._meta
	reply   bool   // it answers a request of the server
	beat    []byte // the progress token in params._meta; nil when none is asked for
	rest    []byte // the message with empty arguments, for the MCP library
}

// Why a body is no message. The texts are for the client that sent it.
var (
	errNotJSON = errors.New("the body is not valid JSON")
	errBatch   = errors.New("the body must be one JSON-RPC object; batches are not supported")
	errKey     = errors.New("a key of the JSON-RPC envelope occurs twice or in another case")
)

const (
	metaVersionKey  = "io.modelcontextprotocol/protocolVersion"
	metaCapsKey     = "io.modelcontextprotocol/clientCapabilities"
	metaProgressKey = "progressToken"
	methodCall      = "tools/call"
	methodList      = "tools/list"
	methodInit      = "initialize"
	methodCancel    = "notifications/cancelled"
	methodListen    = "subscriptions/listen"

	// maxNesting is the deepest JSON that encoding/json reads. Arguments nested deeper are still handed to
	// the engine, which refuses them with a code; anything else that deep is no message.
	maxNesting = 10_000
)

// parseMessage splits a message. It never recurses, so a body of brackets costs no stack.
func parseMessage(body []byte) (*message, error) {
	i := skipSpace(body, 0)
	if i == len(body) {
		return nil, errNotJSON
	}
	if body[i] == '[' {
		return nil, errBatch
	}
	top, err := members(body, i, "jsonrpc", "id", "method", "params", "result", "error")
	if err != nil {
		return nil, err
	}
	m := &message{rest: body}
	m.v2 = string(top["jsonrpc"].in(body)) == `"2.0"`
	if v, ok := top["id"]; ok && string(v.in(body)) != "null" {
		m.id = v.in(body)
	}
	if v, ok := top["method"]; ok {
		if m.method, ok = textOf(v.in(body)); !ok {
			return nil, errNotJSON
		}
	}
	_, result := top["result"]
	_, failed := top["error"]
	m.reply = m.method == "" && m.id != nil && (result || failed)
	if err := m.params(body, top["params"]); err != nil {
		return nil, err
	}
	if !json.Valid(m.rest) {
		return nil, errNotJSON
	}
	return m, nil
}

// params looks into the parameters: at the protocol version always, at the name and the arguments when the
// message calls a tool.
func (m *message) params(body []byte, at span) error {
	if at.end == 0 || body[at.start] != '{' {
		return nil
	}
	known := []string{"_meta", "cursor"}
	if m.method == methodCall {
		known = append(known, "name", "arguments")
	}
	if m.method == methodRead {
		known = append(known, "uri")
	}
	in, err := members(body, at.start, known...)
	if err != nil {
		return err
	}
	if v, ok := in["_meta"]; ok && body[v.start] == '{' {
		meta, err := members(body, v.start, metaVersionKey, metaCapsKey, metaProgressKey)
		if err != nil {
			return err
		}
		m.caps = meta[metaCapsKey].in(body)
		if token := meta[metaProgressKey].in(body); ordinaryID(token) {
			m.beat = token
		}
		if v, ok := meta[metaVersionKey]; ok {
			m.version, _ = textOf(v.in(body)) // no string is no version, as the library sees it
		}
	}
	_, m.cursor = in["cursor"]
	if v, ok := in["uri"]; ok {
		if uri, _ := textOf(v.in(body)); strings.HasPrefix(uri, appPrefix) {
			m.page = uri
		}
	}
	if m.method != methodCall {
		return nil
	}
	if v, ok := in["name"]; ok {
		m.tool, _ = textOf(v.in(body))
	}
	v, ok := in["arguments"]
	if !ok {
		return nil
	}
	m.args = v.in(body)
	if !json.Valid(m.args) && nesting(m.args) <= maxNesting {
		return errNotJSON
	}
	m.rest = bytes.Join([][]byte{body[:v.start], body[v.end:]}, []byte("{}"))
	return nil
}

// cancels gives the id of the request that a notification cancels, as idOf writes it; "" when it names none.
func (m *message) cancels() string {
	var n struct {
		Params struct {
			RequestID json.RawMessage `json:"requestId"`
		} `json:"params"`
	}
	if json.Unmarshal(m.rest, &n) != nil || n.Params.RequestID == nil {
		return ""
	}
	return idOf(n.Params.RequestID)
}

// capabilities gives those of a client that begins a session.
func (m *message) capabilities() []byte {
	var n struct {
		Params struct {
			Capabilities json.RawMessage `json:"capabilities"`
		} `json:"params"`
	}
	_ = json.Unmarshal(m.rest, &n) // without any there are none
	return n.Params.Capabilities
}

// idOf makes the spellings of one request id equal.
func idOf(raw []byte) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return "s" + s
	}
	return string(raw)
}

// A span is a value's place in a body.
type span struct{ start, end int }

func (s span) in(b []byte) []byte { return b[s.start:s.end] }

// members gives the values of an object that starts at b[i]. A known key that occurs twice, or in another
// case, is refused: encoding/json would take the last of them whatever its case, so that the guard and the
// library could read two different messages.
func members(b []byte, i int, known ...string) (map[string]span, error) {
	if i >= len(b) || b[i] != '{' {
		return nil, errNotJSON
	}
	found := make(map[string]span, len(known))
	i = skipSpace(b, i+1)
	if i < len(b) && b[i] == '}' {
		return found, nil
	}
	for {
		end := skipString(b, i)
		if end < 0 {
			return nil, errNotJSON
		}
		key, ok := textOf(b[i:end])
		if !ok {
			return nil, errNotJSON
		}
		i = skipSpace(b, end)
		if i >= len(b) || b[i] != ':' {
			return nil, errNotJSON
		}
		v := span{start: skipSpace(b, i+1)}
		v.end = skipValue(b, v.start)
		if v.end < 0 {
			return nil, errNotJSON
		}
		for _, k := range known {
			if !strings.EqualFold(k, key) {
				continue
			}
			if _, twice := found[k]; twice || k != key {
				return nil, errKey
			}
			found[k] = v
		}
		i = skipSpace(b, v.end)
		if i >= len(b) || b[i] != ',' && b[i] != '}' {
			return nil, errNotJSON
		}
		if b[i] == '}' {
			return found, nil
		}
		i = skipSpace(b, i+1)
	}
}

// textOf reads a JSON string, as encoding/json does; false is for any other value.
func textOf(raw []byte) (s string, ok bool) {
	if n := len(raw); n >= 2 && raw[0] == '"' && raw[n-1] == '"' {
		plain := true
		for _, c := range raw[1 : n-1] {
			plain = plain && c >= ' ' && c < 0x7f && c != '"' && c != '\\'
		}
		if plain {
			return string(raw[1 : n-1]), true
		}
	}
	return s, json.Unmarshal(raw, &s) == nil
}

func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\n' || b[i] == '\r') {
		i++
	}
	return i
}

// skipString gives the end of the string that starts at b[i], or -1.
func skipString(b []byte, i int) int {
	if i >= len(b) || b[i] != '"' {
		return -1
	}
	for i++; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return -1
}

// skipValue gives the end of the value that starts at b[i], or -1. It matches brackets and strings; whether
// what lies between them is JSON is checked afterwards.
func skipValue(b []byte, i int) int {
	start, depth := i, 0
	for i < len(b) {
		switch b[i] {
		case '"':
			if i = skipString(b, i); i < 0 {
				return -1
			}
			if depth == 0 {
				return i
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return end(start, i)
			}
			if depth--; depth == 0 {
				return i + 1
			}
		case ',', ' ', '\t', '\n', '\r':
			if depth == 0 {
				return end(start, i)
			}
		}
		i++
	}
	return -1
}

// end is i, unless the value that ends there is empty.
func end(start, i int) int {
	if i == start {
		return -1
	}
	return i
}

// nesting is how deep the brackets of b go.
func nesting(b []byte) int {
	depth, most := 0, 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			if i = skipString(b, i); i < 0 {
				return most
			}
			i--
		case '{', '[':
			depth++
			most = max(most, depth)
		case '}', ']':
			depth--
		}
	}
	return most
}
