package console

import (
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"resq/registry"
	"resq/testdb"
)

const corpusDir = "../../../shared/corpus"

// corpusTexts are the texts of the attack corpus that speak to a model or to a browser: those of its rows, and of the
// arguments of its cases about what stands in data.
func corpusTexts(t *testing.T) []string {
	t.Helper()
	raw, err := os.ReadFile(corpusDir + "/fixture.yaml")
	if err != nil {
		testdb.Skip(t, "the attack corpus is not beside this repository: "+err.Error())
	}
	cases, err := os.ReadFile(corpusDir + "/attack.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	add := func(s string) {
		if s != "" && len([]rune(s)) <= 200 && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	var walk func(any)
	walk = func(v any) {
		switch x := v.(type) {
		case string:
			add(x)
		case []any:
			for _, y := range x {
				walk(y)
			}
		case map[string]any:
			for _, y := range x {
				walk(y)
			}
		}
	}
	for _, quoted := range regexp.MustCompile(`"(?:[^"\\]|\\.)*"`).FindAllString(string(raw), -1) { // the fixture's texts stand in rows
		if text, err := strconv.Unquote(quoted); err == nil {
			add(text)
		}
	}
	for line := range strings.Lines(string(cases)) {
		var c struct {
			Category  string
			Arguments any
		}
		if json.Unmarshal([]byte(line), &c) == nil && c.Category == "prompt-injection-via-data" {
			walk(c.Arguments)
		}
	}
	slices.Sort(out)
	if i := slices.IndexFunc(out, func(s string) bool { return strings.HasPrefix(s, "Ignore previous instructions") }); i < 0 || len(out) < 8 {
		t.Fatalf("the corpus has %d texts, and none that gives orders", len(out))
	}
	return out
}

// Texts of others end as text, wherever a page shows them: as rows of a change, as its reason, as names of keys, users and
// scopes, as arguments of calls, in the answer of a request (stored XSS).
func TestStoredTexts(t *testing.T) {
	texts := append(corpusTexts(t), injected, `<img src=x onerror=alert(1)>`, `<svg/onload=alert(1)>`, `" autofocus onfocus="alert(1)`, `javascript:alert(1)`, `</pre></textarea><script>alert(1)</script>`, `{{.CSRF}}`)
	b := newBench(t, onSQLite)
	b.key()
	admin, approver := b.as("the-admin"), b.as("the-approver")
	for i, text := range bundled(texts) { // previews of a minute are counted
		p := b.propose("res-update", map[string]any{"resource": "Memo", "ids": []int{2 + i}, "data": map[string]any{"name": text}})
		page := "/changes/" + p.Confirm.Op
		if r, _ := approver.submit(page, page+"/decline", url.Values{"reason": {text}}); r.StatusCode != http.StatusSeeOther {
			t.Errorf("%q as a reason: %s", text, r.Status)
		}
		_, body := admin.get(page)
		plain(t, page, body)
	}
	for _, text := range texts {
		_, _, _ = b.control.CreateKey(t.Context(), registry.NewKey{Name: text, Scopes: []string{"reading"}}) // names have rules of their own
		run := `{"resource":"Note","fields":[{"code":"id"},{"code":"name"}],"conditions":{"type":"or","exprs":[{"field":"name","operator":"=","token":` + quoted(text) + `},{"field":"id","operator":"=","token":"1"}]}}`
		_, tried := admin.submit("/try", "/try", url.Values{"what": {"run"}, "key": {"1"}, "request": {run}})
		plain(t, "/try with "+text, tried)
		for _, path := range []string{"/changes", "/changes?state=declined", "/keys", "/audit", "/audit?who=" + url.QueryEscape(text) + "&tool=" + url.QueryEscape(text), "/changes?state=" + url.QueryEscape(text), "/try?resource=" + url.QueryEscape(text), "/catalog/resources/" + url.PathEscape(text)} {
			_, body := admin.get(path)
			plain(t, path, body)
		}
	}
}

// bundled joins texts to few that fit into a column.
func bundled(texts []string) []string {
	out := []string{""}
	for _, s := range texts {
		if last := out[len(out)-1]; len(last)+len(s) < 200 {
			out[len(out)-1] = last + s
		} else {
			out = append(out, s)
		}
	}
	return out
}

func quoted(s string) string {
	b, _ := json.Marshal(s) // texts always encode
	return string(b)
}

// plain says whether a page has nothing in it that a browser would run: no element or attribute that the console's own
// pages do not have.
func plain(t *testing.T, path, body string) {
	t.Helper()
	rest := body
	for {
		i := strings.IndexByte(rest, '<')
		if i < 0 {
			return
		}
		rest = rest[i+1:]
		end := strings.IndexByte(rest, '>')
		if end < 0 {
			return
		}
		tag := strings.ToLower(rest[:end])
		name, attrs, _ := strings.Cut(tag, " ")
		switch {
		case name == "script" && attrs != `src="/static/htmx.min.js" defer`, strings.HasPrefix(name, "script/"), name == "img", name == "iframe", name == "object", name == "style", name == "base", name == "svg/onload=alert(1)":
			t.Fatalf("%s has <%s>", path, tag)
		}
		for _, a := range strings.Fields(outsideQuotes(attrs)) {
			if strings.HasPrefix(a, "on") && strings.Contains(a, "=") {
				t.Fatalf("%s has <%s>", path, tag)
			}
		}
		if strings.Contains(attrs, `href="javascript:`) {
			t.Fatalf("%s has <%s>", path, tag)
		}
	}
}

// outsideQuotes is the text of attributes without their values.
func outsideQuotes(s string) string {
	var b strings.Builder
	for i, part := range strings.Split(s, `"`) {
		if i%2 == 0 {
			b.WriteString(part)
		}
	}
	return b.String()
}

// A login that is wrong takes as long for a name that there is as for one that there is not, and for one that is disabled:
// a sum is calculated each time (enumeration).
func TestLoginTakesAsLong(t *testing.T) {
	b := newBench(t, onSQLite)
	if _, err := b.control.EnableAdmin(t.Context(), "the-approver", false); err != nil {
		t.Fatal(err)
	}
	names := []string{"the-admin", "nobody", "the-approver"}
	took := map[string][]time.Duration{}
	for range 9 {
		for _, name := range names {
			start := time.Now()
			if a, _, err := b.control.Login(t.Context(), name, "wrong word for it", ""); a != nil || err != nil {
				t.Fatal(a, err)
			}
			took[name] = append(took[name], time.Since(start))
		}
	}
	middle := func(name string) time.Duration { slices.Sort(took[name]); return took[name][4] }
	known := middle("the-admin")
	for _, name := range names[1:] {
		if m := middle(name); m < known/2 || m > known*2 {
			t.Errorf("a wrong password takes %v for a name that there is, and %v for %s", known, m, name)
		}
	}
}
