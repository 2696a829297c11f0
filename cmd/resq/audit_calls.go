package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"resq/registry"
	"resq/schema/problem"
)

// A callList is calls as a table.
type callList []registry.KeptCall

func (l callList) table(w io.Writer) {
	fmt.Fprintln(w, "TIME\tREQUEST\tWHO\tTOOL\tOUTCOME\tCODE\tROWS\tMS")
	for _, k := range l {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%d\t%d\n", k.Time.Format("2006-01-02T15:04:05.000Z"), cell(k.Request), dash(cell(k.Principal)), cell(k.Tool), k.Outcome, dash(k.Code), k.Rows, k.Ms)
	}
}

// A callStory is all that is kept of a call, as pairs.
type callStory registry.KeptCall

func (k callStory) table(w io.Writer) {
	for _, row := range [][2]string{
		{"time", k.Time.Format("2006-01-02T15:04:05.000Z")}, {"request", k.Request}, {"who", k.Principal}, {"user", k.User}, {"key id", k.Key}, {"client", k.Client},
		{"tool", k.Tool}, {"arguments", k.Arguments}, {"outcome", k.Outcome}, {"code", k.Code}, {"rows", fmt.Sprint(k.Rows)}, {"took", fmt.Sprint(k.Ms, " ms")},
		{"stages, in µs", k.Stages}, {"rules", k.Rules}, {"bypass", k.Bypass}, {"statements", k.SQL},
	} {
		fmt.Fprintf(w, "%s\t%s\n", row[0], dash(cell(row[1])))
	}
}

// auditCallsCommand finds calls that the control database keeps, as the console does.
func auditCallsCommand() *cobra.Command {
	var f registry.CallFilter
	var since, until string
	cmd := &cobra.Command{
		Use:   "calls [REQUEST]",
		Short: "Find calls, or show one",
		Long: "Find calls that the control database keeps, the newest first, or with the id of a request show all that is kept of it:\n" +
			"its arguments, masked, the rules that decided, the fingerprints of its statements, and what each of its stages took.",
		Example: "  resq audit calls --tool res-query --outcome error --from 2026-08-01 --format json",
		Args:    cobra.MaximumNArgs(1),
	}
	cmd.Flags().StringVar(&f.Who, "who", "", "of the principal, the user or the key of this `name`")
	cmd.Flags().StringVar(&f.Tool, "tool", "", "of the tool of this `name`")
	cmd.Flags().StringVar(&f.Resource, "resource", "", "whose arguments name this `resource`")
	cmd.Flags().StringVar(&f.Outcome, "outcome", "", "ok, error, denied or rate_limited")
	cmd.Flags().StringVar(&since, "from", "", "first `time` (default the beginning)")
	cmd.Flags().StringVar(&until, "to", "", "`time` after the last (default none)")
	cmd.Flags().IntVarP(&f.Limit, "number", "n", 20, "`number` of calls")
	return controlCommand(cmd, func(ctx context.Context, ctl *registry.Control, _ *config, args []string) (any, error) {
		var err error
		if f.Outcome != "" {
			if err := oneOf("--outcome", f.Outcome, []string{"ok", "error", "denied", "rate_limited"}); err != nil {
				return nil, err
			}
		}
		if f.From, err = moment("--from", since); err != nil {
			return nil, err
		}
		if f.To, err = moment("--to", until); err != nil {
			return nil, err
		}
		f.Limit = max(1, f.Limit)
		if len(args) > 0 {
			f.Request, f.Limit = args[0], 1
		}
		list, err := ctl.FindCalls(ctx, f)
		switch {
		case err != nil:
			return nil, err
		case len(args) == 0:
			return callList(list), nil
		case len(list) == 0:
			return nil, &problem.Problem{Code: problem.NotFound, Message: "no call " + problem.Quote(args[0]) + " is kept", Hint: "see resq audit calls"}
		}
		return callStory(list[0]), nil
	})
}
