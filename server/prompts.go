package server

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	mcpgo "github.com/mark3labs/mcp-go/server"

	"resq/schema/problem"
)

// A prompt is a question ready to be asked, which users pick from a menu of their client.
type prompt struct {
	Name        string           `json:"name"`
	Title       string           `json:"title"`
	Description string           `json:"description"`
	Arguments   []promptArgument `json:"arguments"` // all required
	Text        string           `json:"text"`      // with the arguments' names in braces
}

type promptArgument struct {
	Name        string `json:"name"`
	Description string `json:"description"`
}

const (
	methodRead     = "resources/read"
	methodPrompt   = "prompts/get"
	resourcePrefix = "resq://resource/"
	resourceURI    = resourcePrefix + "{code}"
	resourceArg    = "resource" // of the prompt that shows one
	maxCompletions = 100        // the protocol allows no more
)

// offers registers prompts and resources with the library, which answers the messages about them. What they
// show is found by prepare.
func (s *Server) offers(m *mcpgo.MCPServer) {
	for i := range s.own.Prompts {
		p := &s.own.Prompts[i]
		opts := []mcp.PromptOption{mcp.WithPromptDescription(p.Description)}
		for _, a := range p.Arguments {
			opts = append(opts, mcp.WithArgument(a.Name, mcp.ArgumentDescription(a.Description), mcp.RequiredArgument()))
		}
		declared := mcp.NewPrompt(p.Name, opts...)
		declared.Title = p.Title
		m.AddPrompt(declared, func(ctx context.Context, _ mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return p.result(callerOf(ctx)), nil
		})
	}
	template := mcp.NewResourceTemplate(resourceURI, "resource",
		mcp.WithTemplateDescription(s.own.Template.Description), mcp.WithTemplateMIMEType("text/plain"))
	template.Title = s.own.Template.Title
	read := func(ctx context.Context, req mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
		o := callerOf(ctx).offer
		return []mcp.ResourceContents{mcp.TextResourceContents{URI: req.Params.URI, MIMEType: cmp.Or(o.mime, "text/plain"), Text: o.text, Meta: o.meta}}, nil
	}
	m.AddResourceTemplate(template, read)
	export := mcp.NewResourceTemplate(exportURI, "rows.csv",
		mcp.WithTemplateDescription(s.own.Export.Description), mcp.WithTemplateMIMEType("text/csv"))
	export.Title = s.own.Export.Title
	m.AddResourceTemplate(export, read)
}

// An offer is what a prompt or a resource shows to one caller.
type offer struct {
	uri, text string // of the resource; "" is none
	mime      string // text/plain when it is ""
	meta      map[string]any
	done      func() // when the answer is sent; nil is nothing
	arguments map[string]string
}

// result fills in a prompt.
func (p *prompt) result(c caller) *mcp.GetPromptResult {
	text := p.Text
	for _, a := range p.Arguments {
		text = strings.ReplaceAll(text, "{"+a.Name+"}", c.offer.arguments[a.Name])
	}
	messages := []mcp.PromptMessage{mcp.NewPromptMessage(mcp.RoleUser, mcp.NewTextContent(text))}
	if c.offer.text != "" {
		messages = append(messages, mcp.NewPromptMessage(mcp.RoleUser, mcp.NewEmbeddedResource(
			mcp.TextResourceContents{URI: c.offer.uri, MIMEType: "text/plain", Text: c.offer.text})))
	}
	return mcp.NewGetPromptResult(p.Description, messages)
}

// prepare finds what a message about prompts or resources asks for, before the library sees it: the library can
// answer a mistake of the caller only as a fault of the server.
func (s *Server) prepare(ctx context.Context, c *caller, m *message) *refusal {
	if m.id == nil || m.method != methodRead && m.method != methodPrompt {
		return nil
	}
	var ask struct {
		Params struct {
			URI       string            `json:"uri"`
			Name      string            `json:"name"`
			Arguments map[string]string `json:"arguments"`
		} `json:"params"`
	}
	if err := json.Unmarshal(m.rest, &ask); err != nil {
		return m.refuse(problem.InvalidArgument, "the parameters are not those of "+m.method)
	}
	if m.method == methodRead && strings.HasPrefix(ask.Params.URI, exportPrefix) {
		return s.prepareExport(ctx, c, m, ask.Params.URI)
	}
	if m.method == methodRead {
		return s.prepareResource(ctx, c, m, ask.Params.URI)
	}
	i := slices.IndexFunc(s.own.Prompts, func(p prompt) bool { return p.Name == ask.Params.Name })
	if i < 0 {
		return nil // the library's own answer
	}
	c.offer.arguments = ask.Params.Arguments
	for _, a := range s.own.Prompts[i].Arguments {
		if strings.TrimSpace(c.offer.arguments[a.Name]) == "" {
			return m.refuse(problem.InvalidArgument, "the prompt "+ask.Params.Name+" needs the argument "+a.Name)
		}
		if a.Name == resourceArg {
			return s.prepareResource(ctx, c, m, resourcePrefix+url.PathEscape(strings.TrimSpace(c.offer.arguments[a.Name])))
		}
	}
	return nil
}

// prepareResource finds the text of one resource. What is missing, invisible or forbidden looks the same (C8).
func (s *Server) prepareResource(ctx context.Context, c *caller, m *message, uri string) *refusal {
	code, ours := strings.CutPrefix(uri, resourcePrefix)
	if !ours {
		return nil // the library knows no other either
	}
	if plain, err := url.PathUnescape(code); err == nil && plain != "" {
		code = plain
		for _, block := range s.blocks(ctx, *c, code, "full") {
			if head, _, _ := strings.Cut(block, " "); head == code {
				c.offer.uri, c.offer.text = uri, block
				return nil
			}
		}
	}
	return m.missing("no resource " + problem.Quote(code) + "; res-schema lists what there is")
}

// missing is the answer to a message about a resource that does not exist, for this caller at least.
func (m *message) missing(text string) *refusal {
	no := m.refuse(problem.NotFound, text)
	if m.method == methodRead && !mcp.IsModernProtocol(m.version) {
		no.rpc = mcp.RESOURCE_NOT_FOUND
	}
	return no
}

// blocks asks res-schema as the caller, and gives its answer resource by resource. Nobody is told why there are
// none: whoever may not ask sees nothing.
func (s *Server) blocks(ctx context.Context, c caller, keywords, detail string) []string {
	args := map[string]string{"detail": detail}
	if keywords != "" {
		args["keywords"] = keywords
	}
	c.args, _ = json.Marshal(args) // texts always encode
	c.version, c.export = 1, ""
	r, ok := s.reply(ctx, c, toolSchema)
	if !ok || r.Failed {
		return nil
	}
	if detail == "names" {
		return strings.Split(strings.TrimSpace(r.Texts[0]), "\n")
	}
	return strings.Split(strings.TrimSpace(r.Texts[0]), "\n\n")
}

// refuse is the answer to a message that asks for what cannot be.
func (m *message) refuse(code problem.Code, text string) *refusal {
	no := &refusal{status: http.StatusOK, code: code, rpc: mcp.INVALID_PARAMS, message: text, id: m.id}
	if mcp.IsModernProtocol(m.version) {
		no.status = http.StatusBadRequest
	}
	return no
}

// completions offers the codes of resources.
type completions struct{ s *Server }

func (o completions) CompletePromptArgument(ctx context.Context, prompt string, a mcp.CompleteArgument, _ mcp.CompleteContext) (*mcp.Completion, error) {
	for _, p := range o.s.own.Prompts {
		if p.Name == prompt && a.Name == resourceArg && len(p.Arguments) > 0 && p.Arguments[0].Name == resourceArg {
			return o.codes(ctx, a.Value), nil
		}
	}
	return &mcp.Completion{}, nil
}

func (o completions) CompleteResourceArgument(ctx context.Context, uri string, a mcp.CompleteArgument, _ mcp.CompleteContext) (*mcp.Completion, error) {
	if uri == resourceURI && a.Name == "code" {
		return o.codes(ctx, a.Value), nil
	}
	return &mcp.Completion{}, nil
}

// codes gives the codes that match what was typed so far, best first; all of them when that is nothing.
func (o completions) codes(ctx context.Context, typed string) *mcp.Completion {
	out := &mcp.Completion{}
	for _, line := range o.s.blocks(ctx, callerOf(ctx), strings.TrimSpace(typed), "names") {
		code, _, named := strings.Cut(line, " · ")
		if !named { // a notice
			out.HasMore = out.HasMore || strings.Contains(line, " more resources")
			continue
		}
		out.Total++
		if len(out.Values) < maxCompletions {
			out.Values = append(out.Values, code)
		}
	}
	out.HasMore = out.HasMore || out.Total > len(out.Values)
	return out
}
