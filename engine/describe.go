package engine

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"resq/engine/plan"
	"resq/engine/policy"
	"resq/schema"
	"resq/schema/query"
)

// searchHits is how many resources one search shows.
const searchHits = 20

// Describe answers one res-schema: what the principal may use. The error is a problem.List.
func (e *Engine) Describe(ctx context.Context, who *policy.Principal, raw []byte) (*Answer, error) {
	keywords, detail, err := query.Keywords(raw, e.opts.Limits)
	if err != nil {
		return nil, err
	}
	if e.byRole || e.cat.Owner != nil && e.cat.Owner.Roles != "" {
		if who, err = e.known(ctx, who); err != nil {
			return nil, err
		}
	}
	d := &describer{v: policy.For(e.cat, who), max: e.opts.MaxBytes}
	if strings.Trim(keywords, " |｜") == "" {
		if detail == "" {
			detail = "names"
		}
		d.list(d.v.Resources(), detail)
		if d.n == 0 {
			d.notice("", "There are no resources for this caller.")
		}
	} else {
		if detail == "" {
			detail = "fields"
		}
		d.search(keywords, detail)
	}
	return &Answer{Text: d.b, Rows: d.n, Cut: d.cut, Data: d.json}, nil
}

type describer struct {
	v   *policy.View
	b   []byte
	max int
	n   int
	cut bool

	// What the JSON form is made of.
	detail  string
	listed  []*schema.Resource
	nearest []string
	notices []string
}

func (d *describer) search(keywords, detail string) {
	hits := d.v.Catalog().SearchView(keywords, d.v.Visible, d.v.Readable)
	if len(hits) == 0 {
		d.notice("notice: ", "no resource matches these keywords.")
		d.nearest = d.v.Catalog().Nearest(keywords, d.v.Visible, 5)
		if len(d.nearest) > 0 {
			d.line("Nearest: " + strings.Join(d.nearest, ", "))
		} else {
			d.notice("", "Without keywords all resources are listed.")
		}
		return
	}
	rs := make([]*schema.Resource, 0, searchHits)
	for _, h := range hits {
		if len(rs) < searchHits {
			rs = append(rs, h.Resource)
		}
	}
	d.list(rs, detail)
	if len(hits) > searchHits {
		d.notice("notice: ", strconv.Itoa(len(hits)-searchHits)+" more resources match less well; narrow the keywords.")
	}
}

// list describes resources until the budget is spent; the first is always whole.
func (d *describer) list(rs []*schema.Resource, detail string) {
	d.detail = detail
	for i, r := range rs {
		n := len(d.b)
		if detail == "names" {
			d.names(r)
		} else {
			d.resource(r, detail == "full")
		}
		if i > 0 && len(d.b) > d.max {
			d.b = d.b[:n]
			d.cut = true
			d.notice("notice: ", strconv.Itoa(len(rs)-i)+" more resources; search with keywords.")
			return
		}
		d.n++
		d.listed = append(d.listed, r)
	}
}

func (d *describer) line(s string) {
	d.b = append(append(d.b, s...), '\n')
}

// notice writes a line that is about the answer itself.
func (d *describer) notice(head, s string) {
	d.line(head + s)
	d.notices = append(d.notices, s)
}

func (d *describer) names(r *schema.Resource) {
	s := r.Code
	if r.Name != "" && r.Name != r.Code {
		s += " · " + flat(r.Name)
	}
	d.line(s + " · " + r.Connection.Name)
}

// flat keeps a text of the catalog on its line.
func flat(s string) string { return strings.Join(strings.Fields(s), " ") }

// resource writes a resource's block: a head, then one line for each field.
func (d *describer) resource(r *schema.Resource, full bool) {
	if len(d.b) > 0 {
		d.b = append(d.b, '\n')
	}
	head := r.Code
	if r.Name != "" && r.Name != r.Code {
		head += " " + flat(r.Name)
	}
	head += " (" + r.Table + ") · " + r.Connection.Name
	if verbs := d.v.Writes(r); len(verbs) > 0 {
		head += " · writes: " + strings.Join(verbs, ", ") + confirmed[r.Confirm]
		if r.Connection.Control {
			head += ", an update or delete whose answer is lost may have to be looked up"
		}
	} else {
		head += " · read only"
	}
	d.line(head)
	if r.Description != "" && flat(r.Description) != flat(r.Name) {
		d.line("  " + flat(r.Description))
	}
	for _, f := range d.v.Fields(r) {
		d.field(r, f)
	}
	d.relations(r)
	if full {
		if s := d.example(r); s != "" {
			d.line("example: " + s)
		}
	}
}

// confirmed says how an update or delete of a resource is confirmed, where that is not the usual way.
var confirmed = map[string]string{"strict": " (with its token)", "human": " (a person approves)", "none": " (updates at once)"}

func (d *describer) field(r *schema.Resource, f *schema.Field) {
	s := "- " + f.Code + " " + f.Type.String()
	if f.MaxLength > 0 {
		s += "(" + strconv.Itoa(f.MaxLength) + ")"
	}
	if f.Array {
		s += "[]"
	}
	if f.Unsigned {
		s += " unsigned"
	}
	if r.IsKey(f) {
		s += " key"
	}
	if f.Required {
		s += " required"
	} else if f.NotNull && !r.IsKey(f) {
		s += " not null"
	}
	if f.Default != "" {
		s += " default " + flat(f.Default)
	}
	if plan.Filled(r, f) || f.Generated {
		s += " set by the system"
	}
	if f.Mask != "" {
		s += " masked"
	}
	if f.References != nil && d.v.Visible(f.References.Resource) {
		s += " → " + f.References.Resource.Code + "." + f.References.Field.Code
	}
	if len(f.Values) > 0 {
		s += " one of: " + flat(strings.Join(f.Values, ", "))
	}
	if f.Text != nil {
		var l []string
		for _, x := range f.Text.Labels {
			l = append(l, x.Code+"="+flat(x.Label))
		}
		s += " {" + strings.Join(l, ", ") + "}"
	}
	if f.Name != "" && f.Name != f.Code {
		s += " — " + flat(f.Name)
	}
	if t := d.told(f); t != "" {
		s += ": " + t
	}
	d.line(s)
}

// told is a field's description where it says more than its name: whole in full detail, else its beginning.
func (d *describer) told(f *schema.Field) string {
	t := flat(f.Description)
	if t == flat(f.Name) {
		return ""
	}
	if r := []rune(t); d.detail != "full" && len(r) > 120 {
		t = string(append(r[:119], '…'))
	}
	return t
}

// relations writes the ways to other resources, each as the keys of an entry of relations.
func (d *describer) relations(r *schema.Resource) {
	for _, x := range r.Relations {
		if !d.shown(x) {
			continue
		}
		code := d.joinCode(r, x)
		s := "→ " + code
		if code != x.To.Code {
			s += " (" + x.To.Code + ")"
		}
		if x.Many {
			s += " many"
		}
		s += ": "
		for i, p := range x.On {
			if i > 0 {
				s += " and "
			}
			s += code + "." + p.To.Code + " = " + r.Code + "." + p.From.Code
		}
		d.line(s)
	}
}

// shown says whether the principal learns of x.
func (d *describer) shown(x *schema.Relation) bool {
	return d.v.Visible(x.To) && len(x.On) > 0 && d.readable(x)
}

// joinCode is the code under which a request on r can join x. Its own is the rule; that of r itself belongs to the
// main resource of the request, so a reference to the same resource is called by the field that refers: boss for
// boss_id, else Employee_2.
func (d *describer) joinCode(r *schema.Resource, x *schema.Relation) string {
	if !strings.EqualFold(x.Code, r.Code) {
		return x.Code
	}
	taken := func(code string) bool {
		return strings.EqualFold(code, r.Code) || slices.ContainsFunc(r.Relations, func(o *schema.Relation) bool {
			return o != x && d.shown(o) && strings.EqualFold(o.Code, code)
		})
	}
	if len(x.On) == 1 && !x.Many {
		code := x.On[0].From.Code
		for _, suffix := range []string{"_id", "Id"} {
			if stem, ok := strings.CutSuffix(code, suffix); ok {
				code = stem
				break
			}
		}
		if query.PlainName(code) && !taken(code) {
			return code
		}
	}
	for i := 2; ; i++ {
		if code := plain(r.Code) + "_" + strconv.Itoa(i); !taken(code) {
			return code
		}
	}
}

// plain makes the beginning of a name for a join of a code, which may hold any character.
func plain(code string) string {
	runes := []rune(code)
	for i, c := range runes {
		if c != '_' && !unicode.IsLetter(c) && !unicode.IsDigit(c) {
			runes[i] = '_'
		}
	}
	code = string(runes[:min(len(runes), 60)])
	if !query.PlainName(code) {
		code = "r_" + strings.TrimLeft(code, "_")
	}
	return code
}

func (d *describer) readable(x *schema.Relation) bool {
	for _, p := range x.On {
		if !d.v.Readable(p.From) || !d.v.Readable(p.To) || p.From.Mask != "" || p.To.Mask != "" {
			return false
		}
	}
	return true
}

// example is a request that works, with a join where there is one; "" when no field can be asked for.
func (d *describer) example(r *schema.Resource) string {
	var code string
	for _, f := range d.v.Fields(r) {
		if f.Mask == "" && (code == "" || r.IsKey(f)) {
			code = f.Code
		}
	}
	if code == "" {
		return ""
	}
	s := `{"resource":` + quoted(r.Code) + `,"fields":[{"code":` + quoted(code) + `}`
	tail := ""
	for _, x := range r.Relations {
		if !d.shown(x) || len(x.On) != 1 {
			continue
		}
		join, other := d.joinCode(r, x), x.On[0].To
		for _, f := range d.v.Fields(x.To) {
			if f.Mask == "" && !x.To.IsKey(f) {
				other = f
				break
			}
		}
		s += `,{"code":` + quoted(other.Code) + `,"codeResource":` + quoted(join) + `,"alias":"other"}`
		tail = `,"relations":[{"code":` + quoted(join) + `,"type":"left","actuallyResource":` + quoted(x.To.Code) + `,"actuallyField":` + quoted(x.On[0].To.Code) +
			`,"relationResource":` + quoted(r.Code) + `,"relationField":` + quoted(x.On[0].From.Code) + `}]`
		break
	}
	return s + "]" + tail + `,"limit":5}`
}

func quoted(s string) string { return string(appendString(nil, s)) }
