package tools_test

import (
	"cmp"
	"encoding/json"
	"maps"
	"strings"
	"testing"
	"time"

	"resq/engine"
	"resq/schema"
	"resq/schema/problem"
	"resq/testdb"
)

// enough are the arguments without which a tool has nothing to look for.
var enough = map[string]string{
	"district.detail.get":         `{"id":501}`,
	"mall.order.detail.query":     `{"orderNo":"SC20260901001"}`,
	"mall.order.logistics.query":  `{"orderNo":"SC20260901001"}`,
	"hardware.detail.query":       `{"id":1,"snCode":"SN0001"}`,
	"contract.detail.query":       `{"id":1001,"contractNo":"HT001"}`,
	"warehouse.out.detail.query":  `{"id":901,"outOrderNo":"CK0001"}`,
	"warehouse.in.detail.query":   `{"id":951,"inOrderNo":"RK0001"}`,
	"delivery.order.detail.query": `{"id":991,"deliveryOrderNo":"SH0001"}`,
}

// wrong are the values that an argument of a type refuses, as JSON.
func wrong(p *schema.Param) []string {
	list := map[string][]string{
		"string":  {`["x"]`, `{"like":"x"}`},
		"integer": {`"x"`, `1.5`, `true`, `[1]`, `{"id":1}`, `"1 OR 1=1"`, `99999999999999999999`, `""`},
		"boolean": {`"true"`, `1`, `[true]`, `""`},
		"date":    {`"2026/09/02"`, `"2026-02-30"`, `"2026-9-2"`, `"2026-09-02 10:00:00"`, `20260902`, `true`, `["2026-09-02"]`, `""`},
		"enum":    {`"?"`, `99`, `true`, `[0]`, `{"is":0}`, `""`},
	}[p.Type]
	if p.Min != nil {
		list = append(list, `0`, `-1`)
	}
	return list
}

// Every argument of every tool refuses what is not of its type or out of its range at its own place, and one that is null
// or, of a text, empty asks for nothing; what is needed is told, and what a tool does not know is told with what it knows (B-007, B-013, B-022, B.3).
func TestArgumentsAreChecked(t *testing.T) {
	p := open(t, testdb.Engines(t)[0])
	for _, tool := range p.engine.Catalog().Tools {
		base := map[string]json.RawMessage{}
		if err := json.Unmarshal([]byte(cmp.Or(enough[tool.Name], "{}")), &base); err != nil {
			t.Fatal(err)
		}
		// with is the call with an argument; "-" leaves it out.
		with := func(name, value string) string {
			args := maps.Clone(base)
			if args[name] = json.RawMessage(value); value == "-" {
				delete(args, name)
			}
			out, err := json.Marshal(args)
			if err != nil {
				t.Fatal(err)
			}
			return string(out)
		}
		refused := func(args, at string) *problem.Problem {
			t.Helper()
			_, err := p.engine.CallTool(t.Context(), people["head"], engine.Call{Tool: tool.Name, Args: []byte(args)})
			if err == nil {
				t.Errorf("%s %s is answered", tool.Name, args)
				return &problem.Problem{}
			}
			first := problem.From(err)[0]
			if first.Code != problem.InvalidArgument || first.At != at {
				t.Errorf("%s %s: %s %s %s, want INVALID_ARGUMENT at %s", tool.Name, args, first.Code, first.At, first.Message, at)
			}
			return first
		}
		answered := func(args string) string {
			t.Helper()
			answer := p.ask(t, "head", tool.Name, args)
			if !strings.HasPrefix(answer, "{") {
				t.Errorf("%s %s is refused: %s", tool.Name, args, answer)
			}
			return answer
		}
		for _, x := range tool.Params {
			for _, value := range wrong(x) {
				refused(with(x.Name, value), "/"+x.Name)
			}
			if x.Required {
				refused(with(x.Name, "null"), "/"+x.Name)
				refused(with(x.Name, "-"), "/"+x.Name)
				if x.Type == "string" {
					refused(with(x.Name, `""`), "/"+x.Name)
				}
				continue
			}
			none := answered(with(x.Name, "-"))
			for _, value := range []string{`null`, `""`} {
				if x.Type != "string" && value != `null` {
					continue
				}
				if got := answered(with(x.Name, value)); got != none {
					t.Errorf("%s %s: %s, and without it %s", tool.Name, with(x.Name, value), got, none)
				}
			}
		}
		refused(with("nonsense", "1"), "/nonsense")
		if len(tool.Params) > 0 { // the nearest name is told
			name := tool.Params[0].Name
			if hint := refused(with(strings.ToUpper(name), "1"), "/"+strings.ToUpper(name)); !strings.Contains(hint.Message+hint.Hint, name) {
				t.Errorf("%s: %s · %s names no %s", tool.Name, hint.Message, hint.Hint, name)
			}
		}
		for _, args := range []string{`[]`, `"x"`, `1`, `{`} {
			if _, err := p.engine.CallTool(t.Context(), people["head"], engine.Call{Tool: tool.Name, Args: []byte(args)}); err == nil || problem.From(err)[0].Code != problem.InvalidArgument {
				t.Errorf("%s %s: %v", tool.Name, args, err)
			}
		}
		if one := tool.Preset.OneOf; one != nil {
			if one.Notice {
				if got := answered(`{}`); !strings.Contains(got, `"record":null`) || !strings.Contains(got, `"notice":"`+one.Text+`"`) {
					t.Errorf("%s {}: %s", tool.Name, got)
				}
			} else {
				refused(`{}`, "/"+one.Params[0].Name)
			}
		}
		if tool.Preset.Shape == "list" {
			pages(t, p, tool.Name, refused)
		}
	}
}

// pages asks a list for pages that there are and that there are not (B-006, B-007).
func pages(t *testing.T, p *pack, tool string, refused func(args, at string) *problem.Problem) {
	t.Helper()
	type page struct {
		Total, Page, Rows int
		Records           []json.RawMessage
		Notice            string
	}
	ask := func(args string) (out page) {
		t.Helper()
		if err := json.Unmarshal([]byte(p.ask(t, "agent", tool, args)), &out); err != nil {
			t.Errorf("%s %s: %v", tool, args, err)
		}
		return out
	}
	for _, name := range []string{"page", "rows"} {
		for _, value := range []string{`"x"`, `1.5`, `true`, `[1]`, `""`} {
			refused(`{"`+name+`":`+value+`}`, "/"+name)
		}
	}
	all := ask(`{"page":null,"rows":null}`)
	if all.Page != 1 || all.Rows != 20 || all.Notice != "" || all.Total == 0 || len(all.Records) != min(all.Total, 20) {
		t.Errorf("%s {}: %+v", tool, all)
	}
	for _, x := range []struct {
		args       string
		page, rows int
		notice     string
	}{
		{`{"page":0}`, 1, 20, "page 不能小于 1，已按默认值 1 处理"},
		{`{"page":-3,"rows":-1}`, 1, 20, "page 不能小于 1，已按默认值 1 处理；rows 不能小于 1，已按默认值 20 处理"},
		{`{"rows":0}`, 1, 20, "rows 不能小于 1，已按默认值 20 处理"},
		{`{"rows":100}`, 1, 100, ""},
		{`{"rows":101}`, 1, 100, "rows 超过上限 100，已截断为 100"},
		{`{"rows":"7"}`, 1, 7, ""},
		{`{"page":900}`, 900, 20, ""},
	} {
		got := ask(x.args)
		want := min(all.Total, x.rows)
		if x.page > 1 {
			want = 0
		}
		if got.Page != x.page || got.Rows != x.rows || got.Notice != x.notice || got.Total != all.Total || len(got.Records) != want {
			t.Errorf("%s %s: page %d of %d rows, %d of %d, %q", tool, x.args, got.Page, got.Rows, len(got.Records), got.Total, got.Notice)
		}
	}
}

// A range of days holds its last moment, and not the midnight behind it; the rows of the pack have both for each range
// (B-022, B-050).
func TestWholeDays(t *testing.T) {
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		p := open(t, on)
		ranges := 0
		for _, tool := range p.engine.Catalog().Tools {
			for i, to := range tool.Params {
				if !to.WholeDay || i == 0 {
					continue
				}
				ranges++
				from, name, kind := tool.Params[i-1], "", schema.DateTime
				for _, c := range tool.Preset.Read.Columns {
					if c.Field != nil && c.Field.Code == to.Field {
						name, kind = c.Name, c.Field.Type.Kind
					}
				}
				moments := func(args string) []string {
					var page struct{ Records []map[string]any }
					if err := json.Unmarshal([]byte(p.ask(t, "head", tool.Name, args)), &page); err != nil {
						t.Fatal(err)
					}
					var out []string
					for _, r := range page.Records {
						if s, ok := r[name].(string); ok {
							out = append(out, s)
						}
					}
					return out
				}
				last, next := " 23:59:59", " 00:00:00"
				if kind == schema.Date {
					last, next = "", ""
				}
				day, after := boundary(moments(`{"rows":100}`), last, next)
				if day == "" {
					t.Errorf("%s: no rows on both sides of the end of a day of %s", tool.Name, name)
					continue
				}
				got := moments(`{"` + from.Name + `":"` + day + `","` + to.Name + `":"` + day + `","rows":100}`)
				in, out := false, false
				for _, m := range got {
					in, out = in || m == day+last, out || m == after+next
				}
				if !in || out {
					t.Errorf("%s %s of %s: %v", tool.Name, name, day, got)
				}
			}
		}
		if ranges != 8 {
			t.Errorf("%d ranges of days", ranges)
		}
	})
}

// boundary finds a day whose last moment is there, and whose next day's first moment is as well.
func boundary(moments []string, last, next string) (day, after string) {
	there := map[string]bool{}
	for _, m := range moments {
		there[m] = true
	}
	for _, m := range moments {
		d, ok := strings.CutSuffix(m, last)
		if !ok {
			continue
		}
		at, err := time.Parse(time.DateOnly, d)
		if err != nil {
			continue
		}
		if x := at.AddDate(0, 0, 1).Format(time.DateOnly); there[x+next] {
			return d, x
		}
	}
	return "", ""
}
