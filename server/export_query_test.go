package server

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"resq/engine"
	"resq/engine/dialect/sqlite"
	"resq/engine/policy"
	"resq/schema"
)

// sqlBench is a server whose clients may send SQL to a small database.
func sqlBench(t *testing.T, opts Options) *Server {
	t.Helper()
	path := filepath.Join(t.TempDir(), "q.sqlite")
	db, err := sqlite.OpenWrite(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(`CREATE TABLE task (id INT PRIMARY KEY, title TEXT, team INT, phone TEXT);
INSERT INTO task VALUES (1, '=1+1', 1, '13800001111'), (2, '中文', 1, NULL), (3, 'secret', 2, '13800002222')`); err != nil {
		t.Fatal(err)
	}
	db.Close()
	files := fstest.MapFS{"c.yaml": {Data: []byte(`version: 1
connections: {q: {driver: sqlite, dsn: "sqlite:nowhere", tools: [query, export]}}
resources:
  - code: Task
    table: task
    connection: q
    key: id
    rows: {type: and, exprs: [{field: team, operator: "=", tokenType: principal, token: team}]}
    fields: {id: integer, title: string, team: integer, phone: {type: string, mask: last4}}
`)}}
	cat, err := schema.Load(nil, schema.LoadOptions{Packs: []schema.Pack{{Name: "q", FS: files}}, DSN: map[string]string{"q": "sqlite:" + path}})
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.New(cat, engine.Options{Drivers: []engine.Driver{sqlite.New()}, Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return newServer(t, e, opts)
}

// An offered is what a call of export_query says, and its link.
type offered struct {
	URI, Filename, ExpiresAt string
	RowCount, Bytes          int
	Truncated                bool
	link                     struct{ Type, URI, Name, MimeType string }
}

func offerOf(t *testing.T, body string) (o offered) {
	t.Helper()
	var r struct {
		Result struct {
			Content []struct{ Type, Text, URI, Name, MimeType string }
			IsError bool
		}
	}
	if err := json.Unmarshal([]byte(body), &r); err != nil || r.Result.IsError || len(r.Result.Content) != 2 {
		t.Fatalf("%v %s", err, body)
	}
	if err := json.Unmarshal([]byte(r.Result.Content[0].Text), &o); err != nil {
		t.Fatal(err)
	}
	l := r.Result.Content[1]
	o.link.Type, o.link.URI, o.link.Name, o.link.MimeType = l.Type, l.URI, l.Name, l.MimeType
	return o
}

// A contents is what reading a resource gives.
type contents struct {
	MimeType, Text, Blob string
	Meta                 map[string]any `json:"_meta"`
}

func contentsOf(t *testing.T, body string) contents {
	t.Helper()
	var r struct{ Result struct{ Contents []contents } }
	if err := json.Unmarshal([]byte(body), &r); err != nil || len(r.Result.Contents) != 1 {
		t.Fatalf("%v %.300s", err, body)
	}
	return r.Result.Contents[0]
}

// The file of export_query is offered by a link in every way of asking, and read by who asked, three times, as what they may see by
// then (D-086).
func TestExportQuery(t *testing.T) {
	keys := map[string]*policy.Principal{}
	for name, team := range map[string]string{"one": "1", "two": "2"} {
		keys[name] = &policy.Principal{Name: name, Attributes: map[string]policy.Value{"team": policy.One(team)}}
	}
	var records []*Call
	s := sqlBench(t, Options{Authenticate: func(_ context.Context, key string) (*policy.Principal, error) { return keys[key], nil }, Record: func(c *Call) { records = append(records, c) }})
	url := serveHTTP(t, s)
	args := `{"sql":"SELECT id, title, phone FROM task ORDER BY id","filename":"tasks"}`
	as := func(e exchange, key string) exchange { return e.with("Authorization", "Bearer "+key) }
	ask := func(args, key string) offered {
		return offerOf(t, as(exchange{body: call("export_query", args)}, key).do(t, url).body)
	}
	for _, e := range []exchange{{body: call("export_query", args)}, modern("tools/call", "export_query", args), viaLibrary(modern("tools/call", "export_query", args))} {
		o := offerOf(t, as(e, "one").do(t, url).body)
		if o.Filename != "tasks.csv" || o.RowCount != 2 || o.Truncated || !strings.HasPrefix(o.URI, exportPrefix) || o.link.URI != o.URI || o.link.Name != "tasks.csv" || o.link.MimeType != "text/csv" || o.link.Type != "resource_link" {
			t.Errorf("%+v", o)
		}
		if at, err := time.Parse(time.RFC3339, o.ExpiresAt); err != nil || time.Until(at) > exportTime || time.Until(at) < exportTime-time.Minute {
			t.Errorf("it ends %s, %v", o.ExpiresAt, err)
		}
	}
	o := ask(args, "one")
	for _, a := range both(t, url, "two", "resources/read", o.URI, `"uri":"`+o.URI+`"`) {
		if !strings.Contains(a.body, "no such export") {
			t.Errorf("somebody else read it: %.200s", a.body)
		}
	}
	records = nil
	want := "\ufeffid,title,phone\n1,'=1+1,*******1111\n2,中文,\n"
	for i, a := range append(both(t, url, "one", "resources/read", o.URI, `"uri":"`+o.URI+`"`), both(t, url, "one", "resources/read", o.URI, `"uri":"`+o.URI+`"`)...) {
		if i == 3 {
			if !strings.Contains(a.body, "no such export") {
				t.Error("it was read a fourth time")
			}
			break
		}
		if c := contentsOf(t, a.body); c.Text != want || c.MimeType != "text/csv" || c.Meta["resq/rows"] != 2.0 || c.Meta["resq/complete"] != true || len(c.Text) != o.Bytes {
			t.Errorf("%+v", c)
		}
	}
	if len(records) != 3 || records[0].Tool != "export_query" || records[0].Rows != 2 || len(records[0].Statements) == 0 {
		t.Errorf("%d records, %+v", len(records), records)
	}

	o = ask(`{"sql":"SELECT id, title, phone FROM task ORDER BY id","format":"xlsx","maxRows":1}`, "one")
	if o.Filename != "query.xlsx" || !o.Truncated || o.link.MimeType != "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet" {
		t.Errorf("%+v", o)
	}
	for _, a := range both(t, url, "one", "resources/read", o.URI, `"uri":"`+o.URI+`"`) {
		c := contentsOf(t, a.body)
		b, err := base64.StdEncoding.DecodeString(c.Blob)
		if err != nil || len(b) != o.Bytes || c.MimeType != o.link.MimeType || c.Text != "" || c.Meta["resq/complete"] != false {
			t.Errorf("%v %+v", err, c)
		}
		if z, err := zip.NewReader(bytes.NewReader(b), int64(len(b))); err != nil || len(z.File) != 6 {
			t.Errorf("%v", err)
		}
	}

	// What its reader may see by then is what counts.
	o = ask(args, "one")
	keys["one"] = &policy.Principal{Name: "one", Attributes: map[string]policy.Value{"team": policy.One("2")}}
	if c := contentsOf(t, both(t, url, "one", "resources/read", o.URI, `"uri":"`+o.URI+`"`)[0].body); c.Text != "\ufeffid,title,phone\n3,secret,*******2222\n" {
		t.Errorf("%+v", c)
	}
	for _, who := range []*policy.Principal{{Name: "one", Tools: map[string]bool{"res-query": true}}, {Name: "one", Scopes: []string{"write"}}} {
		keys["one"] = who
		for _, a := range both(t, url, "one", "resources/read", o.URI, `"uri":"`+o.URI+`"`)[:1] {
			if strings.Contains(a.body, "secret") || !strings.Contains(a.body, "PERMISSION_DENIED") && !strings.Contains(a.body, "no such export") {
				t.Errorf("%+v read it: %.300s", who, a.body)
			}
		}
	}
}

// No more files are made at once than there is room for, while they are counted as well as while they are read.
func TestExportQueryAtOnce(t *testing.T) {
	s := sqlBench(t, Options{Local: &policy.Principal{Name: "one", Attributes: map[string]policy.Value{"team": policy.One("1")}}})
	url := serveHTTP(t, s)
	args := `{"sql":"SELECT id FROM task"}`
	for range exportsRun {
		s.exports.begin()
	}
	if p := failure(t, exchange{body: call("export_query", args)}.do(t, url).body); p.Code != "OVERLOADED" {
		t.Errorf("%+v", p)
	}
	s.exports.end()
	for range 2 {
		offerOf(t, exchange{body: call("export_query", args)}.do(t, url).body)
	}
	if s.exports.running != exportsRun-1 {
		t.Errorf("%d run", s.exports.running)
	}
}

// Over stdio the file is read as over HTTP, and whoever asks for structured content finds the link there.
func TestExportQueryStdio(t *testing.T) {
	s := sqlBench(t, Options{Local: &policy.Principal{Name: "one", Attributes: map[string]policy.Value{"team": policy.One("1")}}})
	p := serveStdio(t, s)
	p.send(initBody)
	p.next()
	p.send(call("export_query", `{"sql":"SELECT id FROM task ORDER BY id"}`))
	o := offerOf(t, p.next())
	p.send(`{"jsonrpc":"2.0","id":2,"method":"resources/read","params":{"uri":"` + o.URI + `"}}`)
	if c := contentsOf(t, p.next()); c.Text != "\ufeffid\n1\n2\n" {
		t.Errorf("%+v", c)
	}
	a := exchange{body: call("export_query", `{"sql":"SELECT id FROM task"}`)}.with(headerVersion, "2").do(t, serveHTTP(t, s))
	var r struct {
		Result struct{ StructuredContent struct{ Data offered } }
	}
	if err := json.Unmarshal([]byte(a.body), &r); err != nil || !strings.HasPrefix(r.Result.StructuredContent.Data.URI, exportPrefix) {
		t.Errorf("%v %s", err, a.body)
	}
}
