package introspect

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Save writes the files below dir. Without replace it refuses to touch a file that is there, and then
// writes none. Each file is whole or unchanged at any moment.
func (r *Result) Save(dir string, replace bool) error {
	for _, f := range r.Files {
		name := filepath.Join(dir, filepath.FromSlash(f.Name))
		if _, err := os.Lstat(name); err == nil && !replace {
			return fmt.Errorf("%s is there already; update the catalog instead, or choose another directory: %w", name, fs.ErrExist)
		} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	for _, f := range r.Files {
		if err := writeFile(filepath.Join(dir, filepath.FromSlash(f.Name)), f.Data); err != nil {
			return err
		}
	}
	return nil
}

// writeFile writes beside the file and renames. A link stays a link; what it leads to is replaced.
func writeFile(name string, data []byte) error {
	if real, err := filepath.EvalSymlinks(name); err == nil {
		name = real
	}
	mode := fs.FileMode(0o644)
	if info, err := os.Stat(name); err == nil {
		mode = info.Mode().Perm()
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	// The loader passes over names that begin with a dot.
	temp, err := os.CreateTemp(filepath.Dir(name), ".resq-*")
	if err != nil {
		return err
	}
	_, err = temp.Write(data)
	err = errors.Join(err, temp.Chmod(mode), temp.Close())
	if err == nil {
		err = os.Rename(temp.Name(), name)
	}
	if err != nil {
		os.Remove(temp.Name())
	}
	return err
}
