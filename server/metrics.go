package server

import (
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"resq/access"
	"resq/engine"
	"resq/schema/problem"
)

const metricsPath = "/metrics"

// metrics are the figures that operators watch. Labels are tools, codes and connections only: what callers send
// never becomes a label, or one of them could fill the memory.
type metrics struct {
	registry *prometheus.Registry
	calls    *prometheus.CounterVec   // tool, code
	took     *prometheus.HistogramVec // tool
	running  prometheus.Gauge
	refused  *prometheus.CounterVec // code
	outcomes *prometheus.CounterVec // outcome
	spent    *prometheus.CounterVec // budget
	failed   prometheus.Counter     // reloads
}

// noTool stands for a tool that does not exist.
const noTool = "unknown"

func newMetrics(s *Server) *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(), // not the library's global one: two servers in one process are two
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "resq_calls_total", Help: "Tool calls that were answered, by tool and code; OK is success.",
		}, []string{"tool", "code"}),
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "resq_call_duration_seconds", Help: "Time from a call's arrival to its answer.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}, []string{"tool"}),
		running: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "resq_calls_in_flight", Help: "Tool calls that run now.",
		}),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "resq_requests_refused_total", Help: "Requests that were refused before they were a tool call, by code.",
		}, []string{"code"}),
		outcomes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "resq_call_outcomes_total", Help: "Tool calls by what became of them: ok, error, denied or rate_limited.",
		}, []string{"outcome"}),
		spent: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "resq_budget_refusals_total", Help: "Tool calls that were refused because the key's budget is spent, by budget: calls or rows.",
		}, []string{"budget"}),
		failed: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "resq_config_reload_failures_total", Help: "Reloads of the catalog or the configuration that failed.",
		}),
	}
	m.registry.MustRegister(m.calls, m.took, m.running, m.refused, m.outcomes, m.spent, m.failed, pools{s},
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "resq_config_reload_failed", Help: "1 while what is served is older than the files because the last reload failed.",
		}, func() float64 {
			if s.degraded.Load() != nil {
				return 1
			}
			return 0
		}),
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "resq_audit_dropped_total", Help: "Calls that the audit could not keep.",
		}, func() float64 {
			if s.opts.Unrecorded == nil {
				return 0
			}
			return float64(s.opts.Unrecorded())
		}),
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.registry.MustRegister(budgetMetrics(s.opts.Budgets)...)
	return m
}

func (m *metrics) call(tool string, code problem.Code, took time.Duration) {
	m.calls.WithLabelValues(tool, string(code)).Inc()
	m.took.WithLabelValues(tool).Observe(took.Seconds())
	m.outcomes.WithLabelValues(outcomeOf(code)).Inc()
}

// budgetMetrics are about the Redis that replicas count in.
func budgetMetrics(b *access.Budgets) []prometheus.Collector {
	if b == nil {
		return nil
	}
	if shared, _ := b.Shared(); !shared {
		return nil
	}
	return []prometheus.Collector{
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "resq_budget_redis_up", Help: "0 while Redis does not answer and each process counts budgets alone.",
		}, func() float64 {
			if _, well := b.Shared(); well {
				return 1
			}
			return 0
		}),
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "resq_budget_redis_failures_total", Help: "How often Redis did not answer.",
		}, func() float64 { return float64(b.Failures()) }),
	}
}

// A pooled backend can tell the state of its pools. *engine.Engine can.
type pooled interface {
	Stats() map[string]engine.PoolStats
}

// pools reads the state of the current backend's pools when it is asked for.
type pools struct{ s *Server }

var (
	poolConnections = prometheus.NewDesc("resq_pool_connections", "Connections of a pool, by state: in_use or idle.", []string{"connection", "state"}, nil)
	poolMax         = prometheus.NewDesc("resq_pool_connections_max", "The most connections that a pool opens.", []string{"connection"}, nil)
	poolWaiting     = prometheus.NewDesc("resq_pool_waiting_calls", "Calls that wait for a connection of a pool.", []string{"connection"}, nil)
)

// Describe is part of prometheus.Collector.
func (pools) Describe(out chan<- *prometheus.Desc) {
	out <- poolConnections
	out <- poolMax
	out <- poolWaiting
}

// Collect is part of prometheus.Collector.
func (p pools) Collect(out chan<- prometheus.Metric) {
	backend := p.s.lend()
	defer backend.release()
	from, ok := backend.Backend.(pooled)
	if !ok {
		return
	}
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	for name, st := range from.Stats() {
		gauge(poolConnections, float64(st.InUse), name, "in_use")
		gauge(poolConnections, float64(st.Idle), name, "idle")
		gauge(poolMax, float64(st.MaxOpenConnections), name)
		gauge(poolWaiting, float64(st.Waiting), name)
	}
}

// metrics answers whoever has a key, or asks from this machine; the figures tell of other callers.
func (g *guard) metrics() http.HandlerFunc {
	show := promhttp.HandlerFor(g.s.metrics.registry, promhttp.HandlerOpts{})
	return func(w http.ResponseWriter, r *http.Request) {
		defer g.recover(w, r)
		no := g.places.check(r)
		if no == nil && !near(r) {
			_, no = g.authenticate(r)
		}
		if no != nil {
			g.refuse(w, r, nil, no)
			return
		}
		w.Header().Set("Cache-Control", "no-store")
		show.ServeHTTP(w, r)
	}
}

// near says whether a request comes from this machine. What a proxy passes on comes from elsewhere.
func near(r *http.Request) bool {
	for _, passedOn := range []string{"Forwarded", "X-Forwarded-For", "X-Real-Ip", "Via"} {
		if r.Header.Get(passedOn) != "" {
			return false
		}
	}
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	return err == nil && Loopback(host)
}
