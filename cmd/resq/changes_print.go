package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"go.yaml.in/yaml/v4"
)

// printChange prints one operation with what its requester was told.
func printChange(w io.Writer, format string, c change) error {
	var b []byte
	var err error
	switch format {
	case "json":
		b, err = json.MarshalIndent(c, "", "  ")
		b = append(b, '\n')
	case "yaml":
		b, err = yaml.Marshal(c)
	default:
		return printPairs(w, c)
	}
	if err != nil {
		return failure{err}
	}
	_, err = w.Write(b)
	return err
}

func printPairs(w io.Writer, c change) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(name, value string) {
		if value != "" {
			fmt.Fprintf(t, "%s\t%s\n", name, value)
		}
	}
	at := func(x *time.Time) string {
		if x == nil {
			return ""
		}
		return x.Format(time.RFC3339)
	}
	row("operation", c.ID)
	row("code", c.ShortCode)
	row("state", c.State)
	row("who", shownName(c.Principal))
	row("user", shownName(c.User))
	row("tool", c.Tool)
	row("resource", shownName(c.Resource)+" on "+c.Connection)
	row("mode", c.Mode)
	row("created", c.Created.Format(time.RFC3339))
	row("expires", at(c.Expires))
	row("applied", at(c.Applied))
	row("rows", fmt.Sprint(c.Affected))
	row("settled by", shownName(c.SettledBy))
	row("reason", shownName(c.Reason))
	row("undo", map[bool]string{true: "possible", false: "not possible"}[c.Undoable])
	if err := t.Flush(); err != nil || c.Told == nil {
		return err
	}
	var told bytes.Buffer
	enc := json.NewEncoder(&told)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(c.Told); err != nil {
		return failure{err}
	}
	_, err := fmt.Fprintf(w, "\n%s", told.Bytes())
	return err
}
