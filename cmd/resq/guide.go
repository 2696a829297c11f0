package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// A guide tells whoever started the server how to reach it.
type guide struct {
	url   string
	keys  bool // calls need a key
	flags []string
	demo  bool // nobody named a catalog
	store bool // the demonstration, so its examples work
}

func (g *guide) print(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "\nresq %s answers at %s\n", version, g.url)
	if g.demo {
		b.WriteString("No catalog was named, so it serves the demonstration: a small shop. Yours: resq serve --catalog DIR\n")
	}
	g.clients(&b)
	g.examples(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

// An entry is one server in a client's configuration.
type entry struct {
	Type    string            `json:"type,omitempty"`
	URL     string            `json:"url,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	Command string            `json:"command,omitempty"`
	Args    []string          `json:"args,omitempty"`
}

// clients prints what to paste into the clients in use.
func (g *guide) clients(b *strings.Builder) {
	remote, header := entry{URL: g.url}, ""
	if g.keys {
		remote.Headers = map[string]string{"Authorization": "Bearer YOUR_KEY"}
		header = ` --header "Authorization: Bearer YOUR_KEY"`
	}
	typed := remote
	typed.Type = "http"
	start := entry{Command: program(), Args: append([]string{"serve", "--stdio"}, g.flags...)}
	for _, c := range []struct{ title, text string }{
		{"Claude Desktop, claude_desktop_config.json (starts its own resq)", paste("mcpServers", start)},
		{"Claude Code", "claude mcp add --transport http resq " + g.url + header},
		{"VS Code, .vscode/mcp.json", paste("servers", typed)},
		{"Cursor, .cursor/mcp.json", paste("mcpServers", remote)},
		{"MCP Inspector", "npx @modelcontextprotocol/inspector --cli " + g.url + header + " --method tools/list"},
	} {
		fmt.Fprintf(b, "\n%s\n  %s\n", c.title, c.text)
	}
}

func paste(key string, e entry) string {
	text, _ := json.Marshal(map[string]map[string]entry{key: {"resq": e}}) // strings and maps always encode
	return string(text)
}

// An example is a call worth trying first.
type example struct{ about, tool, args string }

var storeExamples = []example{
	{"What is there about orders?", "res-schema", `{"keywords":"订单"}`},
	{"The five customers who bought most", "res-query", `{"resource":"Order","fields":[{"code":"name","codeResource":"Customer"},{"code":"COUNT(*)","isExpr":true,"alias":"orders"},{"code":"SUM(Order.amount)","isExpr":true,"alias":"total"}],"relations":[{"code":"Customer","actuallyResource":"Customer","actuallyField":"id","relationResource":"Order","relationField":"customer_id","type":"inner"}],"conditions":{"type":"and","exprs":[{"field":"status","operator":"=","token":"3"}]},"groupBy":["Customer.id","Customer.name"],"orderBy":[{"type":"sql","expr":"SUM(Order.amount)","direction":"desc"}],"limit":5}`},
	{"All categories below Electronics, as a flat list with levels", "res-query", `{"resource":"Category","fields":[{"code":"id"},{"code":"name"},{"code":"parent_id"}],"recursive":{"pField":"Category.parent_id","cField":"Category.id","root":"1","levelAlias":"level"}}`},
}

var anyExamples = []example{
	{"What is there?", "res-schema", `{}`},
	{"… and with the fields and the ways between them?", "res-schema", `{"keywords":"order|customer","detail":"full"}`},
}

func (g *guide) examples(b *strings.Builder) {
	list := anyExamples
	if g.store {
		list = storeExamples
	}
	b.WriteString("\nTry it:\n")
	for i, e := range list {
		key := ""
		if g.keys {
			key = ` -H "Authorization: Bearer $KEY"`
		}
		fmt.Fprintf(b, "\n# %s\ncurl -s %s%s -H 'Content-Type: application/json' -d '%s'\n", e.about, g.url, key, e.body(i+1))
	}
	b.WriteString("\n")
}

// body is the example as a JSON-RPC message. No example holds a single quote, which would end the shell's word.
func (e example) body(id int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"%s","arguments":%s}}`, id, e.tool, e.args)
}
