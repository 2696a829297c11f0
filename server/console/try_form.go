package console

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"resq/schema"
)

// A tryForm is a request in the boxes of the form.
type tryForm struct {
	Key, Tool, Resource, Limit string
	Relations                  []string // codes under which resources are joined
	Fields, Groups             []string // SOURCE.field
	Sums                       []trySum
	Orders                     []tryOrder
	Root                       *tryNode // of the conditions
	Args                       map[string]string
}

// A trySum is an aggregate over the rows of a group.
type trySum struct{ Func, Field string }

type tryOrder struct {
	Field string
	Down  bool
}

// A tryNode is a group of conditions, or one of them. Its path is its place in the tree: "0" is the whole.
type tryNode struct {
	Path             string
	Group            bool
	Or, Not          bool
	Field, Op, Value string
	Nodes            []*tryNode
}

// everyRow counts the rows of a group.
const everyRow = "COUNT(*)"

const (
	tryDepth = 4  // of the tree of conditions
	tryNodes = 12 // in a group
	trySums  = 3
)

var (
	tryOperators  = []string{"=", "!=", ">", ">=", "<", "<=", "LIKE", "NOT LIKE", "IN", "NOT IN", "BETWEEN", "NOT BETWEEN", "IS NULL", "IS NOT NULL"}
	tryAggregates = []string{"COUNT", "SUM", "AVG", "MIN", "MAX"}
)

// A tryJoin is a resource that can be joined by a relation of the catalog.
type tryJoin struct {
	Code   string // of the relation in the request
	From   string // the source that has the relation
	To     *schema.Resource
	On     []schema.Pair
	Chosen bool
}

// A tryField is a field of the resource or of one that is joined.
type tryField struct{ Name, Source, Code string }

// joins are the relations of the resource and of those that are joined.
func (f *tryForm) joins(r *schema.Resource) []tryJoin {
	var out []tryJoin
	used := []string{r.Code}
	var from func(source string, r *schema.Resource, depth int)
	from = func(source string, r *schema.Resource, depth int) {
		for _, x := range r.Relations {
			if len(x.On) == 0 || len(out) >= 100 {
				continue
			}
			code := x.Code
			if slices.Contains(used, code) {
				code = source + "_" + x.Code
			}
			if slices.Contains(used, code) {
				continue
			}
			used = append(used, code)
			j := tryJoin{Code: code, From: source, To: x.To, On: x.On, Chosen: slices.Contains(f.Relations, code)}
			out = append(out, j)
			if j.Chosen && depth < 3 {
				from(code, x.To, depth+1)
			}
		}
	}
	from(r.Code, r, 0)
	return out
}

// fieldsOf are the fields that the form offers.
func fieldsOf(r *schema.Resource, joins []tryJoin) []tryField {
	var out []tryField
	add := func(source string, r *schema.Resource) {
		for _, f := range r.Fields {
			out = append(out, tryField{source + "." + f.Code, source, f.Code})
		}
	}
	add(r.Code, r)
	for _, j := range joins {
		if j.Chosen {
			add(j.Code, j.To)
		}
	}
	return out
}

// formOf reads the boxes.
func formOf(v *visit) *tryForm {
	value := func(name string) string {
		if v.r.Method == "GET" {
			return v.r.URL.Query().Get(name)
		}
		return strings.TrimSpace(v.r.PostFormValue(name))
	}
	f := &tryForm{Key: value("key"), Tool: value("tool"), Resource: value("resource"), Limit: value("limit"), Args: map[string]string{}}
	if v.r.Method == "GET" {
		f.Limit, f.Root = "20", &tryNode{Path: "0", Group: true}
		f.padded()
		return f
	}
	f.Relations, f.Fields, f.Groups = v.r.PostForm["relation"], v.r.PostForm["fields"], v.r.PostForm["group"]
	for i := range trySums {
		n := strconv.Itoa(i)
		f.Sums = append(f.Sums, trySum{value("sum-func-" + n), value("sum-field-" + n)})
		f.Orders = append(f.Orders, tryOrder{value("order-" + n), value("down-"+n) != ""})
	}
	for name := range v.r.PostForm {
		if arg, ok := strings.CutPrefix(name, "arg."); ok {
			f.Args[arg] = value(name)
		}
	}
	f.Root = nodeOf(value, "0", 1)
	if f.Root == nil {
		f.Root = &tryNode{Path: "0", Group: true}
	}
	return f
}

func (f *tryForm) padded() {
	for len(f.Sums) < trySums {
		f.Sums = append(f.Sums, trySum{})
	}
	for len(f.Orders) < trySums {
		f.Orders = append(f.Orders, tryOrder{})
	}
}

func nodeOf(value func(string) string, path string, depth int) *tryNode {
	switch kind := value("node." + path); {
	case kind == "leaf":
		return &tryNode{Path: path, Field: value("field." + path), Op: value("op." + path), Value: value("value." + path)}
	case kind != "group" || depth > tryDepth:
		return nil
	}
	n := &tryNode{Path: path, Group: true, Or: value("type."+path) == "or", Not: value("not."+path) != ""}
	for i := range tryNodes {
		if x := nodeOf(value, path+"."+strconv.Itoa(i), depth+1); x != nil {
			n.Nodes = append(n.Nodes, x)
		}
	}
	return n
}

// edit adds to the tree or takes from it what a button says, such as "leaf 0.1", and numbers it anew.
func (f *tryForm) edit(what, path string) {
	var walk func(n *tryNode)
	walk = func(n *tryNode) {
		n.Nodes = slices.DeleteFunc(n.Nodes, func(x *tryNode) bool { return what == "drop" && x.Path == path })
		for _, x := range n.Nodes {
			walk(x)
		}
		if n.Path == path && n.Group && len(n.Nodes) < tryNodes {
			switch {
			case what == "leaf":
				n.Nodes = append(n.Nodes, &tryNode{})
			case what == "group" && n.depth() < tryDepth-1:
				n.Nodes = append(n.Nodes, &tryNode{Group: true, Nodes: []*tryNode{{}}})
			}
		}
	}
	walk(f.Root)
	var number func(n *tryNode, path string)
	number = func(n *tryNode, path string) {
		n.Path = path
		for i, x := range n.Nodes {
			number(x, path+"."+strconv.Itoa(i))
		}
	}
	number(f.Root, "0")
}

func (n *tryNode) depth() int { return strings.Count(n.Path, ".") + 1 }

// Deep says whether there is no room for a group below.
func (n *tryNode) Deep() bool { return n.depth() >= tryDepth-1 }

var bareName = regexp.MustCompile(`^[\pL_][\pL\pN_]*$`)

// named is SOURCE.field as an expression has it.
func named(name string) string {
	source, code, _ := strings.Cut(name, ".")
	q := func(s string) string {
		if bareName.MatchString(s) {
			return s
		}
		return "`" + s + "`"
	}
	return q(source) + "." + q(code)
}

// The parts of a request, in the order in which it is written.
type (
	tryOutput struct {
		Code   string `json:"code"`
		Source string `json:"codeResource,omitempty"`
		IsExpr bool   `json:"isExpr,omitempty"`
		Alias  string `json:"alias,omitempty"`
	}
	tryLeaf struct {
		Field     string  `json:"field"`
		Source    string  `json:"fieldResource,omitempty"`
		Operator  string  `json:"operator"`
		TokenType string  `json:"tokenType,omitempty"`
		Token     *string `json:"token,omitempty"`
	}
	tryConditions struct {
		Type     string           `json:"type"`
		Not      bool             `json:"not,omitempty"`
		Exprs    []tryLeaf        `json:"exprs,omitempty"`
		Children []*tryConditions `json:"children,omitempty"`
	}
	tryRelation struct {
		Code       string         `json:"code"`
		Type       string         `json:"type"`
		To         string         `json:"actuallyResource"`
		ToField    string         `json:"actuallyField"`
		From       string         `json:"relationResource"`
		FromField  string         `json:"relationField"`
		Conditions *tryConditions `json:"conditions,omitempty"`
	}
	tryBy struct {
		Type      string `json:"type"`
		Expr      string `json:"expr"`
		Direction string `json:"direction"`
	}
	tryRequest struct {
		Resource   string         `json:"resource"`
		Fields     []tryOutput    `json:"fields"`
		Conditions *tryConditions `json:"conditions,omitempty"`
		Relations  []tryRelation  `json:"relations,omitempty"`
		GroupBy    []string       `json:"groupBy,omitempty"`
		OrderBy    []tryBy        `json:"orderBy,omitempty"`
		Limit      int            `json:"limit,omitempty"`
	}
)

// request is the form as JSON.
func (f *tryForm) request(r *schema.Resource) string {
	joins := f.joins(r)
	q := tryRequest{Resource: r.Code, Fields: []tryOutput{}, Conditions: f.conditions(r, f.Root)}
	var aliases []string
	output := func(name string) {
		source, code, _ := strings.Cut(name, ".")
		o := tryOutput{Code: code}
		if source != r.Code {
			o.Source, o.Alias = source, source+"_"+code
		}
		q.Fields = append(q.Fields, o)
	}
	plain := f.Fields
	if len(f.Groups) > 0 {
		plain = f.Groups
	}
	for _, name := range plain {
		output(name)
	}
	for _, s := range f.Sums {
		if s.Func == "" {
			continue
		}
		o := tryOutput{Code: everyRow, IsExpr: true, Alias: strings.ToLower(s.Func)}
		if s.Field != "" {
			_, code, _ := strings.Cut(s.Field, ".")
			o.Code, o.Alias = s.Func+"("+named(s.Field)+")", o.Alias+"_"+code
		}
		if !slices.Contains(aliases, o.Alias) {
			aliases = append(aliases, o.Alias)
			q.Fields = append(q.Fields, o)
		}
	}
	q.GroupBy = append(q.GroupBy, f.Groups...)
	for _, j := range joins {
		if j.Chosen {
			q.Relations = append(q.Relations, j.relation())
		}
	}
	for _, o := range f.Orders {
		b := tryBy{"field", o.Field, "asc"}
		if slices.Contains(aliases, o.Field) {
			b.Type = "sql"
		}
		if o.Down {
			b.Direction = "desc"
		}
		if o.Field != "" {
			q.OrderBy = append(q.OrderBy, b)
		}
	}
	q.Limit, _ = strconv.Atoi(f.Limit) // anything else is none
	b, _ := json.MarshalIndent(q, "", "  ")
	return string(b)
}

// relation joins by all equalities, the first of which has a place of its own.
func (j *tryJoin) relation() tryRelation {
	x := tryRelation{Code: j.Code, Type: "left", To: j.To.Code, ToField: j.On[0].To.Code, From: j.From, FromField: j.On[0].From.Code}
	for _, p := range j.On[1:] {
		if x.Conditions == nil {
			x.Conditions = &tryConditions{Type: "and"}
		}
		token := j.From + "." + p.From.Code
		x.Conditions.Exprs = append(x.Conditions.Exprs, tryLeaf{Field: p.To.Code, Source: j.Code, Operator: "=", TokenType: "field", Token: &token})
	}
	return x
}

func (f *tryForm) conditions(r *schema.Resource, n *tryNode) *tryConditions {
	c := &tryConditions{Type: "and", Not: n.Not}
	if n.Or {
		c.Type = "or"
	}
	for _, x := range n.Nodes {
		switch {
		case x.Group:
			if below := f.conditions(r, x); below != nil {
				c.Children = append(c.Children, below)
			}
		case x.Field != "" && x.Op != "":
			source, code, _ := strings.Cut(x.Field, ".")
			l := tryLeaf{Field: code, Operator: x.Op}
			if source != r.Code {
				l.Source = source
			}
			if !strings.HasSuffix(x.Op, "NULL") {
				l.Token = &x.Value
			}
			c.Exprs = append(c.Exprs, l)
		}
	}
	if len(c.Exprs)+len(c.Children) == 0 {
		return nil
	}
	return c
}
