package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"resq/server"
)

// resq tools prints what tools/list gives, or what it costs.
func TestTools(t *testing.T) {
	ask := func(args ...string) (code int, out, errOut string) {
		var o, e bytes.Buffer
		code = run(t.Context(), append([]string{"tools"}, args...), nil, &o, &e)
		return code, o.String(), e.String()
	}
	code, out, _ := ask("--profile", "cursor", "--lang", "zh")
	var list struct {
		Tools []struct{ Name, Description string }
	}
	if err := json.Unmarshal([]byte(out), &list); code != exitOK || err != nil || len(list.Tools) != 7 || list.Tools[1].Name != "res_query" || !strings.Contains(list.Tools[1].Description, "读取") {
		t.Errorf("%d %v %s", code, err, out)
	}
	code, out, _ = ask("--tokens", "--profile", "schema=flat&depth=1")
	if code != exitOK || !strings.Contains(out, "schema=flat&depth=1") || !strings.Contains(out, "res-query") || !strings.Contains(out, "all tools") || !strings.Contains(out, "estimate") {
		t.Errorf("%d %s", code, out)
	}
	for _, c := range [][]string{{"--profile", "nosuch"}, {"--profile", "names=x"}, {"--lang", "xx"}, {"more"}} {
		if code, out, errOut := ask(c...); code != exitUsage || out != "" || errOut == "" {
			t.Errorf("%v: %d %s %s", c, code, out, errOut)
		}
	}
	var o, e bytes.Buffer
	if code := run(t.Context(), []string{"serve", "--profile", "nosuch"}, nil, &o, &e); code != exitUsage || !strings.Contains(e.String(), strings.Join(server.Profiles(), ", ")) {
		t.Errorf("serve: %d %s", code, e.String())
	}
}
