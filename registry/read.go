package registry

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

const fileForm = "%08d.jsonl"

// A Line is one line of an audit, and where it stands.
type Line struct {
	File  string
	No    int    // from 1
	Raw   []byte // with its line break
	Entry Entry

	whole bool // it is an entry, and not what a crash left of one
	void  bool // it is written again, or given up, in a later file
}

// A chainFile is one file of a chain. One whose first line is not whole has no header.
type chainFile struct {
	path   string
	number int
	header Entry
	limit  uint64 // lines from this number on are void; 0 is no limit
}

// chainFiles lists the files of a chain in their order.
func chainFiles(dir string) ([]chainFile, error) {
	list, err := os.ReadDir(dir) // sorted by name
	if err != nil {
		return nil, err
	}
	var files []chainFile
	for _, d := range list {
		n, err := strconv.Atoi(strings.TrimSuffix(d.Name(), ".jsonl"))
		if err != nil || d.Name() != fmt.Sprintf(fileForm, n) {
			continue
		}
		f := chainFile{path: filepath.Join(dir, d.Name()), number: n}
		for l, err := range f.lines() {
			if err != nil {
				return nil, err
			}
			if l.whole {
				f.header = l.Entry
			}
			break
		}
		files = append(files, f)
	}
	slices.SortFunc(files, func(a, b chainFile) int { return a.number - b.number })
	limit := uint64(0)
	for i := len(files) - 1; i >= 0; i-- {
		files[i].limit = limit
		if h := files[i].header; h.Seq > 0 && (limit == 0 || h.Seq < limit) {
			limit = h.Seq
		}
	}
	return files, nil
}

// lines reads a file.
func (f chainFile) lines() iter.Seq2[Line, error] { return f.linesBehind(0, 0) }

// linesBehind reads a file behind so many lines, which have so many bytes.
func (f chainFile) linesBehind(lines int, bytes int64) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		r, err := os.Open(f.path)
		if err != nil {
			yield(Line{}, err)
			return
		}
		defer r.Close()
		if _, err := r.Seek(bytes, io.SeekStart); err != nil {
			yield(Line{}, err)
			return
		}
		in := bufio.NewReaderSize(r, 1<<16)
		for no := lines + 1; ; no++ {
			raw, err := in.ReadBytes('\n')
			if len(raw) > 0 {
				l := Line{File: f.path, No: no, Raw: raw}
				l.Entry, l.whole = decode(raw)
				l.void = l.whole && f.limit > 0 && l.Entry.Seq >= f.limit
				if !yield(l, nil) {
					return
				}
			}
			if err != nil {
				if !errors.Is(err, io.EOF) {
					yield(Line{}, err)
				}
				return
			}
		}
	}
}

func linesOf(files []chainFile) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		for _, f := range files {
			for l, err := range f.lines() {
				if !yield(l, err) || err != nil {
					return
				}
			}
		}
	}
}

// openChains lists the chains of an audit. That there is none is an error, because it is a slip of whoever named it.
func openChains(dir string) ([]string, error) {
	names, err := chainNames(dir)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(names) == 0 {
		return nil, fmt.Errorf("there is no audit in %s: %w", dir, fs.ErrNotExist)
	}
	for i, name := range names {
		names[i] = filepath.Join(dir, name)
	}
	return names, err
}

// merge gives the entries of several chains by their times, those of each chain in their order.
func merge(chains []iter.Seq2[Line, error]) iter.Seq2[Line, error] {
	type head struct {
		line Line
		next func() (Line, error, bool)
	}
	return func(yield func(Line, error) bool) {
		var heads []*head
		// advance is false at the end of a chain, or when the caller wants no more.
		advance := func(h *head) (more, wanted bool) {
			for {
				l, err, ok := h.next()
				if !ok {
					return false, true
				}
				if err != nil {
					yield(Line{}, err)
					return false, false
				}
				if l.whole && !l.void {
					h.line = l
					return true, true
				}
			}
		}
		for _, c := range chains {
			next, stop := iter.Pull2(c)
			defer stop()
			h := &head{next: next}
			more, wanted := advance(h)
			if !wanted {
				return
			}
			if more {
				heads = append(heads, h)
			}
		}
		for len(heads) > 0 {
			first := slices.MinFunc(heads, func(a, b *head) int { return a.line.Entry.Time.Compare(b.line.Entry.Time) })
			if !yield(first.line, nil) {
				return
			}
			more, wanted := advance(first)
			if !wanted {
				return
			}
			if !more {
				heads = slices.DeleteFunc(heads, func(h *head) bool { return h == first })
			}
		}
	}
}
