package schema

import (
	"slices"
	"strings"

	"resq/schema/problem"
	"resq/schema/query"
)

const defaultBound = 10_000

// A ruleUnit is a rule on its way into the catalog, a setUnit a set.
type (
	ruleUnit struct {
		file *file
		decl *ruleDecl
		rule *Rule
	}
	setUnit struct {
		file *file
		decl *setDecl
		set  *Set
		uses []*Set // those that its queries compare with
	}
)

func (l *loader) declareTexts() {
	l.texts = map[string]declared[*TextMap]{}
	for _, f := range l.files {
		for i := range f.decl.texts {
			d := &f.decl.texts[i]
			t := &TextMap{Name: d.name.text, At: f.pos(d.name.at)}
			for _, x := range d.labels {
				if x.label.given() {
					t.Labels = append(t.Labels, Label{x.code.text, x.label.text})
				}
			}
			if declare(l.texts, "text", t.Name, t, f, d.name.at) {
				l.cat.Texts = append(l.cat.Texts, t)
			}
		}
	}
}

func (l *loader) declareRules() {
	l.rules = map[string]declared[*ruleUnit]{}
	for _, f := range l.files {
		for i := range f.decl.rules {
			d := &f.decl.rules[i]
			r := &Rule{Name: d.name.text, Args: textsOf(d.args), At: f.pos(d.name.at)}
			u := &ruleUnit{f, d, r}
			if declare(l.rules, "rule", r.Name, u, f, d.name.at) {
				l.cat.Rules = append(l.cat.Rules, r)
				l.ruleUnits = append(l.ruleUnits, u)
			}
		}
	}
}

func (l *loader) declareSets() {
	l.sets = map[string]declared[*Set]{}
	for _, f := range l.files {
		for i := range f.decl.sets {
			d := &f.decl.sets[i]
			s := &Set{Name: d.name.text, Bound: d.bound.n, Stated: d.bound.n > 0, At: f.pos(d.name.at)}
			if s.Bound == 0 {
				s.Bound = defaultBound
			}
			if declare(l.sets, "set", s.Name, s, f, d.name.at) {
				l.cat.Sets = append(l.cat.Sets, s)
				l.setUnits = append(l.setUnits, &setUnit{file: f, decl: d, set: s})
			}
		}
	}
}

// decodeCondition reads a condition of the catalog. What is broken is told at its places in the file and left out, so
// that the rest is checked as well; nil is nothing left.
func (l *loader) decodeCondition(f *file, r raw) *query.Node {
	n, err := query.DecodeRule(f.appendJSON(nil, r.node), l.opts.Limits)
	if err == nil {
		return n
	}
	before := len(f.found)
	tellDecoded(f, r, err)
	l.spoilt += len(f.found) - before
	return sound(n, func(x *query.Leaf) bool {
		return slices.ContainsFunc(problem.From(err), func(p *problem.Problem) bool { return p.At == x.At || strings.HasPrefix(p.At, x.At+"/") })
	})
}

// sound is a condition without its broken comparisons; nil when nothing is left of it.
func sound(n *query.Node, broken func(*query.Leaf) bool) *query.Node {
	if n == nil {
		return nil
	}
	n.Leaves = slices.DeleteFunc(n.Leaves, broken)
	n.Children = slices.DeleteFunc(n.Children, func(c *query.Node) bool { return sound(c, broken) == nil })
	if len(n.Leaves)+len(n.Children) == 0 {
		return nil
	}
	return n
}

func (l *loader) decodeRequest(f *file, r raw) *query.Request {
	q, err := query.DecodeTrusted(f.appendJSON(nil, r.node), l.opts.Limits)
	if err != nil {
		tellDecoded(f, r, err)
		return nil
	}
	return q
}

func tellDecoded(f *file, r raw, err error) {
	for _, p := range problem.From(err) {
		f.tell(follow(r.node, p.At), p.Hint, "%s", p.Message)
	}
}

// bindRules reads the cases of every rule and checks what does not depend on the resources that use it.
func (l *loader) bindRules() {
	for _, u := range l.ruleUnits {
		if len(u.decl.cases) == 0 {
			u.file.tell(u.decl.at, "cases: [{rows: all}] shows every row", "the rule %s has no case", problem.Quote(u.rule.Name))
		}
		for i := range u.decl.cases {
			d := &u.decl.cases[i]
			c := Case{All: d.all.text == "all", None: d.all.text == "none", Roles: textsOf(d.roles)}
			if d.when.given() {
				if c.When = l.decodeCondition(u.file, d.when); c.When != nil {
					checkAttributes(u.file, d.when, c.When)
				}
			} else if len(c.Roles) == 0 && i+1 < len(u.decl.cases) {
				u.file.tell(u.decl.cases[i+1].at, "put the case without a condition last", "this case is never reached: the one before it always holds")
			}
			if d.cond.given() {
				if c.Rows = l.decodeCondition(u.file, d.cond); c.Rows != nil {
					n := &names{l: l, file: u.file, raw: d.cond, rule: u.rule}
					n.anywhere(c.Rows)
					c.Rows = n.rest(c.Rows)
				}
			}
			for _, s := range d.set {
				if !slices.Contains(u.rule.Args, s.name.text) {
					u.file.tell(s.name.at, problem.OneOf(s.name.text, u.rule.Args), "the rule %s has no argument %s", problem.Quote(u.rule.Name), problem.Quote(s.name.text))
				}
				a := Assign{Arg: s.name.text, Text: s.field.text}
				if name, ok := strings.CutPrefix(a.Text, "principal."); ok {
					a.Attribute, a.Text = name, ""
				}
				c.Assigns = append(c.Assigns, a)
			}
			u.rule.Cases = append(u.rule.Cases, c)
		}
	}
}

const attributeHint = "one of: =, !=, <, <=, >, >=, IN, NOT IN, IS NULL, IS NOT NULL"

// attributeOps are the comparisons that make sense on an attribute alone.
var attributeOps = []query.Op{query.Eq, query.Ne, query.Lt, query.Le, query.Gt, query.Ge, query.In, query.NotIn, query.IsNull, query.IsNotNull}

// checkAttributes keeps the condition of a case to attributes of the principal and constants: it is decided before
// any database is asked.
func checkAttributes(f *file, r raw, n *query.Node) {
	for _, x := range n.Leaves {
		refuse := func(key string, wrong bool, message, hint string) {
			if wrong {
				f.tell(follow(r.node, x.At+key), hint, "%s", message)
			}
		}
		refuse("/field", x.Expr != nil, "an attribute of the principal is named, not computed", "leave isExpr out")
		refuse("/field", x.Expr == nil && (x.Field == "" || strings.HasPrefix(x.Field, "$")), "the condition of a case must name an attribute of the principal", "arguments stand for fields, which belong into rows")
		refuse("/fieldResource", x.Resource != "", "an attribute of the principal belongs to no resource", "leave fieldResource out")
		refuse("/fieldSqlFunc", x.HasFunc, "an attribute of the principal takes no function", "leave fieldSqlFunc out")
		if x.Op == query.Exists || x.Op == query.NotExists {
			refuse("/operator", true, "the condition of a case cannot use "+string(x.Op), attributeHint)
			continue
		}
		refuse("/operator", !slices.Contains(attributeOps, x.Op), "the condition of a case cannot use "+string(x.Op), attributeHint)
		refuse("/tokenType", x.TokenType != query.TokenString, "the condition of a case compares with values only", "tokenType string, which is the default")
	}
	for _, c := range n.Children {
		checkAttributes(f, r, c)
	}
}

// bindSets reads the members of every set.
func (l *loader) bindSets() {
	for _, u := range l.setUnits {
		for _, r := range u.decl.queries {
			l.bindSetQuery(u, r)
		}
		for i := range u.decl.union {
			l.bindMember(u, &u.decl.union[i])
		}
	}
}

func (l *loader) bindMember(u *setUnit, d *memberDecl) {
	switch {
	case d.query.given():
		l.bindSetQuery(u, d.query)
	case d.set.given():
		found, ok := l.sets[d.set.text]
		if !ok {
			u.file.tell(d.set.at, l.nearest("set", d.set.text, func() []string { return keysOf(l.sets) }), "no set %s", problem.Quote(d.set.text))
			return
		}
		u.uses = append(u.uses, found.thing)
		u.set.Members = append(u.set.Members, Member{Set: found.thing})
	case d.attribute.given():
		u.set.Members = append(u.set.Members, Member{Attribute: d.attribute.text})
	case d.token.given():
		u.set.Members = append(u.set.Members, Member{Func: d.token.text})
	case d.value.given():
		u.set.Members = append(u.set.Members, Member{Value: &d.value.text})
	}
}

func (l *loader) bindSetQuery(u *setUnit, r raw) {
	if !r.given() {
		return
	}
	q := l.decodeRequest(u.file, r)
	if q == nil {
		return
	}
	name := problem.Quote(u.set.Name)
	l.uncut(u.file, r, q, "the set "+name, "leave it out; bound says how many values are too many")
	n := &names{l: l, file: u.file, raw: r, set: u}
	if main, ok := l.resources[q.Resource]; ok {
		n.connection = main.thing.Connection
	}
	outputs := n.request(q, nil)
	if outputs != nil && len(outputs) != 1 {
		u.file.tell(follow(r.node, "/fields"), "name one under fields", "a query of the set %s must have one output", name)
	}
	u.set.Members = append(u.set.Members, Member{Query: q, Connection: n.connection})
}

// uncut refuses what would make a query of the catalog give a part of its rows.
func (l *loader) uncut(f *file, r raw, q *query.Request, what, hint string) {
	for _, k := range []struct {
		key   string
		given bool
	}{{"limit", q.Limit >= 0}, {"offset", q.Offset > 0}, {"total", q.Total}, {"cursor", q.Cursor != ""}, {"format", q.Format != query.Columns}} {
		if k.given {
			f.tell(follow(r.node, "/"+k.key), hint, "%s must not be cut by %s", what, k.key)
		}
	}
}

// bindRows resolves the row rule of every resource.
func (l *loader) bindRows() {
	for _, u := range l.resUnits {
		d := &u.decl.rows
		switch {
		case d.rule.given():
			l.bindRuleUse(u, d)
		case d.cond.given():
			if cond := l.decodeCondition(u.file, d.cond); cond != nil {
				n := &names{l: l, file: u.file, raw: d.cond, connection: u.res.Connection}
				l.guardedBy(u, n.guard(u.res, cond))
				if cond = n.rest(cond); cond != nil {
					u.res.Rows = &Rows{Cond: cond}
				}
			}
		}
	}
}

func (l *loader) bindRuleUse(u *resUnit, d *rowsDecl) {
	found, ok := l.rules[d.rule.text]
	if !ok {
		u.file.tell(d.rule.at, l.nearest("rule", d.rule.text, func() []string { return keysOf(l.rules) }), "no rule %s", problem.Quote(d.rule.text))
		for _, a := range d.args {
			l.field(u, a.field, `"args"`)
		}
		return
	}
	rule := found.thing.rule
	rows := &Rows{Rule: rule, Args: make(map[string]*Field, len(d.args))}
	for _, a := range d.args {
		if !slices.Contains(rule.Args, a.name.text) {
			u.file.tell(a.name.at, problem.OneOf(a.name.text, rule.Args), "the rule %s has no argument %s", problem.Quote(rule.Name), problem.Quote(a.name.text))
		}
		x := l.field(u, a.field, `"args"`)
		rows.Args[a.name.text] = x
	}
	for _, name := range rule.Args {
		if _, given := rows.Args[name]; !given {
			u.file.tell(d.rule.at, "args: {"+name+": FIELD}", "the rule %s needs the argument %s", problem.Quote(rule.Name), problem.Quote(name))
		}
	}
	u.res.Rows = rows
	for i, c := range rule.Cases {
		for k, a := range c.Assigns {
			x := rows.Args[a.Arg]
			if x == nil || a.Attribute != "" {
				continue
			}
			if !plausible(x, a.Text) {
				found.file.tell(found.thing.decl.cases[i].set[k].field.at, "", "%s is no value of the field %s of type %s", problem.Quote(a.Text), problem.Quote(x.Code), x.Type)
			}
		}
		if c.Rows != nil {
			n := &names{l: l, file: found.file, raw: found.thing.decl.cases[i].cond, rule: rule, connection: u.res.Connection}
			l.guardedBy(u, n.guard(u.res, c.Rows))
			rule.Cases[i].Rows = n.rest(c.Rows)
		}
	}
}
