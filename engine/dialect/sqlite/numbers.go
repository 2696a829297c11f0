package sqlite

import (
	"cmp"
	"database/sql/driver"
	"errors"
	"math"
	"math/big"
	"math/bits"
	"regexp"
	"strconv"
	"strings"
)

// SQLite keeps decimals as doubles and turns whole numbers beyond 64 bits into doubles. The functions here
// calculate with the decimal digits that a double shows, so that 0.1 + 0.2 is 0.3 as on the other databases.

// A fixed is a decimal number: n / 10^scale.
type fixed struct {
	n     *big.Int
	scale int
}

var pow10 = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22}

var tenth = [...]int64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15}

const safe = 1 << 53 // a double holds every whole number up to it

// room is how many bits the digits of a decimal may take, some 300 digits: beyond, a number is a double, so
// that a chain of products does not grow without end.
const room = 1024

// digits gives a double as n / 10^scale with n below 2^53, if it is the double nearest to such a number.
func digits(x float64) (n int64, scale int, ok bool) {
	for scale < len(tenth) {
		y := math.Round(x * pow10[scale])
		if math.Abs(y) >= safe {
			return 0, 0, false
		}
		if y/pow10[scale] == x {
			return int64(y), scale, true
		}
		scale++
	}
	return 0, 0, false
}

// decimal reads a value as a decimal number.
func decimal(v driver.Value) (fixed, bool) {
	switch x := v.(type) {
	case int64:
		return fixed{big.NewInt(x), 0}, true
	case float64:
		if n, scale, ok := digits(x); ok {
			return fixed{big.NewInt(n), scale}, true
		}
		if math.IsInf(x, 0) || math.IsNaN(x) {
			return fixed{}, false
		}
		return written(strconv.FormatFloat(x, 'f', -1, 64))
	case string:
		return written(strings.TrimSpace(x))
	}
	return fixed{}, false
}

var plainNumber = regexp.MustCompile(`^[+-]?[0-9]{1,400}(\.[0-9]{1,400})?$`)

func written(s string) (fixed, bool) {
	if !plainNumber.MatchString(s) {
		return fixed{}, false
	}
	whole, frac, _ := strings.Cut(s, ".")
	n, ok := new(big.Int).SetString(whole+frac, 10)
	return fixed{n, len(frac)}, ok
}

// to gives the number with more digits behind the point.
func (f fixed) to(scale int) *big.Int {
	if scale == f.scale {
		return f.n
	}
	return new(big.Int).Mul(f.n, tens(scale-f.scale))
}

func tens(n int) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil) }

// value is a whole number while it has no fraction, as digits beyond 64 bits, and a double otherwise.
func (f fixed) value() driver.Value {
	switch {
	case f.scale == 0 && f.n.IsInt64():
		return f.n.Int64()
	case f.scale == 0:
		return f.n.String()
	case f.n.IsInt64() && f.scale < len(pow10) && f.n.Int64() > -safe && f.n.Int64() < safe:
		return float64(f.n.Int64()) / pow10[f.scale]
	}
	v, _ := new(big.Rat).SetFrac(f.n, tens(f.scale)).Float64()
	return v
}

// An operation is exact: quick works on whole numbers and says whether the result fits, slow on any.
type operation struct {
	quick   func(x, y int64) (int64, bool)
	slow    func(z, x, y *big.Int) *big.Int
	loose   func(x, y float64) float64
	aligned bool // both numbers need the same scale, and so has the result
}

var (
	addition = operation{
		func(x, y int64) (int64, bool) { z := x + y; return z, (z > x) == (y > 0) },
		(*big.Int).Add, func(x, y float64) float64 { return x + y }, true,
	}
	subtraction = operation{
		func(x, y int64) (int64, bool) { z := x - y; return z, (z < x) == (y > 0) },
		(*big.Int).Sub, func(x, y float64) float64 { return x - y }, true,
	}
	multiplication = operation{quickProduct, (*big.Int).Mul, func(x, y float64) float64 { return x * y }, false}
)

func quickProduct(x, y int64) (int64, bool) {
	hi, lo := bits.Mul64(uint64(max(x, -x)), uint64(max(y, -y)))
	if hi != 0 || lo > math.MaxInt64 || x == math.MinInt64 || y == math.MinInt64 {
		return 0, false
	}
	return x * y, true
}

// calculate makes a function of an operation. A column may hold other values than it is declared for; with
// those it calculates as SQLite itself would.
func calculate(op operation) scalar {
	return func(args []driver.Value) (driver.Value, error) {
		if args[0] == nil || args[1] == nil {
			return nil, nil
		}
		if z, ok := op.small(args[0], args[1]); ok {
			return z, nil
		}
		x, ok1 := decimal(args[0])
		y, ok2 := decimal(args[1])
		if !ok1 || !ok2 {
			return finite(op.loose(float(args[0]), float(args[1])))
		}
		z := op.exact(x, y)
		if z.n.BitLen() > room {
			v, _ := new(big.Rat).SetFrac(z.n, tens(z.scale)).Float64()
			return finite(v)
		}
		return z.value(), nil
	}
}

func (op operation) exact(x, y fixed) fixed {
	if op.aligned {
		scale := max(x.scale, y.scale)
		return fixed{op.slow(new(big.Int), x.to(scale), y.to(scale)), scale}
	}
	return fixed{op.slow(new(big.Int), x.n, y.n), x.scale + y.scale}
}

// small calculates without memory of its own, as long as all digits fit.
func (op operation) small(a, b driver.Value) (driver.Value, bool) {
	x, s, ok1 := short(a)
	y, t, ok2 := short(b)
	if !ok1 || !ok2 {
		return nil, false
	}
	scale := s + t
	if op.aligned {
		scale = max(s, t)
		if x, ok1 = quickProduct(x, tenth[scale-s]); !ok1 {
			return nil, false
		}
		if y, ok2 = quickProduct(y, tenth[scale-t]); !ok2 {
			return nil, false
		}
	}
	z, ok := op.quick(x, y)
	switch {
	case !ok:
		return nil, false
	case scale == 0:
		return z, true
	case z >= safe || z <= -safe || scale >= len(pow10):
		return nil, false
	}
	return float64(z) / pow10[scale], true
}

// short gives a value as n / 10^scale.
func short(v driver.Value) (n int64, scale int, ok bool) {
	switch x := v.(type) {
	case int64:
		return x, 0, true
	case float64:
		return digits(x)
	}
	return 0, 0, false
}

// remainder has the sign of the number that is divided; by 0, and of doubles from 10^15 on, there is none.
func remainder(args []driver.Value) (driver.Value, error) {
	for _, a := range args {
		if x, ok := a.(float64); a == nil || ok && !(math.Abs(x) < 1e15) {
			return nil, nil
		}
	}
	x, ok1 := decimal(args[0])
	y, ok2 := decimal(args[1])
	if !ok1 || !ok2 || y.n.Sign() == 0 {
		return nil, nil
	}
	scale := max(x.scale, y.scale)
	return fixed{new(big.Int).Rem(x.to(scale), y.to(scale)), scale}.value(), nil
}

// finite fails where a double has no room, as the other databases do.
func finite(x float64) (driver.Value, error) {
	if math.IsInf(x, 0) || math.IsNaN(x) {
		return nil, errors.New(failed + "a number beyond the range of doubles")
	}
	return x, nil
}

func checked(args []driver.Value) (driver.Value, error) {
	if x, ok := args[0].(float64); ok {
		return finite(x)
	}
	return args[0], nil
}

func float(v driver.Value) float64 {
	switch x := v.(type) {
	case int64:
		return float64(x)
	case float64:
		return x
	case string:
		return lead(x)
	}
	return 0
}

// absolute is ABS without the error for the one integer that has no positive twin.
func absolute(args []driver.Value) (driver.Value, error) {
	switch x := args[0].(type) {
	case int64:
		if x == math.MinInt64 {
			return "9223372036854775808", nil
		}
		return max(x, -x), nil
	case float64:
		return math.Abs(x), nil
	case string:
		return strings.TrimPrefix(x, "-"), nil
	}
	return nil, nil
}

// toDecimal rounds to a scale; from 10^30 on it is NULL.
func toDecimal(args []driver.Value) (driver.Value, error) {
	v := args[0]
	if s, ok := v.(string); ok {
		v, _ = number(s)
	}
	if x, ok := v.(float64); ok && !(math.Abs(x) < 1e30) {
		return nil, nil
	}
	return shorten([]driver.Value{v, args[1]}, true), nil
}

// round rounds half away from zero as the digits read: 72.675 to two digits is 72.68, though the double is
// a little less. cut leaves the digits behind out.
func round(args []driver.Value) (driver.Value, error) { return shorten(args, true), nil }
func cut(args []driver.Value) (driver.Value, error)   { return shorten(args, false), nil }

func shorten(args []driver.Value, half bool) driver.Value {
	n, _ := args[1].(int64)
	if n < 0 {
		return coarsen(args[0], int(-n), half)
	}
	x, ok := args[0].(float64)
	if !ok || math.Abs(x) >= 1e15 {
		return args[0]
	}
	if z, scale, ok := digits(x); ok {
		if scale <= int(n) {
			return x
		}
		unit := tenth[scale-int(n)]
		q, r := z/unit, z%unit
		if half && 2*max(r, -r) >= unit {
			q += int64(cmp.Compare(z, 0))
		}
		return float64(q) / pow10[n]
	}
	f, ok := decimal(x)
	if !ok || f.scale <= int(n) {
		return x
	}
	unit := tens(f.scale - int(n))
	q, r := new(big.Int).QuoRem(f.n, unit, new(big.Int))
	if half && r.Abs(r).Lsh(r, 1).Cmp(unit) >= 0 {
		q.Add(q, big.NewInt(int64(f.n.Sign())))
	}
	v, _ := fixed{q, int(n)}.value().(float64)
	if n == 0 {
		v, _ = new(big.Float).SetInt(q).Float64()
	}
	return v
}

// coarsen rounds or cuts in front of the point.
func coarsen(v driver.Value, n int, half bool) driver.Value {
	x, double := v.(float64)
	f, ok := decimal(v)
	if !ok || double && math.Abs(x) >= 1e15 {
		return v
	}
	unit := tens(f.scale + n)
	q, r := new(big.Int).QuoRem(f.n, unit, new(big.Int))
	if half && r.Abs(r).Lsh(r, 1).Cmp(unit) >= 0 {
		q.Add(q, big.NewInt(int64(f.n.Sign())))
	}
	q.Mul(q, tens(n))
	if double {
		x, _ = new(big.Float).SetInt(q).Float64()
		return x
	}
	return fixed{q, 0}.value()
}
