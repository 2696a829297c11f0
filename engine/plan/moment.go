package plan

import (
	"strconv"
	"strings"

	"resq/engine/funcs"
	"resq/schema"
	"resq/schema/problem"
	"resq/schema/query"
)

var (
	dateType   = schema.Type{Kind: schema.Date}
	momentType = schema.Type{Kind: schema.DateTime}
	textType   = schema.Type{Kind: schema.Text}
)

// moment makes an operand a datetime. 'now' is the instant of the request.
func (x *xbinder) moment(o operand) Expr {
	if a, ok := o.e.(*Arg); ok && a.T.Kind == schema.Text {
		s, _ := a.Value.(string)
		if strings.EqualFold(s, "now") {
			return x.instant()
		}
		v, ok := parseValue(x.local(s), momentType, nil)
		if !ok {
			x.fail(problem.InvalidArgument, problem.Semantics, problem.Quote(s)+" is no date", like(momentType, nil))
		}
		return v
	}
	if null(o.e) {
		return &Arg{T: momentType}
	}
	switch k := o.e.Type().Kind; {
	case k == schema.DateTime || k == schema.Any:
		return o.e
	case k == schema.Date:
		if a, ok := o.e.(*Arg); ok {
			if v, ok := retype(a, momentType); ok {
				return v
			}
		}
		return &Convert{X: o.e, T: momentType}
	case k.Textual():
		return &Convert{X: o.e, T: momentType}
	default:
		x.fail(problem.InvalidArgument, problem.Semantics, "a value of type "+k.String()+" stands where a date is needed", "")
	}
	return nil
}

func (x *xbinder) instant() Expr {
	return &Arg{Value: x.clock().In(x.zone()).Format("2006-01-02 15:04:05"), T: momentType}
}

// timeCall binds the callers' spellings of date functions, of all three databases.
func (x *xbinder) timeCall(name string, ops []operand, bad problem.Code) Expr {
	need := func(lo, hi int) {
		if len(ops) < lo || len(ops) > hi {
			if bad == problem.InvalidArgument {
				x.fail(bad, problem.Constructs, name+" with this number of parameters", "")
			}
			x.arity(name)
		}
	}
	switch name {
	case "CURRENT_DATE", "CURDATE":
		need(0, 0)
		return &Arg{Value: x.clock().In(x.zone()).Format("2006-01-02"), T: dateType}
	case "CURRENT_TIMESTAMP", "NOW", "LOCALTIMESTAMP":
		need(0, 0)
		return x.instant()
	case "CURRENT_TIME":
		need(0, 0)
		return &Arg{Value: x.clock().In(x.zone()).Format("15:04:05"), T: schema.Type{Kind: schema.Time}}
	case "DATE", "DATETIME", "TIMESTAMP", "TIME":
		need(1, 8)
		return x.modified(name, ops[0], ops[1:], bad)
	case "EXTRACT", "DATE_PART":
		need(2, 2)
		u, v := x.unitFirst(ops, bad)
		f, ok := funcs.Lookup(u)
		if !ok {
			x.fail(bad, problem.Constructs, problem.Quote(u)+" is no part of a date", "YEAR, QUARTER, MONTH, WEEK, DAY, HOUR, MINUTE, SECOND, DOW, DOY or EPOCH")
		}
		return x.table(f.Name, v.e)
	case "DATE_TRUNC":
		need(2, 2)
		u, v := x.unitFirst(ops, bad)
		f, ok := funcs.Lookup("#TRUNC_" + u)
		if !ok {
			x.fail(bad, problem.Constructs, problem.Quote(u)+" is no unit to cut to", "second, minute, hour, day, week, month, quarter or year")
		}
		return x.table(f.Name, v.e)
	case "STRFTIME":
		need(2, 8)
		if ops[0].lit == nil && ops[1].lit != nil {
			ops[0], ops[1] = ops[1], ops[0]
		}
		return x.format(x.modified("DATETIME?", ops[1], ops[2:], bad), ops[0], strftimeParts, bad)
	case "DATE_FORMAT":
		need(2, 2)
		return x.format(x.moment(ops[0]), ops[1], dateFormatParts, bad)
	case "TO_CHAR":
		need(2, 2)
		return x.format(x.moment(ops[0]), ops[1], toCharParts, bad)
	case "DATEDIFF":
		need(2, 2)
		return x.table("#DAYS_BETWEEN", x.day(ops[0]), x.day(ops[1]))
	case "DATE_ADD", "DATE_SUB", "ADDDATE", "SUBDATE":
		need(2, 2)
		return x.addUnits(ops[0].e, x.numeric(ops[1].e), "DAY", name == "DATE_SUB" || name == "SUBDATE")
	}
	x.unknownFunction(name)
	return nil
}

// day makes an operand a date or datetime.
func (x *xbinder) day(o operand) Expr {
	if o.e.Type().Kind == schema.Date {
		return o.e
	}
	return x.moment(o)
}

// unitFirst finds the literal unit among two operands.
func (x *xbinder) unitFirst(ops []operand, bad problem.Code) (string, operand) {
	for i, o := range ops {
		if o.lit == nil || o.lit.Kind != 's' {
			continue
		}
		if u, ok := query.Unit(o.lit.Text); ok {
			return u, ops[1-i]
		}
	}
	x.fail(bad, problem.Constructs, "no unit of time", "such as 'month'")
	return "", operand{}
}

// modified applies SQLite's modifiers ('-30 days', 'start of month') and gives a date, datetime or time.
func (x *xbinder) modified(name string, o operand, mods []operand, bad problem.Code) Expr {
	var v Expr
	if name == "DATE" && len(mods) == 0 {
		v = x.day(o)
	} else {
		v = x.moment(o)
	}
	for _, m := range mods {
		if m.lit == nil {
			x.fail(bad, problem.Constructs, "a modifier is a plain 'string'", "'-30 days' or 'start of month'")
		}
		v = x.modifier(v, strings.ToLower(strings.TrimSpace(m.lit.Text)), bad)
	}
	switch name {
	case "DATE":
		if a, ok := v.(*Arg); ok {
			s, _ := a.Value.(string)
			if d, ok := parseValue(s[:min(10, len(s))], dateType, nil); ok {
				return d
			}
		}
		return x.table("#DATE", v)
	case "TIME":
		return x.table("#TIME", v)
	case "DATETIME?":
		return v
	}
	if _, ok := v.(*Arg); ok {
		return v
	}
	return x.table("#DATETIME", v)
}

func (x *xbinder) modifier(v Expr, m string, bad problem.Code) Expr {
	if unit, ok := strings.CutPrefix(m, "start of "); ok {
		if u, known := query.Unit(unit); known && (u == "DAY" || u == "MONTH" || u == "YEAR") {
			return x.table("#TRUNC_"+u, v)
		}
	}
	if m == "utc" {
		return v
	}
	n, unit, ok := strings.Cut(m, " ")
	count, err := strconv.ParseInt(strings.TrimPrefix(n, "+"), 10, 32)
	if u, known := query.Unit(unit); ok && err == nil && known {
		return x.addUnits(v, &Arg{Value: count, T: schema.Type{Kind: schema.Integer}}, u, false)
	}
	x.fail(bad, problem.Constructs, problem.Quote(m)+" is no modifier", "'+1 day', '-30 days', 'start of month' or 'start of year'")
	return nil
}

func (x *xbinder) addInterval(l Expr, iv *query.Interval, negative bool) Expr {
	return x.addUnits(l, x.numeric(x.bind(iv.N)), iv.Unit, negative)
}

// addUnits adds n units to a date or moment, n cut to a whole number. Weeks and quarters become days and
// months.
func (x *xbinder) addUnits(l, n Expr, unit string, negative bool) Expr {
	if n.Type().Kind != schema.Integer {
		n = &Convert{X: n, T: schema.Type{Kind: schema.Integer}}
	}
	times := int64(1)
	switch unit {
	case "WEEK":
		unit, times = "DAY", 7
	case "QUARTER":
		unit, times = "MONTH", 3
	}
	if negative {
		times = -times
	}
	if times != 1 {
		if a, ok := n.(*Arg); ok {
			if v, ok := a.Value.(int64); ok && v > -1<<40 && v < 1<<40 {
				n, times = &Arg{Value: v * times, T: a.T}, 1
			}
		}
	}
	if times != 1 {
		n = &Arith{Op: "*", L: n, R: &Int{N: times}, T: schema.Type{Kind: schema.Integer}}
	}
	what := "#ADD_MOMENT_"
	if l.Type().Kind == schema.Date && (unit == "DAY" || unit == "MONTH" || unit == "YEAR") {
		what = "#ADD_DATE_"
	} else {
		l = x.moment(operand{e: l})
	}
	if _, ok := funcs.Lookup(what + unit); !ok {
		x.badUnit(unit)
	}
	return x.table(what+unit, l, n)
}

// format writes a date or time by a literal format.
func (x *xbinder) format(v Expr, f operand, read func(string) ([]TimePart, bool), bad problem.Code) Expr {
	if f.lit == nil || f.lit.Kind != 's' {
		x.fail(bad, problem.Constructs, "a format is a plain 'string'", "'%Y-%m-%d'")
	}
	parts, ok := read(f.lit.Text)
	if ok && len(parts) == 1 {
		switch parts[0].Letter {
		case 's':
			return x.table("EPOCH", v)
		case 'J':
			return x.table("JULIANDAY", v)
		case 'w':
			return asText(x.table("DOW", v))
		}
	}
	if !ok || len(parts) == 0 || len(parts) > 32 {
		x.fail(bad, problem.Constructs, problem.Quote(f.lit.Text)+" is no format", "year %Y, month %m, day %d, hour %H, minute %M (%i in DATE_FORMAT), second %S; YYYY-MM-DD HH24:MI:SS in TO_CHAR")
	}
	for _, p := range parts {
		if p.Letter == 'w' || p.Letter == 's' || p.Letter == 'J' {
			x.fail(bad, problem.Constructs, "%"+string(p.Letter)+" stands alone in a format", "")
		}
	}
	return &Format{X: v, Parts: parts}
}

// percent reads a format of % and letters; letters gives what each becomes, as letters of strftime.
func percent(s string, letters map[byte]string) ([]TimePart, bool) {
	var out []TimePart
	for i := 0; i < len(s); {
		if s[i] != '%' {
			j := strings.IndexByte(s[i:], '%')
			if j < 0 {
				j = len(s) - i
			}
			if !plainText(s[i : i+j]) {
				return nil, false
			}
			out = append(out, TimePart{Text: s[i : i+j]})
			i += j
			continue
		}
		if i+1 == len(s) {
			return nil, false
		}
		to, ok := letters[s[i+1]]
		if !ok {
			return nil, false
		}
		for k := 0; k < len(to); k++ {
			if isUpperOrLower(to[k]) {
				out = append(out, TimePart{Letter: to[k]})
			} else {
				out = append(out, TimePart{Text: to[k : k+1]})
			}
		}
		i += 2
	}
	return out, true
}

func isUpperOrLower(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

// plainText says whether text may stand between the parts of a format in every database.
func plainText(s string) bool {
	for _, r := range s {
		if r < ' ' || r == '"' || r == '\\' || r == '%' || r == '\'' || r == 0x7f {
			return false
		}
	}
	return true
}

func strftimeParts(s string) ([]TimePart, bool) {
	return percent(s, map[byte]string{'Y': "Y", 'm': "m", 'd': "d", 'H': "H", 'M': "M", 'S': "S", 'j': "j", 'w': "w", 's': "s", 'J': "J",
		'F': "Y-m-d", 'T': "H:M:S", 'R': "H:M"})
}

func dateFormatParts(s string) ([]TimePart, bool) {
	return percent(s, map[byte]string{'Y': "Y", 'm': "m", 'd': "d", 'H': "H", 'i': "M", 's': "S", 'S': "S", 'T': "H:M:S"})
}

// toCharParts reads a format of PostgreSQL; text that holds letters stands in double quotes.
func toCharParts(s string) ([]TimePart, bool) {
	words := []struct {
		word   string
		letter byte
	}{{"YYYY", 'Y'}, {"DDD", 'j'}, {"HH24", 'H'}, {"MM", 'm'}, {"DD", 'd'}, {"MI", 'M'}, {"SS", 'S'}}
	var out []TimePart
next:
	for s != "" {
		for _, w := range words {
			if len(s) >= len(w.word) && strings.EqualFold(s[:len(w.word)], w.word) {
				out, s = append(out, TimePart{Letter: w.letter}), s[len(w.word):]
				continue next
			}
		}
		if s[0] == '"' {
			end := strings.IndexByte(s[1:], '"')
			if end < 0 || !plainText(s[1:end+1]) {
				return nil, false
			}
			out, s = append(out, TimePart{Text: s[1 : end+1]}), s[end+2:]
			continue
		}
		r := []rune(s)[0]
		if isUpperOrLower(s[0]) || !plainText(string(r)) {
			return nil, false
		}
		out, s = append(out, TimePart{Text: string(r)}), s[len(string(r)):]
	}
	return out, true
}
