package sqlite

import (
	"database/sql/driver"
	"fmt"
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"
)

// Texts that are numbers, and the number with which a text begins.
var (
	numberText = regexp.MustCompile(`^ *[+-]?([0-9]{1,30}(\.[0-9]{0,30})?|\.[0-9]{1,30})([eE][+-]?[0-9]{1,2})? *$`)
	leadText   = regexp.MustCompile(`^ *([+-]?(?:[0-9]{1,30}(?:\.[0-9]{0,30})?|\.[0-9]{1,30}))(?:([eE][+-]?[0-9]{1,2})(?:[^0-9]|$))?`)
)

func lead(s string) float64 {
	m := leadText.FindStringSubmatch(s)
	if m == nil {
		return 0
	}
	x, _ := strconv.ParseFloat(strings.TrimSuffix(m[1], ".")+m[2], 64) // the pattern admits numbers only
	return x
}

func toLead(args []driver.Value) (driver.Value, error) {
	switch x := args[0].(type) {
	case string:
		return lead(x), nil
	case []byte:
		return lead(string(x)), nil
	}
	return args[0], nil
}

// number reads a text that is a number, exactly where a whole number of 64 bits holds it.
func number(s string) (driver.Value, bool) {
	if !numberText.MatchString(s) {
		return nil, false
	}
	s = strings.TrimPrefix(strings.Trim(s, " "), "+")
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return n, true
	}
	x, err := strconv.ParseFloat(s, 64)
	return x, err == nil
}

// toNumber is NULL for a text that is no number.
func toNumber(args []driver.Value) (driver.Value, error) {
	if s, ok := text(args[0]); ok {
		v, _ := number(s)
		return v, nil
	}
	return nil, nil
}

func toReal(args []driver.Value) (driver.Value, error) {
	v := args[0]
	if s, ok := v.(string); ok {
		v, _ = number(s)
	}
	switch x := v.(type) {
	case int64:
		return float64(x), nil
	case float64:
		return x, nil
	}
	return nil, nil
}

// toInt cuts to a whole number; what 64 bits do not hold is NULL.
func toInt(args []driver.Value) (driver.Value, error) {
	v := args[0]
	if s, ok := v.(string); ok {
		v, _ = number(s)
		if f, ok := written(strings.Trim(s, " ")); ok {
			if n := f.n.Quo(f.n, tens(f.scale)); n.IsInt64() {
				return n.Int64(), nil
			}
			return nil, nil
		}
	}
	switch x := v.(type) {
	case int64:
		return x, nil
	case float64:
		if x >= -(1<<63) && x < 1<<63 {
			return int64(x), nil
		}
	}
	return nil, nil
}

// numberToText writes a number without an exponent, with ten digits behind the point at most and none that
// say nothing.
func numberToText(args []driver.Value) (driver.Value, error) {
	switch x := args[0].(type) {
	case float64:
		if !(math.Abs(x) < 1e50) {
			return nil, nil
		}
		f, ok := decimal(x)
		if !ok {
			return nil, nil
		}
		s := new(big.Rat).SetFrac(f.n, tens(f.scale)).FloatString(10)
		s = strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
		if s == "-0" || s == "" {
			s = "0"
		}
		return s, nil
	case nil:
		return nil, nil
	}
	s, _ := text(args[0])
	return s, nil
}

// decimalToText writes a decimal with all digits of its scale.
func decimalToText(args []driver.Value) (driver.Value, error) {
	scale, _ := args[1].(int64)
	f, ok := decimal(args[0])
	if !ok {
		s, ok := text(args[0])
		if !ok {
			return nil, nil
		}
		return s, nil
	}
	return new(big.Rat).SetFrac(f.n, tens(f.scale)).FloatString(int(scale)), nil
}

// compare gives -1, 0 or 1. A whole number beyond 64 bits is a text here, which SQLite would take for more
// than any number.
func compare(args []driver.Value) (driver.Value, error) {
	x, ok1 := decimal(args[0])
	y, ok2 := decimal(args[1])
	if !ok1 || !ok2 {
		return nil, nil
	}
	return int64(subtraction.exact(x, y).n.Sign()), nil
}

// toOrder gives a number as a text that sorts by its value: sign, number of digits before the point, digits, and for
// negative ones all of it from the end of the alphabet, with an end that sorts behind any digit.
func toOrder(args []driver.Value) (driver.Value, error) {
	f, ok := decimal(args[0])
	if !ok {
		return args[0], nil
	}
	digits := new(big.Int).Abs(f.n).String()
	digits = strings.Repeat("0", max(0, f.scale+1-len(digits))) + digits
	whole, frac := digits[:len(digits)-f.scale], strings.TrimRight(digits[len(digits)-f.scale:], "0")
	key := fmt.Sprintf("1%04d%s", len(whole), whole)
	if frac != "" {
		key += "." + frac
	}
	if f.n.Sign() < 0 {
		key = "0" + complement(key[1:]) + "~"
	}
	return key, nil
}

func complement(digits string) string {
	return strings.Map(func(c rune) rune {
		if c == '.' {
			return c
		}
		return '0' + '9' - c
	}, digits)
}

// fromOrder gives the number back.
func fromOrder(args []driver.Value) (driver.Value, error) {
	s, ok := args[0].(string)
	if !ok || len(s) < 6 {
		return args[0], nil
	}
	number := s[5:]
	if s[0] == '0' {
		number = "-" + complement(strings.TrimSuffix(number, "~"))
	}
	if f, ok := written(number); ok {
		return f.value(), nil
	}
	return args[0], nil
}
