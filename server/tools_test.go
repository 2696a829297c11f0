package server

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"

	"resq/engine/policy"
	"resq/testdb"
)

// The contract is the published file, when it is at hand: shared with the project, or named by RESQ_CONTRACT.
func contract(t *testing.T) map[string]any {
	t.Helper()
	path := os.Getenv("RESQ_CONTRACT")
	if path == "" {
		path = filepath.Join("..", "..", "shared", "spec", "res-tools.json")
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		testdb.Skip(t, "the published contract is not there: "+err.Error())
	}
	var file struct {
		Tools []map[string]any `json:"tools"`
	}
	if err := json.Unmarshal(raw, &file); err != nil {
		t.Fatal(err)
	}
	tools := map[string]any{}
	for _, tool := range file.Tools {
		tools[tool["name"].(string)] = tool["inputSchema"]
	}
	return tools
}

// names, types, enums, defaults and required lists are the contract's, in every language;
// growth is by the listed optional properties only.
func TestSchemasAreTheContract(t *testing.T) {
	want := contract(t)
	for _, lang := range Languages() {
		box, err := loadTools(lang)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range box.Tools {
			if d.added {
				continue
			}
			var got any
			if err := json.Unmarshal(d.InputSchema, &got); err != nil {
				t.Fatal(err)
			}
			for _, diff := range compare(d.Name, want[d.Name], got, additions) {
				t.Errorf("%s: %s", lang, diff)
			}
		}
	}
}

// compare lists where a schema says something else than the contract. Descriptions and titles are free.
func compare(at string, want, got any, additions map[string][]string) []string {
	w, ok := want.(map[string]any)
	if !ok {
		if !reflect.DeepEqual(want, got) {
			return []string{fmt.Sprintf("%s: %v, want %v", at, got, want)}
		}
		return nil
	}
	g, ok := got.(map[string]any)
	if !ok {
		return []string{fmt.Sprintf("%s: %v, want an object", at, got)}
	}
	var diffs []string
	for _, key := range keys(w, g) {
		switch key {
		case "description", "title":
		case "properties":
			diffs = append(diffs, properties(at, asMap(w[key]), asMap(g[key]), additions)...)
		case "items":
			diffs = append(diffs, compare(at+"/items", w[key], g[key], additions)...)
		case "oneOf":
			ws, gs := asList(w[key]), asList(g[key])
			if len(ws) != len(gs) {
				diffs = append(diffs, fmt.Sprintf("%s: %d forms, want %d", at, len(gs), len(ws)))
				continue
			}
			for i := range ws {
				diffs = append(diffs, compare(fmt.Sprintf("%s/%d", at, i), ws[i], gs[i], additions)...)
			}
		case "enum":
			full := asList(w[key])
			for _, more := range additions[at] {
				full = append(full, more)
			}
			diffs = append(diffs, compare(at+" enum", full, g[key], additions)...)
		default: // type, default, required, $ref, additionalProperties
			diffs = append(diffs, compare(at+" "+key, w[key], g[key], additions)...)
		}
	}
	return diffs
}

func properties(at string, want, got map[string]any, additions map[string][]string) []string {
	var diffs []string
	for name := range got {
		if _, known := want[name]; !known && !slices.Contains(additions[at], name) {
			diffs = append(diffs, at+": unlisted addition "+name)
		}
	}
	for _, name := range additions[at] {
		if _, there := got[name]; !there {
			diffs = append(diffs, at+": no "+name)
		}
	}
	for name, w := range want {
		g, there := got[name]
		if !there {
			diffs = append(diffs, at+": no "+name)
			continue
		}
		diffs = append(diffs, compare(at+"/"+name, w, g, additions)...)
	}
	return diffs
}

func keys(a, b map[string]any) []string {
	var all []string
	for k := range a {
		all = append(all, k)
	}
	for k := range b {
		if _, both := a[k]; !both {
			all = append(all, k)
		}
	}
	slices.Sort(all)
	return all
}

func asMap(v any) map[string]any { m, _ := v.(map[string]any); return m }

func asList(v any) []any { l, _ := v.([]any); return slices.Clone(l) }

// The comparison itself notices each kind of difference, or the test above proves nothing.
func TestCompareNotices(t *testing.T) {
	var want any
	_ = json.Unmarshal([]byte(`{"type":"object","properties":{"a":{"type":"string","default":"x","enum":["x"]},"b":{"$ref":"#/properties/a"},"l":{"type":"array","items":{"oneOf":[{"type":"string"},{"type":"object"}]}}},"required":["a"]}`), &want)
	for _, bad := range []string{
		`{"type":"object","properties":{"a":{"type":"string","default":"x","enum":["x"]},"b":{"$ref":"#/properties/a"}},"required":["a"]}`,
		`{"type":"object","properties":{"a":{"type":"string","default":"x","enum":["x","y"]},"b":{"$ref":"#/properties/a"},"l":{"type":"array","items":{"oneOf":[{"type":"string"},{"type":"object"}]}}},"required":["a"]}`,
		`{"type":"object","properties":{"a":{"type":"string","enum":["x"]},"b":{"$ref":"#/properties/a"},"l":{"type":"array","items":{"oneOf":[{"type":"string"},{"type":"object"}]}}},"required":["a"]}`,
		`{"type":"object","properties":{"a":{"type":"string","default":"x","enum":["x"]},"b":{"type":"object"},"l":{"type":"array","items":{"oneOf":[{"type":"string"},{"type":"object"}]}}},"required":["a"]}`,
		`{"type":"object","properties":{"a":{"type":"string","default":"x","enum":["x"]},"b":{"$ref":"#/properties/a"},"l":{"type":"array","items":{"oneOf":[{"type":"string"},{"type":"object"}]}}},"required":["a","b"]}`,
		`{"type":"object","properties":{"c":{},"a":{"type":"string","default":"x","enum":["x"]},"b":{"$ref":"#/properties/a"},"l":{"type":"array","items":{"oneOf":[{"type":"string"},{"type":"object"}]}}},"required":["a"]}`,
		`{"type":"object","properties":{"a":{"type":"integer","default":"x","enum":["x"]},"b":{"$ref":"#/properties/a"},"l":{"type":"array","items":{"oneOf":[{"type":"string"}]}}},"required":["a"]}`,
	} {
		var got any
		if err := json.Unmarshal([]byte(bad), &got); err != nil {
			t.Fatal(err)
		}
		if len(compare("x", want, got, additions)) == 0 {
			t.Errorf("no difference seen in %s", bad)
		}
	}
}

// the two recursive places of the contract stay, and there are no others.
func TestReferences(t *testing.T) {
	for _, lang := range Languages() {
		box, err := loadTools(lang)
		if err != nil {
			t.Fatal(err)
		}
		d, _ := box.find("res-query")
		if n := strings.Count(string(d.InputSchema), `{"$ref":"#/properties/conditions"`); n != 2 {
			t.Errorf("%s: %d references", lang, n)
		}
	}
}

// All languages say the same about everything but words.
func TestLanguagesAgree(t *testing.T) {
	first, err := loadTools("")
	if err != nil {
		t.Fatal(err)
	}
	for _, lang := range Languages() {
		box, err := loadTools(lang)
		if err != nil {
			t.Fatal(err)
		}
		for i, d := range box.Tools {
			if got, want := withoutWords(t, d.InputSchema), withoutWords(t, first.Tools[i].InputSchema); got != want {
				t.Errorf("%s %s: %s\nwant %s", lang, d.Name, got, want)
			}
		}
	}
	if _, err := loadTools("xx"); err == nil || !strings.Contains(err.Error(), "en, zh") {
		t.Errorf("an unknown language: %v", err)
	}
}

func withoutWords(t *testing.T, raw []byte) string {
	t.Helper()
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	var strip func(v any)
	strip = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			if _, isText := v["description"].(string); isText {
				delete(v, "description")
			}
			for _, x := range v {
				strip(x)
			}
		case []any:
			for _, x := range v {
				strip(x)
			}
		}
	}
	strip(v)
	b, _ := json.Marshal(v)
	return string(b)
}

// The tools are paid for in every conversation: a model reads them whole before the first question.
func TestToolsAreSmall(t *testing.T) {
	for _, lang := range Languages() {
		s := newServer(t, newFake(), Options{Lang: lang})
		raw, err := json.Marshal(seen(s, alice))
		if err != nil {
			t.Fatal(err)
		}
		if tokens := float64(len(raw)) / 3.6; tokens > 2600 {
			t.Errorf("%s: about %.0f tokens", lang, tokens)
		}
		if n := len([]rune(s.views().box.Instructions)); n > 2000 {
			t.Errorf("%s: instructions of %d characters, of which clients keep 2,048", lang, n)
		}
		for _, d := range s.views().box.Tools {
			if n := len([]rune(d.Description)); n > 1000 {
				t.Errorf("%s %s: description of %d characters", lang, d.Name, n)
			}
		}
	}
}

// A3: what clients are told about the tools changes only on purpose, and the log names it.
func TestToolsHash(t *testing.T) {
	for lang, want := range map[string]string{
		"en": "7424b8d68fb721ebee4a030a0e0ab14252bfd21dc6665e79576a8c79d0d396ac",
		"zh": "db399811e61cf12290bdd00d20e007d20b9a072ef1f27bf7bfa7bdc281892fef",
	} {
		log, lines := quietLog()
		s := newServer(t, newFake(), Options{Lang: lang, Log: log})
		if got := s.views().box.hash(); got != want {
			t.Errorf("%s: every client sees other tools than before; if that is meant, their hash is %s", lang, got)
		}
		if !strings.Contains(lines.String(), s.views().box.hash()) {
			t.Errorf("the log does not name the tools: %s", lines)
		}
	}
	s := newServer(t, newFake(), Options{})
	before := s.views().box.hash()
	s.views().box.Tools[0].Description += "."
	if s.views().box.hash() == before {
		t.Error("a changed description has the same hash")
	}
}

// seen are the tools as a principal sees them who asks for no profile.
func seen(s *Server, who *policy.Principal) []mcp.Tool {
	return caller{who: who, view: s.views().view(contractProfile), version: 1}.list()
}

// N4: what a principal may not call is not listed, and the order never changes.
func TestList(t *testing.T) {
	s := newServer(t, newFake(), Options{})
	for _, c := range []struct {
		who  *policy.Principal
		want string
	}{{alice, "res-schema res-query"}, {bob, "res-schema res-query"}, {writer, ""}, {nil, ""}} {
		var names []string
		for _, tool := range seen(s, c.who) {
			names = append(names, tool.Name)
			a := tool.Annotations
			if a.ReadOnlyHint == nil || !*a.ReadOnlyHint || *a.DestructiveHint || !*a.IdempotentHint || *a.OpenWorldHint {
				t.Errorf("%s: hints %+v", tool.Name, a)
			}
		}
		if got := strings.Join(names, " "); got != c.want {
			t.Errorf("%v sees %q, want %q", c.who, got, c.want)
		}
	}
}
