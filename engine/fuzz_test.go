package engine_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"resq/testdb"
)

// canary is a text that stands in no catalog, no SQL and no case: where it turns up in SQL, a caller's byte
// has become SQL.
const canary = "zqcanaryqz"

// FuzzQuery compiles whatever bytes the fuzzer makes. Compiling may refuse, but never panic, and when the
// canary is put into every string of the request it never stands in the text of a statement (promise C1).
func FuzzQuery(f *testing.F) {
	for _, file := range caseFiles(f) {
		c, err := parseArchive([]byte(readFile(f, file)))
		if err != nil {
			f.Fatal(err)
		}
		if raw, ok := c.section("request"); ok {
			f.Add([]byte(raw))
		}
	}
	for _, raw := range corpusRequests(f) {
		f.Add(raw)
	}
	people := principals(f)
	var benches []*bench
	for _, on := range testdb.Engines(f) {
		benches = append(benches, newShop(f, on))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		for _, b := range benches {
			for _, who := range []string{"alice", "root", "dave"} {
				if _, err := b.engine.Explain(context.Background(), people[who], raw); err != nil && !strings.HasPrefix(tell(err), "{") {
					t.Errorf("%s: an error that is no problem list: %v", b.on.Name, err)
				}
			}
			for _, marked := range withCanary(raw) {
				plan, err := b.engine.Explain(context.Background(), people["root"], marked)
				if err != nil {
					continue
				}
				for _, s := range plan.Statements {
					if strings.Contains(strings.ToLower(s.SQL), canary) {
						t.Errorf("%s: a caller's text stands in SQL:\n%s\nsent: %s", b.on.Name, s.SQL, marked)
					}
				}
			}
		}
	})
}

// corpusRequests gives the requests of the attack corpus as seeds, without those that need macros. Where the
// corpus is not there the cases alone are the seeds.
func corpusRequests(f *testing.F) [][]byte {
	b, err := os.ReadFile("../../shared/corpus/attack.jsonl")
	if err != nil {
		f.Logf("SKIPPED LOUDLY: no seeds from the attack corpus: %v", err)
		return nil
	}
	var list [][]byte
	lines := bufio.NewScanner(bytes.NewReader(b))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var l struct {
			Tool      string
			Arguments json.RawMessage
		}
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			f.Fatal(err)
		}
		if l.Tool == "res-query" && len(l.Arguments) < 4000 {
			list = append(list, l.Arguments)
		}
	}
	return list
}

// withCanary gives the request with the canary put into each of its strings in turn, at the end of the
// string and in place of it, and inside the quotes of an expression's literals.
func withCanary(raw []byte) [][]byte {
	var v any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return nil
	}
	var n int
	count(v, &n)
	var list [][]byte
	for at := range min(n, 40) {
		for _, change := range []func(string) string{
			func(s string) string { return s + canary },
			func(string) string { return canary },
			func(s string) string { return strings.Replace(s, "'", "'"+canary, 1) },
		} {
			i := at
			if b, err := json.Marshal(replace(v, &i, change)); err == nil {
				list = append(list, b)
			}
		}
	}
	return list
}

func count(v any, n *int) {
	switch v := v.(type) {
	case string:
		*n++
	case []any:
		for _, x := range v {
			count(x, n)
		}
	case map[string]any:
		for _, x := range v {
			count(x, n)
		}
	}
}

// replace copies v with the string at position *at changed; *at counts down. Maps are
// walked in the order of their keys, so that over all positions every string gets its turn.
func replace(v any, at *int, change func(string) string) any {
	switch v := v.(type) {
	case string:
		*at--
		if *at == -1 {
			return change(v)
		}
		return v
	case []any:
		list := make([]any, len(v))
		for i, x := range v {
			list[i] = replace(x, at, change)
		}
		return list
	case map[string]any:
		m := make(map[string]any, len(v))
		for _, k := range slices.Sorted(maps.Keys(v)) {
			m[k] = replace(v[k], at, change)
		}
		return m
	}
	return v
}
