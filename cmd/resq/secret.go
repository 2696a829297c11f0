package main

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// secretLength is the fewest characters a configured secret may have.
const secretLength = 32

// secret is what cursors and session ids are sealed with: the configured one, which several replicas share, or
// one of this machine's own, made once and kept in the state directory so that a restart ends nothing.
func (c *config) secret() ([]byte, error) {
	if c.Secret != "" {
		return []byte(c.Secret), nil
	}
	path := c.secretFile()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	raw := make([]byte, 32)
	if _, err := rand.Read(raw); err != nil {
		return nil, err
	}
	// Written aside and linked into place: of two processes that start at once both end with the same one.
	aside := path + "." + hex.EncodeToString(raw[:6])
	if err := os.WriteFile(aside, []byte(hex.EncodeToString(raw)+"\n"), 0o600); err != nil {
		return nil, err
	}
	defer os.Remove(aside)
	if err := os.Link(aside, path); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return c.knownSecret()
}

func (c *config) secretFile() string { return filepath.Join(stateDir(c.State), "secret") }

// knownSecret is the secret where there is one; none is made.
func (c *config) knownSecret() ([]byte, error) {
	if c.Secret != "" {
		return []byte(c.Secret), nil
	}
	path := c.secretFile()
	kept, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if s := strings.TrimSpace(string(kept)); len(s) >= secretLength {
		return []byte(s), nil
	}
	return nil, fmt.Errorf("the secret in %s is shorter than %d characters; remove the file and a new one is made", path, secretLength)
}
