package schema

import (
	"slices"
)

// Tools that this program adds to those of a catalog: get_business_context where there are annotations, and the tools of
// the groups that connections name under tools. They are listed, chosen and granted as the catalog's own.

// The groups of tools that a connection can have.
const (
	MetadataTools = "metadata"
	QueryTools    = "query"
	ExportTools   = "export"
)

// toolGroups are the words under tools of a connection.
var toolGroups = []string{MetadataTools, QueryTools, ExportTools}

// answered are the groups whose tools the engine answers.
var answered = []string{MetadataTools, QueryTools, ExportTools}

// An Own is what this program's own tool on databases can be asked of.
type Own struct {
	Group   string
	Systems []*Connection // with several of them the argument system says which
	Default *Connection
}

// HasTools says whether a connection has a group of tools.
func (c *Connection) HasTools(group string) bool { return slices.Contains(c.Tools, group) }

// Routines says whether the database knows functions and procedures of its users.
func (c *Connection) Routines() bool { return c.Driver != "sqlite" }

// connectionTools reads which tools a connection has.
func (l *loader) connectionTools(f *file, d *connDecl, c *Connection) {
	c.Tools = textsOf(d.tools)
	if len(d.tools) == 0 {
		return
	}
	at := d.tools[0].at
	if c.Driver == "redis" {
		f.tell(at, "leave tools out", "the connection %q is a Redis, which has no tables", c.Name)
	}
	if i := slices.Index(c.Tools, ExportTools); i >= 0 && !c.HasTools(QueryTools) {
		f.tell(d.tools[i].at, "tools: [query, export]", "the tools of export give what those of query read, and the connection does not have these")
	}
}

// declareOwnTools adds the tools that this catalog gives something to say.
func (l *loader) declareOwnTools() {
	if len(l.cat.Annotations) > 0 {
		l.own(contextTool, nil)
	}
	for _, d := range databaseTools {
		if !slices.Contains(answered, d.group) {
			continue
		}
		var on []*Connection
		for _, c := range l.cat.Connections {
			if c.HasTools(d.group) && (!d.routines || c.Routines()) {
				on = append(on, c)
			}
		}
		if on != nil {
			l.own(d, on)
		}
	}
}

// own makes a tool of its declaration.
func (l *loader) own(d *ownDecl, on []*Connection) {
	t := &Tool{Name: d.name, Kind: d.group, Lang: "en", ReadOnly: true, Idempotent: true, Title: d.title, Description: d.about, Connections: on}
	for i := range d.params {
		p := d.params[i]
		t.Params = append(t.Params, &p)
	}
	if on != nil {
		t.Own = &Own{Group: d.group, Systems: on, Default: on[0]}
		for _, c := range on {
			if c.Name == "default" {
				t.Own.Default = c
			}
		}
		if len(on) > 1 {
			t.Params = append(t.Params, &Param{Name: "system", Type: "enum", Values: keysOfConnections(on), Default: t.Own.Default.Name, HasDefault: true,
				Description: Words{En: "The database to ask", Zh: "要查询的数据库"}})
		}
	}
	t.input = map[string][]byte{"en": inputSchema(t, "en"), "zh": inputSchema(t, "zh")}
	t.output = []byte(d.answer)
	l.cat.Tools = append(l.cat.Tools, t)
}

func keysOfConnections(list []*Connection) []string {
	names := make([]string, len(list))
	for i, c := range list {
		names[i] = c.Name
	}
	return names
}

// System is the connection that a call names, by the value of the argument system; "" is the usual one.
func (o *Own) System(name string) *Connection {
	for _, c := range o.Systems {
		if c.Name == name {
			return c
		}
	}
	return o.Default
}
