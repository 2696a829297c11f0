package schema

import (
	"slices"
	"strings"

	"resq/schema/problem"
)

// guardedBy notes that the row rule of u reads the resources in uses, whose own rules then apply as well.
func (l *loader) guardedBy(u *resUnit, uses []*Resource) {
	if l.guards == nil {
		l.guards = map[*Resource][]*Resource{}
	}
	for _, r := range uses {
		if !slices.Contains(l.guards[u.res], r) {
			l.guards[u.res] = append(l.guards[u.res], r)
		}
	}
}

// refuseCycles refuses row rules that need each other, and sets that do: neither could be computed. A rule reads
// every other resource as its own rule leaves it (security: rules apply at the point of use).
func (l *loader) refuseCycles() {
	units := make(map[*Resource]*resUnit, len(l.resUnits))
	resources := make([]*Resource, len(l.resUnits))
	for i, u := range l.resUnits {
		units[u.res], resources[i] = u, u.res
	}
	for _, chain := range cycles(resources, func(r *Resource) []*Resource { return l.guards[r] }) {
		u := units[chain[0]]
		u.file.tell(u.decl.rows.at, "decide by a field of the row, or by a set, in one of them", "the row rules need each other: %s",
			chainText(chain, func(r *Resource) string { return r.Code }))
	}
	sets := make([]*Set, len(l.setUnits))
	uses := make(map[*Set]*setUnit, len(l.setUnits))
	for i, u := range l.setUnits {
		sets[i], uses[u.set] = u.set, u
	}
	for _, chain := range cycles(sets, func(s *Set) []*Set { return uses[s].uses }) {
		u := uses[chain[0]]
		u.file.tell(u.decl.name.at, "write one of them without the other", "the sets need each other: %s", chainText(chain, func(s *Set) string { return s.Name }))
	}
}

func chainText[T any](chain []T, name func(T) string) string {
	var b strings.Builder
	for _, x := range chain {
		b.WriteString(problem.Quote(name(x)) + " → ")
	}
	return b.String() + problem.Quote(name(chain[0]))
}

// cycles finds chains of nodes of which each leads to the next and the last to the first: one for each node where a
// walk in the given order comes back to its own path.
func cycles[T comparable](nodes []T, next func(T) []T) [][]T {
	const onPath, done = 1, 2
	state := make(map[T]int, len(nodes))
	var path []T
	var found [][]T
	var visit func(T)
	visit = func(n T) {
		state[n] = onPath
		path = append(path, n)
		for _, m := range next(n) {
			switch state[m] {
			case 0:
				visit(m)
			case onPath:
				found = append(found, slices.Clone(path[slices.Index(path, m):]))
			}
		}
		path = path[:len(path)-1]
		state[n] = done
	}
	for _, n := range nodes {
		if state[n] == 0 {
			visit(n)
		}
	}
	return found
}
