package schema

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"resq/schema/problem"
)

// Every case of testdata/broken is a catalog that must be refused: a file whose last comment lists the problems, or a
// directory with them in expected.txt. Each line is place: message · hint. Rewrite them with -update and read the diff.
func TestBrokenCatalogs(t *testing.T) {
	cases, err := os.ReadDir("testdata/broken")
	if err != nil {
		t.Fatal(err)
	}
	if len(cases) < 40 {
		t.Fatalf("only %d broken catalogs", len(cases))
	}
	for _, c := range cases {
		t.Run(c.Name(), func(t *testing.T) {
			path := filepath.Join("testdata/broken", c.Name())
			got := brokenText(t, path)
			golden, want := goldenOf(t, path, c.IsDir())
			if *update {
				writeGolden(t, path, golden, got, c.IsDir())
				return
			}
			if got != want {
				t.Errorf("problems of %s\n got:\n%s\nwant:\n%s", path, got, want)
			}
		})
	}
}

// brokenText loads path, which must fail, and gives its problems by line, places relative to path.
func brokenText(t *testing.T, path string) string {
	t.Helper()
	env := func(name string) (string, bool) { return "", name == "RESQ_TEST_EMPTY" }
	c, err := Load([]string{path}, LoadOptions{Getenv: env})
	if err == nil || c != nil {
		t.Fatalf("%s: a broken catalog loaded: %v", path, c)
	}
	var b strings.Builder
	for _, p := range problem.From(err) {
		if strings.Contains(p.Error(), "heim") {
			t.Errorf("a problem shows a password: %s", p)
		}
		b.WriteString(strings.ReplaceAll(strings.ReplaceAll(p.Error(), path+"/", ""), path+":", ""))
		if p.Code != problem.ConfigInvalid { // of SQL tools
			b.WriteString(" · " + string(p.Code))
		}
		b.WriteString("\n")
	}
	return b.String()
}

const goldenMark = "# problems:\n"

// goldenOf gives what stands before the expected problems in a file, and the problems.
func goldenOf(t *testing.T, path string, dir bool) (before, want string) {
	t.Helper()
	if dir {
		data, err := os.ReadFile(filepath.Join(path, "expected.txt"))
		if err != nil && !*update {
			t.Fatal(err)
		}
		return "", string(data)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, tail, _ := strings.Cut(string(data), goldenMark)
	return before, strings.ReplaceAll(strings.ReplaceAll("\n"+tail, "\n# ", "\n"), "\n\n", "\n")[1:]
}

func writeGolden(t *testing.T, path, before, got string, dir bool) {
	t.Helper()
	if dir {
		path, before = filepath.Join(path, "expected.txt"), ""
	} else {
		got = goldenMark + strings.ReplaceAll("\n"+strings.TrimSuffix(got, "\n"), "\n", "\n# ")[1:] + "\n"
	}
	if err := os.WriteFile(path, []byte(before+got), 0o644); err != nil {
		t.Fatal(err)
	}
}
