package server

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"resq/engine"
	"resq/engine/policy"
)

const withApps = `{"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["text/html;profile=mcp-app"]}}}`

// talks are one conversation with a server, in either era and over either transport: what is asked, and the answers.
func talks(t *testing.T, s *Server, url, capabilities string, asked []exchange) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	hello := able(exchange{body: initBody}, capabilities)
	legacy := hello.do(t, url)
	out["legacy http"] = append(out["legacy http"], legacy.body)
	p := serveStdio(t, s)
	p.send(hello.body)
	out["legacy stdio"] = append(out["legacy stdio"], p.next())
	for _, e := range asked {
		out["legacy http"] = append(out["legacy http"], exchange{body: e.body}.with("Mcp-Session-Id", legacy.header.Get("Mcp-Session-Id")).do(t, url).body)
		p.send(e.body)
		out["legacy stdio"] = append(out["legacy stdio"], p.next())
	}
	p.close() // a server has one such session
	q := serveStdio(t, s)
	defer q.close()
	for _, e := range asked {
		now := able(modernOf(e), capabilities)
		out["modern http"] = append(out["modern http"], now.do(t, url).body)
		q.send(now.body)
		out["modern stdio"] = append(out["modern stdio"], q.next())
	}
	return out
}

// modernOf is a message of the older era as the newer one sends it.
func modernOf(e exchange) exchange {
	m, err := parseMessage([]byte(e.body))
	if err != nil {
		panic(err)
	}
	now := modern(m.method, m.tool, string(m.args))
	if m.method == methodRead {
		now = modern("tools/list", "", "").with("Mcp-Method", m.method, "Mcp-Name", m.page)
		now.body = strings.Replace(strings.Replace(now.body, "tools/list", m.method, 1), `"params":{`, `"params":{"uri":"`+m.page+`",`, 1)
	}
	return now
}

func appServer(t *testing.T) (*fake, *Server, string) {
	f := newFake()
	f.can, f.rows = 7, `{"id":1,"before":{"note":"x"},"after":{"note":"y"}}`
	f.tools = []engine.Tool{{Name: "order.list", Title: "Orders", Input: []byte(`{"type":"object"}`), Output: []byte(`{"type":"object"}`), ReadOnly: true}}
	s := newServer(t, f, Options{
		Local: &policy.Principal{Name: "me", Scopes: []string{"read", "write", "delete"}}, Page: func(op string) string { return "https://console.test/changes/" + op },
	})
	return f, s, serveHTTP(t, s)
}

var appTalk = []exchange{
	{body: `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`}, {body: `{"jsonrpc":"2.0","id":1,"method":"resources/list"}`},
	{body: `{"jsonrpc":"2.0","id":1,"method":"resources/templates/list"}`},
	{body: `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"ui://resq/table"}}`},
	{body: `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"ui://resq/change"}}`},
	{body: call(toolQuery, `{"resource":"Order"}`)}, {body: call("order.list", `{}`)}, {body: call(toolUpdate, `{"resource":"Order","ids":[1],"data":{}}`)},
	{body: call(toolUpdate, `{"resource":"human","ids":[1],"data":{}}`)}, {body: call(toolDelete, `{"resource":"strict"}`)},
	{body: call(toolUpdate, `{"resource":"Order","__confirm__":true}`)}, {body: call(toolUpdate, `{"dry_run":true}`)}, {body: call(toolSchema, `{}`)},
}

// Whoever does not declare MCP Apps is answered as if there were none, whatever else it declares.
func TestAppsAreForThoseWhoDeclareThem(t *testing.T) {
	_, s, url := appServer(t)
	want := talks(t, s, url, `{}`, appTalk)
	for _, capabilities := range []string{
		`{"extensions":{}}`, `{"extensions":{"io.modelcontextprotocol/ui":{}}}`, `{"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["text/html"]}}}`,
		`{"extensions":{"io.modelcontextprotocol/UI":{"mimeTypes":["text/html;profile=mcp-app"]}}}`, `{"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":"text/html;profile=mcp-app"}}}`,
		`{"experimental":{"io.modelcontextprotocol/ui":{"mimeTypes":["text/html;profile=mcp-app"]}}}`, `{"sampling":{},"extensions":{"x/y":{"mimeTypes":["text/html;profile=mcp-app"]}}}`,
	} {
		got := talks(t, s, url, capabilities, appTalk)
		for wire := range want {
			for i, answer := range got[wire] {
				if steady(answer) != steady(want[wire][i]) {
					t.Errorf("%s with %s, message %d:\n%s\nwithout: %s", wire, capabilities, i, answer, want[wire][i])
				}
			}
		}
	}
	for wire, answers := range want {
		if all := strings.Join(answers, "\n"); strings.Contains(all, dialogKey) || strings.Contains(all, "resourceUri") || strings.Contains(all, "mcp-app") {
			t.Errorf("%s: %s", wire, all)
		}
	}
}

// steady leaves out what differs from call to call.
func steady(answer string) string {
	return regexp.MustCompile(`request_id\\?":\\?"[0-9a-f-]*`).ReplaceAllString(answer, "")
}

// A client that declares MCP Apps is listed the pages with the tools, reads them, and gets the token of a preview beside the text and
// not in it.
func TestApps(t *testing.T) {
	f, s, url := appServer(t)
	f.mu.Lock()
	f.calls = nil
	f.mu.Unlock()
	for wire, answers := range talks(t, s, url, withApps, appTalk) {
		hello := ""
		if strings.HasPrefix(wire, "legacy") {
			hello, answers = answers[0], answers[1:]
			if !strings.Contains(hello, `"extensions":{"io.modelcontextprotocol/ui":{}}`) {
				t.Errorf("%s is greeted with %s", wire, hello)
			}
		}
		var list struct {
			Result struct {
				Tools []struct {
					Name string
					Meta struct{ UI struct{ ResourceUri string } } `json:"_meta"`
				}
			}
		}
		if err := json.Unmarshal([]byte(answers[0]), &list); err != nil {
			t.Fatal(err)
		}
		pages := map[string]string{}
		for _, tool := range list.Result.Tools {
			pages[tool.Name] = tool.Meta.UI.ResourceUri
		}
		for tool, want := range map[string]string{toolQuery: appTable, "order.list": appTable, toolUpdate: appChange, toolDelete: appChange, toolUndo: appChange, toolSchema: "", toolCreate: "", toolOperation: ""} {
			if got, ok := pages[tool]; !ok || got != want {
				t.Errorf("%s: the page of %s is %q", wire, tool, got)
			}
		}
		for i, uri := range map[int]string{3: appTable, 4: appChange} {
			var read struct {
				Result struct {
					ResultType, CacheScope string
					Contents               []struct {
						URI, MimeType, Text string
						Meta                struct {
							UI struct{ CSP map[string][]string }
						} `json:"_meta"`
					}
				}
			}
			if err := json.Unmarshal([]byte(answers[i]), &read); err != nil || len(read.Result.Contents) != 1 {
				t.Fatalf("%s: %v %s", wire, err, answers[i])
			}
			c := read.Result.Contents[0]
			if c.URI != uri || c.MimeType != "text/html;profile=mcp-app" || c.Meta.UI.CSP == nil || len(c.Meta.UI.CSP) != 0 || !strings.HasPrefix(c.Text, "<!doctype html>") {
				t.Errorf("%s: %.300s", wire, answers[i])
			}
			if modern := strings.HasPrefix(wire, "modern"); modern != (read.Result.ResultType == "complete" && read.Result.CacheScope == "private") {
				t.Errorf("%s: %.300s", wire, answers[i])
			}
		}
		for i, want := range map[int]string{5: "", 6: "", 7: `{"tool":"res-update","token":"rq1.fake"}`, 8: `{"tool":"res-update","token":"rq1.fake","page":"https://console.test/changes/0123456789abcdef0123456789abcdef"}`, 9: `{"tool":"res-delete","token":"rq1.fake"}`, 10: "", 11: "", 12: ""} {
			var r struct {
				Result struct {
					Meta map[string]json.RawMessage `json:"_meta"`
				}
			}
			if err := json.Unmarshal([]byte(answers[i]), &r); err != nil || string(r.Result.Meta[dialogKey]) != want {
				t.Errorf("%s, message %d: %v %s", wire, i, err, answers[i])
			}
			if info := r.Result.Meta["io.modelcontextprotocol/serverInfo"]; strings.HasPrefix(wire, "modern") != (info != nil) {
				t.Errorf("%s, message %d: %s", wire, i, answers[i])
			}
		}
	}
	for _, c := range f.asked() {
		if !c.Dialog {
			t.Errorf("the engine is not told of the dialog: %+v", c)
		}
	}
}

// Note [the direct way]: with a dialog its answers are the library's own as well.
func TestDirectDialogEqualsLibrary(t *testing.T) {
	_, s, _ := appServer(t)
	for _, body := range []string{
		call(toolUpdate, `{"resource":"human"}`), modern("tools/call", toolUpdate, `{"resource":"human"}`).body, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, modern("tools/list", "", "").body,
	} {
		m, err := parseMessage([]byte(body))
		if err != nil {
			t.Fatal(err)
		}
		c := s.local()
		c.args, c.able = m.args, abilities{apps: true}
		got, ok := s.direct(t.Context(), m, c)
		lib, err := json.Marshal(s.mcp.HandleMessage(withCaller(t.Context(), c), m.rest))
		if err != nil || !ok || !sameJSON(t, string(got), string(lib)) {
			t.Errorf("%s: %v %v\ndirect  %s\nlibrary %s", body, ok, err, got, lib)
		}
	}
}

func sameJSON(t *testing.T, a, b string) bool {
	t.Helper()
	var x, y any
	if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil {
		t.Fatalf("no JSON: %s\n%s", a, b)
	}
	m, _ := json.Marshal(x)
	n, _ := json.Marshal(y)
	return string(m) == string(n)
}

// The pages ask no host for anything, hold no text that is taken as markup, and are small; every word of their scripts is
// there in each language.
func TestPagesOfApps(t *testing.T) {
	used := regexp.MustCompile(`words\.(\w+)|words\["([^"]+)"\]|say\("(\w+)"`)
	for _, lang := range Languages() {
		box, err := loadTools(lang)
		if err != nil {
			t.Fatal(err)
		}
		for uri, page := range newPages(lang, &box.Apps) {
			csp := regexp.MustCompile(`content="(default-src 'none'; script-src 'sha256-[^ ;]+'; style-src 'sha256-[^ ;]+'; base-uri 'none'; form-action 'none')"`)
			if !csp.MatchString(page) || len(page) > 40_000 || strings.Count(page, "<script>") != 1 || strings.Count(page, "</script>") != 1 {
				t.Errorf("%s %s: %d bytes", lang, uri, len(page))
			}
			for _, no := range []string{"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "https://", "fetch(", "XMLHttpRequest", "localStorage"} {
				if strings.Contains(page, no) {
					t.Errorf("%s has %s", uri, no)
				}
			}
			words := map[string]map[string]string{appTable: box.Apps.Table, appChange: box.Apps.Change}[uri]
			for _, m := range used.FindAllStringSubmatch(page, -1) {
				if word := m[1] + m[2] + m[3]; word != "" && words[word] == "" {
					t.Errorf("%s %s: no word %s", lang, uri, word)
				}
			}
		}
	}
}

// A session says in its id that its client shows pages, so that it is known wherever the id is; one that somebody changed is
// nobody's.
func TestSessionOfApps(t *testing.T) {
	s := newSessions([]byte("secret"), time.Minute)
	o := ownSessions{s, alice, abilities{apps: true}}
	id := o.Generate()
	if !appsIn(id) || !newSessions([]byte("secret"), time.Minute).valid(id, alice.Owner()) {
		t.Errorf("%s is not of a client with pages, or not valid elsewhere", id)
	}
	plain := ownSessions{s, alice, abilities{}}.Generate()
	parts := strings.Split(plain, ".")
	forged := parts[0] + "." + parts[1] + appsMark + "." + parts[2]
	if appsIn(plain) || s.valid(forged, alice.Owner()) || s.valid(strings.Replace(id, appsMark, "", 1), alice.Owner()) || appsIn("") {
		t.Errorf("%s, %s", plain, forged)
	}
}

// users of a client that opens pages, and what comes of it: the call is made where a person approved by then, which the engine
// knows, and no accepted link is an approval.
func TestPageOfChange(t *testing.T) {
	const link = "https://console.test/changes/0123456789abcdef0123456789abcdef"
	for _, capabilities := range []string{`{"elicitation":{"url":{}}}`, `{"elicitation":{"form":{},"url":{}}}`} {
		f, s, url := appServer(t)
		s.askTime = 300 * time.Millisecond
		for name, w := range map[string]wire{
			"legacy http": legacyHTTP(url, capabilities), "modern http": modernHTTP(url, capabilities), "legacy stdio": legacyStdio(s, capabilities), "modern stdio": modernStdio(s, capabilities),
		} {
			for _, u := range []struct {
				answer string
				said   engine.Consent
				want   string
			}{
				{`{"action":"accept"}`, engine.Opened, "rq1.fake"}, {`{"action":"decline"}`, engine.Refused, "APPROVAL_DENIED"}, {`{"action":"cancel"}`, engine.Silent, "rq1.fake"},
			} {
				f.asked()
				shown := ""
				got, asked := w(t, toolDelete, `{"resource":"human"}`, func(form string) string { shown = form; return `"result":` + u.answer })
				var form map[string]any
				if json.Unmarshal([]byte(shown), &form) != nil || asked != 1 || form["mode"] != "url" || form["url"] != link || !strings.Contains(form["message"].(string), "R1-23") || strings.Contains(shown, "rq1.") || form["requestedSchema"] != nil {
					t.Errorf("%s: asked %d times: %s", name, asked, shown)
				}
				if legacy := strings.HasPrefix(name, "legacy"); legacy != (form["elicitationId"] == "0123456789abcdef0123456789abcdef") {
					t.Errorf("%s: %s", name, shown)
				}
				calls := f.asked()
				if n := len(calls); n == 0 || !strings.Contains(text(t, got), u.want) || u.said != engine.Silent && (n != 2 || calls[1].Consent != u.said || calls[1].Token != "rq1.fake") {
					t.Errorf("%s, %s: %+v\n%s", name, u.answer, calls, got)
				}
			}
			if got, asked := w(t, toolDelete, `{"resource":"Order"}`, says(`{"action":"accept"}`)); !strings.Contains(capabilities, "form") && asked != 0 || !strings.Contains(text(t, got), "rq1.fake") {
				t.Errorf("%s: a link for a change that needs nobody else: %s", name, got)
			}
		}
		// Before 2026-07-28 nobody waits for ever, and the preview is told.
		if got, asked := legacyHTTP(url, capabilities)(t, toolDelete, `{"resource":"human"}`, func(string) string { return "" }); asked != 1 || !strings.Contains(text(t, got), "rq1.fake") {
			t.Errorf("nobody answers: asked %d times: %s", asked, got)
		}
	}
}

// Without a console there is no link, and a client that declared none, or forms alone, is shown none.
func TestNoPageOfChange(t *testing.T) {
	_, s, url := askServer(t)
	if got, asked := modernHTTP(url, `{"elicitation":{"url":{}}}`)(t, toolDelete, `{"resource":"human"}`, says(`{}`)); asked != 0 || !strings.Contains(text(t, got), "rq1.fake") {
		t.Errorf("without a console: %s", got)
	}
	s.opts.Page = func(string) string { return "" } // it listens where nobody can be sent
	if got, asked := modernHTTP(url, `{"elicitation":{"url":{}}}`)(t, toolDelete, `{"resource":"human"}`, says(`{}`)); asked != 0 || !strings.Contains(text(t, got), "rq1.fake") {
		t.Errorf("without an address: %s", got)
	}
	_, s, url = appServer(t)
	for _, capabilities := range []string{`{}`, withForms, `{"elicitation":{"form":{}}}`, withApps} {
		for name, w := range map[string]wire{"legacy http": legacyHTTP(url, capabilities), "modern http": modernHTTP(url, capabilities), "legacy stdio": legacyStdio(s, capabilities), "modern stdio": modernStdio(s, capabilities)} {
			if got, asked := w(t, toolDelete, `{"resource":"human"}`, says(`{"action":"accept"}`)); asked != 0 || strings.Contains(text(t, got), "console.test") {
				t.Errorf("%s with %s: %s", name, capabilities, got)
			}
		}
	}
}

func TestAbilities(t *testing.T) {
	for text, want := range map[string]abilities{
		``: {}, `{}`: {}, `[]`: {}, `{"elicitation":null}`: {}, `{"elicitation":{}}`: {forms: true}, `{"elicitation":{"url":{}}}`: {pages: true},
		`{"elicitation":{"form":{},"url":{}}}`: {forms: true, pages: true}, withApps: {apps: true},
		`{"elicitation":{},"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["x","text/html;profile=mcp-app"]},"other":7}}`: {forms: true, apps: true},
		`{"elicitation":{},"extensions":7}`: {forms: true},
	} {
		if got := abilitiesOf([]byte(text)); got != want {
			t.Errorf("%s: %+v", text, got)
		}
	}
	if !slices.Contains(Languages(), "zh") {
		t.Error("the pages are in Chinese too")
	}
}
