package schema

import (
	"os"
	"path/filepath"
	"testing"
)

// Every entry of testdata/valid is a catalog that loads.
func TestValidCatalogs(t *testing.T) {
	entries, err := os.ReadDir("testdata/valid")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		path := filepath.Join("testdata/valid", e.Name())
		if _, err := Load([]string{path}, LoadOptions{}); err != nil {
			t.Errorf("%s does not load:\n%v", path, err)
		}
	}
}
