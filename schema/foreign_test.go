package schema_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"resq/schema"
)

// A table of which it is not certain whether a resource declares it is refused without a word of the resource, which whoever
// wrote the statement may not see (D-063).
func TestDoubtfulTableTellsNoResource(t *testing.T) {
	cat, err := schema.LoadFS(fstest.MapFS{"c.yaml": {Data: []byte(`version: 1
connections: {default: {driver: postgres, dsn: "postgres://u@h/d"}}
resources: [{code: Hidden, schema: app, table: pay, key: id, roles: [boss], fields: {id: integer}}]
masking: {APP.WAGE: {SUM: redact}}
`)}}, schema.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	for _, table := range []string{"pay", "wage"} {
		_, err := cat.Foreign(cat.Connections[0], "SELECT 1 FROM "+table)
		if err == nil || strings.Contains(err.Error(), "Hidden") {
			t.Fatalf("%s: %v", table, err)
		}
		said = append(said, strings.ReplaceAll(err.Error(), table, "T"))
	}
	if said[0] != said[1] {
		t.Errorf("the refusals differ:\n%s\n%s", said[0], said[1])
	}
}
