package engine_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"resq/engine"
	"resq/engine/dialect/mysql"
	"resq/engine/dialect/postgres"
	"resq/engine/dialect/sqlite"
	"resq/engine/policy"
	"resq/schema"
	"resq/testdb"
)

// Every stage of a call is one span, on every database, and no span learns a value.
func TestSpans(t *testing.T) {
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		var mu sync.Mutex
		var seen []string
		dsn := testdb.Create(t, on, "CREATE TABLE item (id INTEGER PRIMARY KEY, name VARCHAR(20));", "INSERT INTO item VALUES (1, 'one'), (2, 'two')")
		cat, err := schema.LoadFS(fstest.MapFS{
			"catalog.yaml":     {Data: []byte("version: 1\nresources: [{code: Item, table: item, key: id, connection: default, fields: {id: integer, name: string}}]\n")},
			"connections.yaml": {Data: connections(map[string]string{"default": dsn}, false)},
		}, schema.LoadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		e, err := engine.New(cat, engine.Options{Drivers: []engine.Driver{sqlite.New(), mysql.New(), postgres.New()}, Timeout: time.Minute, Spans: func(_ context.Context, stage string) func(error) {
			return func(err error) {
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					stage += "!"
				}
				seen = append(seen, stage)
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		who := &policy.Principal{Name: "alice"}
		for request, want := range map[string]string{
			`{"resource":"Item","fields":[],"total":true}`:                      "decode plan render wait shape execute",
			`{"resource":"Item","fields":[{"code":"canary"}]}`:                  "decode plan!",
			`{"resource":"Item","fields":[],"canary":1}`:                        "decode!",
			`{"resource":"Item","fields":[{"code":"id"}],"limit":1,"offset":1}`: "decode plan render wait shape execute",
		} {
			seen = nil
			_, _ = e.Query(t.Context(), who, []byte(request))
			if got := strings.Join(seen, " "); got != want {
				t.Errorf("%s: %s, want %s", request, got, want)
			}
			if slices.ContainsFunc(seen, func(s string) bool { return strings.Contains(s, "canary") }) {
				t.Errorf("a value is told: %v", seen)
			}
		}
	})
}
