package schema

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"resq/schema/problem"
	"resq/schema/query"
)

func (b *toolBinder) clauses(list []clauseDecl, res *Resource) []*Clause {
	var out []*Clause
	for i := range list {
		if c := b.where(list[i].cond, res); c != nil {
			if !list[i].plain {
				c.When = b.when(&list[i].when)
			}
			out = append(out, c)
		}
	}
	return out
}

func (b *toolBinder) when(d *whenDecl) *When {
	if !d.at.given() {
		return nil
	}
	w := &When{Param: b.argument(d.param), Is: textsOf(d.is), Given: b.argument(d.given), Absent: b.argument(d.absent)}
	if w.Param != nil && len(w.Is) == 0 {
		w.Is = []string{"true"}
	}
	if w.Param != nil {
		for i, v := range w.Is {
			at := d.param.at
			if i < len(d.is) {
				at = d.is[i].at
			}
			if wrong := w.Param.Check(v); wrong != "" {
				b.tell(at, w.Param.Hint(), "%s can never be the value of %s: it %s", problem.Quote(v), problem.Quote(w.Param.Name), wrong)
			}
		}
		if !w.Param.HasDefault && !w.Param.Required && w.Param.Type == "boolean" && len(w.Is) == 1 && w.Is[0] == "false" {
			b.tell(d.param.at, "default: false", "the argument %s has no default, so leaving it out is not false", problem.Quote(w.Param.Name))
		}
	} else if len(d.is) > 0 {
		b.tell(d.is[0].at, "param: NAME", "is compares an argument, and none is named")
	}
	if d.principal.given() {
		if w.Principal = b.l.decodeCondition(b.file, d.principal); w.Principal != nil {
			checkAttributes(b.file, d.principal, w.Principal)
		}
	}
	return w
}

// where reads a condition in either of its forms.
func (b *toolBinder) where(r raw, res *Resource) *Clause {
	if !r.given() {
		return nil
	}
	out := &Clause{Cond: &query.Node{}, Place: func(pointer string) Pos { return b.file.pos(follow(r.node, pointer)) }}
	node := deref(r.node)
	for i := 0; i < len(node.Content); i += 2 {
		if deref(node.Content[i]).Value == "type" && deref(node.Content[i+1]).Kind == yaml.ScalarNode && res.byCode["type"] == nil {
			cond, err := query.DecodePresetRule(b.file.appendJSON(nil, r.node), b.l.opts.Limits)
			if err != nil {
				tellDecoded(b.file, r, err)
				return nil
			}
			n := &names{l: b.l, file: b.file, raw: r, connection: res.Connection, tool: b}
			n.condition(cond, &scope{sources: []source{{name: res.Code, res: res}}})
			out.Cond = cond
			return out
		}
	}
	for i := 0; i < len(node.Content); i += 2 {
		if b.file.bad[node.Content[i]] {
			continue
		}
		if leaf := b.pair(node.Content[i], node.Content[i+1], res); leaf != nil {
			out.Cond.Leaves = append(out.Cond.Leaves, leaf)
		}
	}
	if len(out.Cond.Leaves) == 0 {
		return nil
	}
	return out
}

// pairOps are the comparisons that {operator: value} may name.
var pairOps = []string{"=", "!=", "<", "<=", ">", ">=", "LIKE", "NOT LIKE", "IN", "NOT IN"}

// pair reads field → value.
func (b *toolBinder) pair(k, v *yaml.Node, res *Resource) *query.Leaf {
	name := word{deref(k).Value, placeOf(k)}
	l := &query.Leaf{At: "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name.text), Op: query.Eq, TokenType: query.TokenString}
	f := res.byCode[name.text]
	if f == nil && b.tool.Preset.Read != nil && b.tool.Preset.Read.Source == res {
		if in := b.within(name, b.tool.Preset.Read); in != nil {
			f, l.Resource = in.Field, in.Source
		}
	}
	if f == nil {
		if f = b.field(name, res); f == nil {
			return nil
		}
	}
	l.Field = f.Code
	n := deref(v)
	if n.Kind == yaml.MappingNode && len(n.Content) == 2 {
		op := strings.ToUpper(deref(n.Content[0]).Value)
		if slices.Contains(pairOps, op) {
			if l.Op = query.Op(op); deref(n.Content[1]).Kind == yaml.ScalarNode && deref(n.Content[1]).ShortTag() == "!!null" && l.Op == query.Ne {
				l.Op = query.IsNotNull
				return l
			}
			n = deref(n.Content[1])
		}
	}
	switch {
	case n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null":
		l.Op = query.IsNull
	case n.Kind == yaml.ScalarNode:
		l.Token, l.HasToken = b.constant(n, f), true
	case n.Kind == yaml.SequenceNode && len(n.Content) > 0:
		if l.HasTokens = true; l.Op == query.Eq {
			l.Op = query.In
		} else if l.Op != query.In && l.Op != query.NotIn {
			b.tell(placeOf(v), "IN or NOT IN", "the comparison %s takes one value", l.Op)
		}
		for _, x := range n.Content {
			if x = deref(x); x.Kind == yaml.ScalarNode && x.ShortTag() != "!!null" {
				l.Tokens = append(l.Tokens, b.constant(x, f))
			} else {
				b.tell(placeOf(x), "", "a list of values holds %s", describe(x))
			}
		}
	case n.Kind == yaml.MappingNode && len(n.Content) == 2 && deref(n.Content[1]).Kind == yaml.ScalarNode:
		b.later(l, f, n, res)
	default:
		b.tell(placeOf(v), "field: value, field: [value, …], field: {operator: value}, or a condition with type and exprs",
			"the condition on %s must be a value or a list of values", problem.Quote(f.Code))
		return nil
	}
	return l
}

// later reads what is known only when the tool is called: {param: NAME} and the like.
func (b *toolBinder) later(l *query.Leaf, f *Field, n *yaml.Node, res *Resource) {
	what, name := deref(n.Content[0]), word{deref(n.Content[1]).Value, placeOf(n.Content[1])}
	l.Token, l.HasToken = name.text, true
	switch what.Value {
	case "param":
		b.argument(name)
		l.TokenType = query.TokenParam
	case "principal":
		l.TokenType = query.TokenPrincipal
	case "set":
		l.TokenType = query.TokenSet
		if l.Op == query.Eq {
			l.Op = query.In
		}
		if _, ok := b.l.sets[name.text]; !ok {
			b.tell(name.at, b.l.nearest("set", name.text, func() []string { return keysOf(b.l.sets) }), "no set %s", problem.Quote(name.text))
		}
	case "field":
		l.TokenType = query.TokenField
		if o := b.field(name, res); o != nil {
			l.Token = res.Code + "." + o.Code
		}
	default:
		b.tell(placeOf(what), "one of: param, principal, set, field, "+strings.Join(pairOps, ", "), "%s is nothing that the field %s can be compared with", problem.Quote(what.Value), problem.Quote(f.Code))
	}
}

// constant is a value for a field as conditions write it.
func (b *toolBinder) constant(n *yaml.Node, f *Field) string {
	if f != nil && !plausible(f, n.Value) {
		b.tell(placeOf(n), "", "%s is no value of the field %s of type %s", problem.Quote(n.Value), problem.Quote(f.Code), f.Type)
	}
	return n.Value
}

// order reads sort keys and ends them with the key of the resource, so that no two rows are alike.
func (b *toolBinder) order(list []word, res *Resource) []Sort {
	out := b.sorts(list, res)
	for _, k := range res.Key {
		if !slices.ContainsFunc(out, func(s Sort) bool { return s.Field == k && s.Is == nil }) {
			out = append(out, Sort{Field: k, Desc: len(out) > 0 && out[len(out)-1].Desc && out[len(out)-1].Is == nil})
		}
	}
	return out
}

func (b *toolBinder) sorts(list []word, res *Resource) []Sort {
	var out []Sort
	for _, w := range list {
		code, dir, _ := strings.Cut(w.text, " ")
		dir = strings.TrimSpace(dir)
		f := b.field(word{code, w.at}, res)
		if value, is := strings.CutPrefix(dir, "="); is {
			value = strings.TrimSpace(value)
			if f != nil && !plausible(f, value) {
				b.tell(w.at, "", "%s is no value of the field %s of type %s", problem.Quote(value), problem.Quote(f.Code), f.Type)
			}
			out = append(out, Sort{Field: f, Is: &value, At: b.file.pos(w.at)})
			continue
		}
		if dir != "" && dir != "asc" && dir != "desc" {
			b.tell(w.at, code+" desc", "%s is no direction of an order", problem.Quote(dir))
		}
		if f != nil {
			out = append(out, Sort{Field: f, Desc: dir == "desc", At: b.file.pos(w.at)})
		}
	}
	return slices.DeleteFunc(out, func(s Sort) bool { return s.Field == nil })
}
