package issuer

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"resq/engine"
	"resq/engine/dialect/mysql"
	"resq/engine/dialect/postgres"
	"resq/engine/dialect/sqlite"
	"resq/registry"
	"resq/schema/problem"
	"resq/testdb"
)

const credential = "resqadm_of-the-tests-0123456789"

// B-069, B-021: the API makes, lists and revokes keys, binds scopes, and switches tools; and refuses with an error
// that says what is wrong.
func TestIssuer(t *testing.T) {
	testdb.Each(t, func(t *testing.T, e testdb.Engine) {
		c, err := registry.OpenControl(t.Context(), registry.ControlOptions{DSN: testdb.Create(t, e), Drivers: []engine.Driver{sqlite.New(), mysql.New(), postgres.New()},
			Secret: []byte("a secret of the tests, long enough"), Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := c.Up(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := c.RegisterTools(t.Context(), []registry.Tool{{Name: "res-query"}}); err != nil {
			t.Fatal(err)
		}
		var calls []registry.Call
		var log strings.Builder
		sum := sha256.Sum256([]byte(credential))
		api, err := New(Options{Control: c, Admin: hex.EncodeToString(sum[:]), Principal: func(name string) bool { return name == "alice" },
			Record: func(c registry.Call) { calls = append(calls, c) }, Log: slog.New(slog.NewTextHandler(&log, nil))})
		if err != nil {
			t.Fatal(err)
		}
		plain := ""
		coding := ""
		ask := func(method, path, body string) (int, string) {
			r := httptest.NewRequest(method, Path+path, strings.NewReader(body))
			r.Header.Set("Authorization", "Bearer "+credential)
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Content-Encoding", coding)
			w := httptest.NewRecorder()
			api.ServeHTTP(w, r)
			if w.Header().Get("Cache-Control") != "no-store" || !json.Valid(w.Body.Bytes()) {
				t.Errorf("%s %s: %v %s", method, path, w.Header(), w.Body)
			}
			return w.Code, w.Body.String()
		}
		for _, step := range []struct {
			method, path, body string
			status             int
			want               string
		}{
			{"POST", "scopes", `{"scope_code":"reading","scope_name":"读","tools":["res-query"]}`, 200, `"scope_name":"读","enabled":true,"tools":["res-query"],"keys":0`},
			{"POST", "scopes", `{"scope_code":"reading"}`, 409, `"CONFLICT"`},
			{"POST", "keys", `{"name":"a","user_id":42,"scopes":["reading"],"expire_time":"2099-01-01T00:00:00Z"}`, 200, `"name":"a","user_id":"42","state":"active","scopes":["reading"],"expire_time":"2099-01-01T00:00:00Z"`},
			{"POST", "keys", `{"name":"b","user_id":"u-7","principal":"alice","expire_time":null}`, 200, `"user_id":"u-7","principal":"alice"`},
			{"POST", "keys", `{"name":"b","principal":"bob"}`, 400, `"at":"/principal"`},
			{"POST", "keys", `{"nam":"b"}`, 400, `"at":"/nam","hint":"nearest: name"`},
			{"POST", "keys", `{"Name":"b"}`, 400, `"at":"/Name"`},
			{"POST", "keys", `{"name":"b","name":"c"}`, 400, `stands twice`},
			{"POST", "keys", `{"name":5}`, 400, `"at":"/name"`},
			{"POST", "keys", `{"name":"b","scopes":["nosuch"]}`, 400, `"at":"/scopes/0"`},
			{"POST", "keys", `{"name":"b"} {}`, 400, `not a JSON object`},
			{"POST", "keys", `[]`, 400, `not a JSON object`},
			{"POST", "keys", `{}`, 400, `"at":"/name"`},
			{"POST", "keys", `{"name":"` + strings.Repeat("x", 70_000) + `"}`, 413, `LIMIT_EXCEEDED`},
			{"GET", "keys?user_id=42", "", 200, `{"keys":[{"id":1,`},
			{"GET", "keys?after=1&limit=1", "", 200, `{"keys":[{"id":2,`},
			{"GET", "keys?nosuch=1", "", 400, `INVALID_ARGUMENT`},
			{"GET", "keys?after=x", "", 400, `INVALID_ARGUMENT`},
			{"GET", "keys/1", "", 200, `"last_used_time"`},
			{"GET", "keys/99", "", 404, `there is no key`},
			{"GET", "keys/xqak_secret", "", 400, `named by its number`},
			{"POST", "keys/1/reveal", "", 200, `"key":"resq_`},
			{"POST", "keys/1/reveal", `{"x":1}`, 400, `"at":"/x"`},
			{"POST", "keys", `{"name":"b","user_id":" 42 "}`, 400, `"at":"/user_id"`},
			{"POST", "keys", `{"name":"b","user_id":"042"}`, 400, `without leading zeros, sign or fraction: 42","at":"/user_id"`},
			{"POST", "keys", `{"name":"b","user_id":"+42"}`, 400, `"at":"/user_id"`},
			{"POST", "keys", `{"name":"b","user_id":"42.0"}`, 400, `"at":"/user_id"`},
			{"POST", "keys", `{"name":"b","user_id":"-0"}`, 400, `"at":"/user_id"`},
			{"POST", "keys", `{"name":"b","user_id":042}`, 400, `not a JSON object`},
			{"POST", "keys/1/disable", "", 200, `"state":"disabled"`},
			{"POST", "keys/1/enable", "{}", 200, `"state":"active"`},
			{"POST", "keys/1/enable", `{"x":1}`, 400, `"at":"/x"`},
			{"PUT", "keys/1/scopes", `{}`, 400, `this list is missing`},
			{"PUT", "keys/1/scopes", `{"scopes":[]}`, 200, `"scopes":[]`},
			{"POST", "keys/1/rotate", `{"grace_seconds":60}`, 200, `"key":"resq_`},
			{"POST", "keys/1/rotate", `{"grace_seconds":-1}`, 400, `"at":"/grace_seconds"`},
			{"POST", "keys/1/revoke", "", 200, `"state":"revoked"`},
			{"POST", "keys/1/enable", "", 409, `for good`},
			{"PUT", "scopes/reading/tools", `{"tools":["b","res-query","a"]}`, 400, `"message":"no server has loaded \"b\", \"a\"","at":"/tools/0","hint":"one of: res-query; \"later\": true takes tools that come later"`},
			{"PUT", "scopes/reading/tools", `{"tools":["res_query","res-qury"]}`, 400, `"at":"/tools/1","hint":"nearest: res-query;`},
			{"PUT", "scopes/reading/tools", `{"tools":["b"],"later":"yes"}`, 400, `"at":"/later"`},
			{"GET", "scopes/reading", "", 200, `"tools":["res-query"]`},
			{"PUT", "scopes/reading/tools", `{"tools":["res_query"]}`, 200, `"tools":["res_query"]`},
			{"PUT", "scopes/reading/tools", `{"tools":["b","a"],"later":true}`, 200, `"tools":["a","b"]`},
			{"PUT", "scopes/nosuch/tools", `{"tools":["res-query"]}`, 404, `there is no scope`},
			{"POST", "scopes", `{"scope_code":"typo","tools":["res-qury"]}`, 400, `"at":"/tools/0"`},
			{"GET", "scopes/typo", "", 404, `there is no scope`},
			{"POST", "scopes", `{"scope_code":"soon","tools":["res-soon"],"later":true}`, 200, `"tools":["res-soon"]`},
			{"POST", "scopes/reading/disable", "", 200, `"enabled":false`},
			{"POST", "scopes/reading/enable", "", 200, `"enabled":true`},
			{"GET", "scopes", "", 200, `{"scopes":[{"scope_code":"reading"`},
			{"GET", "scopes/reading", "", 200, `"scope_code":"reading"`},
			{"GET", "tools", "", 200, `{"tools":[{"tool_name":"res-query","enabled":true}]}`},
			{"POST", "tools/res-query/disable", "", 200, `"enabled":false`},
			{"POST", "tools/res_query/enable", "", 200, `"tool_name":"res-query","enabled":true`},
			{"POST", "tools/nosuch/disable", "", 404, `there is no tool`},
			{"DELETE", "keys/1", "", 404, `nothing at this path`},
			{"GET", "nosuch", "", 404, `nothing at this path`},
			{"GET", "/keys", "", 404, `nothing at this path`},
			{"POST", "/keys", `{"name":"b"}`, 404, `nothing at this path`},
			{"GET", "keys/../scopes", "", 404, `nothing at this path`},
			{"GET", "./keys", "", 404, `nothing at this path`},
		} {
			status, body := ask(step.method, step.path, step.body)
			if step.path == "keys/1" && status == 200 { // never used
				step.want = `"create_time"`
			}
			if status != step.status || !strings.Contains(body, step.want) || status >= 400 && !strings.Contains(body, `"request_id":"`) || strings.Contains(body, "xqak_secret") {
				t.Errorf("%s %s %.60s: %d %s", step.method, step.path, step.body, status, body)
			}
			if step.path == "keys" && plain == "" {
				var made struct{ Key string }
				_ = json.Unmarshal([]byte(body), &made)
				plain = made.Key
			} else if strings.Contains(body, `"key":"`) != (strings.HasSuffix(step.path, "reveal") || strings.HasSuffix(step.path, "rotate") || step.path == "keys" && step.method == "POST") && status == 200 {
				t.Errorf("%s %s: %s", step.method, step.path, body)
			}
		}
		coding = "gzip"
		if status, body := ask("POST", "keys", `{"name":"compressed"}`); status != 400 || !strings.Contains(body, "compressed") {
			t.Errorf("a body that says it is compressed: %d %s", status, body)
		}
		// What was done, and to what, is in the record.
		for _, want := range []registry.Call{
			{Tool: "api POST keys", Token: 1, Outcome: "ok", Arguments: []byte(`{"expire_time":"2099-01-01T00:00:00Z","name":"a","scopes":["reading"],"user_id":42}`)},
			{Tool: "api POST keys", Outcome: "error", Code: "INVALID_ARGUMENT", Arguments: []byte(`{"***":"***"}`)},
			{Tool: "api GET keys", Outcome: "ok", Arguments: []byte(`{"user_id":"42"}`)},
			{Tool: "api GET keys/{id}", Outcome: "error", Code: "INVALID_ARGUMENT", Arguments: []byte(`{"id":"***"}`)},
			{Tool: "api POST keys/{id}/reveal", Token: 1, Outcome: "ok", Arguments: []byte(`{"id":"1"}`)},
			{Tool: "api POST keys/{id}/disable", Token: 1, Outcome: "ok", Arguments: []byte(`{"id":"1"}`)},
			{Tool: "api PUT keys/{id}/scopes", Token: 1, Outcome: "ok", Arguments: []byte(`{"id":"1","scopes":[]}`)},
			{Tool: "api POST keys/{id}/rotate", Token: -1, Outcome: "ok", Arguments: []byte(`{"grace_seconds":60,"id":"1"}`)},
			{Tool: "api POST keys/{id}/revoke", Token: 1, Outcome: "ok", Arguments: []byte(`{"id":"1"}`)},
			{Tool: "api PUT scopes/{code}/tools", Outcome: "ok", Arguments: []byte(`{"code":"reading","later":true,"tools":["b","a"]}`)},
			{Tool: "api POST scopes/{code}/disable", Outcome: "ok", Arguments: []byte(`{"code":"reading"}`)},
			{Tool: "api POST tools/{name}/disable", Outcome: "ok", Arguments: []byte(`{"name":"res-query"}`)},
			{Tool: "api", Outcome: "error", Code: string(problem.NotFound)},
		} {
			if !slices.ContainsFunc(calls, func(c registry.Call) bool {
				return c.Tool == want.Tool && (c.Token == want.Token || want.Token < 0 && c.Token > 1) && c.Outcome == want.Outcome && c.Code == want.Code && string(c.Arguments) == string(want.Arguments) && c.Control && c.Request != "" &&
					(c.Key != "") == (c.Token != 0 && c.Outcome == "ok")
			}) {
				t.Errorf("not recorded: %s %d %s %s %s", want.Tool, want.Token, want.Outcome, want.Code, want.Arguments)
			}
		}
		if text := log.String() + fmt.Sprint(calls); plain == "" || strings.Contains(text, plain) || strings.Contains(text, credential) || !strings.Contains(text, "api POST keys") {
			t.Errorf("the key is %q; the log and the record: %s", plain, text)
		}
	})
}

// N2: without the credential nothing is learnt, and whoever guesses is soon told to wait, which does not lock the right one out.
func TestCredential(t *testing.T) {
	sum := sha256.Sum256([]byte(credential))
	var calls []registry.Call
	api, err := New(Options{Admin: hex.EncodeToString(sum[:]), Record: func(c registry.Call) { calls = append(calls, c) }, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	ask := func(place, authorization string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodGet, Path+"nosuch", nil)
		r.RemoteAddr = place + ":1234"
		if authorization != "" {
			r.Header.Set("Authorization", authorization)
		}
		w := httptest.NewRecorder()
		api.ServeHTTP(w, r)
		return w
	}
	for i, wrong := range []string{"", "Bearer", "Bearer ", "Basic " + credential, credential, "Bearer " + credential + "x", "Bearer " + hex.EncodeToString(sum[:]), "Bearer x", "Bearer y", "Bearer z"} {
		if w := ask("10.0.0.1", wrong); w.Code != 401 || w.Header().Get("WWW-Authenticate") != "Bearer" || !strings.Contains(w.Body.String(), "UNAUTHENTICATED") {
			t.Errorf("%d %q: %d %s", i, wrong, w.Code, w.Body)
		}
	}
	for range 2 {
		if w := ask("10.0.0.1", "Bearer x"); w.Code != 429 || w.Header().Get("Retry-After") == "" {
			t.Errorf("after ten wrong ones: %d %s", w.Code, w.Body)
		}
		if w := ask("10.0.0.1", "Bearer "+credential); w.Code != 404 { // or whoever guesses would lock it out
			t.Errorf("the right one after ten wrong ones: %d %s", w.Code, w.Body)
		}
	}
	if w := ask("10.0.0.2", "bearer "+credential); w.Code != 404 {
		t.Errorf("from elsewhere: %d %s", w.Code, w.Body)
	}
	// Refused credentials are recorded, and of an address no more than are looked at.
	for range 20 {
		ask("10.0.0.1", "Bearer x")
	}
	denied := 0
	for _, c := range calls {
		if c.Outcome == "denied" && c.Code == "UNAUTHENTICATED" && c.Client == "10.0.0.1" && len(c.Arguments) == 0 && c.Principal == "" {
			denied++
		}
	}
	if denied != maxRefused {
		t.Errorf("%d refused credentials are recorded", denied)
	}
	if _, err := New(Options{Admin: "x"}); err == nil {
		t.Error("a sum that is none")
	}
}
