package engine_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"resq/engine"
	"resq/engine/policy"
	"resq/schema/problem"
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

// tell writes problems as one JSON object a line, in their order.
func tell(err error) string {
	var list problem.List
	if !errors.As(err, &list) {
		return fmt.Sprintf("NOT A PROBLEM LIST: %T %v", err, err)
	}
	var lines []string
	for _, p := range list {
		lines = append(lines, encode(struct {
			Code    problem.Code `json:"code"`
			At      string       `json:"at,omitempty"`
			Message string       `json:"message"`
			Hint    string       `json:"hint,omitempty"`
		}{p.Code, p.At, p.Message, p.Hint}))
	}
	return strings.Join(lines, "\n")
}

func encode(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return fmt.Sprintf("%T %v: %v", v, v, err)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// argsText writes the arguments of a statement one a line, so that a number differs from a text.
func argsText(args []any) string {
	var lines []string
	for _, a := range args {
		switch v := a.(type) {
		case nil, bool, string, int, int64, uint64, float64:
			lines = append(lines, encode(v))
		case []byte:
			lines = append(lines, encode(map[string]string{"bytes": base64.StdEncoding.EncodeToString(v)}))
		case time.Time:
			lines = append(lines, encode(map[string]string{"time": v.Format(time.RFC3339Nano)}))
		default:
			lines = append(lines, encode(map[string]string{fmt.Sprintf("%T", v): fmt.Sprint(v)}))
		}
	}
	return strings.Join(lines, "\n")
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

// rewrite puts what the engine did into the case file: SQL and arguments of every database, the answer of
// SQLite. The other databases are still held to that answer.
func rewrite(t *testing.T, file string, c *archive, outcomes []outcome) {
	t.Helper()
	c.drop(func(name string) bool {
		switch name {
		case "request", "describe", "principal", "then":
			return true
		}
		if !strings.Contains(name, ".") || name == "then.answer" || name == "then.meta" || name == "then.error" {
			return false
		}
		for _, o := range outcomes { // a database that was left out keeps its sections
			if strings.HasPrefix(strings.TrimPrefix(name, "then."), o.on+".") {
				return false
			}
		}
		return true
	})
	for _, prefix := range []string{"", "then."} {
		for _, o := range outcomes {
			if o.prefix == prefix {
				for _, name := range []string{prefix + o.on + ".sql", prefix + o.on + ".args"} {
					if text, ok := o.own[name]; ok {
						c.set(name, text)
					}
				}
			}
		}
		for _, o := range outcomes {
			if o.prefix == prefix && o.on == testdb.SQLite {
				for _, name := range []string{"answer", "meta", "error"} {
					if text, ok := o.shared[prefix+name]; ok {
						c.set(prefix+name, text)
					}
				}
			}
		}
	}
	if err := os.WriteFile(file, c.format(), 0o644); err != nil {
		t.Fatal(err)
	}
}
