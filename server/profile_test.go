package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

func parse(t *testing.T, text string) Profile {
	t.Helper()
	p, err := ParseProfile(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return p
}

func listing(t *testing.T, lang, profile string) *Listing {
	t.Helper()
	l, err := List(lang, parse(t, profile))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func (l *Listing) tool(t *testing.T, i int) (tool struct {
	Name, Title, Description string
	InputSchema              json.RawMessage
	OutputSchema             json.RawMessage
	Annotations              map[string]bool
}) {
	t.Helper()
	if err := json.Unmarshal(l.Tools[i].JSON, &tool); err != nil {
		t.Fatal(err)
	}
	return tool
}

func TestParseProfile(t *testing.T) {
	for text, want := range map[string]string{
		"": "contract", "contract": "contract", "cursor": "names=underscore", "openai": "names=nodots&schema=single",
		"gemini": "names=nodots&schema=flat", "moonshot": "schema=single", "claude-desktop": "names=nodots",
		"openai?format=csv&depth=3":  "names=nodots&schema=single&depth=3&format=csv",
		"schema=flat&depth=2":        "schema=flat",
		"schema=defs&depth=4":        "schema=defs", // the depth means nothing there
		"structured=on&export=csv":   "structured=on&export=csv",
		"contract=seed":              "contract=seed",
		"descriptions=slim":          "descriptions=slim",
		"annotations=contract":       "annotations=contract",
		"gemini?schema=contract":     "names=nodots",
		"names=contract&format=csv":  "format=csv",
		"names=underscore&contract=": "",
	} {
		p, err := ParseProfile(text)
		if want == "" {
			if err == nil {
				t.Errorf("%q is a profile: %s", text, p)
			}
			continue
		}
		if err != nil || p.String() != want {
			t.Errorf("%q is %s, %v; want %s", text, p, err, want)
		}
	}
	for text, want := range map[string]string{
		"opneai": "nearest: openai", "name=underscore": "nearest: names", "names=dashes": "one of: contract, underscore, nodots",
		"schema=flat&schema=defs": "not possible", "depth=0": "1, 2, 3, 4", "schema=flat;x=%zz": "a query such as", "access_token=secret": "no switch",
	} {
		if _, err := ParseProfile(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// samples are requests every profile's schema accepts, and others it refuses: a profile changes what is shown,
// and never shows something else.
var samples = []struct {
	ok   bool
	args string
}{
	{true, `{"resource":"User","fields":[]}`},
	{true, `{"resource":"User","fields":[{"code":"id"}],"conditions":{"type":"and","exprs":[{"field":"id","operator":"=","token":"1"}]},"limit":5,"offset":0}`},
	{true, `{"resource":"User","fields":[],"conditions":{"type":"or","exprs":[],"children":[{"type":"and","exprs":[{"field":"a","operator":"IN","token":"1,2"}]}]}}`},
	{true, `{"resource":"User","fields":[],"conditions":{"type":"or","exprs":[],"children":[{"type":"and","exprs":[],"children":[{"type":"and","exprs":[],"children":[{"type":"or","exprs":[],"children":[{"type":"and","exprs":[],"children":[{"type":"and","exprs":[]}]}]}]}]}]}}`},
	{true, `{"resource":"User","fields":[],"relations":[{"actuallyField":"id","actuallyResource":"Role","code":"R","relationField":"role_id","relationResource":"User","type":"left","conditions":{"type":"and","exprs":[],"children":[{"type":"and","exprs":[]}]}}]}`},
	{true, `{"resource":"User","fields":[],"groupBy":[{"type":"field","expr":"User.id"}],"orderBy":[{"type":"sql","expr":"COUNT(*)","direction":"desc"}]}`},
	{true, `{"resource":"Dept","fields":[],"recursive":{"pField":"Dept.parent_id","cField":"Dept.id","root":"0"}}`},
	{true, `{"resource":"User","fields":[],"distinct":true,"setOps":[{"op":"union","query":{"resource":"A","fields":[]}}],"with":[{"code":"w","query":{}}],"total":true,"format":"csv"}`},
	{false, `{"fields":[]}`},
	{false, `{"resource":"User"}`},
	{false, `{"resource":1,"fields":[]}`},
	{false, `{"resource":"User","fields":[{"alias":"x"}]}`},
	{false, `{"resource":"User","fields":[],"conditions":{"type":"xor","exprs":[]}}`},
	{false, `{"resource":"User","fields":[],"conditions":{"type":"and"}}`},
	{false, `{"resource":"User","fields":[],"conditions":{"type":"and","exprs":[],"children":[{"type":"and","exprs":[{"field":"a"}]}]}}`},
	{false, `{"resource":"User","fields":[],"relations":[{"actuallyField":"id","actuallyResource":"Role","code":"R","relationField":"role_id","relationResource":"User","type":"outer"}]}`},
	{false, `{"resource":"User","fields":[],"relations":[{"actuallyField":"id","actuallyResource":"Role","code":"R","relationField":"role_id","relationResource":"User","type":"left","conditions":{"type":"and","exprs":[{"operator":"="}]}}]}`},
	{false, `{"resource":"User","fields":[],"groupBy":[{"type":"field"}]}`},
	{false, `{"resource":"User","fields":[],"orderBy":[{"type":"sql","expr":"x","direction":"up"}]}`},
	{false, `{"resource":"User","fields":[],"limit":"ten"}`},
	{false, `{"resource":"Dept","fields":[],"recursive":{"pField":"Dept.parent_id"}}`},
}

// textForms are the samples that only a union allows: schema=single shows the other form alone.
var textForms = `{"resource":"User","fields":[],"groupBy":["User.id"],"orderBy":["User.id"]}`

func compile(t *testing.T, schema []byte) *jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	c.Draft = jsonschema.Draft2020
	if err := c.AddResource("tool.json", bytes.NewReader(schema)); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("tool.json")
	if err != nil {
		t.Fatalf("%v in %s", err, schema)
	}
	return s
}

func accepts(t *testing.T, s *jsonschema.Schema, args string) bool {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(args), &v); err != nil {
		t.Fatal(err)
	}
	return s.Validate(v) == nil
}

func TestProfileSchemas(t *testing.T) {
	for _, lang := range Languages() {
		for _, profile := range []string{
			"", "schema=defs", "schema=flat&depth=1", "schema=flat", "schema=flat&depth=4", "schema=single&depth=1", "schema=single",
			"descriptions=slim", "contract=seed", "contract=seed&schema=flat", "schema=defs&descriptions=slim&format=csv",
			"openai", "gemini", "cursor", "moonshot", "claude-desktop",
		} {
			l := listing(t, lang, profile)
			query := l.tool(t, 1)
			compile(t, l.tool(t, 0).InputSchema)
			s := compile(t, query.InputSchema)
			for _, sample := range samples {
				if accepts(t, s, sample.args) != sample.ok {
					t.Errorf("%s %s: accepted is %v: %s", lang, profile, !sample.ok, sample.args)
				}
			}
			p := parse(t, profile)
			if got := accepts(t, s, textForms); got != (p.schema != "single") {
				t.Errorf("%s %s: text in groupBy: %v", lang, profile, got)
			}
			for _, word := range map[string][]string{
				"contract": {"$defs", "anyOf"}, "defs": {"#/properties/", "anyOf"}, "flat": {"$ref", "$defs", "oneOf"}, "single": {"$ref", "$defs", "oneOf", "anyOf"},
			}[p.schema] {
				if strings.Contains(string(query.InputSchema), word) {
					t.Errorf("%s %s: contains %s", lang, profile, word)
				}
			}
			if p.schema == "defs" && regexp.MustCompile(`"\$ref":"[^"]*",|,"\$ref"`).Match(query.InputSchema) {
				t.Errorf("%s %s: a reference has words beside it: %s", lang, profile, query.InputSchema)
			}
			if !strings.Contains(string(query.InputSchema), `"default":"`+p.format+`"`) && p.contract != "seed" {
				t.Errorf("%s %s: no default format %s", lang, profile, p.format)
			}
		}
	}
}

// The depth is how many groups inside each other are written out.
func TestFlatDepth(t *testing.T) {
	for depth, want := range map[string]int{"1": 2, "2": 4, "3": 6, "4": 8} { // in conditions and in those of relations
		raw := listing(t, "", "schema=flat&depth="+depth).tool(t, 1).InputSchema
		if got := strings.Count(string(raw), `"exprs":{"type":"array"`) - 1; got != want {
			t.Errorf("depth %s: %d copies, want %d", depth, got, want)
		}
	}
	if strings.Count(string(listing(t, "", "schema=flat&depth=4").tool(t, 1).InputSchema), "Function applied") != 1 {
		t.Error("the copies repeat the descriptions")
	}
}

// contract=seed is the published contract and nothing beside it, in words too.
func TestSeedIsTheContract(t *testing.T) {
	want := contract(t)
	for _, lang := range Languages() {
		l := listing(t, lang, "contract=seed")
		for i := range l.Tools {
			tool := l.tool(t, i)
			var got any
			if err := json.Unmarshal(tool.InputSchema, &got); err != nil {
				t.Fatal(err)
			}
			for _, diff := range compare(tool.Name, want[tool.Name], got, nil) {
				t.Errorf("%s: %s", lang, diff)
			}
			for _, word := range []string{"having", "setOps", "EXISTS", "tokenType=query", "levelAlias", "detail", "BETWEEN", "cursor", "cross", "sub-quer", "子查询"} {
				if strings.Contains(string(l.Tools[i].JSON)+l.Instructions, word) {
					t.Errorf("%s %s speaks of %s", lang, tool.Name, word)
				}
			}
		}
	}
}

func TestProfileWords(t *testing.T) {
	full, slim := listing(t, "", ""), listing(t, "", "descriptions=slim")
	if a, b := Tokens(string(full.JSON())), Tokens(string(slim.JSON())); b > a*92/100 {
		t.Errorf("slim is %d tokens of %d", b, a)
	}
	for i := range full.Tools {
		if full.tool(t, i).Title == "" || slim.tool(t, i).Title != "" || slim.tool(t, i).Description != full.tool(t, i).Description {
			t.Errorf("titles and descriptions of %s", full.Tools[i].Name)
		}
	}
	slimmed := string(slim.JSON())
	for _, rule := range []string{"Field code", "IN takes a,b,c", "required with isExpr", "UserRolesUuid"} {
		if !strings.Contains(slimmed, rule) {
			t.Errorf("slim lost the rule %q", rule)
		}
	}
	if a := full.tool(t, 1).Annotations; !a["readOnlyHint"] || a["destructiveHint"] || !a["idempotentHint"] || len(a) != 4 {
		t.Errorf("filled: %v", a)
	}
	if got := string(listing(t, "", "annotations=contract").Tools[1].JSON); !strings.Contains(got, `"annotations":{}`) {
		t.Errorf("contract: %.120s", got)
	}
	for profile, want := range map[string]string{"cursor": "res_schema res_query", "openai": "res-schema res-query", "": "res-schema res-query"} {
		l := listing(t, "", profile)
		if got := l.Tools[0].Name + " " + l.Tools[1].Name; got != want {
			t.Errorf("%s: %s", profile, got)
		}
	}
}

// Two tools that would get one name stop the start.
func TestNamesCollide(t *testing.T) {
	box, err := loadTools("")
	if err != nil {
		t.Fatal(err)
	}
	more := box.Tools[0]
	more.Name = "res_schema"
	box.Tools = append(box.Tools, more)
	if _, err := newViews(box, contractProfile); err == nil || !strings.Contains(err.Error(), "res-schema and res_schema") {
		t.Errorf("two tools of one name: %v", err)
	}
}

// The budget of what every conversation pays before its first question, in every ready-made profile and both
// languages: a key that may only read 2,600 tokens, and all tools of the contract 3,500.
func TestBudget(t *testing.T) {
	const read, all = 2600, 3500
	for _, lang := range Languages() {
		for _, profile := range append(Profiles(), "schema=defs", "contract=seed", "descriptions=slim") {
			l := listing(t, lang, profile)
			reads := &Listing{}
			for i, tool := range l.Tools {
				if i < 2 { // those of a key that only reads
					reads.Tools = append(reads.Tools, tool)
				}
			}
			if n := Tokens(string(reads.JSON())); n > read || len(reads.Tools) != 2 {
				t.Errorf("%s %s: about %d tokens for %d tools that read", lang, profile, n, len(reads.Tools))
			}
			if n := Tokens(string(l.JSON())); profile == "contract" && n > all {
				t.Errorf("%s: about %d tokens for all tools", lang, n)
			}
		}
	}
}

// The estimate against what o200k_base counts.
func TestTokens(t *testing.T) {
	for text, want := range map[string]int{
		`{"type":"object","properties":{"actuallyField":{"type":"string","description":"Field of the joined resource"},"code":{"type":"string","description":"Name of this join in the request, usually the resource's own"},"limit":{"type":"integer","description":"Rows at most","default":30},"tokenType":{"type":"string","default":"string","enum":["string","func","field","expr","query"]}},"required":["actuallyField","code"]}`: 95,
		`{"type":"object","properties":{"actuallyField":{"type":"string","description":"被关联资源的字段"},"code":{"type":"string","description":"本关联在请求中的名字，通常为资源编码"},"limit":{"type":"integer","description":"最多行数","default":30}},"required":["actuallyField","code"]}`:                                                                                                                                                                        69,
		"Read records: filters, joins, aggregates, sub-queries, set operations, trees; always exactly one read. Call res-schema first and use only its codes. Put resources of one connection into one query with relations instead of several queries.":                                                                                                                                                                                  48,
		"先调用 res-schema，只用它返回的编码，不要猜。同一连接的资源用 relations 合并成一次查询，不要分多次查。超过 2^53 的整数和很长的小数以字符串返回。":                                                                                                                                                                                                                                                                                                                                          48,
		"{\"resource\":\"Order\",\"columns\":[\"id\",\"order_no\",\"status\",\"amount\",\"created_at\"],\"rows\":[\n[1,\"SO202401010001\",3,1250.50,\"2024-01-01 08:12:45\"],\n[2,\"SO202401010002\",1,89.90,\"2024-01-01 09:30:00\"],\n[3,\"SO202401020003\",3,12000.00,\"2024-01-02 17:01:59\"]\n],\"hasMore\":true,\"nextOffset\":3}":                                                                                                  120,
		"id,name,email,amount\n1,杨佳怡,yang@example.com,226595.57\n2,高娟,gao@example.com,182329.85\n3,萧秀英,xiao@example.com,178718.59\n":                                                                                                                                                                                                                                                                                                      52,
	} {
		if got := Tokens(text); got < want*88/100 || got > want*112/100 {
			t.Errorf("%d, want %d: %.60s", got, want, text)
		}
	}
	if Tokens("") != 0 {
		t.Error("nothing costs something")
	}
}

// A client chooses its profile by the URL; one that does not exist is a path that does not exist, and without a
// key nothing is learnt of either.
func TestProfileByURL(t *testing.T) {
	f := newFake()
	url := serveHTTP(t, newServer(t, f, Options{Profile: parse(t, "cursor")}))
	at := func(path string, e exchange) answer { e.path = path; return e.do(t, url) }
	list := exchange{body: `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`}
	for path, want := range map[string]string{
		Path: "res_schema res_query", Path + "/p/cursor": "res_schema res_query", Path + "/p/openai": "res-schema res-query", Path + "/compat": "res-schema res-query",
		Path + "/compat?names=underscore&schema=flat": "res_schema res_query", Path + "/p/gemini?names=underscore": "res_schema res_query", Path + "/p/contract": "res-schema res-query",
	} {
		for _, e := range []exchange{list, modern("tools/list", "", "")} {
			for range 2 { // from the library, then from memory
				a := at(path, e)
				if got := strings.Join(names(t, a.body), " "); got != want {
					t.Errorf("%s: %s, want %s", path, got, want)
				}
				if flat := strings.Contains(path, "flat") || strings.Contains(path, "gemini"); flat != strings.Contains(a.body, "anyOf") {
					t.Errorf("%s: %s", path, a.body)
				}
			}
		}
	}
	for _, path := range []string{Path + "/p/nosuch", Path + "/p/", Path + "/p/cursor/x", Path + "/compat?names=x", Path + "/compat?x=y", Path + "/p/cursor?schema=none", Path + "/nosuch"} {
		if a := at(path, list); a.status != http.StatusNotFound {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
	if a := at(Path+"/p/opneai", list); !strings.Contains(a.body, "nearest: openai") {
		t.Errorf("no help: %s", a.body)
	}
	// Both spellings are answered everywhere, and the format is that of the profile unless the call has its own.
	for path, want := range map[string]string{
		Path: `{"resource":"A"}`, Path + "/compat?format=csv": `{"format":"csv","resource":"A"}`, Path + "/p/openai?format=objects": `{"format":"objects","resource":"A"}`,
	} {
		for _, tool := range []string{"res-query", "res_query"} {
			for _, e := range []exchange{{body: call(tool, `{"resource":"A"}`)}, modern("tools/call", tool, `{"resource":"A"}`), viaLibrary(modern("tools/call", tool, `{"resource":"A"}`))} {
				a := at(path, e)
				if _, got := f.last(); a.status != 200 || got != want {
					t.Errorf("%s %s: %d, the engine got %s, want %s", path, tool, a.status, got, want)
				}
			}
		}
	}
	for args, want := range map[string]string{
		`{}`: `{"format":"csv"}`, ` { "resource" : "A"} `: `{"format":"csv", "resource" : "A"} `, `{"format":"objects"}`: `{"format":"objects"}`,
		`{"format":null}`: `{"format":null}`, `{"Format":"x"}`: `{"Format":"x"}`, `[1]`: `[1]`, `{"a":1`: `{"a":1`, ``: ``,
	} {
		if got := string(parse(t, "format=csv").usual([]byte(args))); got != want {
			t.Errorf("%s became %s, want %s", args, got, want)
		}
	}

	keyed := serveHTTP(t, newServer(t, f, withKeys(Options{})))
	for _, path := range []string{Path + "/p/cursor", Path + "/p/nosuch", Path + "/compat?x=y"} {
		if a := (exchange{path: path, body: list.body}).do(t, keyed); a.status != http.StatusUnauthorized {
			t.Errorf("%s without a key: %d %s", path, a.status, a.body)
		}
	}
}

// The instructions are those of the profile, in both eras.
func TestProfileInstructions(t *testing.T) {
	url := serveHTTP(t, newServer(t, newFake(), Options{}))
	for path, whole := range map[string]bool{Path: true, Path + "/compat?contract=seed": false} {
		for _, e := range []exchange{{body: initBody}, modern("server/discover", "", "")} {
			e.path = path
			if a := e.do(t, url); strings.Contains(a.body, "setOps") != whole || !strings.Contains(a.body, "res-schema") {
				t.Errorf("%s: %s", path, a.body)
			}
		}
	}
}

// Whoever asks for ever new profiles fills no memory.
func TestManyProfiles(t *testing.T) {
	s := newServer(t, newFake(), Options{})
	for _, a := range choices {
		for _, b := range choices {
			for _, v := range a.values {
				for _, w := range b.values {
					if a.key != b.key {
						if v := s.views().view(parse(t, a.key+"="+v+"&"+b.key+"="+w)); len(v.tools) != len(order) && v.profile.contract != "seed" {
							t.Fatal(v.profile)
						}
					}
				}
			}
		}
	}
	if n := len(s.views().of); n > maxViews {
		t.Errorf("%d profiles are remembered", n)
	}
}

// docs/clients.md names every profile and switch, with what they cost.
func TestClientsPage(t *testing.T) {
	raw, err := os.ReadFile("../docs/clients.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(raw)
	for _, name := range Profiles() {
		row := "| `" + name + "` | "
		if bundles[name] != "" {
			row += "`" + bundles[name] + "` "
		}
		_, rest, found := strings.Cut(page, row+"|")
		line, _, _ := strings.Cut(rest, "\n")
		if want := fmt.Sprintf("| %d |", Tokens(string(listing(t, "", name).JSON()))); !found || !strings.HasSuffix(line, want) {
			t.Errorf("%s: %s, want %s", name, line, want)
		}
	}
	for _, c := range choices {
		for _, v := range append(c.values, c.key) {
			if c.key != "depth" && !strings.Contains(page, "`"+v+"`") {
				t.Errorf("no word about %s=%s", c.key, v)
			}
		}
	}
}
