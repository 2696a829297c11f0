package server

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"resq/engine/policy"
)

// security.md C4, C8: two users behind one principal share neither sessions nor exports, nor can one end what the other has.
func TestOwnUser(t *testing.T) {
	keys := map[string]*policy.Principal{"k42": {Name: "app", User: "42"}, "k43": {Name: "app", User: "43"}, "k": {Name: "app"}}
	base := shop(t)
	s := newServer(t, base.backend.Load().Backend, Options{Authenticate: func(_ context.Context, key string) (*policy.Principal, error) { return keys[key], nil }})
	url := serveHTTP(t, s)
	as := func(e exchange, key string, header ...string) exchange {
		return e.with("Authorization", "Bearer "+key).with(header...)
	}
	id := as(exchange{body: initBody}, "k42").do(t, url).header.Get("Mcp-Session-Id")
	if id == "" {
		t.Fatal("no session")
	}
	large := exchange{body: call("res-query", `{"resource":"Order","fields":[],"orderBy":["Order.id"],"limit":1000}`)}
	uri := linkOf(t, as(large, "k42", "X-Resq-Export", "csv").do(t, url).body)
	if uri == "" {
		t.Fatal("no link")
	}
	for _, key := range []string{"k43", "k"} {
		for _, verb := range []string{http.MethodDelete, http.MethodGet, http.MethodPost} {
			e := exchange{method: verb}
			if verb == http.MethodPost {
				e.body = call("res-query", `{"resource":"Order","fields":[],"limit":1}`)
			}
			if got := as(e, key, "Mcp-Session-Id", id).do(t, url); got.status != http.StatusNotFound {
				t.Errorf("%s of %s in the session of k42: %d %s", verb, key, got.status, got.body)
			}
		}
		for _, a := range both(t, url, key, "resources/read", uri, `"uri":"`+uri+`"`) {
			if !strings.Contains(a.body, "no such export") {
				t.Errorf("%s reads the export of k42: %s", key, a.body)
			}
		}
	}
	if got := as(exchange{body: call("res-query", `{"resource":"Order","fields":[],"limit":1}`)}, "k42", "Mcp-Session-Id", id).do(t, url); got.status != http.StatusOK {
		t.Errorf("the session is not there for its owner: %d %s", got.status, got.body)
	}
	for _, a := range both(t, url, "k42", "resources/read", uri, `"uri":"`+uri+`"`) {
		if strings.Contains(a.body, "no such export") {
			t.Errorf("the export is not there for its owner: %s", a.body)
		}
	}
}
