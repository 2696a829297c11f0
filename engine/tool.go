package engine

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"resq/engine/policy"
	"resq/schema"
	"resq/schema/problem"
	"resq/schema/query"
)

// A Tool is a business tool of the catalog as its clients see it.
type Tool struct {
	Name, Title, Description string
	Input, Output            []byte // JSON Schemas of the arguments, and of an answer that did not fail

	ReadOnly, Idempotent, Destructive bool

	File bool // it makes a file, which Call.File takes
}

// An Instruction is what one file of the catalog tells clients when they begin, as far as one of its tools is there for
// them; without tools it is for everybody.
type Instruction struct {
	Text  string
	Tools []string
}

// Instructions are those of the catalog's files.
func (e *Engine) Instructions() []Instruction {
	out := make([]Instruction, len(e.cat.Instructions))
	for i, x := range e.cat.Instructions {
		out[i] = Instruction(x)
	}
	return out
}

// Tools are the business tools of the catalog, in the order of the catalog, with their words in a language. Whether a
// principal may use one of them Offers says.
func (e *Engine) Tools(lang string) []Tool {
	out := make([]Tool, len(e.cat.Tools))
	for i, t := range e.cat.Tools {
		out[i] = Tool{Name: t.Name, Title: t.Title.In(lang), Description: t.Description.In(lang), Input: t.Input(lang), Output: t.Output(),
			ReadOnly: t.ReadOnly, Idempotent: t.Idempotent, Destructive: t.Destructive, File: t.Kind == schema.ExportTools}
	}
	return out
}

// Offers says whether a principal may use a business tool. One that it may not use is answered as one that is not there.
func (e *Engine) Offers(who *policy.Principal, name string) bool {
	t, ok := e.cat.Tool(name)
	return ok && e.offered(e.playing(who), t)
}

func (e *Engine) offered(who *policy.Principal, t *schema.Tool) bool {
	return who != nil && (t.SQL == nil || e.sees(who, t)) && (len(t.Roles) == 0 || slices.ContainsFunc(t.Roles, func(r string) bool { return slices.Contains(who.Roles, r) }))
}

// CallTool answers a call of a business tool. The error is a problem.List.
func (e *Engine) CallTool(ctx context.Context, who *policy.Principal, call Call) (*Answer, error) {
	if err := e.run.enter(); err != nil {
		return nil, err
	}
	defer e.run.leave()
	t, ok := e.cat.Tool(call.Tool)
	unknown := problem.List{{Code: problem.UnknownTool, Stage: problem.Raw, Message: "no tool " + problem.Quote(call.Tool)}}
	if !ok || !e.offered(e.playing(who), t) {
		return nil, unknown
	}
	who, err := e.present(ctx, who)
	if err != nil {
		return nil, err
	}
	if !e.offered(who, t) { // by the roles of this moment
		return nil, unknown
	}
	// Every kind of tool has its case here.
	switch t.Kind {
	case "preset":
		if t, err = e.filled(who, t, call.Args); err != nil {
			return nil, err
		}
		return e.preset(ctx, who, t, call)
	case "context":
		return e.businessContext(who, t, call.Args)
	case "sql":
		return e.sqlTool(ctx, who, t, call)
	case schema.MetadataTools:
		return e.metadataTool(ctx, who, t, call.Args)
	case schema.QueryTools:
		return e.queryTool(ctx, who, t, call.Args)
	case schema.ExportTools:
		return e.exportTool(ctx, who, t, call)
	}
	return nil, problem.List{{Code: problem.DataIntegrity, Stage: problem.Raw, Message: "the tool cannot be run"}}
}

// ToolRole is the role that business tools have while they read. A resource or a field that asks for it is there for
// tools alone: a tool may show the name of a row that the caller could not list.
const ToolRole = "tool"

// asTool is who asks, with what a tool may see beside.
func asTool(who *policy.Principal) *policy.Principal {
	p := *who
	p.Roles = append(slices.Clip(p.Roles), ToolRole)
	return &p
}

// values are the arguments of one call. One that was neither given nor has a default is not there.
type values struct {
	of      map[*schema.Param]value
	page    int64
	rows    int64
	lang    string
	notices []string
}

type value struct {
	text string
	list []string // of match in
}

// arguments reads the arguments of a call against what the tool declares.
func (e *Engine) arguments(t *schema.Tool, raw []byte) (*values, error) {
	names := make([]string, 0, len(t.Params)+2)
	for _, p := range t.Params {
		names = append(names, p.Name)
	}
	paged := t.Preset != nil && t.Preset.Shape == "list"
	if paged {
		names = append(names, "page", "rows")
	}
	args, err := query.Args(raw, names, e.opts.Limits)
	if err != nil {
		return nil, err
	}
	v := &values{of: make(map[*schema.Param]value, len(args)), page: 1, lang: t.Lang}
	var probs problem.List
	if paged {
		v.rows = t.Preset.Paging.Default
	}
	for _, a := range args {
		if a.Kind == "null" { // as if it had not been given
			continue
		}
		if p := t.Param(a.Name); p != nil {
			v.read(p, a, &probs)
		} else {
			v.window(t.Preset, a, &probs)
		}
	}
	for _, p := range t.Params {
		if _, given := v.of[p]; given {
			continue
		}
		switch {
		case p.HasDefault:
			v.of[p] = value{text: p.Default}
		case p.Required:
			probs = append(probs, argument(p.Name, "missing "+p.Name, p.Type))
		}
	}
	return v, probs.Err()
}

func argument(name, message, hint string) *problem.Problem {
	return &problem.Problem{Code: problem.InvalidArgument, Stage: problem.Shape, At: "/" + name, Message: message, Hint: hint}
}

// read takes one argument. What clients are known to get wrong is taken as it is meant (mcp.md 2.4): a numeric text
// for a number, a number or a boolean for a text; nothing else.
func (v *values) read(p *schema.Param, a query.Arg, probs *problem.List) {
	bad := func(message, hint string) { *probs = append(*probs, argument(p.Name, message, hint)) }
	if p.Match == "in" {
		if a.List == nil {
			bad("expected a list, not "+article(a.Kind), "")
			return
		}
		for _, text := range a.List {
			if wrong := p.Check(text); wrong != "" {
				bad(problem.Quote(text)+" "+wrong, p.Hint())
			}
		}
		v.of[p] = value{list: a.List}
		return
	}
	text := a.Text
	fits := a.Kind == "string"
	switch p.Type {
	case "integer":
		fits = a.Kind == "number" || a.Kind == "string"
		if n, ok := query.Whole(text); ok && fits {
			text = strconv.FormatInt(n, 10)
		}
	case "number":
		fits = a.Kind == "number" || a.Kind == "string"
	case "boolean":
		fits = a.Kind == "boolean"
	case "string":
		fits = a.Kind == "string" || a.Kind == "number" || a.Kind == "boolean"
	case "enum":
		fits = a.Kind == "string" || a.Kind == "number"
		if n, ok := query.Whole(text); ok && p.Numbers() {
			text = strconv.FormatInt(n, 10)
		}
	}
	if !fits {
		bad("expected "+article(p.Type)+", not "+article(a.Kind), p.Hint())
		return
	}
	if wrong := p.Check(text); wrong != "" {
		bad(problem.Quote(text)+" "+wrong, p.Hint())
		return
	}
	if text == "" && p.Type == "string" {
		return // an empty text asks for nothing, as a search field that was left empty
	}
	if n, err := strconv.ParseInt(text, 10, 64); p.Clamp && err == nil && n > *p.Max {
		text = strconv.FormatInt(*p.Max, 10)
		v.notices = append(v.notices, words(v.lang, cutTo, p.Name, text))
	}
	v.of[p] = value{text: text}
}

func article(kind string) string {
	switch kind {
	case "integer":
		return "a whole number"
	case "array", "object", "enum":
		return "an " + kind
	case "null":
		return kind
	}
	return "a " + kind
}

// window takes page and rows (B-006, B-007): too many rows are cut, and what is below 1 is the default.
func (v *values) window(p *schema.Preset, a query.Arg, probs *problem.List) {
	n, ok := query.Whole(a.Text)
	if !ok || a.Kind != "number" && a.Kind != "string" {
		*probs = append(*probs, argument(a.Name, "expected a whole number, not "+article(a.Kind), ""))
		return
	}
	into, usual := &v.page, int64(1)
	if a.Name == "rows" {
		into, usual = &v.rows, p.Paging.Default
	}
	switch {
	case n < 1 && p.Paging.Strict:
		*probs = append(*probs, argument(a.Name, strconv.FormatInt(n, 10)+" is below 1", "1 or more"))
	case n < 1:
		*into = usual
		v.notices = append(v.notices, words(v.lang, tooSmall, a.Name, strconv.FormatInt(usual, 10)))
	case a.Name == "rows" && n > p.Paging.Max:
		*into = p.Paging.Max
		v.notices = append(v.notices, words(v.lang, cutTo, a.Name, strconv.FormatInt(p.Paging.Max, 10)))
	default:
		*into = n
	}
}

// What the engine says by itself in the answers of tools, in the language that the tool declares.
const (
	cutTo = iota
	tooSmall
	listCut
	redisDown
	bytesCut
	needOne
)

var said = map[string][]string{
	"en": {
		"$1 is at most $2 and was cut to it", "$1 is at least 1; the default of $2 was taken", "$1 shows the first $2 rows alone",
		"what is kept in Redis could not be read; defaults are shown", "the page ended after $1 records, at the size an answer may have", "one of $1 must be given",
	},
	"zh": {
		"$1 超过上限 $2，已截断为 $2", "$1 不能小于 1，已按默认值 $2 处理", "$1 只返回前 $2 条",
		"Redis 暂时不可用，相关字段已按默认值返回", "本页超出大小限制，只返回前 $1 条", "$1 必须传一个",
	},
}

func words(lang string, what int, args ...string) string {
	list := said[lang]
	if list == nil {
		list = said["en"]
	}
	text := list[what]
	for i, a := range args {
		text = strings.ReplaceAll(text, "$"+strconv.Itoa(i+1), a)
	}
	return text
}
