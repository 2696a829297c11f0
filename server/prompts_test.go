package server

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"resq/engine"
	"resq/engine/dialect/sqlite"
	"resq/engine/policy"
	"resq/schema"
)

// secretive is a server on a catalog of which one resource and one field are for admins.
func secretive(t *testing.T, opts Options) *Server {
	t.Helper()
	cat, err := schema.LoadFS(fstest.MapFS{"catalog.yaml": {Data: []byte(`
version: 1
connections:
  default: {driver: sqlite, dsn: "sqlite:` + filepath.Join(t.TempDir(), "none.sqlite") + `"}
resources:
  - {code: User, name: 用户, table: t_user, key: id, fields: {id: {type: integer}, name: {type: string}, salary: {type: integer, roles: [admin]}}}
  - {code: UserRole, name: 角色, table: t_role, key: id, fields: {id: {type: integer}}}
  - {code: Payroll, name: 工资单, table: t_pay, key: id, roles: [admin], fields: {id: {type: integer}}}
`)}}, schema.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.New(cat, engine.Options{Drivers: []engine.Driver{sqlite.New()}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return newServer(t, e, opts)
}

var secretKeys = map[string]*policy.Principal{
	"user": {Name: "user"}, "admin": {Name: "admin", Roles: []string{"admin"}}, "writer": {Name: "writer", Scopes: []string{"write"}},
}

// both sends a message in either era and gives both answers.
func both(t *testing.T, url, key, method, name, params string) []answer {
	t.Helper()
	old := exchange{body: `{"jsonrpc":"2.0","id":1,"method":` + quote(method) + `,"params":{` + params + `}}`}
	now := modern(method, "", "")
	now.body = strings.Replace(now.body, `"params":{`, `"params":{`+params+`,`, 1)
	now = now.with("Mcp-Name", name)
	return []answer{old.with("Authorization", "Bearer "+key).do(t, url), now.with("Authorization", "Bearer "+key).do(t, url)}
}

func keyed(t *testing.T) string {
	return serveHTTP(t, secretive(t, Options{Authenticate: func(_ context.Context, key string) (*policy.Principal, error) { return secretKeys[key], nil }}))
}

// Each prompt comes filled in, in both eras; one that shows a resource shows what its caller may see.
func TestPrompts(t *testing.T) {
	url := keyed(t)
	for _, a := range both(t, url, "user", "prompts/list", "", `"x":1`) {
		for _, want := range []string{`"explore"`, `"explain_resource"`, `"write_request"`, `"required":true`, `"title"`} {
			if !strings.Contains(a.body, want) {
				t.Errorf("prompts/list lacks %s: %s", want, a.body)
			}
		}
	}
	for _, a := range both(t, url, "writer", "prompts/list", "", `"x":1`) {
		if !strings.Contains(a.body, `"prompts":[]`) {
			t.Errorf("whoever has no tools has prompts: %s", a.body)
		}
	}
	for _, a := range both(t, url, "user", "prompts/get", "write_request", `"name":"write_request","arguments":{"question":"Who \"bought\" {question}?"}`) {
		if !strings.Contains(a.body, `\n\nWho \"bought\" {question}?\n\n`) || !strings.Contains(a.body, `"role":"user"`) {
			t.Errorf("write_request: %s", a.body)
		}
	}
	for _, a := range both(t, url, "user", "prompts/get", "explore", `"name":"explore"`) {
		if !strings.Contains(a.body, "res-schema without keywords") {
			t.Errorf("explore: %s", a.body)
		}
	}
	for key, salary := range map[string]bool{"user": false, "admin": true} {
		for _, a := range both(t, url, key, "prompts/get", "explain_resource", `"name":"explain_resource","arguments":{"resource":" User "}`) {
			if !strings.Contains(a.body, "Explain the resource  User ") && !strings.Contains(a.body, `"uri":"resq://resource/User"`) || strings.Contains(a.body, "- salary") != salary || !strings.Contains(a.body, "- name string") || strings.Contains(a.body, "UserRole 角色") {
				t.Errorf("%s: explain_resource: %s", key, a.body)
			}
		}
	}
	for _, c := range []struct{ name, params, want string }{
		{"write_request", `"name":"write_request"`, "needs the argument question"},
		{"write_request", `"name":"write_request","arguments":{"question":" "}`, "needs the argument question"},
		{"explain_resource", `"name":"explain_resource","arguments":{"resource":"Payroll"}`, `no resource \"Payroll\"`},
		{"explain_resource", `"name":"explain_resource","arguments":{"resource":"Nothing"}`, `no resource \"Nothing\"`},
		{"explain_resource", `"name":"explain_resource","arguments":{"resource":7}`, "the parameters are not those of prompts/get"},
		{"nosuch", `"name":"nosuch"`, "not found"},
	} {
		for _, a := range both(t, url, "user", "prompts/get", c.name, c.params) {
			if !strings.Contains(a.body, c.want) || !strings.Contains(a.body, "-32602") {
				t.Errorf("%s: %d %s", c.params, a.status, a.body)
			}
		}
	}
}

// A resource is read as res-schema describes it, to whom it may be shown; else it does not exist (C8).
func TestResources(t *testing.T) {
	url := keyed(t)
	for _, a := range both(t, url, "user", "resources/templates/list", "", `"x":1`) {
		if !strings.Contains(a.body, `"uriTemplate":"resq://resource/{code}"`) || !strings.Contains(a.body, `"text/plain"`) {
			t.Errorf("templates: %s", a.body)
		}
	}
	for _, a := range both(t, url, "user", "resources/list", "", `"x":1`) {
		if !strings.Contains(a.body, `"resources":[]`) {
			t.Errorf("resources: %s", a.body)
		}
	}
	for _, c := range []struct {
		key, code string
		want      []string
	}{
		{"user", "User", []string{"- name string", "t_user", `"uri":"resq://resource/User"`}},
		{"user", "UserRole", []string{"t_role"}},
		{"admin", "User", []string{"- salary integer"}},
		{"admin", "Payroll", []string{"t_pay"}},
	} {
		uri := "resq://resource/" + c.code
		for _, a := range both(t, url, c.key, "resources/read", uri, `"uri":"`+uri+`"`) {
			for _, want := range c.want {
				if a.status != 200 || !strings.Contains(a.body, want) {
					t.Errorf("%s %s lacks %s: %d %s", c.key, c.code, want, a.status, a.body)
				}
			}
			if c.key == "user" && strings.Contains(a.body, "salary") || strings.Count(a.body, "read only") != 1 {
				t.Errorf("%s sees too much: %s", c.key, a.body)
			}
		}
	}
	var refusals []string
	for _, c := range []struct{ key, uri string }{
		{"user", "resq://resource/Payroll"}, {"user", "resq://resource/Missing"}, {"writer", "resq://resource/Payroll"}, {"user", "resq://resource/user"},
		{"user", "resq://resource/"}, {"user", "resq://resource/%zz"}, {"user", "resq://resource/User%7CUserRole"}, {"user", "file:///etc/passwd"},
	} {
		for i, a := range both(t, url, c.key, "resources/read", c.uri, `"uri":"`+c.uri+`"`) {
			if want := []string{"-32002", "-32602"}[i]; !strings.Contains(a.body, want) || strings.Contains(a.body, "t_pay") || strings.Contains(a.body, "t_user") {
				t.Errorf("%s %s: %s", c.key, c.uri, a.body)
			}
			if i == 0 && c.key == "user" && (strings.HasSuffix(c.uri, "Payroll") || strings.HasSuffix(c.uri, "Missing")) {
				body := strings.ReplaceAll(strings.ReplaceAll(a.body, "Payroll", "X"), "Missing", "X")
				refusals = append(refusals, requestID.ReplaceAllString(strings.Split(body, "request_id")[0], ""))
			}
		}
	}
	if len(refusals) != 2 || refusals[0] != refusals[1] {
		t.Errorf("a hidden resource and a missing one differ: %q", refusals)
	}
	// Over stdio as well.
	p := serveStdio(t, secretive(t, Options{Local: secretKeys["user"]}))
	p.send(initBody)
	p.next()
	p.send(`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"resq://resource/User"}}`)
	if got := p.next(); !strings.Contains(got, "- name string") {
		t.Errorf("stdio: %s", got)
	}
	p.send(`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"resq://resource/Payroll"}}`)
	if got := p.next(); !strings.Contains(got, "-32002") {
		t.Errorf("stdio: %s", got)
	}
}

// Codes are offered for the arguments that take one, and only those the caller may know.
func TestCompletion(t *testing.T) {
	url := keyed(t)
	complete := func(key, ref, argument, value string) []answer {
		return both(t, url, key, "completion/complete", "", `"ref":`+ref+`,"argument":{"name":"`+argument+`","value":"`+value+`"}`)
	}
	prompt, template := `{"type":"ref/prompt","name":"explain_resource"}`, `{"type":"ref/resource","uri":"resq://resource/{code}"}`
	for _, c := range []struct{ key, ref, argument, value, want string }{
		{"user", prompt, "resource", "", `"values":["User","UserRole"]`},
		{"admin", template, "code", "", `"values":["User","UserRole","Payroll"]`},
		{"user", template, "code", "use", `"values":["User","UserRole"]`},
		{"user", prompt, "resource", "角色", `"values":["UserRole"]`},
		{"user", prompt, "resource", "Payroll", `"values":[]`},
		{"writer", prompt, "resource", "", `"values":[]`},
		{"user", prompt, "other", "", `"values":[]`},
		{"user", `{"type":"ref/prompt","name":"write_request"}`, "resource", "", `"values":[]`},
		{"user", `{"type":"ref/resource","uri":"resq://other/{code}"}`, "code", "", `"values":[]`},
	} {
		for _, a := range complete(c.key, c.ref, c.argument, c.value) {
			if !strings.Contains(a.body, c.want) {
				t.Errorf("%s %s %q: %s, want %s", c.key, c.ref, c.value, a.body, c.want)
			}
		}
	}
}

// The demonstration's resources can all be read by their codes, whatever else is called like them.
func TestEveryResourceIsRead(t *testing.T) {
	s := shop(t)
	url := serveHTTP(t, s)
	c := caller{who: alice, view: s.views().view(contractProfile)}
	lines, no := s.blocks(t.Context(), c, &message{}, "", "names")
	if len(lines) < 8 || no != nil {
		t.Fatal(lines, no)
	}
	for _, line := range lines {
		code, _, _ := strings.Cut(line, " · ")
		uri := "resq://resource/" + code
		for _, a := range both(t, url, "", "resources/read", uri, `"uri":"`+uri+`"`) {
			if !strings.Contains(a.body, `"text":"`+code+" ") {
				t.Errorf("%s: %s", code, a.body)
			}
		}
	}
}
