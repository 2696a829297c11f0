package main

import (
	"context"
	"crypto/rand"
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
