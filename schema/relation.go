package schema

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"resq/schema/problem"
)

// bindRelations resolves declared relations and references, then adds the relations that references imply.
func (l *loader) bindRelations() {
	for _, u := range l.resUnits {
		for i := range u.decl.relations {
			l.bindRelation(u, &u.decl.relations[i])
		}
	}
	for _, u := range l.resUnits {
		for _, x := range u.res.Fields {
			if d := u.fields[x]; d.references.given() {
				l.bindReference(u, x, d.references)
			}
		}
	}
	l.implyRelations()
}

// resource looks up a resource by its code; nil when there is none, which is told.
func (l *loader) resource(f *file, at place, code string) *Resource {
	if r, ok := l.resources[code]; ok {
		return r.thing
	}
	f.tell(at, l.nearest("resource", code, func() []string { return keysOf(l.resources) }), "no resource %s", problem.Quote(code))
	return nil
}

// sameConnection tells when two resources that are to be joined cannot be.
func sameConnection(f *file, at place, a, b *Resource) bool {
	if a.Connection == b.Connection || a.Connection == nil || b.Connection == nil {
		return true
	}
	f.tell(at, "resources are joined on one connection only", "%s is on the connection %s and %s on %s",
		problem.Quote(a.Code), problem.Quote(a.Connection.Name), problem.Quote(b.Code), problem.Quote(b.Connection.Name))
	return false
}

func (l *loader) bindRelation(u *resUnit, d *relDecl) {
	if !d.to.given() {
		return
	}
	to := l.resource(u.file, d.to.at, d.to.text)
	if to == nil || !sameConnection(u.file, d.to.at, u.res, to) {
		return
	}
	r := &Relation{Code: d.code.text, Name: d.name.text, To: to, Many: d.many.on}
	at := d.code.at
	if r.Code == "" {
		r.Code, at = to.Code, d.to.at
	}
	for _, other := range u.res.Relations {
		if other.Code == r.Code {
			u.file.tell(at, "give one of them another code", "the resource %s has two relations %s", problem.Quote(u.res.Code), problem.Quote(r.Code))
			return
		}
	}
	if len(d.on) == 0 {
		u.file.tell(d.at, "on: {fieldHere: fieldThere}", "the relation %s joins no fields", problem.Quote(r.Code))
	}
	for _, p := range d.on {
		from := l.field(u, p.from, `"on"`)
		there, ok := to.byCode[p.to.text]
		if p.to.given() && !ok {
			u.file.tell(p.to.at, fieldHint(to, p.to.text), `"on" names the field %s, which %s does not have`, problem.Quote(p.to.text), problem.Quote(to.Code))
		}
		if from != nil && ok {
			r.On = append(r.On, Pair{from, there})
		}
	}
	u.res.Relations = append(u.res.Relations, r)
}

// bindReference splits Resource.field by the codes there are, since both may hold points.
func (l *loader) bindReference(u *resUnit, x *Field, w word) {
	var found []Reference
	var near *Resource // a resource that fits, without the field
	for i, c := range w.text {
		if c != '.' {
			continue
		}
		if r, ok := l.resources[w.text[:i]]; ok {
			near = r.thing
			if f, ok := near.byCode[w.text[i+1:]]; ok {
				found = append(found, Reference{near, f})
			}
		}
	}
	switch {
	case len(found) > 1:
		u.file.tell(w.at, "give one of the two another code", "%s may mean the field %s of %s or the field %s of %s", problem.Quote(w.text),
			problem.Quote(found[0].Field.Code), problem.Quote(found[0].Resource.Code), problem.Quote(found[1].Field.Code), problem.Quote(found[1].Resource.Code))
	case len(found) == 1:
		if sameConnection(u.file, w.at, u.res, found[0].Resource) {
			x.References = &found[0]
		}
	case near != nil:
		field := strings.TrimPrefix(w.text, near.Code+".")
		u.file.tell(w.at, fieldHint(near, field), "%s has no field %s to refer to", problem.Quote(near.Code), problem.Quote(field))
	default:
		code, _, dotted := strings.Cut(w.text, ".")
		if !dotted {
			u.file.tell(w.at, "write it as Resource.field", "%s is no reference", problem.Quote(w.text))
			return
		}
		u.file.tell(w.at, l.nearest("resource", code, func() []string { return keysOf(l.resources) }), "no resource %s to refer to", problem.Quote(code))
	}
}

// A lead is a relation that a reference implies, before it has a code.
type lead struct {
	rel  *Relation
	code string // preferred
	long string // when another lead prefers the same
}

// implyRelations adds, for each reference, the relation to its target and the way back, unless a declared relation
// joins the same fields already.
func (l *loader) implyRelations() {
	leads := map[*Resource][]lead{}
	for _, u := range l.resUnits {
		for _, x := range u.res.Fields {
			if x.References == nil {
				continue
			}
			from, to := u.res, x.References.Resource
			if !leadsThere(from, to, x, x.References.Field) {
				leads[from] = append(leads[from], lead{
					rel:  &Relation{Name: to.Name, To: to, On: []Pair{{x, x.References.Field}}},
					code: to.Code, long: to.Code + "_" + x.Code,
				})
			}
			if !leadsThere(to, from, x.References.Field, x) {
				back := from.Code
				if from == to {
					back += "_list" // the way down a tree; the way up has the plain code
				}
				// A field that is the whole key of its resource has at most one row per target.
				many := len(from.Key) != 1 || from.Key[0] != x
				leads[to] = append(leads[to], lead{
					rel:  &Relation{Name: from.Name, To: from, Many: many, On: []Pair{{x.References.Field, x}}},
					code: back, long: back + "_" + x.Code,
				})
			}
		}
	}
	for _, r := range l.cat.Resources {
		nameRelations(r, leads[r])
	}
}

// leadsThere says whether a relation declared on from already leads to to over this pair.
func leadsThere(from, to *Resource, here, there *Field) bool {
	for _, r := range from.Relations {
		if r.To != to {
			continue
		}
		for _, p := range r.On {
			if p.From == here && p.To == there {
				return true
			}
		}
	}
	return false
}

// nameRelations gives implied relations codes of their own: the target's where only one leads there, else with the field.
func nameRelations(r *Resource, leads []lead) {
	taken := map[string]bool{}
	for _, d := range r.Relations {
		taken[d.Code] = true
	}
	wanted := map[string]int{}
	for _, x := range leads {
		wanted[x.code]++
	}
	for _, x := range leads {
		code := x.code
		if wanted[code] > 1 || taken[code] {
			code = x.long
		}
		if code != x.rel.To.Code {
			code = plainCode(code)
		}
		x.rel.Code = freeCode(code, taken)
		taken[x.rel.Code] = true
		r.Relations = append(r.Relations, x.rel)
	}
}

// plainCode makes a code that a request can use as the name of a join: letters, digits and _, not beginning with a
// digit or __.
func plainCode(code string) string {
	code = strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return '_'
	}, code)
	code = strings.TrimLeft(code, "_")
	if first, _ := utf8.DecodeRuneInString(code); !unicode.IsLetter(first) {
		code = "r_" + code
	}
	return code
}

// freeCode gives code, cut to the length of a code and numbered when it is taken.
func freeCode(code string, taken map[string]bool) string {
	cut := func(n int) string {
		if utf8.RuneCountInString(code) > n {
			return string([]rune(code)[:n])
		}
		return code
	}
	c := cut(64)
	for i := 2; taken[c]; i++ {
		c = cut(60) + "_" + strconv.Itoa(i)
	}
	return c
}
