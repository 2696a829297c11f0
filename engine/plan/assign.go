package plan

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"

	"resq/schema"
	"resq/schema/problem"
	"resq/schema/query"
)

// now is the text that stands for the moment of the write, in time fields.
const now = "CURRENT_TIMESTAMP"

// assigned reads the value that a caller gives a field. Everything that a lenient database would cut, round
// or replace is refused here.
func (b *binder) assigned(f *schema.Field, a query.Assignment) (Assignment, bool) {
	out := Assignment{Field: f, Column: f.Column}
	refuse := func(what, hint string) (Assignment, bool) {
		b.add(problem.InvalidArgument, problem.Semantics, a.At, what, hint)
		return out, false
	}
	if a.Value.Null() {
		if f.NotNull || f.Required {
			return refuse("the field "+problem.Quote(f.Code)+" cannot be null", like(f.Type, f))
		}
		out.Value = &Arg{T: f.Type, Zone: f.Zone}
		return out, true
	}
	if f.Array {
		return b.array(f, a)
	}
	if f.Type.Kind == schema.JSON {
		doc := a.Value.JSON()
		if n := infinite(doc); n != "" {
			return refuse(problem.Quote(n)+" is beyond the numbers of JSON that are read alike everywhere", "a number within a double, or a text")
		}
		out.Value = &Arg{Value: doc, T: f.Type}
		return out, true
	}
	text, ok := a.Value.Scalar()
	if !ok {
		return refuse("the field "+problem.Quote(f.Code)+" takes "+article(f.Type)+", not "+a.Value.Kind(), like(f.Type, f))
	}
	if text == now && f.Type.Kind.Temporal() {
		out.Now = true
		return out, true
	}
	if k := f.Type.Kind; a.Value.Number() && (k == schema.Integer || k == schema.Decimal) {
		text = written(text)
	}
	if f.Type.Kind == schema.Integer && a.Value.Number() {
		if whole, frac, ok := strings.Cut(text, "."); ok && strings.Trim(frac, "0") == "" {
			text = whole
		}
	}
	if f.Type.Kind == schema.Decimal && strings.Contains(text, ".") {
		// Zeros behind the last digit that counts change nothing.
		whole, frac, _ := strings.Cut(text, ".")
		for len(frac) > max(f.Type.Scale, 1) && strings.HasSuffix(frac, "0") {
			frac = frac[:len(frac)-1]
		}
		text = whole + "." + frac
	}
	if f.Type.Kind == schema.DateTime {
		if f.Zone {
			text = b.universal(text)
		} else {
			text = b.local(text)
		}
	}
	if why := misfit(text, f); why != "" {
		return refuse(why, like(f.Type, f))
	}
	v, ok := parseValue(text, f.Type, f)
	if !ok {
		v, ok = b.beyond(text, f)
	}
	if !ok {
		return refuse(problem.Quote(text)+" is no value for a field of type "+f.Type.String(), like(f.Type, f))
	}
	out.Value = v
	return out, true
}

// beyond reads what one database keeps and shows and the others do not know: MySQL's times of more than a day, and
// PostgreSQL's infinities. What was read can so be written back.
func (b *binder) beyond(s string, f *schema.Field) (*Arg, bool) {
	a := &Arg{Value: s, T: f.Type, Zone: f.Zone}
	switch k := f.Type.Kind; {
	case b.conn.Driver == "mysql":
		return a, k == schema.Time && longText.MatchString(s)
	case b.conn.Driver != "postgres" || f.Native != "":
		return nil, false
	case k == schema.Time:
		return a, s == "24:00:00"
	case k == schema.Date || k == schema.DateTime:
		return a, s == "infinity" || s == "-infinity"
	case k == schema.Decimal:
		return a, s == "NaN" || s == "Infinity" || s == "-Infinity"
	case k == schema.Number && (s == "NaN" || s == "Infinity" || s == "-Infinity"):
		n, err := strconv.ParseFloat(s, 64)
		a.Value = n
		return a, err == nil
	}
	return nil, false
}

func article(t schema.Type) string {
	switch t.Kind {
	case schema.Integer, schema.Enum:
		return "an " + t.Kind.String()
	}
	return "a " + t.Kind.String()
}

// misfit says why a text does not fit a field's size, or "".
func misfit(text string, f *schema.Field) string {
	switch f.Type.Kind {
	case schema.String, schema.Text:
		if n := utf8.RuneCountInString(text); f.MaxLength > 0 && n > f.MaxLength {
			return "a text of " + strconv.Itoa(n) + " characters; the field " + problem.Quote(f.Code) + " takes " + strconv.Itoa(f.MaxLength)
		}
	case schema.Binary:
		if raw, ok := strings.CutPrefix(text, "base64:"); ok && f.MaxLength > 0 && len(strings.TrimRight(raw, "="))*3/4 > f.MaxLength {
			return "more bytes than the " + strconv.Itoa(f.MaxLength) + " of the field " + problem.Quote(f.Code)
		}
	case schema.Integer:
		if f.Unsigned && strings.HasPrefix(text, "-") {
			return "the field " + problem.Quote(f.Code) + " takes no number below 0"
		}
	case schema.Decimal:
		if f.Type.Precision == 0 || !decimalText.MatchString(text) {
			return ""
		}
		whole, frac, _ := strings.Cut(strings.TrimPrefix(text, "-"), ".")
		if len(strings.TrimRight(frac, "0")) > f.Type.Scale {
			return problem.Quote(text) + " has more digits behind the point than the " + strconv.Itoa(f.Type.Scale) + " of the field " + problem.Quote(f.Code)
		}
		if len(strings.TrimLeft(whole, "0")) > f.Type.Precision-f.Type.Scale {
			return problem.Quote(text) + " is beyond the field " + problem.Quote(f.Code) + " of type " + f.Type.String()
		}
	}
	return ""
}

// maxExponent bounds the digits that a number with an exponent is written out with.
const maxExponent = 400

// written writes a JSON number without its exponent: 1e3 is 1000. One beyond any field stays as it is.
func written(s string) string {
	at := strings.IndexAny(s, "eE")
	if at < 0 {
		return s
	}
	e, err := strconv.Atoi(s[at+1:])
	if err != nil || e > maxExponent || e < -maxExponent {
		return s
	}
	digits, minus := strings.CutPrefix(s[:at], "-")
	whole, frac, _ := strings.Cut(digits, ".")
	digits, point := whole+frac, len(whole)+e
	if n := -point; n >= 0 {
		digits, point = strings.Repeat("0", n+1)+digits, 1
	}
	if n := point - len(digits); n > 0 {
		digits += strings.Repeat("0", n)
	}
	out := strings.TrimLeft(digits[:point], "0")
	if out == "" {
		out = "0"
	}
	if frac := strings.TrimRight(digits[point:], "0"); frac != "" {
		out += "." + frac
	}
	if minus {
		out = "-" + out
	}
	return out
}

// infinite is the first number of a document that a double does not hold, or "". SQLite would keep Infinity.
func infinite(doc string) string {
	d := json.NewDecoder(strings.NewReader(doc))
	d.UseNumber()
	for {
		t, err := d.Token()
		if err != nil {
			return ""
		}
		if n, ok := t.(json.Number); ok {
			if _, err := n.Float64(); err != nil {
				return n.String()
			}
		}
	}
}

// array reads a list of scalars; the value is its JSON.
func (b *binder) array(f *schema.Field, a query.Assignment) (Assignment, bool) {
	out := Assignment{Field: f, Column: f.Column}
	text := a.Value.JSON()
	var list []any
	if json.Unmarshal([]byte(text), &list) != nil {
		b.add(problem.InvalidArgument, problem.Semantics, a.At, "the field "+problem.Quote(f.Code)+" takes an array, not "+a.Value.Kind(), `["one","two"]`)
		return out, false
	}
	for _, x := range list {
		s, isText := x.(string)
		if _, nested := x.(map[string]any); nested || isText && len(f.Values) > 0 && !containsText(f.Values, s) || isText && strings.IndexByte(s, 0) >= 0 {
			b.add(problem.InvalidArgument, problem.Semantics, a.At, "an element of "+problem.Quote(f.Code)+" does not fit it", like(f.Type, f))
			return out, false
		}
	}
	out.Value = &Arg{Value: text, T: schema.Type{Kind: schema.JSON}}
	return out, true
}
