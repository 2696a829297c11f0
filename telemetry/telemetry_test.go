package telemetry

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"resq/schema/problem"
)

// traced makes a call with two stages, of which one fails.
func traced(x *Traces, parent string) {
	ctx, end := x.Call(context.Background(), "res-query", "the-request", parent)
	x.Stage(ctx, "decode")(nil)
	x.Stage(ctx, "execute")(problem.List{{Code: problem.Timeout, Message: "a message with a value"}})
	end("TIMEOUT", 3)
}

// Spans arrive at a collector as OTLP has them: one tree, under the caller's own span, with codes and no messages.
func TestEndpoint(t *testing.T) {
	var mu sync.Mutex
	var got []batch
	var raw string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		var one batch
		if err := json.Unmarshal(b, &one); err != nil || r.Header.Get("Content-Type") != "application/json" || r.Header.Get("Authorization") != "Bearer t" {
			t.Errorf("%v %v %s", err, r.Header, b)
		}
		got, raw = append(got, one), raw+string(b)
	}))
	defer s.Close()
	x, err := New(Options{Endpoint: s.URL, Headers: map[string]string{"Authorization": "Bearer t"}, Version: "v1"})
	if err != nil {
		t.Fatal(err)
	}
	traced(x, "00-0123456789abcdef0123456789abcdef-0123456789abcdef-01")
	if err := x.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	spans := map[string]span{}
	for _, b := range got {
		for _, r := range b.ResourceSpans {
			if r.Resource.Attributes[0].Value["stringValue"] != "resq" {
				t.Errorf("%+v", r.Resource)
			}
			for _, one := range r.ScopeSpans[0].Spans {
				spans[one.Name] = one
			}
		}
	}
	call, decode, execute := spans["tools/call res-query"], spans["decode"], spans["execute"]
	if len(spans) != 3 || call.TraceID != "0123456789abcdef0123456789abcdef" || call.Parent != "0123456789abcdef" || call.Kind != 2 || decode.Kind != 1 ||
		decode.Parent != call.SpanID || execute.Parent != call.SpanID || execute.TraceID != call.TraceID || call.Start > decode.Start || call.End < execute.End {
		t.Errorf("%+v", spans)
	}
	if decode.Status != nil || execute.Status == nil || execute.Status.Code != 2 || execute.Status.Message != "TIMEOUT" {
		t.Errorf("%+v %+v", decode.Status, execute.Status)
	}
	facts, _ := json.Marshal(call.Attributes)
	if want := `[{"key":"mcp.tool","value":{"stringValue":"res-query"}},{"key":"resq.request_id","value":{"stringValue":"the-request"}},{"key":"resq.code","value":{"stringValue":"TIMEOUT"}},{"key":"resq.rows","value":{"intValue":"3"}}]`; string(facts) != want {
		t.Errorf("%s", facts)
	}
	if strings.Contains(raw, "a value") {
		t.Errorf("a message is told: %s", raw)
	}
}

// A file gets a line for each batch; a caller that is not traced itself is traced by the ratio.
func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "traces.jsonl")
	x, err := New(Options{File: path, Ratio: 1e-9})
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		traced(x, "")
	}
	traced(x, "00-0123456789abcdef0123456789abcdef-0123456789abcdef-01")
	traced(x, "00-1123456789abcdef0123456789abcdef-0123456789abcdef-00") // its caller does not want it
	if err := x.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil || bytes.Count(b, []byte(`"traceId"`)) != 3 || bytes.Contains(b, []byte("1123456789abcdef")) {
		t.Errorf("%v %s", err, b)
	}
}

// A collector that does not answer costs no call, and one line in the log.
func TestNoCollector(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	var log bytes.Buffer
	x, err := New(Options{Endpoint: s.URL, Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		traced(x, "")
		if err := x.provider.ForceFlush(t.Context()); err != nil {
			t.Error(err)
		}
	}
	s.Close()
	traced(x, "")
	if err := x.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if n := strings.Count(log.String(), "traces cannot be sent"); n != 1 {
		t.Errorf("%d lines: %s", n, &log)
	}
}

func TestNowhere(t *testing.T) {
	for _, o := range []Options{{}, {Endpoint: "http://x", File: "y"}, {File: "/nowhere/at/all"}} {
		if _, err := New(o); err == nil {
			t.Errorf("%+v is taken", o)
		}
	}
}
