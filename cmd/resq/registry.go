package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v4"

	"resq/registry"
	"resq/schema"
	"resq/schema/problem"
)

// A tabular prints itself as a table.
type tabular interface{ table(w io.Writer) }

// printYAML prints what JSON would, under the same names.
func printYAML(w io.Writer, v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return err
	}
	var plain any
	if err := json.Unmarshal(raw, &plain); err != nil {
		return err
	}
	text, err := yaml.Dump(plain)
	if err != nil {
		return err
	}
	_, err = w.Write(text)
	return err
}

// Tables of what the registry keeps.
type (
	callables   []*registry.Callable
	oneCallable struct{ *registry.Callable }
	attachments []registry.Attached
)

func (c callables) table(w io.Writer) {
	fmt.Fprintln(w, "NAME\tTYPE\tSOURCE\tMAY\tUPDATED\tDESCRIPTION")
	for _, t := range c {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", t.Name, t.Type, t.Source, may(t), t.Updated, dash(firstLine(t.Description)))
	}
}

// may says in a word what a tool may do.
func may(t *registry.Callable) string {
	switch {
	case t.Checkpointable:
		return "write, undoable"
	case t.Writes:
		return "write"
	case t.ReadOnly:
		return "read"
	}
	return "-"
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	if r := []rune(s); len(r) > 80 {
		return string(r[:80]) + "…"
	}
	return s
}

func (c oneCallable) table(w io.Writer) {
	t := c.Callable
	fmt.Fprintf(w, "name\t%s\nid\t%s\ntype\t%s\nsource\t%s\nmay\t%s\ncreated\t%s\nupdated\t%s\ndescription\t%s\n", t.Name, t.ID, t.Type, t.Source, may(t), t.Created, t.Updated, dash(firstLine(t.Description)))
	for _, b := range t.Bindings {
		fmt.Fprintf(w, "slot %s\t%s by %s, %s\n", b.Slot, b.ResourceType, b.Mode, b.Access)
	}
}

func (a attachments) table(w io.Writer) {
	fmt.Fprintln(w, "ATTACHMENT\tRESOURCE\tVALIDATION\tMODE\tINPUTS\tCREATED")
	for _, x := range a {
		var inputs []string
		for _, name := range slices.Sorted(maps.Keys(x.Args)) {
			inputs = append(inputs, name+"="+x.Args[name])
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", x.ID, x.Resource, x.Validation, x.Mode, dash(strings.Join(inputs, " ")), x.Created)
	}
}

// listCommand lists tools, or validations.
func listCommand(kind string) *cobra.Command {
	var namespace, from, typ string
	cmd := &cobra.Command{Use: "list [REGEX]", Short: "List what the registry keeps: what servers have loaded, and what was added to it", Args: cobra.MaximumNArgs(1)}
	if kind == "validation" {
		typ = registry.TypeValidation
	} else {
		cmd.Flags().StringVar(&typ, "type", "", "only tool or validation")
	}
	cmd.Flags().StringVar(&namespace, "namespace", "", "only of this `namespace`")
	cmd.Flags().StringVar(&from, "source", "", "only of this `source`: mcp, agent_skill, builtin, custom or wrapped")
	return controlCommand(cmd, func(ctx context.Context, ctl *registry.Control, _ *config, args []string) (any, error) {
		if typ != "" {
			if err := oneOf("--type", typ, []string{registry.TypeTool, registry.TypeValidation}); err != nil {
				return nil, err
			}
		}
		if from != "" {
			if err := oneOf("--source", from, []string{"mcp", "agent_skill", "builtin", "custom", "wrapped"}); err != nil {
				return nil, err
			}
		}
		name := regexp.MustCompile("")
		if len(args) > 0 {
			var err error
			if name, err = regexp.Compile(args[0]); err != nil {
				return nil, fmt.Errorf("%s is no regular expression: %w", problem.Quote(args[0]), err)
			}
		}
		list, err := ctl.Callables(ctx)
		if err != nil {
			return nil, err
		}
		return callables(slices.DeleteFunc(list, func(t *registry.Callable) bool {
			ns, _, _ := strings.Cut(t.Name, "/")
			return typ != "" && t.Type != typ || from != "" && t.Source != from || namespace != "" && ns != namespace || !name.MatchString(t.Name)
		})), nil
	})
}

func showRegistered(cmd *cobra.Command, from *source, format, name string) error {
	c := controlled{from: *from, format: format}
	ctl, _, err := c.open(cmd.Context())
	if err != nil {
		return err
	}
	defer ctl.Close()
	start := time.Now()
	t, err := ctl.Callable(cmd.Context(), name)
	if err != nil {
		err = failure{err}
	}
	if err := conclude(cmd, format, start, oneCallable{t}, err); err != nil {
		return err
	}
	if format == "table" && t.Config != "" {
		fmt.Fprintf(cmd.OutOrStdout(), "\n%s", t.Config)
	}
	return nil
}

// addCommand keeps a tool, or a validation, in the registry alone.
func addCommand(kind string) *cobra.Command {
	var from source
	var namespace, format string
	cmd := &cobra.Command{
		Use: "add FILE", Short: "Add a " + kind + " to the registry", Args: cobra.ExactArgs(1),
		Long: "Add the one " + kind + " that a file in the form of a catalog declares to the registry, where every server of the control database\n" +
			"serves it beside those of its files. It is checked against the catalog first, as at a start.",
		Example: "  resq " + kind + " add " + kind + ".yaml --config resq.yaml --namespace shop",
	}
	cmd.Flags().StringVar(&namespace, "namespace", "custom", "`namespace` in the registry; clients know the name alone")
	cmd.Flags().StringVar(&format, "format", "table", "table, json or yaml")
	from.flags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		data, err := os.ReadFile(args[0])
		if err != nil {
			return failure{err}
		}
		return changeRegistry(cmd, &from, format, args, func(ctx context.Context, ctl *registry.Control, o *opened) (any, error) {
			if c, is, err := readRemote(args[0], data); is {
				if err == nil && kind != registry.TypeTool {
					err = fmt.Errorf("%s: tools of another server are added with resq tool add", args[0])
				}
				if err != nil {
					return nil, err
				}
				return o.addRemote(ctx, ctl, c, namespace)
			}
			t, err := o.declared(ctx, ctl, kind, namespace, args[0], data)
			if err != nil {
				return nil, err
			}
			t, err = ctl.AddCallable(ctx, *t)
			return oneCallable{t}, err
		})
	}
	return cmd
}

// addRemote keeps the tools of another server; all of those that are meant, or none.
func (o *opened) addRemote(ctx context.Context, ctl *registry.Control, c *remoteConfig, namespace string) (any, error) {
	kept, err := registeredIn(ctx, ctl)
	if err != nil {
		return nil, err
	}
	cat, err := o.loadWith(ctx, io.Discard, kept)
	if err != nil {
		return nil, err
	}
	if err := o.mirror(ctx, ctl, cat); err != nil { // so that no name of the catalog is taken
		return nil, err
	}
	list, err := c.callables(ctx, namespace)
	if err != nil {
		return nil, err
	}
	var made callables
	for i := range list {
		t, err := ctl.AddCallable(ctx, list[i])
		if err != nil {
			for _, m := range made {
				_, gone := ctl.RemoveCallable(ctx, m.Name)
				err = errors.Join(err, gone)
			}
			return nil, err
		}
		made = append(made, t)
	}
	return made, nil
}

// changeRegistry runs a change that has to fit the catalog.
func changeRegistry(cmd *cobra.Command, from *source, format string, args []string, do func(ctx context.Context, ctl *registry.Control, o *opened) (any, error)) error {
	c := controlled{from: *from, format: format}
	ctl, conf, err := c.open(cmd.Context())
	if err != nil {
		return err
	}
	defer ctl.Close()
	o := &opened{config: conf, sources: true, lang: conf.Lang}
	o.choosePacks()
	start := time.Now()
	v, err := do(cmd.Context(), ctl, o)
	if kept := keepCommand(cmd, ctl, conf, args, v, err, time.Since(start)); kept != nil {
		return failure{errors.Join(err, kept)}
	}
	if err != nil {
		err = failure{err}
	}
	return conclude(cmd, format, start, v, err)
}

// declared loads the catalog with one more file, and gives what that file declares.
func (o *opened) declared(ctx context.Context, ctl *registry.Control, kind, namespace, name string, data []byte) (*registry.Callable, error) {
	var keys map[string]any
	if yaml.Unmarshal(data, &keys) == nil { // what is wrong with it the load tells
		for k := range keys {
			if k != "version" && k != "tools" {
				return nil, fmt.Errorf("%s: a file for the registry declares one %s, and nothing under %s", name, kind, problem.Quote(k))
			}
		}
	}
	kept, err := registeredIn(ctx, ctl)
	if err != nil {
		return nil, err
	}
	kept.texts = append(kept.texts, schema.Document{Name: name, Data: data})
	cat, err := o.loadWith(ctx, io.Discard, kept)
	if err != nil {
		return nil, err
	}
	var found []registry.Callable
	for _, t := range cat.Tools {
		if t.At.File == name {
			found = append(found, callableOf(cat, t, o.lang))
		}
	}
	for _, v := range cat.Validations {
		if v.At.File == name {
			found = append(found, validationOf(cat, v, namespace, o.lang))
		}
	}
	if len(found) != 1 || found[0].Type != kind {
		return nil, fmt.Errorf("%s: a file for the registry declares one %s; this one declares %d tools and validations", name, kind, len(found))
	}
	t := &found[0]
	t.Name = namespace + "/" + t.Short()
	return t, nil
}

func removeCommand(kind string) *cobra.Command {
	var yes bool
	cmd := &cobra.Command{Use: "remove NAME", Short: "Remove a " + kind + " that was added to the registry", Args: cobra.ExactArgs(1)}
	cmd.Flags().BoolVar(&yes, "yes", false, "remove it; without it nothing is done")
	return controlCommand(cmd, func(ctx context.Context, ctl *registry.Control, _ *config, args []string) (any, error) {
		if !yes {
			return nil, fmt.Errorf("remove %s with --yes; a validation is detached everywhere with it", problem.Quote(args[0]))
		}
		t, err := ctl.RemoveCallable(ctx, args[0])
		return oneCallable{t}, err
	})
}

func validationCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "validation", Short: "Validations: what decides whether a change may stay", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(listCommand("validation"), addCommand("validation"), removeCommand("validation"), attachCommand(),
		controlCommand(&cobra.Command{Use: "detach ATTACHMENT", Short: "Take an attachment back that was made here", Args: cobra.ExactArgs(1)},
			func(ctx context.Context, ctl *registry.Control, _ *config, args []string) (any, error) {
				a, err := ctl.Detach(ctx, args[0])
				if err != nil {
					return nil, err
				}
				return attachments{*a}, nil
			}),
		controlCommand(&cobra.Command{Use: "attachments", Short: "List which validations are attached to which resources", Args: cobra.NoArgs},
			func(ctx context.Context, ctl *registry.Control, _ *config, _ []string) (any, error) {
				list, err := ctl.Attachments(ctx)
				return attachments(list), err
			}))
	return cmd
}

func attachCommand() *cobra.Command {
	var from source
	var mode, format string
	cmd := &cobra.Command{
		Use: "attach RESOURCE VALIDATION [--INPUT VALUE…]", Short: "Attach a validation to a resource", DisableFlagParsing: true,
		Long: "Attach a validation, of a file or of the registry, to a resource: from then on every change of its rows is met by it.\n" +
			"That the two fit is checked against the catalog first, as at a start. Any other flag is a further input of the validation:\n" +
			"--most-items 5 gives it 5 as most_items.",
		Example: "  resq validation attach Order order.large --mode informational --most 100 --config resq.yaml",
	}
	cmd.Flags().StringVar(&mode, "mode", "", "required or informational (default: the validation's own)")
	cmd.Flags().StringVar(&format, "format", "table", "table, json or yaml")
	from.flags(cmd)
	cmd.RunE = func(cmd *cobra.Command, given []string) error {
		args, extra, err := extras(cmd, given)
		if err != nil {
			return err
		}
		if help, _ := cmd.Flags().GetBool("help"); help {
			return cmd.Help()
		}
		if err := cobra.ExactArgs(2)(cmd, args); err != nil {
			return err
		}
		return changeRegistry(cmd, &from, format, given, func(ctx context.Context, ctl *registry.Control, o *opened) (any, error) {
			kept, err := registeredIn(ctx, ctl)
			if err != nil {
				return nil, err
			}
			short := args[1][strings.IndexByte(args[1], '/')+1:]
			kept.attach = append(kept.attach, schema.Attach{ID: "of " + args[1], Resource: args[0], Validation: short, Mode: mode, Args: extra})
			cat, err := o.loadWith(ctx, io.Discard, kept)
			if err != nil {
				return nil, err
			}
			if err := o.mirror(ctx, ctl, cat); err != nil { // a server may not have told of them yet
				return nil, err
			}
			if v, ok := cat.Validation(short); ok && mode == "" {
				mode = v.Mode
			}
			a, err := ctl.Attach(ctx, args[0], args[1], mode, extra)
			if err != nil {
				return nil, err
			}
			return attachments{*a}, nil
		})
	}
	return cmd
}

func (o *opened) mirror(ctx context.Context, ctl *registry.Control, cat *schema.Catalog) error {
	m, err := mirrorOf(cat, o.lang)
	if err != nil {
		return err
	}
	return ctl.Mirror(ctx, m)
}
