package engine_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"resq/schema/problem"
	"resq/testdb"
)

// rewrite puts what the engine did into the case file: SQL and arguments of every database, the answer of
// SQLite. The other databases are still held to that answer.
func rewrite(t *testing.T, file string, c *archive, outcomes []outcome) {
	t.Helper()
	c.drop(func(name string) bool {
		switch name {
		case "request", "describe", "principal", "then":
			return true
		}
		if !strings.Contains(name, ".") || name == "then.answer" || name == "then.meta" || name == "then.error" {
			return false
		}
		for _, o := range outcomes { // a database that was left out keeps its sections
			if strings.HasPrefix(strings.TrimPrefix(name, "then."), o.on+".") {
				return false
			}
		}
		return true
	})
	for _, prefix := range []string{"", "then."} {
		for _, o := range outcomes {
			if o.prefix == prefix {
				for _, name := range []string{prefix + o.on + ".sql", prefix + o.on + ".args"} {
					if text, ok := o.own[name]; ok {
						c.set(name, text)
					}
				}
			}
		}
		for _, o := range outcomes {
			if o.prefix == prefix && o.on == testdb.SQLite {
				for _, name := range []string{"answer", "meta", "error"} {
					if text, ok := o.shared[prefix+name]; ok {
						c.set(prefix+name, text)
					}
				}
			}
		}
	}
	if err := os.WriteFile(file, c.format(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// tell writes problems as one JSON object a line, in their order.
func tell(err error) string {
	var list problem.List
	if !errors.As(err, &list) {
		return fmt.Sprintf("NOT A PROBLEM LIST: %T %v", err, err)
	}
	var lines []string
	for _, p := range list {
		lines = append(lines, encode(struct {
			Code    problem.Code `json:"code"`
			At      string       `json:"at,omitempty"`
			Message string       `json:"message"`
			Hint    string       `json:"hint,omitempty"`
		}{p.Code, p.At, p.Message, p.Hint}))
	}
	return strings.Join(lines, "\n")
}

func encode(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return fmt.Sprintf("%T %v: %v", v, v, err)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// argsText writes the arguments of a statement one a line, so that a number differs from a text.
func argsText(args []any) string {
	var lines []string
	for _, a := range args {
		switch v := a.(type) {
		case nil, bool, string, int, int64, uint64, float64:
			lines = append(lines, encode(v))
		case []byte:
			lines = append(lines, encode(map[string]string{"bytes": base64.StdEncoding.EncodeToString(v)}))
		case time.Time:
			lines = append(lines, encode(map[string]string{"time": v.Format(time.RFC3339Nano)}))
		default:
			lines = append(lines, encode(map[string]string{fmt.Sprintf("%T", v): fmt.Sprint(v)}))
		}
	}
	return strings.Join(lines, "\n")
}
