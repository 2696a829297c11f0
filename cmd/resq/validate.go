package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"resq/engine"
	"resq/schema"
	"resq/schema/introspect"
	"resq/schema/problem"
)

// connectTime is how long a database may take to show its structure.
const connectTime = 60 * time.Second

func validateCommand() *cobra.Command {
	var connect bool
	cmd := &cobra.Command{
		Use:   "validate PATH…",
		Short: "Check catalog files",
		Long: "Check catalog files and print every problem with its file, line and column. No database is opened and no\n" +
			"variable read, unless --connect asks to compare the catalog with the databases it names.",
		Args: cobra.MinimumNArgs(1),
	}
	cmd.Flags().BoolVar(&connect, "connect", false, "also compare with the databases")
	cmd.RunE = func(cmd *cobra.Command, paths []string) error {
		return validate(cmd, paths, connect)
	}
	return cmd
}

func validate(cmd *cobra.Command, paths []string, connect bool) error {
	out, errOut := cmd.OutOrStdout(), cmd.ErrOrStderr()
	files, bad := 0, 0
	b := newBar(errOut, "checking the files")
	reports, cat := schema.Validate(paths, schema.LoadOptions{Offline: !connect})
	if cat != nil {
		addRuleProblems(reports, cat)
	}
	b.close()
	for _, r := range reports {
		if r.File != "" {
			files++
		}
		if len(r.Problems) == 0 {
			fmt.Fprintf(out, "%s    %s\n", paint(out, green, "ok"), r.File)
			continue
		}
		bad++
		for _, p := range r.Problems {
			fmt.Fprintf(errOut, "%s  %s\n", paint(errOut, red, "FAIL"), p.Error())
		}
	}
	if bad > 0 {
		fmt.Fprintf(errOut, "%s checked, %d failed.\n", counted(files, "file"), bad)
		return errTold
	}
	fmt.Fprintf(out, "%s checked, all passed.\n", counted(files, "file"))
	if !connect {
		return nil
	}
	return compareAll(cmd.Context(), paths, out, errOut)
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// addRuleProblems adds what only binding the row rules and sets shows, to the files it stands in.
func addRuleProblems(reports []schema.FileReport, cat *schema.Catalog) {
	for _, p := range problem.From(engine.Check(cat)) {
		for i := range reports {
			if strings.HasPrefix(p.At, reports[i].File+":") {
				reports[i].Problems = append(reports[i].Problems, p)
			}
		}
	}
}

// compareAll says where the catalog and its databases differ.
func compareAll(ctx context.Context, paths []string, out, errOut io.Writer) error {
	cat, err := schema.Load(paths, schema.LoadOptions{})
	if err != nil {
		return failure{err}
	}
	bad := 0
	for i, c := range cat.Connections {
		b := newBar(errOut, "comparing connection "+c.Name)
		b.at(int64(i), int64(len(cat.Connections)), "connections")
		sound, err := compare(ctx, cat, c, b, out, errOut)
		b.close()
		if err != nil {
			fmt.Fprintf(errOut, "%s  %s:%d: connection %s: %s\n", paint(errOut, red, "FAIL"), c.At.File, c.At.Line, problem.Quote(c.Name), oneLine(err))
		}
		if !sound {
			bad++
			continue
		}
		fmt.Fprintf(out, "%s    connection %s\n", paint(out, green, "ok"), problem.Quote(c.Name))
	}
	if bad > 0 {
		fmt.Fprintf(errOut, "%d connections compared, %d failed.\n", len(cat.Connections), bad)
		return errTold
	}
	fmt.Fprintf(out, "%d connections compared, all passed.\n", len(cat.Connections))
	return nil
}

// compare says where the catalog and one of its databases differ, and whether requests can be answered all
// the same. It fails when the database cannot be read.
func compare(ctx context.Context, cat *schema.Catalog, c *schema.Connection, b *bar, out, errOut io.Writer) (sound bool, err error) {
	s, err := snapshot(ctx, c, introspect.Scope(cat, c))
	b.close() // before anything is printed
	if err != nil {
		return false, err
	}
	sound = true
	for _, d := range introspect.Compare(cat, c, s) {
		if d.Warning {
			fmt.Fprintf(out, "note  %s\n", d)
			continue
		}
		fmt.Fprintf(errOut, "FAIL  %s\n", d)
		sound = false
	}
	return sound, nil
}

// oneLine writes an error without the line breaks that some drivers put into theirs.
func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

// snapshot reads the structure of the database behind a connection.
func snapshot(ctx context.Context, c *schema.Connection, opts introspect.Options) (*introspect.Snapshot, error) {
	d, ok := dialectOf(c.Driver)
	if !ok {
		return nil, fmt.Errorf("no driver %s", problem.Quote(c.Driver))
	}
	db, err := d.Inspect(c)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	ctx, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	return introspect.Read(ctx, db, c.Driver, opts)
}
