package engine_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"resq/testdb"
)

// security.md C4: a cursor of one user opens nothing for another one behind the same principal.
func TestCursorOfUser(t *testing.T) {
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		b := newShop(t, on)
		ask := func(user, cursor string) (string, string) {
			r := map[string]any{"resource": "Product", "fields": []any{map[string]any{"code": "id"}}, "orderBy": []any{"Product.id"}, "limit": 1}
			if cursor != "" {
				r["cursor"] = cursor
			}
			args, err := json.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			who := *principals(t)["root"]
			who.Name, who.User = "app", user
			a, err := b.engine.Query(context.Background(), &who, args)
			if err != nil {
				return "", tell(err)
			}
			var meta struct{ Cursor string }
			if err := json.Unmarshal(a.Text, &meta); err != nil {
				t.Fatal(err)
			}
			return meta.Cursor, ""
		}
		cursor, said := ask("42", "")
		if cursor == "" {
			t.Fatalf("no cursor: %s", said)
		}
		for _, user := range []string{"43", ""} {
			if _, said := ask(user, cursor); !strings.Contains(said, "the cursor is not of this request") {
				t.Errorf("user %q turns the page of 42: %s", user, said)
			}
		}
		if _, said := ask("42", cursor); said != "" {
			t.Error(said)
		}
	})
}
