package registry

import (
	"errors"
	"testing"
	"time"

	"resq/schema/problem"
	"resq/testdb"
)

// The end of a key can be moved, taken away and set, but into the past or of a key that was revoked it cannot.
func TestExpireKey(t *testing.T) {
	testdb.Each(t, func(t *testing.T, e testdb.Engine) {
		o := controlOptions(t, e)
		now := time.Date(2027, 3, 1, 12, 0, 0, 0, time.UTC)
		o.Now = func() time.Time { return now }
		c := openTest(t, o)
		ctx := t.Context()
		if _, err := c.Up(ctx); err != nil {
			t.Fatal(err)
		}
		k, plain, err := c.CreateKey(ctx, NewKey{Name: "reports", Expires: now.Add(time.Hour)})
		if err != nil {
			t.Fatal(err)
		}
		good := func() bool {
			t.Helper()
			key, err := c.Key(ctx, k.ID)
			if err != nil {
				t.Fatal(err)
			}
			return key.State == StateActive
		}
		later := now.Add(48 * time.Hour)
		if x, err := c.ExpireKey(ctx, k.ID, later); err != nil || x.Expires == nil || !x.Expires.Equal(later) {
			t.Fatal(x, err)
		}
		now = now.Add(2 * time.Hour)
		if !good() {
			t.Error("the key ended when it was to end before")
		}
		now = now.Add(72 * time.Hour)
		if good() {
			t.Error("the key outlives its end")
		}
		if x, err := c.ExpireKey(ctx, k.ID, time.Time{}); err != nil || x.Expires != nil || !good() {
			t.Error("a key that never ends:", x, err)
		}
		var p *problem.Problem
		if _, err := c.ExpireKey(ctx, k.ID, now); !errors.As(err, &p) || p.At != "/expires" {
			t.Error("an end that is over:", err)
		}
		if _, err := c.ExpireKey(ctx, 99, now.Add(time.Hour)); !errors.As(err, &p) || p.Code != problem.NotFound {
			t.Error("a key that there is not:", err)
		}
		if _, err := c.RevokeKey(ctx, k.ID); err != nil {
			t.Fatal(err)
		}
		if _, err := c.ExpireKey(ctx, k.ID, now.Add(time.Hour)); !errors.As(err, &p) || p.Code != problem.Conflict || plain == "" {
			t.Error("a key that was revoked:", err)
		}
	})
}
