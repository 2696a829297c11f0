package introspect

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"resq/schema"
)

// A document is one file of an existing catalog, with its tree.
type document struct {
	name string
	data []byte
	tree *yaml.Node // the whole, with the comments before and after the mapping
	root *yaml.Node // the mapping; nil in an empty file
}

// readDocuments reads the catalog files that the loader would read, in its order.
func readDocuments(fsys fs.FS) ([]*document, error) {
	var docs []*document
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name != "." && strings.HasPrefix(path.Base(name), "."):
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case d.IsDir(), !strings.HasSuffix(name, ".yaml") && !strings.HasSuffix(name, ".yml"):
			return nil
		}
		data, err := fs.ReadFile(fsys, name)
		if err != nil {
			return err
		}
		doc, err := parse(name, data)
		if err != nil {
			return err
		}
		docs = append(docs, doc)
		return nil
	})
	return docs, err
}

func parse(name string, data []byte) (*document, error) {
	d := &document{name: name, data: data, tree: &yaml.Node{}}
	if err := yaml.Unmarshal(data, d.tree); err != nil {
		return nil, fmt.Errorf("%s is not YAML, mend it first: %w", name, err)
	}
	if len(d.tree.Content) == 0 {
		return d, nil
	}
	rejoin(d.tree)
	d.root = follow(d.tree.Content[0])
	if d.root.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("%s is no catalog file: it must be a mapping", name)
	}
	return d, nil
}

// rejoin mends {type: decimal(12,2)}, which YAML ends at the comma and the loader takes all the same.
func rejoin(n *yaml.Node) {
	for i := 2; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
		whole := n.Content[i-1].Value + "," + strings.TrimSpace(n.Content[i].Value)
		if _, ok := schema.ParseType(whole); ok && n.Content[i+1].Kind == yaml.ScalarNode && n.Content[i+1].Value == "" {
			n.Content[i-1].Value = whole
			n.Content = slices.Delete(n.Content, i, i+2)
			i -= 2
		}
	}
	for _, c := range n.Content {
		rejoin(c)
	}
}

// follow gives what an alias stands for.
func follow(n *yaml.Node) *yaml.Node {
	for n != nil && n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

// under gives the value of a key, with aliases followed; nil when there is none.
func under(n *yaml.Node, key string) *yaml.Node { return follow(direct(n, key)) }

// direct gives the value of a key as it stands there, be it an alias.
func direct(n *yaml.Node, key string) *yaml.Node {
	n = follow(n)
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

func textUnder(n *yaml.Node, key string) string {
	if v := under(n, key); v != nil && v.Kind == yaml.ScalarNode {
		return v.Value
	}
	return ""
}

func wordsUnder(n *yaml.Node, key string) []string {
	v := under(n, key)
	switch {
	case v == nil:
		return nil
	case v.Kind == yaml.ScalarNode:
		return []string{v.Value}
	}
	var out []string
	for _, c := range v.Content {
		if c = follow(c); c.Kind == yaml.ScalarNode {
			out = append(out, c.Value)
		}
	}
	return out
}

// children gives the entries of a mapping, or of a list with nil keys.
func children(n *yaml.Node) (keys, values []*yaml.Node) {
	n = follow(n)
	switch {
	case n == nil:
	case n.Kind == yaml.SequenceNode:
		return make([]*yaml.Node, len(n.Content)), n.Content
	case n.Kind == yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			keys, values = append(keys, n.Content[i]), append(values, n.Content[i+1])
		}
	}
	return keys, values
}

// A declaration is a resource as it stands in a document.
type declaration struct {
	entry
	doc        *document
	connection string
	node       *yaml.Node
}

// declarations reads the resources of the documents. What is wrong in them is the loader's to tell; here it
// is passed over.
func declarations(docs []*document) []*declaration {
	var out []*declaration
	for _, d := range docs {
		_, resources := children(direct(d.root, "resources"))
		for _, n := range resources {
			r := &declaration{doc: d, node: follow(n), connection: textUnder(n, "connection")}
			code := under(n, "code")
			if code == nil || code.Kind != yaml.ScalarNode {
				continue
			}
			r.entry = entry{
				at: at(d, code), code: code.Value, schema: textUnder(n, "schema"), table: textUnder(n, "table"),
				view: textUnder(n, "view") == "true", creates: slices.Contains(wordsUnder(n, "writes"), "create"),
			}
			if r.table == "" {
				r.table = r.code
			}
			keys, fields := children(direct(n, "fields"))
			for i, f := range fields {
				if keys[i] != nil {
					r.fields = append(r.fields, fieldFrom(d, keys[i], follow(f)))
				}
			}
			r.setKey()
			out = append(out, r)
		}
	}
	return out
}

// setKey finds the columns of the key; without one declared it is id. A key is never NULL unless it says so.
// Both as the loader has it.
func (r *declaration) setKey() {
	codes := wordsUnder(r.node, "key")
	if direct(r.node, "key") == nil {
		codes = []string{"id"}
	}
	for i := range r.fields {
		if f := &r.fields[i]; slices.Contains(codes, f.code) {
			r.key = append(r.key, f.column)
			f.notNull = under(under(direct(r.node, "fields"), f.code), "nullable") == nil || f.notNull
		}
	}
}

func at(d *document, n *yaml.Node) schema.Pos {
	return schema.Pos{File: d.name, Line: n.Line, Column: n.Column}
}

func fieldFrom(d *document, key, n *yaml.Node) fieldEntry {
	f := fieldEntry{at: at(d, key), code: key.Value, column: textUnder(n, "column")}
	text := textUnder(n, "type")
	if n.Kind == yaml.ScalarNode {
		text = n.Value
	}
	f.typ, _ = schema.ParseType(text)
	if f.column == "" {
		f.column = f.code
	}
	on := func(key string) bool { return strings.EqualFold(textUnder(n, key), "true") }
	f.native, f.system = textUnder(n, "native") != "", textUnder(n, "system") != ""
	f.array, f.zone, f.required, f.generated = on("array"), on("zone"), on("required"), on("generated")
	f.notNull = strings.EqualFold(textUnder(n, "nullable"), "false")
	f.maxLength, _ = strconv.Atoi(textUnder(n, "maxLength"))
	f.values = wordsUnder(n, "values")
	return f
}

// SchemasOf gives the schemas that the catalog in fsys lets a connection read, "" being the connection default;
// none are all of them. An update should read these and no others. It fails when a file is no YAML.
func SchemasOf(fsys fs.FS, connection string) ([]string, error) {
	docs, err := readDocuments(fsys)
	if err != nil {
		return nil, err
	}
	name := WriteOptions{Connection: connection}.connection()
	for _, d := range docs {
		if c := under(under(d.root, "connections"), name); c != nil {
			return wordsUnder(c, "schemas"), nil
		}
	}
	return nil, nil
}

// connections gives the names of all connections that the documents declare.
func connections(docs []*document) []string {
	var names []string
	for _, d := range docs {
		keys, _ := children(direct(d.root, "connections"))
		for _, k := range keys {
			if k != nil {
				names = append(names, k.Value)
			}
		}
	}
	return names
}
