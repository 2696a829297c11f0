package schema

import (
	"fmt"
	"slices"
	"testing"
	"testing/fstest"

	"resq/schema/problem"
)

// YAML becomes the JSON that means the same: numbers by value, dates and odd numbers as text.
func TestAppendJSON(t *testing.T) {
	f := &file{name: "a.yaml"}
	root := f.parse([]byte(`
text: a "quoted" text
number: [1, -2, 0x1F, 1_000, 1.50, 1e3, .5, 99999999999999999999, .inf]
words: [true, False, yes, on, null, ~, 2024-01-31, "5", 'it''s', =]
alias: &x {a: [1]}
again: *x
multi: |
  one
  two
`))
	want := `{"text":"a \"quoted\" text","number":[1,-2,31,1000,1.50,1e3,0.5,99999999999999999999,".inf"],` +
		`"words":[true,false,"yes","on",null,null,"2024-01-31","5","it's","="],"alias":{"a":[1]},"again":{"a":[1]},"multi":"one\ntwo\n"}`
	if got := string(f.appendJSON(nil, root)); got != want || len(f.found) > 0 {
		t.Errorf("JSON\n got %s\nwant %s\n%v", got, want, f.found)
	}
}

// A pointer into the JSON leads back to the place in the file; one that leads nowhere to the nearest place above.
func TestFollow(t *testing.T) {
	f := &file{name: "a.yaml"}
	root := f.parse([]byte("rows:\n  type: and\n  exprs:\n    - {field: a, \"x/y~z\": {b: 1}}\n    - field: b\n      tokens: [1, 2]\n"))
	for pointer, want := range map[string]place{
		"": {1, 1}, "/rows": {1, 1}, "/rows/type": {2, 9}, "/rows/exprs": {3, 3}, "/rows/exprs/0": {4, 7}, "/rows/exprs/0/field": {4, 15},
		"/rows/exprs/0/x~1y~0z/b": {4, 31}, "/rows/exprs/1/tokens/1": {6, 19}, "/rows/exprs/1/missing": {5, 7}, "/rows/exprs/7": {3, 3}, "/no": {1, 1},
	} {
		if got := follow(root, pointer); got != want {
			t.Errorf("%s is at %v, want %v", pointer, got, want)
		}
	}
}

// Chains are found once each, whatever node the walk begins with.
func TestCycles(t *testing.T) {
	next := map[string][]string{"a": {"b"}, "b": {"c", "d"}, "c": {"a"}, "d": {"d"}, "e": {"a", "f"}, "f": nil}
	got := cycles([]string{"e", "a", "b", "c", "d", "f"}, func(n string) []string { return next[n] })
	if want := [][]string{{"a", "b", "c"}, {"d"}}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("cycles %v, want %v", got, want)
	}
	if got := cycles([]string{"a", "b"}, func(string) []string { return nil }); got != nil {
		t.Errorf("cycles %v of what has none", got)
	}
}

// Whatever a file holds, the loader answers with a catalog or with problems at places, and does not panic.
func FuzzLoad(f *testing.F) {
	for _, dir := range []string{"testdata/valid", "testdata/broken"} {
		for _, path := range catalogFiles(f, dir) {
			f.Add(mustRead(f, path))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := LoadFS(fstest.MapFS{"a.yaml": {Data: data}}, LoadOptions{Getenv: environment(nil), Offline: true})
		if (c == nil) == (err == nil) {
			t.Fatalf("catalog %v, error %v", c, err)
		}
		for _, p := range problem.From(err) {
			if p.Code == "" || p.Message == "" || p.At == "" {
				t.Errorf("problem %+v", p)
			}
		}
		if c != nil {
			c.Search(string(data), nil)
		}
	})
}

// Whatever is searched for, hits are of the catalog, fall in score and are each there once.
func FuzzSearch(f *testing.F) {
	for _, s := range searches {
		f.Add(s.keywords)
	}
	f.Fuzz(func(t *testing.T, keywords string) {
		c := bigCatalog(t)
		hits := c.Search(keywords, nil)
		seen := map[*Resource]bool{}
		for i, h := range hits {
			if seen[h.Resource] || h.Score <= 0 || i > 0 && h.Score > hits[i-1].Score || len(h.Fields) > maxFields {
				t.Fatalf("hit %d of %q: %+v", i, keywords, h)
			}
			seen[h.Resource] = true
			for _, x := range h.Fields {
				if !slices.Contains(h.Resource.Fields, x) {
					t.Fatalf("%q: the field %s is not of %s", keywords, x.Code, h.Resource.Code)
				}
			}
		}
	})
}
