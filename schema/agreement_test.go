package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v5"
	"go.yaml.in/yaml/v4"

	"resq/schema/problem"
	"resq/schema/query"
)

// compiled is the published grammar as an editor uses it.
func compiled(t *testing.T) *jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	c.Draft = jsonschema.Draft2020
	c.LoadURL = func(u string) (io.ReadCloser, error) { return nil, fmt.Errorf("external reference %s", u) }
	if err := c.AddResource("catalog.schema.json", bytes.NewReader(JSONSchema())); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("catalog.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// instance gives a file's root as the value that a JSON Schema judges.
func instance(t *testing.T, f *file, root *yaml.Node) any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(f.appendJSON(nil, root)))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

func catalogFiles(t testing.TB, dir string) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && isCatalog(path) && !strings.Contains(path, "/.") {
			files = append(files, path)
		}
		return err
	})
	if err != nil || len(files) == 0 {
		t.Fatalf("no catalog files in %s: %v", dir, err)
	}
	return files
}

func mustRead(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func parsed(t *testing.T, path string) (*file, *yaml.Node) {
	t.Helper()
	f := &file{name: path}
	return f, f.parse(mustRead(t, path))
}

// What loads is valid, and what the published grammar refuses does not load.
func TestSchemaAgreesOnFiles(t *testing.T) {
	s := compiled(t)
	for _, path := range catalogFiles(t, "testdata/valid") {
		f, root := parsed(t, path)
		if root == nil {
			t.Fatalf("%s: %v", path, f.problems())
		}
		if err := s.Validate(instance(t, f, root)); err != nil {
			t.Errorf("%s loads, but the published grammar refuses it: %#v", path, err)
		}
	}
	refused := 0
	for _, path := range catalogFiles(t, "testdata/broken") {
		f, root := parsed(t, path)
		if root == nil {
			continue
		}
		if s.Validate(instance(t, f, root)) != nil {
			refused++
			fileTable.read(f, "", root, &f.decl)
			if _, err := Load([]string{path}, LoadOptions{Offline: true}); err == nil {
				t.Errorf("%s is refused by the published grammar, but loads", path)
			}
		}
	}
	if refused < 15 {
		t.Errorf("the published grammar refused only %d of the broken files", refused)
	}
}

// Every single change to a valid file is judged alike by the loader's grammar and the published one. Inside
// conditions and requests, where package query is stricter than a JSON Schema can be, what the schema refuses must
// not load.
func TestSchemaAgreesOnMutants(t *testing.T) {
	s := compiled(t)
	mutants, invalid := 0, 0
	for _, path := range []string{"testdata/valid/every-key.yaml", "testdata/valid/shop/rules.yaml"} {
		f, whole := parsed(t, path)
		if whole == nil {
			t.Fatal(f.problems())
		}
		for _, root := range entriesOf(whole) {
			mutate(root, nil, func(where []string, inCondition bool) {
				mutants++
				g := &file{name: path}
				schemaErr := s.Validate(instance(t, g, root))
				if schemaErr != nil {
					invalid++
				}
				fileTable.read(g, "", root, &g.decl)
				if refused := len(g.found) > 0; !inCondition && refused != (schemaErr != nil) {
					t.Errorf("%s %v: the loader says %v, the published grammar %v", path, where, g.problems(), schemaErr)
				}
				if decodeAll(g); inCondition && schemaErr != nil && len(g.found) == 0 {
					t.Errorf("%s %v: refused by the published grammar, but loads: %v", path, where, schemaErr)
				}
			})
		}
	}
	if mutants < 1000 || invalid < mutants/3 {
		t.Errorf("%d mutants, %d of them invalid: too few to say anything", mutants, invalid)
	}
	t.Logf("%d mutants, %d invalid", mutants, invalid)
}

// entriesOf cuts a catalog into files of one entry each, so that a mutant is judged quickly.
func entriesOf(root *yaml.Node) []*yaml.Node {
	var out []*yaml.Node
	version := root.Content[:2]
	out = append(out, &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Content: slices.Clone(version)})
	for i := 2; i < len(root.Content); i += 2 {
		section, step := root.Content[i+1], 1
		if section.Kind == yaml.MappingNode {
			step = 2
		}
		for j := 0; j < len(section.Content); j += step {
			one := *section
			one.Content = slices.Clone(section.Content[j : j+step])
			out = append(out, &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Content: append(slices.Clone(version), root.Content[i], &one)})
		}
	}
	return out
}

// decodeAll reads every condition and request of f as the loader does later.
func decodeAll(f *file) {
	l := newLoader(LoadOptions{})
	condition := func(r raw) {
		if r.given() {
			l.decodeCondition(f, r)
		}
	}
	for _, r := range f.decl.resources {
		condition(r.rows.cond)
	}
	for _, r := range f.decl.rules {
		for _, c := range r.cases {
			condition(c.when)
			condition(c.cond)
		}
	}
	request := func(r raw) {
		if r.given() {
			l.decodeRequest(f, r)
		}
	}
	for _, s := range f.decl.sets {
		for _, q := range s.queries {
			request(q)
		}
		for _, m := range s.union {
			request(m.query)
		}
	}
	for _, o := range f.decl.owners {
		for _, q := range o.queries {
			request(q)
		}
	}
}

// mutate changes the tree below n in every single way and calls f after each change, which it then takes back.
func mutate(n *yaml.Node, where []string, f func(where []string, inCondition bool)) {
	call := func(what string) {
		inside := slices.ContainsFunc(where, func(w string) bool { return w == "when" || w == "query" || w == "queries" }) ||
			slices.Contains(where, "rows") && !slices.Contains(where, "args")
		f(append(slices.Clip(where), what), inside)
	}
	switch n.Kind {
	case yaml.ScalarNode:
		was := *n
		for _, v := range []yaml.Node{
			{Kind: yaml.ScalarNode, Tag: "!!str", Value: "zzz"}, {Kind: yaml.ScalarNode, Tag: "!!str", Value: ""},
			{Kind: yaml.ScalarNode, Tag: "!!int", Value: "12"}, {Kind: yaml.ScalarNode, Tag: "!!bool", Value: "true"},
			{Kind: yaml.ScalarNode, Tag: "!!null"}, {Kind: yaml.SequenceNode, Tag: "!!seq"}, {Kind: yaml.MappingNode, Tag: "!!map"},
			{Kind: yaml.ScalarNode, Tag: "!!str", Value: strings.Repeat("long", 1100)}, {Kind: yaml.ScalarNode, Tag: "!!str", Value: "__x\u2028"},
			{Kind: yaml.ScalarNode, Tag: "!!int", Value: "-1"},
		} {
			*n = v
			call("= " + n.Tag + " " + n.Value[:min(len(n.Value), 10)])
		}
		*n = was
	case yaml.SequenceNode:
		was := *n
		*n = yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
		call("= {}")
		*n = yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: "a"}
		call("= a")
		*n = was
		for i, c := range n.Content {
			mutate(c, append(slices.Clip(where), fmt.Sprint(i)), f)
		}
	case yaml.MappingNode:
		was := *n
		*n = yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
		call("= []")
		*n = yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: "a"}
		call("= a")
		*n = was
		for i := 0; i < len(was.Content); i += 2 {
			k := was.Content[i]
			n.Content = slices.Delete(slices.Clone(was.Content), i, i+2)
			call("without " + k.Value)
			n.Content = was.Content
			text := k.Value
			k.Value = text + "x"
			call(text + "x")
			k.Value = text
			mutate(was.Content[i+1], append(slices.Clip(where), text), f)
		}
	}
}

// The parts of the grammar that package query reads: its own lists of keys and values are those that are published.
func TestSchemaAgreesWithQuery(t *testing.T) {
	var published struct {
		Defs map[string]struct {
			Properties map[string]struct{ Enum []string }
			AnyOf      []struct {
				Properties map[string]struct{ Enum []string }
			}
		} `json:"$defs"`
	}
	if err := json.Unmarshal(JSONSchema(), &published); err != nil {
		t.Fatal(err)
	}
	const mark = "qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq" // near no key, so that the hint lists them all
	nested := `{"resource":"A","conditions":{"type":"and","exprs":[{"operator":"EXISTS","tokenType":"query","query":%s}]}}`
	for _, c := range []struct{ def, request string }{
		{"condition", `{"resource":"A","conditions":{%s}}`},
		{"leaf", `{"resource":"A","conditions":{"type":"and","exprs":[{%s}]}}`},
		{"request", fmt.Sprintf(nested, `{%s}`)},
		{"output", `{"resource":"A","fields":[{%s}]}`},
		{"join", `{"resource":"A","relations":[{%s}]}`},
		{"item", `{"resource":"A","groupBy":[{%s}]}`},
		{"order", `{"resource":"A","orderBy":[{%s}]}`},
		{"walk", `{"resource":"A","recursive":{%s}}`},
	} {
		properties := published.Defs[c.def].Properties
		if properties == nil {
			properties = published.Defs[c.def].AnyOf[1].Properties
		}
		var names []string
		for name, p := range properties {
			names = append(names, name)
			if p.Enum != nil {
				sameAsHint(t, c.def+"."+name, p.Enum, fmt.Sprintf(c.request, `"`+name+`":"`+mark+`"`), "is not allowed here")
			}
		}
		sameAsHint(t, c.def, names, fmt.Sprintf(c.request, `"`+mark+`":1`), "unknown key")
	}
}

// sameAsHint sends a request that query refuses with the list of what it would have taken, and compares that list.
func sameAsHint(t *testing.T, what string, published []string, request, message string) {
	t.Helper()
	_, err := query.DecodePreset([]byte(request), query.Defaults()) // which takes all that a place of the catalog may hold
	for _, p := range problem.From(err) {
		if strings.Contains(p.Message, message) {
			list, _ := strings.CutPrefix(p.Hint, "one of: ")
			taken := strings.Split(list, ", ")
			slices.Sort(taken)
			slices.Sort(published)
			if !slices.Equal(taken, published) {
				t.Errorf("%s: query takes %v, published are %v", what, taken, published)
			}
			return
		}
	}
	t.Errorf("%s: no problem %q for %s: %v", what, message, request, err)
}
