package server

import (
	"cmp"
	"context"
	"encoding/base64"
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
	Needs       []string         `json:"needs"`     // tools without which it is not there
}

type promptArgument struct {
	Name        string `json:"name"`
	Description string `json:"description"`
}

const (
	methodRead     = "resources/read"
	methodPrompt   = "prompts/get"
	methodComplete = "completion/complete"
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
		if o.blob != nil {
			return []mcp.ResourceContents{mcp.BlobResourceContents{URI: req.Params.URI, MIMEType: o.mime, Blob: base64.StdEncoding.EncodeToString(o.blob), Meta: o.meta}}, nil
		}
		return []mcp.ResourceContents{mcp.TextResourceContents{URI: req.Params.URI, MIMEType: cmp.Or(o.mime, "text/plain"), Text: o.text, Meta: o.meta}}, nil
	}
	m.AddResourceTemplate(template, read)
	export := mcp.NewResourceTemplate(exportURI, "export", mcp.WithTemplateDescription(s.own.Export.Description)) // of more than one type
	export.Title = s.own.Export.Title
	m.AddResourceTemplate(export, read)
	s.tables(m, read)
}

// An offer is what a prompt or a resource shows to one caller.
type offer struct {
	uri, text string // of the resource; "" is none
	blob      []byte // instead of a text
	mime      string // text/plain when it is ""
	meta      map[string]any
	done      func() // when the answer is sent; nil is nothing
	arguments map[string]string
	codes     mcp.Completion
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
			mcp.TextResourceContents{URI: c.offer.uri, MIMEType: cmp.Or(c.offer.mime, "text/plain"), Text: c.offer.text})))
	}
	return mcp.NewGetPromptResult(p.Description, messages)
}

// prepare finds what a message about prompts or resources asks for, before the library sees it: the library can
// answer a mistake of the caller only as a fault of the server.
func (s *Server) prepare(ctx context.Context, c *caller, m *message) *refusal {
	if m.id == nil {
		return nil
	}
	if m.method == methodComplete {
		return s.prepareCompletion(ctx, c, m)
	}
	if m.method != methodRead && m.method != methodPrompt {
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
	if m.method == methodRead && (strings.HasPrefix(ask.Params.URI, tablePrefix) || ask.Params.URI == contextURI) {
		return s.prepareTable(ctx, c, m, ask.Params.URI)
	}
	if m.method == methodRead {
		return s.prepareResource(ctx, c, m, ask.Params.URI)
	}
	i := slices.IndexFunc(s.own.Prompts, func(p prompt) bool { return p.Name == ask.Params.Name })
	if i < 0 {
		return nil // the library's own answer
	}
	if !s.shownPrompt(*c, &s.own.Prompts[i]) {
		return m.refuse(problem.NotFound, "no prompt "+problem.Quote(ask.Params.Name))
	}
	c.offer.arguments = ask.Params.Arguments
	for _, a := range s.own.Prompts[i].Arguments {
		if strings.TrimSpace(c.offer.arguments[a.Name]) == "" {
			return m.refuse(problem.InvalidArgument, "the prompt "+ask.Params.Name+" needs the argument "+a.Name)
		}
		if a.Name == tableArg {
			return s.namedTable(ctx, c, m, strings.TrimSpace(c.offer.arguments[a.Name]))
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
		blocks, no := s.blocks(ctx, *c, m, code, "full")
		if no != nil {
			return no
		}
		for _, block := range blocks {
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

// blocks asks res-schema as the caller, and gives its answer resource by resource. Whoever may not ask sees nothing, and
// is not told why; that it cannot be answered now is told.
func (s *Server) blocks(ctx context.Context, c caller, m *message, keywords, detail string) ([]string, *refusal) {
	args := map[string]string{"detail": detail}
	if keywords != "" {
		args["keywords"] = keywords
	}
	c.args, _ = json.Marshal(args) // texts always encode
	c.version, c.export = 1, ""
	r, ok := s.reply(ctx, c, toolSchema)
	switch {
	case !ok || r.Failed && !passing[r.Code]:
		return nil, nil
	case r.Failed:
		return nil, m.refused(r.why)
	case detail == "names":
		return strings.Split(strings.TrimSpace(r.Texts[0]), "\n"), nil
	}
	return strings.Split(strings.TrimSpace(r.Texts[0]), "\n\n"), nil
}

// passing are the codes that say nothing about what was asked for, only that it cannot be answered now, or to nobody
// such as the caller. To take them for "there is nothing" would be a lie.
var passing = map[problem.Code]bool{
	problem.RateLimited: true, problem.Unavailable: true, problem.Overloaded: true, problem.Timeout: true, problem.Cancelled: true,
	problem.DataIntegrity: true, problem.AuditUnavailable: true, problem.Unauthenticated: true,
}

// refused is the answer to a message that failed for a reason its sender may know.
func (m *message) refused(f fault) *refusal {
	no := m.refuse(f.Code, f.Message)
	no.reason, no.retry = f.Reason, f.RetryAfter
	return no
}

// refuse is the answer to a message that asks for what cannot be.
func (m *message) refuse(code problem.Code, text string) *refusal {
	no := &refusal{status: http.StatusOK, code: code, rpc: mcp.INVALID_PARAMS, message: text, id: m.id}
	if mcp.IsModernProtocol(m.version) {
		no.status = http.StatusBadRequest
	}
	return no
}

// prepareCompletion finds the codes of resources for the arguments that take one: those that match what was typed so
// far, best first; all of them when that is nothing.
func (s *Server) prepareCompletion(ctx context.Context, c *caller, m *message) *refusal {
	var ask struct {
		Params struct {
			Ref struct {
				Type string `json:"type"`
				Name string `json:"name"`
				URI  string `json:"uri"`
			} `json:"ref"`
			Argument mcp.CompleteArgument `json:"argument"`
			Context  struct {
				Arguments map[string]string `json:"arguments"`
			} `json:"context"`
		} `json:"params"`
	}
	if err := json.Unmarshal(m.rest, &ask); err != nil {
		return nil // the library's own answer
	}
	ref, argument := ask.Params.Ref, ask.Params.Argument
	if done, no := s.completeTables(ctx, c, m, cmp.Or(ref.URI, ref.Name), ref.Type, argument, ask.Params.Context.Arguments); done {
		return no
	}
	takes := ref.Type == "ref/resource" && ref.URI == resourceURI && argument.Name == "code" ||
		ref.Type == "ref/prompt" && argument.Name == resourceArg && slices.ContainsFunc(s.own.Prompts, func(p prompt) bool {
			return p.Name == ref.Name && len(p.Arguments) > 0 && p.Arguments[0].Name == resourceArg
		})
	if !takes {
		return nil
	}
	lines, no := s.blocks(ctx, *c, m, strings.TrimSpace(argument.Value), "names")
	if no != nil {
		return no
	}
	out := &c.offer.codes
	for _, line := range lines {
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
	return nil
}

// completions offers what was found by prepareCompletion.
type completions struct{}

func (completions) CompletePromptArgument(ctx context.Context, _ string, _ mcp.CompleteArgument, _ mcp.CompleteContext) (*mcp.Completion, error) {
	c := callerOf(ctx)
	return &c.offer.codes, nil
}

func (completions) CompleteResourceArgument(ctx context.Context, _ string, _ mcp.CompleteArgument, _ mcp.CompleteContext) (*mcp.Completion, error) {
	c := callerOf(ctx)
	return &c.offer.codes, nil
}
