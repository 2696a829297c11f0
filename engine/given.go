package engine

import (
	"time"

	"resq/schema"
	"resq/schema/query"
)

// given is a condition with the arguments of the call in it. A comparison with one that was not given asks nothing, and
// neither does a group of which nothing is left: then it is nil.
func (c *presetCall) given(n *query.Node) *query.Node {
	if n == nil {
		return nil
	}
	out := &query.Node{At: n.At, Or: n.Or, Not: n.Not}
	for _, l := range n.Leaves {
		if l = c.givenLeaf(l); l != nil {
			out.Leaves = append(out.Leaves, l)
		}
	}
	for _, x := range n.Children {
		if x = c.given(x); x != nil {
			out.Children = append(out.Children, x)
		}
	}
	return orNone(out)
}

func (c *presetCall) givenLeaf(l *query.Leaf) *query.Leaf {
	switch {
	case l.Query != nil:
		own := *l
		own.Query = c.instance(l.Query)
		return &own
	case l.TokenType != query.TokenParam:
		return l
	}
	v, given := c.args.of[c.tool.Param(l.Token)]
	if !given {
		return nil
	}
	own := *l
	own.TokenType, own.Token = query.TokenString, v.text
	if !c.checking { // whose faults are the file's
		own.At = "/" + l.Token
	}
	if v.list != nil {
		own.Token, own.HasToken, own.Tokens, own.HasTokens = "", false, v.list, true
		switch own.Op {
		case query.Eq:
			own.Op = query.In
		case query.Ne:
			own.Op = query.NotIn
		}
	} else if own.Op == query.Like || own.Op == query.NotLike {
		own.Verbatim = query.Anywhere // what a caller sends is no pattern
	}
	return &own
}

// instance is a request of the catalog with the arguments of the call in it.
func (c *presetCall) instance(q *query.Request) *query.Request {
	own := *q
	own.Conditions, own.Having = c.given(q.Conditions), c.given(q.Having)
	own.Relations = make([]query.Relation, len(q.Relations))
	for i, r := range q.Relations {
		r.Conditions = c.given(r.Conditions)
		own.Relations[i] = r
	}
	own.With = make([]query.With, len(q.With))
	for i, w := range q.With {
		w.Query = c.instance(w.Query)
		own.With[i] = w
	}
	own.SetOps = make([]query.SetOp, len(q.SetOps))
	for i, o := range q.SetOps {
		o.Query = c.instance(o.Query)
		own.SetOps[i] = o
	}
	return &own
}

// exists is the condition that a row of another resource has the value of an argument.
func (c *presetCall) exists(p *schema.Param, v value, of *schema.Resource) *query.Leaf {
	x := p.Exists
	q := &query.Request{Resource: x.Source.Code, Limit: -1, Format: query.Columns, Conditions: &query.Node{}, Fields: []query.Field{{Code: x.Field.Code}}}
	if x.Source == of {
		q.Code = "there"
	}
	for _, on := range x.On {
		q.Conditions.Leaves = append(q.Conditions.Leaves, &query.Leaf{Field: on.From.Code, Op: query.Eq, TokenType: query.TokenField, Token: of.Code + "." + on.To.Code, HasToken: true})
	}
	q.Conditions.Leaves = append(q.Conditions.Leaves, matching(p, v, x.Field))
	for _, cl := range x.Where {
		c.clause(q.Conditions, nil, cl)
	}
	return &query.Leaf{At: "/" + p.Name, Op: query.Exists, TokenType: query.TokenQuery, Query: q}
}

// matching is the condition that an argument stands for.
func matching(p *schema.Param, v value, f *schema.Field) *query.Leaf {
	l := &query.Leaf{At: "/" + p.Name, Field: f.Code, Op: query.Eq, TokenType: query.TokenString, Token: v.text, HasToken: true}
	moment := p.Type == "date" && f.Type.Kind == schema.DateTime
	switch p.Match {
	case "contains":
		l.Op, l.Verbatim = query.Like, query.Anywhere
	case "prefix":
		l.Op, l.Verbatim = query.Like, query.AtStart
	case "in":
		l.Op, l.Token, l.HasToken, l.Tokens, l.HasTokens = query.In, "", false, v.list, true
	case "from":
		if l.Op = query.Ge; moment {
			l.Token += " 00:00:00"
		}
	case "to":
		if l.Op = query.Le; moment {
			l.Token += " 00:00:00"
			if p.WholeDay { // up to the midnight behind it, which no fraction of a second can reach
				day, _ := time.Parse(time.DateOnly, v.text) // it was checked
				l.Op, l.Token = query.Lt, day.AddDate(0, 0, 1).Format(time.DateOnly)+" 00:00:00"
			}
		}
	}
	return l
}
