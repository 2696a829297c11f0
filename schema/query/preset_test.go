package query_test

import (
	"strings"
	"testing"

	"resq/schema/query"
)

// A comparison with an argument stands in what a business tool asks, and nowhere else: no caller sends one, and no rule
// or set has one.
func TestParamTokens(t *testing.T) {
	const leaf = `{"type":"and","exprs":[{"field":"a","operator":"=","tokenType":"param","token":"x"}]}`
	const request = `{"resource":"A","conditions":` + leaf + `}`
	if _, err := query.DecodePreset([]byte(request), query.Defaults()); err != nil {
		t.Error(err)
	}
	if n, err := query.DecodePresetRule([]byte(leaf), query.Defaults()); err != nil || n.Leaves[0].TokenType != query.TokenParam {
		t.Errorf("%v %v", n, err)
	}
	for name, decode := range map[string]func() error{
		"a caller's request": func() error { _, err := query.Decode([]byte(request), query.Defaults()); return err },
		"a set's":            func() error { _, err := query.DecodeTrusted([]byte(request), query.Defaults()); return err },
		"a rule":             func() error { _, err := query.DecodeRule([]byte(leaf), query.Defaults()); return err },
	} {
		if err := decode(); err == nil || !strings.Contains(err.Error(), "param") {
			t.Errorf("%s takes an argument: %v", name, err)
		}
	}
}
