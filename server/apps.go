package server

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // the pages are in the program
	"encoding/base64"
	"encoding/json"
	"html"
	"net/http"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
)

// Note [the dialog]
//
// A client that declares MCP Apps shows pages of this program beside answers, in a frame of its own that reaches nothing
// but the client. The page of a preview has its token, which comes in the answer's _meta and not in the text, so that a
// model does not read it. Its button sends the call that any client could have sent, through the client, with that token; the
// engine makes all its checks. What comes from a client can be made up, so this is no approval (security.md 3.10).

const (
	appExtension = "io.modelcontextprotocol/ui"
	appType      = "text/html;profile=mcp-app"
	appPrefix    = "ui://resq/"
	appTable     = appPrefix + "table"
	appChange    = appPrefix + "change"
	dialogKey    = "resq/confirm" // in the _meta of a preview
)

// appWords are what the pages say, by the names that their scripts have for it.
type appWords struct {
	Table  map[string]string `json:"table"`
	Change map[string]string `json:"change"`
}

var (
	//go:embed apps/app.css
	appStyle []byte
	//go:embed apps/client.js
	appClient []byte
	//go:embed apps/table.js
	tableScript []byte
	//go:embed apps/change.js
	changeScript []byte
)

// page is the address of the page that shows what a tool answers; "" is none.
func (d *definition) page() string {
	switch {
	case d.output != nil, underscored(d.Name) == underscored(toolQuery):
		return appTable
	case d.hint == "change", d.hint == "delete":
		return appChange
	}
	return ""
}

// extend tells a client that shows pages that there are some.
func (c caller) extend(capabilities *mcp.ServerCapabilities) {
	if c.able.apps {
		capabilities.Extensions = map[string]any{appExtension: map[string]any{}}
	}
}

// A dialog is what the page of a preview knows beside the text: Note [the dialog].
type dialog struct {
	Tool  string `json:"tool"` // as the client calls it
	Token string `json:"token"`
	Page  string `json:"page,omitempty"` // where a person approves
}

// dialog gives what goes with a reply that is a preview, to a client that shows pages; nil to any other.
func (s *Server) dialog(c caller, r *Reply, tool string) *dialog {
	if !c.able.apps || r.preview == nil {
		return nil
	}
	d := &dialog{Tool: tool, Token: r.preview.Token}
	if r.preview.Mode == "human" {
		d.Page = s.pageOf(r.preview)
	}
	return d
}

// within adds d to the _meta that every answer has; nil is none.
func (d *dialog) within(meta []byte) []byte {
	text, _ := json.Marshal(d) // texts always encode
	b := []byte{'{'}
	if len(meta) > len(`{}`) {
		b = append(append(b, meta[1:len(meta)-1]...), ',')
	}
	b = append(append(b, `"`+dialogKey+`":`...), text...)
	return append(b, '}')
}

// page answers a client that shows pages and reads one. To any other there is none, and the library says so.
func (s *Server) page(m *message, header http.Header, c caller) ([]byte, bool) {
	text := s.apps[m.page]
	if text == "" || !c.able.apps || !plain(m, header) {
		return nil, false
	}
	var meta []byte
	if m.version != "" {
		l, ok := s.listed(m.version, c)
		if !ok {
			return nil, false
		}
		meta = l.meta
	}
	b := append([]byte(`{"jsonrpc":"2.0","id":`), m.id...)
	b = append(b, `,"result":{`...)
	if meta != nil {
		b = append(append(b, `"_meta":`...), meta...)
		b = append(b, `,"resultType":"complete","ttlMs":300000,"cacheScope":"private",`...)
	}
	b = appendString(append(b, `"contents":[{"uri":`...), m.page)
	b = appendString(append(b, `,"mimeType":`...), appType)
	b = appendString(append(b, `,"text":`...), text)
	return append(b, `,"_meta":{"ui":{"csp":{},"prefersBorder":true}}}]}}`+"\n"...), true
}

// newPages makes the pages in a language. Each is whole: it asks no host for anything, and runs no script and
// takes no style but the two that stand in it.
func newPages(lang string, w *appWords) map[string]string {
	return map[string]string{
		appTable:  newPage(lang, w.Table, tableScript),
		appChange: newPage(lang, w.Change, changeScript),
	}
}

func newPage(lang string, words map[string]string, script []byte) string {
	texts, _ := json.Marshal(words) // which escapes what could end the element
	code := "\"use strict\";\n(() => {\nconst words = " + string(texts) + ";\n" + string(appClient) + string(script) + "})();\n"
	style := string(bytes.TrimSpace(appStyle))
	var b strings.Builder
	b.WriteString("<!doctype html>\n<html lang=\"" + lang + "\">\n<meta charset=\"utf-8\">\n")
	b.WriteString(`<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src ` + sumOf(code) + `; style-src ` + sumOf(style) + `; base-uri 'none'; form-action 'none'">` + "\n")
	b.WriteString(`<meta name="viewport" content="width=device-width, initial-scale=1">` + "\n<title>" + html.EscapeString(words["title"]) + "</title>\n")
	b.WriteString("<style>" + style + "</style>\n<main id=\"main\"></main>\n<script>" + code + "</script>\n</html>\n")
	return b.String()
}

func sumOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}
