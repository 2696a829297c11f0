package main

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"resq/registry"
	"resq/schema/problem"
)

func scopesCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "scopes",
		Short: "Say which tools the keys of a scope may call",
		Long: "A scope is a set of tools: the generic ones such as res-query, or those of a catalog. A key may call the tools of\n" +
			"all its scopes. Servers that share the control database notice a change within five seconds.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	var name string
	var tools []string
	create := &cobra.Command{Use: "create CODE", Short: "Make a scope", Args: cobra.ExactArgs(1)}
	create.Flags().StringVar(&name, "name", "", "what people call it")
	create.Flags().StringArrayVar(&tools, "tool", nil, "`name` of a tool in it; may be repeated")
	var later bool
	add := &cobra.Command{Use: "add-tool CODE TOOL…", Short: "Put tools into a scope", Args: cobra.MinimumNArgs(2)}
	for _, c := range []*cobra.Command{create, add} {
		c.Flags().BoolVar(&later, "later", false, "take tools that no server has loaded yet")
	}
	check := func(ctx context.Context, ctl *registry.Control, tools []string) error {
		if later {
			return nil
		}
		err := ctl.CheckTools(ctx, tools)
		var p *problem.Problem
		if errors.As(err, &p) && p.Code == problem.InvalidArgument {
			p.Hint = strings.TrimPrefix(p.Hint+"; --later takes tools that come later", "; ")
		}
		return err
	}
	cmd.AddCommand(
		controlCommand(create, func(ctx context.Context, ctl *registry.Control, _ *config, args []string) (any, error) {
			if err := check(ctx, ctl, tools); err != nil {
				return nil, err
			}
			return ctl.CreateScope(ctx, args[0], name, tools...)
		}),
		controlCommand(&cobra.Command{Use: "list", Short: "List scopes", Args: cobra.NoArgs}, func(ctx context.Context, ctl *registry.Control, _ *config, _ []string) (any, error) {
			return ctl.Scopes(ctx)
		}),
		controlCommand(&cobra.Command{Use: "show CODE", Short: "Show a scope", Args: cobra.ExactArgs(1)}, func(ctx context.Context, ctl *registry.Control, _ *config, args []string) (any, error) {
			return ctl.Scope(ctx, args[0])
		}),
		controlCommand(add, func(ctx context.Context, ctl *registry.Control, _ *config, args []string) (any, error) {
			if err := check(ctx, ctl, args[1:]); err != nil {
				return nil, err
			}
			return ctl.AddTools(ctx, args[0], args[1:]...)
		}),
		controlCommand(&cobra.Command{Use: "remove-tool CODE TOOL…", Short: "Take tools out of a scope", Args: cobra.MinimumNArgs(2)}, func(ctx context.Context, ctl *registry.Control, _ *config, args []string) (any, error) {
			return ctl.RemoveTools(ctx, args[0], args[1:]...)
		}),
		controlCommand(&cobra.Command{Use: "enable CODE", Short: "Let a disabled scope open its tools again", Args: cobra.ExactArgs(1)}, func(ctx context.Context, ctl *registry.Control, _ *config, args []string) (any, error) {
			return ctl.EnableScope(ctx, args[0], true)
		}),
		controlCommand(&cobra.Command{Use: "disable CODE", Short: "Let a scope open nothing until it is enabled", Args: cobra.ExactArgs(1)}, func(ctx context.Context, ctl *registry.Control, _ *config, args []string) (any, error) {
			return ctl.EnableScope(ctx, args[0], false)
		}),
		scopesBinding("bind ID CODE…", "Give a key scopes", (*registry.Control).BindKey),
		scopesBinding("unbind ID CODE…", "Take scopes from a key", (*registry.Control).UnbindKey),
	)
	return cmd
}

func scopesBinding(use, short string, do func(*registry.Control, context.Context, int64, ...string) (*registry.Key, error)) *cobra.Command {
	return controlCommand(&cobra.Command{Use: use, Short: short, Args: cobra.MinimumNArgs(2)}, func(ctx context.Context, ctl *registry.Control, _ *config, args []string) (any, error) {
		id, err := keyID(args[0])
		if err != nil {
			return nil, err
		}
		return do(ctl, ctx, id, args[1:]...)
	})
}
