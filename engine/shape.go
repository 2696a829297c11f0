package engine

import (
	"bytes"
	"cmp"
	"database/sql/driver"
	"fmt"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"resq/engine/plan"
	"resq/engine/policy"
	"resq/engine/sqlgen"
	"resq/schema"
	"resq/schema/problem"
	"resq/schema/query"
)

// An Answer is what a tool says. Rows are encoded once, as they are read.
type Answer struct {
	Text []byte // the first text block
	Meta []byte // the second, of the formats csv and markdown: what columns and objects say in their object
	Rows int
	Cut  bool // the byte budget ended the page
	// Preview is of a change that was only proposed; nil otherwise.
	Preview *Preview
	// Logged is the arguments of a business tool that its catalog lets the log of calls hold, as JSON; nil is none.
	Logged []byte

	// Data gives the answer once more as JSON, where Text is none: of res-schema. Nil where it is.
	Data func() []byte

	// File is of a tool that makes one; nil of any other.
	File *File

	pooled bool // Text is in bodies
}

// A File is what a tool made beside its answer.
type File struct {
	Name, Type string // the type is a media type
	Rows       int
	Complete   bool // no row is missing
}

// hardBytes is the largest answer, whatever the budget: a page always holds one row at least.
const hardBytes = 1 << 20

// A column is how one output is encoded.
type column struct {
	name     string
	quoted   []byte // the name as JSON
	t        schema.Type
	field    *schema.Field
	zoned    *schema.Field // the field of a moment that keeps its zone; nil is none
	mask     string
	dataType string
	path     bool // the path of a walk
	numbers  bool // its keys are numbers
	computed bool
	gathered bool // a string aggregate, with one character more than it may have
	decode   func(any) any
	dbType   string
	lent     bool // a value that is lent can be written as it is
}

// A held value is a sort key of the last row, in room of its own.
type held struct {
	v    any
	n    int64
	f    float64
	t    time.Time
	text []byte
	loan sqlgen.Loan
}

// hold takes a value over from the driver.
func (k *held) hold(v any) {
	switch x := v.(type) {
	case *int64:
		k.n, k.v = *x, &k.n
	case *float64:
		k.f, k.v = *x, &k.f
	case *time.Time:
		k.t, k.v = *x, &k.t
	case *sqlgen.Loan:
		k.loan = append(k.loan[:0], *x...)
		k.v = &k.loan
	case []byte:
		k.text = append(k.text[:0], x...)
		k.v = k.text
	default:
		k.v = v
	}
}

// A shaper turns rows into an answer.
type shaper struct {
	e     *Engine
	who   *policy.Principal
	p     *plan.Plan
	r     *query.Request
	cols  []column
	key   func(dbType string, column bool, v any) (any, bool)
	shown int
	vals  []driver.Value

	body    []byte
	one     []byte
	n       int64
	last    []held
	more    bool
	cut     bool
	textCut bool
	notices []string
}

func (e *Engine) shaper(rows driver.Rows, d Driver, who *policy.Principal, c *compiled) (*shaper, error) {
	p, r := c.p, c.r
	root := p.Root()
	s := &shaper{key: d.Key, e: e, who: who, p: p, r: r, shown: len(root.Out) - root.Hidden, vals: make([]driver.Value, len(root.Out)), notices: slices.Clip(p.Notices())}
	if !sameTypes(rows, c.cols) {
		var err error
		if c.cols, err = readColumns(rows, d, root.Out); err != nil {
			return nil, err
		}
		text := r.Format == query.CSV || r.Format == query.Markdown
		for i := range c.cols {
			c.cols[i].lent = c.cols[i].lent && i < s.shown && !text
		}
	}
	s.cols = c.cols
	s.last = make([]held, len(p.Page().Keys))
	s.body = bodies.Take(1024)
	s.head()
	return s, nil
}

// typesOf gives the types of columns, as the driver names them.
func typesOf(rows driver.Rows) func(i int) string {
	if t, ok := rows.(driver.RowsColumnTypeDatabaseTypeName); ok {
		return t.ColumnTypeDatabaseTypeName
	}
	return func(int) string { return "" }
}

// sameTypes says whether columns are still those of rows: a table may have been changed since.
func sameTypes(rows driver.Rows, cols []column) bool {
	if len(cols) == 0 || len(rows.Columns()) != len(cols) {
		return false
	}
	dbType := typesOf(rows)
	for i := range cols {
		if dbType(i) != cols[i].dbType {
			return false
		}
	}
	return true
}

// readColumns says how each value of rows is encoded.
func readColumns(rows driver.Rows, d Driver, out []*plan.Output) ([]column, error) {
	if n := len(rows.Columns()); n != len(out) {
		return nil, fmt.Errorf("engine: %d columns for %d outputs", n, len(out))
	}
	return columnsOf(typesOf(rows), d, out), nil
}

// settled gives what a value of the driver means. One that is lent stays so where it can be written as it is.
func (c *column) settled(v any) any {
	if c.lent || v == nil {
		return v
	}
	if v = sqlgen.Owned(v); c.decode != nil {
		v = c.decode(v)
	}
	return v
}

// columnsOf says how each output of a statement is encoded.
func columnsOf(dbType func(i int) string, d Driver, out []*plan.Output) []column {
	cols := make([]column, len(out))
	for i, o := range out {
		c := column{name: o.Name, t: o.Type(), field: o.Field, mask: o.Mask, dataType: o.DataType, computed: o.Calculated()}
		c.gathered = o.Gathered()
		if x, ok := o.Expr.(*plan.Column); ok {
			x = x.Origin()
			c.path = x.Pseudo == "path"
			c.numbers = c.path && x.Source.Walk.Child.Type.Kind == schema.Integer
			c.zoned, _ = x.Zoned()
		}
		c.dbType = dbType(i)
		c.decode = d.Decode(c.dbType, cmp.Or(o.Field, c.zoned))
		c.lent = c.decode == nil && c.mask == "" && !c.path && c.dataType == "" && !c.gathered
		c.quoted = appendString(make([]byte, 0, len(o.Name)+2), o.Name)
		cols[i] = c
	}
	return cols
}

// head writes what stands before the rows.
func (s *shaper) head() {
	switch s.r.Format {
	case query.CSV:
		for i := 0; i < s.shown; i++ {
			if i > 0 {
				s.body = append(s.body, ',')
			}
			s.body = appendCSV(s.body, s.cols[i].name)
		}
		s.body = append(s.body, '\n')
	case query.Markdown:
		s.body = append(s.body, '|')
		for i := 0; i < s.shown; i++ {
			s.body = append(appendCell(append(s.body, ' '), s.cols[i].name), " |"...)
		}
		s.body = append(s.body, "\n|"...)
		for i := 0; i < s.shown; i++ {
			s.body = append(s.body, " --- |"...)
		}
		s.body = append(s.body, '\n')
	default:
		s.body = append(s.body, `{"resource":`...)
		s.body = appendString(s.body, s.r.Resource)
		if s.r.Format == query.Columns {
			s.body = append(s.body, `,"columns":[`...)
			for i := 0; i < s.shown; i++ {
				if i > 0 {
					s.body = append(s.body, ',')
				}
				s.body = append(s.body, s.cols[i].quoted...)
			}
			s.body = append(s.body, ']')
		}
		if s.r.Format == query.Objects {
			s.body = append(s.body, `,"records":[`...)
		} else {
			s.body = append(s.body, `,"rows":[`...)
		}
	}
}

// row encodes the row that was scanned. It says false when the page is full.
func (s *shaper) row() (bool, error) {
	page := s.p.Page()
	if page.Limit >= 0 && s.n == page.Limit {
		s.more = true
		return false, nil
	}
	for i := range s.vals {
		s.vals[i] = s.cols[i].settled(s.vals[i])
	}
	if s.n == 0 {
		s.walkNotices()
	}
	for i := range s.shown {
		if s.cols[i].gathered && s.vals[i] != nil {
			s.vals[i] = s.gather(s.vals[i])
		}
	}
	s.one = s.encode(s.one[:0])
	room := s.e.opts.MaxBytes
	if s.n == 0 {
		room = max(room, hardBytes)
	}
	if len(s.body)+len(s.one) > room {
		if s.n == 0 {
			return false, problem.List{{Code: problem.LimitExceeded, Stage: problem.Database, Message: "one row is larger than an answer may be",
				Hint: "ask for fewer fields, or for a part of the long ones: LEFT(field, 1000)"}}
		}
		s.more, s.cut = true, true
		return false, nil
	}
	if len(s.body)+len(s.one) > cap(s.body) { // twice as much: append alone grows a large text by a quarter, and copies it each time
		s.body = slices.Grow(s.body, len(s.body)+len(s.one))
	}
	s.body = append(s.body, s.one...)
	s.n++
	for i, k := range page.Keys {
		s.last[i].hold(s.vals[k])
	}
	return true, nil
}

func (s *shaper) encode(b []byte) []byte {
	switch s.r.Format {
	case query.CSV:
		for i := 0; i < s.shown; i++ {
			if i > 0 {
				b = append(b, ',')
			}
			if t, ok := s.cols[i].text(s.vals[i]); ok {
				b = appendCSV(b, t)
			}
		}
		return append(b, '\n')
	case query.Markdown:
		b = append(b, '|')
		for i := 0; i < s.shown; i++ {
			b = append(b, ' ')
			if t, ok := s.cols[i].text(s.vals[i]); ok {
				b = appendCell(b, t)
			}
			b = append(b, " |"...)
		}
		return append(b, '\n')
	}
	if s.n > 0 {
		b = append(b, ',')
	}
	b = append(b, '\n')
	open, shut := byte('['), byte(']')
	if s.r.Format == query.Objects {
		open, shut = '{', '}'
	}
	b = append(b, open)
	for i := 0; i < s.shown; i++ {
		if i > 0 {
			b = append(b, ',')
		}
		if open == '{' {
			b = append(append(b, s.cols[i].quoted...), ':')
		}
		b = s.cols[i].json(b, s.vals[i])
	}
	return append(b, shut)
}

// gather cuts a string aggregate to its length, and notes that it did.
func (s *shaper) gather(v any) any {
	text, ok := v.(string)
	if b, bytes := v.([]byte); bytes {
		text, ok = string(b), true
	}
	if !ok || len(text) <= sqlgen.ConcatCap || utf8.RuneCountInString(text) <= sqlgen.ConcatCap {
		return v
	}
	s.textCut = true
	end := 0
	for range sqlgen.ConcatCap {
		_, n := utf8.DecodeRuneInString(text[end:])
		end += n
	}
	return text[:end]
}

// walkNotices says what a walk left out.
func (s *shaper) walkNotices() {
	for i := s.shown; i < len(s.cols); i++ {
		n, ok := s.vals[i].(int64)
		if b, isBytes := s.vals[i].([]byte); isBytes {
			n, ok = int64(len(bytes.TrimLeft(b, "0"))), true
		}
		if !ok || n == 0 {
			continue
		}
		switch s.cols[i].name {
		case "#cycle":
			s.notices = append(s.notices, "CYCLE_CUT: rows that are their own ancestors are given once")
		case "#depth":
			s.notices = append(s.notices, "DEPTH_CUT: there are levels below the last one given")
		case "#rows":
			s.notices = append(s.notices, "ROWS_CUT: the tree has more rows than a walk may reach")
		}
	}
}

// answer writes what stands behind the rows: whether there are more and how to get them, and every cut.
func (s *shaper) answer(total int64) (*Answer, error) {
	page := s.p.Page()
	if s.cut {
		s.notices = append(s.notices, "BYTES_CUT: the page ended after "+strconv.FormatInt(s.n, 10)+" rows, at the size an answer may have")
	}
	if s.textCut {
		s.notices = append(s.notices, "TEXT_CUT: a string aggregate ended after "+strconv.Itoa(sqlgen.ConcatCap)+" characters")
	}
	if s.n == 0 && s.r.Recursive != nil && page.Offset == 0 && s.r.Cursor == "" {
		s.notices = append(s.notices, "EMPTY_WALK: no row was reached; the root is a value of pField, and the empty text stands for no parent")
	}
	a := &Answer{Rows: int(s.n), Cut: s.cut, pooled: true}
	var meta []byte
	if total >= 0 {
		meta = strconv.AppendInt(append(meta, `,"total":`...), total, 10)
	}
	meta = strconv.AppendBool(append(meta, `,"hasMore":`...), s.more)
	if s.more {
		next := page.Offset + page.Seen + s.n
		cursor, err := s.cursor(next)
		if err != nil {
			return nil, err
		}
		if (s.r.Cursor == "" || cursor == "") && next <= s.e.opts.Limits.Offset {
			meta = strconv.AppendInt(append(meta, `,"nextOffset":`...), next, 10)
		}
		if cursor != "" {
			meta = appendString(append(meta, `,"cursor":`...), cursor)
		}
	}
	if len(s.notices) > 0 {
		meta = append(meta, `,"notice":[`...)
		for i, n := range s.notices {
			if i > 0 {
				meta = append(meta, ',')
			}
			meta = appendString(meta, n)
		}
		meta = append(meta, ']')
	}
	meta = append(meta, '}')
	switch s.r.Format {
	case query.CSV, query.Markdown:
		a.Text = s.body
		a.Meta = appendString([]byte(`{"resource":`), s.r.Resource)
		a.Meta = strconv.AppendInt(append(a.Meta, `,"count":`...), s.n, 10)
		a.Meta = append(a.Meta, meta...)
	default:
		if s.n > 0 {
			s.body = append(s.body, '\n')
		}
		a.Text = append(append(s.body, ']'), meta...)
	}
	return a, nil
}
