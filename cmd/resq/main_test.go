package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// TestMain lets the test binary be the program itself, for tests that need a process.
func TestMain(m *testing.M) {
	if os.Getenv("RESQ_RUN_MAIN") == "1" {
		main()
		return
	}
	dir, err := os.MkdirTemp("", "resq-state-")
	if err != nil {
		panic(err)
	}
	state = dir
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// state holds the demonstration's database for all tests of this package.
var state string

// resq runs the program inside this process.
func resq(t *testing.T, in string, args ...string) (code int, out, errOut string) {
	t.Helper()
	var o, e bytes.Buffer
	code = run(t.Context(), args, strings.NewReader(in), &o, &e)
	return code, o.String(), e.String()
}

func TestUsage(t *testing.T) {
	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"version", 0, "resq dev (go"},
		{"--version", 0, "resq version dev"},
		{"--help", 0, "serve"},
		{"nosuch", 2, `unknown command "nosuch"`},
		{"serve --nosuch", 2, "unknown flag: --nosuch"},
		{"serve extra", 2, `unknown command "extra"`},
		{"call", 2, "accepts between 1 and 2 arg"},
		{"validate", 2, "requires at least 1 arg"},
		{"introspect", 2, "accepts 1 arg"},
		{"introspect nosuch:x", 2, "must begin with sqlite:"},
		{"introspect x", 2, "must begin with sqlite:"},
		{"introspect sqlite:x --update", 2, "--update needs --out"},
		{"introspect sqlite:x --naming snakes", 2, "snakes"},
		{"introspect sqlite:/nonexistent/x.db", 1, "resq: "},
		{"call res-schema --pack nosuch", 2, `no built-in catalog "nosuch"; there is: erp, store, xiaoqu`},
		{"call res-schema --config /nonexistent.yaml", 2, "cannot be read"},
		{"call res-schema --catalog /nonexistent", 2, "/nonexistent"},
		{"call res-schema --principal nobody", 2, `no principal "nobody"`},
		{"call res-schema --max-rows -1", 2, "--max-rows must be above zero"},
		{"call nosuch --state " + state, 2, `no tool "nosuch"`},
		{"call res-schema --explain --state " + state, 2, "--explain shows the SQL of res-query"},
		{"serve --log-format xml --state " + state, 2, `--log-format "xml" is not known; it is one of text, json`},
		{"serve --http 0.0.0.0:0 --state " + state, 2, "no principal has a key"},
		{"serve --lang fr --state " + state, 2, `"fr"; there are: en, zh`},
	} {
		code, out, errOut := resq(t, "", strings.Fields(c.args)...)
		if code != c.code || !strings.Contains(out+errOut, c.want) {
			t.Errorf("resq %s: exit %d, want %d\n%s%s\nlacks %q", c.args, code, c.code, out, errOut, c.want)
		}
		if code != 0 && out != "" {
			t.Errorf("resq %s: errors on standard output: %s", c.args, out)
		}
	}
}

func TestValidate(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "good.yaml", "version: 1\nconnections: {main: {driver: sqlite, dsn: \"${UNSET}\"}}\n")
	code, out, errOut := resq(t, "", "validate", dir)
	if code != 0 || !strings.Contains(out, "ok    ") || !strings.Contains(out, "1 file checked, all passed.") || errOut != "" {
		t.Errorf("exit %d\n%s%s", code, out, errOut)
	}
	write(t, dir, "bad.yaml", "version: 1\nresources:\n  - cod: X\n")
	code, out, errOut = resq(t, "", "validate", dir)
	if code != 1 || !strings.Contains(errOut, "bad.yaml:3:5:") || !strings.Contains(errOut, "2 files checked, 1 failed.") || !strings.Contains(out, "good.yaml") {
		t.Errorf("exit %d\n%s%s", code, out, errOut)
	}
}

func write(t testing.TB, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// demo makes the demonstration's database and gives its path.
func demo(t *testing.T) string {
	t.Helper()
	if code, _, errOut := resq(t, "", "call", "res-schema", "--state", state); code != 0 {
		t.Fatalf("exit %d: %s", code, errOut)
	}
	files, err := filepath.Glob(filepath.Join(state, "store-[0-9]*.sqlite")) // beside that of the reviews
	if err != nil || len(files) != 1 {
		t.Fatalf("the state directory holds %v", files)
	}
	return files[0]
}

func TestCall(t *testing.T) {
	demo(t)
	call := func(in string, args ...string) (int, string, string) {
		return resq(t, in, append([]string{"call", "--state", state}, args...)...)
	}
	code, out, errOut := call("", "res-query", `{"resource":"Category","fields":[{"code":"id"},{"code":"name"}],"limit":2}`)
	if code != 0 || !strings.Contains(out, `[1,"数码电器"]`) || errOut != "" {
		t.Errorf("exit %d\n%s%s", code, out, errOut)
	}
	code, out, _ = call(`{"resource":"Order","fields":[{"code":"COUNT(*)","isExpr":true,"alias":"n"}]}`, "res-query", "-")
	if code != 0 || !strings.Contains(out, `[9600]`) {
		t.Errorf("exit %d\n%s", code, out)
	}
	code, out, errOut = call("", "res_query", `{"resource":"Odrer","fields":[]}`)
	if code != 1 || out != "" || !strings.Contains(errOut, `"code":"UNKNOWN_RESOURCE"`) || !strings.Contains(errOut, "Order") {
		t.Errorf("exit %d\n%s%s", code, out, errOut)
	}
	// Masked fields come out masked, and only their last four digits.
	code, out, _ = call("", "res-query", `{"resource":"Customer","fields":[{"code":"phone"},{"code":"email"}],"conditions":{"type":"and","exprs":[{"field":"id","operator":"IN","token":"1,2,3,4,5,6"}]}}`)
	if code != 0 || !regexp.MustCompile(`\["\*+\d{4}","\*{4}"\]`).MatchString(out) || strings.Contains(out, "example") {
		t.Errorf("exit %d\n%s", code, out)
	}
	code, out, errOut = call("", "res-query", `{"resource":"Order","fields":[{"code":"id"}],"conditions":{"type":"and","exprs":[{"field":"order_no","operator":"=","token":"x'y"}]}}`, "--explain")
	if code != 0 || !strings.Contains(out, "-- store") || !strings.Contains(out, "SELECT") || strings.Count(out, "x'y") != 1 {
		t.Errorf("exit %d\n%s%s", code, out, errOut)
	}
	// --max-rows is the operator's word, in both directions.
	for n, want := range map[string]string{"3": `"hasMore":true`, "4000": `"hasMore":false`} {
		code, out, errOut = call("", "res-query", `{"resource":"Customer","fields":[{"code":"id"}],"limit":3500}`, "--max-rows", n, "--max-bytes", "1000000")
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("--max-rows %s: exit %d\n%.300s%s", n, code, out, errOut)
		}
	}
}

// The principal decides the rows; where there are several, one must be named.
func TestPrincipals(t *testing.T) {
	path := demo(t)
	dir := t.TempDir()
	write(t, dir, "shop.yaml", `
version: 1
connections: {shop: {driver: sqlite, dsn: "sqlite:`+path+`"}}
resources:
  - code: Buyer
    table: customer
    key: id
    fields: {id: {type: integer}, city: {type: string}}
    rows: {type: and, exprs: [{field: city, operator: "=", tokenType: principal, token: city}]}
  - code: Pay
    table: staff
    key: id
    roles: [hr]
    fields: {id: {type: integer}, salary: {type: "decimal(10,2)"}}
`)
	config := write(t, dir, "resq.yml", `
catalog: shop.yaml
principals:
  ann: {attributes: {city: 杭州}, roles: [hr]}
  ben: {attributes: {city: 大连}}
`)
	one := `{"resource":"Buyer","fields":[{"code":"city"}],"distinct":true}`
	if code, _, errOut := resq(t, "", "call", "res-query", one, "--config", config); code != 2 || !strings.Contains(errOut, "--principal") {
		t.Errorf("exit %d: %s", code, errOut)
	}
	for who, city := range map[string]string{"ann": "杭州", "ben": "大连"} {
		code, out, errOut := resq(t, "", "call", "res-query", one, "--config", config, "--principal", who)
		if code != 0 || strings.Count(out, "[\"") != 2 || !strings.Contains(out, `["`+city+`"]`) {
			t.Errorf("%s: exit %d\n%s%s", who, code, out, errOut)
		}
		code, _, errOut = resq(t, "", "call", "res-query", `{"resource":"Pay","fields":[]}`, "--config", config, "--principal", who)
		if (code == 0) != (who == "ann") || strings.Contains(errOut, "hr") {
			t.Errorf("%s sees Pay: exit %d %s", who, code, errOut)
		}
	}
}

// What introspect writes, validate accepts and serve --stdio serves, with the operator's own bounds.
func TestIntrospectAndServe(t *testing.T) {
	path := demo(t)
	dir := filepath.Join(t.TempDir(), "catalog")
	code, out, errOut := resq(t, "", "introspect", "sqlite:"+path, "--out", dir)
	if code != 0 || !strings.Contains(out, "8 tables and views read") {
		t.Fatalf("exit %d\n%s%s", code, out, errOut)
	}
	if code, _, errOut := resq(t, "", "introspect", "sqlite:"+path, "--out", dir); code != 1 || !strings.Contains(errOut, "already") {
		t.Errorf("a second time: exit %d %s", code, errOut)
	}
	if code, out, errOut := resq(t, "", "introspect", "sqlite:"+path, "--out", dir, "--update"); code != 0 || !strings.Contains(out, "0 files written") {
		t.Errorf("--update: exit %d\n%s%s", code, out, errOut)
	}
	if code, out, errOut := resq(t, "", "introspect", "sqlite:"+path, "--include", "order*", "--naming", "pascal"); code != 0 || !strings.Contains(out, "code: OrderItem") || strings.Contains(out, "Customer\n") {
		t.Errorf("printed: exit %d\n%.300s%s", code, out, errOut)
	}
	if code, out, errOut := resq(t, "", "validate", dir, "--connect"); code != 0 || !strings.Contains(out, "ok    connection") {
		t.Errorf("validate: exit %d\n%s%s", code, out, errOut)
	}
	p := start(t, "serve", "--stdio", "--catalog", dir, "--max-rows", "200000", "--max-bytes", "100000000")
	p.send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`)
	if got := p.line(); !strings.Contains(got, `"serverInfo"`) {
		t.Fatal(got)
	}
	p.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	p.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"res-query","arguments":{"resource":"order_item","fields":[{"code":"id"},{"code":"amount"}],"limit":200000}}}`)
	var answer struct {
		Result struct{ Content []struct{ Text string } }
	}
	if err := json.Unmarshal([]byte(p.line()), &answer); err != nil {
		t.Fatal(err)
	}
	var rows struct {
		Rows    [][]any
		HasMore bool
	}
	if err := json.Unmarshal([]byte(answer.Result.Content[0].Text), &rows); err != nil {
		t.Fatal(err)
	}
	if len(rows.Rows) < 20_000 || rows.HasMore {
		t.Errorf("%d rows, more: %v", len(rows.Rows), rows.HasMore)
	}
	p.in.Close()
	if code := p.wait(); code != 0 {
		t.Errorf("exit %d: %s", code, p.errors())
	}
}

var curl = regexp.MustCompile(`^curl -s (\S+) .*-d '(.*)'$`)

// The guide that serve prints is true: what it tells to paste works, and a signal ends the server cleanly.
func TestGuide(t *testing.T) {
	demo(t)
	p := start(t, "serve", "--http", "127.0.0.1:0", "--state", state)
	tried := 0
	for _, l := range p.until(`"root":"1"`) {
		if i := strings.Index(l, "{"); i > 0 && strings.HasPrefix(l, "  ") && !json.Valid([]byte(strings.TrimSpace(l))) {
			t.Errorf("not JSON: %s", l)
		}
		m := curl.FindStringSubmatch(l)
		if m == nil {
			continue
		}
		tried++
		resp, err := http.Post(m[1], "application/json", strings.NewReader(m[2]))
		if err != nil {
			t.Fatal(err)
		}
		b, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != 200 || !strings.Contains(string(b), `"text"`) || strings.Contains(string(b), "isError") {
			t.Errorf("%s\n%d %s", m[2], resp.StatusCode, b)
		}
	}
	if tried != len(storeExamples) {
		t.Errorf("%d examples tried", tried)
	}
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := p.wait(); code != 0 {
		t.Errorf("exit %d: %s", code, p.errors())
	}
}

// A client that starts its own server is told to start one that shows and answers the same.
func TestGuideFlags(t *testing.T) {
	demo(t)
	given := []string{"--max-rows", "7", "--max-bytes", "9000", "--timeout", "2s", "--lang", "zh", "--profile", "names=underscore&schema=flat"}
	p := start(t, append([]string{"serve", "--http", "127.0.0.1:0", "--state", state}, given...)...)
	var started struct {
		Servers map[string]struct{ Args []string } `json:"mcpServers"`
	}
	for _, l := range p.until(`"command"`) {
		if strings.Contains(l, `"command"`) {
			if err := json.Unmarshal([]byte(l), &started); err != nil {
				t.Fatal(err)
			}
		}
	}
	want := append([]string{"serve", "--stdio", "--state", state}, given...)
	if got := started.Servers["resq"].Args; !slices.Equal(got, want) {
		t.Fatalf("%q, want %q", got, want)
	}
	own := start(t, started.Servers["resq"].Args...)
	own.send(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	if l := own.until(`"id":1`); !strings.Contains(l[len(l)-1], `"res_query"`) {
		t.Errorf("%s", l)
	}
}

// With keys in the configuration HTTP asks for one, and each key is its owner.
func TestServeKeys(t *testing.T) {
	demo(t)
	config := write(t, t.TempDir(), "resq.yml", `
listen: 127.0.0.1:0
packs: [store]
state: `+state+`
principals:
  ann: {keys: ["${ANN_KEY}"]}
  ben: {scopes: [write], keys: [bens-own-secret-key]}
`)
	t.Setenv("ANN_KEY", "anns-own-secret-key")
	p := start(t, "serve", "--config", config)
	var url string
	for _, l := range p.until("curl -s") {
		if m := regexp.MustCompile(`answers at (\S+)`).FindStringSubmatch(l); m != nil {
			url = m[1]
		}
	}
	for key, want := range map[string]string{"": "UNAUTHENTICATED", "wrong-key": "UNAUTHENTICATED", "anns-own-secret-key": "Category", "bens-own-secret-key": "PERMISSION_DENIED"} {
		req, _ := http.NewRequest(http.MethodPost, url, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"res-schema"}}`))
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Authorization", "Bearer "+key)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		b, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if !strings.Contains(string(b), want) {
			t.Errorf("key %q: %d %.300s", key, resp.StatusCode, b)
		}
	}
	_ = p.cmd.Process.Signal(os.Interrupt)
	if code := p.wait(); code != 0 {
		t.Errorf("exit %d", code)
	}
	if log := p.errors(); strings.Contains(log, "secret-key") || !strings.Contains(log, `"principal":"ann"`) {
		t.Errorf("the log: %s", log)
	}
}

// Over stdio, standard output holds nothing but messages, and a signal ends the program.
func TestStdioSignal(t *testing.T) {
	demo(t)
	p := start(t, "serve", "--stdio", "--state", state)
	p.send(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	if got := p.line(); got != `{"jsonrpc":"2.0","id":1,"result":{}}` {
		t.Errorf("first line: %s", got)
	}
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	if code := p.wait(); code != 0 {
		t.Errorf("exit %d: %s", code, p.errors())
	}
}

// A pack's database that was broken off while it was made is not taken for a whole one.
func TestPackDatabaseIsWhole(t *testing.T) {
	dir := t.TempDir()
	stopped := filepath.Join(dir, ".new-1", "half.sqlite")
	if err := os.MkdirAll(filepath.Dir(stopped), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Dir(stopped), "half.sqlite", "half")
	var all sync.WaitGroup
	for range 2 { // two servers may start at once
		all.Go(func() {
			code, out, errOut := resq(t, "", "call", "res-query", `{"resource":"Staff","fields":[{"code":"COUNT(*)","isExpr":true,"alias":"n"}]}`, "--state", dir)
			if code != 0 || !strings.Contains(out, "[67]") {
				t.Errorf("exit %d\n%s%s", code, out, errOut)
			}
		})
	}
	all.Wait()
}
