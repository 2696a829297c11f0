package query

import (
	"math/rand/v2"
	"reflect"
	"testing"
)

func TestForm(t *testing.T) {
	for _, c := range []struct {
		raw, form string
		holes     []string
	}{
		{`{"token":"3"}`, "{\"token\":\x00}", []string{"3"}},
		{`{"token" : "a b", "x": "token"}`, "{\"token\" : \x00, \"x\": \"token\"}", []string{"a b"}},
		{`{"token":-17,"x":17}`, "{\"token\":\x01,\"x\":17}", []string{"-17"}},
		{`{"token":"订单"}`, "{\"token\":\x00}", []string{"订单"}},
		{`{"tokens":["1", 2,"x"]}`, "{\"tokens\":[\x00, \x01,\x00]}", []string{"1", "2", "x"}},
		{`{"tokens":[]}`, `{"tokens":[]}`, nil},
		{`{"tokens":["1",["2"],"3"]}`, "{\"tokens\":[\x00,[\"2\"],\"3\"]}", []string{"1"}},
		{`{"tokens":["1",true,"3"]}`, "{\"tokens\":[\x00,true,\"3\"]}", []string{"1"}},
		{`{"token":"a\"b"}`, `{"token":"a\"b"}`, nil},
		{`{"token":"a\\","b":"token"}`, `{"token":"a\\","b":"token"}`, nil},
		{`{"token":1.5}`, `{"token":1.5}`, nil},
		{`{"token":01}`, `{"token":01}`, nil},
		{`{"token":1e5}`, `{"token":1e5}`, nil},
		{`{"token":-}`, `{"token":-}`, nil},
		{`{"token":null}`, `{"token":null}`, nil},
		{`{"\u0074oken":"x"}`, `{"\u0074oken":"x"}`, nil},
		{`{"a":"\"token\":","token":"x"}`, "{\"a\":\"\\\"token\\\":\",\"token\":\x00}", []string{"x"}},
		{`["token","x"]`, `["token","x"]`, nil},
		{`{"token":`, `{"token":`, nil},
		{`{"token":"x`, "", nil},
		{"{\"token\":\x00}", "", nil},
		{"{\"token\":\"\x01\"}", "", nil},
		{"{\"token\":\"\xff\"}", "", nil},
		{"{\"x\":\x01}", "", nil},
	} {
		form, holes, ok := Form(nil, []byte(c.raw))
		var got []string
		for _, h := range holes {
			got = append(got, c.raw[h.From:h.To])
		}
		if ok != (c.form != "") || ok && (string(form) != c.form || !reflect.DeepEqual(got, c.holes)) {
			t.Errorf("%s: %q %q %t", c.raw, form, got, ok)
		}
	}
}

// Two requests of one form are decoded alike but for their tokens, and so is one into which the tokens of the other
// were put: the shape that a cursor is sealed with is then the other's.
func TestFormDecides(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	parts := []string{`{`, `}`, `[`, `]`, `,`, `:`, `"token"`, `"tokens"`, `"conditions"`, `"type":"and"`, `"exprs"`, `"field":"a"`, `"resource":"R"`, `"x"`, `"7"`, `7`, `-1`, ` `, `"a\"b"`, `true`}
	whole := []string{`{"resource":"R","conditions":{"type":"and","exprs":[{"field":"a","operator":"=","token":"1"},{"field":"b","operator":"IN","tokens":["x",2]},{"field":"c","operator":"<","token":5}]}}`,
		`{"resource":"R","conditions":"{\"type\":\"and\",\"exprs\":[{\"field\":\"a\",\"operator\":\"=\",\"token\":\"1\"}]}"}`}
	byForm := map[string]string{}
	pairs := 0
	for range 200_000 {
		raw := whole[r.IntN(len(whole))]
		for range r.IntN(3) {
			i := r.IntN(len(raw))
			n := min(len(raw)-i, r.IntN(4))
			raw = raw[:i] + parts[r.IntN(len(parts))] + raw[i+n:]
		}
		form, holes, ok := Form(nil, []byte(raw))
		if !ok {
			continue
		}
		first, twice := byForm[string(form)]
		if !twice {
			byForm[string(form)] = raw
			continue
		}
		if first == raw {
			continue
		}
		a, errA := Decode([]byte(first), Defaults())
		b, errB := Decode([]byte(raw), Defaults())
		if (errA == nil) != (errB == nil) {
			t.Fatalf("%s\n%v\n%s\n%v", first, errA, raw, errB)
		}
		if errA != nil {
			continue
		}
		_, firstHoles, _ := Form(nil, []byte(first))
		tokens, ok := a.Tokens(firstHoles)
		if !ok {
			continue
		}
		pairs++
		for i, h := range holes {
			tokens.Set(i, raw[h.From:h.To])
		}
		if a.Shape() != b.Shape() {
			t.Fatalf("%s\n%s\nare of one form and decode to others", first, raw)
		}
	}
	if pairs < 100 {
		t.Errorf("only %d pairs", pairs)
	}
}
