package main

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"resq/engine"
	"resq/schema"
	"resq/schema/problem"
)

func testCommand() *cobra.Command {
	var from source
	cmd := &cobra.Command{
		Use:   "test [PATH...]",
		Short: "Run the examples of the business tools",
		Long: "Run the examples that the business tools of the catalog declare, and compare their answers. Catalog files and\n" +
			"directories may be named as arguments beside those of --catalog and --pack. It fails when an answer is not as\n" +
			"declared, and when there is no example at all.",
		Example: "  resq test tools/ --catalog shop/\n  resq test --pack store",
	}
	from.flags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		from.catalogs = append(from.catalogs, args...)
		return runExamples(cmd, &from)
	}
	return cmd
}

func runExamples(cmd *cobra.Command, from *source) error {
	o, err := from.open(cmd.Context(), slog.New(slog.DiscardHandler), cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	defer o.close()
	out, ran, failed := cmd.OutOrStdout(), 0, 0
	for _, t := range o.engine.Catalog().Tools {
		if t.Preset == nil {
			continue
		}
		for i := range t.Preset.Examples {
			x := &t.Preset.Examples[i]
			ran++
			if wrong := runExample(cmd, o, t, x); wrong != "" {
				failed++
				fmt.Fprintf(out, "%s: %s %s\n  %s\n", x.At, t.Name, x.Args, strings.ReplaceAll(wrong, "\n", "\n  "))
			}
		}
	}
	fmt.Fprintf(out, "%d examples run, %d failed.\n", ran, failed)
	if failed > 0 || ran == 0 {
		return errTold
	}
	return nil
}

// runExample gives what is wrong with the answer of one example, or "".
func runExample(cmd *cobra.Command, o *opened, t *schema.Tool, x *schema.Example) string {
	who := o.local
	if x.As != "" {
		who = o.config.Principals[x.As]
	}
	if who == nil {
		return "there is no principal to ask as; " + errNoLocal.Error()
	}
	a, err := o.engine.CallTool(cmd.Context(), who, engine.Call{Tool: t.Name, Args: x.Args})
	var got []byte
	if err != nil {
		p := problem.From(err)[0]
		got, _ = json.Marshal(map[string]any{"error": map[string]any{"code": p.Code, "message": p.Message, "at": p.At}})
	} else {
		got = a.Text
	}
	var have, want any
	for raw, into := range map[*any][]byte{&have: got, &want: x.Answer} {
		d := json.NewDecoder(strings.NewReader(string(into)))
		d.UseNumber()
		if err := d.Decode(raw); err != nil {
			return "the answer is no JSON: " + err.Error()
		}
	}
	if at, ok := holds(want, have, ""); !ok {
		return "differs at " + at + "\ngot  " + strings.ReplaceAll(string(got), "\n", "") + "\nwant " + string(x.Answer)
	}
	return ""
}

// holds says whether have is as want declares: an object may hold more keys than are declared, a list has as many entries.
// It gives where it is not.
func holds(want, have any, at string) (string, bool) {
	switch w := want.(type) {
	case map[string]any:
		h, ok := have.(map[string]any)
		if !ok {
			return at + "/", false
		}
		keys := make([]string, 0, len(w))
		for k := range w {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		for _, k := range keys {
			v, there := h[k]
			if !there {
				return at + "/" + k, false
			}
			if where, ok := holds(w[k], v, at+"/"+k); !ok {
				return where, false
			}
		}
		return "", true
	case []any:
		h, ok := have.([]any)
		if !ok || len(h) != len(w) {
			return at + "/", false
		}
		for i := range w {
			if where, ok := holds(w[i], h[i], fmt.Sprintf("%s/%d", at, i)); !ok {
				return where, false
			}
		}
		return "", true
	case json.Number:
		h, ok := have.(json.Number)
		a, errA := w.Float64()
		b, errB := h.Float64()
		return at, ok && (w == h || errA == nil && errB == nil && a == b)
	}
	return at, want == have
}
