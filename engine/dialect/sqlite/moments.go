package sqlite

import (
	"database/sql/driver"
	"math"
	"strings"
	"time"
)

// SQLite keeps dates and times as texts. Its own functions drop fractions of seconds, leave the years 1 to
// 9999 and know no units between two moments.

var moments = []string{"2006-01-02", "2006-01-02 15:04:05.999999999", "2006-01-02T15:04:05.999999999", "2006-01-02 15:04", "2006-01-02T15:04"}

// read reads a date or moment; a Z or +00:00 behind it changes nothing.
func read(v driver.Value) (time.Time, bool) {
	s, ok := v.(string)
	if !ok || len(s) < 10 {
		return time.Time{}, false
	}
	if len(s) > 10 {
		s = strings.TrimSuffix(strings.TrimSuffix(s, "Z"), "+00:00")
	}
	for _, form := range moments {
		if t, err := time.Parse(form, s); err == nil {
			return t, t.Year() >= 1
		}
	}
	return time.Time{}, false
}

func moment(t time.Time) (driver.Value, error) {
	if t.Year() < 1 || t.Year() > 9999 {
		return nil, nil
	}
	return t.Format("2006-01-02 15:04:05.999999"), nil
}

func day(t time.Time) (driver.Value, error) {
	if t.Year() < 1 || t.Year() > 9999 {
		return nil, nil
	}
	return t.Format("2006-01-02"), nil
}

// toMoment gives a text that is a date or moment as YYYY-MM-DD HH:MM:SS, and NULL for any other.
func toMoment(args []driver.Value) (driver.Value, error) {
	t, ok := read(args[0])
	if !ok {
		return nil, nil
	}
	return moment(t)
}

func toDay(args []driver.Value) (driver.Value, error) {
	t, ok := read(args[0])
	if !ok {
		return nil, nil
	}
	return day(t)
}

// toClock gives a text that is a time of day as HH:MM:SS, and NULL for any other.
func toClock(args []driver.Value) (driver.Value, error) {
	s, ok := args[0].(string)
	if !ok || len(s) < 5 || s[2] != ':' {
		return nil, nil
	}
	for _, form := range []string{"15:04:05.999999999", "15:04"} {
		if t, err := time.Parse(form, s); err == nil {
			return t.Format("15:04:05"), nil
		}
	}
	return nil, nil
}

// shifted adds n units; the day is cut to the month's last.
func shifted(args []driver.Value) (time.Time, bool) {
	t, ok := read(args[0])
	n, isInt := args[1].(int64)
	if !ok || !isInt {
		return t, false
	}
	months := int64(0)
	seconds := int64(0)
	switch args[2] {
	case "YEAR":
		months = 12
	case "MONTH":
		months = 1
	case "DAY":
		seconds = 86400
	case "HOUR":
		seconds = 3600
	case "MINUTE":
		seconds = 60
	case "SECOND":
		seconds = 1
	}
	const years = 10_000
	if months > 0 {
		if n > years*12/months || n < -years*12/months {
			return t, false
		}
		first := time.Date(t.Year(), t.Month(), 1, t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC).AddDate(0, int(n*months), 0)
		last := first.AddDate(0, 1, -1).Day()
		return first.AddDate(0, 0, min(t.Day(), last)-1), true
	}
	if n > years*366*86400/seconds || n < -years*366*86400/seconds {
		return t, false
	}
	sum := n * seconds
	return t.AddDate(0, 0, int(sum/86400)).Add(time.Duration(sum%86400) * time.Second), true
}

func shiftMoment(args []driver.Value) (driver.Value, error) {
	t, ok := shifted(args)
	if !ok {
		return nil, nil
	}
	return moment(t)
}

func shiftDay(args []driver.Value) (driver.Value, error) {
	t, ok := shifted(args)
	if !ok {
		return nil, nil
	}
	return day(t)
}

func lastDay(args []driver.Value) (driver.Value, error) {
	t, ok := read(args[0])
	if !ok {
		return nil, nil
	}
	return day(time.Date(t.Year(), t.Month()+1, 0, 0, 0, 0, 0, time.UTC))
}

// span counts the complete units from the first moment to the second: so many seconds each.
func span(args []driver.Value) (driver.Value, error) {
	a, ok1 := read(args[0])
	b, ok2 := read(args[1])
	unit, _ := args[2].(int64)
	if !ok1 || !ok2 || unit == 0 {
		return nil, nil
	}
	micros := b.Unix()*1_000_000 + int64(b.Nanosecond()/1000) - a.Unix()*1_000_000 - int64(a.Nanosecond()/1000)
	return micros / (unit * 1_000_000), nil
}

// monthSpan counts the complete months from the first moment to the second.
func monthSpan(args []driver.Value) (driver.Value, error) {
	a, ok1 := read(args[0])
	b, ok2 := read(args[1])
	if !ok1 || !ok2 {
		return nil, nil
	}
	sign := int64(1)
	if b.Before(a) {
		a, b, sign = b, a, -1
	}
	n := int64(b.Year()-a.Year())*12 + int64(b.Month()-a.Month())
	within := func(t time.Time) time.Duration {
		return time.Duration(t.Day())*24*time.Hour + time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute + time.Duration(t.Second())*time.Second + time.Duration(t.Nanosecond())
	}
	if within(b) < within(a) {
		n--
	}
	return sign * n, nil
}

// epoch is the second since 1970 in which a moment lies.
func epoch(args []driver.Value) (driver.Value, error) {
	t, ok := read(args[0])
	if !ok {
		return nil, nil
	}
	return t.Unix(), nil
}

// julian is the day since the noon of 24 November 4714 BC, as a fraction.
func julian(args []driver.Value) (driver.Value, error) {
	t, ok := read(args[0])
	if !ok {
		return nil, nil
	}
	return float64(t.Unix()*1_000_000+int64(math.Round(float64(t.Nanosecond())/1000)))/86400e6 + 2440587.5, nil
}
