package schema

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

var (
	docsHeading = regexp.MustCompile(`(?m)^## (.*)$`)
	docsYAML    = regexp.MustCompile("(?s)```yaml\n(.*?)```")
	docsFile    = regexp.MustCompile(`^# ([\w-]+\.yaml)\n`)
)

func catalogDocs(t *testing.T) string { return docsOf(t, "catalog.md") }

func docsOf(t *testing.T, name string) string {
	t.Helper()
	raw, err := os.ReadFile("../docs/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// The files that docs/catalog.md and docs/tools.md show load; those under one heading load together. resq.yaml is no
// catalog file, and the tests of the program read it.
func TestCatalogDocs(t *testing.T) {
	text := catalogDocs(t) + docsOf(t, "tools.md") + docsOf(t, "sql-tools.md")
	starts := append(docsHeading.FindAllStringIndex(text, -1), []int{len(text), len(text)})
	from, n := 0, 0
	for _, next := range starts {
		section := text[from:next[0]]
		files := fstest.MapFS{}
		for i, m := range docsYAML.FindAllStringSubmatch(section, -1) {
			name := fmt.Sprintf("unnamed-%d.yaml", i)
			if f := docsFile.FindStringSubmatch(m[1]); f != nil {
				name = f[1]
			}
			if name == "resq.yaml" {
				continue
			}
			if files[name] != nil {
				t.Errorf("catalog.md shows %s twice under one heading", name)
			}
			files[name] = &fstest.MapFile{Data: []byte(m[1])}
			n++
		}
		if len(files) > 0 {
			title, _, _ := strings.Cut(strings.TrimPrefix(section, "## "), "\n")
			if _, err := LoadFS(files, LoadOptions{Offline: true}); err != nil {
				t.Errorf("catalog.md, %s:\n%v", title, err)
			}
		}
		from = next[0]
	}
	if n < 10 {
		t.Errorf("only %d files were found", n)
	}
}

// Every key of the grammar, and every word that a key may have as its value, stands in docs/catalog.md,
// docs/tools.md, docs/sql-tools.md or docs/registry.md.
// Those of conditions and requests are docs/requests.md's.
func TestCatalogDocsAreComplete(t *testing.T) {
	text := catalogDocs(t) + docsOf(t, "tools.md") + docsOf(t, "sql-tools.md") + docsOf(t, "registry.md")
	raw, err := os.ReadFile("catalog.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	type definition struct {
		Properties map[string]struct {
			Enum  []string
			Items struct{ Enum []string }
		}
	}
	var published struct {
		definition
		Defs map[string]definition `json:"$defs"`
	}
	if err := json.Unmarshal(raw, &published); err != nil {
		t.Fatal(err)
	}
	published.Defs["file"] = published.definition
	n := 0
	for name, d := range published.Defs {
		if conditionDefinitions[name] != nil {
			continue
		}
		for key, p := range d.Properties {
			n++
			if !strings.Contains(text, "`"+key+"`") && !strings.Contains(text, "`"+key+":") {
				t.Errorf("the key %s of %s is not there", key, name)
			}
			for _, v := range slices.Concat(p.Enum, p.Items.Enum) {
				if !strings.Contains(text, "`"+v+"`") {
					t.Errorf("the value %s of %s.%s is not there", v, name, key)
				}
			}
		}
	}
	if n < 60 {
		t.Errorf("only %d keys were found", n)
	}
	for _, kind := range Kinds() {
		if !strings.Contains(text, "\n| `"+kind+"`") {
			t.Errorf("the type %s has no row", kind)
		}
	}
}
