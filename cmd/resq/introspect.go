package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"resq/schema"
	"resq/schema/introspect"
	"resq/schema/problem"
)

func introspectCommand() *cobra.Command {
	var t introspection
	cmd := &cobra.Command{
		Use:   "introspect DSN",
		Short: "Write a catalog for a database",
		Long: "Read the structure of a database and write a catalog for it: one file for the connection and one for each\n" +
			"table and view. With --update it adds files for what is new to a catalog that exists, and says what no longer\n" +
			"fits and which columns it lacks; those may have been taken out on purpose, so only --add-columns adds them.\n" +
			"DSN is sqlite:PATH, mysql://user:password@host:port/database or postgres://user:password@host:port/database;\n" +
			"the catalog gets no password, but the name of a variable to set.",
		Example: `  resq introspect sqlite:shop.db --out catalog
  resq introspect "$DATABASE_DSN" --out catalog --update`,
		Args: cobra.ExactArgs(1),
	}
	f := cmd.Flags()
	f.StringVar(&t.out, "out", "", "`directory` to write to; without it the files are printed")
	f.StringVar(&t.connection, "connection", "", "`name` of the connection in the catalog (default default)")
	f.StringSliceVar(&t.read.Schemas, "schema", nil, "database `schema` to read; may be repeated (with --update, default those of the connection)")
	f.StringSliceVar(&t.read.Include, "include", nil, "`pattern` of tables to read; may be repeated")
	f.StringSliceVar(&t.read.Exclude, "exclude", nil, "`pattern` of tables to leave out; may be repeated")
	f.BoolVar(&t.read.NoKeys, "no-guess", false, "leave tables without a key that declare none; their data are then not read")
	f.StringVar(&t.naming, "naming", "none", "how codes are made of names: none, camel, pascal or snake")
	f.BoolVar(&t.update, "update", false, "add new tables to the catalog in --out instead of starting one")
	f.BoolVar(&t.columns, "add-columns", false, "with --update, add also the columns that resources lack, instead of reporting them")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return t.run(cmd.Context(), args[0], cmd.OutOrStdout(), cmd.ErrOrStderr())
	}
	return cmd
}

// An introspection is what introspect was asked for.
type introspection struct {
	out, connection, naming string
	read                    introspect.Options
	update, columns         bool
}

func (t *introspection) run(ctx context.Context, dsn string, out, errOut io.Writer) error {
	naming, err := introspect.ParseNaming(t.naming)
	if err != nil {
		return err
	}
	if t.update && t.out == "" {
		return fmt.Errorf("--update needs --out, the directory of the catalog to update")
	}
	if t.columns && !t.update {
		return fmt.Errorf("--add-columns needs --update; a new catalog has every column")
	}
	c := &schema.Connection{Name: t.connection, Driver: driverName(dsn), DSN: dsn}
	if c.Driver == "" {
		return fmt.Errorf("the DSN must begin with sqlite:, mysql:// or postgres://")
	}
	if t.update {
		if err := t.keepSchemas(c); err != nil {
			return failure{err}
		}
	}
	b := newBar(errOut, "reading the structure")
	t.read.Progress = func(done, total int) { b.at(int64(done), int64(total), "tables") }
	s, err := snapshot(ctx, c, t.read)
	b.close()
	if err != nil {
		return failure{err}
	}
	opts := introspect.WriteOptions{Connection: t.connection, DSN: dsn, Naming: naming, AddColumns: t.columns}
	var r *introspect.Result
	if t.update {
		r, err = introspect.Update(os.DirFS(t.out), s, opts)
	} else {
		r, err = introspect.Write(s, opts)
	}
	if err != nil {
		return failure{err}
	}
	if t.out == "" {
		for _, f := range r.Files {
			if _, err := fmt.Fprintf(out, "# %s\n%s\n", f.Name, f.Data); err != nil {
				return failure{err}
			}
		}
	} else if err := r.Save(t.out, t.update); err != nil {
		return failure{err}
	}
	t.report(r, out, errOut)
	return nil
}

// keepSchemas bounds an update to what the catalog lets its connection read. Tables of other schemas would be
// written, and then refused.
func (t *introspection) keepSchemas(c *schema.Connection) (err error) {
	c.Schemas, err = introspect.SchemasOf(os.DirFS(t.out), t.connection)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no catalog in %s to update; leave --update out to start one", problem.Quote(t.out))
	}
	if err != nil || len(c.Schemas) == 0 {
		return err
	}
	for _, s := range t.read.Schemas {
		if !slices.Contains(c.Schemas, s) {
			return fmt.Errorf("the connection in the catalog does not allow the schema %s; add it to its schemas first", problem.Quote(s))
		}
	}
	if len(t.read.Schemas) == 0 {
		t.read.Schemas = c.Schemas
	}
	return nil
}

// report says what was written and what is worth knowing. What was printed stays free of it.
func (t *introspection) report(r *introspect.Result, out, errOut io.Writer) {
	for _, n := range r.Notes {
		fmt.Fprintln(errOut, "note: "+n)
	}
	for _, d := range r.Drift {
		fmt.Fprintln(errOut, "differs: "+d.String())
	}
	if t.out == "" {
		return
	}
	for _, a := range r.Added {
		fmt.Fprintln(out, "added: "+a)
	}
	fmt.Fprintf(out, "%d tables and views read, %d files written to %s\n", r.Tables, len(r.Files), t.out)
}

// driverName tells the driver by the beginning of a DSN; "" when there is none of that name.
func driverName(dsn string) string {
	scheme, rest, _ := strings.Cut(dsn, ":")
	if scheme == "postgresql" {
		scheme = "postgres"
	}
	if _, ok := dialectOf(scheme); !ok || rest == "" {
		return ""
	}
	return scheme
}
