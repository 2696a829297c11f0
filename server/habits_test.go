package server

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
)

// What clients are known to send or to choke on (mcp.md, section 4), row by row of that table: each is answered
// usefully, with the rows that were meant or with what to send instead.
func TestHabitsOfCalls(t *testing.T) {
	s := shop(t)
	url := serveHTTP(t, s)
	one := `"columns":["id"],"rows":[\n[1]\n]`
	for _, c := range []struct{ row, tool, args, want string }{
		// Stringified arguments: Claude Code, Claude Desktop, GLM.
		{"stringified arguments", "res-query", quote(`{"resource":"Category","fields":[{"code":"id"}],"limit":1}`), one},
		{"stringified arguments", "res-query", `{"resource":"Category","fields":"[{\"code\":\"id\"}]","limit":1}`, one},
		{"stringified arguments", "res-query", `{"resource":"Category","fields":[{"code":"id"}],"conditions":"{\"type\":\"and\",\"exprs\":[{\"field\":\"id\",\"operator\":\"=\",\"token\":\"1\"}]}"}`, one},
		{"stringified arguments", "res-query", `{"resource":"Category","fields":[{"code":"id"}],"conditions":{"type":"and","exprs":"[{\"field\":\"id\",\"operator\":\"=\",\"token\":\"1\"}]"}}`, one},
		{"stringified arguments, broken", "res-query", `{"resource":"Category","fields":"[{\"code\":"}`, `"at":"/fields"`},
		{"stringified arguments, no object", "res-query", `"[1]"`, "the arguments are not a JSON object"},
		{"stringified arguments of the other tool", "res-schema", quote(`{"keywords":"订单","detail":"names"}`), "Order · "},
		// Numbers as strings and strings as numbers.
		{"numbers as strings", "res-query", `{"resource":"Category","fields":[{"code":"id"}],"limit":"1","offset":"0"}`, one},
		{"numbers as strings, no number", "res-query", `{"resource":"Category","fields":[],"limit":"ten"}`, `"at":"/limit"`},
		{"strings as numbers", "res-query", `{"resource":"Category","fields":[{"code":"id"}],"conditions":{"type":"and","exprs":[{"field":"id","operator":"=","token":1}]}}`, one},
		{"strings as numbers", "res-query", `{"resource":"Category","fields":[{"code":"id"}],"recursive":{"pField":"Category.parent_id","cField":"Category.id","root":4,"depth":1,"includeRoot":true}}`, `[4]`},
		{"booleans as strings are no guess", "res-query", `{"resource":"Category","fields":[{"code":"id","isExpr":"true"}]}`, `"at":"/fields/0/isExpr"`},
		{"a single value is no list", "res-query", `{"resource":"Category","fields":[],"orderBy":"Category.id"}`, `"at":"/orderBy"`},
		// Integers beyond 2^53 arrive exactly, as numbers and as strings.
		{"large integers", "res-query", `{"resource":"Category","fields":[{"code":"9007199254740993 + 0","isExpr":true,"alias":"n"}],"limit":1}`, `["9007199254740993"]`},
		{"large integers", "res-query", `{"resource":"Category","fields":[{"code":"COUNT(*)","isExpr":true,"alias":"n"}],"conditions":{"type":"and","exprs":[{"field":"9007199254740993 + 0","isExpr":true,"operator":"=","token":9007199254740993}]}}`, `[40]`},
		{"large integers", "res-query", `{"resource":"Category","fields":[{"code":"COUNT(*)","isExpr":true,"alias":"n"}],"conditions":{"type":"and","exprs":[{"field":"9007199254740993 + 0","isExpr":true,"operator":"=","token":"9007199254740992"}]}}`, `[0]`},
		{"large integers where none can be", "res-query", `{"resource":"Category","fields":[],"limit":99999999999999999999}`, `"at":"/limit"`},
		// Names.
		{"underscores", "res_query", `{"resource":"Category","fields":[{"code":"id"}],"limit":1}`, one},
		{"underscores", "res_schema", `{"detail":"names"}`, "Category · "},
		{"dotted field", "res-query", `{"resource":"Category","fields":[{"code":"Category.id"}]}`, `\"codeResource\":\"Category\"`},
		{"field without its resource", "res-query", `{"resource":"Category","fields":[{"code":"parent_id"},{"code":"COUNT(*)","isExpr":true,"alias":"n"}],"groupBy":["parent_ids"]}`, "parent_id"},
		// Missing and empty things.
		{"fields missing", "res-query", `{"resource":"Category","limit":1}`, `"columns":["id","parent_id","name","name_en","sort"]`},
		{"fields null", "res-query", `{"resource":"Category","fields":null,"limit":1}`, `"columns":["id","parent_id","name","name_en","sort"]`},
		{"resource missing", "res-query", `{"fields":[]}`, "missing resource"},
		{"no arguments", "res-query", ``, "missing resource"},
		{"no arguments", "res-schema", ``, "Category · "},
		{"null arguments", "res-query", `null`, "the arguments are not a JSON object"},
		{"wrong key", "res-query", `{"resource":"Category","fields":[],"condition":{}}`, "nearest: conditions"},
		{"wrong case", "res-query", `{"resource":"Category","fields":[],"conditions":{"type":"AND","exprs":[]}}`, "one of: and, or"},
		{"texts for fields", "res-query", `{"resource":"Category","fields":["id"]}`, `"at":"/fields/0"`},
		{"guessed field", "res-query", `{"resource":"Category","fields":[{"code":"title"}]}`, `"at":"/fields/0/code"`},
	} {
		body := call(c.tool, c.args)
		if c.args == "" {
			body = strings.Replace(call(c.tool, `0`), `,"arguments":0`, "", 1)
		}
		got := text(t, exchange{body: body}.do(t, url).body)
		if want := strings.ReplaceAll(c.want, `\n`, "\n"); !strings.Contains(got, want) {
			t.Errorf("%s: %s\nanswered %s\nlacks %s", c.row, c.args, got, want)
		}
		if strings.Contains(got, "\"error\"") && !strings.Contains(got, `"hint"`) && !strings.Contains(got, `"at"`) && !strings.Contains(got, "missing resource") {
			t.Errorf("%s: neither a place nor a hint: %s", c.row, got)
		}
	}
	// Other spellings of a tool's name are no tools, and the nearest is named.
	for _, name := range []string{"res.query", "Res-Query", "resquery", "mcp__resq__res-query"} {
		r := decode(t, exchange{body: call(name, `{}`)}.do(t, url).body)
		if r.Error == nil || r.Error.Data.Error.Code != "UNKNOWN_TOOL" || name != "mcp__resq__res-query" && !strings.Contains(r.Error.Message, "nearest: res-query") {
			t.Errorf("%s: %+v", name, r.Error)
		}
	}
}

// Names, lengths, counts and words that clients cut or refuse, in every profile that has a name.
func TestHabitsOfLists(t *testing.T) {
	anyClient := regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	strictest := regexp.MustCompile(`^[a-zA-Z0-9_]{1,60}$`)
	for _, lang := range Languages() {
		for _, profile := range Profiles() {
			l := listing(t, lang, profile)
			if n := len([]rune(l.Instructions)); n > 2000 {
				t.Errorf("%s: instructions of %d characters are cut at 2,048 by some", profile, n)
			}
			if len(l.Tools) > 40 {
				t.Errorf("%s: %d tools, and some clients take 40", profile, len(l.Tools))
			}
			for i := range l.Tools {
				tool := l.tool(t, i)
				if !anyClient.MatchString("mcp__resq__"+tool.Name) || strings.Contains(tool.Name, "__") {
					t.Errorf("%s: the name %s", profile, tool.Name)
				}
				if profile == "cursor" && !strictest.MatchString("resq"+tool.Name) {
					t.Errorf("%s: the name %s", profile, tool.Name)
				}
				if n := len([]rune(tool.Description)); n > 2000 {
					t.Errorf("%s %s: a description of %d characters", profile, tool.Name, n)
				}
				var schema map[string]any
				if err := json.Unmarshal(tool.InputSchema, &schema); err != nil {
					t.Fatal(err)
				}
				for _, top := range []string{"oneOf", "anyOf", "allOf", "not", "$ref"} { // Anthropic, OpenAI
					if schema[top] != nil {
						t.Errorf("%s %s: %s at the top", profile, tool.Name, top)
					}
				}
				if schema["type"] != "object" || tool.OutputSchema != nil { // a recursive one breaks Claude Code; none cannot
					t.Errorf("%s %s: type %v, output schema %s", profile, tool.Name, schema["type"], tool.OutputSchema)
				}
				name := strings.ReplaceAll(tool.Name, "_", "-")
				reads := name == toolSchema || name == toolQuery || name == toolOperation
				breaks := name == toolUpdate || name == toolDelete || name == toolUndo
				if a := tool.Annotations; a["readOnlyHint"] != reads || a["idempotentHint"] != reads || a["destructiveHint"] != breaks || a["openWorldHint"] {
					t.Errorf("%s %s: hints %v", profile, tool.Name, a)
				}
			}
		}
	}
	if strings.Contains(string(envelopeSchema), "$ref") {
		t.Error("an output schema that recurs breaks Claude Code")
	}
}

// Who sees only structured content, only text, or both, sees the same; and an answer keeps within the size at
// which clients cut.
func TestHabitsOfAnswers(t *testing.T) {
	url := serveHTTP(t, shop(t))
	a := exchange{body: call("res-query", `{"resource":"Order","fields":[],"limit":1000}`)}.do(t, url)
	got := text(t, a.body)
	if len(got) > 25<<10 || !strings.Contains(got, `"hasMore":true`) || !strings.Contains(got, `"notice"`) || !strings.Contains(got, `"nextOffset"`) {
		t.Errorf("an answer of %d bytes ends in %s", len(got), got[max(0, len(got)-200):])
	}
	if strings.Contains(a.body, "structuredContent") || strings.Contains(a.body, `\u003c`) {
		t.Errorf("more than the text: %.200s", a.body)
	}
	if n := Tokens(got); n > 10_000*3/2 {
		t.Errorf("about %d tokens", n)
	}
}
