package server

import (
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	mcpgo "github.com/mark3labs/mcp-go/server"

	"resq/schema/problem"
)

// Note [resources around tools]
//
// A table, its DDL and the business context are resources as well, and some prompts speak of tables. Each of them is the answer of a
// tool, asked as whoever reads it: it is there for whom the tool is there, paid, recorded and refused like a call of it (D-067, D-073).

const (
	tablePrefix = "resq://table/"
	tableURI    = tablePrefix + "{schema}/{table}"
	ddlURI      = tableURI + "/ddl"
	contextURI  = "resq://business-context"

	toolDescribe = "describe_table"
	toolDDL      = "get_object_ddl"
	toolTables   = "list_tables"
	toolSchemas  = "list_schemas"
	toolContext  = "get_business_context"

	tableArg = "table" // of the prompt that shows one, TABLE or SCHEMA.TABLE
)

// toolBehind is the tool of which a resource shows the answer; "" is none.
func toolBehind(uri string) string {
	switch uri {
	case tableURI:
		return toolDescribe
	case ddlURI:
		return toolDDL
	case contextURI:
		return toolContext
	}
	return ""
}

// has says whether a tool is there for a caller.
func (s *Server) has(c caller, tool string) bool {
	d, ok := s.toolFor(c, tool)
	return ok && d.open(c)
}

// tables registers the resources around tools. Whoever lacks the tool is not shown them.
func (s *Server) tables(m *mcpgo.MCPServer, read func(context.Context, mcp.ReadResourceRequest) ([]mcp.ResourceContents, error)) {
	for _, x := range []struct {
		uri, name, mime string
		words           words
	}{{tableURI, "table", "application/json", s.own.Tables.Table}, {ddlURI, "ddl", "application/sql", s.own.Tables.DDL}} {
		t := mcp.NewResourceTemplate(x.uri, x.name, mcp.WithTemplateDescription(x.words.Description), mcp.WithTemplateMIMEType(x.mime))
		t.Title = x.words.Title
		m.AddResourceTemplate(t, read)
	}
	r := mcp.NewResource(contextURI, "business-context", mcp.WithResourceDescription(s.own.Tables.Context.Description), mcp.WithMIMEType("application/json"))
	r.Title = s.own.Tables.Context.Title
	m.AddResource(r, read)
}

// shownTables takes out of lists what is not for their reader.
func (s *Server) shownTables(hooks *mcpgo.Hooks) {
	hooks.AddAfterListResourceTemplates(func(ctx context.Context, _ any, _ *mcp.ListResourceTemplatesRequest, r *mcp.ListResourceTemplatesResult) {
		c := callerOf(ctx)
		r.ResourceTemplates = slices.DeleteFunc(slices.Clone(r.ResourceTemplates), func(t mcp.ResourceTemplate) bool {
			tool := toolBehind(t.URITemplate.Raw())
			return tool != "" && !s.has(c, tool)
		})
	})
	hooks.AddAfterListResources(func(ctx context.Context, _ any, _ *mcp.ListResourcesRequest, r *mcp.ListResourcesResult) {
		c := callerOf(ctx)
		r.Resources = slices.DeleteFunc(slices.Clone(r.Resources), func(x mcp.Resource) bool {
			tool := toolBehind(x.URI)
			return tool != "" && !s.has(c, tool)
		})
		if r.Resources == nil {
			r.Resources = []mcp.Resource{}
		}
	})
}

// shownPrompt says whether the tools that a prompt speaks of are there for a caller.
func (s *Server) shownPrompt(c caller, p *prompt) bool {
	return !slices.ContainsFunc(p.Needs, func(tool string) bool { return !s.has(c, tool) })
}

// prepareTable finds a table, its DDL, or the business context. What is missing, invisible or forbidden looks the same (C8).
func (s *Server) prepareTable(ctx context.Context, c *caller, m *message, uri string) *refusal {
	tool, args, mime := toolContext, map[string]string{}, "application/json"
	if rest, ok := strings.CutPrefix(uri, tablePrefix); ok {
		parts := strings.Split(rest, "/")
		tool = toolDescribe
		if len(parts) == 3 && parts[2] == "ddl" {
			tool, mime, parts = toolDDL, "application/sql", parts[:2]
		}
		for i, p := range parts {
			if plain, err := url.PathUnescape(p); err == nil {
				parts[i] = plain
			}
		}
		if len(parts) != 2 || parts[0] == "" || parts[1] == "" {
			return m.missing("no such resource; a table is " + tableURI)
		}
		if args["schema"] = parts[0]; tool == toolDDL {
			args["object"] = parts[1]
		} else {
			args["table"] = parts[1]
		}
	}
	text, no := s.answerOf(ctx, *c, m, tool, args)
	if no != nil {
		return no
	}
	if tool == toolDDL && text != "" {
		var x struct{ DDL *string }
		err := json.Unmarshal([]byte(text), &x)
		if text = ""; err == nil && x.DDL != nil {
			text = *x.DDL
		}
	}
	if text == "" {
		return m.missing("no such resource, for this caller at least")
	}
	c.offer.uri, c.offer.text, c.offer.mime = uri, text, mime
	return nil
}

// namedTable is the address of TABLE, in the schema where the connection looks, or of SCHEMA.TABLE.
func (s *Server) namedTable(ctx context.Context, c *caller, m *message, name string) *refusal {
	args := map[string]string{"table": name}
	if i := strings.LastIndexByte(name, '.'); i > 0 {
		args["schema"], args["table"] = name[:i], name[i+1:]
	}
	text, no := s.answerOf(ctx, *c, m, toolDescribe, args)
	if no != nil {
		return no
	}
	var x struct{ Schema, Table string }
	if text == "" || json.Unmarshal([]byte(text), &x) != nil {
		return m.missing("no table " + problem.Quote(name) + " here; list_tables has those that there are")
	}
	c.offer.uri, c.offer.text, c.offer.mime = tablePrefix+url.PathEscape(x.Schema)+"/"+url.PathEscape(x.Table), text, "application/json"
	return nil
}

// answerOf asks a tool as the caller; "" is that there is nothing for it.
func (s *Server) answerOf(ctx context.Context, c caller, m *message, tool string, args map[string]string) (string, *refusal) {
	c.args, _ = json.Marshal(args) // texts always encode
	c.version, c.export = 1, ""
	r, ok := s.reply(ctx, c, tool)
	switch {
	case !ok || r.Failed && !passing[r.Code]:
		return "", nil
	case r.Failed:
		return "", m.refused(r.why)
	}
	return r.Texts[0], nil
}

// completeTables finds names of schemas and tables for the arguments that take one, those with what was typed so far in them; false is
// that this is no such argument.
func (s *Server) completeTables(ctx context.Context, c *caller, m *message, ref, kind string, argument mcp.CompleteArgument, given map[string]string) (bool, *refusal) {
	resource := kind == "ref/resource" && (ref == tableURI || ref == ddlURI)
	i := slices.IndexFunc(s.own.Prompts, func(p prompt) bool {
		return kind == "ref/prompt" && p.Name == ref && len(p.Needs) > 0 && slices.ContainsFunc(p.Arguments, func(a promptArgument) bool { return a.Name == argument.Name })
	})
	if !resource && i < 0 {
		return false, nil
	}
	tool, args := "", map[string]string{}
	switch argument.Name {
	case "schema":
		tool = toolSchemas
	case tableArg:
		if tool = toolTables; given["schema"] != "" {
			args["schema"] = given["schema"]
		}
	default:
		return false, nil
	}
	if v := strings.TrimSpace(argument.Value); v != "" {
		args["filter"] = v
	}
	text, no := s.answerOf(ctx, *c, m, tool, args)
	if no != nil || text == "" {
		return true, no
	}
	var x struct {
		Data      []struct{ Schema, Table string }
		Truncated bool
	}
	if json.Unmarshal([]byte(text), &x) != nil {
		return true, nil
	}
	out := &c.offer.codes
	for _, row := range x.Data {
		name := row.Table
		if tool == toolSchemas {
			name = row.Schema
		}
		if out.Total++; len(out.Values) < maxCompletions {
			out.Values = append(out.Values, name)
		}
	}
	out.HasMore = x.Truncated || out.Total > len(out.Values)
	return true, nil
}
