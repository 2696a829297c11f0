package server

import (
	"encoding/json"
	"net/http"
	"slices"

	"github.com/mark3labs/mcp-go/mcp"
	mcpgo "github.com/mark3labs/mcp-go/server"
)

// abilities are what a client declared that it can do for its user. One that it did not declare is never asked of it.
type abilities struct {
	forms bool // shows forms (elicitation)
	pages bool // offers to open a page of this program (elicitation, mode url)
	apps  bool // shows pages of this program beside answers (MCP Apps)
}

// abilitiesOf reads the capabilities of a client. For forms and pages: a declaration with nothing in it means forms; one that
// names pages alone does not.
func abilitiesOf(capabilities []byte) abilities {
	var a abilities
	if len(capabilities) <= len(`{}`) {
		return a
	}
	var c struct {
		Elicitation *mcp.ElicitationCapability `json:"elicitation"`
	}
	if json.Unmarshal(capabilities, &c) == nil && c.Elicitation != nil {
		a.forms = c.Elicitation.Form != nil || c.Elicitation.URL == nil
		a.pages = c.Elicitation.URL != nil
	}
	var x struct {
		Extensions map[string]json.RawMessage `json:"extensions"`
	}
	var ui struct {
		MimeTypes []string `json:"mimeTypes"`
	}
	if json.Unmarshal(capabilities, &x) == nil && x.Extensions[appExtension] != nil && json.Unmarshal(x.Extensions[appExtension], &ui) == nil {
		a.apps = slices.Contains(ui.MimeTypes, appType)
	}
	return a
}

// able is what the client of a message can do. Before 2026-07-28 it said so when its session began, and a question comes
// in the answer to the call, which has to be a stream then.
func (g *guard) able(r *http.Request, m *message) abilities {
	if mcp.IsModernProtocol(m.version) {
		return abilitiesOf(m.caps)
	}
	if m.method == methodInit {
		return abilitiesOf(m.capabilities())
	}
	id := r.Header.Get(mcpgo.HeaderKeySessionID)
	var a abilities
	if g.s.opts.Peers == nil && takesEvents(r.Header) {
		a = g.sessions.able(id)
	}
	a.apps = appsIn(id)
	return a
}

// able is what the client of a message can do.
func (l *stdio) able(m *message) abilities {
	switch {
	case mcp.IsModernProtocol(m.version):
		return abilitiesOf(m.caps)
	case m.method == methodInit:
		return abilitiesOf(m.capabilities())
	}
	return l.session.able()
}
