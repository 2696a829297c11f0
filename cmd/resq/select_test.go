package main

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"resq/registry"
	"resq/schema"
)

// D-067, E-10: names in either spelling and any case, sets and categories; a slip of the pen stops the start.
func TestSelector(t *testing.T) {
	tools := []loadedTool{
		{Tool: registry.Tool{Name: "res-query"}}, {Tool: registry.Tool{Name: "res-update"}},
		{registry.Tool{Name: "agent.list.query"}, []string{"customer"}}, {registry.Tool{Name: "agent.count"}, []string{"system", "Demo"}},
	}
	for _, c := range []struct{ enabled, disabled, left, err string }{
		{"", "", "", ""},
		{"res_query,AGENT.count", "", "agent_list_query res_update", ""},
		{"", "toolset:demo", "agent_count", ""},
		{"toolset:customer,toolset:DEMO", "agent_count", "agent_count res_query res_update", ""},
		{"res-query", "res-query", "agent_count agent_list_query res_query res_update", ""},
		{"res-qery", "", "", `enabled: no tool or toolset "res-qery" is loaded; nearest: res-query`},
		{"", "toolset:customers", "", `disabled: no tool or toolset "toolset:customers" is loaded; nearest: toolset:customer`},
		{"", "customer", "", "no tool or toolset"},
	} {
		split := func(s string) []string { return strings.FieldsFunc(s, func(r rune) bool { return r == ',' }) }
		left, err := selector{split(c.enabled), split(c.disabled)}.left(tools)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%+v: %v", c, err)
			}
			continue
		}
		if got := strings.Join(slices.Sorted(maps.Keys(left)), " "); err != nil || got != c.left {
			t.Errorf("%+v: left %q %v", c, got, err)
		}
		// The variables have the last word, and blanks in them mean nothing.
		env := map[string]string{toolsEnabledVariable: " " + strings.ReplaceAll(c.enabled, ",", " , "), toolsDisabledVariable: c.disabled}
		s, err := selector{}.withVariables(func(name string) (string, bool) { v, ok := env[name]; return v, ok })
		if err != nil {
			t.Errorf("%+v by the environment: %v", c, err)
		}
		if again, err := s.left(tools); err != nil || !maps.Equal(again, left) {
			t.Errorf("%+v by the environment: %v %v", c, again, err)
		}
	}
}

// D-067: what names nothing opens nothing: a variable of commas and an empty list stop the start. The tools of this program
// are a toolset as well.
func TestSelectorOfNothing(t *testing.T) {
	for _, name := range []string{toolsEnabledVariable, toolsDisabledVariable} {
		for _, text := range []string{",", " , ,"} {
			_, err := selector{Enabled: []string{"res-query"}}.withVariables(func(n string) (string, bool) { return text, n == name })
			if err == nil || !strings.Contains(err.Error(), name+" names no tool") {
				t.Errorf("%s=%q: %v", name, text, err)
			}
		}
	}
	t.Setenv(toolsEnabledVariable, ",")
	if code, _, errOut := resq(t, "", "serve", "--http", "127.0.0.1:0", "--state", t.TempDir()); code == 0 || !strings.Contains(errOut, "names no tool") {
		t.Errorf("serve: %d %s", code, errOut)
	}
	t.Setenv(toolsEnabledVariable, "")
	config := write(t, t.TempDir(), "resq.yaml", "tools: {enabled: []}\n")
	if code, _, errOut := resq(t, "", "serve", "--http", "127.0.0.1:0", "--config", config, "--state", t.TempDir()); code == 0 || !strings.Contains(errOut, "an empty list would offer every tool") {
		t.Errorf("serve: %d %s", code, errOut)
	}
	tools := loadedTools(&schema.Catalog{Tools: []*schema.Tool{{Name: "order.list", Category: "shop"}}}, "en")
	left, err := selector{Enabled: []string{"toolset:system"}}.left(tools)
	if err != nil || len(left) != 1 || !left["order_list"] {
		t.Errorf("the toolset of this program: %v %v", left, err)
	}
}
