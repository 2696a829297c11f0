package engine_test

import (
	"testing"
	"testing/fstest"

	"resq/engine"
	"resq/engine/dialect/postgres"
	"resq/engine/dialect/sqlite"
	"resq/schema"
)

// A pool is as large as the catalog says, else as its driver says, else of the usual size.
func TestPoolSize(t *testing.T) {
	text := "version: 1\nconnections:\n  own: {dsn: 'sqlite:unused', pool: 3}\n  file: {dsn: 'sqlite:unused'}\n  server: {dsn: 'postgres://u@127.0.0.1/d'}\nresources: []\n"
	cat, err := schema.LoadFS(fstest.MapFS{"c.yaml": {Data: []byte(text)}}, schema.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.New(cat, engine.Options{Drivers: []engine.Driver{sqlite.New(), postgres.New()}})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	for name, want := range map[string]int{"own": 3, "file": 8, "server": 16} {
		if got := e.Stats()[name].MaxOpenConnections; got != want {
			t.Errorf("%s: %d connections, want %d", name, got, want)
		}
	}
}
