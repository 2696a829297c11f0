package server

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"sync"
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/mcp"
	mcpgo "github.com/mark3labs/mcp-go/server"

	"resq/engine"
	"resq/schema/problem"
)

// Note [the direct way]
//
// tools/call and tools/list are nearly all that clients send. The library parses each of them seven times and
// encodes an answer three times over, which costs more than the query of a small one; so an ordinary message
// of these two is answered here, in one pass, with the parts that the library itself wrote once. Whatever is
// not quite ordinary goes to the library, which knows what is wrong with it; so does what may end in a question.

// parts are what the library puts around results, by era.
type parts struct {
	mu    sync.Mutex
	lists map[partsKey]listed
}

type listed struct {
	result json.RawMessage // of tools/list
	meta   json.RawMessage // its _meta, which every result has since 2026-07-28
}

type partsKey struct {
	version string
	tools   string // the names that are seen
	profile Profile
	answers int  // the version of the answers, 2 being listed with the tools
	apps    bool // the tools are listed with their pages
}

// maxLists bounds what is remembered; a list beyond it is made again by the library.
const maxLists = 256

// plain says whether a message can take the direct way. The header is nil over stdio.
func plain(m *message, header http.Header) bool {
	if !m.v2 || m.method != methodCall && (m.method != methodList || m.cursor) && m.page == "" || !ordinaryID(m.id) {
		return false
	}
	if header == nil {
		return m.version == "" || m.modern()
	}
	named := header.Get(mcp.HeaderProtocolVersion)
	if !mcp.IsModernProtocol(named) && !mcp.IsModernProtocol(m.version) {
		return named == "" || mcp.IsValidProtocolVersion(named)
	}
	return m.modern() && named == m.version && header.Get(mcp.HeaderMethod) == m.method && header.Get(mcp.HeaderName) == m.tool+m.page &&
		header.Get(mcp.HeaderLastEventID) == ""
}

// modern says whether m is whole as a message of the era that began with 2026-07-28.
func (m *message) modern() bool {
	var caps mcp.ClientCapabilities
	return mcp.IsModernProtocol(m.version) && mcp.IsValidProtocolVersion(m.version) && len(m.caps) > 0 && m.caps[0] == '{' && json.Unmarshal(m.caps, &caps) == nil
}

// ordinaryID says whether an id is one of the protocol's: a string or a number. It goes back as it came, so it
// may be larger than any program reads exactly.
func ordinaryID(id []byte) bool {
	return len(id) > 0 && (id[0] == '"' || id[0] == '-' || id[0] >= '0' && id[0] <= '9')
}

// inexact says whether the library, which keeps an id as a float64, would send another one back. A client would
// wait for its own for ever.
func inexact(id []byte) bool {
	if !ordinaryID(id) || id[0] == '"' {
		return false
	}
	var n float64
	if json.Unmarshal(id, &n) != nil {
		return true
	}
	back, _ := json.Marshal(n) // a float64 that was read always encodes
	return !bytes.Equal(back, id)
}

// refuseID is the answer to a message whose id would not come back.
func (m *message) refuseID() *refusal {
	no := m.refuse(problem.InvalidArgument, "a request of "+problem.Quote(m.method)+" needs an id that is a string or an integer within 2^53")
	no.rpc = mcp.INVALID_REQUEST
	return no
}

// outgoing is where answers are written.
var outgoing engine.Room

// direct answers a plain message, or says that the library has to. The tool is one that exists.
func (s *Server) direct(ctx context.Context, m *message, c caller) ([]byte, bool) {
	if m.method == methodList {
		l, ok := s.listed(m.version, c)
		return respond(m.id, l.result), ok
	}
	var meta []byte
	if m.version != "" {
		l, ok := s.listed(m.version, c)
		if !ok {
			return nil, false
		}
		meta = l.meta
	}
	r, ok := s.call(ctx, c, m.tool)
	if !ok {
		return nil, false
	}
	defer r.release()
	blocks := r.blocks()
	size := 768 + len(r.structured)
	for _, t := range blocks { // what is escaped in an answer of rows; the rest grows it
		size += len(t) + bytes.Count(t, []byte{'"'}) + bytes.Count(t, []byte{'\n'}) + bytes.Count(t, []byte{'\\'})
	}
	b := append(outgoing.Take(size), `{"jsonrpc":"2.0","id":`...)
	b = append(b, m.id...)
	b = append(b, `,"result":{`...)
	switch dialog := s.dialog(c, r, m.tool); {
	case dialog != nil:
		b = append(append(b, `"_meta":`...), dialog.within(meta)...)
		b = append(b, ',')
	case meta != nil:
		b = append(append(append(b, `"_meta":`...), meta...), ',')
	}
	b = append(b, `"content":[`...)
	for i, t := range blocks {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendString(append(b, `{"type":"text","text":`...), t), '}')
	}
	if l := r.link; l != nil {
		b = appendString(append(b, `,{"type":"resource_link","uri":`...), l.uri)
		b = appendString(append(b, `,"name":`...), l.name)
		b = appendString(append(b, `,"description":`...), l.description)
		b = append(appendString(append(b, `,"mimeType":`...), l.mime), '}')
	}
	b = append(b, ']')
	if r.structured != nil {
		b = append(append(b, `,"structuredContent":`...), r.structured...)
	}
	if r.Failed {
		b = append(b, `,"isError":true`...)
	}
	if meta != nil {
		b = append(b, `,"resultType":"complete"`...)
	}
	return append(b, "}}\n"...), true
}

func respond(id, result []byte) []byte {
	b := append(outgoing.Take(len(result)+64), `{"jsonrpc":"2.0","id":`...)
	b = append(append(b, id...), `,"result":`...)
	return append(append(b, result...), "}\n"...)
}

// listed gives the result of tools/list as the library writes it, from memory after the first time.
func (s *Server) listed(version string, c caller) (listed, bool) {
	key := partsKey{version: version, profile: c.view.profile, answers: max(c.version, 1), apps: c.able.apps}
	for _, d := range c.open() {
		key.tools += d.Name + "\n"
	}
	parts := &c.view.of.parts // which go with the tools that they list
	parts.mu.Lock()
	defer parts.mu.Unlock()
	if l, ok := parts.lists[key]; ok {
		return l, true
	}
	ask := `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	if version != "" {
		ask = `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"` + metaVersionKey + `":"` + version + `","` + metaCapsKey + `":{}}}}`
	}
	raw, err := json.Marshal(s.mcp.HandleMessage(withCaller(context.Background(), caller{who: c.who, verbs: c.verbs, offers: c.offers, reaches: c.reaches, enabled: c.enabled, view: c.view, version: c.version, able: abilities{apps: c.able.apps}}), json.RawMessage(ask)))
	if err != nil {
		return listed{}, false
	}
	var response struct {
		Result json.RawMessage `json:"result"`
	}
	var result struct {
		Meta json.RawMessage `json:"_meta"`
	}
	if json.Unmarshal(raw, &response) != nil || json.Unmarshal(response.Result, &result) != nil || (version != "") != (result.Meta != nil) {
		return listed{}, false
	}
	if parts.lists == nil {
		parts.lists = map[partsKey]listed{}
	}
	l := listed{response.Result, result.Meta}
	if len(parts.lists) < maxLists {
		parts.lists[key] = l
	}
	return l, true
}

// What a session without a stream is told of a change, before the answer of its next call.
const (
	toolsChanged     = `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}` + "\n"
	resourcesChanged = `{"jsonrpc":"2.0","method":"notifications/resources/list_changed"}` + "\n"
)

// direct answers over HTTP, where a call can be cancelled by a notification of its session.
func (g *guard) direct(w http.ResponseWriter, r *http.Request, m *message, c caller) bool {
	if c.asks || m.page != "" || !plain(m, r.Header) {
		return false
	}
	ctx, done := g.calls.run(r.Context(), r.Header.Get(mcpgo.HeaderKeySessionID), m.id)
	defer done()
	stream := eventStream{w: w}
	stop := func() {}
	if m.beat != nil && takesEvents(r.Header) {
		stop = g.s.progress(ctx, m.beat, stream.send)
	}
	defer stop()
	out, ok := g.s.direct(ctx, m, c)
	if !ok {
		return false
	}
	stop() // nothing is told after the answer
	if !wanted(ctx) {
		return true
	}
	if session := r.Header.Get(mcpgo.HeaderKeySessionID); session != "" && m.method == methodCall &&
		g.sessions.news(session, g.s.changes.Load(), g.s.shifts.Load(), func(swaps, shifts int64) sight { return g.s.sees(swaps, shifts, c) }) && takesEvents(r.Header) {
		stream.send([]byte(toolsChanged))
		stream.send([]byte(resourcesChanged))
	}
	defer outgoing.Give(out)
	if stream.open {
		stream.send(out)
		return true
	}
	writeMessage(w, out)
	return true
}

func writeMessage(w http.ResponseWriter, out []byte) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(out)))
	_, _ = w.Write(out)
}

// calls are the running calls of sessions, by session and request id.
type calls struct{ running sync.Map }

type callID struct{ session, request string }

// run registers a call for as long as it runs. Without a session nobody can name it, so it is not kept.
func (c *calls) run(ctx context.Context, session string, id []byte) (context.Context, func()) {
	if session == "" {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	key := callID{session, idOf(id)}
	c.running.Store(key, &cancel)
	return ctx, func() {
		c.running.CompareAndDelete(key, &cancel)
		cancel()
	}
}

// stop cancels the call with an id as idOf writes it, and says whether it runs here.
func (c *calls) stop(session, id string) bool {
	cancel, ok := c.running.Load(callID{session, id})
	if ok {
		(*cancel.(*context.CancelFunc))()
	}
	return ok
}

const hexDigits = "0123456789abcdef"

// ordinary says of every byte whether it stands for itself in a JSON string.
var ordinary = func() (t [256]bool) {
	for c := range utf8.RuneSelf {
		t[c] = c >= 0x20 && c != '"' && c != '\\'
	}
	return t
}()

// appendString writes a JSON string without escapes that JSON does not ask for. Bytes that are not UTF-8
// become U+FFFD.
func appendString[T string | []byte](b []byte, s T) []byte {
	b = append(b, '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if ordinary[c] {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(string(s[i:min(i+utf8.UTFMax, len(s))]))
			if r == utf8.RuneError && n == 1 {
				b = append(append(b, s[from:i]...), "\ufffd"...)
				from = i + 1
			}
			i += n
			continue
		}
		b = append(b, s[from:i]...)
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, '\\', 'n')
		case '\t':
			b = append(b, '\\', 't')
		case '\r':
			b = append(b, '\\', 'r')
		default:
			b = append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
		i++
		from = i
	}
	return append(append(b, s[from:]...), '"')
}
