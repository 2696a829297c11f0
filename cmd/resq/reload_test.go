package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"resq/server"
	"resq/testdb"
)

// A served is a server in this process, with its reload loop.
type served struct {
	t   *testing.T
	url string // of the server, without a path
	log *lines
	*reloader
	client *http.Client
}

// lines collects a log.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// with gives the lines that hold a text.
func (l *lines) with(text string) (found []string) {
	for _, line := range strings.Split(l.String(), "\n") {
		if strings.Contains(line, text) {
			found = append(found, line)
		}
	}
	return found
}

// servingOn starts a server on a catalog.
func servingOn(t *testing.T, from *source, watch bool, quiet time.Duration) *served {
	t.Helper()
	s := &served{t: t, log: &lines{}, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}}
	log, err := newLog(s.log, logJSON)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	s.reloader = newReloader(from, watch, log, stop)
	s.quiet = quiet
	if s.opened, err = from.open(ctx, log, io.Discard); err != nil {
		t.Fatal(err)
	}
	opts := server.Options{Local: s.opened.local, Log: log}
	if s.server, err = server.New(s.opened.backend(), opts); err != nil {
		t.Fatal(err)
	}
	l, err := s.server.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.url = "http://" + l.Addr().String()
	var all sync.WaitGroup
	all.Go(func() {
		if err := s.server.Serve(ctx, l); err != nil {
			t.Error(err)
		}
	})
	all.Go(func() { s.run(ctx) })
	t.Cleanup(func() {
		s.client.CloseIdleConnections()
		stop()
		all.Wait()
		s.close()
		if err := s.opened.engine.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// ask makes one call and gives its first text.
func (s *served) ask(ctx context.Context, tool, args string) (string, error) {
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"%s","arguments":%s}}`, tool, args)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+server.Path, strings.NewReader(body))
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := s.client.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	var a struct {
		Result struct{ Content []struct{ Text string } }
	}
	if err := json.NewDecoder(resp.Body).Decode(&a); err != nil {
		return "", err
	}
	if len(a.Result.Content) == 0 {
		return "", fmt.Errorf("no text in the answer")
	}
	return a.Result.Content[0].Text, nil
}

func (s *served) ready() string { return s.get("/readyz") }

// get asks one of the paths for operators, and gives status and text.
func (s *served) get(path string) string {
	s.t.Helper()
	resp, err := s.client.Get(s.url + path)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, _ := io.ReadAll(resp.Body)
	return fmt.Sprintf("%d %s", resp.StatusCode, b)
}

// eventually waits for something that another goroutine does.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(15 * time.Second); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("still not: %s", what)
		}
	}
}

// replace writes a file as editors do: beside it, and then in its place.
func replace(t *testing.T, path, text string) {
	t.Helper()
	temp := filepath.Join(filepath.Dir(path), ".new")
	if err := os.WriteFile(temp, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(temp, path); err != nil {
		t.Fatal(err)
	}
}

const itemScript = "CREATE TABLE item (id INTEGER NOT NULL PRIMARY KEY, name VARCHAR(20) NOT NULL); INSERT INTO item VALUES (1,'one'),(2,'two'),(3,'three'),(4,'four')"

// itemCatalog shows the items from one id to another.
func itemCatalog(e testdb.Engine, dsn string, pool, from, to int) string {
	return fmt.Sprintf(`version: 1
connections: {main: {driver: %s, dsn: %q, pool: %d, timeout: 30s}}
resources:
  - code: Item
    table: item
    key: id
    fields: {id: {type: integer}, name: {type: string}}
    rows:
      type: and
      exprs:
        - {field: id, operator: ">=", token: "%d"}
        - {field: id, operator: "<=", token: "%d"}
`, e.Name, dsn, pool, from, to)
}

const (
	askItems  = `{"resource":"Item","fields":[{"code":"id"}]}`
	itemsLow  = "{\"resource\":\"Item\",\"columns\":[\"id\"],\"rows\":[\n[1],\n[2]\n],\"hasMore\":false}"
	itemsHigh = "{\"resource\":\"Item\",\"columns\":[\"id\"],\"rows\":[\n[3],\n[4]\n],\"hasMore\":false}"
)

var sqliteEngine = testdb.Engine{Name: testdb.SQLite}

// items serves a catalog of one file in a directory.
func items(t *testing.T, quiet time.Duration) (s *served, dsn, path string) {
	t.Helper()
	dsn = testdb.Create(t, sqliteEngine, itemScript)
	dir := t.TempDir()
	path = write(t, dir, "item.yaml", itemCatalog(sqliteEngine, dsn, 4, 1, 2))
	return servingOn(t, &source{catalogs: []string{dir}}, true, quiet), dsn, path
}

func (s *served) expect(want string) {
	s.t.Helper()
	got, err := s.ask(context.Background(), "res-query", askItems)
	if err != nil || got != want {
		s.t.Errorf("%v\n%s\nwant %s", err, got, want)
	}
}

func (s *served) until(want string) {
	s.t.Helper()
	eventually(s.t, want, func() bool {
		got, err := s.ask(context.Background(), "res-query", askItems)
		return err == nil && got == want
	})
}

// A broken file leaves the old catalog in place, one line in the log with the place, and a word on /readyz;
// the next good one ends that (security.md R1, promise A2).
func TestReloadRubbish(t *testing.T) {
	s, dsn, path := items(t, 50*time.Millisecond)
	s.expect(itemsLow)
	for i, c := range []struct{ text, at, problems string }{
		{"{{{ rubbish \x00", "item.yaml:1:", `"problems":1`},
		{strings.Replace(itemCatalog(sqliteEngine, dsn, 4, 3, 4), "code: Item\n    table", "cod: Item\n    tabel", 1), "item.yaml:4:5", `"problems":`},
		{strings.Replace(itemCatalog(sqliteEngine, dsn, 4, 3, 4), "field: id,", "field: nosuch,", 1), "item.yaml:11:", `"problems":1`},
		{strings.Replace(itemCatalog(sqliteEngine, dsn, 4, 3, 4), "sqlite:", "oracle:", 1), "item.yaml:2:", `"problems":`},
	} {
		told := len(s.log.with("not reloaded"))
		replace(t, path, c.text)
		// A slow machine may see one save as two.
		eventually(t, "a line about a bad file", func() bool { return len(s.log.with("not reloaded")) > told })
		lines := s.log.with("not reloaded")
		line := lines[len(lines)-1]
		if !strings.Contains(line, c.at) || !strings.Contains(line, c.problems) || !strings.Contains(line, `"level":"ERROR"`) {
			t.Errorf("%d: %s", i, line)
		}
		s.expect(itemsLow)
		if got := s.get("/metrics"); !strings.Contains(got, "\nresq_config_reload_failed 1\n") || !strings.Contains(got, `resq_pool_connections_max{connection="main"} 4`) {
			t.Errorf("/metrics: %s", got)
		}
		if got := s.ready(); !strings.HasPrefix(got, "200") || !strings.Contains(got, "degraded") || strings.Contains(got, "item.yaml") {
			t.Errorf("/readyz: %s", got)
		}
	}
	replace(t, path, itemCatalog(sqliteEngine, dsn, 4, 1, 2)) // as it was
	eventually(t, "well again", func() bool { return s.ready() == "200 ok\n" })
	if got := s.get("/metrics"); !strings.Contains(got, "\nresq_config_reload_failed 0\n") {
		t.Errorf("/metrics when all is well: %s", got)
	}
	replace(t, path, "rubbish")
	eventually(t, "degraded", func() bool { return strings.Contains(s.ready(), "degraded") })
	replace(t, path, itemCatalog(sqliteEngine, dsn, 4, 3, 4))
	s.until(itemsHigh)
	eventually(t, "well again", func() bool { return s.ready() == "200 ok\n" })
	if n := len(s.log.with("catalog reloaded")); n != 1 {
		t.Errorf("%d reloads", n)
	}
}

// A file that is written in pieces is never served by halves, though every piece of this one that ends with a
// line is a catalog of its own (security.md R2).
func TestReloadHalfWritten(t *testing.T) {
	s, dsn, path := items(t, quietTime)
	text := itemCatalog(sqliteEngine, dsn, 4, 3, 4)
	for i := range 8 {
		text += fmt.Sprintf("  - {code: More%d, table: item, key: id, fields: {id: {type: integer}}}\n", i)
	}
	rows := strings.SplitAfter(text, "\n")
	var wrong atomic.Int64
	ctx, stop := context.WithCancel(t.Context())
	var asking sync.WaitGroup
	asking.Go(func() {
		for ctx.Err() == nil {
			more := 0
			got, err := s.ask(context.Background(), "res-schema", `{"detail":"names"}`)
			for i := range 8 {
				if strings.Contains(got, fmt.Sprintf("More%d", i)) {
					more++
				}
			}
			if err != nil || more != 0 && more != 8 {
				wrong.Add(1)
				t.Errorf("%d of 8 resources: %v\n%s", more, err, got)
				return
			}
		}
	})
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 10 {
		if _, err := f.WriteString(strings.Join(rows[i*len(rows)/10:(i+1)*len(rows)/10], "")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(100 * time.Millisecond)
	}
	f.Close()
	s.until(itemsHigh)
	stop()
	asking.Wait()
	if bad := s.log.with("not reloaded"); len(bad) > 0 || len(s.log.with("catalog reloaded")) != 1 {
		t.Errorf("%s", s.log)
	}
}

// A resource that goes while it is read is read to the end; afterwards it is not there (security.md R3).
func TestReloadRemovesWhatRuns(t *testing.T) {
	s, dsn, path := items(t, 50*time.Millisecond)
	const count = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < %d) SELECT 1 AS id, count(*) AS n FROM c"
	began := time.Now()
	testdb.Exec(t, sqliteEngine, dsn, fmt.Sprintf(count, 50_000))
	steps := int(50_000 * 4 * time.Second / time.Since(began)) // so that it takes about four seconds here
	testdb.Exec(t, sqliteEngine, dsn, "CREATE VIEW slow AS "+fmt.Sprintf(count, steps))
	replace(t, path, itemCatalog(sqliteEngine, dsn, 4, 1, 2)+"  - {code: Slow, table: slow, key: id, fields: {id: {type: integer}, n: {type: integer}}}\n")
	eventually(t, "the slow resource", func() bool {
		got, err := s.ask(context.Background(), "res-schema", `{"detail":"names"}`)
		return err == nil && strings.Contains(got, "Slow")
	})
	done := make(chan string, 1)
	began = time.Now()
	go func() {
		got, err := s.ask(context.Background(), "res-query", `{"resource":"Slow","fields":[{"code":"n"}]}`)
		done <- fmt.Sprint(got, err)
	}()
	time.Sleep(100 * time.Millisecond)
	replace(t, path, itemCatalog(sqliteEngine, dsn, 4, 3, 4))
	s.until(itemsHigh) // others see the new one at once
	replace(t, path, itemCatalog(sqliteEngine, dsn, 4, 1, 2))
	s.until(itemsLow) // and the next one does not wait for a call that runs on the first
	select {
	case got := <-done:
		t.Fatalf("the slow call ended after %v, before the reload: %s", time.Since(began), got)
	default:
	}
	if got := <-done; !strings.Contains(got, fmt.Sprintf("[%d]", steps)) {
		t.Errorf("the call that ran: %s", got)
	}
	got, err := s.ask(context.Background(), "res-query", `{"resource":"Slow","fields":[{"code":"n"}]}`)
	if err != nil || !strings.Contains(got, "UNKNOWN_RESOURCE") {
		t.Errorf("%v %s", err, got)
	}
}

// Without the watch only SIGHUP reloads, and it reads the configuration's catalogs and keys as well.
func TestReloadSignal(t *testing.T) {
	dsn := testdb.Create(t, sqliteEngine, itemScript)
	dir := t.TempDir()
	write(t, dir, "low.yaml", itemCatalog(sqliteEngine, dsn, 4, 1, 2))
	write(t, dir, "high.yaml", itemCatalog(sqliteEngine, dsn, 4, 3, 4))
	settings := func(catalog, key string) string {
		return "listen: 127.0.0.1:0\ncatalog: " + catalog + "\nprincipals: {ann: {keys: [" + key + "]}}\n"
	}
	path := write(t, dir, "resq.yml", settings("low.yaml", "anns-first-secret-key"))
	p := start(t, "serve", "--no-watch", "--config", path)
	var url string
	for _, l := range p.until("curl -s") {
		if _, after, ok := strings.Cut(l, "answers at "); ok {
			url = after
		}
	}
	ask := func(key string) string {
		req, _ := http.NewRequest(http.MethodPost, url, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"res-query","arguments":`+askItems+`}}`))
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Authorization", "Bearer "+key)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, _ := io.ReadAll(resp.Body)
		return string(b)
	}
	if got := ask("anns-first-secret-key"); !strings.Contains(got, `[1],\n[2]`) {
		t.Fatal(got)
	}
	write(t, dir, "low.yaml", "rubbish")
	replace(t, path, settings("high.yaml", "anns-other-secret-key"))
	time.Sleep(500 * time.Millisecond)
	if log := p.errors(); strings.Contains(log, "reloaded") {
		t.Errorf("nobody asked for it: %s", log)
	}
	hangUp := func(want string) {
		t.Helper()
		n := strings.Count(p.errors(), want)
		if err := p.cmd.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		eventually(t, want, func() bool { return strings.Count(p.errors(), want) > n })
	}
	hangUp("catalog reloaded")
	if got := ask("anns-first-secret-key"); !strings.Contains(got, "UNAUTHENTICATED") {
		t.Errorf("a key that is gone: %s", got)
	}
	if got := ask("anns-other-secret-key"); !strings.Contains(got, `[3],\n[4]`) {
		t.Errorf("the new key: %s", got)
	}
	// A configuration that is bad changes nothing, neither do keys that come to an end.
	replace(t, path, settings("high.yaml", "short"))
	hangUp("not reloaded")
	replace(t, path, "listen: 127.0.0.1:0\ncatalog: low.yaml\n")
	hangUp("not reloaded")
	if got := ask("anns-other-secret-key"); !strings.Contains(got, `[3],\n[4]`) {
		t.Errorf("after bad ones: %s", got)
	}
	if log := p.errors(); !strings.Contains(log, "resq.yml:3:") || strings.Contains(log, "secret") {
		t.Errorf("the log: %s", log)
	}
	if err := p.cmd.Process.Signal(syscall.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a line of status", func() bool { return strings.Contains(p.errors(), `"goroutines":`) })
	_ = p.cmd.Process.Signal(os.Interrupt)
	if code := p.wait(); code != 0 {
		t.Errorf("exit %d", code)
	}
}

// B-069, security.md C4: SIGHUP takes the admin credential of the API that issues keys away, brings another one, and brings
// the first; a bad one changes nothing.
func TestReloadAdmin(t *testing.T) {
	dsn := testdb.Create(t, sqliteEngine, itemScript)
	dir := t.TempDir()
	write(t, dir, "low.yaml", itemCatalog(sqliteEngine, dsn, 4, 1, 2))
	settings := func(admin string) string {
		if admin != "" {
			sum := sha256.Sum256([]byte(admin))
			admin = ", admin: \"sha256:" + hex.EncodeToString(sum[:]) + "\""
		}
		return "listen: 127.0.0.1:0\ncatalog: low.yaml\nstate: state\nsecret: 0123456789012345678901234567890123456789\ncontrol: \"sqlite:control.sqlite\"\nkeys: {prefix: xqak_" + admin + "}\n"
	}
	path := write(t, dir, "resq.yml", settings("first"))
	p := start(t, "serve", "--no-watch", "--config", path)
	var url string
	for _, l := range p.until("curl -s") {
		if _, after, ok := strings.Cut(l, "answers at "); ok {
			url = strings.TrimSuffix(after, "/mcp")
		}
	}
	status := func(credential string) int {
		req, _ := http.NewRequest(http.MethodGet, url+"/api/v1/keys", nil)
		req.Header.Set("Authorization", "Bearer "+credential)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		return resp.StatusCode
	}
	wants := func(when string, first, second int) {
		t.Helper()
		if a, b := status("first"), status("second"); a != first || b != second {
			t.Errorf("%s: %d %d, want %d %d", when, a, b, first, second)
		}
	}
	hangUp := func(config, want string) {
		t.Helper()
		replace(t, path, config)
		n := strings.Count(p.errors(), want)
		if err := p.cmd.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		eventually(t, want, func() bool { return strings.Count(p.errors(), want) > n })
	}
	wants("at the start", 200, 401)
	hangUp(settings("second"), "catalog reloaded")
	wants("another one", 401, 200)
	hangUp(settings("")[:len(settings(""))-2]+", admin: second}\n", "not reloaded")
	wants("a bad one", 401, 200)
	hangUp(settings(""), "catalog reloaded")
	wants("none", 404, 404)
	hangUp(settings("first"), "catalog reloaded")
	wants("one again", 200, 401)
	_ = p.cmd.Process.Signal(os.Interrupt)
	if code := p.wait(); code != 0 {
		t.Errorf("exit %d", code)
	}
}
