package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"resq/registry"
	"resq/schema/problem"
)

// A shownAdmin is an admin with the password that was made for it, if one was.
type shownAdmin struct {
	*registry.Admin
	Password string `json:"password,omitempty"`
}

func adminCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "admin",
		Short: "Make and disable the logins of the console",
		Long: "Admins log in to the console (resq serve --console), where they decide about changes and look after keys. A viewer\n" +
			"reads, an approver decides about changes too, an admin issues keys as well. docs/console.md tells the rest.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	role := registry.RoleAdmin
	var created, changed bool
	create := &cobra.Command{
		Use: "create NAME", Short: "Make a login", Args: cobra.ExactArgs(1),
		Long: "Make a login and print its password, which is kept nowhere. With --stdin the password is the first line of standard input.",
	}
	create.Flags().StringVar(&role, "role", registry.RoleAdmin, strings.Join(registry.Roles(), ", "))
	password := &cobra.Command{
		Use: "password NAME", Short: "Give a login another password, and end its sessions", Args: cobra.ExactArgs(1),
		Long: "Give a login another password, print it, and end its sessions. With --stdin it is the first line of standard input.",
	}
	create.Flags().BoolVar(&created, "stdin", false, "read the password from standard input")
	password.Flags().BoolVar(&changed, "stdin", false, "read the password from standard input")
	cmd.AddCommand(
		controlCommand(create, func(ctx context.Context, ctl *registry.Control, _ *config, args []string) (any, error) {
			word, shown, err := passwordFrom(create, created)
			if err != nil {
				return nil, err
			}
			a, err := ctl.CreateAdmin(ctx, args[0], role, word)
			return shownAdmin{a, shown}, err
		}),
		controlCommand(&cobra.Command{Use: "list", Short: "List logins", Args: cobra.NoArgs}, func(ctx context.Context, ctl *registry.Control, _ *config, _ []string) (any, error) {
			return ctl.Admins(ctx)
		}),
		adminStatus("disable", "Let a login in no more, and end its sessions", false),
		adminStatus("enable", "Let a disabled login in again", true),
		controlCommand(password, func(ctx context.Context, ctl *registry.Control, _ *config, args []string) (any, error) {
			word, shown, err := passwordFrom(password, changed)
			if err != nil {
				return nil, err
			}
			a, err := ctl.SetPassword(ctx, args[0], word)
			return shownAdmin{a, shown}, err
		}),
	)
	return cmd
}

func adminStatus(name, short string, enabled bool) *cobra.Command {
	return controlCommand(&cobra.Command{Use: name + " NAME", Short: short, Args: cobra.ExactArgs(1)}, func(ctx context.Context, ctl *registry.Control, _ *config, args []string) (any, error) {
		a, err := ctl.EnableAdmin(ctx, args[0], enabled)
		return shownAdmin{a, ""}, err
	})
}

// passwordFrom reads a password, or makes one that is shown.
func passwordFrom(cmd *cobra.Command, read bool) (word, shown string, err error) {
	if !read {
		word = rand.Text()
		return word, word, nil
	}
	line, err := bufio.NewReader(io.LimitReader(cmd.InOrStdin(), 4<<10)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", "", failure{err}
	}
	if word = strings.TrimRight(line, "\r\n"); word == "" {
		return "", "", &problem.Problem{Code: problem.InvalidArgument, Message: "standard input has no password in its first line"}
	}
	return word, "", nil
}
