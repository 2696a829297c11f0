package server

import (
	"encoding/json"
	"fmt"
	"sync"

	"resq/engine/policy"
)

// A view is the tools as one profile shows them.
type view struct {
	profile      Profile
	instructions string
	tools        []definition // in the order of the contract
}

// maxViews bounds the profiles that are remembered beside the ready-made ones: whoever has a key can ask for
// any of some thousands. One that is not remembered is made again, in a few milliseconds.
const maxViews = 64

// views are the profiles in use.
type views struct {
	box *toolbox
	mu  sync.RWMutex
	of  map[Profile]*view
}

// newViews makes the ready-made profiles and the one of the server's own.
func newViews(box *toolbox, own Profile) (*views, error) {
	v := &views{box: box, of: map[Profile]*view{}}
	for _, name := range Profiles() {
		p, err := newProfile(name, "")
		if err != nil {
			return nil, err
		}
		if v.of[p], err = box.view(p); err != nil {
			return nil, err
		}
	}
	one, err := box.view(own)
	if err != nil {
		return nil, err
	}
	v.of[own] = one
	return v, nil
}

// view gives the tools as a profile shows them.
func (v *views) view(p Profile) *view {
	v.mu.RLock()
	one := v.of[p]
	v.mu.RUnlock()
	if one != nil {
		return one
	}
	one, err := v.box.view(p)
	if err != nil { // the schemas were read before, so this cannot be
		return v.view(contractProfile)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.of) < maxViews {
		v.of[p] = one
	}
	return one
}

// view shows a toolbox as a profile does. It fails for a schema that is no JSON, and when two tools would get
// one name.
func (b *toolbox) view(p Profile) (*view, error) {
	v := &view{profile: p, instructions: b.Instructions}
	if text := b.Seed["instructions"]; p.contract == "seed" && text != "" {
		v.instructions = text
	}
	taken := map[string]string{}
	for _, d := range b.Tools {
		schema, err := parseOrdered(d.InputSchema)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", d.Name, err)
		}
		if text := b.Seed[d.Name]; p.contract == "seed" && text != "" {
			d.Description = text
		}
		if p != contractProfile {
			d.InputSchema = appendOrdered(nil, p.shape(d.Name, schema, b.Seed))
		}
		if p.descriptions == "slim" {
			d.Title = ""
		}
		contractName := d.Name
		switch p.names {
		case "underscore":
			d.Name = underscored(d.Name)
		case "nodots":
			d.Name = dotless(d.Name)
		}
		if other, twice := taken[d.Name]; twice {
			return nil, fmt.Errorf("the tools %s and %s are both %s in the profile names=%s", other, contractName, d.Name, p.names)
		}
		taken[d.Name] = contractName
		d.bare = p.annotations == "contract"
		v.tools = append(v.tools, d)
	}
	return v, nil
}

// open gives the tools of the view that a principal may use.
func (v *view) open(who *policy.Principal) []*definition {
	var list []*definition
	for i := range v.tools {
		if d := &v.tools[i]; who != nil && d.open(who) {
			list = append(list, d)
		}
	}
	return list
}

// usual writes the profile's format into the arguments of a query that names none. Arguments that are no
// object, or that the engine will refuse anyhow, stay as they are.
func (p Profile) usual(args []byte) []byte {
	if p.format == contractProfile.format {
		return args
	}
	i := skipSpace(args, 0)
	if i == len(args) || !json.Valid(args) {
		return args
	}
	found, err := members(args, i, "format")
	if err != nil || len(found) > 0 {
		return args
	}
	out := append(make([]byte, 0, len(args)+24), `{"format":"`...)
	out = append(append(out, p.format...), '"')
	if rest := skipSpace(args, i+1); args[rest] != '}' {
		out = append(out, ',')
	}
	return append(out, args[i+1:]...)
}
