package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	osuser "os/user"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v4"

	"resq/engine"
	"resq/registry"
	"resq/schema/problem"
	"resq/server"
)

func changesCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "changes",
		Short: "List, approve, decline and undo writes",
		Long: "Operations are proposed, applied and undone writes. A proposal on a resource with confirm: human waits until a\n" +
			"person other than the one who asked approves it.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(changesList(), changesShow(), changesSettle("approve"), changesSettle("decline"), changesUndo())
	return cmd
}

// changeStates are the states that an operation can be listed by.
var changeStates = []string{"previewed", "approved", "declined", "applied", "expired"}

// A change is an operation as it is printed.
type change struct {
	ID         string     `json:"op_id" yaml:"op_id"`
	ShortCode  string     `json:"short_code" yaml:"short_code"`
	State      string     `json:"state" yaml:"state"`
	Connection string     `json:"connection" yaml:"connection"`
	Principal  string     `json:"principal" yaml:"principal"`
	User       string     `json:"user,omitempty" yaml:"user,omitempty"`
	Tool       string     `json:"tool" yaml:"tool"`
	Resource   string     `json:"resource" yaml:"resource"`
	Mode       string     `json:"mode" yaml:"mode"`
	Created    time.Time  `json:"created_at" yaml:"created_at"`
	Expires    *time.Time `json:"expires_at,omitempty" yaml:"expires_at,omitempty"`
	Applied    *time.Time `json:"applied_at,omitempty" yaml:"applied_at,omitempty"`
	Affected   int        `json:"affected" yaml:"affected"`
	SettledBy  string     `json:"settled_by,omitempty" yaml:"settled_by,omitempty"`
	Reason     string     `json:"reason,omitempty" yaml:"reason,omitempty"`
	Undoable   bool       `json:"undoable" yaml:"undoable"`
	Told       any        `json:"told,omitempty" yaml:"told,omitempty"`
}

func changeOf(x engine.Operation, whole bool) change {
	c := change{ID: x.ID, ShortCode: x.ShortCode, State: x.State, Connection: x.Connection, Principal: x.Principal, User: x.User, Tool: x.Tool, Resource: x.Resource,
		Mode: x.Mode, Created: x.Created, Affected: x.Affected, SettledBy: x.SettledBy, Reason: x.Reason, Undoable: x.Undoable}
	if x.State == "applied" {
		c.Applied = &x.Applied
	} else {
		c.Expires = &x.Expires
	}
	if whole && x.Told != "" {
		_ = json.Unmarshal([]byte(x.Told), &c.Told) // this program wrote it
	}
	return c
}

func changesList() *cobra.Command {
	var from source
	var state, format string
	var limit int
	cmd := &cobra.Command{Use: "list", Short: "List the newest operations", Args: cobra.NoArgs}
	cmd.Flags().StringVar(&state, "only", "", "only those that are previewed, approved, declined, applied or expired")
	cmd.Flags().IntVarP(&limit, "number", "n", 20, "`number` of operations")
	cmd.Flags().StringVar(&format, "format", "table", "table, json or yaml")
	from.flags(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if state != "" {
			if err := oneOf("--only", state, changeStates); err != nil {
				return err
			}
		}
		if err := oneOf("--format", format, tailFormats); err != nil {
			return err
		}
		o, err := from.open(cmd.Context(), slog.New(slog.DiscardHandler), cmd.ErrOrStderr())
		if err != nil {
			return err
		}
		defer o.close()
		list, err := o.engine.Operations(cmd.Context(), state, max(limit, 1))
		if err != nil {
			return failure{err}
		}
		out := []change{}
		for _, x := range list {
			out = append(out, changeOf(x, false))
		}
		return printChanges(cmd.OutOrStdout(), format, out)
	}
	return cmd
}

func oneOf(flag, value string, values []string) error {
	for _, v := range values {
		if v == value {
			return nil
		}
	}
	return fmt.Errorf("%s %s is not possible; %s", flag, problem.Quote(value), problem.OneOf(value, values))
}

func printChanges(w io.Writer, format string, list []change) error {
	switch format {
	case "json":
		enc := json.NewEncoder(w)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		return enc.Encode(list)
	case "yaml":
		b, err := yaml.Marshal(list)
		if err != nil {
			return err
		}
		_, err = w.Write(b)
		return err
	}
	t := tabwriter.NewWriter(w, 2, 8, 2, ' ', 0)
	fmt.Fprintln(t, "OPERATION\tCODE\tSTATE\tWHO\tTOOL\tRESOURCE\tROWS\tCREATED\tSETTLED BY")
	for _, c := range list {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%d\t%s\t%s\n", c.ID, c.ShortCode, c.State, shownName(c.Principal), c.Tool, shownName(c.Resource), c.Affected, c.Created.Format(time.RFC3339), shownName(c.SettledBy))
	}
	return t.Flush()
}

// shownName keeps control characters of a name away from a terminal.
func shownName(s string) string {
	if q := problem.Quote(s); q != `"`+s+`"` {
		return q
	}
	return s
}

func changesShow() *cobra.Command {
	var from source
	var format string
	cmd := &cobra.Command{Use: "show OPERATION", Short: "Show one operation with its preview or result", Args: cobra.ExactArgs(1)}
	cmd.Flags().StringVar(&format, "format", "yaml", "table, json or yaml")
	from.flags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := oneOf("--format", format, tailFormats); err != nil {
			return err
		}
		o, err := from.open(cmd.Context(), slog.New(slog.DiscardHandler), cmd.ErrOrStderr())
		if err != nil {
			return err
		}
		defer o.close()
		x, err := o.find(cmd, args[0])
		if err != nil {
			return err
		}
		return printChange(cmd.OutOrStdout(), format, changeOf(x, true))
	}
	return cmd
}

// find gives an operation by its id, or by the short code of one that waits.
func (o *opened) find(cmd *cobra.Command, name string) (engine.Operation, error) {
	x, ok, err := o.engine.Operation(cmd.Context(), strings.ToLower(name))
	if err != nil {
		return x, failure{err}
	}
	if ok {
		return x, nil
	}
	list, err := o.engine.Operations(cmd.Context(), "previewed", 1000)
	if err != nil {
		return x, failure{err}
	}
	var found []engine.Operation
	for _, y := range list {
		if strings.EqualFold(y.ShortCode, name) {
			found = append(found, y)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return x, failure{fmt.Errorf("no operation %s; see resq changes list", problem.Quote(name))}
	}
	return x, failure{fmt.Errorf("%d operations wait with the code %s; name one by its id", len(found), problem.Quote(name))}
}

func changesSettle(verb string) *cobra.Command {
	var from source
	var by, reason, format string
	short := map[string]string{"approve": "Approve an operation that waits", "decline": "Decline an operation that waits, for good"}[verb]
	cmd := &cobra.Command{
		Use: verb + " OPERATION", Short: short, Args: cobra.ExactArgs(1),
		Long: short + ". OPERATION is its id or its short code. Whoever approves must not be who asked for it.",
	}
	cmd.Flags().StringVar(&by, "as", "", "`name` of the person who decides (default: the name of the login)")
	cmd.Flags().StringVar(&reason, "reason", "", "why; a requester whose operation is declined is told")
	cmd.Flags().StringVar(&format, "format", "", "table, json or yaml: the operation as it is then (default one line)")
	from.flags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if format != "" {
			if err := oneOf("--format", format, tailFormats); err != nil {
				return err
			}
		}
		if by == "" {
			u, err := osuser.Current()
			if err != nil || u.Username == "" {
				return fmt.Errorf("say with --as who decides")
			}
			by = u.Username
		}
		if len(reason) > 500 || len(by) > 190 {
			return fmt.Errorf("--reason takes 500 bytes, --as 190")
		}
		o, err := from.open(cmd.Context(), slog.New(slog.DiscardHandler), cmd.ErrOrStderr())
		if err != nil {
			return err
		}
		defer o.close()
		x, err := o.find(cmd, args[0])
		if err != nil {
			return err
		}
		if _, err := o.audit.open(); err != nil {
			return failure{fmt.Errorf("the decision cannot be kept in the audit: %w", err)}
		}
		if err := o.engine.Settle(cmd.Context(), x.ID, verb == "approve", by, reason); err != nil {
			return failure{err}
		}
		o.audit.note(registry.Entry{Event: registry.EventApproval, Principal: by, Tool: x.Tool, Resource: x.Resource, Connection: x.Connection, Operation: x.ID, Code: strings.ToUpper(verb), Detail: reason})
		if format != "" {
			if x, err = o.find(cmd, x.ID); err != nil {
				return err
			}
			return printChange(cmd.OutOrStdout(), format, changeOf(x, true))
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%s %s is %sd by %s\n", x.ShortCode, x.ID, verb, shownName(by))
		return nil
	}
	return cmd
}

func changesUndo() *cobra.Command {
	var from source
	var yes bool
	cmd := &cobra.Command{
		Use: "undo OPERATION", Short: "Take an applied operation back", Args: cobra.ExactArgs(1),
		Long: "Show what taking an operation back would change; with --yes do it. It is made in the name of --principal, within its\n" +
			"rows, and is an operation of its own.",
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "take it back")
	from.flags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		log := slog.New(slog.DiscardHandler)
		o, err := from.open(cmd.Context(), log, cmd.ErrOrStderr())
		if err != nil {
			return err
		}
		defer o.close()
		if o.local == nil {
			return errNoLocal
		}
		x, err := o.find(cmd, args[0])
		if err != nil {
			return err
		}
		who := *o.local
		who.Scopes = append([]string{"write", "delete", "admin"}, who.Scopes...)
		s, err := server.New(o.engine, server.Options{Version: version, Lang: o.lang, Local: &who, Log: log})
		if err != nil {
			return err
		}
		ask := map[string]any{"op_id": x.ID, "dry_run": true}
		if yes {
			ask = map[string]any{"op_id": x.ID}
		}
		for {
			raw, err := json.Marshal(ask)
			if err != nil {
				return err
			}
			reply, _ := s.Call(cmd.Context(), &who, "res-undo", raw)
			w := cmd.OutOrStdout()
			if reply.Failed {
				w = cmd.ErrOrStderr()
			}
			token := confirmToken(reply.Texts[0])
			if reply.Failed || !yes || token == "" || ask["__confirm__"] == true {
				fmt.Fprintln(w, strings.Join(reply.Texts, "\n"))
				if reply.Failed {
					return errTold
				}
				return nil
			}
			ask = map[string]any{"op_id": x.ID, "__confirm__": true, "__confirm_token__": token}
		}
	}
	return cmd
}

func confirmToken(text string) string {
	var a struct {
		Confirm struct{ Token string }
	}
	_ = json.Unmarshal([]byte(text), &a) // no token is none
	return a.Confirm.Token
}
