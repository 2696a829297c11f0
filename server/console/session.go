package console

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"resq/registry"
	"resq/schema/problem"
)

// A page is what templates are given.
type page struct {
	Title   string
	Path    string
	Lang    string
	Version string
	Admin   *registry.Admin
	CSRF    string
	Problem *problem.Problem
	Done    string // what was just done
	Data    any
}

// A visit is one request of somebody who is logged in.
type visit struct {
	c     *Console
	w     http.ResponseWriter
	r     *http.Request
	admin *registry.Admin
	token string
	asked map[string]any // for the audit
}

func (c *Console) cookie() string {
	if c.secure() {
		return "__Host-resq_console"
	}
	return "resq_console"
}

func (c *Console) setCookie(w http.ResponseWriter, token string) {
	k := &http.Cookie{Name: c.cookie(), Value: token, Path: "/", HttpOnly: true, Secure: c.secure(), SameSite: http.SameSiteStrictMode}
	if token == "" {
		k.MaxAge = -1
	}
	http.SetCookie(w, k)
}

func (c *Console) tokenOf(r *http.Request) string {
	k, err := r.Cookie(c.cookie())
	if err != nil {
		return ""
	}
	return k.Value
}

// csrf is what forms of a session carry: whoever does not have the session's cookie cannot know it.
func csrf(token string) string {
	m := hmac.New(sha256.New, []byte(token))
	m.Write([]byte("resq-console-form-v1"))
	return base64.RawURLEncoding.EncodeToString(m.Sum(nil))
}

// visited lets a handler answer admins of a role, and keeps what they do in the audit.
func (c *Console) visited(role string, do func(*visit) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		polls := r.Header.Get("HX-Request") != "" && r.Method == http.MethodGet
		token := c.tokenOf(r)
		admin, err := c.opts.Control.Session(r.Context(), token, !polls)
		if err != nil {
			http.Error(w, "the control database does not answer", http.StatusServiceUnavailable)
			return
		}
		if admin == nil {
			if polls {
				w.Header().Set("HX-Redirect", "/login")
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			target := "/login"
			if r.Method == http.MethodGet && r.URL.Path != "/" {
				target += "?next=" + url.QueryEscape(r.URL.RequestURI())
			}
			http.Redirect(w, r, target, http.StatusSeeOther)
			return
		}
		v := &visit{c: c, w: w, r: r, admin: admin, token: token, asked: map[string]any{}}
		writes := r.Method != http.MethodGet && r.Method != http.MethodHead
		start := c.opts.Now()
		switch {
		case writes && subtle.ConstantTimeCompare([]byte(r.PostFormValue("csrf")), []byte(csrf(token))) != 1:
			err = &problem.Problem{Code: problem.PermissionDenied, Message: "this form is not one of this session", Hint: "load the page again, and send it from there"}
		case !admin.Is(role):
			err = &problem.Problem{Code: problem.PermissionDenied, Message: "this takes the role " + role}
		default:
			err = do(v)
		}
		if writes {
			c.record(v, r, start, err)
		}
		if err != nil {
			status, p := told(err)
			if status == http.StatusInternalServerError || p.Err != nil {
				c.log.Error("the console", "path", r.URL.Path, "error", err, "cause", p.Err)
			}
			c.render(w, r, status, "problem", "", &page{Title: "It did not work", Admin: admin, CSRF: csrf(token), Path: r.URL.Path, Problem: p})
		}
	})
}

// record keeps an action in the audit.
func (c *Console) record(v *visit, r *http.Request, start time.Time, err error) {
	k := registry.Call{
		Time: start, Request: rand.Text(), Principal: "console", Tool: "console " + strings.ReplaceAll(strings.Trim(r.URL.Path, "/"), "/", " "), Outcome: "ok",
		Took: c.opts.Now().Sub(start), Client: addressOf(r), Control: true,
	}
	if r.Pattern != "" { // without what the path names: that is an argument
		_, path, _ := strings.Cut(r.Pattern, "/")
		k.Tool = "console /" + path
	}
	asked := map[string]any{}
	if v != nil {
		k.Principal = "console:" + v.admin.Name
		asked = v.asked
	}
	for _, name := range []string{"id", "code", "what"} {
		if x := r.PathValue(name); x != "" {
			asked[name] = x
		}
	}
	k.Arguments, _ = json.Marshal(asked) // texts always encode
	if err != nil {
		_, p := told(err)
		k.Outcome, k.Code = "error", string(p.Code)
		if p.Code == problem.PermissionDenied || p.Code == problem.ApprovalRequired {
			k.Outcome = "denied"
		}
		if p.Code == problem.RateLimited {
			k.Outcome = "rate_limited"
		}
	}
	c.opts.Record(k)
}

func addressOf(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

func (v *visit) redirect(to string) error {
	http.Redirect(v.w, v.r, to, http.StatusSeeOther)
	return nil
}

func (v *visit) show(name, part, title string, data any) error {
	return v.page(name, part, &page{Title: title, Data: data})
}

func (v *visit) page(name, part string, p *page) error {
	p.Admin, p.CSRF, p.Path = v.admin, csrf(v.token), v.r.URL.Path
	v.c.render(v.w, v.r, http.StatusOK, name, part, p)
	return nil
}

// form gives a value of the request's form, and keeps it for the audit.
func (v *visit) form(name string) string {
	s := strings.TrimSpace(v.r.PostFormValue(name))
	if s != "" {
		v.asked[name] = s
	}
	return s
}

// here is a path of this console to go on to, whatever stands in a link: never another site.
func here(next string) string {
	u, err := url.Parse(next)
	if err != nil || u.IsAbs() || u.Host != "" || !strings.HasPrefix(next, "/") || strings.HasPrefix(next, "//") || strings.ContainsAny(next, "\\\r\n\t") {
		return "/changes"
	}
	return next
}

func (c *Console) loginPage(w http.ResponseWriter, r *http.Request) {
	c.render(w, r, http.StatusOK, "login", "", &page{Title: "Log in", Path: "/login", Data: here(r.URL.Query().Get("next"))})
}

// A wrong name, a wrong password, a disabled admin and too many tries get the same answer.
var badLogin = &problem.Problem{Code: problem.PermissionDenied, Message: "the name, the password or the one-time password is wrong, or there were too many tries", Hint: "wait some minutes after several tries"}

func (c *Console) login(w http.ResponseWriter, r *http.Request) {
	start := c.opts.Now()
	name, address := strings.TrimSpace(r.PostFormValue("name")), addressOf(r)
	refuse := func(err error) {
		c.record(nil, r, start, err)
		status, p := told(err)
		c.render(w, r, status, "login", "", &page{Title: "Log in", Path: "/login", Problem: p, Data: here(r.PostFormValue("next"))})
	}
	if !c.tries.take(name, address) {
		refuse(badLogin)
		return
	}
	admin, token, err := c.opts.Control.Login(r.Context(), name, r.PostFormValue("password"), r.PostFormValue("totp"))
	if err != nil {
		refuse(err)
		return
	}
	if admin == nil {
		refuse(badLogin)
		return
	}
	c.tries.forgive(name, address)
	if old := c.tokenOf(r); old != "" { // whoever planted it has no session
		_ = c.opts.Control.Logout(r.Context(), old)
	}
	c.setCookie(w, token)
	c.record(&visit{admin: admin, asked: map[string]any{}}, r, start, nil)
	http.Redirect(w, r, here(r.PostFormValue("next")), http.StatusSeeOther)
}

func (c *Console) logout(v *visit) error {
	if err := c.opts.Control.Logout(v.r.Context(), v.token); err != nil {
		return err
	}
	c.setCookie(v.w, "")
	return v.redirect("/login")
}

func (c *Console) language(w http.ResponseWriter, r *http.Request) {
	lang := "en"
	if r.PostFormValue("lang") == "zh" {
		lang = "zh"
	}
	http.SetCookie(w, &http.Cookie{Name: "resq_language", Value: lang, Path: "/", HttpOnly: true, Secure: c.secure(), SameSite: http.SameSiteStrictMode, MaxAge: 365 * 24 * 3600})
	http.Redirect(w, r, here(r.PostFormValue("next")), http.StatusSeeOther)
}

// languageOf is the language that was chosen, or else the browser's.
func languageOf(r *http.Request) string {
	if k, err := r.Cookie("resq_language"); err == nil && (k.Value == "en" || k.Value == "zh") {
		return k.Value
	}
	if strings.HasPrefix(strings.ToLower(r.Header.Get("Accept-Language")), "zh") {
		return "zh"
	}
	return "en"
}

// The tries to log in that are let through in a time, for a name from one address, for an address, and for a name. The
// first is low against guessing; the last is high, or anybody could lock an admin out.
const (
	triesPair    = 5
	triesAddress = 20
	triesName    = 50
	triesTime    = 15 * time.Minute
	triesRoom    = 10_000
)

// tries counts logins that failed.
type tries struct {
	mu    sync.Mutex
	now   func() time.Time
	since time.Time
	count map[string]int
}

func newTries(now func() time.Time) *tries { return &tries{now: now, count: map[string]int{}} }

func tryKeys(name, address string) [3]string {
	if len(name) > 64 {
		name = name[:64]
	}
	return [3]string{"pair " + name + "\x00" + address, "address " + address, "name " + name}
}

// take counts a try, and says whether it is one too many.
func (t *tries) take(name, address string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if now := t.now(); now.Sub(t.since) >= triesTime {
		t.count, t.since = map[string]int{}, now
	}
	keys := tryKeys(name, address)
	for i, most := range [3]int{triesPair, triesAddress, triesName} {
		if t.count[keys[i]] >= most {
			return false
		}
	}
	if len(t.count) >= triesRoom { // somebody tries names from everywhere
		return false
	}
	for _, k := range keys {
		t.count[k]++
	}
	return true
}

// forgive forgets the tries of a name from an address that were slips: it logged in after them.
func (t *tries) forgive(name, address string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	keys := tryKeys(name, address)
	n := t.count[keys[0]]
	for _, k := range keys {
		if t.count[k] -= n; t.count[k] <= 0 {
			delete(t.count, k)
		}
	}
}
