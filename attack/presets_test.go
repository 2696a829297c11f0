package attack_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"resq/engine"
	"resq/testdb"
)

// presets are the fixture's business tools.
const presets = `
version: 1
tools:
  - name: user.list.query
    description: People, by a part of their name or their status.
    shape: list
    source: User
    order: [id]
    paging: {default: 20, max: 100, onUnderMin: error}
    params:
      id: {type: integer}
      name: {type: string, match: contains}
      status: {type: integer}
    columns: [id, name, email, phone, status]
  - name: order.detail.get
    description: One order by its id.
    shape: record
    source: Order
    params:
      id: {type: integer, required: true}
    columns: ["*"]
  - name: admin.only.tool
    description: For keys of another scope.
    shape: count
    source: User
`

// preset says that a line is about a business tool.
func (l *line) preset() bool {
	return strings.HasPrefix(l.Tool, "preset:")
}

// TestCorpusPresets calls the business tools of every line on every database (V-03 to V-09, B-007, B-018).
func TestCorpusPresets(t *testing.T) {
	lines := slices.DeleteFunc(ours(t), func(l line) bool { return !l.preset() })
	tables := fixtureTables(t, needCorpus(t, "fixture.yaml"))
	score := &scores{}
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		g := newTarget(t, on, tables)
		refused := map[string]string{}
		for _, l := range lines {
			t.Run(l.ID, func(t *testing.T) {
				t.Cleanup(func() { score.add(l.Category, t.Failed()) })
				args := l.arguments(t)
				g.recorder.Reset()
				ans, err := g.engine.CallTool(context.Background(), people[l.As], engine.Call{Tool: strings.TrimPrefix(l.Tool, "preset:"), Args: args.bytes()})
				said := spoken(ans, err)
				noLeak(t, &l, args, said)
				ran := g.recorder.Statements()
				textsAreOurs(t, args, ran)
				if l.Expect == "reject" {
					if err == nil || code(err) != l.Code {
						t.Fatalf("want %s (%s)\n%s", l.Code, l.Note, said)
					}
					if l.Code != "NOT_FOUND_OR_FORBIDDEN" && len(ran) > 0 {
						t.Errorf("refused, but %d statements ran: %v", len(ran), ran)
					}
					refused[l.ID] = said
					return
				}
				if err != nil {
					t.Fatalf("refused (%s):\n%s", l.Note, said)
				}
				if l.Want != nil {
					if got, want := recordIDs(t, ans.Text), fmt.Sprint(l.Want.RowsIDs); got != want {
						t.Errorf("ids %s, want %s (%s)", got, want, l.Note)
					}
				}
			})
		}
		if refused["PRE-020"] != refused["PRE-021"] { // an order that is not seen, and one that is not there
			t.Errorf("%s\nis not\n%s", refused["PRE-020"], refused["PRE-021"])
		}
	})
	score.print(t)
}

// recordIDs gives the ids of a page, whose total must be their number.
func recordIDs(t *testing.T, text []byte) string {
	t.Helper()
	var page struct {
		Total   int
		Records []struct{ ID json.Number }
	}
	if err := json.Unmarshal(text, &page); err != nil {
		t.Fatal(err)
	}
	ids := []json.Number{}
	for _, r := range page.Records {
		ids = append(ids, r.ID)
	}
	if page.Total != len(ids) {
		t.Errorf("total %d of %d records", page.Total, len(ids))
	}
	return fmt.Sprint(ids)
}
