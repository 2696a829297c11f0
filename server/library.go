package server

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"

	"github.com/mark3labs/mcp-go/mcp"
	mcpgo "github.com/mark3labs/mcp-go/server"

	"resq/engine"
	"resq/engine/policy"
	"resq/schema/problem"
)

// listTTL is how long a client may keep the list of tools: it changes only with the program and its catalog, and
// then clients that listen are told.
const listTTL = 5 * 60 * 1000

// fixtures are what the conformance suite of the protocol asks a server to have, beside its own. There are some
// only in builds with the tag conformance, which no release is.
var fixtures struct {
	options  []mcpgo.ServerOption
	register func(*mcpgo.MCPServer)
	tools    []mcp.Tool
	refuse   func(*message) *refusal
}

// protocol sets up the MCP library. Its own schema validation, tool filter and recovery stay off: they answer
// before a call is authorised, with texts no model can act on, and with the text of a panic.
func (s *Server) protocol() *mcpgo.MCPServer {
	hooks := &mcpgo.Hooks{}
	hooks.AddAfterListTools(func(ctx context.Context, _ any, _ *mcp.ListToolsRequest, r *mcp.ListToolsResult) {
		r.Tools = append(callerOf(ctx).list(), fixtures.tools...)
	})
	hooks.AddAfterInitialize(func(ctx context.Context, _ any, _ *mcp.InitializeRequest, r *mcp.InitializeResult) {
		c := callerOf(ctx)
		r.Instructions = s.instructions(c)
		c.extend(&r.Capabilities)
	})
	hooks.AddAfterDiscover(func(ctx context.Context, _ any, _ *mcp.DiscoverRequest, r *mcp.DiscoverResult) {
		c := callerOf(ctx)
		r.Instructions = s.instructions(c)
		c.extend(&r.Capabilities)
	})
	hooks.AddBeforeSubscriptionsListen(func(ctx context.Context, _ any, _ *mcp.SubscriptionsListenRequest) {
		callerOf(ctx).subscription.attach(mcpgo.ClientSessionFromContext(ctx))
	})
	hooks.AddAfterListPrompts(func(ctx context.Context, _ any, _ *mcp.ListPromptsRequest, r *mcp.ListPromptsResult) {
		if c := callerOf(ctx); len(c.open()) == 0 { // they speak of tools that this caller does not have
			r.Prompts = []mcp.Prompt{}
		} else {
			r.Prompts = slices.DeleteFunc(slices.Clone(r.Prompts), func(p mcp.Prompt) bool {
				i := slices.IndexFunc(s.own.Prompts, func(o prompt) bool { return o.Name == p.Name })
				return i >= 0 && !s.shownPrompt(c, &s.own.Prompts[i])
			})
		}
	})
	s.shownTables(hooks)
	opts := append([]mcpgo.ServerOption{
		mcpgo.WithTitle("resq"),
		mcpgo.WithInstructions(s.own.Instructions),
		mcpgo.WithToolCapabilities(true),
		mcpgo.WithResourceCapabilities(false, true),
		mcpgo.WithPromptCapabilities(false),
		mcpgo.WithCompletions(),
		mcpgo.WithPromptCompletionProvider(completions{}),
		mcpgo.WithResourceCompletionProvider(completions{}),
		mcpgo.WithHooks(hooks),
		mcpgo.WithMethodCacheHints(mcp.MethodToolsList, listTTL, mcp.CacheScopePrivate),
	}, fixtures.options...)
	m := mcpgo.NewMCPServer("resq", s.opts.Version, opts...)
	m.AddTools(s.registered(s.views().box.Tools)...)
	s.offers(m)
	if fixtures.register != nil {
		fixtures.register(m)
	}
	return m
}

// registered are tools as the library knows them: under every spelling, because every one is answered.
func (s *Server) registered(list []definition) []mcpgo.ServerTool {
	var out []mcpgo.ServerTool
	for i := range list {
		t := list[i].tool()
		for _, name := range list[i].spellings() {
			t.Name = name
			out = append(out, mcpgo.ServerTool{Tool: t, Handler: s.handle})
		}
	}
	return out
}

func (d *definition) spellings() []string {
	return []string{dotless(d.Name), underscored(d.Name), d.Name}
}

// list gives the tools a caller sees, in the order of the contract.
func (c caller) list() []mcp.Tool {
	tools := []mcp.Tool{}
	for _, d := range c.open() {
		t := d.tool()
		if uri := d.page(); uri != "" && c.able.apps {
			t.Meta = mcp.NewMetaFromMap(map[string]any{"ui": map[string]any{"resourceUri": uri}})
		}
		if c.version == 2 {
			t.RawOutputSchema = envelopeSchema
			if d.output != nil {
				t.RawOutputSchema = d.output
			}
		}
		tools = append(tools, t)
	}
	return tools
}

// tool is the definition in the library's words, with every hint said: one left out would mean "destructive,
// open world".
func (d *definition) tool() mcp.Tool {
	t := mcp.NewToolWithRawSchema(d.Name, d.Description, d.InputSchema)
	t.Title = d.Title
	if d.bare {
		return t
	}
	t.Annotations = mcp.ToolAnnotation{
		ReadOnlyHint:    mcp.ToBoolPtr(d.hint == "read"),
		DestructiveHint: mcp.ToBoolPtr(d.hint == "change" || d.hint == "delete"),
		IdempotentHint:  mcp.ToBoolPtr(d.hint == "read" || d.once),
		OpenWorldHint:   mcp.ToBoolPtr(false),
	}
	return t
}

// A caller is what the transport knows of a message: who sent it, a tool call's arguments as they arrived, and
// in which form the client wants to see things.
// The library offers no way to hand it over but the context, so this is the one place where a principal
// travels in one; from handle on it is a parameter.
type caller struct {
	who     *policy.Principal
	still   func() *policy.Principal // who it is by now, nil when nobody any more; nil where that cannot change
	offers  func(tool string) bool   // which of the catalog's tools it may use; nil is all
	reaches func(d *definition) bool // whether its connections are there; nil is always
	verbs   engine.Verbs             // what it can do with some resource or other
	enabled func(tool string) bool   // of whoever it is; nil is every tool
	args    []byte
	client  string        // address of whoever sent it; "" over stdio
	trace   *engine.Trace // of the call that it makes; nil when nobody asks
	view    *view
	parent  string        // of the call's span, as the header traceparent has it
	version int           // of the answers: 1, 2, or 0 for one that does not exist
	export  string        // what a cut answer is offered as; "" is nothing
	offer   offer         // what a prompt or a resource shows
	file    *bytes.Buffer // takes the file of a tool that makes one; nil takes none

	able         abilities     // of the client
	subscription *subscription // of a stream of the newer era

	asks    bool           // a preview is put to the user: Note [the question]
	token   string         // of the preview that was put to the user
	consent engine.Consent // what came of it
	beat    []byte         // the progress token of a call that goes through the library
}

type callerKey struct{}

func withCaller(ctx context.Context, c caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// callerOf gives the message's caller. Without one it gives nobody, who may do nothing.
func callerOf(ctx context.Context) caller {
	c, _ := ctx.Value(callerKey{}).(caller)
	if c.view == nil {
		c.view = &view{profile: contractProfile}
	}
	return c
}

// handle is the library's way into Call. It makes a new result each time, because the library writes into it.
func (s *Server) handle(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	c := callerOf(ctx)
	var r *Reply
	if c.asks {
		if c.beat != nil {
			defer s.progress(ctx, c.beat, func(note []byte) { s.tell(ctx, note) })()
		}
		var question *mcp.CallToolResult
		if r, question = s.consult(ctx, c, req); question != nil {
			return question, nil
		}
	} else {
		r, _ = s.reply(ctx, c, req.Params.Name)
	}
	if r == nil { // it went with a catalog that was replaced since the message came in, or is hidden by it
		r = &Reply{RequestID: newRequestID()}
		s.recordUnknown(ctx, c, problem.UnknownTool, r.RequestID)
		r.fail(problem.List{{Code: problem.UnknownTool, Message: c.unknownTool(req.Params.Name)}})
	}
	out := &mcp.CallToolResult{IsError: r.Failed}
	for _, text := range r.Texts {
		out.Content = append(out.Content, mcp.NewTextContent(text))
	}
	if d := s.dialog(c, r, req.Params.Name); d != nil {
		out.Meta = mcp.NewMetaFromMap(map[string]any{dialogKey: d})
	}
	if l := r.link; l != nil {
		out.Content = append(out.Content, mcp.NewResourceLink(l.uri, l.name, l.description, l.mime))
	}
	if r.structured != nil {
		out.StructuredContent = json.RawMessage(r.structured)
	}
	return out, nil
}

// tell sends a notification of ours on the library's way.
func (s *Server) tell(ctx context.Context, note []byte) {
	var n struct {
		Method string
		Params map[string]json.RawMessage
	}
	if json.Unmarshal(note, &n) != nil {
		return
	}
	params := map[string]any{}
	for k, v := range n.Params {
		params[k] = v
	}
	_ = s.mcp.SendNotificationToClient(ctx, n.Method, params) // a client that is gone has cancelled the call
}
