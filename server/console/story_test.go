package console

import (
	"regexp"
	"testing"
)

// The page of a call tells what each of its stages took.
func TestCallsStory(t *testing.T) {
	b := newBench(t, onSQLite)
	text, failed := b.call("res-query", map[string]any{"resource": "Note", "fields": []any{map[string]any{"code": "name"}}, "conditions": map[string]any{"type": "and", "exprs": []any{map[string]any{"field": "name", "operator": "=", "token": "note 2"}}}})
	if failed {
		t.Fatal(text)
	}
	w := b.as("the-viewer")
	_, list := w.get("/audit?tool=res-query")
	link := regexp.MustCompile(`href="(/audit/calls/[^"]+)"`).FindStringSubmatch(list)
	if link == nil {
		t.Fatal("the call is not listed")
	}
	_, body := w.get(link[1])
	for _, stage := range []string{"decode", "plan", "render", "execute", "shape"} {
		if !regexp.MustCompile(`<td>` + stage + `</td><td>\d+\.\d{3} ms</td>`).MatchString(body) {
			t.Errorf("the story lacks the stage %s", stage)
		}
	}
}
