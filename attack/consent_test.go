package attack_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"resq/engine/policy"
	"resq/schema/problem"
	"resq/server"
	"resq/testdb"
)

const yes = `{"confirm":{"action":"accept","content":{"confirm":true}}}`

// listen serves the replica's engine over HTTP to everybody of the corpus, each with a key of the own name.
func (p *play) listen() string {
	p.t.Helper()
	s, err := server.New(backend{p.engine}, server.Options{Log: slog.New(slog.DiscardHandler), Authenticate: func(_ context.Context, key string) (*policy.Principal, error) {
		if _, ok := people[key]; !ok {
			return nil, nil
		}
		return p.who(key), nil
	}})
	if err != nil {
		p.t.Fatal(err)
	}
	return serve(p.t, s)
}

// serve runs a server until the test ends, and gives its URL.
func serve(t *testing.T, s *server.Server) string {
	t.Helper()
	l, err := s.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	t.Cleanup(func() {
		stop()
		<-done
	})
	return "http://" + l.Addr().String() + server.Path
}

// A posted is what came back over HTTP.
type posted struct {
	Result struct {
		Content      []struct{ Text string }
		IsError      bool
		ResultType   string
		RequestState string
	}
}

// post sends a call as a client does whose user can be asked, with parameters of the protocol beside the arguments.
func (p *play) post(as, tool string, args []byte, params json.RawMessage) *server.Reply {
	p.t.Helper()
	return p.postTo(p.listen(), as, tool, args, params).reply(p.t)
}

func (p *play) postTo(url, as, tool string, args []byte, params json.RawMessage) posted {
	p.t.Helper()
	all := map[string]json.RawMessage{}
	if params != nil {
		if err := json.Unmarshal(params, &all); err != nil {
			p.t.Fatal(err)
		}
	}
	all["name"], all["arguments"] = fmt.Appendf(nil, "%q", tool), args
	all["_meta"] = []byte(`{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}`)
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": all})
	if err != nil {
		p.t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(p.t.Context(), http.MethodPost, url, strings.NewReader(string(body)))
	if err != nil {
		p.t.Fatal(err)
	}
	for k, v := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Authorization": "Bearer " + as,
		"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": tool} {
		req.Header.Set(k, v)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, _ := io.ReadAll(resp.Body)
	var r posted
	if err := json.Unmarshal(raw, &r); err != nil || resp.StatusCode != http.StatusOK {
		p.t.Fatalf("%d %s (%v)", resp.StatusCode, raw, err)
	}
	return r
}

// reply is the answer as Call gives it.
func (r posted) reply(t testing.TB) *server.Reply {
	t.Helper()
	out := &server.Reply{Failed: r.Result.IsError}
	for _, c := range r.Result.Content {
		out.Texts = append(out.Texts, c.Text)
	}
	var told struct {
		Code  problem.Code
		Error struct{ Code problem.Code }
	}
	if len(out.Texts) == 0 {
		out.Code = problem.Code("asked: " + r.Result.ResultType)
		return out
	}
	if err := json.Unmarshal([]byte(out.Texts[0]), &told); err != nil {
		t.Fatalf("%v in %s", err, out.Texts[0])
	}
	if out.Code = told.Code; told.Error.Code != "" {
		out.Code = told.Error.Code
	}
	return out
}

// What a client says of its user never does more than the call with the token: not with a state that was made up,
// changed, used or another's, not with other arguments, not after a no, and not where a person has to approve
// (security.md 3.10, 3.11).
func TestConsentForged(t *testing.T) {
	tables := fixtureTables(t, needCorpus(t, "fixture.yaml"))
	const args, others = `{"resource":"User","ids":[1],"data":{"status":2}}`, `{"resource":"User","ids":[1],"data":{"status":3}}`
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		stage := func(mode string, test func(p *play, url, state string)) {
			t.Run(mode, func(t *testing.T) {
				p := &play{t: t, l: &line{Mode: mode}, target: newTarget(t, on, tables), people: map[string]*policy.Principal{}, saved: map[string]string{}}
				p.begin()
				url := p.listen()
				asked := p.postTo(url, "alice", "res-update", []byte(args), nil)
				test(p, url, asked.Result.RequestState)
			})
		}
		said := func(p *play, url, as, args, state, answer string) string {
			return string(p.postTo(url, as, "res-update", []byte(args), fmt.Appendf(nil, `{"requestState":%q,"inputResponses":%s}`, state, answer)).reply(p.t).Code)
		}
		stage("token", func(p *play, url, state string) {
			before := p.hash(p.t)
			for _, c := range [][4]string{
				{"alice", args, "forged", "CONFIRM_REQUIRED"},
				{"alice", args, state[:len(state)-8] + "AAAAAAAA", "CONFIRM_REQUIRED"},
				{"alice", args, "", "asked: input_required"},
				{"manager", args, state, "CONFIRM_INVALID"},
				{"alice", others, state, "CONFIRM_MISMATCH"},
			} {
				if got := said(p, url, c[0], c[1], c[2], yes); got != c[3] {
					p.t.Errorf("%s says yes with the state %s: %s, want %s", c[0], c[2], got, c[3])
				}
			}
			if p.hash(p.t) != before {
				p.t.Error("the tables have changed")
			}
			for i := range 3 { // the second and third are told what the first did
				if got := said(p, url, "alice", args, state, yes); got != "" {
					p.t.Errorf("yes number %d: %s", i+1, got)
				}
			}
			p.once()
			p.cell("SELECT status FROM t_user WHERE id = 1", "2")
		})
		stage("declined", func(p *play, url, state string) {
			before := p.hash(p.t)
			for _, answer := range []string{`{"confirm":{"action":"decline"}}`, yes} {
				if got := said(p, url, "alice", args, state, answer); got != "APPROVAL_DENIED" {
					p.t.Errorf("%s: %s", answer, got)
				}
			}
			if p.hash(p.t) != before {
				p.t.Error("the tables have changed")
			}
		})
		stage("human", func(p *play, url, state string) {
			if state != "" {
				p.t.Fatal("a form is no approval")
			}
			var a struct{ Confirm struct{ Token string } }
			if err := json.Unmarshal([]byte(p.postTo(url, "alice", "res-update", []byte(args), nil).Result.Content[0].Text), &a); err != nil {
				p.t.Fatal(err)
			}
			before := p.hash(p.t)
			if got := said(p, url, "alice", args, a.Confirm.Token, yes); got != "APPROVAL_REQUIRED" || p.hash(p.t) != before {
				p.t.Errorf("a made-up yes: %s", got)
			}
		})
	})
}
