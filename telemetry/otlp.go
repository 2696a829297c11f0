package telemetry

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// An exporter writes spans as OTLP in JSON. The official one brings gRPC along, which would make the program half as large again.
type exporter struct {
	opts   Options
	client *http.Client
	mu     sync.Mutex
	file   io.Writer
	close  io.Closer
	failed atomic.Bool // the last batch
}

const exportTime = 5 * time.Second

func newExporter(opts Options) (*exporter, error) {
	x := &exporter{opts: opts, client: &http.Client{Timeout: exportTime}}
	switch opts.File {
	case "":
	case "-":
		x.file = os.Stderr
	default:
		f, err := os.OpenFile(opts.File, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return nil, err
		}
		x.file, x.close = f, f
	}
	return x, nil
}

// ExportSpans is part of sdktrace.SpanExporter. A batch that cannot be sent is lost, and the log is told once.
func (x *exporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	if len(spans) == 0 {
		return nil
	}
	b, err := json.Marshal(batchOf(spans))
	if err != nil {
		return err
	}
	if err = x.send(ctx, b); err != nil {
		if x.failed.CompareAndSwap(false, true) {
			x.opts.Log.Warn("traces cannot be sent", "error", err)
		}
		return nil // told; the library would write around the log
	}
	if x.failed.CompareAndSwap(true, false) {
		x.opts.Log.Info("traces are sent again")
	}
	return nil
}

func (x *exporter) send(ctx context.Context, b []byte) error {
	if x.file != nil {
		x.mu.Lock()
		defer x.mu.Unlock()
		_, err := x.file.Write(append(b, '\n'))
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, x.opts.Endpoint, bytes.NewReader(b))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	for k, v := range x.opts.Headers {
		req.Header.Set(k, v)
	}
	resp, err := x.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10)) // so that the connection is used again
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("the answer is %s", resp.Status)
	}
	return nil
}

// Shutdown is part of sdktrace.SpanExporter.
func (x *exporter) Shutdown(context.Context) error {
	x.client.CloseIdleConnections()
	if x.close == nil {
		return nil
	}
	return x.close.Close()
}

// What follows is the form of OTLP in JSON: ids in hexadecimal, numbers of 64 bits as texts.
type (
	batch struct {
		ResourceSpans []resourceSpans `json:"resourceSpans"`
	}
	resourceSpans struct {
		Resource struct {
			Attributes []keyValue `json:"attributes"`
		} `json:"resource"`
		ScopeSpans []scopeSpans `json:"scopeSpans"`
	}
	scopeSpans struct {
		Scope struct {
			Name string `json:"name"`
		} `json:"scope"`
		Spans []span `json:"spans"`
	}
	span struct {
		TraceID    string     `json:"traceId"`
		SpanID     string     `json:"spanId"`
		Parent     string     `json:"parentSpanId,omitempty"`
		Name       string     `json:"name"`
		Kind       int        `json:"kind"`
		Start      string     `json:"startTimeUnixNano"`
		End        string     `json:"endTimeUnixNano"`
		Attributes []keyValue `json:"attributes,omitempty"`
		Status     *status    `json:"status,omitempty"`
	}
	status struct {
		Code    int    `json:"code"` // 2 is an error
		Message string `json:"message,omitempty"`
	}
	keyValue struct {
		Key   string         `json:"key"`
		Value map[string]any `json:"value"`
	}
)

func batchOf(spans []sdktrace.ReadOnlySpan) batch {
	var r resourceSpans
	r.Resource.Attributes = keyValues(spans[0].Resource().Attributes())
	var s scopeSpans
	s.Scope.Name = spans[0].InstrumentationScope().Name
	for _, x := range spans {
		one := span{
			TraceID: x.SpanContext().TraceID().String(), SpanID: x.SpanContext().SpanID().String(), Name: x.Name(), Kind: int(x.SpanKind()),
			Start: strconv.FormatInt(x.StartTime().UnixNano(), 10), End: strconv.FormatInt(x.EndTime().UnixNano(), 10), Attributes: keyValues(x.Attributes()),
		}
		if x.Parent().HasSpanID() {
			one.Parent = x.Parent().SpanID().String()
		}
		if st := x.Status(); st.Code == codes.Error {
			one.Status = &status{2, st.Description}
		}
		s.Spans = append(s.Spans, one)
	}
	r.ScopeSpans = []scopeSpans{s}
	return batch{[]resourceSpans{r}}
}

func keyValues(list []attribute.KeyValue) (out []keyValue) {
	for _, a := range list {
		v := map[string]any{"stringValue": a.Value.String()}
		if a.Value.Type() == attribute.INT64 {
			v = map[string]any{"intValue": strconv.FormatInt(a.Value.AsInt64(), 10)}
		}
		out = append(out, keyValue{string(a.Key), v})
	}
	return out
}
