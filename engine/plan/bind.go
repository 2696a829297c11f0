package plan

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"resq/engine/policy"
	"resq/schema"
	"resq/schema/problem"
	"resq/schema/query"
)

// Options are what a plan depends on beside the request and the view.
type Options struct {
	Limits query.Limits
	Now    time.Time // the one instant of this request
	After  []any     // of a cursor: the rows so far and the last one's sort keys, as the database gave them; nil begins at the start
	// Set gives the values of a set that is on another connection than the request, as texts; nil when the
	// principal lacks an attribute that the set depends on.
	Set func(*schema.Set) ([]string, error)
}

// Read resolves a request in the principal's view, guards every source and gives the plan. The error is a
// problem.List.
func Read(v *policy.View, r *query.Request, o Options) (*Plan, error) {
	b := &binder{view: v, lim: &o.Limits, now: o.Now.UTC(), set: o.Set}
	p := &Plan{}
	q := b.query(r, nil, top)
	if err := b.probs.Err(); err != nil {
		return nil, err
	}
	b.page(p, q, r, o)
	if err := b.probs.Err(); err != nil {
		return nil, err
	}
	b.authorise()
	if err := b.probs.Err(); err != nil {
		return nil, err
	}
	p.root, p.connection, p.total, p.notices, p.uses, p.sources = q, b.conn, r.Total, b.notices, b.uses, b.sources
	p.slots, p.momentary = b.slots, b.momentary || o.After != nil
	return p, nil
}

// A place is what a query is for.
type place uint8

const (
	top    place = iota
	named        // in with
	branch       // in setOps
	inner        // a token
)

type binder struct {
	view    *policy.View
	lim     *query.Limits
	now     time.Time
	conn    *schema.Connection
	ids     int
	sources []*Source
	probs   problem.List
	notices []string
	trusted bool // binding what the catalog declares: masks and roles do not apply
	args    map[string]*schema.Field
	inner   *Source // the table under the rule at hand, whose fields the arguments are
	free    bool    // binding a set
	set     func(*schema.Set) ([]string, error)
	lists   map[listKey][]Expr
	uses    []Use
	unread  problem.List // why the values of a set could not be read
	depth   int          // of rules inside rules

	slots      []Slot
	momentary  bool // bound to the time, or to a set that was read
	checking   bool // binding rules to find their faults
	conditions int  // above 0 while a condition is being bound
}

func (b *binder) add(code problem.Code, stage problem.Stage, at, message, hint string) {
	b.probs = append(b.probs, &problem.Problem{Code: code, Stage: stage, At: at, Message: message, Hint: hint})
}

func (b *binder) id() int {
	b.ids++
	return b.ids - 1
}

// query binds one request. It always gives a query, which is only of use when no problem was added.
func (b *binder) query(r *query.Request, parent *scope, where place) *Query {
	q := &Query{Limit: -1, Offset: r.Offset}
	sc := &scope{parent: parent, query: q, place: where}
	switch where {
	case named: // sees the queries named before it and nothing around it
		sc.parent, sc.withs = nil, slices.Clip(parent.allWiths())
	case branch: // sees what its sibling sees, but not the sibling's sources
		sc.parent, sc.withs = parent.parent, slices.Clip(parent.withs)
	}
	for i := range r.With {
		b.with(sc, &r.With[i])
	}
	if !b.main(sc, r) {
		return q
	}
	b.relations(sc, r)
	if _, stop := b.probs.Worst(); stop && len(sc.sources) < len(r.Relations)+1 {
		return q
	}
	b.outputs(sc, r)
	if r.Conditions != nil {
		q.Where = b.group(sc, r.Conditions, sc.sources[0].src, clause{name: "conditions"})
	}
	for i := range r.GroupBy {
		b.groupBy(sc, &r.GroupBy[i])
	}
	if r.Having != nil {
		q.Having = b.group(sc, r.Having, sc.sources[0].src, clause{name: "having", aggregates: true, outputs: true})
	}
	q.Distinct = r.Distinct
	for i := range r.SetOps {
		b.setOp(sc, &r.SetOps[i])
	}
	if len(b.probs) == 0 {
		b.agree(q)
	}
	b.order(sc, r)
	b.limit(q, r, where)
	if len(b.probs) == 0 {
		b.finish(sc, r)
	}
	return q
}

func (b *binder) with(sc *scope, w *query.With) {
	for _, x := range sc.allWiths() {
		if strings.EqualFold(x.Code, w.Code) {
			b.add(problem.InvalidArgument, problem.Resources, w.At+"/code", "two named queries are called "+problem.Quote(w.Code), "give each its own code")
			return
		}
	}
	if _, taken := b.view.Resource(w.Code); taken {
		b.add(problem.InvalidArgument, problem.Resources, w.At+"/code", problem.Quote(w.Code)+" is a resource already", "give the named query a code of its own")
		return
	}
	q := b.query(w.Query, sc, named)
	cte := &CTE{ID: b.id(), Code: w.Code, Query: q}
	sc.withs = append(sc.withs, cte)
	sc.query.With = append(sc.query.With, cte)
}

// main finds the main source.
func (b *binder) main(sc *scope, r *query.Request) bool {
	code := r.Code
	if code == "" {
		code = r.Resource
	}
	s := b.source(sc, r.Resource, code, r.At+"/resource")
	if s == nil {
		return false
	}
	sc.sources = append(sc.sources, namedSource{code, s})
	sc.query.From = s
	return true
}

// source finds a resource or a named query and makes an occurrence of it.
func (b *binder) source(sc *scope, resource, code, at string) *Source {
	s := &Source{ID: b.id(), Code: code, free: b.free, depth: b.depth}
	for _, w := range sc.allWiths() {
		if w.Code == resource {
			s.CTE = w
			b.sources = append(b.sources, s)
			return s
		}
	}
	res, ok := b.view.Resource(resource)
	if !ok && b.trusted {
		res, ok = b.view.Catalog().Resource(resource)
	}
	if !ok {
		b.unknownResource(at, resource, append(b.view.Codes(), sc.withCodes()...), problem.Resources)
		return nil
	}
	if b.conn == nil {
		b.conn = res.Connection
	}
	if res.Connection != b.conn {
		b.add(problem.InvalidArgument, problem.Resources, at, problem.Quote(resource)+" is on another connection than the rest of the request",
			"query each connection on its own and merge the answers")
		return nil
	}
	s.Resource = res
	b.sources = append(b.sources, s)
	return s
}

func (b *binder) unknownResource(at, name string, known []string, stage problem.Stage) {
	hint := problem.OneOf(name, known)
	if _, ok := b.view.Resource(name); ok {
		hint = "join it first: an entry of relations with this code"
	} else if r := b.titled(name); r != "" {
		hint = "its code is " + r
	}
	if hint == "" {
		hint = "call res-schema for the codes there are"
	}
	b.add(problem.UnknownResource, stage, at, "there is no resource "+problem.Quote(name)+" here", hint)
}

// titled finds the code of a resource that was called by its display name.
func (b *binder) titled(name string) string {
	for _, r := range b.view.Resources() {
		if r.Name == name && name != "" {
			return r.Code
		}
	}
	return ""
}

func (b *binder) unknownField(at, name, of string, known []string, stage problem.Stage) {
	hint := problem.OneOf(name, known)
	if hint == "" {
		hint = "call res-schema for the fields there are"
	}
	b.add(problem.UnknownField, stage, at, "there is no field "+problem.Quote(name)+" on "+problem.Quote(of), hint)
}

// relations binds the joins in an order in which each finds what it refers to.
func (b *binder) relations(sc *scope, r *query.Request) {
	todo := make([]*query.Relation, 0, len(r.Relations))
	for i := range r.Relations {
		rel := &r.Relations[i]
		clash := strings.EqualFold(rel.Code, sc.sources[0].code)
		for j := range r.Relations[:i] {
			clash = clash || strings.EqualFold(rel.Code, r.Relations[j].Code)
		}
		if clash {
			b.add(problem.InvalidArgument, problem.Resources, rel.At+"/code", "the code "+problem.Quote(rel.Code)+" is taken in this request", "give the relation a code of its own")
			return
		}
		todo = append(todo, rel)
	}
	for len(todo) > 0 {
		next := -1
		for i, rel := range todo {
			if b.ready(rel, todo) {
				next = i
				break
			}
		}
		if next < 0 {
			b.add(problem.InvalidArgument, problem.Resources, todo[0].At+"/relationResource", "the relations refer to each other in a circle", "join each to the main resource or to one before it")
			return
		}
		rel := todo[next]
		todo = append(todo[:next], todo[next+1:]...)
		b.relation(sc, rel)
	}
	loose := 0
	for _, j := range sc.query.Joins {
		if j.Type != "cross" && j.Source.CTE == nil && j.loose() {
			loose++
		}
	}
	if loose > b.lim.LooseJoins {
		b.add(problem.LimitExceeded, problem.Limits, r.At+"/relations", strconv.Itoa(loose)+" joins on fields that are no keys", "at most "+strconv.Itoa(b.lim.LooseJoins)+"; join along the relations res-schema shows")
	}
}

// ready says whether none of the relations still to come is named by rel.
func (b *binder) ready(rel *query.Relation, todo []*query.Relation) bool {
	for _, x := range todo {
		if x == rel {
			continue
		}
		if rel.ToResource == x.Code || mentions(rel.Conditions, x.Code) {
			return false
		}
	}
	return true
}

func mentions(n *query.Node, code string) bool {
	if n == nil {
		return false
	}
	for _, l := range n.Leaves {
		if l.Resource == code || l.TokenType == query.TokenField && strings.HasPrefix(l.Token, code+".") {
			return true
		}
	}
	for _, c := range n.Children {
		if mentions(c, code) {
			return true
		}
	}
	return false
}

func (b *binder) relation(sc *scope, rel *query.Relation) {
	s := b.source(sc, rel.Resource, rel.Code, rel.At+"/actuallyResource")
	if s == nil {
		return
	}
	j := &Join{Source: s, Type: rel.Type}
	switch rel.Type {
	case "left":
		s.outer = true
	case "right":
		for _, x := range sc.sources {
			x.src.outer = true
		}
	}
	var eq Expr
	if rel.Field != "" {
		other, ok := sc.local(rel.ToResource)
		if !ok {
			b.unknownResource(rel.At+"/relationResource", rel.ToResource, sc.codes(), problem.Resources)
		}
		l := b.field(s, rel.Field, rel.At+"/actuallyField", problem.Fields)
		var r Expr
		if ok {
			r = b.field(other, rel.ToField, rel.At+"/relationField", problem.Fields)
		}
		if l != nil && r != nil {
			eq = b.compare(query.Eq, l, r)
		}
	}
	sc.sources = append(sc.sources, namedSource{rel.Code, s})
	if rel.Conditions != nil {
		eq = and(eq, b.group(sc, rel.Conditions, s, clause{name: "conditions"}))
	}
	if eq == nil && j.Type != "cross" && len(b.probs) == 0 {
		// Conditions that hold nothing join everything, which only a cross relation may ask for.
		b.add(problem.InvalidArgument, problem.Semantics, rel.At, "the relation joins by nothing", "give an equality or conditions, or use type cross")
	}
	j.On = eq
	sc.query.Joins = append(sc.query.Joins, j)
}

// loose says whether nothing in ON ties the join to a key: then rows may multiply without bound. Where a
// resource declares no key nothing can be said, and the time limit has to do.
func (j *Join) loose() bool {
	if len(j.Source.Resource.Key) == 0 {
		return false
	}
	for _, p := range equalities(j.On) {
		for _, c := range p {
			if c.Source.CTE != nil || c.Field != nil && (len(c.Source.Resource.Key) == 0 || c.Source.Resource.IsKey(c.Field) || c.Field.References != nil) {
				return false
			}
		}
	}
	return true
}

// equalities are the column = column conjuncts of a condition.
func equalities(e Expr) [][2]*Column {
	switch x := e.(type) {
	case *Logic:
		if x.Or {
			return nil
		}
		var out [][2]*Column
		for _, y := range x.Xs {
			out = append(out, equalities(y)...)
		}
		return out
	case *Compare:
		if x.Op != query.Eq {
			return nil
		}
		l, ok1 := bare(x.L).(*Column)
		r, ok2 := bare(x.R).(*Column)
		if ok1 && ok2 {
			return [][2]*Column{{l, r}}
		}
	}
	return nil
}

// bare takes the conversion off a value.
func bare(e Expr) Expr {
	if c, ok := e.(*Convert); ok {
		return c.X
	}
	return e
}

func and(l, r Expr) Expr {
	switch {
	case l == nil:
		return r
	case r == nil:
		return l
	}
	return &Logic{Xs: []Expr{l, r}}
}

func (b *binder) limit(q *Query, r *query.Request, where place) {
	q.Limit = r.Limit
	if q.Limit > b.lim.MaxRows && where == top {
		b.notices = append(b.notices, "LIMIT_CUT: limit "+strconv.FormatInt(r.Limit, 10)+" was cut to "+strconv.FormatInt(b.lim.MaxRows, 10))
		q.Limit = b.lim.MaxRows
	}
	if q.Limit < 0 && where == top {
		q.Limit = min(b.lim.DefaultRows, b.lim.MaxRows)
	}
}
