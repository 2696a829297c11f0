package sqlite

import (
	"database/sql/driver"
	"strings"
	"testing"
)

// Products of products stay small (security.md C9).
func TestProductsDoNotGrow(t *testing.T) {
	var v driver.Value = strings.Repeat("9", 200)
	mul := calculate(multiplication)
	for range 3 {
		var err error
		if v, err = mul([]driver.Value{v, v}); err != nil {
			return
		}
		if s, ok := v.(string); ok && len(s) > 400 {
			t.Fatalf("a number of %d digits", len(s))
		}
	}
	t.Fatalf("no error: %v", v)
}
