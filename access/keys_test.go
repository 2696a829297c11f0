package access

import (
	"fmt"
	"strings"
	"testing"

	"resq/engine/policy"
)

// N3: keys are kept as sums, found exactly, and no text repeats them.
func TestKeys(t *testing.T) {
	alice, bob := &policy.Principal{Name: "alice", Roles: []string{"sales"}}, &policy.Principal{Name: "bob"}
	const a1, a2, b1 = "alice-first-key-0001", "alice-second-key-0002", "bob-only-key-0000003"
	var k Keys
	for key, who := range map[string]*policy.Principal{a1: alice, a2: alice, b1: bob} {
		if err := k.Add(key, who); err != nil {
			t.Fatal(err)
		}
	}
	if k.Len() != 3 {
		t.Errorf("%d keys", k.Len())
	}
	ids := map[string]bool{}
	for key, name := range map[string]string{a1: "alice", a2: "alice", b1: "bob"} {
		who, ok := k.Find(key)
		if !ok || who.Name != name {
			t.Errorf("%s: %v", key, who)
			continue
		}
		ids[who.Key] = true
		if len(who.Key) != 12 || strings.Contains(key, who.Key) {
			t.Errorf("key id %q", who.Key)
		}
	}
	if len(ids) != 3 || alice.Key != "" {
		t.Errorf("key ids %v; alice herself has %q", ids, alice.Key)
	}
	for _, key := range []string{"", " ", a1 + " ", strings.ToUpper(a1), a1[:len(a1)-1]} {
		if who, ok := k.Find(key); ok || who != nil {
			t.Errorf("%q opens as %v", key, who)
		}
	}
	if s := fmt.Sprintf("%+v", k); strings.Contains(s, "first-key") {
		t.Error("a key can be read out")
	}
	for _, key := range []string{"", "tiny", a1} {
		if err := k.Add(key, bob); err == nil || key != "" && strings.Contains(err.Error(), key) {
			t.Errorf("%q: %v", key, err)
		}
	}
	var none Keys
	if _, ok := none.Find(""); ok {
		t.Error("no key opens an empty list")
	}
}
