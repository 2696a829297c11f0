// Package access turns the key that came with a request into the principal it belongs to.
package access

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"slices"
	"unicode/utf8"

	"resq/engine/policy"
)

// MinKey is how many characters a key must have. A shorter one could be guessed.
const MinKey = 16

// Keys are the keys that open this server. They are kept as SHA-256 sums, so that neither the program's memory
// nor a dump of it gives one away.
type Keys struct{ entries []entry }

type entry struct {
	sum [sha256.Size]byte
	who *policy.Principal
}

// Add gives a principal one more key. The principal that Find returns for it carries the key's id: the first
// twelve digits of its sum, which may be logged. A key that is too short, or that somebody has already, is refused;
// no error repeats it.
func (k *Keys) Add(key string, who *policy.Principal) error {
	if utf8.RuneCountInString(key) < MinKey {
		return fmt.Errorf("a key of %s is shorter than %d characters; make one with: openssl rand -hex 24", who.Name, MinKey)
	}
	sum := sha256.Sum256([]byte(key))
	for _, e := range k.entries {
		if e.sum == sum {
			return fmt.Errorf("a key of %s is also a key of %s", who.Name, e.who.Name)
		}
	}
	owner := *who
	owner.Key = hex.EncodeToString(sum[:6])
	k.entries = append(k.entries, entry{sum, &owner})
	return nil
}

// Len is the number of keys.
func (k *Keys) Len() int { return len(k.entries) }

// Find gives the owner of a key. It compares with every entry and stops at none, so that its time tells nothing
// about which keys there are.
func (k *Keys) Find(key string) (*policy.Principal, bool) {
	sum := sha256.Sum256([]byte(key))
	var who *policy.Principal
	for i := range k.entries {
		if e := &k.entries[i]; subtle.ConstantTimeCompare(e.sum[:], sum[:]) == 1 {
			who = e.who
		}
	}
	return who, who != nil
}

// Verbs are what a principal must be able to do for the tools that its scopes open: read, write, delete. A verb opens no
// tool by itself.
func Verbs(tools []string) []string {
	list := []string{"read"}
	for _, v := range []struct {
		verb  string
		tools []string
	}{
		{"write", []string{"res_create", "res_update", "res_operation", "res_undo"}},
		{"delete", []string{"res_delete", "res_operation", "res_undo"}},
	} {
		if slices.ContainsFunc(tools, func(t string) bool { return slices.Contains(v.tools, policy.ToolKey(t)) }) {
			list = append(list, v.verb)
		}
	}
	return list
}
