package main

import (
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// The program takes the tokens of an issuer whose keys are in a file, beside its own keys, and leads whoever has none to the issuer.
func TestServeTokens(t *testing.T) {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	text := func(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }
	token := func(scope string) string {
		body := text([]byte(`{"alg":"EdDSA","kid":"k"}`)) + "." + text(fmt.Appendf(nil, `{"iss":"https://login.test","aud":"https://resq.test/mcp","sub":"ann","exp":%d,"scope":%q}`, time.Now().Add(time.Hour).Unix(), scope))
		return body + "." + text(ed25519.Sign(private, []byte(body)))
	}
	dir := t.TempDir()
	write(t, dir, "keys.json", `{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"k","use":"sig","x":"`+text(public)+`"}]}`)
	config := write(t, dir, "resq.yaml", "packs: [store]\njwt: {issuer: https://login.test, audience: https://resq.test/mcp, jwks: keys.json}\ntraces: {file: traces.jsonl}\n")
	p := start(t, "serve", "--http", "127.0.0.1:0", "--config", config, "--state", state, "--log-format", "json")
	address := ""
	for end := time.Now().Add(30 * time.Second); address == ""; time.Sleep(10 * time.Millisecond) {
		if m := regexp.MustCompile(`"msg":"listening","address":"([^"]+)"`).FindStringSubmatch(p.errors()); m != nil {
			address = m[1]
		} else if time.Now().After(end) {
			t.Fatalf("it does not listen: %s", p.errors())
		}
	}
	ask := func(key string) (int, http.Header, string) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+address+"/mcp", strings.NewReader(
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"res-query","arguments":{"resource":"Category","fields":[{"code":"id"}],"limit":1}}}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		if key != "" {
			req.Header.Set("Authorization", "Bearer "+key)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, _ := io.ReadAll(resp.Body)
		return resp.StatusCode, resp.Header, string(b)
	}
	good := token("read")
	if status, _, body := ask(good); status != 200 || !strings.Contains(body, `[1]`) {
		t.Errorf("a token: %d %s", status, body)
	}
	if status, _, body := ask(token("openid")); status != 200 || !strings.Contains(body, "PERMISSION_DENIED") {
		t.Errorf("a token that allows nothing: %d %s", status, body)
	}
	forged := strings.Split(token("read write"), ".")
	forged[2] = strings.Split(good, ".")[2] // the signature of another token
	for _, key := range []string{"", strings.Join(forged, "."), "some-key-0123456789"} {
		if status, h, body := ask(key); status != http.StatusUnauthorized || !strings.Contains(h.Get("WWW-Authenticate"), "https://resq.test/.well-known/oauth-protected-resource/mcp") {
			t.Errorf("%q: %d %v %s", key, status, h, body)
		}
	}
	for _, secret := range []string{good, strings.Split(good, ".")[2]} {
		if strings.Contains(p.errors(), secret) {
			t.Error("a token is in the log")
		}
	}
	_ = p.cmd.Process.Signal(os.Interrupt)
	p.wait()
	traces, err := os.ReadFile(filepath.Join(dir, "traces.jsonl")) // what is left is sent at the end
	if err != nil || !strings.Contains(string(traces), `"name":"tools/call res-query"`) || !strings.Contains(string(traces), `"name":"execute"`) || strings.Contains(string(traces), "ann") {
		t.Errorf("%v %s", err, traces)
	}
	if !strings.Contains(p.errors(), `"principal":"jwt:ann"`) || !strings.Contains(p.errors(), `"a token was refused"`) {
		t.Errorf("the log: %s", p.errors())
	}
}
