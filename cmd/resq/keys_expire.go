package main

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"resq/registry"
)

// keysExpire moves the end of a key.
func keysExpire() *cobra.Command {
	var end string
	var never bool
	cmd := &cobra.Command{
		Use: "expire ID", Short: "Give a key another end", Args: cobra.ExactArgs(1),
		Example: "  resq keys expire 7 --at 90d\n  resq keys expire 7 --never",
	}
	cmd.Flags().StringVar(&end, "at", "", "when it ends: a `time` such as 90d or 12h from now, or a date such as 2027-01-31")
	cmd.Flags().BoolVar(&never, "never", false, "it does not end by itself")
	return controlCommand(cmd, func(ctx context.Context, ctl *registry.Control, _ *config, args []string) (any, error) {
		id, err := keyID(args[0])
		if err != nil {
			return nil, err
		}
		if (end == "") == !never {
			return nil, errors.New("say when the key ends with --at, or --never")
		}
		t, err := until(end, time.Now())
		if err != nil {
			return nil, err
		}
		return ctl.ExpireKey(ctx, id, t)
	})
}
