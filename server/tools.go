package server

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"resq/engine"
	"resq/engine/policy"
	"resq/schema/problem"
)

//go:embed tools/*.json
var toolFiles embed.FS

// A definition is one tool as clients see it.
type definition struct {
	Name        string          `json:"name"`
	Title       string          `json:"title"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"inputSchema"`

	scopes []string     // one of which a principal needs to see and call it
	verbs  engine.Verbs // one of which it must be able to do with some resource; 0 asks for none
	hint   string       // read, add, change or delete
	added  bool         // beyond the published contract, so contract=seed leaves it out
	bare   bool         // shown without hints

	offline bool // needs no connection

	contract string          // the name before a profile spelt it
	output   json.RawMessage // what a tool of the catalog answers; nil of the server's own
	once     bool            // a second call does no more than the first
	file     bool            // it makes a file
}

// A toolbox is everything the server says about itself in one language.
type toolbox struct {
	Instructions string       `json:"instructions"`
	Tools        []definition `json:"tools"` // in the order they are listed
	Prompts      []prompt     `json:"prompts"`
	Template     words        `json:"template"` // of the resources
	Export       words        `json:"export"`   // of large answers
	Tables       struct {
		Table   words `json:"table"`
		DDL     words `json:"ddl"`
		Context words `json:"context"`
	} `json:"tables"` // Note [resources around tools]
	Question asking   `json:"question"` // whether to apply a preview
	Apps     appWords `json:"apps"`     // of the pages that clients show
	// Seed are the texts of the profile contract=seed, which must not speak of what it leaves out: the
	// instructions, tools by name, and descriptions by the place of their schema ("" is none).
	Seed map[string]string `json:"seed"`
}

const (
	toolSchema    = "res-schema"
	toolQuery     = "res-query"
	toolCreate    = "res-create"
	toolUpdate    = "res-update"
	toolDelete    = "res-delete"
	toolOperation = "res-operation"
	toolUndo      = "res-undo"
)

// words are what people read about something.
type words struct {
	Title       string `json:"title"`
	Description string `json:"description"`
}

// order are the tools of this server in the order of tools/list, with what each asks of a principal.
var order = []definition{
	{Name: toolSchema, scopes: []string{"read"}, hint: "read", offline: true},
	{Name: toolQuery, scopes: []string{"read"}, hint: "read"},
	{Name: toolCreate, scopes: []string{"write"}, verbs: engine.Creates, hint: "add"},
	{Name: toolUpdate, scopes: []string{"write"}, verbs: engine.Updates, hint: "change"},
	{Name: toolDelete, scopes: []string{"delete"}, verbs: engine.Deletes, hint: "delete"},
	{Name: toolOperation, scopes: []string{"write", "delete"}, verbs: engine.Creates | engine.Updates | engine.Deletes, hint: "read", added: true},
	{Name: toolUndo, scopes: []string{"write", "delete"}, verbs: engine.Updates | engine.Deletes, hint: "change", added: true},
}

// everyone may call everything.
var everyone = caller{who: &policy.Principal{Scopes: []string{"read", "write", "delete"}}, verbs: engine.Creates | engine.Updates | engine.Deletes}

// Languages are the languages in which the tools can describe themselves.
func Languages() []string { return []string{"en", "zh"} }

// loadTools reads the tools in a language of Languages.
func loadTools(lang string) (*toolbox, error) {
	if lang == "" {
		lang = "en"
	}
	if !slices.Contains(Languages(), lang) {
		return nil, fmt.Errorf("no tool descriptions in %q; there are: %s", lang, strings.Join(Languages(), ", "))
	}
	raw, err := toolFiles.ReadFile("tools/" + lang + ".json")
	if err != nil {
		return nil, err
	}
	var file toolbox
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&file); err != nil {
		return nil, fmt.Errorf("tools/%s.json: %w", lang, err)
	}
	box := &toolbox{Instructions: file.Instructions, Prompts: file.Prompts, Template: file.Template, Export: file.Export, Tables: file.Tables, Question: file.Question, Apps: file.Apps, Seed: file.Seed}
	for _, want := range order {
		i := slices.IndexFunc(file.Tools, func(d definition) bool { return d.Name == want.Name })
		if i < 0 {
			return nil, fmt.Errorf("tools/%s.json: no tool %s", lang, want.Name)
		}
		d := file.Tools[i]
		d.scopes, d.verbs, d.hint, d.added, d.offline = want.scopes, want.verbs, want.hint, want.added, want.offline
		var flat bytes.Buffer
		if err := json.Compact(&flat, d.InputSchema); err != nil {
			return nil, fmt.Errorf("tools/%s.json: %s: %w", lang, d.Name, err)
		}
		d.InputSchema = flat.Bytes()
		box.Tools = append(box.Tools, d)
	}
	return box, nil
}

// hash names all that clients are told about the tools, so that a change of it shows in the log (A3).
func (b *toolbox) hash() string {
	h := sha256.New()
	_ = json.NewEncoder(h).Encode(b) // strings and JSON always encode, and a hash takes every byte
	return hex.EncodeToString(h.Sum(nil))
}

// with gives the toolbox with the tools of a catalog behind the server's own.
func (b *toolbox) with(list []engine.Tool) *toolbox {
	all := *b
	all.Tools = slices.Clip(all.Tools)
	for _, t := range list {
		d := definition{Name: t.Name, contract: t.Name, Title: t.Title, Description: t.Description, InputSchema: t.Input, scopes: []string{"read"}, hint: "read", added: true,
			output: envelope(t.Output), once: t.Idempotent, file: t.File}
		if !t.ReadOnly {
			d.scopes, d.hint = []string{"write"}, "add"
			if t.Destructive {
				d.hint = "change"
			}
		}
		all.Tools = append(all.Tools, d)
	}
	return &all
}

// find gives the tool that answers to name: its own in any of the spellings that a profile lists, because
// clients keep lists, and some rewrite names by themselves.
func (b *toolbox) find(name string) (*definition, bool) {
	for i := range b.Tools {
		if d := &b.Tools[i]; name == d.Name || name == dotless(d.Name) || name == underscored(d.Name) {
			return d, true
		}
	}
	return nil, false
}

// dotless is a tool's name for clients that take no dots.
func dotless(name string) string { return strings.ReplaceAll(name, ".", "_") }

// underscored is a tool's name for clients that take letters, digits and underscores only.
func underscored(name string) string { return strings.ReplaceAll(dotless(name), "-", "_") }

// open says whether a caller may use d. Listing and calling both ask it, so they cannot disagree (N4, B-003, B-004).
func (d *definition) open(c caller) bool { return c.who != nil && d.closed(c) == nil }

// hidden says whether d is not for a caller's roles, or reads what it may not see. Such a tool is not there for it.
func (d *definition) hidden(c caller) bool {
	return d.output != nil && c.offers != nil && !c.offers(d.contract)
}

// closed says why a caller may not use d; nil is that it may. One that is not for its roles is not there.
func (d *definition) closed(c caller) *problem.Problem {
	why := ""
	switch {
	case d.hidden(c):
		return &problem.Problem{Code: problem.UnknownTool, Message: "no tool " + problem.Quote(d.Name)}
	case !c.who.Calls(d.Name):
		why = "is not among the tools of this key"
	case c.enabled != nil && !c.enabled(d.Name):
		why = "is switched off here"
	case !d.scoped(c.who):
		why = "needs the scope " + strings.Join(d.scopes, " or ") + ", which this key does not have"
	case d.verbs != 0 && d.verbs&c.verbs == 0:
		why = "has nothing here that this key may change"
	case c.reaches != nil && !c.reaches(d):
		return &problem.Problem{Code: problem.Unavailable, Message: "the database of " + d.Name + " cannot be reached", Hint: "call again later; tools/list shows the tool again once it can", RetryAfter: 1}
	default:
		return nil
	}
	return &problem.Problem{Code: problem.PermissionDenied, Message: d.Name + " " + why}
}

// scoped says whether who has a scope that d asks for. Without any a principal may read.
func (d *definition) scoped(who *policy.Principal) bool {
	if len(who.Scopes) == 0 {
		return slices.Contains(d.scopes, "read")
	}
	return slices.ContainsFunc(d.scopes, func(s string) bool { return slices.Contains(who.Scopes, s) })
}
