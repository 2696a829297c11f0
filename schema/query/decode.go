package query

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"resq/schema/problem"
)

// Decode reads the arguments of res-query. The error is a problem.List of everything that is wrong with
// their form and size; names are not looked up.
func Decode(raw []byte, lim Limits) (*Request, error) { return decode(raw, lim, false) }

// DecodeTrusted reads a request that the catalog holds: it may also use the principal and sets.
func DecodeTrusted(raw []byte, lim Limits) (*Request, error) { return decode(raw, lim, true) }

func decode(raw []byte, lim Limits, trusted bool) (*Request, error) {
	return (&decoder{lim: &lim, trusted: trusted}).whole(raw)
}

func (d *decoder) whole(raw []byte) (*Request, error) {
	v, err := arguments(raw, *d.lim)
	if err != nil {
		return nil, problem.List{err}
	}
	r := d.request(v, "", true)
	return r, d.probs.Err()
}

// DecodePreset reads a request that a business tool of the catalog makes: beside what DecodeTrusted takes it may compare
// with the tool's arguments.
func DecodePreset(raw []byte, lim Limits) (*Request, error) {
	return (&decoder{lim: &lim, trusted: true, params: true}).whole(raw)
}

// DecodePresetRule is DecodeRule for the conditions of a business tool.
func DecodePresetRule(raw []byte, lim Limits) (*Node, error) {
	return (&decoder{lim: &lim, trusted: true, params: true}).rule(raw)
}

// DecodeRule reads a condition tree that the catalog holds. Its fields may be $arguments, its tokens
// attributes of the principal and sets.
func DecodeRule(raw []byte, lim Limits) (*Node, error) {
	return (&decoder{lim: &lim, trusted: true}).rule(raw)
}

func (d *decoder) rule(raw []byte) (*Node, error) {
	v, err := arguments(raw, *d.lim)
	if err != nil {
		return nil, problem.List{err}
	}
	n := d.conditions(&v, "")
	return n, d.probs.Err()
}

// Keywords reads the arguments of res-schema.
func Keywords(raw []byte, lim Limits) (keywords, detail string, err error) {
	v, p := arguments(raw, lim)
	if p != nil {
		return "", "", problem.List{p}
	}
	d := &decoder{lim: &lim}
	o := d.object(v, "", []string{"keywords", "detail"})
	keywords, _ = o.value("keywords", lim.Token)
	detail = o.enum("detail", "", "names", "fields", "full")
	if utf8.RuneCountInString(keywords) > 1000 {
		d.limit("/keywords", "keywords of more than 1000 characters", "")
	}
	return keywords, detail, d.probs.Err()
}

// arguments reads the raw object of a call.
func arguments(raw []byte, lim Limits) (value, *problem.Problem) {
	if len(raw) > lim.Bytes {
		return value{}, &problem.Problem{Code: problem.LimitExceeded, Stage: problem.Raw,
			Message: "arguments of " + strconv.Itoa(len(raw)) + " bytes", Hint: "at most " + strconv.Itoa(lim.Bytes)}
	}
	for _, c := range raw {
		switch c {
		case ' ', '\t', '\n', '\r':
			continue
		case '{':
			return read(&scanner{b: raw, max: lim.Depth, outer: true})
		}
		break
	}
	if len(strings.TrimSpace(string(raw))) == 0 {
		return value{kind: 'o'}, nil
	}
	return value{}, &problem.Problem{Code: problem.InvalidArgument, Stage: problem.Raw, Message: "the arguments are no JSON object"}
}

type decoder struct {
	lim     *Limits
	trusted bool
	params  bool // and of a business tool
	probs   problem.List
	leaves  int
	queries int
	depth   int // of nested requests
}

func (d *decoder) bad(at, message, hint string) {
	d.probs = append(d.probs, &problem.Problem{Code: problem.InvalidArgument, Stage: problem.Shape, At: at, Message: message, Hint: hint})
}

func (d *decoder) limit(at, message, hint string) {
	d.probs = append(d.probs, &problem.Problem{Code: problem.LimitExceeded, Stage: problem.Limits, At: at, Message: message, Hint: hint})
}

func (d *decoder) add(p *problem.Problem) {
	if p != nil {
		d.probs = append(d.probs, p)
	}
}

// An object is one JSON object being read.
type object struct {
	d  *decoder
	v  value
	at string
}

// object takes v as an object with no keys but those allowed. A string that holds the JSON of an object is
// taken for it: some clients send nested arguments that way (mcp.md 2.4).
func (d *decoder) object(v value, at string, allowed []string) object {
	v = d.unwrap(v, '{')
	if v.kind != 'o' {
		d.bad(at, "expected an object, not "+kindNames[v.kind], "")
		return object{d: d, at: at, v: value{kind: 'o'}}
	}
	for i := range v.members {
		k := v.members[i].key
		if !contains(allowed, k) {
			d.bad(at+"/"+pointer(k), "unknown key "+problem.Quote(k), problem.OneOf(k, allowed))
		}
	}
	return object{d: d, v: v, at: at}
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

// pointer escapes a key for a JSON Pointer and keeps it short.
func pointer(k string) string {
	if utf8.RuneCountInString(k) > 64 {
		k = string([]rune(k)[:64]) + "…"
	}
	return strings.ReplaceAll(strings.ReplaceAll(k, "~", "~0"), "/", "~1")
}

func (d *decoder) unwrap(v value, open byte) value {
	if v.kind == 's' {
		t := strings.TrimSpace(v.text)
		if t != "" && t[0] == open {
			if x, p := parse([]byte(t), d.lim.Depth); p == nil {
				return x
			}
		}
	}
	return v
}

func (o object) has(key string) bool { return o.v.member(key) != nil }

// str reads a string of at most max bytes.
func (o object) str(key string, max int) (string, bool) {
	v := o.v.member(key)
	if v == nil {
		return "", false
	}
	if v.kind != 's' {
		o.d.bad(o.at+"/"+key, "expected a string, not "+kindNames[v.kind], "")
		return "", true
	}
	if len(v.text) > max {
		o.d.limit(o.at+"/"+key, "a text of "+strconv.Itoa(len(v.text))+" bytes", "at most "+strconv.Itoa(max))
		return "", true
	}
	return v.text, true
}

// value reads what is a value and no name: a string, or a number or boolean by its text (mcp.md 2.4).
func (o object) value(key string, max int) (string, bool) {
	if v := o.v.member(key); v != nil && (v.kind == 'd' || v.kind == 'b') {
		return v.text, true
	}
	return o.str(key, max)
}

// code reads a name: at most as many characters as a catalog's codes may have.
func (o object) code(key string) (string, bool) {
	v := o.v.member(key)
	s, ok := o.str(key, 1<<20)
	if v != nil && v.kind == 's' && utf8.RuneCountInString(s) > o.d.lim.Alias {
		o.d.limit(o.at+"/"+key, "a name of "+strconv.Itoa(utf8.RuneCountInString(s))+" characters", "at most "+strconv.Itoa(o.d.lim.Alias)+"; for an expression set isExpr: true")
		return "", ok
	}
	return s, ok
}

// path reads `{Resource}.{field}`.
func (o object) path(key string) (string, bool) {
	s, ok := o.str(key, 1<<20)
	if utf8.RuneCountInString(s) > 2*o.d.lim.Alias+1 {
		o.d.limit(o.at+"/"+key, "a name of "+strconv.Itoa(utf8.RuneCountInString(s))+" characters", "at most "+strconv.Itoa(2*o.d.lim.Alias+1))
		return "", ok
	}
	return s, ok
}

func (o object) need(key string) {
	if !o.has(key) {
		o.d.bad(o.at, "missing "+key, "")
	}
}

func (o object) bool(key string) bool {
	v := o.v.member(key)
	if v == nil {
		return false
	}
	if v.kind != 'b' {
		o.d.bad(o.at+"/"+key, "expected true or false, not "+kindNames[v.kind], "")
		return false
	}
	return v.text == "true"
}

func (o object) enum(key, absent string, allowed ...string) string {
	s, ok := o.str(key, 1<<20)
	if !ok {
		return absent
	}
	if !contains(allowed, s) {
		if v := o.v.member(key); v.kind == 's' {
			o.d.bad(o.at+"/"+key, problem.Quote(s)+" is not allowed here", "one of: "+strings.Join(allowed, ", "))
		}
		return absent
	}
	return s
}

// integer reads a whole number; 1e2 is one. Where text is true a canonical numeric string is taken too.
func (o object) integer(key string, absent int64, text bool) (int64, bool) {
	v := o.v.member(key)
	if v == nil {
		return absent, false
	}
	t := v.text
	if v.kind == 'd' || v.kind == 's' && text && canonical(t) {
		if n, ok := whole(t); ok {
			return n, true
		}
		o.d.bad(o.at+"/"+key, "expected a whole number within 64 bits", "")
		return absent, false
	}
	o.d.bad(o.at+"/"+key, "expected a whole number, not "+kindNames[v.kind], "")
	return absent, false
}

func canonical(s string) bool {
	s = strings.TrimPrefix(s, "-")
	if s == "" || len(s) > 19 {
		return false
	}
	for i := 0; i < len(s); i++ {
		if !isDigit(s[i]) {
			return false
		}
	}
	return true
}

func whole(t string) (int64, bool) {
	if n, err := strconv.ParseInt(t, 10, 64); err == nil {
		return n, true
	}
	if !strings.ContainsAny(t, ".eE") {
		return 0, false
	}
	f, err := strconv.ParseFloat(t, 64)
	if err != nil || f != float64(int64(f)) || f > 1<<53 || f < -(1<<53) {
		return 0, false
	}
	return int64(f), true
}

// array reads a list of at most max items; null and absence are told apart by the caller.
func (o object) array(key string, max int, what string) []value {
	v := o.v.member(key)
	if v == nil {
		return nil
	}
	x := o.d.unwrap(*v, '[')
	if x.kind != 'a' {
		o.d.bad(o.at+"/"+key, "expected an array, not "+kindNames[v.kind], "")
		return nil
	}
	if len(x.items) > max {
		o.d.limit(o.at+"/"+key, strconv.Itoa(len(x.items))+" "+what, "at most "+strconv.Itoa(max))
		return nil
	}
	if x.items == nil {
		return []value{}
	}
	return x.items
}

// PlainName says whether s may name an output, a relation or a query: a letter or _ first, then letters,
// digits and _; not __ first.
func PlainName(s string) bool {
	if s == "" || strings.HasPrefix(s, "__") {
		return false
	}
	for i, r := range s {
		if r == '_' || unicode.IsLetter(r) || i > 0 && (unicode.IsDigit(r) || unicode.Is(unicode.Mn, r)) {
			continue
		}
		return false
	}
	return true
}

const nameHint = "letters, digits and _, not beginning with a digit or __"
