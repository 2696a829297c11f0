package main

import (
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"resq/server"
	"resq/testdb"
)

const taskScript = `CREATE TABLE task (id INTEGER NOT NULL PRIMARY KEY, title VARCHAR(20) NOT NULL, hours DECIMAL(6,2), state INTEGER);
INSERT INTO task VALUES (1,'paint',2.5,0),(2,'clean',1,1),(3,'paint again',4,0)`

const taskTool = `version: 1
tools:
  - name: task.list
    description: Lists open tasks, the longest first.
    shape: list
    source: Task
    where: {state: 0}
    params:
      title: {type: string, match: contains, maxLength: 20}
    order: [hours desc]
    columns: [id, title, hours, {days: {expr: "ROUND(hours / 8, 3)"}}]
    examples:
      - {about: by a part of the title, args: {title: again}, answer: {total: 1, records: [{id: 3, days: 0.5}]}}
`

// A tool is one file: written into the directory of a catalog it is checked, shown and tested by the program, and a server
// that runs lists it, tells its clients so and answers it, on every database. A bad save is told by all of them, with its
// place, and the server serves what it served (B-041, E-37).
func TestToolIsOneFile(t *testing.T) {
	testdb.Each(t, func(t *testing.T, e testdb.Engine) {
		dir := t.TempDir()
		write(t, dir, "tasks.yaml", "version: 1\nconnections: {main: {driver: "+e.Name+", dsn: "+quoted(testdb.Create(t, e, taskScript))+"}}\nresources:\n"+
			"  - {code: Task, table: task, key: id, fields: {id: integer, title: {type: string, maxLength: 20}, hours: \"decimal(6,2)\", state: integer}}\n")
		if err := os.Mkdir(filepath.Join(dir, "tools"), 0o700); err != nil {
			t.Fatal(err)
		}
		s := servingOn(t, &source{catalogs: []string{dir}}, true, 50*time.Millisecond)
		if got := s.list(); strings.Contains(got, "task.list") || !strings.Contains(got, "res-query") {
			t.Fatal(got)
		}
		heard := s.listen()
		file := write(t, filepath.Join(dir, "tools"), "task.list.yaml", taskTool)

		if code, out, errOut := resq(t, "", "validate", dir); code != 0 || !strings.Contains(out, "2 files checked, all passed.") {
			t.Errorf("validate: %d %s%s", code, out, errOut)
		}
		code, out, errOut := resq(t, "", "tool", "show", "task.list", `{"title":"paint"}`, "--catalog", dir)
		for _, want := range []string{"Lists open tasks", `"maxLength": 20`, "params.title", file + ":9:7", "ORDER BY", `{"id":3,"title":"paint again","hours":4.00,`} {
			if code != 0 || !strings.Contains(out, want) {
				t.Errorf("tool show: %d, no %q in %s%s", code, want, out, errOut)
			}
		}
		if code, out, errOut := resq(t, "", "test", "--catalog", dir); code != 0 || out != "1 examples run, 0 failed.\n" {
			t.Errorf("test: %d %s%s", code, out, errOut)
		}

		eventually(t, "the tool is listed", func() bool { return strings.Contains(s.list(), `"name":"task.list"`) })
		eventually(t, "clients are told", func() bool { return strings.Contains(heard(), "notifications/tools/list_changed") })
		const answer = `{"total":2,"page":1,"rows":20,"records":[{"id":3,"title":"paint again","hours":4.00,"days":0.5},{"id":1,"title":"paint","hours":2.50,"days":0.313}]}`
		answers := func(tool, want string) {
			t.Helper()
			got, err := s.ask(context.Background(), tool, `{}`)
			if got = strings.ReplaceAll(got, "\n", ""); err != nil || got != want {
				t.Errorf("%s: %v\n got %s\nwant %s", tool, err, got, want)
			}
		}
		answers("task.list", answer)
		answers("task_list", answer)

		for _, bad := range []struct{ from, to, at, want string }{
			{"ROUND(hours / 8, 3)", "ROUNDED(hours)", ":11:", "ROUNDED"},                             // only a planner sees it
			{"{state: 0}", "{state: open}", ":7:", "open"},                                           // no value of the field
			{"match: contains, maxLength: 20", "match: contains, maxlength: 20", ":9:", "maxlength"}, // no key
			{"source: Task", "source: Tusk", ":6:", "Tusk"},
		} {
			told := len(s.log.with("not reloaded"))
			replace(t, file, strings.Replace(taskTool, bad.from, bad.to, 1))
			code, out, errOut := resq(t, "", "validate", dir)
			if code != 1 || !strings.Contains(errOut, "FAIL  "+file+bad.at) || !strings.Contains(errOut, bad.want) {
				t.Errorf("validate %s: %d %s%s", bad.to, code, out, errOut)
			}
			eventually(t, "a line about a bad file", func() bool { return len(s.log.with("not reloaded")) > told })
			lines := s.log.with("not reloaded")
			if line := lines[len(lines)-1]; !strings.Contains(line, file+bad.at) || !strings.Contains(line, bad.want) {
				t.Errorf("%s: %s", bad.to, line)
			}
			if got := s.ready(); !strings.Contains(got, "degraded") {
				t.Errorf("/readyz: %s", got)
			}
			answers("task.list", answer)
		}
		// An example that does not hold fails the test, and names its place.
		replace(t, file, strings.Replace(taskTool, "days: 0.5}", "days: 7}", 1))
		if code, out, _ := resq(t, "", "test", "--catalog", dir); code != 1 || !strings.Contains(out, file+":13:9: task.list") || !strings.Contains(out, "differs at /records/0/days") {
			t.Errorf("a wrong example: %d %s", code, out)
		}
		replace(t, file, strings.Replace(taskTool, "[hours desc]", "[hours]", 1))
		eventually(t, "well again", func() bool {
			got, err := s.ask(context.Background(), "task.list", `{"rows":1}`)
			return err == nil && strings.Contains(got, `"id":1`) && s.ready() == "200 ok\n"
		})
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the tool is gone", func() bool { return !strings.Contains(s.list(), "task.list") })
	})
}

func quoted(s string) string { return `"` + strings.ReplaceAll(s, `"`, `\"`) + `"` }

// list gives the tools that the server lists.
func (s *served) list() string {
	return s.send(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, "")
}

func (s *served) send(body, session string) string {
	s.t.Helper()
	resp := s.request(http.MethodPost, strings.NewReader(body), session)
	defer resp.Body.Close()
	b, _ := io.ReadAll(resp.Body)
	return string(b)
}

func (s *served) request(method string, body io.Reader, session string) *http.Response {
	s.t.Helper()
	req, err := http.NewRequest(method, s.url+server.Path, body)
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if session != "" {
		req.Header.Set("Mcp-Session-Id", session)
	}
	resp, err := s.client.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp
}

// listen begins a session with a stream, and gives what was heard on it so far.
func (s *served) listen() func() string {
	s.t.Helper()
	resp := s.request(http.MethodPost, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`), "")
	session := resp.Header.Get("Mcp-Session-Id")
	resp.Body.Close()
	if session == "" {
		s.t.Fatal("no session")
	}
	s.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`, session)
	stream := s.request(http.MethodGet, nil, session)
	heard := &lines{}
	go func() {
		_, _ = io.Copy(heard, stream.Body)
	}()
	s.t.Cleanup(func() { stream.Body.Close() })
	return heard.String
}
