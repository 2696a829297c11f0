package main

import (
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"resq/engine/policy"
	"resq/registry"
	"resq/server"
)

// C-040, C-045: the tools of another MCP server are registered, listed, opened by scopes, recorded and called like others;
// without that server the error is a clear one. The other server is one of this program.
func TestRemoteTools(t *testing.T) {
	there := servingOn(t, &source{packs: []string{"store"}, state: t.TempDir()}, false, time.Hour)
	front := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) { // so that it can go away
		if q.Header.Get("Authorization") != "Bearer s3cret" {
			http.Error(w, "no", http.StatusForbidden)
			return
		}
		own, err := http.NewRequestWithContext(q.Context(), q.Method, there.url+q.URL.Path, q.Body)
		if err != nil {
			http.Error(w, "no", http.StatusBadGateway)
			return
		}
		own.Header = q.Header.Clone()
		own.Header.Del("Authorization")
		resp, err := http.DefaultClient.Do(own)
		if err != nil {
			http.Error(w, "no", http.StatusBadGateway)
			return
		}
		defer resp.Body.Close()
		for k, v := range resp.Header {
			w.Header()[k] = v
		}
		w.WriteHeader(resp.StatusCode)
		_, _ = io.Copy(w, resp.Body)
	})}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = front.Serve(l) }()
	t.Cleanup(func() { _ = front.Close() })
	t.Setenv("STORE_TOKEN", "s3cret")

	dir, state := t.TempDir(), t.TempDir()
	catalog := write(t, dir, "catalog.yaml", "version: 1\nconnections: {main: {dsn: \"sqlite:"+dir+"/x.db\"}}\nresources:\n  - {code: Item, table: item, fields: {id: integer}}\n")
	add := func(name, text string) (int, string) {
		code, out, errOut := resq(t, "", "tool", "add", write(t, dir, name, text), "--catalog", catalog, "--state", state, "--namespace", "store", "--format", "json")
		return code, out + errOut
	}
	url := "http://" + l.Addr().String() + server.Path
	for _, c := range [][2]string{
		{"version: 1\nmcp: {url: \"ftp://x/y\"}\n", "mcp.url must be"},
		{"version: 1\nmcp: {url: \"http://me:pw@x/y\"}\n", "without a password"},
		{"version: 2\nmcp: {url: \"" + url + "\"}\n", "version must be 1"},
		{"version: 1\nmcp: {url: \"" + url + "\", colour: red}\n", "colour"},
		{"version: 1\nmcp: {url: \"" + url + "\", headers: {Authorization: \"${NOSUCH_TOKEN}\"}}\n", "NOSUCH_TOKEN"},
		{"version: 1\nmcp: {url: \"" + url + "\"}\n", "cannot be asked"},
		{"version: 1\nmcp: {url: \"" + url + "\", headers: {Authorization: \"Bearer ${STORE_TOKEN}\"}, tools: [nosuch]}\n", `no tool "nosuch"`},
		{"version: 1\nmcp: {url: \"" + url + "\", headers: {Authorization: \"Bearer ${STORE_TOKEN}\"}, tools: [res-query]}\n", "reads like an order to the model"},
	} {
		if code, out := add("bad.yaml", c[0]); code == exitOK || !strings.Contains(out, c[1]) || strings.Contains(out, "s3cret") || strings.Contains(out, "pw@") {
			t.Errorf("%s: %d %s", c[0], code, out)
		}
	}
	code, out := add("remote.yaml", "version: 1\nmcp:\n  url: "+url+"\n  headers: {Authorization: \"Bearer ${STORE_TOKEN}\"}\n  timeout: 5s\n  tools: [order.list, order.count]\n")
	if code != exitOK || !strings.Contains(out, `"name": "store/order.list"`) || !strings.Contains(out, `"source_type": "mcp"`) || strings.Contains(out, "s3cret") {
		t.Fatalf("%d %s", code, out)
	}
	if code, out := add("again.yaml", "version: 1\nmcp: {url: \""+url+"\", headers: {Authorization: \"Bearer ${STORE_TOKEN}\"}, tools: [order.get, order.count]}\n"); code == exitOK || !strings.Contains(out, `there is "store/order.count" already`) {
		t.Errorf("%d %s", code, out)
	}
	if _, out, _ := resq(t, "", "tool", "list", "--source", "mcp", "--state", state); strings.Contains(out, "order.get") {
		t.Errorf("half of a server was added:\n%s", out)
	}
	asked := func(want ...string) {
		t.Helper()
		code, out, errOut := resq(t, "", "call", "order.list", `{"rows":1}`, "--catalog", catalog, "--state", state)
		for _, w := range want {
			if !strings.Contains(out+errOut, w) || strings.Contains(out+errOut, l.Addr().String()) {
				t.Errorf("%d, no %s in %s%s", code, w, out, errOut)
			}
		}
	}
	asked(`"total":`, `"rows":1`)

	// Listed, opened by the scopes of a key, counted and recorded.
	here := servingOn(t, &source{catalogs: []string{catalog}, state: state}, false, time.Hour)
	var kept []*server.Call
	s, err := server.New(here.opened.backend(), server.Options{Log: here.reloader.log, Record: func(c *server.Call) { kept = append(kept, c) }})
	if err != nil {
		t.Fatal(err)
	}
	reader := &policy.Principal{Name: "r", Scopes: []string{"read"}}
	scoped := &policy.Principal{Name: "s", Scopes: []string{"read"}, Tools: map[string]bool{policy.ToolKey("order.count"): true}}
	if got := s.Visible(reader); !slices.Contains(got, "order.list") || !slices.Contains(got, "order.count") {
		t.Errorf("visible: %v", got)
	}
	if got := s.Visible(scoped); !slices.Equal(got, []string{"order.count"}) {
		t.Errorf("visible to a key with a scope: %v", got)
	}
	if r, ok := s.Call(t.Context(), scoped, "order.list", []byte(`{}`)); ok && !r.Failed {
		t.Errorf("called without the scope: %+v", r)
	}
	if r, ok := s.Call(t.Context(), scoped, "order.count", []byte(`{}`)); !ok || r.Failed || !strings.Contains(r.Texts[0], `"count":`) {
		t.Errorf("called: %+v", r)
	}
	if n := len(kept); n == 0 || kept[n-1].Tool != "order.count" || kept[n-1].Outcome != "ok" {
		t.Errorf("recorded: %+v", kept)
	}
	if text, err := here.ask(t.Context(), "order_list", `{"rows":"many"}`); err != nil || !strings.Contains(text, "DATA_ERROR") || !strings.Contains(text, "says:") {
		t.Errorf("%s %v", text, err)
	}

	// Without the other server.
	_ = front.Close()
	asked("UPSTREAM_UNAVAILABLE", "the server that this tool is of cannot be asked")
}

// C-040: a tool of another server that has the name of one of ours is told when a server starts.
func TestRemoteClash(t *testing.T) {
	conf, err := (&source{state: t.TempDir()}).settings()
	if err != nil {
		t.Fatal(err)
	}
	c := controlled{from: source{state: conf.State}, format: "json"}
	ctl, _, err := c.open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer ctl.Close()
	if _, err := ctl.AddCallable(t.Context(), registry.Callable{Name: "other/res_query", Type: registry.TypeTool, Source: "mcp", ReadOnly: true, Config: "version: 1\nmcp: {url: \"http://127.0.0.1:1/mcp\"}\n"}); err != nil {
		t.Fatal(err)
	}
	code, out, errOut := resq(t, "", "serve", "--http", "127.0.0.1:0", "--pack", "store", "--state", conf.State)
	if code == exitOK || !strings.Contains(out+errOut, `the tool "other/res_query" of the registry has the name of "builtin/res-query"`) {
		t.Errorf("%d %s%s", code, out, errOut)
	}
}
