package engine_test

import (
	"context"
	"encoding/json"
	"flag"
	"io/fs"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"resq/engine"
	"resq/engine/policy"
	"resq/testdb"
)

var update = flag.Bool("update", false, "rewrite the expected sections of the case files from what the engine does; the answer comes from SQLite alone")

const casesDir = "../testdata/cases"

// TestCases runs every case file on every database. A case holds one request (or, as `describe`, one call of
// res-schema), the principal, the SQL and arguments for each dialect, and ONE answer or error for all of
// them: the same request gives the same rows everywhere (design, section 5). A `then` section is a second
// request, in which "$cursor" stands for the cursor of the first answer.
func TestCases(t *testing.T) {
	files := caseFiles(t)
	people := principals(t)
	var benches []*bench
	for _, on := range testdb.Engines(t) {
		benches = append(benches, newShop(t, on))
	}
	for _, file := range files {
		name := strings.TrimSuffix(strings.TrimPrefix(filepath.ToSlash(file), casesDir+"/"), ".txtar")
		t.Run(name, func(t *testing.T) { runCase(t, file, benches, people) })
	}
}

func caseFiles(t testing.TB) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(casesDir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".txtar" {
			files = append(files, path)
		}
		return err
	})
	if err != nil || len(files) == 0 {
		t.Fatalf("no case files in %s: %v", casesDir, err)
	}
	return files
}

func runCase(t *testing.T, file string, benches []*bench, people map[string]*policy.Principal) {
	c, err := parseArchive([]byte(readFile(t, file)))
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	who := people["root"]
	if name, ok := c.section("principal"); ok {
		if who = people[name]; who == nil {
			t.Fatalf("%s: no principal %q", file, name)
		}
	}
	var outcomes []outcome
	for _, b := range benches {
		outcomes = append(outcomes, play(t, b, who, c)...)
	}
	if *update {
		rewrite(t, file, c, outcomes)
	}
	for _, o := range outcomes {
		for _, name := range sortedNames(o.own) {
			check(t, c, o.on, name, o.own[name], func(a, b string) bool { return a == b })
		}
		for _, name := range sortedNames(o.shared) {
			check(t, c, o.on, name, o.shared[name], func(a, b string) bool { return sameAnswer(c, a, b) })
		}
		for _, name := range []string{"answer", "meta", "error"} {
			if _, ok := o.shared[o.prefix+name]; ok {
				continue
			}
			if want, ok := c.section(o.prefix + name); ok {
				t.Errorf("%s: no %s, want\n%s", o.on, o.prefix+name, want)
			}
		}
	}
}

func check(t *testing.T, c *archive, on, name, got string, same func(a, b string) bool) {
	t.Helper()
	want, ok := c.section(name)
	if !ok {
		t.Errorf("%s: the case has no section %s; the engine gives\n%s", on, name, got)
	} else if !same(want, got) {
		t.Errorf("%s: %s is\n%s\nwant\n%s", on, name, got, want)
	}
}

// An outcome is what one request of a case gave on one database: sections of its own and sections that all
// databases share.
type outcome struct {
	on, prefix  string
	own, shared map[string]string
}

// play runs the requests of a case on one database.
func play(t *testing.T, b *bench, who *policy.Principal, c *archive) []outcome {
	t.Helper()
	if raw, ok := c.section("describe"); ok {
		ans, err := b.engine.Describe(context.Background(), who, []byte(raw))
		o := outcome{on: b.on.Name, shared: map[string]string{}}
		o.answer(ans, err)
		return []outcome{o}
	}
	raw, ok := c.section("request")
	if !ok {
		t.Fatal("the case has neither a request nor a describe section")
	}
	first, ans := ask(t, b, who, raw, "")
	all := []outcome{first}
	if then, ok := c.section("then"); ok {
		if ans == nil {
			t.Fatalf("%s: the first request failed, so there is no second:\n%s", b.on.Name, first.shared["error"])
		}
		second, _ := ask(t, b, who, strings.ReplaceAll(then, "$cursor", cursorOf(t, ans)), "then.")
		all = append(all, second)
	}
	return all
}

func ask(t *testing.T, b *bench, who *policy.Principal, raw, prefix string) (outcome, *engine.Answer) {
	t.Helper()
	on := b.on.Name
	o := outcome{on: on, prefix: prefix, own: map[string]string{}, shared: map[string]string{}}
	plan, planErr := b.engine.Explain(context.Background(), who, []byte(raw))
	b.recorder.Reset()
	ans, err := b.engine.Query(context.Background(), who, []byte(raw))
	ran := b.recorder.Texts()
	o.answer(ans, err)
	if planErr != nil {
		if len(ran) > 0 {
			t.Errorf("%s: %d statements ran although compiling fails:\n%v", on, len(ran), planErr)
		}
		if got := tell(planErr); err == nil || got != tell(err) {
			t.Errorf("%s: compiling alone fails with\n%s\nrunning with\n%v", on, got, err)
		}
		return o, ans
	}
	var texts, args []string
	for _, s := range plan.Statements {
		texts = append(texts, layout(s.SQL))
		args = append(args, argsText(s.Args))
		if err == nil && !slices.ContainsFunc(ran, func(r testdb.Statement) bool { return r.SQL == s.SQL }) {
			t.Errorf("%s: the statement that explaining gives did not run:\n%s", on, s.SQL)
		}
	}
	o.own[prefix+on+".sql"] = strings.Join(texts, "\n;\n")
	o.own[prefix+on+".args"] = strings.Join(args, "\n;\n")
	return o, ans
}

func (o *outcome) answer(ans *engine.Answer, err error) {
	if err != nil {
		o.shared[o.prefix+"error"] = tell(err)
		return
	}
	o.shared[o.prefix+"answer"] = hideCursor(ans.Text)
	if ans.Meta != nil {
		o.shared[o.prefix+"meta"] = hideCursor(ans.Meta)
	}
}

// A cursor is sealed with fresh randomness, so its text is left out of the comparison.
var cursorText = regexp.MustCompile(`"cursor":"[^"]*"`)

func hideCursor(b []byte) string {
	return strings.TrimSuffix(cursorText.ReplaceAllString(string(b), `"cursor":"…"`), "\n")
}

func cursorOf(t *testing.T, ans *engine.Answer) string {
	t.Helper()
	text := ans.Text
	if ans.Meta != nil {
		text = ans.Meta
	}
	var got struct{ Cursor string }
	if err := json.Unmarshal(text, &got); err != nil || got.Cursor == "" {
		t.Fatalf("no cursor in the answer (%v):\n%s", err, text)
	}
	return got.Cursor
}

// sameAnswer compares two answers byte for byte, then as JSON, in which the rows of a request without an
// order are a multiset.
func sameAnswer(c *archive, a, b string) bool {
	if a == b {
		return true
	}
	x, okX := decodeAnswer(a)
	y, okY := decodeAnswer(b)
	if !okX || !okY {
		return false
	}
	request, _ := c.section("request")
	if !strings.Contains(request, `"orderBy"`) {
		sortRows(x)
		sortRows(y)
	}
	return reflect.DeepEqual(x, y)
}

func decodeAnswer(s string) (map[string]any, bool) {
	d := json.NewDecoder(strings.NewReader(s))
	d.UseNumber() // 1.50 is not 1.5
	var m map[string]any
	return m, d.Decode(&m) == nil
}

func sortRows(answer map[string]any) {
	if rows, ok := answer["rows"].([]any); ok {
		slices.SortFunc(rows, func(a, b any) int { return strings.Compare(encode(a), encode(b)) })
	}
}
