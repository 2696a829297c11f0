package query

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"resq/schema/problem"
)

func codeOf(t *testing.T, err error) (problem.Code, string) {
	t.Helper()
	if err == nil {
		return "", ""
	}
	var l problem.List
	if !errors.As(err, &l) {
		t.Fatalf("%T is no list of problems", err)
	}
	return l[0].Code, l[0].At
}

// The form of a request is checked strictly, and each mistake has its place (A-129, security.md 1.4, finding 8).
func TestDecodeRefuses(t *testing.T) {
	deep := strings.Repeat(`{"type":"and","exprs":[],"children":[`, 18) + strings.Repeat(`]}`, 18)
	for _, c := range []struct {
		raw  string
		code problem.Code
		at   string
	}{
		{``, problem.InvalidArgument, ""},
		{`[]`, problem.InvalidArgument, ""},
		{`{"resource":"A"} x`, problem.InvalidArgument, ""},
		{`{"resource":"A","resource":"B"}`, problem.InvalidArgument, ""},
		{"{\"resource\":\"\xff\"}", problem.InvalidArgument, ""},
		{`{"resource":"\ud800"}`, problem.InvalidArgument, ""},
		{`{"resource":"A","limit":01}`, problem.InvalidArgument, ""},
		{`{"Resource":"A"}`, problem.InvalidArgument, "/Resource"},
		{`{"reſource":"A"}`, problem.InvalidArgument, "/reſource"},
		{`{"resource":"A","condition":{}}`, problem.InvalidArgument, "/condition"},
		{`{"resource":5}`, problem.InvalidArgument, "/resource"},
		{`{"resource":"A","conditions":{"type":"and","exprs":[{"field":"a","operator":"=","token":"1","fieldSqlFunc":"ROUND","fieldSqlFuncParam":[1]}]}}`, problem.InvalidArgument, "/conditions/exprs/0/fieldSqlFuncParam"},
		{`{"resource":"A","fields":"id"}`, problem.InvalidArgument, "/fields"},
		{`{"resource":"A","fields":[{"code":"n","isExpr":"true","alias":"x"}]}`, problem.InvalidArgument, "/fields/0/isExpr"},
		{`{"resource":"A","fields":[{"code":"COUNT(*)","isExpr":true}]}`, problem.InvalidArgument, "/fields/0"},
		{`{"resource":"A","fields":[{"code":"n","alias":"a b"}]}`, problem.InvalidArgument, "/fields/0/alias"},
		{`{"resource":"A","fields":[{"code":"n","alias":"__x"}]}`, problem.InvalidArgument, "/fields/0/alias"},
		{`{"resource":"A","limit":0}`, problem.InvalidArgument, "/limit"},
		{`{"resource":"A","limit":1.5}`, problem.InvalidArgument, "/limit"},
		{`{"resource":"A","limit":null}`, problem.InvalidArgument, "/limit"},
		{`{"resource":"A","limit":9223372036854775808}`, problem.InvalidArgument, "/limit"},
		{`{"resource":"A","offset":-1}`, problem.InvalidArgument, "/offset"},
		{`{"resource":"A","offset":100001}`, problem.LimitExceeded, "/offset"},
		{`{"resource":"A","conditions":{"exprs":[]}}`, problem.InvalidArgument, "/conditions"},
		{`{"resource":"A","conditions":{"type":"xor","exprs":[]}}`, problem.InvalidArgument, "/conditions/type"},
		{`{"resource":"A","conditions":{"type":"and","exprs":[{"field":"a","token":"1"}]}}`, problem.InvalidArgument, "/conditions/exprs/0"},
		{`{"resource":"A","conditions":{"type":"and","exprs":[{"field":"a","operator":"=="}]}}`, problem.InvalidArgument, "/conditions/exprs/0/operator"},
		{`{"resource":"A","conditions":{"type":"and","exprs":[{"field":"a","operator":"="}]}}`, problem.InvalidArgument, "/conditions/exprs/0"},
		{`{"resource":"A","conditions":{"type":"and","exprs":[{"field":"a","operator":"=","token":"1","tokenType":"param"}]}}`, problem.InvalidArgument, "/conditions/exprs/0/tokenType"},
		{`{"resource":"A","conditions":{"type":"and","exprs":[{"field":"a","operator":"=","token":"1","tokenType":"principal"}]}}`, problem.InvalidArgument, "/conditions/exprs/0/tokenType"},
		{`{"resource":"A","conditions":{"type":"and","exprs":[{"field":"a","operator":"=","token":"x","tokens":["y"]}]}}`, problem.InvalidArgument, "/conditions/exprs/0/tokens"},
		{`{"resource":"A","conditions":{"type":"and","exprs":[{"field":"a","operator":"=","tokens":["y"]}]}}`, problem.InvalidArgument, "/conditions/exprs/0"},
		{`{"resource":"A","conditions":` + deep + `}`, problem.LimitExceeded, ""},
		{`{"resource":"A","relations":[{"code":"b","type":"full","actuallyResource":"B"}]}`, problem.InvalidArgument, "/relations/0/type"},
		{`{"resource":"A","relations":[{"code":"b","type":"inner","actuallyResource":"B"}]}`, problem.InvalidArgument, "/relations/0"},
		{`{"resource":"A","relations":[{"code":"b","type":"cross","actuallyResource":"B","actuallyField":"x","relationResource":"A","relationField":"y"}]}`, problem.InvalidArgument, "/relations/0"},
		{`{"resource":"A","recursive":{"pField":"A.p","cField":"A.c","root":null}}`, problem.InvalidArgument, "/recursive/root"},
		{`{"resource":"A","recursive":{"pField":"A.p","cField":"A.c","root":"0","depth":"5"}}`, problem.InvalidArgument, "/recursive/depth"},
		{`{"resource":"A","recursive":{"pField":"A.p","cField":"A.c","root":"0","depth":33}}`, problem.LimitExceeded, "/recursive/depth"},
		{`{"resource":"A","cursor":"x","offset":3}`, problem.InvalidArgument, "/offset"},
		{`{"resource":"A","setOps":[{"op":"minus","query":{"resource":"A"}}]}`, problem.InvalidArgument, "/setOps/0/op"},
		{`{"resource":"A","with":[{"code":"x","query":{"resource":"A","total":true}}]}`, problem.InvalidArgument, "/with/0/query/total"},
		{`{"resource":"` + strings.Repeat("A", 70000) + `"}`, problem.LimitExceeded, "/resource"},
	} {
		_, err := Decode([]byte(c.raw), Defaults())
		code, at := codeOf(t, err)
		if c.raw == "" {
			c.at = "" // empty arguments are an empty object, which lacks a resource
		}
		if code != c.code || c.at != "" && at != c.at {
			t.Errorf("%.80s: %s at %q, want %s at %q", c.raw, code, at, c.code, c.at)
		}
	}
}

// Known faults of clients are taken, and nothing else (mcp.md 2.4).
func TestDecodeCoerces(t *testing.T) {
	for _, raw := range []string{
		`{"resource":"A","fields":null}`,
		`{"resource":"A","fields":[]}`,
		`{"resource":"A","fields":"[{\"code\":\"id\"}]"}`,
		`{"resource":"A","conditions":"{\"type\":\"and\",\"exprs\":[]}"}`,
		`{"resource":"A","limit":"10","offset":"0"}`,
		`{"resource":"A","limit":1e2}`,
		`{"resource":"A","conditions":{"type":"and","exprs":[{"field":"a","operator":"in","token":[1,"b",true]}]}}`,
		`{"resource":"A","conditions":{"type":"and","exprs":[{"field":"a","operator":"is  not null"}]}}`,
		`{"resource":"A","conditions":{"type":"and"}}`,
		`{"resource":"A","recursive":{"pField":"A.p","cField":"A.c","root":0}}`,
	} {
		if _, err := Decode([]byte(raw), Defaults()); err != nil {
			t.Errorf("%s: %v", raw, err)
		}
	}
	r, err := Decode([]byte(`{"resource":"A","conditions":{"type":"and","exprs":[{"field":"a","operator":"=","token":9007199254740993}]}}`), Defaults())
	if err != nil || r.Conditions.Leaves[0].Token != "9007199254740993" {
		t.Errorf("a number lost its digits: %+v, %v", r, err)
	}
}

// What Decode takes is JSON to everybody, and what is not JSON it refuses.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{`{"resource":"A"}`, `{"resource":"A","conditions":{"type":"and","exprs":[{"field":"a","operator":"=","token":"1"}]}}`, `{"a":"😀\n"}`, `{`, `[1,2]`, `{"resource":"A","with":[{"code":"x","query":{"resource":"A"}}]}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		r, err := Decode(raw, Defaults())
		if err == nil && (r == nil || !json.Valid(raw) && len(strings.TrimSpace(string(raw))) > 0) {
			t.Fatalf("%q was taken", raw)
		}
		if err != nil {
			for _, p := range problem.From(err) {
				if p.Code == "" || p.Message == "" || len(p.Message) > 2000 {
					t.Fatalf("%q: %+v", raw, p)
				}
			}
		}
	})
}
