package policy

import (
	"slices"
	"strconv"
	"strings"
	"sync"

	"resq/schema"
	"resq/schema/query"
)

// A View is the catalog as one principal sees it: what is not granted is not there. Hidden and missing
// names give the same answer, and hints come only from the view.
type View struct {
	cat   *schema.Catalog
	who   *Principal
	whole bool

	mu      sync.Mutex
	applied []applied
}

// An applied rule is one that decided which rows of a resource are seen, and by which of its cases; 0 is none.
type applied struct {
	resource *schema.Resource
	at       int
}

// For gives the view of a principal. One whose user has to be looked up and was not is nobody here, so that a path
// that forgets the look-up shows nothing.
func For(c *schema.Catalog, who *Principal) *View {
	if c.Owner != nil && who.User != "" && !who.known {
		who = who.Nobody()
	}
	return &View{cat: c, who: who}
}

// Whole is a view in which everything is there, whoever asks: no role is needed, and no row rule holds. It is for
// validations alone, which decide about rows that their caller need not see; what they read never reaches the caller as
// rows. Masks hold in it as in any other.
func Whole(c *schema.Catalog, who *Principal) *View { return &View{cat: c, who: who, whole: true} }

// Who is the principal.
func (v *View) Who() *Principal { return v.who }

// Catalog is what the view is of. Only search may use it, with Visible.
func (v *View) Catalog() *schema.Catalog { return v.cat }

// Visible says whether the principal may use r.
func (v *View) Visible(r *schema.Resource) bool { return v.whole || v.plays(r.Roles) }

// Readable says whether the principal may read f at all, masked or not. Where the case that decides about the rows is
// one of certain roles, the principal reads as these alone: what it may read as another is of other rows, and two rules
// must not add up to a cell that neither grants.
func (v *View) Readable(f *schema.Field) bool {
	if v.whole || len(f.Roles) == 0 {
		return true
	}
	roles := v.who.Roles
	if c := v.decides(f.Resource); c != nil && len(c.Roles) > 0 {
		roles = c.Roles
	}
	return v.plays(f.Roles) && common(f.Roles, roles, v.who.Roles)
}

// common says whether one word is in all three.
func common(a, b, c []string) bool {
	return slices.ContainsFunc(a, func(s string) bool { return slices.Contains(b, s) && slices.Contains(c, s) })
}

func (v *View) plays(roles []string) bool {
	return len(roles) == 0 || slices.ContainsFunc(roles, func(r string) bool { return slices.Contains(v.who.Roles, r) })
}

// decides is the case of r's rule that holds for the principal; nil when there is none, or no named rule.
func (v *View) decides(r *schema.Resource) *schema.Case {
	if r == nil || r.Rows == nil || r.Rows.Rule == nil || v.who.nobody {
		return nil
	}
	for i := range r.Rows.Rule.Cases {
		c := &r.Rows.Rule.Cases[i]
		if v.plays(c.Roles) && (c.When == nil || v.who.holds(c.When)) {
			return c
		}
	}
	return nil
}

// Resource finds a resource the principal may use.
func (v *View) Resource(code string) (*schema.Resource, bool) {
	r, ok := v.cat.Resource(code)
	if !ok || !v.Visible(r) {
		return nil, false
	}
	return r, true
}

// Field finds a field of r that the principal may read.
func (v *View) Field(r *schema.Resource, code string) (*schema.Field, bool) {
	f, ok := r.Field(code)
	if !ok || !v.Readable(f) {
		return nil, false
	}
	return f, true
}

// Fields are those of r that the principal may read, in catalog order.
func (v *View) Fields(r *schema.Resource) []*schema.Field {
	hidden := slices.ContainsFunc(r.Fields, func(f *schema.Field) bool { return !v.Readable(f) })
	if !hidden {
		return r.Fields
	}
	var out []*schema.Field
	for _, f := range r.Fields {
		if v.Readable(f) {
			out = append(out, f)
		}
	}
	return out
}

// Resources are all that the principal may use, in catalog order.
func (v *View) Resources() []*schema.Resource {
	var out []*schema.Resource
	for _, r := range v.cat.Resources {
		if v.Visible(r) {
			out = append(out, r)
		}
	}
	return out
}

// Codes are the codes of Resources, for hints.
func (v *View) Codes() []string {
	rs := v.Resources()
	out := make([]string, len(rs))
	for i, r := range rs {
		out[i] = r.Code
	}
	return out
}

// A Grant says which rows of a resource a principal sees. The zero Grant is none.
type Grant struct {
	Case int // which of the rule's cases decided, from 1; 0 is none, or a rule without cases
	All  bool
	Cond *query.Node
	Args map[string]*schema.Field // what $names in Cond stand for
}

// Rows decides the row rule of r: the first case of its rule whose condition on the principal holds. No
// case is no row.
func (v *View) Rows(r *schema.Resource) Grant {
	switch {
	case v.whole, r.Rows == nil:
		return Grant{All: true}
	case v.who.nobody:
		v.apply(r, 0)
		return Grant{}
	case r.Rows.Rule == nil:
		v.apply(r, 1)
		return Grant{Cond: r.Rows.Cond}
	}
	c := v.decides(r)
	if c == nil {
		v.apply(r, 0)
		return Grant{}
	}
	g := Grant{Case: 1}
	for c != &r.Rows.Rule.Cases[g.Case-1] {
		g.Case++
	}
	v.apply(r, g.Case)
	if g.All = c.All; !c.All && !c.None {
		g.Cond, g.Args = c.Rows, r.Rows.Args
	}
	return g
}

func (v *View) apply(r *schema.Resource, at int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if a := (applied{r, at}); !slices.Contains(v.applied, a) {
		v.applied = append(v.applied, a)
	}
}

// Applied names the row rules that have decided so far: a rule by its name and the number of its case, a condition of a
// resource's own by the resource; case 0 is that no row is seen.
func (v *View) Applied() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	var names []string
	for _, a := range v.applied {
		name := a.resource.Code + ".rows"
		if rule := a.resource.Rows.Rule; rule != nil {
			name = rule.Name
		}
		if name += ":" + strconv.Itoa(a.at); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// Holds evaluates a condition on the principal's attributes, such as that of a case of a rule; nil always holds.
func (v *View) Holds(n *query.Node) bool { return n == nil || v.who.holds(n) }

// holds evaluates a condition on the principal's attributes. A missing attribute satisfies IS NULL and
// nothing else.
func (p *Principal) holds(n *query.Node) bool {
	result := !n.Or
	any := false
	step := func(ok bool) {
		any = true
		if n.Or {
			result = result || ok
		} else {
			result = result && ok
		}
	}
	for _, l := range n.Leaves {
		step(p.leaf(l))
	}
	for _, c := range n.Children {
		step(p.holds(c))
	}
	if !any {
		result = true
	}
	return result != n.Not
}

func (p *Principal) leaf(l *query.Leaf) bool {
	a, ok := p.Attributes[l.Field]
	ok = ok && (a.List || len(a.Texts) > 0)
	switch l.Op {
	case query.IsNull:
		return !ok
	case query.IsNotNull:
		return ok
	}
	if !ok {
		return false
	}
	want := l.Tokens
	if !l.HasTokens {
		want = []string{l.Token}
		if l.Op == query.In || l.Op == query.NotIn {
			want = strings.Split(l.Token, ",")
			for i := range want {
				want[i] = strings.TrimSpace(want[i])
			}
		}
	}
	has := slices.ContainsFunc(a.Texts, func(s string) bool { return slices.Contains(want, s) })
	switch l.Op {
	case query.Eq, query.In:
		return has
	case query.Ne, query.NotIn:
		return !has
	}
	if a.List || len(a.Texts) != 1 {
		return false
	}
	c, ok := compare(a.Texts[0], want[0])
	if !ok {
		return false
	}
	switch l.Op {
	case query.Lt:
		return c < 0
	case query.Le:
		return c <= 0
	case query.Gt:
		return c > 0
	case query.Ge:
		return c >= 0
	}
	return false
}

// compare compares numbers as numbers; texts have no order here.
func compare(a, b string) (int, bool) {
	x, err1 := strconv.ParseFloat(a, 64)
	y, err2 := strconv.ParseFloat(b, 64)
	if err1 != nil || err2 != nil {
		return 0, false
	}
	switch {
	case x < y:
		return -1, true
	case x > y:
		return 1, true
	}
	return 0, true
}

// Assigns are the values that the row rule of r gives to the rows this principal creates. A value without
// texts is an attribute that the principal lacks.
func (v *View) Assigns(r *schema.Resource) map[*schema.Field]Value {
	c := v.decides(r)
	if c == nil {
		return nil
	}
	out := map[*schema.Field]Value{}
	for _, s := range c.Assigns {
		f := r.Rows.Args[s.Arg]
		if s.Attribute == "" {
			out[f] = One(s.Text)
		} else if a := v.who.Attributes[s.Attribute]; !a.List {
			out[f] = a
		} else {
			out[f] = Value{}
		}
	}
	return out
}

// Writes are the verbs that r takes from this principal.
func (v *View) Writes(r *schema.Resource) []string {
	var out []string
	for _, verb := range r.Writes {
		scope := "write"
		if verb == string(query.Delete) {
			scope = "delete"
		}
		if slices.Contains(v.who.Scopes, scope) {
			out = append(out, verb)
		}
	}
	return out
}
