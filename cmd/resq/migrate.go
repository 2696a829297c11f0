package main

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"resq/registry"
	"resq/schema/problem"
)

func migrateCommand() *cobra.Command {
	var from source
	var show, control, all bool
	var format string
	cmd := &cobra.Command{
		Use:   "migrate [up|down|status]",
		Short: "Make the tables that writes and keys need",
		Long: "Make the table resq_operation on every connection with mode: write. It keeps previews, what was confirmed, and\n" +
			"what rows were before; without it nothing is written. Where it is there already, nothing is changed.\n" +
			"With --print the statements are printed for whoever runs them by hand.\n\n" +
			"With --control it is about the control database, of keys, scopes and the audit: up makes what is not made yet, which\n" +
			"resq serve does as well, down takes the last step back with all that is in its table (--all: every step), and\n" +
			"status says which steps were made.",
		Example: "  resq migrate --config resq.yaml\n  resq migrate --config resq.yaml --control status",
		Args:    cobra.MaximumNArgs(1),
	}
	cmd.Flags().BoolVar(&control, "control", false, "migrate the control database")
	cmd.Flags().BoolVar(&all, "all", false, "with --control down: take every step back")
	cmd.Flags().StringVar(&format, "format", "table", "of --control: table, json or yaml")
	cmd.Flags().BoolVar(&show, "print", false, "print the statements instead of running them")
	from.flags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if control {
			return migrateControl(cmd, &from, format, all, args)
		}
		if len(args) > 0 {
			return fmt.Errorf("%s is for the control database: resq migrate --control %s", problem.Quote(args[0]), args[0])
		}
		o, err := from.open(cmd.Context(), slog.New(slog.DiscardHandler), cmd.ErrOrStderr())
		if err != nil {
			return err
		}
		defer o.close()
		w := cmd.OutOrStdout()
		texts := o.engine.Migrations()
		if len(texts) == 0 {
			_, err := fmt.Fprintln(w, "no connection has mode: write, so there is nothing to make")
			return err
		}
		for i, name := range slices.Sorted(maps.Keys(texts)) {
			if show {
				fmt.Fprintf(w, "-- %s\n", name)
				for _, text := range texts[name] {
					fmt.Fprintf(w, "%s;\n", text)
				}
				continue
			}
			b := newBar(cmd.ErrOrStderr(), "migrating "+name)
			b.at(int64(i), int64(len(texts)), "connections")
			err := o.engine.Migrate(cmd.Context(), name)
			b.close()
			if err != nil {
				return failure{err}
			}
			fmt.Fprintf(w, "%s: resq_operation is there\n", name)
		}
		return nil
	}
	return cmd
}

// migrateControl brings the tables of the control database up to date, or takes them back.
func migrateControl(cmd *cobra.Command, from *source, format string, all bool, args []string) error {
	what := "up"
	if len(args) > 0 {
		what = args[0]
	}
	if err := oneOf("--control", what, []string{"up", "down", "status"}); err != nil {
		return err
	}
	if err := oneOf("--format", format, controlFormats); err != nil {
		return err
	}
	if all && what != "down" {
		return fmt.Errorf("--all is for --control down")
	}
	conf, err := from.settings()
	if err != nil {
		return err
	}
	secret, err := conf.secret()
	if err != nil {
		return failure{err}
	}
	ctl, err := bareControl(cmd.Context(), conf, slog.New(slog.DiscardHandler), secret)
	if err != nil {
		return err
	}
	defer ctl.Close()
	b := newBar(cmd.ErrOrStderr(), "migrating the control database")
	list, err := map[string]func(context.Context) ([]registry.Migration, error){
		"up": ctl.Up, "down": func(ctx context.Context) ([]registry.Migration, error) { return ctl.Down(ctx, all) }, "status": ctl.Status,
	}[what](cmd.Context())
	b.close()
	if err != nil {
		return failure{err}
	}
	if len(list) == 0 && format != "json" {
		_, err := fmt.Fprintln(cmd.OutOrStdout(), "there is nothing to do")
		return err
	}
	if list == nil {
		list = []registry.Migration{}
	}
	return printControl(cmd.OutOrStdout(), format, list)
}
