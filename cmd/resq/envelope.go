package main

import (
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"resq/schema/problem"
)

// An envelope is what the commands of tools and validations print as JSON or YAML (C-030).
type envelope struct {
	Command string `json:"command"`
	Status  string `json:"status"` // ok or error
	Exit    int    `json:"exit_code"`
	Data    any    `json:"data"`
	Timing  struct {
		Started string `json:"started_at"`
		Ms      int64  `json:"duration_ms"`
	} `json:"timing"`
	Messages []said `json:"messages"`
}

// A said is one message of a command.
type said struct {
	Level string `json:"level"`
	Code  string `json:"code,omitempty"`
	At    string `json:"at,omitempty"`
	Text  string `json:"text"`
	Hint  string `json:"hint,omitempty"`
}

// enveloped says whether a command prints its JSON in an envelope: those that are about tools and validations of the registry.
func enveloped(cmd *cobra.Command) bool {
	p := cmd.Parent()
	return p != nil && (p.Name() == "tool" || p.Name() == "validation")
}

// conclude prints what came of a command and gives the error with which it ends, failed or nil.
func conclude(cmd *cobra.Command, format string, start time.Time, v any, failed error) error {
	if format == "table" || !enveloped(cmd) {
		if failed != nil {
			return failed
		}
		return printed(printControl(cmd.OutOrStdout(), format, v))
	}
	e := envelope{Command: strings.TrimPrefix(cmd.CommandPath(), "resq "), Status: "ok", Data: v, Messages: []said{}}
	e.Timing.Started, e.Timing.Ms = start.UTC().Format(time.RFC3339Nano), time.Since(start).Milliseconds()
	if failed != nil {
		e.Status, e.Exit, e.Data, e.Messages = "error", exitOf(failed), nil, messagesOf(failed)
	}
	if err := printControl(cmd.OutOrStdout(), format, e); err != nil {
		return failure{errors.Join(failed, err)}
	}
	return failed // which is told on the standard error output, too
}

func printed(err error) error {
	if err != nil {
		return failure{err}
	}
	return nil
}

// exitOf is the status with which the program ends.
func exitOf(err error) int {
	var f failure
	if errors.Is(err, errTold) || errors.As(err, &f) {
		return exitFailed
	}
	return exitUsage
}

func messagesOf(err error) (out []said) {
	var one *problem.Problem
	var list problem.List
	switch {
	case errors.As(err, &list):
		for _, p := range list {
			out = append(out, saidOf(p))
		}
	case errors.As(err, &one):
		out = []said{saidOf(one)}
	default:
		out = []said{{Level: "error", Text: err.Error()}}
	}
	return out
}

func saidOf(p *problem.Problem) said {
	return said{Level: "error", Code: string(p.Code), At: p.At, Text: p.Message, Hint: p.Hint}
}

// extras takes the flags that a command does not know out of its arguments: --most-items 5 is the input most_items of a validation (C-023).
// It is for commands that parse their flags themselves, and gives the arguments that are left.
func extras(cmd *cobra.Command, args []string) (left []string, extra map[string]string, err error) {
	cmd.InitDefaultHelpFlag()
	var known []string
	extra = map[string]string{}
	for i := 0; i < len(args); i++ {
		name, value, has := strings.Cut(strings.TrimPrefix(args[i], "--"), "=")
		if args[i] == "--" {
			known = append(known, args[i:]...)
			break
		}
		f := cmd.Flag(name)
		if !strings.HasPrefix(args[i], "--") || f != nil {
			if known = append(known, args[i]); f != nil && strings.HasPrefix(args[i], "--") && !has && f.NoOptDefVal == "" && i+1 < len(args) {
				i++
				known = append(known, args[i])
			}
			continue
		}
		if !has {
			if i++; i == len(args) || strings.HasPrefix(args[i], "--") { // such a value stands behind =
				return nil, nil, errors.New("--" + name + " needs a value")
			}
			value = args[i]
		}
		key := strings.ReplaceAll(name, "-", "_")
		if _, twice := extra[key]; twice {
			return nil, nil, errors.New("--" + name + " is given twice")
		}
		extra[key] = value
	}
	if err := cmd.Flags().Parse(known); err != nil {
		return nil, nil, err
	}
	return cmd.Flags().Args(), extra, nil
}
