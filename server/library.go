package server

import (
	"context"

	"github.com/mark3labs/mcp-go/mcp"
	mcpgo "github.com/mark3labs/mcp-go/server"

	"resq/engine/policy"
	"resq/schema/problem"
)

// listTTL is how long a client may keep the list of tools: it changes only with the program.
const listTTL = 5 * 60 * 1000

// library sets up the MCP library. Its own schema validation, tool filter and recovery stay off: they answer
// before a call is authorised, with texts no model can act on, and with the text of a panic.
func (s *Server) library() *mcpgo.MCPServer {
	hooks := &mcpgo.Hooks{}
	hooks.AddAfterListTools(func(ctx context.Context, _ any, _ *mcp.ListToolsRequest, r *mcp.ListToolsResult) {
		r.Tools = s.list(callerOf(ctx).who)
	})
	m := mcpgo.NewMCPServer("resq", s.opts.Version,
		mcpgo.WithTitle("resq"),
		mcpgo.WithInstructions(s.tools.Instructions),
		mcpgo.WithToolCapabilities(false),
		mcpgo.WithHooks(hooks),
		mcpgo.WithMethodCacheHints(mcp.MethodToolsList, listTTL, mcp.CacheScopePrivate),
	)
	for i := range s.tools.Tools {
		d := &s.tools.Tools[i]
		m.AddTool(d.tool(), s.handle)
		if d.alias() != d.Name {
			t := d.tool()
			t.Name = d.alias()
			m.AddTool(t, s.handle)
		}
	}
	return m
}

// list gives the tools a principal sees, in the order of the contract.
func (s *Server) list(who *policy.Principal) []mcp.Tool {
	tools := []mcp.Tool{}
	for i := range s.tools.Tools {
		if d := &s.tools.Tools[i]; who != nil && d.open(who) {
			tools = append(tools, d.tool())
		}
	}
	return tools
}

// tool is the definition in the library's words, with every hint said: one left out would mean "destructive,
// open world".
func (d *definition) tool() mcp.Tool {
	t := mcp.NewToolWithRawSchema(d.Name, d.Description, d.InputSchema)
	t.Title = d.Title
	t.Annotations = mcp.ToolAnnotation{
		ReadOnlyHint:    mcp.ToBoolPtr(d.scope == "read"),
		DestructiveHint: mcp.ToBoolPtr(d.scope == "delete"),
		IdempotentHint:  mcp.ToBoolPtr(d.scope == "read"),
		OpenWorldHint:   mcp.ToBoolPtr(false),
	}
	return t
}

// A caller is what the transport knows of a message: who sent it, and a tool call's arguments as they arrived.
// The library offers no way to hand it over but the context, so this is the one place where a principal
// travels in one; from handle on it is a parameter.
type caller struct {
	who  *policy.Principal
	args []byte
}

type callerKey struct{}

func withCaller(ctx context.Context, c caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// callerOf gives the message's caller. Without one it gives nobody, who may do nothing.
func callerOf(ctx context.Context) caller {
	c, _ := ctx.Value(callerKey{}).(caller)
	return c
}

// handle is the library's way into Call. It makes a new result each time, because the library writes into it.
func (s *Server) handle(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	c := callerOf(ctx)
	r, ok := s.Call(ctx, c.who, req.Params.Name, c.args)
	if !ok { // registered, so found
		r = &Reply{RequestID: newRequestID()}
		r.fail(problem.From(internal(nil)))
	}
	out := &mcp.CallToolResult{IsError: r.Failed}
	for _, text := range r.Texts {
		out.Content = append(out.Content, mcp.NewTextContent(text))
	}
	return out, nil
}
