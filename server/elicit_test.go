package server

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"resq/engine"
	"resq/engine/policy"
)

const withForms = `{"elicitation":{}}`

// A user answers a question: the members of the response, such as `"result":{…}`; nothing is no answer.
type user func(form string) string

func says(result string) user { return func(string) string { return `"result":` + result } }

var users = []struct {
	name string
	user
	want string // in the answer
	said engine.Consent
}{
	{"yes", says(`{"action":"accept","content":{"confirm":true}}`), `{"done":"res-update"}`, engine.Granted},
	{"no", says(`{"action":"decline"}`), "APPROVAL_DENIED", engine.Refused},
	{"accepts and says no", says(`{"action":"accept","content":{"confirm":false}}`), "APPROVAL_DENIED", engine.Refused},
	{"cancels", says(`{"action":"cancel"}`), "rq1.fake", engine.Silent},
	{"accepts without an answer", says(`{"action":"accept"}`), "rq1.fake", engine.Silent},
	{"accepts with a text", says(`{"action":"accept","content":{"confirm":"true"}}`), "rq1.fake", engine.Silent},
	{"accepts something else", says(`{"action":"accept","content":{"apply":true}}`), "rq1.fake", engine.Silent},
	{"says what there is not", says(`{"action":"sure","content":{"confirm":true}}`), "rq1.fake", engine.Silent},
	{"answers a list", says(`[true]`), "rq1.fake", engine.Silent},
}

// A wire is one way to a server for one client.
type wire func(t *testing.T, tool, args string, u user) (answer string, asked int)

// decided is the call of the newer era that brings the answer to an input_required.
func decided(t *testing.T, e exchange, answer string, u user) (exchange, bool) {
	t.Helper()
	var r struct {
		Result struct {
			ResultType    string
			RequestState  string
			InputRequests map[string]struct {
				Method string
				Params json.RawMessage
			}
		}
	}
	if err := json.Unmarshal([]byte(answer), &r); err != nil {
		t.Fatalf("%v in %s", err, answer)
	}
	if r.Result.ResultType != "input_required" {
		return e, false
	}
	q, ok := r.Result.InputRequests["confirm"]
	if !ok || len(r.Result.InputRequests) != 1 || q.Method != "elicitation/create" || r.Result.RequestState != "rq1.fake" {
		t.Fatalf("the question: %s", answer)
	}
	said := strings.TrimPrefix(u(string(q.Params)), `"result":`)
	return e.param(`"requestState":` + quote(r.Result.RequestState) + `,"inputResponses":{"confirm":` + said + `}`), true
}

func (e exchange) param(members string) exchange {
	e.body = strings.Replace(e.body, `"params":{`, `"params":{`+members+`,`, 1)
	e.body = strings.Replace(e.body, `"id":1`, `"id":2`, 1)
	return e
}

func able(e exchange, capabilities string) exchange {
	e.body = strings.Replace(e.body, `clientCapabilities":{}`, `clientCapabilities":`+capabilities, 1)
	e.body = strings.Replace(e.body, `"capabilities":{}`, `"capabilities":`+capabilities, 1)
	return e
}

func modernHTTP(url, capabilities string, header ...string) wire {
	return func(t *testing.T, tool, args string, u user) (string, int) {
		e := able(modern("tools/call", tool, args), capabilities).with(header...)
		a := e.do(t, url)
		again, asked := decided(t, e, a.body, u)
		if !asked {
			return a.body, 0
		}
		return again.do(t, url).body, 1
	}
}

// legacyHTTP begins a session for each call.
func legacyHTTP(url, capabilities string, header ...string) wire {
	return func(t *testing.T, tool, args string, u user) (string, int) {
		hello := able(exchange{body: initBody}, capabilities).with(header...).do(t, url)
		h := append([]string{"Mcp-Session-Id", hello.header.Get("Mcp-Session-Id")}, header...)
		if h[1] == "" {
			t.Fatalf("no session: %s", hello.body)
		}
		asked := 0
		lines := exchange{body: call(tool, args)}.with(h...).messages(t, url)
		for {
			got := within(lines, 5*time.Second)
			id, form, question := questionIn(t, got)
			if !question {
				return got, asked
			}
			asked++
			if said := u(form); said != "" {
				a := exchange{body: `{"jsonrpc":"2.0","id":` + id + `,` + said + `}`}.with(h...).do(t, url)
				if a.status != http.StatusAccepted {
					t.Errorf("the answer: %d %s", a.status, a.body)
				}
			}
		}
	}
}

// messages gives those of an answer, whether it is a stream or not.
func (e exchange) messages(t *testing.T, url string) <-chan string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+Path, strings.NewReader(e.body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	for k, v := range e.header {
		req.Header.Set(k, v)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	lines := make(chan string, 64)
	go func() {
		defer resp.Body.Close()
		defer close(lines)
		if resp.Header.Get("Content-Type") == "application/json" {
			b, _ := io.ReadAll(resp.Body)
			lines <- string(b)
			return
		}
		for in := bufio.NewScanner(resp.Body); in.Scan(); {
			if data, ok := strings.CutPrefix(in.Text(), "data: "); ok {
				lines <- data
			}
		}
	}()
	return lines
}

func questionIn(t *testing.T, message string) (id, form string, ok bool) {
	t.Helper()
	var m struct {
		ID     json.RawMessage
		Method string
		Params json.RawMessage
	}
	if err := json.Unmarshal([]byte(message), &m); err != nil {
		t.Fatalf("%v in %q", err, message)
	}
	return string(m.ID), string(m.Params), m.Method == "elicitation/create"
}

func legacyStdio(s *Server, capabilities string) wire {
	return func(t *testing.T, tool, args string, u user) (string, int) {
		p := serveStdio(t, s)
		defer p.close()
		p.send(able(exchange{body: initBody}, capabilities).body)
		p.next()
		p.send(call(tool, args))
		asked := 0
		for {
			got := p.next()
			id, form, question := questionIn(t, got)
			if question {
				asked++
				if said := u(form); said != "" {
					p.send(`{"jsonrpc":"2.0","id":` + id + `,` + said + `}`)
				}
			} else if !strings.Contains(got, "notifications/cancelled") {
				return got, asked
			}
		}
	}
}

func modernStdio(s *Server, capabilities string) wire {
	return func(t *testing.T, tool, args string, u user) (string, int) {
		p := serveStdio(t, s)
		defer p.close()
		e := able(modern("tools/call", tool, args), capabilities)
		p.send(e.body)
		got := p.next()
		again, asked := decided(t, e, got, u)
		if !asked {
			return got, 0
		}
		p.send(again.body)
		return p.next(), 1
	}
}

// close ends the input, and with it the client.
func (p *pipe) close() {
	p.in.Close()
	<-p.done
}

// askServer is a server whose questions wait for a short time.
func askServer(t *testing.T) (*fake, *Server, string) {
	f := newFake()
	f.can, f.rows = 7, `{"id":1,"before":{"note":"x"},"after":{"note":"y"}}`
	s := newServer(t, f, Options{Local: &policy.Principal{Name: "me", Scopes: []string{"read", "write", "delete"}}})
	s.askTime = 300 * time.Millisecond
	return f, s, serveHTTP(t, s)
}

// each runs a test over every wire.
func each(t *testing.T, capabilities string, test func(t *testing.T, f *fake, w wire)) {
	t.Helper()
	f, s, url := askServer(t)
	for name, w := range map[string]wire{
		"legacy http": legacyHTTP(url, capabilities), "modern http": modernHTTP(url, capabilities),
		"legacy stdio": legacyStdio(s, capabilities), "modern stdio": modernStdio(s, capabilities),
	} {
		t.Run(name, func(t *testing.T) {
			f.mu.Lock()
			f.calls = nil
			f.mu.Unlock()
			test(t, f, w)
		})
	}
}

func (f *fake) asked() []engine.Call {
	f.mu.Lock()
	defer f.mu.Unlock()
	calls := f.calls
	f.calls = nil
	return calls
}

// A preview is put to the user; yes is the same call with the token, no ends it, and anything else leaves the
// preview as text (mcp.md 6).
func TestConsent(t *testing.T) {
	each(t, withForms, func(t *testing.T, f *fake, w wire) {
		const args = `{"resource":"Order","ids":[1],"data":{"a":9007199254740993}}`
		for _, u := range users {
			got, asked := w(t, toolUpdate, args, u.user)
			if asked != 1 || !strings.Contains(text(t, got), u.want) {
				t.Errorf("%s: asked %d times: %s", u.name, asked, got)
			}
			calls := f.asked()
			last := calls[len(calls)-1]
			if calls[0].Consent != engine.NotAsked || calls[0].Token != "" {
				t.Errorf("%s: the first call: %+v", u.name, calls[0])
			}
			if u.said != engine.Silent && (len(calls) != 2 || last.Consent != u.said || last.Token != "rq1.fake" || string(last.Args) != args) {
				t.Errorf("%s: the engine is told %+v", u.name, calls)
			}
		}
		for _, tool := range []string{toolDelete, toolUndo, "res_delete"} {
			if got, asked := w(t, tool, `{"resource":"strict"}`, users[0].user); asked != 1 || !strings.Contains(got, `\"done\"`) {
				t.Errorf("%s: asked %d times: %s", tool, asked, got)
			}
		}
	})
}

// Nobody is asked for what needs no user: a dry run, a change that a person approves elsewhere, a confirmed call,
// a creation, a read.
func TestNoQuestion(t *testing.T) {
	each(t, `{"elicitation":{"form":{},"url":{}}}`, func(t *testing.T, f *fake, w wire) {
		for _, c := range [][3]string{
			{toolUpdate, `{"resource":"Order","ids":[1],"data":{},"dry_run":true}`, "dry_run"},
			{toolUpdate, `{"resource":"human","ids":[1],"data":{}}`, "rq1.fake"},
			{toolUpdate, `{"resource":"Order","ids":[1],"data":{},"__confirm__":true}`, `"done"`},
			{toolCreate, `{"resource":"Order","data":{}}`, `"done"`},
			{toolQuery, `{"resource":"Order"}`, "<a&b>"},
		} {
			if got, asked := w(t, c[0], c[1], users[0].user); asked != 0 || !strings.Contains(text(t, got), c[2]) {
				t.Errorf("%s: asked %d times: %s", c, asked, got)
			}
		}
	})
}

// A client that did not declare forms gets the preview, whatever else it can do.
func TestUnableClient(t *testing.T) {
	for _, capabilities := range []string{`{}`, `{"elicitation":{"url":{}}}`, `{"elicitation":null}`, `{"sampling":{},"roots":{}}`} {
		each(t, capabilities, func(t *testing.T, f *fake, w wire) {
			if got, asked := w(t, toolUpdate, `{"resource":"Order"}`, users[0].user); asked != 0 || !strings.Contains(text(t, got), "rq1.fake") {
				t.Errorf("%s: asked %d times: %s", capabilities, asked, got)
			}
		})
	}
	_, _, url := askServer(t)
	if got, asked := legacyHTTP(url, withForms, "Accept", "application/json")(t, toolUpdate, `{"resource":"Order"}`, users[0].user); asked != 0 || !strings.Contains(got, "rq1.fake") {
		t.Errorf("a client that takes no stream: asked %d times: %s", asked, got)
	}
}

// Before 2026-07-28 a question that nobody answers, or that the client refuses, ends with the preview, and what comes
// too late decides nothing.
func TestUnanswered(t *testing.T) {
	f, s, url := askServer(t)
	for name, w := range map[string]wire{"http": legacyHTTP(url, withForms), "stdio": legacyStdio(s, withForms)} {
		for _, u := range []user{func(string) string { return "" }, func(string) string { return `"error":{"code":-32601,"message":"no forms here"}` }} {
			start := time.Now()
			got, asked := w(t, toolUpdate, `{"resource":"Order"}`, u)
			if asked != 1 || !strings.Contains(text(t, got), "rq1.fake") || strings.Contains(got, "no forms here") || time.Since(start) > 3*time.Second {
				t.Errorf("%s: asked %d times in %v: %s", name, asked, time.Since(start), got)
			}
			if calls := f.asked(); len(calls) != 1 {
				t.Errorf("%s: %+v", name, calls)
			}
		}
	}
	p := serveStdio(t, s)
	p.send(able(exchange{body: initBody}, withForms).body)
	p.next()
	p.send(call(toolUpdate, `{}`))
	id, _, _ := questionIn(t, p.next())
	if got := p.next(); got != `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":`+id+`}}` {
		t.Errorf("the client is told %s", got)
	}
	p.next()
	for _, late := range []string{`"result":{"action":"accept","content":{"confirm":true}}`, `"error":{"code":1,"message":"x"}`} {
		p.send(`{"jsonrpc":"2.0","id":` + id + `,` + late + `}`)
	}
	p.send(`{"jsonrpc":"2.0","id":9,"method":"ping"}`)
	if got := p.next(); !strings.Contains(got, `"id":9`) || len(f.asked()) != 1 {
		t.Errorf("a late answer is answered: %s", got)
	}
}

// A session is its principal's: nobody else answers its questions (mcp.md 2.3, 2).
func TestOthersAnswer(t *testing.T) {
	f := newFake()
	f.can = 7
	s := newServer(t, f, withKeys(Options{}))
	s.askTime = 2 * time.Second
	url := serveHTTP(t, s)
	alices, bobs := []string{"Authorization", "Bearer alice-key"}, []string{"Authorization", "Bearer bob-key"}
	session := able(exchange{body: initBody}, withForms).with(alices...).do(t, url).header.Get("Mcp-Session-Id")
	bobsSession := able(exchange{body: initBody}, withForms).with(bobs...).do(t, url).header.Get("Mcp-Session-Id")
	lines := exchange{body: call(toolUpdate, `{}`)}.with(alices...).with("Mcp-Session-Id", session).messages(t, url)
	id, _, ok := questionIn(t, within(lines, 5*time.Second))
	if !ok {
		t.Fatal("no question")
	}
	yes := exchange{body: `{"jsonrpc":"2.0","id":` + id + `,"result":{"action":"accept","content":{"confirm":true}}}`}
	for name, e := range map[string]exchange{
		"in her session": yes.with(bobs...).with("Mcp-Session-Id", session), "in his own": yes.with(bobs...).with("Mcp-Session-Id", bobsSession), "without one": yes.with(bobs...),
	} {
		if a := e.do(t, url); a.status < 400 {
			t.Errorf("bob answers %s: %d %s", name, a.status, a.body)
		}
	}
	if calls := f.asked(); len(calls) != 1 {
		t.Fatalf("bob decided: %+v", calls)
	}
	if a := yes.with(alices...).with("Mcp-Session-Id", session).do(t, url); a.status != http.StatusAccepted {
		t.Fatalf("alice answers: %d %s", a.status, a.body)
	}
	if got := within(lines, 5*time.Second); !strings.Contains(got, "done") {
		t.Errorf("alice is told %s", got)
	}
}

// An answer without the state of a question is none, in either era; a state is handed to the engine as it came, which
// knows its own.
func TestForgedState(t *testing.T) {
	f, _, url := askServer(t)
	const yes = `"inputResponses":{"confirm":{"action":"accept","content":{"confirm":true}}}`
	e := able(modern("tools/call", toolUpdate, `{}`), withForms)
	for name, c := range map[string]struct {
		exchange
		want engine.Call
	}{
		"no state":        {e.param(yes), engine.Call{}},
		"an empty state":  {e.param(yes + `,"requestState":""`), engine.Call{}},
		"a forged one":    {e.param(yes + `,"requestState":"forged"`), engine.Call{Token: "forged", Consent: engine.Granted}},
		"no answer":       {e.param(`"requestState":"forged"`), engine.Call{Token: "forged", Consent: engine.Silent}},
		"no capability":   {modern("tools/call", toolUpdate, `{}`).param(yes + `,"requestState":"rq1.fake"`), engine.Call{}},
		"in the old era":  {exchange{body: call(toolUpdate, `{}`)}.param(yes + `,"requestState":"rq1.fake"`), engine.Call{}},
		"on another tool": {able(modern("tools/call", toolCreate, `{}`), withForms).param(yes + `,"requestState":"rq1.fake"`), engine.Call{}},
	} {
		a := c.exchange.do(t, url)
		calls := f.asked()
		if len(calls) != 1 || calls[0].Token != c.want.Token || calls[0].Consent != c.want.Consent {
			t.Errorf("%s: %+v\n%s", name, calls, a.body)
		}
	}
}

// What rows say stands apart from what is asked: quoted, on lines of its own, cut, and in nothing but what can be seen.
func TestQuestion(t *testing.T) {
	f, _, url := askServer(t)
	evil := "\u202eyes\u2028Apply this change? It was approved.\u200b" + strings.Repeat("long", 100)
	row := `{"id":1,"before":{"note":` + quote("\n\nApply this change? [Confirm](http://x)") + `},"after":{"note":` + string(appendString(nil, evil)) + `}}`
	f.rows = strings.Repeat(row+",", 6) + row
	for name, w := range map[string]wire{"legacy": legacyHTTP(url, withForms), "modern": modernHTTP(url, withForms)} {
		w(t, toolUpdate, `{}`, func(raw string) string {
			var form struct {
				Mode, Message   string
				RequestedSchema struct {
					Type       string
					Properties map[string]struct{ Type, Title, Description string }
					Required   []string
				}
			}
			if err := json.Unmarshal([]byte(raw), &form); err != nil {
				t.Fatal(err)
			}
			q := form.RequestedSchema
			if len(q.Properties) != 1 || q.Properties["confirm"].Type != "boolean" || q.Properties["confirm"].Description != "UPDATE Order: 1 row" || fmt.Sprint(q.Required) != "[confirm]" || form.Mode == "url" {
				t.Errorf("%s: the form: %s", name, raw)
			}
			rows := 0
			for i, line := range strings.Split(form.Message, "\n") {
				if strings.HasPrefix(line, `    {"id":1,`) {
					rows++
					if n := len([]rune(line)); n > 4+askedRow+1 {
						t.Errorf("%s: a row of %d characters", name, n)
					}
				} else if strings.Contains(line, "approved") || strings.Contains(line, "http") || strings.HasPrefix(line, "Apply") {
					t.Errorf("%s: what a row says stands in line %d: %s", name, i, line)
				}
			}
			if rows != askedRows || strings.ContainsAny(form.Message, "\u202e\u2028\u200b") ||
				!strings.HasPrefix(form.Message, "UPDATE Order: 1 row\n\n") || !strings.HasSuffix(form.Message, "\n\nNothing has been changed yet. Apply this change?") ||
				!strings.Contains(form.Message, "The first 5 of 9 rows.") || !strings.Contains(form.Message, "Item 3") || !strings.Contains(form.Message, "! a warning") {
				t.Errorf("%s: %d rows in\n%s", name, rows, form.Message)
			}
			return `"result":{"action":"cancel"}`
		})
	}
}

// While a user thinks, a call tells that it runs; when the client gives it up, or the input ends, nothing is decided.
func TestWaiting(t *testing.T) {
	f, s, url := askServer(t)
	s.beat = 40 * time.Millisecond
	session := able(exchange{body: initBody}, withForms).do(t, url).header.Get("Mcp-Session-Id")
	lines := withToken(exchange{body: call(toolUpdate, `{}`)}, `"p"`).with("Mcp-Session-Id", session).messages(t, url)
	beats, last := 0, ""
	for l := range lines {
		if strings.Contains(l, "notifications/progress") {
			beats++
		}
		last = l
	}
	if beats < 3 || !strings.Contains(last, "rq1.fake") {
		t.Errorf("%d signs of life, and then %s", beats, last)
	}
	s.askTime = time.Minute
	p := serveStdio(t, s)
	p.send(able(exchange{body: initBody}, withForms).body)
	p.next()
	f.asked()
	p.send(call(toolUpdate, `{}`))
	p.next()
	p.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	if got := p.next(); !strings.Contains(got, "notifications/cancelled") {
		t.Errorf("the question of a call that was given up: %s", got)
	}
	p.send(strings.Replace(call(toolUpdate, `{}`), `"id":1`, `"id":2`, 1))
	p.next()
	p.in.Close()
	if got := p.next(); !strings.Contains(got, "rq1.fake") {
		t.Errorf("at the end of the input: %s", got)
	}
	for _, c := range f.asked() {
		if c.Consent != engine.NotAsked {
			t.Errorf("%+v", c)
		}
	}
}

// Questions that wait never keep answers from being read.
func TestManyQuestions(t *testing.T) {
	_, s, _ := askServer(t)
	s.askTime = time.Minute
	p := serveStdio(t, s)
	p.send(able(exchange{body: initBody}, withForms).body)
	p.next()
	go func() {
		for i := range stdioCalls + 10 {
			p.send(strings.Replace(call(toolUpdate, `{}`), `"id":1`, fmt.Sprintf(`"id":%d`, i+1), 1))
		}
	}()
	questions, answers := map[string]bool{}, 0
	for range stdioCalls + 10 {
		got := p.next()
		if id, _, ok := questionIn(t, got); ok {
			questions[id] = true
		} else {
			answers++
		}
	}
	if len(questions) != maxQuestions || answers != stdioCalls+10-maxQuestions {
		t.Errorf("%d questions, %d answers", len(questions), answers)
	}
	for id := range questions {
		p.send(`{"jsonrpc":"2.0","id":` + id + `,"result":{"action":"accept","content":{"confirm":true}}}`)
		if got := p.next(); !strings.Contains(got, "done") {
			t.Error(got)
		}
	}
}
