package schema

import (
	"strings"

	"go.yaml.in/yaml/v4"
)

// Config gives the text of a catalog file that declares a *Tool, *Validation or *Resource and nothing else; "" where the
// catalog was loaded without LoadOptions.Sources, or where no file declares it.
func (c *Catalog) Config(thing any) string { return c.configs[thing] }

// keepSource keeps what a thing was declared as, under the key of a file.
func (l *loader) keepSource(thing any, key string, n *yaml.Node) {
	if !l.opts.Sources || n == nil {
		return
	}
	list := &yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{plainNode(n, 0)}}
	root := &yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{
		{Kind: yaml.ScalarNode, Value: "version"}, {Kind: yaml.ScalarNode, Tag: "!!int", Value: "1"}, {Kind: yaml.ScalarNode, Value: key}, list}}
	text, err := yaml.Dump(root)
	if err != nil {
		return // what was read can be written
	}
	if l.cat.configs == nil {
		l.cat.configs = map[any]string{}
	}
	l.cat.configs[thing] = strings.TrimSuffix(string(text), "\n") + "\n"
}

// plainNode is a node by itself: what an alias stands for, in place of it.
func plainNode(n *yaml.Node, depth int) *yaml.Node {
	n = deref(n)
	out := *n
	out.Anchor, out.Alias = "", nil
	out.Content = nil
	if depth < maxNesting {
		for _, c := range n.Content {
			out.Content = append(out.Content, plainNode(c, depth+1))
		}
	}
	return &out
}
