package server

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"resq/engine"
	"resq/engine/policy"
	"resq/schema/problem"
)

// A bookcase is a fake with the tools on databases, which one of two principals may use.
type bookcase struct{ *fake }

var bookTools = []string{toolSchemas, toolTables, "search_columns", toolDescribe, toolDDL, toolContext, "validate_query", "execute_query"}

func (bookcase) Tools(string) []engine.Tool {
	var list []engine.Tool
	for _, n := range bookTools {
		list = append(list, engine.Tool{Name: n, Title: n, Description: n, Input: []byte(`{"type":"object"}`), Output: []byte(`{"type":"object"}`), ReadOnly: true, Idempotent: true})
	}
	return list
}

func (bookcase) Offers(who *policy.Principal, tool string) bool { return who.Name == "reader" }

func (b bookcase) CallTool(_ context.Context, who *policy.Principal, call engine.Call) (*engine.Answer, error) {
	var a map[string]string
	if err := json.Unmarshal(call.Args, &a); err != nil {
		return nil, err
	}
	none := func(name string) (*engine.Answer, error) {
		return nil, problem.List{{Code: problem.InvalidArgument, At: "/table", Message: "there is no table " + name + " here"}}
	}
	text := ""
	switch call.Tool {
	case toolSchemas:
		text = `{"success":true,"data":[{"schema":"main"},{"schema":"other"}],"rowCount":2,"truncated":false}`
	case toolTables:
		text = fmt.Sprintf(`{"success":true,"data":[{"schema":%q,"table":"orders"},{"schema":%q,"table":"f-%s"}],"rowCount":2,"truncated":true}`, a["schema"], a["schema"], a["filter"])
	case toolDescribe:
		switch {
		case a["table"] == "late":
			return nil, problem.List{{Code: problem.Timeout, Message: "too slow"}}
		case a["table"] != "orders" && a["table"] != "a/b":
			return none(a["table"])
		}
		s := a["schema"]
		if s == "" {
			s = "main"
		}
		text = fmt.Sprintf(`{"success":true,"schema":%q,"table":%q,"columns":[]}`, s, a["table"])
	case toolDDL:
		if text = `{"success":true,"ddl":"CREATE TABLE orders (id INT)"}`; a["object"] != "orders" {
			text = `{"success":true,"ddl":null}`
		}
	case toolContext:
		text = `{"success":true,"data":[{"entity":"order"}]}`
	}
	return &engine.Answer{Text: []byte(text), Rows: 1}, nil
}

// Tables, their DDL and the business context are resources for whom their tools are there, and for nobody else (D-067, D-073).
func TestTableResources(t *testing.T) {
	keys := map[string]*policy.Principal{"reader": {Name: "reader"}, "other": {Name: "other"}, "narrow": {Name: "reader", Tools: map[string]bool{"res-query": true}}}
	var records []*Call
	url := serveHTTP(t, newServer(t, bookcase{newFake()}, Options{Authenticate: func(_ context.Context, key string) (*policy.Principal, error) { return keys[key], nil }, Record: func(c *Call) { records = append(records, c) }}))
	for uri, want := range map[string]string{
		"resq://table/main/orders":     `{"success":true,"schema":"main","table":"orders","columns":[]}`,
		"resq://table/main/a%2Fb":      `{"success":true,"schema":"main","table":"a/b","columns":[]}`,
		"resq://table/main/orders/ddl": "CREATE TABLE orders (id INT)",
		"resq://business-context":      `{"success":true,"data":[{"entity":"order"}]}`,
		"resq://table/main/nothing":    "",
		"resq://table/main/x/ddl":      "",
		"resq://table/main":            "",
		"resq://table//orders":         "",
		"resq://table/main/orders/x":   "",
	} {
		for _, key := range []string{"reader", "other", "narrow"} {
			for _, a := range both(t, url, key, "resources/read", uri, `"uri":`+quote(uri)) {
				if want == "" || key != "reader" {
					if !strings.Contains(a.body, `"code":"NOT_FOUND_OR_FORBIDDEN"`) {
						t.Errorf("%s as %s: %s", uri, key, a.body)
					}
				} else if c := contentsOf(t, a.body); c.Text != want || strings.HasSuffix(uri, "ddl") != (c.MimeType == "application/sql") {
					t.Errorf("%s: %+v", uri, c)
				}
			}
		}
	}
	for _, a := range both(t, url, "reader", "resources/read", "resq://table/main/late", `"uri":"resq://table/main/late"`) {
		if !strings.Contains(a.body, `"code":"TIMEOUT"`) {
			t.Errorf("%s", a.body)
		}
	}
	if n := len(records); n == 0 || records[n-1].Tool != toolDescribe || records[n-1].Code != problem.Timeout {
		t.Errorf("reading leaves no record of its tool")
	}
	for _, key := range []string{"reader", "other", "narrow"} {
		shown := key == "reader"
		for method, names := range map[string][]string{"resources/templates/list": {tableURI, ddlURI}, "resources/list": {contextURI}, "prompts/list": {`"explore_schema"`, `"explain_table"`, `"write_query"`}} {
			for _, a := range both(t, url, key, method, "", `"x":1`) {
				for _, n := range names {
					if strings.Contains(a.body, n) != shown {
						t.Errorf("%s as %s: %s", method, key, a.body)
					}
				}
				if strings.Contains(a.body, "error") {
					t.Errorf("%s as %s: %s", method, key, a.body)
				}
			}
		}
	}
}

// The prompts about tables are filled in, show the table that they speak of, and complete names, for whom the tools are there.
func TestTablePrompts(t *testing.T) {
	keys := map[string]*policy.Principal{"reader": {Name: "reader"}, "other": {Name: "other"}}
	url := serveHTTP(t, newServer(t, bookcase{newFake()}, Options{Authenticate: func(_ context.Context, key string) (*policy.Principal, error) { return keys[key], nil }}))
	for _, c := range []struct{ name, args, want string }{
		{"explore_schema", `{"schema":"main"}`, "schema main holds"},
		{"write_query", `{"question":"how many?"}`, "how many?"},
		{"explain_table", `{"table":"orders"}`, `"uri":"resq://table/main/orders"`},
		{"explain_table", `{"table":"other.orders"}`, `"uri":"resq://table/other/orders"`},
		{"explain_table", `{"table":"nothing"}`, `"code":"NOT_FOUND_OR_FORBIDDEN"`},
		{"explain_table", `{}`, `needs the argument table`},
	} {
		for _, a := range both(t, url, "reader", "prompts/get", c.name, `"name":`+quote(c.name)+`,"arguments":`+c.args) {
			if !strings.Contains(a.body, c.want) {
				t.Errorf("%s %s: %s", c.name, c.args, a.body)
			}
		}
		for _, a := range both(t, url, "other", "prompts/get", c.name, `"name":`+quote(c.name)+`,"arguments":`+c.args) {
			if !strings.Contains(a.body, `"code":"NOT_FOUND_OR_FORBIDDEN"`) {
				t.Errorf("%s as another: %s", c.name, a.body)
			}
		}
	}
	for _, c := range []struct{ ref, argument, want string }{
		{`{"type":"ref/resource","uri":"resq://table/{schema}/{table}"}`, `{"name":"schema","value":"m"}`, `"values":["main","other"]`},
		{`{"type":"ref/resource","uri":"resq://table/{schema}/{table}/ddl"}`, `{"name":"table","value":"or"}`, `"values":["orders","f-or"]`},
		{`{"type":"ref/prompt","name":"explain_table"}`, `{"name":"table","value":""}`, `"values":["orders","f-"]`},
		{`{"type":"ref/prompt","name":"explore_schema"}`, `{"name":"schema","value":""}`, `"values":["main","other"]`},
		{`{"type":"ref/prompt","name":"write_query"}`, `{"name":"question","value":"x"}`, `"values":[]`},
	} {
		params := `"ref":` + c.ref + `,"argument":` + c.argument + `,"context":{"arguments":{"schema":"main"}}`
		for _, a := range both(t, url, "reader", "completion/complete", "", params) {
			if !strings.Contains(a.body, c.want) || strings.Contains(c.want, "orders") != strings.Contains(a.body, `"hasMore":true`) {
				t.Errorf("%s %s: %s", c.ref, c.argument, a.body)
			}
		}
		for _, a := range both(t, url, "other", "completion/complete", "", params) {
			if strings.Contains(a.body, "orders") || strings.Contains(a.body, "main") {
				t.Errorf("%s as another: %s", c.ref, a.body)
			}
		}
	}
}
