package server

import (
	"context"
	"encoding/json"
	"log/slog"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/mcp"
	mcpgo "github.com/mark3labs/mcp-go/server"

	"resq/engine"
)

// Note [the question]
//
// A client can forge what its user says, so an answer decides nothing by itself: yes is worth the call that the
// client could have sent anyway, with the token of the preview, and the engine makes all its checks. What the
// question is for is that a person who sees it can say no.

// askTime is how long a user has to answer within one call: many clients give a call up after a minute.
const askTime = 50 * time.Second

// The question's name among the input that is asked for, and the one field of its form.
const (
	questionKey  = "confirm"
	confirmField = "confirm"
)

// Of the rows of a preview, what a question shows.
const (
	askedRows = 5
	askedRow  = 300 // characters
)

// asking are the words of the question, beside the summary of the change.
type asking struct {
	Rows       string `json:"rows"`
	End        string `json:"end"`
	Dependents string `json:"dependents"`
	Title      string `json:"title"`
	Ask        string `json:"ask"`
	Open       string `json:"open"` // of the page where another person approves
}

// asks says whether a preview that this message may lead to is put to the user of a client that can do so. A request
// whose id the library cannot send back is answered like one of a client that cannot.
func (s *Server) asks(m *message, a abilities) bool {
	if !a.forms && !(a.pages && s.opts.Page != nil) || m.method != methodCall || m.id == nil || inexact(m.id) {
		return false
	}
	d, ok := s.tool(m.tool)
	return ok && (d.hint == "change" || d.hint == "delete")
}

// question is what a client is asked about a preview; false where that needs what it cannot do. What a person has to
// approve is approved on a page of its own, after a login there; its address holds nothing secret (security.md 3.10).
func (s *Server) question(c caller, r *Reply) (mcp.ElicitationParams, bool) {
	p := r.preview
	if p.Mode != "human" {
		if !c.able.forms {
			return mcp.ElicitationParams{}, false
		}
		return s.own.Question.form(p, r.Texts[0]), true
	}
	page := s.pageOf(p)
	if !c.able.pages || page == "" {
		return mcp.ElicitationParams{}, false
	}
	text := p.Summary + "\n\n" + strings.ReplaceAll(s.own.Question.Open, "{code}", p.Short)
	return mcp.ElicitationParams{Mode: mcp.ElicitationModeURL, Message: text, URL: page}, true
}

// pageOf is the address of the page on which a person decides about a preview; "" is none.
func (s *Server) pageOf(p *engine.Preview) string {
	if s.opts.Page == nil {
		return ""
	}
	return s.opts.Page(p.Operation)
}

// consult makes a call of a client that can be asked, and puts the preview that it may come to to the user. Since
// 2026-07-28 the question is the result, and the answer comes with the same call once more.
func (s *Server) consult(ctx context.Context, c caller, req mcp.CallToolRequest) (*Reply, *mcp.CallToolResult) {
	modern := mcpgo.IsModernRequest(ctx)
	if state := req.Params.RequestState; modern && state != "" { // an answer to no question of ours is none
		c.token, c.consent = state, consentOf(mcpgo.ElicitationResponse(req.Params.InputResponses, questionKey))
	}
	r, ok := s.reply(ctx, c, req.Params.Name)
	if !ok {
		return nil, nil
	}
	s.recordConsent(ctx, c, r)
	if r.preview == nil || c.consent != engine.NotAsked {
		return r, nil
	}
	form, able := s.question(c, r)
	if !able {
		return r, nil
	}
	if modern {
		return r, mcpgo.NewInputRequestBuilder(r.preview.Token).Elicit(questionKey, form).ToolResult()
	}
	if form.URL != "" { // required then, and gone since
		form.ElicitationID = r.preview.Operation
	}
	c.token, c.consent = r.preview.Token, s.put(ctx, form, r.preview.Expires)
	if c.consent == engine.Silent {
		s.recordConsent(ctx, c, r)
		return r, nil // the preview, for the call that needs no user
	}
	if r, ok = s.reply(ctx, c, req.Params.Name); ok {
		s.recordConsent(ctx, c, r)
	}
	return r, nil
}

// put asks a client from before 2026-07-28, and waits for the answer: for some time, and no longer than the
// preview lives.
func (s *Server) put(ctx context.Context, form mcp.ElicitationParams, expires time.Time) engine.Consent {
	ctx, cancel := context.WithTimeout(ctx, min(s.askTime, time.Until(expires)))
	defer cancel()
	answer, err := s.mcp.RequestElicitation(ctx, mcp.ElicitationRequest{Params: form})
	if err != nil { // too late, or a client that declared what it cannot do
		return engine.Silent
	}
	return consentOf(answer)
}

// consentOf reads an answer. Anything but a clear yes or no is none.
func consentOf(r *mcp.ElicitationResult) engine.Consent {
	if r == nil {
		return engine.Silent
	}
	switch r.Action {
	case mcp.ElicitationResponseActionDecline:
		return engine.Refused
	case mcp.ElicitationResponseActionAccept:
		content, form := r.Content.(map[string]any)
		if !form { // the page was opened, which says nothing of what is decided there
			return engine.Opened
		}
		if yes, ok := content[confirmField].(bool); ok && yes {
			return engine.Granted
		} else if ok {
			return engine.Refused
		}
	}
	return engine.Silent
}

// recordConsent leaves a log line of what a user said, by the id of the call that it decided on.
func (s *Server) recordConsent(ctx context.Context, c caller, r *Reply) {
	said, ok := map[engine.Consent]string{engine.Granted: "granted", engine.Refused: "refused", engine.Silent: "none", engine.Opened: "opened"}[c.consent]
	if ok {
		s.log.LogAttrs(ctx, slog.LevelInfo, "asked", caused([]slog.Attr{slog.String("answer", said), slog.String("request_id", r.RequestID)}, c.who)...)
	}
}

// form is the question about a preview. What rows hold may be written to be read by whoever decides, so it stands
// in lines of its own that are indented and quoted, cut and without anything invisible, and what is asked stands
// after all of it and in the form.
func (q *asking) form(p *engine.Preview, text string) mcp.ElicitationParams {
	var told struct {
		Rows       []json.RawMessage
		Total      int `json:"rows_total"`
		Dependents []struct {
			Resource string
			Count    int64
		}
		Warnings []string
	}
	_ = json.Unmarshal([]byte(text), &told) // the engine wrote it; without it the summary is still true
	var b strings.Builder
	b.WriteString(p.Summary)
	b.WriteString("\n\n")
	if n := min(len(told.Rows), askedRows); n > 0 {
		b.WriteString(strings.NewReplacer("{shown}", strconv.Itoa(n), "{total}", strconv.Itoa(told.Total)).Replace(q.Rows))
		b.WriteString("\n\n")
		for _, row := range told.Rows[:n] {
			b.WriteString("    ") // what shows Markdown shows it as it is
			b.WriteString(visible(string(row), askedRow))
			b.WriteByte('\n')
		}
		b.WriteString("\n" + q.End + "\n\n")
	}
	for i, d := range told.Dependents {
		b.WriteString(map[bool]string{true: q.Dependents, false: ", "}[i == 0] + d.Resource + " " + strconv.FormatInt(d.Count, 10))
	}
	if len(told.Dependents) > 0 {
		b.WriteString("\n\n")
	}
	for _, w := range told.Warnings {
		b.WriteString("! " + w + "\n\n")
	}
	b.WriteString(q.Ask)
	return mcp.ElicitationParams{Message: b.String(), RequestedSchema: map[string]any{
		"type":       "object",
		"properties": map[string]any{confirmField: map[string]any{"type": "boolean", "title": q.Title, "description": p.Summary}},
		"required":   []string{confirmField},
	}}
}

// visible is a text of JSON on one line, of at most n characters. What shows nothing of its own, or turns the
// direction of what follows, is written as its number.
func visible(s string, n int) string {
	var b strings.Builder
	for _, r := range s {
		shown := string(r)
		switch {
		case unicode.IsPrint(r) && r != utf8.RuneError:
		case r > 0xffff:
			shown = `\U` + strconv.FormatInt(int64(r), 16)
		default:
			shown = `\u` + strconv.FormatInt(0x10000+int64(r), 16)[1:]
		}
		if n -= utf8.RuneCountInString(shown); n < 0 {
			return b.String() + "…"
		}
		b.WriteString(shown)
	}
	return b.String()
}
