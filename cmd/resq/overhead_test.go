package main

import (
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"resq/testdb"
)

// BenchmarkOverhead is what authentication, scopes, row rules, the audit and budgets cost: the time of a point read over HTTP with all of
// them, as a ratio to the same read without any, from two servers that are asked in turn. The target is 1.15.
func BenchmarkOverhead(b *testing.B) {
	for _, on := range testdb.Engines(b) {
		b.Run(on.Name, func(b *testing.B) {
			var rows []string
			for i := range 5000 {
				rows = append(rows, fmt.Sprintf("(%d, 'item %d', %d)", i+1, i+1, i%10))
			}
			dsn := testdb.Create(b, on, "CREATE TABLE item (id INTEGER PRIMARY KEY, name VARCHAR(60) NOT NULL, dept INTEGER NOT NULL);", "INSERT INTO item VALUES "+strings.Join(rows, ", "))
			catalog := fmt.Sprintf(`version: 1
connections: {main: {driver: %s, dsn: %q}}
resources:
  - code: Item
    table: item
    key: id
    fields: {id: integer, name: string, dept: integer}
`, on.Name, dsn)
			rule := "    rows: {type: and, exprs: [{field: dept, operator: IN, tokenType: principal, token: depts}]}\n"
			plain := newPlace(b, catalog, "{}\n", "")
			guarded := newPlace(b, catalog+rule, `budgets: {callsPerMinute: 100000000, rowsPerHour: 100000000}
control: {dsn: "sqlite:`+filepath.Join(b.TempDir(), "control.sqlite")+`"}
audit: {calls: [control, files]}
principals:
  alice: {scopes: [read], roles: [sales], attributes: {depts: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]}, keys: [`+aliceKey+`]}
  bob: {scopes: [read, write], keys: [`+bobKey+`]}
`, aliceKey)
			for range 300 { // both are warm
				plain.read(b, 1)
				guarded.read(b, 1)
			}
			var without, with []time.Duration
			for i := 0; b.Loop(); i++ {
				id := i%5000 + 1
				without = append(without, plain.read(b, id))
				with = append(with, guarded.read(b, id))
			}
			slices.Sort(without)
			slices.Sort(with)
			x, y := without[len(without)/2], with[len(with)/2]
			b.ReportMetric(float64(x.Microseconds()), "µs-without")
			b.ReportMetric(float64(y.Microseconds()), "µs-with")
			b.ReportMetric(float64(y)/float64(x), "ratio")
			b.ReportMetric(0, "ns/op") // of both together, which says nothing
		})
	}
}

// A place is one server that is asked over one connection.
type place struct {
	url, key string
	client   *http.Client
}

func newPlace(b *testing.B, catalog, config, key string) *place {
	b.Helper()
	dir := b.TempDir()
	write(b, dir, "catalog.yaml", catalog)
	path := write(b, dir, "resq.yaml", "catalog: [catalog.yaml]\n"+strings.TrimPrefix(config, "{}\n"))
	p := start(b, "serve", "--http", "127.0.0.1:0", "--config", path, "--state", b.TempDir(), "--log-format", "json")
	for range 3000 {
		if m := regexp.MustCompile(`"msg":"listening","address":"([^"]+)"`).FindStringSubmatch(p.errors()); m != nil {
			return &place{url: "http://" + m[1] + "/mcp", key: key, client: &http.Client{Transport: &http.Transport{}}}
		}
		time.Sleep(10 * time.Millisecond)
	}
	b.Fatalf("it does not listen: %s", p.errors())
	return nil
}

// read asks for one row by its key.
func (p *place) read(b *testing.B, id int) time.Duration {
	b.Helper()
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"res-query","arguments":{"resource":"Item","fields":[{"code":"id"},{"code":"name"}],"conditions":{"type":"and","exprs":[{"field":"id","operator":"=","token":"%d"}]}}}}`, id)
	req, err := http.NewRequest(http.MethodPost, p.url, strings.NewReader(body))
	if err != nil {
		b.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if p.key != "" {
		req.Header.Set("Authorization", "Bearer "+p.key)
	}
	begin := time.Now()
	resp, err := p.client.Do(req)
	if err != nil {
		b.Fatal(err)
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	took := time.Since(begin)
	if err != nil || !strings.Contains(string(got), fmt.Sprintf(`\"item %d\"`, id)) {
		b.Fatalf("%d %s %v", resp.StatusCode, got, err)
	}
	return took
}
