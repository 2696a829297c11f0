package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// What the watch sees: a directory that is new, files that are deleted, a directory that is replaced as a whole,
// and the links by which a mounted volume is switched. What it passes over: other files.
func TestWatcher(t *testing.T) {
	root := t.TempDir()
	mkdir := func(name string) string {
		dir := filepath.Join(root, name)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	link := func(to, name string) {
		t.Helper()
		temp := filepath.Join(root, "link.tmp")
		if err := os.Symlink(to, temp); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(temp, filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	catalog := mkdir("catalog")
	write(t, catalog, "a.yaml", "a")
	write(t, mkdir("v1"), "b.yaml", "b")
	write(t, mkdir("v2"), "b.yaml", "b")
	link("v1", "..data")
	link("..data/b.yaml", "b.yaml")
	paths := []string{catalog, filepath.Join(root, "b.yaml")}
	w, err := newWatcher(paths)
	if err != nil {
		t.Fatal(err)
	}
	defer w.fs.Close()
	// seen does something and says whether the watch told of it.
	seen := func(do func()) (hit bool) {
		t.Helper()
		if err := w.follow(paths); err != nil {
			t.Fatal(err)
		}
		do()
		for {
			select {
			case e := <-w.fs.Events:
				hit = hit || w.concerns(e)
			case <-time.After(60 * time.Millisecond):
				return hit
			}
		}
	}
	for _, c := range []struct {
		what string
		want bool
		do   func()
	}{
		{"a changed file", true, func() { write(t, catalog, "a.yaml", "aa") }},
		{"a file that is replaced", true, func() { replace(t, filepath.Join(catalog, "a.yaml"), "aaa") }},
		{"another kind of file", false, func() { write(t, catalog, "notes.txt", "x") }},
		{"an editor's file", false, func() { write(t, catalog, ".a.yaml.swp", "x") }},
		{"a catalog file beside the directory", false, func() { write(t, root, "other.yaml", "x") }},
		{"a new directory", true, func() { mkdir("catalog/inner") }},
		{"a file in it", true, func() { write(t, filepath.Join(catalog, "inner"), "c.yml", "c") }},
		{"a file that goes", true, func() { os.Remove(filepath.Join(catalog, "inner", "c.yml")) }},
		{"a volume that is switched", true, func() { link("v2", "..data") }},
		{"the file behind it", true, func() { write(t, filepath.Join(root, "v2"), "b.yaml", "bb") }},
		{"the directory goes", true, func() { os.Rename(catalog, catalog+".old") }},
		{"and comes back", true, func() { os.Rename(catalog+".old", catalog) }},
		{"a file in it then", true, func() { write(t, catalog, "a.yaml", "a4") }},
	} {
		if got := seen(c.do); got != c.want {
			t.Errorf("%s: %v", c.what, got)
		}
	}
}
