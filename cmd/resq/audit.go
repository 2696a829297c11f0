package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v4"

	"resq/registry"
	"resq/schema/problem"
)

// auditDir is the audit's place in a state directory.
const auditDir = "audit"

func auditCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "Read and verify the audit",
		Long:  "Read and verify the audit that a server keeps in its state directory: docs/operation.md tells what is in it.",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(auditTailCommand(), auditVerifyCommand(), auditExportCommand(), auditCallsCommand())
	return cmd
}

// auditFlags give a command the flags that say where the audit is.
func auditFlags(cmd *cobra.Command, from *source) {
	cmd.Flags().StringVar(&from.config, "config", "", "configuration `file` of the server")
	cmd.Flags().StringVar(&from.state, "state", "", "state `directory` of the server")
}

// auditOf finds the audit of a configuration.
func auditOf(from *source) (dir string, c *config, err error) {
	if c, err = from.settings(); err != nil {
		return "", nil, err
	}
	return filepath.Join(stateDir(c.State), auditDir), c, nil
}

// auditFailure says what an error while reading an audit means for whoever asked.
func auditFailure(err error, dir string) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("there is no audit in %s; name the server's state directory with --state, or its configuration with --config", dir)
	}
	return failure{err}
}

// The forms of resq audit tail.
var tailFormats = []string{"table", "json", "yaml"}

func auditTailCommand() *cobra.Command {
	var from source
	var lines int
	var follow bool
	var format string
	cmd := &cobra.Command{
		Use:   "tail",
		Short: "Print the last lines of the audit",
		Long:  "Print the last lines of the audit by their times: as a table, as JSON lines as they stand in the files, or as YAML.",
		Args:  cobra.NoArgs,
	}
	cmd.Flags().IntVarP(&lines, "lines", "n", 20, "`number` of lines")
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on with what is written, until interrupted")
	cmd.Flags().StringVar(&format, "format", "table", "table, json or yaml")
	auditFlags(cmd, &from)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		switch {
		case !slices.Contains(tailFormats, format):
			return fmt.Errorf("--format %s is not known; it is one of %s", problem.Quote(format), strings.Join(tailFormats, ", "))
		case lines < 0:
			return errors.New("--lines must not be below zero")
		}
		dir, _, err := auditOf(&from)
		if err != nil {
			return err
		}
		p := tailPrinter{out: cmd.OutOrStdout(), format: format}
		return auditFailure(registry.Tail(cmd.Context(), dir, lines, follow, p.print), dir)
	}
	return cmd
}

// A tailPrinter prints lines of an audit.
type tailPrinter struct {
	out    io.Writer
	format string
	headed bool
}

func (p *tailPrinter) print(l registry.Line) error {
	switch p.format {
	case "json":
		_, err := p.out.Write(l.Raw)
		return err
	case "yaml":
		return p.yaml(l)
	}
	if !p.headed {
		p.headed = true
		if err := p.row("TIME", "SEQ", "EVENT", "PRINCIPAL", "TOOL", "RESOURCE", "CODE", "ROWS", "ID AND MORE"); err != nil {
			return err
		}
	}
	e := &l.Entry
	id := e.Operation
	if id == "" {
		id = e.Request
	}
	more := strings.Join(slices.DeleteFunc([]string{cell(id), cell(e.Reason), cell(e.Detail)}, func(s string) bool { return s == "" }), " ")
	return p.row(e.Time.Format("2006-01-02T15:04:05.000Z"), strconv.FormatUint(e.Seq, 10), cell(e.Event), cell(e.Principal), cell(e.Tool),
		cell(e.Resource), cell(e.Code), strconv.Itoa(e.Rows), more)
}

// row has fixed widths: with --follow the next line is not known.
func (p *tailPrinter) row(cells ...any) error {
	line := fmt.Sprintf("%-24s  %7s  %-10s  %-12s  %-14s  %-14s  %-18s  %5s  %s", cells...)
	_, err := fmt.Fprintln(p.out, strings.TrimRight(line, " "))
	return err
}

// cell shows a text of a caller so that it cannot move the cursor of a terminal.
func cell(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return problem.Quote(s)
	}
	return s
}

// yaml prints a line as an entry of a list, in the order of its members.
func (p *tailPrinter) yaml(l registry.Line) error {
	var doc yaml.Node
	if err := yaml.Unmarshal(l.Raw, &doc); err != nil { // JSON is YAML
		return err
	}
	blockStyle(&doc)
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(&yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Content: doc.Content}); err != nil {
		return err
	}
	if err := enc.Close(); err != nil {
		return err
	}
	_, err := b.WriteTo(p.out)
	return err
}

// blockStyle takes the braces and needless quotes of JSON away.
func blockStyle(n *yaml.Node) {
	n.Style = 0
	for _, c := range n.Content {
		blockStyle(c)
	}
}

func auditVerifyCommand() *cobra.Command {
	var from source
	var links bool
	var format string
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Check that the audit is as it was written",
		Long: "Check that every line of the audit is the one that was written, that none is missing between others, and that the\n" +
			"signatures are the server's. The first break of each chain is printed with its file and line, and the exit code is 1.\n" +
			"Note the number and the hash of the last line elsewhere: they show later that no line was cut off.",
		Args: cobra.NoArgs,
	}
	cmd.Flags().BoolVar(&links, "links-only", false, "leave the signatures out, where the secret is not at hand")
	cmd.Flags().StringVar(&format, "format", "table", "table, json or yaml")
	auditFlags(cmd, &from)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := oneOf("--format", format, tailFormats); err != nil {
			return err
		}
		dir, c, err := auditOf(&from)
		if err != nil {
			return err
		}
		var secret []byte
		if !links {
			if secret, err = c.knownSecret(); errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("no secret in the configuration and none in %s; name the server's --config or --state, or check --links-only", stateDir(c.State))
			}
			if err != nil {
				return err
			}
		}
		r, err := registry.Verify(dir, secret, c.Previous...)
		if format == "table" {
			printReport(cmd.OutOrStdout(), cmd.ErrOrStderr(), r, links)
		} else if err := printControl(cmd.OutOrStdout(), format, reportOf(r, links)); err != nil {
			return failure{err}
		}
		var broken *registry.Finding
		if errors.As(err, &broken) {
			return errTold
		}
		return auditFailure(err, dir)
	}
	return cmd
}

// A chainReport is what the check of a chain found, as it is printed for programs.
type chainReport struct {
	Dir    string   `json:"dir"`
	Whole  bool     `json:"whole"`
	Break  string   `json:"break,omitempty"`
	First  uint64   `json:"first"`
	Last   uint64   `json:"last"`
	Files  int      `json:"files"`
	Signed *uint64  `json:"signed,omitempty"` // up to where; none where signatures were not checked
	Head   string   `json:"head"`
	Notes  []string `json:"notes,omitempty"`
}

func reportOf(r registry.Report, links bool) []chainReport {
	out := []chainReport{}
	for _, c := range r.Chains {
		x := chainReport{Dir: c.Dir, Whole: c.Break == nil, First: c.First, Last: c.Last, Files: c.Files, Head: c.Head}
		if c.Break != nil {
			x.Break = c.Break.Error()
		}
		if !links {
			x.Signed = &c.Signed
		}
		for _, n := range c.Notes {
			x.Notes = append(x.Notes, n.Error())
		}
		out = append(out, x)
	}
	return out
}

func printReport(out, errOut io.Writer, r registry.Report, links bool) {
	for _, c := range r.Chains {
		for _, n := range c.Notes {
			fmt.Fprintf(out, "%s  %s\n", paint(out, amber, "note"), n.Error())
		}
		if c.Break != nil {
			fmt.Fprintf(errOut, "%s  %s\n", paint(errOut, red, "FAIL"), c.Break.Error())
			continue
		}
		signed := fmt.Sprintf("signed up to %d", c.Signed)
		if links {
			signed = "signatures not checked"
		}
		fmt.Fprintf(out, "%s    %s: lines %d to %d in %s, %s, the last is %s\n", paint(out, green, "ok"), c.Dir, c.First, c.Last, counted(c.Files, "file"), signed, c.Head)
	}
}

func auditExportCommand() *cobra.Command {
	var from source
	var since, until, format string
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Print the lines of a time",
		Long: "Print the lines of a time, from --from to before --to, as JSON lines as they stand in the files, or as CSV. A time is a\n" +
			"date in UTC, or as in 2026-08-01T09:00:00+02:00.",
		Example: "  resq audit export --from 2026-08-01 --to 2026-09-01 --format csv > august.csv",
		Args:    cobra.NoArgs,
	}
	cmd.Flags().StringVar(&since, "from", "", "first `time` (default the beginning)")
	cmd.Flags().StringVar(&until, "to", "", "`time` after the last (default none)")
	cmd.Flags().StringVar(&format, "format", registry.JSONLines, strings.Join(registry.Formats(), " or "))
	auditFlags(cmd, &from)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		first, err := moment("--from", since)
		if err != nil {
			return err
		}
		last, err := moment("--to", until)
		if err != nil {
			return err
		}
		if !slices.Contains(registry.Formats(), format) {
			return fmt.Errorf("--format %s is not known; it is one of %s", problem.Quote(format), strings.Join(registry.Formats(), ", "))
		}
		dir, _, err := auditOf(&from)
		if err != nil {
			return err
		}
		b := newBar(cmd.ErrOrStderr(), "exporting the audit")
		defer b.close()
		w := io.Writer(cmd.OutOrStdout())
		if !isTerminal(w) { // on which the lines themselves show how far it is
			w = io.MultiWriter(w, b)
		} else {
			b.close()
		}
		return auditFailure(registry.Export(w, dir, first, last, format), dir)
	}
	return cmd
}

// moment reads a time of a flag; an empty one is no bound.
func moment(flag, s string) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(layout, s); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("%s %s is no time; write it like 2026-08-01 or 2026-08-01T09:00:00Z", flag, problem.Quote(s))
}
