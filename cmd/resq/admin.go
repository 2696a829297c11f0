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

// A shownAdmin is an admin with what was made for it and is shown this once.
type shownAdmin struct {
	*registry.Admin
	Password string `json:"password,omitempty"`
	Secret   string `json:"totp_secret,omitempty"`  // of its one-time passwords
	Address  string `json:"totp_address,omitempty"` // by which authenticators take it
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
	var off bool
	totp := &cobra.Command{
		Use: "totp NAME", Short: "Ask a login for one-time passwords, too", Args: cobra.ExactArgs(1),
		Long: "Make a secret of one-time passwords (RFC 6238: SHA-1, six digits, thirty seconds) for a login, print it once, and end its\n" +
			"sessions: from now on a login takes the password and a code of an authenticator. With --off it takes the password alone.",
	}
	totp.Flags().BoolVar(&off, "off", false, "ask for the password alone")
	create.Flags().BoolVar(&created, "stdin", false, "read the password from standard input")
	password.Flags().BoolVar(&changed, "stdin", false, "read the password from standard input")
	cmd.AddCommand(
		controlCommand(create, func(ctx context.Context, ctl *registry.Control, _ *config, args []string) (any, error) {
			word, shown, err := passwordFrom(create, created)
			if err != nil {
				return nil, err
			}
			a, err := ctl.CreateAdmin(ctx, args[0], role, word)
			return shownAdmin{Admin: a, Password: shown}, err
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
			return shownAdmin{Admin: a, Password: shown}, err
		}),
		controlCommand(totp, func(ctx context.Context, ctl *registry.Control, _ *config, args []string) (any, error) {
			a, secret, err := ctl.SetTOTP(ctx, args[0], !off)
			x := shownAdmin{Admin: a, Secret: secret}
			if secret != "" {
				x.Address = registry.TOTPAddress(args[0], secret)
			}
			return x, err
		}),
	)
	return cmd
}

func adminStatus(name, short string, enabled bool) *cobra.Command {
	return controlCommand(&cobra.Command{Use: name + " NAME", Short: short, Args: cobra.ExactArgs(1)}, func(ctx context.Context, ctl *registry.Control, _ *config, args []string) (any, error) {
		a, err := ctl.EnableAdmin(ctx, args[0], enabled)
		return shownAdmin{Admin: a}, err
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
