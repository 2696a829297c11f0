package engine

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"resq/engine/plan"
	"resq/engine/policy"
	"resq/engine/sqlgen"
	"resq/schema"
	"resq/schema/problem"
	"resq/schema/query"
)

// A Report says what becomes of a request for a principal, and why: for those who write rules, not for who asks.
type Report struct {
	Principal  string                  `json:"principal"`
	User       string                  `json:"user,omitempty"`
	Nobody     bool                    `json:"noSuchUser,omitempty"` // every row rule denies
	Roles      []string                `json:"roles"`
	Attributes map[string]policy.Value `json:"-"` // as looked up; values are for an admin
	Funcs      map[string]policy.Value `json:"-"`
	Rules      []RuleReport            `json:"rules"`
	Masked     []string                `json:"masked"` // fields that the request's resources show masked, as Resource.field
	Hidden     []string                `json:"hidden"` // fields of them that are not there for the principal
	Statements []StatementReport       `json:"statements"`
	Refused    problem.List            `json:"refused,omitempty"` // why the request is not answered
	Resources  []string                `json:"-"`                 // codes of those that the request names; without one, that there are for the principal
}

// A RuleReport is one row rule as it was decided.
type RuleReport struct {
	Resource string      `json:"resource"`
	Rule     string      `json:"rule,omitempty"` // its name; "" is a condition of the resource's own
	Case     int         `json:"case,omitempty"` // from 1; 0 is none of them
	Rows     string      `json:"rows"`           // all, none or condition
	Roles    []string    `json:"roles,omitempty"`
	Sets     []SetReport `json:"sets,omitempty"`
}

// A SetReport is one set that a rule compares with.
type SetReport struct {
	Name  string `json:"name"`
	Size  int    `json:"size"` // values; -1 where they could not be read
	Bound int    `json:"bound"`
	Error string `json:"error,omitempty"`
	// Lacking says that the principal lacks an attribute that the set depends on, so that the rule shows no row.
	Lacking bool `json:"lacking,omitempty"`
}

// A StatementReport is one statement with the types of its arguments.
type StatementReport struct {
	Connection string      `json:"connection"`
	SQL        string      `json:"sql"`
	Args       []ArgReport `json:"args"`
}

// An ArgReport is one argument. Its value is nil unless it was asked for, and never that of what stands beside a masked field.
type ArgReport struct {
	Type   string `json:"type"`
	Masked bool   `json:"masked,omitempty"`
	Values int    `json:"values,omitempty"` // of a set in one argument
	Value  any    `json:"value,omitempty"`
}

// Report explains a request of a tool: res-query, res-create, res-update, res-delete, or with tool "" what the principal
// sees of every resource. Nothing is run but the queries of the principal and of the sets. values shows the arguments'
// values. The error is one that kept the report from being made; a request that is refused is part of the report.
func (e *Engine) Report(ctx context.Context, who *policy.Principal, tool string, raw []byte, values bool) (*Report, error) {
	if err := e.run.enter(); err != nil {
		return nil, err
	}
	defer e.run.leave()
	r := &Report{Principal: who.Name, User: who.User, Roles: append([]string{}, who.Roles...), Rules: []RuleReport{}, Masked: []string{}, Hidden: []string{}, Statements: []StatementReport{}}
	who, err := e.known(ctx, who)
	if err != nil {
		return nil, err
	}
	v := policy.For(e.cat, who)
	r.Roles = append([]string{}, who.Roles...)
	r.Nobody, r.Attributes, r.Funcs = who.Absent(), who.Attributes, who.Funcs
	o := e.options(ctx, v, nil)
	var uses []plan.Use
	var resources []*schema.Resource
	named := func(code string) {
		if x, ok := v.Resource(code); ok && !slices.Contains(resources, x) {
			resources = append(resources, x)
		}
	}
	switch verb, write := verbOf(tool); {
	case tool == "":
		resources = v.Resources()
		for _, x := range resources {
			if x.Rows != nil {
				uses = append(uses, plan.Use{Resource: x, Grant: v.Rows(x)})
			}
		}
	case tool == "res-query":
		q, err := query.Decode(raw, e.opts.Limits)
		if err != nil {
			r.Refused = problem.From(err)
			return r, nil
		}
		q.Each(func(x *query.Request) {
			named(x.Resource)
			for _, j := range x.Relations {
				named(j.Resource)
			}
		}, func(*query.Leaf) {})
		if o.After, err = e.seal.open(who, q); err != nil {
			r.Refused = problem.From(err)
			return r, nil
		}
		p, err := plan.Read(v, q, o)
		if err != nil {
			r.Refused = problem.From(err)
			break
		}
		uses = p.Uses()
		if err := e.reportPlan(r, p, values); err != nil {
			r.Refused = problem.From(err)
		}
	case write:
		w, err := query.DecodeWrite(verb, raw, e.opts.Limits)
		if err != nil {
			r.Refused = problem.From(err)
			return r, nil
		}
		named(w.Resource)
		c, err := plan.Write(v, w, o)
		if err != nil {
			r.Refused = problem.From(err)
			break
		}
		uses = c.Uses()
		if verb != query.Create {
			if err := e.reportPlan(r, c.Targets(c.IDs()), values); err != nil {
				r.Refused = problem.From(err)
			}
		}
	default:
		return nil, problem.List{{Code: problem.UnknownTool, Stage: problem.Raw, Message: "the tool " + problem.Quote(tool) + " cannot be explained", Hint: "one of: res-query, res-create, res-update, res-delete"}}
	}
	for _, x := range resources {
		r.Resources = append(r.Resources, x.Code)
		for _, f := range x.Fields {
			switch name := x.Code + "." + f.Code; {
			case !v.Readable(f):
				r.Hidden = append(r.Hidden, name)
			case f.Mask != "":
				r.Masked = append(r.Masked, name)
			}
		}
		// A request that is refused is refused by rules, too.
		if x.Rows != nil && r.Refused != nil && !slices.ContainsFunc(uses, func(u plan.Use) bool { return u.Resource == x }) {
			uses = append(uses, plan.Use{Resource: x, Grant: v.Rows(x)})
		}
	}
	for _, u := range uses {
		r.Rules = append(r.Rules, e.reportRule(u, o))
	}
	return r, nil
}

func (e *Engine) reportRule(u plan.Use, o plan.Options) RuleReport {
	x := RuleReport{Resource: u.Resource.Code, Case: u.Grant.Case, Rows: "condition"}
	switch {
	case u.Grant.All:
		x.Rows = "all"
	case u.Grant.Cond == nil:
		x.Rows = "none"
	}
	if rule := u.Resource.Rows.Rule; rule != nil {
		x.Rule = rule.Name
		if x.Case > 0 {
			x.Roles = rule.Cases[x.Case-1].Roles
		}
	}
	var names []string
	(&query.Request{Conditions: u.Grant.Cond}).Each(func(*query.Request) {}, func(l *query.Leaf) {
		if l.TokenType == query.TokenSet && !slices.Contains(names, l.Token) {
			names = append(names, l.Token)
		}
	})
	for _, name := range names {
		s, ok := e.cat.Set(name)
		if !ok {
			continue
		}
		y := SetReport{Name: name, Bound: s.Bound}
		vals, err := o.Set(s)
		switch {
		case err != nil:
			y.Size, y.Error = -1, problem.From(err)[0].Message
		case vals == nil:
			y.Lacking = true
		}
		if err == nil {
			y.Size = len(vals)
		}
		x.Sets = append(x.Sets, y)
	}
	return x
}

func (e *Engine) reportPlan(r *Report, p *plan.Plan, values bool) error {
	d := e.dbs[p.Connection()].driver
	st, err := render(p, d, false)
	if err != nil {
		return err
	}
	masked := p.Masked()
	for _, s := range []*sqlgen.Statement{st.rows, st.count} {
		if s == nil {
			continue
		}
		x := StatementReport{Connection: p.Connection().Name, SQL: s.SQL, Args: make([]ArgReport, len(s.Args))}
		for i, a := range s.Given {
			y := &x.Args[i]
			y.Type, y.Masked = a.T.String(), masked[a]
			if len(a.Many) > 0 {
				y.Values = len(a.Many)
				y.Type = a.Many[0].Type().String()
				for _, one := range a.Many {
					arg, ok := one.(*plan.Arg)
					y.Masked = y.Masked || ok && masked[arg]
				}
			} else if values && !y.Masked {
				y.Value = s.Args[i]
				if b, ok := y.Value.([]byte); ok {
					y.Value = fmt.Sprintf("%d bytes", len(b))
				}
			}
		}
		r.Statements = append(r.Statements, x)
	}
	return nil
}

// Text writes a report for a person to read; tools are what the principal may call. values shows what the principal's
// attributes are.
func (r *Report) Text(tools []string, values bool) string {
	var b strings.Builder
	line := func(head, text string) {
		if text != "" {
			b.WriteString(head + ": " + text + "\n")
		}
	}
	line("principal", r.Principal)
	line("user", r.User)
	if r.Nobody {
		line("user is", "not there, so every row rule denies")
	}
	line("roles", strings.Join(r.Roles, ", "))
	for _, list := range []struct {
		name string
		of   map[string]policy.Value
	}{{"attributes", r.Attributes}, {"funcs", r.Funcs}} {
		var out []string
		for _, name := range sortedKeys(list.of) {
			if v := list.of[name]; values {
				name += "=" + strings.Join(v.Texts, ",")
			} else if v.List {
				name += "[" + strconv.Itoa(len(v.Texts)) + "]"
			}
			out = append(out, name)
		}
		line(list.name, strings.Join(out, " "))
	}
	line("tools", strings.Join(tools, ", "))
	for _, x := range r.Rules {
		text := x.Rows
		if x.Rule != "" {
			text = "rule " + x.Rule + ", no case, none"
			if x.Case > 0 {
				text = "rule " + x.Rule + ", case " + strconv.Itoa(x.Case) + ", " + x.Rows
			}
		}
		if len(x.Roles) > 0 {
			text += ", as " + strings.Join(x.Roles, ", ")
		}
		for _, s := range x.Sets {
			switch {
			case s.Error != "":
				text += "; set " + s.Name + ": " + s.Error
			case s.Lacking:
				text += "; set " + s.Name + ": an attribute is missing, so no row"
			default:
				text += "; set " + s.Name + ": " + strconv.Itoa(s.Size) + " of at most " + strconv.Itoa(s.Bound)
			}
		}
		line("rows of "+x.Resource, text)
	}
	line("masked", strings.Join(r.Masked, ", "))
	line("hidden", strings.Join(r.Hidden, ", "))
	for _, p := range r.Refused {
		line("refused", string(p.Code)+" "+p.Error())
	}
	for _, s := range r.Statements {
		b.WriteString("\n-- " + s.Connection + "\n" + s.SQL + "\n")
		for i, a := range s.Args {
			b.WriteString("-- " + strconv.Itoa(i+1) + ": " + a.Type)
			if a.Values > 0 {
				b.WriteString(", " + strconv.Itoa(a.Values) + " values")
			}
			switch {
			case a.Masked:
				b.WriteString(", beside a masked field")
			case a.Value != nil:
				fmt.Fprintf(&b, " = %#v", a.Value)
			}
			b.WriteByte('\n')
		}
	}
	return b.String()
}

func sortedKeys(m map[string]policy.Value) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
