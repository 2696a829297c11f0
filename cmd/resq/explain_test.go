package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What a principal may call and see is shown to whoever runs the program: values to an admin only, and a wrong name is not
// repeated, for it may be a key.
func TestExplain(t *testing.T) {
	dir := t.TempDir()
	config := filepath.Join(dir, "resq.yaml")
	if err := os.WriteFile(config, []byte("packs: [store]\nprincipals:\n  boss: {scopes: [read, admin]}\n  alice: {scopes: [read], keys: [alice-secret-key-1]}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const request = `{"resource":"Customer","fields":[{"code":"phone"}],"conditions":{"type":"and","exprs":[{"field":"id","operator":"=","token":"37"}]}}`
	explain := func(args ...string) (int, string, string) {
		return resq(t, request, append([]string{"explain", "--config", config, "--state", state}, args...)...)
	}
	code, out, errOut := explain("--as", "alice", "res-query", "-")
	if code != 0 || !strings.Contains(out, "tools: res-schema, res-query\n") || !strings.Contains(out, "masked: Customer.phone") || !strings.Contains(out, "SELECT ") || !strings.Contains(out, "-- 1: integer\n") {
		t.Errorf("%d\n%s\n%s", code, out, errOut)
	}
	if _, byKey, _ := explain("--as", "alice-secret-key-1", "res_query", request); byKey != out {
		t.Errorf("by key:\n%s", byKey)
	}
	code, out, _ = explain("--as", "alice", "res-query", request, "--values", "--principal", "boss", "--format", "json")
	var got struct {
		Principal  string
		Tools      []string
		Statements []struct{ Args []struct{ Value any } }
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil || code != 0 || got.Principal != "alice" || len(got.Tools) != 2 || len(got.Statements) != 1 || got.Statements[0].Args[0].Value != 37.0 {
		t.Errorf("%d %v\n%s", code, err, out)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"res-query", request}, "--as says for whom"},
		{[]string{"--as", "alice", "--values"}, "needs --principal NAME"},
		{[]string{"--as", "alice", "--values", "--principal", "alice"}, "scope admin"},
		{[]string{"--as", "alice", "--format", "xml"}, "not possible"},
		{[]string{"--as", "alic-secret-key-2"}, "is no key"},
		{[]string{"--as", "alice", "res-undo", "{}"}, "cannot be explained"},
	} {
		code, out, errOut := explain(c.args...)
		if code == 0 || !strings.Contains(errOut, c.want) || strings.Contains(errOut, "alic-secret") {
			t.Errorf("%v: %d\n%s\n%s", c.args, code, out, errOut)
		}
	}
}
