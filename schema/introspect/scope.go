package introspect

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"resq/schema"
)

// ours begins the names of the tables this system keeps in a database for itself.
const ours = "resq_"

// A scope says which tables were asked for.
type scope struct {
	schemas          []string
	include, exclude []string
}

func newScope(o Options) (scope, error) {
	sc := scope{schemas: slices.Clone(o.Schemas)}
	for _, p := range o.Include {
		sc.include = append(sc.include, fold(p))
	}
	for _, p := range o.Exclude {
		sc.exclude = append(sc.exclude, fold(p))
	}
	for _, p := range slices.Concat(sc.include, sc.exclude) {
		if _, err := path.Match(p, ""); err != nil {
			return scope{}, fmt.Errorf("pattern %q is malformed; * stands for any text, ? for one character, [a-z] for one of a range", p)
		}
	}
	return sc, nil
}

// fold makes names comparable. A slash is an ordinary character of a table's name, but path.Match stops
// at it; NUL, which no name can hold, takes its place.
func fold(s string) string { return strings.ToLower(strings.ReplaceAll(s, "/", "\x00")) }

// covers says whether a table was to be read.
func (sc scope) covers(schema, table string) bool {
	if strings.HasPrefix(strings.ToLower(table), ours) {
		return false
	}
	hit := func(patterns []string) bool {
		return slices.ContainsFunc(patterns, func(p string) bool {
			short, _ := path.Match(p, fold(table))
			full, _ := path.Match(p, fold(schema+"."+table))
			return short || full
		})
	}
	return (len(sc.include) == 0 || hit(sc.include)) && !hit(sc.exclude)
}

// reads says whether a schema was to be read. own is the connection's.
func (s *Snapshot) reads(schema string) bool {
	if len(s.scope.schemas) > 0 {
		return slices.Contains(s.scope.schemas, schema)
	}
	return s.Driver == "postgres" || schema == s.Schema
}

// covers says whether a table that is not in the snapshot is missing from the database, and not only from
// what was asked for.
func (s *Snapshot) covers(schema, table string) bool {
	if schema == "" {
		schema = s.Schema
	}
	return s.reads(schema) && s.scope.covers(schema, table)
}

// setSchema notes the connection's own schema, and that the scope means it by "". It comes first: PostgreSQL
// looks for a name without a schema in the order in which a catalog lists them.
func (s *Snapshot) setSchema(own string) {
	s.Schema = own
	for i, name := range s.scope.schemas {
		if name == "" {
			s.scope.schemas[i] = own
		}
	}
	slices.SortFunc(s.scope.schemas, func(a, b string) int {
		if (a == own) != (b == own) {
			return map[bool]int{true: -1, false: 1}[a == own]
		}
		return strings.Compare(a, b)
	})
	s.scope.schemas = slices.Compact(s.scope.schemas)
}

// Scope is what Read must be asked for so that Compare finds every table that cat names on conn.
func Scope(cat *schema.Catalog, conn *schema.Connection) Options {
	names := slices.Clone(conn.Schemas)
	own := false
	for _, r := range cat.Resources {
		switch {
		case r.Connection != conn:
		case r.Schema == "":
			own = true
		default:
			names = append(names, r.Schema)
		}
	}
	if own && len(names) > 0 {
		names = append(names, "")
	}
	return Options{Schemas: names}
}
