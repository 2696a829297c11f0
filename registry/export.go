package registry

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"iter"
	"strconv"
	"strings"
	"time"
)

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
	"user_id", "outcome", "client_ip", "schema_version", "rules", "bypass",
}

func row(e *Entry) []string {
	cells := []string{
		e.Time.Format(time.RFC3339Nano), e.Chain, strconv.FormatUint(e.Seq, 10), e.Event, e.Request, e.Principal, e.Key, e.Client, e.Tool,
		e.Resource, e.Connection, e.Operation, e.Code, strconv.Itoa(e.Rows), strconv.FormatInt(e.Ms, 10), e.Statement, e.Catalog,
		e.ArgumentsHMAC, string(e.Arguments), string(e.Changes), e.Detail, e.Prev,
		e.User, e.Outcome, e.Address, strconv.Itoa(e.Version), strings.Join(e.Rules, " "), e.Bypass,
	}
	for i, c := range cells {
		if c != "" && strings.ContainsRune("=+-@\t\r", rune(c[0])) { // a spreadsheet would run it
			cells[i] = "'" + c
		}
	}
	return cells
}
