package server

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"resq/schema/problem"
)

// A Profile is how the tools show themselves to a client, for clients and model providers that understand less
// than the protocol allows (docs/clients.md). It changes what is shown, never what is accepted: every call is
// checked against the whole contract. Profiles are equal when they show the same, so they can be compared.
type Profile struct {
	names        string // contract, underscore, nodots
	schema       string // contract, defs, flat, single
	depth        int    // of the condition groups that flat and single write out
	contract     string // full, seed
	descriptions string // full, slim
	annotations  string // filled, contract
	format       string // of answers: columns, objects, csv, markdown
	structured   string // header, on, off
	export       string // none, csv
}

// contractProfile is what a client sees that asks for nothing.
var contractProfile = Profile{
	names: "contract", schema: "contract", depth: 2, contract: "full", descriptions: "full", annotations: "filled",
	format: "columns", structured: "header", export: "none",
}

// bundles are the profiles that have a name.
var bundles = map[string]string{
	"contract":       "",
	"openai":         "names=nodots&schema=single",
	"gemini":         "names=nodots&schema=flat",
	"cursor":         "names=underscore",
	"moonshot":       "schema=single",
	"claude-desktop": "names=nodots",
}

// Profiles are the names of the ready-made profiles.
func Profiles() []string {
	var names []string
	for name := range bundles {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// A choice is one switch of a profile.
type choice struct {
	key    string
	values []string
	set    func(p *Profile, value string)
}

// choices are the switches, as they are spelled in a URL and in the flag.
var choices = []choice{
	{"names", []string{"contract", "underscore", "nodots"}, func(p *Profile, v string) { p.names = v }},
	{"schema", []string{"contract", "defs", "flat", "single"}, func(p *Profile, v string) { p.schema = v }},
	{"depth", []string{"1", "2", "3", "4"}, func(p *Profile, v string) { p.depth, _ = strconv.Atoi(v) }},
	{"contract", []string{"full", "seed"}, func(p *Profile, v string) { p.contract = v }},
	{"descriptions", []string{"full", "slim"}, func(p *Profile, v string) { p.descriptions = v }},
	{"annotations", []string{"filled", "contract"}, func(p *Profile, v string) { p.annotations = v }},
	{"format", []string{"columns", "objects", "csv", "markdown"}, func(p *Profile, v string) { p.format = v }},
	{"structured", []string{"header", "on", "off"}, func(p *Profile, v string) { p.structured = v }},
	{"export", []string{"none", "csv"}, func(p *Profile, v string) { p.export = v }},
}

// ParseProfile reads a profile as the flag spells it: a name of Profiles, switches such as
// "names=underscore&schema=flat", or a name with switches, "openai?format=csv". The empty text is the contract.
func ParseProfile(text string) (Profile, error) {
	name, query, both := strings.Cut(text, "?")
	if !both && strings.Contains(text, "=") {
		name, query = "", text
	}
	return newProfile(name, query)
}

// newProfile makes the profile of a bundle with switches, or of the switches alone when there is no name.
func newProfile(name, query string) (Profile, error) {
	p := contractProfile
	if name != "" {
		base, ok := bundles[name]
		if !ok {
			return p, fmt.Errorf("no profile %s; %s", problem.Quote(name), problem.OneOf(name, Profiles()))
		}
		if err := p.apply(base); err != nil {
			return p, err
		}
	}
	if err := p.apply(query); err != nil {
		return p, err
	}
	if p.schema != "flat" && p.schema != "single" {
		p.depth = contractProfile.depth // means nothing there, and must not make two of one profile
	}
	return p, nil
}

// apply turns the switches of a query.
func (p *Profile) apply(query string) error {
	values, err := url.ParseQuery(query)
	if err != nil {
		return errors.New("the switches of the profile are not a query such as names=underscore&schema=flat")
	}
	for _, key := range slices.Sorted(maps.Keys(values)) { // so that of two mistakes always the same one is told
		given := values[key]
		i := slices.IndexFunc(choices, func(c choice) bool { return c.key == key })
		if i < 0 {
			var keys []string
			for _, c := range choices {
				keys = append(keys, c.key)
			}
			return fmt.Errorf("a profile has no switch %s; %s", problem.Quote(key), problem.OneOf(key, keys))
		}
		c := choices[i]
		if len(given) != 1 || !slices.Contains(c.values, given[0]) {
			return fmt.Errorf("%s=%s is not possible; %s", c.key, problem.Quote(strings.Join(given, " and ")), problem.OneOf(strings.Join(given, ","), c.values))
		}
		c.set(p, given[0])
	}
	return nil
}

// String spells the profile as its switches that differ from the contract; "contract" when none does.
func (p Profile) String() string {
	var parts []string
	add := func(key, value, usual string) {
		if value != usual {
			parts = append(parts, key+"="+value)
		}
	}
	d := contractProfile
	add("names", p.names, d.names)
	add("schema", p.schema, d.schema)
	add("depth", strconv.Itoa(p.depth), strconv.Itoa(d.depth))
	add("contract", p.contract, d.contract)
	add("descriptions", p.descriptions, d.descriptions)
	add("annotations", p.annotations, d.annotations)
	add("format", p.format, d.format)
	add("structured", p.structured, d.structured)
	add("export", p.export, d.export)
	if parts == nil {
		return "contract"
	}
	return strings.Join(parts, "&")
}
