package engine

import (
	"bytes"
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"resq/engine/policy"
	"resq/engine/sheet"
	"resq/schema"
	"resq/schema/problem"
)

// How large files become. They travel inside one message.
const (
	fileRows    = 100_000
	fileBytes   = 10 << 20
	fileContent = 100 << 20 // of a workbook before it is packed
)

// exportTool answers export_query: the statement is checked and run as by execute_query, and its rows become a file (D-086). A
// file is not kept: whoever reads it runs the statement again, as whoever that is by then.
func (e *Engine) exportTool(ctx context.Context, who *policy.Principal, t *schema.Tool, call Call) (*Answer, error) {
	c, err := e.sent(ctx, who, t, call.Args, SQLLimits{Default: fileRows, Max: fileRows})
	if err != nil {
		return nil, err
	}
	st, err := c.read(true)
	if err != nil {
		return nil, c.told(err)
	}
	if c.format == "" {
		c.format = sheet.CSV
	}
	if c.filename == "" {
		c.filename = "query"
	}
	if !strings.HasSuffix(strings.ToLower(c.filename), "."+c.format) {
		c.filename += "." + c.format
	}
	f := &file{form: c.format, to: call.File}
	rows, err := e.foreignRows(ctx, &foreignCall{who: c.who, st: st, given: c.given, limit: c.limit, file: f})
	if err != nil {
		return nil, c.told(err)
	}
	a := &Answer{File: &File{Name: c.filename, Type: sheet.TypeOf(c.format), Rows: int(rows.n), Complete: !rows.more}}
	if call.File != nil {
		a.Rows = int(rows.n) // nobody gets them otherwise
	}
	var warnings []string
	switch {
	case rows.cut:
		warnings = append(warnings, "the file was cut at "+strconv.FormatInt(rows.n, 10)+" rows because it would be too large; narrow the statement")
	case rows.more:
		warnings = append(warnings, "there are more than "+strconv.FormatInt(c.limit, 10)+" rows; narrow the statement")
	}
	if n := f.short; n > 0 {
		warnings = append(warnings, strconv.Itoa(n)+" texts were cut, because a cell of a workbook holds 32767 characters; format csv has no such bound")
	}
	b := appendString([]byte(`{"success":true,"filename":`), c.filename)
	b = appendString(append(b, `,"format":`...), c.format)
	b = strconv.AppendInt(append(b, `,"rowCount":`...), rows.n, 10)
	b = strconv.AppendInt(append(b, `,"bytes":`...), f.size, 10)
	b = strconv.AppendBool(append(b, `,"truncated":`...), rows.more)
	a.Text = append(e.remarks(b, st, warnings), '}')
	return a, nil
}

// form reads the argument format.
func (c *sent) form(text string, probs *problem.List) {
	if c.format = text; text != sheet.CSV && text != sheet.XLSX {
		*probs = append(*probs, argument("format", "there is no format "+problem.Quote(text), "one of: csv, xlsx"))
	}
}

// name reads the argument filename, which becomes a name on the client's disk.
func (c *sent) name(text string, probs *problem.List) {
	c.filename = text
	bad := text == "" || text[0] == '.' || strings.TrimSpace(text) != text || utf8.RuneCountInString(text) > 100 || !utf8.ValidString(text) ||
		strings.ContainsFunc(text, func(r rune) bool { return strings.ContainsRune(`/\:*?"<>|`, r) || !unicode.IsPrint(r) })
	if bad {
		*probs = append(*probs, argument("filename", "this cannot be the name of a file", `at most 100 printable characters without / \ : * ? " < > |, such as orders.csv`))
	}
}

// A file takes the rows of a statement as they are read.
type file struct {
	form  string
	to    *bytes.Buffer // nil counts alone
	size  int64
	short int
}

// Write counts, and keeps what somebody wants.
func (f *file) Write(b []byte) (int, error) {
	f.size += int64(len(b))
	if f.to == nil {
		return len(b), nil
	}
	return f.to.Write(b)
}

var _ io.Writer = (*file)(nil)

// fill writes the rows of a statement, from the start: one that is run again writes its file again.
func (f *file) fill(ctx context.Context, limit int64, rows driver.Rows, cols []column, vals []driver.Value, r *foreignRows) error {
	if f.size = 0; f.to != nil {
		f.to.Reset()
	}
	w := sheet.New(f.form, f, sheet.Limits{Bytes: fileBytes, Content: fileContent})
	if err := w.Header(r.names); err != nil {
		if errors.Is(err, sheet.ErrColumns) {
			err = problem.List{{Code: problem.LimitExceeded, Stage: problem.Shape, Reason: "columns", At: "/format", Message: "the statement has more columns than a workbook holds", Hint: "format csv"}}
		}
		return err
	}
	cells := make([][]byte, len(cols))
	err := each(ctx, rows, vals, func() (bool, error) {
		if r.n == limit {
			r.more = true
			return false, nil
		}
		for i := range cols {
			cells[i] = cols[i].json(cells[i][:0], cols[i].settled(vals[i]))
		}
		ok, err := w.Row(cells)
		if err != nil {
			return false, err
		}
		if !ok {
			r.more, r.cut = true, true
			return false, nil
		}
		r.n++
		return true, nil
	})
	if err != nil {
		return err
	}
	f.short = w.Shortened()
	return w.Close()
}
