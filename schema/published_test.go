package schema

import (
	"bytes"
	"flag"
	"os"
	"testing"
)

var update = flag.Bool("update", false, "rewrite golden files")

// The published grammar is made from the loader's own tables; the file must be what they make.
func TestPublishedSchemaIsCurrent(t *testing.T) {
	made := makeSchema()
	if *update {
		if err := os.WriteFile("catalog.schema.json", made, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !bytes.Equal(made, JSONSchema()) {
		t.Fatal("catalog.schema.json is not what the tables make; run go test ./schema -run Published -update")
	}
}
