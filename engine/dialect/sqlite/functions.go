package sqlite

import (
	"database/sql/driver"
	"errors"
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"modernc.org/sqlite"
)

// failed begins the errors of our own functions, so that Classify knows them.
const failed = "resq: "

func init() {
	reg := func(name string, n int32, f func([]driver.Value) (driver.Value, error)) {
		sqlite.MustRegisterDeterministicScalarFunction(name, n, func(_ *sqlite.FunctionContext, args []driver.Value) (driver.Value, error) { return f(args) })
	}
	reg("resq_add", 2, exactly((*big.Int).Add, func(x, y float64) float64 { return x + y }))
	reg("resq_sub", 2, exactly((*big.Int).Sub, func(x, y float64) float64 { return x - y }))
	reg("resq_mul", 2, exactly((*big.Int).Mul, func(x, y float64) float64 { return x * y }))
	reg("resq_abs", 1, absolute)
	reg("resq_round", 2, round)
	reg("resq_int", 1, toInt)
	reg("resq_real", 1, toReal)
	reg("resq_moment", 1, toMoment)
	reg("resq_clock", 1, toClock)
	reg("resq_reverse", 1, reverse)
	reg("resq_like", 2, likeCase)
	reg("resq_match", 2, match(false))
	reg("resq_imatch", 2, match(true))
	reg("resq_single", 2, single)
}

// exactly calculates with whole numbers: the result is an integer while it fits and its digits beyond. A
// column may hold other values than it is declared for; with those it calculates as SQLite itself would.
func exactly(op func(z, x, y *big.Int) *big.Int, loose func(x, y float64) float64) func([]driver.Value) (driver.Value, error) {
	return func(args []driver.Value) (driver.Value, error) {
		if args[0] == nil || args[1] == nil {
			return nil, nil
		}
		x, ok1 := whole(args[0])
		y, ok2 := whole(args[1])
		if !ok1 || !ok2 {
			return loose(float(args[0]), float(args[1])), nil
		}
		z := op(new(big.Int), x, y)
		if z.IsInt64() {
			return z.Int64(), nil
		}
		return z.String(), nil
	}
}

func float(v driver.Value) float64 {
	switch x := v.(type) {
	case int64:
		return float64(x)
	case float64:
		return x
	case string:
		f, _ := strconv.ParseFloat(strings.TrimSpace(x), 64) // what is no number is 0
		return f
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

// round rounds half away from zero as the digits read: 72.675 to two digits is 72.68, though the double is
// a little less.
func round(args []driver.Value) (driver.Value, error) {
	n, _ := args[1].(int64)
	switch x := args[0].(type) {
	case nil:
		return nil, nil
	case int64:
		return x, nil
	case float64:
		if math.IsInf(x, 0) || math.Abs(x) >= 1e15 {
			return x, nil
		}
		r, ok := new(big.Rat).SetString(strconv.FormatFloat(x, 'f', -1, 64))
		if !ok {
			return x, nil
		}
		f, err := strconv.ParseFloat(r.FloatString(int(n)), 64)
		return f, err
	}
	return args[0], nil
}

func whole(v driver.Value) (*big.Int, bool) {
	switch x := v.(type) {
	case int64:
		return big.NewInt(x), true
	case float64:
		z, acc := big.NewFloat(x).Int(nil)
		return z, acc == big.Exact
	case string:
		return new(big.Int).SetString(strings.TrimSpace(x), 10)
	}
	return nil, false
}

var (
	intText  = regexp.MustCompile(`^\s*[+-]?[0-9]{1,18}\s*$`)
	realText = regexp.MustCompile(`^\s*[+-]?[0-9]{1,30}(\.[0-9]{0,30})?\s*$`)
)

func toInt(args []driver.Value) (driver.Value, error) {
	switch x := args[0].(type) {
	case int64:
		return x, nil
	case float64:
		if x > -9.2e18 && x < 9.2e18 {
			return int64(x), nil
		}
	case string:
		if intText.MatchString(x) {
			n, _ := strconv.ParseInt(strings.TrimPrefix(strings.TrimSpace(x), "+"), 10, 64)
			return n, nil
		}
		if realText.MatchString(x) {
			if f, err := strconv.ParseFloat(strings.TrimSpace(x), 64); err == nil && f > -9.2e18 && f < 9.2e18 {
				return int64(f), nil
			}
		}
	}
	return nil, nil
}

func toReal(args []driver.Value) (driver.Value, error) {
	switch x := args[0].(type) {
	case int64:
		return float64(x), nil
	case float64:
		return x, nil
	case string:
		if realText.MatchString(x) {
			if f, err := strconv.ParseFloat(strings.TrimSpace(x), 64); err == nil {
				return f, nil
			}
		}
	}
	return nil, nil
}

var moments = []string{"2006-01-02", "2006-01-02 15:04:05.999999999", "2006-01-02T15:04:05.999999999", "2006-01-02 15:04", "2006-01-02T15:04",
	"2006-01-02T15:04:05.999999999Z07:00", "2006-01-02 15:04:05.999999999Z07:00"}

// toMoment gives a text that is a date or moment as YYYY-MM-DD HH:MM:SS, and NULL for any other.
func toMoment(args []driver.Value) (driver.Value, error) {
	s, ok := args[0].(string)
	if !ok || len(s) < 10 {
		return nil, nil
	}
	for _, form := range moments {
		if t, err := time.Parse(form, strings.TrimSpace(s)); err == nil {
			return t.UTC().Format("2006-01-02 15:04:05.999999"), nil
		}
	}
	return nil, nil
}

func toClock(args []driver.Value) (driver.Value, error) {
	s, ok := args[0].(string)
	if !ok {
		return nil, nil
	}
	for _, form := range []string{"15:04:05.999999", "15:04"} {
		if t, err := time.Parse(form, strings.TrimSpace(s)); err == nil {
			return t.Format("15:04:05"), nil
		}
	}
	return nil, nil
}

func reverse(args []driver.Value) (driver.Value, error) {
	s, ok := args[0].(string)
	if !ok {
		return nil, nil
	}
	r := []rune(s)
	for i, j := 0, len(r)-1; i < j; i, j = i+1, j-1 {
		r[i], r[j] = r[j], r[i]
	}
	return string(r), nil
}

// patterns keeps compiled patterns; it is emptied rather than grown beyond a bound.
var patterns = struct {
	sync.Mutex
	m map[string]*regexp.Regexp
}{m: map[string]*regexp.Regexp{}}

func compiled(p string) (*regexp.Regexp, error) {
	patterns.Lock()
	defer patterns.Unlock()
	if re := patterns.m[p]; re != nil {
		return re, nil
	}
	re, err := regexp.Compile(p)
	if err != nil {
		return nil, errors.New(failed + "a pattern that cannot be read")
	}
	if len(patterns.m) >= 256 {
		clear(patterns.m)
	}
	patterns.m[p] = re
	return re, nil
}

func text(v driver.Value) (string, bool) {
	switch x := v.(type) {
	case string:
		return x, true
	case []byte:
		return string(x), true
	case int64:
		return strconv.FormatInt(x, 10), true
	case float64:
		return strconv.FormatFloat(x, 'g', -1, 64), true
	}
	return "", false
}

func match(fold bool) func([]driver.Value) (driver.Value, error) {
	return func(args []driver.Value) (driver.Value, error) {
		p, ok1 := text(args[0])
		s, ok2 := text(args[1])
		if !ok1 || !ok2 {
			return nil, nil
		}
		if fold {
			p = "(?i)" + p
		}
		re, err := compiled(p)
		if err != nil {
			return nil, err
		}
		if re.MatchString(s) {
			return int64(1), nil
		}
		return int64(0), nil
	}
}

// likeCase is LIKE with respect to case and the escape character !.
func likeCase(args []driver.Value) (driver.Value, error) {
	s, ok1 := text(args[0])
	p, ok2 := text(args[1])
	if !ok1 || !ok2 {
		return nil, nil
	}
	var b strings.Builder
	b.WriteString("(?s)^")
	esc := false
	for _, r := range p {
		switch {
		case !esc && r == '!':
			esc = true
			continue
		case !esc && r == '%':
			b.WriteString(".*")
		case !esc && r == '_':
			b.WriteString(".")
		default:
			b.WriteString(regexp.QuoteMeta(string(r)))
		}
		esc = false
	}
	b.WriteString("$")
	re, err := compiled(b.String())
	if err != nil {
		return nil, err
	}
	if re.MatchString(s) {
		return int64(1), nil
	}
	return int64(0), nil
}

// single gives the value of a query that may hold one row at most.
func single(args []driver.Value) (driver.Value, error) {
	if n, ok := args[0].(int64); ok && n > 1 {
		return nil, errors.New(failed + "a query that should give one value gave several")
	}
	return args[1], nil
}
