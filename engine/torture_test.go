package engine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"resq/engine/policy"
	"resq/schema/introspect"
	"resq/testdb"
)

const tortureDir = "../../shared/data/torture"

// tortureFile gives a file of the shared torture catalogs. Without them the test is skipped, and failed where
// RESQ_CI says that nothing may be left out.
func tortureFile(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(tortureDir, name))
	if err == nil {
		return b
	}
	testdb.Skip(t, "the torture catalogs are not there, so no odd type or name was tried: "+err.Error())
	return nil
}

// TestTorture introspects a database with every type of its system, odd names and dirty values, and reads it:
// every resource gives the expected records, every prepared request its expected rows or its refusal before
// any statement.
func TestTorture(t *testing.T) {
	var expected map[string]map[string][]map[string]any
	unmarshal(t, tortureFile(t, "expected.json"), &expected)
	var queries []tortureQuery
	unmarshal(t, tortureFile(t, "queries.json"), &queries)
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		b := newTorture(t, on)
		who := &policy.Principal{Name: "anybody", Scopes: []string{"read"}}
		for _, name := range sortedNames(expected[on.Name]) {
			t.Run("resource/"+name, func(t *testing.T) {
				raw := encode(map[string]any{"resource": name, "fields": []any{}, "limit": 1000})
				compareRecords(t, tortureRecords(t, b, who, []byte(raw)), expected[on.Name][name], false)
			})
		}
		for _, q := range queries {
			if !slices.Contains(q.Dialects, on.Name) && len(q.Dialects) > 0 {
				continue
			}
			t.Run("query/"+q.ID, func(t *testing.T) { q.run(t, b, who) })
		}
	})
}

// A tortureQuery is one entry of queries.json.
type tortureQuery struct {
	ID, Why         string
	Dialects        []string
	Request         json.RawMessage             `json:"res_query"`
	Expect          []map[string]any            `json:"expect"`
	ExpectByDialect map[string][]map[string]any `json:"expect_by_dialect"`
	ExpectError     string                      `json:"expect_error"`
	Ordered         bool
}

func (q tortureQuery) run(t *testing.T, b *bench, who *policy.Principal) {
	if q.ExpectError != "" {
		b.recorder.Reset()
		ans, err := b.engine.Query(context.Background(), who, q.Request)
		if err == nil {
			t.Errorf("answered, want: %s\n%s", q.ExpectError, ans.Text)
		}
		if ran := b.recorder.Statements(); len(ran) > 0 {
			t.Errorf("refused, but %d statements ran: %v", len(ran), ran)
		}
		return
	}
	want := q.Expect
	if q.ExpectByDialect != nil {
		want = q.ExpectByDialect[b.on.Name]
	}
	t.Log(q.Why)
	compareRecords(t, tortureRecords(t, b, who, q.Request), want, q.Ordered)
}

// ownDatabase matches what the script for MySQL does to make and enter a database of a fixed name.
var ownDatabase = regexp.MustCompile(`(?m)^DROP DATABASE IF EXISTS torture;.*$`)

func newTorture(t *testing.T, on testdb.Engine) *bench {
	t.Helper()
	script := string(tortureFile(t, on.Name+".sql"))
	if on.Name == testdb.MySQL {
		if !ownDatabase.MatchString(script) {
			t.Fatal("the script for MySQL has changed: it no longer makes its database in the one line known here")
		}
		script = ownDatabase.ReplaceAllString(script, "ALTER DATABASE CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci;")
	}
	dsn := testdb.Create(t, on, script)
	snapshot, err := introspect.Read(context.Background(), testdb.Open(t, on, dsn), on.Name, introspect.Options{})
	if err != nil {
		t.Fatal(err)
	}
	written, err := introspect.Write(snapshot, introspect.WriteOptions{DSN: dsn})
	if err != nil {
		t.Fatal(err)
	}
	files := fstest.MapFS{}
	for _, f := range written.Files {
		files[f.Name] = &fstest.MapFile{Data: f.Data}
	}
	return newBench(t, on, files, map[string]string{"default": dsn})
}

// tortureRecords runs a request and gives its rows by column.
func tortureRecords(t *testing.T, b *bench, who *policy.Principal, raw []byte) []map[string]any {
	t.Helper()
	ans, err := b.engine.Query(context.Background(), who, raw)
	if err != nil {
		t.Fatalf("refused: %s\nrequest: %s", tell(err), raw)
	}
	var got struct {
		Columns []string
		Rows    [][]any
	}
	unmarshal(t, ans.Text, &got)
	var records []map[string]any
	for _, row := range got.Rows {
		record := map[string]any{}
		for i, c := range got.Columns {
			record[c] = row[i]
		}
		records = append(records, record)
	}
	return records
}

func unmarshal(t *testing.T, b []byte, v any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	if err := d.Decode(v); err != nil {
		t.Fatalf("%v in %.200s", err, b)
	}
}

// compareRecords compares records field by field. expected.json writes decimals as texts; they compare by
// value.
func compareRecords(t *testing.T, got, want []map[string]any, ordered bool) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%d records, want %d", len(got), len(want))
	}
	write := func(list []map[string]any) []string {
		lines := make([]string, len(list))
		for i, r := range list {
			var b strings.Builder
			for _, k := range sortedNames(r) {
				fmt.Fprintf(&b, "%q: %s\n", k, byValue(r[k]))
			}
			lines[i] = b.String()
		}
		if !ordered {
			slices.Sort(lines)
		}
		return lines
	}
	a, b := write(got), write(want)
	for i := range min(len(a), len(b)) {
		if a[i] == b[i] {
			continue
		}
		x, y := strings.Split(a[i], "\n"), strings.Split(b[i], "\n")
		for _, line := range x {
			if !slices.Contains(y, line) {
				t.Errorf("record %d: got  %s", i, line)
			}
		}
		for _, line := range y {
			if !slices.Contains(x, line) {
				t.Errorf("record %d: want %s", i, line)
			}
		}
	}
}

var numberText = regexp.MustCompile(`^-?\d+(\.\d+)?([eE][-+]?\d{1,3})?$`)

// byValue writes equal values alike, a number as its exact value whether it came as a number or as a text.
func byValue(v any) string {
	switch v := v.(type) {
	case json.Number:
		return ratText(v.String())
	case string:
		if numberText.MatchString(v) {
			return ratText(v)
		}
	}
	return encode(v)
}

func ratText(s string) string {
	r, ok := new(big.Rat).SetString(s)
	if !ok {
		return s
	}
	return "number " + r.RatString()
}

func sortedNames[V any](m map[string]V) []string {
	var names []string
	for k := range m {
		names = append(names, k)
	}
	slices.Sort(names)
	return names
}
