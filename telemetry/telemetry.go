// Package telemetry turns calls and their stages into traces of OpenTelemetry, and sends them.
package telemetry

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"resq/schema/problem"
)

// Options say where traces go.
type Options struct {
	Endpoint string            // of OTLP over HTTP, such as http://127.0.0.1:4318/v1/traces; "" is none
	Headers  map[string]string // sent to it, such as Authorization
	File     string            // that gets a line of OTLP in JSON for each batch; "-" is standard error; "" is none
	Ratio    float64           // of the calls that no caller traces already; 0 is all
	Version  string            // of the program
	Log      *slog.Logger      // nil is slog's default
}

// Traces begin spans. No value of a request or of a row is in one: a span has the names of a tool and a stage, codes, and numbers.
type Traces struct {
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
}

// New makes Traces that go where the options say. Close sends what is left.
func New(opts Options) (*Traces, error) {
	if (opts.Endpoint == "") == (opts.File == "") {
		return nil, errors.New("traces go to an endpoint or to a file")
	}
	if opts.Log == nil {
		opts.Log = slog.Default()
	}
	out, err := newExporter(opts)
	if err != nil {
		return nil, err
	}
	ratio := opts.Ratio
	if ratio == 0 {
		ratio = 1
	}
	provider := sdktrace.NewTracerProvider(
		sdktrace.WithBatcher(out, sdktrace.WithBatchTimeout(2*time.Second)),
		sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(ratio))),
		sdktrace.WithResource(resource.NewSchemaless(attribute.String("service.name", "resq"), attribute.String("service.version", opts.Version))),
	)
	return &Traces{provider: provider, tracer: provider.Tracer("resq")}, nil
}

// Close sends what has not been sent, for as long as ctx lets it.
func (t *Traces) Close(ctx context.Context) error { return t.provider.Shutdown(ctx) }

// Call begins the span of a call. The parent is the header traceparent of its request, "" is none. The function ends it.
func (t *Traces) Call(ctx context.Context, tool, request, parent string) (context.Context, func(code string, rows int)) {
	if parent != "" {
		ctx = propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{"traceparent": parent})
	}
	ctx, span := t.tracer.Start(ctx, "tools/call "+tool, trace.WithSpanKind(trace.SpanKindServer),
		trace.WithAttributes(attribute.String("mcp.tool", tool), attribute.String("resq.request_id", request)))
	return ctx, func(code string, rows int) {
		span.SetAttributes(attribute.String("resq.code", code), attribute.Int("resq.rows", rows))
		span.End()
	}
}

// Stage begins the span of a stage of the call in ctx. The function ends it; of what went wrong only the code is told.
func (t *Traces) Stage(ctx context.Context, name string) func(error) {
	_, span := t.tracer.Start(ctx, name)
	return func(err error) {
		if err != nil {
			span.SetStatus(codes.Error, string(problem.From(err)[0].Code))
		}
		span.End()
	}
}
