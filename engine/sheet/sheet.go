// Package sheet writes rows as a file that spreadsheets open.
package sheet

import (
	"bytes"
	"errors"
	"io"
	"unicode/utf8"
)

// A Writer writes one file: the names of the columns, then row after row. Cells are JSON scalars.
type Writer interface {
	// Header writes the names of the columns. It is called once, and before Row.
	Header(names []string) error
	// Row writes a row; false is that the file would become too large with it, and that it is left out.
	Row(cells [][]byte) (bool, error)
	// Close ends the file. Without it the file is none.
	Close() error
	// Shortened is how many texts were longer than the form allows, and were cut.
	Shortened() int
}

// Limits are how large a file may become: Bytes as it is stored, Content before it is packed.
type Limits struct{ Bytes, Content int64 }

// The forms.
const (
	CSV  = "csv"
	XLSX = "xlsx"
)

// TypeOf is the media type of a form.
func TypeOf(form string) string {
	if form == XLSX {
		return "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
	}
	return "text/csv"
}

// New begins a file of a form.
func New(form string, w io.Writer, l Limits) Writer {
	if form == XLSX {
		return newBook(w, l)
	}
	return &csvFile{w: w, l: l}
}

// ErrColumns is that a form does not hold as many columns.
var ErrColumns = errors.New("more columns than the file can hold")

// mark tells programs that a text is UTF-8, which they do not expect of CSV.
const mark = "\ufeff"

// A csvFile is CSV by RFC 4180.
type csvFile struct {
	w    io.Writer
	l    Limits
	n    int64
	line []byte
}

func (f *csvFile) Header(names []string) error {
	f.line = append(f.line[:0], mark...)
	for i, n := range names {
		f.cell(i, n)
	}
	_, err := f.write()
	return err
}

func (f *csvFile) Row(cells [][]byte) (bool, error) {
	f.line = f.line[:0]
	for i, c := range cells {
		text, some := TextOf(c)
		if i > 0 && !some {
			f.line = append(f.line, ',')
		}
		if some {
			f.cell(i, text)
		}
	}
	return f.write()
}

func (f *csvFile) cell(i int, text string) {
	if i > 0 {
		f.line = append(f.line, ',')
	}
	if text != "" && !bytes.ContainsAny([]byte(text), ",\"\r\n\t") && text[0] != ' ' && text[len(text)-1] != ' ' {
		if dangerous(text) {
			f.line = append(f.line, '\'')
		}
		f.line = append(f.line, text...)
		return
	}
	f.line = append(f.line, '"')
	if dangerous(text) {
		f.line = append(f.line, '\'')
	}
	for _, c := range []byte(text) {
		if c == '"' {
			f.line = append(f.line, '"')
		}
		f.line = append(f.line, c)
	}
	f.line = append(f.line, '"')
}

func (f *csvFile) write() (bool, error) {
	f.line = append(f.line, '\n')
	if f.n+int64(len(f.line)) > f.l.Bytes {
		return false, nil
	}
	n, err := f.w.Write(f.line)
	f.n += int64(n)
	return true, err
}

func (f *csvFile) Close() error { return nil }

func (f *csvFile) Shortened() int { return 0 }

// Guarded gives CSV as a file of it is: marked as UTF-8, and with no text that a spreadsheet would calculate.
func Guarded(text []byte) []byte {
	out := append(make([]byte, 0, len(text)+len(text)/64+len(mark)), mark...)
	for i := 0; i < len(text); {
		quoted := text[i] == '"'
		from := i
		if quoted {
			from++
		}
		end := from
		for end < len(text) && (quoted || text[end] != ',' && text[end] != '\n') {
			if quoted && text[end] == '"' {
				if end+1 < len(text) && text[end+1] == '"' {
					end++
				} else {
					quoted = false
				}
			}
			end++
		}
		cell := text[from:end]
		out = append(out, text[i:from]...)
		if dangerous(string(bytes.TrimSuffix(cell, []byte{'"'}))) {
			out = append(out, '\'')
		}
		out = append(out, cell...)
		if end < len(text) {
			out = append(out, text[end])
			end++
		}
		i = end
	}
	return out
}

// dangerous says whether spreadsheets may take a text for a formula. A number is none, whatever its sign.
func dangerous(text string) bool {
	if text == "" {
		return false
	}
	switch text[0] {
	case '=', '@', '\t', '\r', '\n':
		return true
	case '+', '-':
		return !number(text[1:])
	}
	r, _ := utf8.DecodeRuneInString(text)
	return r == '＝' || r == '＋' || r == '－' || r == '＠' // which some take for the narrow ones
}

// number says whether a text is digits with at most one point between them, and perhaps an exponent.
func number(s string) bool {
	digits, point := 0, false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c >= '0' && c <= '9':
			digits++
		case c == '.' && !point && digits > 0:
			point = true
		case (c == 'e' || c == 'E') && digits > 0:
			rest := s[i+1:]
			if rest != "" && (rest[0] == '+' || rest[0] == '-') {
				rest = rest[1:]
			}
			return rest != "" && len(rest) <= 3 && bytes.Trim([]byte(rest), "0123456789") == nil
		default:
			return false
		}
	}
	return digits > 0
}
