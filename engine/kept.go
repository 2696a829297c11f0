package engine

import (
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"time"

	"resq/schema"
	"resq/schema/problem"
	"resq/schema/query"
)

// kept refuses a write after which the database holds less of a value than was sent and confirmed: digits of a decimal,
// or the fraction of a second. Whatever else differs is the work of a trigger, or of the column's own form.
func (w *write) kept(after *rowset) error {
	if w.undoes != "" {
		return nil // what is restored was kept before
	}
	var l problem.List
	for i, row := range after.rows {
		for _, a := range w.assigned(i) {
			if a.Field == nil || a.System || a.Now || a.Value == nil || a.Value.Value == nil {
				continue
			}
			k := indexOf(w.change.Resource(), a.Field)
			given, _ := after.cols[k].stored(a.Value.Value)
			have, ok := after.cols[k].stored(row[k])
			if !ok || given == have || !narrowed(a.Field.Type.Kind, given, have, row[k]) {
				continue
			}
			if a.Field.Mask != "" {
				have = "another value"
			}
			l = append(l, &problem.Problem{Code: problem.InvalidArgument, Stage: problem.Database, At: w.pointer(i, a.Field), Reason: "unfit",
				Message: "the database would keep " + have + " for " + problem.Quote(a.Field.Code) + ", so nothing was changed", Hint: "send a value with fewer digits, which is kept as it is"})
		}
	}
	return l.Err()
}

// unmasked refuses the image of a masked value as the new value: it was read and is sent back for what it hides. That
// it may be the very value stored is not looked at, for the answer would tell.
func (w *write) unmasked(before *rowset) error {
	if w.undoes != "" || w.verb != query.Update {
		return nil
	}
	for i, row := range before.rows {
		for _, a := range w.assigned(i) {
			if a.Field == nil || a.System || a.Now || a.Value == nil || a.Field.Mask == "" {
				continue
			}
			given, isText := a.Value.Value.(string)
			k := indexOf(w.change.Resource(), a.Field)
			if have, ok := before.cols[k].plain(row[k]); ok && isText && given == masked(a.Field.Mask, have) {
				return problem.List{{Code: problem.InvalidArgument, Stage: problem.Semantics, At: w.pointer(i, a.Field), Reason: "masked",
					Message: "the value for " + problem.Quote(a.Field.Code) + " is the mask of what is stored, which would be lost", Hint: "send the real value, or leave the field out"}}
			}
		}
	}
	return nil
}

func indexOf(r *schema.Resource, f *schema.Field) int {
	for i, x := range r.Fields {
		if x == f {
			return i
		}
	}
	return 0
}

// pointer is where a call gives a row's field its value.
func (w *write) pointer(row int, f *schema.Field) string {
	if w.ask == nil || len(w.ask.Records) == 0 {
		return ""
	}
	for _, a := range w.ask.Records[min(row, len(w.ask.Records)-1)] {
		if a.Field == f.Code {
			return a.At
		}
	}
	return ""
}

// narrowed says whether what a column has is what was given with fewer digits.
func narrowed(k schema.Kind, given, have string, raw any) bool {
	switch k {
	case schema.Integer, schema.Decimal:
		x, ok1 := new(big.Rat).SetString(given)
		y, ok2 := new(big.Rat).SetString(have)
		if !ok1 || !ok2 || x.Cmp(y) == 0 {
			return false
		}
		switch raw := raw.(type) {
		case float64:
			near, _ := strconv.ParseFloat(given, 64)
			return near == raw
		case float32:
			near, _ := strconv.ParseFloat(given, 32)
			return float32(near) == raw
		}
		_, digits, _ := strings.Cut(have, ".")
		_, sent, _ := strings.Cut(given, ".")
		unit := new(big.Rat).SetFrac(big.NewInt(1), new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(len(digits))), nil))
		return len(sent) > len(digits) && x.Sub(x, y).Abs(x).Cmp(unit) < 0
	case schema.DateTime, schema.Time:
		x, ok1 := instant(given)
		y, ok2 := instant(have)
		return ok1 && ok2 && !x.Equal(y) && x.Nanosecond() != 0 && x.Sub(y).Abs() < time.Second
	}
	return false
}

// longTime is a time of MySQL's, which may be below zero and beyond a day.
var longTime = regexp.MustCompile(`^(-?)([0-9]{2,3}):([0-9]{2}):([0-9]{2}(?:[.][0-9]+)?)$`)

// instant reads a moment, or a time of day as one.
func instant(s string) (time.Time, bool) {
	if x := longTime.FindStringSubmatch(s); x != nil {
		d, err := time.ParseDuration(x[1] + x[2] + "h" + x[3] + "m" + x[4] + "s")
		return time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC).Add(d), err == nil
	}
	for _, form := range []string{"2006-01-02 15:04:05", time.RFC3339, "2006-01-02T15:04:05"} {
		if t, err := time.Parse(form, s); err == nil { // a fraction is read where none is in the form
			return t, true
		}
	}
	return time.Time{}, false
}
