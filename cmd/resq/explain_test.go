package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"resq/testdb"
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
	if code != 0 || !strings.Contains(out, "tools: res-schema, res-query, category.tree,") || !strings.Contains(out, "masked: Customer.phone") || !strings.Contains(out, "SELECT ") || !strings.Contains(out, "-- 1: integer\n") {
		t.Errorf("%d\n%s\n%s", code, out, errOut)
	}
	for _, in := range []string{"alice-secret-key-1", " alice-secret-key-1\r\nmore"} {
		if _, byKey, errOut := resq(t, in, "explain", "--config", config, "--state", state, "--as", "-", "res_query", request); byKey != out {
			t.Errorf("by key:\n%s%s", byKey, errOut)
		}
	}
	code, out, _ = explain("--as", "alice", "res-query", request, "--values", "--principal", "boss", "--format", "json")
	var got struct {
		Principal  string
		Tools      []string
		Statements []struct{ Args []struct{ Value any } }
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil || code != 0 || got.Principal != "alice" || !slices.Contains(got.Tools, "res-query") || slices.Contains(got.Tools, "res-update") || len(got.Statements) != 1 || got.Statements[0].Args[0].Value != 37.0 {
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
		{[]string{"--as", "alic-secret-key-2"}, "given on standard input"},
		{[]string{"--as", "alice-secret-key-1"}, "given on standard input"}, // one that is good: others see command lines
		{[]string{"--as", "-", "res-query", "-"}, "either the key or the request"},
		{[]string{"--as", "-"}, "no key that is good"},
		{[]string{"--as", "key:1"}, "no control database"},
		{[]string{"--as", "alice", "res-undo", "{}"}, "cannot be explained"},
	} {
		code, out, errOut := explain(c.args...)
		if code == 0 || !strings.Contains(errOut, c.want) || strings.Contains(errOut, "-secret-key") {
			t.Errorf("%v: %d\n%s\n%s", c.args, code, out, errOut)
		}
	}
}

// B-002: a key of the control database is explained by its number, with the tools that its scopes open, so that nobody has to
// write it into a command line; one that opens nothing says so.
func TestExplainKey(t *testing.T) {
	testdb.Each(t, func(t *testing.T, e testdb.Engine) {
		config := controlledConfig(t, t.TempDir(), e, "principals: {alice: {scopes: [read]}}\n")
		var k made
		do(t, config, nil, "scopes", "create", "reading", "--tool", "res-query")
		do(t, config, &k, "keys", "create", "--name", "x", "--user", "42", "--scope", "reading")
		do(t, config, nil, "keys", "create", "--name", "y", "--principal", "alice")
		explain := func(in string, as string) (int, string, string) {
			return resq(t, in, "explain", "--config", config, "--as", as)
		}
		code, out, errOut := explain("", fmt.Sprint("key:", k.ID))
		if code != 0 || !strings.Contains(out, "user:42") || !strings.Contains(out, "tools: res-query\n") {
			t.Errorf("%d\n%s\n%s", code, out, errOut)
		}
		if code, same, errOut := explain(k.Key+"\n", "-"); code != 0 || same != out {
			t.Errorf("on standard input: %d\n%s\n%s", code, same, errOut)
		}
		if code, out, errOut := explain("", "key:2"); code != 0 || !strings.Contains(out, "alice") {
			t.Errorf("%d\n%s\n%s", code, out, errOut)
		}
		do(t, config, nil, "keys", "disable", fmt.Sprint(k.ID))
		for as, want := range map[string]string{"key:1": "is disabled, so it opens nothing", "key:99": "there is no key", "key:x": "named by its number", k.Key: "given on standard input", "-": "no key that is good"} {
			if code, _, errOut := explain(k.Key, as); code == 0 || !strings.Contains(errOut, want) || strings.Contains(errOut, k.Key) {
				t.Errorf("%s: %d %s", as, code, errOut)
			}
		}
	})
}

// N4, B-002: user:ID is whoever acts for that user, with what its keys or its principal open, and no more.
func TestExplainUser(t *testing.T) {
	testdb.Each(t, func(t *testing.T, e testdb.Engine) {
		config := controlledConfig(t, t.TempDir(), e, "principals:\n  alice: {user: 7, scopes: [read, write]}\n  bea: {user: 8, scopes: [read]}\n  ben: {user: 8, scopes: [write]}\n")
		do(t, config, nil, "scopes", "create", "reading", "--tool", "res-query")
		do(t, config, nil, "scopes", "create", "describing", "--tool", "res-schema")
		do(t, config, nil, "keys", "create", "--name", "x", "--user", "42", "--scope", "reading")
		do(t, config, nil, "keys", "create", "--name", "y", "--user", "42", "--scope", "describing")
		do(t, config, nil, "keys", "create", "--name", "z", "--user", "9", "--scope", "reading")
		do(t, config, nil, "keys", "create", "--name", "w", "--user", "9", "--scope", "describing", "--principal", "alice")
		explain := func(as, want string) {
			t.Helper()
			code, out, errOut := resq(t, "", "explain", "--config", config, "--as", as)
			if !strings.Contains(out+errOut, want) || (code == 0) != strings.HasPrefix(want, "tools: ") {
				t.Errorf("%s, want %q: %d\n%s\n%s", as, want, code, out, errOut)
			}
		}
		explain("user:42", "tools: res-schema, res-query\n")
		do(t, config, nil, "keys", "disable", "2")
		explain("user:42", "tools: res-query\n")
		explain("user:99", "tools: res-schema, res-query, category.tree") // nobody: as a token that says no more
		explain("user:8", "name one of bea, ben")
		explain("user:9", "name one of key:3, key:4")
		_, alice, _ := resq(t, "", "explain", "--config", config, "--as", "alice")
		_, same, _ := resq(t, "", "explain", "--config", config, "--as", "user:7")
		if alice == "" || alice != same {
			t.Errorf("the principal of a user:\n%s\n%s", alice, same)
		}
	})
}
