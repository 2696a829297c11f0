package schema

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

// What is wrong with a list of groups is told at its place.
func TestToolsOfConnectionsAreChecked(t *testing.T) {
	for _, c := range []struct{ tools, want string }{
		{"tools: [metadta]", `c.yaml:3:38: "metadta" is no value of "tools" · nearest: metadata`},
		{"tools: [export]", `c.yaml:3:38: the tools of export give what those of query read, and the connection does not have these · tools: [query, export]`},
		{"tools: [metadata, metadata]", `c.yaml:3:48: "metadata" stands twice in "tools"`},
	} {
		_, err := LoadFS(fstest.MapFS{"c.yaml": {Data: []byte("version: 1\nconnections:\n  default: {dsn: 'sqlite:a', " + c.tools + "}\n")}}, LoadOptions{})
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s\n got %v\nwant %s", c.tools, err, c.want)
		}
	}
	_, err := LoadFS(fstest.MapFS{"c.yaml": {Data: []byte("version: 1\nconnections: {cache: {dsn: 'redis://h/0', tools: [query]}}\n")}}, LoadOptions{})
	if err == nil || !strings.Contains(err.Error(), `"cache" is a Redis`) {
		t.Errorf("tools of a Redis: %v", err)
	}
}

// Every own tool has a reserved name, says what it does in both languages, and has schemas that are schemas (D-005, D-020).
func TestOwnToolsAreDeclaredWell(t *testing.T) {
	for _, d := range append([]*ownDecl{contextTool}, databaseTools...) {
		if !slices.Contains(ownTools, d.name) {
			t.Errorf("%s is not reserved", d.name)
		}
		l := &loader{cat: &Catalog{}}
		l.own(d, []*Connection{{Name: "a"}, {Name: "b"}})
		x := l.cat.Tools[0]
		for _, w := range []Words{x.Title, x.Description} {
			if w.En == "" || w.Zh == "" {
				t.Errorf("%s has no words in one of the languages", x.Name)
			}
		}
		for _, text := range [][]byte{x.Input("en"), x.Input("zh"), x.Output()} {
			if !json.Valid(text) {
				t.Fatalf("%s: %s", x.Name, text)
			}
			if _, err := jsonschema.CompileString("t.json", string(text)); err != nil {
				t.Errorf("%s: %v", x.Name, err)
			}
		}
		for _, p := range x.Params {
			if p.Description.En == "" || p.Description.Zh == "" {
				t.Errorf("%s.%s has no words in one of the languages", x.Name, p.Name)
			}
		}
	}
}
