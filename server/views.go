package server

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"
)

// A view is the tools as one profile shows them.
type view struct {
	profile      Profile
	instructions string
	tools        []definition // in the order of the contract
	of           *views       // which it is one of
}

// maxViews bounds the profiles that are remembered: whoever has a key can ask for
// any of some thousands. One that is not remembered is made again, in a few milliseconds.
const maxViews = 64

// views are the profiles in use.
type views struct {
	box   *toolbox
	ready map[Profile]bool // the ready-made ones, which always have room
	mu    sync.RWMutex
	of    map[Profile]*view
	parts parts
}

// newViews makes the view of the server's own profile, and makes sure that the ready-made ones can be made: they
// are, when somebody asks for them.
func newViews(box *toolbox, own Profile) (*views, error) {
	ready := map[Profile]bool{own: true}
	for _, name := range Profiles() {
		p, err := newProfile(name, "")
		if err != nil {
			return nil, err
		}
		if err := box.distinct(p); err != nil {
			return nil, err
		}
		ready[p] = true
	}
	one, err := box.view(own)
	if err != nil {
		return nil, err
	}
	v := &views{box: box, ready: ready, of: map[Profile]*view{own: one}}
	one.of = v
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
	if err != nil { // two names that meet, in switches of a client's own
		return v.view(contractProfile)
	}
	one.of = v
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.ready[p] || len(v.of) < maxViews-len(v.ready) {
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
	if err := b.distinct(p); err != nil {
		return nil, err
	}
	for _, d := range b.Tools {
		if d.added && p.contract == "seed" {
			continue
		}
		if text := b.Seed[d.Name]; p.contract == "seed" && text != "" {
			d.Description = text
		}
		if p != contractProfile {
			schema, err := parseOrdered(d.InputSchema)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", d.Name, err)
			}
			d.InputSchema = appendOrdered(nil, p.shape(d.Name, schema, b.Seed))
		}
		if p.descriptions == "slim" {
			d.Title = ""
		}
		d.Name = p.nameOf(d.Name)
		d.bare = p.annotations == "contract"
		v.tools = append(v.tools, d)
	}
	return v, nil
}

// nameOf spells a tool's name as a profile does.
func (p Profile) nameOf(tool string) string {
	switch p.names {
	case "underscore":
		return underscored(tool)
	case "nodots":
		return dotless(tool)
	}
	return tool
}

// distinct fails when a profile would give two tools one name.
func (b *toolbox) distinct(p Profile) error {
	taken := map[string]string{}
	for _, d := range b.Tools {
		name := p.nameOf(d.Name)
		if other, twice := taken[name]; twice {
			return fmt.Errorf("the tools %s and %s are both %s in the profile names=%s", other, d.Name, name, p.names)
		}
		taken[name] = d.Name
	}
	return nil
}

// open gives the tools of the caller's view that it may use.
func (c caller) open() []*definition {
	var list []*definition
	for i := range c.view.tools {
		if d := &c.view.tools[i]; d.open(c) {
			list = append(list, d)
		}
	}
	return list
}

// names are the tools that the caller may use, whatever its profile shows, under the names of the contract.
func (c caller) names() []string {
	var list []string
	if c.view.of == nil {
		return nil
	}
	for i := range c.view.of.box.Tools {
		if d := &c.view.of.box.Tools[i]; d.open(c) {
			list = append(list, d.Name)
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

// instructions is what a client is told when it begins: about this program's tools, and what the files of the catalog
// say to those who see one of their tools.
func (s *Server) instructions(c caller) string {
	text := c.view.instructions
	open := c.names()
	backend := s.lend()
	defer backend.release()
	for _, x := range backend.Instructions() {
		if len(x.Tools) > 0 && !slices.ContainsFunc(x.Tools, func(t string) bool { return slices.Contains(open, t) }) {
			continue
		}
		if text != "" {
			text += "\n\n"
		}
		text += x.Text
	}
	return text
}
