package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"

	"resq/engine"
	"resq/schema"
	"resq/schema/problem"
)

func toolCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "tool", Short: "Look at a business tool of the catalog, and add and remove those of the registry"}
	var from source
	var format string
	show := &cobra.Command{
		Use:   "show NAME [JSON]",
		Short: "Print what a client sees of a tool, where its parts are declared, and its SQL",
		Long: "Print what a client sees of a business tool, and the file and line of each of its parts. With arguments it is\n" +
			"called, and the SQL of its requests is printed with its answer. A name with its namespace, such as biz/order.list,\n" +
			"prints what the registry keeps of it.",
		Example: `  resq tool show order.list --pack store
  resq tool show agent.list.query '{"name":"北京"}' --pack xiaoqu --principal head`,
		Args: cobra.RangeArgs(1, 2),
	}
	from.flags(show)
	show.Flags().StringVar(&format, "format", "table", "of what the registry keeps: table, json or yaml")
	show.RunE = func(cmd *cobra.Command, args []string) error {
		if strings.Contains(args[0], "/") {
			return showRegistered(cmd, &from, format, args[0])
		}
		return showTool(cmd, &from, args)
	}
	cmd.AddCommand(show, listCommand("tool"), addCommand("tool"), removeCommand("tool"))
	return cmd
}

func showTool(cmd *cobra.Command, from *source, args []string) error {
	o, err := from.open(cmd.Context(), slog.New(slog.DiscardHandler), cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	defer o.close()
	cat := o.engine.Catalog()
	t, ok := cat.Tool(args[0])
	if !ok {
		var names []string
		for _, t := range cat.Tools {
			names = append(names, t.Name)
		}
		return fmt.Errorf("no tool %s in the catalog; %s", problem.Quote(args[0]), problem.OneOf(args[0], names))
	}
	w := cmd.OutOrStdout()
	fmt.Fprintf(w, "%s · %s\n%s\n", t.Name, t.Title.In(o.lang), t.Description.In(o.lang))
	fmt.Fprintf(w, "read only %t · idempotent %t · destructive %t\n", t.ReadOnly, t.Idempotent, t.Destructive)
	fmt.Fprint(w, "connections:")
	for _, c := range t.Connections {
		fmt.Fprint(w, " ", c.Name)
	}
	fmt.Fprintln(w)
	printSchema(w, "arguments", t.Input(o.lang))
	printSchema(w, "answer", t.Output())
	printPlaces(w, t)
	if len(args) < 2 {
		return nil
	}
	if o.local == nil {
		return errNoLocal
	}
	var statements []engine.Explained
	a, err := o.engine.CallTool(cmd.Context(), o.local, engine.Call{Tool: t.Name, Args: []byte(args[1]), Log: &statements})
	for _, st := range statements {
		fmt.Fprintf(w, "\n-- %s\n%s\n", st.Connection, st.SQL)
		for n, arg := range st.Args {
			fmt.Fprintf(w, "-- %d: %#v\n", n+1, arg)
		}
	}
	if err != nil {
		return failure{problem.From(err)}
	}
	if _, err := fmt.Fprintf(w, "\n%s\n", a.Text); err != nil {
		return failure{err}
	}
	return nil
}

func printSchema(w io.Writer, name string, raw []byte) {
	var b bytes.Buffer
	if json.Indent(&b, raw, "", "  ") == nil {
		fmt.Fprintf(w, "\n%s\n%s\n", name, b.Bytes())
	}
}

// printPlaces tells where the parts of a tool are declared.
func printPlaces(w io.Writer, t *schema.Tool) {
	fmt.Fprintf(w, "\ndeclared\n  %-28s %s\n", t.Name, t.At)
	for _, p := range t.Params {
		fmt.Fprintf(w, "  %-28s %s\n", "params."+p.Name, p.At)
	}
	if t.Preset == nil {
		return
	}
	columns := func(prefix string, list []*schema.Column) {
		for _, c := range list {
			fmt.Fprintf(w, "  %-28s %s\n", prefix+c.Name, c.At)
		}
	}
	if r := t.Preset.Read; r != nil {
		columns("columns.", r.Columns)
		if r.Source != nil {
			what := "source " + r.Source.Code
			if r.Query != nil {
				what = "query"
			}
			fmt.Fprintf(w, "  %-28s %s\n", what, r.Source.At)
			if rows := r.Source.Rows; rows != nil && rows.Rule != nil {
				fmt.Fprintf(w, "  %-28s %s\n", "rule "+rows.Rule.Name, rows.Rule.At)
			}
		}
	}
	for _, u := range t.Preset.Union {
		columns("union."+u.Name+".", u.Read.Columns)
	}
	columns("outputs.", t.Preset.Outputs)
}
