package schema

import (
	"slices"
	"strings"

	"resq/schema/problem"
	"resq/schema/query"
)

// A names checks the names in one condition or query of the catalog, so that a misspelt one is found when the
// catalog is loaded and not when the rule is first needed. Types and grouping are left to the planner.
type names struct {
	l          *loader
	file       *file
	raw        raw
	rule       *Rule       // whose arguments may be named
	set        *setUnit    // whose query this is
	owner      *ownerUnit  // whose query this is
	tool       *toolBinder // whose request this is
	connection *Connection // that every resource must be on; nil when it is not known
	uses       []*Resource // resources that queries read
	broken     map[*query.Leaf]bool
}

// rest is a row rule without the comparisons in which something was told.
func (n *names) rest(cond *query.Node) *query.Node {
	if len(n.broken) == 0 {
		return cond
	}
	return sound(cond, func(x *query.Leaf) bool { return n.broken[x] })
}

// guard checks the row rule of res and gives the resources that its queries read.
func (n *names) guard(res *Resource, cond *query.Node) []*Resource {
	before := len(n.file.found)
	defer func() { n.l.spoilt += len(n.file.found) - before }()
	n.condition(cond, &scope{sources: []source{{name: res.Code, res: res}}})
	return n.uses
}

// anywhere checks a row rule apart from the resources that use it.
func (n *names) anywhere(cond *query.Node) {
	before := len(n.file.found)
	defer func() { n.l.spoilt += len(n.file.found) - before }()
	n.condition(cond, &scope{sources: []source{{any: true}}})
}

func (n *names) tell(pointer, hint, format string, args ...any) {
	n.file.tell(follow(n.raw.node, pointer), hint, format, args...)
}

// condition checks a tree whose bare fields belong to the first source of s.
func (n *names) condition(c *query.Node, s *scope) { n.conditionOn(c, s, &s.sources[0]) }

func (n *names) conditionOn(c *query.Node, s *scope, main *source) {
	if c == nil {
		return
	}
	for _, x := range c.Leaves {
		before := len(n.file.found)
		n.leaf(x, s, main)
		if told := len(n.file.found) - before; told > 0 {
			if n.broken == nil {
				n.broken = map[*query.Leaf]bool{}
			}
			n.broken[x] = true
		}
	}
	for _, child := range c.Children {
		n.conditionOn(child, s, main)
	}
}

func (n *names) leaf(x *query.Leaf, s *scope, main *source) {
	owner := main
	if x.Resource != "" {
		owner = n.source(s, x.Resource, x.At+"/fieldResource")
	}
	switch {
	case x.Expr != nil:
		n.expr(x.Expr, s, x.At+"/field")
	case x.Op == query.Exists || x.Op == query.NotExists || owner == nil:
	case x.Field == "*" && x.HasFunc, x.Resource == "" && slices.Contains(s.aliases, x.Field):
	case n.argument(x.Field, owner, s, x.At+"/field"):
	default:
		n.field(owner, x.Field, x.At+"/field")
	}
	if n.owner != nil {
		n.owner.token(n, x)
	}
	switch x.TokenType {
	case query.TokenField:
		if arg, ok := strings.CutPrefix(x.Token, "$"); ok && n.rule != nil {
			if !slices.Contains(n.rule.Args, arg) {
				n.tell(x.At+"/token", problem.OneOf(arg, n.rule.Args), "the rule %s declares no argument %s", problem.Quote(n.rule.Name), problem.Quote(arg))
			}
			return
		}
		n.path(s, x.Token, x.At+"/token")
	case query.TokenExpr:
		n.expr(x.TokenExpr, s, x.At+"/token")
	case query.TokenQuery:
		if x.Query != nil {
			n.request(x.Query, s)
		}
	case query.TokenSet:
		if n.owner == nil {
			n.useSet(x)
		}
	case query.TokenParam:
		n.tool.argument(word{x.Token, follow(n.raw.node, x.At+"/token")})
	case query.TokenPrincipal:
		if x.Token == "" {
			n.tell(x.At+"/token", "token: ATTRIBUTE", "the condition names no attribute of the principal")
		}
	}
}

func (n *names) useSet(x *query.Leaf) {
	found, ok := n.l.sets[x.Token]
	if !ok {
		n.tell(x.At+"/token", n.l.nearest("set", x.Token, func() []string { return keysOf(n.l.sets) }), "no set %s", problem.Quote(x.Token))
		return
	}
	if n.set != nil {
		n.set.uses = append(n.set.uses, found.thing)
	}
}

const argumentHint = "compare a field of the query with it: {field: FIELD, operator: =, tokenType: field, token: $name}"

// argument says whether name is an argument of the rule at hand; one that cannot stand here is told. Arguments are
// fields of the guarded resource, so that inside a query, where another resource is the main one, there are none.
func (n *names) argument(name string, owner *source, s *scope, at string) bool {
	arg, ok := strings.CutPrefix(name, "$")
	switch {
	case !ok || n.rule == nil || owner.res != nil && owner.has(name):
		return false
	case !slices.Contains(n.rule.Args, arg):
		n.tell(at, problem.OneOf(arg, n.rule.Args), "the rule %s declares no argument %s", problem.Quote(n.rule.Name), problem.Quote(arg))
	case s.outer != nil:
		n.tell(at, argumentHint, "the argument %s of the rule is no field of the query", problem.Quote(arg))
	}
	return true
}

func (n *names) source(s *scope, name, at string) *source {
	if x := s.find(name); x != nil {
		return x
	}
	if !s.open() {
		n.tell(at, problem.OneOf(name, s.names()), "%s is no resource of the query", problem.Quote(name))
	}
	return nil
}

func (n *names) field(x *source, code, at string) {
	if !x.has(code) {
		n.tell(at, problem.OneOf(code, x.fields()), "no field %s on %s", problem.Quote(code), problem.Quote(x.name))
	}
}

// path checks {Resource}.{field}, where either may hold points itself.
func (n *names) path(s *scope, text, at string) {
	var near *source
	rest := ""
	for i := range len(text) {
		if text[i] != '.' {
			continue
		}
		if x := s.find(text[:i]); x != nil {
			if near, rest = x, text[i+1:]; x.has(rest) {
				return
			}
		}
	}
	switch {
	case near != nil:
		n.field(near, rest, at)
	case s.open():
	default:
		name, _, dotted := strings.Cut(text, ".")
		if !dotted {
			n.tell(at, "write it as Resource.field", "%s does not say whose field it is", problem.Quote(text))
			return
		}
		n.tell(at, problem.OneOf(name, s.names()), "%s is no resource of the query", problem.Quote(name))
	}
}

// request checks a query inside outer and gives the names of its outputs; nil when they are not known.
func (n *names) request(q *query.Request, outer *scope) []string {
	s := &scope{outer: outer}
	for _, w := range q.With {
		out := n.request(w.Query, &scope{named: s.named, outer: outer})
		s.named = append(s.named, source{name: w.Code, outputs: out, any: out == nil})
	}
	s.sources = append(s.sources, n.enter(s, q.Resource, q.Code, q.At+"/resource"))
	for _, r := range q.Relations {
		s.sources = append(s.sources, n.enter(s, r.Resource, r.Code, r.At+"/actuallyResource"))
	}
	main := &s.sources[0]
	for i, r := range q.Relations {
		joined := &s.sources[i+1]
		if r.Field != "" {
			n.field(joined, r.Field, r.At+"/actuallyField")
			if to := n.source(s, r.ToResource, r.At+"/relationResource"); to != nil {
				n.field(to, r.ToField, r.At+"/relationField")
			}
		}
		n.conditionOn(r.Conditions, s, joined)
	}
	outputs := n.outputs(q, s)
	n.conditionOn(q.Conditions, s, main)
	n.items(q.GroupBy, s)
	s.aliases = outputs
	n.conditionOn(q.Having, s, main)
	for _, o := range q.OrderBy {
		n.items([]query.Item{o.Item}, s)
	}
	s.aliases = nil
	if w := q.Recursive; w != nil {
		n.path(s, w.Parent, w.At+"/pField")
		n.path(s, w.Child, w.At+"/cField")
	}
	for _, o := range q.SetOps {
		n.request(o.Query, &scope{named: s.named, outer: outer})
	}
	return outputs
}

// enter makes the source that a request names: a named query, or a resource of the same connection.
func (n *names) enter(s *scope, code, alias, at string) source {
	if alias == "" {
		alias = code
	}
	for o := s; o != nil; o = o.outer {
		for _, w := range o.named {
			if w.name == code {
				w.name = alias
				return w
			}
		}
	}
	r := n.l.resource(n.file, follow(n.raw.node, at), code)
	if r == nil {
		return source{name: alias, any: true}
	}
	n.uses = append(n.uses, r)
	if n.connection != nil && r.Connection != nil && r.Connection != n.connection {
		n.tell(at, "take the values of another connection from a set (tokenType set)", "%s is on the connection %s, but the query runs on %s",
			problem.Quote(code), problem.Quote(r.Connection.Name), problem.Quote(n.connection.Name))
	}
	return source{name: alias, res: r}
}

func (n *names) outputs(q *query.Request, s *scope) []string {
	main := &s.sources[0]
	if len(q.Fields) == 0 {
		return main.fields()
	}
	out := make([]string, len(q.Fields))
	for i := range q.Fields {
		x := &q.Fields[i]
		out[i] = x.Name()
		owner := main
		if x.Resource != "" {
			owner = n.source(s, x.Resource, x.At+"/codeResource")
		}
		switch {
		case x.Expr != nil:
			n.expr(x.Expr, s, x.At+"/code")
		case owner != nil:
			n.field(owner, x.Code, x.At+"/code")
		}
	}
	return out
}

func (n *names) items(list []query.Item, s *scope) {
	for _, it := range list {
		switch {
		case it.Expr != nil:
			n.expr(it.Expr, s, it.At+"/expr")
		case it.Field != "" && !slices.Contains(s.aliases, it.Field):
			n.path(s, it.Field, it.At)
		}
	}
}
