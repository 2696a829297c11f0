package server

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"resq/engine/policy"
)

// linkOf finds the link of an answer, "" when there is none.
func linkOf(t *testing.T, body string) string {
	t.Helper()
	var r struct {
		Result struct {
			Content []struct{ Type, URI, MimeType string }
		}
	}
	if err := json.Unmarshal([]byte(body), &r); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	for _, c := range r.Result.Content {
		if c.Type == "resource_link" && c.MimeType == "text/csv" {
			return c.URI
		}
	}
	return ""
}

// A large answer is offered whole to who asks for that, and read by nobody else, three times, for a while.
func TestExport(t *testing.T) {
	keys := map[string]*policy.Principal{"one": {Name: "one"}, "two": {Name: "two"}}
	base := shop(t)
	s := newServer(t, base.backend.Load().Backend, Options{Authenticate: func(_ context.Context, key string) (*policy.Principal, error) { return keys[key], nil }})
	url := serveHTTP(t, s)
	large := `{"resource":"Order","fields":[],"orderBy":["Order.id"],"limit":1000}`
	as := func(e exchange, key string) exchange { return e.with("Authorization", "Bearer "+key) }
	for _, e := range []exchange{{body: call("res-query", large)}, modern("tools/call", "res-query", large), viaLibrary(modern("tools/call", "res-query", large))} {
		if uri := linkOf(t, as(e, "one").do(t, url).body); uri != "" {
			t.Errorf("a link that nobody asked for: %s", uri)
		}
		if uri := linkOf(t, as(e, "one").with("X-Resq-Export", "csv").do(t, url).body); !strings.HasPrefix(uri, exportPrefix) {
			t.Errorf("no link: %s", uri)
		}
		e.path = Path + "/compat?export=csv"
		if uri := linkOf(t, as(e, "one").do(t, url).body); uri == "" {
			t.Error("no link by the profile")
		}
	}
	small := strings.Replace(large, "1000", "3", 1)
	if uri := linkOf(t, as(exchange{body: call("res-query", small)}, "one").with("X-Resq-Export", "csv").do(t, url).body); uri != "" {
		t.Error("a link to an answer that was not cut")
	}

	uri := linkOf(t, as(exchange{body: call("res-query", large)}, "one").with("X-Resq-Export", "csv").do(t, url).body)
	for _, a := range both(t, url, "two", "resources/read", uri, `"uri":"`+uri+`"`) {
		if !strings.Contains(a.body, "no such export") {
			t.Errorf("somebody else read it: %.200s", a.body)
		}
	}
	for i, a := range append(both(t, url, "one", "resources/read", uri, `"uri":"`+uri+`"`), both(t, url, "one", "resources/read", uri, `"uri":"`+uri+`"`)...) {
		if i == 3 {
			if !strings.Contains(a.body, "no such export") {
				t.Error("it was read a fourth time")
			}
			break
		}
		var r struct {
			Result struct {
				Contents []struct {
					MimeType, Text string
					Meta           map[string]any `json:"_meta"`
				}
			}
		}
		if err := json.Unmarshal([]byte(a.body), &r); err != nil || len(r.Result.Contents) != 1 {
			t.Fatalf("%v %.300s", err, a.body)
		}
		c := r.Result.Contents[0]
		text, marked := strings.CutPrefix(c.Text, "\ufeff")
		if !marked {
			t.Error("the file does not say that it is UTF-8")
		}
		rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
		if err != nil || len(rows) != 1001 || rows[0][0] != "id" || c.MimeType != "text/csv" || c.Meta["resq/rows"] != 1000.0 || c.Meta["resq/complete"] != true {
			t.Fatalf("%v: %d records, %v", err, len(rows), c.Meta)
		}
		for i, row := range rows[1:] {
			if row[0] != fmt.Sprint(i+1) {
				t.Fatalf("record %d is %v", i, row)
			}
		}
	}
}

// Without a limit of its own a request is exported to its end; a query without a key order pages by offset.
func TestExportAll(t *testing.T) {
	s := shop(t)
	c := caller{who: alice, view: s.views().view(contractProfile), version: 1}
	d, _ := s.views().box.find(toolQuery)
	for args, want := range map[string]int{
		`{"resource":"Customer","fields":[{"code":"id"},{"code":"name"}],"total":true}`:                                                                                                                 3200,
		`{"resource":"Customer","fields":[{"code":"id"},{"code":"name"}],"limit":"1500"}`:                                                                                                               1500,
		`{"resource":"Order","fields":[{"code":"customer_id"},{"code":"COUNT(*)","isExpr":true,"alias":"n"}],"groupBy":["Order.customer_id"],"orderBy":[{"type":"sql","expr":"n","direction":"desc"}]}`: -1,
	} {
		text, rows, complete, err := s.pages(t.Context(), c, d, []byte(args))
		if err != nil || !complete {
			t.Fatalf("%s: %v, complete %v", args, err, complete)
		}
		records, err := csv.NewReader(strings.NewReader(string(text))).ReadAll()
		if err != nil || len(records) != rows+1 || want > 0 && rows != want || rows < 100 {
			t.Errorf("%s: %v, %d records of %d", args, err, len(records), rows)
		}
		seen := map[string]bool{}
		for _, r := range records[1:] {
			seen[r[0]] = true
		}
		if len(seen) != rows {
			t.Errorf("%s: %d different of %d", args, len(seen), rows)
		}
	}
	if _, _, _, err := s.pages(t.Context(), c, d, []byte(`{"resource":"Nothing","fields":[]}`)); err == nil {
		t.Error("an error is no export")
	}
	if n := csvRecord([]byte("\"a\nb\",c\n1,2\n")); n != 8 {
		t.Errorf("the first record has %d bytes", n)
	}
}

func TestExportMemory(t *testing.T) {
	var x exports
	n := 0
	offer := func(x *exports, args []byte) string {
		n++
		handle := fmt.Sprint(n)
		x.hold(handle, &export{owner: alice.Owner(), tool: toolQuery, args: args, expires: time.Now().Add(exportTime)})
		return handle
	}
	first := offer(&x, nil)
	for range maxExports + 10 {
		offer(&x, nil)
	}
	if len(x.held) != maxExports || len(x.order) != maxExports {
		t.Errorf("%d are held", len(x.held))
	}
	if _, ok := x.take(alice, first); ok {
		t.Error("the oldest is still there")
	}
	for range exportsRun {
		if !x.begin() {
			t.Error("too few run at once")
		}
	}
	if x.begin() {
		t.Error("too many run at once")
	}
	if x.end(); !x.begin() {
		t.Error("one that ended makes no room")
	}
	var large exports
	for range 40 {
		offer(&large, make([]byte, 1<<20))
	}
	if large.size > maxArgs || len(large.held) != maxArgs>>20 {
		t.Errorf("%d bytes of %d requests are remembered", large.size, len(large.held))
	}
	last := offer(&x, []byte("{}"))
	x.held[last].expires = time.Now().Add(-time.Second)
	if _, ok := x.take(alice, last); ok {
		t.Error("an export has no end")
	}
	if _, ok := x.take(nil, last); ok {
		t.Error("nobody may read")
	}
}
