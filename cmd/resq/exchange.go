package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v4"

	"resq/registry"
	"resq/schema/problem"
)

// registryCommand is about the registry as a whole.
func registryCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "registry", Short: "The registry of tools as a whole, and the checkpoints of writes", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	rollback := changesUndo()
	rollback.Use, rollback.Short = "rollback CHECKPOINT", "Take the change of a checkpoint back"
	cmd.AddCommand(exportCommand(), importCommand(), checkpointsCommand(), rollback)
	return cmd
}

// An exported is what the registry keeps by itself, as a file.
type exported struct {
	Tools       []*registry.Callable `json:"tools"`
	Attachments []registry.Attached  `json:"attachments"`
}

func exportCommand() *cobra.Command {
	c := controlled{}
	cmd := &cobra.Command{Use: "export", Short: "Print what was added to the registry, for resq registry import", Args: cobra.NoArgs}
	c.flags(cmd)
	cmd.Flags().Lookup("format").DefValue = "yaml"
	c.format = "yaml"
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		ctl, _, err := c.open(cmd.Context())
		if err != nil {
			return err
		}
		defer ctl.Close()
		x := exported{Tools: []*registry.Callable{}, Attachments: []registry.Attached{}}
		list, err := ctl.Callables(cmd.Context())
		if err != nil {
			return failure{err}
		}
		for _, t := range list {
			if !t.Mirrored() {
				x.Tools = append(x.Tools, t)
			}
		}
		attached, err := ctl.Attachments(cmd.Context())
		if err != nil {
			return failure{err}
		}
		for _, a := range attached {
			if !a.Declared() {
				x.Attachments = append(x.Attachments, a)
			}
		}
		if c.format == "table" {
			return fmt.Errorf("an export is yaml or json")
		}
		if err := printControl(cmd.OutOrStdout(), c.format, x); err != nil {
			return failure{err}
		}
		return nil
	}
	return cmd
}

func importCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "import FILE", Short: "Add what resq registry export printed", Args: cobra.ExactArgs(1),
		Long: "Add the tools, validations and attachments of an export to the registry. What is there already is told and left alone.",
	}
	return controlCommand(cmd, func(ctx context.Context, ctl *registry.Control, _ *config, args []string) (any, error) {
		raw, err := os.ReadFile(args[0])
		if err != nil {
			return nil, err
		}
		var plain any
		if err := yaml.Unmarshal(raw, &plain); err != nil { // JSON is YAML
			return nil, fmt.Errorf("%s is no export: %w", args[0], err)
		}
		if raw, err = json.Marshal(plain); err != nil {
			return nil, fmt.Errorf("%s is no export: %w", args[0], err)
		}
		var x exported
		d := json.NewDecoder(strings.NewReader(string(raw)))
		d.DisallowUnknownFields()
		if err := d.Decode(&x); err != nil {
			return nil, fmt.Errorf("%s is no export: %w", args[0], err)
		}
		var done imported
		keep := func(name string, err error) error {
			var p *problem.Problem
			switch {
			case err == nil:
				done = append(done, importedOne{name, "added"})
			case errors.As(err, &p) && p.Code == problem.Conflict:
				done = append(done, importedOne{name, "there already"})
			default:
				return err
			}
			return nil
		}
		for _, t := range x.Tools {
			_, err := ctl.AddCallable(ctx, *t)
			if err := keep(t.Name, err); err != nil {
				return done, err
			}
		}
		for _, a := range x.Attachments {
			_, err := ctl.Attach(ctx, a.Resource, a.Validation, a.Mode, a.Args)
			if err := keep(a.Validation+" on "+a.Resource, err); err != nil {
				return done, err
			}
		}
		return done, nil
	})
}

type importedOne struct {
	Name   string `json:"name"`
	Result string `json:"result"`
}

type imported []importedOne

func (i imported) table(w io.Writer) {
	fmt.Fprintln(w, "NAME\tRESULT")
	for _, x := range i {
		fmt.Fprintf(w, "%s\t%s\n", x.Name, x.Result)
	}
}

// checkpointsCommand lists the changes that can be taken back.
func checkpointsCommand() *cobra.Command {
	var from source
	var limit int
	var format string
	cmd := &cobra.Command{
		Use: "checkpoints", Short: "List the changes that can be taken back", Args: cobra.NoArgs,
		Long: "List the changes whose rows are kept as they were before, newest first. Each is a checkpoint: resq registry rollback shows what\n" +
			"taking it back would change, and does it with --yes.",
	}
	cmd.Flags().IntVarP(&limit, "number", "n", 20, "`number` of changes")
	cmd.Flags().StringVar(&format, "format", "table", "table, json or yaml")
	from.flags(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := oneOf("--format", format, controlFormats); err != nil {
			return err
		}
		o, err := from.open(cmd.Context(), slog.New(slog.DiscardHandler), cmd.ErrOrStderr())
		if err != nil {
			return err
		}
		defer o.close()
		list, err := o.engine.Operations(cmd.Context(), "applied", limit)
		if err != nil {
			return failure{err}
		}
		kept := []change{}
		for _, x := range list {
			if c := changeOf(x, false); c.Undoable {
				kept = append(kept, c)
			}
		}
		return printChanges(cmd.OutOrStdout(), format, kept)
	}
	return cmd
}
