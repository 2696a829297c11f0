package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"resq/registry"
	"resq/testdb"
)

// A running server is the program in this process, with a log of its own.
type running struct {
	t    *testing.T
	url  string
	stop func()
	log  *lockedBuffer
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

var listening = regexp.MustCompile(`"listening","address":"([^"]+)"`)

// runServer starts a server on a free port of the loopback interface.
func runServer(t *testing.T, args ...string) *running {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r := &running{t: t, log: &lockedBuffer{}}
	done := make(chan int, 1)
	go func() {
		done <- run(ctx, append([]string{"serve", "--http", "127.0.0.1:0", "--no-watch", "--log-format", "json"}, args...), strings.NewReader(""), io.Discard, r.log)
	}()
	r.stop = sync.OnceFunc(func() { cancel(); <-done })
	t.Cleanup(r.stop)
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if m := listening.FindStringSubmatch(r.log.String()); m != nil {
			r.url = "http://" + m[1]
			return r
		}
		select {
		case code := <-done:
			done <- code
			t.Fatalf("the server ended with %d: %s", code, r.log)
		default:
		}
		if time.Now().After(end) {
			t.Fatalf("the server does not listen: %s", r.log)
		}
	}
}

// post sends a body with a key and gives the status and the answer.
func (r *running) post(path, key, body string) (int, string) {
	r.t.Helper()
	return r.send(http.MethodPost, path, key, body)
}

func (r *running) send(method, path, key, body string) (int, string) {
	r.t.Helper()
	req, err := http.NewRequestWithContext(context.Background(), method, r.url+path, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return resp.StatusCode, string(raw)
}

// call calls a tool and gives the code of its answer; OK is success.
func (r *running) call(key, tool, args string) string {
	r.t.Helper()
	status, body := r.post("/mcp", key, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, tool, args))
	if m := regexp.MustCompile(`\\?"code\\?":\\?"([A-Z_]+)\\?"`).FindStringSubmatch(body); m != nil {
		return m[1]
	}
	if status != 200 || !strings.Contains(body, `"content"`) {
		r.t.Errorf("%s: %d %s", tool, status, body)
	}
	return "OK"
}

// tools lists what a key sees.
func (r *running) tools(key string) []string {
	r.t.Helper()
	status, body := r.post("/mcp", key, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	if status != 200 {
		r.t.Fatalf("%d %s", status, body)
	}
	var list struct {
		Result struct{ Tools []struct{ Name string } }
	}
	if err := json.Unmarshal([]byte(body), &list); err != nil {
		r.t.Fatal(err)
	}
	names := []string{}
	for _, tool := range list.Result.Tools {
		names = append(names, tool.Name)
	}
	return names
}

// do runs a command on the control database and reads what it prints.
func do(t *testing.T, config string, into any, args ...string) {
	t.Helper()
	code, out, errOut := resq(t, "", append(args, "--config", config, "--format", "json")...)
	if code != 0 {
		t.Fatalf("resq %s: %d %s", strings.Join(args, " "), code, errOut)
	}
	if into != nil {
		if err := json.Unmarshal([]byte(out), into); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
}

type made struct {
	ID  int64
	Key string
}

// controlled writes a configuration with a control database on e.
func controlledConfig(t *testing.T, dir string, e testdb.Engine, more string) string {
	t.Helper()
	return write(t, dir, "resq.yaml", "state: "+filepath.Join(dir, "state")+"\nsecret: 0123456789012345678901234567890123456789\ncontrol: \""+testdb.Create(t, e)+"\"\nkeys: {prefix: xqak_}\n"+more)
}

const (
	aPhone = "13812345678"
	query1 = `{"resource":"Customer","fields":[{"code":"id"}],"limit":1,"conditions":{"type":"and","exprs":[{"field":"name","operator":"=","token":"` + aPhone + `"}]}}`
)

// N3, B-002, E-10: a key that was made by hand opens two servers that share a control database; what is revoked,
// disabled or taken out of a scope is so on both within five seconds. And no log, table or file has the key or a
// phone number (B-014).
func TestKeysOnTwoServers(t *testing.T) {
	testdb.Each(t, func(t *testing.T, e testdb.Engine) {
		dir := t.TempDir()
		admin := made{}
		code, out, errOut := resq(t, "", "keys", "credential", "--format", "json")
		var credential struct{ Credential, Admin string }
		if code != 0 || json.Unmarshal([]byte(out), &credential) != nil {
			t.Fatal(out, errOut)
		}
		config := controlledConfig(t, dir, e, "audit: {calls: [control, files]}\n")
		config = write(t, dir, "resq.yaml", strings.Replace(mustRead(t, config), "prefix: xqak_", "prefix: xqak_, admin: \""+credential.Admin+"\"", 1))
		var k made
		do(t, config, nil, "scopes", "create", "reading", "--tool", "res-schema", "--tool", "res_query")
		do(t, config, &k, "keys", "create", "--name", "reports", "--user", "42", "--scope", "reading")
		do(t, config, &admin, "keys", "create", "--name", "other", "--scope", "reading")
		a, b := runServer(t, "--config", config), runServer(t, "--config", config)
		for _, s := range []*running{a, b} {
			if got := s.tools(k.Key); !slices.Equal(got, []string{"res-schema", "res-query"}) {
				t.Errorf("visible: %v", got)
			}
			if got := s.call(k.Key, "res-query", query1); got != "OK" {
				t.Errorf("call: %s", got)
			}
			if got := s.call(k.Key, "res-create", `{"resource":"Customer","data":{"phone":"`+aPhone+`"}}`); got != "PERMISSION_DENIED" {
				t.Errorf("a tool outside the scope: %s", got)
			}
			if got := s.call(k.Key, "res-nosuch", `{}`); got != "UNKNOWN_TOOL" {
				t.Errorf("a tool that is not there: %s", got)
			}
			if got := s.call(k.Key+"x", "res-query", `{}`); got != "UNAUTHENTICATED" {
				t.Errorf("a wrong key: %s", got)
			}
			if got := s.call(k.Key, "res-query", `{"resource":"`+k.Key+`","fields":[{"code":"`+aPhone+`"}]}`); got != "UNKNOWN_RESOURCE" {
				t.Errorf("a key among the arguments: %s", got)
			}
		}
		within := func(what string, holds func(s *running) bool) {
			t.Helper()
			start := time.Now()
			for _, s := range []*running{a, b} {
				for !holds(s) {
					if time.Since(start) > 5*time.Second {
						t.Fatalf("%s: not after five seconds", what)
					}
					time.Sleep(20 * time.Millisecond)
				}
			}
			t.Logf("%s: on both servers after %s", what, time.Since(start).Round(time.Millisecond))
		}
		do(t, config, nil, "scopes", "remove-tool", "reading", "res-schema")
		within("a tool that left the scope", func(s *running) bool { return s.call(k.Key, "res-schema", `{}`) == "PERMISSION_DENIED" })
		do(t, config, nil, "tools", "disable", "res-query")
		within("a tool that is switched off", func(s *running) bool { return s.call(k.Key, "res-query", query1) == "PERMISSION_DENIED" })
		if got := a.tools(k.Key); len(got) != 0 {
			t.Errorf("visible: %v", got)
		}
		do(t, config, nil, "tools", "enable", "res-query")
		within("and on again", func(s *running) bool { return s.call(k.Key, "res-query", query1) == "OK" })
		// By hand, without a word to anybody.
		testdb.Exec(t, e, strings.TrimPrefix(regexp.MustCompile(`control: "(.*)"`).FindStringSubmatch(mustRead(t, config))[1], ""), "UPDATE agent_api_key SET status = 0 WHERE id = "+fmt.Sprint(k.ID))
		within("a key that was disabled by hand", func(s *running) bool { return s.call(k.Key, "res-query", query1) == "UNAUTHENTICATED" })
		do(t, config, nil, "keys", "enable", fmt.Sprint(k.ID))
		within("and enabled", func(s *running) bool { return s.call(k.Key, "res-query", query1) == "OK" })

		// The API: makes, shows and revokes, on one server, for both.
		status, body := a.post("/api/v1/keys", credential.Credential, `{"name":"by the API","user_id":43,"scopes":["reading"],"expire_time":"2099-01-01T00:00:00Z"}`)
		var by made
		if status != 200 || json.Unmarshal([]byte(body), &by) != nil || !strings.HasPrefix(by.Key, "xqak_") {
			t.Fatalf("%d %s", status, body)
		}
		within("a key of the API", func(s *running) bool { return s.call(by.Key, "res-query", query1) == "OK" })
		if status, body := b.post(fmt.Sprintf("/api/v1/keys/%d/reveal", by.ID), credential.Credential, ""); status != 200 || !strings.Contains(body, by.Key) {
			t.Errorf("shown again: %d %s", status, body)
		}
		if status, body := a.post(fmt.Sprintf("/api/v1/keys/%d/revoke", by.ID), credential.Credential, ""); status != 200 || !strings.Contains(body, `"state":"revoked"`) {
			t.Errorf("revoked: %d %s", status, body)
		}
		within("a key that was revoked", func(s *running) bool { return s.call(by.Key, "res-query", query1) == "UNAUTHENTICATED" })
		for _, wrong := range []string{"", k.Key, credential.Admin, credential.Credential + "x"} {
			if status, body := a.send(http.MethodGet, "/api/v1/keys", wrong, ""); status != 401 || !strings.Contains(body, "UNAUTHENTICATED") || strings.Contains(body, "xqak_") {
				t.Errorf("credential %q: %d %s", wrong, status, body)
			}
		}
		a.stop()
		b.stop()
		// What was kept.
		plains := []string{k.Key, by.Key, credential.Credential}
		dsn := regexp.MustCompile(`control: "(.*)"`).FindStringSubmatch(mustRead(t, config))[1]
		calls := keptCalls(t, e, dsn)
		find := func(want map[string]string) {
			t.Helper()
			for _, c := range calls {
				ok := true
				for name, v := range want {
					ok = ok && strings.Contains(c[name], v)
				}
				if ok {
					return
				}
			}
			t.Errorf("no call is kept as %v among %d", want, len(calls))
		}
		id := fmt.Sprint(k.ID)
		find(map[string]string{"tool_name": "res-query", "outcome": "ok", "token_id": id, "user_id": "42", "args_masked": "138****5678", "client_ip": "127.0.0.1", "schema_version": "1"})
		find(map[string]string{"tool_name": "res-create", "outcome": "denied", "error_code": "PERMISSION_DENIED", "token_id": id})
		find(map[string]string{"tool_name": "unknown", "outcome": "error", "error_code": "UNKNOWN_TOOL"})
		find(map[string]string{"tool_name": "api POST keys", "outcome": "ok", "principal": "issuer", "args_masked": "by the API"})
		find(map[string]string{"tool_name": "keys create", "outcome": "ok", "principal": "cli", "token_id": id, "args_masked": `"name":"reports"`})
		_, said, _ := resq(t, "", "audit", "calls", "--config", config, "--who", "user:42", "--tool", "res-query", "--format", "json")
		if !strings.Contains(said, `"tool_name": "res-query"`) || !strings.Contains(said, " execute=") || strings.Contains(said, "res-create") {
			t.Errorf("the calls of somebody: %s", said)
		}
		if m := regexp.MustCompile(`"request_id": "([^"]+)"`).FindStringSubmatch(said); m == nil {
			t.Errorf("a call without an id: %s", said)
		} else if _, one, errOut := resq(t, "", "audit", "calls", m[1], "--config", config); !strings.Contains(one, m[1]) || !strings.Contains(one, "stages, in µs") {
			t.Errorf("one call: %s %s", one, errOut)
		}
		if code, _, errOut := resq(t, "", "audit", "calls", "nosuch", "--config", config); code != exitFailed || !strings.Contains(errOut, "no call") {
			t.Errorf("a call that there is not: %d %s", code, errOut)
		}
		if code, _, errOut := resq(t, "", "audit", "calls", "--outcome", "odd", "--config", config); code == exitOK || !strings.Contains(errOut, "nearest: ok") {
			t.Errorf("an outcome that there is not: %d %s", code, errOut)
		}
		_, said, _ = resq(t, "", "keys", "expire", id, "--at", "2099-01-31", "--config", config, "--format", "json")
		if !strings.Contains(said, `"expire_time": "2099-01-3`) {
			t.Errorf("another end: %s", said)
		}
		if _, said, _ = resq(t, "", "keys", "expire", id, "--never", "--config", config, "--format", "json"); strings.Contains(said, "expire_time") || !strings.Contains(said, `"state": "active"`) {
			t.Errorf("no end: %s", said)
		}
		if code, _, _ := resq(t, "", "keys", "expire", id, "--config", config); code == exitOK {
			t.Error("an end that nobody said")
		}
		find(map[string]string{"tool_name": "scopes create", "outcome": "ok", "principal": "cli", "args_masked": `"args":["reading"]`})
		find(map[string]string{"tool_name": "tools disable", "outcome": "ok", "principal": "cli", "args_masked": "res"})
		find(map[string]string{"tool_name": "api", "outcome": "denied", "error_code": "UNAUTHENTICATED", "client_ip": "127.0.0.1"})
		for _, c := range calls {
			if c["tool_name"] == "res-query" && c["outcome"] == "ok" && len(c["sql_hash"]) != 16 {
				t.Errorf("a call without the hash of its statement: %v", c)
			}
		}
		texts := map[string]string{"the log of a": a.log.String(), "the log of b": b.log.String(), "the table of calls": fmt.Sprint(calls)}
		_ = filepath.WalkDir(filepath.Join(dir, "state"), func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() {
				texts[path] = mustRead(t, path)
			}
			return nil
		})
		if e.Name == testdb.SQLite {
			texts[dsn] = mustRead(t, strings.TrimPrefix(dsn, "sqlite:")) // what was deleted as well
		}
		for where, text := range texts {
			if strings.HasSuffix(where, ".sqlite") && strings.Contains(where, "store-") {
				continue // the demonstration's data
			}
			for _, secret := range append(plains, aPhone) {
				if strings.Contains(text, secret) {
					t.Errorf("%s holds %s…", where, secret[:8])
				}
			}
		}
		if files := len(texts); files < 5 {
			t.Errorf("only %d texts were looked through", files)
		}
	})
}

func mustRead(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// keptCalls reads mcp_audit_log as texts.
func keptCalls(t *testing.T, e testdb.Engine, dsn string) []map[string]string {
	t.Helper()
	db := testdb.Open(t, e, dsn)
	defer db.Close()
	rows, err := db.Query("SELECT * FROM mcp_audit_log ORDER BY id")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	cols, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	var list []map[string]string
	for rows.Next() {
		vals := make([]any, len(cols))
		for i := range vals {
			vals[i] = new(any)
		}
		if err := rows.Scan(vals...); err != nil {
			t.Fatal(err)
		}
		m := map[string]string{}
		for i, c := range cols {
			switch v := (*vals[i].(*any)).(type) {
			case nil:
			case []byte:
				m[c] = string(v)
			default:
				m[c] = fmt.Sprint(v)
			}
		}
		list = append(list, m)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return list
}

// listedCatalog has every kind of tool on two connections.
const listedCatalog = `version: 1
connections:
  main: {driver: sqlite, dsn: "MAIN", mode: write}
  far: {driver: sqlite, dsn: "FAR"}
resources:
  - {code: Near, connection: main, table: near, key: id, writes: [create, update, delete], fields: {id: integer, name: string}}
  - {code: Far, connection: far, table: far, key: id, fields: {id: integer, name: string}}
tools:
  - {name: near.list, description: Near., shape: list, source: Near, columns: [id], order: [id asc], paging: {default: 20, max: 100}}
  - {name: far.list, description: Far., shape: list, source: Far, columns: [id], order: [id asc], paging: {default: 20, max: 100}}
  - {name: boss.list, description: Near., shape: list, source: Near, columns: [id], order: [id asc], paging: {default: 20, max: 100}, roles: [boss]}
  - {name: sql_near, title: Near, description: Near by SQL., system: main, sql: SELECT id FROM near}
  - {name: sql_far, title: Far, description: Far by SQL., system: far, sql: SELECT id FROM far}
  - {name: sql_any, title: Any, description: Any by SQL., sql: SELECT 1 AS one}
`

// N4, B-003, B-004, E-10: for 200 random ways of giving scopes to keys and switching tools off, what is listed is what
// can be called, over HTTP: the generic tools, business tools, those of SQL, those of some role, and in the first half those whose
// connection is down.
func TestListAgainstCall(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	dir := t.TempDir()
	sqlite := testdb.Engine{Name: testdb.SQLite}
	main, far := testdb.Create(t, sqlite, "CREATE TABLE near (id INTEGER PRIMARY KEY, name TEXT)"), testdb.Create(t, sqlite, "CREATE TABLE far (id INTEGER PRIMARY KEY, name TEXT)")
	file := strings.TrimPrefix(far, "sqlite:")
	if err := os.Rename(file, file+".away"); err != nil {
		t.Fatal(err)
	}
	write(t, dir, "listed.yaml", strings.NewReplacer("MAIN", main, "FAR", far).Replace(listedCatalog))
	config := controlledConfig(t, dir, sqlite, "catalog: [listed.yaml]\ntools: {disabled: [res-undo]}\nprincipals:\n  reader: {scopes: [read]}\n  writer: {scopes: [read, write]}\n  eraser: {scopes: [delete]}\n  boss: {scopes: [read], roles: [boss]}\n")
	conf, err := loadConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	ctl, err := openControl(t.Context(), conf, slog.New(slog.DiscardHandler), []byte(conf.Secret), true)
	if err != nil {
		t.Fatal(err)
	}
	defer ctl.Close()
	all := []string{"res-schema", "res-query", "res-create", "res-update", "res-delete", "res-operation", "res-undo", "near.list", "far.list", "boss.list", "sql_near", "sql_far", "sql_any"}
	if _, err := ctl.CreateScope(t.Context(), "all", "", append(all, "res-nosuch")...); err != nil {
		t.Fatal(err)
	}
	_, first, err := ctl.CreateKey(t.Context(), registry.NewKey{Name: "first", Scopes: []string{"all"}})
	if err != nil {
		t.Fatal(err)
	}
	s := runServer(t, "--config", config)
	sees := func(want int) {
		t.Helper()
		for end := time.Now().Add(30 * time.Second); len(s.tools(first)) != want; time.Sleep(100 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("the key of all tools sees %v, want %d", s.tools(first), want)
			}
		}
	}
	sees(9) // all but res-undo, that of the boss, and two whose connection is down
	shapes, answers := map[string]int{}, map[string]int{}
	var off []string
	for n := range 200 {
		if n == 100 {
			if err := os.Rename(file+".away", file); err != nil {
				t.Fatal(err)
			}
			for _, tool := range all { // so that the connection alone decides
				if _, err := ctl.EnableTool(t.Context(), tool, true); err != nil {
					t.Fatal(err)
				}
			}
			sees(11)
			off = nil
		}
		var codes []string
		for i := range rng.IntN(4) {
			code := fmt.Sprintf("s%d-%d", n, i)
			var tools []string
			for _, tool := range append(slices.Clone(all), "res-nosuch", "agent.list.query") {
				if rng.IntN(2) == 0 {
					if rng.IntN(2) == 0 {
						tool = strings.NewReplacer("-", "_", ".", "_").Replace(tool)
					}
					tools = append(tools, tool)
				}
			}
			if _, err := ctl.CreateScope(t.Context(), code, "", tools...); err != nil {
				t.Fatal(err)
			}
			if rng.IntN(5) == 0 {
				if _, err := ctl.EnableScope(t.Context(), code, false); err != nil {
					t.Fatal(err)
				}
			}
			codes = append(codes, code)
		}
		if n%25 == 0 { // the tools that nobody may call
			for _, tool := range all {
				on := rng.IntN(4) > 0
				if _, err := ctl.EnableTool(t.Context(), tool, on); err != nil {
					t.Fatal(err)
				}
				off = slices.DeleteFunc(off, func(o string) bool { return o == tool })
				if !on {
					off = append(off, tool)
				}
			}
			time.Sleep(1200 * time.Millisecond)
		}
		_, key, err := ctl.CreateKey(t.Context(), registry.NewKey{Name: fmt.Sprint(n), Principal: []string{"", "", "reader", "writer", "eraser", "boss"}[rng.IntN(6)], Scopes: codes})
		if err != nil {
			t.Fatal(err)
		}
		listed := s.tools(key)
		for _, tool := range all {
			spelt := tool
			if rng.IntN(2) == 0 {
				spelt = strings.NewReplacer("-", "_", ".", "_").Replace(tool)
			}
			got, can := s.call(key, spelt, `{}`), slices.Contains(listed, tool)
			down := n < 100 && strings.Contains(tool, "far")
			refused := got == "PERMISSION_DENIED" || got == "UPSTREAM_UNAVAILABLE" && down || got == "UNKNOWN_TOOL" && tool == "boss.list"
			answers[got]++
			if refused == can || !refused && (got == "UNKNOWN_TOOL" || got == "UNAUTHENTICATED" || got == "UPSTREAM_UNAVAILABLE") || down && can {
				t.Fatalf("configuration %d: %s is listed: %v, and called: %s; scopes %v, switched off %v", n, tool, can, got, codes, off)
			}
			if can && (slices.Contains(off, tool) || tool == "res-undo") {
				t.Fatalf("configuration %d: %s is listed, and is switched off", n, tool)
			}
		}
		if got := s.call(key, "res-nosuch", `{}`); got != "UNKNOWN_TOOL" {
			t.Fatalf("a tool that is not there: %s", got)
		}
		shapes[strings.Join(listed, " ")]++
	}
	t.Logf("%d different lists; answers %v", len(shapes), answers)
	for _, code := range []string{"PERMISSION_DENIED", "UPSTREAM_UNAVAILABLE", "UNKNOWN_TOOL", "INVALID_ARGUMENT", "OK"} {
		if answers[code] == 0 {
			t.Errorf("no call was answered %q: %v", code, answers)
		}
	}
	if len(shapes) < 15 {
		t.Errorf("only %d different lists: %v", len(shapes), shapes)
	}
}

// B-022: a scope takes the tools that some server has loaded, in either spelling, and others when it is said that they come
// later; an id of a user has one spelling.
func TestScopesOfUnknownTools(t *testing.T) {
	dir := t.TempDir()
	config := controlledConfig(t, dir, testdb.Engine{Name: testdb.SQLite}, "")
	do(t, config, nil, "scopes", "create", "early", "--tool", "res-anything") // no server has told of any yet
	s := runServer(t, "--config", config)
	s.stop()
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"scopes", "create", "typo", "--tool", "res-query", "--tool", "res-qury"}, `/tools/1: no server has loaded "res-qury"`},
		{[]string{"scopes", "create", "typo", "--tool", "res-qury"}, "nearest: res-query; --later takes tools that come later"},
		{[]string{"scopes", "add-tool", "early", "agent.list.query"}, `no server has loaded "agent.list.query"`},
		{[]string{"keys", "create", "--name", "x", "--user", "042"}, "without leading zeros, sign or fraction: 42"},
		{[]string{"keys", "create", "--name", "x", "--user", " 42"}, "an id does not begin or end with a blank"},
	} {
		code, out, errOut := resq(t, "", append(c.args, "--config", config)...)
		if code == 0 || !strings.Contains(errOut, c.want) {
			t.Errorf("%v: %d %s %s", c.args, code, out, errOut)
		}
	}
	do(t, config, nil, "scopes", "create", "right", "--tool", "res_query", "--tool", "res-schema")
	do(t, config, nil, "scopes", "add-tool", "right", "agent.list.query", "--later")
	do(t, config, nil, "scopes", "remove-tool", "right", "agent.list.query")
	do(t, config, nil, "keys", "create", "--name", "x", "--user", "00a7") // no number
}

// N2: where a server may listen, by who it asks for keys.
func TestUnsafeBinds(t *testing.T) {
	open := "0.0.0.0:0"
	const refused, starts = "no principal has a key", "listening"
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "empty"), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "empty"), "catalog.yaml", "version: 1\nconnections: {main: {driver: sqlite, dsn: \"sqlite:"+filepath.Join(dir, "none.sqlite")+"\"}}\n")
	n := 0
	config := func(text string) string {
		n++
		state := filepath.Join(dir, fmt.Sprint(n))
		return write(t, dir, fmt.Sprintf("%d.yaml", n), "catalog: [empty]\nstate: "+state+"\nsecret: 0123456789012345678901234567890123456789\n"+text)
	}
	keyed := "principals:\n  alice: {keys: [alice-has-a-long-key-0001]}\n"
	admin := "keys: {admin: \"sha256:" + strings.Repeat("ab", 32) + "\"}\n"
	withKeys := func(text string, commands ...[]string) string {
		c := config(text)
		do(t, c, nil, "keys", "create", "--name", "x")
		for _, args := range commands {
			do(t, c, nil, args...)
		}
		return c
	}
	for _, c := range []struct {
		what, config, addr, want string
	}{
		{"nothing, loopback", config(""), "127.0.0.1:0", starts},
		{"nothing, every address", config(""), open, refused},
		{"nothing, every address of the other kind", config(""), "[::]:0", refused},
		{"nothing, no address", config(""), ":0", refused},
		{"keys in the file, every address", config(keyed), open, starts},
		{"a principal without keys, every address", config("principals:\n  alice: {}\nprincipal: alice\n"), open, refused},
		{"a control database without keys, every address", config("control: \"sqlite:" + filepath.Join(dir, "empty.sqlite") + "\"\n"), open, starts},
		{"a key in the control database, every address", withKeys(""), open, starts},
		{"a named control database with a key, every address", withKeys("control: \"sqlite:" + filepath.Join(dir, "one.sqlite") + "\"\n"), open, starts},
		{"its only key revoked, every address", withKeys("", []string{"keys", "revoke", "1"}), open, starts},
		{"its only key disabled, every address", withKeys("", []string{"keys", "disable", "1"}), open, starts},
		{"a prefix of keys and no key yet, every address", config("keys: {prefix: xqak_}\n"), open, starts},
		{"an issuer and no key yet, every address", config(admin), open, starts},
		{"a control database that is not there", config("control: mysql://nobody@127.0.0.1:1/none\n"), "127.0.0.1:0", "does not answer"},
		{"a control database of another kind", config("control: redis://127.0.0.1/\n"), "127.0.0.1:0", "no address of a database"},
		{"an issuer whose credential stands there as it is", config("keys: {admin: hunter2hunter2hunter2}\n"), "127.0.0.1:0", "kept as its sum"},
		{"a bad prefix", config("keys: {prefix: \"x y\"}\n"), "127.0.0.1:0", "prefix"},
		{"a principal with the name of a key's owner", config("principals:\n  \"user:7\": {}\n"), "127.0.0.1:0", "names that begin with user:"},
		{"a tool that is not there", config("tools: {enabled: [res-qery]}\n"), "127.0.0.1:0", "nearest: res-query"},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		var log lockedBuffer
		ended := make(chan int, 1)
		go func() {
			ended <- run(ctx, []string{"serve", "--http", c.addr, "--no-watch", "--log-format", "json", "--config", c.config}, strings.NewReader(""), io.Discard, &log)
		}()
		code := -1
		for end := time.Now().Add(20 * time.Second); code < 0 && time.Now().Before(end) && !listening.MatchString(log.String()); {
			select {
			case code = <-ended:
			case <-time.After(5 * time.Millisecond):
			}
		}
		cancel()
		if code < 0 {
			code = <-ended
		}
		if got := log.String(); !strings.Contains(got, c.want) || (c.want == starts) != (code == 0) || c.want != starts && strings.Contains(got, `"listening"`) || strings.Contains(got, "hunter2") {
			t.Errorf("%s: exit %d, want %q:\n%s", c.what, code, c.want, got)
		}
	}
}

// N2, security.md C4: a server that was told of a control database asks for keys, on the loopback interface too, before there
// is one and after the table was emptied by hand.
func TestEmptyKeysStillAsk(t *testing.T) {
	testdb.Each(t, func(t *testing.T, e testdb.Engine) {
		config := controlledConfig(t, t.TempDir(), e, "")
		asks := func(when string) {
			t.Helper()
			s := runServer(t, "--config", config)
			for _, key := range []string{"", "xqak_nobody"} {
				if status, body := s.post("/mcp", key, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`); status != 401 {
					t.Errorf("%s, key %q: %d %s", when, key, status, body)
				}
			}
			s.stop()
		}
		asks("before the first key")
		do(t, config, nil, "keys", "create", "--name", "x")
		testdb.Exec(t, e, regexp.MustCompile(`control: "(.*)"`).FindStringSubmatch(mustRead(t, config))[1], "DELETE FROM agent_api_key")
		asks("after the last row was deleted")
	})
}

// E-28, mcp.md 2.3: whoever listens is told when tools, scopes or keys change, and hears nothing more once its key has
// ended; a session without a stream is told with its next call.
func TestListChanged(t *testing.T) {
	dir := t.TempDir()
	config := controlledConfig(t, dir, testdb.Engine{Name: testdb.SQLite}, "")
	var k made
	do(t, config, nil, "scopes", "create", "reading", "--tool", "res-schema", "--tool", "res-query")
	do(t, config, &k, "keys", "create", "--name", "x", "--scope", "reading")
	s := runServer(t, "--config", config)
	request := func(method, session, body string) *http.Response {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, s.url+"/mcp", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+k.Key)
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		if session != "" {
			req.Header.Set("Mcp-Session-Id", session)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		return resp
	}
	begin := func() string {
		t.Helper()
		resp := request(http.MethodPost, "", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
		resp.Body.Close()
		session := resp.Header.Get("Mcp-Session-Id")
		resp = request(http.MethodPost, session, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		resp.Body.Close()
		return session
	}
	quiet, listens := begin(), begin()
	stream := request(http.MethodGet, listens, "")
	defer stream.Body.Close()
	var heard lockedBuffer
	ended := make(chan struct{})
	go func() {
		_, _ = io.Copy(&heard, stream.Body)
		close(ended)
	}()
	ask := func() string {
		t.Helper()
		resp := request(http.MethodPost, quiet, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"res-query","arguments":`+query1+`}}`)
		defer resp.Body.Close()
		b, _ := io.ReadAll(resp.Body)
		return string(b)
	}
	const note = "notifications/tools/list_changed"
	if strings.Contains(ask(), note) {
		t.Error("told of a change that was none")
	}
	for i, change := range [][]string{{"scopes", "add-tool", "reading", "res-create"}, {"tools", "disable", "res-schema"}, {"scopes", "disable", "reading"}, {"scopes", "enable", "reading"}} {
		do(t, config, nil, change...)
		start := time.Now()
		for strings.Count(heard.String(), note) <= i {
			if time.Since(start) > 5*time.Second {
				t.Fatalf("%v: a listener was told nothing: %s", change, heard.String())
			}
			time.Sleep(10 * time.Millisecond)
		}
		if got := ask(); !strings.Contains(got, note) {
			t.Errorf("%v: a session without a stream was told nothing: %s", change, got)
		}
		if strings.Contains(ask(), note) {
			t.Errorf("%v: told twice", change)
		}
	}
	do(t, config, nil, "keys", "revoke", "1")
	start := time.Now()
	select {
	case <-ended:
		t.Logf("the stream of a revoked key ended after %s", time.Since(start).Round(time.Millisecond))
	case <-time.After(5 * time.Second):
		t.Error("the stream of a revoked key is open after five seconds")
	}
}
