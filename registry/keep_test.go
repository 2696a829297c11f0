package registry

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"resq/schema"
)

// knownShop is what may be kept of the calls of a small catalog.
func knownShop() *Known {
	id := &schema.Field{Code: "id", Column: "id"}
	user := &schema.Resource{Code: "User", Key: []*schema.Field{id}, Fields: []*schema.Field{
		id, {Code: "name", Column: "name"}, {Code: "parent", Column: "parent"}, {Code: "doc", Column: "doc"},
		{Code: "phone", Column: "phone", Mask: "last4"}, {Code: "salary", Column: "pay", Roles: []string{"hr"}},
	}}
	secret := &schema.Resource{Code: "Secret", Roles: []string{"hr"}, Key: []*schema.Field{{Code: "sid"}}, Fields: []*schema.Field{{Code: "sid", Column: "sid"}, {Code: "note", Column: "note"}}}
	tool := func(name string, audit *schema.Audit) *schema.Tool {
		return &schema.Tool{Name: name, Preset: &schema.Preset{Audit: audit}, Params: []*schema.Param{
			{Name: "name", Type: "string", Field: "name"}, {Name: "tel", Type: "string", Field: "phone"}, {Name: "free", Type: "string"},
			{Name: "kind", Type: "enum", Values: []string{"1", "a"}}, {Name: "on", Type: "boolean"}, {Name: "other", Type: "string", Field: "name"},
		}}
	}
	return NewKnown(&schema.Catalog{
		Resources: []*schema.Resource{user, secret},
		Tools:     []*schema.Tool{tool("plain", nil), tool("told", &schema.Audit{Args: []string{"name", "tel", "page"}, Mask: map[string]string{"free": "last4", "other": "phone"}})},
		Masks:     []*schema.Mask{{Table: "t", Column: "DOC2"}},
	})
}

// E-15, security.md 5.6: what is kept of arguments is what is known to be harmless, in whatever form they come.
func TestKeep(t *testing.T) {
	const s = "s3cr3t"
	known := knownShop()
	text := func(in string) string { return strconv.Quote(in) }
	leaf := func(in string) string { return `{"conditions":{"type":"and","exprs":[` + in + `]}}` }
	kept := func(in string) string { return `{"conditions":{"exprs":[` + in + `],"type":"and"}}` }
	for _, c := range []struct{ tool, in, want string }{
		// What a request is made of stays.
		{"res-query", `{"resource":"User","fields":[{"code":"name","codeResource":"User","alias":"x","dataType":"json"}],"limit":5,"offset":"10","total":true,"orderBy":["User.name",{"type":"field","expr":"id","direction":"desc"}]}`,
			`{"fields":[{"alias":"***","code":"name","codeResource":"User","dataType":"json"}],"limit":5,"offset":"10","orderBy":["User.name",{"direction":"desc","expr":"id","type":"field"}],"resource":"User","total":true}`},
		{"res-query", leaf(`{"field":"User.name","operator":"not  like","token":"li"},{"field":"id","operator":"IN","tokens":[1,"2"]},{"field":"id","operator":"=","token":"UserID","tokenType":"func"}`),
			kept(`{"field":"User.name","operator":"not  like","token":"li"},{"field":"id","operator":"IN","tokens":[1,"2"]},{"field":"id","operator":"=","token":"UserID","tokenType":"func"}`)},
		{"res-create", `{"resource":"User","data":{"name":"li","doc":{"a":1,"password":"` + s + `"}}}`, `{"data":{"doc":{"a":1,"password":"***"},"name":"li"},"resource":"User"}`},
		{"res-update", `{"resource":"User","ids":[1,"2",13812345678],"data":{"name":null},"__confirm__":true,"__confirm_token__":"` + s + `"}`,
			`{"__confirm__":true,"__confirm_token__":"***","data":{"name":null},"ids":[1,"2","***"],"resource":"User"}`},
		{"res-undo", `{"op_id":"0123456789abcdef0123456789abcdef"}`, `{"op_id":"0123456789abcdef0123456789abcdef"}`},
		{"res-schema", `{"keywords":"User ` + s + `","detail":"full"}`, `{"detail":"full","keywords":"User ***"}`},
		// Texts of JSON.
		{"res-create", `{"resource":"User","data":` + text(`{"phone":"`+s+`"}`) + `}`, `{"data":{"phone":"***"},"resource":"User"}`},
		{"res-create", `{"resource":"User","data":` + text(`[{"phone":"`+s+`"},`+text(`{"salary":"`+s+`"}`)+`]`) + `}`, `{"data":[{"phone":"***"},{"salary":"***"}],"resource":"User"}`},
		{"res-create", text(`{"resource":"User","data":{"phone":"` + s + `"}}`), `{"data":{"phone":"***"},"resource":"User"}`},
		{"res-create", `{"data":` + text(`{"phone":"`+s) + `}`, `{"data":"***"}`},
		{"res-create", `{"data":{"doc":` + text(`{"password":"`+s+`"}`) + `}}`, `{"data":{"doc":"{\"password\":\"***\"}"}}`},
		{"res-query", `{"conditions":` + text(`{"type":"and","exprs":`+text(`[{"field":"phone","operator":"=","token":"`+s+`"}]`)+`}`) + `}`, kept(`{"field":"phone","operator":"=","token":"***"}`)},
		// Expressions.
		{"res-query", `{"fields":[{"code":"CASE WHEN User.phone = '` + s + `' THEN 1 ELSE COUNT(name) END","isExpr":true,"alias":"` + s + `"}]}`,
			`{"fields":[{"alias":"***","code":"CASE WHEN User.phone = *** THEN *** ELSE COUNT(name) END","isExpr":true}]}`},
		{"res-query", leaf(`{"field":"id","operator":"=","tokenType":"expr","token":"` + s + " + `" + s + "` + '" + s + `'"}`), kept(`{"field":"id","operator":"=","token":"*** + *** + ***","tokenType":"expr"}`)},
		{"res-query", leaf(`{"field":"CONCAT(phone, '` + s + `')","isExpr":true,"operator":"=","token":"` + s + `"}`), kept(`{"field":"CONCAT(phone, ***)","isExpr":true,"operator":"=","token":"***"}`)},
		{"res-query", `{"orderBy":[{"type":"sql","expr":"phone = '` + s + `'"}],"groupBy":[{"type":"sql","expr":"name || '` + s + `"},{"type":"x","expr":"'` + s + `'"},"` + s + `"]}`,
			`{"groupBy":[{"expr":"***","type":"sql"},{"expr":"***","type":"***"},"***"],"orderBy":[{"expr":"phone = ***","type":"sql"}]}`},
		// What the catalog and the request do not know.
		{"res-query", leaf(`{"Field":"phone","Token":"` + s + `","field":"id"}`), kept(`{"***":"***","field":"id"}`)},
		{"res-query", leaf(`{"field":"phones","operator":"` + s + `","token":"` + s + `","fieldSqlFunc":"` + s + `","fieldSqlFuncParam":"` + s + `"}`),
			kept(`{"field":"***","fieldSqlFunc":"***","fieldSqlFuncParam":"***","operator":"***","token":"***"}`)},
		{"res-create", `{"data":{"` + s + `":1,"Phone":"` + s + `"},"idempotency_key":"` + s + `"}`, `{"data":{"***":"***"},"idempotency_key":"***"}`},
		{"res-query", `{"resource":"` + s + `","cursor":"` + s + `","limit":138123456789,"` + s + `":1,"format":"` + s + `"}`, `{"***":"***","cursor":"***","format":"***","limit":"***","resource":"***"}`},
		{"res-query", `{"resource": "` + s, `"***"`},
		{"res-query", `"` + s + `"`, `"***"`},
		{"nosuch", `{"a":"` + s + `"}`, `{"***":"***"}`},
		{"", ``, `""`},
		// Fields that not everybody reads.
		{"res-query", leaf(`{"field":"salary","operator":"=","token":"` + s + `"},{"field":"note","operator":"=","token":"` + s + `"}`), kept(`{"field":"salary","operator":"=","token":"***"},{"field":"note","operator":"=","token":"***"}`)},
		{"res-delete", `{"resource":"Secret","ids":["` + s + `",7]}`, `{"ids":"***","resource":"Secret"}`},
		// A masked field under another name.
		{"res-query", `{"fields":[{"code":"phone","alias":"name"}],"having":{"type":"and","exprs":[{"field":"name","operator":"=","token":"` + s + `"}]}}`,
			`{"fields":[{"alias":"name","code":"phone"}],"having":{"exprs":[{"field":"name","operator":"=","token":"***"}],"type":"and"}}`},
		{"res-query", `{"setOps":[{"op":"union","query":{"resource":"User","fields":[{"code":"phone"}]}}],"conditions":{"type":"or","exprs":[{"field":"name","operator":"=","token":"` + s + `"}]}}`,
			`{"conditions":{"exprs":[{"field":"name","operator":"=","token":"***"}],"type":"or"},"setOps":[{"op":"union","query":{"fields":[{"code":"phone"}],"resource":"User"}}]}`},
		{"res-query", `{"recursive":{"pField":"User.parent","cField":"id","root":"7"},"with":[{"code":"` + s + `","query":{"resource":"User","recursive":{"pField":"parent","cField":"phone","root":"` + s + `"}}}]}`,
			`{"recursive":{"cField":"id","pField":"User.parent","root":"7"},"with":[{"code":"***","query":{"recursive":{"cField":"phone","pField":"parent","root":"***"},"resource":"User"}}]}`},
		// Business tools: what the catalog names, else fields that are open and words that the catalog lists (V-39).
		{"plain", `{"name":"li","tel":"` + s + `","free":"` + s + `","kind":1,"on":true,"page":2,"rows":"` + s + `"}`, `{"free":"***","kind":1,"name":"li","on":true,"page":2,"rows":"***","tel":"***"}`},
		{"told", `{"name":"li","tel":"` + s + `","free":"` + s + `5678","kind":"a","other":"13812345678","page":3}`, `{"free":"******5678","kind":"***","name":"li","other":"138****5678","page":3,"tel":"***"}`},
	} {
		got := string(known.Keep(c.tool, []byte(c.in)))
		if got != c.want || !json.Valid([]byte(got)) || strings.Contains(got, s) {
			t.Errorf("%s %s:\n%s\n%s", c.tool, c.in, got, c.want)
		}
	}
	if got := string((*Known)(nil).Keep("res-query", []byte(`{"resource":"User","limit":1}`))); got != `{"limit":1,"resource":"***"}` {
		t.Error(got)
	}
}

// Whatever is sent, what is kept is JSON, and a value of a masked field is not in it.
func FuzzKeep(f *testing.F) {
	known := knownShop()
	f.Add(`{"resource":"User","conditions":{"exprs":[{"field":"phone","token":"zq7zq7"}]}}`)
	f.Add(`"{\"data\":\"[{}]\"}"`)
	f.Fuzz(func(t *testing.T, in string) {
		for _, tool := range []string{"res-query", "res-create", "res-schema", "plain"} {
			got := known.Keep(tool, []byte(in))
			if !json.Valid(got) || MaskText(string(got)) != string(got) {
				t.Errorf("%s %q: %s", tool, in, got)
			}
		}
	})
}

// E-15, B-014: a key of the configuration may look like anything, and is kept nowhere all the same.
func TestKeepNoKeys(t *testing.T) {
	known := knownShop().Secret(func(word string) bool { return word == "alice-has-a-long-key-0001" || word == "a key of several words" })
	for in, want := range map[string]string{
		"alice-has-a-long-key-0001":                "***",
		"mine is 'alice-has-a-long-key-0001', see": "mine is '***', see",
		"k=alice-has-a-long-key-0001;n":            "k=***;n",
		" a key of several words ":                 "***",
		"alice-has-a-long-key-00012":               "alice-has-a-long-key-00012",
		"li":                                       "li",
	} {
		raw, _ := json.Marshal(map[string]any{"resource": "User", "data": map[string]any{"name": in}})
		var got struct{ Data struct{ Name string } }
		if err := json.Unmarshal(known.Keep("res-create", raw), &got); err != nil || got.Data.Name != want {
			t.Errorf("%q is kept as %q, want %q (%v)", in, got.Data.Name, want, err)
		}
	}
}
