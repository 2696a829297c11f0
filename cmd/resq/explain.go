package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"resq/engine"
	"resq/engine/policy"
	"resq/registry"
	"resq/schema/problem"
	"resq/server"
)

// reportFormats are how a report is printed.
var reportFormats = []string{"text", "json"}

func explainCommand() *cobra.Command {
	var from source
	var as, format string
	var values bool
	cmd := &cobra.Command{
		Use:   "explain --as NAME [TOOL JSON | TOOL -]",
		Short: "Show what a principal may call and see, and why",
		Long: "Show what becomes of a request for a principal: the tools that it may call, the row rules with the case that decides and the\n" +
			"sizes of their sets, the masked and hidden fields, and the SQL with the types of its arguments. Without a request it shows\n" +
			"the rules of every resource. Nothing is run but the queries of the principal and of the sets.\n" +
			"NAME is a principal of the configuration, user:ID for whoever acts for that user (a principal of the configuration, or the\n" +
			"user's keys together; a user without either may read), key:ID for the key of that number\n" +
			"(see resq keys list), or - for a key that is read from standard input: on a command line it would be seen by others.",
		Example: `  resq explain --as alice
  resq explain --as key:3
  resq explain --as user:17 res-query '{"resource":"Order","fields":[]}' --format json`,
		Args: cobra.RangeArgs(0, 2),
	}
	cmd.Flags().StringVar(&as, "as", "", "`name` of the principal, user:ID, key:ID, or - for a key on standard input")
	cmd.Flags().StringVar(&format, "format", "text", "text or json")
	cmd.Flags().BoolVar(&values, "values", false, "show the values of arguments and attributes, for a --principal with the scope admin; those beside masked fields never")
	from.flags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if as == "" {
			return errors.New("--as says for whom")
		}
		if err := oneOf("--format", format, reportFormats); err != nil {
			return err
		}
		return explain(cmd, &from, as, format, values, args)
	}
	return cmd
}

func explain(cmd *cobra.Command, from *source, as, format string, values bool, args []string) error {
	tool, raw := "", []byte("{}")
	if len(args) > 0 {
		tool = strings.ReplaceAll(args[0], "_", "-")
	}
	if len(args) == 2 {
		raw = []byte(args[1])
		if args[1] == "-" {
			if as == "-" {
				return errors.New("standard input is either the key or the request: give one of them another way")
			}
			var err error
			if raw, err = io.ReadAll(cmd.InOrStdin()); err != nil {
				return failure{err}
			}
		}
	}
	ctx, log := cmd.Context(), slog.New(slog.DiscardHandler)
	o, err := from.open(ctx, log, cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	defer o.close()
	if values && (o.local == nil || !slices.Contains(o.local.Scopes, "admin")) {
		return errors.New("--values shows what is in the data, so it needs --principal NAME of one with the scope admin")
	}
	who, enabled, err := o.principal(ctx, as, cmd.InOrStdin(), log)
	if err != nil {
		return err
	}
	s, err := server.New(o.engine, server.Options{Version: version, Lang: o.lang, Local: who, Log: log, Enabled: enabled})
	if err != nil {
		return err
	}
	report, err := o.engine.Report(ctx, who, tool, raw, values)
	if err != nil {
		return failure{problem.From(err)}
	}
	tools := s.Visible(who)
	if format == "text" {
		_, err = io.WriteString(cmd.OutOrStdout(), report.Text(tools, values))
	} else {
		err = writeReport(cmd.OutOrStdout(), report, tools, values)
	}
	if err != nil {
		return failure{err}
	}
	return nil
}

// writeReport writes a report as JSON.
func writeReport(w io.Writer, r *engine.Report, tools []string, values bool) error {
	type attribute struct {
		Name   string   `json:"name"`
		List   bool     `json:"list,omitempty"`
		Values []string `json:"values,omitempty"`
	}
	told := func(m map[string]policy.Value) []attribute {
		out := []attribute{}
		for name, v := range m {
			a := attribute{Name: name, List: v.List}
			if values {
				a.Values = v.Texts
			}
			out = append(out, a)
		}
		slices.SortFunc(out, func(a, b attribute) int { return strings.Compare(a.Name, b.Name) })
		return out
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(struct {
		*engine.Report
		Attributes []attribute `json:"attributes"`
		Funcs      []attribute `json:"funcs"`
		Tools      []string    `json:"tools"`
	}{r, told(r.Attributes), told(r.Funcs), append([]string{}, tools...)})
}

// principal finds whom a name stands for, or a key that is read from in, and which tools an admin lets be used.
func (o *opened) principal(ctx context.Context, as string, in io.Reader, log *slog.Logger) (*policy.Principal, func(string) bool, error) {
	ctl, err := openControl(ctx, o.config, log, o.secret, false)
	if err != nil {
		return nil, nil, err
	}
	if ctl != nil {
		defer ctl.Close()
	}
	keys, err := newKeyring(ctx, o.config, ctl, log)
	if err != nil {
		return nil, nil, failure{err}
	}
	if who, ok := o.config.Principals[as]; ok {
		return who, keys.enabled, nil
	}
	if id, ok := strings.CutPrefix(as, "user:"); ok && id != "" {
		who, err := o.actingFor(ctx, keys, id)
		return who, keys.enabled, err
	}
	if o.local != nil && as == o.local.Name {
		return o.local, keys.enabled, nil
	}
	if as == "-" {
		who, err := keyed(ctx, keys, in)
		return who, keys.enabled, err
	}
	if id, ok := strings.CutPrefix(as, "key:"); ok {
		who, err := numbered(ctx, keys, id)
		return who, keys.enabled, err
	}
	names := slices.Sorted(maps.Keys(o.config.Principals))
	hint := problem.OneOf(as, names)
	if hint != "" {
		hint = "; " + hint
	}
	// What was given may be a key all the same, so it is not repeated, nor looked up.
	return nil, nil, fmt.Errorf("--as names no principal of the configuration; a key is named by its number, key:ID, or given on standard input, --as -%s", hint)
}

// actingFor is whoever acts for a user: the principal of the configuration that does, or the user's keys, which open their
// tools together. A user that has neither may read, as somebody would whose token says no more. Where several principals
// act for the user, each may do something else, so one of them has to be named.
func (o *opened) actingFor(ctx context.Context, keys *keyring, id string) (*policy.Principal, error) {
	var who *policy.Principal
	var names []string
	add := func(p *policy.Principal, name string) {
		names = append(names, name)
		if who == nil {
			own := *p
			own.Tools = maps.Clone(p.Tools)
			who = &own
			return
		}
		for _, s := range p.Scopes {
			if !slices.Contains(who.Scopes, s) {
				who.Scopes = append(slices.Clip(who.Scopes), s)
			}
		}
		maps.Copy(who.Tools, p.Tools)
	}
	for _, name := range slices.Sorted(maps.Keys(o.config.Principals)) {
		if p := o.config.Principals[name]; p.User == id {
			add(p, name)
		}
	}
	if configured := len(names); configured > 1 || configured == 1 && keys.control == nil {
		return who, severalFor(id, names)
	}
	if keys.control != nil {
		for after := int64(0); ; {
			list, err := keys.control.Keys(ctx, registry.KeyFilter{User: id, After: after})
			if err != nil {
				return nil, failure{err}
			}
			if len(list) == 0 {
				break
			}
			for _, k := range list {
				if after = k.ID; k.State != registry.StateActive {
					continue
				}
				p, err := numbered(ctx, keys, strconv.FormatInt(k.ID, 10))
				if err != nil {
					return nil, err
				}
				name := fmt.Sprint("key:", k.ID)
				if who != nil && (who.Name != p.Name || who.Tools == nil) {
					return nil, severalFor(id, append(names, name))
				}
				add(p, name)
			}
		}
	}
	if who == nil {
		return &policy.Principal{Name: "user:" + id, User: id}, nil
	}
	return who, nil
}

// severalFor says that several act for a user.
func severalFor(id string, names []string) error {
	if len(names) < 2 {
		return nil
	}
	return fmt.Errorf("several act for the user %s, and may do different things: name one of %s", problem.Quote(id), strings.Join(names, ", "))
}

// keyed is whoever a key belongs to that stands in the first line of in.
func keyed(ctx context.Context, keys *keyring, in io.Reader) (*policy.Principal, error) {
	line, err := bufio.NewReader(io.LimitReader(in, 64<<10)).ReadString('\n')
	if err != nil && err != io.EOF {
		return nil, failure{err}
	}
	who, err := keys.find(ctx, strings.TrimSpace(line))
	if err != nil {
		return nil, failure{err}
	}
	if who == nil {
		return nil, errors.New("standard input has no key that is good")
	}
	return who, nil
}

// numbered is whoever the key of a number belongs to.
func numbered(ctx context.Context, keys *keyring, number string) (*policy.Principal, error) {
	id, err := keyID(number)
	if err != nil {
		return nil, err
	}
	if keys.control == nil {
		return nil, errors.New("there is no control database, so no key has a number")
	}
	owner, err := keys.control.Owner(ctx, id)
	if err != nil {
		return nil, failure{err}
	}
	who := keys.principal(owner)
	if who == nil {
		return nil, fmt.Errorf("the key %d belongs to the principal %s, which is not configured, so it opens nothing", id, problem.Quote(owner.Principal))
	}
	return who, nil
}
