package registry

import (
	"bytes"
	"context"
	"iter"
	"time"
)

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
	for _, l := range list[max(0, len(list)-max(n, 0)):] {
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

// An end is how far a chain has been read: so many lines of a file, which have so many bytes.
type end struct {
	number int
	lines  int
	bytes  int64
}

// pass goes behind a line, unless it is just being written.
func (e *end) pass(l Line) {
	if bytes.HasSuffix(l.Raw, []byte("\n")) {
		e.lines = l.No
		e.bytes += int64(len(l.Raw))
	}
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
		for l, err := range f.linesBehind(e.lines, e.bytes) {
			if err != nil {
				return err
			}
			if e.pass(l); l.whole && !l.void {
				if err := each(l); err != nil {
					return err
				}
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
	for i := len(files) - 1; i >= 0 && (len(list) < n || i == len(files)-1); i-- {
		at := end{number: files[i].number}
		var these []Line
		for l, err := range files[i].lines() {
			if err != nil {
				return nil, nil, err
			}
			if at.pass(l); l.whole && !l.void {
				these = append(these, l)
			}
		}
		if i == len(files)-1 {
			*e = at
		}
		list = append(these, list...)
	}
	return list, e, nil
}
