package attack_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"resq/engine"
	"resq/testdb"
)

// closer holds, for lines whose note asks more than their `want` says, the check of that.
var closer = map[string]func(t *testing.T, g *target, l *line, ans *engine.Answer){
	"DOS-002": func(t *testing.T, _ *target, _ *line, ans *engine.Answer) {
		_, rows := decode(t, ans)
		if !ans.Cut || len(rows) == 0 || len(rows) != ans.Rows {
			t.Errorf("cut %v, %d rows told, %d rows there; want a cut at a row boundary", ans.Cut, ans.Rows, len(rows))
		}
		if len(ans.Text) > 1<<20 {
			t.Errorf("the answer has %d bytes, more than 1 MiB", len(ans.Text))
		}
		contains(t, ans, `"hasMore":true`, `"notice"`, `"cursor"`)
	},
	"PAG-012": func(t *testing.T, _ *target, _ *line, ans *engine.Answer) { contains(t, ans, `"notice"`) },
	"REC-017": func(t *testing.T, _ *target, _ *line, ans *engine.Answer) { contains(t, ans, "CYCLE_CUT") },
	"EXP-145": func(t *testing.T, _ *target, _ *line, ans *engine.Answer) { only(t, ans, "501/2") },
	"EXP-146": func(t *testing.T, _ *target, _ *line, ans *engine.Answer) { only(t, ans, "1817/25") },
	"MSK-004": func(t *testing.T, _ *target, _ *line, ans *engine.Answer) {
		columns, rows := decode(t, ans)
		want := []string{"id", "name", "email", "phone", "status", "dept_id", "created_at"}
		if !slices.Equal(columns, want) {
			t.Fatalf("columns %v, want %v", columns, want)
		}
		phones := []any{"*******5678", "*******1234", "****", nil, "*******0000", "*******0001"}
		for i, r := range rows {
			if r[2] != "****" || i >= len(phones) || r[3] != phones[i] {
				t.Errorf("row %d: email %v, phone %v", i, r[2], r[3])
			}
		}
	},
	"ROW-002": func(t *testing.T, g *target, l *line, ans *engine.Answer) {
		raw := bytes.Replace(l.arguments(t).bytes(), []byte(`"token":"3"`), []byte(`"token":"999"`), 1)
		missing, _, err := g.call(l.Tool, people[l.As], raw)
		if err != nil || !bytes.Equal(ans.Text, missing.Text) {
			t.Errorf("an invisible row is told apart from a missing one:\n%s\n%s %v", ans.Text, missing.Text, err)
		}
	},
	"ROW-012": func(t *testing.T, _ *target, _ *line, ans *engine.Answer) {
		if _, rows := decode(t, ans); len(rows) != 6 {
			t.Errorf("%d rows, want 6", len(rows))
		}
	},
}

func contains(t *testing.T, ans *engine.Answer, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !bytes.Contains(ans.Text, []byte(p)) {
			t.Errorf("the answer lacks %s:\n%.400s … %s", p, ans.Text, ans.Text[max(0, len(ans.Text)-200):])
		}
	}
}

func only(t *testing.T, ans *engine.Answer, want string) {
	t.Helper()
	_, rows := decode(t, ans)
	if len(rows) != 1 || canonical(rows[0][0]) != want {
		t.Errorf("rows are %v, want %s", rows, want)
	}
}

// TestCorpusPurged holds every answer of the corpus to the definition of correct (security.md 5.1): alice on the
// whole database gets byte for byte what an unrestricted principal gets where the rows that alice may not see
// do not exist.
func TestCorpusPurged(t *testing.T) {
	lines := reads(t)
	tables := fixtureTables(t, needCorpus(t, "fixture.yaml"))
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		whole, purged := newTarget(t, on, tables), newTarget(t, on, purge(tables))
		for _, l := range lines {
			if l.Expect != "bound" || l.As != "alice" || l.Fixture != "" || !l.on(on.Name) {
				continue
			}
			raw := l.arguments(t).bytes()
			a, _, errA := whole.call(l.Tool, people["alice"], raw)
			b, _, errB := purged.call(l.Tool, people["root"], raw)
			if x, y := spoken(a, errA), spoken(b, errB); hideCursor(x) != hideCursor(y) {
				t.Errorf("%s: with invisible rows\n%s\nwithout them\n%s", l.ID, x, y)
			}
		}
	})
}

// purge leaves the rows that the fixture says alice sees.
func purge(tables []table) []table {
	visible := map[string][]string{
		"t_dept": {"1", "10", "20", "30", "40", "50", "51"}, "t_user": {"1", "2", "5", "6", "7", "8"}, "t_order": {"1", "2", "3", "4", "5", "6"},
	}
	var purged []table
	for _, tb := range tables {
		tb.rows = slices.DeleteFunc(slices.Clone(tb.rows), func(r []*string) bool { return !slices.Contains(visible[tb.name], *r[0]) })
		purged = append(purged, tb)
	}
	return purged
}

func hideCursor(s string) string {
	before, rest, found := strings.Cut(s, `"cursor":"`)
	if !found {
		return s
	}
	_, after, _ := strings.Cut(rest, `"`)
	return before + after
}

// TestCorpusAbsence compares what is told of hidden things with what is told of things that do not exist (C8): the
// same bytes but for the name that the caller sent.
func TestCorpusAbsence(t *testing.T) {
	needCorpus(t, "fixture.yaml")
	g := newTarget(t, testdb.Engines(t)[0], fixtureTables(t, needCorpus(t, "fixture.yaml")))
	for _, c := range []struct{ name, request string }{
		{"resource", `{"resource":"NAME","fields":[{"code":"id"}]}`},
		{"relation", `{"resource":"User","fields":[{"code":"id"}],"relations":[{"code":"h","type":"inner","actuallyResource":"NAME","actuallyField":"id","relationResource":"User","relationField":"id"}]}`},
		{"nested", `{"resource":"User","fields":[{"code":"id"}],"conditions":{"type":"and","exprs":[{"field":"id","operator":"IN","tokenType":"query","query":{"resource":"NAME","fields":[{"code":"id"}]}}]}}`},
		{"set operation", `{"resource":"User","fields":[{"code":"id"}],"setOps":[{"op":"union","query":{"resource":"NAME","fields":[{"code":"id"}]}}]}`},
		{"with", `{"resource":"w","with":[{"code":"w","query":{"resource":"NAME","fields":[{"code":"id"}]}}],"fields":[]}`},
		{"expression", `{"resource":"User","fields":[{"code":"NAME.id","isExpr":true,"alias":"x"}]}`},
		{"condition", `{"resource":"User","fields":[{"code":"id"}],"conditions":{"type":"and","exprs":[{"field":"id","fieldResource":"NAME","operator":"=","token":"1"}]}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			var said [2]string
			for i, name := range []string{"HiddenResource", "HiddenResxurce"} { // the second exists nowhere
				ans, ran, err := g.call("res-query", people["alice"], []byte(strings.ReplaceAll(c.request, "NAME", name)))
				if err == nil || len(ran) > 0 {
					t.Fatalf("%s: answered, or %d statements ran: %s", name, len(ran), spoken(ans, err))
				}
				said[i] = strings.ReplaceAll(spoken(ans, err), name, "NAME")
			}
			if said[0] != said[1] {
				t.Errorf("a hidden resource is told apart from a missing one:\n%s\n%s", said[0], said[1])
			}
		})
	}
	for _, keywords := range []string{"HiddenResource", "t_hidden", "Hidden", ""} {
		ans, _, err := g.call("res-schema", people["alice"], []byte(`{"keywords":`+quote(keywords)+`}`))
		if said := spoken(ans, err); strings.Contains(strings.ReplaceAll(said, `"`+keywords+`"`, ""), "Hidden") {
			t.Errorf("keywords %q show the hidden resource:\n%s", keywords, said)
		}
	}
}
