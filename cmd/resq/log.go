package main

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"

	"resq/registry"
	"resq/schema/problem"
)

// The forms of the log.
const (
	logText = "text"
	logJSON = "json"
)

// newLog makes the log that a command writes to w: text for a person at a terminal, else JSON for a program,
// unless the format is said. It fails for a format that there is not. Over stdio, w must not be standard
// output, which belongs to the protocol.
func newLog(w io.Writer, format string) (*slog.Logger, error) {
	if format == "" {
		format = logJSON
		if isTerminal(w) {
			format = logText
		}
	}
	opts := &slog.HandlerOptions{ReplaceAttr: withoutData}
	switch format {
	case logText:
		return slog.New(slog.NewTextHandler(w, opts)), nil
	case logJSON:
		return slog.New(slog.NewJSONHandler(w, opts)), nil
	}
	return nil, fmt.Errorf("--log-format %s is not known; it is one of %s, %s", problem.Quote(format), logText, logJSON)
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// quotes are the marks in which databases put names and values, in the languages that their messages come in.
const quotes = "'\"‘’“”„‚«»‹›"

// withoutData keeps what is in rows and requests out of the log: a database's message often repeats the value
// that it is about. Everything from the first quotation mark to the last is left out, because a value may hold
// such marks itself. Phone numbers and keys stand nowhere.
func withoutData(groups []string, a slog.Attr) slog.Attr {
	switch v := a.Value; v.Kind() {
	case slog.KindString:
		if text := v.String(); registry.MaskText(text) != text {
			a.Value = slog.StringValue(registry.MaskText(text))
		}
	case slog.KindAny:
		if err, ok := v.Any().(error); ok {
			a.Value = slog.StringValue(registry.MaskText(err.Error()))
		}
	}
	if len(groups) > 0 || a.Key != "cause" && a.Key != "panic" {
		return a
	}
	text := a.Value.String()
	from := strings.IndexAny(text, quotes)
	if from < 0 {
		return a
	}
	to := strings.LastIndexAny(text, quotes)
	_, last, _ := strings.Cut(text[to:], firstRune(text[to:]))
	return slog.String(a.Key, text[:from]+"…"+last)
}

func firstRune(s string) string {
	for i := range s {
		if i > 0 {
			return s[:i]
		}
	}
	return s
}
