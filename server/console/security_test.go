package console

import (
	"crypto/tls"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"resq/registry"
	"resq/testdb"
)

var onSQLite = testdb.Engine{Name: testdb.SQLite}

// pages are those of the console that are read, with what a bench has.
func (b *bench) pages(op string) []string {
	return []string{"/changes", "/changes?state=applied", "/changes/" + op, "/keys", "/keys/1", "/audit", "/audit?who=agent&resource=Note&from=2026-01-01", "/catalog", "/catalog?drift=1", "/catalog/resources/Note", "/catalog/tools/tag.list", "/health"}
}

func (b *bench) key() { b.keyNamed(injected) }

func (b *bench) keyNamed(name string) {
	b.t.Helper()
	if _, err := b.control.CreateScope(b.t.Context(), "reading", "", "res-query"); err != nil {
		b.t.Fatal(err)
	}
	if _, _, err := b.control.CreateKey(b.t.Context(), registry.NewKey{Name: name, Scopes: []string{"reading"}}); err != nil {
		b.t.Fatal(err)
	}
}

// Nothing is shown to whoever is not logged in, every page to whoever is, and every answer forbids being framed, scripts of
// others or in the page, and being kept (security.md 3.10).
func TestPagesAndHeaders(t *testing.T) {
	b := newBench(t, onSQLite)
	b.key()
	p := b.propose("res-delete", map[string]any{"resource": "Note", "ids": []int{1}})
	nobody, viewer, admin := b.browser(), b.as("the-viewer"), b.as("the-admin")
	check := func(path string, r *http.Response) {
		t.Helper()
		h := r.Header
		csp := h.Get("Content-Security-Policy")
		if !strings.Contains(csp, "frame-ancestors 'none'") || !strings.Contains(csp, "default-src 'none'") || strings.Contains(csp, "unsafe") ||
			h.Get("X-Frame-Options") != "DENY" || h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Cache-Control") == "" {
			t.Errorf("%s: headers %v", path, h)
		}
	}
	for _, path := range append(b.pages(p.Confirm.Op), "/try", "/audit/export") {
		r, body := nobody.get(path)
		check(path, r)
		if r.StatusCode != http.StatusSeeOther || !strings.HasPrefix(r.Header.Get("Location"), "/login") || strings.Contains(body, "<table") || strings.Contains(body, "note 2") {
			t.Errorf("%s without a login: %s", path, r.Status)
		}
		r, body = admin.get(path)
		check(path, r)
		if r.StatusCode != http.StatusOK || len(body) > 150_000 {
			t.Errorf("%s: %s, %d bytes", path, r.Status, len(body))
		}
	}
	inline := regexp.MustCompile(`<script>|<style|\son\w+=|\sstyle=|javascript:`)
	for _, path := range b.pages(p.Confirm.Op) {
		r, body := viewer.get(path)
		if r.StatusCode != http.StatusOK {
			t.Errorf("%s for a viewer: %s", path, r.Status)
		}
		// Stored XSS: what stands in rows, names and reasons is shown as it is.
		if bad := inline.FindString(strings.ReplaceAll(body, "onerror=alert(2)&gt;", "")); bad != "" {
			t.Errorf("%s has %q in it", path, bad)
		}
	}
	if _, body := viewer.get("/changes/" + p.Confirm.Op); !strings.Contains(body, "&lt;script&gt;alert(1)&lt;/script&gt;") || !strings.Contains(body, "{{.}}") {
		t.Error("the row is not shown")
	}
	if _, body := viewer.get("/keys"); !strings.Contains(body, "&lt;script&gt;") {
		t.Error("the key is not shown")
	}
	for _, path := range []string{"/static/htmx.min.js", "/static/console.css", "/static/favicon.svg", "/static/htmx.LICENSE", "/login"} {
		r, body := nobody.get(path)
		check(path, r)
		if r.StatusCode != http.StatusOK || len(body) == 0 || len(body) > 150_000 {
			t.Errorf("%s: %s", path, r.Status)
		}
	}
	// A name of another site that leads here.
	r, _ := http.NewRequest("GET", b.url+"/login", nil)
	r.Host = "evil.example"
	if a, _ := nobody.do(r); a.StatusCode != http.StatusMisdirectedRequest {
		t.Errorf("another host: %s", a.Status)
	}
}

// A form is taken from a page of the same session alone (CSRF).
func TestForgedForms(t *testing.T) {
	b := newBench(t, onSQLite)
	p := b.propose("res-delete", map[string]any{"resource": "Note", "ids": []int{1}})
	page := "/changes/" + p.Confirm.Op
	approver, other := b.as("the-approver"), b.as("the-admin")
	sum, mine := sumFrom(t, approver, page), csrfOf(t, approver, page)
	for _, token := range []string{"", "x", csrfOf(t, other, page)} {
		if r, _ := approver.post(page+"/approve", url.Values{"csrf": {token}, "sum": {sum}}); r.StatusCode != http.StatusForbidden {
			t.Errorf("with the token %q: %s", token, r.Status)
		}
	}
	for name, value := range map[string]string{"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"} {
		r, _ := http.NewRequest("POST", b.url+page+"/approve", strings.NewReader(url.Values{"csrf": {mine}, "sum": {sum}}.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set(name, value)
		if a, _ := approver.do(r); a.StatusCode != http.StatusForbidden {
			t.Errorf("%s %s: %s", name, value, a.Status)
		}
	}
	if r, _ := approver.get(page + "/approve"); r.StatusCode != http.StatusMethodNotAllowed && r.StatusCode != http.StatusNotFound {
		t.Errorf("a link approves: %s", r.Status)
	}
	if o, _, err := b.engine.Operation(t.Context(), p.Confirm.Op); err != nil || o.State != "previewed" {
		t.Fatal("a forged form decided: ", o.State, err)
	}
	if r, _ := approver.post(page+"/approve", url.Values{"csrf": {mine}, "sum": {sum}}); r.StatusCode != http.StatusSeeOther {
		t.Errorf("the form itself: %s", r.Status)
	}
}

// A login begins a session of its own whatever cookie came with it, and a logout, a time without use, and another password
// end it (session fixation).
func TestSessions(t *testing.T) {
	b := newBench(t, onSQLite)
	planted := b.as("the-viewer")
	u, _ := url.Parse(b.url)
	before := planted.http.Jar.Cookies(u)[0].Value
	victim := b.browser()
	victim.http.Jar.SetCookies(u, []*http.Cookie{{Name: "resq_console", Value: before, Path: "/"}})
	r, _ := victim.post("/login", url.Values{"name": {"the-admin"}, "password": {password}})
	c := r.Cookies()[0]
	if c.Value == before || !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/" || len(c.Value) < 40 {
		t.Errorf("the cookie of a login: %v", c)
	}
	if r, _ := planted.get("/changes"); r.StatusCode != http.StatusSeeOther {
		t.Error("the session that was planted lives on, and a login made it another's")
	}
	if r, _ := victim.submit("/changes", "/logout", nil); r.StatusCode != http.StatusSeeOther {
		t.Errorf("the logout: %s", r.Status)
	}
	victim.http.Jar.SetCookies(u, []*http.Cookie{{Name: "resq_console", Value: c.Value, Path: "/"}})
	if r, _ := victim.get("/changes"); r.StatusCode != http.StatusSeeOther {
		t.Error("a session outlives its logout")
	}
	// A page that looks for news by itself keeps no session alive.
	watcher := b.as("the-viewer")
	for range 4 {
		b.pass(registry.SessionIdle / 4)
		r, _ := http.NewRequest("GET", b.url+"/changes", nil)
		r.Header.Set("HX-Request", "true")
		if a, _ := watcher.do(r); a.StatusCode != http.StatusOK {
			t.Fatalf("a session in its time: %s", a.Status)
		}
	}
	b.pass(time.Minute)
	poll, _ := http.NewRequest("GET", b.url+"/changes", nil)
	poll.Header.Set("HX-Request", "true")
	if a, _ := watcher.do(poll); a.StatusCode != http.StatusUnauthorized || a.Header.Get("HX-Redirect") != "/login" {
		t.Errorf("a session that nobody used: %s", a.Status)
	}
	gone := b.as("the-viewer")
	if _, err := b.control.EnableAdmin(t.Context(), "the-viewer", false); err != nil {
		t.Fatal(err)
	}
	if r, _ := gone.get("/changes"); r.StatusCode != http.StatusSeeOther {
		t.Error("a session outlives its admin")
	}
	for _, next := range []string{"https://evil.example", "//evil.example", `/\evil.example`, "evil", "/\tevil", "javascript:alert(1)"} {
		if to := here(next); to != "/changes" {
			t.Errorf("%q leads to %q", next, to)
		}
	}
	if to := here("/changes/1?a=b"); to != "/changes/1?a=b" {
		t.Errorf("a page of the console leads to %q", to)
	}
}

// A login that fails says the same whatever was wrong, and guesses run out (enumeration).
func TestLoginTellsNothing(t *testing.T) {
	b := newBench(t, onSQLite)
	if _, err := b.control.EnableAdmin(t.Context(), "the-approver", false); err != nil {
		t.Fatal(err)
	}
	w := b.browser()
	type answer struct {
		status int
		body   string
	}
	try := func(name, word string) answer {
		r, body := w.post("/login", url.Values{"name": {name}, "password": {word}})
		if len(r.Cookies()) > 0 {
			t.Errorf("%s got a cookie", name)
		}
		return answer{r.StatusCode, body}
	}
	first := try("the-admin", "wrong word for it")
	if first.status != http.StatusForbidden {
		t.Errorf("a wrong password: %d", first.status)
	}
	for _, x := range [][2]string{{"nobody", "wrong word for it"}, {"the-approver", password}, {"", ""}, {"the-admin' OR 1=1 --", password}} {
		if a := try(x[0], x[1]); a != first {
			t.Errorf("%q is told something else", x[0])
		}
	}
	for range triesPair {
		if a := try("the-admin", "wrong word for it"); a != first {
			t.Fatal("the answers differ")
		}
	}
	if a := try("the-admin", password); a != first {
		t.Error("after too many tries the right password is still tried")
	}
	for i := range triesAddress {
		if a := try(strings.Repeat("x", i+1), password); a != first {
			t.Error("the answers of an address differ")
		}
	}
	if r, _ := w.post("/login", url.Values{"name": {"the-viewer"}, "password": {password}}); r.StatusCode == http.StatusSeeOther {
		t.Error("an address that tried too often is let in")
	}
	b.pass(triesTime)
	if r, _ := w.post("/login", url.Values{"name": {"the-admin"}, "password": {password}}); r.StatusCode != http.StatusSeeOther {
		t.Errorf("after a while: %s", r.Status)
	}
	for _, c := range b.kept() {
		if strings.Contains(string(c.Arguments), "wrong word") || strings.Contains(string(c.Arguments), password) || !c.Control {
			t.Errorf("the audit has %s", c.Arguments)
		}
	}
}

// Each role does what is its, and no more; every action is in the audit with who did it.
func TestRoles(t *testing.T) {
	b := newBench(t, onSQLite)
	b.key()
	p := b.propose("res-delete", map[string]any{"resource": "Note", "ids": []int{1}})
	page := "/changes/" + p.Confirm.Op
	acts := []struct{ role, path string }{
		{registry.RoleApprover, page + "/approve"}, {registry.RoleApprover, page + "/decline"}, {registry.RoleApprover, page + "/undo"},
		{registry.RoleAdmin, "/keys"}, {registry.RoleAdmin, "/keys/1/reveal"}, {registry.RoleAdmin, "/keys/1/disable"}, {registry.RoleAdmin, "/keys/1/rotate"}, {registry.RoleAdmin, "/keys/1/revoke"},
		{registry.RoleAdmin, "/keys/1/scopes"}, {registry.RoleAdmin, "/keys/1/expires"}, {registry.RoleAdmin, "/try/runs/x/cancel"}, {registry.RoleAdmin, "/scopes"}, {registry.RoleAdmin, "/scopes/reading/disable"}, {registry.RoleAdmin, "/try"},
	}
	for _, who := range registry.Roles() {
		w := b.as("the-" + who)
		token := csrfOf(t, w, "/changes")
		is := &registry.Admin{Role: who}
		for _, a := range acts {
			if is.Is(a.role) {
				continue // done below, and in the other tests
			}
			if r, body := w.post(a.path, url.Values{"csrf": {token}}); r.StatusCode != http.StatusForbidden || !strings.Contains(body, "PERMISSION_DENIED") {
				t.Errorf("%s for a %s: %s", a.path, who, r.Status)
			}
		}
		for _, path := range []string{"/try", "/audit/export"} {
			if r, _ := w.get(path); (r.StatusCode == http.StatusOK) != (who == registry.RoleAdmin) {
				t.Errorf("%s for a %s: %s", path, who, r.Status)
			}
		}
	}
	if k, err := b.control.Key(t.Context(), 1); err != nil || k.State != registry.StateActive {
		t.Fatal("somebody changed the key:", k, err)
	}
	admin := b.as("the-admin")
	if r, body := admin.submit("/keys", "/keys", url.Values{"name": {"reports"}, "scope": {"reading"}, "expires": {"2099-01-31"}}); r.StatusCode != 200 || !regexp.MustCompile(`<pre id="plain">resq_\w+</pre>`).MatchString(body) {
		t.Errorf("a new key: %s", r.Status)
	}
	if _, body := admin.get("/keys/2"); strings.Contains(body, `id="plain"`) {
		t.Error("a key is shown without being asked for")
	}
	for _, x := range [][2]string{{"reveal", registry.StateActive}, {"disable", registry.StateDisabled}, {"enable", registry.StateActive}, {"revoke", registry.StateRevoked}} {
		if r, _ := admin.submit("/keys/2", "/keys/2/"+x[0], nil); r.StatusCode >= 400 {
			t.Errorf("%s: %s", x[0], r.Status)
		}
		if k, err := b.control.Key(t.Context(), 2); err != nil || k.State != x[1] {
			t.Errorf("after %s the key is %v %v", x[0], k, err)
		}
	}
	if _, body := admin.get("/keys/1"); !strings.Contains(body, "<td>all</td><td>phone</td>") || strings.Contains(body, "all: 14") {
		t.Error("the page of a key does not say what it would see")
	}
	if _, body := admin.get("/keys/1?count=1"); !strings.Contains(body, "<td>all: 14</td><td>phone</td>") {
		t.Error("the rows that a key would see are not counted")
	}
	for end, want := range map[string]int{"2099-01-31": http.StatusSeeOther, "": http.StatusSeeOther, "2001-01-31": http.StatusBadRequest, "tomorrow": http.StatusBadRequest} {
		if r, _ := admin.submit("/keys/1", "/keys/1/expires", url.Values{"expires": {end}}); r.StatusCode != want {
			t.Errorf("the end %q: %s", end, r.Status)
		}
	}
	if r, _ := admin.submit("/keys", "/scopes", url.Values{"code": {"writing"}, "name": {"Writing"}, "tools": {""}}); r.StatusCode != http.StatusSeeOther {
		t.Errorf("a scope: %s", r.Status)
	}
	if r, _ := admin.submit("/keys/1", "/keys/1/scopes", url.Values{"scope": {"writing"}}); r.StatusCode != http.StatusSeeOther {
		t.Errorf("binding: %s", r.Status)
	}
	if k, err := b.control.Key(t.Context(), 1); err != nil || strings.Join(k.Scopes, " ") != "writing" {
		t.Error(k, err)
	}
	if r, _ := admin.submit("/audit", "/audit/verify", nil); r.StatusCode != 200 {
		t.Errorf("verify: %s", r.Status)
	}
	denied, done := 0, 0
	for _, c := range b.kept() {
		switch {
		case c.Outcome == "denied" && strings.HasPrefix(c.Principal, "console:the-"):
			denied++
		case c.Principal == "console:the-admin" && c.Outcome == "ok":
			done++
		}
	}
	if denied != 14+11 || done < 9 {
		t.Errorf("the audit has %d refusals and %d deeds", denied, done)
	}
}

// The address of the console is this machine's own, unless logins cannot be read on their way.
func TestListen(t *testing.T) {
	for _, x := range []struct {
		addr string
		o    Options
		ok   bool
	}{
		{"127.0.0.1:0", Options{}, true}, {"localhost:0", Options{}, true},
		{"0.0.0.0:0", Options{}, false}, {":0", Options{}, false}, {"192.0.2.1:0", Options{}, false},
		{"0.0.0.0:0", Options{Proxied: true}, true}, {"0.0.0.0:0", Options{Certificate: &tls.Certificate{}}, true},
	} {
		l, err := (&Console{opts: x.o}).Listen(x.addr)
		if (err == nil) != x.ok {
			t.Errorf("%s: %v", x.addr, err)
		}
		if l != nil {
			l.Close()
		}
	}
	c := &Console{opts: Options{Proxied: true}}
	w := httptest.NewRecorder()
	c.setCookie(w, "x")
	if k := w.Result().Cookies()[0]; !k.Secure || k.Name != "__Host-resq_console" {
		t.Errorf("behind HTTPS the cookie is %v", k)
	}
}

// Every text of the pages is there in both languages.
func TestTexts(t *testing.T) {
	said := regexp.MustCompile(`\.T "([^"]+)"|"Text" "([^"]+)"`)
	err := fs.WalkDir(pageFiles, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := pageFiles.ReadFile(name)
		for _, m := range said.FindAllStringSubmatch(string(raw), -1) {
			if s := m[1] + m[2]; chinese[s] == "" && s != "SQL" {
				t.Errorf("%s: no Chinese for %q", name, s)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"catalog.go", "changes.go", "keys.go", "audit.go", "health.go", "try.go", "session.go"} {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`\bt\("([^"]+)"\)|text\(lang, "([^"]+)"\)`).FindAllStringSubmatch(string(raw), -1) {
			if s := m[1] + m[2]; chinese[s] == "" {
				t.Errorf("%s: no Chinese for %q", file, s)
			}
		}
	}
	b := newBench(t, onSQLite)
	w := b.as("the-admin")
	w.post("/language", url.Values{"lang": {"zh"}, "next": {"/changes"}})
	if _, body := w.post("/keys/1/disable", url.Values{"csrf": {"x"}}); !strings.Contains(body, "此表单不属于当前会话") || !strings.Contains(body, "PERMISSION_DENIED") {
		t.Error("a problem of the console's own is not in Chinese")
	}
	if _, body := w.get("/changes"); !strings.Contains(body, "变更") || !strings.Contains(body, `lang="zh-Hans"`) {
		t.Error("the pages are not in Chinese")
	}
}
