package console

import (
	"context"
	"encoding/json"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"resq/engine/policy"
	"resq/schema/problem"
	"resq/testdb"
)

// requestIn is the JSON that a page of Try shows.
func requestIn(t *testing.T, body string) string {
	t.Helper()
	_, text, _ := strings.Cut(body, `<textarea id="request" name="request">`)
	text, _, _ = strings.Cut(text, "</textarea>")
	if text = html.UnescapeString(text); !json.Valid([]byte(text)) {
		t.Fatalf("the page has no request: %q", text)
	}
	return text
}

// The form of a request makes one that the engine takes, which is run as the key that was chosen, and shown as a table, as
// CSV and as calls.
func TestTry(t *testing.T) {
	b := newBench(t, onSQLite)
	b.key()
	admin := b.as("the-admin")
	form := url.Values{"fields": {"Note.id", "Note.phone"}, "node.0": {"group"}, "type.0": {"and"}, "node.0.0": {"leaf"}, "field.0.0": {"Note.id"}, "op.0.0": {">"}, "value.0.0": {"11"},
		"order-0": {"Note.id"}, "down-0": {"1"}, "limit": {"2"}, "what": {"build"}, "key": {"1"}}
	_, body := admin.submit("/try?resource=Note", "/try", form)
	text := requestIn(t, body)
	r, body := admin.submit("/try?resource=Note", "/try", url.Values{"request": {text}, "key": {"1"}, "what": {"run"}})
	for _, want := range []string{"<td>14</td>", "<td>13</td>", "*******1014", "id,phone\n14,*******1014\n", "SELECT", "tools/call", "curl -sS"} {
		if !strings.Contains(body, want) {
			t.Errorf("%s: no %q", r.Status, want)
		}
	}
	if strings.Contains(body, "<td>12</td>") || strings.Contains(body, "13800001014") {
		t.Error("more is shown than was asked for, or without its mask")
	}
	for request, want := range map[string]string{`{"resource":"Nope","fields":[]}`: "UNKNOWN_RESOURCE", `{`: "INVALID_ARGUMENT"} {
		if _, body := admin.submit("/try?resource=Note", "/try", url.Values{"request": {request}, "key": {"1"}, "what": {"run"}}); !strings.Contains(body, want) {
			t.Errorf("%s: no %s", request, want)
		}
	}
	if r, _ := admin.submit("/try?resource=Note", "/try", url.Values{"request": {text}, "key": {"99"}, "what": {"run"}}); r.StatusCode != http.StatusNotFound {
		t.Errorf("a key that there is not: %s", r.Status)
	}
}

// Relations come from the catalog, conditions are a tree that grows and shrinks by its buttons, and groups have aggregates;
// what comes of it runs on every database with the same rows.
func TestTryForm(t *testing.T) {
	testdb.Each(t, func(t *testing.T, e testdb.Engine) {
		b := newBench(t, e)
		b.key()
		admin := b.as("the-admin")
		_, body := admin.get("/try?resource=Tag")
		if !strings.Contains(body, `name="relation" value="Note"`) || strings.Contains(body, `value="Note.name"`) {
			t.Fatal("the relation of the catalog is not offered, or the fields behind it are before it is chosen")
		}
		tree := url.Values{"relation": {"Note"}, "fields": {"Tag.label", "Note.name"}, "node.0": {"group"}, "type.0": {"and"}, "what": {"leaf 0"}}
		_, body = admin.submit("/try?resource=Tag", "/try", tree)
		if !strings.Contains(body, `name="field.0.0"`) || !strings.Contains(body, `value="Note.name" checked`) {
			t.Fatal("the condition or the fields of the relation are not there")
		}
		tree.Set("node.0.0", "leaf")
		tree.Set("field.0.0", "Tag.weight")
		tree.Set("op.0.0", ">")
		tree.Set("value.0.0", "1")
		tree.Set("what", "group 0")
		_, body = admin.submit("/try?resource=Tag", "/try", tree)
		if !strings.Contains(body, `name="type.0.1"`) || !strings.Contains(body, `name="field.0.1.0"`) || !strings.Contains(body, `name="value.0.0" value="1"`) {
			t.Fatal("the group is not there, or the condition is gone")
		}
		tree["node.0.1"], tree["type.0.1"], tree["not.0.1"] = []string{"group"}, []string{"or"}, []string{"1"}
		tree["node.0.1.0"], tree["field.0.1.0"], tree["op.0.1.0"], tree["value.0.1.0"] = []string{"leaf"}, []string{"Tag.label"}, []string{"="}, []string{"blue"}
		tree["node.0.1.1"], tree["field.0.1.1"], tree["op.0.1.1"] = []string{"leaf"}, []string{"Note.name"}, []string{"IS NULL"}
		tree.Set("what", "build")
		_, body = admin.submit("/try?resource=Tag", "/try", tree)
		built := requestIn(t, body)
		for _, want := range []string{`"not": true`, `"type": "or"`, `"fieldResource": "Note"`, `"actuallyResource": "Note"`, `"alias": "Note_name"`} {
			if !strings.Contains(built, want) {
				t.Errorf("no %s in %s", want, built)
			}
		}
		_, body = admin.submit("/try?resource=Tag", "/try", url.Values{"request": {built}, "key": {"1"}, "what": {"run"}})
		if rows := regexp.MustCompile(`<td>red</td><td>note (\d)</td>`).FindAllStringSubmatch(body, -1); len(rows) != 2 || strings.Contains(body, "<td>blue</td>") {
			t.Errorf("the rows of the tree: %v", rows)
		}
		tree.Set("what", "drop 0.0")
		_, body = admin.submit("/try?resource=Tag", "/try", tree)
		if !strings.Contains(body, `name="type.0.0"`) || strings.Contains(body, `name="type.0.1"`) || !strings.Contains(body, `name="value.0.0.0" value="blue"`) {
			t.Error("a condition that is taken out leaves a hole, or takes its neighbour along")
		}
		sums := url.Values{"group": {"Tag.label"}, "sum-func-0": {"SUM"}, "sum-field-0": {"Tag.weight"}, "sum-func-1": {"COUNT"}, "order-0": {"sum_weight"}, "down-0": {"1"}, "what": {"build"}}
		_, body = admin.submit("/try?resource=Tag", "/try", sums)
		_, body = admin.submit("/try?resource=Tag", "/try", url.Values{"request": {requestIn(t, body)}, "key": {"1"}, "what": {"run"}})
		if !strings.Contains(body, "label,sum_weight,count\nred,7,2\nblue,5,1\n") || !strings.Contains(body, `id="chart"`) {
			t.Error("the groups with their sums and counts are not there")
		}
	})
}

// The form of a business tool is its schema, and the page of the tool shows the SQL that given arguments come to, without a row.
func TestTryTool(t *testing.T) {
	b := newBench(t, onSQLite)
	b.key()
	admin := b.as("the-admin")
	_, body := admin.get("/try?tool=tag.list")
	for _, want := range []string{`name="arg.label"`, `name="arg.color"`, `<option value="&#34;red&#34;"`, `name="arg.weight"`, "Part of the label"} {
		if !strings.Contains(body, want) {
			t.Errorf("the form lacks %q", want)
		}
	}
	args := url.Values{"arg.label": {"re"}, "arg.weight": {"3"}, "arg.color": {`"red"`}, "what": {"build"}}
	_, body = admin.submit("/try?tool=tag.list", "/try", args)
	built := requestIn(t, body)
	if strings.Join(strings.Fields(built), "") != `{"label":"re","weight":3,"color":"red"}` {
		t.Fatalf("the arguments are %s", built)
	}
	_, body = admin.submit("/try?tool=tag.list", "/try", url.Values{"request": {built}, "key": {"1"}, "what": {"run"}})
	for _, want := range []string{"id,label,weight\n1,red,3\n", "SELECT", `<table id="answer">`, `&#34;name&#34;:&#34;tag.list&#34;`} {
		if !strings.Contains(body, want) {
			t.Errorf("the answer lacks %q", want)
		}
	}
	args.Set("what", "sql")
	args.Set("key", "1")
	_, body = admin.submit("/catalog/tools/tag.list", "/try", args)
	if !strings.Contains(body, `<pre class="sql">SELECT`) || strings.Contains(body, `id="answer"`) || strings.Contains(body, "<td>red</td>") {
		t.Error("the page of the tool does not show the SQL, or shows rows with it")
	}
	if r, _ := admin.get("/try?tool=res-delete"); r.StatusCode != http.StatusNotFound {
		t.Errorf("a tool that writes is offered: %s", r.Status)
	}
	if _, body := b.as("the-viewer").get("/catalog/tools/tag.list"); strings.Contains(body, `action="/try"`) {
		t.Error("a viewer is offered to run a tool")
	}
}

// A call that takes long tells how far it is, ends when it is cancelled, and belongs to the session that began it.
func TestTryRuns(t *testing.T) {
	b := newBench(t, onSQLite)
	b.key()
	b.console.opts.Call = func(ctx context.Context, _ *policy.Principal, _ string, _ []byte) (string, problem.Code, bool) {
		<-ctx.Done()
		return `{"error":{"code":"CANCELLED","message":"the call was cancelled"}}`, problem.Cancelled, true
	}
	admin := b.as("the-admin")
	request := url.Values{"request": {`{"resource":"Tag","fields":[]}`}, "key": {"1"}, "what": {"run"}}
	r, _ := admin.submit("/try?resource=Tag", "/try", request)
	path := r.Header.Get("Location")
	if r.StatusCode != http.StatusSeeOther || !strings.HasPrefix(path, "/try/runs/") {
		t.Fatalf("%s %s", r.Status, path)
	}
	_, body := admin.get(path)
	if !strings.Contains(body, `id="cancel"`) || !strings.Contains(body, `hx-get="`+path+`"`) {
		t.Error("the page does not say that the call runs, or offers no end")
	}
	poll := func() *http.Response {
		r, _ := http.NewRequest("GET", b.url+path, nil)
		r.Header.Set("HX-Request", "true")
		a, _ := admin.do(r)
		return a
	}
	if a := poll(); a.StatusCode != http.StatusOK || a.Header.Get("HX-Refresh") != "" {
		t.Errorf("a call that runs: %s", a.Status)
	}
	if r, _ := b.as("the-admin").get(path); r.StatusCode != http.StatusNotFound {
		t.Errorf("another session sees the call: %s", r.Status)
	}
	if r, _ := admin.submit(path, path+"/cancel", nil); r.StatusCode != http.StatusSeeOther {
		t.Errorf("the cancel: %s", r.Status)
	}
	for deadline := time.Now().Add(5 * time.Second); poll().Header.Get("HX-Refresh") == "" && time.Now().Before(deadline); {
		time.Sleep(10 * time.Millisecond)
	}
	if _, body := admin.get(path); !strings.Contains(body, "CANCELLED") {
		t.Error("the call did not end")
	}
	for range runsAtOnce {
		admin.submit("/try?resource=Tag", "/try", request)
	}
	if r, body := admin.submit("/try?resource=Tag", "/try", request); r.StatusCode == http.StatusSeeOther || !strings.Contains(body, "RATE_LIMITED") {
		t.Errorf("too many calls at once: %s", r.Status)
	}
	for _, r := range b.console.runs.all {
		r.cancel()
		<-r.done
	}
}

// Numbers are bars beside names, and a line over times that go one way.
func TestChart(t *testing.T) {
	raw := func(rows ...string) (out [][]json.RawMessage) {
		for _, s := range rows {
			var row []json.RawMessage
			if err := json.Unmarshal([]byte(s), &row); err != nil {
				t.Fatal(err)
			}
			out = append(out, row)
		}
		return out
	}
	c := chartOf([]string{"id", "name", "n"}, raw(`[1,"a",2]`, `[2,"b",4]`, `[3,"c",null]`))
	if c == nil || c.Line || len(c.Bars) != 3 || c.Bars[0].W*2 != c.Bars[1].W || c.Bars[1].W != barWidth || c.Bars[0].Label != "a" || c.Bars[1].Value != "4" || c.Bars[2].W != 0 {
		t.Errorf("%+v", c)
	}
	c = chartOf([]string{"on", "n"}, raw(`["2026-01",1]`, `["2026-02",3]`, `["2026-03",2]`))
	if c == nil || !c.Line || c.Points != "20.0,140.0 340.0,20.0 660.0,80.0" || c.First != "2026-01" || c.Last != "2026-03" || c.Top != "3" || c.Bottom != "0" {
		t.Errorf("%+v", c)
	}
	if c = chartOf([]string{"on", "n"}, raw(`["2026-02",1]`, `["2026-01",3]`, `["2026-03",2]`)); c == nil || c.Line {
		t.Errorf("times in no order: %+v", c)
	}
	if chartOf([]string{"a"}, raw(`[1]`, `[2]`)) != nil {
		t.Error("a chart without names")
	}
}
