package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"resq/schema/query"
	"resq/server"
)

const requestsFile = "../../docs/requests.md"

// A docExample of docs/requests.md is a request and, in the block behind it, its answer.
type docExample struct {
	line            int
	request, answer string
}

var exampleBlocks = regexp.MustCompile("(?s)```json\n(.*?)```\n```text\n(.*?)```\n")

func examples(t *testing.T) (text string, all []docExample) {
	t.Helper()
	raw, err := os.ReadFile(requestsFile)
	if err != nil {
		t.Fatal(err)
	}
	text = string(raw)
	for _, m := range exampleBlocks.FindAllStringSubmatchIndex(text, -1) {
		all = append(all, docExample{1 + strings.Count(text[:m[0]], "\n"), text[m[2]:m[3]], text[m[4]:m[5]]})
	}
	if n := strings.Count(text, "```json\n"); n != len(all) || n < 30 {
		t.Fatalf("%d requests, %d of them with an answer", n, len(all))
	}
	return text, all
}

// The answers that docs/requests.md shows are those that the program gives. "…" for a cursor in a request is the
// cursor of the answer before.
func TestRequestsDocs(t *testing.T) {
	demo(t)
	log := slog.New(slog.DiscardHandler)
	o, err := (&source{packs: []string{"store"}, state: state}).open(context.Background(), log, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	defer o.close()
	s, err := server.New(o.engine, server.Options{Version: version, Lang: o.lang, Local: o.local, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	text, all := examples(t)
	cursor := regexp.MustCompile(`"cursor":"([^"]+)"`)
	last, at := "", 0
	var rewritten strings.Builder
	for _, x := range all {
		raw := strings.Replace(x.request, `"cursor": "…"`, `"cursor": "`+last+`"`, 1)
		reply, ok := s.Call(context.Background(), o.local, "res-query", []byte(raw))
		if !ok {
			t.Fatal("no tool res-query")
		}
		answer := strings.TrimRight(strings.Join(reply.Texts, "\n"), "\n") + "\n"
		last = ""
		if m := cursor.FindStringSubmatch(answer); m != nil {
			last = m[1]
		}
		answer = volatile.ReplaceAllString(answer, `"$1":"…"`)
		if answer != x.answer && !*update {
			t.Errorf("requests.md:%d shows\n%s\nand the program says\n%s", x.line, x.answer, answer)
		}
		block := "```json\n" + x.request + "```\n```text\n"
		i := at + strings.Index(text[at:], block) + len(block)
		rewritten.WriteString(text[at:i] + answer)
		at = i + len(x.answer)
	}
	if *update {
		if err := os.WriteFile(requestsFile, []byte(rewritten.String()+text[at:]), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// Every property that the tool's definition knows stands in a request of the page, and every value of its enums.
func TestRequestsDocsAreComplete(t *testing.T) {
	raw, err := os.ReadFile("../../server/tools/en.json")
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Tools []struct {
			Name        string
			InputSchema json.RawMessage
		}
	}
	if err := json.Unmarshal(raw, &doc); err != nil {
		t.Fatal(err)
	}
	text, all := examples(t)
	var requests strings.Builder
	for _, x := range all {
		requests.WriteString(x.request)
	}
	n := 0
	var visit func(at string, v any)
	visit = func(at string, v any) {
		switch v := v.(type) {
		case []any:
			for _, x := range v {
				visit(at, x)
			}
		case map[string]any:
			if properties, ok := v["properties"].(map[string]any); ok {
				for name := range properties {
					n++
					if !strings.Contains(requests.String(), `"`+name+`":`) {
						t.Errorf("no request shows %s/%s", at, name)
					}
				}
			}
			if values, ok := v["enum"].([]any); ok {
				for _, x := range values {
					if !strings.Contains(text, fmt.Sprintf("`%v`", x)) && !strings.Contains(requests.String(), fmt.Sprintf("%q", x)) {
						t.Errorf("the value %v of %s is not there", x, at)
					}
				}
			}
			for name, x := range v {
				visit(at+"/"+name, x)
			}
		}
	}
	for _, tool := range doc.Tools {
		if tool.Name == "res-query" {
			var tree any
			if err := json.Unmarshal(tool.InputSchema, &tree); err != nil {
				t.Fatal(err)
			}
			visit("", tree)
		}
	}
	if n < 50 {
		t.Errorf("only %d properties were found", n)
	}
}

// The table of limits is that of query.Defaults.
func TestRequestsDocsLimits(t *testing.T) {
	text, _ := examples(t)
	v := reflect.ValueOf(query.Defaults())
	for i := range v.NumField() {
		name := []rune(v.Type().Field(i).Name)
		name[0] = unicode.ToLower(name[0])
		if row := fmt.Sprintf("| `%s` | %d |", string(name), v.Field(i).Int()); !strings.Contains(text, "\n"+row) {
			t.Errorf("requests.md lacks %s", row)
		}
	}
}

// The configuration file that docs/catalog.md shows is valid, with everything it says of principals.
func TestCatalogDocsConfig(t *testing.T) {
	raw, err := os.ReadFile("../../docs/catalog.md")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile("(?s)```yaml\n(# resq.yaml\n.*?)```").FindSubmatch(raw)
	if m == nil {
		t.Fatal("catalog.md shows no resq.yaml")
	}
	c, err := parseConfig("resq.yaml", m[1], environment("ALICE_KEY", "alice-key-0123456789", "BOSS_KEY", "boss-key-01234567890"))
	if err != nil {
		t.Fatal(err)
	}
	who := c.Principals["alice"]
	if c.Keys.Len() != 2 || c.Principal != "alice" || who == nil || !who.Attributes["regions"].List || who.Funcs["UserID"].Texts[0] != "7" || who.Roles[0] != "sales" {
		t.Errorf("%+v", c)
	}
}
