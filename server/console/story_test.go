package console

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"resq/testdb"
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

// The whole story of a change that waits for a person: it appears, nobody but another login decides, the client learns the
// outcome, and it is taken back the same way (security.md 3.10, 3.12).
func TestStory(t *testing.T) {
	testdb.Each(t, func(t *testing.T, e testdb.Engine) {
		b := newBench(t, e)
		viewer, approver := b.as("the-viewer"), b.as("the-approver")
		ask := map[string]any{"resource": "Note", "ids": []int{1, 2}}
		p := b.propose("res-delete", ask)
		page := "/changes/" + p.Confirm.Op
		if _, body := viewer.get("/changes?state=previewed"); !strings.Contains(body, p.Confirm.Code) {
			t.Fatal("the change does not appear under the code that its requester has")
		}
		_, body := viewer.get(page)
		for _, want := range []string{p.Confirm.Code, "DELETE Note: 2 rows", "note 2", "agent", "res-delete", "***5678"} {
			if !strings.Contains(body, want) && !(want == "***5678" && strings.Contains(body, "5678") && !strings.Contains(body, "13812345678")) {
				t.Errorf("the page of the change lacks %q", want)
			}
		}
		if strings.Contains(body, p.Confirm.Token) || strings.Contains(body, "13812345678") {
			t.Error("the page shows the token, or a value that reads mask")
		}
		ask["__confirm__"], ask["__confirm_token__"] = true, p.Confirm.Token
		if text, failed := b.call("res-delete", ask); !failed || !strings.Contains(text, "APPROVAL_REQUIRED") {
			t.Fatalf("without an approval: %s", text)
		}
		if r, _ := approver.submit(page, page+"/approve", nil); r.StatusCode != http.StatusSeeOther {
			t.Fatalf("the approval: %s", r.Status)
		}
		if text, failed := b.call("res-delete", ask); failed {
			t.Fatalf("after the approval: %s", text)
		}
		if _, body := approver.get(page); !strings.Contains(body, "<del>note 2</del>") || strings.Contains(body, "13812345678") {
			t.Error("the page of an applied change does not say what it changed")
		}
		if _, body := viewer.get(page); !strings.Contains(body, `data-state="applied"`) || !strings.Contains(body, "the-approver") {
			t.Error("the page does not say what became of the change, and by whom")
		}
		// The undo is a change of its own, which the approver who asks for it does not approve.
		r, body := approver.submit(page, page+"/undo", nil)
		if r.StatusCode != 200 || !strings.Contains(body, "note 2") {
			t.Fatalf("the preview of the undo: %s", r.Status)
		}
		if list, err := b.engine.Operations(t.Context(), "previewed", 10); err != nil || len(list) > 1 {
			t.Fatal(list, err)
		} else if len(list) == 1 { // which is confirmed by a person too
			own := "/changes/" + list[0].ID
			if r, again := approver.get(own); r.StatusCode != 200 || strings.Contains(again, own+"/approve") {
				t.Error("who asked for the undo is offered to approve it")
			}
			if r, _ := b.as("the-admin").submit(own, own+"/approve", nil); r.StatusCode != http.StatusSeeOther {
				t.Fatalf("the approval of the undo: %s", r.Status)
			}
		}
		if r, done := approver.send(body, page+"/undo", nil); r.StatusCode != http.StatusSeeOther {
			t.Fatalf("the undo: %s %s", r.Status, done)
		}
		if text, failed := b.call("res-query", map[string]any{"resource": "Note", "fields": []any{map[string]any{"code": "id"}}, "conditions": map[string]any{"type": "and", "exprs": []any{map[string]any{"field": "id", "operator": "<", "token": "3"}}}}); failed || !strings.Contains(text, "[1]") || !strings.Contains(text, "[2]") {
			t.Errorf("the rows are not back: %s", text)
		}
	})
}
