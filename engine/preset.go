package engine

import (
	"context"
	"strconv"
	"time"

	"resq/engine/policy"
	"resq/schema"
	"resq/schema/problem"
	"resq/schema/query"
)

// preset answers a tool that is made of requests.
func (e *Engine) preset(ctx context.Context, who *policy.Principal, t *schema.Tool, raw []byte) (*Answer, error) {
	args, err := e.arguments(t, raw)
	if err != nil {
		return nil, err
	}
	c := &presetCall{reading: e.reading(ctx, who), tool: t, args: args}
	return c.list()
}

// A presetCall is one call of a preset.
type presetCall struct {
	*reading
	tool *schema.Tool
	args *values
}

// list answers with one page of records, and how many there are in all.
func (c *presetCall) list() (*Answer, error) {
	p := c.tool.Preset
	q := c.request(p.Read)
	c.filter(q, p.Read)
	q.Limit, q.Offset = c.args.rows, 0
	total, rows := int64(-1), &table{}
	if c.args.page-1 <= c.e.opts.Limits.Offset/c.args.rows {
		q.Offset = (c.args.page - 1) * c.args.rows
		var err error
		if rows, err = c.rows(q); err != nil {
			return nil, err
		}
		// A page that is not full ends the list, so that nothing need be counted.
		if !rows.more && (rows.rows > 0 || q.Offset == 0) {
			total = q.Offset + int64(rows.rows)
		}
	}
	if total < 0 {
		var err error
		if total, err = c.count(q); err != nil {
			return nil, err
		}
		if rows.rows > 0 { // of which some came or went between the two statements
			total = max(total, q.Offset+int64(rows.rows))
		}
		if q.Offset == 0 && c.args.page > 1 && total > c.e.opts.Limits.Offset {
			return nil, problem.List{{Code: problem.LimitExceeded, Stage: problem.Limits, At: "/page", Message: "the page begins behind row " +
				strconv.FormatInt(c.e.opts.Limits.Offset, 10), Hint: "narrow the conditions"}}
		}
	}
	b := strconv.AppendInt([]byte(`{"total":`), total, 10)
	b = strconv.AppendInt(append(b, `,"page":`...), c.args.page, 10)
	b = strconv.AppendInt(append(b, `,"rows":`...), c.args.rows, 10)
	b = append(b, `,"records":[`...)
	for i := range rows.rows {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, '\n')
		b = c.record(b, p.Read, rows, i)
	}
	if rows.rows > 0 {
		b = append(b, '\n')
	}
	b = append(b, ']')
	b = c.notice(b)
	return &Answer{Text: append(b, '}'), Rows: rows.rows}, nil
}

// notice writes what has to be said, in one text.
func (c *presetCall) notice(b []byte) []byte {
	for i, n := range c.args.notices {
		if i == 0 {
			b = append(b, `,"notice":`...)
		} else {
			n = "; " + n
			b = b[:len(b)-1]
		}
		text := appendString(nil, n)
		if i > 0 {
			text = text[1:]
		}
		b = append(b, text...)
	}
	return b
}

func (c *presetCall) record(b []byte, r *schema.Read, t *table, row int) []byte {
	b = append(b, '{')
	for i, col := range r.Columns {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendString(b, col.Name), ':')
		b = append(b, t.cell(row, i)...)
	}
	return append(b, '}')
}

// request asks for the rows of a read, without what the arguments ask for.
func (c *presetCall) request(r *schema.Read) *query.Request {
	q := &query.Request{Resource: r.Source.Code, Limit: -1, Format: query.Columns}
	for i, col := range r.Columns {
		q.Fields = append(q.Fields, query.Field{Code: col.Field.Code, Alias: "c" + strconv.Itoa(i)})
	}
	q.Conditions = &query.Node{}
	if r.Where != nil {
		q.Conditions.Children = append(q.Conditions.Children, r.Where)
	}
	for _, s := range r.Order {
		path := r.Source.Code + "." + s.Field.Code
		q.OrderBy = append(q.OrderBy, query.Order{Item: query.Item{Text: path, Field: path}, Desc: s.Desc})
	}
	return q
}

// filter adds what the arguments ask for.
func (c *presetCall) filter(q *query.Request, r *schema.Read) {
	for _, p := range c.tool.Params {
		if v, given := c.args.of[p]; given && p.Field != nil {
			q.Conditions.Leaves = append(q.Conditions.Leaves, matching(p, v))
		}
	}
	if len(q.Conditions.Leaves)+len(q.Conditions.Children) == 0 {
		q.Conditions = nil
	}
}

// matching is the condition that an argument stands for.
func matching(p *schema.Param, v value) *query.Leaf {
	l := &query.Leaf{At: "/" + p.Name, Field: p.Field.Code, Op: query.Eq, TokenType: query.TokenString, Token: v.text, HasToken: true}
	switch p.Match {
	case "contains":
		l.Op = query.Like
	case "prefix":
		l.Op, l.Token = query.Like, prefix(v.text)
	case "in":
		l.Op, l.Token, l.HasToken, l.Tokens, l.HasTokens = query.In, "", false, v.list, true
	case "from":
		l.Op = query.Ge
		if p.Type == "date" && p.Field.Type.Kind == schema.DateTime {
			l.Token += " 00:00:00"
		}
	case "to":
		l.Op = query.Le
		if p.Type == "date" && p.Field.Type.Kind == schema.DateTime {
			l.Token += " 00:00:00"
			if p.WholeDay { // up to the midnight behind it, which no fraction of a second can reach
				day, _ := time.Parse(time.DateOnly, v.text) // it was checked
				l.Op, l.Token = query.Lt, day.AddDate(0, 0, 1).Format(time.DateOnly)+" 00:00:00"
			}
		}
	}
	return l
}

// prefix is the pattern of texts that begin with s.
func prefix(s string) string { return s + "%" }
