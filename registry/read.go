package registry

import (
	"bufio"
	"context"
	"encoding/csv"
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
	"time"
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
func (f chainFile) lines() iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		r, err := os.Open(f.path)
		if err != nil {
			yield(Line{}, err)
			return
		}
		defer r.Close()
		in := bufio.NewReaderSize(r, 1<<16)
		for no := 1; ; no++ {
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

// open lists the chains of an audit. That there is none is an error, because it is a slip of whoever named it.
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

// followEvery is the time between two looks for new lines.
const followEvery = 300 * time.Millisecond

// Tail hands over the last n lines of an audit, by their times, and with follow those that are written from then
// on, until the context ends, which is no error. It stops at an error of each.
func Tail(ctx context.Context, dir string, n int, follow bool, each func(Line) error) error {
	chains, err := openChains(dir)
	if err != nil {
		return err
	}
	var last []iter.Seq2[Line, error]
	ends := map[string]*end{}
	for _, c := range chains {
		list, e, err := lastLines(c, n)
		if err != nil {
			return err
		}
		ends[c] = e
		last = append(last, func(yield func(Line, error) bool) {
			for _, l := range list {
				if !yield(l, nil) {
					return
				}
			}
		})
	}
	var list []Line
	for l, err := range merge(last) {
		if err != nil {
			return err
		}
		list = append(list, l)
	}
	for _, l := range list[max(0, len(list)-n):] {
		if err := each(l); err != nil {
			return err
		}
	}
	for follow {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(followEvery):
		}
		if chains, err = openChains(dir); err != nil {
			return err
		}
		for _, c := range chains {
			if ends[c] == nil {
				ends[c] = &end{}
			}
			if err := ends[c].more(c, each); err != nil {
				return err
			}
		}
	}
	return nil
}

// An end is how far a chain has been read: so many whole lines of a file.
type end struct {
	number int
	lines  int
}

// more hands over what was written since.
func (e *end) more(dir string, each func(Line) error) error {
	files, err := chainFiles(dir)
	if err != nil {
		return err
	}
	for _, f := range files {
		if f.number < e.number {
			continue
		}
		if f.number > e.number {
			*e = end{number: f.number}
		}
		for l, err := range f.lines() {
			if err != nil {
				return err
			}
			if l.No <= e.lines || !l.whole { // one that is not whole yet is read again
				continue
			}
			e.lines = l.No
			if l.void {
				continue
			}
			if err := each(l); err != nil {
				return err
			}
		}
	}
	return nil
}

// lastLines reads a chain from its end, file by file, until there are n lines.
func lastLines(dir string, n int) ([]Line, *end, error) {
	files, err := chainFiles(dir)
	if err != nil {
		return nil, nil, err
	}
	e := &end{}
	var list []Line
	for i := len(files) - 1; i >= 0 && (len(list) < n || e.number == 0); i-- {
		var these []Line
		for l, err := range files[i].lines() {
			if err != nil {
				return nil, nil, err
			}
			if !l.whole {
				continue
			}
			if i == len(files)-1 {
				*e = end{files[i].number, l.No}
			}
			if !l.void {
				these = append(these, l)
			}
		}
		if e.number == 0 {
			e.number = files[i].number
		}
		list = append(these, list...)
	}
	return list, e, nil
}

// The forms of an export.
const (
	JSONLines = "jsonl" // the lines as they stand in the files, byte for byte
	CSV       = "csv"
)

// Formats lists the forms of an export.
func Formats() []string { return []string{JSONLines, CSV} }

// Export writes the lines of a time, from the first moment to before the last one, zero times being no bounds. The
// lines of several chains come by their times.
func Export(w io.Writer, dir string, from, to time.Time, format string) error {
	chains, err := openChains(dir)
	if err != nil {
		return err
	}
	var all []iter.Seq2[Line, error]
	for _, c := range chains {
		files, err := chainFiles(c)
		if err != nil {
			return err
		}
		all = append(all, linesOf(files))
	}
	out := bufio.NewWriter(w)
	var put func(Line) error
	table := csv.NewWriter(out)
	switch format {
	case JSONLines:
		put = func(l Line) error { _, err := out.Write(l.Raw); return err }
	case CSV:
		put = func(l Line) error { return table.Write(row(&l.Entry)) }
		if err := table.Write(columns); err != nil {
			return err
		}
	default:
		return fmt.Errorf("no format %q of an export; there are: %s", format, strings.Join(Formats(), ", "))
	}
	for l, err := range merge(all) {
		if err != nil {
			return err
		}
		at := l.Entry.Time
		if !from.IsZero() && at.Before(from) || !to.IsZero() && !at.Before(to) {
			continue
		}
		if err := put(l); err != nil {
			return err
		}
	}
	table.Flush()
	return errors.Join(table.Error(), out.Flush())
}

// columns are those of an export as CSV, and row has their order.
var columns = []string{
	"time", "chain", "seq", "event", "request_id", "principal", "key_id", "client", "tool", "resource", "connection", "op_id",
	"code", "rows", "ms", "statement", "catalog", "args_hmac", "args", "changes", "detail", "prev",
}

func row(e *Entry) []string {
	cells := []string{
		e.Time.Format(time.RFC3339Nano), e.Chain, strconv.FormatUint(e.Seq, 10), e.Event, e.Request, e.Principal, e.Key, e.Client, e.Tool,
		e.Resource, e.Connection, e.Operation, e.Code, strconv.Itoa(e.Rows), strconv.FormatInt(e.Ms, 10), e.Statement, e.Catalog,
		e.ArgumentsHMAC, string(e.Arguments), string(e.Changes), e.Detail, e.Prev,
	}
	for i, c := range cells {
		if c != "" && strings.ContainsRune("=+-@\t\r", rune(c[0])) { // a spreadsheet would run it
			cells[i] = "'" + c
		}
	}
	return cells
}
