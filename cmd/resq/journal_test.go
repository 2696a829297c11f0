package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// design.md 7, A-083: with keys in the configuration and nothing else, every call leaves one record, in the state directory;
// where nobody is asked for a key, or calls are switched off, there is none.
func TestCallsAreKeptByDefault(t *testing.T) {
	const people = "secret: 0123456789012345678901234567890123456789\nprincipals: {alice: {keys: [an-example-key-0123456789]}}\n"
	for name, c := range map[string]struct {
		more string
		want int
	}{"keys": {people, 2}, "keys, and off": {people + "audit: {calls: []}\n", 0}, "nobody is asked": {"", 0}} {
		t.Run(name, func(t *testing.T) {
			state := filepath.Join(t.TempDir(), "state")
			s := runServer(t, "--config", write(t, t.TempDir(), "resq.yaml", "state: "+state+"\n"+c.more))
			key := ""
			if c.more != "" {
				key = "an-example-key-0123456789"
			}
			if got := s.call(key, "res-query", query1); got != "OK" {
				t.Error(got)
			}
			if got := s.call(key, "res-query", `{"resource":"nosuch"}`); got == "OK" {
				t.Error(got)
			}
			s.stop()
			files, err := filepath.Glob(filepath.Join(state, "audit", "*", "*.jsonl"))
			if err != nil {
				t.Fatal(err)
			}
			calls := 0
			for _, f := range files {
				for line := range strings.Lines(mustRead(t, f)) {
					if strings.Contains(line, `"event":"call"`) {
						calls++
						if !strings.Contains(line, `"principal":"alice"`) || !strings.Contains(line, `"tool":"res-query"`) {
							t.Error(line)
						}
					}
				}
			}
			if calls != c.want {
				t.Errorf("%d records of calls in %v, not %d", calls, files, c.want)
			}
		})
	}
}
