package schema

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"resq/schema/problem"
	"resq/schema/query"
)

// declareParam checks what an argument says of itself.
func (b *toolBinder) declareParam(d *paramDecl, p *Preset) {
	x := &Param{
		Name: d.name.text, Description: d.description.words(), Type: d.typ.text, Required: d.required.on,
		Default: d.def.text, HasDefault: d.def.given(), MaxLength: d.maxLength.n, Clamp: d.onOverMax.text == "clamp",
		Values: textsOf(d.values), Match: d.match.text, WholeDay: d.wholeDay.on, Overrides: d.others.given(), At: b.file.pos(d.name.at),
	}
	at := d.name.at
	bound := func(n number) *int64 {
		if !n.at.given() {
			return nil
		}
		v := int64(n.n)
		return &v
	}
	x.Min, x.Max = bound(d.min), bound(d.max)
	if p.Shape == "list" && (x.Name == "page" || x.Name == "rows") {
		b.tell(at, "paging: {default: 20, max: 100} settles it", "the argument %s belongs to the pages of every list", problem.Quote(x.Name))
	}
	if !query.PlainName(x.Name) {
		b.tell(at, "letters, digits and _", "%s is no name of an argument", problem.Quote(x.Name))
	}
	numeric := x.Type == "integer" || x.Type == "number"
	if (x.Min != nil || x.Max != nil) && !numeric {
		b.tell(at, "", "min and max are for numbers, and the argument %s is one of type %s", problem.Quote(x.Name), x.Type)
	}
	if x.Clamp && x.Max == nil {
		b.tell(d.onOverMax.at, "", "onOverMax needs max")
	}
	if x.MaxLength > 0 && x.Type != "string" {
		b.tell(at, "", "maxLength is for strings, and the argument %s is one of type %s", problem.Quote(x.Name), x.Type)
	}
	b.enum(d, x)
	if x.HasDefault {
		if wrong := x.Check(x.Default); wrong != "" {
			b.tell(d.def.at, "", "the default of %s %s", problem.Quote(x.Name), wrong)
		}
		if x.Required {
			b.tell(d.def.at, "leave required or default out", "the argument %s is required, so its default is never used", problem.Quote(x.Name))
		}
	}
	b.tool.Params = append(b.tool.Params, x)
}

func (b *toolBinder) enum(d *paramDecl, x *Param) {
	if d.text.given() {
		if found, ok := b.l.texts[d.text.text]; ok {
			x.Labels = found.thing
		} else {
			b.tell(d.text.at, b.l.nearest("text", d.text.text, func() []string { return keysOf(b.l.texts) }), "no text %s", problem.Quote(d.text.text))
		}
	}
	if x.Type != "enum" {
		if len(x.Values) > 0 {
			b.tell(d.name.at, "type: enum", "values are for an enum, and the argument %s is one of type %s", problem.Quote(x.Name), x.Type)
		}
		return
	}
	if x.Labels != nil && len(x.Values) == 0 {
		for _, l := range x.Labels.Labels {
			x.Values = append(x.Values, l.Code)
		}
	}
	if len(x.Values) == 0 {
		b.tell(d.name.at, "values: […], or text: NAME", "the enum %s has no values", problem.Quote(x.Name))
	}
	if x.Labels == nil {
		return
	}
	for _, v := range x.Values {
		if _, ok := x.Labels.Label(v); !ok {
			b.tell(d.text.at, "add it to the text map", "the text map %s has no label for the value %s of %s", problem.Quote(x.Labels.Name), problem.Quote(v), problem.Quote(x.Name))
		}
	}
}

// filter finds what an argument is compared with.
func (b *toolBinder) filter(d *paramDecl, x *Param, p *Preset) {
	var reads []*Read
	if p.Read != nil && p.Read.Source != nil {
		reads = append(reads, p.Read)
	}
	for _, u := range p.Union {
		reads = append(reads, u.Read)
	}
	if len(reads) == 0 || x.Match == "none" {
		x.Match = ""
		return
	}
	res := reads[0].Source
	switch {
	case d.exists.at.given():
		b.exists(&d.exists, x, res)
		if d.field.given() {
			b.tell(d.field.at, "", "an argument asks a field or exists, and not both")
		}
	case d.field.given():
		if _, plain := res.byCode[d.field.text]; !plain {
			if x.Within = b.within(d.field, reads[0]); x.Within != nil {
				break
			}
		}
		if f := b.field(d.field, res); f != nil {
			x.Field = f.Code
		}
	default:
		for _, c := range reads[0].Columns {
			if c.Name == x.Name && c.Kind == "field" && c.Field != nil {
				x.Field = c.Field.Code
			}
		}
		for _, f := range res.Fields {
			if x.Field == "" && (f.Code == x.Name || b.named(f.Code) == x.Name) && (!b.used[x] || x.Match != "" || p.OneOf != nil && slices.Contains(p.OneOf.Params, x)) {
				x.Field = f.Code
			}
		}
	}
	if !x.Narrows() {
		return
	}
	if x.Match == "" {
		x.Match = "exact"
	}
	if (x.Match == "contains" || x.Match == "prefix") && x.Type != "string" {
		b.tell(d.match.at, "type: string", "match %s is for strings", x.Match)
	}
	if x.WholeDay && (x.Match != "to" || x.Type != "date") {
		b.tell(d.wholeDay.at, "type: date and match: to", "wholeDay is for a date that ends a range")
	}
	if x.Within != nil && x.Within.Field.Mask != "" {
		b.tell(d.field.at, "compare with another field", "the field %s is masked, so nothing can be compared with it", problem.Quote(x.Within.Field.Code))
	}
	if x.Exists != nil || x.Within != nil {
		return
	}
	for _, r := range reads {
		f, ok := r.Source.byCode[x.Field]
		switch {
		case !ok:
			b.tell(d.name.at, "", "the argument %s asks for the field %s, which %s does not have", problem.Quote(x.Name), problem.Quote(x.Field), problem.Quote(r.Source.Code))
		case x.Type == "date" && (x.Match == "from" || x.Match == "to") && f.Type.Kind == Any:
			b.tell(d.name.at, "field: Resource.field of what the query reads", "the output %s is an expression, of which it is not known whether it is a day or a moment", problem.Quote(f.Code))
		case f.Mask != "":
			b.tell(d.name.at, "compare with another field", "the field %s is masked, so nothing can be compared with it", problem.Quote(f.Code))
		}
	}
}

func (b *toolBinder) exists(d *existsDecl, x *Param, res *Resource) {
	there := b.resource(d.source)
	if there == nil {
		return
	}
	if there.Connection != res.Connection {
		b.tell(d.source.at, "ask a resource of the same connection", "%s is on another connection than %s", problem.Quote(there.Code), problem.Quote(res.Code))
	}
	x.Exists = &Exists{Source: there, Field: b.field(d.field, there)}
	for _, p := range d.on {
		from, to := b.field(p.from, there), b.field(p.to, res)
		if from != nil && to != nil {
			x.Exists.On = append(x.Exists.On, Pair{from, to})
		}
	}
	if len(d.on) == 0 {
		b.tell(d.at, "on: {field there: field of the record}", "nothing says which rows belong to the record")
	}
	x.Exists.Where = b.clauses(d.where, there)
}

// Check says what is wrong with the text of a value, or "".
func (p *Param) Check(text string) string {
	switch p.Type {
	case "integer":
		n, err := strconv.ParseInt(text, 10, 64)
		switch {
		case err != nil:
			return "is no whole number within 64 bits"
		case p.Min != nil && n < *p.Min:
			return "is below " + strconv.FormatInt(*p.Min, 10)
		case p.Max != nil && n > *p.Max && !p.Clamp:
			return "is above " + strconv.FormatInt(*p.Max, 10)
		}
	case "number":
		n, err := strconv.ParseFloat(text, 64)
		switch {
		case err != nil:
			return "is no number"
		case p.Min != nil && n < float64(*p.Min):
			return "is below " + strconv.FormatInt(*p.Min, 10)
		case p.Max != nil && n > float64(*p.Max) && !p.Clamp:
			return "is above " + strconv.FormatInt(*p.Max, 10)
		}
	case "boolean":
		if text != "true" && text != "false" {
			return "is neither true nor false"
		}
	case "date":
		if _, err := time.Parse(time.DateOnly, text); err != nil {
			return "is no date written as YYYY-MM-DD"
		}
	case "enum":
		if !slices.Contains(p.Values, text) {
			return "is none of its values"
		}
	case "string":
		if p.MaxLength > 0 && len([]rune(text)) > p.MaxLength {
			return "has more than " + strconv.Itoa(p.MaxLength) + " characters"
		}
	}
	return ""
}

// Hint says what a call may send for p.
func (p *Param) Hint() string {
	switch {
	case p.Type == "enum":
		return "one of: " + strings.Join(p.Values, ", ")
	case p.Type == "date":
		return "such as 2026-01-31"
	case p.Min != nil && p.Max != nil:
		return "from " + strconv.FormatInt(*p.Min, 10) + " to " + strconv.FormatInt(*p.Max, 10)
	case p.Min != nil:
		return strconv.FormatInt(*p.Min, 10) + " or more"
	case p.Max != nil:
		return "at most " + strconv.FormatInt(*p.Max, 10)
	}
	return ""
}
