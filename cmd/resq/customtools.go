package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"resq/engine"
	"resq/schema"
	"resq/schema/problem"
)

// A custom says which files of tools are loaded beside the catalogs, as variables of the
// environment have it (docs/sql-tools.md).
type custom struct {
	paths   []string
	watch   bool
	schemas []string
	limits  engine.SQLLimits
	// instructions admits descriptions that read like orders to the model.
	instructions bool
}

// readCustom reads the variables.
func readCustom(env func(string) (string, bool)) (c custom, err error) {
	list := func(name string) []string {
		text, _ := env(name)
		var out []string
		for _, s := range strings.Split(text, ",") {
			if s = strings.TrimSpace(s); s != "" {
				out = append(out, s)
			}
		}
		return out
	}
	number := func(name string, into *int64) {
		text, _ := env(name)
		if text == "" || err != nil {
			return
		}
		n, bad := strconv.ParseInt(text, 10, 32)
		if bad != nil || n < 1 {
			err = fmt.Errorf("%s is a whole number above 0, not %s", name, problem.Quote(text))
			return
		}
		*into = n
	}
	flag := func(name string) bool {
		switch text, _ := env(name); strings.ToLower(text) {
		case "", "0", "false":
			return false
		case "1", "true":
			return true
		default:
			if err == nil {
				err = fmt.Errorf("%s is true or false, not %s", name, problem.Quote(text))
			}
			return false
		}
	}
	c.paths, c.schemas = list("MCP_CUSTOM_TOOLS"), list("QUERY_ALLOWED_SCHEMAS")
	number("QUERY_DEFAULT_LIMIT", &c.limits.Default)
	number("QUERY_MAX_LIMIT", &c.limits.Max)
	flag("QUERY_PARSE_CHECK") // every statement is prepared before it runs, whatever this says
	if c.watch = flag("MCP_CUSTOM_TOOLS_WATCH"); c.watch && len(c.paths) == 0 && err == nil {
		err = fmt.Errorf("MCP_CUSTOM_TOOLS_WATCH has nothing to watch: MCP_CUSTOM_TOOLS names no file")
	}
	return c, err
}

// load adds what a load of the catalog needs.
func (c *custom) load(opts *schema.LoadOptions) {
	opts.Schemas, opts.Instructions = c.schemas, c.instructions
}

// watched are the paths that are watched for changes, of all that are loaded.
func (c *config) watched() []string {
	if c.Custom.watch {
		return slices.Concat(c.Catalog, c.Custom.paths)
	}
	return c.Catalog
}

func validateToolsCommand() *cobra.Command {
	var connect, instructions bool
	var catalogs []string
	cmd := &cobra.Command{
		Use:   "validate-tools PATH…",
		Short: "Check files of tools",
		Long: "Check files of tools as a start with MCP_CUSTOM_TOOLS does: their form, each statement of a SQL tool, and names that stand in\n" +
			"several files. QUERY_ALLOWED_SCHEMAS holds as it does there. No database is opened, unless --connect asks to prepare every statement there,\n" +
			"on the connections of --catalog, and to look for the columns of filters and masks.",
		Args: cobra.MinimumNArgs(1),
	}
	cmd.Flags().BoolVar(&connect, "connect", false, "also prepare every statement on its database, and look for the columns of filters and masks")
	cmd.Flags().BoolVar(&instructions, "allow-instructions", false, "admit descriptions that read like orders to the model")
	cmd.Flags().StringArrayVar(&catalogs, "catalog", nil, "catalog `file or directory` with the connections and resources; may be repeated")
	cmd.RunE = func(cmd *cobra.Command, paths []string) error {
		return validateTools(cmd, paths, catalogs, connect, instructions)
	}
	return cmd
}

func validateTools(cmd *cobra.Command, paths, catalogs []string, connect, instructions bool) error {
	out, errOut := cmd.OutOrStdout(), cmd.ErrOrStderr()
	c, err := readCustom(os.LookupEnv)
	if err != nil {
		return err
	}
	opts := schema.LoadOptions{Offline: !connect}
	c.load(&opts)
	opts.Instructions = instructions
	reports, cat := schema.Validate(slices.Concat(catalogs, paths), opts)
	if cat != nil && connect {
		if err := prepareTools(cmd, cat, reports); err != nil {
			return failure{err}
		}
	}
	files, bad := 0, 0
	for _, r := range reports {
		if r.File != "" && !within(r.File, paths) && len(r.Problems) == 0 {
			continue // of --catalog
		}
		files++
		if len(r.Problems) == 0 {
			fmt.Fprintf(out, "ok  %s (%s, %s)\n", r.File, counted(r.Tools, "tool"), counted(r.Annotations, "annotation"))
			continue
		}
		bad++
		for _, p := range r.Problems {
			fmt.Fprintf(errOut, "FAIL %s\n", failed(r.File, p))
		}
	}
	if bad > 0 {
		fmt.Fprintf(errOut, "%s checked, %d failed.\n", counted(files, "file"), bad)
		return errTold
	}
	fmt.Fprintf(out, "%s checked, all passed.\n", counted(files, "file"))
	return nil
}

// failed is PATH: message, with the line and column behind the path where they are known.
func failed(file string, p *problem.Problem) string {
	if p.At == "" {
		return file + ": " + p.Error()
	}
	return p.Error()
}

func within(file string, paths []string) bool {
	return slices.ContainsFunc(paths, func(p string) bool {
		p = filepath.ToSlash(filepath.Clean(p))
		f := filepath.ToSlash(filepath.Clean(file))
		return f == p || strings.HasPrefix(f, strings.TrimSuffix(p, "/")+"/") || p == "."
	})
}

// prepareTools prepares every SQL tool on its database and adds what the database says to the reports.
func prepareTools(cmd *cobra.Command, cat *schema.Catalog, reports []schema.FileReport) error {
	e, err := engine.New(cat, engine.Options{Drivers: drivers()})
	if err != nil {
		return err
	}
	defer e.Close()
	var found problem.List
	for _, err := range []error{e.PrepareTools(cmd.Context()), e.CheckNotes(cmd.Context())} {
		if err != nil {
			found = append(found, problem.From(err)...)
		}
	}
	for _, p := range found {
		for i := range reports {
			if strings.HasPrefix(p.At, reports[i].File+":") {
				reports[i].Problems = append(reports[i].Problems, p)
			}
		}
	}
	return nil
}
