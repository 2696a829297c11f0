package engine_test

import (
	"context"
	"testing"

	"resq/testdb"
)

// The same walk is asked again and again while its table is closed and changed. MariaDB would end, and
// everybody's connections with it, where a recursive statement that was prepared before runs again.
func TestWalkAfterChange(t *testing.T) {
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		shop := newShop(t, on)
		who := principals(t)["root"]
		for i := range 20 {
			for range 5 {
				for _, raw := range []string{
					`{"resource":"Dept","fields":[{"code":"id"}],"recursive":{"pField":"Dept.parent_id","cField":"Dept.id","root":"0"},"total":true}`,
					`{"resource":"Dept","fields":[{"code":"COUNT(*)","alias":"n","isExpr":true}],"recursive":{"pField":"Dept.parent_id","cField":"Dept.id","root":"0"}}`,
				} {
					if _, err := shop.engine.Query(context.Background(), who, []byte(raw)); err != nil {
						t.Fatal(err)
					}
				}
			}
			if on.Name == testdb.MySQL {
				testdb.Exec(t, on, shop.dsn["main"], "FLUSH TABLES;")
			}
			testdb.Exec(t, on, shop.dsn["main"], "ALTER TABLE dept ADD COLUMN more"+string(rune('a'+i))+" INTEGER;")
		}
	})
}

// An engine on a new catalog knows of it what one made from the beginning knows: that fields are of roles which hang on the
// attributes of whoever asks was forgotten, and res-schema showed them without looking these up.
func TestRenewKnowsRoles(t *testing.T) {
	b := newTrioOf(t, testdb.Engine{Name: testdb.SQLite}, rolesCatalog, counted[testdb.SQLite]).engines[purgedWorld]
	n, err := b.engine.Renew(b.catalog)
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	if !b.engine.ByRole() || !n.ByRole() {
		t.Errorf("made: %t, renewed: %t", b.engine.ByRole(), n.ByRole())
	}
}
