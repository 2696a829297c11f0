package main

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"resq/registry"
	"resq/schema"
	"resq/testdb"
)

// Logins are made by a command, and the server's console takes them; what was done on both ways is in the audit
// (security.md 3.10).
func TestConsole(t *testing.T) {
	dsn := testdb.Create(t, testdb.Engine{Name: testdb.SQLite}, "CREATE TABLE item (id INTEGER PRIMARY KEY, name VARCHAR(20) NOT NULL)")
	state := t.TempDir()
	catalog := write(t, t.TempDir(), "catalog.yaml", `version: 1
connections: {main: {driver: sqlite, dsn: "`+dsn+`", mode: write}}
resources:
  - {code: Item, table: item, key: id, writes: [delete], confirm: human, fields: {id: integer, name: {type: string, maxLength: 20}}}
`)
	admin := func(in string, want int, args ...string) string {
		t.Helper()
		code, out, errOut := resq(t, in, append(append([]string{"admin"}, args...), "--state", state)...)
		if code != want {
			t.Fatalf("%v: exit %d\n%s%s", args, code, out, errOut)
		}
		return out + errOut
	}
	made := admin("", exitOK, "create", "maria", "--role", "approver")
	password := regexp.MustCompile(`password\s+(\w{20,})`).FindStringSubmatch(made)
	if password == nil {
		t.Fatalf("no password in %s", made)
	}
	if out := admin("a password of my own\n", exitOK, "create", "boss", "--stdin"); strings.Contains(out, "a password") {
		t.Error("a password that was given is printed")
	}
	for _, bad := range []struct{ in, args, want string }{
		{"", "create maria", "already"}, {"", "create otto --role king", "one of: viewer, approver, admin"}, {"short\n", "create otto --stdin", "at least 12 characters"},
		{"\n", "create otto --stdin", "no password"}, {"", "disable otto", "there is no admin"}, {"", "create Otto!", "small letters"},
	} {
		if out := admin(bad.in, exitFailed, strings.Fields(bad.args)...); !strings.Contains(out, bad.want) {
			t.Errorf("%s: %s", bad.args, out)
		}
	}
	for _, addr := range []string{"0.0.0.0:0", "192.0.2.1:1"} {
		if code, _, errOut := resq(t, "", "serve", "--http", "127.0.0.1:0", "--catalog", catalog, "--state", state, "--console", addr); code == exitOK || !strings.Contains(errOut, "logins would travel unencrypted") {
			t.Errorf("%s: exit %d %s", addr, code, errOut)
		}
	}
	if code, _, errOut := resq(t, "", "serve", "--http", "127.0.0.1:0", "--catalog", catalog, "--state", state, "--console", "127.0.0.1:0", "--console-cert", "x"); code == exitOK || !strings.Contains(errOut, "belong together") {
		t.Errorf("a certificate without its key: %s", errOut)
	}
	if code, _, errOut := resq(t, "", "migrate", "--catalog", catalog, "--state", state); code != exitOK {
		t.Fatal(errOut)
	}
	s := runServer(t, "--catalog", catalog, "--state", state, "--console", "127.0.0.1:0")
	m := regexp.MustCompile(`"console","address":"([^"]+)"`).FindStringSubmatch(s.log.String())
	if m == nil {
		t.Fatalf("no console: %s", s.log)
	}
	jar, _ := cookiejar.New(nil)
	client := &http.Client{Jar: jar}
	page := func(r *http.Response, err error) string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		body, err := io.ReadAll(r.Body)
		if err != nil || r.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s %v", r.Request.URL, r.Status, err)
		}
		return string(body)
	}
	login := url.Values{"name": {"maria"}, "password": password[1:]}
	if body := page(client.PostForm("http://"+m[1]+"/login", login)); !strings.Contains(body, "maria · approver") {
		t.Error("maria is not logged in")
	}
	for _, path := range []string{"/changes", "/keys", "/audit", "/catalog", "/catalog/resources/Item", "/health"} {
		page(client.Get("http://" + m[1] + path))
	}
	if code, _ := s.send(http.MethodGet, "/login", "", ""); code != http.StatusNotFound {
		t.Errorf("the listener of callers shows the console: %d", code)
	}
	s.stop()
	ctl, _, err := (&controlled{from: source{state: state}, format: "json"}).open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer ctl.Close()
	calls, err := ctl.FindCalls(t.Context(), registry.CallFilter{From: time.Now().Add(-time.Hour), Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	var kept []string
	for _, c := range calls {
		kept = append(kept, c.Principal+" "+c.Tool)
		if strings.Contains(c.Arguments, password[1]) || strings.Contains(c.Arguments, "of my own") {
			t.Errorf("a password is in the audit: %s", c.Arguments)
		}
	}
	for _, want := range []string{"cli admin create", "console:maria console /login"} {
		if !strings.Contains(strings.Join(kept, "\n"), want) {
			t.Errorf("the audit lacks %q: %v", want, kept)
		}
	}
}

// What was wrong with the last load is on the console until the next good one.
func TestLastProblem(t *testing.T) {
	r := &reloader{}
	if r.problem() != nil {
		t.Error("a problem before any")
	}
	_, err := schema.Load([]string{t.TempDir()}, schema.LoadOptions{})
	r.last.Store(&err)
	if r.problem() == nil || r.problem().Error() != err.Error() {
		t.Error("the problem is not told")
	}
	r.last.Store(nil)
	if r.problem() != nil {
		t.Error("the problem stays")
	}
}
