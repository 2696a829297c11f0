//go:build conformance

package server

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	mcpgo "github.com/mark3labs/mcp-go/server"
)

// The fixtures that the conformance suite (make conformance) calls by name. They answer what its scenarios say,
// through the same guard as everything else.

const (
	pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
	tone  = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="
)

// A trial is one fixture tool.
type trial func(ctx context.Context, m *mcpgo.MCPServer, req mcp.CallToolRequest) (*mcp.CallToolResult, error)

func init() {
	fixtures.options = []mcpgo.ServerOption{mcpgo.WithLogging(), mcpgo.WithElicitation(), mcpgo.WithResourceCapabilities(true, true)}
	trials := map[string]trial{}
	for _, set := range []map[string]trial{contents, requests, rounds} {
		for name, t := range set {
			trials[name] = t
		}
	}
	for name := range trials {
		tool := mcp.NewTool(name, mcp.WithDescription("A fixture of the conformance suite"))
		if name == "json_schema_2020_12_tool" {
			tool = mcp.NewToolWithRawSchema(name, "A fixture of the conformance suite", json.RawMessage(schema2020))
		}
		fixtures.tools = append(fixtures.tools, tool)
	}
	fixtures.register = func(m *mcpgo.MCPServer) {
		m.EnableSampling()
		for _, tool := range fixtures.tools {
			m.AddTool(tool, func(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return trials[tool.Name](ctx, m, req)
			})
		}
		fixtureResources(m)
		fixturePrompts(m)
	}
	fixtures.refuse = func(m *message) *refusal {
		var caps struct{ Sampling any }
		if m.tool != "test_missing_capability" || json.Unmarshal(m.caps, &caps) == nil && caps.Sampling != nil {
			return nil
		}
		return &refusal{status: http.StatusBadRequest, body: fmt.Appendf(nil,
			`{"jsonrpc":"2.0","id":%s,"error":{"code":-32021,"message":"sampling is required","data":{"requiredCapabilities":{"sampling":{}}}}}`, m.id)}
	}
}

const schema2020 = `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","$defs":{"address":{"$anchor":"addressDef","type":"object","properties":{"street":{"type":"string"},"city":{"type":"string"}}}},"properties":{"name":{"type":"string"},"address":{"$ref":"#/$defs/address"},"contactMethod":{"type":"string","enum":["phone","email"]},"phone":{"type":"string"},"email":{"type":"string"}},"allOf":[{"anyOf":[{"required":["phone"]},{"required":["email"]}]}],"if":{"properties":{"contactMethod":{"const":"phone"}},"required":["contactMethod"]},"then":{"required":["phone"]},"else":{"required":["email"]},"additionalProperties":false}`

// gives is a trial that always answers the same.
func gives(c ...mcp.Content) trial {
	return func(context.Context, *mcpgo.MCPServer, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: c}, nil
	}
}

func embedded(uri, mime, text string) mcp.Content {
	return mcp.NewEmbeddedResource(mcp.TextResourceContents{URI: uri, MIMEType: mime, Text: text})
}

var contents = map[string]trial{
	"test_simple_text":       gives(mcp.NewTextContent("This is a simple text response for testing.")),
	"test_image_content":     gives(mcp.NewImageContent(pixel, "image/png")),
	"test_audio_content":     gives(mcp.NewAudioContent(tone, "audio/wav")),
	"test_embedded_resource": gives(embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")),
	"test_multiple_content_types": gives(mcp.NewTextContent("Multiple content types test:"), mcp.NewImageContent(pixel, "image/png"),
		embedded("test://mixed-content-resource", "application/json", `{"test":"data","value":123}`)),
	"test_missing_capability":  gives(mcp.NewTextContent("sampling is there")),
	"test_logging_tool":        gives(mcp.NewTextContent("nothing is logged")),
	"json_schema_2020_12_tool": gives(mcp.NewTextContent("ok")),
	"test_error_handling": func(context.Context, *mcpgo.MCPServer, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultError("This tool intentionally returns an error for testing"), nil
	},
	"test_trigger_tool_change": func(_ context.Context, m *mcpgo.MCPServer, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		m.SendNotificationToAllClients(mcp.MethodNotificationToolsListChanged, nil)
		return mcp.NewToolResultText("told"), nil
	},
	"test_tool_with_logging": func(ctx context.Context, m *mcpgo.MCPServer, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		for _, text := range []string{"Tool execution started", "Tool processing data", "Tool execution completed"} {
			_ = m.SendNotificationToClient(ctx, "notifications/message", map[string]any{"level": "info", "data": text})
			time.Sleep(50 * time.Millisecond)
		}
		return mcp.NewToolResultText("logged"), nil
	},
	"test_tool_with_progress": func(ctx context.Context, m *mcpgo.MCPServer, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		for _, n := range []int{0, 50, 100} {
			if req.Params.Meta != nil && req.Params.Meta.ProgressToken != nil {
				_ = m.SendNotificationToClient(ctx, "notifications/progress", map[string]any{"progressToken": req.Params.Meta.ProgressToken, "progress": n, "total": 100})
			}
			time.Sleep(50 * time.Millisecond)
		}
		return mcp.NewToolResultText("done"), nil
	},
}

// form is the schema of a form.
func form(properties map[string]any) map[string]any {
	required := []string{}
	for name := range properties {
		required = append(required, name)
	}
	return map[string]any{"type": "object", "properties": properties, "required": required}
}

func typed(name string, more ...any) map[string]any {
	t := map[string]any{"type": name}
	for i := 0; i < len(more); i += 2 {
		t[more[i].(string)] = more[i+1]
	}
	return t
}

func question(text, field, kind string) mcp.ElicitationParams {
	return mcp.ElicitationParams{Message: text, RequestedSchema: form(map[string]any{field: typed(kind)})}
}

func sampling(text string) mcp.CreateMessageParams {
	return mcp.CreateMessageParams{MaxTokens: 100, Messages: []mcp.SamplingMessage{{Role: mcp.RoleUser, Content: mcp.NewTextContent(text)}}}
}

// elicits is a trial that asks its client at once, as before 2026-07-28.
func elicits(schema map[string]any) trial {
	return func(ctx context.Context, m *mcpgo.MCPServer, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		r, err := m.RequestElicitation(ctx, mcp.ElicitationRequest{Params: mcp.ElicitationParams{Message: "Please answer", RequestedSchema: schema}})
		if err != nil {
			return mcp.NewToolResultError(err.Error()), nil
		}
		return mcp.NewToolResultText(fmt.Sprintf("Elicitation completed: action=%s, content=%v", r.Action, r.Content)), nil
	}
}

func titled(values ...string) (list []any) {
	for _, v := range values {
		list = append(list, map[string]any{"const": v, "title": "Title of " + v})
	}
	return list
}

var requests = map[string]trial{
	"test_elicitation": elicits(form(map[string]any{"username": typed("string"), "email": typed("string")})),
	"test_elicitation_sep1034_defaults": elicits(form(map[string]any{
		"name": typed("string", "default", "John Doe"), "age": typed("integer", "default", 30), "score": typed("number", "default", 95.5),
		"status": typed("string", "enum", []string{"active", "inactive", "pending"}, "default", "active"), "verified": typed("boolean", "default", true),
	})),
	"test_elicitation_sep1330_enums": elicits(form(map[string]any{
		"untitledSingle": typed("string", "enum", []string{"option1", "option2", "option3"}),
		"titledSingle":   typed("string", "oneOf", titled("value1", "value2", "value3")),
		"legacyEnum":     typed("string", "enum", []string{"opt1", "opt2", "opt3"}, "enumNames", []string{"Option One", "Option Two", "Option Three"}),
		"untitledMulti":  typed("array", "items", typed("string", "enum", []string{"option1", "option2", "option3"})),
		"titledMulti":    typed("array", "items", map[string]any{"anyOf": titled("value1", "value2", "value3")}),
	})),
	"test_sampling": func(ctx context.Context, m *mcpgo.MCPServer, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		var args struct{ Prompt string }
		_ = json.Unmarshal(callerOf(ctx).args, &args)
		//lint:ignore SA1019 the suite of 2025-11-25 asks for it
		r, err := m.RequestSampling(ctx, mcp.CreateMessageRequest{CreateMessageParams: sampling(args.Prompt)})
		if err != nil {
			return mcp.NewToolResultError(err.Error()), nil
		}
		return mcp.NewToolResultText(fmt.Sprintf("LLM response: %v", r.Content)), nil
	},
}

// sealed is a state that only this process can have made.
func sealed(text string) string {
	h := hmac.New(sha256.New, []byte("conformance"))
	h.Write([]byte(text))
	return text + "." + hex.EncodeToString(h.Sum(nil))
}

var errState = errors.New("the request state is not one of this server")

// asks is a trial that asks in rounds, as since 2026-07-28: each round's questions until all are answered.
func asks(answer string, round ...func(*mcpgo.InputRequestBuilder) []string) trial {
	return func(_ context.Context, _ *mcpgo.MCPServer, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		at := 0
		if state := req.Params.RequestState; state != "" {
			text, _, _ := strings.Cut(state, ".")
			if sealed(text) != state {
				return nil, errState
			}
			_, _ = fmt.Sscanf(text, "round %d", &at)
		}
		for ; at < len(round); at++ {
			b := mcpgo.NewInputRequestBuilder(sealed(fmt.Sprintf("round %d", at)))
			for _, name := range round[at](b) {
				r, ok := req.Params.InputResponses[name]
				if raw, err := json.Marshal(r); !ok || err != nil || len(raw) == 0 || raw[0] != '{' {
					return b.ToolResult(), nil
				}
			}
		}
		return mcp.NewToolResultText(answer), nil
	}
}

func asksName(b *mcpgo.InputRequestBuilder) []string {
	b.Elicit("user_name", question("What is your name?", "name", "string"))
	return []string{"user_name"}
}

func asksConfirm(b *mcpgo.InputRequestBuilder) []string {
	b.Elicit("confirm", question("Please confirm", "ok", "boolean"))
	return []string{"confirm"}
}

func asksSampling(b *mcpgo.InputRequestBuilder) []string {
	b.Sample("capital_question", sampling("What is the capital of France?"))
	return []string{"capital_question"}
}

func asksRoots(b *mcpgo.InputRequestBuilder) []string {
	b.Roots("client_roots")
	return []string{"client_roots"}
}

var rounds = map[string]trial{
	"test_input_required_result_elicitation":    asks("Hello, Alice!", asksName),
	"test_streaming_elicitation":                asks("Hello!", asksName),
	"test_input_required_result_sampling":       asks("The capital of France is Paris.", asksSampling),
	"test_input_required_result_capabilities":   asks("Paris", asksSampling),
	"test_input_required_result_list_roots":     asks("roots", asksRoots),
	"test_input_required_result_request_state":  asks("state-ok", asksConfirm),
	"test_input_required_result_tampered_state": asks("state-ok", asksConfirm),
	"test_input_required_result_multiple_inputs": asks("all there", func(b *mcpgo.InputRequestBuilder) []string {
		b.Sample("greeting", sampling("Generate a greeting"))
		return append(append(asksName(b), asksRoots(b)...), "greeting")
	}),
	"test_input_required_result_multi_round": asks("both there", func(b *mcpgo.InputRequestBuilder) []string {
		b.Elicit("step1", question("Step 1: What is your name?", "name", "string"))
		return []string{"step1"}
	}, func(b *mcpgo.InputRequestBuilder) []string {
		b.Elicit("step2", question("Step 2: What is your favorite color?", "color", "string"))
		return []string{"step2"}
	}),
}

func fixtureResources(m *mcpgo.MCPServer) {
	text := func(_ context.Context, req mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
		parts := strings.Split(req.Params.URI, "/")
		if len(parts) == 5 { // test://template/ID/data
			return []mcp.ResourceContents{mcp.TextResourceContents{URI: req.Params.URI, MIMEType: "application/json", Text: `{"id":"` + parts[3] + `","templateTest":true,"data":"Data for ID: ` + parts[3] + `"}`}}, nil
		}
		return []mcp.ResourceContents{mcp.TextResourceContents{URI: req.Params.URI, MIMEType: "text/plain", Text: "This is the content of the static text resource."}}, nil
	}
	m.AddResource(mcp.NewResource("test://static-text", "static text", mcp.WithResourceDescription("A fixture"), mcp.WithMIMEType("text/plain")), text)
	m.AddResource(mcp.NewResource("test://watched-resource", "watched", mcp.WithResourceDescription("A fixture"), mcp.WithMIMEType("text/plain")), text)
	m.AddResource(mcp.NewResource("test://static-binary", "static binary", mcp.WithResourceDescription("A fixture"), mcp.WithMIMEType("image/png")),
		func(_ context.Context, req mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
			return []mcp.ResourceContents{mcp.BlobResourceContents{URI: req.Params.URI, MIMEType: "image/png", Blob: pixel}}, nil
		})
	m.AddResourceTemplate(mcp.NewResourceTemplate("test://template/{id}/data", "template", mcp.WithTemplateDescription("A fixture")), text)
}

func fixturePrompts(m *mcpgo.MCPServer) {
	says := func(c ...mcp.Content) *mcp.GetPromptResult {
		r := &mcp.GetPromptResult{}
		for _, c := range c {
			r.Messages = append(r.Messages, mcp.NewPromptMessage(mcp.RoleUser, c))
		}
		return r
	}
	add := func(name string, get func(req mcp.GetPromptRequest) *mcp.GetPromptResult, args ...string) {
		opts := []mcp.PromptOption{mcp.WithPromptDescription("A fixture of the conformance suite")}
		for _, a := range args {
			opts = append(opts, mcp.WithArgument(a, mcp.ArgumentDescription("An argument"), mcp.RequiredArgument()))
		}
		m.AddPrompt(mcp.NewPrompt(name, opts...), func(_ context.Context, req mcp.GetPromptRequest) (*mcp.GetPromptResult, error) { return get(req), nil })
	}
	add("test_simple_prompt", func(mcp.GetPromptRequest) *mcp.GetPromptResult {
		return says(mcp.NewTextContent("This is a simple prompt for testing."))
	})
	add("test_prompt_with_arguments", func(req mcp.GetPromptRequest) *mcp.GetPromptResult {
		return says(mcp.NewTextContent(fmt.Sprintf("Prompt with arguments: arg1='%s', arg2='%s'", req.Params.Arguments["arg1"], req.Params.Arguments["arg2"])))
	}, "arg1", "arg2")
	add("test_prompt_with_embedded_resource", func(req mcp.GetPromptRequest) *mcp.GetPromptResult {
		return says(embedded(req.Params.Arguments["resourceUri"], "text/plain", "Embedded resource content for testing."), mcp.NewTextContent("Please process the embedded resource above."))
	}, "resourceUri")
	add("test_prompt_with_image", func(mcp.GetPromptRequest) *mcp.GetPromptResult {
		return says(mcp.NewImageContent(pixel, "image/png"), mcp.NewTextContent("Please analyze the image above."))
	})
	add("test_input_required_result_prompt", func(req mcp.GetPromptRequest) *mcp.GetPromptResult {
		if _, ok := req.Params.InputResponses["user_context"]; ok {
			return says(mcp.NewTextContent("With your context."))
		}
		return mcpgo.NewInputRequestBuilder("").Elicit("user_context", question("What context should the prompt use?", "context", "string")).PromptResult()
	})
}
