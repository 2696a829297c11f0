package main

import (
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"resq/testdb"
)

// E-10, B-003, B-004: a token whose claim names scopes of the control database is listed their tools and may call no other;
// what an admin changes holds while the server runs.
func TestServeTokensOfScopes(t *testing.T) {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	text := func(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }
	token := func(groups string) string {
		body := text([]byte(`{"alg":"EdDSA","kid":"k"}`)) + "." + text(fmt.Appendf(nil, `{"iss":"https://login.test","aud":"https://resq.test/mcp","sub":"ann","exp":%d,"groups":%s}`, time.Now().Add(time.Hour).Unix(), groups))
		return body + "." + text(ed25519.Sign(private, []byte(body)))
	}
	testdb.Each(t, func(t *testing.T, e testdb.Engine) {
		dir := t.TempDir()
		write(t, dir, "keys.json", `{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"k","use":"sig","x":"`+text(public)+`"}]}`)
		config := controlledConfig(t, dir, e, "")
		b, err := os.ReadFile(config)
		if err != nil {
			t.Fatal(err)
		}
		write(t, dir, filepath.Base(config), string(b)+"\njwt: {issuer: https://login.test, audience: https://resq.test/mcp, jwks: keys.json, claims: {tools: groups}}\n")
		do(t, config, nil, "scopes", "create", "reading", "--tool", "res-query")
		do(t, config, nil, "scopes", "create", "looking", "--tool", "res-schema")
		s := runServer(t, "--config", config)
		lists := func(groups string, want ...string) bool {
			_, body := s.post("/mcp", token(groups), `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
			for _, w := range want {
				if !strings.Contains(body, `"name":"`+w+`"`) {
					return false
				}
			}
			return strings.Count(body, `"inputSchema"`) == len(want)
		}
		if !lists(`"reading"`, "res-query") || !lists(`["reading","looking","nosuch"]`, "res-query", "res-schema") || !lists(`"nosuch"`) || !lists(`null`) {
			t.Error("the tools are not those of the scopes")
		}
		if got := s.call(token(`"looking"`), "res-query", query1); got != "PERMISSION_DENIED" {
			t.Errorf("a tool of another scope: %s", got)
		}
		if got := s.call(token(`"reading"`), "res-query", query1); got == "PERMISSION_DENIED" || got == "UNAUTHENTICATED" {
			t.Errorf("its own tool: %s", got)
		}
		do(t, config, nil, "scopes", "disable", "reading")
		for end := time.Now().Add(5 * time.Second); !lists(`"reading"`); time.Sleep(50 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatal("a disabled scope still opens its tools")
			}
		}
	})
}
