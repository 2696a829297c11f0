package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fsnotify/fsnotify"
)

// A tree is where the files of a catalog are on the disk.
type tree struct {
	dirs  []string // that hold catalog files, with all below them
	files []string // the catalog files
	above []string // directories that hold the paths themselves, which may be replaced as a whole
}

// maxDepth bounds how deep directories are followed, as the loader does.
const maxDepth = 32

// treeOf looks for what a load of the paths would read. What cannot be read is left out; the load tells it.
func treeOf(paths []string) tree {
	var t tree
	for _, p := range paths {
		p = absolute(p)
		t.above = append(t.above, filepath.Dir(p))
		info, err := os.Stat(p)
		switch {
		case err != nil:
		case info.IsDir():
			t.walk(p, []os.FileInfo{info})
		default:
			t.files = append(t.files, p)
			if real, err := filepath.EvalSymlinks(p); err == nil { // the file behind a link changes in its own place
				t.above = append(t.above, filepath.Dir(real))
			}
		}
	}
	return t
}

func (t *tree) walk(dir string, above []os.FileInfo) {
	t.dirs = append(t.dirs, dir)
	entries, err := os.ReadDir(dir)
	if err != nil || len(above) > maxDepth {
		return
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			continue
		}
		inner := filepath.Join(dir, e.Name())
		info, err := os.Stat(inner)
		switch {
		case err != nil:
		case info.IsDir():
			if !slices.ContainsFunc(above, func(a os.FileInfo) bool { return os.SameFile(a, info) }) {
				t.walk(inner, append(slices.Clip(above), info))
			}
		case isCatalogFile(e.Name()):
			t.files = append(t.files, inner)
		}
	}
}

func isCatalogFile(name string) bool {
	return strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml")
}

// A watcher tells when files of a catalog may have changed. It watches directories: an editor that saves
// replaces the file, and a watch of the file would stay with the old one.
type watcher struct {
	fs   *fsnotify.Watcher
	dirs map[string]watched
	base map[string]bool // last names of the paths
}

type watched struct {
	info  os.FileInfo
	whole bool // every catalog file in it counts, not only the paths
}

func newWatcher(paths []string) (*watcher, error) {
	in, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	w := &watcher{fs: in, dirs: map[string]watched{}}
	if err := w.follow(paths); err != nil {
		return nil, errors.Join(err, in.Close())
	}
	return w, nil
}

// follow brings the watched directories in line with what is there now. It fails when the system gives no
// further watch.
func (w *watcher) follow(paths []string) error {
	t := treeOf(paths)
	w.base = map[string]bool{}
	for _, p := range paths {
		w.base[filepath.Base(absolute(p))] = true
	}
	want := map[string]watched{}
	for _, list := range []struct {
		dirs  []string
		whole bool
	}{{t.dirs, true}, {t.above, false}} {
		for _, d := range list.dirs {
			if info, err := os.Stat(d); err == nil && want[d].info == nil {
				want[d] = watched{info, list.whole}
			}
		}
	}
	for d, old := range w.dirs {
		if now, ok := want[d]; !ok || !os.SameFile(now.info, old.info) {
			_ = w.fs.Remove(d) // the watch of a directory that is gone has ended by itself
			delete(w.dirs, d)
		}
	}
	var failed error
	for d, now := range want {
		if _, ok := w.dirs[d]; !ok {
			if err := w.fs.Add(d); err != nil {
				if !errors.Is(err, fs.ErrNotExist) {
					failed = err
				}
				continue
			}
		}
		w.dirs[d] = now
	}
	return failed
}

// concerns says whether an event may have changed the catalog.
func (w *watcher) concerns(e fsnotify.Event) bool {
	name := filepath.Clean(e.Name)
	if _, ok := w.dirs[name]; ok {
		return true
	}
	base := filepath.Base(name)
	if strings.HasPrefix(base, "..") || w.base[base] { // "..data" is how a mounted volume is switched
		return true
	}
	if d, ok := w.dirs[filepath.Dir(name)]; ok && !d.whole || strings.HasPrefix(base, ".") {
		return false
	}
	if isCatalogFile(base) {
		return true
	}
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}
