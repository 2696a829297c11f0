package sqlite

import (
	"database/sql/driver"
	"errors"
	"strings"

	"modernc.org/sqlite"
)

// failed begins the errors of our own functions, so that Classify knows them.
const failed = "resq: "

type scalar = func([]driver.Value) (driver.Value, error)

func init() {
	reg := func(name string, n int32, f scalar) {
		sqlite.MustRegisterDeterministicScalarFunction(name, n, func(_ *sqlite.FunctionContext, args []driver.Value) (driver.Value, error) { return f(args) })
	}
	reg("resq_add", 2, calculate(addition))
	reg("resq_sub", 2, calculate(subtraction))
	reg("resq_mul", 2, calculate(multiplication))
	reg("resq_mod", 2, remainder)
	reg("resq_abs", 1, absolute)
	reg("resq_round", 2, round)
	reg("resq_fixed", 2, toDecimal)
	reg("resq_trunc", 2, cut)
	reg("resq_finite", 1, checked)
	reg("resq_compare", 2, compare)
	reg("resq_order", 1, toOrder)
	reg("resq_whole", 1, fromOrder)
	reg("resq_int", 1, toInt)
	reg("resq_real", 1, toReal)
	reg("resq_number", 1, toNumber)
	reg("resq_lead", 1, toLead)
	reg("resq_text", 1, numberToText)
	reg("resq_decimal", 2, decimalToText)
	reg("resq_moment", 1, toMoment)
	reg("resq_day", 1, toDay)
	reg("resq_clock", 1, toClock)
	reg("resq_shift", 3, shiftMoment)
	reg("resq_shift_day", 3, shiftDay)
	reg("resq_last_day", 1, lastDay)
	reg("resq_span", 3, span)
	reg("resq_months", 2, monthSpan)
	reg("resq_epoch", 1, epoch)
	reg("resq_julian", 1, julian)
	reg("resq_upper", 1, mapped(strings.ToUpper))
	reg("resq_lower", 1, mapped(strings.ToLower))
	reg("resq_capped", 2, capped)
	reg("resq_reverse", 1, mapped(reverse))
	reg("resq_pad", 4, pad)
	reg("resq_repeat", 2, repeat)
	reg("resq_parts", 4, parts)
	reg("resq_like", 2, like(false))
	reg("resq_ilike", 2, like(true))
	reg("resq_match", 2, match(false))
	reg("resq_imatch", 2, match(true))
	reg("resq_single", 2, single)
	reg("resq_made", 1, toMade)
	sqlite.MustRegisterFunction("resq_sum", &sqlite.FunctionImpl{NArgs: 1, Deterministic: true, MakeAggregate: newTotal})
	sqlite.MustRegisterFunction("resq_concat", &sqlite.FunctionImpl{NArgs: 4, Deterministic: true, MakeAggregate: newGathering})
}

// single gives the value of a query that may hold one row at most.
func single(args []driver.Value) (driver.Value, error) {
	if n, ok := args[0].(int64); ok && n > 1 {
		return nil, errors.New(failed + "a query that should give one value gave several")
	}
	return args[1], nil
}
