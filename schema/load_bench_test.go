package schema

import (
	"testing"
	"testing/fstest"
	"time"
)

// Three thousand resources load in well under a second, which the benchmark measures. The bound here catches only what
// grows with the square of a catalog, even under the race detector on a loaded machine.
func TestLoadIsFast(t *testing.T) {
	fsys := fstest.MapFS{"big.yaml": {Data: []byte(generatedYAML())}}
	start := time.Now()
	if _, err := LoadFS(fsys, LoadOptions{}); err != nil {
		t.Fatal(err)
	}
	if d := time.Since(start); d > 30*time.Second {
		t.Errorf("loading takes %s", d)
	}
}

func BenchmarkLoad(b *testing.B) {
	fsys := fstest.MapFS{"big.yaml": {Data: []byte(generatedYAML())}}
	for b.Loop() {
		if _, err := LoadFS(fsys, LoadOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}
