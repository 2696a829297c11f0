package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"resq/engine/dialect/sqlite"
	"resq/resources"
)

func packNames() string {
	var names []string
	for _, p := range resources.Packs() {
		names = append(names, p.Name)
	}
	return strings.Join(names, ", ")
}

// packDatabase gives the path of a pack's database, which it makes on the first use. The file gets its name
// only when it is whole, so a start that was broken off leaves nothing that looks ready.
func packDatabase(ctx context.Context, p resources.Pack, dir string, progress io.Writer) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, fmt.Sprintf("%s-%d.sqlite", p.Name, p.Version))
	if _, err := os.Stat(path); err == nil {
		return path, nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	start := time.Now()
	temp, err := os.MkdirTemp(dir, ".new-*") // a directory, so that side files of the database go with it
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(temp)
	half := filepath.Join(temp, "half.sqlite")
	db, err := sqlite.OpenWrite(half)
	if err != nil {
		return "", fmt.Errorf("make the database of %s: %w", p.Name, err)
	}
	err = p.Fill(ctx, db)
	if closed := db.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return "", fmt.Errorf("make the database of %s: %w", p.Name, err)
	}
	// Linked and not renamed: of two servers that start at once the second does not put its database in the place of the
	// first one's, in which something may have been written by now.
	if err := os.Link(half, path); errors.Is(err, fs.ErrExist) {
		return path, nil
	} else if err != nil {
		return "", err
	}
	fmt.Fprintf(progress, "resq: made the database of %s in %s (%v)\n", p.Name, path, time.Since(start).Round(time.Millisecond))
	return path, nil
}
