package engine

import (
	"strconv"
	"strings"
)

// An object is a JSON object that is being written, without its end.
type object []byte

func newObject() object { return object{'{'} }

func (o object) key(k string) object {
	if len(o) > 1 {
		o = append(o, ',')
	}
	return append(appendString(o, k), ':')
}

func (o object) text(k, v string) object { return appendString(o.key(k), v) }

// some writes a text that is not empty.
func (o object) some(k, v string) object {
	if v == "" {
		return o
	}
	return o.text(k, v)
}

func (o object) flag(k string, v bool) object { return strconv.AppendBool(o.key(k), v) }

func (o object) number(k string, n int64) object { return appendInt(o.key(k), n) }

func (o object) raw(k string, v []byte) object { return append(o.key(k), v...) }

func (o object) texts(k string, list []string) object {
	o = append(o.key(k), '[')
	for i, s := range list {
		if i > 0 {
			o = append(o, ',')
		}
		o = appendString(o, s)
	}
	return append(o, ']')
}

// list writes texts of which there are any.
func (o object) list(k string, list []string) object {
	if len(list) == 0 {
		return o
	}
	return o.texts(k, list)
}

func (o object) objects(k string, list []object) object {
	o = append(o.key(k), '[')
	for i, x := range list {
		if i > 0 {
			o = append(o, ',')
		}
		o = append(append(o, x...), '}')
	}
	return append(o, ']')
}

func (o object) end() []byte { return append(o, '}') }

// A listing is an answer that lists something.
type listing struct {
	body     []byte
	n, limit int64
	room     int
	more     bool
	cut      bool
	warnings []string
}

func (q *inquiry) listing() *listing { return &listing{limit: q.limit, room: q.e.opts.MaxBytes} }

// add adds an entry; it says false when there is no place for it, and then the list has ended.
func (l *listing) add(o object) bool {
	if l.n == l.limit {
		l.more = true
		return false
	}
	if len(l.body)+len(o)+3 > l.room && l.n > 0 {
		l.more, l.cut = true, true
		return false
	}
	if l.n > 0 {
		l.body = append(l.body, ',')
	}
	l.body = append(append(append(l.body, '\n'), o...), '}')
	l.n++
	return true
}

func (l *listing) answer() *Answer {
	switch {
	case l.cut:
		l.warnings = append(l.warnings, "the answer was cut at "+strconv.FormatInt(l.n, 10)+" entries because it would be too large; narrow it")
	case l.more:
		l.warnings = append(l.warnings, "there are more than "+strconv.FormatInt(l.limit, 10)+" entries; narrow the arguments")
	}
	o := newObject().flag("success", true)
	o = append(append(append(o.key("data"), '['), l.body...), ']')
	o = o.number("rowCount", l.n).number("limitApplied", l.limit).flag("truncated", l.more).list("warnings", l.warnings)
	return &Answer{Text: o.end(), Rows: int(l.n), Cut: l.cut}
}

// matcher is what a filter of names asks: a part of them, in any case; * stands for any text, and with % it is a pattern as
// of LIKE (D-070).
func matcher(filter string) func(string) bool {
	f := []rune(strings.ToLower(filter))
	like := strings.ContainsRune(filter, '%')
	switch {
	case filter == "":
		return func(string) bool { return true }
	case !like && !strings.ContainsRune(filter, '*'):
		return func(name string) bool { return strings.Contains(strings.ToLower(name), string(f)) }
	}
	return func(name string) bool {
		s := []rune(strings.ToLower(name))
		// The usual walk with one place to go back to: the last wildcard.
		i, j, star, mark := 0, 0, -1, 0
		for i < len(s) {
			switch {
			case j < len(f) && (f[j] == '*' || like && f[j] == '%'):
				star, mark = j, i
				j++
			case j < len(f) && (f[j] == s[i] || like && f[j] == '_'):
				i, j = i+1, j+1
			case star >= 0:
				mark++
				i, j = mark, star+1
			default:
				return false
			}
		}
		for j < len(f) && (f[j] == '*' || like && f[j] == '%') {
			j++
		}
		return j == len(f)
	}
}

// head tells which table it is.
func (t *aTable) head() object {
	return newObject().text("schema", t.schema).text("table", t.name).text("kind", t.kind())
}

// resources are the codes of the table's resources; all of them are seen, or the table would not be.
func (q *inquiry) resources(t *aTable) []string {
	var out []string
	for _, r := range t.use.Resources {
		out = append(out, r.Code)
	}
	return out
}

// line tells of a table what lists tell.
func (q *inquiry) line(t *aTable) object {
	o := t.head().some("comment", t.comment)
	if t.note != nil {
		o = o.some("entity", t.note.Entity).some("business_description", t.note.Description)
	}
	return o.list("resources", q.resources(t))
}

func (q *inquiry) listSchemas(filter string, system bool) (*Answer, error) {
	names, err := q.schemas(system)
	if err != nil {
		return nil, err
	}
	l, match := q.listing(), matcher(filter)
	for _, s := range names {
		if !match(s) {
			continue
		}
		list, err := q.in(s)
		if err != nil {
			return nil, err
		}
		views := 0
		for _, t := range list {
			if t.view {
				views++
			}
		}
		if len(list) > 0 && !l.add(newObject().text("schema", s).flag("default", strings.EqualFold(s, q.conn.Home())).number("tables", int64(len(list)-views)).number("views", int64(views))) {
			break
		}
	}
	return l.answer(), nil
}

func (q *inquiry) listTables(schemaName, filter string, views bool) (*Answer, error) {
	s, err := q.chosen(schemaName)
	if err != nil {
		return nil, err
	}
	list, err := q.in(s)
	if err != nil {
		return nil, err
	}
	l, match := q.listing(), matcher(filter)
	for _, t := range list {
		if t.view == views && match(t.name) && !l.add(q.line(t)) {
			break
		}
	}
	return l.answer(), nil
}

// where are the schemas in which is searched.
func (q *inquiry) where(schemaName string, system bool) ([]string, error) {
	if schemaName == "" {
		return q.schemas(system)
	}
	s, err := q.chosen(schemaName)
	return []string{s}, err
}

func (q *inquiry) searchTables(schemaName, filter string, system bool) (*Answer, error) {
	names, err := q.where(schemaName, system)
	if err != nil {
		return nil, err
	}
	l, match := q.listing(), matcher(filter)
	for _, s := range names {
		list, err := q.in(s)
		if err != nil {
			return nil, err
		}
		for _, t := range list {
			if match(t.name) && !l.add(q.line(t)) {
				return l.answer(), nil
			}
		}
	}
	return l.answer(), nil
}
