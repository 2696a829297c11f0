package engine

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"resq/engine/sqlgen"
	"resq/schema"
)

// safe is the largest whole number that a client's double holds exactly.
const safe = 1<<53 - 1

// json encodes one value. The stored value decides where it does not fit the declared type: a SQLite column
// may hold anything.
func (c *column) json(b []byte, v any) []byte {
	if v == nil {
		return append(b, "null"...)
	}
	if c.mask != "" {
		t, _ := c.plain(v)
		return appendString(b, masked(c.mask, t))
	}
	if c.path {
		t, _ := c.plain(v)
		return appendPath(b, t, c.numbers)
	}
	if c.dataType != "" {
		return c.cast(b, v)
	}
	return c.value(b, v)
}

// value encodes by the value's own form and the output's type.
func (c *column) value(b []byte, v any) []byte {
	switch x := v.(type) {
	case int64:
		return c.whole(b, x)
	case *int64:
		return c.whole(b, *x)
	case *sqlgen.Loan:
		return textual(c, b, *x)
	case *float64:
		return c.float(b, *x, 64)
	case *time.Time:
		return append(c.moment(append(b, '"'), *x), '"')
	case uint64:
		if x > safe {
			return append(strconv.AppendUint(append(b, '"'), x, 10), '"')
		}
		return strconv.AppendUint(b, x, 10)
	case float64:
		return c.float(b, x, 64)
	case float32:
		if c.computed {
			return c.float(b, float64(x), 64)
		}
		return c.float(b, float64(x), 32)
	case bool:
		return strconv.AppendBool(b, x)
	case time.Time:
		return append(c.moment(append(b, '"'), x), '"')
	case sqlgen.JSON:
		return append(b, x...)
	case []byte:
		if c.t.Kind == schema.Binary || c.dbType == "" && !utf8.Valid(x) {
			return appendBase64(b, x)
		}
		return textual(c, b, x)
	case sqlgen.Blob:
		return appendBase64(b, x)
	case string:
		return textual(c, b, x)
	}
	return append(b, "null"...)
}

func (c *column) whole(b []byte, n int64) []byte {
	switch {
	case c.t.Kind == schema.Bool && (n == 0 || n == 1):
		return strconv.AppendBool(b, n == 1)
	case c.t.Kind == schema.Decimal && c.t.Scale > 0:
		return c.decimal(b, strconv.FormatInt(n, 10)+"."+strings.Repeat("0", c.t.Scale))
	}
	return appendInt(b, n)
}

// textual encodes a text by the output's type: drivers hand over numbers beyond their own types, and all
// decimals, as texts.
func textual[T string | ~[]byte](c *column, b []byte, s T) []byte {
	switch c.t.Kind {
	case schema.Integer, schema.Number, schema.Decimal, schema.JSON:
		return c.spelled(b, string(s))
	case schema.DateTime, schema.Time:
		const none = ".000000"
		if n := len(s) - len(none); c.computed && n >= 0 && string(s[n:]) == none {
			s = s[:n]
		}
	}
	return appendString(b, s)
}

// spelled encodes a number or a document that came as a text.
func (c *column) spelled(b []byte, s string) []byte {
	switch c.t.Kind {
	case schema.Integer:
		if w, frac, ok := strings.Cut(s, "."); ok && strings.Trim(frac, "0") == "" {
			s = w
		}
		if n, err := strconv.ParseInt(s, 10, 64); err == nil {
			return appendInt(b, n)
		}
		if isNumber(s) {
			return append(append(append(b, '"'), s...), '"')
		}
	case schema.Decimal:
		if isNumber(s) {
			return c.decimal(b, s)
		}
	case schema.Number:
		if f, err := strconv.ParseFloat(s, 64); err == nil && isNumber(s) {
			return c.float(b, f, 64)
		}
	case schema.JSON:
		if json.Valid([]byte(s)) {
			return appendJSON(b, s)
		}
	}
	return appendString(b, s)
}

func isNumber(s string) bool {
	t := strings.TrimPrefix(s, "-")
	if t == "" || t[0] == '.' {
		return false
	}
	dot := false
	for i := 0; i < len(t); i++ {
		switch {
		case t[i] == '.' && !dot && i+1 < len(t):
			dot = true
		case t[i] < '0' || t[i] > '9':
			return false
		}
	}
	return true
}

// decimal keeps the scale: a number up to 15 significant digits, which every client reads exactly, and a
// string beyond.
func (c *column) decimal(b []byte, s string) []byte {
	if c.t.Scale == 0 && !strings.Contains(s, ".") {
		if n, err := strconv.ParseInt(s, 10, 64); err == nil {
			return appendInt(b, n)
		}
	}
	if c.computed && c.t.Scale > 0 {
		// The databases keep the zeros of a calculated decimal or drop them, each by its own rules.
		_, frac, dot := strings.Cut(s, ".")
		if !dot {
			s += "."
		}
		if n := c.t.Scale - len(frac); n > 0 {
			s += strings.Repeat("0", n)
		}
	}
	if s[0] == '-' && strings.Trim(s, "-0.") == "" {
		s = s[1:] // no negative zero
	}
	if significant(s) > 15 {
		return append(append(append(b, '"'), s...), '"')
	}
	return append(b, s...)
}

// significant counts the digits of a decimal from its first that is not zero.
func significant(s string) (n int) {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c != '-' && c != '.' && (n > 0 || c != '0') {
			n++
		}
	}
	return n
}

func (c *column) float(b []byte, f float64, bits int) []byte {
	switch {
	case math.IsNaN(f):
		return append(b, `"NaN"`...)
	case math.IsInf(f, 1):
		return append(b, `"Infinity"`...)
	case math.IsInf(f, -1):
		return append(b, `"-Infinity"`...)
	case f == 0:
		f = 0 // no negative zero
		if c.t.Kind == schema.Decimal && c.t.Scale > 0 {
			return c.decimal(b, strconv.FormatFloat(0, 'f', c.t.Scale, 64))
		}
		return append(b, '0')
	}
	if c.t.Kind == schema.Decimal && c.t.Scale > 0 {
		// SQLite keeps decimals as doubles. The declared scale is shown when no digit is lost by it.
		if s := strconv.FormatFloat(f, 'f', c.t.Scale, 64); near(s, f) && (len(s) <= 16 || c.computed && exact(s, f)) {
			return c.decimal(b, s)
		}
	}
	if c.t.Kind == schema.Decimal && math.Abs(f) >= 1e15 {
		return c.decimal(b, strconv.FormatFloat(f, 'f', -1, 64))
	}
	if c.computed && c.t.Kind == schema.Number && c.dataType != "number" && c.dataType != "float" {
		f = rounded(f)
	}
	if f == math.Trunc(f) && math.Abs(f) <= safe {
		return strconv.AppendInt(b, int64(f), 10)
	}
	if a := math.Abs(f); a < 1e-6 || a >= 1e21 {
		return strconv.AppendFloat(b, f, 'e', -1, bits)
	}
	return strconv.AppendFloat(b, f, 'f', -1, bits)
}

// rounded shows a calculated fraction with ten significant digits and four decimals at least. The digits
// behind are noise of binary arithmetic, differ from database to database, and cost a client more than they
// tell; dataType number gives them all.
func rounded(f float64) float64 {
	digits := 10
	if whole := int(math.Log10(math.Abs(f))) + 1; whole > 6 {
		digits = whole + 4
	}
	if digits >= 17 {
		return f
	}
	g, err := strconv.ParseFloat(strconv.FormatFloat(f, 'g', digits, 64), 64)
	if err != nil {
		return f
	}
	return g
}

// exact says whether s is f itself, as far as a double tells.
func exact(s string, f float64) bool {
	g, err := strconv.ParseFloat(s, 64)
	return err == nil && g == f
}

func near(s string, f float64) bool {
	g, err := strconv.ParseFloat(s, 64)
	return err == nil && math.Abs(g-f) <= math.Abs(f)*1e-12
}

func appendInt(b []byte, n int64) []byte {
	if n > safe || n < -safe {
		return append(strconv.AppendInt(append(b, '"'), n, 10), '"')
	}
	return strconv.AppendInt(b, n, 10)
}

func appendBase64(b, v []byte) []byte {
	b = append(b, `"base64:`...)
	b = base64.StdEncoding.AppendEncode(b, v)
	return append(b, '"')
}

// appendJSON writes a document as it is, on one line.
func appendJSON(b []byte, s string) []byte {
	if !strings.ContainsAny(s, "\n\r\t") {
		return append(b, s...)
	}
	buf := bytes.NewBuffer(b)
	if err := json.Compact(buf, []byte(s)); err != nil {
		return appendString(b, s)
	}
	return buf.Bytes()
}

// appendPath writes the path of a walk as a list of keys, which are numbers or texts.
func appendPath(b []byte, s string, numbers bool) []byte {
	b = append(b, '[')
	for i, k := range strings.Split(strings.Trim(s, "\x1f"), "\x1f") {
		if i > 0 {
			b = append(b, ',')
		}
		if n, err := strconv.ParseInt(k, 10, 64); numbers && err == nil && strconv.FormatInt(n, 10) == k {
			b = appendInt(b, n)
		} else {
			b = appendString(b, k)
		}
	}
	return append(b, ']')
}

// moment writes a time as the database would: without a zone for times that have none, in UTC with Z for
// those that do.
func (c *column) moment(b []byte, t time.Time) []byte {
	era := ""
	if t.Year() <= 0 {
		t, era = t.AddDate(1-2*t.Year(), 0, 0), " BC"
	}
	switch {
	case c.dbType == "DATE":
		return append(t.AppendFormat(b, "2006-01-02"), era...)
	case c.dbType == "TIMESTAMPTZ" || c.zoned != nil:
		return append(t.UTC().AppendFormat(b, "2006-01-02T15:04:05.000000Z07:00"), era...)
	case c.dbType == "" && c.t.Kind == schema.Date:
		return append(t.AppendFormat(b, "2006-01-02"), era...)
	}
	return append(appendMoment(b, t), era...)
}

// appendMoment is t.AppendFormat(b, "2006-01-02 15:04:05.999999"), which is read anew for every value and is a tenth
// of the time of a large answer.
func appendMoment(b []byte, t time.Time) []byte {
	year, month, day := t.Date()
	if year < 0 || year > 9999 {
		return t.AppendFormat(b, "2006-01-02 15:04:05.999999")
	}
	two := func(n int) { b = append(b, byte('0'+n/10), byte('0'+n%10)) }
	two(year / 100)
	two(year % 100)
	b = append(b, '-')
	two(int(month))
	b = append(b, '-')
	two(day)
	hour, minute, second := t.Clock()
	b = append(b, ' ')
	two(hour)
	b = append(b, ':')
	two(minute)
	b = append(b, ':')
	two(second)
	micro := t.Nanosecond() / 1000
	if micro == 0 {
		return b
	}
	b = append(b, '.')
	for unit := 100_000; micro > 0; unit /= 10 {
		b = append(b, byte('0'+micro/unit))
		micro %= unit
	}
	return b
}

// plain gives a value as text.
func (c *column) plain(v any) (string, bool) {
	switch x := v.(type) {
	case nil:
		return "", false
	case string:
		return x, true
	case []byte:
		if c.t.Kind == schema.Binary {
			return "base64:" + base64.StdEncoding.EncodeToString(x), true
		}
		return string(x), true
	case sqlgen.Blob:
		return "base64:" + base64.StdEncoding.EncodeToString(x), true
	case sqlgen.JSON:
		return string(x), true
	case time.Time:
		return string(c.moment(nil, x)), true
	}
	s := string(c.value(nil, v))
	return strings.Trim(s, `"`), true
}

// text gives a value as the formats without types show it. NULL has none.
func (c *column) text(v any) (string, bool) {
	if v == nil {
		return "", false
	}
	b := c.json(nil, v)
	if len(b) > 0 && b[0] == '"' {
		var s string
		if json.Unmarshal(b, &s) == nil {
			return s, true
		}
	}
	return string(b), true
}

// stored gives a sort key exactly, for a cursor.
func (c *column) stored(v any) (string, bool) {
	switch x := v.(type) {
	case nil:
		return "", false
	case float64:
		if c.t.Kind == schema.Decimal {
			return strconv.FormatFloat(x, 'f', -1, 64), true
		}
		return strconv.FormatFloat(x, 'g', -1, 64), true
	case float32:
		return strconv.FormatFloat(float64(x), 'g', -1, 32), true
	case int64:
		return strconv.FormatInt(x, 10), true
	case uint64:
		return strconv.FormatUint(x, 10), true
	case bool:
		return strconv.FormatBool(x), true
	}
	return c.plain(v)
}

// cast gives a value the JSON type the caller asked for. What does not convert stays as it is.
func (c *column) cast(b []byte, v any) []byte {
	natural := c.value(nil, v)
	s := string(natural)
	if len(natural) > 0 && natural[0] == '"' {
		_ = json.Unmarshal(natural, &s) // it was encoded here
	}
	if s == "true" || s == "false" {
		switch c.dataType {
		case "integer", "number", "float":
			if s == "true" {
				return append(b, '1')
			}
			return append(b, '0')
		}
	}
	switch c.dataType {
	case "string":
		return appendString(b, s)
	case "bool":
		switch strings.ToLower(s) {
		case "1", "true":
			return append(b, "true"...)
		case "0", "false":
			return append(b, "false"...)
		}
	case "integer":
		if f, err := strconv.ParseFloat(s, 64); err == nil && isNumber(s) {
			if n, err := strconv.ParseInt(s, 10, 64); err == nil {
				return appendInt(b, n)
			}
			if math.Abs(f) <= safe {
				return appendInt(b, int64(f))
			}
		}
	case "number", "float":
		if isNumber(s) {
			return append(b, s...)
		}
	case "json":
		if json.Valid([]byte(s)) {
			return appendJSON(b, s)
		}
	case "array":
		t := strings.TrimSpace(s)
		switch {
		case strings.HasPrefix(t, "[") && json.Valid([]byte(t)):
			return appendJSON(b, t)
		case natural[0] == '"':
			b = append(b, '[')
			for i, part := range strings.Split(s, ",") {
				if i > 0 {
					b = append(b, ',')
				}
				b = appendString(b, strings.TrimSpace(part))
			}
			return append(b, ']')
		}
		return append(append(append(b, '['), natural...), ']')
	}
	return append(b, natural...)
}
