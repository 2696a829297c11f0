package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"resq/engine"
	"resq/engine/policy"
	"resq/registry"
	"resq/schema"
	"resq/schema/problem"
	"resq/server"
)

// A remoteConfig says where another MCP server is, and which of its tools are meant. It is what the registry keeps of each.
type remoteConfig struct {
	Version int `json:"version"`
	MCP     struct {
		URL        string            `json:"url"`
		Headers    map[string]string `json:"headers,omitempty"` // ${NAME} stands for a variable of the environment
		Timeout    string            `json:"timeout,omitempty"`
		Tools      []string          `json:"tools,omitempty"`
		Idempotent bool              `json:"idempotent,omitempty"` // in the registry: that the tool said so
		Title      string            `json:"title,omitempty"`      // likewise
	} `json:"mcp"`
}

// readRemote reads a file that registers a server; false is that it is another kind of file.
func readRemote(name string, data []byte) (*remoteConfig, bool, error) {
	var plain map[string]any
	if yaml.Unmarshal(data, &plain) != nil || plain["mcp"] == nil {
		return nil, false, nil
	}
	raw, err := json.Marshal(plain)
	if err != nil {
		return nil, true, err
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	c := &remoteConfig{}
	if err := d.Decode(c); err != nil {
		return nil, true, fmt.Errorf("%s: %s; a file for the registry has version and mcp: {url, headers, timeout, tools}", name, strings.TrimPrefix(err.Error(), "json: "))
	}
	if c.Version != 1 {
		return nil, true, fmt.Errorf("%s: version must be 1", name)
	}
	if u, err := url.Parse(c.MCP.URL); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
		return nil, true, fmt.Errorf("%s: mcp.url must be http://host/path or https://host/path, without a password, which belongs into headers as ${NAME}", name)
	}
	return c, true, nil
}

var envName = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}`)

// remote makes the server of a configuration.
func (c *remoteConfig) remote() (*server.Remote, error) {
	o := server.RemoteOptions{URL: c.MCP.URL, Headers: map[string]string{}, Version: version}
	for k, v := range c.MCP.Headers {
		var missing error
		o.Headers[k] = envName.ReplaceAllStringFunc(v, func(m string) string {
			text, ok := os.LookupEnv(envName.FindStringSubmatch(m)[1])
			if !ok {
				missing = fmt.Errorf("the variable %s of the header %s is not set", m, k)
			}
			return text
		})
		if missing != nil {
			return nil, missing
		}
	}
	if c.MCP.Timeout != "" {
		d, err := time.ParseDuration(c.MCP.Timeout)
		if err != nil || d <= 0 || d > 10*time.Minute {
			return nil, errors.New("mcp.timeout must be a duration of up to 10m, such as 10s")
		}
		o.Timeout = d
	}
	return server.NewRemote(o), nil
}

// remoteCallables asks a server for its tools and gives those that are meant as the registry is to keep them: what a client is told
// of a tool is what was there when it was registered, whatever its server says later.
func (c *remoteConfig) callables(ctx context.Context, namespace string) ([]registry.Callable, error) {
	r, err := c.remote()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	list, err := r.Tools(ctx)
	if err != nil {
		return nil, err
	}
	var names []string
	var out []registry.Callable
	for _, t := range list {
		names = append(names, t.Name)
		if len(c.MCP.Tools) > 0 && !slices.Contains(c.MCP.Tools, t.Name) {
			continue
		}
		if wrong := schema.Suspicious(t.Title + "\n" + t.Description); wrong != "" {
			return nil, fmt.Errorf("the tool %s is not registered: its description %s", problem.Quote(t.Name), wrong)
		}
		own := *c
		own.MCP.Tools, own.MCP.Idempotent, own.MCP.Title = []string{t.Name}, t.Idempotent, t.Title
		raw, err := json.Marshal(own)
		if err != nil {
			return nil, err
		}
		var plain any
		if err := json.Unmarshal(raw, &plain); err != nil {
			return nil, err
		}
		text, err := yaml.Dump(plain)
		if err != nil {
			return nil, err
		}
		var flat bytes.Buffer
		if err := json.Compact(&flat, t.Input); err != nil {
			return nil, fmt.Errorf("the tool %s has no schema that can be read", problem.Quote(t.Name))
		}
		out = append(out, registry.Callable{Name: namespace + "/" + t.Name, Description: t.Description, Type: registry.TypeTool, Source: "mcp", Input: flat.Bytes(), ReadOnly: t.ReadOnly, Writes: !t.ReadOnly, SideEffects: !t.ReadOnly,
			Config: string(text)})
	}
	for _, want := range c.MCP.Tools {
		if !slices.Contains(names, want) {
			return nil, fmt.Errorf("the server has no tool %s; %s", problem.Quote(want), problem.OneOf(want, names))
		}
	}
	if len(out) == 0 {
		return nil, errors.New("the server has no tools")
	}
	return out, nil
}

// A remoteTool is a tool of another server as it is served.
type remoteTool struct {
	engine.Tool
	server *server.Remote
}

// remoteTools makes the tools of other servers that the registry keeps.
func remoteTools(list []*registry.Callable) (out []remoteTool, err error) {
	servers := map[string]*server.Remote{}
	for _, t := range list {
		if t.Source != "mcp" {
			continue
		}
		c, is, err := readRemote(t.Name, []byte(t.Config))
		if err != nil || !is {
			return nil, errors.Join(err, fmt.Errorf("the tool %s of the registry cannot be read: resq tool remove %s", problem.Quote(t.Name), t.Name))
		}
		key := fmt.Sprint(c.MCP.URL, "\x00", c.MCP.Headers, "\x00", c.MCP.Timeout)
		if servers[key] == nil {
			if servers[key], err = c.remote(); err != nil {
				return nil, fmt.Errorf("the tool %s of the registry: %w", problem.Quote(t.Name), err)
			}
		}
		input := []byte(t.Input)
		if len(input) == 0 {
			input = []byte(`{"type":"object"}`)
		}
		// C-045: what cannot be taken back is destructive.
		out = append(out, remoteTool{engine.Tool{Name: t.Short(), Title: c.MCP.Title, Description: t.Description, Input: input, Output: []byte(`{"type":"object"}`), ReadOnly: t.ReadOnly,
			Idempotent: c.MCP.Idempotent, Destructive: t.Writes && !t.Checkpointable}, servers[key]})
	}
	return out, nil
}

// A proxied is an engine with the tools of other servers beside its own. They are listed, opened by scopes, budgeted and
// recorded as any other; where a name is the catalog's it is the catalog's tool.
type proxied struct {
	*engine.Engine
	tools map[string]remoteTool // by policy.ToolKey
	order []remoteTool
}

// backend is what the server asks.
func (o *opened) backend() server.Backend {
	if len(o.kept.remotes) == 0 {
		return o.engine
	}
	p := &proxied{Engine: o.engine, tools: map[string]remoteTool{}}
	for _, t := range o.kept.remotes {
		if _, taken := o.engine.Catalog().Tool(t.Name); !taken {
			p.tools[policy.ToolKey(t.Name)], p.order = t, append(p.order, t)
		}
	}
	return p
}

// Tools is part of server.Backend.
func (p *proxied) Tools(lang string) []engine.Tool {
	list := p.Engine.Tools(lang)
	for _, t := range p.order {
		list = append(list, t.Tool)
	}
	return list
}

// Offers is part of server.Backend.
func (p *proxied) Offers(who *policy.Principal, name string) bool {
	if _, ok := p.tools[policy.ToolKey(name)]; ok {
		return who != nil
	}
	return p.Engine.Offers(who, name)
}

// Reaches is part of server.Backend. Whether another server is there is found out by calling it.
func (p *proxied) Reaches(who *policy.Principal, name string, verbs engine.Verbs) bool {
	if _, ok := p.tools[policy.ToolKey(name)]; ok {
		return true
	}
	return p.Engine.Reaches(who, name, verbs)
}

// CallTool is part of server.Backend.
func (p *proxied) CallTool(ctx context.Context, who *policy.Principal, call engine.Call) (*engine.Answer, error) {
	t, ok := p.tools[policy.ToolKey(call.Tool)]
	if !ok {
		return p.Engine.CallTool(ctx, who, call)
	}
	if err := p.Present(ctx, who); err != nil {
		return nil, err
	}
	text, err := t.server.Call(ctx, t.Name, call.Args)
	if err != nil {
		return nil, err
	}
	return &engine.Answer{Text: text, Rows: 1}, nil
}
