package schema

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// maxDirectories bounds how deep directories are read, so that a link to a directory above ends.
const maxDirectories = 32

// An input is one file to read: its text, or why there is none.
type input struct {
	name string // as it is shown
	dir  string // of the file, for a relative dsnFile; "" inside an fs.FS
	data []byte
	err  string
	hint string
}

// A reader collects the inputs of a load.
type reader struct {
	inputs []input
	disk   bool            // reading the operating system's files, not an fs.FS
	seen   map[string]bool // real paths, when several were named; nil when no file can be met twice
}

// paths reads files and directories of the operating system, in the order given.
func (r *reader) paths(paths []string) {
	r.disk = true
	defer func() { r.disk = false }()
	if len(paths) > 1 {
		r.seen = map[string]bool{}
	}
	for _, p := range paths {
		info, err := os.Stat(p)
		switch {
		case err != nil:
			r.fail(p, reason(err), "a YAML file, or a directory of them")
		case info.IsDir():
			before := len(r.inputs)
			r.directory(os.DirFS(p), ".", p, []os.FileInfo{info})
			r.orEmpty(p, before)
		default:
			r.file(os.DirFS(filepath.Dir(p)), filepath.Base(p), p)
		}
	}
}

// tree reads every catalog file of fsys. Names are shown behind prefix.
func (r *reader) tree(fsys fs.FS, prefix string) {
	before := len(r.inputs)
	r.directory(fsys, ".", prefix, nil)
	r.orEmpty(cmp.Or(prefix, "."), before)
}

func (r *reader) orEmpty(name string, before int) {
	if len(r.inputs) == before {
		r.fail(name, "there is no catalog file here", "files end in .yaml or .yml; names that begin with a dot are passed over")
	}
}

func (r *reader) fail(name, err, hint string) {
	r.inputs = append(r.inputs, input{name: name, err: err, hint: hint})
}

// reason words why a file cannot be read, without the path, which the problem already shows.
func reason(err error) string {
	var pe *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "there is no such file or directory"
	case errors.Is(err, fs.ErrPermission):
		return "reading it is not permitted"
	case errors.As(err, &pe):
		return "cannot be read: " + pe.Err.Error()
	}
	return "cannot be read: " + err.Error()
}

// directory reads dir of fsys and what is below it, in the order of names. Names that begin with a dot are passed
// over: they are an editor's, a version control's, or the real files behind the links of a mounted volume.
func (r *reader) directory(fsys fs.FS, dir, shown string, above []os.FileInfo) {
	entries, err := fs.ReadDir(fsys, dir)
	if err != nil {
		r.fail(shown, reason(err), "")
		return
	}
	if len(above) > maxDirectories {
		r.fail(shown, "directories are nested too deep, or a link leads back to one above", "")
		return
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			continue
		}
		inner, innerShown := path.Join(dir, e.Name()), join(shown, e.Name())
		info, err := fs.Stat(fsys, inner) // follows links, which the entry does not
		switch {
		case err != nil:
			if isCatalog(e.Name()) {
				r.fail(innerShown, reason(err), "")
			}
		case info.IsDir():
			if slices.ContainsFunc(above, func(a os.FileInfo) bool { return os.SameFile(a, info) }) {
				r.fail(innerShown, "the link leads back to a directory above it", "remove the link")
				continue
			}
			r.directory(fsys, inner, innerShown, append(slices.Clip(above), info))
		case isCatalog(e.Name()):
			r.file(fsys, inner, innerShown)
		}
	}
}

func join(dir, name string) string {
	if dir == "" || dir == "." {
		return name
	}
	return strings.TrimSuffix(filepath.ToSlash(dir), "/") + "/" + name
}

func isCatalog(name string) bool {
	return strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml")
}

func (r *reader) file(fsys fs.FS, name, shown string) {
	in := input{name: shown}
	if r.disk {
		in.dir = filepath.Dir(shown)
		if r.seen != nil {
			real, err := filepath.EvalSymlinks(shown)
			if real, err2 := filepath.Abs(real); err == nil && err2 == nil {
				if r.seen[real] {
					return
				}
				r.seen[real] = true
			}
		}
	}
	f, err := fsys.Open(name)
	if err == nil {
		// One byte more than is allowed shows that there is more, and a device without end is not read on.
		in.data, err = io.ReadAll(io.LimitReader(f, maxFileBytes+1))
		f.Close()
	}
	if err != nil {
		in.err = reason(err)
	}
	r.inputs = append(r.inputs, in)
}
