package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"resq/engine/policy"
	"resq/registry"
	"resq/schema"
	"resq/schema/problem"
	"resq/server"
)

// A selector says which of the loaded tools a server offers at all, whatever keys open: names of tools, and
// toolset:NAME for the tools of a set or category. Enabled alone are offered, where it is not empty, and of them not
// those that are Disabled.
type selector struct{ Enabled, Disabled []string }

// ownCategory is that of the tools of this program.
const ownCategory = "system"

// remoteCategory is that of the tools of other MCP servers.
const remoteCategory = "mcp"

const toolsetPrefix = "toolset:"

// The variables in whose place the configuration is, when they are set.
const (
	toolsEnabledVariable  = "MCP_TOOLS_ENABLED"
	toolsDisabledVariable = "MCP_TOOLS_DISABLED"
)

// withVariables lets the environment have the last word. It fails for a variable that is set and names nothing: no list at
// all would offer everything.
func (s selector) withVariables(env func(string) (string, bool)) (selector, error) {
	for name, list := range map[string]*[]string{toolsEnabledVariable: &s.Enabled, toolsDisabledVariable: &s.Disabled} {
		if text, ok := env(name); ok && strings.TrimSpace(text) != "" {
			*list = nil
			for _, item := range strings.Split(text, ",") {
				if item = strings.TrimSpace(item); item != "" {
					*list = append(*list, item)
				}
			}
			if len(*list) == 0 {
				return s, fmt.Errorf("%s names no tool: give names and toolset:NAME with commas between them, or leave it empty", name)
			}
		}
	}
	return s, nil
}

// A loaded tool is one of this program or of a catalog.
type loadedTool struct {
	registry.Tool
	sets []string
}

// loadedTools are the tools of this program, and those of a catalog.
func loadedTools(cat *schema.Catalog, lang string) []loadedTool {
	var list []loadedTool
	for _, name := range server.Tools() {
		list = append(list, loadedTool{registry.Tool{Name: name, Category: ownCategory, Title: server.Title(lang, name)}, []string{ownCategory}})
	}
	for _, t := range cat.Tools {
		sets := slices.Clone(t.Toolsets)
		if t.Category != "" {
			sets = append(sets, t.Category)
		}
		list = append(list, loadedTool{registry.Tool{Name: t.Name, Category: t.Category, Title: t.Title.In(lang)}, sets})
	}
	return list
}

// left gives the tools that are not offered, by policy.ToolKey. It fails for the name of a tool or toolset that is not
// loaded: a slip of the pen there would offer, or hide, what nobody wanted (D-067).
func (s selector) left(tools []loadedTool) (map[string]bool, error) {
	enabled, err := chosen(s.Enabled, tools)
	if err != nil {
		return nil, fmt.Errorf("the tools that are enabled: %w", err)
	}
	disabled, err := chosen(s.Disabled, tools)
	if err != nil {
		return nil, fmt.Errorf("the tools that are disabled: %w", err)
	}
	left := map[string]bool{}
	for _, t := range tools {
		if key := policy.ToolKey(t.Name); len(s.Enabled) > 0 && !enabled[key] || disabled[key] {
			left[key] = true
		}
	}
	return left, nil
}

// chosen gives the tools that a list names. Case makes no difference.
func chosen(list []string, tools []loadedTool) (map[string]bool, error) {
	out := map[string]bool{}
	var known []string
	for _, t := range tools {
		known = append(known, t.Name)
		for _, set := range t.sets {
			if !slices.Contains(known, toolsetPrefix+set) {
				known = append(known, toolsetPrefix+set)
			}
		}
	}
	for _, item := range list {
		found := false
		set, isSet := strings.CutPrefix(strings.ToLower(item), toolsetPrefix)
		for _, t := range tools {
			if isSet && slices.ContainsFunc(t.sets, func(s string) bool { return strings.EqualFold(s, set) }) ||
				!isSet && strings.EqualFold(policy.ToolKey(t.Name), policy.ToolKey(item)) {
				out[policy.ToolKey(t.Name)], found = true, true
			}
		}
		if !found {
			return nil, fmt.Errorf("no tool or toolset %s is loaded; %s", problem.Quote(item), problem.OneOf(item, known))
		}
	}
	return out, nil
}

// offer works out which tools of a catalog are offered, and tells the control database of all. It fails for a selector
// that does not fit, and then nothing is changed.
func (k *keyring) offer(ctx context.Context, c *config, cat *schema.Catalog, remotes []remoteTool, lang string) error {
	tools := loadedTools(cat, lang)
	for _, t := range remotes {
		tools = append(tools, loadedTool{registry.Tool{Name: t.Name, Category: remoteCategory, Title: t.Title}, []string{remoteCategory}})
	}
	chosen, err := c.Tools.withVariables(os.LookupEnv)
	if err != nil {
		return err
	}
	left, err := chosen.left(tools)
	if err != nil {
		return err
	}
	k.left.Store(&left)
	if k.control == nil {
		return nil
	}
	list := make([]registry.Tool, len(tools))
	for i, t := range tools {
		list[i] = t.Tool
	}
	if err := k.control.RegisterTools(ctx, list); err != nil {
		k.log.Warn("the control database was not told which tools there are", "error", err)
		return nil
	}
	m, err := mirrorOf(cat, lang)
	if err != nil {
		return err
	}
	if err := k.control.Mirror(ctx, m); problem.From(err) != nil && problem.From(err)[0].Code == problem.Conflict {
		return err
	} else if err != nil {
		k.log.Warn("the registry does not show what is served", "error", err)
	}
	return nil
}
