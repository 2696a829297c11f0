package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"resq/registry"
	"resq/server"
)

func toolsCommand() *cobra.Command {
	var profile, lang string
	var tokens bool
	cmd := &cobra.Command{
		Use:   "tools",
		Short: "Print the tools as a client sees them",
		Long: "Print what tools/list tells a client, as a profile shows it, or with --tokens what that costs a model.\n" +
			"A profile is one of " + strings.Join(server.Profiles(), ", ") + ";\n" +
			"or switches such as names=underscore&schema=flat; or both, as in 'openai?format=csv'.",
		Example: "  resq tools --profile gemini\n  resq tools --tokens --lang zh --profile 'schema=flat&depth=1'",
		Args:    cobra.NoArgs,
	}
	cmd.AddCommand(
		controlCommand(&cobra.Command{Use: "status", Short: "List the tools that servers have loaded, whoever may call them", Args: cobra.NoArgs},
			func(ctx context.Context, ctl *registry.Control, _ *config, _ []string) (any, error) {
				return ctl.Tools(ctx)
			}),
		controlCommand(&cobra.Command{Use: "enable NAME", Short: "Switch a tool on again", Args: cobra.ExactArgs(1)},
			func(ctx context.Context, ctl *registry.Control, _ *config, args []string) (any, error) {
				return ctl.EnableTool(ctx, args[0], true)
			}),
		controlCommand(&cobra.Command{Use: "disable NAME", Short: "Switch a tool off for every key", Args: cobra.ExactArgs(1)},
			func(ctx context.Context, ctl *registry.Control, _ *config, args []string) (any, error) {
				return ctl.EnableTool(ctx, args[0], false)
			}),
	)
	cmd.Flags().StringVar(&profile, "profile", "", "`profile` to show")
	cmd.Flags().StringVar(&lang, "lang", "", "`language` of the descriptions: "+strings.Join(server.Languages(), ", ")+" (default en)")
	cmd.Flags().BoolVar(&tokens, "tokens", false, "print the size instead: bytes, and an estimate of tokens")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		p, err := server.ParseProfile(profile)
		if err != nil {
			return err
		}
		l, err := server.List(lang, p)
		if err != nil {
			return err
		}
		if tokens {
			return printTokens(cmd.OutOrStdout(), p, l)
		}
		var b bytes.Buffer
		if err := json.Indent(&b, l.JSON(), "", "  "); err != nil {
			return failure{err}
		}
		b.WriteByte('\n')
		if _, err := b.WriteTo(cmd.OutOrStdout()); err != nil {
			return failure{err}
		}
		return nil
	}
	return cmd
}

// printTokens prints what each part of the listing costs.
func printTokens(out io.Writer, p server.Profile, l *server.Listing) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "\tbytes\ttokens\t  profile %s\n", p)
	for _, t := range l.Tools {
		fmt.Fprintf(w, "%s\t%d\t%d\t\n", t.Name, len(t.JSON), server.Tokens(string(t.JSON)))
	}
	all := l.JSON()
	fmt.Fprintf(w, "all tools\t%d\t%d\t\n", len(all), server.Tokens(string(all)))
	fmt.Fprintf(w, "instructions\t%d\t%d\t\n", len(l.Instructions), server.Tokens(l.Instructions))
	if err := w.Flush(); err != nil {
		return failure{err}
	}
	if _, err := fmt.Fprintln(out, "Tokens are an estimate for o200k_base, right within 6 %; other tokenizers differ."); err != nil {
		return failure{err}
	}
	return nil
}
