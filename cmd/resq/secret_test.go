package main

import (
	"bytes"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// The secret survives a restart, is the same for processes that start at once, is nobody else's to read, and a
// configured one takes its place (security.md 3.5).
func TestSecret(t *testing.T) {
	c := &config{State: t.TempDir()}
	var wg sync.WaitGroup
	got := make([][]byte, 8)
	for i := range got {
		wg.Add(1)
		go func() {
			defer wg.Done()
			var err error
			if got[i], err = c.secret(); err != nil {
				t.Error(err)
			}
		}()
	}
	wg.Wait()
	for _, s := range got {
		if !bytes.Equal(s, got[0]) || len(s) < secretLength {
			t.Fatalf("different or short secrets")
		}
	}
	path := filepath.Join(c.State, "secret")
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file is %v, %v", info.Mode(), err)
	}
	if files, _ := filepath.Glob(filepath.Join(c.State, "*")); len(files) != 1 {
		t.Errorf("left behind: %v", files)
	}
	if err := os.WriteFile(path, []byte("short"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := c.secret(); err == nil {
		t.Error("a short secret was taken")
	}
	c.Secret = "a configured secret of many letters"
	if s, err := c.secret(); err != nil || string(s) != c.Secret {
		t.Errorf("%s, %v", s, err)
	}
}
