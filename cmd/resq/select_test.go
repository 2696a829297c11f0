package main

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"resq/registry"
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
		s := selector{}.withVariables(func(name string) (string, bool) { v, ok := env[name]; return v, ok })
		if again, err := s.left(tools); err != nil || !maps.Equal(again, left) {
			t.Errorf("%+v by the environment: %v %v", c, again, err)
		}
	}
}
