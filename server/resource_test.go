package server

import (
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"testing"

	"resq/engine/policy"
	"resq/schema/problem"
)

// With tokens a client that has none is led to who gives them (RFC 9728), and one whose token is none is told no more than that; with keys alone
// there is nothing to be led to. Keys that cannot be looked up are no reason to log in again.
func TestProtectedResource(t *testing.T) {
	res := &Resource{URL: "https://resq.test/mcp", Issuers: []string{"https://login.test"}, Scopes: []string{"read", "write"}}
	o := withKeys(Options{Resource: res})
	known := o.Authenticate
	o.Authenticate = func(ctx context.Context, key string) (*policy.Principal, error) {
		if key == "unreachable" {
			return nil, problem.List{{Code: problem.Unavailable, Message: "tokens cannot be checked at the moment"}}
		}
		return known(ctx, key)
	}
	url := serveHTTP(t, newServer(t, newFake(), o))
	for _, path := range []string{"/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-protected-resource"} {
		a := exchange{method: http.MethodGet, path: path}.do(t, url)
		var got map[string]any
		want := map[string]any{"resource": res.URL, "authorization_servers": []any{"https://login.test"}, "scopes_supported": []any{"read", "write"}, "bearer_methods_supported": []any{"header"}, "resource_name": "resq"}
		if err := json.Unmarshal([]byte(a.body), &got); err != nil || a.status != 200 || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
		if a := (exchange{method: http.MethodGet, path: path}).with("Host", "evil.test").do(t, url); a.status != http.StatusForbidden {
			t.Errorf("%s under another name: %d", path, a.status)
		}
	}
	where := `Bearer resource_metadata="https://resq.test/.well-known/oauth-protected-resource/mcp", scope="read write"`
	for key, want := range map[string]string{"": where, "Bearer rubbish": where + `, error="invalid_token"`} {
		e := exchange{body: call("res-query", `{}`)}
		if key != "" {
			e = e.with("Authorization", key)
		}
		if a := e.do(t, url); a.status != http.StatusUnauthorized || a.header.Get("WWW-Authenticate") != want {
			t.Errorf("%q: %d %s", key, a.status, a.header.Get("WWW-Authenticate"))
		}
	}
	if a := (exchange{body: call("res-query", `{}`)}).with("Authorization", "Bearer unreachable").do(t, url); a.status != http.StatusServiceUnavailable || a.header.Get("WWW-Authenticate") != "" {
		t.Errorf("%d %v", a.status, a.header)
	}
	opaque := serveHTTP(t, newServer(t, newFake(), withKeys(Options{})))
	if a := (exchange{body: call("res-query", `{}`)}).do(t, opaque); a.status != http.StatusUnauthorized || a.header.Get("WWW-Authenticate") != "Bearer" {
		t.Errorf("%d %s", a.status, a.header.Get("WWW-Authenticate"))
	}
	if a := (exchange{method: http.MethodGet, path: "/.well-known/oauth-protected-resource"}).do(t, opaque); a.status != http.StatusNotFound {
		t.Errorf("metadata of keys: %d", a.status)
	}
}
