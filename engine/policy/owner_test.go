package policy

import (
	"strings"
	"testing"
)

// security.md C4: no two callers have one owner, none has that of a bare name, and each fits its column.
func TestOwner(t *testing.T) {
	long := strings.Repeat("é", 190)
	seen := map[string]*Principal{}
	for _, p := range []*Principal{
		{Name: "app"}, {Name: "app", User: "42"}, {Name: "app", User: "43"}, {Name: "app\x1f42"}, {Name: "app\x1f42", User: "43"},
		{Name: "app", User: "42\x1f43"}, {Name: "app", User: "#42"}, {Name: "app", User: "4 2"}, {Name: "app", User: "4+2"}, {Name: "app4", User: "2"},
		{Name: "App", User: "42"}, {Name: long}, {Name: long, User: "1"}, {Name: long + "x", User: "1"}, {Name: long, User: "2"}, {Name: "app", User: long},
	} {
		o := p.Owner()
		if q := seen[o]; q != nil {
			t.Errorf("%+v and %+v are one: %q", p, q, o)
		}
		seen[o] = p
		if o == p.Name || len([]rune(o)) > maxOwner {
			t.Errorf("%+v is %q", p, o)
		}
		name, user := OwnerOf(o)
		if whole := len([]rune(p.Name))+len([]rune(p.User)) < 100; whole && (name != p.Name || user != p.User) || !strings.HasPrefix(p.Name, name) {
			t.Errorf("%q is of %q, %q", o, name, user)
		}
	}
	if name, user := OwnerOf("app"); name != "app" || user != "" {
		t.Errorf("a name is %q, %q", name, user)
	}
}
