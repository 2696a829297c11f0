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
	"testing/fstest"

	"resq/engine"
	"resq/schema"
	"resq/schema/problem"
	"resq/testdb"
)

// foreign are the lines about SQL tools.
func foreign(t testing.TB) []line {
	return slices.DeleteFunc(ours(t), func(l line) bool { return !l.foreign() })
}

// otherwise are the lines that another database's reader refuses for another sound reason, as the corpus allows while it
// is one of the same family: quotes and casts that a dialect does not have are no SQL there.
var otherwise = map[string]string{
	"SQT-056": "postgres SQL_SYNTAX",                                    // no back-quotes
	"SQT-058": "mysql SQL_SYNTAX postgres SQL_SYNTAX sqlite SQL_SYNTAX", // U&"…" is refused as such
	"SQT-075": "mysql SQL_SYNTAX",                                       // "…" is a text
	"SQT-107": "mysql SQL_SYNTAX sqlite SQL_SYNTAX",                     // no ::
	"SQT-108": "mysql SQL_SYNTAX postgres SQL_SYNTAX sqlite SQL_SYNTAX", // (u).email is refused as such
	"SQT-111": "mysql SQL_SYNTAX postgres SQL_SYNTAX sqlite SQL_SYNTAX",
}

// TestCorpusSQLToolLoad loads the file of every line into the fixture's catalog (D-060 to D-063, D-051 to D-056).
func TestCorpusSQLToolLoad(t *testing.T) {
	lines := foreign(t)
	tables := fixtureTables(t, needCorpus(t, "fixture.yaml"))
	score := &scores{}
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		g := newTarget(t, on, tables)
		for _, l := range lines {
			if l.Tool != "sqltool-load" || !l.on(on.Name) {
				continue
			}
			t.Run(l.ID, func(t *testing.T) {
				t.Cleanup(func() { score.add(l.Category, t.Failed()) })
				l.load(t, g)
			})
		}
	})
	score.print(t)
}

// file is the tool file that a line means: its arguments are one tool, or the text of a whole file.
func (l *line) file(t *testing.T) []byte {
	args := l.arguments(t)
	if text := args.member("yaml"); text != nil {
		return []byte(text.text())
	}
	return slices.Concat([]byte(`{"version": 1, "tools": [`), args.bytes(), []byte("]}"))
}

func (l *line) load(t *testing.T, g *target) {
	cat, err := g.catalog("100", map[string][]byte{"tool.yaml": l.file(t)})
	if l.Expect == "bound" {
		if err != nil {
			t.Fatalf("refused: %v (%s)", err, l.Note)
		}
		e := g.engineOf(t, cat, engine.Options{Now: clock})
		g.recorder.Reset()
		ans, err := e.CallTool(context.Background(), people["alice"], engine.Call{Tool: "t_probe", Args: []byte("{}")})
		if err != nil {
			t.Fatalf("it was loaded, and fails: %v", err)
		}
		noLeak(t, l, l.arguments(t), string(ans.Text))
		if l.ID == "SQT-117" && ans.Rows != 6 {
			t.Errorf("alice sees %d users, want hers, 6\n%s", ans.Rows, ans.Text)
		}
		return
	}
	var list problem.List
	if !errors.As(err, &list) {
		t.Fatalf("loaded, want %s (%s): %v", l.Code, l.Note, err)
	}
	got := string(list[0].Code)
	if got != l.Code && !strings.Contains(otherwise[l.ID], g.on.Name+" "+got) {
		t.Errorf("refused with %s, want %s (%s)\n%v", got, l.Code, l.Note, err)
	}
	if got == l.Code && strings.Contains(otherwise[l.ID], g.on.Name+" ") {
		t.Errorf("listed as refused for another reason on %s, and is refused with %s", g.on.Name, got)
	}
	for _, p := range list {
		if !strings.Contains(p.At, "tool.yaml:") {
			t.Errorf("the problem does not say where: %v", p)
		}
	}
}

// catalog is the fixture's, with further files.
func (g *target) catalog(names string, more map[string][]byte) (*schema.Catalog, error) {
	return g.catalogWith(names, "", more)
}

// catalogWith is catalog whose connection has further keys.
func (g *target) catalogWith(names, keys string, more map[string][]byte) (*schema.Catalog, error) {
	files := fstest.MapFS{
		"catalog.yaml":     {Data: []byte(strings.ReplaceAll(catalog, "NAME_LENGTH", names))},
		"connections.yaml": {Data: fmt.Appendf(nil, "version: 1\nconnections: {default: {driver: %s, dsn: %q, tables: [t_dept, t_user, t_order]%s}}\n", g.on.Name, g.dsn, keys)},
	}
	files["catalog.yaml"].Data = bytes.ReplaceAll(files["catalog.yaml"].Data, []byte("    writes: [create, update, delete]\n"), nil)
	for name, data := range more {
		files[name] = &fstest.MapFile{Data: data}
	}
	return schema.LoadFS(files, schema.LoadOptions{})
}

// TestCorpusSQLToolCall calls the fixture's SQL tools with the arguments of every line.
func TestCorpusSQLToolCall(t *testing.T) {
	lines := foreign(t)
	tables := fixtureTables(t, needCorpus(t, "fixture.yaml"))
	score := &scores{}
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		g := newTarget(t, on, tables)
		for _, l := range lines {
			tool, ok := strings.CutPrefix(l.Tool, "sqltool:")
			if !ok || !l.on(on.Name) {
				continue
			}
			t.Run(l.ID, func(t *testing.T) {
				t.Cleanup(func() { score.add(l.Category, t.Failed()) })
				args := l.arguments(t)
				before := g.hash(t)
				g.recorder.Reset()
				ans, err := g.engine.CallTool(context.Background(), people[l.As], engine.Call{Tool: tool, Args: args.bytes()})
				ran := g.recorder.Statements()
				said := spoken(ans, err)
				noLeak(t, &l, args, said)
				args.walk(nil, func(path []string, v *value) {
					for _, st := range ran {
						if s := v.text(); len(s) >= 3 && strings.Contains(st.SQL, s) {
							t.Errorf("the caller's %q stands in the text of a statement:\n%s", s, st.SQL)
						}
					}
				})
				if l.Expect == "reject" {
					if err == nil || code(err) != l.Code {
						t.Errorf("want %s (%s)\n%s", l.Code, l.Note, said)
					}
					if len(ran) > 0 {
						t.Errorf("refused, but %d statements ran: %v", len(ran), ran)
					}
				} else {
					if err != nil {
						t.Fatalf("refused (%s):\n%s", l.Note, said)
					}
					l.compareForeign(t, ans)
				}
				if g.hash(t) != before {
					t.Errorf("the tables have changed")
				}
			})
		}
	})
	score.print(t)
}

// compareForeign holds the rows to those that the line wants, or its note names.
func (l *line) compareForeign(t *testing.T, ans *engine.Answer) {
	var a struct {
		Success         bool
		Data            []map[string]any
		RowCount, Limit int
		Truncated       bool
	}
	if err := json.Unmarshal(ans.Text, &a); err != nil {
		t.Fatalf("%v\n%s", err, ans.Text)
	}
	if !a.Success || a.RowCount != len(a.Data) || a.Truncated {
		t.Errorf("the answer is not what it says: %s", ans.Text)
	}
	if l.Want != nil && len(l.Want.Rows) != len(a.Data) {
		t.Errorf("%d rows, want %d (%s)\n%s", len(a.Data), len(l.Want.Rows), l.Note, ans.Text)
	}
	switch l.ID {
	case "SQC-008":
		if len(a.Data) != 1 || fmt.Sprint(a.Data[0]["id"]) != "1" {
			t.Errorf("want order 1: %s", ans.Text)
		}
	case "SQC-017", "SQC-018":
		if len(a.Data) != 0 {
			t.Errorf("a value was taken for a marker: %s", ans.Text)
		}
	case "SQC-021":
		if len(a.Data) != 1 || a.Data[0]["email"] != "****" || a.Data[0]["phone"] != "*******5678" {
			t.Errorf("want **** and *******5678: %s", ans.Text)
		}
	}
}

// toolOnly are codes of what a file of tools says beside its statement, and a client does not.
var toolOnly = []string{"SQL_ROW_POLICY", "TOOL_NAME", "TOOL_TEXT", "INVALID_ARGUMENT", "SQL_PARAM"}

// TestCorpusExecuteQuery sends the statements of the lines about tools as a client's own: what a tool may not hold is
// refused there, too, before the database gets it, and validate_query says the same (D-068).
func TestCorpusExecuteQuery(t *testing.T) {
	lines := foreign(t)
	tables := fixtureTables(t, needCorpus(t, "fixture.yaml"))
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		g := newTarget(t, on, tables)
		cat, err := g.catalogWith("100", ", tools: [query]", nil)
		if err != nil {
			t.Fatal(err)
		}
		e := g.engineOf(t, cat, engine.Options{Now: clock})
		sent := 0
		for _, l := range lines {
			if l.Tool != "sqltool-load" || !l.on(on.Name) || slices.Contains(toolOnly, l.Code) {
				continue
			}
			args := l.arguments(t)
			text := args.member("sql")
			if text == nil || args.member("parameters") != nil {
				continue
			}
			sent++
			t.Run(l.ID, func(t *testing.T) {
				raw, err := json.Marshal(map[string]string{"sql": text.text()})
				if err != nil {
					t.Fatal(err)
				}
				g.recorder.Reset()
				ans, err := e.CallTool(context.Background(), people["alice"], engine.Call{Tool: "execute_query", Args: raw})
				ran := g.recorder.Statements()
				said := spoken(ans, err)
				if err != nil {
					said, _, _ = strings.Cut(said, " · ") // the hint names tables that are seen, for who writes SQL on them
				}
				noLeak(t, &l, args, said)
				if l.Expect == "bound" {
					if err != nil {
						t.Errorf("refused (%s): %v", l.Note, err)
					}
					return
				}
				got := code(err)
				if got != l.Code && !strings.Contains(otherwise[l.ID], on.Name+" "+got) {
					t.Errorf("%q, want %s (%s)\n%v", got, l.Code, l.Note, err)
				}
				if len(ran) > 0 {
					t.Errorf("refused, but %d statements ran: %v", len(ran), ran)
				}
				v, err := e.CallTool(context.Background(), people["alice"], engine.Call{Tool: "validate_query", Args: raw})
				if len(raw) > 1<<20 {
					return // no call may be so large, of whatever tool
				}
				if err != nil || !bytes.Contains(v.Text, []byte(`"valid":false`)) || !bytes.Contains(v.Text, []byte(`"code":"`+got+`"`)) {
					t.Errorf("validate_query says otherwise: %v\n%s", err, spoken(v, err))
				}
			})
		}
		if sent < 50 {
			t.Errorf("%d statements of the corpus were sent", sent)
		}
	})
}
