package engine_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"resq/engine"
	"resq/schema/problem"
	"resq/testdb"
)

// A client with a dialog gets the token beside the text. No ends the preview for good, and only with the preview's own token; yes is
// the same call as ever.
func TestDialog(t *testing.T) {
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		b := newOffice(t, on)
		who := person("42", "1")
		const change = `{"resource":"Person","ids":[1],"data":{"name":"Rory"}`
		say := func(call engine.Call) (*engine.Answer, string) {
			t.Helper()
			a, err := b.engine.Write(context.Background(), who, call)
			if err != nil {
				p := problem.From(err)[0]
				return nil, string(p.Code) + " " + p.Message
			}
			return a, string(a.Text)
		}
		propose := func() *engine.Preview {
			t.Helper()
			a, text := say(engine.Call{Tool: "res-update", Args: []byte(change + `}`), Dialog: true})
			var p struct {
				Message string
				Confirm map[string]any
			}
			if a == nil || json.Unmarshal(a.Text, &p) != nil || p.Confirm["token"] != nil || p.Confirm["short_code"] == "" || strings.Contains(text, a.Preview.Token) || strings.Contains(p.Message, "__confirm_token__") {
				t.Fatalf("the preview: %s", text)
			}
			return a.Preview
		}
		decided := func(yes, token string, dialog bool) string {
			t.Helper()
			_, text := say(engine.Call{Tool: "res-update", Args: []byte(change + `,"__confirm__":` + yes + `,"__confirm_token__":"` + token + `"}`), Dialog: dialog})
			return text
		}
		p := propose()
		if said := decided("false", "rq1.nonsense", true); !strings.HasPrefix(said, "CONFIRM_INVALID") {
			t.Errorf("no under a token of somebody else: %s", said)
		}
		if said := decided("false", p.Token, false); !strings.Contains(said, "CONFIRM_REQUIRED") {
			t.Errorf("no of a client without a dialog: %s", said)
		}
		if said := decided("false", p.Token, true); !strings.HasPrefix(said, "APPROVAL_DENIED") {
			t.Errorf("no: %s", said)
		}
		if said := decided("true", p.Token, true); !strings.HasPrefix(said, "APPROVAL_DENIED") {
			t.Errorf("yes after no: %s", said)
		}
		// What the user was asked beside the dialog and did not answer is told once more, without the token.
		p = propose()
		if a, text := say(engine.Call{Tool: "res-update", Args: []byte(change + `}`), Dialog: true, Token: p.Token, Consent: engine.Silent}); a == nil || strings.Contains(text, `"token":`) || a.Preview.Operation != p.Operation {
			t.Errorf("told once more: %s", text)
		}
		// That a page was opened applies nothing of what no person approved.
		if _, text := say(engine.Call{Tool: "res-update", Args: []byte(change + `}`), Token: p.Token, Consent: engine.Opened}); !strings.Contains(text, `"token":"rq1.`) || strings.Contains(text, `"updated"`) {
			t.Errorf("opened: %s", text)
		}
		if said := decided("true", p.Token, true); !strings.Contains(said, `"updated":1`) {
			t.Errorf("yes: %s", said)
		}
	})
}
