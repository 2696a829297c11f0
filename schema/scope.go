package schema

import "slices"

// A source is what a name in a request may belong to.
type source struct {
	name    string
	res     *Resource
	outputs []string // of a named query
	any     bool     // not known: every name may belong to it
}

func (s *source) has(field string) bool {
	if s.any {
		return true
	}
	if s.res != nil {
		_, ok := s.res.byCode[field]
		return ok
	}
	return slices.Contains(s.outputs, field)
}

func (s *source) fields() []string {
	if s.res != nil {
		return s.res.fieldCodes()
	}
	return s.outputs
}

// A scope is the sources of one request; the first is its main one.
type scope struct {
	sources []source
	named   []source // its with queries
	aliases []string // outputs that the place at hand may name
	outer   *scope
}

// find gives the source of that name, innermost first.
func (s *scope) find(name string) *source {
	for ; s != nil; s = s.outer {
		for _, list := range [][]source{s.sources, s.named} {
			for i := range list {
				if list[i].name == name {
					return &list[i]
				}
			}
		}
	}
	return nil
}

// open says whether a resource without a known name is in reach, as in a rule apart from its users, so that no name
// can be called wrong.
func (s *scope) open() bool {
	for ; s != nil; s = s.outer {
		if slices.ContainsFunc(s.sources, func(x source) bool { return x.any && x.name == "" }) {
			return true
		}
	}
	return false
}

func (s *scope) names() []string {
	var list []string
	for ; s != nil; s = s.outer {
		for _, x := range append(slices.Clip(s.sources), s.named...) {
			list = append(list, x.name)
		}
	}
	return list
}
