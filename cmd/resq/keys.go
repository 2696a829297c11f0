package main

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"resq/registry"
	"resq/schema/problem"
)

// A shownKey is a key with the key itself, for whoever asked for it.
type shownKey struct {
	Plain string `json:"key"`
	*registry.Key
}

func keysCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "keys",
		Short: "Make, list and revoke the keys of callers",
		Long: "Keys in the control database, beside those of the configuration. A key belongs to a user, to a principal of the\n" +
			"configuration, or to nobody, and may call what its scopes open: see resq scopes. Servers that share the database\n" +
			"notice a change within five seconds. docs/keys.md tells the rest.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(keysCreate(), keysList(), keysShow(),
		keysStatus("enable", "Open a disabled key again", (*registry.Control).EnableKey),
		keysStatus("disable", "Close a key until it is enabled", (*registry.Control).DisableKey),
		keysStatus("revoke", "Close a key for good", (*registry.Control).RevokeKey),
		keysRotate(), keysExpire(), keysCredential())
	return cmd
}

func keysCreate() *cobra.Command {
	var n registry.NewKey
	var expires string
	cmd := &cobra.Command{
		Use:     "create --name NAME",
		Short:   "Make a key and print it",
		Long:    "Make a key and print it. Without a scope it may call nothing.",
		Example: "  resq scopes create reading --tool res-schema --tool res-query\n  resq keys create --name reports --user 42 --scope reading --expires 90d",
		Args:    cobra.NoArgs,
	}
	f := cmd.Flags()
	f.StringVar(&n.Name, "name", "", "what the key is for")
	f.StringVar(&n.User, "user", "", "`id` of the user whose rows it sees")
	f.StringVar(&n.Principal, "principal", "", "`name` of the configured principal whose attributes it has")
	f.StringArrayVar(&n.Scopes, "scope", nil, "`code` of a scope; may be repeated")
	f.StringVar(&expires, "expires", "", "when it ends: a `time` such as 90d or 12h from now, or a date such as 2027-01-31")
	return controlCommand(cmd, func(ctx context.Context, ctl *registry.Control, conf *config, _ []string) (any, error) {
		var err error
		if n.Expires, err = until(expires, time.Now()); err != nil {
			return nil, err
		}
		if n.Principal != "" && conf.Principals[n.Principal] == nil {
			return nil, fmt.Errorf("no principal %s is configured", problem.Quote(n.Principal))
		}
		had, err := ctl.HasKeys(ctx)
		if err != nil {
			return nil, err
		}
		k, plain, err := ctl.CreateKey(ctx, n)
		if err != nil {
			return nil, err
		}
		if !had && !conf.asks() && conf.JWT == nil {
			fmt.Fprintln(cmd.ErrOrStderr(), "This is the first key: a server that runs already has to be started again before it asks for keys.")
		}
		return shownKey{plain, k}, nil
	})
}

// until reads when something ends: a span from now, or a date. "" is the zero time.
func until(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	d, err := span(text)
	if err == nil && d > 0 {
		return now.Add(d), nil
	}
	for _, form := range []string{time.DateOnly, time.DateTime, time.RFC3339} {
		if t, err := time.ParseInLocation(form, text, time.Local); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("%s is neither a time such as 90d or 12h, nor a date such as 2027-01-31", problem.Quote(text))
}

// span reads a duration that may be in days.
func span(text string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16)
		return time.Duration(n) * 24 * time.Hour, err
	}
	return time.ParseDuration(text)
}

func keysList() *cobra.Command {
	var f registry.KeyFilter
	cmd := &cobra.Command{Use: "list", Short: "List keys", Args: cobra.NoArgs}
	cmd.Flags().StringVar(&f.User, "user", "", "only those of the user with this `id`")
	cmd.Flags().Int64Var(&f.After, "after", 0, "only those with a greater `id`")
	cmd.Flags().IntVarP(&f.Limit, "number", "n", 100, "`number` of keys, 1000 at most")
	return controlCommand(cmd, func(ctx context.Context, ctl *registry.Control, _ *config, _ []string) (any, error) {
		return ctl.Keys(ctx, f)
	})
}

func keysShow() *cobra.Command {
	var reveal bool
	cmd := &cobra.Command{Use: "show ID", Short: "Show a key", Args: cobra.ExactArgs(1)}
	cmd.Flags().BoolVar(&reveal, "reveal", false, "show the key itself too")
	return controlCommand(cmd, func(ctx context.Context, ctl *registry.Control, _ *config, args []string) (any, error) {
		id, err := keyID(args[0])
		if err != nil {
			return nil, err
		}
		k, err := ctl.Key(ctx, id)
		if err != nil || !reveal {
			return k, err
		}
		plain, err := ctl.Reveal(ctx, id)
		return shownKey{plain, k}, err
	})
}

// keyID reads the number of a key. What is no number may be a key itself, so it is not repeated.
func keyID(text string) (int64, error) {
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id < 1 {
		return 0, errors.New("a key is named by its number: see resq keys list")
	}
	return id, nil
}

func keysStatus(name, short string, do func(*registry.Control, context.Context, int64) (*registry.Key, error)) *cobra.Command {
	cmd := &cobra.Command{Use: name + " ID", Short: short, Args: cobra.ExactArgs(1)}
	return controlCommand(cmd, func(ctx context.Context, ctl *registry.Control, _ *config, args []string) (any, error) {
		id, err := keyID(args[0])
		if err != nil {
			return nil, err
		}
		return do(ctl, ctx, id)
	})
}

func keysRotate() *cobra.Command {
	var grace string
	cmd := &cobra.Command{
		Use:   "rotate ID",
		Short: "Make a key that takes the place of another",
		Long:  "Make a key with the name, the owner, the scopes and the expiry of another one that is active. That is revoked, or ends after --grace.",
		Args:  cobra.ExactArgs(1),
	}
	cmd.Flags().StringVar(&grace, "grace", "0s", "`time` for which the old key is still good, such as 24h or 7d")
	return controlCommand(cmd, func(ctx context.Context, ctl *registry.Control, _ *config, args []string) (any, error) {
		id, err := keyID(args[0])
		if err != nil {
			return nil, err
		}
		d, err := span(grace)
		if err != nil || d < 0 {
			return nil, fmt.Errorf("--grace %s is not a time such as 24h or 7d", problem.Quote(grace))
		}
		k, plain, err := ctl.RotateKey(ctx, id, d)
		if err != nil {
			return nil, err
		}
		return shownKey{plain, k}, nil
	})
}

func keysCredential() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "credential",
		Short: "Make an admin credential for the HTTP API",
		Long: "Make a credential for the HTTP API that issues keys. The credential goes to the issuer; its sum goes into the\n" +
			"configuration, under keys: {admin: …}. It is kept nowhere.",
		Args: cobra.NoArgs,
	}
	cmd.Flags().StringVar(&format, "format", "table", "table or json")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := oneOf("--format", format, controlFormats); err != nil {
			return err
		}
		secret := "resqadm_" + rand.Text() + rand.Text()
		sum := sha256.Sum256([]byte(secret))
		return printControl(cmd.OutOrStdout(), format, credential{secret, "sha256:" + hex.EncodeToString(sum[:])})
	}
	return cmd
}

type credential struct {
	Secret string `json:"credential"`
	Admin  string `json:"admin"`
}
