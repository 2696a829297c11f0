package console

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"resq/registry"
	"resq/schema"
	"resq/schema/problem"
	"resq/schema/query"
)

type catalogData struct {
	Catalog  *schema.Catalog
	Diagram  *diagram
	Problems problem.List // of the last load
	Drift    []Drift
	Compared bool // with the databases
	Resource *schema.Resource
	Rules    []string // that decide about its rows, in words
	Tool     *schema.Tool
	Input    string
	Output   string
	Args     []tryArg // of a tool that reads
	Keys     []*registry.Key
}

func (c *Console) catalogNow() (*schema.Catalog, func()) {
	e, release := c.opts.Lend()
	return e.Catalog(), release
}

func (c *Console) catalog(v *visit) error {
	cat, release := c.catalogNow()
	defer release()
	d := catalogData{Catalog: cat, Diagram: diagramOf(cat.Resources)}
	if c.opts.Problems != nil {
		if err := c.opts.Problems(); err != nil {
			d.Problems = problem.From(err)
		}
	}
	if c.opts.Drift != nil && v.r.URL.Query().Get("drift") != "" {
		ctx, cancel := context.WithTimeout(v.r.Context(), driftTime)
		defer cancel()
		d.Drift, d.Compared = c.opts.Drift(ctx, cat), true
	}
	return v.show("catalog", "", "Catalog", d)
}

// driftTime is for the structure of all databases to be read.
const driftTime = 30 * time.Second

func (c *Console) resource(v *visit) error {
	cat, release := c.catalogNow()
	defer release()
	r, ok := cat.Resource(v.r.PathValue("code"))
	if !ok {
		return &problem.Problem{Code: problem.NotFound, Message: "there is no resource " + problem.Quote(v.r.PathValue("code"))}
	}
	near := []*schema.Resource{r}
	add := func(x *schema.Resource) {
		if !slices.Contains(near, x) {
			near = append(near, x)
		}
	}
	for _, x := range r.Relations {
		add(x.To)
	}
	for _, o := range cat.Resources {
		for _, x := range o.Relations {
			if x.To == r {
				add(o)
			}
		}
	}
	return v.show("resource", "", r.Code, catalogData{Catalog: cat, Resource: r, Diagram: diagramOf(near), Rules: rulesOf(r.Rows, languageOf(v.r))})
}

func (c *Console) tool(v *visit) error {
	cat, release := c.catalogNow()
	defer release()
	t, ok := cat.Tool(v.r.PathValue("name"))
	if !ok {
		return &problem.Problem{Code: problem.NotFound, Message: "there is no tool " + problem.Quote(v.r.PathValue("name"))}
	}
	indent := func(raw []byte) string {
		var b bytes.Buffer
		if json.Indent(&b, raw, "", "  ") != nil {
			return string(raw)
		}
		return b.String()
	}
	d := catalogData{Catalog: cat, Tool: t, Input: indent(t.Input(languageOf(v.r))), Output: indent(t.Output())}
	if t.ReadOnly && v.admin.Is(registry.RoleAdmin) {
		d.Args = argsOf(t, languageOf(v.r), nil)
		var err error
		if d.Keys, err = c.opts.Control.Keys(v.r.Context(), registry.KeyFilter{Limit: 1000}); err != nil {
			return err
		}
	}
	return v.show("tool", "", t.Name, d)
}

// A diagram is resources with their relations as a picture.
type diagram struct {
	Width, Height int
	Boxes         []box
	Lines         []line
}

type box struct {
	X, Y, W, H int
	Code       string
	Short      string // what fits in
	TextX      int
	TextY      int
}

type line struct {
	X1, Y1, X2, Y2 int
	Title          string
	Many           bool
}

const (
	boxWidth, boxHeight = 148, 30
	gapX, gapY          = 44, 44
)

// diagramOf lays resources out in rows, each beside those that it is related with as far as that goes.
func diagramOf(list []*schema.Resource) *diagram {
	var order []*schema.Resource
	var visit func(r *schema.Resource)
	visit = func(r *schema.Resource) {
		if slices.Contains(order, r) || !slices.Contains(list, r) {
			return
		}
		order = append(order, r)
		for _, x := range r.Relations {
			visit(x.To)
		}
	}
	for _, r := range list {
		visit(r)
	}
	columns := max(1, int(math.Ceil(math.Sqrt(float64(len(order))))))
	d := &diagram{Width: columns * (boxWidth + gapX), Height: (len(order) + columns - 1) / columns * (boxHeight + gapY)}
	at := map[*schema.Resource]box{}
	for i, r := range order {
		col, row := i%columns, i/columns
		if row%2 == 1 { // as an ox ploughs, so that neighbours stay neighbours
			col = columns - 1 - col
		}
		b := box{X: gapX/2 + col*(boxWidth+gapX), Y: gapY/2 + row*(boxHeight+gapY), W: boxWidth, H: boxHeight, Code: r.Code, Short: r.Code}
		if s := []rune(r.Code); len(s) > 19 {
			b.Short = string(s[:18]) + "…"
		}
		b.TextX, b.TextY = b.X+b.W/2, b.Y+b.H/2+4
		at[r], d.Boxes = b, append(d.Boxes, b)
	}
	for _, r := range order {
		for _, x := range r.Relations {
			to, ok := at[x.To]
			if !ok || x.To == r {
				continue
			}
			from := at[r]
			d.Lines = append(d.Lines, line{from.X + from.W/2, from.Y + from.H/2, to.X + to.W/2, to.Y + to.H/2, r.Code + " → " + x.Code + " → " + x.To.Code, x.Many})
		}
	}
	return d
}

// rulesOf says in words which rows a rule shows, in the order in which its cases are tried.
func rulesOf(rows *schema.Rows, lang string) []string {
	t := func(s string) string { return text(lang, s) }
	switch {
	case rows == nil:
		return nil
	case rows.Rule == nil:
		return []string{fmt.Sprintf(t("Everybody sees the rows where %s."), wordsOf(rows.Cond, nil, lang))}
	}
	var out []string
	for _, x := range rows.Rule.Cases {
		who := t("everybody")
		if len(x.Roles) > 0 {
			who = fmt.Sprintf(t("whoever has the role %s"), strings.Join(x.Roles, t(" or ")))
		}
		if x.When != nil {
			who += fmt.Sprintf(t(", if %s,"), wordsOf(x.When, nil, lang))
		}
		what := ""
		switch {
		case x.All:
			what = t("sees all rows")
		case x.None || x.Rows == nil:
			what = t("sees no row")
		default:
			what = fmt.Sprintf(t("sees the rows where %s"), wordsOf(x.Rows, rows.Args, lang))
		}
		out = append(out, who+" "+what)
	}
	return append(out, t("nobody else sees a row"))
}

// wordsOf is a condition as a sentence; args are the columns that stand for the arguments of a rule.
func wordsOf(n *query.Node, args map[string]*schema.Field, lang string) string {
	if n == nil {
		return "?"
	}
	var parts []string
	for _, l := range n.Leaves {
		parts = append(parts, leafWords(l, args, lang))
	}
	for _, x := range n.Children {
		parts = append(parts, "("+wordsOf(x, args, lang)+")")
	}
	joined := strings.Join(parts, text(lang, map[bool]string{true: " or ", false: " and "}[n.Or]))
	if n.Not {
		return fmt.Sprintf(text(lang, "not (%s)"), joined)
	}
	return joined
}

func leafWords(l *query.Leaf, args map[string]*schema.Field, lang string) string {
	name := l.Field
	if arg, ok := strings.CutPrefix(name, "$"); ok && args[arg] != nil {
		name = args[arg].Code
	}
	if l.Resource != "" {
		name = l.Resource + "." + name
	}
	if l.Expr != nil {
		name = text(lang, "an expression")
	}
	if l.HasFunc {
		name = l.Func + "(" + name + ")"
	}
	value := l.Token
	switch {
	case l.HasTokens:
		value = strings.Join(l.Tokens, ", ")
	case l.Query != nil:
		value = fmt.Sprintf(text(lang, "a query of %s"), l.Query.Resource)
	case l.TokenType == query.TokenPrincipal, l.TokenType == query.TokenFunc:
		value = fmt.Sprintf(text(lang, "the caller's %s"), l.Token)
	case l.TokenType == query.TokenSet:
		value = fmt.Sprintf(text(lang, "the set %s"), l.Token)
	case !l.HasToken:
		value = ""
	}
	return strings.TrimSpace(name + " " + string(l.Op) + " " + value)
}
