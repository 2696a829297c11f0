package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/spf13/cobra"

	"resq/engine/policy"
	"resq/schema/problem"
	"resq/server"
)

func callCommand() *cobra.Command {
	var from source
	var explain bool
	cmd := &cobra.Command{
		Use:   "call TOOL [JSON | -]",
		Short: "Call one tool here and print its answer",
		Long: "Call one tool with the arguments given as JSON, or read from standard input with -, and print its answer.\n" +
			"With --explain it prints the SQL that the call would run, and runs nothing.",
		Example: `  resq call res-schema '{"keywords":"order"}'
  resq call res-query '{"resource":"Order","fields":[]}' --explain`,
		Args: cobra.RangeArgs(1, 2),
	}
	cmd.Flags().BoolVar(&explain, "explain", false, "print the SQL instead of running it")
	from.flags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return call(cmd, &from, args, explain) }
	return cmd
}

func call(cmd *cobra.Command, from *source, args []string, explain bool) error {
	raw := []byte("{}")
	if len(args) == 2 {
		raw = []byte(args[1])
		if args[1] == "-" {
			var err error
			if raw, err = io.ReadAll(cmd.InOrStdin()); err != nil {
				return failure{err}
			}
		}
	}
	log := slog.New(slog.DiscardHandler) // the answer says what there is to say
	o, err := from.open(cmd.Context(), log, cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	defer o.close()
	if o.local == nil {
		return errNoLocal
	}
	if explain {
		return printSQL(cmd.Context(), cmd.OutOrStdout(), o, o.local, args[0], raw)
	}
	s, err := server.New(o.backend(), server.Options{Version: version, Lang: o.lang, Local: o.local, Log: log})
	if err != nil {
		return err
	}
	reply, ok := s.Call(cmd.Context(), o.local, args[0], raw)
	if !ok {
		return fmt.Errorf("no tool %s; %s", problem.Quote(args[0]), problem.OneOf(args[0], server.Tools()))
	}
	w := cmd.OutOrStdout()
	if reply.Failed {
		w = cmd.ErrOrStderr()
	}
	for _, text := range reply.Texts {
		if _, err := fmt.Fprintln(w, text); err != nil {
			return failure{err}
		}
	}
	if reply.Failed {
		return errTold
	}
	return nil
}

// printSQL shows what a res-query compiles to.
func printSQL(ctx context.Context, w io.Writer, o *opened, who *policy.Principal, tool string, raw []byte) error {
	if tool != "res-query" && tool != "res_query" {
		return errors.New("--explain shows the SQL of res-query; other tools have none of their own")
	}
	x, err := o.engine.Explain(ctx, who, raw)
	if err != nil {
		return failure{problem.From(err)}
	}
	for i, st := range x.Statements {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "-- %s\n%s\n", st.Connection, st.SQL)
		for n, arg := range st.Args {
			fmt.Fprintf(w, "-- %d: %#v\n", n+1, arg)
		}
	}
	return nil
}
