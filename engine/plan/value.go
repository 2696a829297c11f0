package plan

import (
	"encoding/base64"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"resq/schema"
	"resq/schema/problem"
)

var (
	integerText = regexp.MustCompile(`^-?[0-9]{1,20}$`)
	decimalText = regexp.MustCompile(`^-?[0-9]{1,60}(\.[0-9]{1,60})?$`)
	floatText   = regexp.MustCompile(`^-?[0-9]{1,60}(\.[0-9]{1,60})?([eE][+-]?[0-9]{1,3})?$`)
	uuidText    = regexp.MustCompile(`^[0-9a-fA-F]{8}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{12}$`)
	clockText   = regexp.MustCompile(`^([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9](\.[0-9]{1,6})?)?$`)
)

// parseValue reads a text as a value of t; f, if there is one, narrows it. The text is converted here and
// not by the database: MySQL would take '1abc' for 1 and 'abc' for 0 (security.md 4.5).
func parseValue(s string, t schema.Type, f *schema.Field) (*Arg, bool) {
	a := &Arg{T: t}
	if strings.IndexByte(s, 0) >= 0 {
		return nil, false
	}
	switch t.Kind {
	case schema.Integer:
		return parseInteger(s, t, f)
	case schema.Decimal:
		if !decimalText.MatchString(s) {
			return nil, false
		}
		a.Value = s
	case schema.Number:
		v, err := strconv.ParseFloat(s, 64)
		if err != nil || math.IsInf(v, 0) || !floatText.MatchString(s) {
			return nil, false
		}
		a.Value = v
	case schema.Bool:
		switch s {
		case "true", "1":
			a.Value = true
		case "false", "0":
			a.Value = false
		default:
			return nil, false
		}
	case schema.Date, schema.DateTime:
		return parseMoment(s, t, f)
	case schema.Time:
		if !clockText.MatchString(s) {
			return nil, false
		}
		if len(s) == 5 {
			s += ":00"
		}
		a.Value = s
	case schema.UUID:
		if !uuidText.MatchString(s) {
			return nil, false
		}
		h := strings.ToLower(strings.ReplaceAll(s, "-", ""))
		a.Value = h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
	case schema.Binary:
		raw, ok := strings.CutPrefix(s, "base64:")
		v, err := base64.StdEncoding.DecodeString(raw)
		if !ok || err != nil {
			return nil, false
		}
		a.Value = v
	case schema.Enum:
		if f != nil && len(f.Values) > 0 && !containsText(f.Values, s) {
			return nil, false
		}
		a.Value, a.Bare = s, true
	default:
		a.Value = s
	}
	return a, true
}

func containsText(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

func parseInteger(s string, t schema.Type, f *schema.Field) (*Arg, bool) {
	if !integerText.MatchString(s) {
		return nil, false
	}
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return &Arg{Value: n, T: t}, true
	}
	if f != nil && f.Unsigned {
		if n, err := strconv.ParseUint(s, 10, 64); err == nil {
			return &Arg{Value: n, T: t}, true
		}
	}
	return nil, false
}

var momentForms = []string{"2006-01-02", "2006-01-02 15:04:05", "2006-01-02T15:04:05", "2006-01-02 15:04", "2006-01-02T15:04",
	time.RFC3339Nano, "2006-01-02 15:04:05Z07:00"}

// parseMoment reads RFC 3339 or YYYY-MM-DD[ HH:MM[:SS[.ffffff]]]. A text with an offset is brought to the
// zone in which the field's connection keeps its times.
func parseMoment(s string, t schema.Type, f *schema.Field) (*Arg, bool) {
	if len(s) < 10 || len(s) > 40 || s[4] != '-' {
		return nil, false
	}
	for i, form := range momentForms {
		m, err := time.Parse(form, s)
		if err != nil {
			continue
		}
		if m.Year() < 1 || m.Nanosecond()%1000 != 0 {
			return nil, false
		}
		if i >= 5 {
			m = m.UTC()
		}
		a := &Arg{T: t, Zone: f != nil && f.Zone}
		if t.Kind == schema.Date {
			if m.Hour()+m.Minute()+m.Second()+m.Nanosecond() > 0 {
				return nil, false
			}
			a.Value = m.Format("2006-01-02")
			return a, true
		}
		a.Value = m.Format("2006-01-02 15:04:05.999999")
		return a, true
	}
	return nil, false
}

var (
	zeroText = regexp.MustCompile(`^[0-9]{4}-(00-([0-2][0-9]|3[01])|(0[1-9]|1[0-2])-00)( 00:00:00)?$`)
	longText = regexp.MustCompile(`^-?([0-9]{2}|[0-7][0-9]{2}|8[0-2][0-9]|83[0-8]):[0-5][0-9]:[0-5][0-9](\.[0-9]{1,6})?$`)
)

// parseOdd reads what only MySQL keeps in a column: dates without a month or day, and times beyond a day. They are
// shown, so they can be asked for.
func parseOdd(s string, t schema.Type, f *schema.Field) (*Arg, bool) {
	switch {
	case (t.Kind == schema.Date || t.Kind == schema.DateTime) && zeroText.MatchString(s), t.Kind == schema.Time && longText.MatchString(s):
		return &Arg{Value: s, T: t, Zone: f.Zone}, true
	}
	return nil, false
}

// argText gives a literal's text, to read it anew.
func argText(a *Arg) (string, bool) {
	switch v := a.Value.(type) {
	case string:
		return v, true
	case int64:
		return strconv.FormatInt(v, 10), true
	case bool:
		return strconv.FormatBool(v), true
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64), true
	}
	return "", false
}

// like says in words what a value of t looks like.
func like(t schema.Type, f *schema.Field) string {
	switch t.Kind {
	case schema.Integer:
		return "a whole number within 64 bits, such as 42"
	case schema.Decimal, schema.Number:
		return "a number, such as 12.50"
	case schema.Bool:
		return "true or false"
	case schema.Date:
		return "a date, such as 2024-01-31"
	case schema.DateTime:
		return "a date or moment, such as 2024-01-31 or 2024-01-31 08:00:00 or 2024-01-31T08:00:00Z"
	case schema.Time:
		return "a time, such as 08:30:00"
	case schema.UUID:
		return "a UUID"
	case schema.Binary:
		return "base64: and the bytes in base64"
	case schema.Enum:
		if f != nil {
			return "one of: " + strings.Join(f.Values, ", ")
		}
	}
	return "text without NUL characters"
}

// token reads one token as a value of what it is compared with.
func (b *binder) token(s, at string, x Expr) Expr {
	t := x.Type()
	var f *schema.Field
	if c, ok := x.(*Column); ok {
		if f = c.Field; f == nil {
			f, _ = c.Zoned()
		}
	}
	if t.Kind == schema.Any {
		t = guess(s)
	}
	if t.Kind == schema.DateTime {
		if f == nil || !f.Zone {
			s = b.local(s)
		} else {
			s = b.universal(s)
		}
	}
	a, ok := parseValue(s, t, f)
	if !ok && f != nil && b.conn != nil && b.conn.Driver == "mysql" {
		a, ok = parseOdd(s, t, f)
	}
	if !ok && t.Kind == schema.Integer && f == nil {
		// A computed integer compares with any number.
		a, ok = parseValue(s, schema.Type{Kind: schema.Decimal}, nil)
	}
	if !ok {
		b.add(problem.InvalidArgument, problem.Semantics, at, problem.Quote(s)+" is no value for a field of type "+t.String(), like(t, f))
		return nil
	}
	if len(s) > b.lim.Token {
		b.add(problem.LimitExceeded, problem.Limits, at, "a value of "+strconv.Itoa(len(s))+" bytes", "at most "+strconv.Itoa(b.lim.Token))
		return nil
	}
	return a
}

// zone is where the connection keeps its local times.
func (b *binder) zone() *time.Location {
	if b.conn == nil || b.conn.Zone == "" {
		return time.UTC
	}
	if loc, err := time.LoadLocation(b.conn.Zone); err == nil {
		return loc
	}
	return time.UTC // the catalog was checked when it was loaded
}

// local brings a moment with an offset to the connection's zone, for columns that keep none.
func (b *binder) local(s string) string {
	if len(s) < 20 {
		return s
	}
	for _, form := range momentForms[5:] {
		if t, err := time.Parse(form, s); err == nil {
			return t.In(b.zone()).Format("2006-01-02 15:04:05.999999")
		}
	}
	return s
}

// universal takes a moment without an offset for one in the connection's zone, for columns that keep theirs.
func (b *binder) universal(s string) string {
	if b.zone() == time.UTC {
		return s
	}
	for _, form := range momentForms[:5] {
		if t, err := time.ParseInLocation(form, s, b.zone()); err == nil {
			return t.UTC().Format(time.RFC3339Nano)
		}
	}
	return s
}

// guess types a token that is compared with something of unknown type.
func guess(s string) schema.Type {
	switch {
	case integerText.MatchString(s) && len(s) < 19:
		return schema.Type{Kind: schema.Integer}
	case decimalText.MatchString(s):
		return schema.Type{Kind: schema.Decimal}
	}
	return schema.Type{Kind: schema.Text}
}
