package schema

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"resq/schema/problem"
)

// write makes files below a new directory and gives the directory.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func one(code string) string {
	return "version: 1\nresources: [{code: " + code + ", fields: {id: integer}}]\n"
}

var testDSN = LoadOptions{DSN: map[string]string{"default": "sqlite:test.db"}}

func codesOf(c *Catalog) string {
	codes := make([]string, len(c.Resources))
	for i, r := range c.Resources {
		codes[i] = r.Code
	}
	return strings.Join(codes, " ")
}

// Directories are read in the order of names, at every depth; other files and names with a dot first are passed over.
func TestDirectoryOrder(t *testing.T) {
	dir := write(t, map[string]string{
		"b.yaml": one("B"), "a/z.yml": one("AZ"), "a/b/x.yaml": one("ABX"), "c.yaml": one("C"), "README.md": "no catalog",
		"c.yaml.bak": "[", ".hidden.yaml": "[", ".git/x.yaml": "[", "d.yaml~": "[",
	})
	c, err := Load([]string{dir}, testDSN)
	if err != nil {
		t.Fatal(err)
	}
	if got := codesOf(c); got != "ABX AZ B C" {
		t.Errorf("order %s", got)
	}
	if at := c.Resources[0].At.String(); at != filepath.ToSlash(dir)+"/a/b/x.yaml:2:20" {
		t.Errorf("place %s", at)
	}
}

// Paths are read in the order given, each file once; a file that is named needs no ending.
func TestPaths(t *testing.T) {
	dir := write(t, map[string]string{"b.yaml": one("B"), "a.yaml": one("A"), "catalog.conf": one("Conf")})
	c, err := Load([]string{filepath.Join(dir, "b.yaml"), filepath.Join(dir, "catalog.conf"), dir, filepath.Join(dir, ".", "b.yaml")}, testDSN)
	if err != nil {
		t.Fatal(err)
	}
	if got := codesOf(c); got != "B Conf A" {
		t.Errorf("order %s", got)
	}
}

// Links to files are followed, as in a mounted volume; a link back to a directory above is told.
func TestLinks(t *testing.T) {
	dir := write(t, map[string]string{"..data/real.yaml": one("A"), "sub/b.yaml": one("B")})
	if err := os.Symlink("..data/real.yaml", filepath.Join(dir, "a.yaml")); err != nil {
		t.Fatal(err)
	}
	c, err := Load([]string{dir}, testDSN)
	if err != nil || codesOf(c) != "A B" {
		t.Fatalf("%v, %v", c, err)
	}
	if err := os.Symlink("..", filepath.Join(dir, "sub", "up")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("nowhere.yaml", filepath.Join(dir, "gone.yaml")); err != nil {
		t.Fatal(err)
	}
	_, err = Load([]string{dir}, testDSN)
	var got []string
	for _, p := range problem.From(err) {
		got = append(got, strings.TrimPrefix(p.At, filepath.ToSlash(dir)+"/")+": "+p.Message)
	}
	want := []string{"gone.yaml: there is no such file or directory", "sub/up: the link leads back to a directory above it"}
	if !slices.Equal(got, want) {
		t.Errorf("problems %q", got)
	}
}

// What cannot be read is a problem with the path that was given.
func TestUnreadable(t *testing.T) {
	dir := write(t, map[string]string{"empty/README": "", "a.yaml": one("A")})
	for _, c := range []struct {
		path, at, message string
	}{
		{"missing.yaml", "missing.yaml", "there is no such file or directory"},
		{"empty", "empty", "there is no catalog file here"},
	} {
		_, err := Load([]string{filepath.Join(dir, c.path)}, testDSN)
		list := problem.From(err)
		if len(list) != 1 || list[0].At != filepath.Join(dir, c.at) || list[0].Message != c.message || list[0].Code != problem.ConfigInvalid {
			t.Errorf("%s: %v", c.path, err)
		}
	}
	if _, err := Load(nil, LoadOptions{}); err == nil || !strings.Contains(err.Error(), "no catalog is given") {
		t.Errorf("no path at all: %v", err)
	}
	if _, err := LoadFS(fstest.MapFS{}, LoadOptions{}); err == nil || !strings.Contains(err.Error(), "no catalog file here") {
		t.Errorf("an empty file system: %v", err)
	}
	if _, err := Load([]string{"/dev/zero"}, LoadOptions{}); err == nil || !strings.Contains(err.Error(), "larger than") {
		t.Errorf("a file without end: %v", err)
	}
}

// The hash is of what the files hold: the same wherever they lie, another when anything in them changes.
func TestHash(t *testing.T) {
	files := map[string]string{"a.yaml": one("A"), "b.yaml": one("B")}
	hash := func(files map[string]string) string {
		c, err := Load([]string{write(t, files)}, testDSN)
		if err != nil {
			t.Fatal(err)
		}
		return c.Hash
	}
	first := hash(files)
	if len(first) != 64 || first != hash(files) {
		t.Errorf("hash %q is not stable", first)
	}
	if first == hash(map[string]string{"a.yaml": one("A"), "b.yaml": one("B") + "# later\n"}) {
		t.Error("a change leaves the hash as it was")
	}
	// The border between two files counts as well.
	if hash(map[string]string{"a.yaml": one("A") + "#b", "b.yaml": "\n" + one("B")}) == hash(map[string]string{"a.yaml": one("A") + "#b\n", "b.yaml": one("B")}) {
		t.Error("the border between files does not count")
	}
}

// A pack and files form one catalog; problems in a pack name it.
func TestPacks(t *testing.T) {
	pack := Pack{Name: "store", FS: fstest.MapFS{"store/item.yaml": {Data: []byte(one("Item"))}}}
	dir := write(t, map[string]string{"a.yaml": "version: 1\nconnections: {default: {dsn: 'sqlite:a'}}\nresources: [{code: A, fields: {id: integer, item: {type: integer, references: Item.id}}}]\n"})
	c, err := Load([]string{dir}, LoadOptions{Packs: []Pack{pack}})
	if err != nil {
		t.Fatal(err)
	}
	if codesOf(c) != "Item A" || c.Resources[0].At.String() != "pack:store/store/item.yaml:2:20" {
		t.Errorf("%s, %s", codesOf(c), c.Resources[0].At)
	}
	if c, err = Load(nil, LoadOptions{Packs: []Pack{pack}, DSN: testDSN.DSN}); err != nil || codesOf(c) != "Item" {
		t.Errorf("a pack alone: %v, %v", c, err)
	}
}

// Validate reports on every file, good or not.
func TestValidate(t *testing.T) {
	dir := write(t, map[string]string{"a.yaml": one("A"), "b.yaml": "version: 1\nresources: [{code: B}]\n", "c.yaml": "["})
	reports, _ := Validate([]string{dir, filepath.Join(dir, "missing")}, testDSN)
	var got []string
	for _, r := range reports {
		line := strings.TrimPrefix(r.File, filepath.ToSlash(dir)+"/")
		for _, p := range r.Problems {
			line += " | " + strings.TrimPrefix(p.Error(), filepath.ToSlash(dir)+"/")
		}
		got = append(got, line)
	}
	want := []string{
		"a.yaml",
		`b.yaml | b.yaml:2:13: a resource needs the key "fields"`,
		"c.yaml | c.yaml:2:1: YAML syntax: did not find expected node content, while parsing a flow node",
		"missing | missing: there is no such file or directory · a YAML file, or a directory of them",
	}
	if !slices.Equal(got, want) {
		t.Errorf("reports\n got %s\nwant %s", strings.Join(got, "\n     "), strings.Join(want, "\n     "))
	}
	good, _ := Validate([]string{filepath.Join(dir, "a.yaml")}, LoadOptions{DSN: map[string]string{"default": ""}})
	if len(good) != 2 || good[1].File != "" || len(good[1].Problems) != 1 {
		t.Errorf("a problem of the options: %+v", good)
	}
}
