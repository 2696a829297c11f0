// Package attack_test drives the shared attack corpus through the engine, on every database, with a recorder
// between engine and driver: what must be refused must not reach the database, what must be answered must be
// answered exactly, and no byte of a caller may ever be SQL (security.md, promises C1 to C5).
package attack_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"resq/engine"
	"resq/engine/policy"
	"resq/schema/problem"
	"resq/testdb"
)

// A line of the corpus.
type line struct {
	ID, Category, Tool, Note string
	Arguments                json.RawMessage
	Expect, Code, As         string
	Fixture                  string
	Dialect                  []string
	Mode                     string
	Pre                      []json.RawMessage
	Params                   json.RawMessage // of the protocol, beside the arguments
	Headers                  map[string]string
	Want                     *struct {
		Rows    []json.RawMessage
		RowsIDs []json.Number `json:"rows_ids"`
	}
}

func corpus(t testing.TB) []line {
	t.Helper()
	var lines []line
	for text := range bytes.Lines(needCorpus(t, "attack.jsonl")) {
		var l line
		d := json.NewDecoder(bytes.NewReader(text))
		d.UseNumber()
		if err := d.Decode(&l); err != nil {
			t.Fatalf("attack.jsonl: %v in %.80s", err, text)
		}
		if l.As == "" {
			l.As = "alice"
		}
		lines = append(lines, l)
	}
	return lines
}

// ours gives the lines that this package runs, and fails for every line of which nobody knows who runs it.
func ours(t testing.TB) []line {
	t.Helper()
	reasons := notRun()
	var run []line
	for _, l := range corpus(t) {
		here := l.Tool == "res-query" || l.Tool == "res-schema" || l.writes() || l.foreign() || l.preset()
		reason, listed := reasons[l.ID]
		delete(reasons, l.ID)
		switch {
		case listed && here && reason != serverLines && reason != frontLines:
			t.Errorf("%s is listed as run elsewhere, but is a line for this package", l.ID)
		case !listed && !here:
			t.Errorf("%s (%s) is neither run here nor listed with the reason why not", l.ID, l.Tool)
		case here && !listed:
			run = append(run, l)
		}
	}
	for id := range reasons {
		t.Errorf("%s is listed as run elsewhere, but the corpus has no such line", id)
	}
	return run
}

// reads are the lines of the tools that read; the others are TestCorpusWrites'.
func reads(t testing.TB) []line {
	return slices.DeleteFunc(ours(t), func(l line) bool { return l.writes() || l.foreign() || l.preset() })
}

// foreign says that a line is about SQL tools.
func (l *line) foreign() bool { return strings.HasPrefix(l.Tool, "sqltool") }

func (l *line) writes() bool {
	return l.Tool == "res-create" || l.Tool == "res-update" || l.Tool == "res-delete"
}

func (l *line) on(name string) bool { return len(l.Dialect) == 0 || slices.Contains(l.Dialect, name) }

// arguments is what is sent: the arguments with their macros written out.
func (l *line) arguments(t testing.TB) *value {
	t.Helper()
	v, err := parseValue(l.Arguments)
	if err == nil {
		v, err = expand(v)
	}
	if err != nil {
		t.Fatalf("%s: arguments: %v", l.ID, err)
	}
	return v
}

// TestCorpus runs every line of this package on every database and prints the score of each category.
func TestCorpus(t *testing.T) {
	lines := reads(t)
	tables := fixtureTables(t, needCorpus(t, "fixture.yaml"))
	score := &scores{}
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		small, big := newTarget(t, on, tables), newTarget(t, on, enlarge(tables))
		for _, l := range lines {
			if !l.on(on.Name) {
				continue
			}
			t.Run(l.ID, func(t *testing.T) {
				t.Cleanup(func() { score.add(l.Category, t.Failed()) })
				g := small
				if l.Fixture == "big" {
					g = big
				}
				before := g.hash(t)
				l.attack(t, g)
				if g.hash(t) != before {
					t.Errorf("the tables have changed")
				}
			})
		}
	})
	score.print(t)
}

// call runs the tool of the line and gives what came back with what reached the driver.
func (g *target) call(tool string, who *policy.Principal, raw []byte) (*engine.Answer, []testdb.Statement, error) {
	g.recorder.Reset()
	var ans *engine.Answer
	var err error
	if tool == "res-schema" {
		ans, err = g.engine.Describe(context.Background(), who, raw)
	} else {
		ans, err = g.engine.Query(context.Background(), who, raw)
	}
	return ans, g.recorder.Statements(), err
}

func (l *line) attack(t *testing.T, g *target) {
	args := l.arguments(t)
	raw := args.bytes()
	ans, ran, err := g.call(l.Tool, people[l.As], raw)
	said := spoken(ans, err)
	noLeak(t, l, args, said)
	textsAreOurs(t, args, ran)
	if l.Expect == "reject" {
		switch {
		case err == nil:
			t.Fatalf("answered, want %s (%s)\n%s", l.Code, l.Note, said)
		case code(err) != l.Code:
			t.Errorf("refused with %s, want %s (%s)\n%s", code(err), l.Code, l.Note, said)
		}
		if len(ran) > 0 {
			t.Errorf("refused, but %d statements ran: %v", len(ran), ran)
		}
		return
	}
	if err != nil {
		c := code(err)
		if (c == "DATA_ERROR" || c == "TIMEOUT") && strings.Contains(l.Note, c) {
			return
		}
		t.Fatalf("refused (%s):\n%s", l.Note, said)
	}
	if l.Want != nil {
		l.compare(t, ans, args)
	}
	if f := closer[l.ID]; f != nil {
		f(t, g, l, ans)
	}
}

func code(err error) string {
	var list problem.List
	if !errors.As(err, &list) || len(list) == 0 {
		return fmt.Sprintf("no problem list but %T", err)
	}
	return string(list[0].Code)
}

// spoken is everything the caller gets to see.
func spoken(ans *engine.Answer, err error) string {
	var b strings.Builder
	if ans != nil {
		b.Write(ans.Text)
		b.Write(ans.Meta)
	}
	var list problem.List
	if errors.As(err, &list) {
		for _, p := range list {
			fmt.Fprintf(&b, "%s at %q: %s · %s\n", p.Code, p.At, p.Message, p.Hint)
		}
	} else if err != nil {
		fmt.Fprintf(&b, "%T: %v", err, err)
	}
	return b.String()
}
