package server

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
)

// A call is traced under the span that its request names, with its request id and its code, whichever way it takes.
func TestTrace(t *testing.T) {
	var mu sync.Mutex
	var seen []string
	s := newServer(t, newFake(), Options{Trace: func(ctx context.Context, tool, request, parent string) (context.Context, func(string, int)) {
		return ctx, func(code string, rows int) {
			mu.Lock()
			defer mu.Unlock()
			seen = append(seen, fmt.Sprintf("%s %d %s %s %d", tool, len(request), parent, code, rows))
		}
	}})
	url := serveHTTP(t, s)
	parent := "00-0123456789abcdef0123456789abcdef-0123456789abcdef-01"
	for _, e := range []exchange{{body: call("res_query", `{}`)}, modern("tools/call", "res-query", `{"resource":"bad"}`).with("traceparent", parent), viaLibrary(modern("tools/call", "res-query", `{}`)).with("traceparent", parent)} {
		e.do(t, url)
	}
	if want := []string{"res-query 36  OK 1", "res-query 36 " + parent + " UNKNOWN_FIELD 0", "res-query 36 " + parent + " OK 1"}; !slices.Equal(seen, want) {
		t.Errorf("%q", seen)
	}
}
