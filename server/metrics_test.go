package server

import (
	"database/sql"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"resq/engine"
)

// withPools is a backend that tells of its pools.
type withPools struct{ *named }

func (withPools) Stats() map[string]engine.PoolStats {
	return map[string]engine.PoolStats{"main": {DBStats: sql.DBStats{MaxOpenConnections: 16, InUse: 3, Idle: 2}, Waiting: 5}}
}

// figures are the lines of /metrics.
func figures(t *testing.T, url string, header ...string) string {
	t.Helper()
	a := exchange{method: http.MethodGet, path: "/metrics"}.with(header...).do(t, url)
	if a.status != 200 || !strings.HasPrefix(a.header.Get("Content-Type"), "text/plain") {
		t.Fatalf("/metrics: %d %v %s", a.status, a.header, a.body)
	}
	return a.body
}

func wantFigures(t *testing.T, got string, want ...string) {
	t.Helper()
	for _, line := range want {
		if !strings.Contains("\n"+got, "\n"+line+"\n") {
			t.Errorf("no line %s in\n%s", line, regexp.MustCompile(`(?m)^(#|go_|process_).*\n`).ReplaceAllString(got, ""))
		}
	}
}

// What operators watch: calls by tool and code, how long they took, what runs now, the pools, and reloads that
// failed (security.md R1). No label is something that a caller sent.
func TestMetrics(t *testing.T) {
	f := newFake()
	hold := &named{fake: f, hold: make(chan struct{})}
	s := newServer(t, withPools{hold}, Options{})
	url := serveHTTP(t, s)
	for _, body := range []string{call("res-query", `{}`), call("res_query", `{}`), call("res-query", `{"resource":"bad"}`), call("canary", `{}`), call("res-schema", `{}`), "canary"} {
		exchange{body: body}.do(t, url)
	}
	running := make(chan struct{})
	go func() { exchange{body: call("res-query", `{"resource":"hold"}`)}.do(t, url); close(running) }()
	<-f.started
	now := figures(t, url)
	wantFigures(t, now,
		`resq_calls_total{code="OK",tool="res-query"} 2`, `resq_calls_total{code="UNKNOWN_FIELD",tool="res-query"} 1`,
		`resq_calls_total{code="UNKNOWN_TOOL",tool="unknown"} 1`, `resq_calls_total{code="OK",tool="res-schema"} 1`,
		`resq_call_duration_seconds_count{tool="res-query"} 3`, `resq_calls_in_flight 1`, `resq_requests_refused_total{code="INVALID_ARGUMENT"} 1`,
		`resq_pool_connections{connection="main",state="in_use"} 3`, `resq_pool_connections{connection="main",state="idle"} 2`,
		`resq_pool_connections_max{connection="main"} 16`, `resq_pool_waiting_calls{connection="main"} 5`,
		`resq_config_reload_failed 0`, `resq_config_reload_failures_total 0`)
	if strings.Contains(now, "canary") || !strings.Contains(now, "\ngo_goroutines ") {
		t.Errorf("%s", now)
	}
	close(hold.hold)
	<-running
	s.Degrade("the last reload failed")
	s.Degrade("the last reload failed")
	wantFigures(t, figures(t, url), `resq_config_reload_failed 1`, `resq_config_reload_failures_total 2`, `resq_calls_in_flight 0`)
	s.Degrade("")
	s.Swap(newFake()) // which tells nothing of pools
	now = figures(t, url)
	wantFigures(t, now, `resq_config_reload_failed 0`, `resq_config_reload_failures_total 2`)
	if strings.Contains(now, "resq_pool") {
		t.Error("pools of a backend that is gone")
	}
}

// The figures are for this machine and for callers with a key: not for foreign pages and hosts, and not for what a
// proxy on this machine passes on.
func TestMetricsGuard(t *testing.T) {
	s := newServer(t, newFake(), withKeys(Options{}))
	handler, closeStreams := s.handler(tcp(t, "0.0.0.0:8088"))
	defer closeStreams()
	for _, c := range []struct {
		about, from, host string
		header            []string
		want              int
	}{
		{"this machine", "127.0.0.1:4711", "localhost:8088", nil, 200},
		{"this machine, IPv6", "[::1]:4711", "[::1]:8088", nil, 200},
		{"a proxy on it", "127.0.0.1:4711", "localhost:8088", []string{"X-Forwarded-For", "192.0.2.7"}, 401},
		{"a proxy of today", "127.0.0.1:4711", "localhost:8088", []string{"Forwarded", "for=192.0.2.7"}, 401},
		{"a proxy with a key", "127.0.0.1:4711", "localhost:8088", []string{"X-Forwarded-For", "192.0.2.7", "Authorization", "Bearer bob-key"}, 200},
		{"another machine", "192.0.2.7:4711", "192.0.2.1:8088", nil, 401},
		{"another machine with a bad key", "192.0.2.7:4711", "192.0.2.1:8088", []string{"Authorization", "Bearer x"}, 401},
		{"another machine with a key", "192.0.2.7:4711", "192.0.2.1:8088", []string{"Authorization", "Bearer bob-key"}, 200},
		{"a foreign host", "127.0.0.1:4711", "evil.example", nil, 403},
		{"a foreign page", "127.0.0.1:4711", "localhost:8088", []string{"Origin", "https://evil.example"}, 403},
	} {
		r := httptest.NewRequest(http.MethodGet, "/metrics", nil)
		r.RemoteAddr, r.Host = c.from, c.host
		for i := 0; i < len(c.header); i += 2 {
			r.Header.Set(c.header[i], c.header[i+1])
		}
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if w.Code != c.want || (w.Code == 200) != strings.Contains(w.Body.String(), "resq_calls_in_flight") {
			t.Errorf("%s: %d %.200s", c.about, w.Code, w.Body)
		}
	}
}
