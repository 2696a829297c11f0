package sqlite

import (
	"database/sql/driver"
	"errors"
	"math/big"

	"modernc.org/sqlite"
)

// A total is SUM without its overflow, and exact for decimals. Values are added as whole numbers of each scale
// while they fit, and the rest apart.
type total struct {
	sums  [len(tenth)]int64
	rest  fixed
	rows  int64
	reals int64 // values that were doubles
}

func newTotal(sqlite.FunctionContext) (sqlite.AggregateFunction, error) {
	return &total{rest: fixed{new(big.Int), 0}}, nil
}

// Step adds a value.
func (t *total) Step(_ *sqlite.FunctionContext, args []driver.Value) error {
	return t.add(args[0], addition, 1)
}

// WindowInverse takes a value away.
func (t *total) WindowInverse(_ *sqlite.FunctionContext, args []driver.Value) error {
	return t.add(args[0], subtraction, -1)
}

func (t *total) add(v driver.Value, op operation, rows int64) error {
	if v == nil {
		return nil
	}
	t.rows += rows
	if s, ok := v.(string); !ok {
		if _, real := v.(float64); real {
			t.reals += rows
		}
	} else if f, ok := written(s); !ok || f.scale > 0 {
		v = lead(s)
		t.reals += rows
	}
	if n, scale, ok := short(v); ok {
		if z, ok := op.quick(t.sums[scale], n); ok {
			t.sums[scale] = z
			return nil
		}
	}
	f, ok := decimal(v)
	if !ok {
		return errors.New(failed + "a number beyond the range of doubles")
	}
	t.rest = op.exact(t.rest, f)
	return nil
}

// WindowValue gives the sum so far; of nothing it is NULL.
func (t *total) WindowValue(*sqlite.FunctionContext) (driver.Value, error) {
	if t.rows == 0 {
		return nil, nil
	}
	f := t.rest
	for scale, n := range t.sums {
		if n != 0 {
			f = addition.exact(f, fixed{big.NewInt(n), scale})
		}
	}
	if t.reals == 0 {
		return fixed{f.n.Quo(f.n, tens(f.scale)), 0}.value(), nil
	}
	v, _ := new(big.Rat).SetFrac(f.n, tens(f.scale)).Float64()
	return finite(v)
}

// Final ends the sum.
func (*total) Final(*sqlite.FunctionContext) {}
