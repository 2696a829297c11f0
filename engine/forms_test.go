package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"resq/engine/policy"
	"resq/testdb"
)

// variants are requests of one form and of forms beside it: the request, and the same with other tokens. Some of those
// are no values at all, and have to be told as such.
func variants(r *rand.Rand, raw string) []string {
	out := []string{raw}
	var v any
	d := json.NewDecoder(strings.NewReader(raw))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return out
	}
	for range 4 {
		if b, err := json.Marshal(varied(r, v)); err == nil {
			out = append(out, string(b))
		}
	}
	return out
}

// tokens are of all kinds, with those among them that are written down in a way of their own: a day's beginning, a text
// that ends in a blank, a number with another scale, a date instead of a moment, nothing at all.
var tokens = []string{"1", "3", "5", "12.50", "0.125", "2024-01-05", "2024-01-05 00:00:00", "2024-01-05 10:00:00", "2024-02-29T23:59:59.5Z", "08:30", "true", "0",
	"alice", "paid", "new", "alice ", "ALICE", "", "订单", "it's", "100%", "999999999999999999999", "18446744073709551615", "6ba7b810-9dad-11d1-80b4-00c04fd430c8", "a\\b", "1,2"}

func varied(r *rand.Rand, v any) any {
	switch x := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for _, k := range slices.Sorted(maps.Keys(x)) {
			switch item := x[k].(type) {
			case string:
				if out[k] = item; k == "token" && chance(r, 70) {
					out[k] = tokens[r.IntN(len(tokens))]
				}
			case json.Number:
				if out[k] = item; k == "token" {
					out[k] = json.Number(fmt.Sprint(r.IntN(9)))
				}
			case []any:
				if list := slices.Clone(item); k == "tokens" {
					for i := range list {
						if chance(r, 50) {
							list[i] = tokens[r.IntN(len(tokens))]
						}
					}
					out[k] = list
				} else {
					out[k] = varied(r, item)
				}
			default:
				out[k] = varied(r, item)
			}
		}
		return out
	case []any:
		out := make([]any, len(x))
		for i := range x {
			out[i] = varied(r, x[i])
		}
		return out
	}
	return v
}

// whole answers as an engine does that has seen no request before: what explaining gives is always compiled from the
// beginning, and what ran must be that.
func whole(t *testing.T, b *bench, who *policy.Principal, raw string) (problems string) {
	t.Helper()
	x, wantErr := b.engine.Explain(context.Background(), who, []byte(raw))
	b.recorder.Reset()
	a, err := b.engine.Query(context.Background(), who, []byte(raw))
	ran := b.recorder.Texts()
	if wantErr != nil {
		if err == nil || tell(err) != tell(wantErr) {
			return fmt.Sprintf("it fails with\n%v\nand compiled from the beginning with\n%s", err, tell(wantErr))
		}
		return ""
	}
	if err == nil && a == nil {
		return "neither an answer nor an error"
	}
	for _, s := range x.Statements {
		if !slices.ContainsFunc(ran, func(r testdb.Statement) bool { return r.SQL == s.SQL && sameArgs(r.Args, s.Args) }) {
			return fmt.Sprintf("what ran is not\n%s\n%v\nbut\n%v", s.SQL, s.Args, ran)
		}
	}
	return ""
}

func sameArgs(ran []any, want []any) bool {
	return fmt.Sprintf("%q", ran) == fmt.Sprintf("%q", want) // a driver may have made its own kinds of numbers of them
}

// Requests that are compiled by the form of others give the very statements, arguments and refusals that they give by
// themselves, for every principal between all others: of the cases, with other tokens in them, and of the generator.
func TestFormsOfCases(t *testing.T) {
	r := randomness(t)
	people := principals(t)
	names := slices.Sorted(maps.Keys(people))
	var raws []string
	for _, file := range caseFiles(t) {
		c, err := parseArchive([]byte(readFile(t, file)))
		if err != nil {
			t.Fatal(err)
		}
		if raw, ok := c.section("request"); ok {
			raws = append(raws, variants(r, raw)...)
		}
	}
	for _, on := range testdb.Engines(t) {
		t.Run(on.Name, func(t *testing.T) {
			b := newShop(t, on)
			found := 0
			for round := range 3 { // it is seen, tried, and used
				for i, raw := range raws {
					for _, name := range []string{"root", names[(i+round)%len(names)], names[r.IntN(len(names))]} {
						if why := whole(t, b, people[name], raw); why != "" {
							t.Errorf("%s, round %d: %s\n%s", name, round, raw, why)
							if found++; found > 5 {
								return
							}
						}
					}
				}
			}
			if used := b.engine.FormsUsed(); used < int64(len(raws)) {
				t.Errorf("%d of some %d requests were compiled by their form: nothing was tested", used, 9*len(raws))
			}
		})
	}
}

// The same for random requests, on the world of the non-interference test and its principals.
func TestFormsOfRandomRequests(t *testing.T) {
	r := randomness(t)
	for _, on := range testdb.Engines(t) {
		t.Run(on.Name, func(t *testing.T) {
			tr := newTrio(t, on)
			tr.load(visibleRows(r).script(r, purgedWorld))
			b := tr.engines[purgedWorld]
			g := newGen(r)
			found := 0
			for range requests(t) / 10 {
				raw, _ := g.request()
				for _, v := range variants(r, raw) {
					for range 2 {
						for _, who := range []*policy.Principal{unrestricted, restricted} {
							if why := whole(t, b, who, v); why != "" {
								t.Errorf("%s: %s\n%s", who.Name, v, why)
								if found++; found > 5 {
									return
								}
							}
						}
					}
				}
			}
		})
	}
}

// Many calls of one form at once have each their own values, and so have their cursors.
func TestFormsAtOnce(t *testing.T) {
	b := newShop(t, testdb.Engine{Name: testdb.SQLite})
	who := principals(t)["root"]
	ask := func(id int) (string, error) {
		a, err := b.engine.Query(context.Background(), who, []byte(fmt.Sprintf(
			`{"resource":"Order","fields":[{"code":"id"}],"conditions":{"type":"and","exprs":[{"field":"id","operator":">=","token":"%d"}]},"orderBy":["Order.id"],"limit":1}`, id)))
		if err != nil {
			return "", err
		}
		return string(a.Text), nil
	}
	for range 3 {
		if _, err := ask(1); err != nil {
			t.Fatal(err)
		}
	}
	var all sync.WaitGroup
	for k := range 8 {
		all.Go(func() {
			for i := range 50 {
				id := 1 + (i+k)%5
				text, err := ask(id)
				if err != nil || !strings.Contains(text, fmt.Sprintf("\n[%d]\n", id)) {
					t.Errorf("order %d: %s %v", id, text, err)
					return
				}
				// The cursor is sealed with the tokens of this very request.
				var got struct{ Cursor string }
				if json.Unmarshal([]byte(text), &got) != nil || got.Cursor == "" {
					continue
				}
				next := fmt.Sprintf(`{"resource":"Order","fields":[{"code":"id"}],"conditions":{"type":"and","exprs":[{"field":"id","operator":">=","token":"%d"}]},"orderBy":["Order.id"],"limit":1,"cursor":"%s"}`, id, got.Cursor)
				if _, err := b.engine.Query(context.Background(), who, []byte(next)); err != nil {
					t.Errorf("the cursor of order %d: %v", id, err)
					return
				}
			}
		})
	}
	all.Wait()
	if b.engine.FormsUsed() < 300 {
		t.Errorf("%d calls were compiled by their form", b.engine.FormsUsed())
	}
}

// A form is that of one principal: whoever differs in anything that a plan may depend on has plans of its own.
func TestFormsOfPrincipals(t *testing.T) {
	raw := []byte(`{"resource":"Order","fields":[{"code":"id"}],"conditions":{"type":"and","exprs":[{"field":"id","operator":"=","token":"3"}]}}`)
	b := newShop(t, testdb.Engine{Name: testdb.SQLite})
	use := func(who *policy.Principal) bool {
		before := b.engine.FormsUsed()
		if _, err := b.engine.Query(context.Background(), who, raw); err != nil {
			t.Fatal(err)
		}
		return b.engine.FormsUsed() > before
	}
	base := func() *policy.Principal {
		return &policy.Principal{Name: "p", Key: "k", Roles: []string{"r"}, Scopes: []string{"read"}, User: "7",
			Attributes: map[string]policy.Value{"a": policy.One("1"), "list": {Texts: []string{"x"}, List: true}}, Funcs: map[string]policy.Value{"UserID": policy.One("7")}}
	}
	for range 3 {
		use(base())
	}
	if !use(base()) {
		t.Fatal("the same principal does not find its plan again")
	}
	for about, change := range map[string]func(p *policy.Principal){
		"name":             func(p *policy.Principal) { p.Name = "q" },
		"key":              func(p *policy.Principal) { p.Key = "l" },
		"user":             func(p *policy.Principal) { p.User = "8" },
		"role":             func(p *policy.Principal) { p.Roles = []string{"s"} },
		"more roles":       func(p *policy.Principal) { p.Roles = append(p.Roles, "s") },
		"scope":            func(p *policy.Principal) { p.Scopes = []string{"write"} },
		"role as scope":    func(p *policy.Principal) { p.Roles, p.Scopes = nil, []string{"r", "read"} },
		"attribute":        func(p *policy.Principal) { p.Attributes["a"] = policy.One("2") },
		"no attribute":     func(p *policy.Principal) { delete(p.Attributes, "a") },
		"empty attribute":  func(p *policy.Principal) { p.Attributes["a"] = policy.Value{} },
		"other attribute":  func(p *policy.Principal) { p.Attributes["b"] = p.Attributes["a"]; delete(p.Attributes, "a") },
		"list":             func(p *policy.Principal) { p.Attributes["list"] = policy.One("x") },
		"items":            func(p *policy.Principal) { p.Attributes["list"] = policy.Value{Texts: []string{"x", "y"}, List: true} },
		"func":             func(p *policy.Principal) { p.Funcs["UserID"] = policy.One("8") },
		"func as argument": func(p *policy.Principal) { p.Attributes["UserID"], p.Funcs = p.Funcs["UserID"], nil },
		"budget":           func(p *policy.Principal) { p.Budget.Statements = 1 },
	} {
		p := base()
		change(p)
		if use(p) {
			t.Errorf("another %s, and the plan is the same", about)
		}
	}
}

// What is not in the tokens is in the form: the language of requests has many ways to ask for something else.
func TestFormsOfRequests(t *testing.T) {
	b := newShop(t, testdb.Engine{Name: testdb.SQLite})
	who := principals(t)["root"]
	base := `{"resource":"Order","fields":[{"code":"id"}],"conditions":{"type":"and","exprs":[{"field":"id","operator":"=","token":"3"},{"field":"user_id","operator":"IN","tokens":["1","2"]},{"field":"status","operator":"!=","token":"void"}]},"limit":5}`
	use := func(raw string) bool {
		before := b.engine.FormsUsed()
		_, _ = b.engine.Query(context.Background(), who, []byte(raw))
		return b.engine.FormsUsed() > before
	}
	for range 3 {
		use(base)
	}
	for _, same := range []string{`"3"`, `"4"`, `"-1"`} {
		if !use(strings.Replace(base, `"token":"3"`, `"token":`+same, 1)) {
			t.Errorf("token %s is compiled anew", same)
		}
	}
	number := `{"resource":"Order","fields":[],"conditions":{"type":"and","exprs":[{"field":"amount","operator":">=","token":100},{"field":"order_no","operator":"!=","token":5},{"field":"paid","operator":"=","token":1}]}}`
	for range 2 {
		use(number)
	}
	if !use(strings.Replace(number, "100", "7", 1)) {
		t.Error("a number as token is compiled anew")
	}
	for _, change := range [][2]string{
		{`"limit":5`, `"limit":6`}, {`"limit":5`, `"limit":5,"offset":1`}, {`"limit":5`, `"limit":5,"total":true`}, {`"limit":5`, `"limit":5,"format":"objects"`},
		{`"limit":5`, `"limit":5,"distinct":true`}, {`["1","2"]`, `["1"]`}, {`["1","2"]`, `["1","2","3"]`}, {`["1","2"]`, `[]`}, {`"token":"3"`, `"token":3`}, {`"token":"3"`, `"token":"x"`},
		{`"token":"3"`, `"token":""`}, {`"void"`, `"none"`}, {`"token":"3"`, `"token":"UserID","tokenType":"func"`}, {`"token":"3"`, `"token":"Order.id","tokenType":"field"`}, {`"operator":"="`, `"operator":"!="`},
		{`"operator":"="`, `"operator":"LIKE"`}, {`"type":"and"`, `"type":"or"`}, {`"type":"and"`, `"type":"and","not":true`}, {`"code":"id"`, `"code":"status"`},
		{`"field":"id"`, `"field":"discount"`}, {`"resource":"Order"`, `"resource":"User"`}, {`"token":"3"`, `"token":"3","query":{"resource":"User"},"tokenType":"query"`},
	} {
		if raw := strings.Replace(base, change[0], change[1], 1); use(raw) {
			t.Errorf("%s is taken for the same form", raw)
		}
	}
}

// A request whose tokens are anything but plain values, or that depends on the time, a cursor or a set that was read,
// is compiled each time.
func TestFormsThatAreNone(t *testing.T) {
	for _, raw := range []string{
		`{"resource":"User","fields":[],"conditions":{"type":"and","exprs":[{"field":"name","operator":"LIKE","token":"a"}]}}`,
		`{"resource":"User","fields":[],"conditions":{"type":"and","exprs":[{"field":"id","operator":"IN","token":"1,2"}]}}`,
		`{"resource":"User","fields":[],"conditions":{"type":"and","exprs":[{"field":"name","operator":"REGEXP","token":"^a"}]}}`,
		`{"resource":"Order","fields":[{"code":"NOW()","isExpr":true,"alias":"n"}]}`,
		`{"resource":"Order","fields":[],"conditions":{"type":"and","exprs":[{"field":"placed_at","operator":"<","token":"NOW()","tokenType":"expr"}]}}`,
	} {
		b := newShop(t, testdb.Engine{Name: testdb.SQLite})
		for range 4 {
			if _, err := b.engine.Query(context.Background(), principals(t)["root"], []byte(raw)); err != nil {
				t.Fatalf("%s: %v", raw, err)
			}
		}
		if n := b.engine.FormsUsed(); n != 0 {
			t.Errorf("%s: used %d times", raw, n)
		}
	}
}
