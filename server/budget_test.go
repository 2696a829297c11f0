package server

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"

	"resq/access"
	"resq/engine/policy"
	"resq/schema/problem"
)

// DOS-008, C9, E-16, E-17: a key whose budget is spent is told so and when to come back, in both eras, and nothing else
// happens; other keys go on. The rows of an answer are charged, those of an export too.
func TestBudgets(t *testing.T) {
	f := newFake()
	b, err := access.NewBudgets(access.BudgetOptions{Default: policy.Budget{CallsPerMinute: 3}})
	if err != nil {
		t.Fatal(err)
	}
	owners := map[string]*policy.Principal{
		"key-a": {Name: "alice", Key: "a"}, "key-b": {Name: "alice", Key: "b"},
		"key-rows": {Name: "bob", Key: "r", Budget: policy.Budget{RowsPerHour: 2, CallsPerMinute: -1}},
		"key-none": {Name: "carol", Key: "n", Scopes: []string{"write"}},
	}
	log, lines := quietLog()
	s := newServer(t, f, Options{Budgets: b, Log: log, Authenticate: func(_ context.Context, key string) (*policy.Principal, error) { return owners[key], nil }})
	url := serveHTTP(t, s)
	ask := func(e exchange, key string) answer { return e.with("Authorization", "Bearer "+key).do(t, url) }
	legacy, now := exchange{body: call("res-query", `{}`)}, modern("tools/call", "res-query", `{}`)
	for _, e := range []exchange{legacy, now, viaLibrary(now)} {
		if a := ask(e, "key-a"); strings.Contains(a.body, "RATE_LIMITED") {
			t.Fatalf("within the budget: %s", a.body)
		}
	}
	for _, e := range []exchange{legacy, now, viaLibrary(now)} {
		f.mu.Lock()
		f.who = nil
		f.mu.Unlock()
		a := ask(e, "key-a")
		p := failure(t, a.body)
		if a.status != http.StatusOK || p.Code != problem.RateLimited || p.RetryAfter < 1 || p.RetryAfter > 66 || p.Reason != "calls" || len(p.RequestID) != 36 {
			t.Errorf("%d %s", a.status, a.body)
		}
		if who, _ := f.last(); who != nil {
			t.Error("it was run nevertheless")
		}
		if a := ask(e.with("X-Mcp-Schema-Version", "2"), "key-a"); !strings.Contains(a.body, `"structuredContent":{`) || !strings.Contains(a.body, `"retry_after":`) {
			t.Errorf("version 2: %s", a.body)
		}
	}
	if a := ask(legacy, "key-b"); decode(t, a.body).Result.IsError {
		t.Errorf("the other key of alice: %s", a.body)
	}
	for i, want := range []problem.Code{"", "", problem.RateLimited} {
		if r := decode(t, ask(legacy, "key-rows").body); (want != "") != r.Result.IsError || want != "" && failure(t, ask(legacy, "key-rows").body).Reason != "rows" {
			t.Errorf("row %d: %+v", i, r)
		}
	}
	ask(legacy, "key-none") // without the scope
	wantFigures(t, figures(t, url), `resq_calls_total{code="RATE_LIMITED",tool="res-query"} 8`,
		`resq_call_outcomes_total{outcome="ok"} 6`, `resq_call_outcomes_total{outcome="rate_limited"} 8`, `resq_call_outcomes_total{outcome="denied"} 1`,
		`resq_budget_refusals_total{budget="calls"} 6`, `resq_budget_refusals_total{budget="rows"} 2`)
	if n := strings.Count(lines.String(), "code=RATE_LIMITED"); n != 8 {
		t.Errorf("%d records of 8:\n%s", n, lines)
	}
}

// C9, E-16: whatever a key asks for costs a call and is refused when there is none left, in both eras and over stdio: never
// as if there were nothing. A tool that does not exist is such a call as well, so names cannot be tried without end.
func TestBudgetOfEverything(t *testing.T) {
	asks := []struct{ method, name, params string }{
		{"resources/read", "resq://resource/User", `"uri":"resq://resource/User"`},
		{"prompts/get", "explain_resource", `"name":"explain_resource","arguments":{"resource":"User"}`},
		{"completion/complete", "", `"ref":{"type":"ref/prompt","name":"explain_resource"},"argument":{"name":"resource","value":""}`},
		{"completion/complete", "", `"ref":{"type":"ref/resource","uri":"resq://resource/{code}"},"argument":{"name":"code","value":"User"}`},
		{"tools/call", "res-nosuch", `"name":"res-nosuch","arguments":{}`},
	}
	limited := func(t *testing.T, body string) {
		t.Helper()
		for _, want := range []string{`"code":-32602`, `"code":"RATE_LIMITED"`, `"reason":"calls"`, `"retry_after":`, `"request_id":`} {
			if !strings.Contains(body, want) {
				t.Errorf("lacks %s: %s", want, body)
			}
		}
	}
	for _, c := range asks {
		b, err := access.NewBudgets(access.BudgetOptions{Default: policy.Budget{CallsPerMinute: 2}})
		if err != nil {
			t.Fatal(err)
		}
		var records []*Call
		var mu sync.Mutex
		s := secretive(t, Options{Budgets: b, Local: &policy.Principal{Name: "here", Budget: policy.Budget{CallsPerMinute: 1}},
			Record: func(c *Call) { mu.Lock(); defer mu.Unlock(); records = append(records, c) },
			Authenticate: func(_ context.Context, key string) (*policy.Principal, error) {
				return &policy.Principal{Name: "user", Key: key}, nil
			}})
		url := serveHTTP(t, s)
		for _, a := range both(t, url, "k", c.method, c.name, c.params) {
			if strings.Contains(a.body, "RATE_LIMITED") {
				t.Errorf("%s within the budget: %s", c.method, a.body)
			}
		}
		for _, a := range both(t, url, "k", c.method, c.name, c.params) {
			limited(t, a.body)
		}
		p := serveStdio(t, s)
		p.send(initBody)
		p.next()
		m := `{"jsonrpc":"2.0","id":1,"method":` + quote(c.method) + `,"params":{` + c.params + `}}`
		p.send(m)
		if got := p.next(); strings.Contains(got, "RATE_LIMITED") {
			t.Errorf("%s within the budget: %s", c.method, got)
		}
		p.send(m)
		limited(t, p.next())
		mu.Lock()
		n := 0
		for _, r := range records {
			if r.Outcome == "rate_limited" {
				n++
			}
		}
		if n != 3 || len(records) != 6 {
			t.Errorf("%s: %d of %d records are of a spent budget, want 3 of 6", c.method, n, len(records))
		}
		mu.Unlock()
	}
}

// What cannot be answered now is told as that, and not as something that is not there: a catalog that fails, and a
// user that is gone.
func TestPassingFailures(t *testing.T) {
	for _, c := range []struct{ code problem.Code }{{problem.Unavailable}, {problem.Timeout}, {problem.Overloaded}, {problem.Unauthenticated}, {problem.DataIntegrity}} {
		f := newFake()
		f.describe = &problem.Problem{Code: c.code, Message: "not now", RetryAfter: 2}
		url := serveHTTP(t, newServer(t, f, Options{}))
		for _, a := range both(t, url, "", "resources/read", "resq://resource/User", `"uri":"resq://resource/User"`) {
			if !strings.Contains(a.body, `"code":"`+string(c.code)+`"`) || !strings.Contains(a.body, `"retry_after":2`) {
				t.Errorf("%s: %s", c.code, a.body)
			}
		}
	}
	for _, code := range []problem.Code{problem.PermissionDenied, problem.NotFound, problem.UnknownResource} {
		f := newFake()
		f.describe = &problem.Problem{Code: code, Message: "hidden"}
		url := serveHTTP(t, newServer(t, f, Options{}))
		for _, a := range both(t, url, "", "resources/read", "resq://resource/User", `"uri":"resq://resource/User"`) {
			if strings.Contains(a.body, "hidden") || !strings.Contains(a.body, `"NOT_FOUND_OR_FORBIDDEN"`) {
				t.Errorf("%s: %s", code, a.body)
			}
		}
	}
}

// An export is paid page by page, and ends where the rows do.
func TestBudgetOfExport(t *testing.T) {
	s := shop(t)
	b, err := access.NewBudgets(access.BudgetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s.opts.Budgets = b
	s.opts.Authenticate = func(context.Context, string) (*policy.Principal, error) {
		return &policy.Principal{Name: "alice", Key: "a", Budget: policy.Budget{RowsPerHour: 1500}}, nil
	}
	url := serveHTTP(t, s)
	ask := func(e exchange) answer { return e.with("Authorization", "Bearer x", "X-Resq-Export", "csv").do(t, url) }
	a := ask(exchange{body: call("res-query", `{"resource":"OrderItem","fields":[],"limit":1000}`)})
	_, rest, ok := strings.Cut(a.body, `"uri":"`)
	if !ok {
		t.Fatalf("no link: %s", a.body)
	}
	uri, _, _ := strings.Cut(rest, `"`)
	a = ask(exchange{body: `{"jsonrpc":"2.0","id":2,"method":"resources/read","params":{"uri":"` + uri + `"}}`})
	if !strings.Contains(a.body, `"resq/complete":false,"resq/rows":`) {
		t.Errorf("%.200s … %s", a.body, a.body[max(0, len(a.body)-200):])
	}
	if p := failure(t, ask(exchange{body: call("res-query", `{"resource":"Category","fields":[]}`)}).body); p.Code != problem.RateLimited {
		t.Errorf("%+v", p)
	}
	a = ask(exchange{body: `{"jsonrpc":"2.0","id":2,"method":"resources/read","params":{"uri":"` + uri + `"}}`})
	if !strings.Contains(a.body, `"code":"RATE_LIMITED"`) || !strings.Contains(a.body, `"retry_after":`) {
		t.Errorf("%.300s", a.body)
	}
}

// DOS-008: the 1,001st call of a window is refused, and says when the next one is taken; other keys are unaffected.
func TestFlood(t *testing.T) {
	b, err := access.NewBudgets(access.BudgetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s := newServer(t, newFake(), Options{Budgets: b})
	flood := &policy.Principal{Name: "alice", Key: "a"}
	for i := range access.CallsPerMinute {
		if r, _ := s.Call(t.Context(), flood, "res-query", nil); r.Failed {
			t.Fatalf("call %d: %s", i+1, r.Texts[0])
		}
	}
	if r, _ := s.Call(t.Context(), flood, "res-query", nil); r.Code != problem.RateLimited || !strings.Contains(r.Texts[0], `"retry_after":`) {
		t.Errorf("the next: %v", r.Texts)
	}
	if r, _ := s.Call(t.Context(), &policy.Principal{Name: "bob", Key: "b"}, "res-query", nil); r.Failed {
		t.Errorf("another key: %s", r.Texts[0])
	}
}
