package main

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"resq/registry"
	"resq/schema/problem"
)

// controlFormats are how what is in the control database is printed.
var controlFormats = []string{"table", "json", "yaml"}

// A controlled command works on the control database.
type controlled struct {
	from   source
	format string
}

func (c *controlled) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&c.from.config, "config", "", "configuration `file` of the server")
	cmd.Flags().StringVar(&c.from.state, "state", "", "state `directory` of the server")
	cmd.Flags().StringVar(&c.format, "format", "table", "table, json or yaml")
}

// open opens the control database of a configuration; the caller closes it.
func (c *controlled) open(ctx context.Context) (*registry.Control, *config, error) {
	if err := oneOf("--format", c.format, controlFormats); err != nil {
		return nil, nil, err
	}
	conf, err := c.from.settings()
	if err != nil {
		return nil, nil, err
	}
	secret, err := conf.secret()
	if err != nil {
		return nil, nil, failure{err}
	}
	ctl, err := openControl(ctx, conf, slog.New(slog.DiscardHandler), secret, true)
	return ctl, conf, err
}

// controlCommand makes a command that does one thing in the control database and prints what comes of it.
func controlCommand(cmd *cobra.Command, do func(ctx context.Context, ctl *registry.Control, conf *config, args []string) (any, error)) *cobra.Command {
	var c controlled
	c.flags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		ctl, conf, err := c.open(cmd.Context())
		if err != nil {
			return err
		}
		defer ctl.Close()
		start := time.Now()
		v, err := do(cmd.Context(), ctl, conf, args)
		if kept := keepCommand(cmd, ctl, conf, args, v, err, time.Since(start)); kept != nil {
			return failure{errors.Join(err, kept)}
		}
		var p *problem.Problem
		if errors.As(err, &p) {
			return failure{err}
		}
		if err != nil {
			return err
		}
		if err := printControl(cmd.OutOrStdout(), c.format, v); err != nil {
			return failure{err}
		}
		return nil
	}
	return cmd
}

// quiet are the commands that change nothing, and show nobody's key: they leave no record.
var quiet = map[string]bool{"list": true, "show": true, "status": true, "export": true}

// keepCommand records what a command did in the control database, where calls are kept. Whoever may run it may change that
// database by other means as well; the record is for those who wonder later.
func keepCommand(cmd *cobra.Command, ctl *registry.Control, conf *config, args []string, v any, failed error, took time.Duration) error {
	if quiet[cmd.Name()] && !cmd.Flags().Changed("reveal") {
		return nil
	}
	secret, err := conf.secret()
	if err != nil {
		return err
	}
	a := &audit{dir: filepath.Join(stateDir(conf.State), auditDir), secret: secret, texts: conf.Audit.Arguments, log: slog.New(slog.DiscardHandler)}
	j, err := newJournal(conf, a, ctl, true)
	if err != nil || j == nil {
		return err
	}
	asked := map[string]any{}
	for _, name := range []string{"name", "user", "principal", "scope", "expires", "grace", "tool", "reveal", "role", "at", "never", "off"} {
		if f := cmd.Flags().Lookup(name); f != nil && f.Changed {
			asked[name] = f.Value.String()
		}
	}
	c := registry.Call{Time: time.Now(), Request: rand.Text(), Principal: "cli", Tool: strings.TrimPrefix(cmd.CommandPath(), "resq "), Outcome: "ok", Took: took, Control: true}
	args = slices.Clone(args)
	if strings.Contains(cmd.Use, " ID") && len(args) > 0 {
		if c.Token, err = keyID(args[0]); err != nil {
			args[0] = "***" // it may be a key itself
		}
	}
	if len(args) > 0 {
		asked["args"] = args
	}
	c.Arguments, _ = json.Marshal(asked) // texts always encode
	switch k := v.(type) {
	case shownKey:
		if k.Key != nil {
			c.Token, c.Key = k.ID, k.KeyID
		}
	case *registry.Key:
		if k != nil {
			c.Token, c.Key = k.ID, k.KeyID
		}
	}
	if failed != nil {
		c.Outcome, c.Code = "error", string(problem.InvalidArgument)
		var p *problem.Problem
		if errors.As(failed, &p) {
			c.Code = string(p.Code)
		}
	}
	kept := j.Keep(cmd.Context(), c)
	if err := a.close(); err != nil || !kept {
		return errors.New("no record of this could be kept in the audit; look with resq keys list or resq scopes list what was done")
	}
	return nil
}

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

// printControl prints what is in the control database: a list as a table, one thing as pairs, or either as JSON.
func printControl(w io.Writer, format string, v any) error {
	if format == "json" {
		enc := json.NewEncoder(w)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		return enc.Encode(v)
	}
	if format == "yaml" {
		return printYAML(w, v)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	switch x := v.(type) {
	case tabular:
		x.table(t)
	case []*registry.Key:
		fmt.Fprintln(t, "ID\tPREFIX\tNAME\tUSER\tPRINCIPAL\tSTATE\tEXPIRES\tLAST USED\tSCOPES")
		for _, k := range x {
			fmt.Fprintf(t, "%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", k.ID, k.Prefix, k.Name, dash(k.User), dash(k.Principal), k.State, when(k.Expires), when(k.LastUsed), dash(strings.Join(k.Scopes, ", ")))
		}
	case *registry.Key:
		printKey(t, x)
	case shownKey:
		fmt.Fprintf(t, "key\t%s\n", x.Plain)
		printKey(t, x.Key)
	case []*registry.Scope:
		fmt.Fprintln(t, "CODE\tNAME\tSTATE\tKEYS\tTOOLS")
		for _, s := range x {
			fmt.Fprintf(t, "%s\t%s\t%s\t%d\t%s\n", s.Code, s.Name, onOff(s.Enabled), s.Keys, dash(strings.Join(s.Tools, ", ")))
		}
	case *registry.Scope:
		fmt.Fprintf(t, "code\t%s\nname\t%s\nstate\t%s\nkeys\t%d\ntools\t%s\n", x.Code, x.Name, onOff(x.Enabled), x.Keys, dash(strings.Join(x.Tools, ", ")))
	case []registry.Tool:
		fmt.Fprintln(t, "TOOL\tCATEGORY\tSTATE\tTITLE")
		for _, o := range x {
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", o.Name, dash(o.Category), onOff(o.Enabled), dash(o.Title))
		}
	case *registry.Tool:
		fmt.Fprintf(t, "tool\t%s\nstate\t%s\n", x.Name, onOff(x.Enabled))
	case []*registry.Admin:
		fmt.Fprintln(t, "NAME\tROLE\tSTATE\tONE-TIME PASSWORDS\tLAST LOGIN\tCREATED")
		for _, a := range x {
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", a.Name, a.Role, onOff(a.Enabled), onOff(a.TOTP), when(a.Login), when(&a.Created))
		}
	case shownAdmin:
		fmt.Fprintf(t, "name\t%s\nrole\t%s\nstate\t%s\n", x.Name, x.Role, onOff(x.Enabled))
		fmt.Fprintf(t, "one-time passwords\t%s\n", onOff(x.TOTP))
		if x.Password != "" {
			fmt.Fprintf(t, "password\t%s\n", x.Password)
		}
		if x.Secret != "" {
			fmt.Fprintf(t, "secret\t%s\naddress\t%s\n", x.Secret, x.Address)
		}
	case []registry.Migration:
		fmt.Fprintln(t, "VERSION\tSTEP\tSTATE")
		for _, m := range x {
			fmt.Fprintf(t, "%d\t%s\t%s\n", m.Version, m.Name, map[bool]string{true: "made", false: "not made"}[m.Applied])
		}
	case credential:
		fmt.Fprintf(t, "credential\t%s\nkeys.admin\t%s\n", x.Secret, x.Admin)
	default:
		return fmt.Errorf("a %T cannot be printed as a table", v)
	}
	return t.Flush()
}

func printKey(w io.Writer, k *registry.Key) {
	for _, row := range [][2]string{
		{"id", strconv.FormatInt(k.ID, 10)}, {"prefix", k.Prefix}, {"key id", k.KeyID}, {"name", k.Name}, {"user", k.User}, {"principal", k.Principal},
		{"state", k.State}, {"scopes", strings.Join(k.Scopes, ", ")}, {"expires", when(k.Expires)}, {"last used", when(k.LastUsed)}, {"created", when(&k.Created)},
	} {
		fmt.Fprintf(w, "%s\t%s\n", row[0], dash(row[1]))
	}
}

func when(t *time.Time) string {
	if t == nil {
		return "-"
	}
	return t.Local().Format(time.DateTime)
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func onOff(b bool) string {
	return map[bool]string{true: "enabled", false: "disabled"}[b]
}
