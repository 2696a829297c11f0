package main

import (
	"fmt"
	"log/slog"
	"maps"
	"slices"

	"github.com/spf13/cobra"
)

func migrateCommand() *cobra.Command {
	var from source
	var show bool
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Make the table that writes need",
		Long: "Make the table resq_operation on every connection with mode: write. It keeps previews, what was confirmed, and\n" +
			"what rows were before; without it nothing is written. Where it is there already, nothing is changed.\n" +
			"With --print the statements are printed for whoever runs them by hand.",
		Args: cobra.NoArgs,
	}
	cmd.Flags().BoolVar(&show, "print", false, "print the statements instead of running them")
	from.flags(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
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
		for _, name := range slices.Sorted(maps.Keys(texts)) {
			if show {
				fmt.Fprintf(w, "-- %s\n", name)
				for _, text := range texts[name] {
					fmt.Fprintf(w, "%s;\n", text)
				}
				continue
			}
			if err := o.engine.Migrate(cmd.Context(), name); err != nil {
				return failure{err}
			}
			fmt.Fprintf(w, "%s: resq_operation is there\n", name)
		}
		return nil
	}
	return cmd
}
