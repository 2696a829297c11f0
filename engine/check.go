package engine

import (
	"slices"
	"strconv"
	"strings"

	"resq/engine/plan"
	"resq/schema"
	"resq/schema/problem"
	"resq/schema/query"
)

// Check finds what is wrong with a catalog's row rules, sets and business tools that only an engine can see. The error is
// a problem.List with places in the files. New does the same.
func Check(cat *schema.Catalog) error {
	out := problem.From(plan.Check(cat))
	checker := plan.NewChecker(cat, toolLimits(query.Defaults()))
	for _, t := range cat.Tools {
		if t.Preset == nil {
			continue
		}
		for _, b := range t.Bindings() {
			for _, p := range checkTool(checker, b) {
				if !slices.ContainsFunc(out, func(o *problem.Problem) bool { return o.At == p.At && o.Message == p.Message }) {
					out = append(out, p)
				}
			}
		}
	}
	return out.Err()
}

// A toolCheck plans the requests that a tool may make, with a value for every argument, so that what cannot be asked is
// told when the catalog is loaded.
type toolCheck struct {
	*presetCall
	checker *plan.Checker
	found   problem.List
}

func checkTool(checker *plan.Checker, t *schema.Tool) problem.List {
	c := &toolCheck{checker: checker,
		presetCall: &presetCall{tool: t, checking: true, args: &values{of: map[*schema.Param]value{}, page: 1, rows: t.Preset.Paging.Default}}}
	for _, p := range t.Params {
		c.args.of[p] = samples(p, nil)[0]
	}
	p := t.Preset
	if p.Read != nil && p.Read.Source != nil {
		c.read(p.Read, nil)
	}
	for _, u := range p.Union {
		c.read(u.Read, nil)
	}
	if len(p.Union) > 0 && len(c.found) == 0 {
		for _, u := range p.Union {
			for _, x := range c.plan(c.merge(p.Union, u.Read.Source.Connection)) {
				at := u.Read.At
				if len(p.Order) > 0 {
					at = p.Order[0].At
				}
				c.tell(at, x)
			}
		}
	}
	return c.found
}

func (c *toolCheck) plan(q *query.Request) problem.List { return c.checker.Read(q) }

// tell keeps a problem at its place in the file, once.
func (c *toolCheck) tell(at schema.Pos, p *problem.Problem) {
	if at == (schema.Pos{}) {
		at = c.tool.At
	}
	x := &problem.Problem{Code: problem.ConfigInvalid, Stage: problem.Shape, At: at.String(), Message: "the tool " + problem.Quote(c.tool.Name) + " cannot be answered: " + p.Message, Hint: p.Hint}
	if !slices.ContainsFunc(c.found, func(o *problem.Problem) bool { return o.At == x.At && o.Message == x.Message }) {
		c.found = append(c.found, x)
	}
}

// read checks the request of a read part by part: what it reads, shows and is ordered by, then each condition and
// argument, each look-up, and what belongs to its rows. child is nil for the records of a tool.
func (c *toolCheck) read(r *schema.Read, child *schema.Child) {
	told := len(c.found)
	var asked []*schema.Param
	if r.Query != nil {
		asked = c.compares(r.Query)
	}
	c.try(r, asked, func() *query.Request {
		q := c.bare(r)
		for i := range r.Fetch {
			q.Fields[i].At = "@f" + strconv.Itoa(i)
		}
		for i := range q.OrderBy {
			q.OrderBy[i].At = "@o" + strconv.Itoa(i)
		}
		if child != nil {
			group(q, child)
		}
		return q
	}, func(p *problem.Problem) schema.Pos { return c.placeOf(r, p.At) })
	if len(c.found) > told {
		return
	}
	for _, cl := range r.Where {
		c.try(r, c.compares(&query.Request{Conditions: cl.Cond}), func() *query.Request {
			return c.narrowed(r, func(q *query.Request) { c.clause(q.Conditions, inner(q, r), cl) })
		}, func(p *problem.Problem) schema.Pos { return cl.Place(p.At) })
	}
	if child == nil {
		for _, x := range c.tool.Params {
			c.try(r, []*schema.Param{x}, func() *query.Request {
				return c.narrowed(r, func(q *query.Request) { c.narrow(q, r, x, c.args.of[x]) })
			}, func(*problem.Problem) schema.Pos { return x.At })
		}
	}
	for _, x := range r.Lookups {
		for _, by := range x.By {
			c.key(x.At, lookupRequest(x, []string{sampleOf(fetched(r, by), x.Key)}), fetched(r, by), x.Key)
		}
	}
	for _, x := range r.Children {
		for _, on := range x.On {
			q := c.bare(x.Read)
			q.Fields, q.OrderBy = q.Fields[on.Child:on.Child+1], nil
			there := x.Read.Fetch[on.Child].Field
			q.Conditions = &query.Node{Leaves: []*query.Leaf{amongTexts(there, []string{sampleOf(fetched(r, on.Parent), there)})}}
			c.key(x.At, q, fetched(r, on.Parent), there)
		}
		c.read(x.Read, x)
	}
}

// key checks a request for rows by the values of another field.
func (c *toolCheck) key(at schema.Pos, q *query.Request, from, to *schema.Field) {
	for _, p := range c.plan(q) {
		if from != nil && strings.HasPrefix(p.Message, problem.Quote(sampleOf(from, to))) {
			p.Message = "the values of " + problem.Quote(from.Code) + " are none of " + problem.Quote(to.Code) + " on " + problem.Quote(to.Resource.Code)
		}
		c.tell(at, p)
	}
}

func fetched(r *schema.Read, i int) *schema.Field { return r.Fetch[i].Field }

// bare is the request of a read without its conditions.
func (c *toolCheck) bare(r *schema.Read) *query.Request {
	free := *r
	free.Where = nil
	return settle(c.request(&free))
}

// narrowed is a request for one output of a read under one condition alone.
func (c *toolCheck) narrowed(r *schema.Read, add func(*query.Request)) *query.Request {
	one := *r
	one.Where, one.Order, one.Fetch = nil, nil, []schema.Fetch{{Field: r.Source.Fields[0]}}
	q := c.request(&one)
	add(q)
	return settle(q)
}

// try plans a request, with each form of the values that the arguments in it may have until one fits.
func (c *toolCheck) try(r *schema.Read, params []*schema.Param, build func() *query.Request, place func(*problem.Problem) schema.Pos) {
	var first problem.List
	for n := 0; ; n++ {
		more := false
		for _, x := range params {
			list := samples(x, compared(r, x))
			c.args.of[x] = list[min(n, len(list)-1)]
			more = more || n+1 < len(list)
		}
		found := c.plan(build())
		if n == 0 {
			first = found
		}
		if len(found) == 0 {
			first = nil
		}
		if len(found) == 0 || !more {
			break
		}
	}
	for _, x := range params {
		c.args.of[x] = samples(x, nil)[0]
	}
	for _, p := range first {
		for _, x := range params {
			if strings.HasPrefix(p.Message, problem.Quote(samples(x, nil)[0].first())) { // a value that nobody wrote
				p.Message = "the argument " + problem.Quote(x.Name) + " of type " + x.Type + " does not fit what it is compared with"
			}
		}
		c.tell(place(p), p)
	}
}

func (v value) first() string {
	if v.list != nil {
		return v.list[0]
	}
	return v.text
}

// compared is the field that an argument is compared with; nil where it asks nothing by itself.
func compared(r *schema.Read, p *schema.Param) *schema.Field {
	switch {
	case p.Exists != nil:
		return p.Exists.Field
	case p.Within != nil:
		return p.Within.Field
	}
	f, _ := r.Source.Field(p.Field)
	return f
}

// compares are the arguments of a tool that the conditions of a request compare with.
func (c *toolCheck) compares(q *query.Request) (out []*schema.Param) {
	q.Each(func(*query.Request) {}, func(l *query.Leaf) {
		if l.TokenType == query.TokenParam {
			if x := c.tool.Param(l.Token); x != nil {
				out = append(out, x)
			}
		}
	})
	return out
}

// placeOf finds the place in a file for a place in the request of a read.
func (c *toolCheck) placeOf(r *schema.Read, at string) schema.Pos {
	if rest, ok := strings.CutPrefix(at, "@"); ok && len(rest) > 1 {
		digits, _, _ := strings.Cut(rest[1:], "/")
		i, err := strconv.Atoi(digits)
		switch {
		case err != nil:
		case rest[0] == 'f' && i < len(r.Fetch) && r.Fetch[i].Field == nil:
			return r.Fetch[i].At
		case rest[0] == 'o' && i < len(r.Order):
			return r.Order[i].At
		}
		return r.At
	}
	if r.Query != nil && at != "" {
		return r.Place(at)
	}
	return r.At
}

// samples are values of an argument, one of each form that a text may have; f is what it is compared with, or nil.
func samples(p *schema.Param, f *schema.Field) []value {
	var texts []string
	switch p.Type {
	case "integer", "number":
		n := int64(1)
		if p.Min != nil {
			n = max(n, *p.Min)
		}
		if p.Max != nil {
			n = min(n, *p.Max)
		}
		texts = []string{strconv.FormatInt(n, 10)}
	case "boolean":
		texts = []string{"true"}
	case "date":
		texts = []string{aDay}
	case "enum":
		texts = p.Values
	default:
		texts = []string{"x", aUUID, aTime}
		if f != nil {
			texts = append(texts, f.Values...)
		}
	}
	if len(texts) == 0 {
		texts = []string{"x"}
	}
	out := make([]value, len(texts))
	for i, t := range texts {
		if out[i].text = t; p.Match == "in" {
			out[i] = value{list: []string{t}}
		}
	}
	return out
}

const (
	aDay  = "2024-01-31"
	aTime = "12:00:00"
	aUUID = "00000000-0000-0000-0000-000000000000"
)

// sampleOf is a value of f that is compared with one of with; f is nil for an expression.
func sampleOf(f, with *schema.Field) string {
	if f == nil {
		f = with
	}
	switch f.Type.Kind {
	case schema.Integer, schema.Decimal, schema.Number:
		return "1"
	case schema.Bool:
		return "true"
	case schema.Date:
		return aDay
	case schema.DateTime:
		return aDay + " " + aTime
	case schema.Time:
		return aTime
	case schema.UUID:
		return aUUID
	case schema.String, schema.Text:
		if k := with.Type.Kind; k == schema.UUID || k == schema.Enum {
			return sampleOf(with, with)
		}
		return "x"
	case schema.Enum:
		if len(f.Values) > 0 {
			return f.Values[0]
		}
	case schema.Any:
		if f != with {
			return sampleOf(with, with)
		}
	}
	return "x"
}
