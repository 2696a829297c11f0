package attack_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"resq/engine"
	"resq/engine/policy"
	"resq/server"
	"resq/testdb"
)

// A twin is one of two servers that alice must not be able to tell apart: in the first there are rows, resources and
// operations that are not hers, in the second there are none.
type twin struct {
	*target
	url string
}

func newTwin(t *testing.T, on testdb.Engine, tables []table, catalog string) *twin {
	t.Helper()
	w := &twin{target: newTarget(t, on, tables)}
	w.engine = w.start(t, catalog, engine.Options{Now: clock, Secret: firstSecret})
	if err := w.engine.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	s, err := server.New(backend{w.engine}, server.Options{Log: slog.New(slog.DiscardHandler), Authenticate: func(_ context.Context, key string) (*policy.Principal, error) {
		return people[key], nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	w.url = serve(t, s)
	return w
}

var callID = regexp.MustCompile(`\\?"(request_id|cursor)\\?":\\?"[^"\\]*\\?"`)

// say gives the bytes of an answer over HTTP but for what is random, and how many statements it took and how long.
func (w *twin) say(t *testing.T, as, body string) (text string, statements int, took time.Duration) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Authorization": "Bearer " + as} {
		req.Header.Set(k, v)
	}
	w.recorder.Reset()
	start := time.Now()
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return callID.ReplaceAllString(string(raw), ""), len(w.recorder.Texts()), time.Since(start)
}

// absences are calls about what alice does not see: row 3 and 9 of users, 7 and 10 of orders, a resource, an operation of bob's.
var absences = []struct{ about, tool, args string }{
	{"a row", "res-query", `{"resource":"User","fields":[],"conditions":{"type":"and","exprs":[{"field":"id","operator":"=","token":"3"}]}}`},
	{"a row by a join", "res-query", `{"resource":"Order","fields":[{"code":"id"},{"code":"name","codeResource":"U","alias":"n"}],"relations":[{"code":"U","actuallyResource":"User","actuallyField":"id","relationResource":"Order","relationField":"user_id","type":"left"}],"orderBy":["Order.id"]}`},
	{"a number of rows", "res-query", `{"resource":"Order","fields":[{"code":"COUNT(*)","isExpr":true,"alias":"n"},{"code":"SUM(Order.amount)","isExpr":true,"alias":"s"}]}`},
	{"a resource", "res-query", `{"resource":"HiddenResource","fields":[]}`},
	{"a field of a resource", "res-query", `{"resource":"User","fields":[{"code":"HiddenResource.name","isExpr":true,"alias":"x"}]}`},
	{"a resource by name", "res-schema", `{"keywords":"HiddenResource","detail":"full"}`},
	{"a resource by its table", "res-schema", `{"keywords":"t_hidden","detail":"full"}`},
	{"all resources", "res-schema", `{"detail":"full"}`},
	{"an update", "res-update", `{"resource":"User","ids":[3],"data":{"status":2}}`},
	{"an update of some that are seen", "res-update", `{"resource":"User","ids":[1,3,9],"data":{"status":2}}`},
	{"a dry update", "res-update", `{"resource":"Order","ids":[7],"data":{"status":2},"dry_run":true}`},
	{"a confirmed update", "res-update", `{"resource":"User","ids":[3],"data":{"status":2},"__confirm__":true,"__confirm_token__":"rq1.AAAA"}`},
	{"an update of a resource", "res-update", `{"resource":"HiddenResource","ids":[1],"data":{"name":"x"}}`},
	{"an update to a value of a row", "res-update", `{"resource":"Order","ids":[1],"data":{"user_id":3}}`},
	{"a deletion", "res-delete", `{"resource":"Order","ids":[7]}`},
	{"a deletion of some that are seen", "res-delete", `{"resource":"Order","ids":[1,7,10]}`},
	{"a deletion in a resource", "res-delete", `{"resource":"HiddenResource","ids":[1]}`},
	{"a creation for a row", "res-create", `{"resource":"Order","data":{"user_id":3,"amount":"1.00","status":1}}`},
	{"a creation in a resource", "res-create", `{"resource":"HiddenResource","data":{"id":7,"name":"x"}}`},
	{"an operation", "res-operation", `{"op_id":"OPERATION"}`},
	{"an undo", "res-undo", `{"op_id":"OPERATION"}`},
	{"a confirmed undo", "res-undo", `{"op_id":"OPERATION","__confirm__":true,"__confirm_token__":"rq1.AAAA"}`},
}

// C8: missing, invisible and forbidden things give the same bytes but for the id of the request, after the same number of
// statements, for every tool and over the whole way of a call.
func TestAbsence(t *testing.T) {
	tables := fixtureTables(t, needCorpus(t, "fixture.yaml"))
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		hidden, _, _ := strings.Cut(catalog, "  - code: HiddenResource")
		there, gone := newTwin(t, on, tables, catalog), newTwin(t, on, purge(tables), hidden)
		// bob's own change, which exists on one of the two
		said, _, _ := there.say(t, "bob", call("res-update", `{"resource":"User","ids":[3],"data":{"status":5}}`))
		token := regexp.MustCompile(`rq1\.[\w.-]+`).FindString(said)
		said, _, _ = there.say(t, "bob", call("res-update", `{"resource":"User","ids":[3],"data":{"status":5},"__confirm__":true,"__confirm_token__":"`+token+`"}`))
		operation := regexp.MustCompile(`[0-9a-f]{32}`).FindString(said)
		if token == "" || operation == "" {
			t.Fatalf("bob's change: %s", said)
		}
		// What the database does by itself when rows change is asked once, and not for each call.
		for _, w := range []*twin{there, gone} {
			for _, resource := range []string{"User", "Order"} {
				w.say(t, "alice", call("res-delete", `{"resource":"`+resource+`","ids":[1],"dry_run":true}`))
			}
		}
		for _, c := range absences {
			for _, as := range []string{"alice", "readonly_key", "dave_no_dept"} {
				body := call(c.tool, strings.ReplaceAll(c.args, "OPERATION", operation))
				a, ran, _ := there.say(t, as, body)
				b, alsoRan, _ := gone.say(t, as, body)
				if a != b {
					t.Errorf("%s, asked by %s, is told apart:\n%s\n%s", c.about, as, a, b)
				}
				if ran != alsoRan {
					t.Errorf("%s, asked by %s, takes %d statements where it is and %d where it is not", c.about, as, ran, alsoRan)
				}
				if strings.Contains(a, "Carol") {
					t.Errorf("%s: %s", c.about, a)
				}
			}
		}
		for _, uri := range []string{"resq://resource/HiddenResource", "resq://resource/t_hidden", "resq://export/AAAAAAAAAAAAAAAAAAAAAAAAAA"} {
			body := `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"` + uri + `"}}`
			a, _, _ := there.say(t, "alice", body)
			if b, _, _ := gone.say(t, "alice", body); a != b || !strings.Contains(a, "NOT_FOUND_OR_FORBIDDEN") {
				t.Errorf("%s:\n%s\n%s", uri, a, b)
			}
		}
		// The comparison itself can tell: what alice does see differs where it is changed.
		if _, err := gone.db.Exec("UPDATE t_user SET status = 7 WHERE id = 1"); err != nil {
			t.Fatal(err)
		}
		body := call("res-query", `{"resource":"User","fields":[]}`)
		a, _, _ := there.say(t, "alice", body)
		if b, _, _ := gone.say(t, "alice", body); a == b {
			t.Errorf("two different answers look the same: %s", a)
		}
	})
}

func call(tool, args string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tool + `","arguments":` + args + `}}`
}
