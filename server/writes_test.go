package server

import (
	"slices"
	"strings"
	"testing"

	"resq/engine"
	"resq/engine/policy"
)

// The tools that write are there for those who have the scope, and a resource that takes it; listing and
// calling agree for every combination (N4).
func TestWriteToolsByScope(t *testing.T) {
	all := []string{toolSchema, toolQuery, toolCreate, toolUpdate, toolDelete, toolOperation, toolUndo}
	for _, scopes := range [][]string{nil, {"read"}, {"read", "write"}, {"read", "delete"}, {"write"}, {"delete"}, {"read", "write", "delete"}, {"admin"}} {
		for can := engine.Verbs(0); can < 8; can++ {
			f := newFake()
			f.can = can
			s := newServer(t, f, Options{})
			who := &policy.Principal{Name: "x", Key: "k", Scopes: scopes}
			var listed []string
			c := caller{who: who, verbs: s.verbs(who), view: s.views().view(contractProfile), version: 1}
			for _, d := range c.open() {
				listed = append(listed, d.Name)
			}
			for _, tool := range all {
				r, ok := s.Call(t.Context(), who, tool, []byte(`{"resource":"Order"}`))
				if !ok {
					t.Fatalf("no tool %s", tool)
				}
				denied := r.Failed && r.Code == "PERMISSION_DENIED"
				has := slices.Contains(listed, tool)
				scoped := s.scoped(tool, who)
				switch {
				case has && denied:
					t.Errorf("scopes %v, verbs %b: %s is listed but refused", scopes, can, tool)
				case !scoped && !denied:
					t.Errorf("scopes %v, verbs %b: %s is answered without its scope: %v", scopes, can, tool, r.Texts)
				case !has && scoped && can == 7:
					t.Errorf("scopes %v: %s is not listed", scopes, tool)
				}
			}
			if can == 0 && len(listed) > 2 {
				t.Errorf("no resource is writable, and yet there are %v", listed)
			}
		}
	}
}

func (s *Server) scoped(tool string, who *policy.Principal) bool {
	d, _ := s.views().box.find(tool)
	return d.scoped(who)
}

// A preview is an answer and no error; its record says what it is, and the engine learns the call's id.
func TestPreviewIsNoError(t *testing.T) {
	f := newFake()
	f.can = engine.Updates
	log, lines := quietLog()
	s := newServer(t, f, Options{Log: log})
	who := &policy.Principal{Name: "x", Scopes: []string{"read", "write"}}
	r, _ := s.Call(t.Context(), who, "res_update", []byte(`{"resource":"Order","ids":[1],"data":{"a":1}}`))
	if r.Failed || r.Code != "CONFIRM_REQUIRED" || !strings.Contains(r.Texts[0], "rq1.fake") {
		t.Errorf("%+v", r)
	}
	if f.calls[0].Tool != toolUpdate || f.calls[0].Request != r.RequestID {
		t.Errorf("the engine got %+v for request %s", f.calls[0], r.RequestID)
	}
	if !strings.Contains(lines.String(), "CONFIRM_REQUIRED") || strings.Contains(lines.String(), "rq1.") {
		t.Errorf("the record: %s", lines)
	}
}
